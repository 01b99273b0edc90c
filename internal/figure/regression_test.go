package figure

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/result"
)

// morning returns a time on a day of March.
func morning(day int) time.Time { return time.Date(2026, 3, day, 6, 0, 0, 0, time.UTC) }

// recorded returns runs of one execution, which differ by 1 %.
func recorded(day int, iops float64, runs int) []ReferenceRun {
	var all []ReferenceRun
	for i := range runs {
		figures := map[v1alpha1.PhaseName][]Figure{"three": around(iops, i)}
		all = append(all, ReferenceRun{Execution: fmt.Sprint(day), Start: morning(day), Figures: figures})
	}
	return all
}

func around(iops float64, i int) []Figure {
	value := iops * []float64{0.99, 1, 1.01}[i%3]
	return []Figure{
		{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal, Value: value},
		{Metric: v1alpha1.MetricLatencyP99, Direction: v1alpha1.DirectionTotal, Value: 100 / value, LatencyKind: result.TotalLatency},
	}
}

func measuredNow(iops float64, runs int) map[v1alpha1.PhaseName][]Observation {
	var all []Observation
	for i := range runs {
		all = append(all, Observation{Figures: around(iops, i)})
	}
	return map[v1alpha1.PhaseName][]Observation{"three": all}
}

func noWorse(metric v1alpha1.Metric, share v1alpha1.Percent) v1alpha1.Expectation {
	return v1alpha1.Expectation{MetricReference: v1alpha1.MetricReference{Phase: "three", Metric: metric}, MaximumRegression: share, Reference: "nightly"}
}

func join(executions ...[]ReferenceRun) Reference {
	var all Reference
	for _, runs := range executions {
		all.Runs = append(all.Runs, runs...)
	}
	return all
}

