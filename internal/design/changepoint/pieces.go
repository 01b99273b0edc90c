package changepoint

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// sums are the sums of a weighted regression on level and slope. After division by the square root of its variance, the first night of
// a piece stands for itself, and each later one for what the night before does not explain.
type sums struct{ aa, at, tt, az, tz, zz float64 }

func (s sums) plus(o sums, sign float64) sums {
	return sums{s.aa + sign*o.aa, s.at + sign*o.at, s.tt + sign*o.tt, s.az + sign*o.az, s.tz + sign*o.tz, s.zz + sign*o.zz}
}

func term(a, t, z, weight float64) sums {
	return sums{weight * a * a, weight * a * t, weight * t * t, weight * a * z, weight * t * z, weight * z * z}
}

// world is a series with one assumed autocorrelation. It gives the fit of any piece in constant time.
type world struct {
	at, y  []float64 // in nights; logarithms
	after  []sums    // after[i] has the sum over the nights before i that are not the first of a piece
	logDet float64
}

func newWorld(at, y []float64, correlation float64) *world {
	w := &world{at: at, y: y, after: make([]sums, len(y)+1)}
	for i := range y {
		if i == 0 {
			continue
		}
		r := math.Pow(correlation, at[i]-at[i-1]) // 0⁰ does not occur: times differ.
		rest := 1 - r*r
		w.logDet += math.Log(rest)
		w.after[i+1] = w.after[i].plus(term(1-r, at[i]-r*at[i-1], y[i]-r*y[i-1], 1/rest), 1)
	}
	return w
}

// piece is the fit of the nights from begin to end-1: level at a time, with a slope or without.
type piece struct {
	begin, end int
	trend      bool
	sums       sums
	squares    float64 // weighted residual sum of squares
	slope      float64 // a night
}

func (w *world) piece(begin, end int, trend bool) piece {
	s := w.after[end].plus(w.after[begin+1], -1).plus(term(1, w.at[begin], w.y[begin], 1), 1)
	level, line := w.squares(begin, end)
	p := piece{begin: begin, end: end, trend: trend, sums: s, squares: max(level, 0)}
	if det := s.aa*s.tt - s.at*s.at; trend && det > 0 {
		p.slope, p.squares = (s.aa*s.tz-s.at*s.az)/det, max(line, 0)
	}
	return p
}

// level returns the fitted level at a time, and its variance in units of the noise's.
func (p piece) level(at float64) (level, variance float64) {
	s := p.sums
	center := s.at / s.aa
	level, variance = s.az/s.aa, 1/s.aa
	if det := s.aa*s.tt - s.at*s.at; p.trend && det > 0 {
		level += p.slope * (at - center)
		variance += (at - center) * (at - center) * s.aa / det
	}
	return level, variance
}

// slopeError is the standard deviation of the slope in units of the noise's.
func (p piece) slopeError() float64 {
	s := p.sums
	return math.Sqrt(s.aa / (s.aa*s.tt - s.at*s.at))
}

// penalties are what a change point and a slope must at least explain, in units of the noise's variance.
type penalties struct{ point, slope float64 }

// penaltiesFor widens the penalties for normal noise of known variance to those of Student's distribution.
func penaltiesFor(df float64) penalties {
	widened := func(penalty float64) float64 {
		p := distuv.UnitNormal.Survival(math.Sqrt(penalty))
		t := distuv.StudentsT{Sigma: 1, Nu: max(df, 1)}.Quantile(p)
		return t * t
	}
	return penalties{widened(pointPenalty), widened(slopePenalty)}
}

// best returns the pieces with the least sum of squares and penalties: optimal partitioning.
func (w *world) best(variance float64, p penalties) []piece {
	n := len(w.y)
	cost, last, bent := make([]float64, n+1), make([]int, n+1), make([]bool, n+1)
	for end := 1; end <= n; end++ {
		cost[end] = math.Inf(1)
		for begin := range end {
			if begin > 0 && (begin < leastPiece || end-begin < leastPiece) {
				continue
			}
			base := cost[begin]
			if begin > 0 {
				base += p.point
			}
			if base >= cost[end] {
				continue
			}
			level, line := w.squares(begin, end)
			if total := base + level/variance; total < cost[end] {
				cost[end], last[end], bent[end] = total, begin, false
			}
			if total := base + p.slope + line/variance; end-begin >= leastTrend && total < cost[end] {
				cost[end], last[end], bent[end] = total, begin, true
			}
		}
	}
	var out []piece
	for end := n; end > 0; end = last[end] {
		out = append(out, w.piece(last[end], end, bent[end]))
	}
	slices.Reverse(out)
	return out
}

// squares returns the residual sums of squares of piece, without and with a slope. Nearly all of the time is spent here.
func (w *world) squares(begin, end int) (level, line float64) {
	e, b := &w.after[end], &w.after[begin+1]
	t, y := w.at[begin], w.y[begin]
	aa, az, zz := e.aa-b.aa+1, e.az-b.az+y, e.zz-b.zz+y*y
	level = zz - az*az/aa
	at, tt, tz := e.at-b.at+t, e.tt-b.tt+t*t, e.tz-b.tz+t*y
	line = level
	if det := aa*tt - at*at; det > 0 {
		x := aa*tz - at*az
		line -= x * x / (det * aa)
	}
	return level, line
}

// fit is a description of a series.
type fit struct {
	world       *world
	correlation float64
	pieces      []piece
	variance    float64 // of a night, on the logarithm
	df          float64
	criterion   float64 // −2 ln of the likelihood, and penalties
}

// fitWith finds pieces and noise for one autocorrelation, starting with a variance that steps hardly change.
func fitWith(at, y []float64, correlation, variance, floor float64) fit {
	f := fit{world: newWorld(at, y, correlation), correlation: correlation, variance: variance / (1 - correlation)}
	n := float64(len(y))
	f.df = n - 1
	for range rounds {
		p := penaltiesFor(f.df)
		f.pieces = f.world.best(f.variance, p)
		squares, parameters, penalty := 0.0, 0.0, 0.0
		for i, one := range f.pieces {
			squares += one.squares
			parameters++
			if i > 0 {
				penalty += p.point
			}
			if one.trend {
				parameters++
				penalty += p.slope
			}
		}
		f.df = max(n-parameters, 1)
		f.variance = max(squares/f.df, floor)
		f.criterion = n*math.Log(max(squares/n, floor)) + f.world.logDet + doubt*penalty + memoryPenalty*correlation
	}
	return f
}
