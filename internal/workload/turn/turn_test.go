package turn

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

const fsid = "f"

func noon() time.Time { return time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC) }

// oneLock is held by its holder, or is free. away is why Ceph does not answer.
type oneLock struct {
	holder string
	away   error
}

func (l *oneLock) Peek(_ context.Context, _ string, holder objectref.Ref) (lock.Grant, error) {
	return lock.Grant{Held: l.holder == holder.Identity(), Holder: l.holder}, nil
}

func (l *oneLock) Acquire(_ context.Context, _ ceph.Connection, _ string, holder objectref.Ref, now time.Time) (lock.Grant, error) {
	if l.away != nil {
		return lock.Grant{}, l.away
	}
	if l.holder == "" {
		l.holder = holder.Identity()
	}
	return lock.Grant{Held: l.holder == holder.Identity(), Holder: l.holder, Expires: now.Add(lock.Duration)}, nil
}

func (l *oneLock) Renew(ctx context.Context, connection ceph.Connection, subject string, holder objectref.Ref, now time.Time) (lock.Grant, error) {
	if l.holder == "" {
		return lock.Grant{}, l.away
	}
	return l.Acquire(ctx, connection, subject, holder, now)
}

func (l *oneLock) Release(_ context.Context, _ ceph.Connection, _ string, holder objectref.Ref) error {
	if l.away == nil && l.holder == holder.Identity() {
		l.holder = ""
	}
	return l.away
}

func benchmark(name string, start time.Time) *v1alpha1.CephBenchmark {
	b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: name, UID: types.UID(name)}}
	b.Status.StartTime = &metav1.Time{Time: start}
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue}}
	return b
}

// taker returns the taker of benchmark b, which is alone.
func taker(t *testing.T, others ...client.Object) (Taker, *oneLock) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b, l := benchmark("b", noon()), &oneLock{}
	cache := fake.NewClientBuilder().Build()
	return Taker{
		Turn: &Turn{}, Benchmark: b, Now: noon(),
		Lock: lock.Handle{
			Lock: l, FSID: fsid, Holder: objectref.To("CephBenchmark", b), Now: noon,
			Connect: func(context.Context) (ceph.Connection, error) { return ceph.Connection{}, nil },
		},
		Queue:    fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(others, b)...).Build(),
		Journals: journals.New(cache, cache, "cephtune-system"), Ceph: cephtest.NewCluster(),
		RestoreOSDs: func(context.Context, bool) (reconcile.Wait, error) { return reconcile.Done, nil },
	}, l
}

