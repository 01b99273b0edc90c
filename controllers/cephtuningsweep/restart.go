package cephtuningsweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// startWithin is how long an OSD may take to end and to start.
const startWithin = 5 * time.Minute

// restartMemory is how far the restarts of OSDs are. Whoever does not know it restarts
// all of them once more.
type restartMemory struct {
	began time.Time
	so    tuning.Restarts
}

// mayRestart reports whether the sweep asks for restarts, and the administrator allows
// them.
func (f facts) mayRestart() bool {
	return f.sweep.Spec.Guardrails.OSDRestarts == v1alpha1.RestartAllow && f.cluster.RestartOSDs
}

// restartForRun restarts the OSDs that do not run with the configuration yet.
func (r *Reconciler) restartForRun(ctx context.Context, seen facts) (effect, error) {
	slot := &seen.memory.slot
	waits, err := r.restartOSDs(ctx, seen, slot.want, &slot.restarts)
	if late, is := errors.AsType[*lateError](err); is {
		return r.without(ctx, seen, sweepspec.Evidence{Failure: late.Error()})
	}
	if err != nil {
		return effect{}, err
	}
	if waits == "" {
		slot.started = true
		return effect{again: time.Millisecond}, nil
	}
	return effect{outcome: seen.settling(waits)}, nil
}

// lateError says that OSDs have not all started in time.
type lateError struct{ message string }

// Error implements error.
func (e *lateError) Error() string { return e.message }

// restartOSDs restarts all OSDs, one after another, where some change is taken only when
// they start: each only when all PGs are clean and stay available without it. It says what
// it waits for; "" once all have started.
//
// It does so before every run, whatever was changed for it: caches are as cold in one
// configuration as in another.
func (r *Reconciler) restartOSDs(ctx context.Context, seen facts, changes []tuning.Change, memory *restartMemory) (string, error) {
	to, err := r.connect(ctx, seen)
	if err != nil {
		return "", err
	}
	about, err := r.known(ctx, seen, to.Observer)
	if err != nil || len(tuning.TakenAtStart(changes, about)) == 0 {
		return "", err
	}
	osdMap, err := r.Ceph.OSDMap(ctx, to.Observer)
	if err != nil {
		return "", err
	}
	status, err := r.Ceph.Status(ctx, to.Observer)
	if err != nil {
		return "", err
	}
	if memory.began.IsZero() {
		memory.began, memory.so = seen.now, tuning.Restarts{Since: osdMap.Epoch}
	}
	due, down := memory.so.Due(osdMap)
	unrest, limit := tuning.Unrest(status), time.Duration(len(osdMap.OSDs))*startWithin
	switch next := memory.so.Next(osdMap); {
	case len(due) == 0 && len(down) == 0 && unrest == "":
		return "", nil
	case seen.now.Sub(memory.began) > limit:
		return "", &lateError{fmt.Sprintf("Not all OSDs have been restarted within %v. %s", limit, describe(due, down, unrest))}
	case unrest != "" || next < 0:
		return describe(due, down, unrest), nil
	default:
		return r.restartOne(ctx, seen, next, &memory.so)
	}
}

// describe is what restarts wait for.
func describe(due, down []int, unrest string) string {
	var texts []string
	if len(down) > 0 {
		texts = append(texts, names(down)+" to come up")
	}
	if unrest != "" {
		texts = append(texts, "the cluster to be at rest: "+unrest)
	}
	if len(texts) == 0 {
		texts = append(texts, names(due)+" to be restarted")
	}
	return "Restarting OSDs. Waiting for " + strings.Join(texts, ", and for ") + "."
}

func names(osds []int) string {
	var texts []string
	for _, id := range slices.Sorted(slices.Values(osds)) {
		texts = append(texts, fmt.Sprintf("osd.%d", id))
	}
	return strings.Join(texts, ", ")
}

// restartOne restarts one OSD, if the cluster can spare it.
func (r *Reconciler) restartOne(ctx context.Context, seen facts, osd int, so *tuning.Restarts) (string, error) {
	to, err := r.connect(ctx, seen)
	if err != nil {
		return "", err
	}
	stop, err := r.Ceph.OKToStop(ctx, to.Observer, osd)
	if err != nil {
		return "", err
	}
	if !stop.OK {
		return fmt.Sprintf("Restarting OSDs. Waiting until the cluster can spare osd.%d. %s", osd, sentence(stop.Reason)), nil
	}
	if _, err := r.fence(ctx, seen); err != nil {
		return "", err
	}
	if err := r.Rook.RestartOSD(ctx, seen.sweep.Spec.ClusterRef, osd); err != nil {
		return "", err
	}
	so.Last = osd
	so.Told++
	return fmt.Sprintf("Restarting osd.%d.", osd), nil
}
