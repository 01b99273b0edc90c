package conclusion

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// ReadStep reads the clients' reports on a step of a curve, or on the closed loop before it, and adds what they say to
// the courses, by the task of the closed loop. A report that was read before is not read again.
func (s Execution) ReadStep(ctx context.Context, clients []Reporter, move workload.Move, disturbances []quiescence.Disturbance, courses map[string]curve.Course) error {
	p := s.Script.Phases[move.Read.Phase]
	id := workload.TaskID(move.Read.Run, p.Name)
	if move.Read.Step < 0 {
		begun, err := ReadClosedLoop(ctx, clients, p, move.Read.Run)
		if err == nil {
			courses[id] = begun
		}
		return err
	}
	course := courses[id]
	made, err := ReadStep(ctx, clients, p, move.ID, course.Question, move.Read.Offered)
	if err != nil || len(course.Steps) != move.Read.Step {
		return err // Without an error, another pass has read it.
	}
	made.Fault = cmp.Or(s.stepFault(move.ID, disturbances), made.Fault)
	course.Steps = append(slices.Clip(course.Steps), made.Step)
	courses[id] = course
	return nil
}

// ReadClosedLoop reads the clients' reports on the closed loop before a curve, and returns the curve without steps.
func ReadClosedLoop(ctx context.Context, clients []Reporter, p workload.Phase, run int32) (curve.Course, error) {
	observer, _, err := observe(ctx, clients, workload.TaskID(run, p.Name), p.Load.Timing())
	if err != nil {
		return curve.Course{}, err
	}
	return begin(p, run, observer)
}

// observe reads the clients' reports on a task.
func observe(ctx context.Context, clients []Reporter, id string, timing engine.Timing) (*figure.Observer, []task.Usage, error) {
	observer, usage := &figure.Observer{Timing: timing}, []task.Usage(nil)
	err := eachReport(ctx, clients, 0, id, func(report *task.Report) error {
		observer.Add(report)
		usage = append(usage, report.Usage)
		return nil
	})
	return observer, usage, err
}

// begin returns a curve without steps.
func begin(p workload.Phase, run int32, observer *figure.Observer) (curve.Course, error) {
	asked := p.CurveOf()
	percent, known := figure.Percent(asked.Metric)
	if !known {
		return curve.Course{}, fmt.Errorf("phase %s: curve.metric %q is no percentile", p.Name, asked.Metric)
	}
	limit, err := figure.ParseThreshold(asked.Metric, asked.AtMost)
	if err != nil {
		return curve.Course{}, fmt.Errorf("phase %s: curve.atMost: %w", p.Name, err)
	}
	begun := curve.Course{Question: p.Question(run, percent, limit)}
	if o, err := observer.Observation(); err == nil { // Without a rate, the curve ends at once, and says why.
		if f, ok := figure.Find(o.Figures, v1alpha1.MetricIOPS, v1alpha1.DirectionTotal); ok {
			begun.ClosedLoopPerSecond = f.Value
		}
		if f, ok := figure.Find(o.Figures, asked.Metric, cmp.Or(asked.Direction, v1alpha1.DirectionTotal)); ok {
			begun.ClosedLoopSeconds = f.Value
		}
	}
	return begun, nil
}

// ReadStep reads the clients' reports on a step of a curve, and returns what they did together. Its fault is
// only what they report themselves.
func ReadStep(ctx context.Context, clients []Reporter, p workload.Phase, id string, q curve.Question, offered curve.Decision) (session.Step, error) {
	observer, usage, err := observe(ctx, clients, id, engine.Timing{})
	if err != nil {
		return session.Step{}, err
	}
	made := session.Step{Usage: usage, Step: curve.Step{Purpose: offered.Purpose, OfferedPerSecond: offered.OfferedPerSecond}}
	o, err := observer.Observation()
	if err != nil {
		made.Fault = err.Error()
		return made, nil //nolint:nilerr // It is the fault of the step.
	}
	if w := o.Result.Write; w != nil {
		made.WrittenBytes = w.Bytes
	}
	measureStep(&made.Step, p, q, o.Result)
	return made, nil
}