func keep(t *testing.T, store tuning.Store) {
	t.Helper()
	err := store.Save(t.Context(), &tuning.Journal{
		SchemaVersion: tuning.SchemaVersion, FSID: fsid, Sweep: tuning.Sweep{Namespace: "far", Name: "away", UID: "u"},
		Epoch: 1, Writer: "an earlier manager", Revision: 1,
		Entries: []tuning.Entry{{
			Setting: tuning.Setting{Kind: tuning.KindConfig, Option: "osd_mclock_profile"}, Type: "str", State: tuning.Open,
			Applied: []tuning.AppliedValue{{Intended: cephvalue.Of("custom")}},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
}

// ofSweep makes the lock that of the benchmark's sweep.
func ofSweep(h *lock.Handle) { h.Holder.Kind, h.Borrows = "CephTuningSweep", true }

func TestTake(t *testing.T) {
	for name, c := range map[string]struct {
		others    []client.Object
		change    func(*testing.T, *Taker, *oneLock)
		wantWaits string // "" if it gets the lock
		wantLost  string
		wantErr   string
	}{
		"it is alone":                     {},
		"another began earlier":           {others: []client.Object{benchmark("a", noon().Add(-time.Minute))}, wantWaits: "Ahead in the queue of the Ceph cluster: CephBenchmark bench/a."},
		"it renews the lock nevertheless": {others: []client.Object{benchmark("a", noon().Add(-time.Minute))}, change: func(_ *testing.T, k *Taker, _ *oneLock) { k.Grant = &lock.Grant{} }},
		"another has the lock":            {change: func(_ *testing.T, _ *Taker, l *oneLock) { l.holder = "other" }, wantWaits: "other has the lock"},
		"another has taken the lock":      {change: func(_ *testing.T, k *Taker, l *oneLock) { l.holder, k.Grant = "other", &lock.Grant{} }, wantLost: "other has taken the lock"},
		"an earlier process had it":       {change: func(_ *testing.T, k *Taker, l *oneLock) { l.holder, k.HasClients = "other", true }, wantLost: "other has taken the lock"},
		"Ceph does not answer":            {change: func(_ *testing.T, _ *Taker, l *oneLock) { l.away = errors.New("no monitor") }, wantErr: "no monitor"},
		"not before the lock expires": {change: func(_ *testing.T, k *Taker, l *oneLock) {
			l.away, k.Grant = errors.New("no monitor"), &lock.Grant{Expires: noon().Add(-time.Second)}
		}, wantLost: "no monitor"},
		"a sweep has not restored": {change: func(t *testing.T, k *Taker, _ *oneLock) { t.Helper(); keep(t, k.Journals) }, wantWaits: "Sweep far/away has not restored"},
		"that is its own sweep": {change: func(t *testing.T, k *Taker, l *oneLock) {
			t.Helper()
			ofSweep(&k.Lock)
			l.holder = k.Lock.Holder.Identity()
			keep(t, k.Journals)
		}},
		"its sweep does not have the lock": {change: func(_ *testing.T, k *Taker, _ *oneLock) { ofSweep(&k.Lock) }, wantWaits: "does not have the lock"},
		"its sweep has released the lock": {change: func(_ *testing.T, k *Taker, _ *oneLock) {
			ofSweep(&k.Lock)
			k.HasClients = true
		}, wantLost: "CephTuningSweep bench/b has released the lock"},
		"only Ceph has the journal": {change: func(t *testing.T, k *Taker, _ *oneLock) {
			t.Helper()
			keep(t, tuning.NewConfigKey(k.Ceph, ceph.Connection{}))
		}, wantWaits: "Sweep far/away has not restored"},
		"which only a new holder reads": {change: func(t *testing.T, k *Taker, _ *oneLock) {
			t.Helper()
			k.Grant = &lock.Grant{}
			keep(t, tuning.NewConfigKey(k.Ceph, ceph.Connection{}))
		}},
		"OSDs are down": {change: func(_ *testing.T, k *Taker, _ *oneLock) {
			k.RestoreOSDs = func(context.Context, bool) (reconcile.Wait, error) { return "osd.1 is down", nil }
		}, wantWaits: "osd.1 is down"},
	} {
		t.Run(name, func(t *testing.T) {
			k, l := taker(t, c.others...)
			if c.change != nil {
				c.change(t, &k, l)
			}
			got, err := k.Take(t.Context())
			if c.wantErr != "" && (err == nil || !strings.Contains(err.Error(), c.wantErr)) || c.wantErr == "" && err != nil {
				t.Fatalf("error %v, want %q", err, c.wantErr)
			}
			if !strings.Contains(string(got.Waits), c.wantWaits) || (got.Waits == "") != (c.wantWaits == "") {
				t.Errorf("it waits for %q, want %q", got.Waits, c.wantWaits)
			}
			if !strings.Contains(got.Lost, c.wantLost) || (got.Lost == "") != (c.wantLost == "") {
				t.Errorf("lost: %q, want %q", got.Lost, c.wantLost)
			}
			if gets := c.wantWaits+c.wantLost+c.wantErr == ""; gets && (!k.Had || !k.IsRenewed(noon())) {
				t.Errorf("%+v, want the lock", k.Turn)
			}
		})
	}
}

// The sweep of a journal that only Ceph has needs the lock, so the benchmark leaves the lock alone
// for a while.
func TestLeavesTheLockToTheSweep(t *testing.T) {
	k, l := taker(t)
	inCeph := tuning.NewConfigKey(k.Ceph, ceph.Connection{})
	keep(t, inCeph)
	for _, seconds := range []int{0, 29} {
		k.Now = noon().Add(time.Duration(seconds) * time.Second)
		if got, err := k.Take(t.Context()); err != nil || got.Waits.IsDone() || l.holder != "" {
			t.Errorf("after %d s: %+v, %v; the lock is that of %q", seconds, got, err, l.holder)
		}
	}
	left, err := inCeph.Load(t.Context(), fsid)
	if err != nil {
		t.Fatal(err)
	}
	left.Entries[0].State, left.Revision = tuning.Restored, left.Revision+1
	if err := inCeph.Save(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	k.Now = noon().Add(30 * time.Second)
	if got, err := k.Take(t.Context()); err != nil || !got.Waits.IsDone() {
		t.Errorf("once it is restored: %+v, %v", got, err)
	}
}

func TestKeep(t *testing.T) {
	k, _ := taker(t)
	if err := k.Keep(t.Context()); err != nil || k.Had {
		t.Errorf("%v, %+v: a teardown must not take a lock", err, k.Turn)
	}
	k, l := taker(t)
	l.holder = k.Lock.Holder.Identity()
	if err := k.Keep(t.Context()); err != nil || !k.IsRenewed(noon()) {
		t.Errorf("%v, %+v: want a renewed lock", err, k.Turn)
	}
	l.away, k.Now = errors.New("no monitor"), noon().Add(lock.RenewAfter)
	if err := k.Keep(t.Context()); err == nil || !strings.Contains(err.Error(), "no monitor") || k.Grant == nil {
		t.Errorf("%v, %+v: want an error, and the lock as it was", err, k.Turn)
	}
}

func TestRelease(t *testing.T) {
	for _, held := range []bool{true, false} {
		k, l := taker(t)
		if !held {
			ofSweep(&k.Lock)
		}
		l.holder, k.Grant = k.Lock.Holder.Identity(), &lock.Grant{}
		if err := k.Release(t.Context()); err != nil || (l.holder == "") != held || (k.Grant == nil) != held {
			t.Errorf("own %t: %v, %+v; the lock is that of %q", held, err, k.Turn, l.holder)
		}
	}
}
