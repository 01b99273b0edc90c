package reconcile

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// Decision is the decision of a reconcile pass for an object, in the form that is logged.
type Decision struct {
	// RunID is the object's run ID. Run is the number of the current run; 0 without a current run.
	RunID string
	Run   int
	// Rule is the name of the rule that applied, and Step the name of the step.
	Rule, Step string
	// Detail distinguishes decisions with the same step, such as the parts of a teardown; "" if the
	// step needs no distinction.
	Detail string
	// Reason is the planned reason for the conditions; "" if the plan has no reason. The step may find
	// another reason, which [Decisions.Found] logs.
	Reason string
	// Rests reports that the step does nothing. The first decision for an object is not logged if Rests is
	// set. Otherwise, a restart would log a line for each ended object.
	Rests bool
}

// Decisions logs each decision that differs from the last decision for the object. The zero value is ready
// to use. Several goroutines may use it concurrently.
type Decisions struct {
	mu   sync.Mutex
	last map[types.NamespacedName]decided
}

// decided is the last decision for an object. The UID distinguishes that object from a later object with
// the same name.
type decided struct {
	uid types.UID
	Decision
	found string // the last reason that [Decisions.Found] has logged
}

// Note logs a decision, with the logger of ctx, unless the last one for the object was the same. It does
// not log the first decision for an object if Rests is set. A Decision omits the message for users, because
// a message may change with each pass.
func (d *Decisions) Note(ctx context.Context, object client.Object, decision Decision) {
	if !d.isNews(object, decision) {
		return
	}
	logf.FromContext(ctx).Info("Decided", "object", client.ObjectKeyFromObject(object).String(),
		"runID", decision.RunID, "run", decision.Run, "rule", decision.Rule, "step", decision.Step,
		"detail", decision.Detail, "reason", decision.Reason)
}

func (d *Decisions) isNews(object client.Object, decision Decision) bool {
	key, now := client.ObjectKeyFromObject(object), decided{uid: object.GetUID(), Decision: decision}
	d.mu.Lock()
	defer d.mu.Unlock()
	last, known := d.last[key]
	if d.last == nil {
		d.last = map[types.NamespacedName]decided{}
	}
	d.last[key] = now
	if !known || last.uid != now.uid {
		return !decision.Rests
	}
	if last.Decision == decision {
		now.found = last.found
		d.last[key] = now
		return false
	}
	return true
}

// Found logs the reason that the step of the last decision has found, such as a lost lock. It logs nothing
// if the reason is empty, if the decision has the same reason, or if this reason is the last one that Found
// has logged for the decision. The parameter message is the text for users.
func (d *Decisions) Found(ctx context.Context, object client.Object, reason, message string) {
	if of, is := d.finds(object, reason); is {
		logf.FromContext(ctx).Info("Found", "object", client.ObjectKeyFromObject(object).String(),
			"runID", of.RunID, "run", of.Run, "rule", of.Rule, "step", of.Step, "detail", of.Detail, "reason", reason, "message", message)
	}
}

func (d *Decisions) finds(object client.Object, reason string) (of Decision, is bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := client.ObjectKeyFromObject(object)
	last, known := d.last[key]
	if !known || last.uid != object.GetUID() || reason == "" || reason == last.Reason || reason == last.found {
		return of, false
	}
	last.found = reason
	d.last[key] = last
	return last.Decision, true
}

// Forget drops the decision for an object that no longer exists.
func (d *Decisions) Forget(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.last, key)
}
