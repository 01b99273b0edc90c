package stats

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// countableRuns ends the search for R*: no one question is worth more runs.
const countableRuns = 100_000

// noiseRange is the confidence of the range of Needed.
const noiseRange = 0.8

// MoreRuns says what it would take to decide, in repeats: blocks where runs are
// paired, or else runs of each side.
type MoreRuns struct {
	Total    int     // R*, repeats in all; 0 if beyond counting
	Needed   int     // Total less the repeats there are, at least 1; 0 if nothing is missing
	Toward   Verdict // which verdict they would reach if the estimate is right
	TooClose bool    // Total exceeds Criteria.MaxRuns or any sensible number
	// Low and High are Needed at the ends of the 80% interval of the noise; High is
	// 0 if beyond counting. The effect may be another one too, which they leave out.
	Low, High int
	Paired    bool
}

// Effort is what one more repeat takes. The zero value is not known.
type Effort struct {
	Runs int           // of all configurations, the baseline included
	Time time.Duration // of all of them
}

// MoreRuns answers "how many more runs would decide?" for an Inconclusive
// candidate, and for an Invalid one how many are missing to the smallest number
// that can carry a verdict. For a decided one it is zero.
//
// It is an estimate from the runs so far; with few of them a rough one. Making
// just these runs and judging all of them again as if nothing had been looked
// at before is peeking: see Looks, or start afresh.
func (a Assessment) MoreRuns() MoreRuns {
	switch {
	case a.Runs < MinRuns:
		missing := MinRuns - a.Runs
		return MoreRuns{Total: MinRuns, Needed: missing, Toward: Inconclusive, Low: missing, High: missing, Paired: a.contrast.Paired}
	case a.Verdict == Inconclusive && a.Reasons[0].Code == NotConfirmed:
		// Confirmation starts afresh: the runs of the race do not count.
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

// target is a verdict that would be reached if the estimated gain is the true
// one, and the distances from margins that have to be resolved for it.
type target struct {
	verdict Verdict
	parts   []Question
	least   int // runs before which it is not asked about
}

// runsToDecide finds R*: the fewest runs of each side with which the estimated
// gain and noise would lead, four times out of five, to some verdict other than
// Inconclusive. It takes the verdict that is nearest in runs, not the margin
// that is nearest in size: an estimate just above 1 is nowhere near being shown
// to exceed 1, but may soon be shown to be Equivalent.
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

// runs is the number of repeats that reach a target if noise is so many times what it seems;
// false if it is beyond counting.
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

// targets lists the verdicts that the estimate itself points to. Levels are
// those of Judge; for Holm it is the strictest, because which step a candidate
// will stand on is not known.
func (c Criteria) targets(gain Contrast, level levels, family int) []target {
	g, m, e := gain.LogRatio, c.Margin(), math.Log1p(c.Equivalence)
	full, half := level.full/float64(family), level.half/float64(family)
	ask := func(gap, alpha float64) Question {
		if gap <= negligible { // Without noise any gap would do, even one that is only rounding.
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
		ts = append(ts, target{verdict: Better, parts: []Question{ask(g, full), ask(m-g, level.half)}})
	}
	if g < 0 {
		ts = append(ts, target{verdict: Inferior, parts: []Question{ask(-g, half)}})
	}
	return ts
}
