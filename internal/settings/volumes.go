package settings

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// StorageClass is a StorageClass whose volumes benchmarks may create.
type StorageClass struct {
	Name string `json:"name"`
	// MaxTotal is the maximum size of all claims of a benchmark together. The default is 100Gi.
	MaxTotal *resource.Quantity `json:"maxTotal,omitempty"`
}

// Volumes are the volumes that a benchmark creates from a StorageClass.
type Volumes struct {
	Class string
	// Bytes is the size of all claims of the benchmark together.
	Bytes int64
}

// VolumesOf returns the volumes that a benchmark of the template creates; nil if it creates none.
func VolumesOf(template v1alpha1.BenchmarkTemplate) []Volumes {
	target := template.Target.PersistentVolumeClaim
	if target == nil || target.Template == nil {
		return nil
	}
	claims := int64(template.Clients.Count)
	if template.BackgroundLoad != nil {
		claims++
	}
	return []Volumes{{Class: target.Template.StorageClassName, Bytes: claims * target.Template.Size.Value()}}
}

// DefaultMaxTotal returns the default of StorageClass.MaxTotal.
func DefaultMaxTotal() resource.Quantity { return resource.MustParse("100Gi") }

// StoresClass reports whether the volumes of a StorageClass are in the cluster: whether Rook's CSI drivers
// create them, with the cluster's namespace as clusterID.
func (c Cluster) StoresClass(class *storagev1.StorageClass) bool {
	driver := strings.HasSuffix(class.Provisioner, ".rbd.csi.ceph.com") || strings.HasSuffix(class.Provisioner, ".cephfs.csi.ceph.com")
	return driver && class.Parameters["clusterID"] == c.Namespace
}

// MaxVolumes returns the maximum size of all volumes that a benchmark may create from a StorageClass; zero if
// it may create none. Without StorageClasses, that depends on whether the class is stored in the cluster.
func (c Cluster) MaxVolumes(class string, stored bool) resource.Quantity {
	index := slices.IndexFunc(c.StorageClasses, func(s StorageClass) bool { return s.Name == class })
	switch {
	case index >= 0:
		return *cmp.Or(c.StorageClasses[index].MaxTotal, new(DefaultMaxTotal()))
	case c.StorageClasses == nil && stored:
		return DefaultMaxTotal()
	}
	return resource.Quantity{}
}

// RefuseVolumes says why a benchmark or sweep may not create volumes, and what to add to the operator config;
// "" if it may create them. Foreign says of classes why they do not count as stored in the cluster; it is not
// used if the operator config lists StorageClasses.
func (c Cluster) RefuseVolumes(volumes []Volumes, foreign map[string]string) string {
	index := slices.IndexFunc(volumes, func(v Volumes) bool { return c.refuses(v, foreign) })
	if index < 0 {
		return ""
	}
	first := volumes[index]
	var reason string
	most := c.MaxVolumes(first.Class, foreign[first.Class] == "")
	switch {
	case !most.IsZero():
		reason = fmt.Sprintf("the operator config allows %s in all claims of StorageClass %s, and these need %s", most.String(), first.Class, sizeOf(first.Bytes))
	case c.StorageClasses == nil:
		reason = foreign[first.Class]
	default:
		reason = fmt.Sprintf("the operator config does not list StorageClass %s", first.Class)
	}
	return fmt.Sprintf("The volumes are not allowed: %s. Use another class or fewer bytes, "+
		"or ask the administrator to add to CephCluster %s/%s in the operator config: storageClasses: [%s].",
		reason, c.Namespace, c.Name, strings.Join(c.missing(volumes, foreign), ", "))
}

func (c Cluster) refuses(v Volumes, foreign map[string]string) bool {
	most := c.MaxVolumes(v.Class, foreign[v.Class] == "")
	return most.CmpInt64(v.Bytes) < 0
}

// missing returns the entries that StorageClasses lacks for volumes. A first entry replaces the default, so
// without StorageClasses all volumes need an entry.
func (c Cluster) missing(volumes []Volumes, foreign map[string]string) []string {
	var entries []string
	for _, v := range volumes {
		most := c.MaxVolumes(v.Class, foreign[v.Class] == "")
		if refused := most.CmpInt64(v.Bytes) < 0; refused || c.StorageClasses == nil {
			if refused {
				most = *resource.NewQuantity(v.Bytes, resource.BinarySI)
			}
			entries = append(entries, fmt.Sprintf("{name: %s, maxTotal: %s}", v.Class, most.String()))
		}
	}
	return entries
}

func sizeOf(bytes int64) string { return resource.NewQuantity(bytes, resource.BinarySI).String() }
