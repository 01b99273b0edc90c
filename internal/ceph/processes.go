package ceph

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"
)

const (
	// MaxProcesses is how many programs of Ceph may run at a time in a sidecar, also those that only wait for questions.
	// A test compares their memory with the limit of the sidecar's container.
	MaxProcesses = 7
	// urgentProcesses is how many of them are only for changes, and for the lock and the journals, without which
	// nothing can be restored. So a restore does not wait for slow questions.
	urgentProcesses = 2
	// clusterProcesses is how many commands of one Ceph cluster may be under way at a time, and clusterQuestions how
	// many of them may be questions. The commands of a cluster that does not answer last until their deadlines, so
	// without these limits they would delay the commands of all other clusters.
	clusterProcesses = 5
	clusterQuestions = 2
)

// processes limits how many programs of Ceph run at a time. A process that is to begin waits in the order of requests
// until there is room. Until then, the processes of conversations end as soon as nobody uses them; those that have been
// idle for the longest time end first.
type processes struct {
	room room

	mu      sync.Mutex
	waiting int
	idle    []*conversation       // the one that was used least recently is first
	shares  map[string]*usedShare // by the monitors of a cluster
}

// room limits a number of processes or commands, and how many of them are questions.
type room struct{ all, questions *semaphore.Weighted }

func newRoom(all, questions int64) room {
	return room{all: semaphore.NewWeighted(all), questions: semaphore.NewWeighted(questions)}
}

// usedShare is the room of one cluster. It exists only while commands of the cluster wait or run.
type usedShare struct {
	room

	users int
}

func newProcesses() *processes {
	return &processes{room: newRoom(MaxProcesses, MaxProcesses-urgentProcesses), shares: map[string]*usedShare{}}
}

// urgentKey is the key of the mark that urgent adds to a context.
type urgentKey struct{}

// urgent returns a context whose processes may use the room for urgent ones.
func urgent(ctx context.Context) context.Context { return context.WithValue(ctx, urgentKey{}, true) }

func isUrgent(ctx context.Context) bool { return ctx.Value(urgentKey{}) != nil }

// begin waits until one more process may run. Call the function end when the process has ended.
func (p *processes) begin(ctx context.Context) (end func(), err error) {
	end, err = p.room.take(ctx, p.enter)
	if err != nil {
		return nil, fmt.Errorf("the ceph sidecar was busy with %d other commands: %w", MaxProcesses, err)
	}
	return end, nil
}

// share waits until the cluster of a connection may have one more command under way. Call the function end when the
// command has ended.
func (p *processes) share(ctx context.Context, connection Connection) (end func(), err error) {
	used := p.use(connection.MonHost)
	leave, err := used.take(ctx, func(ctx context.Context, s *semaphore.Weighted) error { return s.Acquire(ctx, 1) })
	if err != nil {
		p.unuse(connection.MonHost)
		return nil, fmt.Errorf("the ceph sidecar was busy with other commands of this Ceph cluster (limit: %d, of them %d questions): %w", clusterProcesses, clusterQuestions, err)
	}
	return func() { leave(); p.unuse(connection.MonHost) }, nil
}

func (p *processes) use(monitors string) *usedShare {
	p.mu.Lock()
	defer p.mu.Unlock()
	used := p.shares[monitors]
	if used == nil {
		used = &usedShare{room: newRoom(clusterProcesses, clusterQuestions)}
		p.shares[monitors] = used
	}
	used.users++
	return used
}

func (p *processes) unuse(monitors string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shares[monitors].users--; p.shares[monitors].users == 0 {
		delete(p.shares, monitors)
	}
}

// take takes a place in the room by the function acquire. Call the function end to free the place.
func (r room) take(ctx context.Context, acquire func(context.Context, *semaphore.Weighted) error) (end func(), err error) {
	limits := []*semaphore.Weighted{r.questions, r.all}
	if isUrgent(ctx) {
		limits = limits[1:]
	}
	var taken []*semaphore.Weighted
	end = func() {
		for _, limit := range taken {
			limit.Release(1)
		}
	}
	for _, limit := range limits {
		if err := acquire(ctx, limit); err != nil {
			end()
			return nil, err
		}
		taken = append(taken, limit)
	}
	return end, nil
}

// enter takes a place in a room. While it waits, it is one of those for which idle processes end.
func (p *processes) enter(ctx context.Context, room *semaphore.Weighted) error {
	if room.TryAcquire(1) {
		return nil
	}
	p.want(1)
	defer p.want(-1)
	for talk := p.longestIdle(); talk != nil && !talk.endUnused(); talk = p.longestIdle() {
	}
	return room.Acquire(ctx, 1)
}

func (p *processes) want(more int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting += more
}

// wanted reports whether another process waits for room.
func (p *processes) wanted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting > 0
}

// longestIdle removes the conversation that was used least recently from the list of idle ones, and returns it; nil if
// none is idle.
func (p *processes) longestIdle() *conversation {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.idle) == 0 {
		return nil
	}
	talk := p.idle[0]
	p.idle = slices.Delete(p.idle, 0, 1)
	return talk
}

// rest adds a conversation to the idle ones, or ends its process if another process waits for room. Call it when nobody
// uses the conversation.
func (p *processes) rest(talk *conversation) {
	p.mu.Lock()
	p.idle = append(slices.DeleteFunc(p.idle, func(other *conversation) bool { return other == talk }), talk)
	wanted := p.waiting > 0
	p.mu.Unlock()
	if wanted {
		talk.endUnused()
	}
}

// forget removes a conversation from the idle ones.
func (p *processes) forget(talk *conversation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = slices.DeleteFunc(p.idle, func(other *conversation) bool { return other == talk })
}
