package cephtuningsweep

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/uuid"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/dependencies"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/metrics/exporter/exportertest"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/settings/namespaces"
	"github.com/cephtune/cephtune/internal/signature/trial"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/testing/memapi"
	"github.com/cephtune/cephtune/internal/testing/memmanager"
	"github.com/cephtune/cephtune/internal/testing/rights"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

const (
	rookNamespace = "rook-ceph"
	clusterName   = "my-cluster"
	// soon is the deadline of everything that should happen soon.
	soon = 8 * time.Minute
	// passesAtOnce is more than the passes that two managers make at once.
	passesAtOnce = 16
)

// world is a namespace of an API server with the controller, and simulates the rest of a
// cluster: Ceph in memory, Rook, the benchmarks, and a clock that can be advanced.
type world struct {
	client.Client
	t         testing.TB
	server    *rest.Config       // for the manager, with the rights in the manifests; nil for an API server in memory
	memory    *memmanager.Server // the API server in memory; nil for a real one
	namespace string
	ceph      *cephtest.Cluster
	rook      *fakeRook
	bench     *bench
	load      *load
	allowed   *settings.Settings
	counted   *prometheus.Registry
	counts    *exporter.Events
	ahead     atomic.Int64 // of the clock, in nanoseconds
	begins    sync.Map     // when benchmarks began, by name
	stop      context.CancelFunc
	manager   *Reconciler    // the latest
	tune      func(*Options) // changes the next manager's options; may be nil

	// pass has an entry for each pass at work, and passed counts the passes that have ended. In a bubble of package
	// synctest, a goroutine that waits for a mutex would stop the clock.
	pass   chan struct{}
	passed atomic.Int64

	mu sync.Mutex
	// kill says whether the manager dies at a step of a change; nil never kills.
	kill func(tuning.Step) bool
	// died receives once for each manager that was killed.
	died chan struct{}
	// afterPass is called after each pass; nil for nothing.
	afterPass func()
	// turn is the only sweep whose requests for the lock are answered; "" for all.
	turn string
}

// passes runs a manager's passes.
type passes struct {
	*Reconciler

	world *world
}

// turns is a lock that answers only the sweep whose turn it is.
type turns struct {
	lock.Locker

	world *world
}

func (l turns) Acquire(ctx context.Context, connection ceph.Connection, fsid string, holder objectref.Ref, now time.Time) (lock.Grant, error) {
	l.world.mu.Lock()
	turn := l.world.turn
	l.world.mu.Unlock()
	if turn != "" && turn != holder.Name {
		return lock.Grant{}, errors.New("the API server does not answer")
	}
	return l.Locker.Acquire(ctx, connection, fsid, holder, now)
}

// onlyFor lets only one sweep request the lock, or all for "".
func (w *world) onlyFor(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turn = name
}

// newWorld starts a world with its own namespace on an API server.
func newWorld(t testing.TB, server *rest.Config, namespace string) *world {
	t.Helper()
	w := onServer(t, server, namespace)
	w.begin()
	return w
}

// newWorldInMemory starts a world on an API server of its own, in a bubble of package synctest.
func newWorldInMemory(t *testing.T, kinds memapi.Kinds, rules rights.Rules) *world {
	t.Helper()
	const namespace = "story"
	server := memmanager.NewServer(t, kinds, rules, namespace)
	w := worldWith(t, server.Administrator(), namespace)
	w.memory = server
	w.begin()
	return w
}

// begin lets the rest of the cluster work, and starts the manager.
func (w *world) begin() {
	go w.every(10*time.Millisecond, w.ceph.Tick)
	go w.every(20*time.Millisecond, w.bench.work)
	go w.every(2*time.Millisecond, w.load.work)
	w.start()
}

// onServer returns a world in a new namespace of an API server.
func onServer(t testing.TB, server *rest.Config, namespace string) *world {
	t.Helper()
	scheme := kruntime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(server, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := worldWith(t, c, namespace)
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		t.Fatal(err)
	}
	w.server = rights.Manager(t, server, namespace)
	return w
}

