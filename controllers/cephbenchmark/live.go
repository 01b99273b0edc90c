package cephbenchmark

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/clusterwatch"
)

// live holds the sessions that this process follows: their runners, by long polls, and the
// cluster that they load, by samples. Every change wakes the reconciler, so that no phase waits
// for a poll.
type live struct {
	dial clientview.Dial
	now  func() time.Time
	wake func(types.NamespacedName)

	mu       sync.Mutex
	stopped  bool
	sessions map[types.NamespacedName]*liveSession
}

func newLive(dial clientview.Dial, now func() time.Time, wake func(types.NamespacedName)) *live {
	return &live{dial: dial, now: now, wake: wake, sessions: map[types.NamespacedName]*liveSession{}}
}

// Start implements manager.Runnable. It stops all sessions when the manager ends.
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

// session returns the session of an object, and drops an earlier session with another ID.
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
	ctx, stop := context.WithCancel(context.Background()) // The context outlives the pass; Start and forget cancel it.
	s = &liveSession{
		id: id, now: l.now, wake: func() { l.wake(key) },
		context: ctx, stop: stop,
		memory: newMemory(l.now()),
	}
	s.runners = clientview.NewFollowers(ctx, l.dial, l.now, s.wake)
	if l.stopped {
		stop()
	}
	l.sessions[key] = s
	return s
}

// forget stops following an object's session.
func (l *live) forget(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.sessions[key]; ok {
		s.stop()
		delete(l.sessions, key)
	}
}

// liveSession holds the state of one session in this process. The reconciler, with one pass at a
// time for an object, owns memory. The rest is shared with the goroutines that follow the
// runners.
type liveSession struct {
	id      string
	now     func() time.Time
	wake    func()
	context context.Context //nolint:containedctx // A session outlasts the call that starts it.
	stop    context.CancelFunc

	memory *memory

	runners *clientview.Followers

	mu    sync.Mutex
	watch *clusterwatch.Watch
}

// hurry makes the watch sample the cluster now instead of at the next interval.
func (s *liveSession) hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch != nil {
		s.watch.Soon()
	}
}

// lookBetweenRuns turns the extra observations between runs on or off.
func (s *liveSession) lookBetweenRuns(between, strays bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch != nil {
		s.watch.LookBetweenRuns(between, strays)
	}
}

// startWatch begins to sample the cluster, unless the session samples it already.
func (s *liveSession) startWatch(c ceph.Client, to clusterwatch.Connect) *clusterwatch.Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch == nil {
		s.watch = clusterwatch.New(c, to, s.now, s.wake)
		go s.watch.Run(s.context)
	}
	return s.watch
}

// lastView returns the last observations of the cluster in this session.
func (s *liveSession) lastView() clusterwatch.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch == nil {
		return clusterwatch.View{}
	}
	return s.watch.View()
}
