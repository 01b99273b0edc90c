package changepoint

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/cephtune/cephtune/internal/stats"
)

// LeastNights is the number of nights without which there is no answer. MostNights bounds the time that an answer takes, which grows with
// its square: a year takes a fraction of a second.
const (
	LeastNights = 12
	MostNights  = 800
)

const (
	leastPiece = 5  // nights that a level needs
	leastTrend = 20 // nights that a slope needs
	// The penalties are squares of z. Simulations chose them: see simulation_test.go.
	pointPenalty = 6.7
	slopePenalty = 4.5
	// memoryPenalty is what an autocorrelation of 1 would have to explain, and doubt how much more a point has to explain
	// in the choice between memory and points. Both are parts of the criterion.
	memoryPenalty = 6.0
	doubt         = 1.15
	// rounds is how often the noise is estimated from the pieces that the previous estimate gave.
	rounds = 2
	// outlier is how many standard deviations a night may be away from the median of the week around it.
	outlier = 3.0
	week    = 7
	// reportedSlope is the least slope that is worth a word, in standard errors.
	reportedSlope = 4.0
	// dateConfidence is more than the 90 % that are promised, because the noise is estimated.
	dateConfidence = 0.97
	sizeConfidence = 0.95
	// widening makes the interval of a size wider than with known noise, memory and date. Simulations chose it: with it, the
	// interval has the size in 95 % of cases with a memory of 0.3.
	widening = 1.5
)

// correlations are the autocorrelations, from one night to the next, that are tried.
func correlations() []float64 { return []float64{0, 0.2, 0.4, 0.6} }

// Night is the value of one night.
type Night struct {
	Time  time.Time
	Value float64 // above 0
	// StdErr is the standard error of the value's logarithm, from the runs of the night; 0 if it is unknown. The noise between
	// nights cannot be less.
	StdErr float64
}

// Point is a night since which values differ. Indexes are those of nights.
type Point struct {
	Since int // the most likely first night
	// First and Last are the ends of the range that has the first night in at least 90 % of cases.
	First, Last int
	// Ratio is the level after divided by the level before; Low and High are its 95 % interval.
	Ratio, Low, High float64
}

// Trend is a steady change from the night First to the night Last.
type Trend struct {
	First, Last int
	Ratio       float64 // the end divided by the beginning
}

// Answer describes a series.
type Answer struct {
	Points []Point
	Trends []Trend
	Noise  float64 // standard deviation of the logarithm between nights
	Memory float64 // autocorrelation from one night to the next
}

// ErrTooFew means that a series is too short for an answer.
var ErrTooFew = errors.New("too few nights")

// Find describes a series of nights, which are in order of time. The error wraps ErrTooFew if there are fewer than LeastNights.
func Find(nights []Night) (Answer, error) {
	switch n := len(nights); {
	case n < LeastNights:
		return Answer{}, fmt.Errorf("%w: %d of %d", ErrTooFew, n, LeastNights)
	case n > MostNights:
		return Answer{}, fmt.Errorf("%d nights, at most %d", n, MostNights)
	}
	at, y := make([]float64, len(nights)), make([]float64, len(nights))
	gaps, floor := make([]float64, len(nights)-1), 1e-12
	for i, n := range nights {
		if !(n.Value > 0) || math.IsInf(n.Value, 1) {
			return Answer{}, fmt.Errorf("night %d has the value %v, want one that is positive and finite", i, n.Value)
		}
		y[i], at[i] = math.Log(n.Value), n.Time.Sub(nights[0].Time).Hours()
		floor += n.StdErr * n.StdErr / float64(len(nights))
		if i > 0 {
			gaps[i-1] = at[i] - at[i-1]
			if gaps[i-1] <= 0 {
				return Answer{}, fmt.Errorf("night %d is not later than the one before", i)
			}
		}
	}
	night := stats.Median(gaps)
	for i := range at {
		at[i] /= night
	}
	sd := max(noiseOf(y), math.Sqrt(floor))
	y = pulled(y, sd)
	best := fit{criterion: math.Inf(1)}
	for _, c := range correlations() {
		if f := fitWith(at, y, c, sd*sd, floor); f.criterion < best.criterion {
			best = f
		}
	}
	return best.answer(), nil
}