// worldWith returns a world in which nothing happens by itself, with the client of an administrator.
func worldWith(t testing.TB, c client.Client, namespace string) *world {
	w := &world{
		Client: c, t: t, namespace: namespace,
		ceph: quietCeph(), allowed: allowances(), counted: prometheus.NewRegistry(), pass: make(chan struct{}, passesAtOnce),
	}
	w.counts = exporter.NewEvents(w.counted)
	w.rook = &fakeRook{ceph: w.ceph}
	w.bench, w.load, w.died = &bench{world: w, key: masterKey}, &load{world: w}, make(chan struct{}, 1)
	return w
}

// every calls a function at an interval until the end of the test.
func (w *world) every(pause time.Duration, do func()) {
	for w.t.Context().Err() == nil {
		do()
		time.Sleep(pause)
	}
}

// start starts the manager, or starts another after it has ended.
func (w *world) start() {
	w.t.Helper()
	if w.memory != nil {
		m := w.memory.NewManager()
		w.setUp(m, namespaces.Tolerant(m.Client(nil), m.Direct), m.Direct, w.memory, m.Kill)
		w.memory.Run(m)
		w.stop = m.Stop
		return
	}
	skip := true
	mgr, err := ctrl.NewManager(w.server, ctrl.Options{
		NewCache:   namespaces.NewCache,
		NewClient:  namespaces.NewClient,
		Scheme:     w.Scheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},
		Cache:      cache.Options{DefaultNamespaces: map[string]cache.Config{w.namespace: {}}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.t.Context())
	w.setUp(mgr, mgr.GetClient(), w.asManager(), mgr.GetEventRecorder(Name), stop)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil {
			w.t.Errorf("the manager ended: %v", err)
		}
	}()
	w.stop = func() { stop(); <-ended }
	w.t.Cleanup(w.stop)
}

// setUp sets up the controller of a new manager, which stop kills.
func (w *world) setUp(mgr ctrl.Manager, cached, direct client.Client, recorder events.EventRecorder, stop func()) {
	w.t.Helper()
	options := w.options(direct, string(uuid.NewUUID()))
	options.Client, options.Reader, options.Recorder = cached, namespaces.Tolerant(direct, direct), recorder
	options.Reached = func(step tuning.Step) error { return w.reached(step, stop) }
	if w.tune != nil {
		w.tune(&options)
	}
	w.manager = New(options)
	if err := w.manager.setUp(mgr, passes{Reconciler: w.manager, world: w}); err != nil {
		w.t.Fatal(err)
	}
}

// asManager returns a client with the manager's rights and without a cache.
func (w *world) asManager() client.Client {
	w.t.Helper()
	direct, err := client.New(w.server, client.Options{Scheme: w.Scheme()})
	if err != nil {
		w.t.Fatal(err)
	}
	return direct
}

// options returns options for a new process.
func (w *world) options(direct client.Client, process string) Options {
	return Options{
		Shared: dependencies.Shared{
			Client: direct, Reader: direct,
			Settings: w.allowed, Ceph: w.ceph,
			Lock:      turns{Locker: lock.NewBoth(lock.NewLeases(direct, direct, w.namespace, process), lock.NewRecords(w.ceph, "this-cluster")), world: w},
			Journals:  journals.New(direct, direct, w.namespace),
			Outages:   journals.New(direct, direct, w.namespace).ForOutages(),
			MasterKey: masterKey,
			Writer:    process,
			Counts:    w.counts, Now: w.now,
		},
		Rook:       w.rook,
		Namespaces: namespaces.New(direct, w.namespace),
		Kubernetes: "this-cluster",
		Deadline: func([]tuning.Change) tuning.Deadline {
			return tuning.Deadline{Polls: 2, Deadline: 10 * time.Second}
		},
		Pace:    Pace{Settle: 10 * time.Millisecond, Watch: 20 * time.Millisecond, Queue: 10 * time.Millisecond},
		Clients: w.load, Hasten: hastened,
		Draw: func() uint64 { return 7 },
	}
}

