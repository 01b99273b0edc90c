package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
)

// Pair has the values of the baseline and one candidate in one block. Both were measured near each other in
// time, so changes between blocks cancel.
type Pair struct {
	Baseline  float64 // a rate, or a latency; above 0
	Candidate float64 // the same metric in the same unit
}

// Observation is one run with the block that it belongs to.
type Observation struct {
	Block string
	Value float64
}

// MakePairs matches the runs of two configurations by block, in the order in which the baseline's blocks
// first appear. Several runs of one configuration in a block share the conditions of the block, so they count
// once, by their geometric mean. MakePairs leaves out runs whose block lacks the other configuration, and
// returns their number as unpaired.
//
// For a value that has no finite logarithm, the error is a *ValueError.
func MakePairs(baseline, candidate []Observation) (pairs []Pair, unpaired int, err error) {
	base, order, err := geometricMeans("baseline run", baseline)
	if err != nil {
		return nil, 0, err
	}
	cand, _, err := geometricMeans("candidate run", candidate)
	if err != nil {
		return nil, 0, err
	}
	for _, block := range order {
		if c, ok := cand[block]; ok {
			pairs = append(pairs, Pair{Baseline: base[block], Candidate: c})
		}
	}
	return pairs, countOutside(baseline, cand) + countOutside(candidate, base), nil
}

func geometricMeans(name string, runs []Observation) (means map[string]float64, order []string, err error) {
	values := map[string][]float64{}
	for i, run := range runs {
		if !(run.Value > 0) || math.IsInf(run.Value, 1) {
			return nil, nil, &ValueError{What: name, Index: i, Value: run.Value, Want: "positive and finite"}
		}
		if _, seen := values[run.Block]; !seen {
			order = append(order, run.Block)
		}
		values[run.Block] = append(values[run.Block], run.Value)
	}
	means = make(map[string]float64, len(values))
	for block, vs := range values {
		means[block] = GeometricMean(vs)
	}
	return means, order, nil
}

func countOutside(runs []Observation, blocks map[string]float64) (n int) {
	for _, run := range runs {
		if _, ok := blocks[run.Block]; !ok {
			n++
		}
	}
	return n
}

// GeometricMean returns the mean that suits ratios: the ratio of two geometric means is the geometric mean of
// the ratios. For one value it is exactly that value. Without values it is NaN. Values must be positive.
func GeometricMean(xs []float64) float64 {
	if len(xs) == 1 {
		return xs[0]
	}
	mean := 0.0
	for _, x := range xs {
		mean += math.Log(x) / float64(len(xs))
	}
	if len(xs) == 0 {
		return math.NaN()
	}
	return math.Exp(mean)
}

// Contrast is the estimated effect of a candidate against the baseline on the scale of logarithms. The
// functions of this package take its noise from the variation between runs, not between seconds.
type Contrast struct {
	LogRatio float64 // mean of ln(candidate/baseline)
	// StdDev is the spread per run: with R runs of each side, StdErr is StdDev/√R. For pairs, it is the
	// standard deviation of the blocks' log-ratios. Without pairs, it is √(s_b²+s_c²), from the standard
	// deviations of both sides. NewDayLogRatio computes it from StdErr.
	StdDev float64
	// StdErr is the standard error of LogRatio. It is 0 if noise cannot be estimated. It is also 0 if the
	// log-ratios of all blocks are identical or, without pairs, if all runs of each side are identical. On the
	// side of the earlier days, identical means of the days suffice.
	StdErr float64
	// StdErrAbove is the standard error towards greater log-ratios; 0 if it is StdErr.
	StdErrAbove float64
	DF          float64 // degrees of freedom; 0 means that noise cannot be estimated
	Runs        int     // number of pairs; without pairs, the smaller number of runs (or earlier days) of the two sides
	Paired      bool
}

// PairedLogRatio contrasts candidate and baseline within blocks. It takes one pair for each block, in any
// order. It is the paired t method on d_b = ln(c_b/b_b): R: t.test(log(c), log(b), paired=TRUE).
//
// For one pair, the result has a LogRatio but no estimate of noise (DF 0). Without pairs, the error wraps
// ErrTooFew. For a value that has no finite logarithm, it is a *ValueError.
func PairedLogRatio(pairs []Pair) (Contrast, error) {
	diffs := make([]float64, len(pairs))
	for i, p := range pairs {
		if err := checkPositive(fmt.Sprintf("pair %d: value", i), []float64{p.Baseline, p.Candidate}); err != nil {
			return Contrast{}, err
		}
		diffs[i] = math.Log(p.Candidate) - math.Log(p.Baseline)
	}
	return PairedDifferences(diffs)
}

