package workload

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// Background is the background load of a script.
type Background struct {
	Load  engine.Load
	Place place.Place
	ramp  time.Duration
}

// PlaceOfBackground returns the place of the background load. It shares the target of the clients, but has
// its own data. These data have names that begin with the parameter owner, or are in a RADOS namespace with
// such a name. For some objects, [place.ObjectPrefix] comes before owner.
func PlaceOfBackground(owner string, places []place.Place) place.Place {
	p := places[0]
	p.Owner, p.Namespace = owner, owner
	p.Client, p.Clients, p.Image.Shared = 0, 1, false
	p.Image.RolledBack = false // Rollback concerns only the measured images.
	return p
}

// NewBackground returns the background load of a template; nil if it has none.
func NewBackground(template *v1alpha1.BenchmarkTemplate, p place.Place) (*Background, error) {
	load, err := engine.BackgroundOf(template)
	if err != nil || load == nil {
		return nil, err
	}
	b := &Background{Load: load, Place: p}
	if ramp := template.BackgroundLoad.Ramp; ramp != nil {
		b.ramp = ramp.Duration
	}
	return b, nil
}

// BackgroundID returns the ID of the background load's task in a run.
func BackgroundID(run int32) string { return fmt.Sprintf("background-r%d", run) }

// only returns a function that makes the task list of the background load, which has a single client.
func (b *Background) only(newTask func(place.Place) (task.Task, error)) func() ([]task.Task, error) {
	return func() ([]task.Task, error) {
		made, err := newTask(b.Place)
		return []task.Task{made}, err
	}
}

// failBackground returns the move that fails a run whose background load has ended early. Cancelling the load
// before the last phase has ended is a failure too: during a run, only endBackground may cancel it.
func failBackground(id, step string, status task.Status) Move {
	failure := task.Failure{Reason: Cancelled, Message: "it was stopped before the last phase"}
	switch {
	case status.Failure != nil:
		failure = *status.Failure
	case status.State == task.Done:
		failure.Reason = task.FailureReason(engine.EndedEarly)
	}
	return Move{Kind: MoveFail, ID: id, Step: step, Background: true, Failure: &Failure{ID: id, Background: true, Failure: failure}}
}

// SpoiltBy says why a run is invalid after a failure of its background load. The text begins with the API's
// reason.
func SpoiltBy(f Failure) string {
	reason := v1alpha1.ReasonBackgroundLoadFailed
	switch cause := f.Failure.Reason; {
	case slices.Contains([]task.FailureReason{Cancelled, ReportLost, task.FailureReason(engine.EndedEarly)}, cause):
		reason = v1alpha1.ReasonBackgroundLoadEndedEarly
	case cause == task.FailureReason(parse.NoIO):
		reason = v1alpha1.ReasonBackgroundLoadNoIO
	}
	return reason + ": " + Describe(f)
}

// BackgroundReason returns the reason with which a text from SpoiltBy begins; "" for any other text.
func BackgroundReason(wrong string) string {
	reason, _, _ := strings.Cut(wrong, ":")
	if slices.Contains([]string{v1alpha1.ReasonBackgroundLoadFailed, v1alpha1.ReasonBackgroundLoadEndedEarly, v1alpha1.ReasonBackgroundLoadNoIO}, reason) {
		return reason
	}
	return ""
}

// Writers returns the number of clients, plus one if the script has a background load.
func (s *Script) Writers() int64 {
	if s.Background != nil {
		return int64(len(s.Places)) + 1
	}
	return int64(len(s.Places))
}
