package outage

import (
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// Progress holds the moments of an outage, by the clock of the manager. Each time is zero until its
// moment has come.
type Progress struct {
	// Start is when the clients got the signal to start the phase.
	Start time.Time
	// Begin is when noup was about to be set, Stop when the OSDs were marked down, and Down when they were
	// seen down. Until the OSDs are marked down, Stop has the value of Begin, because noup may be set from
	// Begin on. So noup is also unset if the OSDs cannot be marked down: see Outstanding.
	Begin, Stop, Down time.Time
	// Out is when the OSDs were first seen to be out. Backfilled is when all placement groups were clean
	// without these OSDs. Both are set only if the plan expects a backfill.
	Out, Backfilled time.Time
	// NoupUnset is when noup was unset, and Up when the OSDs were seen up.
	NoupUnset, Up time.Time
	// Clean is when all placement groups were first seen clean again.
	Clean time.Time
	// Failed says why the outage cannot be measured.
	Failed string
}

// Outstanding reports whether noup may still be set.
func (so Progress) Outstanding() bool { return !so.Stop.IsZero() && so.NoupUnset.IsZero() }

// Look holds the current facts about the cluster and the phase.
type Look struct {
	// PhaseOver says that the phase has ended, with or without success.
	PhaseOver bool
	// OSDMap is the latest OSD map; nil if none was read. OSDMapAt is when that map was requested.
	OSDMap   *ceph.OSDMap
	OSDMapAt time.Time
	// Samples holds the samples of the cluster, in chronological order.
	Samples []quiescence.Sample
	// UpBefore and InBefore count the OSDs up and in right before the stop; 0 if unknown.
	UpBefore, InBefore int
}

// Step is the next action.
type Step string

// The steps of an outage.
const (
	// StepWait waits for the returned duration.
	StepWait Step = "Wait"
	// StepStop stops the OSDs, unless [Plan.Refuse] gives a reason against it.
	StepStop Step = "Stop"
	// StepUnsetNoup unsets noup, so that the OSDs come up.
	StepUnsetNoup Step = "UnsetNoup"
	// StepDone means that nothing is left to do for the outage: it was measured, has failed, or does not
	// take place. [State.Observe] returns it also before the phase starts.
	StepDone Step = "Done"
)

// These are the deadlines of an outage, and the interval between checks.
const (
	lateAfter  = 15 * time.Second // OSDs must be stopped at most this long after the planned time
	downWithin = 20 * time.Second // OSDs must be seen down at most this long after they were marked down
	// UpWithin is how long OSDs may take to come up. Their processes only have to learn that noup was
	// unset.
	UpWithin = 3 * time.Minute
	// lookEvery is the interval between checks of the cluster while something changes.
	lookEvery = 2 * time.Second
)

// Next records new findings, and returns the next step and how long to wait before the next call.
func (p Plan) Next(so Progress, look Look, now time.Time) (Progress, Step, time.Duration) {
	so = p.note(so, look, now)
	switch {
	case so.Outstanding() && (so.Failed != "" || look.PhaseOver || !now.Before(so.Stop.Add(p.Duration))):
		return so, StepUnsetNoup, 0
	case so.Failed != "", !so.Clean.IsZero(), so.Stop.IsZero() && look.PhaseOver:
		return so, StepDone, 0
	case so.Stop.IsZero() && now.Before(so.Start.Add(p.Before)):
		return so, StepWait, so.Start.Add(p.Before).Sub(now)
	case so.Stop.IsZero():
		return so, StepStop, 0
	case so.Outstanding() && so.Down.IsZero():
		return so, StepWait, min(lookEvery, so.Stop.Add(p.Duration).Sub(now))
	case so.Outstanding():
		return so, StepWait, so.Stop.Add(p.Duration).Sub(now)
	}
	return so, StepWait, lookEvery
}

// note adds the findings of a look to the progress.
func (p Plan) note(so Progress, look Look, now time.Time) Progress {
	if so.Failed != "" {
		return so
	}
	up, known := p.up(look.OSDMap)
	if known && !so.Stop.IsZero() && so.Down.IsZero() && up == 0 && look.OSDMapAt.After(so.Stop) {
		so.Down = look.OSDMapAt
	}
	so = p.noteBackfill(so, look)
	if known && !so.NoupUnset.IsZero() && so.Up.IsZero() && up == len(p.OSDs) && look.OSDMapAt.After(so.NoupUnset) {
		so.Up = look.OSDMapAt
	}
	if !so.Up.IsZero() && so.Clean.IsZero() {
		so.Clean = wholeFrom(look.Samples, so)
	}
	so.Failed = p.failure(so, look, now)
	return so
}

// noteBackfill records when the OSDs are out and when the backfill has ended, if the plan expects a
// backfill.
func (p Plan) noteBackfill(so Progress, look Look) Progress {
	if !p.Backfill || !so.Outstanding() {
		return so
	}
	if i := slices.IndexFunc(look.Samples, func(s quiescence.Sample) bool {
		return s.Time.After(so.Stop) && s.Status.InOSDs <= look.InBefore-len(p.OSDs)
	}); i >= 0 && so.Out.IsZero() {
		so.Out = look.Samples[i].Time
	}
	if !so.Out.IsZero() && so.Backfilled.IsZero() {
		so.Backfilled = cleanFrom(look.Samples, so.Out)
	}
	return so
}

// failure returns the reason why the outage cannot be measured; "" if it still can be.
func (p Plan) failure(so Progress, look Look, now time.Time) string {
	if so.Stop.IsZero() {
		return p.failureBefore(so, look, now)
	}
	if other := p.otherDown(look.OSDMap); other >= 0 {
		return fmt.Sprintf("osd.%d went down, but the benchmark did not stop it", other)
	}
	if so.NoupUnset.IsZero() {
		return p.failureOfOutage(so, look, now)
	}
	return p.failureAfter(so, look, now)
}

func (p Plan) failureBefore(so Progress, look Look, now time.Time) string {
	switch {
	case look.PhaseOver:
		return "the phase ended before the OSDs were to be stopped"
	case now.Sub(so.Start.Add(p.Before)) > lateAfter:
		return fmt.Sprintf("the OSDs were due to stop %v into the phase, and had not stopped %v later", p.Before, lateAfter)
	}
	return ""
}

func (p Plan) failureOfOutage(so Progress, look Look, now time.Time) string {
	switch {
	case so.Down.IsZero() && now.Sub(so.Stop) > downWithin:
		return fmt.Sprintf("not all OSDs went down within %v: Ceph ignored the command, or they came up again", downWithin)
	case look.PhaseOver:
		return "the phase ended while the OSDs were down"
	case p.cameUpEarly(so, look):
		return "an OSD came up before the outage was over: something may have unset its flag noup"
	case p.Backfill && so.Out.IsZero() && !now.Before(so.Stop.Add(p.Duration)):
		// Ceph waits longer than mon_osd_down_out_interval for OSDs that were down before
		// (mon_osd_adjust_down_out_interval). While all OSDs of a rack or larger CRUSH bucket are down
		// (mon_osd_down_out_subtree_limit), Ceph does not mark them out at all.
		return "Ceph did not mark all of the OSDs out during the outage, so it moved no data: make the outage longer, " +
			"or check mon_osd_down_out_subtree_limit"
	}
	return ""
}

// cameUpEarly reports whether too many OSDs were up in a sample during the outage.
func (p Plan) cameUpEarly(so Progress, look Look) bool {
	if so.Down.IsZero() || look.UpBefore == 0 {
		return false
	}
	return slices.ContainsFunc(look.Samples, func(s quiescence.Sample) bool {
		return s.Time.After(so.Down) && s.Status.UpOSDs > look.UpBefore-len(p.OSDs)
	})
}

func (p Plan) failureAfter(so Progress, look Look, now time.Time) string {
	switch {
	case so.Up.IsZero() && now.Sub(so.NoupUnset) > UpWithin:
		return fmt.Sprintf("not all OSDs came up within %v: look at their pods", UpWithin)
	case so.Clean.IsZero() && look.PhaseOver:
		return "the phase ended before all placement groups were clean: make the phase longer, or lower its rate"
	case !so.Clean.IsZero() && !wasUnclean(look.Samples, so):
		return "no placement group lacked a copy while the OSDs were down: check that they store data"
	}
	return ""
}

// up counts the plan's OSDs that are up.
func (p Plan) up(m *ceph.OSDMap) (count int, known bool) {
	if m == nil {
		return 0, false
	}
	for _, osd := range m.OSDs {
		if osd.Up && slices.Contains(p.OSDs, osd.ID) {
			count++
		}
	}
	return count, true
}

// otherDown returns the ID of a down OSD that does not belong to the plan, or -1.
func (p Plan) otherDown(m *ceph.OSDMap) int {
	if m == nil {
		return -1
	}
	for _, osd := range m.OSDs {
		if !osd.Up && !slices.Contains(p.OSDs, osd.ID) {
			return osd.ID
		}
	}
	return -1
}

// wholeFrom returns when all placement groups were clean again after the OSDs came up; zero if they are not
// yet. After a backfill, the placement groups were already clean without the OSDs. Once the OSDs are up, Ceph
// still reports them as clean for some seconds, before it reports the data that it moves back to the OSDs. So
// after a backfill, wholeFrom begins at the first sample that is not clean, or at Up if PeeringGrace passes
// without such a sample.
func wholeFrom(samples []quiescence.Sample, so Progress) time.Time {
	from := so.Up
	if so.Backfilled.IsZero() {
		return cleanFrom(samples, from)
	}
	if i := slices.IndexFunc(samples, func(s quiescence.Sample) bool {
		return s.Time.After(so.Up) && !s.Status.AllClean()
	}); i >= 0 {
		from = samples[i].Time
	} else if len(samples) == 0 || samples[len(samples)-1].Time.Sub(so.Up) < quiescence.PeeringGrace {
		return time.Time{}
	}
	return cleanFrom(samples, from)
}

// cleanFrom ignores samples from before a given time. In the others, it finds two consecutive samples in which
// all placement groups are clean. It returns the time of the first of these two samples; zero if they do not
// exist. One sample does not suffice, because Ceph may report all placement groups as clean for a moment
// between two kinds of recovery.
func cleanFrom(samples []quiescence.Sample, from time.Time) time.Time {
	var first time.Time
	for _, s := range samples {
		switch {
		case s.Time.Before(from):
		case !s.Status.AllClean():
			first = time.Time{}
		case first.IsZero():
			first = s.Time
		default:
			return first
		}
	}
	return time.Time{}
}

// wasUnclean reports whether, in any sample between the stop and Clean, placement groups were not
// clean.
func wasUnclean(samples []quiescence.Sample, so Progress) bool {
	return slices.ContainsFunc(samples, func(s quiescence.Sample) bool {
		return s.Time.After(so.Stop) && !s.Time.After(so.Clean) && !s.Status.AllClean()
	})
}