// PairedDifferences is like PairedLogRatio, but takes the log-ratios of blocks instead of pairs. For example,
// a log-ratio may refer to a baseline that was interpolated between controls.
func PairedDifferences(diffs []float64) (Contrast, error) {
	if len(diffs) == 0 {
		return Contrast{}, fmt.Errorf("paired contrast: %w: no block holds both configurations", ErrTooFew)
	}
	if err := checkFinite("log-ratio", diffs); err != nil {
		return Contrast{}, err
	}
	if len(diffs) == 1 {
		return Contrast{LogRatio: diffs[0], Runs: 1, Paired: true}, nil
	}
	mean, sd := meanStdDev(diffs)
	n := float64(len(diffs))
	return Contrast{LogRatio: mean, StdDev: sd, StdErr: sd / math.Sqrt(n), DF: n - 1, Runs: len(diffs), Paired: true}, nil
}

// Estimate is a value above 0 with its confidence interval.
type Estimate struct{ Value, Low, High float64 }

// RatioOfEstimates returns the ratio of b to a, which are independent and have intervals of one confidence, with its
// interval at that confidence. It recovers the variances from the distances between a value and its limits, on the
// logarithms: Zou and Donner, Statistics in Medicine 27 (2008), 1693–1702. It returns false if a value or a limit is
// not above 0 and finite.
func RatioOfEstimates(a, b Estimate) (Estimate, bool) {
	var logs [6]float64
	for i, x := range []float64{a.Value, a.Low, a.High, b.Value, b.Low, b.High} {
		if !(x > 0) || math.IsInf(x, 1) {
			return Estimate{}, false
		}
		logs[i] = math.Log(x)
	}
	d := logs[3] - logs[0]
	low, high := math.Hypot(logs[3]-logs[4], logs[2]-logs[0]), math.Hypot(logs[5]-logs[3], logs[0]-logs[1])
	return Estimate{Value: math.Exp(d), Low: math.Exp(d - low), High: math.Exp(d + high)}, true
}

// ContrastOf returns a contrast of a number of pairs whose interval at a confidence is that of an estimate.
func ContrastOf(e Estimate, confidence float64, pairs int) Contrast {
	c := Contrast{LogRatio: math.Log(e.Value), DF: float64(pairs - 1), Runs: pairs, Paired: true}
	t := tUpperQuantile((1-confidence)/2, c.DF)
	c.StdErr, c.StdErrAbove = (c.LogRatio-math.Log(e.Low))/t, (math.Log(e.High)-c.LogRatio)/t
	c.StdDev = c.StdErr * math.Sqrt(float64(pairs))
	return c
}

// WelchLogRatio contrasts two sets of runs that share no blocks, by Welch's method on logarithms. It is
// R: t.test(log(candidate), log(baseline)). Prefer blocks: without blocks, any other change between the two
// sets counts as an effect of the configuration.
//
// If a side has one run, the result has a LogRatio but no estimate of noise (DF 0). If a side is empty, the
// error wraps ErrTooFew. For a value that has no finite logarithm, it is a *ValueError.
func WelchLogRatio(baseline, candidate []float64) (Contrast, error) {
	if len(baseline) == 0 || len(candidate) == 0 {
		return Contrast{}, fmt.Errorf("contrast: %w: %d baseline and %d candidate runs", ErrTooFew, len(baseline), len(candidate))
	}
	if err := checkPositive("baseline run", baseline); err != nil {
		return Contrast{}, err
	}
	if err := checkPositive("candidate run", candidate); err != nil {
		return Contrast{}, err
	}
	return welch(logs(baseline), logs(candidate)), nil
}

