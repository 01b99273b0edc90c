package quiescence

import (
	"fmt"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// RemovalWait is the longest time that a run waits until OSDs have removed the PGs of deleted pools and of moved
// data. Most OSDs take seconds. Slow or busy disks take minutes to hours, and a benchmark that waited for them
// might never measure.
const RemovalWait = 2 * time.Minute

// removalCode in quiescence.allowedWarnings allows runs while OSDs remove PGs. It is not a
// health code of Ceph.
const removalCode = "STRAY_PGS"

// RemovalWithin returns the longest time that a run waits until OSDs have removed PGs. It does not exceed
// spec.Timeout, the limit of the wait for a quiescent cluster.
func RemovalWithin(spec v1alpha1.Quiescence) time.Duration {
	return min(RemovalWait, spec.Timeout.Duration)
}

// WaitsForRemoval reports whether a run has to wait while OSDs remove PGs.
func WaitsForRemoval(spec v1alpha1.Quiescence) bool {
	return !matches(removalCode, allowances(spec))
}

// WaitForRemoval says why a run has to wait longer until OSDs have removed PGs; "" if it may begin, even if
// the removal continues. The parameter waited is how long the run has waited for the removal.
func WaitForRemoval(strays ceph.Strays, spec v1alpha1.Quiescence, waited time.Duration) string {
	within := RemovalWithin(spec)
	if strays.PGs == 0 || !WaitsForRemoval(spec) || waited >= within {
		return ""
	}
	return fmt.Sprintf("%s; the run begins when they are removed, or after %v, marked as disturbed; to skip the wait, name %s in quiescence.allowedWarnings",
		removed(strays), within, removalCode)
}

// Removal is the wait of a run until OSDs have removed PGs. It is timed separately, because other waits may
// interrupt it, and because it must not use up the time for the cluster to become quiescent. After a
// restart of the manager it begins again.
type Removal struct {
	run   int32
	since time.Time
}

// Begin records when a run begins to wait. A repeated call for the same run changes nothing.
func (w *Removal) Begin(run int32, now time.Time) {
	if w.run != run {
		*w = Removal{run: run, since: now}
	}
}

// Lasted returns the time since a run began to wait, including other waits in between; 0 if it has not begun.
func (w Removal) Lasted(run int32, now time.Time) time.Duration {
	if w.run != run {
		return 0
	}
	return now.Sub(w.since)
}

func removed(strays ceph.Strays) string {
	return fmt.Sprintf("OSDs still remove PGs of pools that were deleted or of data that was moved (PGs: %d, OSDs: %d)", strays.PGs, strays.OSDs)
}

// removal checks whether OSDs were still removing PGs when a phase began, or during the phase.
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
			message: removed(*look.Strays) + ", in the last sample before the run",
		})
	}
	return found
}

// looksForRemoval returns the samples that have a count of stray PGs: the last such sample before a phase,
// and all such samples during it. Usually, samples during a run have no count, so the last sample before
// the run serves all of its phases. A sample during a run may have a count after the manager was restarted.
func (o Observation) looksForRemoval() []Sample {
	var looks []Sample
	for _, sample := range o.Samples {
		if sample.Strays == nil {
			continue
		}
		if sample.Time.Before(o.Start) {
			looks = looks[:0] // The latest sample before the phase replaces earlier ones.
		}
		looks = append(looks, sample)
	}
	return looks
}
