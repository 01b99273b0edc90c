package stats

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// normalised returns a contrast of given estimate and standard error from R
// blocks, so that cases can be read without arithmetic on samples.
func normalised(logRatio, stdErr float64, runs int) Contrast {
	return Contrast{
		LogRatio: logRatio, StdErr: stdErr, StdDev: stdErr * math.Sqrt(float64(runs)),
		DF: float64(runs - 1), Runs: runs, Paired: true,
	}
}

func TestJudge(t *testing.T) {
	higher := Criteria{MinimumEffect: 0.20, Equivalence: 0.05, Confidence: 0.95}
	lower := Criteria{Direction: LowerIsBetter, MinimumEffect: 0.20, Equivalence: 0.05, Confidence: 0.95}
	stalls, stallsLower := higher, lower
	stalls.UnseenStalls, stallsLower.UnseenStalls = 0.04, 0.04
	for name, tc := range map[string]struct {
		criteria    Criteria
		contrast    Contrast
		faults      []Reason
		wantVerdict Verdict
		wantCodes   []ReasonCode
	}{
		"a clear gain beyond the minimum effect": {
			higher, normalised(math.Log(1.4), 0.03, 6), nil, Superior, []ReasonCode{ThresholdExceeded},
		},
		"the same gain from two blocks": {
			higher, normalised(math.Log(1.4), 0.001, 2), nil, Invalid, []ReasonCode{TooFewRuns},
		},
		"the same gain under drift": {
			higher, normalised(math.Log(1.4), 0.03, 6), []Reason{{Code: Drifted}}, Invalid, []ReasonCode{Drifted},
		},
		"no candidate run at all": {
			higher, Contrast{}, []Reason{{Code: Inert}}, Invalid, []ReasonCode{Inert, TooFewRuns},
		},
		"a gain that is real but smaller than asked for": {
			higher, normalised(math.Log(1.10), 0.02, 8), nil, Better, []ReasonCode{GainIsSmall},
		},
		"a real gain inside the equivalence margin is no difference that matters": {
			higher, normalised(math.Log(1.02), 0.005, 8), nil, Equivalent, []ReasonCode{WithinEquivalence},
		},
		"a loss": {
			higher, normalised(math.Log(0.80), 0.03, 6), nil, Inferior, []ReasonCode{LossShown},
		},
		"a gain whose size is open": {
			higher, normalised(math.Log(1.25), 0.04, 6), nil, Inconclusive, []ReasonCode{GainSizeOpen},
		},
		"noise that allows everything": {
			higher, normalised(math.Log(1.1), 0.2, 4), nil, Inconclusive, []ReasonCode{EffectOpen},
		},
		"a gain of 20% is ruled out, no gain is not": {
			higher, normalised(math.Log(1.03), 0.03, 5), nil, Inconclusive, []ReasonCode{GainRuledOut},
		},
		"latency down by a third": {
			lower, normalised(math.Log(0.66), 0.03, 6), nil, Superior, []ReasonCode{ThresholdExceeded},
		},
		"latency divided by 1.22 is not yet 20% lower": {
			lower, normalised(math.Log(1/1.22), 0.001, 6), nil, Better, []ReasonCode{GainIsSmall},
		},
		"latency up": {
			lower, normalised(math.Log(1.3), 0.03, 6), nil, Inferior, []ReasonCode{LossShown},
		},
		"a gain that unseen stalls would undo": {
			stalls, normalised(math.Log(1.24), 0.001, 6), nil, Inconclusive, []ReasonCode{GainSizeOpen},
		},
		"a gain that they would not undo": {
			stalls, normalised(math.Log(1.26), 0.001, 6), nil, Superior, []ReasonCode{ThresholdExceeded},
		},
		"a small gain that they would undo": {
			stalls, normalised(math.Log(1.04), 0.001, 6), nil, Equivalent, []ReasonCode{WithinEquivalence},
		},
		"a small gain that they would not undo": {
			stalls, normalised(math.Log(1.06), 0.001, 6), nil, Better, []ReasonCode{GainIsSmall},
		},
		"a loss that stalls of the baseline would undo": {
			stalls, normalised(math.Log(0.955), 0.008, 6), nil, Inconclusive, []ReasonCode{GainRuledOut},
		},
		"a latency that unseen stalls would undo": {
			stallsLower, normalised(math.Log(0.78), 0.001, 6), nil, Inconclusive, []ReasonCode{GainSizeOpen},
		},
		"a latency that they would not undo": {
			stallsLower, normalised(math.Log(0.76), 0.001, 6), nil, Superior, []ReasonCode{ThresholdExceeded},
		},
	} {
		t.Run(name, func(t *testing.T) {
			as, err := Judge(tc.criteria, []Comparison{{Name: "x", Contrast: tc.contrast, Faults: tc.faults}})
			if err != nil {
				t.Fatal(err)
			}
			var codes []ReasonCode
			for _, r := range as[0].Reasons {
				codes = append(codes, r.Code)
			}
			if as[0].Verdict != tc.wantVerdict {
				t.Errorf("verdict %s, want %s: %s", as[0].Verdict, tc.wantVerdict, as[0].Sentence())
			}
			if diff := cmp.Diff(tc.wantCodes, codes); diff != "" {
				t.Errorf("reasons (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHolmMakesManyCandidatesPayForTheirNumber(t *testing.T) {
	criteria := Criteria{MinimumEffect: 0.1, Equivalence: 0.05, Confidence: 0.95}
	lucky := Comparison{Name: "lucky", Contrast: normalised(math.Log(1.1)+0.06, 0.025, 6)}
	alone, err := Judge(criteria, []Comparison{lucky})
	if err != nil {
		t.Fatal(err)
	}
	crowd := []Comparison{lucky}
	for range 6 {
		crowd = append(crowd, Comparison{Contrast: normalised(0.05, 0.025, 6)})
	}
	together, err := Judge(criteria, crowd)
	if err != nil {
		t.Fatal(err)
	}
	if alone[0].Verdict != Superior || together[0].Verdict != Inconclusive {
		t.Errorf("alone %s, one of seven %s; want Superior and Inconclusive", alone[0].Verdict, together[0].Verdict)
	}
	if diff := cmp.Diff(7*alone[0].P.Superior, together[0].Holm.Superior, approx); diff != "" {
		t.Errorf("Holm's p (-want +got):\n%s", diff)
	}
	found := false
	for _, r := range together[0].Reasons {
		found = found || r.Code == AskedForMany && r.Count == 7
	}
	if !found {
		t.Errorf("reasons %v do not name the seven candidates", together[0].Reasons)
	}
}

func TestInvalidCandidatesTakeNoShareOfTheError(t *testing.T) {
	criteria := Criteria{MinimumEffect: 0.1, Equivalence: 0.05, Confidence: 0.95}
	good := Comparison{Contrast: normalised(0.2, 0.02, 6)}
	bad := Comparison{Contrast: normalised(0.2, 0.02, 2)}
	as, err := Judge(criteria, []Comparison{bad, good, bad})
	if err != nil {
		t.Fatal(err)
	}
	if as[1].Holm != as[1].P {
		t.Errorf("Holm %+v, want the unadjusted %+v", as[1].Holm, as[1].P)
	}
	if diff := cmp.Diff(MoreRuns{Total: 3, Needed: 1, Toward: Inconclusive, Low: 1, High: 1, Paired: true}, as[0].MoreRuns()); diff != "" {
		t.Errorf("what two blocks lack (-want +got):\n%s", diff)
	}
}

func TestMoreRuns(t *testing.T) {
	for name, tc := range map[string]struct {
		maxRuns int
		gain    float64
		want    MoreRuns
		family  int
	}{
		// s = 0.1, gap = ln(1.3/1.2): s·(t_{11,.95}+t_{11,.8})/√12 = 0.0771 ≤ 0.0800,
		// and 0.0812 for 11. scipy: .1*(t.isf(.05,R-1)+t.isf(.2,R-1))/R**.5
		// The range is R* for s·√(3/χ²) at .9 and .1 of χ² with 3 degrees of freedom: 0.0693 and
		// 0.2266. scipy: (3/chi2.ppf([.9, .1], 3))**.5
		"towards Superior":                         {0, math.Log(1.3), MoreRuns{Total: 12, Needed: 8, Toward: Superior, Low: 3, High: 48, Paired: true}, 1},
		"towards Equivalent, not towards any gain": {0, 0.001, MoreRuns{Total: 29, Needed: 25, Toward: Equivalent, Low: 11, High: 137, Paired: true}, 1},
		"too close for the runs allowed":           {10, math.Log(1.3), MoreRuns{Total: 12, Needed: 8, Toward: Superior, TooClose: true, Low: 3, High: 48, Paired: true}, 1},
		"exactly at the threshold":                 {0, math.Log(1.2), MoreRuns{TooClose: true, Paired: true}, 1},
		// The gap to the threshold, 0.0923, decides: at 2.5 %, or at 0.625 % for four candidates.
		"towards Better":                     {0, 0.09, MoreRuns{Total: 12, Needed: 8, Toward: Better, Low: 3, High: 46, Paired: true}, 1},
		"towards Better, of four candidates": {0, 0.09, MoreRuns{Total: 17, Needed: 13, Toward: Better, Low: 6, High: 67, Paired: true}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			c := Criteria{MinimumEffect: 0.2, Equivalence: 0.05, Confidence: 0.95, MaxRuns: tc.maxRuns}
			got := c.runsToDecide(normalised(tc.gain, 0.05, 4), c.levels(tc.family), tc.family)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("more runs (-want +got):\n%s", diff)
			}
		})
	}
}

// Without noise, the smallest number of runs would seem to resolve any gap, again and again.
func TestNoiselessRunsAtAThresholdAreTooCloseToDecide(t *testing.T) {
	c := Criteria{MinimumEffect: 0.2, Equivalence: 0.05, Confidence: 0.95}
	for _, gain := range []float64{math.Log(1.2), math.Log(1.2) + 1e-15, math.Log(1.2) - 1e-15} {
		got := c.runsToDecide(Contrast{LogRatio: gain, DF: 5, Runs: 6, Paired: true}, c.levels(1), 1)
		if !got.TooClose || got.Needed != 0 {
			t.Errorf("at %v: %+v, want too close", gain, got)
		}
	}
}

func TestMoreRunsInWords(t *testing.T) {
	block := Effort{Runs: 4, Time: 5 * time.Minute}
	for want, tc := range map[string]struct {
		more MoreRuns
		each Effort
	}{
		"nothing is missing":                                                                       {},
		"about 1 more run a side would decide":                                                     {more: MoreRuns{Total: 3, Needed: 1, Low: 1, High: 1}},
		"about 9 more blocks would decide (5 to 16)":                                               {more: MoreRuns{Total: 12, Needed: 9, Low: 5, High: 16, Paired: true}},
		"about 36 more runs would decide (20 to 64, 25m to 1h20m)":                                 {MoreRuns{Total: 12, Needed: 9, Low: 5, High: 16, Paired: true}, block},
		"about 36 more runs would decide (20 to more than 1000, 25m to more than 20h50m)":          {MoreRuns{Total: 12, Needed: 9, Low: 5, High: 400, Paired: true}, block},
		"about 8 more runs would decide (10m)":                                                     {MoreRuns{Total: 3, Needed: 2, Low: 2, High: 2, Paired: true}, block},
		"more than 1000 more runs are needed":                                                      {MoreRuns{Total: 4354, Needed: 4352, Low: 900, Paired: true}, block},
		"more than 1000 more runs a side are needed":                                               {more: MoreRuns{Total: 4354, Needed: 4352, Low: 900}},
		"it is too close to a threshold to be decided":                                             {MoreRuns{TooClose: true, Paired: true}, block},
		"it is too close to a threshold: about 36 more runs would decide (20 to 64, 25m to 1h20m)": {MoreRuns{Total: 12, Needed: 9, Low: 5, High: 16, TooClose: true, Paired: true}, block},
		"it is too close to a threshold: more than 1000 more runs are needed":                      {MoreRuns{Total: 12, Needed: 999, Low: 5, TooClose: true, Paired: true}, block},
		"about 9 more blocks would decide (5 to more than 1000)":                                   {more: MoreRuns{Total: 12, Needed: 9, Low: 5, Paired: true}},
	} {
		if diff := cmp.Diff(want, tc.more.Words(tc.each)); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", tc.more, diff)
		}
	}
}

func TestLooksMakeTheVerdictStricterAndTheIntervalWider(t *testing.T) {
	once := Criteria{MinimumEffect: 0.1, Equivalence: 0.05, Confidence: 0.95}
	often := once
	often.Looks = Looks{First: 3, Last: 12}
	cmps := []Comparison{{Contrast: normalised(math.Log(1.1)+0.06, 0.025, 6)}}
	a, err := Judge(once, cmps)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Judge(often, cmps)
	if err != nil {
		t.Fatal(err)
	}
	if a[0].Verdict != Superior || b[0].Verdict == Superior {
		t.Errorf("one look %s, ten looks %s", a[0].Verdict, b[0].Verdict)
	}
	if math.Abs(b[0].Level-0.01123) > 1e-5 || b[0].Interval.Low >= a[0].Interval.Low {
		t.Errorf("level %v, interval %v against %v", b[0].Level, b[0].Interval, a[0].Interval)
	}
}

func TestIdenticalRunsCarryAWarning(t *testing.T) {
	as, err := Judge(Criteria{MinimumEffect: 0.1, Equivalence: 0.05, Confidence: 0.95},
		[]Comparison{{Name: "same", Contrast: mustContrast(t, pairsOf(15, 15, 15, 15, 15, 15))}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Reason{{Code: IdenticalRuns, Count: 3}}, as[0].Warnings); as[0].Verdict != Equivalent || diff != "" {
		t.Errorf("%s, warnings (-want +got):\n%s", as[0].Verdict, diff)
	}
}

func TestJudgeRefusesCriteriaThatMeanNothing(t *testing.T) {
	good := Criteria{MinimumEffect: 0.1, Equivalence: 0.05, Confidence: 0.95}
	for name, spoil := range map[string]func(*Criteria){
		"confidence in per cent":                 func(c *Criteria) { c.Confidence = 95 },
		"certainty":                              func(c *Criteria) { c.Confidence = 1 },
		"no equivalence margin":                  func(c *Criteria) { c.Equivalence = 0 },
		"a negative minimum effect":              func(c *Criteria) { c.MinimumEffect = -0.1 },
		"a latency below nothing":                func(c *Criteria) { c.Direction, c.MinimumEffect = LowerIsBetter, 1 },
		"looks that end before they start":       func(c *Criteria) { c.Looks = Looks{8, 3} },
		"a minimum effect that is not a number":  func(c *Criteria) { c.MinimumEffect = math.NaN() },
		"an equivalence margin that is infinite": func(c *Criteria) { c.Equivalence = math.Inf(1) },
	} {
		c := good
		spoil(&c)
		if _, err := Judge(c, nil); !errors.Is(err, ErrParameter) {
			t.Errorf("%s: %v, want ErrParameter", name, err)
		}
	}
}

func TestSentences(t *testing.T) {
	criteria := Criteria{MinimumEffect: 0.2, Equivalence: 0.05, Confidence: 0.95}
	for want, c := range map[string]Contrast{
		"pg_num=64 is better than the baseline by more than 20%: ratio 1.400, 95% interval 1.296 to 1.512, 6 " +
			"blocks.": normalised(math.Log(1.4), 0.03, 6),
		"pg_num=64 differs from the baseline by less than 5%: ratio 1.000, 95% interval 0.987 to 1.013, 6 " +
			"blocks.": normalised(0, 0.005, 6),
		"pg_num=64: no verdict, because there is 1 run where 3 are needed: it cannot predict the next " +
			"one.": {LogRatio: 1, Runs: 1},
		"pg_num=64 is undecided (a gain is shown, but not whether it exceeds the minimum effect; it is too close to a threshold to be decided): ratio 1.200, 95% interval 1.083 to 1.330, " +
			"6 blocks.": normalised(math.Log(1.2), 0.04, 6),
	} {
		as, err := Judge(criteria, []Comparison{{Name: "pg_num=64", Contrast: c}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, as[0].Sentence()); diff != "" {
			t.Errorf("sentence (-want +got):\n%s", diff)
		}
	}
}

func TestEveryVerdictHasASentence(t *testing.T) {
	criteria := Criteria{MinimumEffect: 0.2, Equivalence: 0.05, Confidence: 0.95, MaxRuns: 14}
	for want, c := range map[string]Contrast{
		"is better than the baseline, but by less than 20%":                           normalised(math.Log(1.1), 0.02, 8),
		"is worse than the baseline":                                                  normalised(math.Log(0.8), 0.03, 6),
		"it is too close to a threshold: about 13 more blocks would decide (6 to 75)": normalised(math.Log(1.1), 0.06, 4),
		"about 9 more runs a side would decide (4 to 28)":                             {LogRatio: math.Log(1.35), StdErr: 0.08, StdDev: 0.16, DF: 6, Runs: 4},
		"ratio 1.350, 95% interval 1.110 to 1.642, 4 runs a side":                     {LogRatio: math.Log(1.35), StdErr: 0.08, StdDev: 0.16, DF: 6, Runs: 4},
	} {
		as, err := Judge(criteria, []Comparison{{Name: "x", Contrast: c}})
		if err != nil {
			t.Fatal(err)
		}
		if got := as[0].Sentence(); !strings.Contains(got, want) {
			t.Errorf("sentence %q does not say %q", got, want)
		}
	}
}

func TestPassingARaceIsNotBeingConfirmed(t *testing.T) {
	criteria := Criteria{MinimumEffect: 0.2, Equivalence: 0.05, Confidence: 0.95}
	as, err := Judge(criteria, []Comparison{
		{Name: "fast", Contrast: normalised(math.Log(1.4), 0.03, 6)},
		{Name: "slow", Contrast: normalised(math.Log(0.7), 0.03, 6)},
	})
	if err != nil {
		t.Fatal(err)
	}
	fast, slow := as[0].Unconfirmed(), as[1].Unconfirmed()
	if as[0].Verdict != Superior || fast.Verdict != Inconclusive || fast.Reasons[0].Code != NotConfirmed {
		t.Errorf("%s became %s because %v", as[0].Verdict, fast.Verdict, fast.Reasons)
	}
	if diff := cmp.Diff(as[1], slow, approx); diff != "" {
		t.Errorf("a loss needs no confirmation (-want +got):\n%s", diff)
	}
	// A confirmation is missing, which starts from scratch. The rest of the race does not count.
	if more := fast.MoreRuns(); more.Toward != Superior || more.Needed != more.Total {
		t.Errorf("missing %+v, want fresh runs towards Superior", more)
	}
}

func TestAGainNeedsTrialsThatWereNotStarved(t *testing.T) {
	criteria := Criteria{MinimumEffect: 0.2, Equivalence: 0.05, Confidence: 0.95}
	judged := func(ratio float64, runs int) Assessment {
		as, err := Judge(criteria, []Comparison{{Name: "a", Contrast: normalised(math.Log(ratio), 0.03, runs)}})
		if err != nil {
			t.Fatal(err)
		}
		return as[0]
	}
	for name, c := range map[string]struct {
		all, without Assessment
		want         Verdict
	}{
		"the others show it, too":          {judged(1.4, 9), judged(1.38, 6), Superior},
		"the others show less":             {judged(1.4, 9), judged(1.1, 6), Better},
		"the others do not show it":        {judged(1.4, 9), judged(1.0, 6), Inconclusive},
		"there are no others":              {judged(1.4, 9), judged(1.4, 0), Inconclusive},
		"the others show more":             {judged(1.1, 9), judged(1.4, 6), Better},
		"a loss stays, as it is no gain":   {judged(0.7, 9), judged(0.7, 0), Inferior},
		"equivalence stays, as it is none": {Assessment{Verdict: Equivalent, Reasons: []Reason{{Code: WithinEquivalence}}}, judged(1.0, 0), Equivalent},
	} {
		got := c.all.Withheld(c.without)
		if got.Verdict != c.want || (c.want == Inconclusive) != (got.Reasons[0].Code == Starved) {
			t.Errorf("%s: %s because %v, want %s", name, got.Verdict, got.Reasons, c.want)
		}
	}
}

func TestEveryReasonHasAClause(t *testing.T) {
	for _, code := range []ReasonCode{
		TooFewRuns, NotSteady, Drifted, NoControls, Inert, RunsFailed, OtherLoad, NotStorage, HiddenWaits, Saturated, ClosedLoop, ThresholdExceeded, WithinEquivalence, GainIsSmall, LossShown,
		GainSizeOpen, GainRuledOut, EffectOpen, AskedForMany, NotConfirmed, Starved, IdenticalRuns,
	} {
		if text := (Reason{Code: code}).String(); text == string(code) || strings.Contains(text, "%!") {
			t.Errorf("%s has no sentence: %q", code, text)
		}
	}
}

func TestConstraint(t *testing.T) {
	reads := Constraint{Name: "seq-4m", MaximumRegression: 0.10}
	latency := Constraint{Name: "p99", Direction: LowerIsBetter, MaximumRegression: 0.10}
	for name, tc := range map[string]struct {
		constraint Constraint
		contrast   Contrast
		want       ConstraintState
	}{
		"no change, known well":                     {reads, normalised(0, 0.02, 6), Kept},
		"no change, known badly":                    {reads, normalised(0, 0.10, 6), Unknown},
		"half as fast":                              {reads, normalised(math.Log(0.5), 0.05, 6), Broken},
		"faster reads keep a constraint on rates":   {reads, normalised(math.Log(2), 0.05, 6), Kept},
		"doubled latency breaks one on latency":     {latency, normalised(math.Log(2), 0.05, 6), Broken},
		"a latency 5% up is within 10%, if certain": {latency, normalised(math.Log(1.05), 0.01, 6), Kept},
		"two blocks know nothing":                   {reads, normalised(0, 0.0001, 2), Unknown},
		"one block knows nothing":                   {reads, Contrast{LogRatio: 0, Runs: 1}, Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.constraint.Check(tc.contrast, 0.95)
			if err != nil {
				t.Fatal(err)
			}
			if got.State != tc.want {
				t.Errorf("%s with interval %v and limit %v, want %s", got.State, got.Interval, got.Limit, tc.want)
			}
		})
	}
	if _, err := reads.Check(Contrast{}, 95); !errors.Is(err, ErrParameter) {
		t.Errorf("confidence 95: %v, want ErrParameter", err)
	}
}
