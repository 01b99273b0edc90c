package history

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// steady returns nights with a level each, of one phase and one version. The level is that of a rate; the p99 is its inverse.
func steady(t *testing.T, first int, version string, levels ...float64) (nights []Night) {
	t.Helper()
	environment, err := json.Marshal(quiescence.Describe(quiescence.Inputs{
		FSID: "f", RookVersion: "v1.19.1", Versions: &ceph.Versions{Overall: map[string]int{version: 7}},
	}))
	if err != nil {
		t.Fatal(err)
	}
	for i, level := range levels {
		nights = append(nights, Night{Time: at(first + i), Environment: environment, Figures: []Figure{
			{Phase: "write", SpecDigest: "s", Metric: v1alpha1.MetricBandwidth, Value: 1000 * level, Runs: 5},
			{Phase: "write", SpecDigest: "s", Metric: v1alpha1.MetricLatencyP99, Value: 0.01 / level, Runs: 5},
		}})
	}
	return nights
}

func repeated(level float64, n int) (levels []float64) {
	for i := range n {
		levels = append(levels, level*(1+0.01*float64(i%3-1)))
	}
	return levels
}

// shiftsOf judges a phase without a rate or, if rate is true, at one. Its main figure is the bandwidth.
func shiftsOf(t *testing.T, u Upgrade, rate bool) []Shift {
	t.Helper()
	phase := v1alpha1.Phase{Name: "write", RadosBench: &v1alpha1.RadosBench{Mode: "Write", BlockSize: resource.MustParse("4Mi")}}
	if rate {
		phase = v1alpha1.Phase{Name: "write", Fio: &v1alpha1.Fio{Pattern: "RandWrite", RateIOPS: new(int64(1000))}}
	}
	shifts, err := u.Shifts([]v1alpha1.Phase{phase, {Name: "new"}})
	if err != nil {
		t.Fatal(err)
	}
	return shifts
}

func TestShifts(t *testing.T) {
	otherSpec := steady(t, 0, "19.2.3", repeated(0.5, 10)...)
	for i := range otherSpec {
		otherSpec[i].Figures = []Figure{{Phase: "write", SpecDigest: "another", Metric: v1alpha1.MetricBandwidth, Value: 1}}
	}
	sameDay := steady(t, 0, "19.2.3", repeated(1, 4)...)
	for i := range sameDay {
		sameDay[i].Time = at(0).Add(time.Duration(i) * time.Hour)
	}
	for name, c := range map[string]struct {
		before  []Night
		after   float64 // the level of the night after; 0 for none
		rate    bool
		verdict UpgradeVerdict
		days    int
	}{
		"slower":                     {steady(t, 0, "19.2.3", repeated(1, 10)...), 0.85, false, Slower, 10},
		"longer latencies":           {steady(t, 0, "19.2.3", repeated(1, 10)...), 0.85, true, Slower, 10},
		"faster":                     {steady(t, 0, "19.2.3", repeated(1, 10)...), 1.2, false, Faster, 10},
		"equivalent":                 {steady(t, 0, "19.2.3", repeated(1, 10)...), 1.01, false, Equivalent, 10},
		"within the noise":           {steady(t, 0, "19.2.3", 1, 0.9, 1.1, 0.95, 1.05), 0.9, false, Inconclusive, 5},
		"of two days":                {steady(t, 0, "19.2.3", 1, 1.01), 0.5, false, Inconclusive, 2},
		"a day counts once":          {sameDay, 0.5, false, Inconclusive, 1},
		"since a change point":       {steady(t, 0, "19.2.3", append(repeated(0.7, 12), repeated(1, 12)...)...), 0.85, false, Slower, 12},
		"two months":                 {steady(t, 0, "19.2.3", repeated(1, 90)...), 0.85, false, Slower, 60},
		"another workload before":    {slices.Concat(otherSpec, steady(t, 10, "19.2.3", repeated(1, 5)...)), 0.8, false, Slower, 5},
		"another workload until now": {otherSpec, 0.8, false, Inconclusive, 0},
		"not yet":                    {steady(t, 0, "19.2.3", repeated(1, 10)...), 0, false, "", 10},
	} {
		t.Run(name, func(t *testing.T) {
			u := Upgrade{Before: c.before}
			if c.after > 0 {
				u.After = steady(t, 91, "20.2.4", c.after, 2) // The second night after does not count.
				u.After[0].Time = c.before[len(c.before)-1].Time.AddDate(0, 0, 1)
			}
			got := shiftsOf(t, u, c.rate)
			if len(got) != 1 || got[0].Verdict != c.verdict || got[0].Days != c.days || (got[0].Ratio > 0) != (c.days >= 3) {
				t.Errorf("%+v, want %s of %d days", got, c.verdict, c.days)
			}
		})
	}
}

