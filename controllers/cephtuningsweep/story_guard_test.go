package cephtuningsweep

import (
	"strings"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/settings"
)

func guardStories() map[string]story {
	return map[string]story{
		"users of the cluster suffer":                      usersSuffer,
		"the cluster has errors after a change":            errorsAfterAChange,
		"PGs stay inactive after a change":                 pgsStayInactive,
		"PGs agree anew, one after another":                pgsPeerInTurn,
		"a run has no room":                                aRunHasNoRoom,
		"too many runs fail":                               tooManyRunsFail,
		"the cluster does not settle in time":              theClusterDoesNotSettle,
		"a budget that is too small is refused":            theBudgetIsTooSmall,
		"an unhealthy cluster is waited for":               anUnhealthyClusterIsWaitedFor,
		"an unhealthy cluster is not waited for endlessly": anUnhealthyClusterStaysSo,
		"a cluster that is not there is waited for":        aClusterThatIsNotThere,
		"options that cannot be varied are named":          optionsThatCannotBeVaried,
		"caps that the key lacks are named":                capsThatTheKeyLacks,
	}
}

func usersSuffer(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) { b.hold = true })
	s := w.create("s", profile+"guardrails: {foreignClients: [{pool: open, metric: OSDLatency, atMost: 50ms}]}\n")
	w.awaitChild()
	w.ceph.Change(func(a *cephtest.Answers) {
		a.OSDPerf = []ceph.OSDLatency{{ID: 0, CommitSeconds: 0.002}, {ID: 1, CommitSeconds: 0.9}}
	})
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonGuardrailBroken, "OSDLatency of pool open is 900")
	if left := running(w.children()); len(left) > 0 {
		w.t.Errorf("benchmark %s still runs", left[0].Name)
	}
	if !conditionTrue(v1alpha1.ConditionStalled)(s) {
		w.t.Errorf("conditions %+v, want it Stalled", s.Status.Conditions)
	}
	w.wantState(before)
}

func errorsAfterAChange(w *world) {
	before := w.state()
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.After = func(verb string) error {
			if verb == "SetConfig" {
				w.ceph.Change(func(a *cephtest.Answers) {
					a.Status.Health = ceph.Health{Status: "HEALTH_ERR", Checks: []ceph.HealthCheck{
						{Code: "PG_DAMAGED", Severity: "HEALTH_ERR", Summary: "1 pg inconsistent"},
					}}
				})
			}
			return nil
		}
	})
	s := w.create("s", profile)
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonClusterUnhealthy, "PG_DAMAGED (1 pg inconsistent)")
	if len(s.Status.Trials) > 1 {
		w.t.Errorf("runs %v, want none with the change", validities(s))
	}
	w.wantState(before)
}

// inactiveSince makes a PG inactive from the first change of a setting on. It returns the sweep
// that makes the change.
func (w *world) inactiveSince(state string) *v1alpha1.CephTuningSweep {
	w.t.Helper()
	var changed atomic.Bool
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.After = func(verb string) error {
			if verb == "SetConfig" && changed.CompareAndSwap(false, true) {
				w.inactive("1.3", state)
			}
			if verb == "RemoveConfig" {
				w.inactive("", "")
			}
			return nil
		}
	})
	s := w.create("s", profile+"guardrails: {settleTimeout: 30m}\n")
	w.awaitCalls(s, "PGs", 2)
	return s
}

// inactive makes one PG inactive, or none for "".
func (w *world) inactive(pg, state string) {
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Inactive = nil
		if pg != "" {
			c.Inactive = map[string]string{pg: state}
		}
	})
}

func pgsStayInactive(w *world) {
	before := w.state()
	s := w.inactiveSince("down")
	looks := 0
	w.await(s, "failed", func(s *v1alpha1.CephTuningSweep) bool {
		if now := len(w.ceph.Calls("PGs")); now > looks { // The steps are small, so that samples have no long gaps.
			looks = now
			w.ahead.Add(int64(9 * time.Second))
		}
		return conditionTrue(v1alpha1.ConditionFailed)(s)
	})
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonClusterUnhealthy, "have been inactive for more than 20s, so clients wait: 1.3 (down)")
	w.wantState(before)
}

func pgsPeerInTurn(w *world) {
	before := w.state()
	s := w.inactiveSince("peering")
	for _, pg := range []string{"1.4", "1.5", "1.6", "1.7"} {
		w.advance(s, 9*time.Second)
		w.inactive(pg, "peering")
		w.awaitCalls(s, "PGs", 2)
	}
	w.inactive("", "")
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
}

