package cephbenchmark

import (
	"context"
	"fmt"
)

// act carries out the step of a plan. None of the present steps touches anything
// outside status.
func (r *Reconciler) act(_ context.Context, p plan) error {
	switch p.step {
	case stepNone, stepIdle, stepStall:
		return nil
	default:
		return fmt.Errorf("no action for step %q", p.step)
	}
}
