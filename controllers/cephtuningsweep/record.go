package cephtuningsweep

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/sweep"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// The maximum lengths of texts, in bytes.
const (
	maxMessage = 1024 // of a condition, and of the note of an event
	maxStep    = 128
)

// minMessageInterval is the minimum interval between any write of status and a later write that changes only
// messages or progress.step.
const minMessageInterval = 10 * time.Second

// record writes the pass's outcome into status. Then it emits the events of the step, and an event if the
// reason has changed.
func (r *Reconciler) record(ctx context.Context, seen facts, p plan, e effect, failure error) error {
	if p.step == stepNone {
		return nil
	}
	before, after := reasonOf(seen.sweep), statusAfter(seen, p, e, failure)
	err := r.write(ctx, seen, after, p.then == endsDeleted && e.finished)
	// The events of the step are emitted even if a concurrent edit made the write of status fail. The next
	// pass may not know of them.
	for _, t := range together(e.events) {
		r.tell(after, t.kind, t.reason, p, t.message)
	}
	if err != nil {
		return err
	}
	r.Counts.SweepRecorded(&seen.sweep.Status, &after.Status)
	if reason := reasonOf(after); reason != before {
		r.tell(after, kstatus.EventType(after.Status.Conditions), reason, p, messageOf(after))
	}
	return nil
}

// write writes status. It skips the write if the object no longer exists, or if status was written recently
// and only messages or progress.step have changed.
func (r *Reconciler) write(ctx context.Context, seen facts, after *v1alpha1.CephTuningSweep, gone bool) error {
	if gone || seen.memory != nil && seen.now.Sub(seen.memory.statusWrittenAt) < minMessageInterval && kstatus.EqualIgnoringMessages(seen.sweep, after) {
		return nil
	}
	written, err := kstatus.Patch(ctx, r.Client, seen.sweep, after)
	if written && seen.memory != nil {
		seen.memory.statusWrittenAt = seen.now
	}
	return err
}

// together joins events with the same kind and reason. Otherwise, Kubernetes would keep only the first of
// them.
func together(all []eventRecord) []eventRecord {
	var joined []eventRecord
	for _, t := range all {
		at := slices.IndexFunc(joined, func(j eventRecord) bool { return j.kind == t.kind && j.reason == t.reason })
		if at < 0 {
			joined = append(joined, t)
			continue
		}
		joined[at].message += " " + t.message
	}
	return joined
}

func (r *Reconciler) tell(s *v1alpha1.CephTuningSweep, kind, reason string, p plan, message string) {
	r.Recorder.Eventf(s, nil, kind, reason, string(p.step), "%s", ellipsis.Cut(message, maxMessage))
}

// statusAfter returns the sweep with its status after a pass.
func statusAfter(seen facts, p plan, e effect, failure error) *v1alpha1.CephTuningSweep {
	after := seen.sweep.DeepCopy()
	if recorded := after.Status.Trial; recorded != nil && seen.child != nil { // Normally, the pass that created the child has recorded it.
		recorded.UID = seen.child.UID
	}
	if e.goesOn {
		inTurn(e.edit)(&after.Status)
		return after
	}
	after.Status.ObservedGeneration = after.Generation
	if e.edit != nil {
		e.edit(&after.Status)
	}
	mark(after, p, e, kstatus.OfPass(p.outcome, e.outcome, failure, seen.sweep.Status.Conditions))
	if e.finished { // Nothing is in progress.
		p.progress = ""
	}
	setStep(&after.Status, p)
	return after
}