func TestExpectAgainstAReference(t *testing.T) {
	days := join(recorded(2, 5000, 3), recorded(3, 5050, 3), recorded(4, 4950, 3))
	other := join(recorded(2, 5000, 3))
	for i := range other.Runs {
		other.Runs[i].Figures["three"][1].LatencyKind = result.CompletionLatency
	}
	named, pinned := days, noWorse(v1alpha1.MetricIOPS, "10%")
	named.UID, pinned.ReferenceUID = "a", "a"
	unusable := Reference{UID: "b", Unusable: "nightly is not Complete"}
	iops, p99 := noWorse(v1alpha1.MetricIOPS, "10%"), inClosedLoop(noWorse(v1alpha1.MetricLatencyP99, "10%"))
	hour, unaccepted := iops, noWorse(v1alpha1.MetricLatencyP99, "10%")
	hour.ThisHour = true
	for name, c := range map[string]struct {
		expectation v1alpha1.Expectation
		now         map[v1alpha1.PhaseName][]Observation
		reference   Reference
		outcome     v1alpha1.ExpectationOutcome
		sentence    string
	}{
		"as fast as on three days": {
			iops, measuredNow(5000, 3), days, "Met",
			"Passed: three IOPS is 1 (0.952 to 1.05) times that of nightly, at most 10% worse.",
		},
		"slower than on three days": {
			iops, measuredNow(4000, 3), days, "Missed",
			"Failed: three IOPS is 0.8 (0.761 to 0.841) times that of nightly, more than 10% worse.",
		},
		"perhaps slower": {
			iops, measuredNow(4500, 3), days, "Unknown",
			"Inconclusive: three IOPS is 0.9 (0.856 to 0.946) times that of nightly, possibly more than 10% worse: set more repetitions.",
		},
		"a latency that is higher": {
			p99, measuredNow(4000, 3), days, "Missed",
			"Failed: three LatencyP99 is 1.25 (1.19 to 1.31) times that of nightly, more than 10% worse.",
		},
		"a latency that is lower": {
			p99, measuredNow(6000, 3), days, "Met",
			"Passed: three LatencyP99 is 0.833 (0.793 to 0.876) times that of nightly, at most 10% worse.",
		},
		"two days do not pass": {
			iops, measuredNow(5000, 3), join(recorded(3, 5000, 3), recorded(2, 9000, 3)), "Unknown",
			"Inconclusive: three IOPS is 1 (0.978 to 1.02) times that of nightly in this hour, which does not pass a gate: run nightly on 1 more days, or ask for this hour.",
		},
		"one day does not fail": {
			iops, measuredNow(4000, 3), join(recorded(2, 5000, 3)), "Unknown",
			"Inconclusive: three IOPS is 0.8 (0.782 to 0.818) times that of nightly in this hour, which does not pass a gate: run nightly on 2 more days, or ask for this hour.",
		},
		"a reference with a UID": {
			iops, measuredNow(5000, 3), named, "Met",
			"Passed: three IOPS is 1 (0.952 to 1.05) times that of nightly (UID a, execution of 2026-03-04T06:00:00Z), at most 10% worse.",
		},
		"the reference with the UID in the spec": {
			pinned, measuredNow(5000, 3), named, "Met",
			"Passed: three IOPS is 1 (0.952 to 1.05) times that of nightly (UID a, execution of 2026-03-04T06:00:00Z), at most 10% worse.",
		},
		"another reference of the name": {
			pinned, measuredNow(5000, 3), unusable, "Unknown",
			"Inconclusive: three IOPS is unknown: nightly is another CephBenchmark than that in referenceUID: its UID is b. Find out who created it.",
		},
		"the latest execution of two days": {
			hour, measuredNow(5000, 3), join(recorded(3, 5000, 3), recorded(2, 9000, 3)), "Met",
			"Passed: three IOPS is 1 (0.978 to 1.02) times that of nightly, at most 10% worse, but only for this hour (nightly has executions on 2 of the 3 days that it needs).",
		},
		"missed this hour": {
			hour, measuredNow(4000, 3), join(recorded(2, 5000, 3)), "Missed",
			"Failed: three IOPS is 0.8 (0.782 to 0.818) times that of nightly, more than 10% worse, but only for this hour (nightly has executions on 1 of the 3 days that it needs).",
		},
		"a reference that cannot be used": {
			iops, measuredNow(5000, 3),
			Reference{Unusable: "there is no CephBenchmark nightly: create it"},
			"Unknown",
			"Inconclusive: three IOPS is unknown: there is no CephBenchmark nightly: create it.",
		},
		"too few runs": {
			iops, measuredNow(5000, 2), days, "Unknown",
			"Inconclusive: three IOPS is unknown: 2 valid runs have the figure, and an interval needs 3: set more repetitions.",
		},
		"a single run": {
			iops, measuredNow(5000, 1), days, "Unknown",
			"Inconclusive: three IOPS is unknown: 1 valid run has the figure, and an interval needs 3: set more repetitions.",
		},
		"too few runs of the reference": {
			iops, measuredNow(5000, 3), join(recorded(2, 5000, 2)), "Unknown",
			"Inconclusive: three IOPS is unknown: 2 valid runs have the figure in the latest execution of nightly, and an interval needs 3: run it again with more repetitions.",
		},
		"a reference with a figure of 0": {
			iops, measuredNow(5000, 3), join(recorded(2, 0, 3)), "Unknown",
			"Inconclusive: three IOPS is unknown: the runs of nightly cannot be compared: run it again (baseline run 0 is 0, want a value that is positive and finite).",
		},
		"a closed loop": {
			unaccepted, measuredNow(5000, 3), days, "Unknown",
			"Inconclusive: three LatencyP99 is 20ms (15ms to 25ms) in a closed loop, which hides stalls and passes no gate: " +
				"set rateIOPS in the phase (--rate-iops), or closedLoop: true in the expectation (--closed-loop).",
		},
		"another kind of latency": {
			p99, measuredNow(5000, 3), other, "Unknown",
			"Inconclusive: three LatencyP99 is unknown: no valid run of nightly has this figure of the same phase: run it with the template of this benchmark.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			gate, err := Expect([]v1alpha1.Expectation{c.expectation}, 3, phases(), Comparison{Runs: c.now, References: map[string]Reference{"nightly": c.reference}})
			if err != nil {
				t.Fatal(err)
			}
			got := gate.Results[0]
			// This phase is a closed loop, and tables of expectations with limits have that mark.
			if got.Outcome != c.outcome || got.Value == "" {
				t.Errorf("%+v, want %s and the value", got, c.outcome)
			}
			if diff := cmp.Diff(c.sentence, strings.Replace(gate.Sentence, ", in a closed loop", "", 1)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A latency that grows is worse than that of any reference that has one.
func TestASaturatedRunIsWorseThanItsReference(t *testing.T) {
	e := noWorse(v1alpha1.MetricLatencyP99, "10%")
	e.Phase = "full three times"
	for name, c := range map[string]struct {
		phase v1alpha1.PhaseName
		want  v1alpha1.BenchmarkVerdict
	}{
		"a reference with latencies": {"full three times", v1alpha1.BenchmarkFailed},
		"a saturated reference":      {"another", v1alpha1.BenchmarkInconclusive},
	} {
		t.Run(name, func(t *testing.T) {
			reference := join(recorded(2, 5000, 3))
			for i := range reference.Runs {
				reference.Runs[i].Figures[c.phase] = reference.Runs[i].Figures["three"]
			}
			gate, err := Expect([]v1alpha1.Expectation{e}, 3, phases(), Comparison{References: map[string]Reference{"nightly": reference}})
			if err != nil || gate.Verdict != c.want || !strings.Contains(gate.Sentence, "Saturated") {
				t.Errorf("%s %s (%v), want %s", gate.Verdict, gate.Sentence, err, c.want)
			}
		})
	}
}

func TestExpectRefusesARegressionThatIsNoPercentage(t *testing.T) {
	for _, share := range []v1alpha1.Percent{"ten", "100%"} {
		_, err := Expect([]v1alpha1.Expectation{noWorse(v1alpha1.MetricIOPS, share)}, 3, phases(), Comparison{
			Runs: measuredNow(5000, 3), References: map[string]Reference{"nightly": join(recorded(2, 5000, 3))},
		})
		if err == nil {
			t.Errorf("%s was accepted", share)
		}
	}
}

// Two executions of one day, in UTC, count as one day.
func TestDaysAreInUTC(t *testing.T) {
	late := time.Date(2026, 3, 2, 23, 30, 0, 0, time.FixedZone("", -3600)) // This is 3 March in UTC.
	var executions []execution
	for _, start := range []time.Time{morning(2), morning(2).Add(time.Hour), late, morning(3).Add(6 * time.Hour)} {
		executions = append(executions, execution{start: start, values: []float64{1}})
	}
	if got := byDay(executions); len(got) != 2 || len(got[0]) != 2 {
		t.Errorf("%v, want two days with two values each", got)
	}
}

func TestReferenceAges(t *testing.T) {
	days := join(recorded(2, 5000, 3), recorded(3, 5050, 3), recorded(4, 4950, 3))
	for day, want := range map[int]v1alpha1.ExpectationOutcome{5: v1alpha1.ExpectationMet, 31: v1alpha1.ExpectationUnknown} {
		gate, err := Expect([]v1alpha1.Expectation{noWorse(v1alpha1.MetricIOPS, "10%")}, 3, phases(), Comparison{
			Runs: measuredNow(5000, 3), References: map[string]Reference{"nightly": days}, Now: morning(day),
		})
		if err != nil || gate.Results[0].Outcome != want {
			t.Errorf("day %d: %+v, %v, want %s", day, gate.Results, err, want)
		}
	}
}
