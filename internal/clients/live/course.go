package live

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/workload"
)

// ErrNotMeasuring says that this process does not poll all clients of the benchmark, or that a client has not
// begun the phase.
var ErrNotMeasuring = errors.New("the clients are not measuring this phase")

// coursesAtATime is how many clients' courses are read at a time. Courses have histograms of each second, so those of
// all clients may exceed the manager's memory.
const coursesAtATime = 4

// Course calls the function take with the rows, one a second, of each client in a phase of a benchmark's first run. It
// makes one call at a time. The first row of client i is the one with the number from[i]; numbers count from 0. The
// error wraps [ErrNotMeasuring] if this process does not poll all clients, or if a client has not begun the phase.
func (l *Executions) Course(ctx context.Context, benchmark types.NamespacedName, phase v1alpha1.PhaseName, first []int, take func(client int, course runner.Course) error) error {
	clients := l.clientsOf(benchmark, len(first))
	if clients == nil {
		return fmt.Errorf("phase %s of benchmark %s: %w", phase, benchmark, ErrNotMeasuring)
	}
	ctx, cancel := context.WithTimeout(ctx, clientview.RequestTimeout)
	defer cancel()
	var taking sync.Mutex
	var group errgroup.Group
	group.SetLimit(coursesAtATime)
	for i, c := range clients {
		group.Go(func() error {
			course, err := c.Course(ctx, workload.TaskID(1, phase), first[i])
			if runner.HasCode(err, runner.NotFound) || runner.HasCode(err, runner.NotReady) {
				err = fmt.Errorf("%w: %w", ErrNotMeasuring, err)
			}
			if err != nil {
				return fmt.Errorf("phase %s of benchmark %s, client %d: %w", phase, benchmark, i, err)
			}
			defer course.Held.Release()
			taking.Lock()
			defer taking.Unlock()
			return take(i, course)
		})
	}
	return group.Wait()
}

// clientsOf returns the clients with the indexes 0 to count-1 of an object's execution; nil if this process
// does not poll all of them.
func (l *Executions) clientsOf(key types.NamespacedName, count int) []runner.Client {
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
