package session

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/stats"
	"github.com/cephtune/cephtune/internal/task"
)

// applied are treatments that are applied at once. unproven says in which windows they are not proven.
type applied struct {
	now, windows int
	unproven     func(window int) bool
}

func (*applied) Try(context.Context) error { return nil }

func (a *applied) Switch(_ context.Context, from, to int) (sent, acknowledged time.Time, err error) {
	if a.now != from {
		return sent, acknowledged, errors.New("another treatment is applied")
	}
	a.now = to
	a.windows++
	return time.Now(), time.Now(), nil
}

func (a *applied) Proven(_ context.Context, treatment int) (bool, error) {
	return a.now == treatment && (a.unproven == nil || !a.unproven(a.windows-1)), nil
}
func (*applied) Complete(context.Context, int) error { return nil }
func (*applied) Holds(context.Context, int) error    { return nil }

// offering returns steps of a storage that keeps the limit up to a rate for each treatment.
func offering(all *applied, knees [2]float64) *Steps {
	s := &Steps{Treatments: all, WrittenBytes: 5}
	for i := range s.Courses {
		s.Courses[i] = curve.Course{ClosedLoopPerSecond: 1500, Question: curve.Question{
			Percent: 99, LimitSeconds: 0.01, Confidence: 0.95, HalfWidth: 0.1, MaxSteps: 21, StepSeconds: 10, Seed: uint64(i), InTurns: true,
		}}
	}
	s.Offer = func(ctx context.Context, number int, _ curve.Question, offered curve.Decision) (Step, error) {
		treatment := all.now
		select {
		case <-ctx.Done():
			return Step{}, ctx.Err()
		case <-time.After(14 * time.Second): // A step may last longer than its window.
		}
		if all.now != treatment {
			return Step{}, errors.New("the treatment was switched in mid-step")
		}
		noise := rand.New(rand.NewPCG(7, uint64(number))).NormFloat64() / 20
		share := offered.OfferedPerSecond / knees[treatment]
		made := curve.Step{Purpose: offered.Purpose, OfferedPerSecond: offered.OfferedPerSecond, AchievedPerSecond: offered.OfferedPerSecond, Count: 100_000}
		made.Over = int64(min(1e5, 1000*math.Pow(share, 8)*math.Exp(noise)))
		return Step{Step: made, WrittenBytes: 100, Usage: []task.Usage{{Seconds: 10, WaitedSeconds: new(1.0)}}}, nil
	}
	return s
}

