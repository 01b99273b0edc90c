package cephbenchmark

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/dependencies"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings/limits"
)

func TestNeverHeld(t *testing.T) {
	moment := func(minutes int) time.Time { return today().Add(time.Duration(minutes) * time.Minute) }
	other := func(since, renewed int) lock.Grant {
		return lock.Grant{Holder: "CephBenchmark/far/away/1", Since: moment(since), Expires: moment(renewed).Add(lock.Duration)}
	}
	for name, tc := range map[string]struct {
		lease lock.Grant
		want  bool
	}{
		"it was never taken":                     {lease: lock.Grant{}, want: true},
		"given back before the execution began":  {lease: lock.Grant{Expires: moment(-1).Add(lock.Duration)}, want: true},
		"given back since":                       {lease: lock.Grant{Expires: moment(1).Add(lock.Duration)}},
		"another has had it all the time":        {lease: other(-1, 5), want: true},
		"another had it and stopped renewing it": {lease: other(-9, -5), want: true},
		"another has taken it since":             {lease: other(1, 5)},
	} {
		if got := neverHeld(tc.lease, today()); got != tc.want {
			t.Errorf("%s: certain %t, want %t", name, got, tc.want)
		}
	}
}

// A user can remove the finalizer of a deleted benchmark, and keep the object with another one. All benchmarks share the
// budget, so such an object must give its memory back.
func TestADeletedBenchmarkWithoutItsFinalizerHoldsNoMemory(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kept := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{
		Namespace: "bench", Name: "kept", Finalizers: []string{"example.com/mine"}, DeletionTimestamp: &metav1.Time{Time: today()},
	}}
	kept.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(kept).Build()
	budget := limits.NewBudget(1 << 20)
	r := New(Options{Shared: dependencies.Shared{Client: c, Reader: c, Budget: budget, Now: today}})
	if err := r.live.Of(client.ObjectKeyFromObject(kept), clientjob.ExecutionOf(kept.UID, "").ID()).Account.Hold().Resize(1 << 10); err != nil {
		t.Fatal(err)
	}
	result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(kept)})
	if err != nil || result.RequeueAfter != 0 || budget.Free() != 1<<20 {
		t.Errorf("%+v, %v, %d bytes free", result, err, budget.Free())
	}
}

// A CephCluster whose status has lost its FSID does not end a teardown that may have to bring OSDs up.
func TestTearDownWaitsForTheFSID(t *testing.T) {
	waits, err := (&Reconciler{}).restoreOwnOSDs(t.Context(), pass{facts: facts{rook: &rook.ClusterInfo{}}, memory: &memory{}})
	if err != nil || waits.IsDone() {
		t.Errorf("waits %q, %v; want it to wait", waits, err)
	}
}

// The pools to look into at the end depend on what is known about the execution.
func TestPoolsToLookInto(t *testing.T) {
	noJob := func(f *facts) { f.job = nil }
	open := func(f *facts) { f.cluster.ExistingPools = []string{"open", "more"} }
	for name, tc := range map[string]struct {
		seen facts
		want int
	}{
		"the Job has the reason":             {seen: atWork(open)},
		"no Job was seen":                    {seen: atWork(open, noJob), want: 2},
		"the Job is gone":                    {seen: atWork(open, noJob, func(f *facts) { f.memory.madeJob, f.memory.fromBeginning = "1", true }), want: 2},
		"there never was one":                {seen: atWork(open, noJob, func(f *facts) { f.memory.fromBeginning = true })},
		"it was removed, after all the rest": {seen: atWork(open, noJob, func(f *facts) { f.memory.madeJob, f.memory.teardown.JobRemoved = "1", true })},
	} {
		if got := tc.seen.poolsThatStay(); len(got) != tc.want {
			t.Errorf("%s: %v, want %d", name, got, tc.want)
		}
	}
}

// Kubernetes deletes the results of a deleted benchmark. So ConfigMaps of strangers do not delay the deletion.
func TestADeletedBenchmarkPrunesNothing(t *testing.T) {
	refuses := func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
		return errors.New("the results are listed")
	}
	r := &Reconciler{Options: Options{Shared: dependencies.Shared{Reader: interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{List: refuses})}}}
	if waits, err := r.remover(working(atWork(deleted))).Prune(t.Context()); err != nil || !waits.IsDone() {
		t.Errorf("%q, %v", waits, err)
	}
	if _, err := r.remover(working(atWork())).Prune(t.Context()); err == nil {
		t.Error("the results of a benchmark that is not deleted are not listed")
	}
}
