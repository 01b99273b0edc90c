package cephbenchmark

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// estimate is when the run is expected to end: by plan until a run has shown how
// long one takes. It is given anew when a run ends, and not in between, because each
// new guess would be a write.
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

// firstStart is when the first run began.
func (f facts) firstStart() time.Time {
	for _, run := range f.benchmark.Status.Runs {
		if run.StartTime != nil {
			return run.StartTime.Time
		}
	}
	return f.startTime()
}
