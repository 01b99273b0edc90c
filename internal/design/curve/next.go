package curve

import (
	"math"
	"math/rand/v2"
)

// gridShares are the rates of the grid, relative to the maximum of the closed loop.
func gridShares() []float64 { return []float64{1, 0.8, 0.6, 0.4} }

// offsets are the places of a block of steps near the knee, in ln(odds).
func offsets() []float64 { return []float64{-1.5, -0.5, 0.5, 1.5} }

// Next returns the next step of a course, or its end. The same arguments give the same decision. A course in turns ends only
// if it is invalid: if it would end, its last rate follows again.
func Next(q Question, closedLoop float64, steps []Step) Decision {
	next := q.next(closedLoop, steps)
	if n := len(steps); q.InTurns && next.Done && n > 0 && q.invalid(closedLoop, steps) == "" {
		return Decision{Purpose: Near, OfferedPerSecond: steps[n-1].OfferedPerSecond}
	}
	return next
}

func (q Question) next(closedLoop float64, steps []Step) Decision {
	if q.invalid(closedLoop, steps) != "" || !q.InTurns && (len(steps) >= q.MaxSteps || q.tooManyFaults(steps)) {
		return Decision{Done: true}
	}
	points := q.points(steps)
	if share, ok := q.nextOfGrid(closedLoop, steps, points); ok {
		return Decision{Purpose: Grid, OfferedPerSecond: share * closedLoop}
	}
	k := Judge(q, closedLoop, steps)
	if k.State == BelowIdle || k.Confirmed || k.State == NeverExceeded && k.HighPerSecond == 0 {
		return Decision{Done: true}
	}
	if rate, ok := oneSidedRate(closedLoop, points); ok {
		return Decision{Purpose: Grid, OfferedPerSecond: rate}
	}
	if rate, ok := q.confirmRate(k, steps); ok && !q.InTurns {
		return Decision{Purpose: Confirm, OfferedPerSecond: rate}
	}
	return Decision{Purpose: Near, OfferedPerSecond: q.nearRate(closedLoop, steps, points)}
}

// nextOfGrid returns the next rate of the grid that other steps do not make needless.
func (q Question) nextOfGrid(closedLoop float64, steps []Step, points []point) (float64, bool) {
	shares := gridShares()
	rng := rand.New(rand.NewPCG(q.Seed, 0)) //nolint:gosec // an experiment that can be replayed, not a secret
	for _, i := range rng.Perm(len(shares)) {
		x := math.Log(shares[i] * closedLoop)
		if !measured(x, steps) && !implied(x, points) {
			return shares[i], true
		}
	}
	return 0, false
}

// measured reports whether a step of the grid was at a rate. Two faults are enough, too.
func measured(x float64, steps []Step) bool {
	faults := 0
	for _, s := range steps {
		switch {
		case s.Purpose != Grid || math.Abs(math.Log(s.OfferedPerSecond)-x) > 0.08:
		case s.Fault == "":
			return true
		default:
			faults++
		}
	}
	return faults >= 2
}

// implied reports whether a rate far away clearly kept the limit and was higher, or two clearly exceeded it and were lower. One may
// have been disturbed.
func implied(x float64, points []point) bool {
	const clearly = 0.33
	exceeded := 0
	for _, p := range points {
		if p.x > x+farBelow && p.u < clearly {
			return true
		}
		if p.x < x-farBelow && p.u > 1-clearly {
			exceeded++
		}
	}
	return exceeded > 1
}

// oneSidedRate goes on beyond the grid while all points are on one side of the limit.
func oneSidedRate(closedLoop float64, points []point) (float64, bool) {
	lowest, highest, kept := math.Inf(1), math.Inf(-1), 0
	for _, p := range points {
		lowest, highest = min(lowest, p.x), max(highest, p.x)
		if p.kept() {
			kept++
		}
	}
	switch {
	case len(points) == 0:
		return closedLoop * gridShares()[0], true
	case kept == len(points):
		return math.Min(highestShare*closedLoop, 1.15*math.Exp(highest)), true
	case kept == 0:
		return math.Max(lowestShare*closedLoop, 0.4*math.Exp(lowest)), true
	}
	return 0, false
}

// nearRate returns the next rate near the knee. Rates come in blocks, each in a random order of its own.
func (q Question) nearRate(closedLoop float64, steps []Step, points []point) float64 {
	n := 0
	for _, s := range steps {
		if s.Purpose == Near && s.Fault == "" {
			n++
		}
	}
	places := offsets()
	rng := rand.New(rand.NewPCG(q.Seed, uint64(1+n/len(places)))) //nolint:gosec // as above
	offset := places[rng.Perm(len(places))[n%len(places)]]
	l, ok := fit(points, q.Confidence)
	if !ok {
		l = line{knee: middle(points), slope: 8}
	}
	x := l.knee + offset*min(max(1/l.slope, 0.045), 0.15)
	x = min(max(x, math.Log(lowestShare*closedLoop)), math.Log(highestShare*closedLoop))
	return math.Exp(x)
}

func middle(points []point) float64 {
	sum := 0.0
	for _, p := range points {
		sum += p.x
	}
	return sum / float64(len(points))
}

// confirmRate returns the rate of a fresh step at the lower end of the interval, if it is time for one: the interval is narrow, or
// few steps are left.
func (q Question) confirmRate(k Knee, steps []Step) (float64, bool) {
	done := 0
	rate := k.LowPerSecond
	for _, s := range steps {
		if s.Purpose == Confirm && s.Fault == "" {
			done, rate = done+1, s.OfferedPerSecond
		}
	}
	if k.State != Found && k.State != NeverExceeded || done >= confirmSteps {
		return 0, false
	}
	if done == 0 && k.HalfWidth() > 0.8*q.HalfWidth && q.MaxSteps-len(steps) > confirmSteps {
		return 0, false
	}
	return rate, true
}
