package result

import (
	"errors"
	"fmt"
	"math"
)

// Series has the figures of a phase over time, in consecutive intervals. Each column is a slice.
//
// An interval that the tool did not report is missing, so there is a gap between its
// neighbours. An interval in which nothing completed has rate 0. A column that the tool does
// not report is nil.
type Series struct {
	// Boundaries says how exact StartSeconds and EndSeconds are.
	Boundaries Boundaries `json:"boundaries"`
	// StartSeconds and EndSeconds bound each interval, in seconds since the client started to
	// measure. Intervals are in rising order and do not overlap; their lengths may differ.
	StartSeconds []float64 `json:"startSeconds"`
	EndSeconds   []float64 `json:"endSeconds"`
	// OperationsPerSecond and BytesPerSecond are means over the interval alone, not
	// running means.
	OperationsPerSecond []float64 `json:"operationsPerSecond,omitempty"`
	BytesPerSecond      []float64 `json:"bytesPerSecond,omitempty"`
	// MeanLatencySeconds is the mean total latency of the operations that completed in the interval, and 0
	// without operations. The means, weighted by operations, add up to the sum of all latencies. Adjacent
	// intervals may share one mean if the tool printed too few digits to compute a mean for each.
	MeanLatencySeconds []float64 `json:"meanLatencySeconds,omitempty"`
}

// Boundaries is the origin of interval boundaries.
type Boundaries string

// These are the kinds of boundaries.
const (
	// MeasuredBoundaries come from the tool's own clock.
	MeasuredBoundaries Boundaries = "measured"
	// NominalBoundaries are whole seconds that the tool printed, or multiples of its reporting
	// period. The true boundaries are slightly later.
	NominalBoundaries Boundaries = "nominal"
	// AlignedBoundaries are whole seconds, to which [Series.PerSecond] aligned the series.
	AlignedBoundaries Boundaries = "aligned"
)

// Len returns the number of intervals.
func (s *Series) Len() int { return len(s.StartSeconds) }

// Stalled reports whether nothing completed in interval i. It returns false for a series that has
// neither operations nor bytes.
func (s *Series) Stalled(i int) bool {
	switch {
	case s.OperationsPerSecond != nil:
		return s.OperationsPerSecond[i] == 0
	case s.BytesPerSecond != nil:
		return s.BytesPerSecond[i] == 0
	}
	return false
}

// maxSeriesSeconds limits the end of a series, and so the work of aligning it to whole
// seconds. It is about eleven days.
const maxSeriesSeconds = 1e6

// coverage is the part of a second that intervals must cover for the second to count as known.
// The clocks of the tools are accurate to a millisecond.
const coverage = 0.998

// Append adds an interval with its rates.
func (s *Series) Append(start, end, operationsPerSecond, bytesPerSecond float64) {
	s.StartSeconds = append(s.StartSeconds, start)
	s.EndSeconds = append(s.EndSeconds, end)
	s.OperationsPerSecond = append(s.OperationsPerSecond, operationsPerSecond)
	s.BytesPerSecond = append(s.BytesPerSecond, bytesPerSecond)
}

// PerSecond aligns the series to whole seconds. It omits a second if more than two milliseconds of it lie
// outside of all intervals. If several intervals share a second, the second gets the mean of their rates,
// weighted by time. Its latency is the mean weighted by operations, or by time if operations are unknown. If
// nothing completed in one of the seconds, the result has no latencies. PerSecond returns nil if the series
// covers no whole second.
func (s *Series) PerSecond() *Series {
	aligned := s.emptyLike()
	for i := range s.Len() {
		from, to := math.Floor(s.StartSeconds[i]), math.Ceil(s.EndSeconds[i])
		for second := from; second < to; second++ {
			if n := aligned.Len(); n > 0 && aligned.StartSeconds[n-1] == second {
				continue // An earlier interval has already added this second.
			}
			aligned.gather(s, i, second)
		}
	}
	if aligned.Len() == 0 {
		return nil
	}
	return aligned
}

// emptyLike returns an aligned series without intervals but with the same columns.
func (s *Series) emptyLike() *Series {
	e := &Series{Boundaries: AlignedBoundaries, StartSeconds: []float64{}, EndSeconds: []float64{}}
	for i, column := range s.columns() {
		if *column != nil {
			*e.columns()[i] = []float64{}
		}
	}
	return e
}

// columns lists the columns of values, so that loops can treat them alike.
func (s *Series) columns() [3]*[]float64 {
	return [3]*[]float64{&s.OperationsPerSecond, &s.BytesPerSecond, &s.MeanLatencySeconds}
}

// gather appends one whole second to s. It computes the second from the intervals of another series, and
// skips the intervals before the given index. It appends nothing unless the intervals cover the second. If
// nothing completed in the second, gather removes the latencies of all seconds from s.
func (s *Series) gather(source *Series, first int, second float64) {
	var covered, operations, bytes, latency, weight float64
	for i := first; i < source.Len() && source.StartSeconds[i] < second+1; i++ {
		share := math.Min(source.EndSeconds[i], second+1) - math.Max(source.StartSeconds[i], second)
		if share <= 0 {
			continue
		}
		covered += share
		w := share
		if source.OperationsPerSecond != nil {
			operations += share * source.OperationsPerSecond[i]
			w = share * source.OperationsPerSecond[i]
		}
		if source.BytesPerSecond != nil {
			bytes += share * source.BytesPerSecond[i]
		}
		if source.MeanLatencySeconds != nil {
			latency += w * source.MeanLatencySeconds[i]
			weight += w
		}
	}
	if covered < coverage {
		return
	}
	s.StartSeconds = append(s.StartSeconds, second)
	s.EndSeconds = append(s.EndSeconds, second+1)
	if source.OperationsPerSecond != nil {
		s.OperationsPerSecond = append(s.OperationsPerSecond, operations/covered)
	}
	if source.BytesPerSecond != nil {
		s.BytesPerSecond = append(s.BytesPerSecond, bytes/covered)
	}
	if weight == 0 {
		// Nothing completed, so no latency exists. Losing the column is better than losing the
		// stalled second.
		s.MeanLatencySeconds = nil
	}
	if s.MeanLatencySeconds != nil {
		s.MeanLatencySeconds = append(s.MeanLatencySeconds, latency/weight)
	}
}

