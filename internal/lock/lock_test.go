package lock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
)

const (
	namespace = "cephtune-system"
	fsid      = "dce35d2b-7ca1-460d-abca-8481ef87445b"
)

var (
	nightly = objectref.Ref{Kind: "CephBenchmark", Namespace: "bench", Name: "nightly", UID: "11"}
	reborn  = objectref.Ref{Kind: "CephBenchmark", Namespace: "bench", Name: "nightly", UID: "22"}
	began   = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
)

// ofBegan is the epoch of a Lease that is first taken at the time began: the seconds of 2026.
const ofBegan = (324*24 + 12) * 3600

// kubernetes is an API server that counts writes.
type kubernetes struct {
	client.Client
	writes int
	before func() // is called right before the next write
}

func newKubernetes(t *testing.T) *kubernetes {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	k := &kubernetes{}
	wrote := func() {
		k.writes++
		if first := k.before; first != nil {
			k.before = nil
			first()
		}
	}
	k.Client = fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			wrote()
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			wrote()
			return c.Update(ctx, o, opts...)
		},
	}).Build()
	return k
}

// These are stories of a Lease. Each step says who does something, when, and what the result is.
func TestLease(t *testing.T) {
	type step struct {
		after      time.Duration // since began
		who        objectref.Ref
		release    bool
		wantHeld   bool
		wantEpoch  int64 // added to the epoch of began
		wantHolder objectref.Ref
		wantSince  time.Duration
		wantWrites int
	}
	cases := map[string][]step{
		"the holder keeps it, and renews it seldom": {
			{who: nightly, wantHeld: true, wantHolder: nightly, wantWrites: 1},
			{after: time.Second, who: nightly, wantHeld: true, wantHolder: nightly},
			{after: RenewAfter - 1, who: nightly, wantHeld: true, wantHolder: nightly},
			{after: RenewAfter, who: nightly, wantHeld: true, wantHolder: nightly, wantWrites: 1},
			{after: RenewAfter + time.Second, who: nightly, wantHeld: true, wantHolder: nightly},
		},
		"the second gets the holder's name, namesake or not": {
			{who: nightly, wantHeld: true, wantHolder: nightly, wantWrites: 1},
			{after: Duration - time.Second, who: reborn, wantHolder: nightly},
		},
		"one that is given back goes to the next, in a later epoch": {
			{who: nightly, wantHeld: true, wantHolder: nightly, wantWrites: 1},
			{after: time.Second, who: nightly, release: true, wantWrites: 1},
			{after: time.Second, who: reborn, wantHeld: true, wantEpoch: 1, wantHolder: reborn, wantSince: time.Second, wantWrites: 1},
			{after: time.Second, who: nightly, wantEpoch: 1, wantHolder: reborn, wantSince: time.Second},
		},
		"one taken again has a later epoch too": {
			{who: nightly, wantHeld: true, wantHolder: nightly, wantWrites: 1},
			{who: nightly, release: true, wantWrites: 1},
			{who: nightly, wantHeld: true, wantEpoch: 1, wantHolder: nightly, wantWrites: 1},
		},
		"a foreign or missing lock cannot be released": {
			{who: nightly, release: true},
			{who: nightly, wantHeld: true, wantHolder: nightly, wantWrites: 1},
			{who: reborn, release: true},
			{who: nightly, wantHeld: true, wantHolder: nightly},
		},
		"an expired one goes to the next": {
			{who: nightly, wantHeld: true, wantHolder: nightly, wantWrites: 1},
			{after: Duration, who: reborn, wantHeld: true, wantEpoch: 600, wantHolder: reborn, wantSince: Duration, wantWrites: 1},
			{after: Duration, who: nightly, wantEpoch: 600, wantHolder: reborn, wantSince: Duration},
		},
		"the holder renews an expired one": {
			{who: nightly, wantHeld: true, wantHolder: nightly, wantWrites: 1},
			{after: 3 * Duration, who: nightly, wantHeld: true, wantHolder: nightly, wantWrites: 1},
			{after: 3*Duration + time.Second, who: reborn, wantHolder: nightly},
		},
	}
	for name, story := range cases {
		t.Run(name, func(t *testing.T) {
			k := newKubernetes(t)
			leases := NewLeases(k, k, namespace, "first")
			for i, s := range story {
				k.writes = 0
				if s.release {
					if err := leases.Release(t.Context(), fsid, s.who); err != nil {
						t.Fatalf("step %d: %v", i, err)
					}
				} else {
					got, err := leases.Acquire(t.Context(), fsid, s.who, began.Add(s.after))
					if err != nil {
						t.Fatalf("step %d: %v", i, err)
					}
					got.Expires, got.Since = time.Time{}, got.Since.UTC()
					want := Grant{Held: s.wantHeld, Epoch: ofBegan + s.wantEpoch, Holder: s.wantHolder.Identity(), Since: began.Add(s.wantSince), Asked: began.Add(s.after)}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("step %d (-want +got):\n%s", i, diff)
					}
				}
				if k.writes != s.wantWrites {
					t.Errorf("step %d: %d writes, want %d", i, k.writes, s.wantWrites)
				}
			}
		})
	}
}