// Without the runs that filled the cluster, configurations that write less would look better.
func aRunHasNoRoom(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) {
		b.endsAs = v1alpha1.ReasonOutOfRoom
		b.spoil = func(*v1alpha1.CephBenchmark) *v1alpha1.BenchmarkRun {
			return &v1alpha1.BenchmarkRun{Number: 1, State: v1alpha1.RunFailed, Reason: "Task r1-write may write 5Gi"}
		}
	})
	s := w.create("s", profile)
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonOutOfRoom, "Run 1, baseline: Task r1-write may write 5Gi")
	if s.Status.Verdict != "" {
		w.t.Errorf("the verdict is %s", s.Status.Verdict)
	}
	w.wantState(before)
}

func tooManyRunsFail(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) {
		b.spoil = func(*v1alpha1.CephBenchmark) *v1alpha1.BenchmarkRun {
			return &v1alpha1.BenchmarkRun{Number: 1, State: v1alpha1.RunFailed, Reason: "fio was killed"}
		}
	})
	s := w.create("s", profile+"guardrails: {maxFailedRuns: 2}\n")
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if trialsThatAre(s, v1alpha1.TrialFailed) != 3 || s.Status.Verdict != v1alpha1.VerdictInvalid || !strings.Contains(s.Status.Summary, "failed") {
		w.t.Errorf("verdict %s after %v: %s", s.Status.Verdict, validities(s), s.Status.Summary)
	}
	w.awaitEvent("TrialInvalid", "fio was killed")
	w.awaitCounted(3, metrics.InvalidRuns, "CephTuningSweep", "Failed")
	w.awaitCounted(1, metrics.Restores, v1alpha1.ReasonRestored)
	w.wantState(before)
}

func theClusterDoesNotSettle(w *world) {
	before := w.state()
	w.ceph.Act(func(c *cephtest.Cluster) { c.PGStep = 0 })
	s := w.create("s", pgsInPlace)
	w.await(s, "settling", func(s *v1alpha1.CephTuningSweep) bool {
		return hasReason(v1alpha1.ReasonSettling)(s) && w.ceph.Pool("open").PGNumTarget == 64
	})
	time.Sleep(500 * time.Millisecond)
	w.ahead.Add(int64(11 * time.Second))
	w.await(s, "failed in a run", func(s *v1alpha1.CephTuningSweep) bool { return trialsThatAre(s, v1alpha1.TrialFailed) > 0 })
	w.ceph.Act(func(c *cephtest.Cluster) { c.PGStep = 8 })
	w.awaitEvent("TrialInvalid", "not settled within 10s")
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if s.Status.Verdict != v1alpha1.VerdictEquivalent {
		w.t.Errorf("verdict %s: %s", s.Status.Verdict, s.Status.Summary)
	}
	w.wantState(before)
}

func theBudgetIsTooSmall(w *world) {
	before := w.state()
	s := w.create("s", profile+"budget: {duration: 10m}\n")
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotPossible, "budget.duration 10m")
	w.wantUntouched(before)
}

// wantUntouched checks that nothing was changed or created.
func (w *world) wantUntouched(before string) {
	w.t.Helper()
	for _, verb := range []string{"SetBalancer", "SetConfig", "RemoveConfig", "SetPoolOption", "UnsetPoolOption", "SetFlag"} {
		if calls := w.ceph.Calls(verb); len(calls) > 0 {
			w.t.Errorf("%s was asked of Ceph: %+v", verb, calls)
		}
	}
	if n := len(w.children()); n > 0 {
		w.t.Errorf("%d benchmarks were begun, want none", n)
	}
	w.wantState(before)
}

// warn lets Ceph report a warning, or none for "".
func (w *world) warn(code string) {
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Status.Health = ceph.Health{Status: "HEALTH_OK"}
		if code != "" {
			a.Status.Health = ceph.Health{Status: "HEALTH_WARN", Checks: []ceph.HealthCheck{{Code: code, Severity: "HEALTH_WARN", Summary: "some"}}}
		}
	})
}