// noiseOf estimates the standard deviation of independent nights from differences between neighbours, of which a step changes only one.
func noiseOf(y []float64) float64 {
	differences := make([]float64, len(y)-1)
	for i := range differences {
		differences[i] = math.Abs(y[i+1] - y[i])
	}
	const ofNormal = 0.6745 // the median of |z|
	return stats.Median(differences) / ofNormal / math.Sqrt2
}

// pulled returns the values with outliers pulled to the limit around the median of their week.
func pulled(y []float64, sd float64) []float64 {
	out := slices.Clone(y)
	for i := range y {
		begin := max(0, min(i-week/2, len(y)-week))
		m := stats.Median(y[begin : begin+week])
		out[i] = min(max(y[i], m-outlier*sd), m+outlier*sd)
	}
	return out
}

func (f fit) answer() Answer {
	a := Answer{Noise: math.Sqrt(f.variance), Memory: f.correlation}
	for i, p := range f.pieces {
		if i > 0 {
			// Where a line begins, ends or bends, there may be no step.
			point, levels := f.point(f.pieces[i-1], p), !f.pieces[i-1].trend && !p.trend
			if levels || point.Low > 1 || point.High < 1 {
				a.Points = append(a.Points, point)
			}
		}
		if p.trend && math.Abs(p.slope) > reportedSlope*p.slopeError()*a.Noise {
			length := f.world.at[p.end-1] - f.world.at[p.begin]
			a.Trends = append(a.Trends, Trend{First: p.begin, Last: p.end - 1, Ratio: math.Exp(p.slope * length)})
		}
	}
	return a
}

// candidate is a possible first night after a change.
type candidate struct {
	likelihood     float64
	size, variance float64 // of the step there, on the logarithm
}

// point returns the change between two pieces: its date by the likelihood of all nights in them, and its size averaged over those.
func (f fit) point(before, after piece) Point {
	var all []candidate
	for at := before.begin + 1; at < after.end; at++ {
		b := f.world.piece(before.begin, at, before.trend && at-before.begin >= leastTrend)
		a := f.world.piece(at, after.end, after.trend && after.end-at >= leastTrend)
		low, varLow := b.level(f.world.at[at])
		high, varHigh := a.level(f.world.at[at])
		excess := (b.squares + a.squares - before.squares - after.squares) / f.variance
		all = append(all, candidate{math.Exp(-excess / 2), high - low, (varLow + varHigh) * f.variance})
	}
	total, size, variance := 0.0, 0.0, 0.0
	for _, c := range all {
		total += c.likelihood
	}
	for i := range all {
		all[i].likelihood /= total
		size += all[i].likelihood * all[i].size
	}
	for _, c := range all {
		variance += c.likelihood * (c.variance + (c.size-size)*(c.size-size))
	}
	first, last := likely(all)
	half := widening * distuv.StudentsT{Sigma: 1, Nu: f.df}.Quantile((1+sizeConfidence)/2) * math.Sqrt(variance)
	return Point{
		Since: after.begin, First: min(before.begin+1+first, after.begin), Last: max(before.begin+1+last, after.begin),
		Ratio: math.Exp(size), Low: math.Exp(size - half), High: math.Exp(size + half),
	}
}

// likely returns the ends of the range that is left after nights of little likelihood were taken off its ends, the least likely one first.
func likely(all []candidate) (first, last int) {
	last = len(all) - 1
	for rest := 1 - dateConfidence; first < last; {
		least := min(all[first].likelihood, all[last].likelihood)
		if rest -= least; rest < 0 {
			break
		}
		if all[first].likelihood == least {
			first++
		} else {
			last--
		}
	}
	return first, last
}