// These are stories of two processes of the operator that both believe to be the leader.
func TestLeaseOfTwoProcesses(t *testing.T) {
	type step struct {
		process        string
		after          time.Duration // since began
		who            objectref.Ref
		release        bool
		wantSuperseded bool
		wantHeld       bool
		wantEpoch      int64 // added to the epoch of began
		wantWrites     int
	}
	cases := map[string][]step{
		"the second one goes on in an epoch of its own, and writes once for that": {
			{process: "first", who: nightly, wantHeld: true, wantWrites: 1},
			{process: "second", after: time.Second, who: nightly, wantHeld: true, wantEpoch: 1, wantWrites: 1},
			{process: "second", after: 2 * time.Second, who: nightly, wantHeld: true, wantEpoch: 1},
			{process: "second", after: time.Second + RenewAfter, who: nightly, wantHeld: true, wantEpoch: 1, wantWrites: 1},
		},
		"the first one does not take it back": {
			{process: "first", who: nightly, wantHeld: true, wantWrites: 1},
			{process: "second", after: time.Minute, who: nightly, wantHeld: true, wantEpoch: 60, wantWrites: 1},
			{process: "first", after: time.Minute, who: nightly, wantSuperseded: true},
			{process: "first", after: time.Minute, who: reborn, wantSuperseded: true},
			{process: "first", after: time.Minute, who: nightly, release: true},
			{process: "second", after: 2 * time.Minute, who: nightly, wantHeld: true, wantEpoch: 60},
		},
		"nor when the second one has given it back": {
			{process: "first", who: nightly, wantHeld: true, wantWrites: 1},
			{process: "second", after: time.Minute, who: nightly, wantHeld: true, wantEpoch: 60, wantWrites: 1},
			{process: "second", after: 2 * time.Minute, who: nightly, release: true, wantWrites: 1},
			{process: "first", after: 3 * time.Minute, who: nightly, wantSuperseded: true},
			{process: "second", after: 3 * time.Minute, who: reborn, wantHeld: true, wantEpoch: 180, wantWrites: 1},
		},
		"it may have it anew once the second one is no more": {
			{process: "first", who: nightly, wantHeld: true, wantWrites: 1},
			{process: "second", after: time.Minute, who: nightly, wantHeld: true, wantEpoch: 60, wantWrites: 1},
			{process: "first", after: time.Minute + Duration - 1, who: nightly, wantSuperseded: true},
			{process: "first", after: time.Minute + Duration, who: nightly, wantHeld: true, wantEpoch: 660, wantWrites: 1},
			{process: "second", after: time.Minute + Duration, who: nightly, wantSuperseded: true},
		},
		"one that begins gives back what an earlier one had": {
			{process: "first", who: nightly, wantHeld: true, wantWrites: 1},
			{process: "second", who: nightly, release: true, wantWrites: 1},
		},
		"one that never had it waits as for anybody": {
			{process: "first", who: nightly, wantHeld: true, wantWrites: 1},
			{process: "second", who: reborn},
			{process: "first", who: nightly, release: true, wantWrites: 1},
			{process: "second", who: reborn, wantHeld: true, wantEpoch: 1, wantWrites: 1},
		},
	}
	for name, story := range cases {
		t.Run(name, func(t *testing.T) {
			k := newKubernetes(t)
			leases := map[string]*Leases{}
			for _, process := range []string{"first", "second"} {
				leases[process] = NewLeases(k, k, namespace, process)
			}
			for i, s := range story {
				k.writes = 0
				var got Grant
				var err error
				if s.release {
					err = leases[s.process].Release(t.Context(), fsid, s.who)
				} else {
					got, err = leases[s.process].Acquire(t.Context(), fsid, s.who, began.Add(s.after))
				}
				_, superseded := errors.AsType[*SupersededError](err)
				if superseded != s.wantSuperseded || err != nil && !superseded || got.Held != s.wantHeld || s.wantHeld && got.Epoch != ofBegan+s.wantEpoch {
					t.Fatalf("step %d: %+v, %v", i, got, err)
				}
				if k.writes != s.wantWrites {
					t.Errorf("step %d: %d writes, want %d", i, k.writes, s.wantWrites)
				}
			}
		})
	}
}

