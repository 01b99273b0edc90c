package cephtuningsweep

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// hastenedWindow is how long a setting stays in a hastened session.
const hastenedWindow = session.DefaultWindow / 20

// switchedSpec is a sweep that switches a setting under one running load.
const switchedSpec = `
template:
  target: {existingPool: {name: open}}
  phases:
  - {name: write, radosBench: {mode: Write, blockSize: 16Ki, concurrency: 16, ramp: 0s, duration: 30s}}
parameters:
- {name: cap, config: {option: osd_client_message_cap}, values: ["16"]}
baseline: {values: {cap: "256"}}
objective: {phase: write, metric: IOPS}
strategy: {design: Interleaved, interleaved: {sessions: 1}, seed: 11}
`

func sessionStories() map[string]story {
	return map[string]story{
		"a slower setting is found in one session": func(w *world) {
			before := w.state()
			s := w.create("quick", switchedSpec)
			w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
			w.wantState(before)
			if s.Status.Verdict != v1alpha1.VerdictInferior || s.Status.Scope != v1alpha1.ScopeWindows || w.sessions(s).Short != 1 {
				w.t.Errorf("verdict %s, %s, sessions %q: %s", s.Status.Verdict, s.Status.Scope, validities(s), s.Status.Summary)
			}
			w.wantComparison(s, 4)
			if s.Status.Best != sweep.BaselineName || s.Status.Effect != "" {
				w.t.Errorf("best %s %s", s.Status.Best, s.Status.Effect)
			}
			w.wantSays(s, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonRestored, "")
			if n := len(w.children()); n != 0 {
				w.t.Errorf("%d benchmarks are left", n)
			}
			w.wantReplayed(s, 1)
		},
		"a session writes little, however many windows it has": writesOfASession,
		"windows of earlier runs are removed":                  windowsOfEarlierRuns,
		"windows have no room":                                 windowsInTheWay,
		"a quota forbids windows":                              windowsForbidden,
		"options that may not be switched are refused": func(w *world) {
			other := w.create("other", strings.NewReplacer("osd_client_message_cap", "osd_mclock_profile", `"16"`, "high_client_ops", `"256"`, "balanced").Replace(switchedSpec))
			w.await(other, "failed", conditionTrue(v1alpha1.ConditionFailed))
			w.wantSays(other, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotPossible, "Option osd_mclock_profile may not be switched under a load")
		},
		"settings are switched where that is possible": func(w *world) {
			s := w.create("auto", strings.Replace(switchedSpec, "design: Interleaved, ", "", 1))
			other := w.create("blocks", strings.NewReplacer("design: Interleaved, ", "", "osd_client_message_cap", "osd_mclock_profile", `"16"`, "high_client_ops", `"256"`, "balanced").Replace(switchedSpec))
			planned := func(s *v1alpha1.CephTuningSweep) bool { return s.Status.Plan != nil }
			w.await(s, "planned", planned)
			w.await(other, "planned", planned)
			if p := s.Status.Plan; p.Design != v1alpha1.DesignInterleaved || p.DesignReason != "" {
				w.t.Errorf("design %s, %q", p.Design, p.DesignReason)
			}
			if p := other.Status.Plan; p.Design != v1alpha1.DesignBlocks || p.DesignReason != "Option osd_mclock_profile may not be switched under a load." {
				w.t.Errorf("design %s, %q", p.Design, p.DesignReason)
			}
		},
		"killed between two switches":              func(w *world) { w.killedInSession(w.restart) },
		"killed after a switch":                    func(w *world) { w.killedInSession(func() { w.killAt(tuning.StepChanged); w.awaitDeath() }) },
		"deleted in mid-session":                   deletedInMidSession,
		"suspended in mid-session":                 suspendedInMidSession,
		"somebody changes the option":              foreignChangeInMidSession,
		"the answer to a switch is lost":           lostAnswerInMidSession,
		"clients do not answer":                    clientsLostInMidSession,
		"two candidates, in sessions of their own": twoSwitchedCandidates,
		"two candidates, in one session":           twoCandidatesInOneSession,
		"long windows decide":                      longWindowsDecide,
		"sessions of several days":                 dailySessions,
		"a constraint rules a gain out":            constraintInSession,
		"data is recovered in mid-session":         recoveryInMidSession,
		"a gain on a host at its limit":            gainOnABusyHost,
		"a rate that the baseline misses":          rateThatIsTooHigh,
		"a plan while another sweep switches":      planWhileAnotherSwitches,
	}
}

