package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/archive/reference"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/words"
	"github.com/cephtune/cephtune/internal/figure"
)

// regression is the parsed form of --max-regression.
type regression struct {
	share   string // as it was typed, such as 10%
	metrics []v1alpha1.Metric
	named   bool // whether --metric names the metrics
	hour    bool // --this-hour: a reference of fewer than three days suffices
	// closedLoop is --closed-loop: percentiles of phases without a rate are judged.
	closedLoop bool
}

// Judgement is the outcome of comparing the interval of a figure with the largest allowed
// regression.
type Judgement struct {
	Phase     v1alpha1.PhaseName         `json:"phase"`
	Direction v1alpha1.Direction         `json:"direction"`
	Metric    v1alpha1.Metric            `json:"metric"`
	Outcome   v1alpha1.ConstraintOutcome `json:"outcome"`
	// Ratio is B divided by the reference. Low and High are the ends of its interval. All three are nil
	// if the interval is unknown.
	Ratio *float64 `json:"ratio,omitempty"`
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	// Days counts the days on which runs of the reference measured the figure; 0 if the interval is unknown.
	Days int `json:"days,omitempty"`
	// Text describes the outcome in words, and says what to do if it is Unknown.
	Text string `json:"text"`
}

// parseRegression reads --max-regression, --metric, --this-hour and --closed-loop. It returns nil if none is set.
func parseRegression(share string, names []string, hour, closedLoop bool) (*regression, error) {
	if share == "" {
		if len(names) > 0 || hour || closedLoop {
			return nil, exit.UsageErrorf("--metric, --this-hour and --closed-loop need --max-regression")
		}
		return nil, nil //nolint:nilnil // The docstring documents nil.
	}
	number, percent := strings.CutSuffix(share, "%")
	limit, err := strconv.ParseFloat(number, 64)
	if err != nil || !percent || math.IsNaN(limit) || limit <= 0 || limit >= 100 {
		return nil, exit.UsageErrorf("--max-regression %q: want a share between 0%% and 100%%, such as 10%%", share)
	}
	r := &regression{share: share, named: len(names) > 0, hour: hour, closedLoop: closedLoop, metrics: []v1alpha1.Metric{v1alpha1.MetricBandwidth, v1alpha1.MetricLatencyP99}}
	for i, name := range names {
		metric, known := words.Metric(name)
		switch {
		case known && metric == v1alpha1.MetricLatencyMax:
			return nil, exit.UsageErrorf("--metric %q: the longest operation of some runs says nothing about the next one, name p99 or p999", name)
		case !known:
			return nil, exit.UsageErrorf("--metric %q: want some of bandwidth, iops, mean, p50, p95, p99, p999", name)
		}
		if i == 0 {
			r.metrics = nil
		}
		r.metrics = append(r.metrics, metric)
	}
	return r, nil
}

// judgeRegressions judges the requested figures of B against the runs of A, by the rules of a
// CephBenchmark's maximumRegression.
func (c *comparison) judgeRegressions(r *regression, a, b side, expect []expectation) error {
	if r == nil {
		return nil
	}
	c.limit, c.Regressions = r.share, []Judgement{}
	runs := referenceFor(a, b, expect)
	against := figure.Comparison{Runs: map[v1alpha1.PhaseName][]figure.Observation{}, References: map[string]figure.Reference{a.name: runs}, Now: b.runs[0].ExecutionTime}
	for _, phase := range archive.PhaseNames(b.runs[:1]) {
		against.Runs[phase] = archive.Observations(b.runs, phase)
		if expected(onlyIn(phase, b), expect) && !slices.Contains(archive.PhaseNames(a.runs), phase) {
			continue // A lacks this phase, as the user expects.
		}
		for _, e := range r.expectations(b, phase, a.name) {
			if hides := b.inClosedLoop(e.MetricReference); hides && !r.closedLoop {
				if r.named {
					c.Regressions = append(c.Regressions, unjudgedInClosedLoop(e))
				}
				continue
			}
			found, err := against.Regression(e)
			if err != nil {
				return err
			}
			c.Regressions = append(c.Regressions, judgement(e, found))
		}
	}
	for _, metric := range r.metrics {
		if r.named && !slices.ContainsFunc(c.Regressions, func(j Judgement) bool { return j.Metric == metric }) {
			c.unjudged = append(c.unjudged, string(metric))
		}
	}
	c.noteReference(a)
	return nil
}

// referenceFor returns the runs of A that measured the workload of B. It ignores expected
// differences between the workloads.
func referenceFor(a, b side, expect []expectation) figure.Reference {
	w := reference.Workload{Digests: map[v1alpha1.PhaseName]string{}, Ignore: func(line string) bool { return expected(line, expect) }}
	if err := json.Unmarshal(b.runs[0].Environment, &w.Environment); err != nil {
		return figure.Reference{Unusable: fmt.Sprintf("the environment of %s was not recorded: run it again", b.name)}
	}
	for _, p := range b.runs[0].Phases {
		w.Digests[p.Name] = p.SpecDigest
		if expected(otherSpec(p.Name), expect) {
			w.Digests[p.Name] = reference.AnySpec
		}
	}
	return a.reference(w)
}

