// Package cephtuningsweep reconciles CephTuningSweep objects. One pass reads as
// observe, decide, act, record: look at the world, choose one step by a list of
// named rules, carry it out, and write status once.
// The state of a sweep is in its status and in the journal: the ledger in status says which run
// is next, an existing child says that its settings were proven, and the journal says what to
// restore. A manager that was killed at any moment goes on from there; memory.go holds the state
// that may be lost.
package cephtuningsweep

import (
	"cmp"
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/session"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Name of the controller in logs, metrics and events.
const Name = "cephtuningsweep"

// Finalizer keeps a CephTuningSweep until its changes are restored.
const Finalizer = "cephtune.dev/restore"

// AnnotationNodes on a CephTuningSweep has the run ID and the nodes of its first run, which
// all runs after it use.
const AnnotationNodes = "cephtune.dev/nodes"

// Options are what a Reconciler works with.
type Options struct {
	// Client reads CephTuningSweeps from a cache; Reader reads what must not be old.
	Client   client.Client
	Reader   client.Reader
	Recorder events.EventRecorder
	Settings *settings.Settings
	Rook     Rook
	Ceph     tuning.Ceph
	Lock     Lock
	// Journals keeps journals in Kubernetes. They are mirrored into Ceph.
	Journals tuning.Store
	// Outages keeps those of OSDs that benchmarks keep down.
	Outages tuning.Store
	// Namespaces are asked before anything is begun.
	Namespaces Namespaces
	// MasterKey proves to benchmarks that it was the operator who lets them share a pool.
	MasterKey []byte
	// Writer names this process, and no earlier or later one.
	Writer string
	// Kubernetes is the UID of this Kubernetes cluster, as lock.ClusterID has it: journals say
	// whose they are.
	Kubernetes string
	// KeepEvery is the interval between checks for orphaned journals; 0 for none.
	KeepEvery time.Duration
	// Doubts are what this process may not have heard the end of, in both controllers.
	Doubts *tuning.Doubts
	// Courses are what clients do by the second, for settings that are switched under them.
	Courses Courses
	// Hasten shortens sessions. It is for tests; nil leaves them as they are.
	Hasten func(session.Plan) session.Plan
	// Patience is how long the cluster may take to settle after changes.
	Patience func([]tuning.Change) tuning.Patience
	// Pace is how often the cluster is looked at.
	Pace Pace
	// Now is the clock, Draw a source of seeds; tests may set both.
	Now  func() time.Time
	Draw func() uint64
	// Counts counts what happens, for metrics; nil counts nothing.
	Counts *exporter.Events
	// Reached is called at each step of a change, and ends what is being done with its
	// error. It is for tests, which kill the manager in it; nil does nothing.
	Reached func(tuning.Step) error
}

// Pace is how often a cluster is looked at, for want of events that Ceph would send.
type Pace struct {
	// Settle is the interval while a change is being made or waited for.
	Settle time.Duration
	// Watch is for one that is measured: the benchmark itself looks after its health.
	Watch time.Duration
}

// DefaultPace is for real clusters, each look at which takes about a second.
func DefaultPace() Pace { return Pace{Settle: 2 * time.Second, Watch: 5 * time.Second} }

// Reconciler moves one CephTuningSweep one step forward.
type Reconciler struct {
	Options

	memories  memories
	loops     loops
	decisions reconcile.Decisions
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	o.Doubts = cmp.Or(o.Doubts, &tuning.Doubts{})
	return &Reconciler{Options: o}
}

// A step that failed is tried again, at first soon. Ceph or a network that was away is
// noticed half a minute after it is back.
const (
	retryFirst  = 100 * time.Millisecond
	retryAtMost = 30 * time.Second
	// sideBySide is how many sweeps are looked at together: one that waits for its Ceph
	// cluster should not keep those of others.
	sideBySide = 4
)

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error { return r.setUp(mgr, r) }

// setUp registers the controller, whose passes tests observe.
func (r *Reconciler) setUp(mgr ctrl.Manager, passes ctrlreconcile.Reconciler) error {
	if r.KeepEvery > 0 {
		if err := mgr.Add(newKeeper(r.Options)); err != nil {
			return err
		}
	}
	if err := mgr.Add(&r.loops); err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: sideBySide,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](retryFirst, retryAtMost),
		}).
		// Our own status writes change neither, so they do not start another pass.
		For(&v1alpha1.CephTuningSweep{}, builder.WithPredicates(
			predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Owns(&v1alpha1.CephBenchmark{}).
		Complete(passes)
}

// The rights for CRs have to outlast the CRs' namespace: they are a role of their own, bound
// cluster-wide.
//
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephtuningsweeps,verbs=get;list;watch;patch,roleName=custom-resources
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephtuningsweeps/status,verbs=patch,roleName=custom-resources
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephtuningsweeps/finalizers,verbs=update,roleName=custom-resources
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephbenchmarks,verbs=get;list;watch,roleName=custom-resources
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile moves one CephTuningSweep one step forward. Of one that has begun, status is
// written even when the step failed, so that the user sees why.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.read(ctx, req.NamespacedName)
	if apierrors.IsNotFound(err) {
		r.loops.end(req.NamespacedName)
		r.memories.forget(req.NamespacedName)
		r.decisions.Forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	seen, err := r.observe(ctx, s)
	if err != nil && !(facts{sweep: s}).mayHaveMade() {
		return ctrl.Result{}, err // In status it would count as begun, without being asked whether it may.
	}
	if err != nil {
		return ctrl.Result{}, errors.Join(err, r.record(ctx, facts{sweep: s, now: r.Now()}, plan{step: stepWait}, effect{}, err))
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
		r.decisions.Note(ctx, seen.sweep, p.decision(seen))
	}
}