// reached kills the manager if it has to die at this step. From then on, none of its requests to
// Ceph or the API server is carried out.
func (w *world) reached(step tuning.Step, stop context.CancelFunc) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kill == nil || !w.kill(step) {
		return nil
	}
	w.kill = nil
	stop()
	w.died <- struct{}{}
	return cephtest.ErrKilled
}

// killAt lets the manager die when it next reaches a step.
func (w *world) killAt(step tuning.Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kill = func(s tuning.Step) bool { return s == step }
}

// awaitDeath waits until the manager was killed, and starts the next one.
func (w *world) awaitDeath() {
	w.t.Helper()
	select {
	case <-w.died:
	case <-time.After(soon):
		w.t.Fatal("the manager was not killed: the step is never reached")
	}
	w.restart()
}

// restart simulates a crash of the manager and a new start.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.start()
}

func allowances() *settings.Settings {
	return &settings.Settings{Clusters: []settings.Cluster{{
		Namespace: rookNamespace, Name: clusterName, ExistingPools: []string{"open"}, RestartOSDs: true,
		Identities: settings.Identities{Observer: "observer", IO: "io", Tuner: "tuner", OSDStopper: "stopper"},
		StopOSDs:   true, PlacePGs: true,
		Options: []settings.Option{
			{Name: "osd_mclock_profile"},
			{Name: "osd_client_message_cap", Min: "16", Max: "16384", SwitchUnderLoad: true},
			{Name: "osd_max_backfills"},
			{Name: "osd_op_num_shards"},
			{Name: "pg_num", Pool: "open", Min: "8", Max: "128"},
		},
	}}}
}

func (w *world) now() time.Time {
	return time.Now().Add(time.Duration(w.ahead.Load()))
}

// quietCeph returns a healthy, quiescent cluster of three OSDs, with a pool whose autoscaler is on.
func quietCeph() *cephtest.Cluster {
	c := cephtest.NewCluster("open")
	c.Change(func(a *cephtest.Answers) {
		a.Status.Monitors, a.Status.QuorumNames = 1, []string{"a"}
		a.OSDMap.FullRatio, a.OSDMap.BackfillFullRatio, a.OSDMap.NearFullRatio = 0.95, 0.9, 0.85
		for i := range a.OSDs {
			a.OSDs[i].TotalBytes, a.OSDs[i].AvailableBytes, a.OSDs[i].PGs = 1<<40, 1<<40, 32
		}
		a.DF = ceph.DF{TotalBytes: 3 << 40, AvailableBytes: 3 << 40}
		a.PoolIO = []ceph.PoolIO{{Name: "open"}}
		a.Versions = ceph.Versions{Overall: map[string]int{"18.2.7": 5}, OSD: map[string]int{"18.2.7": 3}}
		a.ConfigShow = map[string]string{"osd.0 osd_memory_target": "4294967296"}
		a.Keys = map[string]string{}
	})
	return c
}

// fakeRook has one CephCluster.
type fakeRook struct {
	mu sync.Mutex
	// clusterIs is the CephCluster's problem, and connectionIs that of the keys' Secrets.
	clusterIs, connectionIs error
	fsid                    string // of a replaced Ceph cluster; "" for none
	owned                   rook.Owned
	monCaps                 string // of the tuner; "" allows everything
	osdCaps                 string // of the clients
	ceph                    *cephtest.Cluster
	restarted               []int // OSDs, in order
	pool                    scratch
	// ends reports whether an OSD ends when it has to restart, and starts whether it comes up
	// again; nil means all do.
	ends, starts func(osd int) bool
}

func (f *fakeRook) set(change func(*fakeRook)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *fakeRook) Cluster(_ context.Context, ref v1alpha1.ClusterReference) (rook.ClusterInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.clusterIs != nil {
		return rook.ClusterInfo{}, f.clusterIs
	}
	return rook.ClusterInfo{
		Namespace: ref.Namespace, Name: ref.Name, FSID: cmp.Or(f.fsid, cephtest.FSID),
		Phase: "Ready", State: "Created", Reconciled: true, RookVersion: "v1.17.2",
	}, nil
}

