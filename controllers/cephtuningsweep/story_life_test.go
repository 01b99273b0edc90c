package cephtuningsweep

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/metrics/exporter/exportertest"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/testing/rights"
	"github.com/cephtune/cephtune/internal/tuning"
)

func lifeStories() map[string]story {
	return map[string]story{
		"an option that helps is found superior, and restored":     anOptionThatHelps,
		"an option that does nothing is found equivalent":          anOptionThatDoesNothing,
		"every run soaks, changed or not":                          everyRunSoaks,
		"a grid with an axis of the load":                          aGridWithAnAxisOfTheLoad,
		"pools of their own for numbers of PGs":                    poolsOfTheirOwn,
		"configurations, one of which unsets an option":            configurations,
		"a number of PGs in place":                                 inPlace,
		"only a plan":                                              onlyAPlan,
		"a verdict to fail on, which is accepted later":            aVerdictToFailOn,
		"a new run ID while one is at work":                        aNewRunIDAtWork,
		"a new run ID after the end":                               aNewRunIDAfterTheEnd,
		"suspended, and resumed":                                   suspendedAndResumed,
		"suspended, and resumed with another spec":                 resumedWithAnotherSpec,
		"an administrator who allows less than before":             anAdministratorWhoAllowsLess,
		"suspended in the first run of a block":                    suspendedInTheFirstRun,
		"suspended from the beginning":                             suspendedFromTheBeginning,
		"suspended, and resumed during the restore":                resumedWhileItPutsBack,
		"suspended, and resumed before its benchmark has gone":     resumedBeforeItsBenchmarkGoes,
		"only the load is varied, and the balancer is off":         nothingIsHeldStill,
		"the window is closed at the start":                        theWindowIsClosed,
		"the window closes in the middle of a block":               theWindowCloses,
		"the nodes and the data of the first run are those of all": nodesAndDataStay,
		"old benchmarks are removed":                               oldBenchmarksAreRemoved,
		"a namesake of an old benchmark stays":                     aNamesakeOfAnOldBenchmark,
		"bytes written come from the results":                      whatWasWritten,
		"conditions and events on the way":                         conditionsOnTheWay,
		"scrubs are paused meanwhile":                              scrubsArePaused,
		"without an identity for tuning only the load is varied":   withoutATuner,
		"in a namespace that is none of benchmarks":                inANamespaceThatIsNoneOfBenchmarks,
		"on a claim with data":                                     onAClaimWithData,
		"in a namespace whose check fails at first":                inANamespaceThatCannotBeAskedAbout,
		"a benchmark that may not begin does not begin later":      aBenchmarkThatMayNotBegin,
	}
}

func anOptionThatHelps(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) { b.speed = w.faster() })
	s := w.create("s", profile)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if s.Status.Verdict != v1alpha1.VerdictSuperior || s.Status.Best != "profile=high_client_ops" {
		w.t.Errorf("verdict %s on %s, want Superior on profile=high_client_ops: %s", s.Status.Verdict, s.Status.Best, s.Status.Summary)
	}
	if !strings.HasPrefix(string(s.Status.Effect), "+4") && !strings.HasPrefix(string(s.Status.Effect), "+3") {
		w.t.Errorf("effect %s, want about +40%%", s.Status.Effect)
	}
	if len(s.Status.Patches) > 0 || s.Status.Scope != v1alpha1.ScopePool {
		w.t.Errorf("scope %s, patches %+v: want none of a verdict about one pool", s.Status.Scope, s.Status.Patches)
	}
	w.wantState(before)
}

// everyRunSoaks checks that each run waits for the soak time, also if it has the same settings as
// the run before.
func everyRunSoaks(w *world) {
	const soak = 300 * time.Millisecond
	w.tune = func(o *Options) {
		o.Deadline = func([]tuning.Change) tuning.Deadline {
			return tuning.Deadline{Polls: 3, Soak: soak, Deadline: 10 * time.Second}
		}
	}
	w.restart()
	var last time.Time
	gaps := map[string]time.Duration{} // before each run except the first
	w.bench.set(func(b *bench) {
		b.holdIf = func(child *v1alpha1.CephBenchmark) bool {
			if began := w.begun(child); !last.IsZero() && gaps[child.Name] == 0 {
				gaps[child.Name] = began.Sub(last)
			}
			return false
		}
		b.speed = func(*v1alpha1.CephBenchmark) float64 { last = time.Now(); return 1000 }
	})
	s := w.create("s", profile)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.bench.set(func(*bench) { // This takes the lock that protects gaps.
		if len(gaps) < 5 {
			w.t.Fatalf("%d runs were seen to begin, at least 5 were expected", len(gaps))
		}
		for name, gap := range gaps {
			if gap < soak {
				w.t.Errorf("%s began %s after the run before: it did not soak for %s", name, gap, soak)
			}
		}
	})
}

