package session

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/stats"
	"github.com/cephtune/cephtune/internal/task"
)

// CurvePairs is the default number of pairs of steps, and the smallest: with fewer, curves rarely have enough steps near their
// knees.
const CurvePairs = 21

// StepTime is the default time of a step that counts.
const StepTime = 10 * time.Second

// AroundStep is how much longer a window is than what counts of its step: the step's ramp, and the time to begin and end the
// clients' tasks.
const AroundStep = 3 * time.Second

// Curves returns the plan of a session with a curve of the baseline and one of the only candidate. A block is a pair of steps,
// one of each, in random order, and a window has one step. Spare pairs replace those with a fault.
func Curves(seed uint64, number, pairs int, window time.Duration) (Plan, error) {
	p, err := planned(seed, number, 1, 1, window)
	p.Curves, p.Order = true, nil
	rng := rand.New(rand.NewPCG(seed, uint64(number))) //nolint:gosec // an experiment that can be replayed, not a secret
	for range pairs + max(spareOfEach, pairs/5) {
		first := rng.IntN(2)
		p.Order = append(p.Order, switchback.Block{first, 1 - first})
	}
	return p, err
}

// Step is what clients did in a step of a curve.
type Step struct {
	curve.Step

	WrittenBytes int64
	Usage        []task.Usage // of each client
}

// Steps are treatments of a session whose windows are steps of two curves. The setting of a step is switched before the step
// begins, and proven while it lasts. A step begins only after the one before has ended on all clients.
type Steps struct {
	Treatments

	// Courses has the curves so far, without steps at the beginning.
	Courses [2]curve.Course
	// Offer makes all clients offer a rate, and returns what they did. The parameter number counts the steps of both curves.
	Offer func(ctx context.Context, number int, q curve.Question, offered curve.Decision) (Step, error)
	// WrittenBytes is how much was written so far: at the beginning, by the closed loop.
	WrittenBytes int64

	usage   []task.Usage
	number  int
	running chan struct{} // is closed when the latest step has ended, with made and failed; nil once they were read
	made    Step
	failed  error
}

// Switch implements [Treatments].
func (s *Steps) Switch(ctx context.Context, from, to int) (sent, acknowledged time.Time, err error) {
	if err := s.Complete(ctx, from); err != nil {
		return sent, acknowledged, err
	}
	next := s.Courses[to].Next()
	if next.Done {
		return sent, acknowledged, fmt.Errorf("no rate follows: %s", s.Courses[to].Judged().Knee.Reason)
	}
	if sent, acknowledged, err = s.Treatments.Switch(ctx, from, to); err != nil {
		return sent, acknowledged, err
	}
	running, number, question := make(chan struct{}), s.number, s.Courses[to].Question
	s.running = running
	s.number++
	go func() {
		defer close(running)
		s.made, s.failed = s.Offer(ctx, number, question, next)
	}()
	return sent, acknowledged, nil
}

// End waits until no step runs. The context of the session must have ended, or its last step was completed.
func (s *Steps) End() {
	if s.running != nil {
		<-s.running
	}
}

// Complete implements [Treatments]. It waits until the latest step has ended, and adds it to its course.
func (s *Steps) Complete(_ context.Context, treatment int) error {
	if s.running == nil {
		return nil
	}
	<-s.running
	s.running = nil
	if s.failed != nil {
		return fmt.Errorf("step %d: %w", s.number, s.failed)
	}
	course := &s.Courses[treatment]
	course.Steps = append(course.Steps, s.made.Step)
	s.WrittenBytes += s.made.WrittenBytes
	for i, u := range s.made.Usage {
		if i == len(s.usage) {
			s.usage = append(s.usage, u)
			continue
		}
		s.usage[i] = s.usage[i].Plus(u)
	}
	return nil
}

// Evidence returns the evidence of the session so far.
func (s *Steps) Evidence(p Plan, record Record, disturbed []switchback.Span) Evidence {
	e := Evidence{Plan: p, Record: record, Disturbed: disturbed, WrittenCurve: s.WrittenBytes, Usage: slices.Clone(s.usage)}
	for _, c := range s.Courses {
		c.Steps = slices.Clip(c.Steps)
		e.Courses = append(e.Courses, c)
	}
	return e
}

// SpoiltCurve reports whether one of the curves cannot be drawn, for example because clients do not keep up with its rates.
func (e Evidence) SpoiltCurve() bool { return slices.ContainsFunc(e.Courses, curve.Course.Spoilt) }

// steps returns the windows of a session of curves with the rates that were achieved, and whether each step shows something.
func (e Evidence) steps() (windows []switchback.Window, covered []bool) {
	windows, covered = make([]switchback.Window, len(e.Record.Switches)), make([]bool, len(e.Record.Switches))
	var n [2]int
	for i, s := range e.Record.Switches {
		windows[i].Treatment = s.Treatment
		if s.Treatment > 1 || s.Treatment >= len(e.Courses) || n[s.Treatment] >= len(e.Courses[s.Treatment].Steps) {
			continue
		}
		step := e.Courses[s.Treatment].Steps[n[s.Treatment]]
		n[s.Treatment]++
		windows[i].Figure, covered[i] = step.AchievedPerSecond, step.Fault == ""
	}
	return windows, covered
}

// JudgedCourses returns the curves with their knees. Steps do not count if the session has disturbed them.
func (e Evidence) JudgedCourses() []curve.Course {
	_, covered := e.steps()
	faults, all := e.faults(covered), slices.Clone(e.Courses)
	for treatment := range all {
		c, n := &all[treatment], 0
		c.Steps = slices.Clone(c.Steps)
		for i, s := range e.Record.Switches {
			if s.Treatment != treatment || n >= len(c.Steps) {
				continue
			}
			if faults[i] && c.Steps[n].Fault == "" {
				c.Steps[n].Fault = "its setting was not proven or switched slowly, or the cluster was disturbed"
			}
			n++
		}
		*c = c.Judged()
	}
	return all
}

// compareCurves returns the summary of a session of curves.
func (e Evidence) compareCurves(session switchback.Session) (Summary, error) {
	blocks, uneven, err := session.Valid()
	courses := e.JudgedCourses()
	if err != nil || len(courses) != 2 {
		return Summary{}, fmt.Errorf("%w: a session with %d curves: %w", stats.ErrParameter, len(courses), err)
	}
	s := Summary{Typical: map[int]float64{}}
	for i := range courses {
		if knee, ok := courses[i].Sustainable(); ok {
			s.Typical[i] = knee.PerSecond
		}
	}
	entry := switchback.Entry{Candidate: 1, Blocks: blocks, Unknown: e.SpoiltCurve() || blocks >= 2, Invalid: uneven && !e.SpoiltCurve()}
	if ratio, ok := curve.Ratio(&courses[0], &courses[1]); ok && !entry.Invalid && blocks >= 2 {
		k := stats.ContrastOf(ratio, courses[0].Question.Confidence, blocks)
		entry.Unknown, entry.Mean, entry.StdDev = false, k.LogRatio, k.StdDev
		entry.StdDevAbove = k.StdDev * k.StdErrAbove / k.StdErr
	}
	s.Objective = []switchback.Entry{entry}
	return s, nil
}