// inSession returns a sweep that has switched the option.
func (w *world) inSession() *v1alpha1.CephTuningSweep {
	w.t.Helper()
	s := w.create("quick", switchedSpec)
	w.awaitSwitched(s)
	return s
}

// awaitSwitched waits until the option was switched under a running load.
func (w *world) awaitSwitched(s *v1alpha1.CephTuningSweep) {
	w.t.Helper()
	count := -1
	w.await(s, "switched under a load", func(*v1alpha1.CephTuningSweep) bool {
		w.load.mu.Lock()
		defer w.load.mu.Unlock()
		switch {
		case len(w.load.rows) == 0 || len(w.childrenOfSessions()) == 0:
			return false
		case count < 0:
			count = len(w.ceph.Calls("SetConfig"))
		}
		return len(w.ceph.Calls("SetConfig")) >= count+2
	})
}

func (w *world) childrenOfSessions() (sessions []v1alpha1.CephBenchmark) {
	for _, child := range w.children() {
		if child.Labels[sweepspec.LabelSession] != "" && child.DeletionTimestamp.IsZero() {
			sessions = append(sessions, child)
		}
	}
	return sessions
}

// wantComparison checks that the first trial compares configuration 1, which has 0.3 times the rate of the baseline, in
// a number of blocks.
func (w *world) wantComparison(s *v1alpha1.CephTuningSweep, blocks int32) {
	w.t.Helper()
	first := s.Status.Trials[0]
	if len(first.Comparisons) == 0 {
		w.t.Fatalf("trial %+v has no comparisons", first)
	}
	got := first.Comparisons[0]
	ratio, err := figure.ParseDecimal(got.Ratio)
	if err != nil || ratio < 0.27 || ratio > 0.31 || got.Configuration != 1 || got.Blocks != blocks || got.Randomization == nil {
		w.t.Errorf("comparison %+v, %v, want about 0.3 in %d blocks", got, err, blocks)
	}
}

// wantDrawnAgain checks that one session was invalid, and that its replacement is valid. The
// confidence of the verdict depends on how busy the machine is, so only a gain would be wrong.
func (w *world) wantDrawnAgain(s *v1alpha1.CephTuningSweep, before string, invalid v1alpha1.TrialReason) {
	w.t.Helper()
	w.awaitAfterCrash(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
	if trialsThatAre(s, invalid) != 1 || w.sessions(s).Short != 1 ||
		(s.Status.Verdict != v1alpha1.VerdictInferior && s.Status.Verdict != v1alpha1.VerdictInconclusive) {
		w.t.Errorf("sessions %q, verdict %s, want one that is %s and then one that is valid", validities(s), s.Status.Verdict, invalid)
	}
	if left := w.childrenOfSessions(); len(left) > 0 {
		w.t.Errorf("benchmark %s is left", left[0].Name)
	}
}

func (w *world) killedInSession(kill func()) {
	before := w.state()
	s := w.inSession()
	kill()
	w.wantDrawnAgain(s, before, v1alpha1.TrialInterrupted)
}

func deletedInMidSession(w *world) {
	before := w.state()
	s := w.inSession()
	w.delete(s)
	w.awaitGone(s)
	w.wantState(before)
	if left := w.childrenOfSessions(); len(left) > 0 {
		w.t.Errorf("benchmark %s is left", left[0].Name)
	}
	w.wantNoMoreSwitches(s)
}

// wantNoMoreSwitches checks that the loop of a sweep's session has ended. Nothing else switches settings.
func (w *world) wantNoMoreSwitches(s *v1alpha1.CephTuningSweep) {
	w.t.Helper()
	loops := &w.manager.loops
	loops.mu.Lock()
	defer loops.mu.Unlock()
	if one := loops.bySweep[client.ObjectKeyFromObject(s)]; one != nil && !one.hasEnded() {
		w.t.Error("the loop of the session still switches settings")
	}
}

func suspendedInMidSession(w *world) {
	before := w.state()
	s := w.inSession()
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true })
	w.await(s, "suspended", hasReason(v1alpha1.ReasonSuspended))
	w.wantState(before)
	w.wantNoMoreSwitches(s)
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
	w.wantDrawnAgain(s, before, v1alpha1.TrialInterrupted)
}