func anOptionThatDoesNothing(w *world) {
	before := w.state()
	s := w.create("s", profile)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if s.Status.Verdict != v1alpha1.VerdictEquivalent {
		w.t.Errorf("verdict %s, want Equivalent: %s", s.Status.Verdict, s.Status.Summary)
	}
	w.wantState(before)
}

func aVerdictToFailOn(w *world) {
	before := w.state()
	s := w.create("s", profile+"failOn: [Equivalent, Inferior]\n")
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionStalled))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonFailedOnVerdict, "The verdict is Equivalent")
	if meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionComplete) != nil || s.Status.Verdict != v1alpha1.VerdictEquivalent {
		w.t.Errorf("verdict %s, conditions %+v; want it told, and not Complete", s.Status.Verdict, s.Status.Conditions)
	}
	w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonRestored, "")
	w.wantState(before)
	runs := len(s.Status.Trials)
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.FailOn = []v1alpha1.SweepVerdict{v1alpha1.VerdictInferior} })
	w.await(s, "accepted", conditionTrue(v1alpha1.ConditionReady))
	line, _, _ := strings.Cut(s.Status.Summary, "\n")
	w.wantSays(s, v1alpha1.ConditionComplete, metav1.ConditionTrue, v1alpha1.ReasonComplete, line)
	if meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionFailed) != nil || len(s.Status.Trials) != runs {
		w.t.Errorf("%d runs, conditions %+v; want %d runs, and not Failed", len(s.Status.Trials), s.Status.Conditions, runs)
	}
}

func aGridWithAnAxisOfTheLoad(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) {
		b.speed = func(child *v1alpha1.CephBenchmark) float64 {
			return 1000 * (1 + float64(child.Spec.Template.Phases[0].Fio.IODepth)/64)
		}
	})
	s := w.create("s", `
template:
  target: {existingPool: {name: open}}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, ioDepth: 16, ramp: 0s, duration: 30s}}
parameters:
- {name: profile, config: {option: osd_mclock_profile}, values: [high_client_ops]}
- {name: depth, workload: {phase: write, field: ioDepth}, values: ["16", "64"]}
objective: {phase: write, metric: IOPS}
strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3, seed: 11}
`)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if s.Status.Verdict != v1alpha1.VerdictSuperior || !strings.Contains(s.Status.Best, "depth=64") {
		w.t.Errorf("verdict %s on %s, want Superior with depth=64: %s", s.Status.Verdict, s.Status.Best, s.Status.Summary)
	}
	if text := fmt.Sprint(s.Status.Configurations); !strings.Contains(text, "profile=high_client_ops depth=16") {
		w.t.Errorf("configurations %s, want the whole grid", text)
	}
	w.wantState(before)
}

// scratchPGs varies the number of PGs of scratch pools.
const scratchPGs = `
template:
  target: {scratchPool: {replicated: {size: 3}}}
  dataset: {size: 64Mi}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}
parameters:
- {name: pg_num, poolOption: {option: pg_num, method: PoolPerValue}, values: ["8", "16"]}
baseline: {values: {pg_num: "8"}}
objective: {phase: write, metric: IOPS}
strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3, seed: 11}
`

func poolsOfTheirOwn(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) {
		b.speed = func(child *v1alpha1.CephBenchmark) float64 {
			pgs, err := strconv.ParseFloat(string(child.Spec.Template.Target.ScratchPool.Parameters["pg_num"]), 64)
			if err != nil || child.Spec.Template.Target.ScratchPool.Parameters["pg_autoscale_mode"] != "off" {
				w.t.Errorf("a benchmark has the pool %+v, want a number of PGs that stays", child.Spec.Template.Target.ScratchPool)
			}
			return 1000 + 50*pgs
		}
	})
	s := w.create("s", scratchPGs)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if s.Status.Best != "pg_num=16" || s.Status.Verdict != v1alpha1.VerdictSuperior {
		w.t.Errorf("verdict %s on %s, want Superior on pg_num=16: %s", s.Status.Verdict, s.Status.Best, s.Status.Summary)
	}
	for _, verb := range []string{"SetPoolOption", "UnsetPoolOption", "SetConfig", "RemoveConfig", "SetFlag"} {
		if calls := w.ceph.Calls(verb); len(calls) > 0 {
			w.t.Errorf("%s was asked of Ceph, want nothing but the balancer: %+v", verb, calls)
		}
	}
	if calls := w.ceph.Calls("SetBalancer"); len(calls) != 2 {
		w.t.Errorf("the balancer was told %+v, want off once and on once", calls)
	}
	w.wantState(before)
}

