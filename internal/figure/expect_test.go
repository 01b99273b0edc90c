package figure

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func atMost(phase v1alpha1.PhaseName, metric v1alpha1.Metric, limit v1alpha1.Threshold) v1alpha1.Expectation {
	return v1alpha1.Expectation{MetricReference: v1alpha1.MetricReference{Phase: phase, Metric: metric}, AtMost: limit}
}

// inClosedLoop accepts a percentile of a closed loop.
func inClosedLoop(e v1alpha1.Expectation) v1alpha1.Expectation {
	e.ClosedLoop = true
	return e
}

func atLeast(phase v1alpha1.PhaseName, metric v1alpha1.Metric, limit v1alpha1.Threshold) v1alpha1.Expectation {
	return v1alpha1.Expectation{MetricReference: v1alpha1.MetricReference{Phase: phase, Metric: metric}, AtLeast: limit}
}

// phases has a closed loop with intervals, and a phase with too few runs for intervals.
func phases() []v1alpha1.PhaseResult {
	return []v1alpha1.PhaseResult{
		{
			Name: "three", ValidRuns: 3, Marks: []v1alpha1.ResultMark{v1alpha1.MarkClosedLoop},
			Metrics: []v1alpha1.MetricResult{
				{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal, Value: "5000", Low: "4500", High: "5500"},
				{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionRead, Value: "2500", Low: "2400", High: "2600"},
				{Metric: v1alpha1.MetricLatencyP99, Direction: v1alpha1.DirectionTotal, Value: "0.02", Low: "0.015", High: "0.025"},
			},
		},
		{
			Name: "one", ValidRuns: 1,
			Metrics: []v1alpha1.MetricResult{{Metric: v1alpha1.MetricBandwidth, Direction: v1alpha1.DirectionTotal, Value: "419430400"}},
		},
		{Name: "none"},
		{Name: "full", ValidRuns: 1, Marks: []v1alpha1.ResultMark{v1alpha1.MarkSaturated}},
		{Name: "full three times", ValidRuns: 3, Marks: []v1alpha1.ResultMark{v1alpha1.MarkSaturated}},
		{Name: "late", ValidRuns: 1, Marks: []v1alpha1.ResultMark{v1alpha1.MarkSaturated, v1alpha1.MarkOffSchedule}},
	}
}

