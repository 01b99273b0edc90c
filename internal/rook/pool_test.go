package rook

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/settings"
)

var (
	owner   = objectref.Ref{Kind: "CephBenchmark", Namespace: "bench", Name: "nightly", UID: "11-11"}
	another = objectref.Ref{Kind: "CephBenchmark", Namespace: "bench", Name: "weekly", UID: "22-22"}

	replicated   = v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 3}, FailureDomain: "host"}
	erasureCoded = v1alpha1.ScratchPool{
		ErasureCoded:  &v1alpha1.ErasureCodedPool{DataChunks: 4, CodingChunks: 2, Metadata: v1alpha1.MetadataPool{Size: 3}},
		FailureDomain: "osd", DeviceClass: "ssd",
		Parameters: map[string]v1alpha1.ParameterValue{"pg_num": "32"},
	}
)

// The autoscaler is off in every scratch pool.
func TestScratchPools(t *testing.T) {
	type spec = map[string]any
	still := func() spec { return spec{"pg_autoscale_mode": "off"} }
	cases := map[string]struct {
		spec v1alpha1.ScratchPool
		want map[string]spec
	}{
		"copies": {
			spec: replicated,
			want: map[string]spec{"cephtune-scratch": {"failureDomain": "host", "replicated": spec{"size": int64(3), "requireSafeReplicaSize": true}, "parameters": still()}},
		},
		"one copy has to be said to be unsafe": {
			spec: v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 1}},
			want: map[string]spec{"cephtune-scratch": {"replicated": spec{"size": int64(1), "requireSafeReplicaSize": false}, "parameters": still()}},
		},
		"a root of the CRUSH hierarchy": {
			spec: v1alpha1.ScratchPool{CrushRoot: "fast", Replicated: &v1alpha1.ReplicatedPool{Size: 3}},
			want: map[string]spec{"cephtune-scratch": {"crushRoot": "fast", "replicated": spec{"size": int64(3), "requireSafeReplicaSize": true}, "parameters": still()}},
		},
		"chunks, with copies of metadata": {
			spec: erasureCoded,
			want: map[string]spec{
				"cephtune-scratch": {"failureDomain": "osd", "deviceClass": "ssd", "replicated": spec{"size": int64(3), "requireSafeReplicaSize": true}, "parameters": still()},
				"cephtune-scratch-data": {
					"failureDomain": "osd", "deviceClass": "ssd", "erasureCoded": spec{"dataChunks": int64(4), "codingChunks": int64(2)},
					"parameters": spec{"pg_num": "32", "pg_autoscale_mode": "off"},
				},
			},
		},
		"metadata have parameters of their own": {
			spec: v1alpha1.ScratchPool{ErasureCoded: &v1alpha1.ErasureCodedPool{
				DataChunks: 2, CodingChunks: 1,
				Metadata: v1alpha1.MetadataPool{Size: 2, Parameters: map[string]v1alpha1.ParameterValue{"pg_num": "8"}},
			}},
			want: map[string]spec{
				"cephtune-scratch":      {"replicated": spec{"size": int64(2), "requireSafeReplicaSize": true}, "parameters": spec{"pg_num": "8", "pg_autoscale_mode": "off"}},
				"cephtune-scratch-data": {"erasureCoded": spec{"dataChunks": int64(2), "codingChunks": int64(1)}, "parameters": still()},
			},
		},
		"an autoscaler that an object of before asks for": {
			spec: v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 2}, Parameters: map[string]v1alpha1.ParameterValue{"pg_num": "32", "pg_autoscale_mode": "on"}},
			want: map[string]spec{"cephtune-scratch": {"replicated": spec{"size": int64(2), "requireSafeReplicaSize": true}, "parameters": spec{"pg_num": "32", "pg_autoscale_mode": "off"}}},
		},
		"a parameter that is unset": {
			spec: v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 2}, Parameters: map[string]v1alpha1.ParameterValue{"compression_mode": "Unset"}},
			want: map[string]spec{"cephtune-scratch": {"replicated": spec{"size": int64(2), "requireSafeReplicaSize": true}, "parameters": still()}},
		},
		"other parameters": {
			spec: v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 2}, Parameters: map[string]v1alpha1.ParameterValue{"compression_mode": "force"}},
			want: map[string]spec{"cephtune-scratch": {"replicated": spec{"size": int64(2), "requireSafeReplicaSize": true}, "parameters": spec{"compression_mode": "force", "pg_autoscale_mode": "off"}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := map[string]spec{}
			for _, pool := range scratchPools([]v1alpha1.ScratchPool{tc.spec}) {
				got[pool.name] = pool.spec
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("pools (-want +got):\n%s", diff)
			}
		})
	}
}

