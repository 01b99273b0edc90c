package reconcile

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
)

// Decision is what a pass decided for an object, as logged.
type Decision struct {
	// RunID is that of the object, and Run the number of the run in it; 0 where none is at work.
	RunID string
	Run   int
	// Rule is the name of the rule that applied, and Step what is done.
	Rule, Step string
	// Detail distinguishes successive actions of the same step; empty if it has only one.
	Detail string
	// Reason is the reason that conditions get; empty where the step leaves them as they are.
	Reason string
	// Rests says that nothing is done. Such a decision is not worth a line of an object that was
	// not seen before: after a restart that would be one for each that has ended.
	Rests bool
}

// Decisions remembers the last decision for each object, and logs one that differs. The zero
// value is ready. It may be used by several goroutines at once.
type Decisions struct {
	mu   sync.Mutex
	last map[types.NamespacedName]decided
}

// decided is a decision for one object, and for no other one of its name.
type decided struct {
	uid types.UID
	Decision
}

// Note logs a decision, with the logger of ctx, unless the last one for the object was the same.
// The message is not part of it: that may change with each pass.
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
	return last != now
}

// Forget drops what is remembered of an object that is gone.
func (d *Decisions) Forget(key types.NamespacedName) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.last, key)
}
