package stats

import (
	"fmt"
	"math"
)

// Interval is one row of an engine's report: an amount and the time that it took.
// The times differ between rows, because engines print rows late and end early.
type Interval struct {
	Amount  float64 // bytes or operations, 0 for a stalled interval
	Seconds float64 // length of the interval, above 0
}

// RunSummary has the contribution of one run to a verdict (Rate), and says
// whether the run counts (Steady).
type RunSummary struct {
	Rate float64 // ΣAmount/ΣSeconds over the kept window, per second
	// FromSeconds and ToSeconds bound the window of the run that Rate describes,
	// from the beginning of the first row. Latencies must be taken from the same
	// window to belong to the same observation.
	FromSeconds, ToSeconds float64
	Dropped                int  // rows before the window
	Steady                 bool // false: the run does not count, see Truncation
}

// Summarize reduces the rows of one run, in time order, to its rate after the
// warm-up that MSER finds. The rate is computed from totals: the mean of a
// cumulative column counts early seconds many times over, and a printed average
// may be truncated to an integer.
//
// Each row must cover only its own time. Do not use Summarize for rbd bench, whose
// rows are averages over several seconds: in smoothed rows, MSER sees a steadiness or
// a trend that does not exist.
//
// It returns a *ValueError for impossible rows, and an error wrapping ErrTooFew for
// fewer rows than MSER needs, or ErrStalled if the kept rows moved nothing.
func Summarize(rows []Interval) (RunSummary, error) {
	rates, err := intervalRates(rows)
	if err != nil {
		return RunSummary{}, err
	}
	cut, err := MSER(rates)
	if err != nil {
		return RunSummary{}, err
	}
	from, _ := totals(rows[:cut.Drop])
	seconds, amount := totals(rows[cut.Drop:])
	if amount == 0 {
		return RunSummary{}, fmt.Errorf("summary of a run: %w in %v s", ErrStalled, seconds)
	}
	return RunSummary{
		Rate:        amount / seconds,
		FromSeconds: from, ToSeconds: from + seconds,
		Dropped: cut.Drop, Steady: cut.Steady,
	}, nil
}

func intervalRates(rows []Interval) ([]float64, error) {
	if len(rows) == 0 {
		return nil, fmt.Errorf("summary of a run: %w: no intervals", ErrTooFew)
	}
	rates := make([]float64, len(rows))
	for i, row := range rows {
		if !(row.Seconds > 0) || math.IsInf(row.Seconds, 1) {
			return nil, &ValueError{What: "length in seconds of interval", Index: i, Value: row.Seconds, Want: "positive and finite"}
		}
		if !(row.Amount >= 0) || math.IsInf(row.Amount, 1) {
			return nil, &ValueError{What: "amount of interval", Index: i, Value: row.Amount, Want: "0 or more and finite"}
		}
		rates[i] = row.Amount / row.Seconds
	}
	return rates, nil
}

func totals(rows []Interval) (seconds, amount float64) {
	for _, row := range rows {
		seconds += row.Seconds
		amount += row.Amount
	}
	return seconds, amount
}
