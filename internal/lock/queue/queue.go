// Package queue orders the benchmarks and sweeps that wait for one Ceph cluster. The lock lets only
// one of them work; the queue says who is next when the lock becomes free.
package queue

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
)

// Place is an object's place in the queue.
type Place struct {
	objectref.Ref

	Cluster v1alpha1.ClusterReference
	// Start is the time when the object began its run ID.
	Start metav1.Time
	// Restores reports that the object will restore orphaned settings. Benchmarks wait for that restore, so
	// benchmarks are never ahead of this object.
	Restores bool
	// Loss says that the object does not end because a node is lost; "" otherwise.
	Loss string
}

// maxNamed is the maximum number of objects ahead that are named.
const maxNamed = 3

// OfBenchmark returns the place of a benchmark. It returns false for a benchmark that is not at work, or that
// belongs to a sweep, because the sweep has the place. A benchmark is at work from its start time until its
// teardown is complete, except while it is suspended or stalled.
func OfBenchmark(b *v1alpha1.CephBenchmark) (Place, bool) {
	if b.Status.StartTime == nil || !waits(b.Status.Conditions) || b.Status.Trial != nil || reconcile.IsGone(b, reconcile.CleanupFinalizer) {
		return Place{}, false
	}
	place := Place{Ref: objectref.To(v1alpha1.KindCephBenchmark, b), Cluster: b.Spec.ClusterRef, Start: *b.Status.StartTime}
	if ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); ready != nil && ready.Reason == v1alpha1.ReasonNodeLost {
		place.Loss = ready.Message
	}
	return place, true
}

// OfSweep returns the place of a sweep. It returns false for a sweep that is not at work, that waits for its
// spec.maintenanceWindow, or that only makes a plan.
func OfSweep(s *v1alpha1.CephTuningSweep) (Place, bool) {
	if s.Status.StartTime == nil || !waits(s.Status.Conditions) || s.Spec.Mode == v1alpha1.SweepModePlan || reconcile.IsGone(s, reconcile.RestoreFinalizer) {
		return Place{}, false
	}
	return Place{Ref: objectref.To(v1alpha1.KindCephTuningSweep, s), Cluster: s.Spec.ClusterRef, Start: *s.Status.StartTime}, true
}

// waits reports whether an object wants or holds the lock. An object that waits for its spec.maintenanceWindow does not.
func waits(conditions []metav1.Condition) bool {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	return meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReconciling) &&
		(ready == nil || ready.Reason != v1alpha1.ReasonWaitingForWindow)
}

// Ahead names the objects that are ahead of a place in the queue of its cluster, earliest first. It names at
// most three objects, and then says how many more are ahead.
//
// Ahead names no object if holds() returns true, because then the object of the place itself has the lock.
// Start times have a resolution of one second, so an object that sorts before the holder may have started later
// in the same second.
func Ahead(ctx context.Context, reader client.Reader, of Place, holds func() (bool, error)) ([]string, error) {
	names, err := begunBefore(ctx, reader, of)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	if held, err := holds(); err != nil || held {
		return nil, err
	}
	return names, nil
}

// begunBefore names the objects ahead, regardless of the lock.
func begunBefore(ctx context.Context, reader client.Reader, of Place) ([]string, error) {
	var benchmarks v1alpha1.CephBenchmarkList
	if err := reader.List(ctx, &benchmarks, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the benchmarks in the queue: %w", err)
	}
	var sweeps v1alpha1.CephTuningSweepList
	if err := reader.List(ctx, &sweeps, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the sweeps in the queue: %w", err)
	}
	var all []Place
	for i := range benchmarks.Items {
		if p, waits := OfBenchmark(&benchmarks.Items[i]); waits {
			all = append(all, p)
		}
	}
	for i := range sweeps.Items {
		if p, waits := OfSweep(&sweeps.Items[i]); waits {
			all = append(all, p)
		}
	}
	return ahead(of, all), nil
}

// ahead names the objects ahead of a place in the list of all places.
func ahead(of Place, all []Place) []string {
	first := slices.DeleteFunc(slices.Clone(all), func(p Place) bool {
		return p.UID == of.UID || p.Cluster != of.Cluster || compare(p, of) >= 0 || of.Restores && p.Kind == v1alpha1.KindCephBenchmark
	})
	slices.SortFunc(first, compare)
	names := make([]string, 0, len(first))
	for _, p := range first {
		name := p.String()
		if p.Loss != "" {
			name += " (" + p.Loss + ")"
		}
		names = append(names, name)
	}
	if extra := len(names) - maxNamed; extra > 0 {
		names = append(names[:maxNamed], fmt.Sprintf("and %d more", extra))
	}
	return names
}

// compare orders places by start time, and within the same second by namespace, name and kind.
func compare(a, b Place) int {
	switch {
	case a.Start.Before(&b.Start):
		return -1
	case b.Start.Before(&a.Start):
		return 1
	}
	return slices.Compare([]string{a.Namespace, a.Name, a.Kind}, []string{b.Namespace, b.Name, b.Kind})
}
