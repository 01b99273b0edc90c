package workload

import (
	"fmt"
	"hash/fnv"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// CurveOf returns the curve that a phase asks for; nil if it asks for none.
func (p Phase) CurveOf() *v1alpha1.Curve {
	if load, ok := p.Load.(engine.Curved); ok {
		return load.Curve()
	}
	return nil
}

// StepID returns the ID of the task of a curve's step. The name of a phase begins with no dash, so it is no ID of a phase.
func StepID(run int32, step int, name v1alpha1.PhaseName) string {
	return fmt.Sprintf("r%d--%d-%s", run, step, name)
}

// Begun returns the IDs of the measurements of a run that clients have: of its phases, and of the steps of their curves.
func (s *Script) Begun(run int32, tasks Tasks) []string {
	var all []string
	for _, p := range s.Phases {
		if id := TaskID(run, p.Name); tasks.Has(id) {
			all = append(all, id)
		}
		for step := 0; tasks.Has(StepID(run, step, p.Name)); step++ {
			all = append(all, StepID(run, step, p.Name))
		}
	}
	return all
}

// Done reports whether all clients have completed all phases of a run. A curve is complete when its last step was read.
func (s *Script) Done(run int32, tasks Tasks, m *Notes) bool {
	return !slices.ContainsFunc(s.Phases, func(p Phase) bool {
		id := TaskID(run, p.Name)
		if !tasks.All(id, func(state task.State) bool { return state == task.Done }) {
			return true
		}
		course, known := m.Courses[id]
		return p.CurveOf() != nil && (!known || !course.Next().Done)
	})
}

// climb returns the next move of a phase's curve. In a session, the sweep makes the steps, and then removes the benchmark.
// Otherwise, after the closed loop, steps at the rates that package curve
// chooses from the steps before. A new manager reads the clients' reports again, and so comes to the same rates.
func (s *Script) climb(i int, run int32, tasks Tasks, m *Notes) (Move, bool) {
	p := s.Phases[i]
	load, _ := p.Load.(engine.Curved)
	if p.CurveOf() == nil {
		return Move{}, true
	}
	id := TaskID(run, p.Name)
	if s.Switched {
		return Move{Kind: MoveWait, ID: id, Step: fmt.Sprintf("run %d, phase %s: the sweep makes the steps", run, p.Name)}, false
	}
	course, known := m.Courses[id]
	if !known {
		return Move{Kind: MoveReadStep, ID: id, Read: Reading{Run: run, Phase: i, Step: -1}, Step: fmt.Sprintf("run %d, phase %s", run, p.Name)}, false
	}
	next := course.Next()
	if next.Done {
		return Move{}, true
	}
	number := len(course.Steps)
	step := fmt.Sprintf("run %d, phase %s, step %d of at most %d: %.0f operations/s", run, p.Name, number+1, course.Question.MaxSteps, next.OfferedPerSecond)
	id = StepID(run, number, p.Name)
	todo := s.stepTasks(load, id, next.OfferedPerSecond)
	if mv, done := measure(id, step, todo, tasks, m); !done {
		return mv, false
	}
	return Move{Kind: MoveReadStep, ID: id, Read: Reading{Run: run, Phase: i, Step: number, Offered: next}, Step: step}, false
}

func (s *Script) stepTasks(load engine.Curved, id string, perSecond float64) func() ([]task.Task, error) {
	return s.forEach(func(c place.Place) (task.Task, error) {
		return load.Step(c, engine.Run{ID: id}, perSecond/float64(len(s.Places)))
	})
}

// Curve returns the phase with a name if it has a curve.
func (s *Script) Curve(name v1alpha1.PhaseName) (Phase, bool) {
	i := slices.IndexFunc(s.Phases, func(p Phase) bool { return p.Name == name && p.CurveOf() != nil })
	if i < 0 {
		return Phase{}, false
	}
	return s.Phases[i], true
}

// Step returns the tasks of all clients for a step of a curve in a session: the task with this ID.
func (s *Script) Step(p Phase, id string, perSecond float64) ([]task.Task, error) {
	load, ok := p.Load.(engine.Curved)
	if !ok {
		return nil, fmt.Errorf("phase %s has no curve", p.Name)
	}
	return s.stepTasks(load, id, perSecond)()
}

// Reading says which step of a curve [MoveReadStep] reads. Step -1 is the closed loop.
type Reading struct {
	Run         int32
	Phase, Step int
	Offered     curve.Decision
}

// Question returns what a phase's curve asks. Its seed follows from the ID of the run's task.
func (p Phase) Question(run int32, percent, limitSeconds float64) curve.Question {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(TaskID(run, p.Name))) // It cannot fail.
	asked := p.CurveOf()
	return curve.Question{
		Percent: percent, LimitSeconds: limitSeconds, Confidence: curve.DefaultConfidence, HalfWidth: curve.DefaultHalfWidth,
		MaxSteps: int(asked.MaxSteps), StepSeconds: asked.StepDuration.Seconds(), Seed: hash.Sum64(),
	}
}
