package history

import (
	"errors"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// level returns nights of a phase whose rate is multiplied by a factor from a night on; 0 for never.
func level(phase v1alpha1.PhaseName, nights, since int, factor float64) []Night {
	rng := rand.New(rand.NewPCG(20, uint64(len(phase))))
	var all []Night
	for night := range nights {
		value := 1000 * math.Exp(0.02*rng.NormFloat64())
		if since > 0 && night >= since {
			value *= factor
		}
		all = append(all, Night{SchemaVersion: schemaVersion, Time: at(night), Figures: []Figure{{
			Phase: phase, SpecDigest: "d", Metric: v1alpha1.MetricIOPS, Value: value, Runs: 3,
		}}})
	}
	return all
}

// rate judges the operations per second of phase a.
func rate(t *testing.T, nights []Night) Series {
	t.Helper()
	all, err := Judge([]v1alpha1.Phase{{Name: "a"}}, nights, v1alpha1.MetricIOPS, time.Time{})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d series, %v", len(all), err)
	}
	return all[0]
}

// beside adds the figures of other nights, which have the same times.
func beside(nights, others []Night) []Night {
	for i := range others {
		n := &nights[len(nights)-len(others)+i]
		n.Figures = append(n.Figures, others[i].Figures...)
	}
	return nights
}

func TestRegressed(t *testing.T) {
	worse := level("a", 30, 20, 0.85)
	changed := level("a", 30, 10, 0.85)
	for i := range changed[:10] {
		changed[i].Figures[0].SpecDigest = "another workload"
	}
	zero := level("a", 30, 0, 1)
	zero[3].Figures[0].Value = 0
	for name, c := range map[string]struct {
		nights []Night
		status metav1.ConditionStatus
		reason string
		parts  []string
	}{
		"slower": {worse, metav1.ConditionTrue, v1alpha1.ReasonGotWorse, []string{
			"a IOPS is worse by 1", "since 2026-01-21; the first such night is one of 2026-01-", "(90 %), after that of 2026-01-", "by 30 nights from 2026-01-01 to 2026-01-30.",
		}},
		"steady": {level("a", 30, 0, 1), metav1.ConditionFalse, v1alpha1.ReasonNoChangeFound, []string{
			"a IOPS has no known change for the worse in 30 nights from 2026-01-01 to 2026-01-30.",
		}},
		"faster":                   {level("a", 30, 20, 1.2), metav1.ConditionFalse, v1alpha1.ReasonNoChangeFound, []string{"no known change for the worse"}},
		"too few nights":           {level("a", 11, 0, 1), metav1.ConditionUnknown, v1alpha1.ReasonNotJudged, []string{"a IOPS has too few nights: 11 of 12 with the present workload."}},
		"another workload":         {changed, metav1.ConditionFalse, v1alpha1.ReasonNoChangeFound, []string{"in 20 nights from 2026-01-11"}},
		"one of two is slower":     {beside(level("a", 30, 20, 0.85), level("b", 5, 0, 1)), metav1.ConditionTrue, v1alpha1.ReasonGotWorse, []string{"a IOPS is worse"}},
		"one of two has no answer": {beside(level("a", 30, 0, 1), level("b", 5, 0, 1)), metav1.ConditionUnknown, v1alpha1.ReasonNotJudged, []string{"b IOPS has too few nights: 5 of 12"}},
		"two are steady": {beside(level("a", 30, 0, 1), level("b", 20, 0, 1)), metav1.ConditionFalse, v1alpha1.ReasonNoChangeFound, []string{
			"a IOPS has no known change", "b IOPS has no known change for the worse in 20 nights from 2026-01-11",
		}},
		"no rate": {zero, metav1.ConditionUnknown, v1alpha1.ReasonNotJudged, []string{"night 3 has the value 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Regressed(Judge([]v1alpha1.Phase{{Name: "a"}, {Name: "b"}}, c.nights, v1alpha1.MetricIOPS, time.Time{}))
			if got.Type != v1alpha1.ConditionRegressed || got.Status != c.status || got.Reason != c.reason {
				t.Errorf("got %+v", got)
			}
			for _, part := range c.parts {
				if !strings.Contains(got.Message, part) {
					t.Errorf("%q has no %q", got.Message, part)
				}
			}
		})
	}
}

