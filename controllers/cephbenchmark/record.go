package cephbenchmark

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/kstatus"
)

// record writes the pass's outcome into status. Then it emits an event if a run has ended, and another
// event if the reason in status is new.
func (r *Reconciler) record(ctx context.Context, seen facts, p plan, e effect, failure error) error {
	if p.step == stepNone || p.step == stepRemoveFinalizer || (p.step == stepTearDown && p.last == endsDeleted && e.finished) {
		return nil
	}
	after := statusAfter(seen, p, e, failure)
	if seen.memory != nil && seen.now.Sub(seen.memory.statusWrittenAt) < messageInterval(seen) && kstatus.EqualIgnoringMessages(seen.benchmark, after) {
		return nil
	}
	before := reasonOf(seen.benchmark)
	written, err := kstatus.Patch(ctx, r.client, seen.benchmark, after)
	if err != nil || !written {
		return err
	}
	if seen.memory != nil {
		seen.memory.statusWrittenAt = seen.now
	}
	r.counts.BenchmarkRecorded(seen.benchmark, after, e.invalid)
	r.counts.OutageEnded(e.outage.outcome, e.outage.cost)
	if e.event != nil {
		kind := corev1.EventTypeNormal
		if e.event.Reason == "RunInvalid" {
			kind = corev1.EventTypeWarning
		}
		r.tell(after, kind, e.event.Reason, p, e.event.Message)
	}
	if reason := reasonOf(after); reason != before {
		r.tell(after, kstatus.EventType(after.Status.Conditions), reason, p, messageOf(after))
	}
	return nil
}

func (r *Reconciler) tell(b *v1alpha1.CephBenchmark, kind, reason string, p plan, message string) {
	r.recorder.Eventf(b, nil, kind, reason, string(p.step), "%s", ellipsis.Cut(message, maxNote))
}

// statusAfter returns the object with the status that results from a pass.
func statusAfter(seen facts, p plan, e effect, failure error) *v1alpha1.CephBenchmark {
	after := seen.benchmark.DeepCopy()
	after.Status.ObservedGeneration = after.Generation
	if e.edit != nil {
		e.edit(&after.Status)
	}
	if p.step == stepTearDown && p.last == endsPause && e.finished {
		dropInterrupted(&after.Status)
	}
	seen.noteJobs(&after.Status)
	mark(after, p, e, kstatus.OfPass(p.outcome, e.outcome, failure, seen.benchmark.Status.Conditions))
	setProgress(&after.Status, seen, p)
	return after
}

// noteJobs records the UIDs of the session's Jobs, unless the pass has drawn the nonce of other Jobs.
func (f facts) noteJobs(s *v1alpha1.CephBenchmarkStatus) {
	if f.memory == nil || f.memory.clientsJob == "" {
		return
	}
	if s.Clients == nil {
		s.Clients = &v1alpha1.BenchmarkClients{} // The version before began the session.
	}
	if s.Clients.Nonce != f.recorded().Nonce {
		return
	}
	s.Clients.JobUID, s.Clients.BackgroundJobUID = f.memory.clientsJob, f.memory.backgroundJob
}

// minMessageInterval is the shortest time between two writes of status that differ only in messages or in
// the step of the progress. minMessageIntervalAtEnd applies to a benchmark that has ended, because its
// messages are less urgent. It does not apply while OSDs are still down or the benchmark is being deleted.
const (
	minMessageInterval      = 10 * time.Second
	minMessageIntervalAtEnd = 30 * time.Second
)

func messageInterval(seen facts) time.Duration {
	if hasEnded(seen.benchmark.Status) && !seen.deleted() && reasonOf(seen.benchmark) != v1alpha1.ReasonRestoringOSDs {
		return minMessageIntervalAtEnd
	}
	return minMessageInterval
}

// maxNote is the maximum length of an event's note, in bytes.
const maxNote = 1024

// mark sets the conditions.
func mark(b *v1alpha1.CephBenchmark, p plan, e effect, o kstatus.Outcome) {
	conditions := &b.Status.Conditions
	switch {
	case p.step == stepAcknowledge:
		markEnded(b)
	case o.Reason == "" && !e.finished:
		return // The pass has no outcome for the conditions.
	case p.step == stepTearDown && e.finished && p.last == endsPause:
		kstatus.MarkIdle(conditions, b.Generation, suspended())
	case p.step == stepTearDown && e.finished:
		markEnded(b)
	case p.step == stepStall:
		kstatus.MarkStalled(conditions, b.Generation, o)
	case p.step == stepIdle:
		kstatus.MarkIdle(conditions, b.Generation, o)
	default:
		kstatus.MarkReconciling(conditions, b.Generation, o)
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

// setProgress writes the progress of the benchmark into status, or removes it if the benchmark is stalled or
// suspended.
func setProgress(s *v1alpha1.CephBenchmarkStatus, seen facts, p plan) {
	if p.step == stepStall || p.step == stepIdle {
		s.Progress = nil
		return
	}
	progress := conclusion.Progress{Now: seen.now, Repetitions: seen.spec.Repetitions, Step: p.progress}
	if seen.script != nil {
		progress.RunDuration = seen.script.Duration()
	}
	progress.Write(s)
}

// reasonOf returns the text for the printer column Phase.
func reasonOf(b *v1alpha1.CephBenchmark) string { return kstatus.Current(b.Status.Conditions).Reason }

func messageOf(b *v1alpha1.CephBenchmark) string { return kstatus.Current(b.Status.Conditions).Message }
