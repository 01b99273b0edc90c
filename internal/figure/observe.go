package figure

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/figure/fitness"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/stats"
	"github.com/cephtune/cephtune/internal/task"
)

// Observation is the combined outcome of all clients in one phase of one run. Its JSON form is
// part of the archive.
type Observation struct {
	// Result is the sum of the clients' results, without the ramp.
	Result *result.Result `json:"result,omitempty"`
	// Figures is computed from Result. The caller of [Observe] adds the figures of an outage.
	Figures []Figure `json:"figures"`
	// Marks holds caveats about the figures, in the order of [Marks].
	Marks []v1alpha1.ResultMark `json:"marks,omitempty"`
	// Curve has the steps after the phase, and the rate that they show; nil without a curve.
	Curve *curve.Course `json:"curve,omitempty"`
	// Instrument is the state of the clients and of their hosts while the engines ran, any ramp included.
	Instrument fitness.Shares `json:"instrument,omitzero"`
}

// Observe merges the clients' reports about one phase of one run.
//
// If the engine's figures include the ramp (timing.Cut), Observe cuts the ramp from each client's result
// before it merges the results. Observe adds the mark NotSteady if the rate of all clients together was still
// changing halfway through the measured time, or if nothing completed after the warm-up; see isSteady for
// exceptions. It adds the marks Throttled and Starved by the limits of package fitness. The caller adds all other marks with
// [Observation.Mark].
//
// Observe fails, with a message for the user, if a client has no usable result: an incomplete run is invalid.
func Observe(reports []task.Report, timing engine.Timing) (Observation, error) {
	observer := Observer{Timing: timing}
	for i := range reports {
		observer.Add(&reports[i])
	}
	return observer.Observation()
}

// Observer is the incremental form of [Observe]: the caller adds one report after the other, and need not
// hold all reports in memory.
type Observer struct {
	Timing engine.Timing

	merged *result.Result
	usage  []task.Usage
	err    error
}

// Add merges the report of one client.
func (o *Observer) Add(report *task.Report) {
	if o.err != nil {
		return
	}
	res, err := measured(report, o.Timing)
	if err != nil {
		o.err = fmt.Errorf("client %d: %w", report.Client, err)
		return
	}
	o.usage = append(o.usage, usageOf(report))
	if o.merged == nil {
		o.merged = res
		return
	}
	o.merged, o.err = result.Merge(o.merged, res)
}

// Merged returns the merged result of the reports before the first unusable one. It returns nil without such
// reports, after a failed merge, and after Fail.
func (o *Observer) Merged() *result.Result { return o.merged }

// Fail makes Observation return the error, and discards the merged result.
func (o *Observer) Fail(err error) { o.merged, o.err = nil, err }

// Observation returns the combined outcome of all clients.
func (o *Observer) Observation() (Observation, error) {
	switch {
	case o.err != nil:
		return Observation{}, o.err
	case o.merged == nil:
		return Observation{}, errors.New("no client has reported")
	}
	if err := o.merged.Validate(); err != nil {
		return Observation{}, err
	}
	figures, err := Figures(o.merged)
	if err != nil {
		return Observation{}, err
	}
	steady, err := isSteady(o.merged)
	if err != nil {
		return Observation{}, err
	}
	obs := Observation{Result: o.merged, Figures: figures, Instrument: fitness.Of(o.usage)}
	if mark := obs.Instrument.Mark(); mark != "" {
		obs.Mark(v1alpha1.ResultMark(mark))
	}
	if !steady {
		obs.Mark(v1alpha1.MarkNotSteady)
	}
	return obs, nil
}

// measured returns a client's result without the ramp.
func measured(report *task.Report, timing engine.Timing) (*result.Result, error) {
	switch {
	case report.Failure != nil:
		return nil, fmt.Errorf("%s: %s", report.Failure.Reason, report.Failure.Message)
	case report.State != task.Done:
		return nil, fmt.Errorf("it is %s", report.State)
	case report.Result == nil:
		return nil, errors.New("it has no result")
	}
	if err := report.Result.Validate(); err != nil {
		return nil, err
	}
	if timing.Cut && timing.RampSeconds > 0 {
		return afterRamp(report.Result, timing.RampSeconds)
	}
	return report.Result, nil
}

// usageOf returns the usage of a client. Runners of older versions do not report the time of their counters, so
// the seconds of their engine take its place.
func usageOf(report *task.Report) task.Usage {
	usage := report.Usage
	if usage.Seconds == 0 {
		for _, d := range report.Result.Directions() {
			usage.Seconds = max(usage.Seconds, d.Seconds)
		}
	}
	return usage
}

// isSteady judges the time series of all operations by MSER, the marginal standard error rule of package
// stats. It returns true if MSER cannot decide, because the series is missing or only a few seconds long. It
// returns false if nothing completed after the warm-up. For rbd bench it always returns true, because rbd
// bench prints rolling averages, which smear a warm-up over many rows. It does so even though the time series
// in the result does not contain these averages: the series is computed from the counts of operations that
// rbd bench prints.
func isSteady(res *result.Result) (bool, error) {
	if res.Source.Tool.HasRollingRows() {
		return true, nil
	}
	total, err := res.Total()
	if err != nil {
		return false, err
	}
	rows := rowsOf(total.Series)
	if rows == nil {
		return true, nil
	}
	summary, err := stats.Summarize(rows)
	switch {
	case errors.Is(err, stats.ErrTooFew):
		return true, nil
	case errors.Is(err, stats.ErrStalled):
		return false, nil
	}
	return summary.Steady, err
}

// rowsOf resamples a time series to whole seconds, because MSER counts each row as one observation. Rates
// over a tenth of a second scatter more than rates over a second.
func rowsOf(s *result.Series) []stats.Interval {
	if s == nil {
		return nil
	}
	if s = s.PerSecond(); s == nil {
		return nil
	}
	rates := s.BytesPerSecond
	if rates == nil {
		rates = s.OperationsPerSecond
	}
	rows := make([]stats.Interval, len(rates))
	for i, rate := range rates {
		seconds := s.EndSeconds[i] - s.StartSeconds[i]
		rows[i] = stats.Interval{Amount: rate * seconds, Seconds: seconds}
	}
	return rows
}

// WithoutLatencyWindows returns a copy whose result has no latency windows. It returns the observation itself
// if the observation is nil or has no result.
func (o *Observation) WithoutLatencyWindows() *Observation {
	if o == nil || o.Result == nil {
		return o
	}
	plain := *o
	plain.Result = o.Result.WithoutLatencyWindows()
	return &plain
}

// Mark adds marks without duplicates, in the order of the API's enum.
func (o *Observation) Mark(marks ...v1alpha1.ResultMark) {
	o.Marks = union(o.Marks, marks)
}

// union keeps Throttled instead of Starved, because a throttled client lacks CPU, too.
func union(a, b []v1alpha1.ResultMark) []v1alpha1.ResultMark {
	var all []v1alpha1.ResultMark
	for _, mark := range Marks() {
		switch {
		case mark == v1alpha1.MarkStarved && slices.Contains(all, v1alpha1.MarkThrottled):
		case slices.Contains(a, mark) || slices.Contains(b, mark):
			all = append(all, mark)
		}
	}
	return all
}