func (f *fakeRook) Connection(_ context.Context, _ settings.Cluster, name string) (ceph.Connection, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return ceph.Connection{MonHost: "10.0.0.10:6789", User: name, Key: "AQ=="}, f.connectionIs
}

func (f *fakeRook) Owned(context.Context, v1alpha1.ClusterReference) (rook.Owned, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.owned, nil
}

func (f *fakeRook) Caps(context.Context, settings.Cluster, string) (rook.Caps, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return rook.Caps{Mon: cmp.Or(f.monCaps, "allow *"), OSD: f.osdCaps}, nil
}

func (f *fakeRook) RestartOSD(_ context.Context, _ v1alpha1.ClusterReference, id int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.restarted = append(f.restarted, id)
	switch {
	case f.ends != nil && !f.ends(id):
	case f.starts != nil && !f.starts(id):
		f.ceph.LoseOSD(id)
	default:
		f.ceph.Restart(id)
	}
	return nil
}

// bench simulates the benchmarks of the world. Each has its result at the second look.
type bench struct {
	world *world
	mu    sync.Mutex
	// speed returns the figure of a benchmark, in the cluster's state at its end; nil means 1000.
	speed func(*v1alpha1.CephBenchmark) float64
	// hold prevents benchmarks from ending.
	hold bool
	// holdIf prevents some of them.
	holdIf func(*v1alpha1.CephBenchmark) bool
	// spoil may replace a benchmark's outcome. endsAs is the reason with which all benchmarks end.
	spoil  func(*v1alpha1.CephBenchmark) *v1alpha1.BenchmarkRun
	endsAs string
	// stall prevents some benchmarks from beginning.
	stall func(*v1alpha1.CephBenchmark) bool
	// key is the master key of the controller of benchmarks.
	key []byte
	// keep stores the full results of a benchmark, and returns their name.
	keep  func(*v1alpha1.CephBenchmark) string
	seen  map[string]bool
	ended int
}

func (b *bench) set(change func(*bench)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b)
}

func (b *bench) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ended
}

// work handles each benchmark once.
func (b *bench) work() {
	var all v1alpha1.CephBenchmarkList
	if err := b.world.List(b.world.t.Context(), &all, client.InNamespace(b.world.namespace)); err != nil {
		return // The API server is stopping.
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range all.Items {
		child := &all.Items[i]
		if childHasEnded(child) || !child.DeletionTimestamp.IsZero() || child.Status.Trial == nil && !b.admit(child) || sweepspec.IsSession(child) {
			continue
		}
		if b.seen == nil {
			b.seen = map[string]bool{}
		}
		if !b.seen[child.Name] && !b.begin(child) {
			continue
		}
		if !b.seen[child.Name] || b.hold || b.holdIf != nil && b.holdIf(child) {
			b.seen[child.Name] = true
			continue
		}
		b.end(child)
	}
}

// admit begins the benchmark if it is the one of its sweep's trial, as the controller of benchmarks does.
func (b *bench) admit(child *v1alpha1.CephBenchmark) bool {
	owner, ok := objectref.SweepOf(child)
	s := &v1alpha1.CephTuningSweep{}
	if !ok || b.world.Get(b.world.t.Context(), client.ObjectKey{Namespace: child.Namespace, Name: owner.Name}, s) != nil {
		return false
	}
	answer, err := trial.Admit(b.key, s, child)
	if err != nil {
		b.world.t.Error(err)
	}
	if answer.Trial == nil {
		return false
	}
	child.Status.Trial = answer.Trial
	return b.world.Status().Update(b.world.t.Context(), child) == nil
}

// begin prepares the benchmark's pool, and ends the benchmark if that fails.
func (b *bench) begin(child *v1alpha1.CephBenchmark) bool {
	if child.Spec.Template.Target.ScratchPool == nil {
		return true
	}
	if b.world.rook.use(child) {
		return true
	}
	meta.SetStatusCondition(&child.Status.Conditions, metav1.Condition{
		Type: v1alpha1.ConditionFailed, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonScratchPoolGone, Message: "The pool is gone.",
	})
	b.ended++
	b.write(child)
	return false
}

// end writes the result of a benchmark.
func (b *bench) end(child *v1alpha1.CephBenchmark) {
	b.ended++
	value := 1000.0
	if b.speed != nil {
		value = b.speed(child)
	}
	// The noise is about 1 %, and the same each time.
	value *= 1 + float64(b.ended*7919%21-10)/1000
	run := v1alpha1.BenchmarkRun{Number: 1, State: v1alpha1.RunValid}
	if b.keep != nil {
		run.Results = b.keep(child)
	}
	if b.spoil != nil {
		if other := b.spoil(child); other != nil {
			run = *other
		}
	}
	status := &child.Status
	if b.stall != nil && b.stall(child) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonNotAllowed, Message: "Apply config/bench to the namespace.",
		})
		b.write(child)
		return
	}
	status.ObservedRunID, status.Runs = child.Spec.RunID, []v1alpha1.BenchmarkRun{run}
	kind := v1alpha1.ConditionComplete
	if run.State == v1alpha1.RunValid {
		status.Phases = []v1alpha1.PhaseResult{{Name: "write", ValidRuns: 1, Metrics: []v1alpha1.MetricResult{
			{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal, Value: v1alpha1.Decimal(strconv.FormatFloat(value, 'f', 3, 64))},
		}}}
	} else {
		kind = v1alpha1.ConditionFailed
	}
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: cmp.Or(b.endsAs, "Ended"), Message: run.Reason})
	b.write(child)
}

