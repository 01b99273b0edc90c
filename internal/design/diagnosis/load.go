package diagnosis

import (
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// This file has the load of a layered diagnosis.

const (
	// windowTime is the length of a window, and restTime the pause after it. Counters in ceph-mgr are up to five seconds
	// old (mgr_stats_period), so after the pause they have all of the window, and nothing of the next.
	windowTime = 12 * time.Second
	restTime   = 7 * time.Second
	// datasetSize is what the client writes first, for the writes and for the reads of each pool: PrefilledBytes in all,
	// before copies.
	datasetSize = "512Mi"
	// PrefilledBytes is what a layered diagnosis writes before it measures.
	PrefilledBytes = 4 * 512 << 20
)

// Load is a window that a layered diagnosis plans.
type Load struct {
	Window

	Phase v1alpha1.PhaseName
	// Target is the number of the pool: 0 has several copies, 1 has one.
	Target int
}

// Loads returns the windows of a layered diagnosis, in order. Each round has a write to each pool, and a read of that with
// several copies, in an order of its own, which is the same each time.
func Loads(l *v1alpha1.DiagnosisLayers) []Load {
	var all []Load
	for round := range int(l.Rounds) {
		several := int(l.Copies)
		loads := []Load{{Window: Window{Copies: several, Writes: true}}, {Window: Window{Copies: 1, Writes: true}, Target: 1}, {Window: Window{Copies: several}}}
		random := rand.New(rand.NewPCG(uint64(round), 0)) //nolint:gosec // The order has to be the same each time.
		random.Shuffle(len(loads), func(i, j int) { loads[i], loads[j] = loads[j], loads[i] })
		for _, load := range loads {
			load.Round = round + 1
			kind := "read"
			if load.Writes {
				kind = "write"
			}
			load.Phase = v1alpha1.PhaseName(fmt.Sprintf("%s-%d-round-%d", kind, load.Copies, load.Round))
			all = append(all, load)
		}
	}
	return all
}

// Expand returns the spec of a benchmark with the load of its layered diagnosis. A spec without one stays as it is.
func Expand(spec v1alpha1.CephBenchmarkSpec) v1alpha1.CephBenchmarkSpec {
	if spec.Diagnosis == nil || spec.Diagnosis.Layers == nil {
		return spec
	}
	l := spec.Diagnosis.Layers
	pool := func(copies int32) v1alpha1.Target {
		return v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{
			Replicated: &v1alpha1.ReplicatedPool{Size: copies}, FailureDomain: l.FailureDomain, DeviceClass: l.DeviceClass,
			Image: v1alpha1.Image{Size: resource.MustParse("10Gi"), ObjectSize: resource.MustParse("4Mi"), Sharing: v1alpha1.ImageSharingNone},
		}}
	}
	spec.Repetitions = 1
	spec.OtherTargets = []v1alpha1.Target{pool(1)}
	spec.Template = v1alpha1.BenchmarkTemplate{
		Target: pool(l.Copies),
		Clients: v1alpha1.Clients{
			Count: 1, Spread: v1alpha1.SpreadPreferred,
			Resources: v1alpha1.ClientResources{CPU: resource.MustParse("1"), Memory: resource.MustParse("1Gi")},
		},
		Dataset: v1alpha1.Dataset{Size: datasetSize}, InitialState: v1alpha1.InitialStateKeep, OSDCaches: v1alpha1.OSDCachesKeep,
		Rest: &metav1.Duration{Duration: restTime},
	}
	for _, load := range Loads(l) {
		pattern := v1alpha1.FioRandRead
		if load.Writes {
			pattern = v1alpha1.FioRandWrite
		}
		spec.Template.Phases = append(spec.Template.Phases, v1alpha1.Phase{Name: load.Phase, Fio: &v1alpha1.Fio{
			Pattern: pattern, BlockSize: l.BlockSize, IODepth: 1, NumJobs: 1, Duration: metav1.Duration{Duration: windowTime}, Ramp: &metav1.Duration{},
			RateProcess: v1alpha1.FioRateLinear, Sync: v1alpha1.FioSyncNone, Direct: new(true),
		}})
	}
	return spec
}

// Time returns how long a layered diagnosis measures, without the preparation.
func Time(l *v1alpha1.DiagnosisLayers) time.Duration {
	return time.Duration(len(Loads(l))) * (windowTime + restTime)
}
