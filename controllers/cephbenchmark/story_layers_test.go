package cephbenchmark

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
)

// Stories of diagnoses that measure layers.
func layersStories() map[string]story {
	return map[string]story{
		"where a write spends its time":                aLayeredDiagnosis,
		"other clients write meanwhile":                aLayeredDiagnosisBesideOthers,
		"the counters cannot be read":                  aLayeredDiagnosisWithoutCounters,
		"a cluster on which nothing can be measured":   aLayeredDiagnosisOfASickCluster,
		"the client is lost":                           aLayeredDiagnosisLosesItsClient,
		"a manager restarts while layers are measured": aRestartWithinLayers,
		"deleted while layers are measured":            aLayeredDiagnosisIsDeleted,
		"suspended while layers are measured":          aLayeredDiagnosisIsSuspended,
	}
}

const oneLayeredDiagnosis = "diagnosis: {duration: 60s, layers: {rounds: 5}}\n"

// counting makes the client measure writes and reads with known layers, and OSDs count them. It counts as many foreign
// writes in each window as the argument says.
func (w *world) counting(foreign int64) {
	w.ceph.Change(func(a *cephtest.Answers) {
		one := poolInCeph(100, settings.ScratchNamesOf(1).Pool)
		one.Size, one.MinSize = 1, 1
		one.PGNum, one.PGNumTarget, one.PGNumPending, one.PGPlacementNum, one.PGPlacementTarget = 128, 128, 128, 128, 128
		for i := range a.OSDMap.Pools {
			if p := &a.OSDMap.Pools[i]; p.Name == settings.ScratchPool {
				p.PGNum, p.PGNumTarget, p.PGNumPending, p.PGPlacementNum, p.PGPlacementTarget = 32, 32, 32, 32, 32
			}
		}
		a.OSDMap.Pools = append(a.OSDMap.Pools, one)
		for id := range 3 {
			a.PGs = append(a.PGs,
				ceph.PG{ID: "2." + string(rune('0'+id)), PoolID: 2, State: "active+clean", Primary: id, Acting: []int{id, (id + 1) % 3, (id + 2) % 3}},
				ceph.PG{ID: "100." + string(rune('0'+id)), PoolID: 100, State: "active+clean", Primary: id, Acting: []int{id}})
			a.OSDCounters = append(a.OSDCounters, ceph.OSDCounters{ID: id})
			a.OSDMap.OSDs[id].Address = fmt.Sprintf("10.0.0.%d:6800", id)
		}
	})
	trip := task.RoundTrip{OSD: 1, Connects: 5, MedianSeconds: 0.1e-3}
	var mu sync.Mutex
	counted := map[string]bool{}
	w.kubelet.script("r1-", runnertest.Script{Usage: task.Usage{Seconds: 12, RoundTrips: []task.RoundTrip{trip}}, ResultOf: func(t task.Task) *result.Result {
		mu.Lock()
		defer mu.Unlock()
		const n, submit, store = 3000, 0.1e-3, 1.2e-3
		writes, copies := strings.Contains(t.ID, "write"), int64(3)
		wait := 0.6e-3
		if strings.Contains(t.ID, "write-1-") {
			copies, wait = 1, 0
		}
		of := func(count int64, seconds float64) ceph.Average {
			return ceph.Average{Count: count, Seconds: float64(count) * seconds}
		}
		processing := 0.15e-3 + store + wait
		done := ceph.OSDCounters{Read: of(n, 0.2e-3), ReadProcessing: of(n, 0.15e-3), StoreRead: of(n, 0.1e-3)}
		whole := 0.5e-3
		if writes {
			whole = 0.5e-3 + processing
			done = ceph.OSDCounters{
				Write: of(n+foreign, processing+0.1e-3), WriteProcessing: of(n+foreign, processing), WritePreparing: of(n+foreign, 0.15e-3+submit),
				Submit: of(copies*n, submit), Commit: of(copies*n, store),
			}
		}
		if !counted[t.ID] {
			counted[t.ID] = true
			w.ceph.Change(func(a *cephtest.Answers) { add(&a.OSDCounters[0], done) })
		}
		r := runnertest.DefaultResult(t)
		d := &result.Direction{
			Operations: n, Bytes: 4096 * n, Seconds: 12, ShortestSeconds: 12,
			Latency: &result.Latency{Moments: result.Moments{Count: n, MeanSeconds: whole}},
		}
		if r.Read, r.Write = d, nil; writes {
			r.Read, r.Write = nil, d
		}
		return r
	}})
}

