package cephbenchmark

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/workload"
)

// refusing counts the connections that it refuses.
type refusing struct {
	Rook
	asked int
}

func (r *refusing) Connection(context.Context, settings.Cluster, string) (ceph.Connection, error) {
	r.asked++
	return ceph.Connection{}, errors.New("away")
}

// After a restart of the manager, a teardown has no survey of OSDs, and the tasks of its last run
// may all be done.
func TestPlacementIsObservedOnlyAtWork(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*facts)
		asked  int
	}{
		"at work":       {func(*facts) {}, 1},
		"in mid-phase":  {func(f *facts) { f.next.Kind = workload.MoveStart }, 0},
		"deleted":       {func(f *facts) { f.benchmark.DeletionTimestamp = &metav1.Time{Time: today()} }, 0},
		"suspended":     {func(f *facts) { f.benchmark.Spec.Suspend = true }, 0},
		"no survey yet": {func(f *facts) { f.Survey = nil }, 0},
		"of any class":  {func(f *facts) { f.spec.Template.Target.ScratchPool.DeviceClass = "" }, 0},
	} {
		seen := atWork()
		seen.spec.Template.Target.ScratchPool = &v1alpha1.ScratchPool{DeviceClass: "ssd"}
		seen.next.Kind = workload.MoveEnd
		c.change(&seen)
		from := &refusing{}
		(&Reconciler{Options: Options{Rook: from}}).observePlacement(t.Context(), &seen)
		if from.asked != c.asked || (seen.misplacedErr != nil) != (c.asked > 0) {
			t.Errorf("%s: asked %d times, want %d: %v", name, from.asked, c.asked, seen.misplacedErr)
		}
	}
}