func foreignChangeInMidSession(w *world) {
	s := w.inSession()
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Answers.ConfigDump = []ceph.ConfigEntry{{Section: "osd", Name: "osd_client_message_cap", Value: "99", Runtime: true}}
	})
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonChangedByOthers, "osd_client_message_cap")
	if value, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_client_message_cap"); value != "99" {
		w.t.Errorf("the option is %q, want theirs", value)
	}
	w.wantNoMoreSwitches(s)
}

func lostAnswerInMidSession(w *world) {
	before := w.state()
	s := w.inSession()
	w.ceph.Act(func(c *cephtest.Cluster) { c.Lose = "SetConfig" })
	w.await(s, "invalid", func(s *v1alpha1.CephTuningSweep) bool { return trialsThatAre(s, v1alpha1.TrialFailed) == 1 })
	w.ceph.Land() // Ceph carries the change out after all.
	w.wantDrawnAgain(s, before, v1alpha1.TrialFailed)
}

func clientsLostInMidSession(w *world) {
	before := w.state()
	s := w.inSession()
	w.load.set(func(l *load) { l.broken = errors.New("no route to host") })
	w.await(s, "invalid", func(s *v1alpha1.CephTuningSweep) bool { return trialsThatAre(s, v1alpha1.TrialFailed) == 1 })
	w.load.set(func(l *load) { l.broken = nil })
	w.wantDrawnAgain(s, before, v1alpha1.TrialFailed)
}

// The maximum number of writes to the API server, without Events and renewals of leases: of each session, and
// of the rest of a sweep, such as its journal and restore.
const (
	maxSessionWrites = 8
	maxOtherWrites   = 22
)

// writesOfASession has a candidate without effect, so that its sweeps look at all pairs.
func writesOfASession(w *world) {
	w.load.set(func(l *load) { l.rate = func(string) float64 { return 1000 } })
	counter := &writeCounter{byKind: map[string]int{}}
	counted := rest.CopyConfig(w.server)
	counted.Wrap(counter.around)
	w.server = counted
	w.restart()
	for name, size := range map[string]string{"few-windows": "sessions: 1, pairs: 8", "many-windows": "sessions: 1, pairs: 40", "more-sessions": "sessions: 3, pairs: 4"} {
		counter.reset()
		s := w.create(name, strings.NewReplacer("sessions: 1", size, "metric: IOPS", `metric: IOPS, equivalence: "0.1%"`).Replace(switchedSpec))
		w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
		// On a busy machine, a session may be invalid. Then the sweep restores, and begins again.
		invalid := len(s.Status.Trials) - trialsThatAre(s, v1alpha1.TrialValid)
		writes, most := counter.total(), maxOtherWrites*(1+invalid)+maxSessionWrites*len(s.Status.Trials)
		w.t.Logf("%s: %d writes, %d sessions, %q: %v", name, writes, len(s.Status.Trials), validities(s), counter.byKind)
		if writes > most {
			w.t.Errorf("%s: %d writes, want at most %d", name, writes, most)
		}
	}
}

// twoCandidatesInOneSession compares a candidate that is slower and one without effect in one
// session.
func twoCandidatesInOneSession(w *world) {
	before := w.state()
	s := w.create("demo", strings.NewReplacer(`["16"]`, `["16", "512"]`, "sessions: 1", "sessions: 1, pairs: 8").Replace(switchedSpec))
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
	if len(s.Status.Configurations) != 3 || s.Status.Configurations[1].Verdict != v1alpha1.VerdictInferior ||
		s.Status.Configurations[2].Verdict != v1alpha1.VerdictInconclusive || w.sessions(s).Short != 1 {
		w.t.Errorf("sessions %q: %s", validities(s), s.Status.Summary)
	}
	w.wantComparison(s, 8)
	// On a busy machine, a window's first moment can hold figures of the slower candidate. So 512 may end a
	// few thousandths on either side of the baseline.
	for _, part := range []string{"512: no difference of 10% or more", "cap=512 is Inconclusive on this pool", "use sessions: 6", "^Keep 256\\. ", "16: 70 % slower. Restored.\n"} {
		if !regexp.MustCompile(part).MatchString(s.Status.Summary) {
			w.t.Errorf("%q lacks %q", s.Status.Summary, part)
		}
	}
}

