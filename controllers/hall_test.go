// Package controllers tests both controllers together: in the queue for the lock of a Ceph cluster.
package controllers

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/cephbenchmark"
	"github.com/cephtune/cephtune/controllers/cephtuningsweep"
	"github.com/cephtune/cephtune/controllers/dependencies"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/settings/namespaces"
	"github.com/cephtune/cephtune/internal/testing/memapi"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

const (
	namespace, operator = "bench", "cephtune-system"
	// lag is how long the cache of benchmarks lacks a change, and sweepLag that of sweeps.
	lag, sweepLag = 50 * time.Millisecond, time.Second
	// commandTakes is the time of a command of Ceph.
	commandTakes = 20 * time.Millisecond
)

// hall is where benchmarks and sweeps queue: an API server and a Ceph cluster in memory, with a manager that has both
// controllers. Unless Rook makes scratch pools, the holder of the lock does nothing but hold it.
type hall struct {
	client.Client // of an administrator

	t     *testing.T
	inner client.WithWatch
	ceph  clusters
	nodes nodes

	reads, writes, commands, passes atomic.Int64
	makes                           atomic.Bool // scratch pools

	mu       sync.Mutex
	managers int
	manager  *fakeManager
	// deaf says that changes reach the caches, but start no pass.
	deaf   bool
	status map[string]int // writes of status, by object
}

func newHall(t *testing.T, kinds memapi.Kinds) *hall {
	t.Helper()
	time.Sleep(time.Until(time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)))
	h := &hall{t: t, inner: memapi.New(t, kinds), status: map[string]int{}}
	h.ceph = newClusters(h.carry)
	h.nodes = nodes{hall: h, runners: map[string]*runnertest.Runner{}}
	h.Client = h.observed(nil)
	for _, name := range []string{namespace, operator} {
		h.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	return h
}

// carry carries a command of Ceph out, and counts it.
func (h *hall) carry(ctx context.Context, _ string, do func() error) error {
	h.commands.Add(1)
	time.Sleep(commandTakes)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return do()
}

