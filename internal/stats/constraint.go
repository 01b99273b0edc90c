package stats

import (
	"fmt"
	"math"
)

// Direction says which way a metric improves.
type Direction int

// The directions.
const (
	HigherIsBetter Direction = iota // bandwidth, IOPS
	LowerIsBetter                   // latencies, recovery time
)

func (d Direction) sign() float64 {
	if d == LowerIsBetter {
		return -1
	}
	return 1
}

// Constraint limits the regression of one metric against the baseline, or the metric itself.
type Constraint struct {
	Name              string
	Direction         Direction
	MaximumRegression float64 // 0.10: a rate may fall to 0.90 of the baseline, a latency may rise to 1.10
	// Limit replaces MaximumRegression if it is above 0. It limits the metric itself, in the
	// metric's unit: it is the minimum of a rate, or the maximum of a latency.
	Limit float64
}

// Absolute reports whether the constraint limits the metric itself. Check then needs the mean of the
// candidate's own runs instead of a contrast with the baseline.
func (k Constraint) Absolute() bool { return k.Limit != 0 }

// ConstraintState says whether the runs show that a constraint is kept, or that it is broken.
type ConstraintState string

// The states of a constraint follow from the interval of its metric.
const (
	Kept    ConstraintState = "Kept"    // the whole interval is on the allowed side
	Broken  ConstraintState = "Broken"  // the whole interval is beyond the limit
	Unknown ConstraintState = "Unknown" // the interval contains the limit, or the runs are fewer than 3
)

// ConstraintResult is a constraint's state with the figures that led to it.
type ConstraintResult struct {
	Name     string
	State    ConstraintState
	Ratio    float64 // candidate ÷ baseline; for an absolute constraint, the metric itself
	Interval Bounds  // of Ratio
	Limit    float64 // the worst allowed ratio; for an absolute constraint, the worst allowed metric
}

// Check decides a constraint by the two-sided interval of its metric. If the interval shows neither Kept nor
// Broken, the state is Unknown. A win requires that all constraints are Kept. The number of constraints needs
// no correction, because a false win requires that every broken constraint is mistaken for a kept one.
//
// For an absolute constraint, c.LogRatio is the mean of ln(metric) over the candidate's blocks (of runs or
// of windows) or sessions. For blocks, c is the result of [PairedDifferences] for these logarithms.
//
// For an invalid confidence or an invalid constraint, the error wraps ErrParameter.
func (k Constraint) Check(c Contrast, confidence float64) (ConstraintResult, error) {
	if err := checkOpenUnit("confidence", confidence); err != nil {
		return ConstraintResult{}, err
	}
	if !(k.MaximumRegression >= 0 && k.MaximumRegression < 1) {
		return ConstraintResult{}, fmt.Errorf("%w: maximum regression %v of %s", ErrParameter, k.MaximumRegression, k.Name)
	}
	if !(k.Limit >= 0) || math.IsInf(k.Limit, 1) {
		return ConstraintResult{}, fmt.Errorf("%w: limit %v of %s", ErrParameter, k.Limit, k.Name)
	}
	out := ConstraintResult{
		Name: k.Name, State: Unknown,
		Ratio: c.ratio(), Interval: c.RatioInterval(confidence),
		Limit: 1 - k.Direction.sign()*k.MaximumRegression,
	}
	if k.Absolute() {
		out.Limit = k.Limit
	}
	if c.Runs < MinRuns || !c.HasNoise() {
		return out, nil
	}
	allowed, beyond := out.Interval.Low >= out.Limit, out.Interval.High < out.Limit
	if k.Direction == LowerIsBetter {
		allowed, beyond = out.Interval.High <= out.Limit, out.Interval.Low > out.Limit
	}
	switch {
	case allowed:
		out.State = Kept
	case beyond:
		out.State = Broken
	}
	return out, nil
}
