package figure

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// maxSentence is the maximum length of the summary in status, in bytes.
const maxSentence = 512

// Gate is the outcome of a benchmark's expectations.
type Gate struct {
	// Results holds the outcomes, in the order of the expectations.
	Results []v1alpha1.ExpectationResult
	// Verdict is empty if there are no expectations.
	Verdict v1alpha1.BenchmarkVerdict
	// Sentence names the deciding expectations, in at most 512 bytes.
	Sentence string
	// Headline has the figure of the first deciding expectation, such as "read LatencyP99 64.2ms, at most 200ms". It is
	// empty if that figure is unknown.
	Headline string
}

// Expect compares expectations with the results of all phases.
//
// The interval of the figure decides. The outcome is Met if the whole interval is within the limit, Missed if
// the whole interval is beyond the limit, and Unknown otherwise. If no interval is possible (fewer than three
// repetitions, or LatencyMax), the value decides. If too few repetitions are valid for an interval, or if the
// figure is missing, the outcome is Unknown. The verdict is Invalid if a phase with an expectation has no
// valid run. Otherwise the verdict is Failed if an expectation is Missed, Inconclusive if one is Unknown, and
// Passed if all are Met. Expect returns an error for an invalid limit, which admission normally refuses.
//
// For an expectation with maximumRegression, the interval of the ratio to its reference decides. Without that
// interval, the outcome is Unknown. It is also Unknown for a percentile of a closed loop, unless the expectation
// has closedLoop.
func Expect(expectations []v1alpha1.Expectation, repetitions int32, phases []v1alpha1.PhaseResult, against Comparison) (Gate, error) {
	if len(expectations) == 0 {
		return Gate{}, nil
	}
	gate := Gate{Verdict: v1alpha1.BenchmarkPassed}
	clauses, headlines := map[v1alpha1.ExpectationOutcome][]string{}, map[v1alpha1.ExpectationOutcome]string{}
	for _, e := range expectations {
		c, err := check(e, repetitions, phases, against)
		if err != nil {
			return Gate{}, err
		}
		gate.Results = append(gate.Results, c.result)
		gate.Verdict = worse(gate.Verdict, c.verdict)
		clauses[c.result.Outcome] = append(clauses[c.result.Outcome], c.clause)
		headlines[c.result.Outcome] = cmp.Or(headlines[c.result.Outcome], c.headline)
	}
	decisive := map[v1alpha1.BenchmarkVerdict]v1alpha1.ExpectationOutcome{
		v1alpha1.BenchmarkPassed:       v1alpha1.ExpectationMet,
		v1alpha1.BenchmarkFailed:       v1alpha1.ExpectationMissed,
		v1alpha1.BenchmarkInconclusive: v1alpha1.ExpectationUnknown,
		v1alpha1.BenchmarkInvalid:      v1alpha1.ExpectationUnknown,
	}[gate.Verdict]
	gate.Sentence, gate.Headline = sentence(gate.Verdict, clauses[decisive]), headlines[decisive]
	return gate, nil
}

// worse returns the verdict that takes precedence: Invalid, then Failed, Inconclusive and Passed.
func worse(a, b v1alpha1.BenchmarkVerdict) v1alpha1.BenchmarkVerdict {
	order := []v1alpha1.BenchmarkVerdict{
		v1alpha1.BenchmarkInvalid, v1alpha1.BenchmarkFailed, v1alpha1.BenchmarkInconclusive, v1alpha1.BenchmarkPassed,
	}
	if slices.Index(order, a) <= slices.Index(order, b) {
		return a
	}
	return b
}

// checked is the outcome of one expectation: its entry in status, the verdict that it would give alone, its clause for
// the summary, and the headline that it would give.
type checked struct {
	result           v1alpha1.ExpectationResult
	verdict          v1alpha1.BenchmarkVerdict
	clause, headline string
}

