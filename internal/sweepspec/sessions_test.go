package sweepspec

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/figure/fitness"
	"github.com/cephtune/cephtune/internal/stats"
	"github.com/cephtune/cephtune/internal/tuning"
)

const switchedPatch = `{parameters: [{name: cap, config: {option: osd_client_message_cap}, values: ["1"]}], objective: {phase: write, metric: IOPS, minimumEffect: 10%, equivalence: ` +
	`5%}, confidence: "0.95", strategy: {design: Interleaved, interleaved: {sessions: 1}}, guardrails: {maxFailedRuns: 1}}`

// twoCandidates has two candidates in sessions with one look.
var twoCandidates = strings.NewReplacer(`["1"]`, `["1", "512"]`, "{sessions: 1}", "{sessions: 1, pairs: 8}").Replace(switchedPatch)

// sessionPlan returns the plan of a sweep whose design is Interleaved.
func sessionPlan(t *testing.T, patch string) (*Spec, *v1alpha1.SweepPlan, *sweep.Planner) {
	t.Helper()
	spec := &specOf(t, patch).Spec
	plan, err := Draft(spec, Facts{Present: Present{"cap": cephvalue.Of("256")}, MaySwitch: func(v1alpha1.ConfigParameter) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	planner, err := PlannerOf(spec, plan)
	if err != nil {
		t.Fatal(err)
	}
	return spec, plan, planner
}

// sessionTrial returns the trial of a session of 240 seconds that wrote 7 MiB.
func sessionTrial(number int, long bool, mark fitness.Mark, entries ...switchback.Entry) v1alpha1.Trial {
	t, _ := NewSessionTrial(nounSetting, number, long, session.Summary{Objective: entries, Mark: mark}, true, nil, SessionCost{Seconds: 240, MiB: 7})
	return t
}

// longOf returns the trial of a session of long windows of candidate 1.
func longOf(number int, mean float64) v1alpha1.Trial {
	return sessionTrial(number, true, "", switchback.Entry{Candidate: 1, Blocks: 1, Mean: mean})
}

// failedSession returns the trial of a session that failed.
func failedSession(number int) v1alpha1.Trial {
	return InvalidSession(number, v1alpha1.TrialFailed, SessionCost{Seconds: 10})
}

// sessionsInStatus returns the sessions of trials that were written into status, and their outcome.
func sessionsInStatus(t *testing.T, patch string, trials []v1alpha1.Trial) (*Sessions, Outcome) {
	t.Helper()
	spec, plan, _ := sessionPlan(t, patch)
	s, err := SessionsOf(spec, plan, trials)
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Judge(nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, out
}

func TestSessionsAreReadAsTheyWereWritten(t *testing.T) {
	entry := func(candidate int, mean float64) switchback.Entry {
		return switchback.Entry{
			Candidate: candidate, Blocks: 4, Mean: mean, StdDev: 0.0123, Late: -0.51, Lag: 1.22,
			P: stats.PValues{Superior: 1, AnyGain: 0.9992, Loss: 0.0008, Small: 0},
		}
	}
	want := session.Summary{
		Objective: []switchback.Entry{entry(1, -1.203973), entry(2, 0)}, Mark: fitness.Throttled,
		Constraints: [][]switchback.Entry{{entry(1, 0.1), entry(2, math.Log(412e6))}, {entry(1, math.Log(0.00057)), entry(2, 0.2)}},
	}
	trial, reason := NewSessionTrial(nounSetting, 3, false, want, true, nil, SessionCost{Seconds: 1 << 40, MiB: 1 << 40})
	if reason != "" || trial.State != v1alpha1.TrialValid || trial.Windows != v1alpha1.WindowsShort || trial.DurationSeconds != maxSeconds || trial.WrittenMebibytes != maxMebibytes {
		t.Errorf("%+v, %q", trial, reason)
	}
	got, err := summaryOfTrial(&trial, 2, false)
	if diff := cmp.Diff(want, got, cmpopts.EquateApprox(0, 1e-6)); err != nil || diff != "" {
		t.Errorf("%v, -want +got:\n%s", err, diff)
	}
	again, _ := NewSessionTrial(nounSetting, 3, false, got, true, nil, SessionCost{Seconds: 1 << 40, MiB: 1 << 40})
	if diff := cmp.Diff(trial, again); diff != "" {
		t.Errorf("written again, -want +got:\n%s", diff)
	}
}

func TestInvalidSessionsSayWhy(t *testing.T) {
	invalid := switchback.Entry{Candidate: 1, Blocks: 4, Invalid: true}
	for name, c := range map[string]struct {
		ok    bool
		err   error
		long  bool
		entry switchback.Entry
		want  v1alpha1.TrialReason
	}{
		"an error":              {true, errors.New("x"), false, invalid, v1alpha1.TrialFailed},
		"no look yet":           {false, nil, false, switchback.Entry{}, v1alpha1.TrialTooShort},
		"one block":             {true, nil, false, switchback.Entry{Blocks: 1}, v1alpha1.TrialTooShort},
		"one long block counts": {true, nil, true, switchback.Entry{Blocks: 1}, ""},
		"uneven":                {true, nil, false, invalid, v1alpha1.TrialUneven},
	} {
		got, reason := NewSessionTrial(nounSetting, 1, c.long, session.Summary{Objective: []switchback.Entry{c.entry}}, c.ok, c.err, SessionCost{})
		if got.Reason != c.want || (reason == "") != (c.want == "") || (got.State == v1alpha1.TrialValid) != (c.want == "") {
			t.Errorf("%s: %+v, %q", name, got, reason)
		}
	}
}

func TestSessionsThatNoOperatorWrote(t *testing.T) {
	spec, plan, _ := sessionPlan(t, switchedPatch)
	for name, edit := range map[string]func(*v1alpha1.Trial){
		"of another number":         func(t *v1alpha1.Trial) { t.Number = 2 },
		"invalid without a reason":  func(t *v1alpha1.Trial) { t.State = v1alpha1.TrialInvalid },
		"valid with a reason":       func(t *v1alpha1.Trial) { t.Reason = v1alpha1.TrialFailed },
		"with an unknown reason":    func(t *v1alpha1.Trial) { t.State, t.Reason = v1alpha1.TrialInvalid, "Fine" },
		"without comparisons":       func(t *v1alpha1.Trial) { t.Comparisons = nil },
		"with a ratio of no number": func(t *v1alpha1.Trial) { t.Comparisons[0].Ratio = "half" },
		"with an unasked constraint": func(t *v1alpha1.Trial) {
			t.Comparisons[0].Constraints = []v1alpha1.TrialConstraint{{Value: "1", Deviation: "0"}}
		},
		"with a p-value of no number": func(t *v1alpha1.Trial) { t.Comparisons[0].Randomization.PLoss = "" },
	} {
		trial := sessionTrial(1, false, "", switchback.Entry{Candidate: 1, Blocks: 4})
		edit(&trial)
		if _, err := SessionsOf(spec, plan, []v1alpha1.Trial{trial}); !errors.Is(err, sweep.ErrLedger) {
			t.Errorf("%s: %v, want ErrLedger", name, err)
		}
	}
}

func TestDesignFollowsFromSpecAndPermission(t *testing.T) {
	auto := strings.Replace(switchedPatch, "Interleaved", "Auto", 1)
	allows := func(p v1alpha1.ConfigParameter) bool { return p.Option == "osd_client_message_cap" }
	for name, c := range map[string]struct {
		patch     string
		maySwitch func(v1alpha1.ConfigParameter) bool
		want      v1alpha1.SweepDesign
		refusal   string // a part of one; "" for none
		reason    string // a part of the reason for Blocks
	}{
		"allowed":                  {switchedPatch, allows, v1alpha1.DesignInterleaved, "", ""},
		"Auto":                     {auto, allows, v1alpha1.DesignInterleaved, "", ""},
		"Auto without permission":  {auto, nil, v1alpha1.DesignBlocks, "", "Option osd_client_message_cap may not be switched under a load."},
		"Auto with two phases":     {auto, allows, v1alpha1.DesignBlocks, "", "The benchmark has 2 phases."},
		"Auto with blocks":         {strings.Replace(auto, "design: Auto", "design: Auto, blocks: {min: 3, max: 6}", 1), allows, v1alpha1.DesignBlocks, "", "The spec sets a number of blocks."},
		"Auto with default blocks": {strings.Replace(auto, "design: Auto", "design: Auto, blocks: {min: 4, max: 12}, confirmationBlocks: 8", 1), allows, v1alpha1.DesignInterleaved, "", ""},
		"Auto with caches":         {strings.Replace(auto, "{parameters", "{template: {osdCaches: DropBeforePhase}, parameters", 1), allows, v1alpha1.DesignBlocks, "", "Caches of OSDs"},
		"Auto with a constraint": {
			strings.Replace(auto, `{parameters`, `{constraints: [{phase: write, metric: Bandwidth, maximumRegression: 10%}], parameters`, 1), allows,
			v1alpha1.DesignInterleaved, "", "",
		},
		"blocks":         {strings.Replace(switchedPatch, "Interleaved", "Blocks", 1), allows, v1alpha1.DesignBlocks, "", ""},
		"not allowed":    {switchedPatch, nil, v1alpha1.DesignBlocks, "osd_client_message_cap may not be switched", ""},
		"two candidates": {strings.Replace(switchedPatch, `["1"]`, `["1", "16"]`, 1), allows, v1alpha1.DesignInterleaved, "", ""},
		"seven":          {strings.Replace(switchedPatch, `["1"]`, `["1", "2", "3", "4", "5", "6", "7"]`, 1), allows, v1alpha1.DesignBlocks, "There are 7 configurations", ""},
		"a constraint": {
			strings.Replace(switchedPatch, `{parameters`, `{constraints: [{phase: write, metric: Bandwidth, maximumRegression: 10%}], parameters`, 1), allows,
			v1alpha1.DesignInterleaved, "", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &specOf(t, c.patch).Spec
			if name != "Auto with two phases" {
				spec.Template.Phases = []v1alpha1.Phase{sessionPhase(spec)}
			}
			plan, err := Draft(spec, Facts{Present: Present{"cap": cephvalue.Of("256")}, MaySwitch: c.maySwitch})
			if err != nil {
				t.Fatal(err)
			}
			refusals := strings.Join(plan.Refusals, " ")
			if plan.Design != c.want || !strings.Contains(refusals, c.refusal) || (c.refusal == "") != (refusals == "") ||
				!strings.Contains(plan.DesignReason, c.reason) || (c.reason == "") != (plan.DesignReason == "") {
				t.Errorf("%s, refusals %q, reason %q", plan.Design, refusals, plan.DesignReason)
			}
		})
	}
}

// What Auto takes for defaults has to be what the schema fills in.
func TestDefaultsOfTheSchema(t *testing.T) {
	s := specOf(t, switchedPatch).Spec.Strategy
	if s.Blocks.Min != defaultMinBlocks || s.Blocks.Max != defaultMaxBlocks || s.ConfirmationBlocks != defaultConfirmationBlocks {
		t.Errorf("the schema's defaults are %+v, %d", s.Blocks, s.ConfirmationBlocks)
	}
}

func TestPlanOfSessions(t *testing.T) {
	_, quick, _ := sessionPlan(t, switchedPatch)
	if quick.Sessions != 1 || quick.Pairs != 60 || quick.MaximumRuns != 1 || quick.EstimatedDuration.Minutes() < 24 || quick.EstimatedDuration.Minutes() > 40 {
		t.Errorf("quick: %+v", quick)
	}
	_, short, _ := sessionPlan(t, twoCandidates)
	if short.Sessions != 1 || short.Pairs != 8 || short.Configurations != 2 || short.EstimatedDuration.Minutes() > 11 || short.SmallestEffect == quick.SmallestEffect {
		t.Errorf("two candidates and one look: %+v, and %s with all looks", short, quick.SmallestEffect)
	}
}

// A short budget leaves out the last looks, and refuses the sweep only if it is too short for the
// first.
func TestPlanOfAShortBudget(t *testing.T) {
	for budget, want := range map[string]int32{"5m": 8, "8m": 8, "10m": 12, "12m": 18, "40m": 60} {
		_, plan, _ := sessionPlan(t, strings.Replace(switchedPatch, "guardrails:", "budget: {duration: "+budget+"}, guardrails:", 1))
		limit, err := time.ParseDuration(budget)
		if err != nil {
			t.Fatal(err)
		}
		fits := plan.EstimatedDuration.Duration <= limit
		if plan.Pairs != want || fits != (len(plan.Refusals) == 0) {
			t.Errorf("%s: %d pairs, %v, %q", budget, plan.Pairs, plan.EstimatedDuration.Duration, plan.Refusals)
		}
	}
}

// The manager could not keep the figures of all clients.
func TestPlanOfTooManyFigures(t *testing.T) {
	for clients, fits := range map[int32]bool{1: true, 40: true, 64: false} {
		spec := &specOf(t, strings.Replace(switchedPatch, "{sessions: 1}", "{sessions: 1, window: 60s}", 1)).Spec
		spec.Template.Clients.Count = clients
		plan, err := Draft(spec, Facts{Present: Present{"cap": cephvalue.Of("256")}, MaySwitch: func(v1alpha1.ConfigParameter) bool { return true }})
		if err != nil {
			t.Fatal(err)
		}
		if plan.Pairs != 60 || strings.Contains(fmt.Sprint(plan.Refusals), "more figures than the manager keeps") == fits {
			t.Errorf("%d clients, %d pairs: %q", clients, plan.Pairs, plan.Refusals)
		}
	}
}

// A limit of bytes leaves out the last looks too.
func TestPlanOfFewBytes(t *testing.T) {
	_, whole, _ := sessionPlan(t, switchedPatch)
	half := fmt.Sprintf("budget: {bytesWritten: %dMi}, guardrails:", whole.RunBytesWritten.Value()/2>>20)
	_, plan, _ := sessionPlan(t, strings.Replace(switchedPatch, "guardrails:", half, 1))
	if whole.Pairs != 60 || plan.Pairs != 28 || len(plan.Refusals) > 0 || plan.RunBytesWritten.Value() > whole.RunBytesWritten.Value()/2 {
		t.Errorf("%d pairs, %d of %d bytes, %q", plan.Pairs, plan.RunBytesWritten.Value(), whole.RunBytesWritten.Value(), plan.Refusals)
	}
}

func TestPlanOfSeveralSessions(t *testing.T) {
	six := strings.Replace(switchedPatch, "{sessions: 1}", "{}", 1)
	_, one, _ := sessionPlan(t, six)
	numbers := func(p *v1alpha1.SweepPlan) [5]int32 {
		return [5]int32{p.Sessions, p.Pairs, int32(p.Window.Seconds()), p.MinimumRuns, p.MaximumRuns}
	}
	if minutes := one.EstimatedDuration.Minutes(); numbers(one) != [5]int32{6, 1, 60, 3, 6} || one.SmallestEffect == "" || minutes < 20 || minutes > 32 {
		t.Errorf("one candidate: %+v", one)
	}
	_, two, _ := sessionPlan(t, strings.Replace(six, `["1"]`, `["1", "512"]`, 1))
	if numbers(two) != [5]int32{6, 8, 8, 4, 7} || two.EstimatedDuration.Duration <= one.EstimatedDuration.Duration {
		t.Errorf("two candidates: %+v", two)
	}
	_, daily, _ := sessionPlan(t, strings.Replace(switchedPatch, "{sessions: 1}", "{sessions: 3, daily: true}", 1))
	if hours := daily.EstimatedDuration.Hours(); hours < 36 || hours > 37 {
		t.Errorf("three days are planned with %v hours", hours)
	}
}

func TestSessionsComeToAnEnd(t *testing.T) {
	short := func(mean float64) v1alpha1.Trial {
		return sessionTrial(1, false, "", switchback.Entry{Candidate: 1, Blocks: 4, Mean: mean, StdDev: 0.02})
	}
	lengthy := longOf(1, 0)
	lengthy.DurationSeconds = 800
	general := strings.Replace(switchedPatch, "{sessions: 1}", "{sessions: 4}", 1)
	for name, c := range map[string]struct {
		patch   string
		entries []v1alpha1.Trial
		stop    string // a part; "" if it goes on
		verdict string
		next    int
	}{
		"none yet":                         {switchedPatch, nil, "", "Invalid", 1},
		"one is enough for the quick mode": {switchedPatch, []v1alpha1.Trial{short(-1.2)}, "all sessions", "Inferior", 2},
		"an invalid one is drawn again":    {switchedPatch, []v1alpha1.Trial{failedSession(1)}, "", "Invalid", 2},
		"two invalid ones are too many":    {switchedPatch, []v1alpha1.Trial{failedSession(1), failedSession(2)}, "maxFailedRuns allows 1", "Invalid", 3},
		"two of three say nothing":         {general, []v1alpha1.Trial{longOf(1, -1.2), longOf(2, -1.2)}, "", "Invalid", 3},
		"three decide":                     {general, []v1alpha1.Trial{longOf(1, -1.2), longOf(2, -1.21), longOf(3, -1.19)}, "the sessions decide", "Inferior", 4},
		"three do not decide":              {general, []v1alpha1.Trial{longOf(1, -0.2), longOf(2, 0.2), longOf(3, 0)}, "", "Inconclusive", 4},
		"the last one":                     {general, []v1alpha1.Trial{longOf(1, -0.2), longOf(2, 0.2), longOf(3, 0), longOf(4, 0.1)}, "all sessions", "Inconclusive", 5},
		"more time than there is":          {strings.Replace(general, `guardrails:`, `budget: {duration: 16m}, guardrails:`, 1), []v1alpha1.Trial{lengthy}, "budget.duration", "Invalid", 2},
	} {
		t.Run(name, func(t *testing.T) {
			spec, plan, _ := sessionPlan(t, c.patch)
			s, err := SessionsOf(spec, plan, c.entries)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(s.Stop, c.stop) || (c.stop == "") != (s.Stop == "") || string(s.Findings[0].Verdict) != c.verdict || s.Number() != c.next {
				t.Errorf("stop %q, verdict %s, next %d", s.Stop, s.Findings[0].Verdict, s.Number())
			}
			out, err := s.Judge(nil)
			if err != nil || (s.Stop == "") != (out.Verdict == "") || len(out.Configurations) != 2 {
				t.Errorf("outcome %+v, %v", out, err)
			}
		})
	}
}

// No starved session alone makes Superior or Better.
func TestStarvedSessionsProveNoGain(t *testing.T) {
	gains := func(marks ...fitness.Mark) (all []v1alpha1.Trial) {
		for i, mark := range marks {
			all = append(all, sessionTrial(i+1, true, mark, switchback.Entry{Candidate: 1, Blocks: 1, Mean: 0.5 + 0.01*float64(i/2)}))
		}
		return all
	}
	one := func(mean float64, mark fitness.Mark) []v1alpha1.Trial {
		return []v1alpha1.Trial{sessionTrial(1, false, mark, switchback.Entry{Candidate: 1, Blocks: 4, Mean: mean, StdDev: 0.02})}
	}
	const valid, starved, throttled, below = fitness.Mark(""), fitness.Starved, fitness.Throttled, fitness.BelowRate
	read := strings.Replace(switchedPatch, "parameters:", "template: {phases: [{name: write, fio: {pattern: RandRead, rateIOPS: 300}}]}, parameters:", 1)
	general := strings.Replace(read, "{sessions: 1}", "{sessions: 6}", 1)
	for name, c := range map[string]struct {
		patch   string
		entries []v1alpha1.Trial
		verdict v1alpha1.SweepVerdict // "" if it goes on
		reason  string
		message string
	}{
		"one that was not":             {read, one(0.5, valid), v1alpha1.VerdictSuperior, "ThresholdExceeded", ""},
		"one that was":                 {read, one(0.5, starved), v1alpha1.VerdictInconclusive, "Starved", "The gain is not proven, because clients or their hosts lacked CPU in 1 of 1 session."},
		"one at its CPU limit":         {read, one(0.5, throttled), v1alpha1.VerdictInconclusive, "Starved", "lacked CPU"},
		"a missed rate is an outcome":  {read, one(0.5, below), v1alpha1.VerdictSuperior, "ThresholdExceeded", "The baseline misses the offered rate, too: lower the rate."},
		"a loss":                       {read, one(-0.5, starved), v1alpha1.VerdictInferior, "LossShown", ". Clients or their hosts lacked CPU in 1 of 1 session."},
		"three of six are enough":      {general, gains(starved, valid, starved, valid, starved, valid), v1alpha1.VerdictSuperior, "ThresholdExceeded", ""},
		"two of three are not":         {general, gains(starved, valid, valid), "", "", ""},
		"all six":                      {general, gains(starved, starved, starved, starved, starved, starved), v1alpha1.VerdictInconclusive, "Starved", "in 6 of 6 sessions"},
		"three that were not decide":   {general, gains(valid, valid, valid), v1alpha1.VerdictSuperior, "ThresholdExceeded", ""},
		"two of six that were not":     {general, gains(starved, valid, starved, valid, starved, starved), v1alpha1.VerdictInconclusive, "Starved", "in 4 of 6 sessions"},
		"some below and some too busy": {general, gains(below, below, valid, starved, starved, starved), v1alpha1.VerdictSuperior, "ThresholdExceeded", "lower the rate"},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := sessionsInStatus(t, c.patch, c.entries)
			if out.Verdict != c.verdict || out.Configurations[1].Reason != c.reason || !strings.Contains(out.Summary, c.message) {
				t.Errorf("%s because %s: %s", out.Verdict, out.Configurations[1].Reason, out.Summary)
			}
			if wins := c.verdict == v1alpha1.VerdictSuperior; wins != (s.Winner() > 0) {
				t.Errorf("winner %d", s.Winner())
			}
		})
	}
}