// world is an API server with a clock. The test plays Rook.
type world struct {
	t *testing.T
	client.Client
	access *Access
	late   time.Duration // the offset of the clock
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	w := &world{t: t, Client: fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(objects...).Build()}
	w.access = New(w.Client, w.Client, func() time.Time { return time.Now().Add(w.late) })
	return w
}

func (w *world) pool(name string) *unstructured.Unstructured {
	w.t.Helper()
	o := object(kindBlockPool, rookNamespace, name)
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(o), o); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		w.t.Fatal(err)
	}
	return o
}

func (w *world) change(name string, change func(*unstructured.Unstructured)) {
	w.t.Helper()
	o := w.pool(name)
	change(o)
	if err := w.Update(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
}

// rookSays sets the phase, and the finalizer that Rook adds at once.
func (w *world) rookSays(phase string, names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.change(name, func(o *unstructured.Unstructured) {
			o.SetFinalizers([]string{poolFinalizer})
			o.Object["status"] = map[string]any{"phase": phase}
		})
	}
}

func (w *world) wantEnsured(spec v1alpha1.ScratchPool, user objectref.Ref, want bool, wantWhy string) {
	w.t.Helper()
	w.wantAllEnsured([]v1alpha1.ScratchPool{spec}, user, want, wantWhy)
}

func (w *world) wantAllEnsured(specs []v1alpha1.ScratchPool, user objectref.Ref, want bool, wantWhy string) {
	w.t.Helper()
	ready, reason, err := w.access.EnsureScratchPools(w.t.Context(), cluster, specs, ScratchUse{Owner: user}, &ceph.OSDMap{})
	if err != nil {
		w.t.Fatal(err)
	}
	if ready != want || !strings.Contains(reason, wantWhy) || want != (reason == "") {
		w.t.Fatalf("ready %t because %q, want %t with %q", ready, reason, want, wantWhy)
	}
}

func (w *world) wantDeleted(user objectref.Ref, m *ceph.OSDMap, want bool, wantWhy string) {
	w.t.Helper()
	gone, reason, err := w.access.DeleteScratchPools(w.t.Context(), cluster, user, m)
	if err != nil {
		w.t.Fatal(err)
	}
	if gone != want || !strings.Contains(reason, wantWhy) || want != (reason == "") {
		w.t.Fatalf("gone %t because %q, want %t with %q", gone, reason, want, wantWhy)
	}
}

func (w *world) wantOwned(user objectref.Ref, want bool) {
	w.t.Helper()
	if owned, err := w.access.ScratchPoolsOf(w.t.Context(), cluster, user); err != nil || len(owned) > 0 != want {
		w.t.Errorf("the scratch pool is that of %s: %t, %v, want %t", user, len(owned) > 0, err, want)
	}
}

