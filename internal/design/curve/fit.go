package curve

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// point is a step as evidence. x is ln(rate), and ratio that of slow operations to those that the percentile allows. u = ratio/(1+ratio) is
// ½ where the percentile equals the limit.
type point struct {
	x, u, ratio, variance float64
	count                 int64
	index                 int
	saturated             bool
	purpose               Purpose
}

func (p point) kept() bool { return p.u <= 0.5 }

// ratio returns the share of operations over the limit, divided by the share that the percentile allows. The additions keep it positive.
func (q Question) ratio(s Step) float64 {
	return (float64(s.Over) + 0.5) / (float64(s.Count) + 1) / (1 - q.Percent/100)
}

// points returns the steps without a fault.
func (q Question) points(steps []Step) []point {
	var all []point
	for i, s := range steps {
		if s.Fault != "" {
			continue
		}
		p := point{x: math.Log(s.OfferedPerSecond), u: 1, ratio: math.Inf(1), count: s.Count, index: i, saturated: s.Saturated, purpose: s.Purpose}
		if !s.Saturated {
			r := q.ratio(s)
			p.ratio, p.u, p.variance = r, r/(1+r), variance(s)
		}
		all = append(all, p)
	}
	return all
}

const batchSeconds = 2

// variance returns the variance of ln(share of slow operations) in a step, from the scatter of batches of seconds.
func variance(s Step) float64 {
	if s.Over == 0 {
		return 0
	}
	share, sum, n := float64(s.Over)/float64(s.Count), 0.0, 0.0
	for batch := range slices.Chunk(s.Seconds, batchSeconds) {
		excess := 0.0
		for _, second := range batch {
			excess += float64(second.Over) - share*float64(second.Count)
		}
		sum, n = sum+excess*excess, n+1
	}
	if n < 2 {
		return 1 / float64(s.Over)
	}
	return min(1, sum*n/(n-1)/float64(s.Over)/float64(s.Over))
}

// line is the curve ln(ratio) = slope·distance(x, knee), without the floor, and the interval of its knee.
type line struct {
	knee, slope, low, high float64
	floor                  float64 // the ratio of an idle cluster
	near                   []point // from which it comes, in order of time
}

const (
	// pivot makes u = 1/(1+pivot) where the percentile equals the limit. With 1, rare long waits, of which most short steps have none,
	// would make knees 1 % too high on average; with 2, they are right (TestSimulatedQueues).
	pivot      = 2
	bend       = 2    // Curves bend upwards: the line is straight in rate².
	floorShare = 0.6  // how much of the ratio far below the knee counts as that of an idle cluster, because there is some queue, too
	farBelow   = 0.35 // in ln(rate)
	steepest   = 60   // the steepest slope
	shallow    = 0.3  // the smallest slope
	steep      = 10   // From this slope on, steps far away count if they are clear, because they bound the slope.
	leastNoise = 0.02 // by which steps differ at least, in ln(rate)
	leastNear  = 4    // points near the knee, for an interval
	// effective makes a number of points from their information about the knee, of which those far away have little. By simulation.
	effective = 1.5
	widest    = 0.6 // half of an interval, in ln(rate)
)

// crossing returns x where the isotonic regression of u crosses ½. It is the start of all else. The result is false if all
// points are on one side.
func crossing(points []point) (float64, bool) {
	type pool struct{ x, u, n float64 }
	sorted := slices.SortedFunc(slices.Values(points), func(a, b point) int { return cmp.Compare(a.x, b.x) })
	var pools []pool
	for _, p := range sorted {
		pools = append(pools, pool{p.x, p.u, 1})
		for n := len(pools); n > 1 && pools[n-2].u >= pools[n-1].u; n = len(pools) {
			a, b := pools[n-2], pools[n-1]
			w := a.n + b.n
			pools = append(pools[:n-2], pool{(a.x*a.n + b.x*b.n) / w, (a.u*a.n + b.u*b.n) / w, w})
		}
	}
	i := slices.IndexFunc(pools, func(p pool) bool { return p.u > 0.5 })
	if i <= 0 {
		return 0, false
	}
	a, b := pools[i-1], pools[i]
	return a.x + (b.x-a.x)*(0.5-a.u)/(b.u-a.u), true
}

// fit fits the line to the points near the knee.
func fit(points []point, confidence float64) (line, bool) {
	knee, ok := crossing(points)
	if !ok {
		return line{}, false
	}
	l := line{knee: knee, slope: 8}
	for range 3 {
		width := min(max(4/l.slope, 0.25), 0.45)
		near := within(points, l.knee, width, l.slope)
		if len(near) < leastNear {
			near = nearest(points, l.knee, leastNear)
		}
		l.near = near
		l.floor = floorOf(points, l.knee)
		if !l.solve() {
			return line{knee: knee, slope: 8, near: near, low: math.Inf(-1), high: math.Inf(1)}, true
		}
	}
	l.interval(confidence)
	return l, true
}

// within returns the points near x, and clear points far away if the slope is steep.
func within(points []point, x, width, slope float64) []point {
	clearly := 0.0
	if slope > steep {
		clearly = 0.1
	}
	return slices.DeleteFunc(slices.Clone(points), func(p point) bool {
		return math.Abs(p.x-x) > width && !(p.x < x && p.u < clearly) && !(p.x > x && p.u > 1-clearly)
	})
}

func nearest(points []point, x float64, n int) []point {
	sorted := slices.Clone(points)
	slices.SortStableFunc(sorted, func(a, b point) int { return cmp.Compare(math.Abs(a.x-x), math.Abs(b.x-x)) })
	sorted = sorted[:min(n, len(sorted))]
	slices.SortFunc(sorted, func(a, b point) int { return cmp.Compare(a.index, b.index) })
	return sorted
}

