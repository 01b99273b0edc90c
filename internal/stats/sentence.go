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
		a.Name, a.claim(), a.Ratio, short(100*a.Interval.Confidence), a.Interval.Low, a.Interval.High, a.evidence())
}

func (a Assessment) evidence() string {
	if a.contrast.Paired {
		return plural(a.Runs, "block")
	}
	return plural(a.Runs, "run") + " a side"
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
	case Inconclusive, Invalid:
	}
	return fmt.Sprintf("is undecided (%s; %s)", join(a.Reasons), a.MoreRuns())
}

// String is what is missing as a clause of plain English.
func (m MoreRuns) String() string {
	switch {
	case m.TooClose && m.Total == 0:
		return "it is too close to a threshold to be decided"
	case m.TooClose:
		return fmt.Sprintf("it is too close to a threshold, about %s in all would decide", plural(m.Total, "run"))
	case m.Needed == 0:
		return "nothing is missing"
	}
	return fmt.Sprintf("about %s would decide", plural(m.Needed, "more run"))
}

func join(reasons []Reason) string {
	clauses := make([]string, len(reasons))
	for i, r := range reasons {
		clauses[i] = r.String()
	}
	return strings.Join(clauses, "; ")
}