// recoveryInMidSession disturbs a part of a session, whose blocks then do not count.
func recoveryInMidSession(w *world) {
	before := w.state()
	s := w.inSession()
	w.ceph.Act(func(c *cephtest.Cluster) { c.Answers.Status.RecoveryBytesPerSecond = 1 << 20 })
	time.Sleep(4 * hastenedWindow)
	w.ceph.Act(func(c *cephtest.Cluster) { c.Answers.Status.RecoveryBytesPerSecond = 0 })
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
	found, err := archive.SessionsIn(s, w.windows())
	if err != nil || len(found) == 0 || len(found[0].Evidence.Disturbed) == 0 || found[0].Counted == nil || !slices.Contains(found[0].Counted.Faults, true) {
		w.t.Errorf("%d sessions are kept, %v, sessions %q", len(found), err, validities(s))
	}
	w.wantReplayed(s, 1)
}

// constraintInSession has a gain of a candidate that falls short of a limit on another figure.
func constraintInSession(w *world) {
	before := w.state()
	w.load.set(func(l *load) {
		l.rate = func(value string) float64 { return map[string]float64{"16": 1500, "256": 1000}[value] }
	})
	s := w.create("limited", strings.NewReplacer(
		"objective:", "constraints: [{phase: write, metric: Bandwidth, maximumRegression: 10%}, {phase: write, metric: Bandwidth, atLeast: 1Gi}]\nobjective:",
	).Replace(switchedSpec))
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
	outcomes := make([]v1alpha1.ConstraintOutcome, len(s.Status.Constraints))
	for i, k := range s.Status.Constraints {
		outcomes[i] = k.Outcome
	}
	if !slices.Equal(outcomes, []v1alpha1.ConstraintOutcome{v1alpha1.ConstraintKept, v1alpha1.ConstraintBroken}) || w.sessions(s).Short != 1 || len(s.Status.Patches) > 0 {
		w.t.Errorf("constraints %q, sessions %q, patches %v", outcomes, validities(s), s.Status.Patches)
	}
	if !strings.Contains(s.Status.Summary, "It does not win: write Bandwidth is broken.") {
		w.t.Errorf("summary %q", s.Status.Summary)
	}
	w.wantReplayed(s, 1)
}

// gainOnABusyHost has a gain that is Superior on a quiet host. On a host at its limit it proves nothing, whatever
// the figures say.
func gainOnABusyHost(w *world) {
	before := w.state()
	for name, c := range map[string]struct {
		busy    float64
		verdict v1alpha1.SweepVerdict
		best    string
		message string
	}{
		"quiet": {0.5, v1alpha1.VerdictSuperior, "cap=16", "Keep 256 until long windows confirm the gain. 16: "},
		"busy":  {0.99, v1alpha1.VerdictInconclusive, sweep.BaselineName, "The gain is not proven, because clients or their hosts lacked CPU in 1 of 1 session."},
	} {
		w.load.set(func(l *load) {
			l.busy, l.rate = c.busy, func(value string) float64 { return map[string]float64{"16": 3000, "256": 1000}[value] }
		})
		s := w.create(name, switchedSpec)
		w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
		w.wantState(before)
		if s.Status.Verdict != c.verdict || s.Status.Best != c.best || s.Status.Scope != v1alpha1.ScopeWindows || len(s.Status.Patches) > 0 || !strings.Contains(s.Status.Summary, c.message) {
			w.t.Errorf("%s: %s, best %s, sessions %q: %s", name, s.Status.Verdict, s.Status.Best, validities(s), s.Status.Summary)
		}
		w.wantReplayed(s, 1)
	}
	w.awaitEvent("Starved", "the CPUs of a client's host were busy for 99 % of the time (limit 90 %). End other work on ")
}

// rateThatIsTooHigh has a baseline that reaches a third of the offered rate. That is an outcome, so the loss counts.
func rateThatIsTooHigh(w *world) {
	s := w.create("fast", strings.NewReplacer("radosBench: {mode: Write, blockSize: 16Ki, concurrency: 16, ramp: 0s, duration: 30s}",
		"fio: {engine: RADOS, pattern: RandWrite, rateIOPS: 3000, ramp: 0s, duration: 30s}").Replace(switchedSpec))
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if s.Status.Verdict != v1alpha1.VerdictInferior || !strings.HasSuffix(s.Status.Summary, "The baseline misses the offered rate, too: lower the rate.") ||
		trialsThatAre(s, v1alpha1.TrialBelowRate) == 0 {
		w.t.Errorf("%s, sessions %q: %s", s.Status.Verdict, validities(s), s.Status.Summary)
	}
	w.wantReplayed(s, 1)
}

