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

// Constraint is a metric that a winner must not make much worse.
type Constraint struct {
	Name              string
	Direction         Direction
	MaximumRegression float64 // 0.10: a rate may fall to 0.90, a latency rise to 1.10 of the baseline
	// Limit, if above 0, is on the metric itself, in its unit, and takes the place of
	// MaximumRegression: the least that is allowed of a rate, the most of a latency.
	Limit float64
}

// Absolute reports whether the constraint is on the metric itself. It then checks the mean of
// the candidate's own runs and not a contrast.
func (k Constraint) Absolute() bool { return k.Limit != 0 }

// ConstraintState says what the runs know about a constraint.
type ConstraintState string

// What the interval of a constraint says.
const (
	Kept    ConstraintState = "Kept"    // the whole interval is on the allowed side
	Broken  ConstraintState = "Broken"  // the whole interval is beyond the limit
	Unknown ConstraintState = "Unknown" // the interval holds the limit, or there are fewer than 3 runs
)

// ConstraintResult is a constraint's state with the numbers behind it.
type ConstraintResult struct {
	Name     string
	State    ConstraintState
	Ratio    float64 // candidate ÷ baseline; of an absolute constraint the metric itself
	Interval Bounds  // of Ratio
	Limit    float64 // the ratio, or metric, at which the constraint breaks
}

// Check decides a constraint by the two-sided interval of its metric. Not seen
// to be broken is not kept: absence of evidence leaves it Unknown. A win needs
// all constraints Kept, which needs no correction for their number: all of them
// would have to err together.
//
// For an absolute constraint c is the candidate's metric over its blocks, as
// [PairedDifferences] of ln(metric) gives it.
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