func configurations(w *world) {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.ConfigDump = []ceph.ConfigEntry{{Section: "osd", Name: "osd_client_message_cap", Value: "512", Runtime: true}}
	})
	before := w.state()
	mu := make(chan map[string]bool, 1)
	mu <- map[string]bool{}
	w.bench.set(func(b *bench) {
		b.speed = func(*v1alpha1.CephBenchmark) float64 {
			seen := <-mu
			profile, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile")
			messages, set := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_client_message_cap")
			seen[fmt.Sprintf("%s %s %t", profile, messages, set)] = true
			mu <- seen
			return 1000
		}
	})
	s := w.create("s", `
template:
  target: {existingPool: {name: open}}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}
parameters:
- {name: profile, config: {option: osd_mclock_profile}}
- {name: messages, config: {option: osd_client_message_cap}}
configurations:
- {name: as-shipped, values: {profile: Unset, messages: Unset}}
- {name: fast, values: {profile: high_client_ops, messages: "1024"}}
objective: {phase: write, metric: IOPS}
strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3, seed: 11}
`)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	seen := <-mu
	for _, want := range []string{" 512 true", "  false", "high_client_ops 1024 true"} {
		if !seen[want] || len(seen) != 3 {
			w.t.Errorf("Ceph had %v during runs, want %q among three", seen, want)
		}
	}
	if text := fmt.Sprint(s.Status.Configurations); !strings.Contains(text, "as-shipped") || !strings.Contains(text, "fast") {
		w.t.Errorf("configurations %s, want them by name", text)
	}
	w.wantState(before)
}

// pgsInPlace varies the number of PGs of an existing pool, up to the largest number that an
// autoscaler would accept.
const pgsInPlace = `
template:
  target: {existingPool: {name: open}}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}
parameters:
- {name: pg_num, poolOption: {option: pg_num, method: InPlace}, values: ["64"]}
objective: {phase: write, metric: IOPS}
strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3, seed: 12}
`

func inPlace(w *world) {
	w.ceph.Act(func(c *cephtest.Cluster) { c.Autoscaler = map[string]int{"open": 32} })
	before := w.state()
	w.bench.set(func(b *bench) {
		b.speed = func(*v1alpha1.CephBenchmark) float64 {
			pool := w.ceph.Pool("open")
			if pool.AutoscaleMode != "off" || pool.PGNum != pool.PGNumTarget {
				w.t.Errorf("a benchmark runs while pool open is %+v, want it still", pool)
			}
			return 1000 + 10*float64(pool.PGNum)
		}
	})
	s := w.create("s", pgsInPlace)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if s.Status.Best != "pg_num=64" || s.Status.Verdict != v1alpha1.VerdictSuperior {
		w.t.Errorf("verdict %s on %s, want Superior on pg_num=64: %s", s.Status.Verdict, s.Status.Best, s.Status.Summary)
	}
	if !strings.Contains(s.Status.Summary, "weaker than a random order") {
		w.t.Errorf("summary %q does not say that the design is the weaker one", s.Status.Summary)
	}
	w.wantState(before)
	if settled := exportertest.Counted(w.t, w.counted, metrics.Settle); settled < 2 || settled > float64(len(s.Status.Trials)) {
		w.t.Errorf("%v changes settled in %d runs", settled, len(s.Status.Trials))
	}
	calls := w.ceph.Calls("SetPoolOption")
	first, last := calls[0].Args, calls[len(calls)-1].Args
	if first != "open pg_autoscale_mode off" || last != "open pg_autoscale_mode on" {
		w.t.Errorf("pool open was told %q first and %q last, want the autoscaler off and on", first, last)
	}
}

func onlyAPlan(w *world) {
	before := w.state()
	s := w.create("s", strings.ReplaceAll(`
mode: Plan`+profile, "osd_mclock_profile", "osd_memory_target")) // The administrator has not allowed it.
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantSays(s, v1alpha1.ConditionComplete, metav1.ConditionTrue, v1alpha1.ReasonPlanned, "cannot be carried out")
	if plan := s.Status.Plan; plan == nil || plan.MinimumRuns == 0 || plan.EstimatedDuration == nil || len(plan.Refusals) == 0 || !strings.Contains(plan.Refusals[0], "osd_memory_target") {
		w.t.Errorf("plan %+v, want what it takes and what is not allowed", plan)
	}
	if n := len(w.children()); n > 0 {
		w.t.Errorf("%d benchmarks were begun, want none", n)
	}
	if calls := w.ceph.Calls("SetKey"); len(calls) > 0 {
		w.t.Errorf("the lock was taken: %+v", calls)
	}
	w.wantState(before)
}

