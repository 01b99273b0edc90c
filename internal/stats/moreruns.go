package stats

import (
	"math"
	"time"

	"gonum.org/v1/gonum/stat/distuv"
)

// countableRuns is the largest number of runs that the search for a decision considers. No question is worth
// more runs.
const countableRuns = 100_000

// noiseRange is the confidence of the range from MoreRuns.Low to MoreRuns.High.
const noiseRange = 0.8

// MoreRuns is the number of repeats that a decision would take. A repeat is a
// block if runs are paired, otherwise a run of each side.
type MoreRuns struct {
	Total    int     // repeats in all; 0 if more than countableRuns, or if no repeat is missing
	Needed   int     // Total minus the existing repeats, at least 1; 0 if Total is 0
	Toward   Verdict // verdict after Total repeats if the estimate is true; Inconclusive if no verdict is likely yet; "" if Total is 0
	TooClose bool    // a verdict needs more repeats than Criteria.MaxRuns, or than countableRuns
	// Low and High are the values of Needed at the ends of the 80% interval of the noise. High is 0 if the
	// Total at that end exceeds countableRuns. Low and High ignore that the effect is uncertain too. With fewer
	// than MinRuns runs so far, both are equal to Needed.
	Low, High int
	Paired    bool
}

// Effort is the cost of one more repeat. The zero value means unknown.
type Effort struct {
	Runs int           // of all configurations, the baseline included
	Time time.Duration // of all these runs
}

// MoreRuns estimates how many more runs would decide an Inconclusive candidate. If a candidate has fewer runs
// than any verdict needs, MoreRuns returns how many are missing. If a candidate lacks only a confirmation,
// MoreRuns counts the runs of the confirmation. For any other candidate, the result is zero.
//
// The estimate comes from the runs so far, so it is rough if these are few. Do not make the estimated number
// of runs and then judge all runs as if for the first time: such repeated judging causes false verdicts. Use
// Looks, or judge only the new runs.
func (a Assessment) MoreRuns() MoreRuns {
	switch {
	case a.Runs < MinRuns:
		missing := MinRuns - a.Runs
		return MoreRuns{Total: MinRuns, Needed: missing, Toward: Inconclusive, Low: missing, High: missing, Paired: a.contrast.Paired}
	case a.Verdict == Inconclusive && a.Reasons[0].Code == NotConfirmed:
		// A confirmation does not count the runs of the race.
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

// target is a verdict that more runs would reach if the estimated gain is the true gain.
type target struct {
	verdict Verdict
	parts   []Question // all must be answered for the verdict
	least   int        // the smallest number of runs at which the verdict is tested
}

// runsToDecide finds the verdict that needs the fewest runs, and their number. With that many runs of each
// side, the probability that a test of the verdict succeeds is about 80 % or more, if the estimated gain and
// noise are true. Better and Equivalent need two tests, so their probability may be lower. The verdict need
// not be that of the nearest margin. For example, proving that an estimate just above 1 exceeds 1 takes very
// many runs, but proving Equivalent may take few.
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

// runs returns the number of repeats that reach the target if the true noise is the given factor times the
// estimate. It returns false if that number exceeds countableRuns.
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

// targets lists the verdicts that hold if the estimated gain is true. The levels are those of Judge. For
// Holm's correction, targets uses the strictest step, because the candidate's step is not known yet.
func (c Criteria) targets(gain Contrast, level levels, family int) []target {
	g, m, e, u := gain.LogRatio, c.Margin(), math.Log1p(c.Equivalence), c.unseen()
	full, half := level.full/float64(family), level.half/float64(family)
	ask := func(gap, alpha float64) Question {
		if gap <= negligible { // Such a gap is rounding, which must not decide a verdict.
			gap = 0
		}
		return Question{StdDev: gain.StdDev, Gap: gap, Alpha: alpha, Paired: gain.Paired}
	}
	var ts []target
	if g > m+u {
		ts = append(ts, target{verdict: Superior, parts: []Question{ask(g-m-u, full)}})
	}
	if math.Abs(g) < e {
		ts = append(ts, target{verdict: Equivalent, parts: []Question{ask(e-math.Abs(g), level.equivalent)}, least: level.late})
	}
	if u < g && g < m {
		ts = append(ts, target{verdict: Better, parts: []Question{ask(g-u, full), ask(m-g, half)}})
	}
	if g < -u {
		ts = append(ts, target{verdict: Inferior, parts: []Question{ask(-g-u, half)}})
	}
	return ts
}
