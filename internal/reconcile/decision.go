package reconcile

import (
	"context"

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
	// another reason, which [Log.Found] logs.
	Reason string
	// Rests reports that the step does nothing. The first decision for an object is not logged if Rests is
	// set. Otherwise, a restart would log a line for each ended object.
	Rests bool
	// Renews reports that the step only renews the lock, which recurs between other steps. Such decisions are not logged.
	Renews bool
}

// Log logs the decisions for one object. The zero value is ready to use.
type Log struct {
	last  Decision
	known bool   // there was a decision
	found string // the last reason that Found has logged for it
}

// Note logs a decision, with the logger of ctx, unless the last one was the same. It does not log the first decision if
// Rests is set. A Decision omits the message for users, because a message may change with each pass.
func (l *Log) Note(ctx context.Context, object client.Object, d Decision) {
	if d.Renews || l.known && l.last == d {
		return
	}
	silent := d.Rests && !l.known
	*l = Log{last: d, known: true}
	if !silent {
		logf.FromContext(ctx).Info("Decided", l.values(object, d.Reason)...)
	}
}

// Found logs the reason that the step of the last decision has found, such as a lost lock. It logs nothing
// if the reason is empty, if the decision has the same reason, or if this reason is the last one that Found
// has logged for the decision. The parameter message is the text for users.
func (l *Log) Found(ctx context.Context, object client.Object, reason, message string) {
	if !l.known || reason == "" || reason == l.last.Reason || reason == l.found {
		return
	}
	l.found = reason
	logf.FromContext(ctx).Info("Found", append(l.values(object, reason), "message", message)...)
}

func (l *Log) values(object client.Object, reason string) []any {
	return []any{
		"object", client.ObjectKeyFromObject(object).String(), "runID", l.last.RunID, "run", l.last.Run, "rule", l.last.Rule,
		"step", l.last.Step, "detail", l.last.Detail, "reason", reason,
	}
}
