package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/result"
)

// Targets are treatments of which each is a target of the load: pools, images or claims that stand at once. In each
// window, all clients work on one of them. A plan with them has the field Targets.
type Targets struct {
	// Count is the number of targets. Target 0 is the baseline.
	Count int
	// Aim makes all clients work on a target, and returns when their engines run, and the rows of the engines before are
	// complete. Clients draw other random offsets for each number again. Those of the n-th windows of all targets are the
	// same.
	Aim func(ctx context.Context, target, again int) error
	// Stands returns an error unless a target still is as it was specified.
	Stands func(ctx context.Context, target int) error

	windows []int // so far, by target
}

var _ Treatments = (*Targets)(nil)

// aimWithin limits the time in which engines have to run at another target. An engine first finishes what is in flight,
// so a slow storage delays it. That must not make the block invalid: slow windows would drop out. The next window begins only
// afterwards. The limit is below the time after which a runner kills an engine.
const aimWithin = 8 * time.Second

// WithTargets returns a plan whose treatments are [Targets].
func (p Plan) WithTargets() Plan {
	p.Targets, p.Timing.MaxSwitch = true, aimWithin
	return p
}

// Try implements [Treatments]. It aims at each target once, and last at the baseline.
func (t *Targets) Try(ctx context.Context) error {
	t.windows = make([]int, t.Count)
	for target := t.Count - 1; target >= 0; target-- {
		if err := t.window(ctx, target); err != nil {
			return err
		}
	}
	return nil
}

// Switch implements [Treatments]. It aims again if the target stays, so that all windows begin alike.
func (t *Targets) Switch(ctx context.Context, from, to int) (sent, acknowledged time.Time, err error) {
	if err := t.Holds(ctx, from); err != nil {
		return sent, acknowledged, err
	}
	sent = time.Now()
	if err := t.window(ctx, to); err != nil {
		return sent, acknowledged, err
	}
	return sent, time.Now(), nil
}

// Complete implements [Treatments]. A window lasts until its engine has ended. So it starts another engine, which works
// until the next window and belongs to none.
func (t *Targets) Complete(ctx context.Context, target int) error {
	return t.aim(ctx, target, 2*t.windows[target]-1)
}

// window begins the next window of a target.
func (t *Targets) window(ctx context.Context, target int) error {
	err := t.aim(ctx, target, 2*t.windows[target])
	t.windows[target]++
	return err
}

func (t *Targets) aim(ctx context.Context, target, again int) error {
	within, stop := context.WithTimeout(ctx, aimWithin)
	defer stop()
	if err := t.Aim(within, target, again); err != nil {
		return fmt.Errorf("aim at target %d: %w", target, err)
	}
	return nil
}

// Proven implements [Treatments]. Which target the clients loaded is in their rows: see Evidence.markElsewhere.
func (t *Targets) Proven(ctx context.Context, target int) (bool, error) {
	err := t.Stands(ctx, target)
	return err == nil, err
}

// Holds implements [Treatments].
func (t *Targets) Holds(ctx context.Context, target int) error { return t.Stands(ctx, target) }

// markElsewhere marks windows as faulty that have a row of another target than their own.
func (e Evidence) markElsewhere(faults []bool) {
	if !e.Plan.Targets {
		return
	}
	pieces, _, err := switchback.Pieces(e.Record.Switches, e.rows(), e.Plan.Timing)
	if err != nil {
		return // The caller has cut the same windows, so there is no error.
	}
	for i, s := range e.Record.Switches {
		for client, part := range pieces[i][switchback.Whole].Parts {
			elsewhere := func(row result.Second) bool { return int(row.Target) != s.Treatment }
			faults[i] = faults[i] || slices.ContainsFunc(e.Clients[client].Seconds[part.First:part.End], elsewhere)
		}
	}
}
