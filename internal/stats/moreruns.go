package stats

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// countableRuns ends the search for the number of runs that a decision takes, because no question
// is worth more runs.
const countableRuns = 100_000

// noiseRange is the confidence of the range from MoreRuns.Low to MoreRuns.High.
const noiseRange = 0.8

// MoreRuns is the number of repeats that a decision would take. A repeat is a
// block if runs are paired, otherwise a run of each side.
type MoreRuns struct {
	Total    int     // repeats in all; 0 if beyond counting, or if nothing is missing
	Needed   int     // Total minus the existing repeats, at least 1; 0 if Total is 0
	Toward   Verdict // which verdict they would reach if the estimate is right; Inconclusive if that is open
	TooClose bool    // Total exceeds Criteria.MaxRuns, or is beyond counting
	// Low and High are the values of Needed at the ends of the 80% interval of the noise; High is
	// 0 if beyond counting. They ignore that the effect is uncertain too.
	Low, High int
	Paired    bool
}

// Effort is the cost of one more repeat. The zero value means unknown.
type Effort struct {
	Runs int           // of all configurations, the baseline included
	Time time.Duration // of all of them
}

// MoreRuns estimates how many more runs would decide an Inconclusive candidate.
// For a candidate with fewer runs than any verdict needs, it returns how many are
// missing. For a candidate that lacks only a confirmation, it counts fresh runs. For
// any other candidate, the result is zero.
//
// The estimate comes from the runs so far, and is rough if these are few. Do not make just the
// estimated runs and judge all runs again as if this were the first look: that is peeking. Use
// Looks, or judge only new runs.
func (a Assessment) MoreRuns() MoreRuns {
	switch {
	case a.Runs < MinRuns:
		missing := MinRuns - a.Runs
		return MoreRuns{Total: MinRuns, Needed: missing, Toward: Inconclusive, Low: missing, High: missing, Paired: a.contrast.Paired}
	case a.Verdict == Inconclusive && a.Reasons[0].Code == NotConfirmed:
		// In the confirmation, the runs of the race do not count.
		fresh := a.contrast
		fresh.Runs = 0
		once := a.criteria
		once.Looks = Looks{}
		return once.runsToDecide(once.Gain(fresh), once.levels(1), 1)
	case a.Verdict == Inconclusive:
		return a.criteria.runsToDecide(a.criteria.Gain(a.contrast), a.levels, a.family)
	}
	return MoreRuns{}
}

// target is a verdict that more runs would reach if the estimated gain is the
// true one. parts are the questions that the runs have to answer for it.
type target struct {
	verdict Verdict
	parts   []Question
	least   int // the smallest number of runs at which the verdict is tested
}

// runsToDecide finds the fewest runs of each side that lead to a verdict other
// than Inconclusive with a probability of about 80 %, if the estimated gain and
// noise are true. It chooses the verdict that needs the fewest runs, not the
// nearest margin. For example, proving that an estimate just above 1 exceeds 1
// takes very many runs, but proving Equivalent may take few.
func (c Criteria) runsToDecide(gain Contrast, level levels, family int) MoreRuns {
	out := MoreRuns{TooClose: true, Paired: gain.Paired}
	var nearest target
	for _, t := range c.targets(gain, level, family) {
		if total, ok := t.runs(1); ok && (out.Total == 0 || total < out.Total) {
			out.Total, out.Toward, nearest = total, t.verdict, t
		}
	}
	if out.Total == 0 {
		return out
	}
	missing := func(total int) int { return max(1, total-gain.Runs) }
	out.Needed, out.TooClose = missing(out.Total), c.MaxRuns > 0 && out.Total > c.MaxRuns
	if !gain.HasNoise() {
		return out
	}
	noise := distuv.ChiSquared{K: gain.DF}
	if total, ok := nearest.runs(math.Sqrt(gain.DF / noise.Quantile((1+noiseRange)/2))); ok {
		out.Low = missing(total)
	}
	if total, ok := nearest.runs(math.Sqrt(gain.DF / noise.Quantile((1-noiseRange)/2))); ok {
		out.High = missing(total)
	}
	return out
}

// runs returns the number of repeats that reach the target if the true noise is the estimate times
// the given factor. It returns false if the number is beyond counting.
func (t target) runs(noise float64) (total int, ok bool) {
	total = t.least
	for _, q := range t.parts {
		q.StdDev *= noise
		n, found, err := q.Runs(countableRuns)
		if !found || err != nil {
			return 0, false
		}
		total = max(total, n)
	}
	return total, true
}

// targets lists the verdicts that hold if the estimate is true. Levels are those
// of Judge. For Holm it uses the strictest step, because the candidate's step is
// not known yet.
func (c Criteria) targets(gain Contrast, level levels, family int) []target {
	g, m, e := gain.LogRatio, c.Margin(), math.Log1p(c.Equivalence)
	full, half := level.full/float64(family), level.half/float64(family)
	ask := func(gap, alpha float64) Question {
		if gap <= negligible { // This is only rounding, which must not decide, even without noise.
			gap = 0
		}
		return Question{StdDev: gain.StdDev, Gap: gap, Alpha: alpha, Paired: gain.Paired}
	}
	var ts []target
	if g > m {
		ts = append(ts, target{verdict: Superior, parts: []Question{ask(g-m, full)}})
	}
	if math.Abs(g) < e {
		ts = append(ts, target{verdict: Equivalent, parts: []Question{ask(e-math.Abs(g), level.equivalent)}, least: level.late})
	}
	if 0 < g && g < m {
		ts = append(ts, target{verdict: Better, parts: []Question{ask(g, full), ask(m-g, half)}})
	}
	if g < 0 {
		ts = append(ts, target{verdict: Inferior, parts: []Question{ask(-g, half)}})
	}
	return ts
}
