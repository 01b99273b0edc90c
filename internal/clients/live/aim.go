package live

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/workload"
)

// Window is a window of a session that aims its clients at targets.
type Window struct {
	// Target is the number of the target, and Phase the load on it.
	Target int
	Phase  v1alpha1.Phase
	// Again is that of [workload.Script.Aim].
	Again int
}

// Aim makes all clients of a benchmark's first run continue a phase in a window, and returns when their engines run. The
// error wraps [ErrNotMeasuring] if this process does not poll all clients, or has not started the phase.
func (l *Executions) Aim(ctx context.Context, benchmark types.NamespacedName, clients int, w Window) error {
	all, s := l.clientsOf(benchmark, clients), (*workload.Script)(nil)
	if followed, ok := l.Followed(benchmark); ok {
		s = followed.noted()
	}
	if all == nil || s == nil {
		return fmt.Errorf("phase %s of benchmark %s: %w", w.Phase.Name, benchmark, ErrNotMeasuring)
	}
	var group errgroup.Group
	for i, c := range all {
		group.Go(func() error {
			command, err := s.Aim(i, w.Target, w.Phase, w.Again)
			if err == nil {
				err = c.Aim(ctx, workload.TaskID(1, w.Phase.Name), runner.Aim{Target: int32(w.Target), Command: command}) //nolint:gosec // At most 64.
			}
			if err != nil {
				return fmt.Errorf("phase %s of benchmark %s, client %d: %w", w.Phase.Name, benchmark, i, err)
			}
			return nil
		})
	}
	return group.Wait()
}