// planWhileAnotherSwitches plans a sweep of the option that another sweep has set to one of the values to try.
func planWhileAnotherSwitches(w *world) {
	w.load.set(func(l *load) { l.rate = func(string) float64 { return 1000 } })
	other := w.create("other", strings.NewReplacer("sessions: 1", "sessions: 1, pairs: 60", "metric: IOPS", `metric: IOPS, equivalence: "0.1%"`).Replace(switchedSpec))
	w.await(other, "switched", func(*v1alpha1.CephTuningSweep) bool {
		value, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_client_message_cap")
		return value == "16"
	})
	planned := w.create("planned", "mode: Plan\n"+strings.NewReplacer(`baseline: {values: {cap: "256"}}`, "", "metric: IOPS", "metric: IOPS").Replace(switchedSpec))
	w.await(planned, "planned", func(s *v1alpha1.CephTuningSweep) bool {
		return conditionTrue(v1alpha1.ConditionComplete)(s) || conditionTrue(v1alpha1.ConditionFailed)(s)
	})
	if plan := planned.Status.Plan; plan == nil || plan.Baseline[0].Value == "16" || plan.Configurations != 1 {
		w.t.Fatalf("plan %+v, conditions %+v", plan, planned.Status.Conditions)
	}
	w.wantSays(planned, v1alpha1.ConditionComplete, metav1.ConditionTrue, v1alpha1.ReasonPlanned, "/other switches osd osd_client_message_cap now: the plan uses its original value")
	w.delete(other)
	w.awaitGone(other)
}

// longWindowsDecide has one candidate: three sessions of long windows decide on a gain.
func longWindowsDecide(w *world) {
	before := w.state()
	w.load.set(func(l *load) {
		l.rate = func(value string) float64 { return map[string]float64{"16": 2000, "256": 1000}[value] }
	})
	s := w.create("long", strings.Replace(switchedSpec, "sessions: 1", "sessions: 3", 1))
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
	if s.Status.Verdict != v1alpha1.VerdictSuperior || s.Status.Scope != v1alpha1.ScopePool || w.sessions(s).Valid != 3 || len(s.Status.Patches) > 0 {
		w.t.Errorf("%s, %s, sessions %q, patches %v: %s", s.Status.Verdict, s.Status.Scope, validities(s), s.Status.Patches, s.Status.Summary)
	}
	w.wantReplayed(s, 3)
}

// dailySessions waits for the next day after the first session, with everything restored.
func dailySessions(w *world) {
	before := w.state()
	s := w.create("daily", strings.Replace(switchedSpec, "sessions: 1", "sessions: 3, daily: true", 1))
	w.await(s, "waiting for the next day", func(s *v1alpha1.CephTuningSweep) bool {
		c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReconciling)
		return trialsThatAre(s, v1alpha1.TrialValid) == 1 && c != nil && c.Reason == v1alpha1.ReasonWaitingForWindow
	})
	w.wantState(before)
}

// twoSwitchedCandidates has short windows that select a candidate, and long windows that confirm it.
func twoSwitchedCandidates(w *world) {
	w.load.set(func(l *load) {
		l.rate = func(value string) float64 { return map[string]float64{"16": 300, "256": 1000, "512": 1500}[value] }
	})
	s := w.create("general", strings.NewReplacer(
		"{mode: Write, blockSize: 16Ki, ", "{mode: Rand, ", `["16"]`, `["16", "512"]`, "sessions: 1", "sessions: 3, pairs: 4",
		"objective:", "onCompletion: KeepBest\nkeepScope: Pool\nobjective:").Replace(switchedSpec))
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if sessions := w.sessions(s); s.Status.Verdict != v1alpha1.VerdictSuperior || s.Status.Best != "cap=512" || s.Status.Scope != v1alpha1.ScopePool || sessions.Short != 1 || sessions.Valid != 3 {
		w.t.Errorf("%s is %s, %s, sessions %q: %s", s.Status.Best, s.Status.Verdict, s.Status.Scope, validities(s), s.Status.Summary)
	}
	if value, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_client_message_cap"); value != "512" {
		w.t.Errorf("the option is %q, want the winner", value)
	}
	w.wantReplayed(s, 4)
}

