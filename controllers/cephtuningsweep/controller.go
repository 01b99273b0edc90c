// Package cephtuningsweep reconciles CephTuningSweep objects. One pass has four parts: observe the cluster,
// decide on one step by a list of named rules, act by executing it, and record the outcome with one write of
// status.
//
// The state of a sweep is in its status, its children (the benchmarks that it has created) and the journal.
// The ledger in status says which run is next. A child exists only if the settings of its run were proven.
// The journal says what to restore. After a manager is killed, the next manager continues from this state.
// The file memory.go has the state that may be lost.
package cephtuningsweep

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/dependencies"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/lock/queue"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Name is the name of the controller in logs, metrics and events.
const Name = "cephtuningsweep"

// Finalizer keeps a deleted CephTuningSweep until its changes are restored.
const Finalizer = reconcile.RestoreFinalizer

// AnnotationNodes has the run ID of a CephTuningSweep and the nodes of its first run. Later runs use the same
// nodes.
const AnnotationNodes = "cephtune.dev/nodes"

// Options are the dependencies of a Reconciler.
type Options struct {
	dependencies.Shared

	Rook Rook
	// Namespaces says whether a sweep may begin in a namespace.
	Namespaces Namespaces
	// Kubernetes is the UID of this Kubernetes cluster, from lock.ClusterID. Journals record it.
	Kubernetes string
	// Clients returns the figures of a session's clients for each second, and aims them at targets.
	Clients Clients
	// Hasten shortens sessions in tests; it may be nil.
	Hasten func(session.Plan) session.Plan
	// Deadline returns how long the cluster may take to settle after changes.
	Deadline func([]tuning.Change) tuning.Deadline
	// Pace has the intervals between polls of the cluster.
	Pace Pace
	// Draw is the source of seeds.
	Draw func() uint64
}

// Pace has the intervals between polls of a cluster. Ceph sends no events.
type Pace struct {
	// Settle is the interval outside a measurement, such as while a change settles.
	Settle time.Duration
	// Watch is the interval during a measurement, when the benchmark itself also checks the cluster's health.
	Watch time.Duration
	// Queue is the interval at which the next sweep in the queue looks whether the lock is free.
	Queue time.Duration
}

// DefaultPace returns the pace for real clusters, where each poll takes about a second.
func DefaultPace() Pace {
	return Pace{Settle: 2 * time.Second, Watch: 5 * time.Second, Queue: queue.LookEvery}
}

// Reconciler reconciles CephTuningSweeps.
type Reconciler struct {
	Options

	loops  loops
	passes *passLoop
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	o.Doubts = cmp.Or(o.Doubts, &tuning.Doubts{})
	r := &Reconciler{Options: o}
	r.passes = r.newLoop()
	return r
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error { return r.setUp(mgr, r) }

// setUp registers the controller with a given reconciler, so that tests can observe its passes.
func (r *Reconciler) setUp(mgr ctrl.Manager, passes ctrlreconcile.Reconciler) error {
	if r.KeepEvery > 0 {
		if err := mgr.Add(newRestorer(r.Options)); err != nil {
			return err
		}
	}
	if err := mgr.Add(&r.loops); err != nil {
		return err
	}
	next := handler.EnqueueRequestsFromMapFunc(queue.Front(r.Client, v1alpha1.KindCephTuningSweep))
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		WithOptions(reconcile.Options()).
		// The controller's own writes of status change neither the generation nor annotations, so
		// they start no pass.
		For(&v1alpha1.CephTuningSweep{}, builder.WithPredicates(
			predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Owns(&v1alpha1.CephBenchmark{}).
		Watches(&v1alpha1.CephBenchmark{}, next, builder.WithPredicates(queue.Moves())).
		Watches(&v1alpha1.CephTuningSweep{}, next, builder.WithPredicates(queue.Moves())).
		Complete(passes)
}

// The rights for CRs must stay valid while the CRs' namespace is being deleted. So they form a
// separate role, which is bound cluster-wide.
//
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephtuningsweeps,verbs=get;list;watch;patch,roleName=custom-resources
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephtuningsweeps/status,verbs=patch,roleName=custom-resources
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephtuningsweeps/finalizers,verbs=update,roleName=custom-resources
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephbenchmarks,verbs=get;list;watch,roleName=custom-resources
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile moves one CephTuningSweep one step forward.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return r.passes.Reconcile(ctx, req)
}

// passLoop is the loop of CephTuningSweeps.
type passLoop = reconcile.Loop[*v1alpha1.CephTuningSweep, v1alpha1.CephTuningSweepStatus, facts, detail, memory]

func (r *Reconciler) newLoop() *passLoop {
	return &passLoop{
		Client: r.Client, Reader: r.Reader, Recorder: r.Recorder, Now: r.Now, Finalizer: Finalizer,
		New:      func() *v1alpha1.CephTuningSweep { return &v1alpha1.CephTuningSweep{} },
		Status:   statusOf,
		Rests:    rests,
		Queued:   r.queued,
		RunOf:    runOf,
		Fresh:    func() memory { return memory{} },
		Observe:  r.observe,
		Blind:    func(s *v1alpha1.CephTuningSweep, now time.Time) facts { return facts{sweep: s, now: now} },
		Decide:   decide,
		Describe: facts.describe,
		Act:      r.act,
		StatusAfter: func(seen facts, _ memory, p plan, e effect, failure error) *v1alpha1.CephTuningSweep {
			after := statusAfter(seen, p, e, failure)
			if !equality.Semantic.DeepEqual(seen.sweep.Status, after.Status) { // Old texts alone are no reason to write.
				sweepspec.ReplaceRuns(&after.Status)
			}
			return after
		},
		Recorded: r.Counts.SweepRecorded,
		End:      r.end,
	}
}

func statusOf(s *v1alpha1.CephTuningSweep) (*v1alpha1.CephTuningSweepStatus, []metav1.Condition) {
	return &s.Status, s.Status.Conditions
}

// rests reports whether the sweep has ended, is not deleted, and has no new run ID.
func rests(s *v1alpha1.CephTuningSweep) bool {
	f := facts{sweep: s}
	return f.ended() && !f.replaced() && !f.deleted()
}

// runOf names the UID and the run ID in status, while pools, pods or changes of the sweep may exist.
func runOf(s *v1alpha1.CephTuningSweep) string {
	if !(facts{sweep: s}).mayHaveMade() {
		return ""
	}
	return string(s.UID) + "/" + string(s.Status.ObservedRunID)
}

// end ends the loop that switches a sweep's settings. The account of the loop closes only once it has ended; otherwise
// its memory would be missing for ever.
func (r *Reconciler) end(key types.NamespacedName) time.Duration {
	if r.loops.end(key) {
		return 0
	}
	return loopAgain
}
