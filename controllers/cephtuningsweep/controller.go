// Package cephtuningsweep reconciles CephTuningSweep objects. One pass reads as
// observe, decide, act, record: look at the world, choose one step by a list of
// named rules, carry it out, and write status once.
package cephtuningsweep

import (
	"context"
	"errors"

	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Name of the controller in logs, metrics and events.
const Name = "cephtuningsweep"

// Reconciler moves one CephTuningSweep one step forward.
type Reconciler struct {
	client   client.Client
	recorder events.EventRecorder
}

var _ reconcile.Reconciler = (*Reconciler)(nil)

// New returns a Reconciler that reads and writes through c.
func New(c client.Client, recorder events.EventRecorder) *Reconciler {
	return &Reconciler{client: c, recorder: recorder}
}

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(Name).
		// Our own status writes do not change the generation, so they do not
		// start another pass.
		For(&v1alpha1.CephTuningSweep{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(r)
}

// +kubebuilder:rbac:groups=cephtune.dev,resources=cephtuningsweeps,verbs=get;list;watch
// +kubebuilder:rbac:groups=cephtune.dev,resources=cephtuningsweeps/status,verbs=get;patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile moves one CephTuningSweep one step forward. Status is written even when the step
// failed, so that the user sees why.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	seen, err := r.observe(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	next := decide(seen)
	return ctrl.Result{}, errors.Join(r.act(ctx, next), r.record(ctx, seen, next))
}
