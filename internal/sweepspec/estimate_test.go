package sweepspec

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// What is prefilled is what the loads say, which is not one set for each kind of tool.
func TestPrefillBytes(t *testing.T) {
	const gib = 1 << 30
	minute := metav1.Duration{Duration: time.Minute}
	rados := func(mode v1alpha1.RadosBenchMode, block string, reuse bool) v1alpha1.Phase {
		return v1alpha1.Phase{Name: "p", RadosBench: &v1alpha1.RadosBench{
			Mode: mode, BlockSize: resource.MustParse(block), Concurrency: 16, Duration: minute, ReuseObjects: reuse,
		}}
	}
	fio := func(pattern v1alpha1.FioPattern) v1alpha1.Phase {
		return v1alpha1.Phase{Name: "p", Fio: &v1alpha1.Fio{
			Engine: v1alpha1.FioEngineRBD, Pattern: pattern, BlockSize: resource.MustParse("4Ki"), NumJobs: 1, IODepth: 1, Duration: minute,
		}}
	}
	for name, c := range map[string]struct {
		phases     []v1alpha1.Phase
		background *v1alpha1.Background
		want       int64 // GiB
	}{
		"new objects":                      {[]v1alpha1.Phase{rados(v1alpha1.RadosBenchWrite, "4Mi", false)}, nil, 0},
		"objects that are written over":    {[]v1alpha1.Phase{rados(v1alpha1.RadosBenchWrite, "4Mi", true)}, nil, 4},
		"reads of the same objects":        {[]v1alpha1.Phase{rados(v1alpha1.RadosBenchSeq, "4Mi", false), rados(v1alpha1.RadosBenchRand, "4Mi", false)}, nil, 4},
		"reads of objects of two sizes":    {[]v1alpha1.Phase{rados(v1alpha1.RadosBenchSeq, "4Mi", false), rados(v1alpha1.RadosBenchSeq, "64Ki", false)}, nil, 8},
		"images to read and to write over": {[]v1alpha1.Phase{fio(v1alpha1.FioRandRead), fio(v1alpha1.FioRandWrite)}, nil, 8},
		"a background has its own": {
			[]v1alpha1.Phase{fio(v1alpha1.FioRandRead)},
			&v1alpha1.Background{Fio: fio(v1alpha1.FioRandWrite).Fio}, 6,
		},
	} {
		t.Run(name, func(t *testing.T) {
			template := v1alpha1.BenchmarkTemplate{
				Target: v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{
					Replicated: &v1alpha1.ReplicatedPool{Size: 3}, Image: v1alpha1.Image{Size: resource.MustParse("10Gi"), ObjectSize: resource.MustParse("4Mi")},
				}},
				Clients: v1alpha1.Clients{Count: 2}, Phases: c.phases, Background: c.background,
			}
			if got := PrefillBytes(template, 2*gib); got != c.want*gib {
				t.Errorf("%d bytes, want %d GiB", got, c.want)
			}
			if got := NeedsDataset(template); got != (c.want > 0) {
				t.Errorf("needs a dataset: %t", got)
			}
		})
	}
}