// mean returns the expected u of steps.
func mean(x float64) float64 { return 1 / (1 + pivot*math.Exp(-x)) }

// distance is x − knee for small values.
func distance(x, knee float64) float64 { return math.Expm1(bend*(x-knee)) / bend }

// floorOf returns the ratio of an idle cluster, from steps far below the knee.
func floorOf(points []point, knee float64) float64 {
	over, all := 0.0, 0.0
	for _, p := range points {
		if p.x < knee-farBelow && !p.saturated {
			over, all = over+p.ratio*float64(p.count), all+float64(p.count)
		}
	}
	if all == 0 {
		return 0
	}
	return min(0.7, floorShare*over/all)
}

// corrected returns u of near points, with the pivot and without the floor. The variance of ln(ratio) inside steps moves it: a curved function of a
// noisy ratio has another mean than the function of the mean ratio. Without that, knees of shallow curves would be too high.
func (l *line) corrected() []float64 {
	sum, weights := 0.0, 0.0
	for _, p := range l.near {
		w := p.u * (1 - p.u)
		sum, weights = sum+w*p.variance, weights+w
	}
	shift := 0.0
	if weights > 0 {
		shift = min(1, sum/weights) / (1 + pivot)
	}
	us := make([]float64, len(l.near))
	for i, p := range l.near {
		us[i] = 1
		if !p.saturated {
			r := max(0, (p.ratio*math.Exp(shift)-l.floor)/(1-l.floor))
			us[i] = r / (pivot + r)
		}
	}
	return us
}

// solve maximises the quasi-likelihood of the binomial family with fractional responses, by Newton's method. A slope beyond the
// bounds is set to the bound.
func (l *line) solve() bool {
	us := l.corrected()
	slope, knee := l.slope, l.knee
	alpha := 0.0 // at the reference point
	fixed := false
	for range 60 {
		var ga, gb, haa, hab, hbb float64
		for i, p := range l.near {
			d := distance(p.x, knee)
			m := mean(alpha + slope*d)
			w := m*(1-m) + 1e-9
			ga, gb = ga+us[i]-m, gb+(us[i]-m)*d
			haa, hab, hbb = haa+w, hab+w*d, hbb+w*d*d
		}
		var da, db float64
		if det := haa*hbb - hab*hab; fixed || det <= 1e-12*haa*haa {
			da = ga / haa
		} else {
			da, db = (hbb*ga-hab*gb)/det, (haa*gb-hab*ga)/det
		}
		alpha += math.Max(-2, math.Min(2, da))
		slope += math.Max(-10, math.Min(10, db))
		if !fixed && slope > steepest {
			slope, fixed = steepest, true
		}
		if math.Abs(da)+math.Abs(db) < 1e-8 {
			break
		}
	}
	away := 1 - bend*alpha/slope // The line crosses 0 at this distance.
	if !(slope > shallow && away > 0.3 && away < 3) {
		return false
	}
	l.slope, l.knee = slope*away, knee+math.Log(away)/bend
	return true
}

// likelihood returns the quasi-likelihood of the near points for a knee, with the best slope within its bounds. It is concave in the slope.
func (l *line) likelihood(us []float64, knee float64) float64 {
	slope := l.slope
	for range 40 {
		var g, h float64
		for i, p := range l.near {
			d := distance(p.x, knee)
			m := mean(slope * d)
			g, h = g+(us[i]-m)*d, h+m*(1-m)*d*d
		}
		step := g / (h + 1e-12)
		step = max(-10, min(10, step))
		next := max(shallow, min(steepest, slope+step))
		if math.Abs(next-slope) < 1e-6 {
			break
		}
		slope = next
	}
	sum := 0.0
	for i, p := range l.near {
		m := mean(slope * distance(p.x, knee))
		m = max(1e-9, min(1-1e-9, m))
		sum += us[i]*math.Log(m) + (1-us[i])*math.Log1p(-m)
	}
	return sum
}

// mostSpread is m·(1−m) at the knee.
const mostSpread = float64(pivot) / (1 + pivot) / (1 + pivot)

// leastDispersion returns the dispersion of steps that differ by no more than leastNoise.
func leastDispersion(slope float64) float64 {
	return min(0.6, mostSpread*(slope*leastNoise)*(slope*leastNoise))
}

// interval sets the interval of the knee: the knees whose profile of the quasi-likelihood is not below the maximum by more than the
// dispersion explains. The dispersion is the scatter of steps around the line; seconds inside a step are not evidence of their own.
func (l *line) interval(confidence float64) {
	us := l.corrected()
	var sum, squares float64
	for i, p := range l.near {
		m := mean(l.slope * distance(p.x, l.knee))
		sum, squares = sum+m*(1-m), squares+(us[i]-m)*(us[i]-m)
	}
	n := max(3, min(float64(len(l.near)), effective*sum/mostSpread))
	phi := squares / sum * n / (n - 2)
	phi = max(phi, leastDispersion(l.slope))
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 2}.Quantile((1 + confidence) / 2)
	least := l.likelihood(us, l.knee) - t*t*phi/2
	end := func(direction float64) float64 {
		if l.likelihood(us, l.knee+direction*widest) >= least {
			return math.Inf(int(direction))
		}
		in, out := 0.0, widest
		for range 14 {
			if middle := (in + out) / 2; l.likelihood(us, l.knee+direction*middle) >= least {
				in = middle
			} else {
				out = middle
			}
		}
		return l.knee + direction*out
	}
	l.low, l.high = end(-1), end(1)
}
