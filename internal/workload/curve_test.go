package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// curvedLoad has a curve.
type curvedLoad struct{ fakeLoad }

func (curvedLoad) Curve() *v1alpha1.Curve {
	return &v1alpha1.Curve{Metric: v1alpha1.MetricLatencyP99, AtMost: "10ms", MaxSteps: 22, StepDuration: metav1.Duration{Duration: 15 * time.Second}}
}

func (curvedLoad) Step(_ place.Place, run engine.Run, perSecond float64) (task.Task, error) {
	return task.Task{ID: run.ID, Measure: &task.Measurement{Command: task.Command{Argv: []string{fmt.Sprint(perSecond)}}}}, nil
}

// readStep notes a step of a storage that keeps the limit up to 700 operations a second.
func readStep(s *Script, m *Notes, mv Move) {
	p := s.Phases[mv.Read.Phase]
	id := TaskID(mv.Read.Run, p.Name)
	if mv.Read.Step < 0 {
		m.Courses[id] = curve.Course{Question: p.Question(mv.Read.Run, 99, 0.01), ClosedLoopPerSecond: 1000}
		return
	}
	course := m.Courses[id]
	offered := mv.Read.Offered.OfferedPerSecond
	seconds := 0.005 * 300 / max(1, 1000-offered) // 10 ms at 850/s
	step := curve.Step{Purpose: mv.Read.Offered.Purpose, OfferedPerSecond: offered, AchievedPerSecond: offered, Count: 100000, PercentileSeconds: seconds}
	step.Over = int64(1000 * seconds / 0.01)
	if offered >= 1000 {
		step.Saturated, step.Count, step.Over = true, 0, 0
	}
	course.Steps = append(course.Steps, step)
	m.Courses[id] = course
}

func TestStepsFollowTheClosedLoop(t *testing.T) {
	s := scriptOf(2, curvedLoad{})
	clock := time.Unix(0, 0)
	notes := NewNotes()
	moves := play(t, s, 1, newTasks(2), notes, &clock)
	want := []string{"Put r1-p1", "Start r1-p1", "ReadStep r1-p1", "Put r1--0-p1", "Start r1--0-p1", "ReadStep r1--0-p1", "Put r1--1-p1"}
	if diff := cmp.Diff(want, moves[:len(want)]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if last := moves[len(moves)-1]; last != "End " {
		t.Errorf("it ends with %q", last)
	}
	steps := notes.Courses["r1-p1"].Steps
	if n := len(steps); n < 4 || n > 21 {
		t.Errorf("%d steps: %+v, %+v", n, steps, notes.Courses["r1-p1"].Judged().Knee)
	}
}

// A new manager has no notes. It must read the same steps again, and begin none of them again.
func TestAnotherManagerGoesOnWithACurve(t *testing.T) {
	s := scriptOf(1, curvedLoad{})
	clock := time.Unix(0, 0)
	tasks := newTasks(1)
	first := NewNotes()
	play(t, s, 1, tasks, first, &clock)
	second := NewNotes()
	for id := range tasks[0] {
		second.StartedAt[id] = clock
	}
	moves := play(t, s, 1, tasks, second, &clock)
	if i := slices.IndexFunc(moves, func(m string) bool { return strings.HasPrefix(m, "Put") || strings.HasPrefix(m, "Start") }); i >= 0 {
		t.Errorf("it begins %s again", moves[i])
	}
	if diff := cmp.Diff(first.Courses, second.Courses); diff != "" {
		t.Errorf("courses (-first +second):\n%s", diff)
	}
}

// In a session, a sweep makes the steps.
func TestACurveOfASessionWaits(t *testing.T) {
	s := scriptOf(1, curvedLoad{})
	s.Switched = true
	tasks, notes := Tasks{{"r1-p1": {State: task.Done}}}, NewNotes()
	if mv := s.Next(1, tasks, Tasks{{}}, notes, time.Unix(0, 0)); mv.Kind != MoveWait || s.Done(1, tasks, notes) || s.runOf(0, 1, notes).Switched {
		t.Errorf("%s, done %t", mv.Kind, s.Done(1, tasks, notes))
	}
	p, ok := s.Curve("p1")
	todo, err := s.Step(p, "r1--7-p1", 800)
	if !ok || err != nil || len(todo) != 1 || todo[0].ID != "r1--7-p1" || todo[0].Measure.Argv[0] != "800" {
		t.Errorf("%t, %v, %+v", ok, err, todo)
	}
	if _, ok := s.Curve("p2"); ok {
		t.Error("there is another curve")
	}
}

func TestStepsAreNoPhases(t *testing.T) {
	for _, name := range []v1alpha1.PhaseName{"p", "1-p", "a-1"} {
		if id := StepID(1, 1, name); id == TaskID(1, name) || !belongs(id, 1) || belongs(id, 2) || (engine.Run{ID: id}).Validate() != nil {
			t.Errorf("step %s", id)
		}
	}
	longest := StepID(20, 39, v1alpha1.PhaseName(strings.Repeat("a", 32)))
	if err := (engine.Run{ID: longest}).Validate(); err != nil {
		t.Error(err)
	}
}

// Guardrails watch the steps, too, and a run is not over while its curve goes on.
func TestACurveIsPartOfItsPhase(t *testing.T) {
	s := scriptOf(1, curvedLoad{})
	done := task.Status{State: task.Done}
	tasks := Tasks{{"r1-p1": done, "r1--0-p1": done, "r1--1-p1": {State: task.Measuring}, "r2-p1": done}}
	notes := NewNotes()
	if diff := cmp.Diff([]string{"r1-p1", "r1--0-p1", "r1--1-p1"}, s.Begun(1, tasks)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if s.Done(1, tasks, notes) {
		t.Error("it is done after the closed loop")
	}
	p := s.Phases[0]
	notes.Courses["r1-p1"] = curve.Course{Question: p.Question(1, 99, 0.01), ClosedLoopPerSecond: 1000}
	if s.Done(1, tasks, notes) {
		t.Error("it is done before its last step")
	}
	notes.Courses["r1-p1"] = curve.Course{Question: p.Question(1, 99, 0.01)} // Without a rate to begin with, it ends at once.
	if !s.Done(1, tasks, notes) {
		t.Error("it is not done at the end of its curve")
	}
}
