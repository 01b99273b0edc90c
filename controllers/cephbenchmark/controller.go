// Package cephbenchmark reconciles CephBenchmark objects. A pass has four parts: observe gathers the facts,
// decide chooses one step by a list of named rules, act carries the step out, and record writes status
// once.
//
// In an execution, a Job carries out one run ID. The pods of the Job are the clients, which run engines
// such as fio. Package workload defines the clients' tasks and their order. The rules in decide.go decide
// everything else. No pass waits for an event: package live follows the clients and the cluster in the
// background, and starts a pass when they change.
package cephbenchmark

import (
	"cmp"
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/dependencies"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/clients/live"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/lock/queue"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Name is the name of the controller in logs, metrics and events.
const Name = "cephbenchmark"

// Finalizer keeps a CephBenchmark until everything that was created for it is removed.
const Finalizer = reconcile.CleanupFinalizer

// Options holds the dependencies of a Reconciler.
type Options struct {
	dependencies.Shared

	Rook Rook
	// Namespaces decides whether a benchmark may begin in a namespace.
	Namespaces Namespaces
	Dial       clientview.Dial
	Logs       clientview.Logs
	// KubernetesVersion returns the version of the API server; "" if it is unknown.
	KubernetesVersion func(context.Context) string
	// PoolSettle is how long the PGs of a new pool have to be clean before the pool is used.
	PoolSettle time.Duration
}

// Reconciler reconciles CephBenchmarks.
type Reconciler struct {
	Options

	outages outage.Operator
	live    *live.Executions
	passes  *passLoop
	woken   chan event.TypedGenericEvent[*v1alpha1.CephBenchmark]
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	if o.Reached == nil {
		o.Reached = func(tuning.Step) error { return nil }
	}
	r := &Reconciler{
		Options: o,
		outages: outage.Operator{
			Ceph: o.Ceph, Rook: o.Rook, Store: o.Outages,
			Writer: o.Writer, Doubts: cmp.Or(o.Doubts, &tuning.Doubts{}), Now: o.Now, Reached: o.Reached,
		},
		woken: make(chan event.TypedGenericEvent[*v1alpha1.CephBenchmark], 1024),
	}
	r.live = live.New(o.Dial, o.Budget, o.Now, r.wake)
	r.passes = r.newLoop()
	return r
}

// Course calls the function take with the number and the figures of each of a benchmark's clients in a phase of the
// first run, with one row for each second. For client i, it leaves out the rows 0 to from[i]-1.
func (r *Reconciler) Course(ctx context.Context, benchmark types.NamespacedName, phase v1alpha1.PhaseName, first []int, take func(number int, course runner.Course) error) error {
	return r.live.Course(ctx, benchmark, phase, first, take)
}

// Aim makes all clients of a benchmark continue a phase of its first run in a window.
func (r *Reconciler) Aim(ctx context.Context, benchmark types.NamespacedName, clients int, w live.Window) error {
	return r.live.Aim(ctx, benchmark, clients, w)
}

// ClosedLoop returns the curve of a phase of a benchmark's first run, without steps, once its closed loop has ended.
func (r *Reconciler) ClosedLoop(ctx context.Context, benchmark types.NamespacedName, clients int, phase v1alpha1.PhaseName) (curve.Course, error) {
	return r.live.ClosedLoop(ctx, benchmark, clients, phase)
}

// Step makes all clients of a benchmark's first run offer a rate in a step of a curve.
func (r *Reconciler) Step(ctx context.Context, benchmark types.NamespacedName, clients int, phase v1alpha1.PhaseName, number int, q curve.Question, offered curve.Decision) (session.Step, error) {
	return r.live.Step(ctx, benchmark, clients, phase, number, q, offered)
}

// wake triggers a pass for an object. The queue behind the channel drops duplicates.
func (r *Reconciler) wake(key types.NamespacedName) {
	b := &v1alpha1.CephBenchmark{}
	b.Namespace, b.Name = key.Namespace, key.Name
	select {
	case r.woken <- event.TypedGenericEvent[*v1alpha1.CephBenchmark]{Object: b}:
	default: // The channel is full: the manager is ending or has a backlog. The next sample of the cluster triggers a pass.
	}
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := mgr.Add(r.live); err != nil {
		return fmt.Errorf("follow executions: %w", err)
	}
	if r.KeepEvery > 0 {
		restorer := &outage.Restorer{Operator: r.outages, Lock: r.Lock, Reader: r.Reader, Clusters: r.Settings.Clusters, Every: r.KeepEvery}
		if err := mgr.Add(restorer); err != nil {
			return fmt.Errorf("restore orphaned outages: %w", err)
		}
	}
	next := handler.EnqueueRequestsFromMapFunc(queue.Front(r.Client, v1alpha1.KindCephBenchmark))
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		WithOptions(reconcile.Options()).
		// The controller's own status writes do not change the generation, so they start no
		// pass.
		For(&v1alpha1.CephBenchmark{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Owns(&batchv1.Job{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(benchmarkOf)).
		Watches(&v1alpha1.CephBenchmark{}, next, builder.WithPredicates(queue.Moves())).
		Watches(&v1alpha1.CephTuningSweep{}, next, builder.WithPredicates(queue.Moves())).
		WatchesRawSource(source.Channel(r.woken, &handler.TypedEnqueueRequestForObject[*v1alpha1.CephBenchmark]{})).
		Complete(r)
}

// benchmarkOf returns a request for the CephBenchmark of a client's pod.
func benchmarkOf(_ context.Context, pod client.Object) []ctrl.Request {
	name, ok := pod.GetAnnotations()[settings.AnnotationBenchmark]
	if !ok {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
}

// The permissions for custom resources must outlast the Roles in a namespace that is being deleted, and so
// must the permission to read the namespace, which shows the deletion. So both are in a separate role, which
// is bound cluster-wide.
//
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephbenchmarks,verbs=get;list;watch;patch,roleName=custom-resources
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephbenchmarks/status,verbs=patch,roleName=custom-resources
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephbenchmarks/finalizers,verbs=update,roleName=custom-resources
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get,roleName=custom-resources
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=get,roleName=custom-resources
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile moves one CephBenchmark one step forward.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return r.passes.Reconcile(ctx, req)
}

// passLoop is the loop of CephBenchmarks.
type passLoop = reconcile.Loop[*v1alpha1.CephBenchmark, v1alpha1.CephBenchmarkStatus, facts, detail, memory]

func (r *Reconciler) newLoop() *passLoop {
	return &passLoop{
		Client: r.Client, Reader: r.Reader, Recorder: r.Recorder, Now: r.Now, Finalizer: Finalizer,
		New:      func() *v1alpha1.CephBenchmark { return &v1alpha1.CephBenchmark{} },
		Status:   statusOf,
		Rests:    rests,
		Queued:   r.queued,
		RunOf:    runOf,
		Fresh:    newMemory,
		Observe:  r.observe,
		Decide:   decide,
		Describe: facts.describe,
		Act:      r.act,
		StatusAfter: func(seen facts, after memory, p plan, e effect, failure error) *v1alpha1.CephBenchmark {
			seen.memory = after
			return statusAfter(seen, p, e, failure)
		},
		Recorded: func(before, after *v1alpha1.CephBenchmarkStatus) { r.Counts.BenchmarkRecorded(before, after, "") },
		End: func(key types.NamespacedName) time.Duration { // There was no teardown if a user removed the finalizer.
			r.live.Forget(key)
			return 0
		},
	}
}

func statusOf(b *v1alpha1.CephBenchmark) (*v1alpha1.CephBenchmarkStatus, []metav1.Condition) {
	return &b.Status, b.Status.Conditions
}

// rests reports whether the benchmark has ended, is torn down, is not deleted, and has no new run ID.
func rests(b *v1alpha1.CephBenchmark) bool {
	f := facts{benchmark: b}
	return hasEnded(b.Status) && b.Status.ObservedRunID == b.Spec.RunID && !f.atWork() && !f.deleted()
}

// runOf returns the ID of the execution in status, while something of it may exist.
func runOf(b *v1alpha1.CephBenchmark) string {
	if !(facts{benchmark: b}).mayHaveMade() {
		return ""
	}
	return clientjob.ExecutionOf(b.UID, b.Status.ObservedRunID).ID()
}
