package reconcile

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/schedule"
)

// Step names the action of a pass.
type Step string

// These steps mean the same for each kind. A kind adds its own.
const (
	// StepNone leaves the object alone, status included.
	StepNone Step = "None"
	// StepIdle waits until spec.suspend is false.
	StepIdle Step = "Idle"
	// StepAwait waits until the schedule requests the first execution.
	StepAwait Step = "Await"
	// StepStall waits until a person changes the spec, an annotation, the operator config, or the permissions
	// in the namespace.
	StepStall Step = "Stall"
	// StepAcknowledge records a change of the spec that keeps the run ID.
	StepAcknowledge Step = "Acknowledge"
	// StepWait waits for an event, and changes nothing but status.
	StepWait Step = "Wait"
	// StepBegin begins the run ID in the spec, or continues a suspended or stalled one.
	StepBegin Step = "Begin"
	// StepProtect adds the finalizer, before anything is created or changed.
	StepProtect Step = "Protect"
	// StepLock takes or renews the lock of the Ceph cluster.
	StepLock Step = "Lock"
	// StepFail records why the run ID ends without results.
	StepFail Step = "Fail"
)

// Plan is the decision of a pass, with a message for the user. D has the details that only the steps of one kind
// need.
type Plan[D any] struct {
	// Rule is the name of the rule that made the plan.
	Rule    string
	Step    Step
	Outcome kstatus.Outcome
	// Progress describes the current work in a few words.
	Progress string
	// Again is the longest time until the next pass; 0 if only an event starts one.
	Again time.Duration
	// Deadline limits how long the object may wait for the same event.
	Deadline Deadline
	Detail   D
}

// AtMost limits the wait of p, and gives it a name. If the wait takes longer than the duration within, the plan is
// that for a wait with the outcome late.
func (p Plan[D]) AtMost(within time.Duration, name string, late kstatus.Outcome) Plan[D] {
	p.Deadline = Deadline{For: name, Within: within, Late: late}
	return p
}

// Decide returns the plan of the first rule that applies. If the plan's wait has taken too long, Decide returns the
// plan that giveUp makes from the outcome for this case.
func Decide[F, D any](rules []Rule[F, Plan[D]], seen F, headway Headway, now time.Time, giveUp func(F, kstatus.Outcome) Plan[D]) Plan[D] {
	p, name, _ := First(rules, seen)
	if p.Deadline.IsOver(headway.Waiting, now) {
		p = giveUp(seen, p.Deadline.Late)
	}
	p.Rule = name
	return p
}

// StallOnSchedule returns the plan for an object whose schedule cannot be followed.
func StallOnSchedule[D any](request schedule.Request, atWork bool) (Plan[D], bool) {
	return Plan[D]{Step: StepStall, Outcome: kstatus.Outcome{Reason: v1alpha1.ReasonNotPossible, Message: request.Problem}}, request.Problem != "" && !atWork
}

// AwaitTime returns the plan for an object whose first execution is not due yet.
func AwaitTime[D any](request schedule.Request) (Plan[D], bool) {
	return Plan[D]{Step: StepAwait, Outcome: kstatus.Outcome{Reason: v1alpha1.ReasonScheduled, Message: request.Waits}}, request.RunID == "" && request.Waits != ""
}

// Mark sets the conditions of an object after a step with an outcome. Without a reason, it leaves them as they are.
func Mark(conditions *[]metav1.Condition, generation int64, step Step, o kstatus.Outcome) {
	switch {
	case o.Reason == "":
	case step == StepStall:
		kstatus.MarkStalled(conditions, generation, o)
	case step == StepIdle:
		kstatus.MarkIdle(conditions, generation, o)
	case step == StepAwait: // All that was requested is done. Flux and Argo CD would wait for an object that is not Ready.
		kstatus.MarkReady(conditions, generation, o)
	default:
		kstatus.MarkReconciling(conditions, generation, o)
	}
}

// Effect is the outcome of a step. S is the status of the object.
type Effect[S any] struct {
	// Outcome replaces the outcome in the plan, if it has a reason.
	Outcome kstatus.Outcome
	// Again is the longest time until the next pass; 0 means the time in the plan.
	Again time.Duration
	// Waits says that the step could not begin yet, so the trouble of earlier steps stays recorded.
	Waits bool
	// Finished says that nothing of the run ID is left to do. Gone says that the object has lost its finalizer, so it
	// has no status any more.
	Finished, Gone bool
	// Continues says that the step is one part of several, so that only Edit changes status.
	Continues bool
	// Edit changes status, in addition to the outcome; nil changes nothing.
	Edit func(*S)
	// Events are emitted after the write of status, in addition to the event for a new reason.
	Events []Event
	// Recorded is called once status is written. It replaces [Loop.Recorded] if it is not nil.
	Recorded func(before, after *S)
}

// Event is an event about an object.
type Event struct{ Type, Reason, Message string }

// Warning returns an event of type Warning.
func Warning(reason, message string) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: reason, Message: message}
}

// Normal returns an event of type Normal.
func Normal(reason, message string) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: reason, Message: message}
}

// Joined joins events with the same type and reason. Otherwise, Kubernetes would keep only the first of them.
func Joined(all []Event) []Event {
	var joined []Event
	for _, e := range all {
		i := slices.IndexFunc(joined, func(j Event) bool { return j.Type == e.Type && j.Reason == e.Reason })
		if i < 0 {
			joined = append(joined, e)
			continue
		}
		joined[i].Message += " " + e.Message
	}
	return joined
}

// Emit emits the joined events about a step.
func Emit(recorder events.EventRecorder, object client.Object, step Step, all ...Event) {
	for _, e := range Joined(all) {
		recorder.Eventf(object, nil, e.Type, e.Reason, string(step), "%s", ellipsis.Cut(e.Message, kstatus.MaxMessage))
	}
}
