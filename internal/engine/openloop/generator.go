package openloop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/cephtune/cephtune/internal/result"
)

// Operation is one read or write.
type Operation struct {
	// ID is below the limit of operations in flight, and differs from those of all others in flight.
	ID int
	// Target is the index of a copy. Offset counts from the beginning of its target.
	Target        int
	Write         bool
	Offset, Bytes int64
	Due           time.Duration
	// Err is set if the operation failed.
	Err error

	taken bool
}

// Backend executes operations. One goroutine calls Submit, and another one Wait.
type Backend interface {
	// InFlightLimit returns how many operations may be in flight.
	InFlightLimit() int
	// Submit starts all operations. It may wait for the storage.
	Submit(operations []*Operation) error
	// Wait waits until operations are done, but not much longer than the limit, and appends them to a list.
	Wait(done []*Operation, limit time.Duration) ([]*Operation, error)
}

// Clock counts from the beginning of the load.
type Clock interface {
	Now() time.Duration
	// SleepUntil may return too early.
	SleepUntil(t time.Duration)
	// Busy returns the CPU time of the goroutine's thread.
	Busy() time.Duration
	// Pin binds the calling goroutine to a thread with precise timers.
	Pin()
}

// These are limits of a run.
const (
	maxBatch = 64 // operations that are submitted together after a delay
	// longestWait is the longest time that the generator waits before it looks for the end of the context.
	longestWait = 100 * time.Millisecond
	// drainLimit is how long the generator waits for operations in flight after the end. A runner kills an
	// engine that it has stopped 10 s earlier.
	drainLimit = 5 * time.Second
	// maxUnissued limits the operations that were due but not issued at the end. With more of them, the load
	// is Saturated, and has no latencies.
	maxUnissued = 10_000_000
)

// generator is one run of a load.
type generator struct {
	load    *Load
	backend Backend
	clock   Clock
	record  *recorder
	end     time.Duration

	// The mutex guards the following fields. returned wakes a scheduler that waits for a free operation.
	mu         sync.Mutex
	returned   *sync.Cond
	timeline   timeline
	operations []Operation
	free       []*Operation
	ended      bool
	mostBusy   int // the largest number of operations in flight
	limited    int64
	issue      *punctuality
	unsettled  map[int]int // the number of operations in flight that were due in each row
}

// Run generates the load until its end, or until the context is done, and returns the result. It writes a line
// with the work of each measured second.
func Run(ctx context.Context, l *Load, b Backend, clock Clock, lines io.Writer) (*result.Result, error) {
	if err := l.Validate(); err != nil {
		return nil, err
	}
	g := &generator{
		load: l, backend: b, clock: clock, timeline: newTimeline(l),
		end: l.ramp() + seconds(l.Seconds), issue: newPunctuality(l), record: newRecorder(l, lines), unsettled: map[int]int{},
	}
	g.returned = sync.NewCond(&g.mu)
	g.operations = make([]Operation, b.InFlightLimit())
	for i := range g.operations {
		g.operations[i].ID = i
		g.free = append(g.free, &g.operations[i])
	}
	scheduled := make(chan error, 1)
	go func() { scheduled <- g.schedule() }()
	defer g.stop(0) // After an error, the scheduler still runs.
	if err := g.reap(ctx, scheduled); err != nil {
		return nil, err
	}
	return g.result()
}

// schedule submits each operation when it is due.
func (g *generator) schedule() error {
	g.clock.Pin()
	busy := g.clock.Busy()
	var blocked submissions
	batch := make([]*Operation, 0, maxBatch)
	for {
		due, ended := g.next()
		if ended {
			break
		}
		now := g.clock.Now()
		if due > now {
			g.clock.SleepUntil(min(due, now+longestWait))
			continue
		}
		batch = g.take(batch[:0], now, &blocked)
		began := g.clock.Now()
		if len(batch) == 0 {
			g.awaitFree()
			blocked.add(began, g.clock.Now())
			continue
		}
		if err := g.backend.Submit(batch); err != nil {
			return fmt.Errorf("submit: %w", err)
		}
		blocked.add(began, g.clock.Now())
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.issue.busy, g.issue.seconds = g.clock.Busy()-busy, g.clock.Now().Seconds()
	return nil
}

func (g *generator) next() (due time.Duration, ended bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	due = g.timeline.due()
	return due, g.ended || due >= g.end
}

// take takes the operations that are due, as many as are free. Their lateness leaves out the time that earlier submissions took since they
// were due, because the storage caused that wait.
func (g *generator) take(batch []*Operation, now time.Duration, blocked *submissions) []*Operation {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(batch) < maxBatch && len(g.free) > 0 && g.timeline.due() <= now && g.timeline.due() < g.end {
		op := g.free[len(g.free)-1]
		g.free = g.free[:len(g.free)-1]
		g.timeline.take(op)
		op.taken, op.Err = true, nil
		g.unsettled[rowOf(op.Due, g.load.ramp())]++
		g.issue.add(op.Due, max(0, now-op.Due-blocked.since(op.Due)))
		batch = append(batch, op)
	}
	g.mostBusy = max(g.mostBusy, len(g.operations)-len(g.free))
	return batch
}

// awaitFree waits for a free operation, or for the end. Only a storage that stalls makes it wait.
func (g *generator) awaitFree() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limited++
	for len(g.free) == 0 && !g.ended {
		g.returned.Wait()
	}
}

