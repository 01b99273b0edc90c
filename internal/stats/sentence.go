package stats

import (
	"fmt"
	"strings"
)

// Sentence is the assessment in one line of plain English. Numbers that do not
// exist are left out rather than shown as infinities.
func (a Assessment) Sentence() string {
	if a.Verdict == Invalid {
		return fmt.Sprintf("%s: no verdict, because %s.", a.Name, join(a.Reasons))
	}
	return fmt.Sprintf("%s %s: ratio %.3f, %s%% interval %.3f to %.3f, %s.",
		a.Name, a.claim(), a.Ratio, short(100*a.Interval.Confidence), a.Interval.Low, a.Interval.High, plural(a.Runs, "run"))
}

func (a Assessment) claim() string {
	atLeast := percent(a.criteria.MinimumEffect)
	switch a.Verdict {
	case Superior:
		return fmt.Sprintf("is better than the baseline by more than %s", atLeast)
	case Equivalent:
		return fmt.Sprintf("differs from the baseline by less than %s", percent(a.criteria.Equivalence))
	case Better:
		return fmt.Sprintf("is better than the baseline, but by less than %s", atLeast)
	case Inferior:
		return "is worse than the baseline"
	}
	return fmt.Sprintf("is undecided (%s)", join(a.Reasons))
}

func join(reasons []Reason) string {
	clauses := make([]string, len(reasons))
	for i, r := range reasons {
		clauses[i] = r.String()
	}
	return strings.Join(clauses, "; ")
}
