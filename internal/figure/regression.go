package figure

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/stats"
)

// ReferenceDays is the number of days on which a reference must have runs, so that the interval
// includes the differences between days.
const ReferenceDays = 3

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// noWorseThan returns the constraint that a figure is worse than the reference's figure by at most
// a share, such as 0.1.
func noWorseThan(metric v1alpha1.Metric, share float64) stats.Constraint {
	constraint := stats.Constraint{Name: string(metric), MaximumRegression: share}
	if metric.LowerIsBetter() {
		constraint.Direction = stats.LowerIsBetter
	}
	return constraint
}

// Reference is the other benchmark of an expectation with maximumRegression.
type Reference struct {
	// UID is that of the CephBenchmark; "" for a reference that is none, or that does not exist.
	UID types.UID
	// Unusable says why the reference cannot be used, and what to do; "" if it can be used.
	Unusable string
	// Runs holds the reference's archived runs that are valid and had the same workload as this benchmark, apart
	// from the specifications of phases (see Figures) and from differences that the caller accepts.
	Runs []ReferenceRun
	// Unsigned says that results of the reference have no signature, so that users may have changed them.
	Unsigned bool
}

// hasFigure reports whether a run of the reference has a figure.
func (r Reference) hasFigure(ref v1alpha1.MetricReference) bool {
	return slices.ContainsFunc(r.Runs, func(run ReferenceRun) bool {
		_, found := Find(run.Figures[ref.Phase], ref.Metric, cmp.Or(ref.Direction, v1alpha1.DirectionTotal))
		return found
	})
}

// ReferenceRun is one run of a reference.
type ReferenceRun struct {
	// Execution identifies the execution, and Start is when it began. All runs of the
	// execution count for the day of Start.
	Execution string
	Start     time.Time
	// Figures holds the figures of each phase whose specification equals that of the same phase of this
	// benchmark, or of each phase if the caller accepts any specification.
	Figures map[v1alpha1.PhaseName][]Figure
}

// Comparison holds the runs that expectations with a reference compare.
type Comparison struct {
	// Runs holds the observations of each phase in the valid runs of this benchmark.
	Runs map[v1alpha1.PhaseName][]Observation
	// References holds the references by name.
	References map[string]Reference
	// Now is the time of this benchmark's execution; zero if that is unknown. The references' age then plays no part.
	Now time.Time
}

// ratio is the figure of a benchmark divided by that of its reference.
type ratio struct {
	contrast stats.Contrast
	days     int
	start    time.Time // of the reference's latest execution that has the figure
	// missing says why the ratio is unknown, and what to do; "" if the ratio is known.
	missing string
}

// runsHave begins a sentence about n valid runs.
func runsHave(n int) string {
	switch n {
	case 0:
		return "no valid run has"
	case 1:
		return "1 valid run has"
	}
	return fmt.Sprintf("%d valid runs have", n)
}

// ratio compares a figure with its reference. If the reference has runs on at least [ReferenceDays] days, the
// interval includes the differences between days. Otherwise, ratio uses only the runs of the reference's
// latest execution that has the figure.
func (c Comparison) ratio(e v1alpha1.Expectation) (ratio, error) {
	reference, known := c.References[e.Reference]
	switch {
	case !known:
		return ratio{missing: fmt.Sprintf("%s was not read: run again with another runID", e.Reference)}, nil
	case e.ReferenceUID != "" && reference.UID != "" && e.ReferenceUID != string(reference.UID):
		return ratio{missing: fmt.Sprintf(
			"%s is another CephBenchmark than that in referenceUID: its UID is %s. Find out who created it", e.Reference, reference.UID)}, nil
	case reference.Unusable != "":
		return ratio{missing: reference.Unusable}, nil
	}
	values, kind := ownFigures(c.Runs[e.Phase], e)
	if len(values) < MinimumRuns {
		return ratio{missing: fmt.Sprintf("%s the figure, and an interval needs %d: set more repetitions", runsHave(len(values)), MinimumRuns)}, nil
	}
	executions := reference.executions(e, kind)
	if len(executions) == 0 {
		return ratio{missing: fmt.Sprintf("no valid run of %s has this figure of the same phase: run it with the template of this benchmark", e.Reference)}, nil
	}
	latest := executions[len(executions)-1]
	days := byDay(executions)
	if len(days) >= ReferenceDays {
		contrast, err := stats.NewDayLogRatio(days, values, Growth(executions[0].start, latest.start, c.Now))
		return ratio{contrast: contrast, days: len(days), start: latest.start}, err
	}
	if len(latest.values) < MinimumRuns {
		return ratio{missing: fmt.Sprintf("%s the figure in the latest execution of %s, and an interval needs %d: run it again with more repetitions", runsHave(len(latest.values)), e.Reference,
			MinimumRuns)}, nil
	}
	contrast, err := stats.WelchLogRatio(latest.values, values)
	return ratio{contrast: contrast, days: len(days), start: latest.start}, err
}