func mark(s *v1alpha1.CephTuningSweep, p plan, e effect, o kstatus.Outcome) {
	conditions := &s.Status.Conditions
	switch {
	case e.finished && p.then == endsDeleted: // The object is gone.
	case e.finished && slices.Contains([]ending{endsReplaced, endsClosed, endsVoid}, p.then): // Only an abandoned restore finishes so. The sweep waits until a user removes the annotation that abandoned it.
		kstatus.MarkStalled(conditions, s.Generation, stillAbandoned(s))
	case p.step == stepAcknowledge, e.finished && p.then != endsPaused:
		kstatus.JudgeAgain(conditions, s.Generation, s.Status.Verdict, s.Spec.FailOn, s.Status.Summary)
		kstatus.MarkEnded(conditions, s.Generation)
	case e.finished:
		kstatus.MarkIdle(conditions, s.Generation, suspended())
	case o.Reason == "":
		return // The pass has no outcome for the conditions.
	case p.step == stepStall:
		kstatus.MarkStalled(conditions, s.Generation, o)
	case p.step == stepIdle:
		kstatus.MarkIdle(conditions, s.Generation, o)
	default:
		kstatus.MarkReconciling(conditions, s.Generation, o)
	}
}

// concludePlan ends a run ID with mode Plan. The message ends with the notes.
func concludePlan(s *v1alpha1.CephTuningSweepStatus, now time.Time, notes ...string) {
	message := strings.TrimSpace(fmt.Sprintf("The plan is in status: %d to %d runs, at most %v. %s",
		s.Plan.MinimumRuns, s.Plan.MaximumRuns, s.Plan.EstimatedDuration.Duration, sweepspec.Strength(s.Plan)))
	message = strings.Join(append([]string{message}, notes...), " ")
	if n := len(s.Plan.Refusals); n > 0 {
		message = fmt.Sprintf("The plan cannot be carried out. Reasons in status.plan.refusals: %d. %s", n, strings.Join(s.Plan.Refusals, " "))
	}
	ended(now, v1alpha1.ConditionComplete, kstatus.Outcome{Reason: v1alpha1.ReasonPlanned, Message: ellipsis.Cut(message, maxMessage)})(s)
}

// allButWinner begins the message of condition Restored after a restore that kept the winner's settings.
const allButWinner = "Everything but the winner, which is kept, was read back at its original value: "

// setRestored records the outcome of the restore of the changed settings. The parameter unrestarted names the
// OSDs that still have to start with the original values, or says that they are unknown. It is "" if no such OSD
// is known.
func setRestored(s *v1alpha1.CephTuningSweepStatus, report tuning.Report, unrestarted string) {
	left, kept := report.LeftAlone(), report.Kept()
	messages := messagesOf(slices.Concat(left, kept))
	o := kstatus.Outcome{Reason: v1alpha1.ReasonRestored, Message: "Everything was read back at its original value."}
	if len(kept) > 0 {
		o.Message = allButWinner + strings.Join(messages, " ")
	}
	status := metav1.ConditionTrue
	switch {
	case !report.Done:
		status = metav1.ConditionFalse
		o = kstatus.Outcome{Reason: v1alpha1.ReasonNotRestored, Message: strings.Join(report.Waiting, " ")}
	case len(report.Entries) == 0: // The journal was removed, normally by another client.
		status = metav1.ConditionFalse
		o = kstatus.Outcome{Reason: v1alpha1.ReasonAbandoned, Message: "The journal was removed, so the original values are unknown: compare `ceph config dump` and `ceph osd pool ls detail` with how they should be."}
	case slices.ContainsFunc(left, func(e tuning.Entry) bool { return e.State == tuning.Abandoned }):
		status = metav1.ConditionFalse
		o = kstatus.Outcome{Reason: v1alpha1.ReasonAbandoned, Message: strings.TrimSpace(strings.Join(messages, " ") + " " + unrestarted)}
	case unrestarted != "":
		status = metav1.ConditionFalse
		o = kstatus.Outcome{Reason: v1alpha1.ReasonOSDsNotRestarted, Message: strings.TrimSpace(unrestarted + " " + strings.Join(messages, " "))}
	case len(left) > 0:
		o = kstatus.Outcome{Reason: v1alpha1.ReasonLeftAlone, Message: strings.Join(messages, " ")}
	}
	setCondition(s, v1alpha1.ConditionRestored, status, o)
}