func aNewRunIDAtWork(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) { b.hold = true })
	s := w.create("s", profile)
	old := w.awaitChild()
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.RunID = "2" })
	w.bench.set(func(b *bench) { b.hold = false })
	w.await(s, "complete", func(s *v1alpha1.CephTuningSweep) bool {
		return conditionTrue(v1alpha1.ConditionComplete)(s) && s.Status.ObservedRunID == "2"
	})
	for _, child := range w.children() {
		if child.Name == old.Name {
			w.t.Errorf("benchmark %s of the earlier run is still there", child.Name)
		}
	}
	w.awaitEvent(v1alpha1.ReasonRestoring, "before run 2 begins")
	w.wantState(before)
}

func aNewRunIDAfterTheEnd(w *world) {
	before := w.state()
	s := w.create("s", profile)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	began := s.Status.StartTime.DeepCopy()
	w.ahead.Add(int64(time.Minute))
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.HistoryLimit++ })
	w.await(s, "acknowledged", func(s *v1alpha1.CephTuningSweep) bool { return s.Status.ObservedGeneration == s.Generation })
	if !s.Status.StartTime.Equal(began) || !conditionTrue(v1alpha1.ConditionComplete)(s) {
		w.t.Error("a change that asks for no run has begun one")
	}
	old := w.children()
	w.change(s, func(s *v1alpha1.CephTuningSweep) {
		s.Spec.RunID = "2"
		s.Spec.Parameters[0].Values = []v1alpha1.ParameterValue{"high_recovery_ops"}
	})
	w.await(s, "complete again", func(s *v1alpha1.CephTuningSweep) bool {
		return conditionTrue(v1alpha1.ConditionComplete)(s) && s.Status.ObservedRunID == "2"
	})
	if compared := s.Status.Configurations[1].Name; s.Status.StartTime.Equal(began) || compared != "profile=high_recovery_ops" {
		w.t.Errorf("compared %s since %v, want another run", compared, s.Status.StartTime)
	}
	for _, child := range w.children() {
		if slices.ContainsFunc(old, func(b v1alpha1.CephBenchmark) bool { return b.UID == child.UID }) {
			w.t.Errorf("benchmark %s of the earlier run is still there", child.Name)
		}
	}
	w.wantState(before)
}

// resumedWithAnotherSpec checks a spec that admission would refuse within a run, and that gets in
// by changing the run ID and changing it back.
func resumedWithAnotherSpec(w *world) {
	before := w.state()
	s := w.inSecondTrial()
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.await(s, "suspended", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonSuspended)(s) && !conditionTrue(v1alpha1.ConditionReconciling)(s)
	})
	w.change(s, func(s *v1alpha1.CephTuningSweep) {
		s.Spec.RunID = "other"
		s.Spec.Parameters[0].Config.Option = "osd_client_message_cap"
		s.Spec.Parameters[0].Values = []v1alpha1.ParameterValue{"1"}
	})
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.RunID, s.Spec.Suspend = "1", false })
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonSpecChanged, "Change runID")
	w.wantNeverSent("osd_client_message_cap")
	w.wantState(before)
}

// anAdministratorWhoAllowsLess checks that values are checked again before each change, even though
// they were allowed when the sweep was planned.
func anAdministratorWhoAllowsLess(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) { b.hold = true })
	s := w.create("s", profileTemplate+`
parameters:
- {name: cap, config: {option: osd_client_message_cap}, values: ["64"]}
objective: {phase: write, metric: IOPS}
strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3, seed: 11}
`)
	w.awaitChild()
	w.stop()
	if _, set := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_client_message_cap"); set {
		w.t.Fatal("the first run is not the baseline's")
	}
	w.allowed = allowances()
	for i, option := range w.allowed.Clusters[0].Options {
		if option.Name == "osd_client_message_cap" {
			w.allowed.Clusters[0].Options[i].Min = "128"
		}
	}
	w.start()
	w.bench.set(func(b *bench) { b.hold = false })
	w.awaitAfterCrash(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotAllowed, "no less than 128")
	w.wantNeverSent("osd_client_message_cap")
	w.wantState(before)
}