// measureStep adds the clients' result to a step.
func measureStep(made *curve.Step, p workload.Phase, q curve.Question, o *result.Result) {
	for _, w := range o.Warnings {
		switch w.Code { //nolint:exhaustive // Other warnings leave the latencies.
		case result.WarnSaturated:
			made.Saturated = true
		case result.WarnOffSchedule:
			made.Fault = cmp.Or(made.Fault, w.Message)
		}
	}
	total, err := o.Total()
	if err != nil || total == nil || !(total.Seconds > 0) {
		made.Fault = cmp.Or(made.Fault, "no operation was done")
		return
	}
	made.AchievedPerSecond = float64(total.Operations) / total.Seconds
	limited := total
	switch p.CurveOf().Direction {
	case v1alpha1.DirectionRead:
		limited = o.Read
	case v1alpha1.DirectionWrite:
		limited = o.Write
	case v1alpha1.DirectionTotal:
	}
	if a := o.Arrivals; a != nil {
		made.LateP99Seconds, made.MostInFlight = a.LateP99Seconds, a.MostInFlight
	}
	addLatency(made, total, limited, q)
}

// stepFault returns why a step shows nothing, apart from what its generators report; "" if it does.
func (s Execution) stepFault(id string, disturbances []quiescence.Disturbance) string {
	if fault := SpreadFault(s.Notes.Spread[id]); fault != "" {
		return fault
	}
	for _, d := range disturbances {
		if d.Action != v1alpha1.DisturbanceRecord {
			return fmt.Sprintf("%s: %s", d.Kind, d.Message)
		}
	}
	return ""
}

// SpreadFault says that clients started too far apart; "" if they did not.
func SpreadFault(spread time.Duration) string {
	if spread <= MaxSpread {
		return ""
	}
	return fmt.Sprintf("the clients started up to %d ms apart; %d ms are allowed", spread.Milliseconds(), MaxSpread.Milliseconds())
}

// Operations in flight at both ends of a step may make up for some operations.
const (
	achievedShare = 0.99
	fewOperations = 5
)

// addLatency adds the latencies of a step. It marks the step as saturated if less was done than was due: the
// histogram counts the operations that were due, whenever they were done.
func addLatency(made *curve.Step, total, limited *result.Direction, q curve.Question) {
	if total.Latency == nil || limited == nil || limited.Latency == nil || limited.Latency.Histogram == nil {
		if !made.Saturated {
			made.Fault = cmp.Or(made.Fault, "the clients reported no latencies")
		}
		return
	}
	due := float64(total.Latency.Moments.Count)
	if missing := due - float64(total.Operations); missing > max(fewOperations, (1-achievedShare)*due) {
		made.Saturated = true
		return
	}
	h := limited.Latency.Histogram
	made.Count = h.Count()
	for _, bin := range h.Bins {
		if float64(bin.Nanoseconds) > q.LimitSeconds*1e9 {
			made.Over += bin.Count
		}
	}
	percentile := func(percent float64) float64 {
		p, _ := h.Percentile(percent)
		return p.Seconds
	}
	made.PercentileSeconds = percentile(q.Percent)
	made.P50Seconds, made.P95Seconds, made.P99Seconds, made.P999Seconds = percentile(50), percentile(95), percentile(99), percentile(99.9)
}

// addCurve adds the curve of a phase, and its figure, to an observation.
func (s Execution) addCurve(observation *figure.Observation, id string) {
	course, ok := s.Notes.Courses[id]
	if !ok {
		return
	}
	course = course.Judged()
	observation.Curve = &course
	if knee, ok := course.Sustainable(); ok {
		observation.Figures = append(observation.Figures, figure.Figure{
			Metric: v1alpha1.MetricSustainableIOPS, Direction: v1alpha1.DirectionTotal, Value: knee.PerSecond,
		})
	}
}

// CurveResult returns a curve for status; nil without one.
func CurveResult(c *curve.Course) *v1alpha1.CurveResult {
	if c == nil {
		return nil
	}
	states := map[curve.State]v1alpha1.CurveState{
		curve.Found: v1alpha1.CurveFound, curve.NeverExceeded: v1alpha1.CurveSaturates, curve.BelowIdle: v1alpha1.CurveBelowIdle,
	}
	state := states[c.Knee.State]
	if _, known := c.Sustainable(); !known && state != v1alpha1.CurveBelowIdle {
		state = v1alpha1.CurveInconclusive
	}
	return &v1alpha1.CurveResult{State: state, Reason: ellipsis.Cut(c.Knee.Reason, 256)}
}
