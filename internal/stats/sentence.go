package stats

import (
	"fmt"
	"strings"
	"time"
)

// Sentence returns the assessment in one line of plain English. For an Invalid candidate, it gives
// only the reasons. It counts missing runs in repeats, like [MoreRuns].
func (a Assessment) Sentence() string { return a.SentenceFor(Effort{}) }

// SentenceFor is like Sentence, but converts missing repeats to runs and time. The parameter each is the cost of
// one more repeat.
func (a Assessment) SentenceFor(each Effort) string {
	if a.Verdict == Invalid {
		return fmt.Sprintf("%s: no verdict, because %s.", a.Name, join(a.Reasons))
	}
	return fmt.Sprintf("%s %s: ratio %.3f, %s%% interval %.3f to %.3f, %s.",
		a.Name, a.claim(each), a.Ratio, short(100*a.Interval.Confidence), a.Interval.Low, a.Interval.High, a.evidence())
}

func (a Assessment) evidence() string {
	if a.contrast.Paired {
		return plural(a.Runs, "block")
	}
	return plural(a.Runs, "run") + " a side"
}

func (a Assessment) claim(each Effort) string {
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
	return fmt.Sprintf("is undecided (%s; %s)", join(a.Reasons), a.MoreRuns().Words(each))
}

// mostRuns is the largest number of missing runs that a sentence names. For larger numbers it says "more
// than".
const mostRuns = 1000

// Words returns the missing runs as a clause of plain English, for example "about 20 more runs would decide
// (12 to 44, 25m to 1h32m)".
func (m MoreRuns) Words(each Effort) string {
	tooClose := ""
	if m.TooClose {
		tooClose = "it is too close to a threshold"
	}
	switch {
	case m.TooClose && m.Total == 0:
		return tooClose + " to be decided"
	case m.Needed == 0:
		return "nothing is missing"
	case m.TooClose:
		tooClose += ": "
	}
	per, unit := m.unit(each)
	if m.Needed*per > mostRuns {
		return fmt.Sprintf("%smore than %d more %s are needed", tooClose, mostRuns, strings.Replace(unit, "%s", "s", 1))
	}
	return fmt.Sprintf("%sabout %s would decide%s", tooClose, count(m.Needed*per, "more "+unit), m.spread(each, per))
}

// unit returns the unit for missing runs, and how many of these units one repeat has. The %s in the unit
// stands for the plural s.
func (m MoreRuns) unit(each Effort) (per int, unit string) {
	switch {
	case each.Runs > 0:
		return each.Runs, "run%s"
	case m.Paired:
		return 1, "block%s"
	}
	return 1, "run%s a side"
}

func count(n int, unit string) string {
	s := "s"
	if n == 1 {
		s = ""
	}
	return fmt.Sprintf("%d "+unit, n, s)
}

// spread returns, in brackets, the range of the missing runs and the time that they take. It omits an unknown
// time, and a range of one number. If it omits both, it returns "".
func (m MoreRuns) spread(each Effort, per int) string {
	var parts []string
	switch high := m.High * per; {
	case m.Low == m.High:
	case m.High == 0 || high > mostRuns:
		parts = append(parts, fmt.Sprintf("%d to more than %d", m.Low*per, mostRuns))
	default:
		parts = append(parts, fmt.Sprintf("%d to %d", m.Low*per, high))
	}
	if each.Time > 0 {
		parts = append(parts, m.span(each.Time, mostRuns/per))
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + strings.Join(parts, ", ") + ")"
}

// span returns how long the missing repeats take. It says "more than" if they are more than the limit.
func (m MoreRuns) span(each time.Duration, limit int) string {
	takes := func(n int) string { return minutes(time.Duration(n) * each) }
	switch {
	case m.Low == m.High:
		return takes(m.Needed)
	case m.High == 0 || m.High > limit:
		return takes(m.Low) + " to more than " + takes(limit)
	}
	return takes(m.Low) + " to " + takes(m.High)
}

// minutes returns a duration in the form 5m or 2h5m, at least 1m.
func minutes(d time.Duration) string {
	return strings.TrimSuffix(max(time.Minute, d.Round(time.Minute)).String(), "0s")
}

func join(reasons []Reason) string {
	clauses := make([]string, len(reasons))
	for i, r := range reasons {
		clauses[i] = r.String()
	}
	return strings.Join(clauses, "; ")
}