// A phase whose figure is gone is not left out: the storage may not take its rate any more.
func TestAFigureThatIsGone(t *testing.T) {
	for name, change := range map[string]func(*Night){
		"no figure":          func(n *Night) { n.Figures = n.Figures[1:] },
		"too few valid runs": func(n *Night) { n.Figures[0].Runs = 2 },
	} {
		u := Upgrade{Before: steady(t, 0, "19.2.3", repeated(1, 5)...), After: steady(t, 5, "20.2.4", 1)}
		change(&u.After[0])
		got := shiftsOf(t, u, false)
		if len(got) != 1 || !got[0].Missing || got[0].Verdict != Inconclusive {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The intervals of several figures hold together.
func TestMoreFiguresHaveWiderIntervals(t *testing.T) {
	u := Upgrade{Before: steady(t, 0, "19.2.3", repeated(1, 5)...), After: steady(t, 5, "20.2.4", 1)}
	one := shiftsOf(t, u, false)
	for _, n := range slices.Concat(u.Before, u.After) {
		n.Figures[1].Phase, n.Figures[1].Metric = "new", v1alpha1.MetricIOPS
	}
	if both := shiftsOf(t, u, false); len(both) != 2 || !(both[0].High > one[0].High && both[0].Low < one[0].Low) {
		t.Errorf("alone %+v, together %+v", one, both)
	}
}

// The older the nights before are, the wider is the interval, as in gates.
func TestOldNightsWidenTheInterval(t *testing.T) {
	before := steady(t, 0, "19.2.3", repeated(1, 6)...)
	width := func(night int) float64 {
		s := shiftsOf(t, Upgrade{Before: before, After: steady(t, night, "20.2.4", 1)}, false)[0]
		return s.High / s.Low
	}
	if young, old := width(6), width(36); !(math.Log(old) > 2*math.Log(young)) {
		t.Errorf("after a day %.3f, after a month %.3f", young, old)
	}
}

func TestSplit(t *testing.T) {
	old, middle, late := steady(t, 0, "18.2.7", 1, 1), steady(t, 2, "19.2.3", 1, 1, 1), steady(t, 5, "20.2.4", 1, 1)
	all := slices.Concat(old, middle, late)
	for name, c := range map[string]struct {
		lastBefore, before, after int
	}{
		"at the last upgrade":       {4, 3, 2},
		"at an upgrade before that": {1, 2, 2},
		"no upgrade":                {5, 1, 1},
		"all before":                {6, 2, 0},
		"all after":                 {-1, 0, 2},
	} {
		if u := Split(all, at(c.lastBefore)); len(u.Before) != c.before || len(u.After) != c.after {
			t.Errorf("%s: %d and %d, want %d and %d", name, len(u.Before), len(u.After), c.before, c.after)
		}
	}
	u := Split(all, at(4))
	if got := fmt.Sprint(u.Differences()); !strings.Contains(got, "Ceph version: 20.2.4, and was 19.2.3") {
		t.Error(got)
	}
}

// upgraded is a series of nights, with an upgrade before the last one.
type upgraded struct {
	before        int
	noise, memory float64 // between nights
}

func (u upgraded) verdict(t *testing.T, rng *rand.Rand, ratio float64) UpgradeVerdict {
	t.Helper()
	z, levels := rng.NormFloat64(), []float64(nil)
	for range u.before + 1 {
		z = u.memory*z + math.Sqrt(1-u.memory*u.memory)*rng.NormFloat64()
		levels = append(levels, math.Exp(u.noise*z))
	}
	return shiftsOf(t, Upgrade{
		Before: steady(t, 0, "19.2.3", levels[:u.before]...), After: steady(t, u.before, "20.2.4", ratio*levels[u.before]),
	}, false)[0].Verdict
}

// Nights differ by 5 %. An upgrade without an effect is called Slower or Faster in at most 5 %, and one that makes Ceph 15 % or 20 %
// slower is mostly found. If nights have a memory, the errors are a little more frequent: docs/howto/compare-an-upgrade.md has them.
func TestSimulatedUpgrades(t *testing.T) {
	n := 400
	if os.Getenv("CEPHTUNE_SIMULATION") == "long" {
		n = 20000
	}
	rng := rand.New(rand.NewPCG(2026, 77))
	for _, c := range []struct {
		upgraded
		wrong            float64 // nominal share of Slower and Faster without an effect
		fifteen, twenty  float64 // least share of Slower if it is slower by that many percent
		quietEquivalents float64
	}{
		{upgraded{3, 0.05, 0}, 0.05, 0.3, 0.45, 0},
		{upgraded{5, 0.05, 0}, 0.05, 0.55, 0.8, 0},
		{upgraded{14, 0.05, 0}, 0.05, 0.75, 0.95, 0},
		{upgraded{14, 0.01, 0}, 0.05, 0.99, 0.99, 0.9},
		{upgraded{14, 0.05, 0.5}, 0.08, 0.75, 0.95, 0},
	} {
		share := func(ratio float64, verdicts ...UpgradeVerdict) float64 {
			hits := 0
			for range n {
				if slices.Contains(verdicts, c.verdict(t, rng, ratio)) {
					hits++
				}
			}
			return float64(hits) / float64(n)
		}
		wrong, fifteen, twenty, equivalent := share(1, Slower, Faster), share(0.85, Slower), share(0.8, Slower), share(1, Equivalent)
		t.Logf("%+v: wrong %.3f, 15 %% slower %.3f, 20 %% slower %.3f, equivalent %.3f", c.upgraded, wrong, fifteen, twenty, equivalent)
		if most := c.wrong + 2*math.Sqrt(c.wrong*(1-c.wrong)/float64(n)); wrong > most {
			t.Errorf("%+v: %.3f wrong verdicts, want at most %.3f", c.upgraded, wrong, most)
		}
		if fifteen < c.fifteen || twenty < c.twenty || equivalent < c.quietEquivalents {
			t.Errorf("%+v: found %.3f and %.3f, and %.3f equivalent", c.upgraded, fifteen, twenty, equivalent)
		}
	}
}