func add(to *ceph.OSDCounters, more ceph.OSDCounters) {
	for a, b := range map[*ceph.Average]ceph.Average{
		&to.Write: more.Write, &to.WriteProcessing: more.WriteProcessing, &to.WritePreparing: more.WritePreparing,
		&to.Read: more.Read, &to.ReadProcessing: more.ReadProcessing, &to.Submit: more.Submit, &to.Commit: more.Commit, &to.StoreRead: more.StoreRead,
	} {
		a.Count, a.Seconds = a.Count+b.Count, a.Seconds+b.Seconds
	}
}

// advance puts the clock forward, over one pause after another, until the benchmark has what is wanted.
func (w *world) advance(b *v1alpha1.CephBenchmark, goal string, reached func() bool) {
	w.t.Helper()
	next := time.Now()
	w.until(b, goal, func() bool {
		if reached() {
			return true
		}
		if time.Now().After(next) {
			next = time.Now().Add(200 * time.Millisecond)
			w.wait(8 * time.Second)
		}
		return false
	})
}

func (w *world) advanceToTheEnd(b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	w.advance(b, "at the end", func() bool { return isTrue(b, v1alpha1.ConditionReady) || isTrue(b, v1alpha1.ConditionFailed) })
	w.untilComplete(b)
}

// inWindow waits until the client is asked for a window.
func (w *world) inWindow(b *v1alpha1.CephBenchmark, part string) {
	w.t.Helper()
	w.advance(b, "in "+part, func() bool {
		c := w.kubelet.client(client0)
		return c != nil && slices.ContainsFunc(c.Tasks(), func(t task.Task) bool { return strings.HasPrefix(t.ID, "r1-") && strings.Contains(t.ID, part) })
	})
}

func aLayeredDiagnosis(w *world) {
	w.counting(0)
	b := w.benchmark("b", oneLayeredDiagnosis)
	w.watch(b)
	w.advanceToTheEnd(b)
	found := b.Status.Diagnosis
	if len(found.Operations) != 2 || found.Operations[1].Rounds != 5 || len(found.Operations[1].Layers) != 4 {
		w.t.Fatalf("%+v", found)
	}
	w.wantLayers(found.Operations[0])
	if codes := codesOf(b); len(codes) == 0 || codes[0] != "WriteTime" || !strings.Contains(b.Status.Summary, "The store takes 49 %") {
		w.t.Errorf("%v: %s", codes, b.Status.Summary)
	}
	w.rook.set(func(f *fakeRook) {
		if len(f.asked) != 2 || f.asked[0].Replicated.Size != 3 || f.asked[1].Replicated.Size != 1 || f.owner.UID != "" {
			w.t.Errorf("pools %+v of %q: want one with three copies and one with one, which are gone", f.asked, f.owner)
		}
	})
	if len(b.Status.Runs) != 1 || b.Status.Runs[0].State != v1alpha1.RunValid || b.Status.Progress.TotalRuns != 0 {
		w.t.Errorf("%+v", b.Status)
	}
	w.wantReadings()
	w.wantOneCopyInItsOwnPool()
}

// Counters are read before each window, once before the first and after the last, and every ten seconds while a diagnosis
// watches, but not within windows.
func (w *world) wantReadings() {
	w.t.Helper()
	if n := len(w.ceph.Calls("OSDCounters")); n <= 1+15+1 || n > 1+15+1+12 {
		w.t.Errorf("%d readings", n)
	}
}

func (w *world) wantLayers(write v1alpha1.OperationTime) {
	w.t.Helper()
	if !write.Explained || write.Rounds != 5 || write.Network == nil || write.Network.Seconds != "0.0001" {
		w.t.Errorf("%+v", write)
	}
	want := []string{"Client", "Queue", "Processing", "Store", "OtherCopies", "Unexplained"}
	for i, l := range write.Layers {
		if l.Code != want[i] || l.Share < l.Low {
			w.t.Errorf("layer %+v, want %s", l, want[i])
		}
	}
}

// wantOneCopyInItsOwnPool checks that the tasks of the pool with one copy, and no others, name it.
func (w *world) wantOneCopyInItsOwnPool() {
	w.t.Helper()
	for _, t := range w.kubelet.client(client0).Tasks() {
		if !strings.HasPrefix(t.ID, "r1-") {
			continue
		}
		if p := t.Measure.Peers; len(p) != 3 || p[2].OSD != 2 || p[2].Address != "10.0.0.2:6800" {
			w.t.Errorf("task %s has peers %+v", t.ID, p)
		}
		text := fmt.Sprintf("%+v", *t.Measure)
		if one := strings.Contains(text, settings.ScratchNamesOf(1).Pool); one != strings.HasPrefix(t.ID, "r1-write-1-") {
			w.t.Errorf("task %s is at the pool with one copy: %t: %s", t.ID, one, text)
		}
	}
}