func suspendedAndResumed(w *world) {
	before := w.state()
	s := w.inSecondTrial() // The first run of a block leaves no trace if it is interrupted.
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.await(s, "suspended", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonSuspended)(s) && !conditionTrue(v1alpha1.ConditionReconciling)(s)
	})
	w.wantState(before)
	w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonRestored, "")
	done := len(s.Status.Trials)
	if trialsThatAre(s, v1alpha1.TrialInterrupted) == 0 {
		w.t.Errorf("runs %v, want the block discarded", validities(s))
	}
	began := s.Status.StartTime.DeepCopy()
	w.goOn()
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if len(s.Status.Trials) <= done || !s.Status.StartTime.Equal(began) || s.Status.Verdict != v1alpha1.VerdictEquivalent {
		w.t.Errorf("verdict %s after %d runs since %v, want the sweep to go on after %d", s.Status.Verdict, len(s.Status.Trials), s.Status.StartTime, done)
	}
	w.wantState(before)
}

// The ledger does not record the interruption of a block's first run. So the next run has the same
// number, and the old benchmark must not be taken for it.
func suspendedInTheFirstRun(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) { b.hold = true })
	s := w.create("s", profile)
	old := w.awaitChild()
	// The old benchmark ends just when the sweep is suspended, so it is not entered.
	w.stop()
	w.bench.set(func(b *bench) { b.hold = false })
	for end := time.Now().Add(soon); w.bench.count() == 0 && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
	}
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.start()
	w.awaitAfterCrash(s, "suspended", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonSuspended)(s) && !conditionTrue(v1alpha1.ConditionReconciling)(s)
	})
	w.wantState(before)
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	for _, child := range w.children() {
		if child.UID == old.UID && trialsThatAre(s, v1alpha1.TrialInterrupted) == 0 {
			w.t.Errorf("the benchmark from before the suspension, %s, counts as a run after it: %v", old.Name, validities(s))
		}
	}
	w.wantState(before)
}

// A partly completed restore is no state to measure in.
func resumedWhileItPutsBack(w *world) {
	before := w.state()
	s := w.inMidRunOfPGs("")
	w.ceph.Act(func(c *cephtest.Cluster) { c.MaxPGs = 16 })
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.await(s, "refused", func(s *v1alpha1.CephTuningSweep) bool { return strings.Contains(messageOf(s), "ERANGE") })
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
	w.goOn()
	w.ceph.Act(func(c *cephtest.Cluster) { c.MaxPGs = 256 })
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if trialsThatAre(s, v1alpha1.TrialInterrupted) == 0 || trialsThatAre(s, v1alpha1.TrialChanged) > 0 {
		w.t.Errorf("runs %v, want the block discarded, and none Changed", validities(s))
	}
	w.wantState(before)
}

func resumedBeforeItsBenchmarkGoes(w *world) {
	before := w.state()
	s := w.inMidRun()
	child := w.awaitChild()
	w.keep(child, reconcile.CleanupFinalizer)
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.await(s, "waiting for its benchmark", waitsForBenchmark)
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
	// By now a pass has handled the suspension.
	w.await(s, "looked at", func(s *v1alpha1.CephTuningSweep) bool { return s.Status.ObservedGeneration == s.Generation })
	if now, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile"); now == "" {
		w.t.Error("settings were put back under a benchmark that had no time to end")
	}
	w.goOn()
	w.keep(child)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if trialsThatAre(s, v1alpha1.TrialInterrupted) == 0 {
		w.t.Errorf("runs %v, want the block discarded", validities(s))
	}
	w.wantState(before)
}

// No setting of Ceph has to be changed, and the sweep must not wait for a change.
func nothingIsHeldStill(w *world) {
	w.ceph.Act(func(c *cephtest.Cluster) { c.Answers.Balancer.Active = false })
	before := w.state()
	s := w.create("s", scratchPGs)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if restored := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRestored); restored != nil {
		w.t.Errorf("Restored is %+v, and nothing was changed", restored)
	}
	w.wantState(before)
}

func suspendedFromTheBeginning(w *world) {
	s := w.create("s", "suspend: true\n"+profile)
	w.await(s, "suspended", hasReason(v1alpha1.ReasonSuspended))
	if len(w.children()) > 0 || s.Status.Plan != nil {
		w.t.Errorf("plan %+v and %d benchmarks, want nothing", s.Status.Plan, len(w.children()))
	}
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
}

// inWindow returns a spec with a window between two times, relative to now.
func (w *world) inWindow(spec string, opens, closes time.Duration) string {
	clock := func(d time.Duration) string { return w.now().Add(d).UTC().Format("15:04") }
	return fmt.Sprintf("maintenanceWindow: {start: %q, end: %q, timeZone: UTC}\n%s", clock(opens), clock(closes), spec)
}

