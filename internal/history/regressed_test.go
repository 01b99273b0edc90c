package history

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

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
			"a IOPS is worse by 1", "since 2026-01-21; the first such night is one of 2026-01-", "(90 %), by 30 nights from 2026-01-01 to 2026-01-30.",
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
			got := Regressed(Judge([]v1alpha1.Phase{{Name: "a"}, {Name: "b"}}, c.nights, v1alpha1.MetricIOPS))
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

// A trend is no change since a certain night, but the message has it.
func TestATrendIsNamed(t *testing.T) {
	nights := level("a", 60, 0, 1)
	for i := range nights {
		nights[i].Figures[0].Value *= math.Exp(-0.005 * float64(i))
	}
	got := Regressed(Judge([]v1alpha1.Phase{{Name: "a"}}, nights, v1alpha1.MetricIOPS))
	if got.Status != metav1.ConditionFalse || !strings.Contains(got.Message, "but a trend: worse by 2") {
		t.Errorf("got %+v", got)
	}
}

func TestRegressedWithoutAnswer(t *testing.T) {
	if got := Regressed(nil, errors.New("no figures")); got.Status != metav1.ConditionUnknown || got.Message != "no figures" {
		t.Errorf("got %+v", got)
	}
}
