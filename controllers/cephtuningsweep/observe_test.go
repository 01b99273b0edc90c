package cephtuningsweep

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/dependencies"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/settings/namespaces"
	"github.com/cephtune/cephtune/internal/tuning"
)

// A paused sweep removes the benchmark of a run that has ended. The finalizer of somebody else may keep the object, but
// must not keep the lock with it.
func TestAPauseAwaitsOnlyTheTeardown(t *testing.T) {
	for finalizer, want := range map[string]int{reconcile.CleanupFinalizer: 1, "example.com/keep": 0} {
		now := metav1.Now()
		b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{UID: "b", DeletionTimestamp: &now, Finalizers: []string{finalizer}}}
		b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue}}
		seen := facts{sweep: &v1alpha1.CephTuningSweep{Spec: v1alpha1.CephTuningSweepSpec{Suspend: true}}}
		if seen.noteLeft(b, false); len(seen.others) != want {
			t.Errorf("finalizer %s: the restore waits for %d benchmarks, want %d", finalizer, len(seen.others), want)
		}
	}
}

// A sweep that the manager does not handle restores nothing, even if the manager may read it.
func TestIsThere(t *testing.T) {
	left := tuning.Sweep{Namespace: "bench", Name: "s", UID: "u"}
	newSweep := func(uid types.UID, working metav1.ConditionStatus) client.Object {
		s := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Namespace: left.Namespace, Name: left.Name, UID: uid}}
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReconciling, Status: working}}
		return s
	}
	for name, tc := range map[string]struct {
		handled []string
		objects []client.Object
		want    bool
	}{
		"it is at work":                            {nil, []client.Object{newSweep("u", "True")}, true},
		"it is at work where this one is":          {[]string{"bench"}, []client.Object{newSweep("u", "True")}, true},
		"it is in a namespace that is not handled": {[]string{"other"}, []client.Object{newSweep("u", "True")}, false},
		"it has ended":                             {nil, []client.Object{newSweep("u", "False")}, false},
		"another one has its name":                 {nil, []client.Object{newSweep("x", "True")}, false},
		"it is gone":                               {nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			r := New(Options{
				Shared:     dependencies.Shared{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.objects...).Build()},
				Namespaces: namespaces.New(nil, tc.handled...),
			})
			if got, err := r.isThere(t.Context(), left); got != tc.want || err != nil {
				t.Errorf("%t, %v, want %t", got, err, tc.want)
			}
		})
	}
}