func theWindowIsClosed(w *world) {
	before := w.state()
	s := w.create("s", w.inWindow(profile, 2*time.Hour, 6*time.Hour))
	w.await(s, "waiting", hasReason(v1alpha1.ReasonWaitingForWindow))
	if len(w.children()) > 0 {
		w.t.Error("a benchmark was begun outside of the window")
	}
	w.wantState(before)
	w.advance(s, 2*time.Hour+time.Minute)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
}

func theWindowCloses(w *world) {
	before := w.state()
	s := w.create("s", w.inWindow(profile, -2*time.Hour, 2*time.Hour))
	w.await(s, "in the middle of a block", func(s *v1alpha1.CephTuningSweep) bool { return len(s.Status.Trials) >= 1 })
	w.bench.set(func(b *bench) { b.hold = true })
	w.awaitChild()
	w.advance(s, 2*time.Hour+time.Minute)
	// The current run ends first.
	time.Sleep(300 * time.Millisecond)
	w.awaitChild()
	w.bench.set(func(b *bench) { b.hold = false })
	w.await(s, "waiting", hasReason(v1alpha1.ReasonWaitingForWindow))
	w.wantState(before)
	if trialsThatAre(s, v1alpha1.TrialInterrupted) == 0 && len(s.Status.Trials)%2 != 0 {
		w.t.Errorf("runs %v, want the block discarded", validities(s))
	}
	w.advance(s, 20*time.Hour)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if s.Status.Verdict != v1alpha1.VerdictEquivalent {
		w.t.Errorf("verdict %s: %s", s.Status.Verdict, s.Status.Summary)
	}
	w.wantState(before)
}

func nodesAndDataStay(w *world) {
	w.bench.set(func(b *bench) { b.hold = true })
	s := w.create("s", strings.Replace(profile, "engine: RADOS, ", "", 1))
	first := w.awaitChild()
	before := first.DeepCopy()
	first.Status.Clients = &v1alpha1.BenchmarkClients{JobUID: "job"}
	if err := w.Status().Patch(w.t.Context(), first, client.MergeFrom(before)); err != nil {
		w.t.Fatal(err)
	}
	w.clientOn("node-6", first, "another-job") // A stranger's pod can have the same labels and annotations.
	w.clientOn("node-7", first, "job")
	w.await(s, "pinned to the node", func(s *v1alpha1.CephTuningSweep) bool {
		return len(nodesOfRun(s)) > 0
	})
	// There is less room now. The size of the data must not depend on it any more.
	w.ceph.Change(func(a *cephtest.Answers) { a.DF.AvailableBytes /= 8 })
	w.bench.set(func(b *bench) { b.hold = false })
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	for _, child := range w.children() {
		nodes, size := child.Spec.Template.Clients.Nodes, child.Spec.Template.Dataset.Size
		if child.Name != first.Name && !slices.Equal(nodes, []v1alpha1.NodeName{"node-7"}) {
			w.t.Errorf("benchmark %s is for the nodes %v, want node-7", child.Name, nodes)
		}
		if size == sizeAuto || string(size) != s.Status.Plan.DatasetSize.String() {
			w.t.Errorf("benchmark %s prefills %s, want what the plan says: %v", child.Name, size, s.Status.Plan.DatasetSize)
		}
	}
}

// clientOn creates a running pod on a node, which looks like a client of a benchmark and belongs to a Job.
func (w *world) clientOn(node string, b *v1alpha1.CephBenchmark, job types.UID) {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: w.namespace, Name: "client-on-" + node,
			Labels:          map[string]string{settings.LabelManagedBy: settings.ManagedBy, settings.LabelComponent: settings.ComponentBenchmark},
			Annotations:     map[string]string{settings.AnnotationBenchmark: b.Name},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: "j", UID: job, Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}
	if err := w.Create(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
	pod.Status.Phase = corev1.PodRunning
	if err := w.Status().Update(w.t.Context(), pod); err != nil {
		w.t.Fatal(err)
	}
}

func oldBenchmarksAreRemoved(w *world) {
	s := w.create("s", "historyLimit: 2\n"+profile)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if left := len(w.children()); left != 2 || len(s.Status.Trials) < 6 {
		w.t.Errorf("%d benchmarks of %d runs are left, want 2", left, len(s.Status.Trials))
	}
}

