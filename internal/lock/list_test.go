package lock

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cephtune/cephtune/internal/reconcile/objectref"
)

func TestHoldings(t *testing.T) {
	now := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	c := fake.NewClientBuilder().WithObjects(
		&coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: "manager.cephtune.dev"},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: new("pod"), RenewTime: new(metav1.NewMicroTime(now)), LeaseDurationSeconds: new(int32(15)),
			},
		},
	).Build()
	leases := NewLeases(c, c, "system", "first")
	nightly := objectref.Ref{Kind: "CephBenchmark", Namespace: "bench", Name: "nightly", UID: "u"}
	gaveBack := objectref.Ref{Kind: "CephBenchmark", Namespace: "bench", Name: "done", UID: "v"}
	gone := objectref.Ref{Kind: "CephTuningSweep", Namespace: "bench", Name: "gone", UID: "w"}
	for _, taken := range []struct {
		fsid   string
		holder objectref.Ref
		moment time.Time
	}{{"a", nightly, now}, {"b", gaveBack, now}, {"c", gone, now.Add(-2 * Duration)}} {
		if _, err := leases.Acquire(t.Context(), taken.fsid, taken.holder, taken.moment); err != nil {
			t.Fatal(err)
		}
	}
	if err := leases.Release(t.Context(), "b", gaveBack); err != nil {
		t.Fatal(err)
	}

	held, err := leases.Holdings(t.Context(), now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a"}, slices.Sorted(maps.Keys(held))); diff != "" {
		t.Errorf("clusters whose lock is held (-want +got):\n%s", diff)
	}
	if held["a"].Holder != nightly.Identity() {
		t.Errorf("the holder is %s, want %s", held["a"].Holder, nightly)
	}
}