func check(e v1alpha1.Expectation, repetitions int32, phases []v1alpha1.PhaseResult, against Comparison) (checked, error) {
	if e.Direction == "" {
		e.Direction = v1alpha1.DirectionTotal // This is the schema's default.
	}
	c := checked{
		result:  v1alpha1.ExpectationResult{MetricReference: e.MetricReference, Outcome: v1alpha1.ExpectationUnknown},
		verdict: v1alpha1.BenchmarkInconclusive,
	}
	i := slices.IndexFunc(phases, func(p v1alpha1.PhaseResult) bool { return p.Name == e.Phase })
	if i < 0 || phases[i].ValidRuns == 0 {
		c.verdict = v1alpha1.BenchmarkInvalid
		c.clause = name(e) + " is unknown: no run is valid"
		return c, nil
	}
	m, ok := FindResult(phases[i], e.Metric, e.Direction)
	if !ok {
		return c.withoutFigure(e, phases[i], against.References[e.Reference]), nil
	}
	f, err := readMetric(m)
	if err != nil {
		return checked{}, fmt.Errorf("%s: %w", name(e), err)
	}
	c.result.Value, c.headline = m.Value, headline(e, f)
	if IsPercentile(e.Metric) && slices.Contains(phases[i].Marks, v1alpha1.MarkClosedLoop) {
		c.result.Mark = v1alpha1.MarkClosedLoop
	}
	if c.result.Mark != "" && !e.ClosedLoop {
		c.clause = name(e) + " is " + f.describe(e.Metric) + " in a closed loop, which hides stalls and passes no gate: " +
			"set rateIOPS in the phase (--rate-iops), or closedLoop: true in the expectation (--closed-loop)"
		return c, nil
	}
	if e.MaximumRegression != "" {
		return checkRegression(e, c, against)
	}
	return checkLimit(e, c, f, phases[i].ValidRuns, repetitions)
}

// checkLimit judges a figure by atMost or atLeast.
func checkLimit(e v1alpha1.Expectation, c checked, f bounds, validRuns, repetitions int32) (checked, error) {
	l, err := newLimit(e)
	if err != nil {
		return checked{}, err
	}
	if repetitions >= MinimumRuns && !f.isInterval && e.Metric != v1alpha1.MetricLatencyMax {
		c.clause = fmt.Sprintf("%s is %s in %d of %d runs, and an interval needs %d valid runs",
			name(e), f.describe(e.Metric), validRuns, repetitions, MinimumRuns)
		return c, nil
	}
	c.result.Outcome, c.verdict = l.judge(f)
	c.headline += l.describe(c.result.Outcome)
	c.clause = name(e) + " is " + f.describe(e.Metric) + l.describe(c.result.Outcome)
	if c.result.Mark != "" {
		c.clause += ", in a closed loop"
	}
	return c, nil
}

// withoutFigure judges an expectation whose figure is missing. If the number of waiting operations grew until the end
// of a run, latencies are above any limit, and worse than those of any reference that has them.
func (c checked) withoutFigure(e v1alpha1.Expectation, phase v1alpha1.PhaseResult, reference Reference) checked {
	reason := "not every valid run reports it"
	runs := "a run"
	if phase.ValidRuns == 1 {
		runs = "the run"
	}
	if e.Metric == v1alpha1.MetricSustainableIOPS && phase.Curve != nil {
		return c.withoutRate(e, phase.Curve)
	}
	saturated := IsLatency(e.Metric) && slices.Contains(phase.Marks, v1alpha1.MarkSaturated)
	switch {
	case IsLatency(e.Metric) && slices.Contains(phase.Marks, v1alpha1.MarkOffSchedule):
		reason = "a client's generator did not follow its schedule (OffSchedule): give the clients more CPU, or lower the rate"
	case saturated && (e.AtMost != "" || e.MaximumRegression != "" && reference.hasFigure(e.MetricReference)):
		c.result.Outcome, c.verdict = v1alpha1.ExpectationMissed, v1alpha1.BenchmarkFailed
		c.clause = fmt.Sprintf("%s is above any limit, because the storage could not take the rate in %s (Saturated)", name(e), runs)
		return c
	case saturated:
		reason = fmt.Sprintf("the storage could not take the rate in %s (Saturated), nor does the reference have the figure: lower the rate of both", runs)
		if e.MaximumRegression == "" {
			reason = fmt.Sprintf("the storage could not take the rate in %s (Saturated): lower the rate", runs)
		}
	}
	c.clause = name(e) + " is unknown: " + reason
	return c
}

// withoutRate judges an expectation for a curve that gave no rate.
func (c checked) withoutRate(e v1alpha1.Expectation, curve *v1alpha1.CurveResult) checked {
	if curve.State == v1alpha1.CurveBelowIdle && (e.AtLeast != "" || e.MaximumRegression != "") {
		c.result.Outcome, c.verdict = v1alpha1.ExpectationMissed, v1alpha1.BenchmarkFailed
		c.clause = name(e) + " is missed, because no rate keeps the limit of the curve"
		return c
	}
	c.clause = name(e) + " is unknown: " + curve.Reason
	return c
}

func name(e v1alpha1.Expectation) string {
	text := string(e.Phase) + " " + string(e.Metric)
	if e.Direction != "" && e.Direction != v1alpha1.DirectionTotal {
		text += " (" + string(e.Direction) + ")"
	}
	return text
}

