package switchback

import (
	"math"

	"github.com/cephtune/cephtune/internal/stats"
)

// curveNoise is how much more pairs of steps scatter than windows do, in terms of the error of a ratio: by TestSimulatedRatios,
// its half-width is 12% after 21 pairs in a typical cluster.
const curveNoise = 5

// SmallestProvable returns the smallest true effect, as a ratio, for which a sweep with all its pairs and
// sessions reaches the verdict Superior with a probability of 80 %. The first parameter is the standard
// deviation of ln(figure) between windows of one treatment, short or long. The second is the standard deviation of a treatment's
// effect between sessions.
func (q Question) SmallestProvable(window, session float64, pairs int) (float64, error) {
	if err := q.check(); err != nil {
		return 0, err
	}
	if q.Draws {
		c := q.longCriteria()
		c.Confidence = 1 - (1-c.Confidence)/float64(q.Candidates) // Holm's first step
		noise := stats.Noise{StdDev: math.Hypot(window*math.Sqrt(2/float64(pairs)), session) / math.Sqrt2}
		return stats.SmallestProvableRatio(c, noise, q.MaxSessions)
	}
	if !q.Quick { // A session of long windows has one pair.
		return stats.SmallestProvableRatio(q.longCriteria(), stats.Noise{StdDev: math.Hypot(window*math.Sqrt2, session) / math.Sqrt2}, q.MaxSessions)
	}
	blocks, noise := pairs, window*math.Sqrt2
	if q.Candidates == 1 { // The block has two windows of each treatment, and its figure is ½(ΣB − ΣA).
		blocks, noise = pairs/2, window
	}
	if q.Curves {
		blocks, noise = pairs, window*curveNoise
	}
	c := q.criteria()
	// Holm's first step divides by the number of candidates.
	c.Confidence = 1 - quickLevel(1-c.Confidence, q.Candidates, q.looks())/float64(q.Candidates)
	return stats.SmallestProvableRatio(c, stats.Noise{StdDev: noise / math.Sqrt2}, blocks)
}
