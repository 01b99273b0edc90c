package cephbenchmark

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// statusAfter returns the object with the status that results from a pass.
func statusAfter(seen facts, p plan, e effect, failure error) *v1alpha1.CephBenchmark {
	after := seen.benchmark.DeepCopy()
	after.Status.ObservedGeneration = after.Generation
	if e.Edit != nil {
		e.Edit(&after.Status)
	}
	if p.Step == stepTearDown && p.Detail.last == endsPause && e.Finished {
		dropInterrupted(&after.Status)
	}
	seen.noteJobs(&after.Status)
	after.Status.History = cmp.Or(seen.memory.history, after.Status.History)
	if seen.memory.regressed != nil {
		meta.SetStatusCondition(&after.Status.Conditions, *seen.memory.regressed)
	}
	mark(after, p, e, kstatus.OfPass(p.Outcome, e.Outcome, failure, seen.benchmark.Status.Conditions))
	setProgress(&after.Status, seen, p)
	return after
}

// noteJobs records the UIDs of the execution's Jobs, unless the pass has drawn the nonce of other Jobs.
func (f facts) noteJobs(s *v1alpha1.CephBenchmarkStatus) {
	if f.memory.clientsJob == "" || s.Clients == nil || s.Clients.Nonce != f.recorded().Nonce {
		return
	}
	s.Clients.JobUID, s.Clients.BackgroundJobUID = f.memory.clientsJob, f.memory.backgroundJob
}

// mark sets the conditions.
func mark(b *v1alpha1.CephBenchmark, p plan, e effect, o kstatus.Outcome) {
	conditions := &b.Status.Conditions
	switch {
	case p.Step == reconcile.StepAcknowledge:
		markEnded(b)
	case p.Step == stepTearDown && e.Finished && p.Detail.last == endsPause:
		kstatus.MarkIdle(conditions, b.Generation, suspended())
	case p.Step == stepTearDown && e.Finished:
		markEnded(b)
	default:
		reconcile.Mark(conditions, b.Generation, p.Step, o)
	}
}

// markEnded sets the conditions of a benchmark that has ended, according to the present spec.failOn.
func markEnded(b *v1alpha1.CephBenchmark) {
	kstatus.JudgeAgain(&b.Status.Conditions, b.Generation, b.Status.Verdict, b.Spec.FailOn, b.Status.Summary)
	kstatus.MarkEnded(&b.Status.Conditions, b.Generation)
}

// dropInterrupted removes the run that a pause has interrupted, because it starts again after the pause.
func dropInterrupted(s *v1alpha1.CephBenchmarkStatus) {
	s.Runs = slices.DeleteFunc(s.Runs, func(run v1alpha1.BenchmarkRun) bool { return run.State == v1alpha1.RunRunning })
}

// setProgress writes the progress of the benchmark into status, or removes it if the benchmark is stalled,
// suspended, or not due yet.
func setProgress(s *v1alpha1.CephBenchmarkStatus, seen facts, p plan) {
	if slices.Contains([]reconcile.Step{reconcile.StepStall, reconcile.StepIdle, reconcile.StepAwait}, p.Step) {
		s.Progress = nil
		return
	}
	progress := conclusion.Progress{Now: seen.now, Diagnosis: seen.diagnoses(), Step: p.Progress}
	if !progress.Diagnosis {
		progress.Repetitions = seen.spec.Repetitions
	}
	if seen.script != nil {
		progress.RunDuration = seen.script.Duration()
	}
	progress.Write(s)
}

// reasonOf returns the text for the printer column Phase.
func reasonOf(b *v1alpha1.CephBenchmark) string { return kstatus.Current(b.Status.Conditions).Reason }