// A process that was superseded leaves the record in Ceph, because it belongs to the process that holds
// the lock for the same object now.
func TestSupersededProcessReleasesNothing(t *testing.T) {
	k, s := newKubernetes(t), &store{keys: map[string]string{}}
	first := NewBoth(NewLeases(k, k, namespace, "first"), NewRecords(s, "here"))
	second := NewBoth(NewLeases(k, k, namespace, "second"), NewRecords(s, "here"))
	for i, locks := range []*Both{first, second} {
		if got, err := locks.Acquire(t.Context(), ceph.Connection{}, fsid, nightly, began.Add(time.Duration(i)*time.Minute)); err != nil || !got.Held {
			t.Fatalf("process %d: %+v, %v", i, got, err)
		}
	}
	if err := first.Release(t.Context(), ceph.Connection{}, fsid, nightly); err != nil || len(s.keys) != 1 {
		t.Errorf("records after the first process released: %v, %v", s.keys, err)
	}
	if err := second.Release(t.Context(), ceph.Connection{}, fsid, nightly); err != nil || len(s.keys) != 0 {
		t.Errorf("records after the second process released: %v, %v", s.keys, err)
	}
}

// A lock that an earlier version has taken does not name a process.
func TestLeaseOfAnEarlierVersion(t *testing.T) {
	k := newKubernetes(t)
	if _, err := NewLeases(k, k, namespace, "").Acquire(t.Context(), fsid, nightly, began); err != nil {
		t.Fatal(err)
	}
	got, err := NewLeases(k, k, namespace, "first").Acquire(t.Context(), fsid, nightly, began)
	if err != nil || !got.Held || got.Epoch != ofBegan+1 {
		t.Errorf("%+v, %v, want it to go on in the next epoch", got, err)
	}
}

func TestLost(t *testing.T) {
	held, broken := &Grant{Held: true, Expires: began}, errors.New("no route")
	for name, test := range map[string]struct {
		held  *Grant
		err   error
		after time.Duration
		want  bool
	}{
		"it has expired":                    {held, broken, 1, true},
		"it has not expired":                {held, broken, 0, false},
		"it was not held":                   {nil, broken, 1, false},
		"nothing is wrong":                  {held, nil, 1, false},
		"another process has taken it over": {held, fmt.Errorf("take: %w", &SupersededError{}), 1, false},
	} {
		if got := Lost(test.held, test.err, began.Add(test.after)); got != test.want {
			t.Errorf("%s: lost %t, want %t", name, got, test.want)
		}
	}
}

// A sidecar that has seen an epoch refuses lower ones, so epochs must never start again.
func TestEpochsAlwaysIncrease(t *testing.T) {
	k := newKubernetes(t)
	leases := NewLeases(k, k, namespace, "first")
	last, now := int64(0), began
	take := func(step string, after time.Duration) {
		t.Helper()
		now = now.Add(after)
		got, err := leases.Acquire(t.Context(), fsid, nightly, now)
		if err != nil || !got.Held || got.Epoch <= last {
			t.Errorf("%s: %+v, %v, want an epoch above %d", step, got, err, last)
		}
		last = got.Epoch
		if err := leases.Release(t.Context(), fsid, nightly); err != nil {
			t.Fatal(err)
		}
	}
	edit := func(change func(*coordinationv1.Lease) error) {
		t.Helper()
		lease := &coordinationv1.Lease{}
		err := k.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "cephtune-" + fsid}, lease)
		if err = errors.Join(err, change(lease)); err != nil {
			t.Fatal(err)
		}
	}
	take("a new one", 0)
	take("one that is taken again at once", 0)
	edit(func(lease *coordinationv1.Lease) error { return k.Delete(t.Context(), lease) })
	take("one that was deleted", 10*time.Second)
	edit(func(lease *coordinationv1.Lease) error {
		lease.Spec.LeaseTransitions, last = new(int32(50)), 50
		return k.Update(t.Context(), lease)
	})
	take("one that was counted from 1", time.Minute)
	take("by a clock that is behind", -time.Hour)
}