func aLayeredDiagnosisBesideOthers(w *world) {
	w.counting(900)
	b := w.benchmark("b", oneLayeredDiagnosis)
	w.watch(b)
	w.advanceToTheEnd(b)
	if o := b.Status.Diagnosis.Operations; len(o) != 2 || o[0].Explained || !strings.Contains(o[0].Reason, "OSDs counted 3900 writes, and the client did 3000") {
		w.t.Errorf("%+v", o)
	}
}

// withoutLayers checks that a diagnosis has ended with its findings, and says why it has no layers.
func (w *world) withoutLayers(b *v1alpha1.CephBenchmark, reason string) {
	w.t.Helper()
	found := b.Status.Diagnosis
	if found == nil || found.Samples == 0 || len(found.Operations) > 0 {
		w.t.Fatalf("%+v", found)
	}
	if all := strings.Join(found.Unchecked, "\n"); !strings.Contains(all, "Layers were not measured: ") || !strings.Contains(all, reason) {
		w.t.Errorf("unchecked %q, want %q", all, reason)
	}
	w.wantClean()
}

func aLayeredDiagnosisWithoutCounters(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Errors["OSDCounters"] = &ceph.Error{Verb: "telemetry preview perf", Errno: 13, Message: "access denied"}
	})
	b := w.benchmark("b", oneLayeredDiagnosis)
	w.watch(b)
	w.untilComplete(b)
	w.withoutLayers(b, "access denied")
	w.wantJobs(0)
}

func aLayeredDiagnosisOfASickCluster(w *world) {
	w.counting(0)
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Status.Health = ceph.Health{Status: "HEALTH_ERR", Checks: []ceph.HealthCheck{{Code: "OSD_FULL", Severity: "HEALTH_ERR", Summary: "1 full osd(s)"}}}
		a.OSDMap.Flags = append(a.OSDMap.Flags, "full")
	})
	b := w.benchmark("b", oneLayeredDiagnosis)
	w.watch(b)
	w.until(b, "with findings", func() bool { return len(codesOf(b)) > 0 })
	w.advance(b, "ended, or waiting", func() bool {
		return isTrue(b, v1alpha1.ConditionReady) || reasonOf(b) == v1alpha1.ReasonWaitingForQuiescence
	})
	w.wait(31 * time.Minute)
	w.untilSampled(b)
	w.advanceToTheEnd(b)
	w.withoutLayers(b, "")
	if codes := codesOf(b); codes[0] != "IOStopped" {
		w.t.Errorf("findings %v", codes)
	}
}

func aLayeredDiagnosisLosesItsClient(w *world) {
	w.counting(0)
	b := w.benchmark("b", oneLayeredDiagnosis)
	w.watch(b)
	w.inWindow(b, "-round-2")
	if all := strings.Join(b.Status.Diagnosis.Unchecked, "\n"); strings.Contains(all, "diagnosis.layers does that") {
		w.t.Errorf("layers are under way, and unchecked is %q", all)
	}
	w.deleteJob(b)
	w.advanceToTheEnd(b)
	w.withoutLayers(b, "Job of the clients")
}

// The next manager does not know the earlier counters. It watches again, and what follows counts: all but one window.
func aRestartWithinLayers(w *world) {
	w.counting(0)
	b := w.benchmark("b", oneLayeredDiagnosis)
	w.watch(b)
	w.inWindow(b, "-round-1")
	w.restart()
	w.untilSampled(b)
	w.watch(b)
	w.advanceToTheEnd(b)
	if o := b.Status.Diagnosis.Operations; len(o) != 2 || !o[0].Explained || o[0].Rounds+o[1].Rounds != 9 {
		w.t.Errorf("%+v", o)
	}
}

func aLayeredDiagnosisIsDeleted(w *world) {
	w.counting(0)
	b := w.benchmark("b", oneLayeredDiagnosis)
	w.watch(b)
	w.inWindow(b, "-round-2")
	w.delete(b)
	w.wantClean()
}

func aLayeredDiagnosisIsSuspended(w *world) {
	w.counting(0)
	b := w.benchmark("b", oneLayeredDiagnosis)
	w.watch(b)
	w.inWindow(b, "-round-2")
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = true })
	w.until(b, "suspended", func() bool {
		return reasonOf(b) == v1alpha1.ReasonSuspended && !isTrue(b, v1alpha1.ConditionReconciling)
	})
	w.wantClean()
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil || len(b.Status.Runs) > 0 {
		w.t.Errorf("%+v, %v", b.Status.Runs, err)
	}
}
