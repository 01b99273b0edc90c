// Package session switches settings under a running load, and judges them by the clients' rows. A row is the
// work of one client in about a second. Package switchback has the statistical method. The caller of Run
// supplies the Cluster that switches and proves settings. After Run, also after an error, the caller restores
// the settings.
package session

import (
	"context"
	"fmt"
	"time"

	"github.com/cephtune/cephtune/internal/design/switchback"
)

// Cluster is a cluster whose settings are switched. The number of a setting is an index; 0 is the baseline.
type Cluster interface {
	// Switch checks that Ceph has the previous setting, whose number is the parameter from. It then applies
	// the next setting, whose number is the parameter to. If both numbers are equal, it only checks. It returns
	// two times: before its first change of Ceph, when the check is over, and after Ceph's last answer. Switch
	// sets its own deadline. Run does not switch again after an error.
	Switch(ctx context.Context, from, to int) (sent, acknowledged time.Time, err error)
	// Proven reports whether Ceph has a setting and, for options of OSDs, whether the OSDs report that they
	// run with it.
	Proven(ctx context.Context, setting int) (bool, error)
	// Holds returns an error if a setting no longer has its value in Ceph, or if the lock was lost. Holds
	// sets its own deadline.
	Holds(ctx context.Context, setting int) error
}

// Record describes a session so far. Times are by the operator's clock, since Began.
type Record struct {
	Began    time.Time           `json:"began"`
	Switches []switchback.Switch `json:"switches"`
	End      time.Duration       `json:"endNanoseconds"`
	// Invalid says why the session does not count; "" if it counts.
	Invalid string `json:"void,omitempty"`
}

// Look is called after each complete block. It returns true if the session can end.
type Look func(ctx context.Context, record Record) (enough bool, err error)

// Run applies the settings in the order of a plan. The cluster must have the baseline when Run starts. Run
// ends after the last block, or after a look that returns true. It also ends after an error of Switch, of
// Holds or of a look, or when the context ends; then the session is invalid. Each Switch checks the setting of
// the previous window, and Holds checks the setting of the session's last window.
func Run(ctx context.Context, p Plan, in Cluster, look Look) Record {
	r := Record{Began: time.Now()}
	setting := switchback.Baseline
	for _, block := range p.Order {
		first := len(r.Switches)
		for _, next := range block {
			if err := r.window(ctx, p, in, setting, next); err != nil {
				return r.invalid(err)
			}
			setting = next
		}
		proveBlock(r.Switches[first:])
		r.End = time.Since(r.Began)
		enough, err := look(ctx, r)
		if err != nil {
			return r.invalid(err)
		}
		if enough {
			break
		}
	}
	if err := in.Holds(ctx, setting); err != nil {
		return r.invalid(fmt.Errorf("after the last window: %w", err))
	}
	return r
}

func (r Record) invalid(err error) Record {
	r.End, r.Invalid = time.Since(r.Began), err.Error()
	return r
}

// window switches to a setting, and waits until the window is over. Until the setting is proven, it asks for
// the proof.
func (r *Record) window(ctx context.Context, p Plan, in Cluster, from, to int) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the session was interrupted: %w", context.Cause(ctx))
	}
	sent, acknowledged, err := in.Switch(ctx, from, to)
	if err != nil {
		return fmt.Errorf("switch %d: %w", len(r.Switches), err)
	}
	r.Switches = append(r.Switches, switchback.Switch{Setting: to, Sent: sent.Sub(r.Began), Acknowledged: acknowledged.Sub(r.Began)})
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
		// After an error, proven keeps its value. If no window of a block proves a setting, the block is invalid.
		if yes, err := in.Proven(within, to); err == nil {
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

// proveBlock marks a setting as proven in all windows of a block if it was proven in one of them. OSDs report
// only every five seconds, so a short window may pass between two reports.
func proveBlock(switches []switchback.Switch) {
	seen := map[int]bool{}
	for _, s := range switches {
		seen[s.Setting] = seen[s.Setting] || s.Proven
	}
	for i := range switches {
		switches[i].Proven = seen[switches[i].Setting]
	}
}
