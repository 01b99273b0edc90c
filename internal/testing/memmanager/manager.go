// Package memmanager runs the controllers of this project on an API server in memory (package memapi), with
// controller-runtime's queues and predicates, in a bubble of package synctest. So hours of a story take a moment, and the
// speed of the machine decides nothing.
package memmanager

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// bufferedChanges is more than the caches ever lack.
const bufferedChanges = 1 << 14

// Options say how a manager reaches the API server.
type Options struct {
	// Server is the API server without faults, and Direct is how the manager writes to it.
	Server, Direct client.WithWatch
	// Lag is how long the cache of an object lacks a change.
	Lag func(client.Object) time.Duration
	// IsDeaf says that changes reach the caches, but start no pass; nil for never.
	IsDeaf func() bool
}

// Manager is a process of the operator. It has the benchmarks and sweeps in caches, as they were a moment ago.
type Manager struct {
	manager.Manager
	Options

	t         testing.TB
	ctx       context.Context //nolint:containedctx // It ends with the process.
	stop      context.CancelFunc
	informers lockedInformers
	running   sync.WaitGroup

	mu     sync.Mutex
	cached map[string]client.Object
	// changes are those that the caches lack, by their lag.
	changes map[time.Duration]chan change
}

type change struct {
	moment time.Time
	key    string
	now    client.Object // nil if it is gone
}

// New returns a manager that does not run yet. It ends with the test, or by [Manager.Stop].
func New(t testing.TB, o Options) *Manager {
	t.Helper()
	m := &Manager{Options: o, t: t, cached: map[string]client.Object{}, changes: map[time.Duration]chan change{}}
	m.ctx, m.stop = context.WithCancel(t.Context())
	m.informers.Scheme = o.Server.Scheme()
	return m
}

// Context is the context of everything that the manager does.
func (m *Manager) Context() context.Context { return m.ctx }

// GetScheme implements [manager.Manager], as the next methods do.
func (m *Manager) GetScheme() *runtime.Scheme { return m.Server.Scheme() }

// GetCache returns fake informers.
func (m *Manager) GetCache() cache.Cache { return &m.informers }

// GetLogger returns a logger that drops everything.
func (m *Manager) GetLogger() logr.Logger { return logr.Discard() }

// GetRESTMapper maps the kinds of this project.
func (m *Manager) GetRESTMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{v1alpha1.GroupVersion})
	for kind := range m.GetScheme().KnownTypes(v1alpha1.GroupVersion) {
		mapper.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	return mapper
}

// GetControllerOptions permits several controllers with one name. It turns the priority queue off: a goroutine of that queue
// may wait for ever after its shutdown, and a bubble must not end before all its goroutines have.
func (m *Manager) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: new(true), UsePriorityQueue: new(false)}
}

// Add starts a controller or a loop.
func (m *Manager) Add(r manager.Runnable) error {
	m.running.Go(func() {
		if err := r.Start(m.ctx); err != nil {
			m.t.Error(err)
		}
	})
	return nil
}

// Fill fills the caches with the objects of a namespace, which starts a pass for each. Call it once all controllers are
// added.
func (m *Manager) Fill(namespace string) {
	m.t.Helper()
	synctest.Wait() // The controllers must watch.
	for _, list := range []client.ObjectList{&v1alpha1.CephBenchmarkList{}, &v1alpha1.CephTuningSweepList{}} {
		err := m.Server.List(m.ctx, list, client.InNamespace(namespace))
		if err == nil {
			err = meta.EachListItem(list, func(item runtime.Object) error {
				object := item.(client.Object) //nolint:forcetypeassert,errcheck // The lists are those above.
				m.mu.Lock()
				defer m.mu.Unlock()
				m.cached[keyOf(object)] = object
				return nil
			})
		}
		if err != nil {
			m.t.Fatal(err)
		}
	}
	for _, o := range slices.SortedFunc(maps.Values(m.cached), func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) }) {
		m.tell(nil, o)
	}
}

// Kill ends the manager: its next request fails.
func (m *Manager) Kill() { m.stop() }

// Stop ends the manager, and waits until it has ended.
func (m *Manager) Stop() {
	m.stop()
	m.running.Wait()
}

// Changed lets the caches learn of an object's new state after the lag. Call it after each write of anybody.
func (m *Manager) Changed(o client.Object) {
	if keyOf(o) == "" || m.ctx.Err() != nil {
		return
	}
	now := o.DeepCopyObject().(client.Object) //nolint:forcetypeassert,errcheck // It is a copy.
	if err := m.Server.Get(context.Background(), client.ObjectKeyFromObject(o), now); apierrors.IsNotFound(err) {
		now = nil
	}
	lag := m.Lag(o)
	m.mu.Lock()
	defer m.mu.Unlock()
	queue, ok := m.changes[lag]
	if !ok {
		queue = make(chan change, bufferedChanges)
		m.changes[lag] = queue
		m.running.Go(func() { m.follow(queue) })
	}
	queue <- change{moment: time.Now().Add(lag), key: keyOf(o), now: now}
}

