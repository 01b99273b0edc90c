package cephbenchmark

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// estimate returns when the benchmark is expected to end. It uses the planned duration until the
// first run has ended. It changes only when a run ends, because each change costs a write.
func (f facts) estimate(ended int32) (*metav1.Time, bool) {
	if f.script == nil {
		return nil, false
	}
	progress := f.benchmark.Status.Progress
	if progress != nil && progress.EstimatedCompletionTime != nil && progress.CompletedRuns == ended {
		return nil, false
	}
	left := time.Duration(f.spec.Repetitions-ended) * f.script.Duration()
	if ended > 0 {
		sofar := f.now.Sub(f.firstStart())
		left = time.Duration(f.spec.Repetitions-ended) * (sofar / time.Duration(ended))
	}
	at := metav1.NewTime(f.now.Add(left).Truncate(time.Second))
	return &at, true
}

// firstStart returns when the first run began.
func (f facts) firstStart() time.Time {
	for _, run := range f.benchmark.Status.Runs {
		if run.StartTime != nil {
			return run.StartTime.Time
		}
	}
	return f.startTime()
}
