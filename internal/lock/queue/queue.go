// Package queue orders the benchmarks and sweeps that wait for one Ceph cluster. The lock lets only
// one of them work; the queue says who is next when the lock becomes free.
package queue

import (
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
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
	// Still reports that the object has only waited since it looked whether it can run, and that nobody has changed what it
	// should do since. After a restart of the manager, the reason Queued says that it has looked.
	Still bool
	// Loss says that the object does not end because a node is lost; "" otherwise.
	Loss string
}

// maxNamed is the maximum number of objects ahead that are named.
const maxNamed = 3

// LookEvery is the interval at which the next in the queue looks whether the lock is free, and lookAtMost the longest
// interval of an object in the queue.
const (
	LookEvery  = 10 * time.Second
	lookAtMost = 10 * time.Minute
)

// Line is what is ahead of a place in the queue of its cluster.
type Line struct {
	// Length is the number of objects ahead, and Sweeps how many of them are sweeps.
	Length, Sweeps int
	// first has the objects ahead, if they are at most maxNamed.
	first []Place
}

// Again is how long an object behind the line may wait for an event. The time grows with the length of the line: an
// event wakes those at its front.
func (l Line) Again() time.Duration {
	return min(time.Duration(l.Length)*LookEvery, lookAtMost)
}

// String says who is ahead, earliest first. For a long line, it says how many objects are ahead, at least and at most:
// the exact number would change, and cost a write of status, with each step of the line.
func (l Line) String() string {
	names := make([]string, 0, maxNamed)
	for _, p := range l.first {
		name := p.String()
		if p.Loss != "" {
			name += " (" + p.Loss + ")"
		}
		names = append(names, name)
	}
	if l.Length > maxNamed {
		least := 1 << (bits.Len(uint(l.Length)) - 1)
		names = append(names, fmt.Sprintf("%d to %d benchmarks and sweeps", least, 2*least-1))
	}
	return "Ahead in the queue of the Ceph cluster: " + strings.Join(names, ", ") + "."
}

// OfBenchmark returns the place of a benchmark. It returns false for a benchmark that is not at work, or that
// belongs to a sweep, because the sweep has the place. A benchmark is at work from its start time until its
// teardown is complete, except while it is suspended or stalled.
func OfBenchmark(b *v1alpha1.CephBenchmark) (Place, bool) {
	if b.Status.StartTime == nil || !waits(b.Status.Conditions) || b.Status.Trial != nil || reconcile.IsGone(b, reconcile.CleanupFinalizer) {
		return Place{}, false
	}
	place := Place{
		Ref: objectref.To(v1alpha1.KindCephBenchmark, b), Cluster: b.Spec.ClusterRef, Start: *b.Status.StartTime,
		Still: !b.Spec.Suspend && b.Status.ObservedRunID == b.Spec.RunID && isStill(b, b.Status.Conditions, b.Status.ObservedGeneration),
	}
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
	return Place{
		Ref: objectref.To(v1alpha1.KindCephTuningSweep, s), Cluster: s.Spec.ClusterRef, Start: *s.Status.StartTime,
		Still: !s.Spec.Suspend && s.Status.ObservedRunID == s.Spec.RunID && isStill(s, s.Status.Conditions, s.Status.ObservedGeneration),
	}, true
}

func isStill(o client.Object, conditions []metav1.Condition, observed int64) bool {
	return kstatus.Current(conditions).Reason == v1alpha1.ReasonQueued && observed == o.GetGeneration() && o.GetDeletionTimestamp().IsZero()
}

// placeOf returns the place of a benchmark or of a sweep.
func placeOf(o client.Object) (Place, bool) {
	switch o := o.(type) {
	case *v1alpha1.CephBenchmark:
		return OfBenchmark(o)
	case *v1alpha1.CephTuningSweep:
		return OfSweep(o)
	}
	return Place{}, false
}

// waits reports whether an object wants or holds the lock. An object that waits for its spec.maintenanceWindow does not.
func waits(conditions []metav1.Condition) bool {
	ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady)
	return meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReconciling) &&
		(ready == nil || ready.Reason != v1alpha1.ReasonWaitingForWindow)
}

// Ahead returns what is ahead of a place in the queue of its cluster.
//
// Nothing is ahead if holds() returns true, because then the object of the place itself has the lock.
// Start times have a resolution of one second, so an object that sorts before the holder may have started later
// in the same second.
func Ahead(ctx context.Context, reader client.Reader, place Place, holds func() (bool, error)) (Line, error) {
	line, err := LineOf(ctx, reader, place)
	if err != nil || line.Length == 0 {
		return Line{}, err
	}
	if held, err := holds(); err != nil || held {
		return Line{}, err
	}
	return line, nil
}

// LineOf returns what began before a place, regardless of the lock.
func LineOf(ctx context.Context, reader client.Reader, place Place) (Line, error) {
	all, err := places(ctx, reader, place.Cluster)
	return ahead(place, all), err
}

// places returns the places in the queue of a cluster, in no order.
func places(ctx context.Context, reader client.Reader, cluster v1alpha1.ClusterReference) (all []Place, err error) {
	var benchmarks v1alpha1.CephBenchmarkList
	if err := reader.List(ctx, &benchmarks, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the benchmarks in the queue: %w", err)
	}
	var sweeps v1alpha1.CephTuningSweepList
	if err := reader.List(ctx, &sweeps, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the sweeps in the queue: %w", err)
	}
	add := func(o client.Object) {
		if p, waits := placeOf(o); waits && p.Cluster == cluster {
			all = append(all, p)
		}
	}
	for i := range benchmarks.Items {
		add(&benchmarks.Items[i])
	}
	for i := range sweeps.Items {
		add(&sweeps.Items[i])
	}
	return all, nil
}

// ahead returns what is ahead of a place, of all places in the queue of its cluster.
func ahead(place Place, all []Place) (line Line) {
	for _, p := range all {
		if p.UID == place.UID || p.Cluster != place.Cluster || compare(p, place) >= 0 || place.Restores && p.Kind == v1alpha1.KindCephBenchmark {
			continue
		}
		line.Length++
		if p.Kind == v1alpha1.KindCephTuningSweep {
			line.Sweeps++
		}
		line.first = append(line.first, p)
		if line.Length > maxNamed {
			line.first = nil
		}
	}
	slices.SortFunc(line.first, compare)
	return line
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