func aNamesakeOfAnOldBenchmark(w *world) {
	second := func(b *v1alpha1.CephBenchmark) bool { return strings.HasSuffix(b.Name, "-002") }
	w.bench.set(func(b *bench) { b.holdIf = second })
	s := w.create("s", "historyLimit: 1\n"+profile)
	w.await(s, "in its second run", func(s *v1alpha1.CephTuningSweep) bool { return len(s.Status.Trials) == 1 })
	var namesake *v1alpha1.CephBenchmark
	for _, child := range w.children() {
		if second(&child) {
			continue
		}
		if err := w.Delete(w.t.Context(), &child); err != nil {
			w.t.Fatal(err)
		}
		namesake = &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: child.Namespace, Name: child.Name}, Spec: child.Spec}
	}
	for end := time.Now().Add(soon); ; time.Sleep(20 * time.Millisecond) {
		err := w.Create(w.t.Context(), namesake)
		if err == nil {
			break
		}
		if !apierrors.IsAlreadyExists(err) || time.Now().After(end) {
			w.t.Fatal(err)
		}
	}
	w.bench.set(func(b *bench) { b.holdIf = nil })
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(namesake), namesake); err != nil {
		w.t.Errorf("the namesake: %v", err)
	}
}

func whatWasWritten(w *world) {
	w.bench.set(func(b *bench) {
		b.keep = func(child *v1alpha1.CephBenchmark) string {
			began := w.now().Add(-time.Minute)
			written := &result.Result{
				SchemaVersion: result.SchemaVersion, Clients: 1, Source: result.Source{Tool: "fio", Format: "json"},
				Write: &result.Direction{Operations: 512, Bytes: 512 << 20, Seconds: 30, ShortestSeconds: 30},
			}
			child.Status.StartTime = &metav1.Time{Time: began}
			cm, err := archive.ConfigMap(child, &archive.Run{
				SchemaVersion: archive.SchemaVersion, Number: 1, State: v1alpha1.RunValid, StartTime: began, EndTime: w.now(),
				Phases: []archive.Phase{{Name: "write", StartTime: &began, Clients: []task.Report{{
					Status: task.Status{ID: "t", State: task.Done}, Result: written,
				}}}},
			})
			if err == nil {
				err = w.Create(w.t.Context(), cm)
			}
			if err != nil {
				if w.t.Context().Err() == nil {
					w.t.Errorf("keep the results of %s: %v", child.Name, err)
				}
				return ""
			}
			return cm.Name
		}
	})
	s := w.create("s", strings.Replace(profile, "  phases:", "  dataset: {size: 64Mi}\n  phases:", 1))
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	for _, trial := range s.Status.Trials {
		if trial.WrittenMebibytes != 576 || trial.State != v1alpha1.TrialValid {
			w.t.Errorf("trial %+v, want it valid, with 576 MiB", trial)
		}
	}
}

// kubectl wait, Flux and Argo CD rely on these conditions: only one state at a time, and always for
// the current spec.
func conditionsOnTheWay(w *world) {
	w.bench.set(func(b *bench) { b.speed, b.hold = w.faster(), true })
	s := w.create("s", profile)
	w.awaitChild()
	w.ahead.Add(int64(2 * reconcile.MessageInterval))
	w.await(s, "measuring", func(s *v1alpha1.CephTuningSweep) bool {
		return s.Status.Progress != nil && s.Status.Progress.Step == "run 1, baseline: measuring"
	})
	w.goOn()
	w.await(s, "complete", func(s *v1alpha1.CephTuningSweep) bool {
		if len(s.Status.Conditions) == 0 {
			return false
		}
		if err := sensible(s); err != nil {
			w.t.Error(err)
		}
		return conditionTrue(v1alpha1.ConditionComplete)(s) && conditionTrue(v1alpha1.ConditionReady)(s)
	})
	if s.Status.Progress.Step != "" || s.Status.CompletionTime == nil {
		w.t.Errorf("progress %+v, completed %v, want nothing to go on", s.Status.Progress, s.Status.CompletionTime)
	}
	text, err := json.Marshal(s.Status)
	if w.t.Logf("status has %d bytes after %d runs", len(text), len(s.Status.Trials)); err != nil || len(text) > 128<<10 {
		w.t.Errorf("%d bytes of status, %v", len(text), err)
	}
	w.awaitEvent("BlockAccepted", "")
	w.awaitEvent(v1alpha1.ReasonRunning, "Run 1: baseline")
	w.awaitEvent(v1alpha1.ReasonRestoring, "")
	w.awaitEvent(v1alpha1.ReasonComplete, "high_client_ops")
}

// sensible returns an error if conditions contradict each other.
func sensible(s *v1alpha1.CephTuningSweep) error {
	holds := func(kind string) bool { return meta.IsStatusConditionTrue(s.Status.Conditions, kind) }
	var states []string
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionReconciling, v1alpha1.ConditionStalled} {
		if holds(kind) {
			states = append(states, kind)
		}
	}
	if len(states) != 1 {
		return fmt.Errorf("it is %v, want one of Ready, Reconciling and Stalled", states)
	}
	if holds(v1alpha1.ConditionComplete) && holds(v1alpha1.ConditionReconciling) {
		return errors.New("it is complete and still reconciles")
	}
	if s.Status.ObservedGeneration != s.Generation {
		return fmt.Errorf("generation %d, want %d", s.Status.ObservedGeneration, s.Generation)
	}
	return nil
}

