package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/loadtarget/claims"
	"github.com/cephtune/cephtune/internal/settings"
)

// These are the names of Ceph-CSI's drivers. Rook puts a prefix and a dot before them.
const (
	driverRBD    = "rbd.csi.ceph.com"
	driverCephFS = "cephfs.csi.ceph.com"
)

// These are keys in the parameters of Ceph-CSI's StorageClasses and in the attributes of its
// volumes.
const (
	keyClusterID = "clusterID"
	keyPool      = "pool"
	keyDataPool  = "dataPool"
	keyFSName    = "fsName"
	keyImage     = "imageName"
	keySubvolume = "subvolumeName"
)

// volumes shows which pools store the volumes of StorageClasses and of the namespace's claims, because
// a sweep over an option of an existing pool has to name the pool. It also shows which volumes benchmarks may
// create and overwrite, if the operator config is known.
func (e *examination) volumes(ctx context.Context, known *settings.Settings) {
	var classes storagev1.StorageClassList
	if err := e.client.List(ctx, &classes); err != nil {
		e.unreadable("StorageClasses", "They", err)
		return
	}
	slices.SortFunc(classes.Items, func(a, b storagev1.StorageClass) int { return cmp.Compare(a.Name, b.Name) })
	for i := range classes.Items {
		e.class(ctx, &classes.Items[i], known)
	}
	e.claims(ctx)
}

func (e *examination) class(ctx context.Context, class *storagev1.StorageClass, known *settings.Settings) {
	behind, allowed := behindClass(class), allowance(class, known)
	switch {
	case behind == "" && allowed == "":
		return
	case behind == "":
		e.found("StorageClass "+class.Name, OK, "Its volumes do not come from Ceph-CSI."+allowed, "")
		return
	}
	topic := "StorageClass " + class.Name
	err := e.client.Get(ctx, client.ObjectKey{Name: class.Provisioner}, &storagev1.CSIDriver{})
	if apierrors.IsNotFound(err) {
		e.found(topic, Note, fmt.Sprintf("Its volumes would be %s, but there is no CSIDriver %s, so claims stay pending.", behind, class.Provisioner),
			"install the driver: for Rook's, set ROOK_CSI_DISABLE_DRIVER to false in ConfigMap rook-ceph-operator-config")
		return
	}
	if allowed == "" && known != nil {
		e.found(topic, Note, fmt.Sprintf("Its volumes are %s. Benchmarks may not create volumes of it.", behind),
			fmt.Sprintf("if they should, add to the cluster in the operator config: storageClasses: [{name: %s, maxTotal: 100Gi}]", class.Name))
		return
	}
	e.found(topic, OK, fmt.Sprintf("Its volumes are %s.%s", behind, allowed), "")
}

// allowance says how much benchmarks may create of a StorageClass, as a sentence after a space; "" for nothing.
func allowance(class *storagev1.StorageClass, known *settings.Settings) string {
	if known == nil {
		return ""
	}
	var parts []string
	for _, c := range known.Clusters {
		if most := c.MaxVolumes(class.Name, c.StoresClass(class)); !most.IsZero() {
			parts = append(parts, fmt.Sprintf("%s of them for %s/%s", most.String(), c.Namespace, c.Name))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " A benchmark may create " + strings.Join(parts, ", ") + "."
}

// behindClass describes the volumes of a StorageClass of Ceph-CSI; "" for any other class.
func behindClass(class *storagev1.StorageClass) string {
	p := class.Parameters
	switch {
	case isDriver(class.Provisioner, driverRBD):
		return "RBD images in " + poolsOf(p)
	case isDriver(class.Provisioner, driverCephFS):
		where := fmt.Sprintf("directories in file system %s of clusterID %s", p[keyFSName], p[keyClusterID])
		if p[keyPool] != "" {
			where += ", with their data in pool " + p[keyPool]
		}
		return where
	}
	return ""
}

// poolsOf names the pool of RBD images, and their data pool if they have one.
func poolsOf(p map[string]string) string {
	where := fmt.Sprintf("pool %s of clusterID %s", p[keyPool], p[keyClusterID])
	if p[keyDataPool] != "" {
		where += ", with their data in pool " + p[keyDataPool]
	}
	return where
}

func isDriver(name, driver string) bool { return name == driver || strings.HasSuffix(name, "."+driver) }

// claims describes the volume of each claim that names one in spec.volumeName.
func (e *examination) claims(ctx context.Context) {
	var list corev1.PersistentVolumeClaimList
	if err := e.client.List(ctx, &list, client.InNamespace(e.namespace)); err != nil {
		e.unreadable("Claims in "+e.namespace, "They", err)
		return
	}
	slices.SortFunc(list.Items, func(a, b corev1.PersistentVolumeClaim) int { return cmp.Compare(a.Name, b.Name) })
	for _, claim := range list.Items {
		if claim.Spec.VolumeName == "" {
			continue
		}
		topic := "Claim " + claim.Name
		volume := &corev1.PersistentVolume{}
		if err := e.client.Get(ctx, client.ObjectKey{Name: claim.Spec.VolumeName}, volume); err != nil {
			e.unreadable(topic, "PersistentVolume "+claim.Spec.VolumeName, err)
			continue
		}
		if behind := behindVolume(volume); behind != "" {
			e.found(topic, OK, fmt.Sprintf("Its volume is %s.%s", behind, overwriting(&claim)), "")
		} else {
			e.found(topic, Note, "Its volume does not come from Ceph-CSI, so settings of Ceph may not affect it."+overwriting(&claim), "")
		}
	}
}

// overwriting says whether benchmarks may overwrite a claim that is a block device, as a sentence after a
// space; "" for a file system.
func overwriting(claim *corev1.PersistentVolumeClaim) string {
	switch {
	case !claims.IsDevice(claim):
		return ""
	case claims.MayOverwrite(claim):
		return " Benchmarks may overwrite it."
	}
	return fmt.Sprintf(" Benchmarks may not overwrite it without the annotation %s=%s.", claims.AnnotationOverwrite, claims.Overwrite)
}

// behindVolume describes a volume of Ceph-CSI; "" for any other volume. A volume that was created by
// hand lacks the name of its image or subvolume, so its handle is shown, or for CephFS its rootPath if that
// is set.
func behindVolume(volume *corev1.PersistentVolume) string {
	csi := volume.Spec.CSI
	if csi == nil {
		return ""
	}
	a := csi.VolumeAttributes
	switch {
	case isDriver(csi.Driver, driverRBD):
		return fmt.Sprintf("RBD image %s in %s", cmp.Or(a[keyImage], csi.VolumeHandle), poolsOf(a))
	case isDriver(csi.Driver, driverCephFS):
		return fmt.Sprintf("directory %s in file system %s of clusterID %s", cmp.Or(a[keySubvolume], a["rootPath"], csi.VolumeHandle), a[keyFSName], a[keyClusterID])
	}
	return ""
}