func messagesOf(entries []tuning.Entry) []string {
	messages := make([]string, 0, len(entries))
	for _, entry := range entries {
		messages = append(messages, sentence(entry.Message()))
	}
	return messages
}

// recordsLeftAlone reports whether the message of condition Restored lists the original values of all settings
// that were not restored, for whatever reason. If this list is longer than maxMessage/2 bytes, the message need
// only have the first maxMessage/2 bytes, because it may have no room for the rest.
func recordsLeftAlone(s *v1alpha1.CephTuningSweepStatus, report tuning.Report) bool {
	text := strings.Join(messagesOf(report.LeftAlone()), " ")
	restored := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionRestored)
	return text == "" || restored != nil && strings.Contains(restored.Message, text[:min(len(text), maxMessage/2)])
}

// recordsRestored reports whether status already has the outcome of the restore. It compares the status and
// the reason of the condition Restored, but not its message.
func recordsRestored(s *v1alpha1.CephTuningSweepStatus, report tuning.Report, unrestarted string) bool {
	after := s.DeepCopy()
	setRestored(after, report, unrestarted)
	was, is := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionRestored), meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionRestored)
	return was != nil && was.Status == is.Status && was.Reason == is.Reason
}

// setSettling records that the settings are restored, but the cluster has not settled or OSDs still have to
// restart. It does nothing if waits is "" or the condition Restored is already True.
func setSettling(s *v1alpha1.CephTuningSweepStatus, waits string) {
	if waits == "" || meta.IsStatusConditionTrue(s.Conditions, v1alpha1.ConditionRestored) {
		return
	}
	setCondition(s, v1alpha1.ConditionRestored, metav1.ConditionFalse, kstatus.Outcome{Reason: v1alpha1.ReasonNotRestored, Message: waits})
}

// notRestored returns the edit that records the sweep's values as the current values in Ceph.
func notRestored(want []tuning.Change) func(*v1alpha1.CephTuningSweepStatus) {
	var texts []string
	for _, change := range want {
		texts = append(texts, change.String())
	}
	return func(s *v1alpha1.CephTuningSweepStatus) {
		if len(want) == 0 {
			return
		}
		setCondition(s, v1alpha1.ConditionRestored, metav1.ConditionFalse, kstatus.Outcome{
			Reason: v1alpha1.ReasonNotRestored, Message: "While the sweep runs, Ceph has these values: " + strings.Join(texts, ", ") + ".",
		})
	}
}

func setCondition(s *v1alpha1.CephTuningSweepStatus, kind string, status metav1.ConditionStatus, o kstatus.Outcome) {
	meta.SetStatusCondition(&s.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: o.Reason, Message: ellipsis.Cut(o.Message, maxMessage), ObservedGeneration: s.ObservedGeneration,
	})
}

func setStep(s *v1alpha1.CephTuningSweepStatus, p plan) {
	if s.Progress == nil {
		if p.progress == "" {
			return
		}
		s.Progress = &v1alpha1.Progress{}
	}
	s.Progress.Step = ellipsis.Cut(p.progress, maxStep)
}

// orderOf returns the number of the current block and the order of its configurations.
func orderOf(next sweep.Decision) (block int32, order []int32) {
	for _, c := range next.Progress.Order {
		order = append(order, int32(c)) //nolint:gosec // At most 64.
	}
	return int32(next.Progress.Block), order //nolint:gosec // At most MaxLedger.
}

// reasonOf returns the text of the printer column Phase.
func reasonOf(s *v1alpha1.CephTuningSweep) string { return kstatus.Current(s.Status.Conditions).Reason }

func messageOf(s *v1alpha1.CephTuningSweep) string {
	return kstatus.Current(s.Status.Conditions).Message
}
