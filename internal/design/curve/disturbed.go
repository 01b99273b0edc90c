package curve

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

const (
	falseAlarms   = 0.01 // of each test
	leastDrift    = 0.05 // of the knee over the course, which matters
	leastForDrift = 8    // points
)

// disturbed returns why the steps do not agree with one curve, or "".
func (l line) disturbed(q Question, points []point) string {
	if p, ok := l.stalled(points); ok {
		return fmt.Sprintf("Step %d, at %s, exceeded the limit of %s, while steps at higher rates kept it: something stalled. Find the cause, such as recovery, "+
			"scrubbing or a neighbour, and measure again.", p.index+1, rate(math.Exp(p.x)), q.limit())
	}
	if change, ok := l.drift(); ok {
		word := "faster"
		if change < 0 {
			word = "slower"
		}
		return fmt.Sprintf("The cluster became %s while it was measured: the knee moved by about %s %%. Wait until the cluster is steady, and measure again.",
			word, figure(math.Round(100*math.Abs(math.Expm1(change)))))
	}
	return ""
}

// stalled returns a step that exceeded the limit at a rate at which the curve says that hardly any does.
func (l line) stalled(points []point) (point, bool) {
	for _, p := range points {
		if !p.kept() && mean(l.slope*distance(p.x, l.knee)) < falseAlarms/float64(len(points)) {
			return p, true
		}
	}
	return point{}, false
}

// drift returns by how much ln(knee) changed over the course, if that is significant and matters. It is the quasi-score test of a
// trend, in the presence of the rate.
func (l line) drift() (float64, bool) {
	n := float64(len(l.near))
	if n < leastForDrift {
		return 0, false
	}
	us := l.corrected()
	var w0, w1, w2, t0, t1 float64
	for _, p := range l.near {
		d, index := distance(p.x, l.knee), float64(p.index)
		m := mean(l.slope * d)
		w := m * (1 - m)
		w0, w1, w2, t0, t1 = w0+w, w1+w*d, w2+w*d*d, t0+w*index, t1+w*d*index
	}
	det := w0*w2 - w1*w1
	if det <= 0 {
		return 0, false
	}
	a, b := (w2*t0-w1*t1)/det, (w0*t1-w1*t0)/det
	var score, information, squares float64
	for i, p := range l.near {
		d := distance(p.x, l.knee)
		m := mean(l.slope * d)
		rest := float64(p.index) - a - b*d
		score, information, squares = score+(us[i]-m)*rest, information+m*(1-m)*rest*rest, squares+(us[i]-m)*(us[i]-m)
	}
	if information <= 0 {
		return 0, false
	}
	phi := max(squares/w0*n/(n-3)*(1-1/n), leastDispersion(l.slope))
	z := score / math.Sqrt(phi*information)
	span := float64(l.near[len(l.near)-1].index - l.near[0].index)
	change := -score / information / l.slope * span // A higher u is a lower knee.
	limit := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: n - 3}.Quantile(1 - falseAlarms/2)
	return change, math.Abs(z) > limit && math.Abs(change) > leastDrift
}
