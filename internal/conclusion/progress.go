package conclusion

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// The maximum lengths of texts of Progress in status, in bytes.
const (
	maxStep    = 128
	maxSummary = 96
)

// Progress says how far a benchmark has come.
type Progress struct {
	Now time.Time
	// Diagnosis says that the benchmark is a diagnosis, which has no runs.
	Diagnosis bool
	// Repetitions is the number of runs.
	Repetitions int32
	// RunDuration is the planned duration of a run; 0 if unknown.
	RunDuration time.Duration
	// Step describes the current work. "" keeps the text in status until the benchmark has ended.
	Step string
}

// Write writes the progress into status.
func (p Progress) Write(s *v1alpha1.CephBenchmarkStatus) {
	ended := EndedRuns(*s)
	progress := v1alpha1.Progress{
		CompletedRuns: ended,
		TotalRuns:     p.Repetitions,
		Summary:       fmt.Sprintf("%d/%d runs", ended, p.Repetitions),
		Step:          ellipsis.Cut(p.Step, maxStep),
	}
	if !kstatus.HasEnded(s.Conditions) {
		if s.Progress != nil && progress.Step == "" {
			progress.Step = s.Progress.Step
		}
		progress.EstimatedCompletionTime = p.estimate(*s, ended)
	}
	if p.Diagnosis {
		progress.Summary, progress.CompletedRuns = "diagnosis", 0
	}
	switch figure, _, _ := strings.Cut(s.Headline, ", "); {
	case s.Verdict != "" && figure != "":
		progress.Summary = string(s.Verdict) + ": " + s.Headline // The limit follows the figure.
	case figure != "":
		progress.Summary = figure
	}
	if s.Trial != nil {
		progress.Summary = "trial: " + progress.Summary
	}
	progress.Summary = ellipsis.Cut(progress.Summary, maxSummary)
	s.Progress = &progress
}

// estimate returns when the benchmark is expected to end; nil if unknown. Until the first run has ended, it
// uses the planned duration of a run. Afterwards it uses the mean time that ended runs took. The estimate
// changes only when a run ends, because each change costs a write of status.
func (p Progress) estimate(s v1alpha1.CephBenchmarkStatus, ended int32) *metav1.Time {
	var before *metav1.Time
	if s.Progress != nil {
		before = s.Progress.EstimatedCompletionTime
	}
	if p.RunDuration == 0 || len(s.Runs) == 0 || before != nil && s.Progress.CompletedRuns == ended {
		return before
	}
	left := time.Duration(p.Repetitions-ended) * p.RunDuration
	if ended > 0 {
		left = time.Duration(p.Repetitions-ended) * (p.Now.Sub(p.firstStart(s)) / time.Duration(ended))
	}
	return new(metav1.NewTime(p.Now.Add(left).Truncate(time.Second)))
}

// firstStart returns the start of the first run whose start is known, or else that of the execution; Now if both
// are unknown.
func (p Progress) firstStart(s v1alpha1.CephBenchmarkStatus) time.Time {
	for _, run := range s.Runs {
		if run.StartTime != nil {
			return run.StartTime.Time
		}
	}
	if s.StartTime == nil {
		return p.Now
	}
	return s.StartTime.Time
}

// EndedRuns counts the runs that have ended, valid or not.
func EndedRuns(s v1alpha1.CephBenchmarkStatus) int32 {
	ended := int32(0)
	for _, run := range s.Runs {
		if run.State != v1alpha1.RunRunning {
			ended++
		}
	}
	return ended
}