func (b *bench) write(child *v1alpha1.CephBenchmark) {
	if err := b.world.Status().Update(b.world.t.Context(), child); client.IgnoreNotFound(err) != nil && b.world.t.Context().Err() == nil {
		b.ended-- // Another writer was faster: try again next time.
	}
}

// create creates a sweep from a spec without clusterRef.
func (w *world) create(name, spec string) *v1alpha1.CephTuningSweep {
	w.t.Helper()
	s := w.parse(name, spec)
	if err := w.Create(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	return s
}

// parse returns a sweep with a spec, without creating it.
func (w *world) parse(name, spec string) *v1alpha1.CephTuningSweep {
	w.t.Helper()
	s := &v1alpha1.CephTuningSweep{}
	if err := yaml.UnmarshalStrict([]byte(spec), &s.Spec); err != nil {
		w.t.Fatal(err)
	}
	s.Namespace, s.Name = w.namespace, name
	s.Spec.ClusterRef = v1alpha1.ClusterReference{Namespace: rookNamespace, Name: clusterName}
	return s
}

// await waits until a sweep is in a state.
func (w *world) await(s *v1alpha1.CephTuningSweep, goal string, reached func(*v1alpha1.CephTuningSweep) bool) {
	w.t.Helper()
	for end := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
			w.t.Fatalf("wait for the sweep %s: %v", goal, err)
		}
		if reached(s) {
			return
		}
		if time.Now().After(end) {
			status, _ := yaml.Marshal(s.Status)
			w.t.Fatalf("the sweep is not %s within %v; its status:\n%s", goal, soon, status)
		}
	}
}

// awaitGone waits until a sweep is deleted for good.
func (w *world) awaitGone(s *v1alpha1.CephTuningSweep) {
	w.t.Helper()
	for end := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		err := w.Get(w.t.Context(), client.ObjectKeyFromObject(s), s)
		if apierrors.IsNotFound(err) {
			return
		}
		if err != nil || time.Now().After(end) {
			status, _ := yaml.Marshal(s.Status)
			w.t.Fatalf("the sweep is not gone: %v; its status:\n%s", err, status)
		}
		w.waitOutJournal(s)
	}
}

// awaitAfterCrash waits until a sweep is in a state. It advances the clock if a manager waits for
// requests of an earlier one to end.
func (w *world) awaitAfterCrash(s *v1alpha1.CephTuningSweep, goal string, reached func(*v1alpha1.CephTuningSweep) bool) {
	w.t.Helper()
	w.await(s, goal, func(s *v1alpha1.CephTuningSweep) bool {
		w.waitOutJournal(s)
		return reached(s)
	})
}