// WelchDifference returns the mean of b less that of a, and its two-sided confidence interval by Welch's method. It is
// R: t.test(b, a). For fewer than two values of a side, the error wraps ErrTooFew. For a value that is not finite, it is a
// *ValueError.
func WelchDifference(a, b []float64, confidence float64) (float64, Bounds, error) {
	if err := errors.Join(checkOpenUnit("confidence", confidence), checkFinite("value", a), checkFinite("value", b)); err != nil {
		return 0, Bounds{}, err
	}
	if len(a) < 2 || len(b) < 2 {
		return 0, Bounds{}, fmt.Errorf("difference: %w: %d and %d values, want 2 of each", ErrTooFew, len(a), len(b))
	}
	c := welch(a, b)
	return c.LogRatio, c.LogInterval(confidence), nil
}

func welch(baseline, candidate []float64) Contrast {
	meanB, sdB := meanStdDev(baseline)
	meanC, sdC := meanStdDev(candidate)
	nB, nC := float64(len(baseline)), float64(len(candidate))
	out := Contrast{LogRatio: meanC - meanB, Runs: min(len(baseline), len(candidate))}
	if out.Runs < 2 {
		return out
	}
	varB, varC := sdB*sdB/nB, sdC*sdC/nC
	out.StdDev = math.Hypot(sdB, sdC)
	out.StdErr = math.Sqrt(varB + varC)
	// By Welch–Satterthwaite. If both variances are 0, DF is that of the pooled t test.
	out.DF = nB + nC - 2
	if out.StdErr > 0 {
		out.DF = (varB + varC) * (varB + varC) / (varB*varB/(nB-1) + varC*varC/(nC-1))
	}
	return out
}

// ratio is candidate ÷ baseline, or 0 for a contrast without runs.
func (c Contrast) ratio() float64 {
	if c.Runs == 0 {
		return 0
	}
	return math.Exp(c.LogRatio)
}

// HasNoise reports whether the contrast has an estimate of its noise. The estimate needs two blocks, two runs
// of each side, or two earlier days.
func (c Contrast) HasNoise() bool { return c.DF > 0 }

// PGreater returns the one-sided p-value against "the true log-ratio is at most margin". Small values are
// evidence that the log-ratio is greater. Without an estimate of noise, the p-value is 1, because one run
// proves nothing. If there is an estimate but StdErr is 0, the p-value is 0 or 1, and Judge warns.
func (c Contrast) PGreater(margin float64) float64 {
	return c.pUpper(c.LogRatio-margin, c.StdErr)
}

// PLess returns the one-sided p-value against "the true log-ratio is at least margin". Small values are
// evidence that the log-ratio is less.
func (c Contrast) PLess(margin float64) float64 {
	return c.pUpper(margin-c.LogRatio, c.above())
}

// above returns the standard error towards greater log-ratios.
func (c Contrast) above() float64 { return cmp.Or(c.StdErrAbove, c.StdErr) }

func (c Contrast) pUpper(distance, stdErr float64) float64 {
	switch {
	case !c.HasNoise():
		return 1
	case stdErr > 0:
		return tUpperTail(distance/stdErr, c.DF)
	case distance > negligible:
		return 0
	default:
		return 1
	}
}

// Bounds is a confidence interval.
type Bounds struct {
	Low, High  float64
	Confidence float64 // such as 0.95, two-sided
}

// LogInterval returns the two-sided confidence interval of the log-ratio, LogRatio ± t·StdErr. Without an
// estimate of noise, the interval is −Inf to +Inf.
func (c Contrast) LogInterval(confidence float64) Bounds {
	if !c.HasNoise() {
		return Bounds{Low: math.Inf(-1), High: math.Inf(1), Confidence: confidence}
	}
	t := 0.0
	if c.StdErr > 0 {
		t = tUpperQuantile((1-confidence)/2, c.DF)
	}
	return Bounds{Low: c.LogRatio - t*c.StdErr, High: c.LogRatio + t*c.above(), Confidence: confidence}
}

// RatioInterval returns LogInterval as ratios, candidate ÷ baseline. Without an estimate of noise, the
// interval is 0 to +Inf.
func (c Contrast) RatioInterval(confidence float64) Bounds {
	b := c.LogInterval(confidence)
	return Bounds{Low: math.Exp(b.Low), High: math.Exp(b.High), Confidence: confidence}
}

// Negated returns the contrast of the baseline against the candidate.
func (c Contrast) Negated() Contrast {
	c.LogRatio = -c.LogRatio
	if c.StdErrAbove > 0 {
		c.StdErr, c.StdErrAbove = c.StdErrAbove, c.StdErr
	}
	return c
}