// headline returns an expectation's figure, with the metric's name unless the unit says it.
func headline(e v1alpha1.Expectation, f bounds) string {
	text := strings.TrimSuffix(strings.TrimSuffix(name(e), " "+string(v1alpha1.MetricIOPS)), " "+string(v1alpha1.MetricBandwidth))
	return text + " " + f.brief(e.Metric)
}

// bounds holds a value with its interval. Without an interval, low and high equal the value.
type bounds struct {
	value, low, high float64
	isInterval       bool
}

func readMetric(m v1alpha1.MetricResult) (bounds, error) {
	value, err := ParseDecimal(m.Value)
	if err != nil || m.Low == "" || m.High == "" {
		return bounds{value: value, low: value, high: value}, err
	}
	b := bounds{value: value, isInterval: true}
	if b.low, err = ParseDecimal(m.Low); err != nil {
		return bounds{}, err
	}
	b.high, err = ParseDecimal(m.High)
	return b, err
}

func (b bounds) describe(metric v1alpha1.Metric) string {
	if !b.isInterval {
		return Human(metric, b.value)
	}
	return fmt.Sprintf("%s (%s to %s)", Human(metric, b.value), Human(metric, b.low), Human(metric, b.high))
}

// brief is like describe, but shorter: "5.47k IOPS (4.85k–6.18k)".
func (b bounds) brief(metric v1alpha1.Metric) string {
	text := Human(metric, b.value)
	if !b.isInterval {
		return text
	}
	_, unit, _ := strings.Cut(text, " ")
	return fmt.Sprintf("%s (%s–%s)", text, strings.TrimSuffix(Human(metric, b.low), " "+unit), strings.TrimSuffix(Human(metric, b.high), " "+unit))
}

type limit struct {
	atMost bool
	value  float64
	text   v1alpha1.Threshold
}

func newLimit(e v1alpha1.Expectation) (limit, error) {
	l := limit{atMost: e.AtMost != "", text: e.AtMost}
	if !l.atMost {
		l.text = e.AtLeast
	}
	var err error
	if l.value, err = ParseThreshold(e.Metric, l.text); err != nil {
		return limit{}, fmt.Errorf("the limit of %s: %w", name(e), err)
	}
	return l, nil
}

// ParseThreshold parses a limit and returns it in the base unit of its metric. The limit is a time such as
// 20ms for latencies and TimeToClean, and a quantity such as 400Mi or 5k for other metrics.
func ParseThreshold(metric v1alpha1.Metric, threshold v1alpha1.Threshold) (float64, error) {
	if metric.LowerIsBetter() { // Each such metric is a time.
		d, err := time.ParseDuration(string(threshold))
		if err != nil || d < 0 {
			return 0, fmt.Errorf("%q is not a time, such as 20ms", threshold)
		}
		return d.Seconds(), nil
	}
	q, err := resource.ParseQuantity(string(threshold))
	if err != nil || q.Sign() < 0 {
		return 0, fmt.Errorf("%q is not a quantity, such as 400Mi or 5k", threshold)
	}
	return q.AsApproximateFloat64(), nil
}

func (l limit) judge(b bounds) (v1alpha1.ExpectationOutcome, v1alpha1.BenchmarkVerdict) {
	best, worst := b.low, b.high
	keeps := func(v float64) bool { return v <= l.value }
	if !l.atMost {
		best, worst = b.high, b.low
		keeps = func(v float64) bool { return v >= l.value }
	}
	switch {
	case keeps(worst):
		return v1alpha1.ExpectationMet, v1alpha1.BenchmarkPassed
	case !keeps(best):
		return v1alpha1.ExpectationMissed, v1alpha1.BenchmarkFailed
	}
	return v1alpha1.ExpectationUnknown, v1alpha1.BenchmarkInconclusive
}

func (l limit) describe(outcome v1alpha1.ExpectationOutcome) string {
	side := "at least "
	if l.atMost {
		side = "at most "
	}
	switch outcome {
	case v1alpha1.ExpectationMet:
		return ", " + side + string(l.text)
	case v1alpha1.ExpectationMissed:
		return ", not " + side + string(l.text)
	default:
		return ", on both sides of " + string(l.text)
	}
}

// sentence joins as many clauses as fit into maxSentence bytes.
func sentence(verdict v1alpha1.BenchmarkVerdict, clauses []string) string {
	text, separator := string(verdict)+": ", ""
	for i, clause := range clauses {
		more := fmt.Sprintf("; and %d more.", len(clauses)-i)
		if len(text)+len(separator)+len(clause)+len(more) > maxSentence {
			return text + more
		}
		text += separator + clause
		separator = "; "
	}
	return text + "."
}