func anUnhealthyClusterIsWaitedFor(w *world) {
	before := w.state()
	w.warn("SLOW_OPS")
	s := w.create("s", profile)
	w.await(s, "waiting", hasReason(v1alpha1.ReasonWaitingForQuiescence))
	if !strings.Contains(messageOf(s), "SLOW_OPS") {
		w.t.Errorf("it says %q, want what it waits for", messageOf(s))
	}
	w.wantUntouched(strings.Replace(before, "keys map[]", w.keys(), 1))
	w.warn("")
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
}

// keys returns the part of the state about Ceph's keys.
func (w *world) keys() string {
	_, keys, _ := strings.Cut(w.state(), "keys ")
	return "keys " + keys
}

func anUnhealthyClusterStaysSo(w *world) {
	before := w.state()
	w.warn("SLOW_OPS")
	s := w.create("s", profile+"quiescence: {timeout: 30m}\n")
	w.await(s, "waiting", hasReason(v1alpha1.ReasonWaitingForQuiescence))
	w.advance(s, 31*time.Minute)
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonWaitingForQuiescence, "SLOW_OPS")
	w.wantUntouched(before)
}

func aClusterThatIsNotThere(w *world) {
	before := w.state()
	w.rook.set(func(f *fakeRook) { f.clusterIs = &missing{} })
	s := w.create("s", profile)
	w.await(s, "waiting", hasReason(v1alpha1.ReasonClusterUnreachable))
	w.rook.set(func(f *fakeRook) { f.clusterIs = nil })
	w.advance(s, time.Second)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
}

// missing is Rook's error for a CephCluster that does not exist.
type missing struct{}

// Error implements error.
func (*missing) Error() string { return "there is no CephCluster rook-ceph/my-cluster" }

// capsThatTheKeyLacks checks that missing caps are noticed: before any change if the CephClient
// shows its caps, otherwise when Ceph refuses the first change.
func capsThatTheKeyLacks(w *world) {
	before := w.state()
	const lacks = `allow command "config set" with who=osd name=osd_mclock_profile`
	w.rook.set(func(f *fakeRook) {
		f.monCaps = `allow r, allow command "config set" with who=osd name=osd_client_message_cap`
	})
	planned := w.create("planned", "mode: Plan\n"+profile)
	w.await(planned, "planned", conditionTrue(v1alpha1.ConditionComplete))
	w.wantSays(planned, v1alpha1.ConditionComplete, metav1.ConditionTrue, v1alpha1.ReasonPlanned, lacks)
	refused := w.create("refused", profile)
	w.await(refused, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(refused, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotPossible, lacks)
	w.wantUntouched(before)

	w.rook.set(func(f *fakeRook) { f.monCaps = "" })
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Before = func(verb string) error {
			if verb == "SetConfig" {
				return &ceph.Error{Verb: "config set", Errno: 13, Message: "Error EACCES: access denied"}
			}
			return nil
		}
	})
	denied := w.create("denied", profile)
	w.await(denied, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(denied, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotAllowed, lacks)
	w.wantSays(denied, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonRestored, "at its original value")
	w.wantState(before)
}

func optionsThatCannotBeVaried(w *world) {
	w.stop()
	for _, option := range []string{"osd_nonsense", "osd_op_num_shards"} {
		w.allowed.Clusters[0].Options = append(w.allowed.Clusters[0].Options, settings.Option{Name: option})
	}
	w.start()
	before := w.state()
	vary := func(option, value string) string {
		return strings.Replace(profile, "{option: osd_mclock_profile}, values: [high_client_ops]", "{option: "+option+`}, values: ["`+value+`"]`, 1)
	}
	for name, refused := range map[string]struct{ spec, message string }{
		"not-allowed":   {vary("osd_memory_target", "8G"), "osd osd_memory_target: add it to the options"},
		"unknown":       {vary("osd_nonsense", "1"), "no option osd_nonsense"},
		"misspelled":    {vary("osd_mclock_profil", "balanced"), "no option osd_mclock_profil: did you mean osd_mclock_profile?"},
		"out-of-bounds": {vary("osd_client_message_cap", "8"), "no less than 16"},
		"not-a-value":   {vary("osd_mclock_profile", "fast"), "balanced, high_recovery_ops"},
		"restart":       {vary("osd_op_num_shards", "4"), "osd_op_num_shards only when they start"},
		"pool":          {strings.Replace(pgsInPlace, `"64"`, `"256"`, 1), "no more than 128"},
	} {
		s := w.create(name, refused.spec)
		w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
		w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotPossible, refused.message)
	}
	w.wantUntouched(before)
}