// follow carries changes to the caches, and starts passes.
func (m *Manager) follow(changes <-chan change) {
	for {
		select {
		case <-m.ctx.Done():
			return
		case c := <-changes:
			time.Sleep(time.Until(c.moment))
			m.mu.Lock()
			before := m.cached[c.key]
			m.cached[c.key] = c.now
			if c.now == nil {
				delete(m.cached, c.key)
			}
			m.mu.Unlock()
			m.tell(before, c.now)
		}
	}
}

func (m *Manager) tell(before, now client.Object) {
	object := now
	if object == nil {
		object = before
	}
	if object == nil || m.IsDeaf != nil && m.IsDeaf() {
		return
	}
	found, err := m.informers.GetInformer(m.ctx, object)
	if err != nil {
		m.t.Error(err)
		return
	}
	informer := found.(*controllertest.FakeInformer) //nolint:forcetypeassert,errcheck // It is a fake one.
	switch {
	case before == nil:
		informer.Add(now)
	case now == nil:
		last := before.DeepCopyObject().(client.Object) //nolint:forcetypeassert,errcheck // It is a copy.
		last.SetFinalizers(nil)                         // The API server reports the last state.
		informer.Delete(last)
	default:
		informer.Update(before, now)
	}
}

// Client returns a client that reads benchmarks and sweeps from the caches. It calls the function, unless that is nil, before
// each read of one of them, as each pass begins.
func (m *Manager) Client(begins func()) client.WithWatch {
	return cachedClient{WithWatch: m.Direct, m: m, begins: begins}
}

type cachedClient struct {
	client.WithWatch

	m      *Manager
	begins func()
}

// Get implements [client.Reader].
func (c cachedClient) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if !lags(o) {
		return c.m.Server.Get(ctx, key, o, opts...) // Jobs and pods are in a cache, too.
	}
	if c.begins != nil {
		c.begins()
	}
	o.SetNamespace(key.Namespace)
	o.SetName(key.Name)
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	found := c.m.cached[keyOf(o)]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
	}
	reflect.ValueOf(o).Elem().Set(reflect.ValueOf(found.DeepCopyObject()).Elem())
	return nil
}

// List implements [client.Reader].
func (c cachedClient) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.m.mu.Lock()
	defer c.m.mu.Unlock()
	switch list := list.(type) {
	case *v1alpha1.CephBenchmarkList:
		list.Items = all[v1alpha1.CephBenchmark](c.m.cached, opts)
	case *v1alpha1.CephTuningSweepList:
		list.Items = all[v1alpha1.CephTuningSweep](c.m.cached, opts)
	default:
		return c.m.Server.List(ctx, list, opts...)
	}
	return nil
}

// all returns the cached objects of a kind that the options select.
func all[T any, P interface {
	*T
	client.Object
}](cached map[string]client.Object, opts []client.ListOption) (items []T) {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	for _, key := range slices.Sorted(maps.Keys(cached)) {
		o, ok := cached[key].(P)
		if ok && (options.Namespace == "" || o.GetNamespace() == options.Namespace) && (options.LabelSelector == nil || options.LabelSelector.Matches(labelsOf(o))) {
			items = append(items, *o.DeepCopyObject().(P)) //nolint:forcetypeassert,errcheck // It is a copy.
		}
	}
	return items
}

// lockedInformers bears sources of events that start at the same time.
type lockedInformers struct {
	informertest.FakeInformers

	mu sync.Mutex
}

// GetInformer implements [cache.Informers].
func (l *lockedInformers) GetInformer(ctx context.Context, object client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.FakeInformers.GetInformer(ctx, object, opts...)
}

// lags reports whether managers read an object from the caches that lag.
func lags(o client.Object) bool {
	switch o.(type) {
	case *v1alpha1.CephBenchmark, *v1alpha1.CephTuningSweep:
		return true
	}
	return false
}

// keyOf returns the key of an object that managers watch; "" for others.
func keyOf(o client.Object) string {
	var kind string
	switch o.(type) {
	case *v1alpha1.CephBenchmark:
		kind = "b/"
	case *v1alpha1.CephTuningSweep:
		kind = "s/"
	case *batchv1.Job:
		kind = "j/"
	case *corev1.Pod:
		kind = "p/"
	default:
		return ""
	}
	return kind + o.GetNamespace() + "/" + o.GetName()
}
