package quiescence

import (
	"fmt"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// RemovalWait is for how long a run waits at most until OSDs have removed the PGs of deleted
// pools. Most have within seconds; on slow or busy disks, it takes from minutes to hours, and
// a benchmark that waited for all of it would never measure.
const RemovalWait = 2 * time.Minute

// removalCode in quiescence.allowedWarnings says that PGs may be removed meanwhile. Ceph
// itself does not warn of it.
const removalCode = "STRAY_PGS"

// RemovalWithin is for how long a run waits at most until OSDs have removed what they are
// to remove: no longer than for a cluster that is not quiet.
func RemovalWithin(spec v1alpha1.Quiescence) time.Duration {
	return min(RemovalWait, spec.Timeout.Duration)
}

// WaitsForRemoval reports whether it matters that OSDs still remove PGs.
func WaitsForRemoval(spec v1alpha1.Quiescence) bool {
	return !matches(removalCode, allowances(spec))
}

// WaitForRemoval says why a run that has waited this long has to wait longer for OSDs to
// remove PGs; "" if it may begin, even if they are not done.
func WaitForRemoval(strays ceph.Strays, spec v1alpha1.Quiescence, waited time.Duration) string {
	within := RemovalWithin(spec)
	if strays.PGs == 0 || !WaitsForRemoval(spec) || waited >= within {
		return ""
	}
	return fmt.Sprintf("%s; the run begins when they have, or after %v, marked as disturbed; %s in quiescence.allowedWarnings does without the wait",
		removed(strays), within, removalCode)
}

func removed(strays ceph.Strays) string {
	return fmt.Sprintf("%d OSDs still remove %d PGs of pools that were deleted or of data that was moved", strays.OSDs, strays.PGs)
}

// removal finds out whether OSDs were still removing PGs when a phase began.
func (o Observation) removal(spec v1alpha1.Quiescence) *tally {
	if !WaitsForRemoval(spec) {
		return nil
	}
	var found *tally
	for i, look := range o.looksForRemoval() {
		if look.Strays.PGs == 0 {
			continue
		}
		if found == nil {
			found = &tally{}
		}
		found.add(i, look.Time, seen{
			kind: KindStrayPGs, action: v1alpha1.DisturbanceRecord,
			message: removed(*look.Strays) + ", by the last look before the run",
		})
	}
	return found
}

// looksForRemoval returns the last sample with a count of stray PGs before a phase, and those
// during it. During a run OSDs are not asked, so the last sample before it counts for all of
// its phases; only a manager that was restarted has one from the middle of a run.
func (o Observation) looksForRemoval() []Sample {
	var looks []Sample
	for _, sample := range o.Samples {
		if sample.Strays == nil {
			continue
		}
		if sample.Time.Before(o.Start) {
			looks = looks[:0] // An earlier one says less.
		}
		looks = append(looks, sample)
	}
	return looks
}
