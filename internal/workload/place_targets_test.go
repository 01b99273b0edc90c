package workload

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Targets that differ only in their images share a pool, in which their data have different names.
func TestPoolsOfTargets(t *testing.T) {
	pool := func(pgs, objectSize string) v1alpha1.Target {
		return v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{
			Replicated: &v1alpha1.ReplicatedPool{Size: 3}, Parameters: map[string]v1alpha1.ParameterValue{"pg_num": v1alpha1.ParameterValue(pgs)},
			Image: v1alpha1.Image{ObjectSize: resource.MustParse(objectSize)},
		}}
	}
	coded := v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{ErasureCoded: &v1alpha1.ErasureCodedPool{DataChunks: 2, CodingChunks: 1}}}
	claim := v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{Template: &v1alpha1.PersistentVolumeClaimTemplate{StorageClassName: "a"}}}
	for name, c := range map[string]struct {
		targets []v1alpha1.Target
		pools   []string
		numbers []int
	}{
		"one":                 {[]v1alpha1.Target{pool("8", "4Mi")}, []string{"cephtune-scratch"}, []int{0}},
		"two pools":           {[]v1alpha1.Target{pool("8", "4Mi"), pool("16", "4Mi")}, []string{"cephtune-scratch", "cephtune-scratch-1"}, []int{0, 1}},
		"two images":          {[]v1alpha1.Target{pool("8", "4Mi"), pool("8", "1Mi")}, []string{"cephtune-scratch"}, []int{0, 0}},
		"images of two pools": {[]v1alpha1.Target{pool("8", "4Mi"), pool("8", "1Mi"), pool("16", "1Mi"), pool("16", "4Mi")}, []string{"cephtune-scratch", "cephtune-scratch-1"}, []int{0, 0, 1, 1}},
		"erasure coding":      {[]v1alpha1.Target{pool("8", "4Mi"), coded}, []string{"cephtune-scratch", "cephtune-scratch-1", "cephtune-scratch-1-data"}, []int{0, 1}},
		"claims":              {[]v1alpha1.Target{claim, claim}, nil, []int{0, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Pools(c.targets); !slices.Equal(got, c.pools) {
				t.Errorf("pools %q, want %q", got, c.pools)
			}
			places := map[string]bool{}
			for number := range c.targets {
				if got := PoolOf(c.targets, number); got != c.numbers[number] {
					t.Errorf("target %d has pool %d, want %d", number, got, c.numbers[number])
				}
				template := v1alpha1.BenchmarkTemplate{Target: c.targets[0], Clients: v1alpha1.Clients{Count: 1}}
				for _, p := range Places("cephtune-0123456789", "io", template, c.targets, number, 20, 1<<30, false) {
					if err := p.Validate(); err != nil {
						t.Errorf("target %d: %v", number, err)
					}
					places[p.Pool+p.Directory+" "+p.DatasetName("x")] = true
				}
			}
			if len(places) != len(c.targets) {
				t.Errorf("%d targets have their data in %v", len(c.targets), places)
			}
		})
	}
}
