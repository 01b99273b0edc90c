package curve

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The least evidence for an answer.
const (
	leastSteps    = 8 // near the knee
	confirmSteps  = 3
	leastConfirms = 2 // fresh steps that kept the limit
)

// Rates beyond which there is no search, relative to the maximum of the closed loop.
const (
	lowestShare  = 0.02
	highestShare = 3
)

// Judge returns what steps say about the knee. closedLoop is the maximum of the closed loop, a second.
func Judge(q Question, closedLoop float64, steps []Step) Knee {
	k := Knee{State: Inconclusive}
	if k.Reason = q.invalid(closedLoop, steps); k.Reason != "" {
		return k
	}
	points := q.points(steps)
	k.FaultSteps = len(steps) - len(points)
	switch {
	case q.tooManyFaults(steps):
		k.Reason = fmt.Sprintf("%d of %d steps say nothing, the last because %s. Mend that, and measure again.", k.FaultSteps, len(steps), lastFault(steps))
	case len(points) == 0:
		k.Reason = "No step was measured."
	case q.oneSided(&k, closedLoop, points):
	default:
		q.judgeLine(&k, points)
	}
	return k
}

// invalid returns why there is nothing to judge, or "".
func (q Question) invalid(closedLoop float64, steps []Step) string {
	switch {
	case !(q.Percent > 0 && q.Percent < 100 && q.Confidence > 0 && q.Confidence < 1) || !positive(q.LimitSeconds) || !positive(q.HalfWidth):
		return "The question is not valid: its percentile and confidence have to lie between 0 and 100 %, its limit and width above 0."
	case !positive(closedLoop):
		return "The closed loop did no operation, so there is no rate to begin with. Find out why, and measure again."
	}
	for i, s := range steps {
		if !s.valid() {
			return fmt.Sprintf("Step %d has no valid counts.", i+1)
		}
	}
	return ""
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 1) }

// valid reports whether a step without a fault has possible counts.
func (s Step) valid() bool {
	counts := s.Over >= 0 && s.Over <= s.Count && (s.Count > 0 || s.Saturated)
	return s.Fault != "" || positive(s.OfferedPerSecond) && counts
}

func (q Question) tooManyFaults(steps []Step) bool {
	n := 0
	for _, s := range steps {
		if s.Fault != "" {
			n++
		}
	}
	return n >= max(3, q.MaxSteps/3)
}

func lastFault(steps []Step) string {
	for _, s := range slices.Backward(steps) {
		if s.Fault != "" {
			return s.Fault
		}
	}
	return ""
}

// oneSided judges courses in which all steps kept the limit, or none. It reports whether that is so.
func (q Question) oneSided(k *Knee, closedLoop float64, points []point) bool {
	kept, lowest, highest, atLowest, saturated := 0, math.Inf(1), 0.0, 0, 0
	for _, p := range points {
		rate := math.Exp(p.x)
		lowest, highest = min(lowest, rate), max(highest, rate)
		if p.kept() {
			kept++
		}
		if p.saturated {
			saturated++
		}
		if rate <= 1.5*lowestShare*closedLoop {
			atLowest++
		}
	}
	switch {
	case kept > 0 && kept < len(points):
		return false
	case kept == len(points) && highest >= 0.99*highestShare*closedLoop:
		k.State, k.PerSecond, k.LowPerSecond = NeverExceeded, highest, highest
		k.Reason = fmt.Sprintf("The limit of %s was kept up to %s, %s times the maximum of the closed loop, and the storage took it all. Use more clients to go higher.",
			q.limit(), rate(highest), figure(highest/closedLoop))
	case kept == len(points):
		k.LowPerSecond = highest
		k.Reason = fmt.Sprintf("All steps kept the limit of %s, up to %s. Higher rates were not measured: allow more steps.", q.limit(), rate(highest))
	case atLowest >= 2 && saturated < len(points):
		k.State, k.HighPerSecond = BelowIdle, lowest
		k.Reason = fmt.Sprintf("No rate keeps the limit: even at %s, the storage exceeds %s. Choose a higher limit, or look for the cause in the latency of an idle cluster.",
			rate(lowest), q.limit())
	default:
		k.HighPerSecond = lowest
		k.Reason = fmt.Sprintf("No step kept the limit of %s, down to %s. Lower rates were not measured: allow more steps.", q.limit(), rate(lowest))
	}
	return true
}