// Growth returns the factor by which the variance of a new day exceeds that between the days of a reference. Days
// that follow each other resemble each other more than days that are far apart. So the variance grows once the age
// of the reference, from the middle of its days, exceeds its span, the time between its first and its last day:
// by 2 for each further span. If now is zero, it does not grow.
func Growth(first, last, now time.Time) float64 {
	span := last.Sub(first)
	if now.IsZero() || span <= 0 {
		return 1
	}
	age := now.Sub(first.Add(span / 2))
	return 1 + max(0, 2*float64(age-span)/float64(span))
}

// byDay returns the values of each day. The executions must be in chronological order.
func byDay(executions []execution) [][]float64 {
	var days [][]float64
	for i, s := range executions {
		if i == 0 || dayOf(s.start) != dayOf(executions[i-1].start) {
			days = append(days, nil)
		}
		days[len(days)-1] = append(days[len(days)-1], s.values...)
	}
	return days
}

// ownFigures returns the figure of each run, as [valuesOf] does, and the kind of latency.
func ownFigures(runs []Observation, e v1alpha1.Expectation) ([]float64, string) {
	values := valuesOf(e.Metric, e.Direction, runs)
	if values == nil {
		return nil, ""
	}
	f, _ := Find(runs[0].Figures, e.Metric, e.Direction)
	return values, string(f.LatencyKind)
}

// execution holds the values of one figure in one execution.
type execution struct {
	name   string
	start  time.Time
	values []float64
}

// executions returns the figure in each execution, the oldest execution first. It leaves out figures that are only
// lower bounds, and latencies of another kind than the given one.
func (r Reference) executions(e v1alpha1.Expectation, kind string) []execution {
	var all []execution
	for _, run := range r.Runs {
		f, ok := Find(run.Figures[e.Phase], e.Metric, e.Direction)
		if !ok || f.AtLeast || string(f.LatencyKind) != kind {
			continue
		}
		i := slices.IndexFunc(all, func(s execution) bool { return s.name == run.Execution })
		if i < 0 {
			i = len(all)
			all = append(all, execution{name: run.Execution, start: run.Start})
		}
		all[i].values = append(all[i].values, f.Value)
	}
	slices.SortFunc(all, func(a, b execution) int { return cmp.Or(a.start.Compare(b.start), cmp.Compare(a.name, b.name)) })
	return all
}

// Regression is the outcome of comparing a figure with that of a reference.
type Regression struct {
	// State is Kept if the whole interval is within the limit, Broken if all of it is beyond the
	// limit, and Unknown otherwise.
	State stats.ConstraintState
	// Missing says why the ratio is unknown, and what to do; "" if the ratio is known.
	Missing string
	// Ratio is the figure divided by that of the reference. Interval is the interval of the ratio.
	Ratio    float64
	Interval stats.Bounds
	// Days counts the days on which the reference has the figure; 0 if the ratio is unknown.
	Days int
	// TooFewDays means that the State is Unknown because the reference has fewer than ReferenceDays days, and the
	// expectation does not ask for this hour.
	TooFewDays bool

	expectation v1alpha1.Expectation
	uid         types.UID
	start       time.Time
}

