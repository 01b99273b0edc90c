// Package controllers tests both controllers together: in the queue for the lock of a Ceph cluster.
package controllers

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	"github.com/cephtune/cephtune/internal/testing/memmanager"
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
	manager  *memmanager.Manager
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
func (h *hall) observed(ended func() error) client.WithWatch {
	managed := ended != nil
	return memmanager.Around(h.inner, func(r memmanager.Request, do func() error) error {
		switch {
		case managed && !r.IsWrite():
			h.reads.Add(1)
		case managed:
			h.writes.Add(1)
			if err := ended(); err != nil {
				return err
			}
		}
		err := do()
		if err == nil && r.IsWrite() {
			h.changed(r, managed)
		}
		return err
	})
}

// changed lets the manager's caches learn of an object's new state after a while.
func (h *hall) changed(r memmanager.Request, managed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, pods := r.Object.(*corev1.Pod); managed && r.Subresource == "status" && !pods {
		h.status[r.Name]++
	}
	if h.manager != nil {
		h.manager.Changed(r.Object)
	}
}

// lagOf is how long the caches lack a change of an object.
func lagOf(o client.Object) time.Duration {
	if _, ok := o.(*v1alpha1.CephTuningSweep); ok {
		return sweepLag
	}
	return lag
}

func (h *hall) isDeaf() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.deaf
}

// manage starts a manager.
func (h *hall) manage() {
	h.t.Helper()
	h.managers++
	var m *memmanager.Manager
	direct := h.observed(func() error { return m.Context().Err() })
	m = memmanager.New(h.t, memmanager.Options{Server: h.inner, Direct: direct, Lag: lagOf, IsDeaf: h.isDeaf})
	cached, process := m.Client(func() { h.passes.Add(1) }), fmt.Sprintf("manager-%d", h.managers)
	store := journals.New(direct, direct, operator)
	locks := lock.NewBoth(lock.NewLeases(direct, direct, operator, process), lock.NewRecords(h.ceph, "this-cluster"))
	key, doubts, recorder := make([]byte, 32), &tuning.Doubts{}, events.NewFakeRecorder(0)
	recorder.Events = nil // drops them
	shared := dependencies.Shared{
		Client: cached, Reader: direct, Recorder: recorder, Settings: allowances(), Ceph: h.ceph, Lock: locks,
		Journals: store, Outages: store.ForOutages(), Writer: process, Doubts: doubts, MasterKey: key, Now: time.Now,
		Reached: func(tuning.Step) error { return nil },
	}
	benchmarks := cephbenchmark.New(cephbenchmark.Options{
		Shared: shared, Rook: slowRook{hall: h}, Namespaces: namespaces.New(direct),
		Dial: h.nodes.dial, Logs: noLogs{}, KubernetesVersion: func(context.Context) string { return "v1.36.3" },
	})
	sweeps := cephtuningsweep.New(cephtuningsweep.Options{
		Shared: shared, Rook: slowRook{hall: h}, Namespaces: namespaces.New(direct, namespace),
		Kubernetes: "this-cluster", Clients: benchmarks, Deadline: tuning.DefaultDeadline, Pace: cephtuningsweep.DefaultPace(),
		Draw: func() uint64 { return 7 },
	})
	if err := benchmarks.SetupWithManager(m); err != nil {
		h.t.Fatal(err)
	}
	if err := sweeps.SetupWithManager(m); err != nil {
		h.t.Fatal(err)
	}
	m.Fill(namespace)
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
	m.Stop()
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