// reap records operations that are done, until the end of the load and of the operations in flight.
func (g *generator) reap(ctx context.Context, scheduled <-chan error) error {
	done := make([]*Operation, 0, maxBatch)
	var issued bool
	for {
		now := g.clock.Now()
		if ctx.Err() != nil && !g.stopped() {
			g.stop(now)
		}
		select {
		case err := <-scheduled:
			if err != nil {
				return err
			}
			issued = true
		default:
		}
		g.record.advance(now, g.end, g)
		if now >= g.end && (issued && g.inFlight() == 0 || now >= g.end+drainLimit) {
			g.abandon(now)
			g.record.finish(g)
			return nil
		}
		var err error
		if done, err = g.backend.Wait(done[:0], min(longestWait, g.record.untilNext(now))); err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		if err := g.complete(done, g.clock.Now()); err != nil {
			return err
		}
	}
}

func (g *generator) stopped() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ended
}

// stop ends the load early.
func (g *generator) stop(now time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended, g.end = true, min(g.end, now)
	g.returned.Broadcast()
}

func (g *generator) inFlight() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.operations) - len(g.free)
}

// settled implements [schedule].
func (g *generator) settled(row int, end time.Duration) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.unsettled[row] == 0 && g.timeline.due() >= end
}

// waiting implements [schedule].
func (g *generator) waiting(from, to time.Duration, take func(write bool, due time.Duration)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.operations {
		if op := &g.operations[i]; op.taken && op.Due >= from && op.Due < to {
			take(op.Write, op.Due)
		}
	}
	var op Operation
	for ahead := g.timeline.clone(); ahead.due() < to; {
		if ahead.take(&op); op.Due >= from {
			take(op.Write, op.Due)
		}
	}
}

// lateness implements [schedule].
func (g *generator) lateness(row int) *result.Histogram {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.issue.lateness(row)
}

// backlog implements [schedule].
func (g *generator) backlog(now time.Duration) float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	late := max(0, min(now, g.end)-g.timeline.due()).Seconds()
	return float64(len(g.operations)-len(g.free)) + late*g.load.rate()
}

func (g *generator) complete(done []*Operation, now time.Duration) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, op := range done {
		if op.Err != nil {
			return operationError(op, &g.load.Copies[op.Target])
		}
		g.record.add(op.Write, op.Due, now-op.Due, op.Bytes)
		op.taken = false
		row := rowOf(op.Due, g.load.ramp())
		if g.unsettled[row]--; g.unsettled[row] == 0 {
			delete(g.unsettled, row)
		}
		g.free = append(g.free, op)
	}
	g.returned.Signal()
	return nil
}

func operationError(op *Operation, c *Copy) error {
	verb := "read"
	if op.Write {
		verb = "write"
	}
	return fmt.Errorf("%s %d bytes at %d of %s: %w", verb, op.Bytes, op.Offset, c.Target, op.Err)
}

// abandon counts the operations that are not done, and those that were due but not issued, with the time that
// they have waited.
func (g *generator) abandon(now time.Duration) {
	g.stop(now)
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.operations {
		if op := &g.operations[i]; op.taken {
			g.record.abandon(op.Write, op.Due, now-op.Due)
		}
	}
	var op Operation
	for range maxUnissued {
		if g.timeline.due() >= g.end {
			break
		}
		g.timeline.take(&op)
		g.record.abandon(op.Write, op.Due, now-op.Due)
	}
}

func (g *generator) result() (*result.Result, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.end <= g.load.ramp() {
		return nil, errors.New("the load was stopped before the end of its ramp")
	}
	arrivals := g.issue.arrivals(g.load)
	arrivals.InFlightLimit, arrivals.MostInFlight, arrivals.Limited = int64(len(g.operations)), int64(g.mostBusy), g.limited
	arrivals.Unfinished, arrivals.Saturated = g.record.unfinished, g.record.saturated(g.load)
	return g.record.result(arrivals, g.end-g.load.ramp()), nil
}
