package cephtuningsweep

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// The maximum lengths of texts, in bytes.
const (
	maxStep     = 128
	maxProgress = 96
)

// statusAfter returns the sweep with its status after a pass.
func statusAfter(seen facts, p plan, e effect, failure error) *v1alpha1.CephTuningSweep {
	after := seen.sweep.DeepCopy()
	if recorded := after.Status.Trial; recorded != nil && seen.child != nil { // Normally, the pass that created the child has recorded it.
		recorded.UID = seen.child.UID
	}
	if e.Continues {
		inTurn(e.Edit)(&after.Status)
		return after
	}
	after.Status.ObservedGeneration = after.Generation
	if e.Edit != nil {
		e.Edit(&after.Status)
	}
	mark(after, p, e, kstatus.OfPass(p.Outcome, e.Outcome, failure, seen.sweep.Status.Conditions))
	if e.Finished { // Nothing is in progress.
		p.Progress = ""
	}
	setStep(&after.Status, p)
	return after
}

func mark(s *v1alpha1.CephTuningSweep, p plan, e effect, o kstatus.Outcome) {
	conditions := &s.Status.Conditions
	switch {
	case e.Gone: // The object is gone.
	case e.Finished && slices.Contains([]ending{endsReplaced, endsClosed, endsInvalid}, p.Detail.then):
		// Only an abandoned restore finishes so. The sweep waits until a user removes the annotation that abandoned it.
		kstatus.MarkStalled(conditions, s.Generation, stillAbandoned(s))
	case p.Step == reconcile.StepAcknowledge, e.Finished && p.Detail.then != endsPaused:
		kstatus.JudgeAgain(conditions, s.Generation, s.Status.Verdict, s.Spec.FailOn, s.Status.Summary)
		kstatus.MarkEnded(conditions, s.Generation)
	case e.Finished:
		kstatus.MarkIdle(conditions, s.Generation, suspended())
	default:
		reconcile.Mark(conditions, s.Generation, p.Step, o)
	}
}

// concludePlan ends a run ID with mode Plan. The message ends with the notes.
func concludePlan(s *v1alpha1.CephTuningSweepStatus, now time.Time, notes ...string) {
	message := strings.TrimSpace(fmt.Sprintf("The plan is in status: %d to %d runs, at most %v. %s",
		s.Plan.MinimumRuns, s.Plan.MaximumRuns, s.Plan.EstimatedDuration.Duration, sweepspec.Strength(s.Plan)))
	message = strings.Join(append([]string{message}, notes...), " ")
	if n := len(s.Plan.Refusals); n > 0 {
		message = fmt.Sprintf("The plan cannot be carried out. Reasons in status.plan.refusals: %d. %s", n, whole(s.Plan.Refusals))
	}
	ended(now, v1alpha1.ConditionComplete, kstatus.Outcome{Reason: v1alpha1.ReasonPlanned, Message: message})(s)
}

// whole joins as many messages as fit into half of a condition's message. No message is cut: status has the others.
func whole(messages []string) string {
	text := ""
	for i, message := range messages {
		if len(text)+len(message) > kstatus.MaxMessage/2 && i > 0 {
			return fmt.Sprintf("%s And %d more in status.plan.refusals.", text, len(messages)-i)
		}
		text = strings.TrimSpace(text + " " + message)
	}
	return text
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
		o = kstatus.Outcome{Reason: v1alpha1.ReasonAbandoned, Message: "The journal was removed, so the original values are unknown: compare `ceph config dump` and `ceph osd pool ls " +
			"detail` with how they should be."}
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
// that were not restored, for whatever reason. If this list is longer than kstatus.MaxMessage/2 bytes, the message need
// only have the first kstatus.MaxMessage/2 bytes, because it may have no room for the rest.
func recordsLeftAlone(s *v1alpha1.CephTuningSweepStatus, report tuning.Report) bool {
	text := strings.Join(messagesOf(report.LeftAlone()), " ")
	restored := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionRestored)
	return text == "" || restored != nil && strings.Contains(restored.Message, text[:min(len(text), kstatus.MaxMessage/2)])
}

// recordsRestored reports whether status already has the outcome of the restore. It compares the status and
// the reason of the condition Restored, but not its message.
func recordsRestored(s *v1alpha1.CephTuningSweepStatus, report tuning.Report, unrestarted string) bool {
	after := s.DeepCopy()
	setRestored(after, report, unrestarted)
	before, now := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionRestored), meta.FindStatusCondition(after.Conditions, v1alpha1.ConditionRestored)
	return before != nil && before.Status == now.Status && before.Reason == now.Reason
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
	kstatus.Set(&s.Conditions, kind, status, s.ObservedGeneration, o)
}

func setStep(s *v1alpha1.CephTuningSweepStatus, p plan) {
	if s.Progress == nil {
		if p.Progress == "" {
			return
		}
		s.Progress = &v1alpha1.Progress{}
	}
	s.Progress.Step = ellipsis.Cut(p.Progress, maxStep)
	if p.Detail.summary != "" {
		s.Progress.Summary = ellipsis.Cut(p.Detail.summary, maxProgress)
	}
	if s.Verdict != "" {
		s.Progress.Summary = ellipsis.Cut(sweepspec.ResultLine(s), maxProgress)
	}
}

// reasonOf returns the text of the printer column Phase.
func reasonOf(s *v1alpha1.CephTuningSweep) string { return kstatus.Current(s.Status.Conditions).Reason }

func messageOf(s *v1alpha1.CephTuningSweep) string {
	return kstatus.Current(s.Status.Conditions).Message
}
