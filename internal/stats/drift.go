package stats

import (
	"fmt"
	"math"
)

// Drift compares the first and the last control of a block. In this file, each run of the baseline is a
// control, not only an extra one. Controls measure the same configuration, so their difference shows how much
// the cluster changed in between.
type Drift struct {
	LogRatio float64 // ln(last/first)
	Limit    float64 // on |LogRatio|
	Rejected bool    // the block does not count
}

// CheckDrift rejects a block if |ln(last/first)| exceeds both half the margin and 2.5·√2·noise. The margin is
// the log-ratio that a win must exceed. The noise is the standard deviation of ln(control) from run to run.
// While the noise is unknown, pass +Inf: then no block is rejected.
//
// Without the second bound, at 5% noise and a minimum effect of 10%, the check would reject half of all
// steady blocks. The rejected blocks would be those with an unusual baseline, so the comparison with the baseline
// would be biased.
//
// For a control that has no finite logarithm, the error is a *ValueError. For an invalid margin or noise, it
// wraps ErrParameter.
func CheckDrift(first, last, margin, noise float64) (Drift, error) {
	if err := checkPositive("control", []float64{first, last}); err != nil {
		return Drift{}, err
	}
	if math.IsNaN(margin) || !(noise >= 0) {
		return Drift{}, fmt.Errorf("%w: margin %v, noise %v", ErrParameter, margin, noise)
	}
	out := Drift{
		LogRatio: math.Log(last) - math.Log(first),
		Limit:    max(math.Abs(margin)/2, 2.5*math.Sqrt2*noise),
	}
	out.Rejected = math.Abs(out.LogRatio) > out.Limit
	return out, nil
}

// Control is a run of the baseline at a position within a block.
type Control struct {
	At    float64 // position or time, in any unit, ascending
	Value float64 // above 0
}

// BaselineAt estimates ln(baseline) at a position by linear interpolation of the logarithms of the controls
// around it. So a candidate is compared with the value that the baseline would have had at that moment.
// Before the first control, BaselineAt returns the logarithm of the first, and after the last control that of
// the last. Unlike a single control, interpolation removes a steady drift. It has no more noise than a single
// control, because it averages two.
//
// Without controls, the error wraps ErrTooFew. If controls are not in ascending order, it wraps ErrParameter.
// For a value without a finite logarithm, it is a *ValueError.
func BaselineAt(controls []Control, moment float64) (float64, error) {
	if len(controls) == 0 {
		return 0, fmt.Errorf("baseline at %v: %w: no controls", moment, ErrTooFew)
	}
	for i, c := range controls {
		if err := checkPositive("control", []float64{c.Value}); err != nil {
			return 0, &ValueError{What: "control", Index: i, Value: c.Value, Want: "positive and finite"}
		}
		if i > 0 && !(c.At > controls[i-1].At) { //nolint:gosec // i is at least 1 here.
			return 0, fmt.Errorf("%w: control %d at %v does not follow %v", ErrParameter, i, c.At, controls[i-1].At) //nolint:gosec // i is at least 1 here, too.
		}
	}
	after := 0
	for after < len(controls) && controls[after].At < moment {
		after++
	}
	switch after {
	case 0:
		return math.Log(controls[0].Value), nil
	case len(controls):
		return math.Log(controls[len(controls)-1].Value), nil
	}
	a, b := controls[after-1], controls[after]
	share := (moment - a.At) / (b.At - a.At)
	return (1-share)*math.Log(a.Value) + share*math.Log(b.Value), nil
}