// expectations returns one expectation for each requested figure that B has.
func (r *regression) expectations(b side, phase v1alpha1.PhaseName, against string) []v1alpha1.Expectation {
	var all []v1alpha1.Expectation
	for _, direction := range figure.Directions() {
		for _, metric := range figure.Metrics() {
			if !slices.Contains(r.metrics, metric) || !hasFigure(b, phase, direction, metric) {
				continue
			}
			all = append(all, v1alpha1.Expectation{
				MetricReference:   v1alpha1.MetricReference{Phase: phase, Metric: metric, Direction: direction},
				MaximumRegression: v1alpha1.Percent(r.share), Reference: against, ThisHour: r.hour,
			})
		}
	}
	return all
}

// hasFigure reports whether a run of a side has a figure.
func hasFigure(s side, phase v1alpha1.PhaseName, direction v1alpha1.Direction, metric v1alpha1.Metric) bool {
	return slices.ContainsFunc(s.runs, func(run *archive.Run) bool {
		_, found := run.Figure(phase, metric, direction)
		return found
	})
}

func judgement(e v1alpha1.Expectation, r figure.Regression) Judgement {
	j := Judgement{
		Phase: e.Phase, Direction: e.Direction, Metric: e.Metric, Outcome: v1alpha1.ConstraintOutcome(r.State),
		Days: r.Days, Text: r.Clause(),
	}
	if r.Missing == "" {
		j.Ratio, j.Low, j.High = &r.Ratio, &r.Interval.Low, &r.Interval.High
	}
	return j
}

// inClosedLoop reports whether a figure is a percentile of a closed loop in a run of a side.
func (s side) inClosedLoop(ref v1alpha1.MetricReference) bool {
	return figure.IsPercentile(ref.Metric) && slices.ContainsFunc(s.runs, func(run *archive.Run) bool {
		o := run.Observation(ref.Phase)
		return o != nil && slices.Contains(o.Marks, v1alpha1.MarkClosedLoop)
	})
}

func unjudgedInClosedLoop(e v1alpha1.Expectation) Judgement {
	return Judgement{
		Phase: e.Phase, Direction: e.Direction, Metric: e.Metric, Outcome: v1alpha1.ConstraintUnknown,
		Text: fmt.Sprintf("%s %s is a percentile of a closed loop, which hides stalls: measure at a rate, or accept that with --closed-loop", e.Phase, e.Metric),
	}
}

// noteReference adds a note about the days of the reference.
func (c *comparison) noteReference(a side) {
	days := 0
	for _, j := range c.Regressions {
		days = max(days, j.Days)
	}
	switch {
	case days == 0: // No figure has a ratio.
	case days < figure.ReferenceDays:
		c.Notes = append(c.Notes, fmt.Sprintf("The reference speaks for one hour only: %s has runs on %d of the %d days that it needs.",
			a.name, days, figure.ReferenceDays))
	default:
		c.Notes = append(c.Notes, fmt.Sprintf("The gate compares with %d days of %s, so its intervals contain the differences between days. The table compares with the latest execution alone.",
			days, a.name))
	}
}

// regressionLines returns a line for each judged figure, with its outcome.
func (c *comparison) regressionLines() []string {
	lines := make([]string, 0, len(c.Regressions))
	for _, j := range c.Regressions {
		lines = append(lines, fmt.Sprintf("%s: %s", j.Outcome, j.Text))
	}
	return lines
}

// regressed returns an error, which sets the exit code, unless every judged figure is Kept. It also returns
// an error if no figure was judged, or if --metric names a metric without a judged figure. Without
// --max-regression, it returns nil.
func (c *comparison) regressed() error {
	if c.Regressions == nil {
		return nil
	}
	var broken, unknown []string
	for _, j := range c.Regressions {
		name := fmt.Sprintf("%s %s", j.Phase, j.Metric)
		switch j.Outcome {
		case v1alpha1.ConstraintKept:
		case v1alpha1.ConstraintBroken:
			broken = append(broken, name)
		default:
			unknown = append(unknown, name)
		}
	}
	switch {
	case len(broken) > 0:
		return exit.UnexpectedErrorf("worse by more than %s: %s", c.limit, strings.Join(broken, ", "))
	case len(unknown) > 0:
		return exit.UndecidedErrorf("it is unknown whether B is worse by more than %s: %s", c.limit, strings.Join(unknown, ", "))
	case len(c.unjudged) > 0:
		return exit.UndecidedErrorf("B has no figure %s: name others with --metric", strings.Join(c.unjudged, ", "))
	case len(c.Regressions) == 0:
		return exit.UndecidedErrorf("--max-regression has no figure to check: name one that B has with --metric")
	}
	return nil
}
