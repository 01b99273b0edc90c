package queue

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Moves selects the events after which a queue has moved: an object has left it, or has a new reason why it does not
// end. Who joins a queue is behind all others.
func Moves() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, had := placeOf(e.ObjectOld)
			after, ok := placeOf(e.ObjectNew)
			return had && (!ok || before.Loss != after.Loss || !before.Start.Equal(&after.Start))
		},
		DeleteFunc: func(e event.DeleteEvent) bool { // The object has lost its finalizer, and so its place.
			last, _ := e.Object.DeepCopyObject().(client.Object)
			last.SetDeletionTimestamp(nil)
			_, had := placeOf(last)
			return had
		},
	}
}

// Front returns the requests for the objects of a kind at the front of the queue in which the given object is or was:
// those that have at most maxNamed objects ahead, and the first sweep. That sweep restores what a sweep that is gone has
// left changed in Ceph, and benchmarks ahead of it wait for that.
func Front(reader client.Reader, kind string) handler.MapFunc {
	return func(ctx context.Context, moved client.Object) (requests []ctrl.Request) {
		all, err := places(ctx, reader, clusterOf(moved))
		if err != nil { // The cache has ended. Otherwise, the objects look again after a time.
			logf.FromContext(ctx).Error(err, "Cannot wake the next in the queue")
		}
		slices.SortFunc(all, compare)
		sweeps := 0
		for i, p := range all {
			isSweep := p.Kind == v1alpha1.KindCephTuningSweep
			if p.Kind == kind && (i <= maxNamed || isSweep && sweeps == 0) {
				requests = append(requests, ctrl.Request{NamespacedName: types.NamespacedName{Namespace: p.Namespace, Name: p.Name}})
			}
			if isSweep {
				sweeps++
			}
		}
		return requests
	}
}

func clusterOf(o client.Object) v1alpha1.ClusterReference {
	switch o := o.(type) {
	case *v1alpha1.CephBenchmark:
		return o.Spec.ClusterRef
	case *v1alpha1.CephTuningSweep:
		return o.Spec.ClusterRef
	}
	return v1alpha1.ClusterReference{}
}