// waitOutJournal advances the clock until no request of an earlier manager can be carried out any
// more, if the sweep waits for that.
func (w *world) waitOutJournal(s *v1alpha1.CephTuningSweep) {
	w.t.Helper()
	if !strings.Contains(messageOf(s), "an earlier manager requested") {
		return
	}
	w.advance(s, ceph.LongestChange+2*time.Second)
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		err := w.Get(w.t.Context(), client.ObjectKeyFromObject(s), s)
		if apierrors.IsNotFound(err) || err == nil && !strings.Contains(messageOf(s), "an earlier manager requested") {
			return
		}
	}
	w.t.Fatal("the sweep does not get past the wait")
}

// advance advances the clock and triggers a pass for the sweep.
func (w *world) advance(s *v1alpha1.CephTuningSweep, duration time.Duration) {
	w.t.Helper()
	w.ahead.Add(int64(duration))
	w.annotate(s)
}

// annotate edits a sweep, which triggers a pass.
func (w *world) annotate(s *v1alpha1.CephTuningSweep) {
	w.t.Helper()
	w.change(s, func(s *v1alpha1.CephTuningSweep) {
		metav1.SetMetaDataAnnotation(&s.ObjectMeta, "clock", w.now().String())
	})
}

// advanceUntil advances the clock repeatedly, each time after another pass, until a sweep is in a
// state. It does so between two passes. Otherwise the current pass would consider its observations
// too old, and could not write its status.
func (w *world) advanceUntil(s *v1alpha1.CephTuningSweep, duration time.Duration, goal string, reached func(*v1alpha1.CephTuningSweep) bool) {
	w.t.Helper()
	passed := int64(-1)
	w.await(s, goal, func(s *v1alpha1.CephTuningSweep) bool {
		if reached(s) {
			return true
		}
		if w.passed.Load() > passed {
			defer w.betweenPasses()()
			passed = w.passed.Load()
			w.advance(s, duration)
		}
		return false
	})
}

// betweenPasses waits until no pass is at work. No other begins before the returned function is called.
func (w *world) betweenPasses() (goOn func()) {
	for range passesAtOnce {
		w.pass <- struct{}{}
	}
	return func() {
		for range passesAtOnce {
			<-w.pass
		}
	}
}

// Reconcile runs one pass of the manager.
func (p passes) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	p.world.pass <- struct{}{}
	defer func() { <-p.world.pass }()
	defer p.world.passed.Add(1)
	result, err := p.Reconciler.Reconcile(ctx, req)
	p.world.mu.Lock()
	act := p.world.afterPass
	p.world.mu.Unlock()
	if act != nil {
		act()
	}
	return result, err
}

// children returns the benchmarks of the world, by name.
func (w *world) children() []v1alpha1.CephBenchmark {
	w.t.Helper()
	var all v1alpha1.CephBenchmarkList
	if err := w.List(w.t.Context(), &all, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	return all.Items
}

// awaitChild waits for a running benchmark.
func (w *world) awaitChild() *v1alpha1.CephBenchmark {
	w.t.Helper()
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		for _, child := range w.children() {
			if !childHasEnded(&child) && child.DeletionTimestamp.IsZero() {
				return &child
			}
		}
	}
	w.t.Fatal("no benchmark was begun")
	return nil
}

// awaitEvent waits for an event.
func (w *world) awaitEvent(reason, part string) {
	w.t.Helper()
	var all eventsv1.EventList
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if err := w.List(w.t.Context(), &all, client.InNamespace(w.namespace)); err != nil {
			w.t.Fatal(err)
		}
		for _, e := range all.Items {
			if e.Reason == reason && strings.Contains(e.Note, part) {
				return
			}
		}
	}
	for _, e := range all.Items {
		w.t.Logf("told: %s %s: %s", e.Type, e.Reason, e.Note)
	}
	w.t.Errorf("no event %s with %q", reason, part)
}

// wantSays checks a condition.
func (w *world) wantSays(s *v1alpha1.CephTuningSweep, kind string, status metav1.ConditionStatus, reason, part string) {
	w.t.Helper()
	c := meta.FindStatusCondition(s.Status.Conditions, kind)
	if c == nil || c.Status != status || c.Reason != reason || !strings.Contains(c.Message, part) {
		w.t.Errorf("condition %+v, want %s %s because of %s: %q", c, kind, status, reason, part)
	}
}

