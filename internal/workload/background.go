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

// Background is the script's background load.
type Background struct {
	Load  engine.Load
	Place place.Place
	ramp  time.Duration
}

// PlaceOfBackground returns the background load's place: the target that the clients share, with
// data of its own.
func PlaceOfBackground(owner string, places []place.Place) place.Place {
	p := places[0]
	p.Owner, p.Namespace = owner, owner
	p.Client, p.Clients, p.Image.Shared = 0, 1, false
	p.Image.RolledBack = false // Rollback concerns only the measured images.
	return p
}

// NewBackground returns the background load of a template; nil without one.
func NewBackground(spec *v1alpha1.BackgroundLoad, p place.Place) (*Background, error) {
	if spec == nil {
		return nil, nil //nolint:nilnil // The doc comment explains nil.
	}
	load, err := engine.BackgroundOf(*spec)
	if err != nil {
		return nil, err
	}
	b := &Background{Load: load, Place: p}
	if spec.Ramp != nil {
		b.ramp = spec.Ramp.Duration
	}
	return b, nil
}

// BackgroundID returns the ID of the background load's task in a run.
func BackgroundID(run int32) string { return fmt.Sprintf("background-r%d", run) }

// only returns the task of the background load, which is a single client.
func (b *Background) only(of func(place.Place) (task.Task, error)) func() ([]task.Task, error) {
	return func() ([]task.Task, error) {
		made, err := of(b.Place)
		return []task.Task{made}, err
	}
}

// failBackground returns the move that ends a run without its background load. A load that was
// cancelled before the last phase counts as failed too, because only endBackground may cancel it.
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

// SpoiltBy returns why a run whose background load has failed is invalid. The text begins with
// the reason.
func SpoiltBy(f Failure) string {
	reason := v1alpha1.ReasonBackgroundLoadFailed
	switch why := f.Failure.Reason; {
	case slices.Contains([]task.FailureReason{Cancelled, ReportLost, task.FailureReason(engine.EndedEarly)}, why):
		reason = v1alpha1.ReasonBackgroundLoadEndedEarly
	case why == task.FailureReason(parse.NoIO):
		reason = v1alpha1.ReasonBackgroundLoadNoIO
	}
	return reason + ": " + Describe(f)
}

// BackgroundReason returns the reason at the beginning of a text from SpoiltBy; "" for any other
// text.
func BackgroundReason(wrong string) string {
	reason, _, _ := strings.Cut(wrong, ":")
	if slices.Contains([]string{v1alpha1.ReasonBackgroundLoadFailed, v1alpha1.ReasonBackgroundLoadEndedEarly, v1alpha1.ReasonBackgroundLoadNoIO}, reason) {
		return reason
	}
	return ""
}

// Writers returns the number of clients and background loads.
func (s *Script) Writers() int64 {
	if s.Background != nil {
		return int64(len(s.Places)) + 1
	}
	return int64(len(s.Places))
}
