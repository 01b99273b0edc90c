package switchback

import (
	"math"

	"github.com/cephtune/cephtune/internal/stats"
)

// SmallestProvable returns the smallest true effect, as a ratio, for which a sweep with all its pairs and
// sessions reaches the verdict Superior with a probability of 80 %. The first parameter is the standard
// deviation of ln(figure) between windows of one setting. The second is the standard deviation of a setting's
// effect between sessions.
func (q Question) SmallestProvable(window, session float64, pairs int) (float64, error) {
	if err := q.check(); err != nil {
		return 0, err
	}
	groups := pairs
	quad := window * math.Sqrt2
	if q.Candidates == 1 { // A quad has two windows of each setting, and its figure is ½(ΣB − ΣA).
		groups, quad = pairs/2, window
	}
	c := q.criteria()
	c.Confidence = 1 - (1-c.Confidence)/float64(q.Candidates) // Holm's first step
	if q.Quick {
		return stats.SmallestProvableRatio(c, stats.Noise{StdDev: quad / math.Sqrt2}, groups)
	}
	mean := math.Sqrt(quad*quad/float64(groups) + session*session)
	return stats.SmallestProvableRatio(c, stats.Noise{StdDev: mean / math.Sqrt2}, q.MaxSessions)
}
