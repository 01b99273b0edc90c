package quiescence

import (
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

const (
	// PeeringGrace is how long placement groups may be inactive, such as after OSDs were marked down or
	// noup was unset. Peering takes one or two seconds, and Ceph reports its end up to seven seconds late.
	PeeringGrace = 20 * time.Second
	// recoveryTail is how long Ceph may still report a recovery after its end: rates and warnings lag by
	// some seconds.
	recoveryTail = 20 * time.Second
	// lookTime is the longest time that a sample is assumed to take. A sample has the time of its
	// request, so its content may be this much later.
	lookTime = 5 * time.Second
)

// Outage describes a benchmark's own outage. Only its effects are expected.
type Outage struct {
	// OSDs is the maximum number of OSDs that are down. UpOSDs and InOSDs are the numbers of OSDs
	// that were up and in before the outage.
	OSDs, UpOSDs, InOSDs int
	// Begin is the time right before noup was set. Stop is when the OSDs were marked down, and NoupUnset
	// when noup was unset. Up is when the OSDs were seen up, and Clean when all placement groups were seen
	// clean again. Each time is zero until its moment has come.
	Begin, Stop, NoupUnset, Up, Clean time.Time
	// Out reports that Ceph is supposed to mark the OSDs out and move their data.
	Out bool
}

// OutageWarnings returns the health codes that OSDs cause while they are down or recovering.
func OutageWarnings() []string {
	return []string{"OBJECT_MISPLACED", "OSD_DOWN", "OSD_FLAGS", "OSD_HOST_DOWN", "PG_DEGRADED", "SLOW_OPS"}
}

// covers reports whether an observation at a given time may be an effect of the outage.
func (d *Outage) covers(moment time.Time) bool {
	return d != nil && !d.Begin.IsZero() && !moment.Before(d.Begin.Add(-lookTime)) && (d.Clean.IsZero() || !moment.After(d.Clean.Add(recoveryTail)))
}

// peers reports whether placement groups may be inactive at a given time because of the
// outage.
func (d *Outage) peers(moment time.Time) bool {
	for _, change := range []time.Time{d.Stop, d.NoupUnset} {
		if !change.IsZero() && !moment.Before(change.Add(-lookTime)) && moment.Sub(change) <= PeeringGrace {
			return true
		}
	}
	return false
}

// warnings returns the codes that are expected at a given time.
func (d *Outage) warnings(moment time.Time) []string {
	switch {
	case !d.covers(moment):
		return nil
	case d.peers(moment) || d.Out:
		return append(OutageWarnings(), "PG_AVAILABILITY")
	}
	return OutageWarnings()
}

// remainder returns the disturbances that the outage does not explain. If more OSDs are missing during the
// outage or its recovery than the outage explains, the run is aborted, because another copy of the same data may
// be lost.
func (d *Outage) remainder(previous *Sample, sample Sample, all []seen) []seen {
	moment := sample.Time
	if !d.covers(moment) {
		return all
	}
	// Placement groups peer at the beginning and at the end of a data movement. Peering ends before
	// the next sample, so inactive placement groups in two consecutive samples have another cause.
	moves := d.Out && !hasInactive(previous)
	all = slices.DeleteFunc(all, func(s seen) bool {
		return s.kind == KindRecovery || s.kind == KindOSDChange || s.kind == KindInactivePGs && (moves || d.peers(moment))
	})
	if reason := d.unexplained(moment, sample.Status); reason != "" {
		all = append(all, seen{kind: KindOSDChange, action: v1alpha1.DisturbanceAbort, atOnce: true, message: reason})
	}
	return all
}

func hasInactive(s *Sample) bool {
	return s != nil && s.Status.CountPGs(ceph.PGState.IsInactive) > 0
}

// unexplained describes missing OSDs that the outage does not explain; "" if it explains all. Once the OSDs
// of the outage were seen up, all OSDs have to stay up. Otherwise an OSD that fails during the recovery
// would count as one of the outage's OSDs.
func (d *Outage) unexplained(moment time.Time, status *ceph.Status) string {
	down, in := d.OSDs, d.InOSDs
	if !d.Up.IsZero() && moment.After(d.Up) {
		down = 0
	}
	if d.Out {
		in -= d.OSDs
	}
	if status.UpOSDs >= d.UpOSDs-down && status.InOSDs >= in {
		return ""
	}
	return fmt.Sprintf("%d of %[3]d OSDs are up and %[2]d are in; %[5]d were up before the outage, of which at most %[4]d may be missing",
		status.UpOSDs, status.InOSDs, status.OSDs, down, d.UpOSDs)
}