func TestTimeLeftIsThatOfAllSessions(t *testing.T) {
	several := strings.Replace(switchedPatch, "{sessions: 1}", "{sessions: 4}", 1)
	_, quick, _ := sessionPlan(t, switchedPatch)
	_, plan, _ := sessionPlan(t, several)
	each, restore := plan.RunDuration.Duration, plan.RestoreDuration.Duration
	load := 2 * 62 * time.Second
	for name, c := range map[string]struct {
		patch   string
		entries []v1alpha1.Trial
		want    time.Duration
	}{
		"one session":      {switchedPatch, nil, 60*2*10*time.Second + quick.RestoreDuration.Duration},
		"four of four":     {several, nil, load + 3*each + restore},
		"the last of four": {several, []v1alpha1.Trial{longOf(1, 0.1), longOf(2, 0), longOf(3, 0.1)}, load + restore},
		"a day each":       {strings.Replace(several, "sessions: 4", "sessions: 4, daily: true", 1), []v1alpha1.Trial{longOf(1, 0.1), longOf(2, 0)}, load + each + 18*time.Hour + restore},
	} {
		spec, plan, _ := sessionPlan(t, c.patch)
		s, err := SessionsOf(spec, plan, c.entries)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.TimeLeft(); got != c.want || restore == 0 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestDailySessionsLieADayApart(t *testing.T) {
	spec, plan, _ := sessionPlan(t, strings.Replace(switchedPatch, "{sessions: 1}", "{sessions: 3, daily: true}", 1))
	ended := time.Date(2026, 11, 29, 17, 19, 0, 0, time.UTC)
	long, failed := longOf(1, 0.3), failedSession(2)
	long.EndTime, failed.EndTime = &metav1.Time{Time: ended}, &metav1.Time{Time: ended.Add(20 * time.Hour)}
	for _, all := range [][]v1alpha1.Trial{{long}, {long, failed}} {
		s, err := SessionsOf(spec, plan, all)
		if err != nil || !s.NotBefore.Equal(ended.Add(18*time.Hour)) {
			t.Errorf("after %d sessions, the next may begin at %v, %v", len(all), s.NotBefore, err)
		}
	}
}

func TestSentenceStatesTheScope(t *testing.T) {
	spec, plan, _ := sessionPlan(t, switchedPatch)
	s, err := SessionsOf(spec, plan, []v1alpha1.Trial{sessionTrial(1, false, "", switchback.Entry{Candidate: 1, Blocks: 4, Mean: -1.2, StdDev: 0.02})})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Judge(nil)
	if err != nil || out.Scope != v1alpha1.ScopeWindows || out.Verdict != v1alpha1.VerdictInferior {
		t.Errorf("%+v, %v", out, err)
	}
	for _, part := range []string{
		"cap=1 is Inferior on this pool, in this hour, in switched windows",
		"0.301 times the baseline", "by 8 pairs of windows of 8s",
		"was not measured: use sessions: 6 (with flags, no --quick).",
	} {
		if !strings.Contains(out.Summary, part) {
			t.Errorf("%q lacks %q", out.Summary, part)
		}
	}
}

// A percentile without an offered rate falls with the load. The verdict of sessions says so, too.
func TestSentenceOfAPercentileWithoutARate(t *testing.T) {
	spec, plan, _ := sessionPlan(t, strings.Replace(switchedPatch, "guardrails:", `template: {phases: [{name: write, fio: {pattern: RandWrite}}]}, guardrails:`, 1))
	spec.Objective.Metric = v1alpha1.MetricLatencyP99
	s, err := SessionsOf(spec, plan, []v1alpha1.Trial{sessionTrial(1, false, "", switchback.Entry{Candidate: 1, Blocks: 4, Mean: -1.2, StdDev: 0.02})})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := s.Judge(nil); err != nil || !strings.HasSuffix(out.Summary, closedLoopNoted) {
		t.Errorf("%q, %v", out.Summary, err)
	}
}

// A session costs what its background load writes, and the time of everything before its phase.
func TestPlanOfASessionWithBackgroundLoad(t *testing.T) {
	_, plain, _ := sessionPlan(t, switchedPatch)
	_, loaded, _ := sessionPlan(t, strings.Replace(switchedPatch, "guardrails:",
		`template: {rest: 30s, phases: [{name: write, radosBench: {mode: Write}}, {name: aside, radosBench: {mode: Write}}], backgroundLoad: {phase: aside, ramp: 1m}}, guardrails:`, 1))
	if more := loaded.RunDuration.Duration - plain.RunDuration.Duration; more < 85*time.Second {
		t.Errorf("a session with a rest of 25 s more and the ramp of a background load is planned %v longer, want at least 1m25s", more)
	}
	if bytes := loaded.RunBytesWritten.Value() - plain.RunBytesWritten.Value(); bytes < int64(plain.Pairs)*2*10*writeRate {
		t.Errorf("the background load writes %d bytes, want those of all windows", bytes)
	}
}

func TestASummaryHasAllCandidates(t *testing.T) {
	worse := switchback.Entry{Candidate: 1, Blocks: 8, Mean: -2.3, StdDev: 0.1}
	for name, c := range map[string]struct {
		same switchback.Entry
		want string
		says string
	}{
		"windows are too few": {
			switchback.Entry{Candidate: 2, Blocks: 8, Mean: 0.001, StdDev: 0.16},
			"cap=512 leads, not proven, on this pool, in this hour, in switched windows: 1.001 times the baseline (0.876 to 1.144; higher is better), by 8 pairs of windows of 8s." +
				" About 63 more pairs of windows would show that windows are equivalent, but a session has at most 60: use sessions: 6 (with flags, no --quick).", "no difference proven",
		},
		"an effect that matters is ruled out": {
			switchback.Entry{Candidate: 2, Blocks: 8, Mean: 0.001, StdDev: 0.08},
			"cap=512 is Inconclusive on this pool, in this hour, in switched windows: 1.001 times the baseline (0.936 to 1.070; higher is better), by 8 pairs of windows of 8s." +
				" A gain or a loss of 10% is ruled out; for smaller ones, lower minimumEffect (--minimum-effect).", "no difference of 10% or more",
		},
		"windows are enough": {
			switchback.Entry{Candidate: 2, Blocks: 8, Mean: 0.001, StdDev: 0.01},
			"cap=512 is Inconclusive on this pool, in this hour, in switched windows: 1.001 times the baseline (0.993 to 1.009; higher is better), by 8 pairs of windows of 8s." +
				" Short windows cannot show how a setting acts for longer: use sessions: 6 (with flags, no --quick).", "no difference of 10% or more",
		},
		"perhaps it is worse": {
			switchback.Entry{Candidate: 2, Blocks: 8, Mean: -0.06, StdDev: 0.08},
			"cap=512 trails the baseline, not proven, on this pool, in this hour, in switched windows: 0.942 times the baseline (0.881 to 1.007; higher is better), by 8 pairs of windows of 8s." +
				" About 160 more pairs of windows would decide, but a session has at most 60: use sessions: 6 (with flags, no --quick).", "no difference proven",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec, plan, _ := sessionPlan(t, twoCandidates)
			s, err := SessionsOf(spec, plan, []v1alpha1.Trial{sessionTrial(1, false, "", worse, c.same)})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, s.Sentence()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			out, err := s.Judge(nil)
			if err != nil || out.Configurations[1].Verdict != v1alpha1.VerdictInferior || out.Configurations[2].Verdict != v1alpha1.VerdictInconclusive {
				t.Errorf("%+v, %v", out, err)
			}
			line, rest, _ := strings.Cut(out.Summary, "\n")
			if rest != c.want || !strings.HasPrefix(line, "Keep 256. 512: "+c.says+" (IOPS ") || !strings.HasSuffix(line, "). 1: 90 % slower.") {
				t.Errorf("summary %q", out.Summary)
			}
		})
	}
}

// Advice must be one that can be followed: a session and a sweep have a largest number of pairs and sessions.
func TestAdviceStaysWithinTheBounds(t *testing.T) {
	var many []v1alpha1.Trial
	for i, mean := range []float64{-0.06, 0.02, -0.08, 0.03} {
		many = append(many, longOf(i+1, mean))
	}
	for name, c := range map[string]struct {
		patch   string
		entries []v1alpha1.Trial
		want    string
	}{
		"one session": {switchedPatch, []v1alpha1.Trial{
			sessionTrial(1, false, "", switchback.Entry{Candidate: 1, Blocks: 20, Mean: -0.02, StdDev: 0.17}),
		}, "but a session has at most 60: use sessions: 6 (with flags, no --quick)."},
		"all sessions": {
			strings.Replace(switchedPatch, "sessions: 1", "sessions: 4", 1), many,
			"but a sweep has at most 12: use a longer longWindow.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec, plan, _ := sessionPlan(t, c.patch)
			s, err := SessionsOf(spec, plan, c.entries)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Sentence(); !strings.HasSuffix(got, c.want) {
				t.Errorf("%s\nwant it to end with\n%s", got, c.want)
			}
		})
	}
}

