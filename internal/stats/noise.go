package stats

import (
	"fmt"
	"math"
)

// Noise is how far the same configuration, measured again, differs from itself.
type Noise struct {
	StdDev float64 // of ln(value) from run to run
	DF     int     // degrees of freedom behind it; 0 means unknown
}

// NoiseFloor pools the spread of the baseline's runs within blocks: each inner
// slice holds one block's baseline and control values. Changes between blocks
// are taken out, drift inside a block is not, because a candidate suffers it
// too. Blocks with one value add nothing; without any spread to see, DF is 0.
func NoiseFloor(blocks [][]float64) (Noise, error) {
	var squares float64
	var df int
	for i, block := range blocks {
		if err := checkPositive(fmt.Sprintf("block %d: control", i), block); err != nil {
			return Noise{}, err
		}
		if len(block) < 2 {
			continue
		}
		_, sd := meanStdDev(logs(block))
		squares += sd * sd * float64(len(block)-1)
		df += len(block) - 1
	}
	if df == 0 {
		return Noise{}, nil
	}
	return Noise{StdDev: math.Sqrt(squares / float64(df)), DF: df}, nil
}

// CV is the noise as a coefficient of variation, exact for log-normal noise:
// 0.05 means that runs scatter by 5%.
func (n Noise) CV() float64 { return math.Sqrt(math.Expm1(n.StdDev * n.StdDev)) }

// LogStdDev is the inverse of Noise.CV.
func LogStdDev(cv float64) float64 { return math.Sqrt(math.Log1p(cv * cv)) }

// BetweenRunVariance splits the variance of ln(rate) over runs of one
// configuration into what their seconds explain and the rest:
// max(0, s_z² − mean(SE_w²)), with withinStdErrs the RelativeStdErr of each run
// (Kalibera & Jones 2013). What is left is what longer runs cannot remove.
func BetweenRunVariance(rates, withinStdErrs []float64) (float64, error) {
	if len(rates) != len(withinStdErrs) {
		return 0, fmt.Errorf("%w: %d rates and %d standard errors", ErrParameter, len(rates), len(withinStdErrs))
	}
	if len(rates) < 2 {
		return 0, fmt.Errorf("between-run variance: %w: %d runs", ErrTooFew, len(rates))
	}
	if err := checkPositive("run", rates); err != nil {
		return 0, err
	}
	if err := checkFinite("standard error of run", withinStdErrs); err != nil {
		return 0, err
	}
	_, sd := meanStdDev(logs(rates))
	within := 0.0
	for _, se := range withinStdErrs {
		within += se * se / float64(len(withinStdErrs))
	}
	return max(0, sd*sd-within), nil
}

// OptimalRunSeconds is the length of a run that gives the least variance for
// the time spent: √(fixed·τ·σ_w²/σ_b²) (Kalibera & Jones 2013). fixedSeconds is
// what each run costs besides measuring (settling, ramp, pods), tau the
// integrated autocorrelation time in seconds (length ÷ effective size), within
// the relative standard deviation of a second and between that of a run.
func OptimalRunSeconds(fixedSeconds, tau, within, between float64) (float64, error) {
	for _, v := range []float64{fixedSeconds, tau, within, between} {
		if !(v > 0) || math.IsInf(v, 1) {
			return 0, fmt.Errorf("%w: optimal run length of %v s fixed, tau %v s, within %v, between %v",
				ErrParameter, fixedSeconds, tau, within, between)
		}
	}
	return math.Sqrt(fixedSeconds*tau) * within / between, nil
}
