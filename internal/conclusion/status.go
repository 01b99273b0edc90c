package conclusion

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// SetRun adds a run to status, or replaces the run with the same number. If the new entry has no start time, it
// gets that of the replaced entry.
func SetRun(s *v1alpha1.CephBenchmarkStatus, run v1alpha1.BenchmarkRun) {
	for i := range s.Runs {
		if s.Runs[i].Number == run.Number {
			if run.StartTime == nil {
				run.StartTime = s.Runs[i].StartTime
			}
			s.Runs[i] = run
			return
		}
	}
	s.Runs = append(s.Runs, run)
}

// Begin resets status for the start of a run ID. If that run ID is already in progress, for example after a
// pause, Begin changes nothing.
func Begin(s *v1alpha1.CephBenchmarkStatus, id v1alpha1.RunID, now time.Time) {
	if s.ObservedRunID == id && !kstatus.HasEnded(s.Conditions) {
		return
	}
	*s = v1alpha1.CephBenchmarkStatus{
		ObservedGeneration: s.ObservedGeneration, ObservedRunID: id, StartTime: new(metav1.NewTime(now)), Conditions: s.Conditions,
		History: s.History,
	}
	kstatus.RemoveEnds(&s.Conditions)
}

// Fail sets the condition Failed, and marks a run in progress as failed.
func Fail(s *v1alpha1.CephBenchmarkStatus, now time.Time, o kstatus.Outcome) {
	s.CompletionTime = new(metav1.NewTime(now))
	for i := range s.Runs {
		if s.Runs[i].State == v1alpha1.RunRunning {
			s.Runs[i].State, s.Runs[i].Reason = v1alpha1.RunFailed, ellipsis.Cut(o.Message, 128)
		}
	}
	kstatus.Set(&s.Conditions, v1alpha1.ConditionFailed, metav1.ConditionTrue, s.ObservedGeneration, o)
}
