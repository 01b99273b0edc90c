package cephbenchmark

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// live are the sessions that this process follows: their runners, by long polls,
// and the cluster that they load, by samples. Whatever changes wakes the reconciler,
// so that no phase waits for a poll.
type live struct {
	dial Dial
	now  func() time.Time
	wake func(types.NamespacedName)

	mu       sync.Mutex
	stopped  bool
	sessions map[types.NamespacedName]*liveSession
}

// Dial returns a client of the runner at an address, which shares this key.
type Dial func(address string, key []byte) (runner.Client, error)

func newLive(dial Dial, now func() time.Time, wake func(types.NamespacedName)) *live {
	return &live{dial: dial, now: now, wake: wake, sessions: map[types.NamespacedName]*liveSession{}}
}

// Start implements manager.Runnable: it stops everything at the manager's end.
func (l *live) Start(ctx context.Context) error {
	<-ctx.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	for key, s := range l.sessions {
		s.stop()
		delete(l.sessions, key)
	}
	return nil
}

// session returns what is followed of an object's session. That of another ID is dropped.
func (l *live) session(key types.NamespacedName, id string) *liveSession {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.sessions[key]
	if ok && s.id == id {
		return s
	}
	if ok {
		s.stop()
	}
	ctx, stop := context.WithCancel(context.Background()) // It outlives the pass; Start and forget end it.
	s = &liveSession{
		id: id, dial: l.dial, now: l.now, wake: func() { l.wake(key) },
		context: ctx, stop: stop,
		memory:  newMemory(l.now()),
		runners: map[int]*follower{},
	}
	if l.stopped {
		stop()
	}
	l.sessions[key] = s
	return s
}

// forget ends what was followed of an object's session.
func (l *live) forget(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.sessions[key]; ok {
		s.stop()
		delete(l.sessions, key)
	}
}

// liveSession is what this process knows of one session. The reconciler, with one pass at a time
// for an object, owns memory; the rest is shared with the goroutines that follow the runners.
type liveSession struct {
	id      string
	dial    Dial
	now     func() time.Time
	wake    func()
	context context.Context //nolint:containedctx // the life of a session is longer than any call's
	stop    context.CancelFunc

	memory *memory

	mu      sync.Mutex
	runners map[int]*follower
	watch   *watch
}

// hurry has the cluster looked at now, and not at the next turn.
func (s *liveSession) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch != nil {
		s.watch.soon()
	}
}

// lookBetweenRuns turns the extra observations between runs on or off.
func (s *liveSession) lookBetweenRuns(between, strays bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch != nil {
		s.watch.lookBetweenRuns(between, strays)
	}
}

type follower struct {
	address string
	client  runner.Client
	stop    context.CancelFunc

	snapshot *runner.Snapshot
	since    time.Time // of the first error after the last answer
	err      error
}

// runnerView is what is known of a runner at present.
type runnerView struct {
	client   runner.Client
	snapshot *runner.Snapshot // nil until the first answer
	err      error            // of the last attempt
	since    time.Time        // since when it does not answer
}

// follow makes sure that exactly the runners at these addresses are followed, and returns their
// views.
func (s *liveSession) follow(addresses map[int]string, key []byte) map[int]runnerView {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.runners {
		if addresses[i] != f.address {
			f.stop()
			delete(s.runners, i)
		}
	}
	views := map[int]runnerView{}
	for i, address := range addresses {
		f, ok := s.runners[i]
		if !ok {
			f = s.begin(address, key)
			s.runners[i] = f
		}
		views[i] = runnerView{client: f.client, snapshot: f.snapshot, err: f.err, since: f.since}
	}
	return views
}

func (s *liveSession) begin(address string, key []byte) *follower {
	ctx, stop := context.WithCancel(s.context)
	f := &follower{address: address, stop: stop}
	f.client, f.err = s.dial(address, key)
	if f.err != nil {
		f.since = s.now()
		return f
	}
	go s.poll(ctx, f)
	return f
}

// Polling of a runner: how long it may hold back an answer, and how soon it is
// asked again after it gave none.
const (
	pollWait    = 25 * time.Second
	pollTimeout = pollWait + 10*time.Second
	pollAgain   = 250 * time.Millisecond
	pollAtMost  = 2 * time.Second
)

// poll asks a runner for news until the session is over.
func (s *liveSession) poll(ctx context.Context, f *follower) {
	after, again := int64(-1), pollAgain
	for ctx.Err() == nil {
		asked, cancel := context.WithTimeout(ctx, pollTimeout)
		snapshot, err := f.client.Snapshot(asked, after, pollWait)
		cancel()
		if ctx.Err() != nil {
			return
		}
		if s.note(f, snapshot, err) {
			s.wake()
		}
		if err == nil {
			after, again = snapshot.Version, pollAgain
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
		again = min(2*again, pollAtMost)
	}
}

// note keeps an answer, and reports whether it is news.
func (s *liveSession) note(f *follower, snapshot runner.Snapshot, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		first := f.err == nil
		if first {
			f.since = s.now()
		}
		f.err = err
		return first
	}
	news := f.snapshot == nil || f.err != nil || f.snapshot.Version != snapshot.Version
	f.snapshot, f.err, f.since = &snapshot, nil, time.Time{}
	return news
}

// tasksOf arranges the answers by client and task; nil if one is missing.
func tasksOf(views map[int]runnerView, count int) workload.Tasks {
	tasks := make(workload.Tasks, count)
	for i := range tasks {
		view, ok := views[i]
		if !ok || view.snapshot == nil {
			return nil
		}
		tasks[i] = map[string]task.Status{}
		for _, status := range view.snapshot.Tasks {
			tasks[i][status.ID] = status
		}
	}
	return tasks
}
