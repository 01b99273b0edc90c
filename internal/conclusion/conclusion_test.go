package conclusion

import (
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/settings"
)

// The used bytes are reported only if they belong to the stored bytes.
func TestSpaceEfficiency(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*v1alpha1.BenchmarkTemplate)
		want int64 // bytes used; 0 for no space efficiency
	}{
		"prefilled":   {func(*v1alpha1.BenchmarkTemplate) {}, 290},
		"fresh":       {func(b *v1alpha1.BenchmarkTemplate) { b.InitialState = v1alpha1.InitialStateFresh }, 290},
		"rolled back": {func(b *v1alpha1.BenchmarkTemplate) { b.InitialState = v1alpha1.InitialStateRollback }, 0},
		"an outage":   {func(b *v1alpha1.BenchmarkTemplate) { b.Outage = &v1alpha1.Outage{Phase: "write"} }, 0},
	} {
		df := &ceph.DF{Pools: []ceph.PoolDF{{Name: settings.ScratchPool, StoredBytes: 100, UsedBytes: 290}}}
		s := Execution{
			TargetPools: []string{settings.ScratchPool}, Overhead: 3,
			View: clusterwatch.View{Extras: []clusterwatch.Extra{{DF: df}}},
		}
		c.edit(&s.Spec.Template)
		got := s.spaceEfficiency()
		if (got != nil) != (c.want > 0) || got != nil && (got.UsedBytes != c.want || got.TheoreticalBytes != 300) {
			t.Errorf("%s: %+v, want %d bytes used of 300 in theory", name, got, c.want)
		}
	}
}