// drawn draws the curves of a session until it has enough pairs.
func drawn(t *testing.T, all *applied, knees [2]float64, disturbed func(Record) []switchback.Span) Evidence {
	t.Helper()
	var e Evidence
	synctest.Test(t, func(t *testing.T) {
		plan, err := Curves(5, 1, CurvePairs, StepTime+AroundStep)
		if err != nil {
			t.Fatal(err)
		}
		steps := offering(all, knees)
		e.Plan = plan
		e.Record, err = Run(t.Context(), plan, steps, func(_ context.Context, record Record) (Next, error) {
			var spans []switchback.Span
			if disturbed != nil {
				spans = disturbed(record)
			}
			e = steps.Evidence(plan, record, spans)
			pairs, err := e.Pairs()
			return Next{Enough: pairs >= CurvePairs}, err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	return e
}

func curvesQuestion() Question {
	return Question{
		Question: switchback.Question{
			Criteria:   stats.Criteria{MinimumEffect: 0.1, Equivalence: 0.05, Confidence: 0.95},
			Candidates: 1, Quick: true, LastLook: CurvePairs, Curves: true,
		},
		Objective: Figure{Metric: v1alpha1.MetricSustainableIOPS},
	}
}

func TestTwoCurvesInTurns(t *testing.T) {
	e := drawn(t, &applied{}, [2]float64{1000, 1500}, nil)
	if n := len(e.Record.Switches); n != 2*CurvePairs || len(e.Courses[0].Steps) != CurvePairs || len(e.Courses[1].Steps) != CurvePairs {
		t.Fatalf("%d switches, %d and %d steps", n, len(e.Courses[0].Steps), len(e.Courses[1].Steps))
	}
	if bytes := e.WrittenBytes(true); bytes != 5+100*2*CurvePairs || len(e.Usage) != 1 || e.Usage[0].Seconds != 10*2*CurvePairs || *e.Usage[0].WaitedSeconds != 2*CurvePairs {
		t.Errorf("%d bytes, usage %+v", bytes, e.Usage)
	}
}

func TestStepsAreInRandomOrder(t *testing.T) {
	p, err := Curves(5, 1, CurvePairs, StepTime+AroundStep)
	if err != nil {
		t.Fatal(err)
	}
	first := 0
	for _, block := range p.Order {
		first += block[0]
	}
	if len(p.Order) != CurvePairs+CurvePairs/5 || first == 0 || first == len(p.Order) {
		t.Errorf("order %v", p.Order)
	}
}

func TestVerdictOnTwoCurves(t *testing.T) {
	e := drawn(t, &applied{}, [2]float64{1000, 1500}, nil)
	q := curvesQuestion()
	s, ok, err := e.Summarize(q)
	if err != nil || !ok || s.Objective[0].Blocks != CurvePairs || s.Objective[0].Invalid || s.Objective[0].Unknown {
		t.Fatalf("%+v, %v, %v", s, ok, err)
	}
	if math.Abs(s.Typical[0]/1000-1) > 0.03 || math.Abs(s.Typical[1]/1500-1) > 0.03 {
		t.Errorf("rates %v", s.Typical)
	}
	found, err := Judge(q, []Summary{s}, nil)
	if err != nil || found[0].Verdict != stats.Superior || found[0].Scope != switchback.Windows || found[0].Assessment.UnseenStalls() != 0 {
		t.Fatalf("%+v, %v", found, err)
	}
	wantRatioOf(t, e, found[0].Assessment)
}

// wantRatioOf checks that an assessment has the ratio of the curves, with its interval.
func wantRatioOf(t *testing.T, e Evidence, got stats.Assessment) {
	t.Helper()
	judged := e.JudgedCourses()
	want, ok := curve.Ratio(&judged[0], &judged[1])
	if !ok || math.Abs(got.Ratio-want.Value) > 1e-9 || math.Abs(got.Interval.Low-want.Low) > 1e-9 || math.Abs(got.Interval.High-want.High) > 1e-9 {
		t.Errorf("ratio %v, %+v; want that of the curves, %+v", got.Ratio, got.Interval, want)
	}
}

// What is wrong with a step must not depend on its figures. Spare pairs replace it.
func TestStepsThatDoNotCount(t *testing.T) {
	unproven := func(window int) bool { return window == 3 }
	disturbed := func(r Record) []switchback.Span {
		return []switchback.Span{{From: r.Switches[1].Sent, To: r.Switches[1].Ended}}
	}
	e := drawn(t, &applied{unproven: unproven}, [2]float64{1000, 1000}, disturbed)
	if n := len(e.Record.Switches); n != 2*(CurvePairs+2) {
		t.Errorf("%d switches, want two more pairs", n)
	}
	faults := 0
	for _, c := range e.JudgedCourses() {
		faults += c.Knee.FaultSteps
	}
	if faults < 2 || faults > 4 {
		t.Errorf("%d steps do not count", faults)
	}
	for _, c := range e.Courses {
		if c.Judged().Knee.FaultSteps != 0 {
			t.Error("the evidence was changed")
		}
	}
	s, ok, err := e.Summarize(curvesQuestion())
	if err != nil || !ok || s.Objective[0].Blocks != CurvePairs || s.Objective[0].Invalid {
		t.Errorf("%+v, %v, %v", s, ok, err)
	}
}

// Without a rate that keeps the limit, there is no ratio, and the verdict is open.
func TestACurveWithoutARate(t *testing.T) {
	e := drawn(t, &applied{}, [2]float64{1000, 1}, nil)
	q := curvesQuestion()
	s, ok, err := e.Summarize(q)
	if err != nil || !ok || !s.Objective[0].Unknown || s.Objective[0].Invalid || s.Typical[0] == 0 || s.Typical[1] != 0 {
		t.Fatalf("%+v, %v, %v", s, ok, err)
	}
	found, err := Judge(q, []Summary{s}, nil)
	if err != nil || found[0].Verdict != stats.Inconclusive || found[0].Assessment.Runs != 0 || found[0].Assessment.Ratio != 0 {
		t.Errorf("%+v, %v", found, err)
	}
}

// A step that fails, or a closed loop without a rate, ends the session.
func TestAStepThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		closedLoop float64
		want       string
	}{"a step": {1500, "step 3: no route"}, "the closed loop": {0, "no rate follows: The closed loop did no operation"}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				all := &applied{}
				steps := offering(all, [2]float64{1000, 1000})
				offer := steps.Offer
				steps.Offer = func(ctx context.Context, number int, q curve.Question, offered curve.Decision) (Step, error) {
					if number == 2 {
						return Step{}, errors.New("no route")
					}
					return offer(ctx, number, q, offered)
				}
				for i := range steps.Courses {
					steps.Courses[i].ClosedLoopPerSecond = c.closedLoop
				}
				plan, err := Curves(5, 1, CurvePairs, StepTime+AroundStep)
				if err != nil {
					t.Fatal(err)
				}
				record, err := Run(t.Context(), plan, steps, func(context.Context, Record) (Next, error) { return Next{}, nil })
				steps.End()
				if err == nil || !strings.Contains(record.Invalid, c.want) {
					t.Errorf("%v, %q; want %q", err, record.Invalid, c.want)
				}
			})
		})
	}
}