func TestLeaseGoesToOneOfTwo(t *testing.T) {
	for _, there := range []bool{false, true} {
		k := newKubernetes(t)
		leases := NewLeases(k, k, namespace, "first")
		if there {
			if _, err := leases.Acquire(t.Context(), fsid, objectref.Ref{Name: "earlier"}, began.Add(-Duration)); err != nil {
				t.Fatal(err)
			}
		}
		k.before = func() {
			if got, err := leases.Acquire(t.Context(), fsid, reborn, began); err != nil || !got.Held {
				t.Errorf("the quicker one got %v, %v", got, err)
			}
		}
		got, err := leases.Acquire(t.Context(), fsid, nightly, began)
		if err != nil || got.Held || got.Holder != reborn.Identity() {
			t.Errorf("the slower one got %+v, %v, want it to be told that %s has it (Lease there before: %t)", got, err, reborn, there)
		}
	}
}

func TestLeaseIsOfOneCephCluster(t *testing.T) {
	k := newKubernetes(t)
	leases := NewLeases(k, k, namespace, "first")
	for fsid, holder := range map[string]objectref.Ref{"a": nightly, "b": reborn} {
		if got, err := leases.Acquire(t.Context(), fsid, holder, began); err != nil || !got.Held {
			t.Errorf("%s got %+v, %v", holder, got, err)
		}
	}
	var lease coordinationv1.Lease
	if err := k.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "cephtune-a"}, &lease); err != nil {
		t.Fatal(err)
	}
	if got := *lease.Spec.LeaseDurationSeconds; got != 600 {
		t.Errorf("the Lease lasts %d s, want 600", got)
	}
}

func TestLeaseSaysWhatFailed(t *testing.T) {
	broken := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("no route")
		},
	}).Build()
	leases := NewLeases(broken, broken, namespace, "first")
	if _, err := leases.Acquire(t.Context(), fsid, nightly, began); err == nil || !strings.Contains(err.Error(), "cephtune-system/cephtune-"+fsid) {
		t.Errorf("error %v, want one that names the Lease", err)
	}
	if err := leases.Release(t.Context(), fsid, nightly); err == nil {
		t.Error("nothing failed")
	}
}

// store is the part of Ceph that stores keys.
type store struct {
	ceph.Client
	keys   map[string]string
	writes int
	after  func() // is called right after the next write
}

func (s *store) GetKey(_ context.Context, _ ceph.Connection, key string) (string, bool, error) {
	value, there := s.keys[key]
	return value, there, nil
}

func (s *store) SetKey(_ context.Context, _ ceph.Connection, key, value string) error {
	s.keys[key] = value
	s.writes++
	if then := s.after; then != nil {
		s.after = nil
		then()
	}
	return nil
}

func (s *store) RemoveKey(_ context.Context, _ ceph.Connection, key string) error {
	delete(s.keys, key)
	s.writes++
	return nil
}