// Regression judges an expectation with maximumRegression. It returns an error for an invalid limit, which
// admission normally refuses.
func (c Comparison) Regression(e v1alpha1.Expectation) (Regression, error) {
	share, err := strconv.ParseFloat(strings.TrimSuffix(string(e.MaximumRegression), "%"), 64)
	if err != nil {
		return Regression{}, fmt.Errorf("the limit of %s: %q is not a percentage such as 10%%", name(e), e.MaximumRegression)
	}
	out := Regression{State: stats.Unknown, expectation: e, uid: c.References[e.Reference].UID}
	r, err := c.ratio(e)
	if err != nil { // Bad figures of a reference must not fail the benchmark.
		r.missing = fmt.Sprintf("the runs of %s cannot be compared: run it again (%v)", e.Reference, err)
	}
	if r.missing != "" {
		out.Missing = r.missing
		return out, nil
	}
	found, err := noWorseThan(e.Metric, share/100).Check(r.contrast, Confidence)
	if err != nil {
		return Regression{}, fmt.Errorf("the limit of %s: %w", name(e), err)
	}
	out.State, out.Ratio, out.Interval, out.Days, out.start = found.State, found.Ratio, found.Interval, r.days, r.start
	if r.days < ReferenceDays && !e.ThisHour {
		out.State, out.TooFewDays = stats.Unknown, true
	}
	return out, nil
}

// Clause describes the outcome in words. It names the UID of the reference, because users may delete a CephBenchmark
// and create another one of that name.
func (r Regression) Clause() string {
	e := r.expectation
	if r.Missing != "" {
		return name(e) + " is unknown: " + r.Missing
	}
	reference := e.Reference
	if r.uid != "" {
		reference += fmt.Sprintf(" (UID %s, execution of %s)", r.uid, r.start.UTC().Format(time.RFC3339))
	}
	if r.TooFewDays {
		return fmt.Sprintf("%s is %.3g (%.3g to %.3g) times that of %s in this hour, which does not pass a gate: run %s on %d more days, or ask for this hour",
			name(e), r.Ratio, r.Interval.Low, r.Interval.High, reference, e.Reference, ReferenceDays-r.Days)
	}
	relation := fmt.Sprintf("possibly more than %s worse: set more repetitions", e.MaximumRegression)
	switch r.State {
	case stats.Kept:
		relation = fmt.Sprintf("at most %s worse", e.MaximumRegression)
	case stats.Broken:
		relation = fmt.Sprintf("more than %s worse", e.MaximumRegression)
	case stats.Unknown:
	}
	return fmt.Sprintf("%s is %.3g (%.3g to %.3g) times that of %s, %s", name(e), r.Ratio, r.Interval.Low, r.Interval.High, reference, relation)
}

// checkRegression judges an expectation with a reference.
func checkRegression(e v1alpha1.Expectation, c checked, against Comparison) (checked, error) {
	r, err := against.Regression(e)
	if err != nil {
		return checked{}, err
	}
	switch r.State {
	case stats.Kept:
		c.result.Outcome, c.verdict = v1alpha1.ExpectationMet, v1alpha1.BenchmarkPassed
	case stats.Broken:
		c.result.Outcome, c.verdict = v1alpha1.ExpectationMissed, v1alpha1.BenchmarkFailed
	case stats.Unknown:
	}
	c.clause = r.Clause()
	if r.Missing != "" {
		return c, nil
	}
	if c.result.Mark != "" {
		c.clause += ", in a closed loop"
	}
	if against.References[e.Reference].Unsigned {
		c.clause += fmt.Sprintf(" (results of %s are unsigned, from an earlier version)", e.Reference)
	}
	if r.Days < ReferenceDays && !r.TooFewDays {
		c.clause += fmt.Sprintf(", but only for this hour (%s has executions on %d of the %d days that it needs)", e.Reference, r.Days, ReferenceDays)
	}
	return c, nil
}
