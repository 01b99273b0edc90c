package settings

import (
	"strings"
	"testing"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestVolumesOfCountsEveryClaim(t *testing.T) {
	template := v1alpha1.BenchmarkTemplate{
		Clients: v1alpha1.Clients{Count: 64}, BackgroundLoad: &v1alpha1.BackgroundLoad{},
		Target: v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{
			Template: &v1alpha1.PersistentVolumeClaimTemplate{StorageClassName: "fast", Size: resource.MustParse("100Ti")},
		}},
	}
	if got := VolumesOf(template); len(got) != 1 || got[0] != (Volumes{Class: "fast", Bytes: 65 * 100 << 40}) {
		t.Errorf("volumes %+v, want 65 of 100Ti", got)
	}
	template.Target = v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: "data"}}
	if got := VolumesOf(template); got != nil {
		t.Errorf("an existing claim: %+v", got)
	}
}

func TestStoresClass(t *testing.T) {
	c := Cluster{Namespace: "rook-ceph", Name: "my-cluster"}
	for name, tc := range map[string]struct {
		provisioner, clusterID string
		want                   bool
	}{
		"RBD of Rook":                {"rook-ceph.rbd.csi.ceph.com", "rook-ceph", true},
		"CephFS of an operator else": {"rook.cephfs.csi.ceph.com", "rook-ceph", true},
		"of another cluster":         {"rook-ceph.rbd.csi.ceph.com", "rook-two", false},
		"without an ID":              {"rook-ceph.rbd.csi.ceph.com", "", false},
		"NFS":                        {"rook-ceph.nfs.csi.ceph.com", "rook-ceph", false},
		"not Ceph":                   {"ebs.csi.aws.com", "rook-ceph", false},
		"a name that only looks so":  {"evil-rbd.csi.ceph.com", "rook-ceph", false},
	} {
		class := &storagev1.StorageClass{Provisioner: tc.provisioner, Parameters: map[string]string{"clusterID": tc.clusterID}}
		if got := c.StoresClass(class); got != tc.want {
			t.Errorf("%s: %t, want %t", name, got, tc.want)
		}
	}
}

func TestRefuseVolumes(t *testing.T) {
	const gi = 1 << 30
	ref := Cluster{Namespace: "rook-ceph", Name: "c"}
	listed := ref
	listed.StorageClasses = []StorageClass{{Name: "fast", MaxTotal: new(resource.MustParse("1Ti"))}}
	closed := ref
	closed.StorageClasses = []StorageClass{}
	foreign := map[string]string{"ebs": "StorageClass ebs does not belong to this CephCluster"}
	for name, tc := range map[string]struct {
		cluster Cluster
		volumes []Volumes
		want    []string // parts of the refusal; none if it is allowed
	}{
		"none":                             {closed, nil, nil},
		"the cluster's, as much as may be": {ref, []Volumes{{"block", 100 * gi}}, nil},
		"the cluster's, a byte more":       {ref, []Volumes{{"block", 100*gi + 1}}, []string{"allows 100Gi", "storageClasses: [{name: block, maxTotal: 107374182401}]"}},
		"too many":                         {ref, []Volumes{{"block", 640 * gi}}, []string{"need 640Gi", "CephCluster rook-ceph/c", "storageClasses: [{name: block, maxTotal: 640Gi}]"}},
		"another's, and the entry for the cluster's too": {
			ref,
			[]Volumes{{"block", gi}, {"ebs", 2 * gi}},
			[]string{"ebs does not belong", "storageClasses: [{name: block, maxTotal: 100Gi}, {name: ebs, maxTotal: 2Gi}]"},
		},
		"a listed one":           {listed, []Volumes{{"fast", 1024 * gi}}, nil},
		"a listed one, too many": {listed, []Volumes{{"fast", 2048 * gi}}, []string{"allows 1Ti", "{name: fast, maxTotal: 2Ti}"}},
		"one that is not listed": {listed, []Volumes{{"fast", gi}, {"block", gi}}, []string{"does not list StorageClass block", "storageClasses: [{name: block, maxTotal: 1Gi}]"}},
		"an empty list":          {closed, []Volumes{{"block", 1}}, []string{"does not list StorageClass block"}},
	} {
		got := tc.cluster.RefuseVolumes(tc.volumes, foreign)
		if (got == "") != (len(tc.want) == 0) {
			t.Errorf("%s: %q", name, got)
		}
		for _, part := range tc.want {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q, want %q in it", name, got, part)
			}
		}
	}
}
