package sweepspec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
)

// withMarks returns a change that gives a phase its marks.
func withMarks(phase v1alpha1.PhaseName, marks ...v1alpha1.ResultMark) func(*v1alpha1.CephBenchmarkStatus) {
	return func(s *v1alpha1.CephBenchmarkStatus) {
		for i := range s.Phases {
			if s.Phases[i].Name == phase {
				s.Phases[i].Marks = marks
			}
		}
	}
}

// without returns a change that gives a phase its marks, and takes its figures.
func without(phase v1alpha1.PhaseName, marks ...v1alpha1.ResultMark) func(*v1alpha1.CephBenchmarkStatus) {
	return func(s *v1alpha1.CephBenchmarkStatus) {
		withMarks(phase, marks...)(s)
		for i := range s.Phases {
			if s.Phases[i].Name == phase {
				s.Phases[i].Metrics = nil
			}
		}
	}
}

func TestObserve(t *testing.T) {
	spec := &specOf(t, `{constraints: [{phase: fio, metric: LatencyP99, maximumRegression: 10%}]}`).Spec
	// ended returns a benchmark that has measured everything, after a change by the test case.
	ended := func(change func(*v1alpha1.CephBenchmarkStatus)) *v1alpha1.CephBenchmark {
		child := &v1alpha1.CephBenchmark{Status: v1alpha1.CephBenchmarkStatus{
			Runs: []v1alpha1.BenchmarkRun{{Number: 1, State: v1alpha1.RunValid}},
			Phases: []v1alpha1.PhaseResult{
				{Name: "write", ValidRuns: 1, Metrics: []v1alpha1.MetricResult{
					{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal, Value: "100"},
					{Metric: v1alpha1.MetricBandwidth, Direction: v1alpha1.DirectionWrite, Value: "1"},
					{Metric: v1alpha1.MetricBandwidth, Direction: v1alpha1.DirectionTotal, Value: "412345678"},
				}},
				{Name: "fio", ValidRuns: 1, Metrics: []v1alpha1.MetricResult{
					{Metric: v1alpha1.MetricLatencyP99, Direction: v1alpha1.DirectionTotal, Value: "0.0123"},
				}},
			},
		}}
		if change != nil {
			change(&child.Status)
		}
		return child
	}
	failed := []metav1.Condition{{Type: v1alpha1.ConditionFailed, Status: metav1.ConditionTrue, Message: "fio has failed."}}
	for name, tc := range map[string]struct {
		evidence   Evidence
		want       string
		wantValues []float64
		wantWhy    string
	}{
		"a run":                   {Evidence{Child: ended(nil)}, string(v1alpha1.TrialValid), []float64{412346000, 0.0123}, ""},
		"a run that lacked CPU":   {Evidence{Child: ended(withMarks("write", v1alpha1.MarkBelowRate, v1alpha1.MarkStarved))}, string(v1alpha1.TrialStarved), []float64{412346000, 0.0123}, ""},
		"a constraint's phase":    {Evidence{Child: ended(withMarks("fio", v1alpha1.MarkThrottled))}, string(v1alpha1.TrialThrottled), []float64{412346000, 0.0123}, ""},
		"a rate that is too high": {Evidence{Child: ended(without("fio", v1alpha1.MarkBelowRate, v1alpha1.MarkSaturated))}, string(v1alpha1.TrialSaturated), []float64{412346000, 65}, ""},
		"a generator that is late": {
			Evidence{Child: ended(without("fio", v1alpha1.MarkSaturated, v1alpha1.MarkOffSchedule))},
			string(v1alpha1.TrialFailed), nil,
			"a client's generator did not follow its schedule",
		},
		"a missed rate":            {Evidence{Child: ended(withMarks("write", v1alpha1.MarkBelowRate, v1alpha1.MarkCached))}, string(v1alpha1.TrialBelowRate), []float64{412346000, 0.0123}, ""},
		"no effect on the daemons": {Evidence{Child: ended(nil), Inert: "osd.3 has another."}, string(v1alpha1.TrialInert), nil, "osd.3"},
		"someone else":             {Evidence{Child: ended(nil), Changed: "Someone was there."}, string(v1alpha1.TrialChanged), nil, "Someone"},
		"never settled":            {Evidence{Failure: "PGs did not become clean."}, string(v1alpha1.TrialFailed), nil, "PGs did not"},
		"no child":                 {Evidence{}, string(v1alpha1.TrialFailed), nil, "benchmark of the run is missing"},
		"interrupted before all":   {Evidence{Child: ended(nil), Interrupted: true, Inert: "x"}, string(v1alpha1.TrialInterrupted), nil, "interrupted"},
		"disturbed, and therefore failed": {
			Evidence{Child: ended(func(s *v1alpha1.CephBenchmarkStatus) {
				s.Runs[0] = v1alpha1.BenchmarkRun{Number: 1, State: v1alpha1.RunInvalid, Reason: "Recovery began."}
				s.Conditions, s.Phases = failed, nil
			})}, string(v1alpha1.TrialDisturbed), nil, "Recovery",
		},
		"a tool that failed": {
			Evidence{Child: ended(func(s *v1alpha1.CephBenchmarkStatus) { s.Runs, s.Phases, s.Conditions = nil, nil, failed })},
			string(v1alpha1.TrialFailed), nil, "fio has failed",
		},
		"the objective is not steady": {
			Evidence{Child: ended(func(s *v1alpha1.CephBenchmarkStatus) {
				s.Phases[0].Marks = []v1alpha1.ResultMark{v1alpha1.MarkNotSteady}
			})},
			string(v1alpha1.TrialNotSteady), nil, "phase write",
		},
		"a constraint is not steady": {
			Evidence{Child: ended(func(s *v1alpha1.CephBenchmarkStatus) {
				s.Phases[1].Marks = []v1alpha1.ResultMark{v1alpha1.MarkNotSteady}
			})},
			string(v1alpha1.TrialNotSteady), nil, "phase fio",
		},
		"a figure that the run lacks": {
			Evidence{Child: ended(func(s *v1alpha1.CephBenchmarkStatus) { s.Phases[1].Metrics = nil })},
			string(v1alpha1.TrialFailed), nil, "does not report fio LatencyP99",
		},
		"a figure of nothing": {
			Evidence{Child: ended(func(s *v1alpha1.CephBenchmarkStatus) { s.Phases[1].Metrics[0].Value = "0" })},
			string(v1alpha1.TrialFailed), nil, "cannot be compared",
		},
		"a phase without a valid run": {
			Evidence{Child: ended(func(s *v1alpha1.CephBenchmarkStatus) { s.Phases[0].ValidRuns = 0 })},
			string(v1alpha1.TrialFailed), nil, "Phase write has no result",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.evidence.Seconds, tc.evidence.BytesWritten = 75, 3<<20+1
			trial := sweep.Trial{Block: 2, Attempt: 1, Position: 3, Configuration: 1}
			got, reason := Observe(spec, trial, tc.evidence)
			if got.Validity() != tc.want || !strings.Contains(reason, tc.wantWhy) || (reason == "") != (tc.wantWhy == "") {
				t.Errorf("%s because %q, want %s because %q", got.Validity(), reason, tc.want, tc.wantWhy)
			}
			if diff := cmp.Diff(tc.wantValues, got.Values); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
			if got.Seconds != 75 || got.MiB != 4 || got.Block != 2 || got.Position != 3 || got.Configuration != 1 {
				t.Errorf("entry %+v", got)
			}
		})
	}
}
