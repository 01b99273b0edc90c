package live

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/workload"
)

// ErrNotMeasuring says that, as far as this process knows, not all clients of a benchmark are
// measuring a phase.
var ErrNotMeasuring = errors.New("the clients are not measuring this phase")

// Course returns the time series of the clients of a benchmark in a phase of its first run: the
// rows of each client from a given row on. It asks the clients that this process follows. The error
// wraps ErrNotMeasuring if a client does not measure that phase.
func (l *Sessions[M]) Course(ctx context.Context, benchmark types.NamespacedName, phase v1alpha1.PhaseName, from []int) ([]runner.Course, error) {
	clients := l.clientsOf(benchmark, len(from))
	if clients == nil {
		return nil, fmt.Errorf("phase %s of benchmark %s: %w", phase, benchmark, ErrNotMeasuring)
	}
	ctx, cancel := context.WithTimeout(ctx, clientview.RequestTimeout)
	defer cancel()
	courses := make([]runner.Course, len(from))
	var group errgroup.Group
	for i, c := range clients {
		group.Go(func() (err error) {
			courses[i], err = c.Course(ctx, workload.TaskID(1, phase), from[i])
			if runner.HasCode(err, runner.NotFound) || runner.HasCode(err, runner.NotReady) {
				err = fmt.Errorf("%w: %w", ErrNotMeasuring, err)
			}
			if err != nil {
				return fmt.Errorf("phase %s of benchmark %s, client %d: %w", phase, benchmark, i, err)
			}
			return nil
		})
	}
	return courses, group.Wait()
}

// clientsOf returns the clients of an object's session, in order; nil if not all of them are
// followed.
func (l *Sessions[M]) clientsOf(key types.NamespacedName, count int) []runner.Client {
	s, ok := l.Followed(key)
	if !ok {
		return nil
	}
	views, clients := s.Runners.Views(), make([]runner.Client, count)
	for i := range clients {
		if clients[i] = views[i].Client; clients[i] == nil {
			return nil
		}
	}
	return clients
}
