package sweepspec

import (
	"encoding/json"
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
	"github.com/cephtune/cephtune/internal/cephvalue"
	"github.com/cephtune/cephtune/internal/fitness"
	"github.com/cephtune/cephtune/internal/stats"
	"github.com/cephtune/cephtune/internal/sweep"
	"github.com/cephtune/cephtune/internal/switchback"
)

const switchedPatch = `{parameters: [{name: cap, config: {option: osd_client_message_cap}, values: ["1"]}], objective: {phase: write, metric: IOPS, minimumEffect: 10%, equivalence: 5%}, confidence: "0.95", strategy: {design: Interleaved, interleaved: {sessions: 1}}, guardrails: {maxFailedRuns: 1}}`

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

func TestSessionsAreReadAsTheyWereWritten(t *testing.T) {
	entries := []SessionEntry{
		{Entry: switchback.Entry{Session: 1, Candidate: 1, Groups: 4, Mean: -1.203973, StdDev: 0.0123, P: 0.9992, Late: -0.51, Lag: 1.22}, Seconds: 260, MiB: 4096, Validity: v1alpha1.SweepSessionValid},
		VoidSession(2, v1alpha1.SweepSessionInterrupted, 70, 12),
		dwellsOf(3, 1, stats.Contrast{LogRatio: -0.01, StdDev: 0.04, Runs: 4}, 1100, 7),
		Marked([]SessionEntry{dwellsOf(4, 1, stats.Contrast{LogRatio: -0.01, StdDev: 0.04, Runs: 4}, 1100, 7)}, fitness.Throttled)[0],
	}
	lines := WriteSessions(entries)
	again, err := ReadSessions(lines)
	if diff := cmp.Diff(entries, again); err != nil || diff != "" {
		t.Errorf("%q, %v, -want +got:\n%s", lines, err, diff)
	}
	longest := WriteSessions([]SessionEntry{{
		Entry:   switchback.Entry{Session: 120, Candidate: 64, Groups: 999, Mean: -12.345678, StdDev: 12.345678, P: 0.1234, Late: -3.29, Lag: -3.29},
		Seconds: 1 << 40, MiB: 1 << 40, Validity: v1alpha1.SweepSessionInterrupted,
	}})
	if text, _ := json.Marshal(longest[0]); len(text) > 96 {
		t.Errorf("%s has %d bytes", text, len(text))
	}
	for _, line := range []v1alpha1.SweepRun{"", "1 1 4", lines[0] + " x", "1 1 4 x 0 0 0 0 1s 1Mi Valid", "1 1 4 0 0 0 0 0 1s 1Mi Fine"} {
		if _, err := ReadSessions([]v1alpha1.SweepRun{line}); !errors.Is(err, sweep.ErrLedger) {
			t.Errorf("%q: %v", line, err)
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
		"Auto with a constraint":   {strings.Replace(auto, `{parameters`, `{constraints: [{phase: write, metric: Bandwidth, maximumRegression: 10%}], parameters`, 1), allows, v1alpha1.DesignInterleaved, "", ""},
		"blocks":                   {strings.Replace(switchedPatch, "Interleaved", "Blocks", 1), allows, v1alpha1.DesignBlocks, "", ""},
		"not allowed":              {switchedPatch, nil, v1alpha1.DesignBlocks, "osd_client_message_cap may not be switched", ""},
		"two candidates":           {strings.Replace(switchedPatch, `["1"]`, `["1", "16"]`, 1), allows, v1alpha1.DesignInterleaved, "", ""},
		"seven":                    {strings.Replace(switchedPatch, `["1"]`, `["1", "2", "3", "4", "5", "6", "7"]`, 1), allows, v1alpha1.DesignBlocks, "There are 7 configurations", ""},
		"a constraint":             {strings.Replace(switchedPatch, `{parameters`, `{constraints: [{phase: write, metric: Bandwidth, maximumRegression: 10%}], parameters`, 1), allows, v1alpha1.DesignInterleaved, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			spec := &specOf(t, c.patch).Spec
			if name != "Auto with two phases" {
				spec.Template.Phases, _ = onlyPhase(spec)
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

// onlyPhase returns the phase of the objective.
func onlyPhase(spec *Spec) ([]v1alpha1.Phase, bool) {
	phase, ok := sessionPhase(spec)
	return []v1alpha1.Phase{phase}, ok
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
	for budget, want := range map[string]int32{"5m": 8, "9m": 8, "12m": 12, "13m": 18, "40m": 60} {
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
	_, general, _ := sessionPlan(t, strings.Replace(switchedPatch, "{sessions: 1}", "{}", 1))
	if general.Sessions != 3 || general.Pairs != 8 || general.Window.Seconds() != 10 || general.MinimumRuns != 3 || general.SmallestEffect == "" || general.EstimatedDuration.Minutes() < 30 || general.EstimatedDuration.Minutes() > 43 {
		t.Errorf("general: %+v", general)
	}
}

func TestSessionsComeToAnEnd(t *testing.T) {
	valid := func(number int, mean float64, quads int) SessionEntry {
		return SessionEntry{Entry: switchback.Entry{Session: number, Candidate: 1, Groups: quads, Mean: mean, StdDev: 0.02}, Seconds: 240, Validity: v1alpha1.SweepSessionValid}
	}
	void := VoidSession(1, v1alpha1.SweepSessionFailed, 10, 0)
	general := strings.Replace(switchedPatch, "{sessions: 1}", "{sessions: 4}", 1)
	for name, c := range map[string]struct {
		patch   string
		entries []SessionEntry
		stop    string // a part; "" if it goes on
		verdict string
		next    int
	}{
		"none yet":                         {switchedPatch, nil, "", "Invalid", 1},
		"one is enough for the quick mode": {switchedPatch, []SessionEntry{valid(1, -1.2, 4)}, "all sessions", "Inferior", 2},
		"a void one is drawn again":        {switchedPatch, []SessionEntry{void}, "", "Invalid", 2},
		"two void ones are too many":       {switchedPatch, []SessionEntry{void, VoidSession(2, v1alpha1.SweepSessionFailed, 10, 0)}, "maxFailedRuns allows 1", "Invalid", 3},
		"two of three say nothing":         {general, []SessionEntry{valid(1, -1.2, 4), valid(2, -1.2, 4)}, "", "Invalid", 3},
		"three decide":                     {general, []SessionEntry{valid(1, -1.2, 4), valid(2, -1.21, 4), valid(3, -1.19, 4)}, "the sessions decide", "Inferior", 4},
		"three do not decide":              {general, []SessionEntry{valid(1, -0.2, 4), valid(2, 0.2, 4), valid(3, 0, 4)}, "", "Inconclusive", 4},
		"the last one":                     {general, []SessionEntry{valid(1, -0.2, 4), valid(2, 0.2, 4), valid(3, 0, 4), valid(4, 0.1, 4)}, "all sessions", "Inconclusive", 5},
		"more time than there is":          {strings.Replace(general, `guardrails:`, `budget: {duration: 20m}, guardrails:`, 1), []SessionEntry{{Entry: valid(1, 0, 4).Entry, Seconds: 1000, Validity: v1alpha1.SweepSessionValid}}, "budget.duration", "Invalid", 2},
	} {
		t.Run(name, func(t *testing.T) {
			spec, plan, planner := sessionPlan(t, c.patch)
			s, err := SessionsOf(spec, plan, c.entries)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(s.Stop, c.stop) || (c.stop == "") != (s.Stop == "") || string(s.Findings[0].Verdict) != c.verdict || s.Next != c.next {
				t.Errorf("stop %q, verdict %s, next %d", s.Stop, s.Findings[0].Verdict, s.Next)
			}
			out, err := s.Outcome(planner, nil)
			if err != nil || (s.Stop == "") != (out.Verdict == "") || len(out.Configurations) != 2 {
				t.Errorf("outcome %+v, %v", out, err)
			}
		})
	}
}

// No starved session alone makes Superior or Better.
func TestStarvedSessionsProveNoGain(t *testing.T) {
	session := func(number int, mean float64, validity v1alpha1.SweepSessionValidity) SessionEntry {
		return SessionEntry{Entry: switchback.Entry{Session: number, Candidate: 1, Groups: 4, Mean: mean, StdDev: 0.02}, Seconds: 240, Validity: validity}
	}
	gains := func(validities ...v1alpha1.SweepSessionValidity) (all []SessionEntry) {
		for i, validity := range validities {
			all = append(all, session(i+1, 0.5+0.01*float64(i%2), validity))
		}
		return all
	}
	const valid, starved, throttled, below = v1alpha1.SweepSessionValid, v1alpha1.SweepSessionStarved, v1alpha1.SweepSessionThrottled, v1alpha1.SweepSessionBelowRate
	read := strings.Replace(switchedPatch, "parameters:", "template: {phases: [{name: write, fio: {pattern: RandRead, rateIOPS: 300}}]}, parameters:", 1)
	general := strings.Replace(read, "{sessions: 1}", "{sessions: 6}", 1)
	for name, c := range map[string]struct {
		patch   string
		entries []SessionEntry
		verdict v1alpha1.SweepVerdict // "" if it goes on
		reason  string
		says    string
	}{
		"one that was not":             {read, gains(valid), v1alpha1.VerdictSuperior, "ThresholdExceeded", ""},
		"one that was":                 {read, gains(starved), v1alpha1.VerdictInconclusive, "Starved", "The gain is not proven, because clients or their hosts lacked CPU in 1 of 1 session."},
		"one at its CPU limit":         {read, gains(throttled), v1alpha1.VerdictInconclusive, "Starved", "lacked CPU"},
		"a missed rate is an outcome":  {read, gains(below), v1alpha1.VerdictSuperior, "ThresholdExceeded", "The baseline misses the offered rate, too: lower the rate."},
		"a loss":                       {read, []SessionEntry{session(1, -0.5, starved)}, v1alpha1.VerdictInferior, "LossShown", ""},
		"three of six are enough":      {general, gains(starved, valid, starved, valid, starved, valid), v1alpha1.VerdictSuperior, "ThresholdExceeded", ""},
		"two of three are not":         {general, gains(starved, valid, valid), "", "", ""},
		"all six":                      {general, gains(starved, starved, starved, starved, starved, starved), v1alpha1.VerdictInconclusive, "Starved", "in 6 of 6 sessions"},
		"three that were not decide":   {general, gains(valid, valid, valid), v1alpha1.VerdictSuperior, "ThresholdExceeded", ""},
		"two of six that were not":     {general, gains(starved, valid, starved, valid, starved, starved), v1alpha1.VerdictInconclusive, "Starved", "in 4 of 6 sessions"},
		"some below and some too busy": {general, gains(below, below, valid, starved, starved, starved), v1alpha1.VerdictSuperior, "ThresholdExceeded", "lower the rate"},
	} {
		t.Run(name, func(t *testing.T) {
			spec, plan, planner := sessionPlan(t, c.patch)
			again, err := ReadSessions(WriteSessions(c.entries))
			if err != nil {
				t.Fatal(err)
			}
			s, err := SessionsOf(spec, plan, again)
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.Outcome(planner, nil)
			if err != nil || out.Verdict != c.verdict || out.Configurations[1].Reason != c.reason || !strings.Contains(out.Summary, c.says) {
				t.Errorf("%s because %s, %v: %s", out.Verdict, out.Configurations[1].Reason, err, out.Summary)
			}
			if wins := c.verdict == v1alpha1.VerdictSuperior; wins != (len(out.Patches) > 0) || wins != (s.Winner() > 0) {
				t.Errorf("winner %d, patches %v", s.Winner(), out.Patches)
			}
		})
	}
}

func TestTimeLeftIsThatOfAllSessions(t *testing.T) {
	several := strings.Replace(switchedPatch, "{sessions: 1}", "{sessions: 4}", 1)
	valid := func(n int) SessionEntry {
		return SessionEntry{Entry: switchback.Entry{Session: n, Candidate: 1, Groups: 4, Mean: 0.1 * float64(n%2)}, Seconds: 240, Validity: v1alpha1.SweepSessionValid}
	}
	for name, c := range map[string]struct {
		patch   string
		entries []SessionEntry
		want    int // sessions
	}{
		"one session":      {switchedPatch, nil, 1},
		"four of four":     {several, nil, 4},
		"the last of four": {several, []SessionEntry{valid(1), valid(2), valid(3)}, 1},
	} {
		spec, plan, _ := sessionPlan(t, c.patch)
		s, err := SessionsOf(spec, plan, c.entries)
		if err != nil {
			t.Fatal(err)
		}
		load, restore := time.Duration(plan.Pairs)*2*12*time.Second, plan.RestoreDuration.Duration
		if got, want := s.TimeLeft(), load+time.Duration(c.want-1)*plan.RunDuration.Duration+restore; got != want || restore == 0 {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestSentenceStatesTheClaim(t *testing.T) {
	spec, plan, planner := sessionPlan(t, switchedPatch)
	s, err := SessionsOf(spec, plan, []SessionEntry{{Entry: switchback.Entry{Session: 1, Candidate: 1, Groups: 4, Mean: -1.2, StdDev: 0.02}, Validity: v1alpha1.SweepSessionValid}})
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Outcome(planner, nil)
	if err != nil || out.Claim != v1alpha1.ClaimSwitchedWindows || out.Verdict != v1alpha1.VerdictInferior {
		t.Errorf("%+v, %v", out, err)
	}
	for _, part := range []string{"cap=1 is Inferior in switched windows only", "0.301 times the baseline", "8 pairs of windows in 1 session", "a setting may delay work"} {
		if !strings.Contains(out.Summary, part) {
			t.Errorf("%q lacks %q", out.Summary, part)
		}
	}
}

// A percentile without an offered rate falls with the load. The verdict of sessions says so, too.
func TestSentenceOfAPercentileWithoutARate(t *testing.T) {
	spec, plan, planner := sessionPlan(t, strings.Replace(switchedPatch, "guardrails:", `template: {phases: [{name: write, fio: {pattern: RandWrite}}]}, guardrails:`, 1))
	spec.Objective.Metric = v1alpha1.MetricLatencyP99
	s, err := SessionsOf(spec, plan, []SessionEntry{{Entry: switchback.Entry{Session: 1, Candidate: 1, Groups: 4, Mean: -1.2, StdDev: 0.02}, Validity: v1alpha1.SweepSessionValid}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := s.Outcome(planner, nil); err != nil || !strings.HasSuffix(out.Summary, closedLoopObjective) {
		t.Errorf("%q, %v", out.Summary, err)
	}
}

// A session costs what its background load writes, and the time of everything before its phase.
func TestPlanOfASessionWithBackgroundLoad(t *testing.T) {
	_, plain, _ := sessionPlan(t, switchedPatch)
	_, loaded, _ := sessionPlan(t, strings.Replace(switchedPatch, "guardrails:", `template: {rest: 30s, backgroundLoad: {ramp: 1m, radosBench: {mode: Write}}}, guardrails:`, 1))
	if more := loaded.RunDuration.Duration - plain.RunDuration.Duration; more < 85*time.Second {
		t.Errorf("a session with a rest of 25 s more and the ramp of a background load is planned %v longer, want at least 1m25s", more)
	}
	if bytes := loaded.RunBytesWritten.Value() - plain.RunBytesWritten.Value(); bytes < int64(plain.Pairs)*2*10*writeRate {
		t.Errorf("the background load writes %d bytes, want those of all windows", bytes)
	}
}

func TestASummaryHasAllCandidates(t *testing.T) {
	worse := switchback.Entry{Session: 1, Candidate: 1, Groups: 8, Mean: -2.3, StdDev: 0.1}
	for name, c := range map[string]struct {
		same switchback.Entry
		want string
	}{
		"windows are too few": {
			switchback.Entry{Session: 1, Candidate: 2, Groups: 8, Mean: 0.001, StdDev: 0.08},
			"cap=512 leads, not proven, in switched windows only, on this pool, in this hour: 1.001 times the baseline (0.936 to 1.070; higher is better), by 8 pairs of windows in 1 session." +
				" About 11 more pairs of windows would show that windows are equivalent; the verdict Equivalent needs 3 or more sessions, which end with dwells, or design Blocks.",
		},
		"windows are enough": {
			switchback.Entry{Session: 1, Candidate: 2, Groups: 8, Mean: 0.001, StdDev: 0.01},
			"cap=512 leads, not proven, in switched windows only, on this pool, in this hour: 1.001 times the baseline (0.993 to 1.009; higher is better), by 8 pairs of windows in 1 session." +
				" In switched windows they are equivalent, but settings that stay applied for minutes were not measured: use 3 or more sessions, which end with dwells, or design Blocks.",
		},
		"perhaps it is worse": {
			switchback.Entry{Session: 1, Candidate: 2, Groups: 8, Mean: -0.06, StdDev: 0.08},
			"cap=512 leads, not proven, in switched windows only, on this pool, in this hour: 0.942 times the baseline (0.881 to 1.007; higher is better), by 8 pairs of windows in 1 session." +
				" About 12 more pairs of windows would decide; the verdict Equivalent needs 3 or more sessions, which end with dwells, or design Blocks.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec, plan, planner := sessionPlan(t, twoCandidates)
			s, err := SessionsOf(spec, plan, []SessionEntry{{Entry: worse, Validity: v1alpha1.SweepSessionValid}, {Entry: c.same, Validity: v1alpha1.SweepSessionValid}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, s.Sentence(planner)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			out, err := s.Outcome(planner, nil)
			if err != nil || out.Configurations[1].Verdict != v1alpha1.VerdictInferior || out.Configurations[2].Verdict != v1alpha1.VerdictInconclusive {
				t.Errorf("%+v, %v", out, err)
			}
			line, rest, _ := strings.Cut(out.Summary, "\n")
			if rest != c.want || !strings.HasPrefix(line, "512: no difference proven (IOPS ") || !strings.HasSuffix(line, "). 1: 90 % slower. Keep 256.") {
				t.Errorf("summary %q", out.Summary)
			}
		})
	}
}

// Advice must be one that can be followed: a session and a sweep have a largest number of pairs and sessions.
func TestAdviceStaysWithinTheBounds(t *testing.T) {
	var many []SessionEntry
	for session, mean := range []float64{-0.06, 0.02, -0.08, 0.03} {
		many = append(many, SessionEntry{Entry: switchback.Entry{Session: session + 1, Candidate: 1, Groups: 4, Mean: mean, StdDev: 0.05}, Validity: v1alpha1.SweepSessionValid})
	}
	for name, c := range map[string]struct {
		patch   string
		entries []SessionEntry
		want    string
	}{
		"one session": {switchedPatch, []SessionEntry{
			{Entry: switchback.Entry{Session: 1, Candidate: 1, Groups: 20, Mean: -0.03, StdDev: 0.12}, Validity: v1alpha1.SweepSessionValid},
		}, "but a session has at most 60: use 3 or more sessions; the verdict Equivalent needs 3 or more sessions, which end with dwells, or design Blocks."},
		"all sessions": {
			strings.Replace(switchedPatch, "sessions: 1", "sessions: 4", 1), many,
			"but a sweep has at most 12: try more pairs in each session; the verdict Equivalent needs dwells, in which a setting stays applied for minutes.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec, plan, planner := sessionPlan(t, c.patch)
			s, err := SessionsOf(spec, plan, c.entries)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.Sentence(planner); !strings.HasSuffix(got, c.want) {
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
	b, err := sessions.SessionBenchmark(Child{Sweep: owner, Slot: sweep.Slot{LengthFactor: 1}, Run: 2, Configuration: planner.Configurations()[0]})
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
	sessions.Next = 2
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
	b, err := sessions.SessionBenchmark(Child{Sweep: owner, Slot: sweep.Slot{LengthFactor: 1}, Run: 1, Configuration: baseline})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Spec.Template.Target.ScratchPool.Parameters; len(got) != 1 || got["pg_num"] != "16" {
		t.Errorf("the pool has %v", got)
	}
	want := []Change{{Parameter: "fast", Pool: "cephtune-scratch-data", Option: "fast_read", Value: cephvalue.Of("0")}}
	if diff := cmp.Diff(want, OwnChanges(spec, baseline.Values)); diff != "" {
		t.Errorf("changes, -want +got:\n%s", diff)
	}
}

// readOnly turns a load into one that only reads.
func readOnly(spec *Spec) {
	for i := range spec.Template.Phases {
		if own := spec.Template.Phases[i].RadosBench; own != nil {
			own.Mode = v1alpha1.RadosBenchRand
		}
	}
}

// After three sessions with such a result, dwells follow, unless windows alone can give the answer.
func TestDwellsFollowWindowsThatNeedThem(t *testing.T) {
	general := strings.Replace(switchedPatch, "{sessions: 1}", "{sessions: 3}", 1)
	const reads = "reads"
	sessions := func(mean float64) (entries []SessionEntry) {
		for n := range 3 {
			entries = append(entries, SessionEntry{
				Entry:   switchback.Entry{Session: n + 1, Candidate: 1, Groups: 4, Mean: mean + 0.002*float64(n), StdDev: 0.02},
				Seconds: 240, Validity: v1alpha1.SweepSessionValid,
			})
		}
		return entries
	}
	held := func(ratio float64) SessionEntry {
		return dwellsOf(4, 1, stats.Contrast{LogRatio: math.Log(ratio), StdDev: 0.02, Runs: 4}, 1100, 7)
	}
	for name, c := range map[string]struct {
		patch   string
		entries []SessionEntry
		dwells  int // the candidate
		verdict v1alpha1.SweepVerdict
		claim   v1alpha1.SweepClaim
		says    string
	}{
		"the same, for a load that reads":    {reads, sessions(0), 1, "", "", ""},
		"a gain for a load that writes":      {general, sessions(0.3), 1, "", "", ""},
		"a gain for a load that reads":       {reads, sessions(0.3), 0, "Superior", "ThisCluster", "Superior on this cluster"},
		"a loss for a load that writes":      {general, sessions(-0.3), 0, "Inferior", "SwitchedWindows", "which was not measured: design Blocks measures that."},
		"one session alone":                  {strings.Replace(general, "sessions: 3", "sessions: 1", 1), sessions(0)[:1], 0, "Inconclusive", "SwitchedWindows", "use 3 or more sessions"},
		"a budget without room":              {strings.Replace(general, `guardrails:`, `budget: {duration: 20m}, guardrails:`, 1), sessions(0), 0, "Inconclusive", "SwitchedWindows", "give the budget room"},
		"they agree that it is the same":     {general, append(sessions(0), held(1.01)), 0, "Equivalent", "ThisCluster", "the ratio was 1.010, which agrees"},
		"they agree about a gain":            {general, append(sessions(0.3), held(1.35)), 0, "Superior", "ThisCluster", "which agrees"},
		"they contradict a gain":             {general, append(sessions(0.3), held(0.93)), 0, "Inconclusive", "ThisCluster", "0.930, which contradicts the windows"},
		"a void session of dwells":           {general, append(sessions(0), VoidSession(4, v1alpha1.SweepSessionFailed, 70, 0)), 1, "", "", ""},
		"two of them are more than may fail": {general, append(sessions(0), VoidSession(4, v1alpha1.SweepSessionFailed, 70, 0), VoidSession(5, v1alpha1.SweepSessionFailed, 70, 0)), 0, "Inconclusive", "SwitchedWindows", "too many sessions were void to continue with dwells"},
	} {
		t.Run(name, func(t *testing.T) {
			spec, plan, planner := sessionPlan(t, strings.Replace(c.patch, reads, general, 1))
			if c.patch == reads {
				readOnly(spec)
			}
			entries, err := ReadSessions(WriteSessions(c.entries)) // as status has them
			if err != nil {
				t.Fatal(err)
			}
			s, err := SessionsOf(spec, plan, entries)
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.Outcome(planner, nil)
			if err != nil || out.Verdict != c.verdict || out.Claim != c.claim || !strings.Contains(out.Summary, c.says) {
				t.Errorf("%s, %s: %q, %v", out.Verdict, out.Claim, out.Summary, err)
			}
			if s.Dwells != c.dwells || (s.Stop == "") != (c.dwells > 0) {
				t.Errorf("dwells of %d, stop %q, want dwells of %d", s.Dwells, s.Stop, c.dwells)
			}
			order, err := s.SessionPlan()
			if err != nil || order.Dwells != (c.dwells > 0) || order.Candidate() != c.dwells {
				t.Errorf("plan %+v, %v", order, err)
			}
		})
	}
}

// Where the setting before shows in the windows after it, new sessions have windows of twice the length, and the
// old ones do not count.
func TestCarryOverMakesWindowsLonger(t *testing.T) {
	general := strings.Replace(switchedPatch, "{sessions: 1}", "{sessions: 3}", 1)
	sessions := func(first int, late float64) (entries []SessionEntry) {
		for n := first; n < first+3; n++ {
			entries = append(entries, SessionEntry{
				Entry:   switchback.Entry{Session: n, Candidate: 1, Groups: 4, Mean: -0.3 + 0.002*float64(n), StdDev: 0.02, Late: late},
				Seconds: 240, Validity: v1alpha1.SweepSessionValid,
			})
		}
		return entries
	}
	void := []SessionEntry{VoidSession(4, v1alpha1.SweepSessionFailed, 60, 0)}
	for name, c := range map[string]struct {
		patch   string
		entries []SessionEntry
		window  time.Duration
		stop    bool
		says    string // of the summary, or of the progress if there is no summary yet
	}{
		"too early to say":        {general, sessions(1, 3)[:2], 10 * time.Second, false, "2/3 sessions"},
		"it shows":                {general, sessions(1, 3), 20 * time.Second, false, "0/3 sessions, windows of 20s"},
		"a void one in between":   {general, slices.Concat(sessions(1, 3), void), 20 * time.Second, false, "0/3 sessions, windows of 20s"},
		"longer ones decide":      {general, slices.Concat(sessions(1, 3), sessions(4, 0)), 20 * time.Second, true, "by 24 pairs of windows of 20s in 3 sessions"},
		"it shows in longer ones": {general, slices.Concat(sessions(1, 3), sessions(4, -3)), 40 * time.Second, false, "0/3 sessions, windows of 40s"},
		"it shows in all":         {general, slices.Concat(sessions(1, 3), sessions(4, -3), sessions(7, 3)), 40 * time.Second, true, "Windows of 40s, the longest, show the effect of the previous setting: set strategy.design to Blocks and change runID."},
		"one session alone":       {switchedPatch, sessions(1, 3)[:1], 20 * time.Second, false, "0/1 sessions, windows of 20s"},
		"one longer session":      {switchedPatch, slices.Concat(sessions(1, 3)[:1], sessions(2, 0)[:1]), 20 * time.Second, true, "by 8 pairs of windows of 20s in 1 session"},
		"a budget without room":   {strings.Replace(general, `guardrails:`, `budget: {duration: 20m}, guardrails:`, 1), sessions(1, 3), 10 * time.Second, true, "give the budget room for windows of 20s"},
	} {
		t.Run(name, func(t *testing.T) {
			spec, plan, planner := sessionPlan(t, c.patch)
			entries, err := ReadSessions(WriteSessions(c.entries)) // as status has them
			if err != nil {
				t.Fatal(err)
			}
			s, err := SessionsOf(spec, plan, entries)
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.Outcome(planner, nil)
			says := out.Summary
			if says == "" {
				says = s.Progress().Summary
			}
			if err != nil || (s.Stop != "") != c.stop || !strings.Contains(says, c.says) {
				t.Errorf("stop %q, summary %q, progress %q, %v", s.Stop, out.Summary, s.Progress().Summary, err)
			}
			order, err := s.SessionPlan()
			if err != nil || order.Window != c.window || order.Timing.WashOut != c.window*3/10 {
				t.Errorf("windows of %v with a wash-out of %v, %v; want windows of %v", order.Window, order.Timing.WashOut, err, c.window)
			}
			if more := s.Expected().Time - plan.RunDuration.Duration; s.Dwells == 0 && more != time.Duration(2*plan.Pairs)*(c.window-10*time.Second) {
				t.Errorf("the next session takes %v longer than planned", more)
			}
		})
	}
}

// Windows that become longer add sessions, and the schema bounds status.runs. With six candidates and three
// constraints, a session has 24 lines of 400.
func TestTheLedgerHoldsAllSessions(t *testing.T) {
	patch := strings.NewReplacer("{sessions: 1}", "{sessions: 12}", `["1"]`, `["1", "2", "3", "4", "5", "6"]`, "{parameters",
		"{constraints: [{phase: write, metric: LatencyMean, maximumRegression: 10%}, {phase: write, metric: Bandwidth, atLeast: 1Mi}, {phase: write, metric: Bandwidth, maximumRegression: 10%}], parameters").Replace(switchedPatch)
	spec, plan, planner := sessionPlan(t, patch)
	var entries []SessionEntry
	for n := 1; ; n++ {
		s, err := SessionsOf(spec, plan, entries)
		if err != nil {
			t.Fatal(err)
		}
		if s.Stop != "" {
			if n != 17 || s.Superseded != 12 || !strings.Contains(s.Stop, "status.runs has no room") || len(entries) > sweep.MaxLedger {
				t.Errorf("%d sessions of %d lines, %d superseded, stop %q", n-1, len(entries), s.Superseded, s.Stop)
			}
			// A larger budget would not help.
			if text := s.Sentence(planner); !strings.Contains(text, "status.runs has no room for windows of 40s. Use fewer sessions") || strings.Contains(text, "budget") {
				t.Errorf("summary %q", text)
			}
			return
		}
		for candidate := range 6 {
			late := 0.0
			if n == 12 || n == 16 { // Carry-over shows in the last session, and in the last that the ledger holds.
				late = 9
			}
			entry := switchback.Entry{Session: n, Candidate: candidate + 1, Groups: 8, Mean: 0.2 * float64(n%2*2-1), StdDev: 0.02, Late: late}
			entries = append(entries, SessionEntry{Entry: entry, Seconds: 240, Validity: v1alpha1.SweepSessionValid})
			for k := range 3 {
				figure := entry
				if k == 1 { // The second constraint limits the level itself.
					figure.Mean = math.Log(5e6)
				}
				entries = append(entries, SessionEntry{Entry: figure, Constraint: k + 1, Seconds: 240, Validity: v1alpha1.SweepSessionConstraint})
			}
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
	if order, err := s.SessionPlan(); err != nil || order.Window != 10*time.Second {
		t.Errorf("windows of %v, %v", order.Window, err)
	}
}

// A win takes a known answer about each constraint, and a broken one rules a candidate out.
func TestConstraintsOfSessions(t *testing.T) {
	patch := strings.NewReplacer("{sessions: 1}", "{sessions: 4}", "{parameters", "{constraints: [{phase: write, metric: LatencyMean, maximumRegression: 10%}, {phase: write, metric: Bandwidth, atLeast: 1Mi}], parameters").Replace(switchedPatch)
	session := func(number int, gain, latency, bytes float64) []SessionEntry {
		line := func(mean float64, constraint int, v v1alpha1.SweepSessionValidity) SessionEntry {
			return SessionEntry{
				Entry:      switchback.Entry{Session: number, Candidate: 1, Groups: 4, Mean: mean + 0.002*float64(number), StdDev: 0.02},
				Constraint: constraint, Seconds: 240, Validity: v,
			}
		}
		return []SessionEntry{line(gain, 0, v1alpha1.SweepSessionValid), line(latency, 1, v1alpha1.SweepSessionConstraint), line(math.Log(bytes), 2, v1alpha1.SweepSessionConstraint)}
	}
	three := func(gain, latency, bytes float64) []SessionEntry {
		return slices.Concat(session(1, gain, latency, bytes), session(2, gain, latency, bytes), session(3, gain, latency, bytes))
	}
	unsure := slices.Concat(session(1, 0.3, 0, 5e6), session(2, 0.3, 0.2, 5e6), session(3, 0.3, 0.1, 5e6))
	held := dwellsOf(4, 1, stats.Contrast{LogRatio: 0.3, StdDev: 0.02, Runs: 4}, 1100, 7)
	for name, c := range map[string]struct {
		entries []SessionEntry
		goesOn  bool
		winner  int
		states  []v1alpha1.ConstraintOutcome
		says    string
	}{
		"both are kept":         {append(three(0.3, 0, 5e6), held), false, 1, []v1alpha1.ConstraintOutcome{"Kept", "Kept"}, "cap=1 is Superior on this cluster"},
		"a latency breaks one":  {three(0.3, 0.5, 5e6), false, 0, []v1alpha1.ConstraintOutcome{"Broken", "Kept"}, "It does not win: write LatencyMean is broken."},
		"too few bytes":         {three(0.3, 0, 1e5), false, 0, []v1alpha1.ConstraintOutcome{"Kept", "Broken"}, "is broken"},
		"one is not known":      {unsure, true, 0, nil, ""},
		"neither gain nor loss": {three(0, 0.5, 5e6), false, 0, []v1alpha1.ConstraintOutcome{"Broken", "Kept"}, "is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			spec, plan, planner := sessionPlan(t, patch)
			entries, err := ReadSessions(WriteSessions(c.entries))
			if diff := cmp.Diff(c.entries, entries, cmpopts.EquateApprox(0, 1e-6)); err != nil || diff != "" {
				t.Fatalf("%v, -want +got:\n%s", err, diff)
			}
			s, err := SessionsOf(spec, plan, entries)
			if err != nil {
				t.Fatal(err)
			}
			out, err := s.Outcome(planner, nil)
			var states []v1alpha1.ConstraintOutcome
			for _, k := range out.Constraints {
				states = append(states, k.Outcome)
			}
			if !c.goesOn && !slices.Equal(states, c.states) {
				t.Errorf("constraints %v, want %v", states, c.states)
			}
			if err != nil || (s.Stop == "") != c.goesOn || s.Winner() != c.winner || !strings.Contains(out.Summary, c.says) || (len(out.Patches) > 0) != (c.winner > 0) {
				t.Errorf("stop %q, dwells of %d, winner %d, %q, %v", s.Stop, s.Dwells, s.Winner(), out.Summary, err)
			}
		})
	}
	lines := WriteSessions(session(1, 0.3, 0, 5e6))
	if _, err := ReadSessions(lines[1:]); !errors.Is(err, sweep.ErrLedger) {
		t.Errorf("a constraint follows nothing: %v", err)
	}
}

func TestSessionsAreNoRuns(t *testing.T) {
	spec, plan, _ := sessionPlan(t, switchedPatch)
	s := &v1alpha1.CephTuningSweep{Spec: *spec, Status: v1alpha1.CephTuningSweepStatus{Plan: plan, Runs: WriteSessions([]SessionEntry{
		{Entry: switchback.Entry{Session: 1, Candidate: 1, Groups: 4}, Validity: v1alpha1.SweepSessionValid},
		{Entry: switchback.Entry{Session: 1, Candidate: 2, Groups: 4}, Validity: v1alpha1.SweepSessionValid},
	})}}
	if ledger, err := LedgerOf(s); err != nil || len(ledger) != 0 || NextRun(s) != 2 {
		t.Errorf("runs %v, %v, next %d", ledger, err, NextRun(s))
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