func TestScratchPoolComesAndGoes(t *testing.T) {
	w := newWorld(t)
	w.wantOwned(owner, false)
	w.wantEnsured(erasureCoded, owner, false, "was created")
	w.wantOwned(owner, true)
	w.wantOwned(another, false)
	w.wantEnsured(erasureCoded, owner, false, `CephBlockPool rook-ceph/cephtune-scratch yet (phase "")`)
	w.rookSays("Ready", settings.ScratchPool)
	w.rookSays("Failure", settings.ScratchDataPool)
	w.wantEnsured(erasureCoded, owner, false, `cephtune-scratch-data yet (phase "Failure")`)
	w.rookSays("Ready", settings.ScratchDataPool)
	w.wantEnsured(erasureCoded, owner, true, "")

	pool := w.pool(settings.ScratchPool)
	if got := pool.GetAnnotations()[annotationOwner]; got != "CephBenchmark bench/nightly" {
		t.Errorf("owner %q", got)
	}
	if got := pool.GetLabels()["app.kubernetes.io/managed-by"]; got != "cephtune" {
		t.Errorf("managed by %q", got)
	}

	w.wantDeleted(owner, nil, false, "Rook is removing CephBlockPool rook-ceph/cephtune-scratch")
	if w.pool(settings.ScratchDataPool).GetDeletionTimestamp() != nil {
		t.Error("the data of images goes before the images")
	}
	w.change(settings.ScratchPool, func(o *unstructured.Unstructured) {
		o.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "DeletionIsBlocked", "status": "False", "message": "no dependents"},
			map[string]any{"type": "PoolDeletionIsBlocked", "status": "True", "message": `pool "cephtune-scratch" contains images`},
		}}
	})
	w.wantDeleted(owner, nil, false, `contains images`)
	w.wantOwned(owner, true)
	w.wantEnsured(erasureCoded, owner, false, "is being removed")
	w.change(settings.ScratchPool, func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
	w.wantOwned(owner, true) // the pool for data
	w.wantDeleted(owner, nil, false, "Rook is removing CephBlockPool rook-ceph/cephtune-scratch-data")
	w.change(settings.ScratchDataPool, func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
	w.wantDeleted(owner, nil, true, "")
	w.wantDeleted(owner, nil, true, "")
}

func TestForeignScratchPoolIsLeftAlone(t *testing.T) {
	foreign := object(kindBlockPool, rookNamespace, settings.ScratchPool)
	taken := foreign.DeepCopy()
	taken.SetAnnotations(map[string]string{annotationOwner: another.String(), annotationOwnerUID: string(another.UID)})
	cases := map[string]struct {
		there      *unstructured.Unstructured
		wantReason string
		wantHint   string
	}{
		"a foreign pool":              {there: foreign, wantReason: ReasonForeignPool, wantHint: "did not create"},
		"a pool of another benchmark": {there: taken, wantReason: ReasonScratchPoolTaken, wantHint: "CephBenchmark bench/weekly"},
		"a pool of a namesake from long ago": {there: func() *unstructured.Unstructured {
			o := taken.DeepCopy()
			o.SetAnnotations(map[string]string{annotationOwner: owner.String(), annotationOwnerUID: "00"})
			return o
		}(), wantReason: ReasonScratchPoolTaken},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.there)
			before := w.pool(settings.ScratchPool)
			_, _, err := w.access.EnsureScratchPools(t.Context(), cluster, []v1alpha1.ScratchPool{replicated}, ScratchUse{Owner: owner}, &ceph.OSDMap{})
			wantReason(t, err, tc.wantReason, tc.wantHint)
			w.wantOwned(owner, false)
			w.wantOwned(objectref.Ref{}, false)
			w.wantDeleted(owner, &ceph.OSDMap{}, true, "")
			w.wantDeleted(objectref.Ref{}, &ceph.OSDMap{}, true, "") // an empty owner does not own a pool without an owner
			if diff := cmp.Diff(before, w.pool(settings.ScratchPool)); diff != "" {
				t.Errorf("the pool changed (-before +after):\n%s", diff)
			}
		})
	}
}

