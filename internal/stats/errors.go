package stats

import (
	"errors"
	"fmt"
	"math"
)

// ErrTooFew is wrapped by the errors of functions that get fewer values than they need.
var ErrTooFew = errors.New("too few values")

// ErrStalled is wrapped by errors about a window, or a run after its warm-up, in which no operation finished.
// Such a run is not just slow: it has failed.
var ErrStalled = errors.New("nothing moved")

// ErrParameter is wrapped by errors about parameters of the method, such as a confidence of 2.
var ErrParameter = errors.New("parameter out of range")

// ValueError reports an unusable value. By Index, a caller can find the file and line of a measured value.
type ValueError struct {
	What  string  // kind of value, such as "baseline run"
	Index int     // position among the values of this kind, from 0
	Value float64 // the unusable value
	Want  string  // the requirement, such as "positive and finite"
}

func (e *ValueError) Error() string {
	return fmt.Sprintf("%s %d is %v, want a value that is %s", e.What, e.Index, e.Value, e.Want)
}

func checkPositive(name string, xs []float64) error {
	for i, x := range xs {
		// The negated comparison also catches NaN, which compares false.
		if !(x > 0) || math.IsInf(x, 1) {
			return &ValueError{What: name, Index: i, Value: x, Want: "positive and finite"}
		}
	}
	return nil
}

func checkFinite(name string, xs []float64) error {
	for i, x := range xs {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return &ValueError{What: name, Index: i, Value: x, Want: "finite"}
		}
	}
	return nil
}

func checkOpenUnit(name string, x float64) error {
	if !(x > 0 && x < 1) {
		return fmt.Errorf("%w: %s is %v, want a value between 0 and 1", ErrParameter, name, x)
	}
	return nil
}
