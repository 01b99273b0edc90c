// Package live follows the executions of benchmarks in this process. It polls their runners and samples the
// cluster that they load. News about a runner, and each attempt to take a sample, wake the reconciler, so
// that no phase waits for the next periodic reconcile.
package live

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/workload"
)

// Executions holds the executions that this process follows.
type Executions struct {
	dial   clientview.Dial
	budget *limits.Budget
	now    func() time.Time
	wake   func(types.NamespacedName)

	mu         sync.Mutex
	stopped    bool
	executions map[types.NamespacedName]*Execution
}

// New returns Executions that hold no execution yet. Each execution has an account of the budget, which may be nil, for what
// its clients report. The function wake requests a reconcile of an object.
func New(dial clientview.Dial, budget *limits.Budget, now func() time.Time, wake func(types.NamespacedName)) *Executions {
	return &Executions{dial: dial, budget: budget, now: now, wake: wake, executions: map[types.NamespacedName]*Execution{}}
}

// Start implements manager.Runnable. When the manager ends, it stops following all executions.
func (l *Executions) Start(ctx context.Context) error {
	<-ctx.Done()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stopped = true
	for key, s := range l.executions {
		s.stop()
		delete(l.executions, key)
	}
	return nil
}

// Of returns an object's execution with the given execution ID. If this process does not follow that execution yet,
// Of begins to follow it, and stops following any other execution of the object. When the manager has ended, Of
// returns an execution that polls and samples nothing.
func (l *Executions) Of(key types.NamespacedName, id string) *Execution {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.executions[key]
	if ok && s.id == id {
		return s
	}
	if ok {
		s.stop()
	}
	ctx, stop := context.WithCancel(context.Background()) // The execution outlives the caller's context. Start, Forget and Of stop it.
	s = &Execution{
		id: id, now: l.now, wake: func() { l.wake(key) },
		context: ctx, Account: l.budget.Open(),
	}
	s.stop = func() { stop(); s.Account.Close() }
	s.Runners = clientview.NewFollowers(ctx, l.dial, s.Account, l.now, s.wake)
	if l.stopped {
		s.stop()
	}
	l.executions[key] = s
	return s
}

// Followed returns the execution that this process follows for an object; false without one.
func (l *Executions) Followed(key types.NamespacedName) (*Execution, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, ok := l.executions[key]
	return s, ok
}

// Forget stops following an object's execution.
func (l *Executions) Forget(key types.NamespacedName) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.executions[key]; ok {
		s.stop()
		delete(l.executions, key)
	}
}

// Execution is an execution that this process follows. Its fields and methods are safe for concurrent use.
type Execution struct {
	id      string
	now     func() time.Time
	wake    func()
	context context.Context //nolint:containedctx // An execution outlasts the call that starts it.
	stop    func()

	Runners *clientview.Followers
	// Account is charged for what the execution keeps of its clients' reports.
	Account *limits.Account

	mu     sync.Mutex
	watch  *clusterwatch.Watch
	script *workload.Script
}

// NoteScript notes the script that the execution's clients carry out.
func (s *Execution) NoteScript(script *workload.Script) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = script
}

// noted returns the script of NoteScript; nil if this process has started no phase.
func (s *Execution) noted() *workload.Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.script
}

// Hurry makes the watch sample the cluster now instead of at the next interval. Before StartWatch, it does
// nothing.
func (s *Execution) Hurry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch != nil {
		s.watch.Soon()
	}
}

// Ask passes what the watch reads to [clusterwatch.Watch.Ask]. Before StartWatch, it does nothing.
func (s *Execution) Ask(a clusterwatch.Asks) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch != nil {
		s.watch.Ask(a)
	}
}

// StartWatch returns the watch that samples the cluster. The first call starts the watch.
func (s *Execution) StartWatch(c ceph.Client, connect clusterwatch.Connect) *clusterwatch.Watch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch == nil {
		s.watch = clusterwatch.New(c, connect, s.now, s.wake)
		go s.watch.Run(s.context)
	}
	return s.watch
}

// LastView returns the watch's present view of the cluster. Before StartWatch, the view is empty.
func (s *Execution) LastView() clusterwatch.View {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watch == nil {
		return clusterwatch.View{}
	}
	return s.watch.View()
}
