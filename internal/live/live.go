// Package live follows the sessions of benchmarks in this process. It polls their runners and samples the
// cluster that they load. News about a runner, and each attempt to take a sample, wake the reconciler, so
// that no phase waits for the next periodic reconcile.
package live

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/limits"
)

// Sessions holds the sessions that this process follows. Each session has a Memory of type M for its
// reconciler.
type Sessions[M any] struct {
	dial   clientview.Dial
	budget *limits.Budget
	now    func() time.Time
	wake   func(types.NamespacedName)
	memory func(now time.Time) *M

	mu       sync.Mutex
	stopped  bool
	sessions map[types.NamespacedName]*Session[M]
}

// New returns Sessions that hold no session yet. Each session has an account of the budget, which may be nil, for what
// its clients report. The function wake requests a reconcile of an object. The
// function memory makes the Memory of a session that this process begins to follow.
func New[M any](dial clientview.Dial, budget *limits.Budget, now func() time.Time, wake func(types.NamespacedName), memory func(now time.Time) *M) *Sessions[M] {
	return &Sessions[M]{dial: dial, budget: budget, now: now, wake: wake, memory: memory, sessions: map[types.NamespacedName]*Session[M]{}}
}

// Start implements manager.Runnable. When the manager ends, it stops following all sessions.
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

// Of returns an object's session with the given session ID. If this process does not follow that session yet,
// Of begins to follow it, and stops following any other session of the object. When the manager has ended, Of
// returns a session that polls and samples nothing.
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
	ctx, stop := context.WithCancel(context.Background()) // The session outlives the caller's context. Start, Forget and Of stop it.
	s = &Session[M]{
		id: id, now: l.now, wake: func() { l.wake(key) },
		context: ctx, Account: l.budget.Open(),
		Memory: l.memory(l.now()),
	}
	s.stop = func() { stop(); s.Account.Close() }
	s.Runners = clientview.NewFollowers(ctx, l.dial, s.Account, l.now, s.wake)
	if l.stopped {
		s.stop()
	}
	l.sessions[key] = s
	return s
}

// Followed returns the session that this process follows for an object; false without one.
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

// Session is a session that this process follows. Only the reconciler uses Memory, in one reconcile of the
// object at a time. The other fields and the methods are safe for concurrent use.
type Session[M any] struct {
	id      string
	now     func() time.Time
	wake    func()
	context context.Context //nolint:containedctx // A session outlasts the call that starts it.
	stop    func()

	Memory *M

	Runners *clientview.Followers
	// Account is charged for what the session keeps of its clients' reports.
	Account *limits.Account

	mu    sync.Mutex
	watch *clusterwatch.Watch
}

// Hurry makes the watch sample the cluster now instead of at the next interval. Before StartWatch, it does
// nothing.
func (s *Session[M]) Hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch != nil {
		s.watch.Soon()
	}
}

// LookBetweenRuns passes its arguments to [clusterwatch.Watch.LookBetweenRuns], which turns the extra
// observations between runs on or off. Before StartWatch, it does nothing.
func (s *Session[M]) LookBetweenRuns(between, strays bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch != nil {
		s.watch.LookBetweenRuns(between, strays)
	}
}

// StartWatch returns the watch that samples the cluster. The first call starts the watch.
func (s *Session[M]) StartWatch(c ceph.Client, to clusterwatch.Connect) *clusterwatch.Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch == nil {
		s.watch = clusterwatch.New(c, to, s.now, s.wake)
		go s.watch.Run(s.context)
	}
	return s.watch
}

// LastView returns the watch's present view of the cluster. Before StartWatch, the view is empty.
func (s *Session[M]) LastView() clusterwatch.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch == nil {
		return clusterwatch.View{}
	}
	return s.watch.View()
}
