// Package live follows the sessions of benchmarks in this process: their runners, by long polls,
// and the cluster that they load, by samples. Every change wakes the reconciler, so that no phase
// waits for the reconciler's next periodic pass.
package live

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/clusterwatch"
)

// Sessions holds the sessions that this process follows. Each has a Memory of type M for its
// reconciler.
type Sessions[M any] struct {
	dial   clientview.Dial
	now    func() time.Time
	wake   func(types.NamespacedName)
	memory func(now time.Time) *M

	mu       sync.Mutex
	stopped  bool
	sessions map[types.NamespacedName]*Session[M]
}

// New returns Sessions without a session. wake triggers a pass for an object, and memory makes the
// memory of a session that this process has not seen before.
func New[M any](dial clientview.Dial, now func() time.Time, wake func(types.NamespacedName), memory func(now time.Time) *M) *Sessions[M] {
	return &Sessions[M]{dial: dial, now: now, wake: wake, memory: memory, sessions: map[types.NamespacedName]*Session[M]{}}
}

// Start implements manager.Runnable. It stops all sessions when the manager ends.
func (l *Sessions[M]) Start(ctx context.Context) error {
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

// Of returns the session of an object, and drops an earlier session with another ID.
func (l *Sessions[M]) Of(key types.NamespacedName, id string) *Session[M] {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.sessions[key]
	if ok && s.id == id {
		return s
	}
	if ok {
		s.stop()
	}
	ctx, stop := context.WithCancel(context.Background()) // The context outlives the pass; Start and Forget cancel it.
	s = &Session[M]{
		id: id, now: l.now, wake: func() { l.wake(key) },
		context: ctx, stop: stop,
		Memory: l.memory(l.now()),
	}
	s.Runners = clientview.NewFollowers(ctx, l.dial, l.now, s.wake)
	if l.stopped {
		stop()
	}
	l.sessions[key] = s
	return s
}

// Followed returns the session of an object that this process follows, or false.
func (l *Sessions[M]) Followed(key types.NamespacedName) (*Session[M], bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.sessions[key]
	return s, ok
}

// Forget stops following an object's session.
func (l *Sessions[M]) Forget(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.sessions[key]; ok {
		s.stop()
		delete(l.sessions, key)
	}
}

// Session is one session. The reconciler, with one pass at a time for an object, owns Memory. The
// rest is shared with the goroutines that follow the runners.
type Session[M any] struct {
	id      string
	now     func() time.Time
	wake    func()
	context context.Context //nolint:containedctx // A session outlasts the call that starts it.
	stop    context.CancelFunc

	Memory *M

	Runners *clientview.Followers

	mu    sync.Mutex
	watch *clusterwatch.Watch
}

// Hurry makes the watch sample the cluster now instead of at the next interval.
func (s *Session[M]) Hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch != nil {
		s.watch.Soon()
	}
}

// LookBetweenRuns turns the extra observations between runs on or off.
func (s *Session[M]) LookBetweenRuns(between, strays bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch != nil {
		s.watch.LookBetweenRuns(between, strays)
	}
}

// StartWatch begins to sample the cluster, unless the session samples it already.
func (s *Session[M]) StartWatch(c ceph.Client, to clusterwatch.Connect) *clusterwatch.Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch == nil {
		s.watch = clusterwatch.New(c, to, s.now, s.wake)
		go s.watch.Run(s.context)
	}
	return s.watch
}

// LastView returns the last observations of the cluster in this session.
func (s *Session[M]) LastView() clusterwatch.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch == nil {
		return clusterwatch.View{}
	}
	return s.watch.View()
}
