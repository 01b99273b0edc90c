//go:build e2e

package e2e

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// backgroundRate is so low that the smallest cluster achieves it besides another load.
const backgroundRate = 20

// Reads are measured in two phases while a background load writes at a rate. In each phase, the
// background load must have written at that rate, and the phase must have only read. Nothing of
// either remains.
func TestLongBenchmarkWithBackground(t *testing.T) {
	c := forTest(t)
	b := c.benchmark("background", c.replicatedScratch(),
		fioPhase("randread", v1alpha1.Fio{Pattern: v1alpha1.FioRandRead, BlockSize: resource.MustParse("4Ki"), IODepth: 4}),
		fioPhase("read", v1alpha1.Fio{Pattern: v1alpha1.FioRead, BlockSize: resource.MustParse("64Ki"), IODepth: 2}),
		v1alpha1.Phase{Name: "other-users", Fio: &v1alpha1.Fio{
			Pattern: v1alpha1.FioRandWrite, BlockSize: resource.MustParse("4Ki"), IODepth: 4, RateIOPS: new(int64(backgroundRate)),
		}},
	)
	b.Spec.Repetitions = 2
	b.Spec.Template.BackgroundLoad = &v1alpha1.BackgroundLoad{
		Phase:     "other-users",
		Ramp:      &metav1.Duration{Duration: 5 * time.Second},
		Resources: v1alpha1.ClientResources{CPU: resource.MustParse("300m"), Memory: resource.MustParse("512Mi")},
	}

	c.runTo(t, v1alpha1.ConditionComplete, b)

	marks := append(cached(), v1alpha1.MarkClosedLoop)
	wantPlausible(t, b,
		load{phase: "randread", blockBytes: 4 << 10, inFlight: 4, metrics: fioMetrics(), marks: marks},
		load{phase: "read", blockBytes: 64 << 10, inFlight: 2, metrics: fioMetrics(), marks: marks},
	)
	for _, phase := range b.Status.Phases {
		iops, err := strconv.ParseFloat(string(phase.BackgroundIOPS), 64)
		if err != nil {
			t.Errorf("phase %s: the background load's IOPS are %q: %v", phase.Name, phase.BackgroundIOPS, err)
		}
		wantWithin(t, "operations per second beside phase "+string(phase.Name), iops, 0.7*backgroundRate, 1.1*backgroundRate)
	}
	for _, run := range c.wantRuns(t, b) {
		wantBackground(t, run)
	}
	c.wantEnvironment(t, b)
}

// wantBackground checks the document's part about the background load.
func wantBackground(t *testing.T, run *archive.Run) {
	t.Helper()
	beside := run.Background
	if beside == nil || beside.Observation == nil || beside.WholeRun {
		t.Fatalf("run %d has the background load %+v, want one with a course", run.Number, beside)
	}
	if beside.Observation.Result.Read != nil || beside.Observation.Result.Write == nil {
		t.Errorf("run %d: the background load did %+v, want writes alone", run.Number, beside.Observation.Result)
	}
	if p99, ok := figure.Find(beside.Observation.Figures, v1alpha1.MetricLatencyP99, v1alpha1.DirectionTotal); !ok || p99.Value <= 0 {
		t.Errorf("run %d: the background load has figures %+v, want percentiles among them", run.Number, beside.Observation.Figures)
	}
	for _, phase := range run.Phases {
		if phase.StartTime.Before(*beside.StartTime) || phase.EndTime.After(*beside.EndTime) {
			t.Errorf("run %d: phase %s was from %v to %v, the background load from %v to %v",
				run.Number, phase.Name, phase.StartTime, phase.EndTime, beside.StartTime, beside.EndTime)
		}
		f := map[v1alpha1.Metric]float64{}
		for _, one := range phase.Background {
			f[one.Metric] = one.Value
		}
		wantWithin(t, "bandwidth by IOPS and block size of the background load", f[v1alpha1.MetricBandwidth]/(f[v1alpha1.MetricIOPS]*(4<<10)), 0.95, 1.05)
		for _, d := range disturbancesIn(t, phase) {
			if d.Kind == quiescence.KindForeignIO {
				t.Errorf("run %d: the background load was taken for somebody else: %s", run.Number, d.Message)
			}
		}
	}
}

// disturbancesIn returns the disturbances that were recorded for a phase.
func disturbancesIn(t *testing.T, phase archive.Phase) []quiescence.Disturbance {
	t.Helper()
	var all []quiescence.Disturbance
	if len(phase.Disturbances) == 0 {
		return nil
	}
	if err := json.Unmarshal(phase.Disturbances, &all); err != nil {
		t.Errorf("phase %s: its disturbances: %v", phase.Name, err)
	}
	return all
}