// A cluster that changed while no benchmark ran has changed on no night that the history has. The text names only those.
func TestTheTextNamesNightsWithResults(t *testing.T) {
	dates := regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)
	steps := 0
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(54, seed))
		var nights []Night
		known := map[string]bool{}
		for i, n := range level("a", 50, 25, 0.85) {
			if i >= 21 && i < 28 || rng.Float64() < 0.2 {
				continue
			}
			nights = append(nights, n)
			known[n.Time.Format(time.DateOnly)] = true
		}
		got := rate(t, nights)
		if len(got.Changes) > 0 {
			steps++
		}
		text := got.Sentence()
		for _, date := range dates.FindAllString(text, -1) {
			if !known[date] {
				t.Errorf("seed %d: no night has the date %s: %s", seed, date, text)
			}
		}
	}
	if steps != 30 {
		t.Errorf("%d of 30 steps were found", steps)
	}

	var nights []Night
	for i, n := range level("a", 40, 20, 0.85) {
		if i < 17 || i >= 24 {
			nights = append(nights, n)
		}
	}
	want := "since 2026-01-25; the first such night is one of 2026-01-25 to 2026-01-25 (90 %), after that of 2026-01-17"
	if got := rate(t, nights).Sentence(); !strings.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A trend is no change since a certain night, but the message has it.
func TestATrendIsNamed(t *testing.T) {
	nights := level("a", 60, 0, 1)
	for i := range nights {
		nights[i].Figures[0].Value *= math.Exp(-0.005 * float64(i))
	}
	got := Regressed(Judge([]v1alpha1.Phase{{Name: "a"}}, nights, v1alpha1.MetricIOPS, time.Time{}))
	if got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, "but a trend: worse by 2") {
		t.Errorf("got %+v", got)
	}
}

func TestRegressedWithoutAnswer(t *testing.T) {
	if got := Regressed(nil, errors.New("no figures")); got.Status != metav1.ConditionUnknown || got.Message != "no figures" {
		t.Errorf("got %+v", got)
	}
}

