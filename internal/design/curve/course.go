package curve

import "github.com/cephtune/cephtune/internal/stats"

// Course is a curve with all that it was drawn from: what was asked, the steps in their order, and what follows from
// them.
type Course struct {
	Question Question `json:"question"`
	// ClosedLoopPerSecond is the rate of the closed loop before the steps.
	ClosedLoopPerSecond float64 `json:"closedLoopPerSecond"`
	// ClosedLoopSeconds is the limited percentile of the closed loop's latencies; 0 if it is unknown. It only describes: the
	// closed loop sends nothing while it waits.
	ClosedLoopSeconds float64 `json:"closedLoopSeconds,omitempty"`
	Steps             []Step  `json:"steps"`
	Knee              Knee    `json:"knee"`
}

// Next returns the next step, or the end.
func (c Course) Next() Decision { return Next(c.Question, c.ClosedLoopPerSecond, c.Steps) }

// Spoilt reports whether so many steps are faulty that further ones would not help.
func (c Course) Spoilt() bool { return c.Question.tooManyFaults(c.Steps) }

// Judged returns the course with its knee.
func (c Course) Judged() Course {
	c.Knee = Judge(c.Question, c.ClosedLoopPerSecond, c.Steps)
	return c
}

// Sustainable returns the rate that keeps the limit, with its interval; false if it is unknown, or if no rate does. A rate
// that was kept without a higher one that was not has no upper end: it is no answer.
func (c *Course) Sustainable() (Knee, bool) {
	if c == nil || c.Knee.State != Found && c.Knee.State != NeverExceeded || !(c.Knee.PerSecond > 0 && c.Knee.HighPerSecond > 0) {
		return Knee{}, false
	}
	return c.Knee, true
}

// Ratio returns how many times as high the rate of b is as that of a, with its interval; false if one of them is unknown.
func Ratio(a, b *Course) (stats.Estimate, bool) {
	var both [2]stats.Estimate
	for i, c := range []*Course{a, b} {
		knee, ok := c.Sustainable()
		if !ok {
			return stats.Estimate{}, false
		}
		both[i] = stats.Estimate{Value: knee.PerSecond, Low: knee.LowPerSecond, High: knee.HighPerSecond}
	}
	return stats.RatioOfEstimates(both[0], both[1])
}

// Outcome says what a step shows about a limit.
func (q Question) Outcome(s Step) Outcome {
	switch {
	case s.Fault != "":
		return Unusable
	case s.Saturated:
		return Saturated
	case float64(s.Over) > float64(s.Count)*(1-q.Percent/100):
		return Exceeded
	}
	return Kept
}

// Outcome is what a step shows.
type Outcome string

// The outcomes.
const (
	Kept     Outcome = "Kept"
	Exceeded Outcome = "Exceeded"
	// Saturated: the target did not keep up with the rate, so the step has no latency.
	Saturated Outcome = "Saturated"
	// Unusable: the step shows nothing.
	Unusable Outcome = "Unusable"
)
