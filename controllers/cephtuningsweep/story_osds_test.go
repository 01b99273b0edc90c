package cephtuningsweep

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

func osdStories() map[string]story {
	return map[string]story{
		"more OSDs help":                              moreOSDsHelp,
		"another device class helps":                  anotherDeviceClassHelps,
		"a device class that there is not":            aDeviceClassThatThereIsNot,
		"more OSDs than there are":                    moreOSDsThanThereAre,
		"copies that cannot be apart":                 copiesThatCannotBeApart,
		"on one host, without chosen OSDs":            onOneHost,
		"OSDs without an identity that may place PGs": nobodyMayPlace,
		"a run whose OSDs were not kept":              osdsWereNotKept,
	}
}

// onOSDs varies the number of OSDs, out of three, that a pool uses.
const onOSDs = `
template:
  target: {scratchPool: {replicated: {size: 1}, osdSelection: {count: 1}, parameters: {pg_num: "8"}}}
  dataset: {size: 64Mi}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}
parameters:
- {name: osds, osdCount: {}, values: ["2", "3"]}
objective: {phase: write, metric: IOPS}
strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3, seed: 11}
`

// onClasses varies the device class of the OSDs that a pool uses.
const onClasses = `
template:
  target: {scratchPool: {replicated: {size: 1}, deviceClass: hdd, parameters: {pg_num: "8"}}}
  dataset: {size: 64Mi}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}
parameters:
- {name: class, deviceClass: {}, values: [ssd]}
objective: {phase: write, metric: IOPS}
strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3, seed: 11}
`

// twoClasses moves the first OSD to a class of its own.
func (w *world) twoClasses() {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.OSDs, a.OSDTree = slices.Clone(a.OSDs), slices.Clone(a.OSDTree)
		for i := range a.OSDs {
			class := "ssd"
			if i == 0 {
				class = "hdd"
			}
			a.OSDs[i].DeviceClass, a.OSDTree[i].DeviceClass = class, class
		}
	})
}

// wantBestWithoutPatch checks that a sweep ends with a Superior configuration, and says why it has
// no patch.
func (w *world) wantBestWithoutPatch(s *v1alpha1.CephTuningSweep, best, message string) {
	w.t.Helper()
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if s.Status.Verdict != v1alpha1.VerdictSuperior || s.Status.Best != best {
		w.t.Errorf("verdict %s on %s, want Superior on %s: %s", s.Status.Verdict, s.Status.Best, best, s.Status.Summary)
	}
	if len(s.Status.Patches) > 0 || !strings.Contains(s.Status.Summary, message) {
		w.t.Errorf("patches %+v and the summary %q, want it to say %q", s.Status.Patches, s.Status.Summary, message)
	}
}

func anotherDeviceClassHelps(w *world) {
	w.twoClasses()
	before := w.state()
	w.bench.set(func(b *bench) {
		b.speed = func(child *v1alpha1.CephBenchmark) float64 {
			return map[string]float64{"hdd": 100, "ssd": 400}[child.Spec.Template.Target.ScratchPool.DeviceClass]
		}
	})
	s := w.create("s", onClasses)
	w.wantBestWithoutPatch(s, "class=ssd", "no patch for the device class")
	w.wantState(before)
}

func aDeviceClassThatThereIsNot(w *world) {
	w.twoClasses()
	s := w.create("s", strings.Replace(onClasses, "[ssd]", "[ssd, nvme]", 1))
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotPossible, `No OSD of device class "nvme"`)
}