func TestExpect(t *testing.T) {
	reads := atLeast("three", v1alpha1.MetricIOPS, "2400")
	reads.Direction = v1alpha1.DirectionRead
	for name, c := range map[string]struct {
		expectations []v1alpha1.Expectation
		repetitions  int32
		outcomes     []v1alpha1.ExpectationOutcome
		verdict      v1alpha1.BenchmarkVerdict
		sentence     string
	}{
		"nothing expected": {nil, 1, nil, "", ""},
		"all of the interval below": {
			[]v1alpha1.Expectation{inClosedLoop(atMost("three", v1alpha1.MetricLatencyP99, "25ms"))},
			1,
			[]v1alpha1.ExpectationOutcome{"Met"},
			"Passed",
			"Passed: three LatencyP99 is 20ms (15ms to 25ms), at most 25ms, in a closed loop.",
		},
		"all of the interval above": {
			[]v1alpha1.Expectation{inClosedLoop(atMost("three", v1alpha1.MetricLatencyP99, "14.9ms"))},
			1,
			[]v1alpha1.ExpectationOutcome{"Missed"},
			"Failed",
			"Failed: three LatencyP99 is 20ms (15ms to 25ms), not at most 14.9ms, in a closed loop.",
		},
		"a closed loop": {
			[]v1alpha1.Expectation{atMost("three", v1alpha1.MetricLatencyP99, "25ms")},
			1,
			[]v1alpha1.ExpectationOutcome{"Unknown"},
			"Inconclusive",
			"Inconclusive: three LatencyP99 is 20ms (15ms to 25ms) in a closed loop, which hides stalls and passes no gate: " +
				"set rateIOPS in the phase (--rate-iops), or closedLoop: true in the expectation (--closed-loop).",
		},
		"a latency that grows": {
			[]v1alpha1.Expectation{atMost("full", v1alpha1.MetricLatencyP99, "1h")},
			1,
			[]v1alpha1.ExpectationOutcome{"Missed"},
			"Failed",
			"Failed: full LatencyP99 is above any limit, because the storage could not take the rate in the run (Saturated).",
		},
		"a latency that grows in some runs": {
			[]v1alpha1.Expectation{atMost("full three times", v1alpha1.MetricLatencyMean, "1h")},
			3,
			[]v1alpha1.ExpectationOutcome{"Missed"},
			"Failed",
			"Failed: full three times LatencyMean is above any limit, because the storage could not take the rate in a run (Saturated).",
		},
		"a latency that grows, at least": {
			[]v1alpha1.Expectation{atLeast("full", v1alpha1.MetricLatencyMean, "1ms")},
			1,
			[]v1alpha1.ExpectationOutcome{"Unknown"},
			"Inconclusive",
			"Inconclusive: full LatencyMean is unknown: the storage could not take the rate in the run (Saturated): lower the rate.",
		},
		"a generator off schedule": {
			[]v1alpha1.Expectation{atMost("late", v1alpha1.MetricLatencyMax, "1h")},
			1,
			[]v1alpha1.ExpectationOutcome{"Unknown"},
			"Inconclusive",
			"Inconclusive: late LatencyMax is unknown: a client's generator did not follow its schedule (OffSchedule): give the clients more CPU, or lower the rate.",
		},
		"the interval reaches across": {
			[]v1alpha1.Expectation{inClosedLoop(atMost("three", v1alpha1.MetricLatencyP99, "21ms"))},
			1,
			[]v1alpha1.ExpectationOutcome{"Unknown"},
			"Inconclusive",
			"Inconclusive: three LatencyP99 is 20ms (15ms to 25ms), on both sides of 21ms, in a closed loop.",
		},
		"at least, met by the lower end": {
			[]v1alpha1.Expectation{atLeast("three", v1alpha1.MetricIOPS, "4.5k")},
			1,
			[]v1alpha1.ExpectationOutcome{"Met"},
			"Passed", "Passed: three IOPS is 5k IOPS (4.5k IOPS to 5.5k IOPS), at least 4.5k.",
		},
		"at least, missed by the upper end": {
			[]v1alpha1.Expectation{atLeast("three", v1alpha1.MetricIOPS, "5501")},
			1,
			[]v1alpha1.ExpectationOutcome{"Missed"},
			"Failed", "Failed: three IOPS is 5k IOPS (4.5k IOPS to 5.5k IOPS), not at least 5501.",
		},
		"one direction": {
			[]v1alpha1.Expectation{reads},
			1,
			[]v1alpha1.ExpectationOutcome{"Met"},
			"Passed", "Passed: three IOPS (Read) is 2.5k IOPS (2.4k IOPS to 2.6k IOPS), at least 2400.",
		},
		"without an interval the value decides": {
			[]v1alpha1.Expectation{atLeast("one", v1alpha1.MetricBandwidth, "400Mi"), atMost("one", v1alpha1.MetricBandwidth, "399Mi")},
			1,
			[]v1alpha1.ExpectationOutcome{"Met", "Missed"},
			"Failed", "Failed: one Bandwidth is 400 MiB/s, not at most 399Mi.",
		},
		"too few of the runs for one are valid": {
			[]v1alpha1.Expectation{atLeast("one", v1alpha1.MetricBandwidth, "399Mi")},
			5,
			[]v1alpha1.ExpectationOutcome{"Unknown"},
			"Inconclusive", "Inconclusive: one Bandwidth is 400 MiB/s in 1 of 5 runs, and an interval needs 3 valid runs.",
		},
		"a missed one outweighs an unknown one": {
			[]v1alpha1.Expectation{inClosedLoop(atMost("three", v1alpha1.MetricLatencyP99, "21ms")), atLeast("three", v1alpha1.MetricIOPS, "6k")},
			1,
			[]v1alpha1.ExpectationOutcome{"Unknown", "Missed"},
			"Failed",
			"Failed: three IOPS is 5k IOPS (4.5k IOPS to 5.5k IOPS), not at least 6k.",
		},
		"a figure that the tool did not give": {
			[]v1alpha1.Expectation{atMost("one", v1alpha1.MetricLatencyP99, "1s")},
			1,
			[]v1alpha1.ExpectationOutcome{"Unknown"},
			"Inconclusive",
			"Inconclusive: one LatencyP99 is unknown: not every valid run reports it.",
		},
		"no valid run outweighs all": {
			[]v1alpha1.Expectation{atLeast("three", v1alpha1.MetricIOPS, "6k"), atMost("none", v1alpha1.MetricLatencyP99, "1s")},
			1,
			[]v1alpha1.ExpectationOutcome{"Missed", "Unknown"},
			"Invalid",
			"Invalid: none LatencyP99 is unknown: no run is valid.",
		},
		"no such phase": {
			[]v1alpha1.Expectation{atMost("other", v1alpha1.MetricLatencyP99, "1s")},
			1,
			[]v1alpha1.ExpectationOutcome{"Unknown"},
			"Invalid", "Invalid: other LatencyP99 is unknown: no run is valid.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			gate, err := Expect(c.expectations, c.repetitions, phases(), Comparison{})
			if err != nil {
				t.Fatal(err)
			}
			var outcomes []v1alpha1.ExpectationOutcome
			for i, r := range gate.Results {
				outcomes = append(outcomes, r.Outcome)
				if r.Phase != c.expectations[i].Phase || r.Metric != c.expectations[i].Metric {
					t.Errorf("result %d is about %s %s", i, r.Phase, r.Metric)
				}
			}
			if diff := cmp.Diff(c.outcomes, outcomes); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			if gate.Verdict != c.verdict || gate.Sentence != c.sentence {
				t.Errorf("got %s\n%s\nwant %s\n%s", gate.Verdict, gate.Sentence, c.verdict, c.sentence)
			}
		})
	}
}