// The bound is that of the API.
func TestMostSessions(t *testing.T) {
	types, err := os.ReadFile("../../api/v1alpha1/cephtuningsweep_types.go")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("Maximum=%d\n\tSessions int32", mostSessions); !strings.Contains(string(types), want) {
		t.Errorf("the API has no %q", want)
	}
}

func TestBenchmarkOfASession(t *testing.T) {
	spec, plan, planner := sessionPlan(t, switchedPatch)
	owner := &v1alpha1.CephTuningSweep{Spec: *spec, Status: v1alpha1.CephTuningSweepStatus{Plan: plan}}
	sessions, err := SessionsOf(spec, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := sessions.Benchmark(Child{Sweep: owner, Trial: sweep.Trial{LengthFactor: 1}, Run: 2, Configuration: planner.Configurations()[0]})
	if err != nil {
		t.Fatal(err)
	}
	phases := b.Spec.Template.Phases
	if len(phases) != 1 || phases[0].Name != "write" || phases[0].RadosBench.Duration.Minutes() < 30 || b.Labels[LabelSession] != "2" || b.Spec.Repetitions != 1 {
		t.Errorf("%+v", b)
	}
	one, err := sessions.SessionPlan()
	if err != nil {
		t.Fatal(err)
	}
	sessions.trials = make([]v1alpha1.Trial, 1)
	if two, err := sessions.SessionPlan(); err != nil || cmp.Equal(one.Order, two.Order) || len(one.Order) != 36 {
		t.Errorf("two sessions have one order: %v", err)
	}
}

// A session sets the options that it switches itself, so its pool is created without them, whatever the baseline.
func TestPoolOfASessionLacksSwitchedOptions(t *testing.T) {
	spec := &specOf(t, `{template: {target: {scratchPool: {replicated: null, erasureCoded: {dataChunks: 2, codingChunks: 1}, parameters: {pg_num: "16"}}}},
		parameters: [{name: fast, poolOption: {option: fast_read}, values: ["1"]}], baseline: {values: {fast: "0"}},
		objective: {phase: write, metric: IOPS}, strategy: {design: Interleaved, interleaved: {sessions: 1}}}`).Spec
	plan, err := Draft(spec, Facts{MaySwitchPools: true})
	if err != nil || plan.Design != v1alpha1.DesignInterleaved {
		t.Fatalf("%+v, %v", plan, err)
	}
	sessions, err := SessionsOf(spec, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	owner := &v1alpha1.CephTuningSweep{Spec: *spec, Status: v1alpha1.CephTuningSweepStatus{Plan: plan}}
	baseline := sweep.Configuration{Values: map[string]cephvalue.Value{"fast": cephvalue.Of("0")}}
	b, err := sessions.Benchmark(Child{Sweep: owner, Trial: sweep.Trial{LengthFactor: 1}, Run: 1, Configuration: baseline})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Spec.Template.Target.ScratchPool.Parameters; len(got) != 1 || got["pg_num"] != "16" {
		t.Errorf("the pool has %v", got)
	}
	want := []Change{{
		Parameter: "fast", Own: true,
		Change: tuning.Change{Setting: tuning.Setting{Kind: tuning.KindPoolOption, Pool: "cephtune-scratch-data", Option: "fast_read"}, To: cephvalue.Of("0")},
	}}
	if diff := cmp.Diff(want, OwnChanges(spec, baseline.Values)); diff != "" {
		t.Errorf("changes, -want +got:\n%s", diff)
	}
}

// With several candidates, short windows select the one that long windows measure.
func TestLongWindowsFollowShortOnes(t *testing.T) {
	general := strings.Replace(twoCandidates, "{sessions: 1, pairs: 8}", "{sessions: 3}", 1)
	short := func(first, second, late float64) []v1alpha1.Trial {
		entry := func(candidate int, mean float64) switchback.Entry {
			return switchback.Entry{Candidate: candidate, Blocks: 8, Mean: mean, StdDev: 0.02, Late: late}
		}
		return []v1alpha1.Trial{sessionTrial(1, false, "", entry(1, first), entry(2, second))}
	}
	marked := func(mean float64, mark fitness.Mark) (all []v1alpha1.Trial) {
		for n := range 3 {
			all = append(all, sessionTrial(n+2, true, mark, switchback.Entry{Candidate: 2, Blocks: 1, Mean: mean + 0.002*float64(n)}))
			mark = "" // Only the first has it.
		}
		return all
	}
	three := func(mean float64) []v1alpha1.Trial { return marked(mean, "") }
	standing := strings.Replace(general, "guardrails:", "template: {target: {scratchPool: null, existingPool: {name: p}}}, guardrails:", 1)
	for name, c := range map[string]struct {
		patch   string
		entries []v1alpha1.Trial
		long    int // the candidate
		verdict v1alpha1.SweepVerdict
		scope   v1alpha1.SweepScope
		patches int
		message string
	}{
		"the better one": {general, short(0.1, 0.3, 0), 2, "", "", 0, "1/4 sessions, long windows"},
		"a gain": {
			general, append(short(-0.3, 0.3, 0), three(0.3)...), 0, "Superior", "Pools", 1,
			"1: 26 % slower in switched windows.\ncap=512 is Superior on 3 pools, in this hour: 1.353 times the baseline (1.346 to 1.359; higher is better), by 3 pairs of windows of 1m0s in " +
				"which settings had settled for 36s.",
		},
		"one is starved":  {general, append(short(-0.3, 0.3, 0), marked(0.3, fitness.Starved)...), 0, "Inconclusive", "Pools", 0, "lacked CPU in 1 of 4 sessions"},
		"a standing pool": {standing, append(short(-0.3, 0.3, 0), three(0.3)...), 0, "Superior", "Pool", 0, "Superior on this pool, in this hour"},
		"a loss":          {general, append(short(-0.3, 0.3, 0), three(-0.1)...), 0, "Inferior", "Pools", 0, "cap=512 is Inferior on 3 pools"},
		"a late effect":   {general, short(0.1, 0.3, 9), 2, "", "", 0, "1/4 sessions"},
		"the budget is over": {
			strings.Replace(general, `guardrails:`, `budget: {duration: 15m}, guardrails:`, 1), append(short(-0.3, 0.3, 0), three(0.3)[:2]...), 0, "Superior", "Windows", 0,
			"was not measured: budget.duration (--budget) has no room for another session.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := sessionsInStatus(t, c.patch, c.entries)
			message := out.Summary
			if message == "" {
				message = s.Progress().Summary
			}
			if out.Verdict != c.verdict || out.Scope != c.scope || len(out.Patches) != c.patches || !strings.Contains(message, c.message) {
				t.Errorf("%s, %s, %d patches: %q", out.Verdict, out.Scope, len(out.Patches), message)
			}
			if order, err := s.SessionPlan(); err != nil || order.Long != c.long || s.Long != c.long || (s.Stop == "") != (c.long > 0) {
				t.Errorf("long windows of %d, stop %q, want those of %d: plan %+v, %v", s.Long, s.Stop, c.long, order, err)
			}
			if c.patches > 0 && !strings.HasPrefix(out.Patches[0].Merge, "# Measured on several pools, in this hour.\n") {
				t.Errorf("patch %s", out.Patches[0].Merge)
			}
		})
	}
}

// drawnTrials returns valid sessions of two candidates, whose log ratios vary by the spread between sessions.
func drawnTrials(n int, first, second, spread float64) (all []v1alpha1.Trial) {
	for i := range n {
		off := spread * float64(i%3-1)
		entry := func(candidate int, mean float64) switchback.Entry {
			return switchback.Entry{Candidate: candidate, Blocks: 4, Mean: mean + off, StdDev: 0.02}
		}
		all = append(all, sessionTrial(i+1, false, "", entry(1, first), entry(2, second)))
	}
	return all
}

// Several sessions of standing targets draw fresh ones each, and compare all candidates.
func TestSessionsOfDraws(t *testing.T) {
	const pools = `{template: {phases: [{name: fio, fio: {pattern: RandRead}}]}, parameters: [{name: pgs, poolOption: {option: pg_num}, values: ["8", "16"]}],
		baseline: {values: {pgs: "32"}}, objective: {phase: fio, metric: IOPS, minimumEffect: 5%}, strategy: {design: Interleaved}, budget: {duration: 2h}}`
	late := drawnTrials(3, 0.3, 0, 0.002)
	for i := range late {
		late[i].Comparisons[0].Randomization.LateScore = "2.5"
	}
	for name, c := range map[string]struct {
		trials  []v1alpha1.Trial
		goesOn  bool
		winner  int
		verdict v1alpha1.SweepVerdict
		scope   v1alpha1.SweepScope
		message string
	}{
		"before the first look": {drawnTrials(2, 0.3, 0, 0.002), true, 0, "", "", ""},
		"a gain": {
			drawnTrials(3, 0.3, 0.1, 0.002), false, 1, "Superior", "Pools",
			"pgs=8 is Superior on 3 pools of each value, in this hour, in switched windows: 1.350 times the baseline (1.338 to 1.362; higher is better), by 3 sessions of 4 pairs of windows of 8s each.",
		},
		"a loss, and no effect":   {drawnTrials(3, -0.3, 0, 0.002), false, 0, "Inconclusive", "Pools", "8: 26 % slower"},
		"pools that differ":       {drawnTrials(3, 0.3, 0, 0.2), true, 0, "", "", ""},
		"they differ to the end":  {drawnTrials(6, 0.3, 0, 0.3), false, 0, "Inconclusive", "Pools", "leads, not proven, on 6 pools of each value"},
		"an after-effect of each": {late, false, 0, "Inconclusive", "Pools", "Short windows show the effect of the previous pool: use design: Blocks."},
	} {
		t.Run(name, func(t *testing.T) {
			s, out := sessionsInStatus(t, pools, c.trials)
			if (s.Stop == "") != c.goesOn || s.Winner() != c.winner || out.Verdict != c.verdict || out.Scope != c.scope || !strings.Contains(out.Summary, c.message) {
				t.Errorf("stop %q, winner %d, %s, %s: %q", s.Stop, s.Winner(), out.Verdict, out.Scope, out.Summary)
			}
			if p := s.plan; p.Design != v1alpha1.DesignInterleaved || p.MinimumRuns != 3 || p.MaximumRuns != 6 || p.Pairs != 4 {
				t.Errorf("plan %+v", p)
			}
			if order, err := s.SessionPlan(); err != nil || order.Long != 0 || !order.Targets {
				t.Errorf("session %+v, %v", order, err)
			}
		})
	}
}

// KeepBest needs the scope that the spec names; without a name, that of several days.
func TestKeepBestNeedsItsScope(t *testing.T) {
	for name, c := range map[string]struct {
		interleaved, keep string
		want              bool
	}{
		"pools, unnamed": {"{sessions: 3}", "Cluster", false},
		"pools, named":   {"{sessions: 3}", "Pools", true},
		"days":           {"{sessions: 3, daily: true}", "Cluster", true},
	} {
		spec, plan, _ := sessionPlan(t, strings.Replace(switchedPatch, "{sessions: 1}", c.interleaved, 1))
		spec.KeepScope = v1alpha1.SweepScope(c.keep)
		s, err := SessionsOf(spec, plan, []v1alpha1.Trial{longOf(1, 0.3), longOf(2, 0.301), longOf(3, 0.299)})
		if err != nil || s.Winner() != 1 || MayKeep(spec, s.Scope(nil)) != c.want {
			t.Errorf("%s: winner %d, may keep: %t, %v", name, s.Winner(), MayKeep(spec, s.Scope(nil)), err)
		}
	}
}

// An export that a person has edited may lack fields of the plan.
func TestSessionsOfAPlanWithoutWindow(t *testing.T) {
	spec, plan, _ := sessionPlan(t, switchedPatch)
	plan.Window = nil
	s, err := SessionsOf(spec, plan, nil)
	if err != nil {
		t.Fatal(err)
	}
	if order, err := s.SessionPlan(); err != nil || order.Window != session.DefaultWindow {
		t.Errorf("windows of %v, %v", order.Window, err)
	}
}

// A win takes a known answer about each constraint, and a broken one rules a candidate out.
func TestConstraintsOfSessions(t *testing.T) {
	patch := strings.NewReplacer("{sessions: 1}", "{sessions: 4}", "{parameters",
		"{constraints: [{phase: write, metric: LatencyMean, maximumRegression: 10%}, {phase: write, metric: Bandwidth, atLeast: 1Mi}], parameters").Replace(switchedPatch)
	one := func(number int, gain, latency, bytes float64) v1alpha1.Trial {
		entry := func(mean float64) []switchback.Entry {
			return []switchback.Entry{{Candidate: 1, Blocks: 1, Mean: mean + 0.002*float64(number)}}
		}
		sum := session.Summary{Objective: entry(gain), Constraints: [][]switchback.Entry{entry(latency), entry(math.Log(bytes))}}
		trial, _ := NewSessionTrial(nounSetting, number, true, sum, true, nil, SessionCost{Seconds: 240})
		return trial
	}
	three := func(gain, latency, bytes float64) []v1alpha1.Trial {
		return []v1alpha1.Trial{one(1, gain, latency, bytes), one(2, gain, latency, bytes), one(3, gain, latency, bytes)}
	}
	unsure := []v1alpha1.Trial{one(1, 0.3, 0, 5e6), one(2, 0.3, 0.2, 5e6), one(3, 0.3, 0.1, 5e6)}
	for name, c := range map[string]struct {
		entries []v1alpha1.Trial
		goesOn  bool
		winner  int
		states  []v1alpha1.ConstraintOutcome
		message string
	}{
		"both are kept":         {three(0.3, 0, 5e6), false, 1, []v1alpha1.ConstraintOutcome{"Kept", "Kept"}, "cap=1 is Superior on 3 pools, in this hour"},
		"a latency breaks one":  {three(0.3, 0.5, 5e6), false, 0, []v1alpha1.ConstraintOutcome{"Broken", "Kept"}, "It does not win: write LatencyMean is broken."},
		"too few bytes":         {three(0.3, 0, 1e5), false, 0, []v1alpha1.ConstraintOutcome{"Kept", "Broken"}, "is broken"},
		"one is not known":      {unsure, true, 0, nil, ""},
		"neither gain nor loss": {three(0, 0.5, 5e6), false, 0, []v1alpha1.ConstraintOutcome{"Broken", "Kept"}, "is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			spec, plan, _ := sessionPlan(t, patch)
			s, err := SessionsOf(spec, plan, c.entries)
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.Judge(nil)
			var states []v1alpha1.ConstraintOutcome
			for _, k := range out.Constraints {
				states = append(states, k.Outcome)
			}
			if !c.goesOn && !slices.Equal(states, c.states) {
				t.Errorf("constraints %v, want %v", states, c.states)
			}
			if err != nil || (s.Stop == "") != c.goesOn || s.Winner() != c.winner || !strings.Contains(out.Summary, c.message) || (len(out.Patches) > 0) != (c.winner > 0) {
				t.Errorf("stop %q, long windows of %d, winner %d, %q, %v", s.Stop, s.Long, s.Winner(), out.Summary, err)
			}
		})
	}
}

