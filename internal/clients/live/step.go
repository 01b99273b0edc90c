package live

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

const (
	// stepWithin limits how much longer than its measurement a step may take.
	stepWithin = 2 * time.Minute
	// tasksAgain is the interval between looks at the statuses of tasks, which this process polls anyway.
	tasksAgain = 20 * time.Millisecond
)

// stepper has the clients of a benchmark whose curve a session draws.
type stepper struct {
	followed *Execution
	script   *workload.Script
	phase    workload.Phase
	clients  map[int]clientview.View // without that of the background load
}

// stepperOf returns an error that wraps [ErrNotMeasuring] if this process does not poll all clients, or has not started the
// phase.
func (l *Executions) stepperOf(benchmark types.NamespacedName, clients int, phase v1alpha1.PhaseName) (stepper, error) {
	s := stepper{clients: map[int]clientview.View{}}
	followed, ok := l.Followed(benchmark)
	if ok {
		s.followed, s.script = followed, followed.noted()
	}
	for i, c := range l.clientsOf(benchmark, clients) {
		s.clients[i] = clientview.View{Client: c}
	}
	if s.script == nil || len(s.clients) == 0 {
		return s, fmt.Errorf("phase %s of benchmark %s: %w", phase, benchmark, ErrNotMeasuring)
	}
	if s.phase, ok = s.script.Curve(phase); !ok {
		return s, fmt.Errorf("phase %s of benchmark %s has no curve", phase, benchmark)
	}
	return s, nil
}

func (s stepper) tasks() workload.Tasks {
	return clientview.TasksOf(s.followed.Runners.Views(), len(s.clients))
}

func (s stepper) reporters() []conclusion.Reporter {
	all := make([]conclusion.Reporter, len(s.clients))
	for i, view := range s.clients {
		all[i] = view.Client
	}
	return all
}

// are waits until a task has a state on all clients. It returns an error if the task failed on one.
func (s stepper) are(ctx context.Context, id string, state task.State) error {
	again := time.NewTicker(tasksAgain)
	defer again.Stop()
	for {
		tasks := s.tasks()
		if failed := tasks.Failed(id); failed != nil {
			return fmt.Errorf("task %s failed: %s: %s", id, failed.Failure.Reason, failed.Failure.Message)
		}
		if tasks.All(id, func(is task.State) bool { return is == state }) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("task %s is not %s on all clients: %w", id, state, context.Cause(ctx))
		case <-again.C:
		}
	}
}

// ClosedLoop returns the curve of a phase of a benchmark's first run, without steps. The error wraps [ErrNotMeasuring] until
// all clients have ended the closed loop.
func (l *Executions) ClosedLoop(ctx context.Context, benchmark types.NamespacedName, clients int, phase v1alpha1.PhaseName) (curve.Course, error) {
	s, err := l.stepperOf(benchmark, clients, phase)
	if err != nil {
		return curve.Course{}, err
	}
	ended := func(is task.State) bool { return is == task.Done }
	if !s.tasks().All(workload.TaskID(1, phase), ended) {
		return curve.Course{}, fmt.Errorf("the closed loop of phase %s has not ended: %w", phase, ErrNotMeasuring)
	}
	return conclusion.ReadClosedLoop(ctx, s.reporters(), s.phase, 1)
}

// Step makes all clients offer a rate in a phase of a benchmark's first run, after its closed loop, and returns what they did.
// Each step has a number of its own.
func (l *Executions) Step(ctx context.Context, benchmark types.NamespacedName, clients int, phase v1alpha1.PhaseName, number int, q curve.Question, offered curve.Decision) (session.Step, error) {
	s, err := l.stepperOf(benchmark, clients, phase)
	if err != nil {
		return session.Step{}, err
	}
	ctx, stop := context.WithTimeout(ctx, stepWithin+time.Duration(q.StepSeconds*float64(time.Second)))
	defer stop()
	id := workload.StepID(1, number, phase)
	todo, err := s.script.Step(s.phase, id, offered.OfferedPerSecond)
	if err != nil {
		return session.Step{}, err
	}
	err = clientview.Each(ctx, s.clients, func(ctx context.Context, i int, c runner.Client) error {
		_, err := c.Put(ctx, todo[i])
		return err
	})
	if err == nil {
		err = s.are(ctx, id, task.Ready)
	}
	notes := workload.NewNotes()
	if err == nil {
		err = clientview.Start(ctx, s.clients, id, notes, l.now())
	}
	if err == nil {
		err = s.are(ctx, id, task.Done)
	}
	if err != nil {
		return session.Step{}, err
	}
	made, err := conclusion.ReadStep(ctx, s.reporters(), s.phase, id, q, offered)
	made.Fault = cmp.Or(conclusion.SpreadFault(notes.Spread[id]), made.Fault)
	return made, err
}