// Rook's words end the wait for a pool that it refuses for good. Other failures may pass.
func TestRooksWordsAboutAPoolAreTold(t *testing.T) {
	for name, tc := range map[string]struct{ message, reason, waits string }{
		"an invalid spec": {message: `invalid pool CR "cephtune-scratch" spec: pools in a stretch cluster must have replication size 4`, reason: ReasonPoolRefused, waits: "must have replication size 4"},
		"a failure":       {message: "failed to create pool: timed out", waits: "could not create the pool of CephBlockPool rook-ceph/cephtune-scratch yet: failed to create pool: timed out"},
		"no words":        {waits: `phase "Failure"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.wantEnsured(replicated, owner, false, "was created")
			w.change(settings.ScratchPool, func(o *unstructured.Unstructured) {
				o.Object["status"] = map[string]any{"phase": "Failure", "conditions": []any{
					map[string]any{"type": "Failure", "status": "True", "reason": "ReconcileFailed", "message": tc.message},
				}}
			})
			_, waits, err := w.access.EnsureScratchPools(t.Context(), cluster, []v1alpha1.ScratchPool{replicated}, ScratchUse{Owner: owner}, &ceph.OSDMap{})
			wantReason(t, err, tc.reason, tc.waits)
			if tc.reason == "" && !strings.Contains(waits, tc.waits) {
				t.Errorf("waits for %q, want %q", waits, tc.waits)
			}
		})
	}
}

// In some clusters Rook creates no scratch pool, or only some, so none is asked for.
func TestClustersWithoutScratchPools(t *testing.T) {
	four := v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 4}, FailureDomain: "host"}
	for name, tc := range map[string]struct {
		spec         map[string]any
		pool         v1alpha1.ScratchPool
		reason, hint string
	}{
		"external":                    {map[string]any{"external": map[string]any{"enable": true}}, replicated, ReasonPoolRefused, "use an existingPool"},
		"stretched":                   {map[string]any{"mon": map[string]any{"stretchCluster": map[string]any{"zones": []any{}}}}, replicated, ReasonPoolRefused, "size 4"},
		"stretched and erasure coded": {map[string]any{"mon": map[string]any{"stretchCluster": map[string]any{}}}, erasureCoded, ReasonPoolRefused, "size 4"},
		"stretched with four copies":  {map[string]any{"mon": map[string]any{"stretchCluster": map[string]any{}}}, four, "", ""},
		"usual":                       {map[string]any{"mon": map[string]any{"count": int64(3)}, "external": map[string]any{"enable": false}}, replicated, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			o := object(kindCluster, cluster.Namespace, cluster.Name)
			o.Object["spec"] = tc.spec
			w := newWorld(t, o)
			_, _, err := w.access.EnsureScratchPools(t.Context(), cluster, []v1alpha1.ScratchPool{tc.pool}, ScratchUse{Owner: owner}, &ceph.OSDMap{})
			wantReason(t, err, tc.reason, tc.hint)
			if there := w.pool(settings.ScratchPool) != nil; there != (tc.reason == "") {
				t.Errorf("the pool was created: %v", there)
			}
		})
	}
}

func TestScratchPoolTakesOverNoPoolOfCephs(t *testing.T) {
	w := newWorld(t)
	there := &ceph.OSDMap{Pools: []ceph.Pool{{Name: settings.ScratchDataPool}}}
	_, _, err := w.access.EnsureScratchPools(t.Context(), cluster, []v1alpha1.ScratchPool{erasureCoded}, ScratchUse{Owner: owner}, there)
	wantReason(t, err, ReasonForeignPool, "without a CephBlockPool")
	if w.pool(settings.ScratchDataPool) != nil {
		t.Error("a CephBlockPool was created for a pool that was there")
	}
	// The other pool has its CephBlockPool by now, so it is not foreign in Ceph.
	there = &ceph.OSDMap{Pools: []ceph.Pool{{Name: settings.ScratchPool}}}
	if _, _, err := w.access.EnsureScratchPools(t.Context(), cluster, []v1alpha1.ScratchPool{erasureCoded}, ScratchUse{Owner: owner}, there); err != nil {
		t.Error(err)
	}
}

// A run that continues needs the pool of the earlier runs. A new pool could not replace it.
func TestScratchPoolThatContinues(t *testing.T) {
	w := newWorld(t)
	first := ScratchUse{Owner: owner, Key: "1/2/1"}
	next := ScratchUse{Owner: owner, Key: "1/2/1", Continues: true}
	wantThere := func(want bool) {
		t.Helper()
		if there, err := w.access.HasScratchPool(t.Context(), cluster, owner); err != nil || there != want {
			t.Errorf("it is there %t, %v, want %t", there, err, want)
		}
	}
	wantThere(false)
	_, _, err := w.access.EnsureScratchPools(t.Context(), cluster, []v1alpha1.ScratchPool{replicated}, next, &ceph.OSDMap{})
	wantReason(t, err, ReasonScratchPoolGone, "find out what did that")
	if _, _, err := w.access.EnsureScratchPools(t.Context(), cluster, []v1alpha1.ScratchPool{replicated}, first, &ceph.OSDMap{}); err != nil {
		t.Fatal(err)
	}
	wantThere(true)
	w.rookSays("Ready", settings.ScratchPool)
	if ready, reason, err := w.access.EnsureScratchPools(t.Context(), cluster, []v1alpha1.ScratchPool{replicated}, next, &ceph.OSDMap{}); err != nil || !ready {
		t.Errorf("the pool that is there is not used: %s, %v", reason, err)
	}
	if there, err := w.access.HasScratchPool(t.Context(), cluster, objectref.Ref{UID: "other"}); err != nil || there {
		t.Errorf("it is another's, too: %t, %v", there, err)
	}
	w.wantDeleted(owner, nil, false, "Rook is removing")
	wantThere(false)
	_, _, err = w.access.EnsureScratchPools(t.Context(), cluster, []v1alpha1.ScratchPool{replicated}, next, &ceph.OSDMap{})
	wantReason(t, err, ReasonScratchPoolGone, "find out what did that")
}

func TestScratchPoolForAnotherSpec(t *testing.T) {
	w := newWorld(t)
	w.wantEnsured(replicated, owner, false, "was created")
	other := replicated
	other.Parameters = map[string]v1alpha1.ParameterValue{"pg_num": "8"}
	_, _, err := w.access.EnsureScratchPools(t.Context(), cluster, []v1alpha1.ScratchPool{other}, ScratchUse{Owner: owner}, &ceph.OSDMap{})
	wantReason(t, err, ReasonScratchPoolDiffers, "another spec")
	_, _, err = w.access.EnsureScratchPools(t.Context(), cluster, []v1alpha1.ScratchPool{replicated}, ScratchUse{Owner: owner, Key: "1/2/1"}, &ceph.OSDMap{})
	wantReason(t, err, ReasonScratchPoolDiffers, "other runs")
	_, _, err = w.access.EnsureScratchPools(t.Context(), cluster, []v1alpha1.ScratchPool{replicated}, ScratchUse{Owner: owner, Key: "1/2/1", Continues: true}, &ceph.OSDMap{})
	wantReason(t, err, ReasonScratchPoolGone, "was removed or recreated")
	// Rook adds fields to the spec. The pool still counts as the same.
	w.change(settings.ScratchPool, func(o *unstructured.Unstructured) {
		spec, _, _ := unstructured.NestedMap(o.Object, "spec")
		spec["application"] = ""
		o.Object["spec"] = spec
	})
	w.rookSays("Ready", settings.ScratchPool)
	w.wantEnsured(replicated, owner, true, "")
}

func TestPoolThatWasNeverMadeIsReleased(t *testing.T) {
	w := newWorld(t)
	w.wantEnsured(replicated, owner, false, "was created")
	w.change(settings.ScratchPool, func(o *unstructured.Unstructured) { o.SetFinalizers([]string{poolFinalizer, "example.com/own"}) })
	without, with := &ceph.OSDMap{Pools: []ceph.Pool{{Name: "other"}}}, &ceph.OSDMap{Pools: []ceph.Pool{{Name: settings.ScratchPool}}}

	w.wantDeleted(owner, without, false, "Rook is removing")
	w.wantDeleted(owner, without, false, "Rook is removing") // Rook may still be removing it
	w.late = releaseAfter + 2*time.Second
	w.wantDeleted(owner, with, false, "Rook is removing")
	w.wantDeleted(owner, nil, false, "Rook is removing") // Ceph was not asked
	w.wantDeleted(owner, without, false, "finalizer was removed")
	if diff := cmp.Diff([]string{"example.com/own"}, w.pool(settings.ScratchPool).GetFinalizers()); diff != "" {
		t.Errorf("finalizers (-want +got):\n%s", diff)
	}
}

// The pools of several targets are made and removed together. A pool of another owner with such a name stays.
func TestScratchPoolsOfSeveralTargets(t *testing.T) {
	names := settings.ScratchNamesOf
	foreign := object(kindBlockPool, rookNamespace, names(3).Pool)
	foreign.SetAnnotations(map[string]string{annotationOwnerUID: string(another.UID)})
	w := newWorld(t, foreign)
	specs := []v1alpha1.ScratchPool{replicated, erasureCoded, replicated}
	w.wantAllEnsured(specs, owner, false, "was created")
	all := []string{names(0).Pool, names(1).Pool, names(1).Data, names(2).Pool}
	if owned, err := w.access.ScratchPoolsOf(t.Context(), cluster, owner); err != nil || !slices.Equal(owned, all) {
		t.Errorf("pools %q, %v, want %q", owned, err, all)
	}
	w.rookSays("Ready", all[1:]...)
	w.wantAllEnsured(specs, owner, false, names(0).Pool+` yet (phase "")`)
	w.rookSays("Ready", all[0])
	w.wantAllEnsured(specs, owner, true, "")
	_, _, err := w.access.EnsureScratchPools(t.Context(), cluster, append(specs, replicated), ScratchUse{Owner: owner}, &ceph.OSDMap{})
	wantReason(t, err, ReasonScratchPoolTaken, names(3).Pool)

	w.wantDeleted(owner, nil, false, names(0).Pool)
	for _, name := range all {
		if going := w.pool(name).GetDeletionTimestamp() != nil; going != (name != names(1).Data) {
			t.Errorf("pool %s is being removed: %t", name, going)
		}
	}
	for _, name := range []string{names(0).Pool, names(1).Pool, names(2).Pool} {
		w.change(name, func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
	}
	w.wantDeleted(owner, nil, false, names(1).Data)
	w.change(names(1).Data, func(o *unstructured.Unstructured) { o.SetFinalizers(nil) })
	w.wantDeleted(owner, nil, true, "")
	if w.pool(names(3).Pool) == nil {
		t.Error("the pool of another owner was removed")
	}
}
