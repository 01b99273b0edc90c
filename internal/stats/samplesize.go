package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// MinRuns is the smallest number of runs of a configuration that can lead to a verdict.
const MinRuns = 3

// planningPower is the probability that a planned number of runs answers its Question if the assumed effect is
// true.
const planningPower = 0.8

// Question asks on which side of a margin the true effect lies. Its methods plan how many runs answer it.
type Question struct {
	StdDev float64 // Contrast.StdDev, the spread per run on the log scale
	Gap    float64 // |true log-ratio − margin|, the assumed distance of the effect
	Alpha  float64 // one-sided level of the test
	Power  float64 // probability of an answer; 0 means 0.8
	Paired bool    // R pairs have R−1 degrees of freedom; two unpaired sides of R runs have 2R−2
}

// Runs returns the smallest number of runs of each configuration, R, for which
// StdDev·(t_{1−α} + t_{power})/√R ≤ Gap. R is from 3 to the limit. If no number within the limit suffices,
// or if Gap is 0, Runs returns limit+1 and false: the effect is too close to the margin. For an invalid
// Question, the error wraps ErrParameter.
func (q Question) Runs(limit int) (runs int, found bool, err error) {
	if q, err = q.checked(); err != nil {
		return 0, false, err
	}
	if limit < MinRuns {
		return limit + 1, false, nil
	}
	// Quantiles of the normal distribution give an R that is a little too small. The search starts there.
	z := -distuv.UnitNormal.Quantile(q.Alpha) + distuv.UnitNormal.Quantile(q.Power)
	if lower := square(q.StdDev * z / q.Gap); q.Gap > 0 && lower < float64(limit) {
		for n := max(MinRuns, int(lower)); n <= limit; n++ {
			if q.detectable(n) <= q.Gap {
				return n, true, nil
			}
		}
	}
	return limit + 1, false, nil
}

// Detectable returns the smallest Gap for which the given number of runs answers the Question with its Power.
// It ignores q.Gap. For fewer than two runs, the error wraps ErrTooFew.
func (q Question) Detectable(runs int) (float64, error) {
	q.Gap = 1
	q, err := q.checked()
	if err != nil {
		return 0, err
	}
	if runs < 2 {
		return 0, fmt.Errorf("detectable effect: %w: %d runs", ErrTooFew, runs)
	}
	return q.detectable(runs), nil
}

func (q Question) checked() (Question, error) {
	if q.Power == 0 {
		q.Power = planningPower
	}
	if err := checkOpenUnit("alpha", q.Alpha); err != nil {
		return q, err
	}
	if err := checkOpenUnit("power", q.Power); err != nil {
		return q, err
	}
	if !(q.StdDev >= 0) || math.IsInf(q.StdDev, 1) || math.IsNaN(q.Gap) {
		return q, fmt.Errorf("%w: standard deviation %v, gap %v", ErrParameter, q.StdDev, q.Gap)
	}
	return q, nil
}

func (q Question) detectable(runs int) float64 {
	df := float64(runs - 1)
	if !q.Paired {
		df *= 2
	}
	t := tUpperQuantile(q.Alpha, df) + tUpperQuantile(1-q.Power, df)
	return q.StdDev * t / math.Sqrt(float64(runs))
}

// SmallestProvableRatio returns the smallest true effect, as a ratio, for which the given number of blocks
// probably leads to the verdict Superior on a single candidate. The probability is at least 80 %. The ratio is
// above 1 if higher is better, and below 1 if lower is better. Pass at least MinRuns blocks: with fewer, no
// effect leads to Superior.
//
// The noise is the run-to-run variation of ln(value). A block's log-ratio has √2 times this noise, or less if
// the baseline is interpolated between controls. The function assumes √2 times.
func SmallestProvableRatio(c Criteria, noise Noise, blocks int) (float64, error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}
	level := c.Looks.Level(1-c.Confidence, 1)
	gap, err := Question{StdDev: math.Sqrt2 * noise.StdDev, Alpha: level, Paired: true}.Detectable(blocks)
	if err != nil {
		return 0, err
	}
	return math.Exp(c.Direction.sign() * (c.Margin() + c.unseen() + gap)), nil
}

func square(x float64) float64 { return x * x }
