package quiescence

import (
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

const (
	// PeeringGrace is how long placement groups may be inactive after OSDs went down or came
	// up: they agree within a second or two, and Ceph reports it up to seven seconds late.
	PeeringGrace = 20 * time.Second
	// recoveryTail is how long Ceph still reports a recovery that is over: rates and warnings
	// lag by some seconds.
	recoveryTail = 20 * time.Second
	// lookTime is how long a look at the cluster takes at most: what is seen may be of so
	// much after the time that a sample bears, which is when it was asked for.
	lookTime = 5 * time.Second
)

// Outage is a benchmark's own outage. Only its effects are expected.
type Outage struct {
	// OSDs is how many are down at most, of UpOSDs and InOSDs that were up and in before.
	OSDs, UpOSDs, InOSDs int
	// Begin is when noup was set, Stop when the OSDs were marked down, NoupUnset when noup was
	// unset, Up when the OSDs were seen up, and Clean when the cluster was whole. Each is zero
	// until then.
	Begin, Stop, NoupUnset, Up, Clean time.Time
	// Out says that Ceph is meant to mark them out and move their data.
	Out bool
}

// OutageWarnings are the health codes that OSDs bring up which are down or recover.
func OutageWarnings() []string {
	return []string{"OBJECT_MISPLACED", "OSD_DOWN", "OSD_FLAGS", "OSD_HOST_DOWN", "PG_DEGRADED", "SLOW_OPS"}
}

// covers reports whether an observation at a time may be an effect of the outage.
func (d *Outage) covers(at time.Time) bool {
	return d != nil && !d.Begin.IsZero() && !at.Before(d.Begin.Add(-lookTime)) && (d.Clean.IsZero() || !at.After(d.Clean.Add(recoveryTail)))
}

// peers reports whether placement groups may be inactive at a time.
func (d *Outage) peers(at time.Time) bool {
	for _, change := range []time.Time{d.Stop, d.NoupUnset} {
		if !change.IsZero() && !at.Before(change.Add(-lookTime)) && at.Sub(change) <= PeeringGrace {
			return true
		}
	}
	return false
}

// warnings are the codes that are expected at a time.
func (d *Outage) warnings(at time.Time) []string {
	switch {
	case !d.covers(at):
		return nil
	case d.peers(at) || d.Out:
		return append(OutageWarnings(), "PG_AVAILABILITY")
	}
	return OutageWarnings()
}

// remainder is what of some disturbances is not the outage's. A change of OSDs that it
// does not explain is worse than it would be without it: another copy of the same data may
// be gone.
func (d *Outage) remainder(previous *Sample, sample Sample, all []seen) []seen {
	at := sample.Time
	if !d.covers(at) {
		return all
	}
	// Where data is moved, placement groups peer when they begin with it and when they have
	// done it. Two looks in a row are more than that takes.
	moves := d.Out && !hasInactive(previous)
	all = slices.DeleteFunc(all, func(s seen) bool {
		return s.kind == KindRecovery || s.kind == KindOSDChange || s.kind == KindInactivePGs && (moves || d.peers(at))
	})
	if why := d.unexplained(at, sample.Status); why != "" {
		all = append(all, seen{kind: KindOSDChange, action: v1alpha1.DisturbanceAbort, atOnce: true, message: why})
	}
	return all
}

func hasInactive(s *Sample) bool {
	return s != nil && s.Status.CountPGs(ceph.PGState.IsInactive) > 0
}

// unexplained describes missing OSDs that are not those of the outage. Once those are up
// again, all have to be: otherwise another OSD that fails during the recovery would pass for
// one of them.
func (d *Outage) unexplained(at time.Time, status *ceph.Status) string {
	down, in := d.OSDs, d.InOSDs
	if !d.Up.IsZero() && at.After(d.Up) {
		down = 0
	}
	if d.Out {
		in -= d.OSDs
	}
	if status.UpOSDs >= d.UpOSDs-down && status.InOSDs >= in {
		return ""
	}
	return fmt.Sprintf("%d OSDs are up and %d in of %d, while %d that the benchmark has stopped may be missing of %d",
		status.UpOSDs, status.InOSDs, status.OSDs, down, d.UpOSDs)
}
