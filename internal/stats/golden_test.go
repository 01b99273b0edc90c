package stats

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/stat"
)

// The hand-run report claimed "2 and 3 OSDs write more than 1.2 times as fast"
// from t-statistics over the rows of one run each. Its T is reproduced to show
// that the arithmetic is not the problem: it took the cumulative column
// "avg MB/s", with the ramp-up of second 0, for ten independent measurements.
//
// scipy: x, y = 1.2*avg1, avgN; ttest_ind(x, y, equal_var=False).statistic
func TestReportsOwnStatisticIsReproduced(t *testing.T) {
	welch := func(x, y []float64) float64 {
		mx, sx := stat.MeanStdDev(x, nil)
		my, sy := stat.MeanStdDev(y, nil)
		return (1.2*mx - my) / math.Sqrt((1.44*sx*sx)/float64(len(x))+sy*sy/float64(len(y)))
	}
	one, _ := radosBenchRows(t, "1osd-write.txt")
	for name, tc := range map[string]struct{ want, wantWithoutRamp float64 }{
		"2osd-write.txt": {-5.967, -52.7},
		"3osd-write.txt": {-9.252, -46.9},
	} {
		t.Run(name, func(t *testing.T) {
			many, _ := radosBenchRows(t, name)
			if diff := cmp.Diff(tc.want, welch(one, many), rounded(0.0005)); diff != "" {
				t.Errorf("T (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantWithoutRamp, welch(one[1:], many[1:]), rounded(0.05)); diff != "" {
				t.Errorf("T without second 0 (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOneRunPerConfigurationIsInvalidHoweverManySecondsItHas(t *testing.T) {
	type row struct{ Mean, CV float64 }
	wants := map[string]row{
		"1osd-write.txt": {244.4, 0.048},
		"2osd-write.txt": {398.2, 0.032},
		"3osd-write.txt": {468.4, 0.057},
	}
	rates := map[string]float64{}
	for name, want := range wants {
		_, cur := radosBenchRows(t, name)
		seconds := cur[1:] // second 0 has no rate of its own: the tool prints -1
		mean, sd := meanStdDev(seconds)
		for _, d := range []string{
			cmp.Diff(want.Mean, mean, rounded(0.05)),
			cmp.Diff(want.CV, sd/mean, rounded(0.0005)),
		} {
			if d != "" {
				t.Errorf("%s (-want +got):\n%s", name, d)
			}
		}
		rates[name] = mean
	}
	criteria := Criteria{MinimumEffect: 0.2, Equivalence: 0.05, Confidence: 0.995}
	for name, wantRatio := range map[string]float64{"2osd-write.txt": 1.629, "3osd-write.txt": 1.916} {
		c, err := WelchLogRatio([]float64{rates["1osd-write.txt"]}, []float64{rates[name]})
		if err != nil {
			t.Fatal(err)
		}
		as, err := Judge(criteria, []Comparison{{Name: name, Contrast: c}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wantRatio, as[0].Ratio, rounded(0.0005)); diff != "" {
			t.Errorf("%s: ratio (-want +got):\n%s", name, diff)
		}
		wantReasons := []Reason{{Code: TooFewRuns, Count: 1, Limit: 3}}
		if diff := cmp.Diff(wantReasons, as[0].Reasons); as[0].Verdict != Invalid || diff != "" {
			t.Errorf("%s: %s, reasons (-want +got):\n%s", name, as[0].Verdict, diff)
		}
	}
}

// The four sessions days apart are the blocks. scipy, x = log(candidate) −
// log(baseline): ttest_1samp(x, 0).confidence_interval(.95), and TOST as in
// TestEquivalenceIsTwoOneSidedTests.
func TestFilestoreOpThreads(t *testing.T) {
	fio, recovery := readTable(t, "fio-rbd.csv"), readTable(t, "recovery.csv")
	sides := func(rows []map[string]string, where map[string]string, value string, block ...string) (b, c []Observation) {
		where["config"] = "default"
		b = observe(t, rows, where, value, block...)
		where["config"] = "threads=6"
		return b, observe(t, rows, where, value, block...)
	}

	t.Run("recovery time is equivalent within 20%, which only pairing can see", func(t *testing.T) {
		b, c := sides(recovery, map[string]string{}, "recovery_seconds", "session")
		k := mustContrast(t, mustPairs(t, b, c))
		criteria := Criteria{Direction: LowerIsBetter, MinimumEffect: 0.2, Equivalence: 0.2, Confidence: 0.95}
		as, err := Judge(criteria, []Comparison{{Name: "threads=6", Contrast: k}})
		if err != nil {
			t.Fatal(err)
		}
		if as[0].Verdict != Equivalent || as[0].Runs != 3 {
			t.Errorf("verdict %s from %d blocks, want Equivalent from 3", as[0].Verdict, as[0].Runs)
		}
		type numbers struct{ Ratio, Low, High, Low90, High90, PEquivalent, SE float64 }
		ninety := k.RatioInterval(0.90)
		got := numbers{as[0].Ratio, as[0].Interval.Low, as[0].Interval.High, ninety.Low, ninety.High, as[0].PEquivalent, k.StdErr}
		want := numbers{0.9763469626231319, 0.8519944898349487, 1.1188492446800717, 0.8901236933246174, 1.0709223881717025, 0.018859986914711135, 0.03166371232107642}
		if diff := cmp.Diff(want, got, approx); diff != "" {
			t.Errorf("numbers (-want +got):\n%s", diff)
		}
		unpaired, err := WelchLogRatio(valuesIn(b, "ACD"), valuesIn(c, "ACD"))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(0.38177917426955593, unpaired.StdErr, approx); diff != "" {
			t.Errorf("standard error without pairing (-want +got):\n%s", diff)
		}
	})

	t.Run("4k writes lose 2.5%, which is equivalent within 5%", func(t *testing.T) {
		var pairs []Pair
		for _, pattern := range []string{"randwrite", "write"} {
			for _, session := range []string{"A", "C"} {
				b, c := sides(fio, map[string]string{"block_size": "4k", "pattern": pattern, "session": session}, "iops", "background_io")
				pairs = append(pairs, mustPairs(t, b, c)...)
			}
		}
		as, err := Judge(Criteria{MinimumEffect: 0.2, Equivalence: 0.05, Confidence: 0.95}, []Comparison{{Contrast: mustContrast(t, pairs)}})
		if err != nil {
			t.Fatal(err)
		}
		want := []Assessment{{
			Verdict: Equivalent, Runs: 8, Level: 0.05,
			Reasons: []Reason{{Code: WithinEquivalence, Value: 0.0040804284047175916, Limit: 0.05}},
			Ratio:   0.9744986285370251, Interval: Bounds{0.9601181732610192, 0.9890944713556318, 0.95},
			P:           PValues{0.9999999970308714, 1 - 0.0022615698378207517, 0.0022615698378207517, 1 - 0.9999999970308714},
			Holm:        PValues{0.9999999970308714, 1 - 0.0022615698378207517, 0.0022615698378207517, 1 - 0.9999999970308714},
			PEquivalent: 0.0040804284047175916,
		}}
		if diff := cmp.Diff(want, as, approx); diff != "" {
			t.Errorf("assessment (-want +got):\n%s", diff)
		}
	})

	t.Run("4k random reads of 0.98, 1.36 and 2.30 decide nothing", func(t *testing.T) {
		b, c := sides(fio, map[string]string{"block_size": "4k", "pattern": "randread", "background_io": "no"}, "iops", "session")
		as, err := Judge(Criteria{MinimumEffect: 0.2, Equivalence: 0.05, Confidence: 0.95}, []Comparison{{Contrast: mustContrast(t, mustPairs(t, b, c))}})
		if err != nil {
			t.Fatal(err)
		}
		type numbers struct {
			Verdict           Verdict
			Superior, AnyGain float64
		}
		got := numbers{as[0].Verdict, as[0].P.Superior, as[0].P.AnyGain}
		want := numbers{Inconclusive, 0.2594297881581514, 0.13492143488955066}
		if diff := cmp.Diff(want, got, approx); diff != "" {
			t.Errorf("numbers (-want +got):\n%s", diff)
		}
		if more := as[0].MoreRuns(); more.Needed < 1 {
			t.Errorf("more runs: %+v, want some", more)
		}
	})
}

func valuesIn(runs []Observation, blocks string) (values []float64) {
	for _, r := range runs {
		for _, b := range blocks {
			if r.Block == string(b) {
				values = append(values, r.Value)
			}
		}
	}
	return values
}

// The guide for independent arms at 80% power and α = 0.05.
func TestSampleSizeTable(t *testing.T) {
	for cv, want := range map[float64]struct{ above20, above0 int }{
		0.05: {6, 3},
		0.10: {21, 5},
		0.20: {78, 16},
	} {
		runs := func(gap float64) int {
			n, found, err := Question{StdDev: math.Sqrt2 * cv, Gap: gap, Alpha: 0.05}.Runs(1000)
			if err != nil || !found {
				t.Fatalf("CV %v: %v, found %v", cv, err, found)
			}
			return n
		}
		if got := runs(math.Log(1.3 / 1.2)); got != want.above20 {
			t.Errorf("CV %v: %d runs prove >20%% when truth is +30%%, want %d", cv, got, want.above20)
		}
		if got := runs(math.Log(1.2)); got != want.above0 {
			t.Errorf("CV %v: %d runs prove >0 when truth is +20%%, want %d", cv, got, want.above0)
		}
	}
}