// observed returns a client of the API server whose writes reach the caches. It counts the requests of a manager.
func (h *hall) observed(m *fakeManager) client.WithWatch {
	read := func(do func() error) error {
		if m != nil {
			h.reads.Add(1)
		}
		return do()
	}
	write := func(o client.Object, status bool, do func() error) error {
		if m != nil {
			h.writes.Add(1)
		}
		if m != nil && m.ctx.Err() != nil {
			return m.ctx.Err()
		}
		err := do()
		if err == nil && keyOf(o) != "" {
			h.changed(o, status && m != nil)
		}
		return err
	}
	return interceptor.NewClient(h.inner, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return read(func() error { return c.Get(ctx, key, o, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return read(func() error { return c.List(ctx, list, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return write(o, false, func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return write(o, false, func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return write(o, false, func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write(o, false, func() error { return c.Delete(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return write(o, true, func() error { return c.SubResource(sub).Patch(ctx, o, patch, opts...) })
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
			return write(o, true, func() error { return c.SubResource(sub).Update(ctx, o, opts...) })
		},
	})
}

// changed lets the manager's caches learn of an object's new state after a while.
func (h *hall) changed(o client.Object, counts bool) {
	now := o.DeepCopyObject().(client.Object) //nolint:forcetypeassert,errcheck // It is a copy.
	if err := h.inner.Get(context.Background(), client.ObjectKeyFromObject(o), now); apierrors.IsNotFound(err) {
		now = nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if counts {
		h.status[o.GetName()]++
	}
	if h.manager == nil {
		return
	}
	if _, ok := o.(*v1alpha1.CephTuningSweep); ok {
		h.manager.sweeps <- change{moment: time.Now().Add(sweepLag), key: keyOf(o), now: now}
	} else {
		h.manager.benchmarks <- change{moment: time.Now().Add(lag), key: keyOf(o), now: now}
	}
}

type change struct {
	moment time.Time
	key    string
	now    client.Object // nil if it is gone
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
	switch o.(type) {
	case *v1alpha1.CephBenchmark:
		return "b/" + o.GetName()
	case *v1alpha1.CephTuningSweep:
		return "s/" + o.GetName()
	case *batchv1.Job:
		return "j/" + o.GetName()
	case *corev1.Pod:
		return "p/" + o.GetName()
	}
	return ""
}

// fakeManager is a process of the operator. Its caches have the benchmarks and sweeps as they were a moment ago.
type fakeManager struct {
	manager.Manager

	hall     *hall
	ctx      context.Context //nolint:containedctx // It ends with the process.
	stop     context.CancelFunc
	direct   client.WithWatch
	informer lockedInformers
	// benchmarks and sweeps are the changes that the caches lack.
	benchmarks, sweeps chan change
	running            sync.WaitGroup

	mu     sync.Mutex
	cached map[string]client.Object
}

func (m *fakeManager) GetScheme() *runtime.Scheme { return m.hall.inner.Scheme() }
func (m *fakeManager) GetCache() cache.Cache      { return &m.informer }
func (m *fakeManager) GetLogger() logr.Logger     { return logr.Discard() }
func (m *fakeManager) GetRESTMapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{v1alpha1.GroupVersion})
	for kind := range m.GetScheme().KnownTypes(v1alpha1.GroupVersion) {
		mapper.Add(v1alpha1.GroupVersion.WithKind(kind), meta.RESTScopeNamespace)
	}
	return mapper
}

func (m *fakeManager) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: new(true)}
}

func (m *fakeManager) Add(r manager.Runnable) error {
	m.running.Go(func() {
		if err := r.Start(m.ctx); err != nil {
			m.hall.t.Error(err)
		}
	})
	return nil
}

// cachedClient reads benchmarks and sweeps from the caches, and writes to the API server.
func (m *fakeManager) cachedClient() client.WithWatch {
	return interceptor.NewClient(m.direct, interceptor.Funcs{
		Get: func(ctx context.Context, _ client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if !lags(o) {
				return m.hall.inner.Get(ctx, key, o, opts...) // Jobs and pods are in a cache, too.
			}
			m.hall.passes.Add(1) // Each pass begins so.
			o.SetName(key.Name)
			m.mu.Lock()
			defer m.mu.Unlock()
			found := m.cached[keyOf(o)]
			if found == nil {
				return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
			}
			reflect.ValueOf(o).Elem().Set(reflect.ValueOf(found.DeepCopyObject()).Elem())
			return nil
		},
		List: func(ctx context.Context, _ client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			m.mu.Lock()
			defer m.mu.Unlock()
			switch list := list.(type) {
			case *v1alpha1.CephBenchmarkList:
				for _, o := range m.cached {
					if b, ok := o.(*v1alpha1.CephBenchmark); ok {
						list.Items = append(list.Items, *b)
					}
				}
			case *v1alpha1.CephTuningSweepList:
				for _, o := range m.cached {
					if s, ok := o.(*v1alpha1.CephTuningSweep); ok {
						list.Items = append(list.Items, *s)
					}
				}
			default:
				return m.hall.inner.List(ctx, list, opts...)
			}
			return nil
		},
	})
}

// follow carries changes to the caches, and starts passes.
func (m *fakeManager) follow(changes <-chan change) {
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

func (m *fakeManager) tell(before, now client.Object) {
	object := now
	if object == nil {
		object = before
	}
	m.hall.mu.Lock()
	silent := object == nil || m.hall.deaf
	m.hall.mu.Unlock()
	if silent {
		return
	}
	found, err := m.informer.GetInformer(m.ctx, object)
	if err != nil {
		m.hall.t.Error(err)
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

// lockedInformers bears sources of events that start at the same time.
type lockedInformers struct {
	informertest.FakeInformers

	mu sync.Mutex
}

func (l *lockedInformers) GetInformer(ctx context.Context, object client.Object, opts ...cache.InformerGetOption) (cache.Informer, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.FakeInformers.GetInformer(ctx, object, opts...)
}

// manage starts a manager.
func (h *hall) manage() {
	h.t.Helper()
	h.managers++
	m := &fakeManager{hall: h, benchmarks: make(chan change, 1<<14), sweeps: make(chan change, 1<<14), cached: map[string]client.Object{}}
	m.ctx, m.stop = context.WithCancel(h.t.Context())
	m.direct, m.informer.Scheme = h.observed(m), h.inner.Scheme()
	cached, process := m.cachedClient(), fmt.Sprintf("manager-%d", h.managers)
	store := journals.New(m.direct, m.direct, operator)
	locks := lock.NewBoth(lock.NewLeases(m.direct, m.direct, operator, process), lock.NewRecords(h.ceph, "this-cluster"))
	key, doubts, recorder := make([]byte, 32), &tuning.Doubts{}, events.NewFakeRecorder(0)
	recorder.Events = nil // drops them
	shared := dependencies.Shared{
		Client: cached, Reader: m.direct, Recorder: recorder, Settings: allowances(), Ceph: h.ceph, Lock: locks,
		Journals: store, Outages: store.ForOutages(), Writer: process, Doubts: doubts, MasterKey: key, Now: time.Now,
		Reached: func(tuning.Step) error { return nil },
	}
	benchmarks := cephbenchmark.New(cephbenchmark.Options{
		Shared: shared, Rook: slowRook{hall: h}, Namespaces: namespaces.New(m.direct),
		Dial: h.nodes.dial, Logs: noLogs{},
	})
	sweeps := cephtuningsweep.New(cephtuningsweep.Options{
		Shared: shared, Rook: slowRook{hall: h}, Namespaces: namespaces.New(m.direct, namespace),
		Kubernetes: "this-cluster", Clients: benchmarks, Deadline: tuning.DefaultDeadline, Pace: cephtuningsweep.DefaultPace(),
		Draw: func() uint64 { return 7 },
	})
	if err := benchmarks.SetupWithManager(m); err != nil {
		h.t.Fatal(err)
	}
	if err := sweeps.SetupWithManager(m); err != nil {
		h.t.Fatal(err)
	}
	synctest.Wait()
	for _, o := range h.all() {
		m.cached[keyOf(o)] = o
	}
	for _, o := range slices.SortedFunc(maps.Values(m.cached), func(a, b client.Object) int { return strings.Compare(a.GetName(), b.GetName()) }) {
		m.tell(nil, o)
	}
	m.running.Go(func() { m.follow(m.benchmarks) })
	m.running.Go(func() { m.follow(m.sweeps) })
	h.mu.Lock()
	h.manager = m
	h.mu.Unlock()
}

// kill ends the manager.
func (h *hall) kill() {
	h.mu.Lock()
	m := h.manager
	h.manager = nil
	h.mu.Unlock()
	m.stop()
	m.running.Wait()
}

// all returns the benchmarks and sweeps.
func (h *hall) all() (all []client.Object) {
	var benchmarks v1alpha1.CephBenchmarkList
	var sweeps v1alpha1.CephTuningSweepList
	for _, list := range []client.ObjectList{&benchmarks, &sweeps} {
		if err := h.inner.List(h.t.Context(), list, client.InNamespace(namespace)); err != nil {
			h.t.Fatal(err)
		}
	}
	for i := range benchmarks.Items {
		all = append(all, &benchmarks.Items[i])
	}
	for i := range sweeps.Items {
		all = append(all, &sweeps.Items[i])
	}
	return all
}

func (h *hall) create(o client.Object) {
	h.t.Helper()
	if err := h.Create(h.t.Context(), o); err != nil {
		h.t.Fatal(err)
	}
}

// benchmark and sweep return objects that may run.
func benchmark(name string) *v1alpha1.CephBenchmark {
	b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	b.Spec.ClusterRef = v1alpha1.ClusterReference{Namespace: "rook-ceph", Name: "my-cluster"}
	return parsed(b, &b.Spec, `
repetitions: 1
template:
  target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "32"}}}
  dataset: {size: 64Mi}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}
`)
}

func sweep(name string) *v1alpha1.CephTuningSweep {
	s := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	s.Spec.ClusterRef = v1alpha1.ClusterReference{Namespace: "rook-ceph", Name: "my-cluster"}
	return parsed(s, &s.Spec, `
template:
  target: {existingPool: {name: open}}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}
parameters:
- {name: profile, config: {option: osd_mclock_profile}, values: [high_client_ops]}
objective: {phase: write, metric: IOPS}
strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3, seed: 11}
`)
}

func parsed[T any](object T, spec any, text string) T {
	if err := yaml.UnmarshalStrict([]byte(text), spec); err != nil {
		panic(err)
	}
	return object
}

func allowances() *settings.Settings {
	all := &settings.Settings{
		Images: settings.Images{Tools: "tools", Runner: "runner", PullPolicy: "IfNotPresent"},
		Pods:   settings.Pods{StartTimeout: metav1.Duration{Duration: 5 * time.Minute}},
	}
	for i := range clusterCount {
		all.Clusters = append(all.Clusters, settings.Cluster{
			Namespace: "rook-ceph", Name: clusterName(i), ExistingPools: []string{"open"},
			Identities: settings.Identities{Observer: "observer", IO: "io", Tuner: "tuner"},
			Options:    []settings.Option{{Name: "osd_mclock_profile"}},
		})
	}
	return all
}

// slowRook never makes a pool, unless the hall says so.
type slowRook struct {
	cephtuningsweep.Rook

	hall *hall
}

func (slowRook) Cluster(_ context.Context, ref v1alpha1.ClusterReference) (rook.ClusterInfo, error) {
	return rook.ClusterInfo{
		Namespace: ref.Namespace, Name: ref.Name, FSID: fsidOf(clusterNumber(ref.Name)), Phase: "Ready", State: "Created", Reconciled: true, RookVersion: "v1.17.2",
	}, nil
}

func (slowRook) Connection(_ context.Context, cluster settings.Cluster, name string) (ceph.Connection, error) {
	return ceph.Connection{MonHost: monitors(clusterNumber(cluster.Name)), User: name, Key: "AQ=="}, nil
}

func (slowRook) Owned(context.Context, v1alpha1.ClusterReference) (rook.Owned, error) {
	return rook.Owned{}, nil
}

func (slowRook) Caps(context.Context, settings.Cluster, string) (rook.Caps, error) {
	return rook.Caps{Mon: "allow *"}, nil
}

func (r slowRook) EnsureScratchPools(context.Context, settings.Cluster, []v1alpha1.ScratchPool, rook.ScratchUse, *ceph.OSDMap) (bool, string, error) {
	return r.hall.makes.Load(), "Rook is slow", nil
}

func (slowRook) HasScratchPool(context.Context, settings.Cluster, objectref.Ref) (bool, error) {
	return false, nil
}

func (slowRook) ScratchPoolsOf(context.Context, settings.Cluster, objectref.Ref) ([]string, error) {
	return nil, nil
}

func (slowRook) DeleteScratchPools(context.Context, settings.Cluster, objectref.Ref, *ceph.OSDMap) (gone bool, reason string, err error) {
	return true, "", nil
}

// holder returns the name of the object that has the lock; "" without one.
func (h *hall) holder() string {
	lease := &coordinationv1.Lease{}
	if h.inner.Get(h.t.Context(), client.ObjectKey{Namespace: operator, Name: "cephtune-" + cephtest.FSID}, lease) != nil {
		return ""
	}
	parts := strings.Split(ptr.Deref(lease.Spec.HolderIdentity, ""), "/")
	if len(parts) < 3 {
		return ""
	}
	return parts[2]
}

// awaitHolder waits until an object has the lock, and returns how long that took.
func (h *hall) awaitHolder(name string, atMost time.Duration) time.Duration {
	h.t.Helper()
	began := time.Now()
	for h.holder() != name {
		if time.Since(began) > atMost {
			h.t.Fatalf("%s does not have the lock after %v, but %q", name, atMost, h.holder())
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}
