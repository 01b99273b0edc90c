package stats

import (
	"fmt"
	"math"
)

// Interval is one row of an engine's report: an amount and the time in which it was done. The length of rows
// varies, because engines print rows late and end before a row is complete.
type Interval struct {
	Amount  float64 // bytes or operations, 0 for a stalled interval
	Seconds float64 // length of the interval, above 0
}

// RunSummary has the rate of one run after the warm-up, and says whether the run counts.
type RunSummary struct {
	Rate float64 // Amount per second: ΣAmount/ΣSeconds over the rows after the warm-up
	// FromSeconds and ToSeconds bound the part of the run after the warm-up, in seconds from the beginning of
	// the first row. Take latencies from the same part, because they must belong to the same observation as
	// Rate.
	FromSeconds, ToSeconds float64
	Dropped                int  // number of rows in the warm-up
	Steady                 bool // false: the run does not count; see Truncation
}

// Summarize reduces the rows of one run, in time order, to the run's rate after the warm-up that MSER finds.
// It computes the rate from totals. The mean of a column of cumulative averages would count early seconds
// many times over, and a printed average may be truncated to an integer.
//
// Each row must cover only its own time. Do not use Summarize for rbd bench, whose rows are averages over
// several seconds. In smoothed rows, MSER sees a steadiness or a trend that does not exist.
//
// For an impossible row, the error is a *ValueError. For fewer rows than MSER needs, it wraps ErrTooFew. If
// the rows after the warm-up moved nothing, it wraps ErrStalled.
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