// These are stories of the record in Ceph, which two Kubernetes clusters use: here and there.
func TestRecord(t *testing.T) {
	type step struct {
		after      time.Duration
		where      string
		epoch      int64
		holder     objectref.Ref
		drop       bool
		wantHeld   bool
		wantHolder string
		wantEpoch  int64
		wantWrites int
		// wantSuperseded is set if another process has taken over the lock.
		wantSuperseded bool
	}
	const elsewhere = " of the Kubernetes cluster whose cephtune namespace has UID "
	me, namesake := nightly.Identity(), reborn.Identity()
	cases := map[string][]step{
		"the holder keeps it, and renews it seldom": {
			{where: "here", epoch: 1, holder: nightly, wantHeld: true, wantHolder: me, wantEpoch: 1, wantWrites: 1},
			{after: RenewAfter - 1, where: "here", epoch: 1, holder: nightly, wantHeld: true, wantHolder: me, wantEpoch: 1},
			{after: RenewAfter, where: "here", epoch: 1, holder: nightly, wantHeld: true, wantHolder: me, wantEpoch: 1, wantWrites: 1},
		},
		"another cluster gets the holder's name until it expires, whatever its epoch": {
			{where: "here", epoch: 1, holder: nightly, wantHeld: true, wantHolder: me, wantEpoch: 1, wantWrites: 1},
			{after: Duration - 1, where: "there", epoch: 7, holder: reborn, wantHolder: me + elsewhere + "here", wantEpoch: 1},
			{after: Duration, where: "there", epoch: 7, holder: reborn, wantHeld: true, wantHolder: namesake, wantEpoch: 7, wantWrites: 1},
			{after: Duration, where: "here", epoch: 1, holder: nightly, wantHolder: namesake + elsewhere + "there", wantEpoch: 7},
		},
		"a clock that is ahead is not taken for an old record": {
			{after: 5 * Duration, where: "there", epoch: 1, holder: reborn, wantHeld: true, wantHolder: namesake, wantEpoch: 1, wantWrites: 1},
			{where: "here", epoch: 1, holder: nightly, wantHolder: namesake + elsewhere + "there", wantEpoch: 1},
		},
		"who was granted the Lease later takes over at once": {
			{where: "here", epoch: 1, holder: nightly, wantHeld: true, wantHolder: me, wantEpoch: 1, wantWrites: 1},
			{where: "here", epoch: 2, holder: reborn, wantHeld: true, wantHolder: namesake, wantEpoch: 2, wantWrites: 1},
			{where: "here", epoch: 1, holder: nightly, wantHolder: namesake, wantEpoch: 2},
		},
		"an epoch that began anew, since the Lease was removed, waits": {
			{where: "here", epoch: 8, holder: nightly, wantHeld: true, wantHolder: me, wantEpoch: 8, wantWrites: 1},
			{after: time.Second, where: "here", epoch: 1, holder: nightly, wantSuperseded: true},
			{after: Duration, where: "here", epoch: 1, holder: nightly, wantHeld: true, wantHolder: me, wantEpoch: 1, wantWrites: 1},
		},
		"what was dropped is free": {
			{where: "here", epoch: 1, holder: nightly, wantHeld: true, wantHolder: me, wantEpoch: 1, wantWrites: 1},
			{where: "here", epoch: 1, holder: nightly, drop: true, wantWrites: 1},
			{where: "here", epoch: 1, holder: nightly, drop: true},
			{where: "there", epoch: 1, holder: reborn, wantHeld: true, wantHolder: namesake, wantEpoch: 1, wantWrites: 1},
		},
		"a foreign record cannot be removed": {
			{where: "here", epoch: 2, holder: nightly, wantHeld: true, wantHolder: me, wantEpoch: 2, wantWrites: 1},
			{where: "here", epoch: 1, holder: nightly, drop: true},
			{where: "there", epoch: 2, holder: nightly, drop: true},
			{where: "here", epoch: 2, holder: reborn, drop: true},
		},
	}
	for name, story := range cases {
		t.Run(name, func(t *testing.T) {
			s := &store{keys: map[string]string{}}
			for i, step := range story {
				s.writes = 0
				records := NewRecords(s, types.UID(step.where))
				lease := Grant{Held: true, Epoch: step.epoch, Holder: step.holder.Identity()}
				if step.drop {
					if err := records.Drop(t.Context(), ceph.Connection{}, lease); err != nil {
						t.Fatalf("step %d: %v", i, err)
					}
				} else {
					got, err := records.Claim(t.Context(), ceph.Connection{}, lease, began.Add(step.after))
					if _, superseded := errors.AsType[*SupersededError](err); superseded != step.wantSuperseded || err != nil && !superseded {
						t.Fatalf("step %d: %v", i, err)
					}
					got.Since, got.Expires = time.Time{}, time.Time{}
					want := Grant{Held: step.wantHeld, Epoch: step.wantEpoch, Holder: step.wantHolder}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Fatalf("step %d (-want +got):\n%s", i, diff)
					}
				}
				if s.writes != step.wantWrites {
					t.Errorf("step %d: %d writes, want %d", i, s.writes, step.wantWrites)
				}
			}
		})
	}
}