// windows returns the ConfigMaps with archived sessions.
func (w *world) windows() []corev1.ConfigMap {
	w.t.Helper()
	var all corev1.ConfigMapList
	if err := w.List(w.t.Context(), &all, client.InNamespace(w.namespace), client.HasLabels{archive.LabelSwitchedSession}); err != nil {
		w.t.Fatal(err)
	}
	return all.Items
}

// sessions returns the state of a sweep by its ledger.
func (w *world) sessions(s *v1alpha1.CephTuningSweep) *sweepspec.Sessions {
	w.t.Helper()
	sessions, err := sweepspec.SessionsOf(&s.Spec, s.Status.Plan, s.Status.Trials)
	if err != nil {
		w.t.Fatal(err)
	}
	return sessions
}

// wantReplayed checks that at least a number of sessions were archived, and that a replay results in the same
// status.
func (w *world) wantReplayed(s *v1alpha1.CephTuningSweep, sessions int) {
	w.t.Helper()
	found, err := archive.SessionsIn(s, w.windows())
	if err != nil {
		w.t.Fatal(err)
	}
	var kept []sweepspec.KeptSession
	for _, one := range found {
		kept = append(kept, one)
	}
	again, err := sweepspec.Replay(s, kept)
	if err != nil {
		w.t.Fatal(err)
	}
	same := 0
	for _, one := range again.Sessions {
		if one.Kept && one.Same {
			same++
		}
	}
	if same < sessions || again.Outcome.Verdict != s.Status.Verdict || sweepspec.WithRestored(again.Outcome.Summary, restoredWord(&s.Status)) != s.Status.Summary {
		w.t.Errorf("%d of %d sessions are the same again, with %s: %s", same, sessions, again.Outcome.Verdict, again.Outcome.Summary)
	}
}

func windowsOfEarlierRuns(w *world) {
	s := w.create("quick", switchedSpec)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.RunID = "second" })
	w.await(s, "complete again", func(s *v1alpha1.CephTuningSweep) bool {
		return s.Status.ObservedRunID == "second" && conditionTrue(v1alpha1.ConditionComplete)(s)
	})
	second := w.sessions(s)
	if kept := w.windows(); second.Short != 1 || len(kept) != 1 {
		w.t.Errorf("%d sessions are kept, want those of the second run alone: %q", len(kept), validities(s))
	}
	w.wantReplayed(s, 1)
}

// A foreign ConfigMap with the archive's name is left alone, even if it names the sweep as its owner. The session
// counts, and its archive gets another name.
func windowsInTheWay(w *world) {
	s := w.inSession()
	other := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.Namespace, Name: sweepspec.SessionName(s, 1),
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("CephTuningSweep"))},
	}, Data: map[string]string{"mine": "yes"}}
	if err := w.Create(w.t.Context(), other); err != nil {
		w.t.Fatal(err)
	}
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	var got corev1.ConfigMap
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(other), &got); err != nil || got.Data["mine"] != "yes" || len(got.BinaryData) > 0 {
		w.t.Errorf("the ConfigMap has %v, %d binary entries, %v", got.Data, len(got.BinaryData), err)
	}
	if sessions := w.sessions(s); sessions.Short != 1 || len(w.windows()) != 1 {
		w.t.Errorf("%d ConfigMaps, sessions %q", len(w.windows()), validities(s))
	}
}

// A quota without room for the archive does not cost the session.
func windowsForbidden(w *world) {
	s := w.inSession()
	none := corev1.ResourceList{"count/configmaps": resource.MustParse("0")}
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "full"}, Spec: corev1.ResourceQuotaSpec{Hard: none}}
	if err := w.Create(w.t.Context(), quota); err != nil {
		w.t.Fatal(err)
	}
	quota.Status = corev1.ResourceQuotaStatus{Hard: none, Used: none}
	if err := w.Status().Update(w.t.Context(), quota); err != nil {
		w.t.Fatal(err)
	}
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.awaitEvent("ResultsNotKept", "exceeded quota")
	if sessions := w.sessions(s); sessions.Short != 1 || len(w.windows()) > 0 {
		w.t.Errorf("%d ConfigMaps, sessions %q", len(w.windows()), validities(s))
	}
}
