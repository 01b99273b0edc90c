// Package reconcile has the loop of the controllers: its passes, the rules that decide, the log of the decisions, the
// memory of each run, deadlines of waits, and finalizers.
package reconcile

// Rule is a named function that returns a plan if it applies. F is the type of the observations of a pass,
// and P the type of a plan.
type Rule[F, P any] struct {
	// Name is the name of the rule's function, so that a reader of the log finds it.
	Name string
	Func func(F) (P, bool)
}

// First returns the plan of the first rule that applies, and the rule's name. It returns false
// if no rule applies.
func First[F, P any](rules []Rule[F, P], seen F) (P, string, bool) {
	for _, rule := range rules {
		if plan, applies := rule.Func(seen); applies {
			return plan, rule.Name, true
		}
	}
	var none P
	return none, "", false
}
