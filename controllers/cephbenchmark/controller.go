// Package cephbenchmark reconciles CephBenchmark objects. One pass reads as
// observe, decide, act, record: look at the world, choose one step by a list of
// named rules, carry it out, and write status once.
//
// A session is the execution of one run ID: a Job whose pods, the clients, run the
// tools. script.go has their tasks and the order; decide.go everything else. Between passes
// nothing waits: live.go follows the clients and the cluster and wakes the reconciler.
package cephbenchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Name of the controller in logs, metrics and events.
const Name = "cephbenchmark"

// Finalizer keeps a CephBenchmark until everything that it made is removed.
const Finalizer = "cephtune.dev/cleanup"

// Options are what a Reconciler works with.
type Options struct {
	// Client reads CephBenchmarks, Jobs and pods from a cache; Reader reads what is
	// looked at too rarely for one.
	Client   client.Client
	Reader   client.Reader
	Recorder events.EventRecorder
	Settings *settings.Settings
	Rook     Rook
	Ceph     tuning.Ceph
	Lock     Lock
	Journals Journals
	// Outages keeps the journals of OSDs that are kept down.
	Outages tuning.Store
	// Writer names this process, and no earlier or later one.
	Writer string
	// Doubts are what this process may not have heard the end of, in both controllers.
	Doubts *tuning.Doubts
	// KeepEvery is how often it is looked for OSDs that nobody lets up; 0 for never.
	KeepEvery time.Duration
	// Reached is called at each step of a change. It is for tests, which kill the process
	// in it; nil does nothing.
	Reached func(tuning.Step) error
	// Namespaces are asked before anything is begun.
	Namespaces Namespaces
	Dial       Dial
	Logs       Logs
	// MasterKey is the secret from which the keys of sessions are derived.
	MasterKey []byte
	// PoolSettle is for how long the PGs of a new pool have to be clean.
	PoolSettle time.Duration
	// Counts counts what happens, for metrics; nil counts nothing.
	Counts *exporter.Events
	// Now is the clock, which tests may set.
	Now func() time.Time
}

// Reconciler moves one CephBenchmark one step forward.
type Reconciler struct {
	client    client.Client
	reader    client.Reader
	recorder  events.EventRecorder
	settings  *settings.Settings
	rook      Rook
	ceph      tuning.Ceph
	lock      Lock
	journals  Journals
	outages   tuning.Store
	places    Namespaces
	writer    string
	doubts    *tuning.Doubts
	reached   func(tuning.Step) error
	keepEvery time.Duration
	logs      Logs
	masterKey []byte
	counts    *exporter.Events
	now       func() time.Time
	// poolSettle is for how long the PGs of a new pool have to be clean.
	poolSettle time.Duration
	live       *live
	decisions  reconcile.Decisions
	woken      chan event.TypedGenericEvent[*v1alpha1.CephBenchmark]
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	if o.Reached == nil {
		o.Reached = func(tuning.Step) error { return nil }
	}
	o.Doubts = cmp.Or(o.Doubts, &tuning.Doubts{})
	r := &Reconciler{
		outages: o.Outages, writer: o.Writer, doubts: o.Doubts, reached: o.Reached, keepEvery: o.KeepEvery,
		client: o.Client, reader: o.Reader, recorder: o.Recorder, settings: o.Settings,
		rook: o.Rook, ceph: o.Ceph, lock: o.Lock, journals: o.Journals, places: o.Namespaces, logs: o.Logs, masterKey: o.MasterKey, counts: o.Counts, now: o.Now, poolSettle: o.PoolSettle,
		woken: make(chan event.TypedGenericEvent[*v1alpha1.CephBenchmark], 1024),
	}
	r.live = newLive(o.Dial, o.Now, r.wake)
	return r
}

// wake has an object looked at again. The queue behind the channel drops doubles.
func (r *Reconciler) wake(key types.NamespacedName) {
	b := &v1alpha1.CephBenchmark{}
	b.Namespace, b.Name = key.Namespace, key.Name
	select {
	case r.woken <- event.TypedGenericEvent[*v1alpha1.CephBenchmark]{Object: b}:
	default: // The manager is ending, or far behind and about to look anyway.
	}
}

// A step that failed is tried again, at first soon. Ceph or a network that was away is
// noticed half a minute after it is back.
const (
	retryFirst  = 100 * time.Millisecond
	retryAtMost = 30 * time.Second
)

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := mgr.Add(r.live); err != nil {
		return fmt.Errorf("follow sessions: %w", err)
	}
	if r.keepEvery > 0 {
		if err := mgr.Add(newKeeper(r, r.keepEvery)); err != nil {
			return fmt.Errorf("look after OSDs that are kept down: %w", err)
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		WithOptions(controller.Options{RateLimiter: workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](retryFirst, retryAtMost)}).
		// Our own status writes do not change the generation, so they do not start
		// another pass.
		For(&v1alpha1.CephBenchmark{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(benchmarkOf)).
		WatchesRawSource(source.Channel(r.woken, &handler.TypedEnqueueRequestForObject[*v1alpha1.CephBenchmark]{})).
		Complete(r)
}

// benchmarkOf names the CephBenchmark of a client's pod.
func benchmarkOf(_ context.Context, pod client.Object) []ctrl.Request {
	name, ok := pod.GetAnnotations()[settings.AnnotationBenchmark]
	if !ok {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
}

// The rights for CRs, and for namespaces that are deleted, have to outlast these namespaces:
// they are a role of their own, bound cluster-wide.
//
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephbenchmarks,verbs=get;list;watch;patch,roleName=custom-resources
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephbenchmarks/status,verbs=patch,roleName=custom-resources
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephbenchmarks/finalizers,verbs=update,roleName=custom-resources
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get,roleName=custom-resources
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile moves one CephBenchmark one step forward. Status is written even when
// the step failed, so that the user sees why.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	b, err := r.read(ctx, req.NamespacedName)
	if apierrors.IsNotFound(err) {
		r.live.forget(req.NamespacedName) // A user may have removed the finalizer.
		r.decisions.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	seen, err := r.observe(ctx, b)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := decide(seen)
	r.logDecision(ctx, seen, next)
	came, failure := r.act(ctx, seen, next)
	if err := errors.Join(failure, r.record(ctx, seen, next, came, failure)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: came.again}, nil
}

// logDecision logs a decision that differs from the one before.
func (r *Reconciler) logDecision(ctx context.Context, seen facts, p plan) {
	if !p.renews(seen) {
		r.decisions.Note(ctx, seen.benchmark, p.decision(seen))
	}
}