func TestOnlyAPercentileIsMarkedClosedLoop(t *testing.T) {
	gate, err := Expect([]v1alpha1.Expectation{
		inClosedLoop(atMost("three", v1alpha1.MetricLatencyP99, "1s")), atLeast("three", v1alpha1.MetricIOPS, "1"),
	}, 3, phases(), Comparison{})
	if err != nil {
		t.Fatal(err)
	}
	if gate.Results[0].Mark != v1alpha1.MarkClosedLoop || gate.Results[1].Mark != "" {
		t.Errorf("marks are %q and %q, want ClosedLoop and none", gate.Results[0].Mark, gate.Results[1].Mark)
	}
}

func TestHeadlineOfAGate(t *testing.T) {
	met, missed := atLeast("three", v1alpha1.MetricIOPS, "4k"), atMost("one", v1alpha1.MetricBandwidth, "1")
	missed.AtMost, missed.AtLeast = "", "1Gi"
	p99 := atMost("three", v1alpha1.MetricLatencyP99, "14.9ms")
	for name, c := range map[string]struct {
		expectations []v1alpha1.Expectation
		want         string
	}{
		"the first one that is met":      {[]v1alpha1.Expectation{met, inClosedLoop(atMost("three", v1alpha1.MetricLatencyP99, "1s"))}, "three 5k IOPS (4.5k–5.5k), at least 4k"},
		"the one that is missed":         {[]v1alpha1.Expectation{met, missed}, "one 400 MiB/s, not at least 1Gi"},
		"one that nobody can judge":      {[]v1alpha1.Expectation{met, p99}, "three LatencyP99 20ms (15ms–25ms)"},
		"an unknown figure":              {[]v1alpha1.Expectation{met, atMost("none", v1alpha1.MetricLatencyP99, "1s")}, ""},
		"no expectation has no headline": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			gate, err := Expect(c.expectations, 1, phases(), Comparison{})
			if err != nil || gate.Headline != c.want {
				t.Errorf("got %q, %v; want %q", gate.Headline, err, c.want)
			}
		})
	}
}

func TestSentenceFitsIntoStatus(t *testing.T) {
	var many []v1alpha1.Expectation
	for i := range 16 {
		many = append(many, atLeast("three", v1alpha1.MetricIOPS, v1alpha1.Threshold(fmt.Sprint(6000+i))))
	}
	gate, err := Expect(many, 3, phases(), Comparison{})
	if err != nil {
		t.Fatal(err)
	}
	if len(gate.Sentence) > maxSentence || !strings.HasSuffix(gate.Sentence, " more.") {
		t.Errorf("%d bytes: %s", len(gate.Sentence), gate.Sentence)
	}
}

func TestParseThreshold(t *testing.T) {
	for _, c := range []struct {
		metric v1alpha1.Metric
		text   v1alpha1.Threshold
		want   float64 // -1: an error
	}{
		{v1alpha1.MetricLatencyP99, "20ms", 0.02},
		{v1alpha1.MetricLatencyP99, "1.5s", 1.5},
		{v1alpha1.MetricLatencyP99, "250us", 0.00025},
		{v1alpha1.MetricLatencyP99, "20", -1},
		{v1alpha1.MetricLatencyP99, "20Mi", -1},
		{v1alpha1.MetricBandwidth, "400Mi", 400 << 20},
		{v1alpha1.MetricBandwidth, "1.5Gi", 1.5 * (1 << 30)},
		{v1alpha1.MetricBandwidth, "400M", 400e6},
		{v1alpha1.MetricIOPS, "5k", 5000},
		{v1alpha1.MetricIOPS, "0.5", 0.5},
		{v1alpha1.MetricIOPS, "5ms", -1},
		{v1alpha1.MetricIOPS, "", -1},
	} {
		got, err := ParseThreshold(c.metric, c.text)
		if c.want < 0 {
			if err == nil {
				t.Errorf("%s %q is %v, want an error", c.metric, c.text, got)
			}
			continue
		}
		if err != nil || !near(got, c.want, 1e-12) {
			t.Errorf("%s %q is %v, %v, want %v", c.metric, c.text, got, err, c.want)
		}
	}
}