func TestRecordIsReadBack(t *testing.T) {
	s := &store{keys: map[string]string{}}
	s.after = func() {
		if _, err := NewRecords(s, "there").write(t.Context(), ceph.Connection{}, record{Cluster: "there", Holder: "them", Epoch: 1, Renewed: began}); err != nil {
			t.Error(err)
		}
	}
	got, err := NewRecords(s, "here").Claim(t.Context(), ceph.Connection{}, Grant{Held: true, Epoch: 1, Holder: "us"}, began)
	if err != nil || got.Held || !strings.HasPrefix(got.Holder, "them of") {
		t.Errorf("got %+v, %v, want to be told of them", got, err)
	}
	s.after = func() { clear(s.keys) }
	if _, err := NewRecords(s, "there").Claim(t.Context(), ceph.Connection{}, Grant{Held: true, Epoch: 1, Holder: "them"}, began.Add(RenewAfter)); err == nil {
		t.Error("a record that is gone at once was taken for one")
	}
}

func TestRecordRefuses(t *testing.T) {
	s := &store{keys: map[string]string{recordKey: "{"}}
	records := NewRecords(s, "here")
	if _, err := records.Claim(t.Context(), ceph.Connection{}, Grant{Held: true, Holder: "us"}, began); err == nil || !strings.Contains(err.Error(), "ceph config-key rm cephtune/lock") {
		t.Errorf("error %v, want one that says what to do", err)
	}
	if _, err := records.Claim(t.Context(), ceph.Connection{}, Grant{Holder: "them"}, began); err == nil {
		t.Error("it was claimed without a Lease")
	}
	if s.keys[recordKey] != "{" {
		t.Error("a record that could not be read was overwritten")
	}
}

func TestClusterID(t *testing.T) {
	k := newKubernetes(t)
	if _, err := ClusterID(t.Context(), k, namespace); err == nil {
		t.Error("a namespace that is not there has a UID")
	}
	if err := k.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, UID: "uid"}}); err != nil {
		t.Fatal(err)
	}
	if got, err := ClusterID(t.Context(), k, namespace); err != nil || got != "uid" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestGrantFence(t *testing.T) {
	asked := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	until := asked.Add(Duration)
	fence, err := Grant{Held: true, Epoch: 7, Asked: asked, Expires: until}.Fence(fsid)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ceph.Fence{FSID: fsid, Epoch: 7, Until: asked.Add(ceph.ChangeTime)}, fence); diff != "" {
		t.Errorf("the fence of a grant (-want +got):\n%s", diff)
	}

	_, err = Grant{Held: true, Epoch: 7, Asked: until.Add(-ceph.LongestChange + 1), Expires: until}.Fence(fsid)
	if err == nil || !strings.Contains(err.Error(), "renew it first") {
		t.Errorf("under a lock that expires before a change could end the error is %v", err)
	}

	_, err = Grant{Holder: "CephBenchmark bench/nightly", Epoch: 7, Expires: until}.Fence(fsid)
	if err == nil || !strings.Contains(err.Error(), "CephBenchmark bench/nightly has the lock") {
		t.Errorf("without the lock the error is %v, want it to say who has it", err)
	}
}

// The benchmark of a sweep renews the lock of the sweep, but cannot leave it behind: it never takes it.
func TestRenewOfALeaseTakesNothing(t *testing.T) {
	k := newKubernetes(t)
	leases := NewLeases(k, k, namespace, "first")
	if got, err := leases.Renew(t.Context(), fsid, nightly, began); err != nil || got.Held || k.writes > 0 {
		t.Errorf("%+v, %v, %d writes: want a free lock", got, err, k.writes)
	}
	if _, err := leases.Acquire(t.Context(), fsid, nightly, began); err != nil {
		t.Fatal(err)
	}
	later := began.Add(Duration + time.Minute)
	if got, err := leases.Renew(t.Context(), fsid, reborn, later); err != nil || got.Held {
		t.Errorf("%+v, %v: another object took an expired lock", got, err)
	}
	if got, err := leases.Renew(t.Context(), fsid, nightly, later); err != nil || !got.Held || !got.Expires.After(later) {
		t.Errorf("%+v, %v: want the renewed lock", got, err)
	}
}