func moreOSDsHelp(w *world) {
	before := w.state()
	seeds := map[string]map[int64]bool{} // by block and attempt
	w.bench.set(func(b *bench) {
		b.speed = func(child *v1alpha1.CephBenchmark) float64 {
			osds := child.Spec.Template.Target.ScratchPool.OSDSelection
			block := strings.Join(strings.Split(string(child.Spec.RunID), ".")[:2], ".")
			if seeds[block] == nil {
				seeds[block] = map[int64]bool{}
			}
			seeds[block][*osds.Seed] = true
			return 1000 + 200*float64(osds.Count)
		}
	})
	s := w.create("s", onOSDs)
	w.wantBestWithoutPatch(s, "osds=3", "there is no patch for it")
	drawn := map[int64]bool{}
	w.bench.set(func(*bench) {
		for block, draws := range seeds {
			if len(draws) != 1 {
				w.t.Errorf("block %s has the draws %v, want one", block, draws)
			}
			for seed := range draws {
				drawn[seed] = true
			}
		}
		if len(drawn) != len(seeds) || len(seeds) < 5 {
			w.t.Errorf("%d blocks have %d draws, want one for each", len(seeds), len(drawn))
		}
	})
	for _, verb := range []string{"SetPoolOption", "UnsetPoolOption", "SetConfig", "RemoveConfig", "SetFlag", "PlacePGs"} {
		if calls := w.ceph.Calls(verb); len(calls) > 0 {
			w.t.Errorf("%s was asked of Ceph by the sweep itself: %+v", verb, calls)
		}
	}
	if calls := w.ceph.Calls("SetBalancer"); len(calls) != 2 {
		w.t.Errorf("the balancer was told %+v, want off once and on once", calls)
	}
	w.wantState(before)
}

func moreOSDsThanThereAre(w *world) {
	s := w.create("s", "mode: Plan\n"+strings.Replace(onOSDs, `["2", "3"]`, `["2", "4"]`, 1))
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantSays(s, v1alpha1.ConditionComplete, metav1.ConditionTrue, v1alpha1.ReasonPlanned, "cannot be carried out")
	if refusals := fmt.Sprint(s.Status.Plan.Refusals); refusals != "[OSDs requested for the pool: 4; OSDs that are up and in: 3; request fewer OSDs.]" {
		w.t.Errorf("refusals %s", refusals)
	}
}

func copiesThatCannotBeApart(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) {
		for i := range a.OSDTree {
			a.OSDTree[i].Buckets = map[string]string{"host": "node-0", "root": "default"}
		}
		a.OSDMap.MinCompatClient = "jewel"
	})
	s := w.create("s", strings.NewReplacer("size: 1", "size: 2", "count: 1", "count: 2", `["2", "3"]`, `["3"]`).Replace(onOSDs))
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotPossible, "use failureDomain osd, or a smaller size")
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotPossible, "set-require-min-compat-client luminous")
	if n := len(w.children()); n > 0 {
		w.t.Errorf("%d benchmarks were begun, want none", n)
	}
}

// A pool on all OSDs is checked too. CRUSH would create it, but it could never become clean.
func onOneHost(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) {
		for i := range a.OSDTree {
			a.OSDTree[i].Buckets = map[string]string{"host": "node-0", "root": "default"}
		}
	})
	s := w.create("s", "mode: Plan\n"+scratchPGs)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if refusals := s.Status.Plan.Refusals; len(refusals) != 1 || !strings.Contains(refusals[0], "failure domains of type host") {
		w.t.Errorf("refusals %q, want one about hosts, for all configurations", refusals)
	}
}

func nobodyMayPlace(w *world) {
	w.stop()
	w.allowed.Clusters[0].PlacePGs = false
	w.start()
	s := w.create("s", onOSDs)
	w.await(s, "stalled", hasReason(v1alpha1.ReasonNotAllowed))
	w.wantSays(s, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonNotAllowed, "remove scratchPool.osdSelection and osdCount")
}

// A problem with the OSDs in the benchmark makes the run invalid, and it is repeated once.
func osdsWereNotKept(w *world) {
	const reason = "OSDs: placement group 9.3 is on osd.2, which is not among the 1 OSDs of the pool"
	w.bench.set(func(b *bench) {
		b.spoil = func(*v1alpha1.CephBenchmark) *v1alpha1.BenchmarkRun {
			if b.ended > 1 {
				return nil
			}
			return &v1alpha1.BenchmarkRun{Number: 1, State: v1alpha1.RunInvalid, Reason: reason}
		}
	})
	s := w.create("s", onOSDs)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if n := trialsThatAre(s, v1alpha1.TrialDisturbed); n != 1 {
		w.t.Errorf("%d runs are Disturbed, want the first: %v", n, validities(s))
	}
	w.awaitEvent("TrialInvalid", reason)
}