// An acknowledged change stays so in each later night, although it is judged anew, and a later change counts.
func TestAcknowledged(t *testing.T) {
	day := func(night int) string { return at(night).Format(time.DateOnly) }
	again := func(nights []Night, since int) []Night {
		for i := range nights[since:] {
			nights[since+i].Figures[0].Value *= 0.85
		}
		return nights
	}
	for name, c := range map[string]struct {
		nights []Night
		until  string
		now    int // the night in which it is judged
		status metav1.ConditionStatus
		reason string
		part   string
	}{
		"on its first night":           {level("a", 30, 20, 0.85), day(20), 30, metav1.ConditionFalse, v1alpha1.ReasonAcknowledged, "since 2026-01-21, acknowledged; the first"},
		"a week later":                 {level("a", 30, 20, 0.85), day(27), 30, metav1.ConditionFalse, v1alpha1.ReasonAcknowledged, "and spec.acknowledgedUntil covers it."},
		"a date before it":             {level("a", 30, 20, 0.85), day(10), 30, metav1.ConditionTrue, v1alpha1.ReasonGotWorse, "since 2026-01-21; the first"},
		"a date that is yet to come":   {level("a", 30, 20, 0.85), day(31), 30, metav1.ConditionTrue, v1alpha1.ReasonGotWorse, "since 2026-01-21; the first"},
		"the date has come":            {level("a", 30, 20, 0.85), day(31), 31, metav1.ConditionFalse, v1alpha1.ReasonAcknowledged, "covers it."},
		"slower again later":           {again(level("a", 40, 20, 0.85), 30), day(20), 40, metav1.ConditionTrue, v1alpha1.ReasonGotWorse, "since 2026-01-31; the first"},
		"that is acknowledged, too":    {again(level("a", 40, 20, 0.85), 30), day(30), 40, metav1.ConditionFalse, v1alpha1.ReasonAcknowledged, "since 2026-01-31, acknowledged"},
		"nothing is worse":             {level("a", 30, 0, 1), day(20), 30, metav1.ConditionFalse, v1alpha1.ReasonNoChangeFound, "no known change"},
		"faster is not acknowledged":   {level("a", 30, 20, 1.2), day(20), 30, metav1.ConditionFalse, v1alpha1.ReasonNoChangeFound, "no known change"},
		"another phase is slower":      {beside(level("a", 30, 20, 0.85), level("b", 30, 25, 0.85)), day(20), 30, metav1.ConditionTrue, v1alpha1.ReasonGotWorse, "b IOPS is worse"},
		"another phase has no answer":  {beside(level("a", 30, 20, 0.85), level("b", 5, 0, 1)), day(20), 30, metav1.ConditionUnknown, v1alpha1.ReasonNotJudged, "b IOPS has too few"},
		"another phase has no change":  {beside(level("a", 30, 20, 0.85), level("b", 30, 0, 1)), day(20), 30, metav1.ConditionFalse, v1alpha1.ReasonAcknowledged, "b IOPS has no known change"},
		"nothing that could be parsed": {level("a", 30, 20, 0.85), "yesterday", 30, metav1.ConditionTrue, v1alpha1.ReasonGotWorse, "worse"},
	} {
		t.Run(name, func(t *testing.T) {
			until := AcknowledgedBefore(v1alpha1.CephBenchmarkSpec{AcknowledgedUntil: c.until}, at(c.now))
			got := Regressed(Judge([]v1alpha1.Phase{{Name: "a"}, {Name: "b"}}, c.nights, v1alpha1.MetricIOPS, until))
			if got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.part) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// The range of nights moves from night to night, most of all for a change that is small against the noise. The series are
// simulated: only a false point, of which there are few, takes an acknowledgement back.
func TestAnAcknowledgementLasts(t *testing.T) {
	const many, step, later = 20, 40, 70
	shown, lost, found := 0, 0, 0
	for i := range many {
		nights := twoSteps(uint64(i), step, later)
		happened := map[*int]bool{}
		for n := step + 5; n <= len(nights); n += 3 {
			all, err := Judge([]v1alpha1.Phase{{Name: "a"}}, nights[:n], v1alpha1.MetricIOPS, at(step+1))
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case all[0].Regressed && n > later:
				happened[&found] = true
			case all[0].Regressed:
				happened[&lost] = true
			case all[0].reason() == v1alpha1.ReasonAcknowledged:
				happened[&shown] = true
			}
		}
		for count := range happened {
			*count++
		}
	}
	t.Logf("of %d changes: %d were shown as acknowledged, %d counted in spite of that; %d later ones were found", many, shown, lost, found)
	if shown < many-1 || lost > 3 || found < many-2 {
		t.Error("want nearly all shown, hardly any counted, and nearly all later ones found")
	}
}

// twoSteps returns noisy nights that are 10 % slower from a night on, and again from a later one on, until three weeks later.
func twoSteps(seed uint64, steps ...int) []Night {
	rng := rand.New(rand.NewPCG(30, seed))
	var nights []Night
	for n := range steps[len(steps)-1] + 21 {
		value := 1000 * math.Exp(0.05*rng.NormFloat64())
		for _, since := range steps {
			if n >= since {
				value *= 0.9
			}
		}
		nights = append(nights, Night{Time: at(n), Figures: []Figure{{Phase: "a", Metric: v1alpha1.MetricIOPS, Value: value}}})
	}
	return nights
}