// judgeLine judges courses with steps on both sides of the limit.
func (q Question) judgeLine(k *Knee, points []point) {
	l, ok := fit(points, q.Confidence)
	if !ok {
		k.Reason = q.contradiction(points)
		return
	}
	k.PerSecond, k.UsedSteps = math.Exp(l.knee), len(l.near)
	for _, p := range points {
		if p.purpose == Confirm {
			k.ConfirmSteps++
			if p.kept() {
				k.KeptSteps++
			}
		}
	}
	if !math.IsInf(l.low, 0) && !math.IsInf(l.high, 0) {
		k.LowPerSecond, k.HighPerSecond = math.Exp(l.low), math.Exp(l.high)
	}
	switch reason := l.disturbed(q, points); {
	case reason != "" && !q.InTurns:
		k.Reason = reason
	case k.UsedSteps < leastSteps:
		k.Reason = fmt.Sprintf("Only %d steps are close to the knee, which is about %s; %d are needed. Allow more steps.", k.UsedSteps, rate(k.PerSecond), leastSteps)
	case !(k.HalfWidth() <= q.HalfWidth) && !(q.InTurns && k.HighPerSecond > 0):
		k.Reason = q.tooWide(*k)
	default:
		q.answer(k, l)
	}
}

// contradiction says that steps do not show where the limit is exceeded.
func (q Question) contradiction(points []point) string {
	kept, exceeded := math.Inf(-1), math.Inf(1)
	for _, p := range points {
		if p.kept() {
			kept = max(kept, p.x)
		} else {
			exceeded = min(exceeded, p.x)
		}
	}
	return fmt.Sprintf("Steps contradict each other: one at %s kept the limit of %s, and one at %s exceeded it. Find what disturbs the cluster or its hosts, choose a higher limit "+
		"or a lower percentile, or make steps longer.", rate(math.Exp(kept)), q.limit(), rate(math.Exp(exceeded)))
}

func (q Question) tooWide(k Knee) string {
	if math.IsInf(k.HalfWidth(), 1) {
		return fmt.Sprintf("Steps differ so much that it is not clear whether the latency grows with the rate near %s. Make steps longer, or find what disturbs the cluster.",
			rate(k.PerSecond))
	}
	return fmt.Sprintf("The knee is about %s, but it may lie anywhere from %s to %s: steps at one rate differ. An answer needs ±%s %%. Allow more or longer steps.",
		rate(k.PerSecond), rate(k.LowPerSecond), rate(k.HighPerSecond), figure(100*q.HalfWidth))
}

func (q Question) answer(k *Knee, l line) {
	k.State = Found
	k.Confirmed = k.KeptSteps >= leastConfirms && 2*k.KeptSteps > k.ConfirmSteps
	saturates := true
	for _, p := range l.near {
		saturates = saturates && (p.kept() || p.saturated)
	}
	var b strings.Builder
	if saturates {
		k.State = NeverExceeded
		fmt.Fprintf(&b, "The limit of %s is kept until the storage saturates, at %s (%s to %s).", q.limit(), rate(k.PerSecond), rate(k.LowPerSecond), rate(k.HighPerSecond))
	} else {
		fmt.Fprintf(&b, "The limit of %s is kept up to %s (%s to %s, %s %% confidence).",
			q.limit(), rate(k.PerSecond), rate(k.LowPerSecond), rate(k.HighPerSecond), figure(100*q.Confidence))
	}
	switch {
	case q.InTurns:
	case k.Confirmed:
		fmt.Fprintf(&b, " %d of %d fresh steps at the lower end kept it.", k.KeptSteps, k.ConfirmSteps)
	case k.ConfirmSteps > 0:
		fmt.Fprintf(&b, " Only %d of %d fresh steps at the lower end kept it, so plan with less.", k.KeptSteps, k.ConfirmSteps)
	default:
		b.WriteString(" No fresh step confirmed it: allow more steps.")
	}
	k.Reason = b.String()
}

func (q Question) limit() string {
	return fmt.Sprintf("p%s ≤ %s ms", figure(q.Percent), figure(1000*q.LimitSeconds))
}

func rate(perSecond float64) string { return figure(perSecond) + "/s" }

// figure returns a number with three significant digits, without an exponent.
func figure(x float64) string {
	if x >= 1000 {
		digits := math.Pow(10, math.Floor(math.Log10(x))-2)
		x = math.Round(x/digits) * digits
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}
