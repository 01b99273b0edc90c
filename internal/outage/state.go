package outage

import (
	"fmt"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/result"
)

// State has the facts that this process knows about the outage of an execution's current run. Only the manager
// that began an outage continues it. Another manager lacks these facts, so the run is invalid.
type State struct {
	// Run is the number of the run.
	Run int32
	Progress
	// Refused says that the cluster does not permit the outage.
	Refused bool

	// osdMap is the last OSD map that was read, and osdMapAt is when it was requested.
	osdMap   *ceph.OSDMap
	osdMapAt time.Time
	// status and recovered were read right before the stop, recoveredLast when all placement
	// groups were clean again.
	status                   *ceph.Status
	recovered, recoveredLast *ceph.Recovered
	// earlier is the last OSD map that was read in an earlier run; nil if none was read. It shows when the
	// OSDs were last marked down.
	earlier *ceph.OSDMap
}

// ForRun returns the state for a run. It replaces the state of an earlier run, unless noup may still be set
// for that run.
func (s State) ForRun(run int32) State {
	if s.Run == run || s.Outstanding() {
		return s
	}
	next := State{Run: run, earlier: s.earlier}
	if s.osdMap != nil {
		next.earlier = s.osdMap
	}
	return next
}

// View is the next step of an outage. Again is how long to wait before the next call of Observe.
type View struct {
	Plan  Plan
	Step  Step
	Again time.Duration
}

// Observe records new findings, and determines the next step. The parameter started is when the phase got
// its signal to start; zero before that.
func (s State) Observe(p Plan, started time.Time, phaseOver bool, samples []quiescence.Sample, now time.Time) (State, View) {
	if s.Start.IsZero() {
		s.Start = started
	}
	view := View{Plan: p, Step: StepDone}
	if s.Start.IsZero() {
		return s, view
	}
	look := Look{PhaseOver: phaseOver, OSDMap: s.osdMap, OSDMapAt: s.osdMapAt, Samples: samples}
	if s.status != nil {
		look.UpBefore, look.InBefore = s.status.UpOSDs, s.status.InOSDs
	}
	s.Progress, view.Step, view.Again = p.Next(s.Progress, look, now)
	return s, view
}

// Expected returns [Plan.Expected] for a run; nil if the state belongs to another run.
func (s State) Expected(p Plan, run int32) *quiescence.Outage {
	if s.Run != run {
		return nil
	}
	return p.Expected(s.Progress, s.status)
}

// Known reports whether this process has followed the outage of a run from its beginning.
func (s State) Known(run int32) bool { return s.Run == run && !s.Start.IsZero() }

// Measure returns the cost of the outage, as far as the outage has progressed. The parameter total is the
// result of all clients in the phase; nil if unknown.
func (s State) Measure(p Plan, samples []quiescence.Sample, total *result.Direction) *archive.Outage {
	return Measure(Evidence{
		Progress: s.Progress, Samples: samples, Before: s.recovered, After: s.recoveredLast, Ramp: p.Ramp, Total: total,
	})
}

// Invalid returns why the outage makes its run invalid; "" if it does not.
func (s State) Invalid(name v1alpha1.PhaseName) string {
	switch {
	case s.Failed != "":
		return fmt.Sprintf("Phase %s: the outage: %s", name, s.Failed)
	case s.Clean.IsZero():
		return fmt.Sprintf("Phase %s ended before its outage did", name)
	}
	return ""
}

// Unrested returns an obstacle if a run that begins now would mark the OSDs down again too soon. An OSD map
// shows when OSDs were last marked down. The parameter osdMap may have been read before an earlier run of the
// execution marked them down, so Unrested also looks at the map that the state kept from that run.
func (s State) Unrested(p Plan, config []ceph.ConfigEntry, osdMap *ceph.OSDMap, now time.Time) []quiescence.Obstacle {
	start := p.Rested(config, osdMap, s.earlier)
	if !now.Before(start.Add(-p.Before)) {
		return nil
	}
	return []quiescence.Obstacle{{
		Code: v1alpha1.ReasonWaitingForQuiescence, Waits: true,
		Message: fmt.Sprintf("%s may not be marked down again before %s: an OSD that is marked down too often stops its process.",
			ceph.OSDNames(p.OSDs), start.UTC().Format(time.TimeOnly)),
	}}
}
