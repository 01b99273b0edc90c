package quiescence

import (
	"fmt"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// RemovalWait is the longest time that a run waits until OSDs have removed the PGs of deleted
// pools. Most OSDs take seconds. Slow or busy disks take minutes to hours, and a benchmark
// that waited for the end might never measure.
const RemovalWait = 2 * time.Minute

// removalCode in quiescence.allowedWarnings allows runs while OSDs remove PGs. It is not a
// health code of Ceph.
const removalCode = "STRAY_PGS"

// RemovalWithin returns the longest time that a run waits until OSDs have removed PGs. It is
// never longer than the wait for a quiescent cluster.
func RemovalWithin(spec v1alpha1.Quiescence) time.Duration {
	return min(RemovalWait, spec.Timeout.Duration)
}

// WaitsForRemoval reports whether a run has to wait while OSDs remove PGs.
func WaitsForRemoval(spec v1alpha1.Quiescence) bool {
	return !matches(removalCode, allowances(spec))
}

// WaitForRemoval says why a run has to wait longer until OSDs have removed PGs, given the time that
// it has waited; "" if the run may begin, even if the removal continues.
func WaitForRemoval(strays ceph.Strays, spec v1alpha1.Quiescence, waited time.Duration) string {
	within := RemovalWithin(spec)
	if strays.PGs == 0 || !WaitsForRemoval(spec) || waited >= within {
		return ""
	}
	return fmt.Sprintf("%s; the run begins when they are removed, or after %v, marked as disturbed; to skip the wait, name %s in quiescence.allowedWarnings",
		removed(strays), within, removalCode)
}

// Removal is the wait, before one run, for PGs that OSDs are still removing. It is timed
// separately, once for each run: other waits may interrupt it, and it must not use up the time
// for the cluster to become quiescent. After a restart of the manager it begins again.
type Removal struct {
	run   int32
	since time.Time
}

// Begin records when a run begins to wait; a repeated call changes nothing.
func (w *Removal) Begin(run int32, now time.Time) {
	if w.run != run {
		*w = Removal{run: run, since: now}
	}
}

// Lasted returns how long a run has waited.
func (w Removal) Lasted(run int32, now time.Time) time.Duration {
	if w.run != run {
		return 0
	}
	return now.Sub(w.since)
}

func removed(strays ceph.Strays) string {
	return fmt.Sprintf("OSDs still remove PGs of pools that were deleted or of data that was moved (PGs: %d, OSDs: %d)", strays.PGs, strays.OSDs)
}

// removal checks whether OSDs were still removing PGs when a phase began.
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

// looksForRemoval returns the samples that have a count of stray PGs: the last one before a phase,
// and all during it. OSDs are not asked during a run, so the last sample before the run serves all
// of its phases. If the manager restarts during a run, a sample during the run may have a count
// too.
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
