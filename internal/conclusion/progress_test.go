package conclusion

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestProgress(t *testing.T) {
	start := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	moment := func(minutes int) *metav1.Time {
		return new(metav1.NewTime(start.Add(time.Duration(minutes) * time.Minute)))
	}
	running := v1alpha1.BenchmarkRun{Number: 1, State: v1alpha1.RunRunning, StartTime: moment(0)}
	valid := v1alpha1.BenchmarkRun{Number: 1, State: v1alpha1.RunValid, StartTime: moment(0)}
	second := v1alpha1.BenchmarkRun{Number: 2, State: v1alpha1.RunRunning, StartTime: moment(8)}
	complete := []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue}}
	for name, c := range map[string]struct {
		status     v1alpha1.CephBenchmarkStatus
		unplanned  bool
		step       string
		want, text string
		end        *metav1.Time
	}{
		"before the first run":    {want: "0/3 runs", step: "starting clients", text: "starting clients"},
		"the first run begins":    {status: v1alpha1.CephBenchmarkStatus{Runs: []v1alpha1.BenchmarkRun{running}}, want: "0/3 runs", end: moment(38)},
		"its duration is unknown": {status: v1alpha1.CephBenchmarkStatus{Runs: []v1alpha1.BenchmarkRun{running}}, unplanned: true, want: "0/3 runs"},
		"the estimate is not repeated": {
			status: v1alpha1.CephBenchmarkStatus{Runs: []v1alpha1.BenchmarkRun{running}, Progress: &v1alpha1.Progress{EstimatedCompletionTime: moment(7)}},
			want:   "0/3 runs", end: moment(7),
		},
		"a run tells how long all take": {
			status: v1alpha1.CephBenchmarkStatus{Runs: []v1alpha1.BenchmarkRun{valid, second}, Progress: &v1alpha1.Progress{EstimatedCompletionTime: moment(7)}},
			want:   "1/3 runs", end: moment(24),
		},
		"no news of the step": {
			status: v1alpha1.CephBenchmarkStatus{Progress: &v1alpha1.Progress{Step: "phase p1"}}, want: "0/3 runs", text: "phase p1",
		},
		"it has ended": {
			status: v1alpha1.CephBenchmarkStatus{Conditions: complete, Runs: []v1alpha1.BenchmarkRun{valid}, Progress: &v1alpha1.Progress{Step: "phase p1", EstimatedCompletionTime: moment(7)}},
			want:   "1/3 runs",
		},
		"it has a result": {
			status: v1alpha1.CephBenchmarkStatus{Conditions: complete, Headline: "write-4m 412 MiB/s", Verdict: v1alpha1.BenchmarkFailed}, want: "Failed: write-4m 412 MiB/s",
		},
		"a gate that nobody asked for": {status: v1alpha1.CephBenchmarkStatus{Conditions: complete, Headline: "write-4m 412 MiB/s"}, want: "write-4m 412 MiB/s"},
		"a trial":                      {status: v1alpha1.CephBenchmarkStatus{Trial: &v1alpha1.BenchmarkTrial{Sweep: "pg-num"}}, want: "trial: 0/3 runs"},
	} {
		t.Run(name, func(t *testing.T) {
			p := Progress{Now: moment(8).Time, Repetitions: 3, RunDuration: 10 * time.Minute, Step: c.step}
			if c.unplanned {
				p.RunDuration = 0
			}
			s := c.status
			p.Write(&s)
			if s.Progress.Summary != c.want || s.Progress.Step != c.text || !s.Progress.EstimatedCompletionTime.Equal(c.end) {
				t.Errorf("%+v, want %s, %q, %v", *s.Progress, c.want, c.text, c.end)
			}
		})
	}
}
