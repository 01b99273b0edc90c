// Package claims reads the PersistentVolumeClaim that is the target of a benchmark, and decides whether a
// benchmark may use it or create others. The users of a namespace decide about existing claims, and the
// administrator about the StorageClasses of new ones.
package claims

import (
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/settings"
)

// AnnotationOverwrite on a claim in volume mode Block, with the value Overwrite, lets benchmarks overwrite the
// claim. It is not a label, because tools that give all objects of an application the same labels would set it
// by accident.
const (
	AnnotationOverwrite = "cephtune.dev/overwrite"
	Overwrite           = "yes"
)

// MissingError says that the target is a claim that does not exist.
type MissingError struct{ Claim types.NamespacedName }

func (e *MissingError) Error() string {
	return fmt.Sprintf("there is no PersistentVolumeClaim %s in namespace %s: create it, or name another in target.persistentVolumeClaim.claimName", e.Claim.Name, e.Claim.Namespace)
}

// IsBlock reports whether the target is a claim that is a block device. If the Job exists, IsBlock
// reports whether the pods of the Job use the claim as a block device. Otherwise, if target.ClaimName names a
// claim that does not exist, the error is a *MissingError.
func IsBlock(ctx context.Context, reader client.Reader, namespace string, target *v1alpha1.PersistentVolumeClaimTarget, job *batchv1.Job) (bool, error) {
	switch {
	case target == nil:
		return false, nil
	case job != nil:
		return len(job.Spec.Template.Spec.Containers[0].VolumeDevices) > 0, nil
	case target.Template != nil:
		return target.Template.VolumeMode == v1alpha1.VolumeModeBlock, nil
	}
	claim, err := read(ctx, reader, types.NamespacedName{Namespace: namespace, Name: target.ClaimName})
	if err != nil {
		return false, err
	}
	return IsDevice(claim), nil
}

// IsDevice reports whether a claim is a block device, on which a benchmark overwrites all data.
func IsDevice(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock
}

// MayOverwrite reports whether the owner of a claim lets benchmarks overwrite it.
func MayOverwrite(claim *corev1.PersistentVolumeClaim) bool {
	return claim.Annotations[AnnotationOverwrite] == Overwrite
}

func read(ctx context.Context, reader client.Reader, key types.NamespacedName) (*corev1.PersistentVolumeClaim, error) {
	claim := &corev1.PersistentVolumeClaim{}
	if err := reader.Get(ctx, key, claim); apierrors.IsNotFound(err) {
		return nil, &MissingError{key}
	} else if err != nil {
		return nil, fmt.Errorf("read the claim: %w", err)
	}
	return claim, nil
}

// Use is what a benchmark or a sweep does with claims.
type Use struct {
	// Existing is the claim to be used; its name is empty if claims are created.
	Existing types.NamespacedName
	// Volumes are created.
	Volumes []settings.Volumes
}

// UseOf returns what a benchmark of the template does with claims. It may have other targets besides that of the template.
func UseOf(namespace string, template v1alpha1.BenchmarkTemplate, others ...v1alpha1.Target) Use {
	use := Use{Volumes: settings.VolumesOf(template)}
	for _, target := range others {
		other := template
		other.Target, other.BackgroundLoad = target, nil
		for _, v := range settings.VolumesOf(other) {
			use.add(v)
		}
	}
	if target := template.Target.PersistentVolumeClaim; target != nil && target.ClaimName != "" {
		use.Existing = types.NamespacedName{Namespace: namespace, Name: target.ClaimName}
	}
	return use
}

// add adds volumes that exist at the same time as the others. The limit of a class counts all of them.
func (u *Use) add(v settings.Volumes) {
	if i := slices.IndexFunc(u.Volumes, func(known settings.Volumes) bool { return known.Class == v.Class }); i >= 0 {
		u.Volumes[i].Bytes += v.Bytes
		return
	}
	u.Volumes = append(u.Volumes, v)
}

// Refusal says why claims may not be used in this way, and what to do about it; "" if they may. An existing
// claim that is missing is not refused, because it may still come.
func (u Use) Refusal(ctx context.Context, reader client.Reader, cluster settings.Cluster) (string, error) {
	if u.Existing.Name != "" {
		return u.refuseExisting(ctx, reader)
	}
	foreign := map[string]string{}
	if cluster.StorageClasses == nil {
		for _, v := range u.Volumes {
			reason, err := foreignness(ctx, reader, cluster, v.Class)
			if err != nil {
				return "", err
			}
			foreign[v.Class] = reason
		}
	}
	return cluster.RefuseVolumes(u.Volumes, foreign), nil
}

func (u Use) refuseExisting(ctx context.Context, reader client.Reader) (string, error) {
	claim, err := read(ctx, reader, u.Existing)
	if _, missing := errors.AsType[*MissingError](err); missing {
		return "", nil
	}
	if err != nil || !IsDevice(claim) || MayOverwrite(claim) {
		return "", err
	}
	return fmt.Sprintf("Claim %[2]s is a block device, so the benchmark would overwrite all its data. If nobody needs the data, allow that: "+
		"kubectl annotate pvc %[2]s -n %[1]s %[3]s=%[4]s", u.Existing.Namespace, u.Existing.Name, AnnotationOverwrite, Overwrite), nil
}

// foreignness says why a StorageClass does not count as stored in a cluster; "" if it is stored in it.
func foreignness(ctx context.Context, reader client.Reader, cluster settings.Cluster, name string) (string, error) {
	class := &storagev1.StorageClass{}
	switch err := reader.Get(ctx, types.NamespacedName{Name: name}, class); {
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("there is no StorageClass %s", name), nil
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("the operator may not read StorageClass %s, to see which cluster stores its volumes", name), nil
	case err != nil:
		return "", fmt.Errorf("read the StorageClass: %w", err)
	case !cluster.StoresClass(class):
		return fmt.Sprintf("StorageClass %s does not belong to this CephCluster", name), nil
	}
	return "", nil
}
