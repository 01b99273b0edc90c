package runner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/cephtune/cephtune/internal/task"
)

// errAimed is the cause for the end of an engine whose measurement continues with another command.
var errAimed = errors.New("the measurement was aimed at another target")

// Aim says how a measurement continues. Its rows have the number of the target from then on.
type Aim struct {
	Target  int32        `json:"target"`
	Command task.Command `json:"command"`
}

// aiming is an Aim that is being carried out.
type aiming struct {
	Aim

	// ends is closed when the engine runs, or when the task has ended without it. The execution's mutex guards runs,
	// which says whether it runs.
	ends chan struct{}
	runs bool
}

// aim stops the engine of a task, starts another command, and returns when that runs.
func (s *execution) aim(ctx context.Context, id string, next Aim) *Error {
	request, refused := s.requestAim(id, next)
	if refused != nil {
		return refused
	}
	select {
	case <-request.ends:
	case <-ctx.Done():
		return refuse(Internal, "the request ended before the engine of task %s began again", id)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !request.runs {
		return refuse(NotStarted, "the engine of task %s could not be started at target %d", id, next.Target)
	}
	return nil
}

func (s *execution) requestAim(id string, next Aim) (*aiming, *Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, refused := s.find(id)
	switch {
	case refused != nil:
		return nil, refused
	case e.status.State != task.Measuring:
		return nil, refuse(NotReady, "task %s is %s, not Measuring", id, e.status.State)
	case next.Target < 0:
		return nil, refuse(Invalid, "there is no target %d", next.Target)
	case e.aiming != nil:
		return nil, refuse(Busy, "task %s is being aimed already", id)
	}
	if refused := validateCommand(next.Command, s.programs); refused != nil {
		return nil, refused
	}
	e.aiming = &aiming{Aim: next, ends: make(chan struct{})}
	e.stopEngine(errAimed)
	return e.aiming, nil
}

// aimedCommand returns the command with which a measurement continues after its engine was stopped.
func (r *running) aimedCommand() task.Command {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.entry.aiming.Command
}

// noteStart notes that an engine is about to start: rows that are added from now on are of the target at which the
// measurement was aimed, and begin no earlier. The engine before has ended, and its last report has become a row: its
// output was read to the end.
func (r *running) noteStart() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entry.engineSince = time.Now()
	if r.entry.aiming != nil {
		r.entry.target = r.entry.aiming.Target
		r.entry.engine++
	}
}

// answerAim answers the request to aim, if there is one. The caller holds the mutex.
func (e *entry) answerAim(runs bool) {
	if e.aiming != nil {
		e.aiming.runs = runs
		close(e.aiming.ends)
		e.aiming = nil
	}
}

// stoppedForAim returns errAimed if an engine ended because its measurement was aimed at another target. An engine that
// had to be killed leaves its image locked, and the next one would wait for that.
func stoppedForAim(c task.Command, e exit) error {
	switch {
	case !errors.Is(e.stopped, errAimed):
		return nil
	case e.abandoned || e.signal == syscall.SIGKILL:
		return &failure{task.Failure{
			Reason: task.ToolKilled, Message: fmt.Sprintf("%s did not end when its measurement was aimed at another target, and was killed", c.Argv[0]), Command: c.Argv,
		}}
	}
	return errAimed
}

func (s *server) aimTask(w http.ResponseWriter, r *http.Request) {
	var next Aim
	if err := jsonv2.UnmarshalRead(r.Body, &next, jsonv2.RejectUnknownMembers(true)); err != nil {
		answerError(w, refuse(Invalid, "the target cannot be read: %v", err))
		return
	}
	answerEither(w, struct{}{}, s.aim(r.Context(), r.PathValue("id"), next))
}

func (c *client) Aim(ctx context.Context, id string, next Aim) error {
	return c.exchange(ctx, 0, http.MethodPost, taskPath(id, "/aim"), next, nil, 0)
}