// matchSeconds calls visit for each second that both aligned series have. The arguments i and j of visit are
// the indexes of that second in the two series.
func matchSeconds(a, b *Series, visit func(i, j int)) {
	for i, j := 0, 0; i < a.Len() && j < b.Len(); {
		switch {
		case a.StartSeconds[i] < b.StartSeconds[j]:
			i++
		case a.StartSeconds[i] > b.StartSeconds[j]:
			j++
		default:
			visit(i, j)
			i, j = i+1, j+1
		}
	}
}

// AddSeries adds the rates of two clients, jobs or directions that started together, second by second, and
// weights their latencies by operations. The sum has the complete seconds and the columns that both series
// have, but no latencies if a series lacks operations. AddSeries returns nil without a common second or
// column.
func AddSeries(a, b *Series) *Series {
	if a == nil || b == nil {
		return nil
	}
	a, b = a.PerSecond(), b.PerSecond()
	if a == nil || b == nil {
		return nil
	}
	sum := &Series{Boundaries: AlignedBoundaries}
	// The mean latency needs the operations of both series, which are the weights.
	latency := a.MeanLatencySeconds != nil && b.MeanLatencySeconds != nil &&
		a.OperationsPerSecond != nil && b.OperationsPerSecond != nil
	matchSeconds(a, b, func(i, j int) {
		sum.StartSeconds = append(sum.StartSeconds, a.StartSeconds[i])
		sum.EndSeconds = append(sum.EndSeconds, a.EndSeconds[i])
		if a.OperationsPerSecond != nil && b.OperationsPerSecond != nil {
			sum.OperationsPerSecond = append(sum.OperationsPerSecond, a.OperationsPerSecond[i]+b.OperationsPerSecond[j])
		}
		if a.BytesPerSecond != nil && b.BytesPerSecond != nil {
			sum.BytesPerSecond = append(sum.BytesPerSecond, a.BytesPerSecond[i]+b.BytesPerSecond[j])
		}
		if latency {
			wa, wb := a.OperationsPerSecond[i], b.OperationsPerSecond[j]
			mean := (wa*a.MeanLatencySeconds[i] + wb*b.MeanLatencySeconds[j]) / (wa + wb)
			sum.MeanLatencySeconds = append(sum.MeanLatencySeconds, mean)
		}
	})
	return sum.orNil()
}

// JoinSeries combines the columns of two series of one client, such as fio's logs of bandwidth and of
// operations. The result has the seconds that both series have; nil without a common second. A column that
// both series have comes from the first argument.
func JoinSeries(a, b *Series) *Series {
	if a == nil || b == nil {
		return nil
	}
	a, b = a.PerSecond(), b.PerSecond()
	if a == nil || b == nil {
		return nil
	}
	joined := &Series{Boundaries: AlignedBoundaries}
	matchSeconds(a, b, func(i, j int) {
		joined.StartSeconds = append(joined.StartSeconds, a.StartSeconds[i])
		joined.EndSeconds = append(joined.EndSeconds, a.EndSeconds[i])
		for k, column := range joined.columns() {
			if left := *a.columns()[k]; left != nil {
				*column = append(*column, left[i])
			} else if right := *b.columns()[k]; right != nil {
				*column = append(*column, right[j])
			}
		}
	})
	return joined.orNil()
}

// orNil returns nil for a series without intervals or without columns of values.
func (s *Series) orNil() *Series {
	if s.Len() == 0 || (s.OperationsPerSecond == nil && s.BytesPerSecond == nil && s.MeanLatencySeconds == nil) {
		return nil
	}
	return s
}

func (s *Series) validate() error {
	switch s.Boundaries {
	case MeasuredBoundaries, NominalBoundaries, AlignedBoundaries:
	default:
		return fmt.Errorf("series: unknown boundaries %q", s.Boundaries)
	}
	if s.Len() == 0 {
		return errors.New("series: it has no intervals")
	}
	if len(s.EndSeconds) != s.Len() {
		return fmt.Errorf("series: %d starts, but %d ends", s.Len(), len(s.EndSeconds))
	}
	for _, column := range s.columns() {
		if *column == nil {
			continue
		}
		if len(*column) != s.Len() {
			return fmt.Errorf("series: %d intervals, but a column of %d", s.Len(), len(*column))
		}
		for i, v := range *column {
			if !isQuantity(v) {
				return fmt.Errorf("series: interval %d has the value %v", i, v)
			}
		}
	}
	return s.validateIntervals()
}

func (s *Series) validateIntervals() error {
	previous := 0.0
	for i := range s.Len() {
		start, end := s.StartSeconds[i], s.EndSeconds[i]
		if !isQuantity(start) || !isQuantity(end) || start < previous || end <= start || end > maxSeriesSeconds {
			return fmt.Errorf("series: interval %d is from %v to %v s, after %v s", i, start, end, previous)
		}
		previous = end
	}
	return nil
}