func TestSessionsAreNoRuns(t *testing.T) {
	spec, plan, _ := sessionPlan(t, switchedPatch)
	s := &v1alpha1.CephTuningSweep{Spec: *spec, Status: v1alpha1.CephTuningSweepStatus{Plan: plan, Trials: []v1alpha1.Trial{
		sessionTrial(1, false, "", switchback.Entry{Candidate: 1, Blocks: 4}, switchback.Entry{Candidate: 2, Blocks: 4}),
	}}}
	if ledger, err := LedgerOf(s); err != nil || len(ledger) != 0 || NextTrial(s) != 2 {
		t.Errorf("runs %v, %v, next %d", ledger, err, NextTrial(s))
	}
	plan.Design = v1alpha1.DesignBlocks
	if _, err := LedgerOf(s); !errors.Is(err, sweep.ErrLedger) {
		t.Errorf("sessions are read as runs: %v", err)
	}
	child := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{LabelSession: "1"}}}
	child.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("CephTuningSweep"))}
	if IsSession(child) {
		t.Error("a label and an owner reference, which users can write, make a session")
	}
	child.Status.Trial = &v1alpha1.BenchmarkTrial{Design: v1alpha1.DesignInterleaved}
	if !IsSession(child) {
		t.Error("it is a session's")
	}
}
