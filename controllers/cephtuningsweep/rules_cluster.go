package cephtuningsweep

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// failInOtherCluster ends a sweep whose CephCluster is now another Ceph cluster.
func failInOtherCluster(seen facts) (plan, bool) {
	return fail(v1alpha1.ReasonClusterChanged, seen.otherCeph+". Change runID to start over on it."), seen.otherCeph != ""
}

func waitForCluster(seen facts) (plan, bool) {
	if seen.rookErr == nil {
		return plan{}, false
	}
	p := waiting(v1alpha1.ReasonClusterUnreachable, seen.rookErr.Error(), reconcile.RetryAtMost)
	return p.AtMost(seen.sweep.Spec.Quiescence.Timeout.Duration, "cluster", p.Outcome), true
}

// failAfterTrouble ends a sweep whose steps have failed for too long. Otherwise, the sweep would keep the
// lock and its settings for as long as the steps fail, even if a restore would succeed. A sweep with a verdict
// keeps the verdict, and continues its attempts to restore.
func failAfterTrouble(seen facts) (plan, bool) {
	if seen.next.Action == sweep.Conclude {
		return plan{}, false
	}
	return fail(v1alpha1.ReasonClusterUnreachable, seen.noHeadway()), seen.stuck()
}

// stuck reports whether steps have failed for too long.
func (f facts) stuck() bool {
	since := f.headway.TroubledSince
	return !since.IsZero() && f.now.Sub(since) > f.sweep.Spec.Quiescence.Timeout.Duration
}

func (f facts) noHeadway() string {
	return fmt.Sprintf("The sweep made no progress for %v: %v", f.sweep.Spec.Quiescence.Timeout.Duration, errors.Join(f.headway.Trouble, f.rookErr))
}

// failAfterUpgrade ends a sweep if Ceph is being upgraded, or if the version of Rook or Ceph has changed
// since the plan was made. It does not compare a version that was or is unknown, nor Ceph's version if it
// differed between daemons when the plan was made. It does not end a sweep with a verdict, which needs no more
// runs.
func failAfterUpgrade(seen facts) (plan, bool) {
	before := seen.sweep.Status.Environment
	if before == nil || seen.unplanned() || seen.next.Action == sweep.Conclude {
		return plan{}, false
	}
	var change string
	switch now := seen.rook; {
	case now.Image != "" && now.RunningImage != "" && now.Image != now.RunningImage:
		change = fmt.Sprintf("Ceph is being upgraded from image %s to %s", now.RunningImage, now.Image)
	case before.RookVersion != "" && now.RookVersion != "" && now.RookVersion != before.RookVersion:
		change = fmt.Sprintf("Rook was upgraded from %s to %s", before.RookVersion, now.RookVersion)
	case before.CephVersion != "" && before.CephVersion != "mixed" && len(now.CephVersions) > 0 && (len(now.CephVersions) > 1 || now.CephVersions[before.CephVersion] == 0):
		change = fmt.Sprintf("Ceph's daemons changed from version %s to %s", before.CephVersion, strings.Join(slices.Sorted(maps.Keys(now.CephVersions)), " and "))
	default:
		return plan{}, false
	}
	return fail(v1alpha1.ReasonClusterChanged, change+": earlier and later runs cannot be compared. Change runID to start over after the upgrade."), true
}

// outOfWindow reports whether a closed spec.maintenanceWindow keeps a run from beginning. A run whose benchmark exists
// continues to its end.
func (f facts) outOfWindow() bool {
	return !f.open && f.child == nil && f.next.Action != sweep.Conclude && f.sweep.Spec.Mode != v1alpha1.SweepModePlan
}

// underWay reports whether the sweep has anything that must not last until spec.maintenanceWindow opens again: changed
// settings, the lock, or a partly measured block.
func (f facts) underWay() bool {
	_, begun := sweepspec.Interrupt(f.next)
	return f.changedCeph() || f.memory.lock != nil || begun
}

func waitForWindow(seen facts) (plan, bool) {
	return plan{
		Step: reconcile.StepWait, Again: seen.opens.Sub(seen.now) + time.Second, Progress: "waiting for the window",
		Outcome: kstatus.Outcome{
			Reason:  v1alpha1.ReasonWaitingForWindow,
			Message: fmt.Sprintf("Changes may start from %s on.", seen.opens.UTC().Format(time.RFC3339)),
		},
	}, seen.outOfWindow()
}

// yieldToOther leaves the lock to a sweep that has changed the cluster. Without the lock, that sweep could
// not restore, and both sweeps would wait forever. The other sweep may have lost the lock because the manager
// was down until the lock expired.
func yieldToOther(seen facts) (plan, bool) {
	if !seen.otherIsThere || seen.sweep.Spec.Mode == v1alpha1.SweepModePlan {
		return plan{}, false
	}
	return plan{Step: stepYield, Again: seen.pace.Settle, Outcome: kstatus.Outcome{
		Reason: v1alpha1.ReasonQueued, Message: fmt.Sprintf("Sweep %s has not restored everything yet.", seen.journal.Sweep),
	}}, true
}

func takeLock(seen facts) (plan, bool) {
	return plan{Step: reconcile.StepLock, Again: reconcile.AtOnce}, !seen.locked && seen.sweep.Spec.Mode != v1alpha1.SweepModePlan
}