// In a namespace where benchmarks may not run, the sweep changes nothing.
func inANamespaceThatIsNoneOfBenchmarks(w *world) {
	before := w.state()
	giveBack := rights.Take(w.t, w.Client, w.server, w.namespace)
	s := w.create("s", profile)
	w.await(s, "stalled", conditionTrue(v1alpha1.ConditionStalled))
	w.wantSays(s, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNotAllowed, "config/bench")
	if len(s.Finalizers) > 0 {
		w.t.Errorf("finalizers %q", s.Finalizers)
	}
	w.wantState(before)
	giveBack()
	w.advance(s, 0)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
}

func onAClaimWithData(w *world) {
	before, device := w.state(), corev1.PersistentVolumeBlock
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			VolumeMode: &device, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	if err := w.Create(w.t.Context(), claim); err != nil {
		w.t.Fatal(err)
	}
	spec := strings.NewReplacer("existingPool: {name: open}", "persistentVolumeClaim: {claimName: data}", "RADOS", "LibAIO").Replace(profile)
	s := w.create("s", spec)
	w.await(s, "stalled", conditionTrue(v1alpha1.ConditionStalled))
	w.wantSays(s, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNotAllowed, "kubectl annotate pvc data")
	w.wantState(before)
}

// doubtful fails the first time.
type doubtful struct {
	Namespaces

	asked atomic.Int32
}

func (d *doubtful) Refusal(ctx context.Context, namespace string) (string, error) {
	if d.asked.Add(1) == 1 {
		return "", errors.New("the API server is overloaded")
	}
	return d.Namespaces.Refusal(ctx, namespace)
}

func inANamespaceThatCannotBeAskedAbout(w *world) {
	before := w.state()
	rights.Take(w.t, w.Client, w.server, w.namespace)
	w.stop()
	w.tune = func(o *Options) { o.Namespaces = &doubtful{Namespaces: o.Namespaces} }
	w.start()
	s := w.create("s", profile)
	w.await(s, "stalled", conditionTrue(v1alpha1.ConditionStalled))
	w.wantSays(s, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNotAllowed, "config/bench")
	if len(s.Finalizers) > 0 || s.Status.StartTime != nil {
		w.t.Errorf("it was begun: finalizers %q, from %v", s.Finalizers, s.Status.StartTime)
	}
	w.wantState(before)
}

// If it began later, it would run at the same time as another benchmark, under the lock of the same
// sweep.
func aBenchmarkThatMayNotBegin(w *world) {
	before := w.state()
	first := ""
	w.bench.set(func(b *bench) {
		b.stall = func(child *v1alpha1.CephBenchmark) bool {
			first = cmp.Or(first, child.Name)
			return child.Name == first
		}
	})
	s := w.create("s", profile)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	for _, child := range w.children() {
		if child.Name == first {
			w.t.Errorf("benchmark %s is still there: %+v", first, child.Status.Conditions)
		}
	}
	if n := trialsThatAre(s, v1alpha1.TrialFailed); n != 1 {
		w.t.Errorf("%d runs failed, want that one: %q", n, validities(s))
	}
	w.wantState(before)
}

func withoutATuner(w *world) {
	w.stop()
	w.allowed.Clusters[0].Identities.Tuner = ""
	w.start()
	before := w.state()
	refused := w.create("refused", profile)
	w.await(refused, "stalled", conditionTrue(v1alpha1.ConditionStalled))
	w.wantSays(refused, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNotAllowed, "identities.tuner")
	s := w.create("s", scratchPGs)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
	if calls := w.ceph.Calls("SetBalancer"); len(calls) > 0 {
		w.t.Errorf("the balancer was told %+v, by whom?", calls)
	}
}

func scrubsArePaused(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) {
		b.speed = func(child *v1alpha1.CephBenchmark) float64 {
			if state := w.state(); !strings.Contains(state, "balancer false, flags [noscrub nodeep-scrub]") || child.Spec.Quiescence.Scrub != v1alpha1.ScrubRecord {
				w.t.Errorf("a benchmark with quiescence %+v runs while Ceph is\n%s", child.Spec.Quiescence, state)
			}
			return 1000
		}
	})
	s := w.create("s", scratchPGs+"quiescence: {scrub: Pause}\n")
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
}
