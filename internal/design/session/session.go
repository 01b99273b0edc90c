// Package session compares treatments under a load, and judges them by the clients' rows. A row is the work of one
// client in about a second. Package switchback has the statistical method. The caller of Run supplies the
// Treatments. After Run, also after an error, the caller leaves them: it restores settings.
package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/design/switchback"
)

// Treatments are what a session compares, such as values of a setting. The number of a treatment is an index; 0 is
// the baseline. Each method sets its own deadline.
type Treatments interface {
	// Try applies what could not be tried before the session, such as options of a pool that belongs to the session.
	// It leaves the baseline applied. Run calls it before the first window.
	Try(ctx context.Context) error
	// Switch checks that the previous treatment, whose number is the parameter from, is still applied. It then
	// applies the next one, whose number is the parameter to. If both numbers are equal, it only checks. It returns
	// two times: when the check is over, before its first change, and when the next treatment is applied: after
	// Ceph's last answer. Run does not switch again after an error.
	Switch(ctx context.Context, from, to int) (sent, acknowledged time.Time, err error)
	// Proven reports whether a treatment acts: whether Ceph has a setting and, for options of OSDs, whether the
	// OSDs report that they run with it.
	Proven(ctx context.Context, treatment int) (bool, error)
	// Complete makes sure that the clients' rows of the latest window, whose treatment is the parameter, are complete. Run
	// calls it after each block, before a look.
	Complete(ctx context.Context, treatment int) error
	// Holds returns an error if a treatment is no longer applied, or if the lock was lost.
	Holds(ctx context.Context, treatment int) error
}

// Record describes a session so far. Times are by the operator's clock, since Began.
type Record struct {
	Began    time.Time           `json:"began"`
	Switches []switchback.Switch `json:"switches"`
	End      time.Duration       `json:"endNanoseconds"`
	// Left has the candidates that were decided before the session ended. Later blocks have no windows of them.
	Left []Leave `json:"left,omitempty"`
	// Invalid says why the session does not count; "" if it counts.
	Invalid string `json:"void,omitempty"`
}

// Leave says that a candidate has no windows after the given number of blocks.
type Leave struct {
	Candidate int `json:"candidate"`
	Blocks    int `json:"blocks"`
}

// HasLeft reports whether a candidate has left.
func (r Record) HasLeft(candidate int) bool {
	return slices.ContainsFunc(r.Left, func(l Leave) bool { return l.Candidate == candidate })
}

// Order returns the blocks of a plan without the windows of candidates that have left.
func (r Record) Order(p Plan) []switchback.Block {
	if len(r.Left) == 0 {
		return p.Order
	}
	all := make([]switchback.Block, len(p.Order))
	for i, block := range p.Order {
		all[i] = slices.DeleteFunc(slices.Clone(block), func(treatment int) bool {
			return slices.ContainsFunc(r.Left, func(l Leave) bool { return l.Candidate == treatment && l.Blocks <= i })
		})
	}
	return all
}

// Look is called after each complete block. It returns what follows from the session so far.
type Look func(ctx context.Context, record Record) (Next, error)

// Next says how a session goes on.
type Next struct {
	// Enough says that the session can end.
	Enough bool
	// Decided has the candidates that need no more windows.
	Decided []int
}

// Run applies the treatments in the order of a plan. The baseline must be applied when Run starts. Run ends after the
// last block, or after a look that returns true. It also ends after an error of Treatments or of a
// look, or when the context ends; then the session is invalid, and Run returns the error, too. Each Switch checks the
// treatment of the previous window, and Holds checks that of the session's last window.
func Run(ctx context.Context, p Plan, all Treatments, look Look) (Record, error) {
	if err := all.Try(ctx); err != nil {
		return Record{Began: time.Now()}.invalid(err)
	}
	r := Record{Began: time.Now()}
	treatment := switchback.Baseline
	for i := range p.Order {
		first := len(r.Switches)
		for _, next := range r.Order(p)[i] {
			if err := r.window(ctx, p, all, treatment, next); err != nil {
				return r.invalid(err)
			}
			treatment = next
		}
		if err := all.Complete(ctx, treatment); err != nil {
			return r.invalid(fmt.Errorf("after window %d: %w", len(r.Switches)-1, err))
		}
		proveBlock(r.Switches[first:])
		r.End = time.Since(r.Began)
		next, err := look(ctx, r)
		if err != nil {
			return r.invalid(err)
		}
		if next.Enough {
			break
		}
		for _, candidate := range next.Decided {
			if !r.HasLeft(candidate) {
				r.Left = append(r.Left, Leave{Candidate: candidate, Blocks: i + 1})
			}
		}
	}
	if err := all.Holds(ctx, treatment); err != nil {
		return r.invalid(fmt.Errorf("after the last window: %w", err))
	}
	return r, nil
}

func (r Record) invalid(err error) (Record, error) {
	r.End, r.Invalid = time.Since(r.Began), err.Error()
	return r, err
}

// window switches to a treatment, and waits until the window is over. Until the treatment is proven, it asks for
// the proof.
func (r *Record) window(ctx context.Context, p Plan, all Treatments, from, to int) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the session was interrupted: %w", context.Cause(ctx))
	}
	sent, acknowledged, err := all.Switch(ctx, from, to)
	if err != nil {
		return fmt.Errorf("switch %d: %w", len(r.Switches), err)
	}
	r.Switches = append(r.Switches, switchback.Switch{Treatment: to, Sent: sent.Sub(r.Began), Acknowledged: acknowledged.Sub(r.Began)})
	within, stop := context.WithDeadline(ctx, acknowledged.Add(p.Window))
	defer stop()
	current := &r.Switches[len(r.Switches)-1]
	proven := &current.Proven
	for {
		pause := p.ProofEvery
		if *proven {
			pause = p.Window
		}
		if !sleep(within, pause) {
			break
		}
		// After an error, proven keeps its value. If no window of a block proves a treatment, the block is invalid.
		if yes, err := all.Proven(within, to); err == nil {
			*proven = yes
		}
	}
	current.Ended = time.Since(r.Began)
	if ctx.Err() != nil {
		return fmt.Errorf("the session was interrupted: %w", context.Cause(ctx))
	}
	return nil
}

// sleep waits for d. It returns false if the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// proveBlock marks a treatment as proven in all windows of a block if it was proven in one of them. OSDs report
// only every five seconds, so a short window may pass between two reports.
func proveBlock(switches []switchback.Switch) {
	seen := map[int]bool{}
	for _, s := range switches {
		seen[s.Treatment] = seen[s.Treatment] || s.Proven
	}
	for i := range switches {
		switches[i].Proven = seen[switches[i].Treatment]
	}
}
