package cephtuningsweep

import (
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

// Stories of benchmarks with outages.
func outageStories() map[string]story {
	return map[string]story{
		"one of its own benchmarks has an OSD down": anOSDIsDownOnPurpose,
		"another OSD goes down":                     anOSDIsDown,
		"an OSD that a benchmark has left down": func(w *world) {
			w.anOSDIsLeftDown(journals.New(w, w, w.namespace).ForOutages())
		},
		"a journal that only Ceph has": func(w *world) {
			w.anOSDIsLeftDown(tuning.NewConfigKey(w.ceph, ceph.Connection{}).ForOutages())
		},
	}
}

const outageSpec = `
template:
  target: {existingPool: {name: open}}
  outage: {phase: write, osds: [2], before: 10s, duration: 20s}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, rateIOPS: 500, ramp: 0s, duration: 2m}}
parameters:
- {name: profile, config: {option: osd_mclock_profile}, values: [high_client_ops]}
objective: {phase: write, metric: IOPS}
strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3, seed: 11}
`

// The benchmark judges its own outage, and the sweep does not end because of it.
func anOSDIsDownOnPurpose(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) { b.hold = true })
	s := w.create("s", outageSpec)
	w.awaitChild()
	if d := w.children()[0].Spec.Template.Outage; d == nil || d.OSDs[0] != 2 {
		w.t.Fatalf("the benchmark has the outage %+v", d)
	}
	w.ceph.LoseOSD(2)
	time.Sleep(time.Second)
	if left := running(w.children()); len(left) != 1 {
		w.t.Errorf("%d benchmarks run, want the one whose OSD is down", len(left))
	}
	w.ceph.BringUp(2)
	w.goOn()
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
}

func anOSDIsDown(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) { b.hold = true })
	s := w.create("s", profile)
	w.awaitChild()
	w.ceph.LoseOSD(2)
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.ceph.BringUp(2)
	w.wantState(before)
}

// anOSDIsLeftDown checks that a sweep brings orphaned OSDs back before anything else, once requests
// of a dead manager have ended.
func (w *world) anOSDIsLeftDown(kept tuning.Store) {
	before := w.state()
	journal := &tuning.Journal{
		SchemaVersion: tuning.SchemaVersion, FSID: cephtest.FSID, Epoch: 1, Writer: "an earlier manager", Revision: 1,
		Sweep:   tuning.Sweep{Kind: "CephBenchmark", Namespace: "far", Name: "away", UID: "u"},
		Entries: []tuning.Entry{{Setting: tuning.NoUp(2), Type: "bool", State: tuning.Open, Applied: []tuning.AppliedValue{{Intended: cephvalue.Of("true")}}}},
	}
	if err := kept.Save(w.t.Context(), journal); err != nil {
		w.t.Fatal(err)
	}
	fence := ceph.Fence{FSID: cephtest.FSID, Epoch: 1}
	if err := w.ceph.SetNoUp(w.t.Context(), ceph.Connection{}, fence, 2, true); err != nil {
		w.t.Fatal(err)
	}
	if err := w.ceph.MarkOSDsDown(w.t.Context(), ceph.Connection{}, fence, []int{2}); err != nil {
		w.t.Fatal(err)
	}
	s := w.create("s", profile)
	w.await(s, "letting it up", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonRestoringOSDs)(s) && strings.Contains(messageOf(s), "osd.2")
	})
	w.ahead.Add(int64(ceph.LongestChange))
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if left, err := kept.Load(w.t.Context(), cephtest.FSID); err != nil || left != nil {
		w.t.Errorf("journal %+v, %v", left, err)
	}
	w.wantState(before)
}