// trialsThatAre returns the number of trials with a validity.
func trialsThatAre[T ~string](s *v1alpha1.CephTuningSweep, validity T) int {
	n := 0
	for _, t := range s.Status.Trials {
		if t.Validity() == string(validity) {
			n++
		}
	}
	return n
}

// validities returns the validity of each trial, for messages.
func validities(s *v1alpha1.CephTuningSweep) (all []string) {
	for _, t := range s.Status.Trials {
		all = append(all, t.Validity())
	}
	return all
}

func conditionTrue(kind string) func(*v1alpha1.CephTuningSweep) bool {
	return func(s *v1alpha1.CephTuningSweep) bool { return meta.IsStatusConditionTrue(s.Status.Conditions, kind) }
}

func hasReason(reason string) func(*v1alpha1.CephTuningSweep) bool {
	return func(s *v1alpha1.CephTuningSweep) bool { return reasonOf(s) == reason }
}

// change edits the spec of a sweep.
func (w *world) change(s *v1alpha1.CephTuningSweep, edit func(*v1alpha1.CephTuningSweep)) {
	w.t.Helper()
	before := s.DeepCopy()
	edit(s)
	if err := w.Patch(w.t.Context(), s, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
}

// state returns everything in Ceph that a sweep may change, once the cluster is quiescent.
func (w *world) state() string {
	for range 16 {
		w.ceph.Tick()
	}
	text := ""
	w.ceph.Act(func(c *cephtest.Cluster) {
		for _, pool := range c.Answers.OSDMap.Pools {
			text += fmt.Sprintf("%s %d %s %v\n", pool.Name, pool.PGNumTarget, pool.AutoscaleMode, pool.Options)
		}
		for _, entry := range c.Answers.ConfigDump {
			text += fmt.Sprintf("%s/%s %s=%s\n", entry.Section, entry.Mask, entry.Name, entry.Value)
		}
		for _, osd := range c.Answers.OSDMap.OSDs {
			if !osd.Up || len(osd.Flags) > 0 {
				text += fmt.Sprintf("osd.%d up %t, flags %v\n", osd.ID, osd.Up, osd.Flags)
			}
		}
		text += fmt.Sprintf("balancer %t, flags %v, keys %v", c.Answers.Balancer.Active, c.Answers.OSDMap.Flags, c.Keys)
	})
	return text
}

// wantNeverSent checks that Ceph never got a value of an option.
func (w *world) wantNeverSent(option string) {
	w.t.Helper()
	for _, call := range w.ceph.Calls("SetConfig") {
		if strings.Contains(call.Args, option) {
			w.t.Errorf("Ceph was told %v", call.Args)
		}
	}
}

// wantState checks that Ceph's state is as before.
func (w *world) wantState(before string) {
	w.t.Helper()
	if now := w.state(); now != before {
		w.t.Errorf("Ceph is\n%s\nwant it as it was:\n%s", now, before)
	}
	var maps corev1.ConfigMapList
	if err := w.List(w.t.Context(), &maps, client.InNamespace(w.namespace), client.HasLabels{settings.LabelManagedBy}); err != nil {
		w.t.Fatal(err)
	}
	for _, cm := range maps.Items {
		if cm.Labels[archive.LabelSwitchedSession] != "" {
			continue
		}
		w.t.Errorf("the journal %s is still there", cm.Name)
	}
}

// TestMain runs more stories at once than there are processors, because stories wait most of the
// time.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(max(16, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// awaitCounted waits until a counter has a value. It changes only after status was written.
func (w *world) awaitCounted(want float64, metric string, labels ...string) {
	w.t.Helper()
	got := 0.0
	for end := time.Now().Add(soon); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if got = exportertest.Counted(w.t, w.counted, metric, labels...); got == want {
			return
		}
	}
	w.t.Errorf("%s of %v is %v, want %v", metric, labels, got, want)
}
