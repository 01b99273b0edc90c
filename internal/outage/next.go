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
func (progress Progress) Outstanding() bool {
	return !progress.Stop.IsZero() && progress.NoupUnset.IsZero()
}

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
func (p Plan) Next(progress Progress, look Look, now time.Time) (Progress, Step, time.Duration) {
	progress = p.note(progress, look, now)
	switch {
	case progress.Outstanding() && (progress.Failed != "" || look.PhaseOver || !now.Before(progress.Stop.Add(p.Duration))):
		return progress, StepUnsetNoup, 0
	case progress.Failed != "", !progress.Clean.IsZero(), progress.Stop.IsZero() && look.PhaseOver:
		return progress, StepDone, 0
	case progress.Stop.IsZero() && now.Before(progress.Start.Add(p.Before)):
		return progress, StepWait, progress.Start.Add(p.Before).Sub(now)
	case progress.Stop.IsZero():
		return progress, StepStop, 0
	case progress.Outstanding() && progress.Down.IsZero():
		return progress, StepWait, min(lookEvery, progress.Stop.Add(p.Duration).Sub(now))
	case progress.Outstanding():
		return progress, StepWait, progress.Stop.Add(p.Duration).Sub(now)
	}
	return progress, StepWait, lookEvery
}

// note adds the findings of a look to the progress.
func (p Plan) note(progress Progress, look Look, now time.Time) Progress {
	if progress.Failed != "" {
		return progress
	}
	up, known := p.up(look.OSDMap)
	if known && !progress.Stop.IsZero() && progress.Down.IsZero() && up == 0 && look.OSDMapAt.After(progress.Stop) {
		progress.Down = look.OSDMapAt
	}
	progress = p.noteBackfill(progress, look)
	if known && !progress.NoupUnset.IsZero() && progress.Up.IsZero() && up == len(p.OSDs) && look.OSDMapAt.After(progress.NoupUnset) {
		progress.Up = look.OSDMapAt
	}
	if !progress.Up.IsZero() && progress.Clean.IsZero() {
		progress.Clean = wholeFrom(look.Samples, progress)
	}
	progress.Failed = p.failure(progress, look, now)
	return progress
}

// noteBackfill records when the OSDs are out and when the backfill has ended, if the plan expects a
// backfill.
func (p Plan) noteBackfill(progress Progress, look Look) Progress {
	if !p.Backfill || !progress.Outstanding() {
		return progress
	}
	if i := slices.IndexFunc(look.Samples, func(s quiescence.Sample) bool {
		return s.Time.After(progress.Stop) && s.Status.InOSDs <= look.InBefore-len(p.OSDs)
	}); i >= 0 && progress.Out.IsZero() {
		progress.Out = look.Samples[i].Time
	}
	if !progress.Out.IsZero() && progress.Backfilled.IsZero() {
		progress.Backfilled = cleanFrom(look.Samples, progress.Out)
	}
	return progress
}

// failure returns the reason why the outage cannot be measured; "" if it still can be.
func (p Plan) failure(progress Progress, look Look, now time.Time) string {
	if progress.Stop.IsZero() {
		return p.failureBefore(progress, look, now)
	}
	if other := p.otherDown(look.OSDMap); other >= 0 {
		return fmt.Sprintf("osd.%d went down, but the benchmark did not stop it", other)
	}
	if progress.NoupUnset.IsZero() {
		return p.failureOfOutage(progress, look, now)
	}
	return p.failureAfter(progress, look, now)
}

func (p Plan) failureBefore(progress Progress, look Look, now time.Time) string {
	switch {
	case look.PhaseOver:
		return "the phase ended before the OSDs were to be stopped"
	case now.Sub(progress.Start.Add(p.Before)) > lateAfter:
		return fmt.Sprintf("the OSDs were due to stop %v into the phase, and had not stopped %v later", p.Before, lateAfter)
	}
	return ""
}

func (p Plan) failureOfOutage(progress Progress, look Look, now time.Time) string {
	switch {
	case progress.Down.IsZero() && now.Sub(progress.Stop) > downWithin:
		return fmt.Sprintf("not all OSDs went down within %v: Ceph ignored the command, or they came up again", downWithin)
	case look.PhaseOver:
		return "the phase ended while the OSDs were down"
	case p.cameUpEarly(progress, look):
		return "an OSD came up before the outage was over: something may have unset its flag noup"
	case p.Backfill && progress.Out.IsZero() && !now.Before(progress.Stop.Add(p.Duration)):
		// Ceph waits longer than mon_osd_down_out_interval for OSDs that were down before
		// (mon_osd_adjust_down_out_interval). While all OSDs of a rack or larger CRUSH bucket are down
		// (mon_osd_down_out_subtree_limit), Ceph does not mark them out at all.
		return "Ceph did not mark all of the OSDs out during the outage, so it moved no data: make the outage longer, " +
			"or check mon_osd_down_out_subtree_limit"
	}
	return ""
}

// cameUpEarly reports whether too many OSDs were up in a sample during the outage.
func (p Plan) cameUpEarly(progress Progress, look Look) bool {
	if progress.Down.IsZero() || look.UpBefore == 0 {
		return false
	}
	return slices.ContainsFunc(look.Samples, func(s quiescence.Sample) bool {
		return s.Time.After(progress.Down) && s.Status.UpOSDs > look.UpBefore-len(p.OSDs)
	})
}

func (p Plan) failureAfter(progress Progress, look Look, now time.Time) string {
	switch {
	case progress.Up.IsZero() && now.Sub(progress.NoupUnset) > UpWithin:
		return fmt.Sprintf("not all OSDs came up within %v: look at their pods", UpWithin)
	case progress.Clean.IsZero() && look.PhaseOver:
		return "the phase ended before all placement groups were clean: make the phase longer, or lower its rate"
	case !progress.Clean.IsZero() && !wasUnclean(look.Samples, progress):
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
func wholeFrom(samples []quiescence.Sample, progress Progress) time.Time {
	start := progress.Up
	if progress.Backfilled.IsZero() {
		return cleanFrom(samples, start)
	}
	if i := slices.IndexFunc(samples, func(s quiescence.Sample) bool {
		return s.Time.After(progress.Up) && !s.Status.AllClean()
	}); i >= 0 {
		start = samples[i].Time
	} else if len(samples) == 0 || samples[len(samples)-1].Time.Sub(progress.Up) < quiescence.PeeringGrace {
		return time.Time{}
	}
	return cleanFrom(samples, start)
}

// cleanFrom ignores samples from before a given time. In the others, it finds two consecutive samples in which
// all placement groups are clean. It returns the time of the first of these two samples; zero if they do not
// exist. One sample does not suffice, because Ceph may report all placement groups as clean for a moment
// between two kinds of recovery.
func cleanFrom(samples []quiescence.Sample, start time.Time) time.Time {
	var first time.Time
	for _, s := range samples {
		switch {
		case s.Time.Before(start):
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
func wasUnclean(samples []quiescence.Sample, progress Progress) bool {
	return slices.ContainsFunc(samples, func(s quiescence.Sample) bool {
		return s.Time.After(progress.Stop) && !s.Time.After(progress.Clean) && !s.Status.AllClean()
	})
}
