package cephtuningsweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

const (
	// startWithin limits how long a restarting OSD may be down. upWithin returns a shorter limit if Ceph
	// marks OSDs out in less than ten minutes.
	startWithin = 5 * time.Minute
	// backOff is Kubernetes' maximum delay before it restarts a crashed container. An OSD whose value was
	// restored may start up to this much later.
	backOff = 5 * time.Minute
)

// upWithin returns how long a restarting OSD may be down. After lostAfter, Ceph would mark the OSD out and
// move data. The result is at most half of lostAfter, so that the other half is enough to restore the value
// and start the OSD with it. With Ceph's default of ten minutes, upWithin returns startWithin.
func upWithin(lostAfter time.Duration) time.Duration {
	if lostAfter == 0 { // Ceph never marks OSDs out.
		return startWithin
	}
	return min(startWithin, lostAfter/2)
}

// restartMemory is the progress of OSD restarts. After a loss of this memory, the manager restarts all OSDs
// again.
type restartMemory struct {
	began    time.Time
	progress tuning.Restarts
	// startedAt is when the latest restart of an OSD began. The field within limits how long an OSD may be down
	// after its restart began.
	startedAt time.Time
	within    time.Duration
	// refused says why the cluster could not spare the next OSD at the last check.
	refused string
}

// restartLook is the state of the OSD restarts in one pass.
type restartLook struct {
	// due lists the OSDs that are up but have not restarted yet. down lists the OSDs that are down. osds is the
	// number of all OSDs.
	due, down  []int
	osds       int
	next       int // the OSD to restart now; -1 for none
	connection ceph.Connection
	osdMap     *ceph.OSDMap
	status     *ceph.Status
	unrest     string
}

func (l restartLook) done() bool { return len(l.due) == 0 && len(l.down) == 0 && l.unrest == "" }

// stopped returns the number of OSDs that are down because of a restart: 0 or 1.
func (m *restartMemory) stopped(l restartLook) int {
	if m.progress.Started > 0 && slices.Contains(l.down, m.progress.Last) {
		return 1
	}
	return 0
}

// awaits reports whether the last restarted OSD still has to come up: it is down, or has not stopped yet.
func (m *restartMemory) awaits(l restartLook) bool {
	return m.stopped(l) > 0 || m.progress.Started > 0 && slices.Contains(l.due, m.progress.Last)
}

// overdue reports whether the last restarted OSD has not come up in time after its restart began. The new
// value may keep the OSD from starting.
func (m *restartMemory) overdue(now time.Time, l restartLook) bool {
	return m.awaits(l) && now.Sub(m.startedAt) > m.within
}

// limit returns the maximum time for all restarts together.
func (m *restartMemory) limit(l restartLook) time.Duration {
	return time.Duration(l.osds) * startWithin
}

// late reports whether the restarts have taken longer than limit allows.
func (m *restartMemory) late(now time.Time, l restartLook) bool {
	return now.Sub(m.began) > m.limit(l)
}

// vain reports whether OSDs have had enough time to start with their original values, so that waiting longer
// is useless.
func (m *restartMemory) vain(now time.Time, l restartLook) bool {
	since := m.began
	if m.startedAt.After(since) {
		since = m.startedAt
	}
	missing := len(l.down) > 0 || m.awaits(l)
	return missing && now.Sub(since) > startWithin+backOff || now.Sub(m.began) > m.limit(l)+backOff
}

// mayRestart reports whether the sweep requests OSD restarts and the administrator allows them.
func (f facts) mayRestart() bool {
	return f.sweep.Spec.Guardrails.OSDRestarts == v1alpha1.RestartAllow && f.cluster.RestartOSDs
}

// restartForRun restarts all OSDs, one by one, if they take a value of the configuration only when they
// start. It does so before every run, even if no value has changed, so that caches are equally cold for all
// configurations. If an OSD does not come up, the sweep ends, so that the OSD's original value is restored.
func (r *Reconciler) restartForRun(ctx context.Context, seen pass) (effect, error) {
	current := &seen.memory.trial
	changes, err := r.takenAtStart(ctx, seen, current.want)
	if err != nil {
		return effect{}, err
	}
	if len(changes) == 0 {
		current.started = true
		return effect{Again: reconcile.AtOnce}, nil
	}
	memory := &current.restarts
	look, err := r.observeRestarts(ctx, seen, memory)
	if err == nil {
		err = r.endangeredByRestarts(ctx, seen, look, changes)
	}
	if danger, found := errors.AsType[*dangerError](err); found {
		return seen.endsFor(v1alpha1.ReasonClusterUnhealthy, danger.Error()), nil
	}
	switch {
	case err != nil:
		return effect{}, err
	case look.done():
		current.started = true
		return effect{Again: reconcile.AtOnce}, nil
	case memory.late(seen.now, look):
		return r.without(ctx, seen, sweepspec.Evidence{
			Failure: fmt.Sprintf("Restarting all OSDs took more than %v. Last waited for %s.", memory.limit(look), memory.pending(look)),
		})
	}
	waits, err := r.restartNext(ctx, seen, look, memory)
	return effect{Outcome: seen.settling(waits)}, err
}

// takenAtStart returns the changes that OSDs take only when they start. The changes may come from another
// sweep or an earlier spec, so it also reads `ceph config help` of options that the survey does not have.
func (r *Reconciler) takenAtStart(ctx context.Context, seen pass, changes []tuning.Change) ([]tuning.Change, error) {
	options := tuning.HelpFor(tuning.SettingsOf(changes))
	if len(options) == 0 {
		return nil, nil
	}
	connection, known, err := r.knownNow(ctx, seen)
	if err != nil {
		return nil, err
	}
	help := maps.Clone(known.Help)
	for _, option := range options {
		if _, asked := help[option]; asked {
			continue
		}
		described, err := r.Ceph.ConfigHelp(ctx, connection, option)
		if err != nil {
			return nil, err
		}
		help[option] = *described
	}
	known.Help = help
	return tuning.TakenAtStart(changes, known), nil
}

// observeRestarts reads the progress of restarts. If the parameter memory is empty, observeRestarts sets it so
// that only restarts from now on count. It restarts no OSD itself.
func (r *Reconciler) observeRestarts(ctx context.Context, seen pass, memory *restartMemory) (restartLook, error) {
	cluster, err := r.connect(ctx, seen)
	if err != nil {
		return restartLook{}, err
	}
	osdMap, err := r.Ceph.OSDMap(ctx, cluster.Observer)
	if err != nil {
		return restartLook{}, err
	}
	status, err := r.Ceph.Status(ctx, cluster.Observer)
	if err != nil {
		return restartLook{}, err
	}
	if memory.began.IsZero() {
		config, err := r.Ceph.ConfigDump(ctx, cluster.Observer)
		if err != nil {
			return restartLook{}, err
		}
		*memory = restartMemory{began: seen.now, progress: tuning.Restarts{Since: osdMap.Epoch}, within: upWithin(outage.LostAfter(config))}
	}
	look := restartLook{connection: cluster.Observer, osds: len(osdMap.OSDs), next: memory.progress.Next(osdMap), osdMap: osdMap, status: status, unrest: tuning.Unrest(status)}
	look.due, look.down = memory.progress.Due(osdMap)
	return look, nil
}

// endangeredByRestarts returns a *dangerError if the last restarted OSD has not come up in time, or if
// endangeredByChange finds a danger.
func (r *Reconciler) endangeredByRestarts(ctx context.Context, seen pass, l restartLook, changes []tuning.Change) error {
	progress := &seen.memory.trial.restarts
	if !progress.overdue(seen.now, l) {
		return r.endangeredByChange(ctx, seen, l.connection, l.status, progress.stopped(l))
	}
	var options []string
	for _, change := range changes {
		options = append(options, change.String())
	}
	return &dangerError{message: fmt.Sprintf("osd.%d has not come up %v after its restart with %s: `kubectl -n %s logs deployment/rook-ceph-osd-%[1]d` may say why",
		progress.progress.Last, progress.within, strings.Join(options, ", "), seen.sweep.Spec.ClusterRef.Namespace)}
}

// restartNext restarts the next OSD, if the cluster is quiescent and can spare that OSD. It returns which OSD
// it restarts, or which condition it waits for.
func (r *Reconciler) restartNext(ctx context.Context, seen pass, look restartLook, memory *restartMemory) (string, error) {
	if look.unrest != "" || look.next < 0 {
		return "Restarting OSDs. Waiting for " + memory.pending(look) + ".", nil
	}
	return r.restartOne(ctx, seen, look, memory)
}

// pending says which conditions the restarts wait for.
func (m *restartMemory) pending(l restartLook) string {
	var texts []string
	if len(l.down) > 0 {
		texts = append(texts, ceph.OSDNames(l.down)+" to come up")
	}
	if l.unrest != "" {
		texts = append(texts, "the cluster to be quiescent: "+l.unrest)
	}
	switch {
	case len(texts) > 0:
	case m.awaits(l):
		texts = append(texts, ceph.OSDNames([]int{m.progress.Last})+" to go down")
	case m.refused != "":
		texts = append(texts, "the cluster to spare "+ceph.OSDNames([]int{l.next})+": "+m.refused)
	default:
		texts = append(texts, ceph.OSDNames(l.due)+" to be restarted")
	}
	return strings.Join(texts, ", and for ")
}

// restartOne restarts the next OSD, if the cluster can spare that OSD.
func (r *Reconciler) restartOne(ctx context.Context, seen pass, look restartLook, memory *restartMemory) (string, error) {
	osd := look.next
	reason, err := r.whyNotSpare(ctx, look)
	if err != nil {
		return "", err
	}
	if memory.refused = strings.TrimSuffix(reason, "."); reason != "" {
		return fmt.Sprintf("Restarting OSDs. Waiting until the cluster can spare osd.%d. %s", osd, sentence(reason)), nil
	}
	if _, err := r.lockOf(seen).Fence(ctx); err != nil {
		return "", err
	}
	if err := r.Rook.RestartOSD(ctx, seen.sweep.Spec.ClusterRef, osd); err != nil {
		return "", err
	}
	memory.progress.Last, memory.startedAt, memory.refused = osd, seen.now, ""
	memory.progress.Started++
	return fmt.Sprintf("Restarting osd.%d.", osd), nil
}

// whyNotSpare says why the cluster cannot spare the next OSD now; "" if it can. Both the placement groups (see
// [outage.Unavailable]) and `ceph osd ok-to-stop` must allow the stop.
func (r *Reconciler) whyNotSpare(ctx context.Context, look restartLook) (string, error) {
	pgs, err := r.Ceph.PGsOn(ctx, look.connection, look.next)
	if err != nil {
		return "", err
	}
	if reason := outage.Unavailable(look.osdMap, pgs, []int{look.next}); reason != "" {
		return reason, nil
	}
	stop, err := r.Ceph.OKToStop(ctx, look.connection, look.next)
	if err != nil || stop.OK {
		return "", err
	}
	return cmp.Or(stop.Reason, "Ceph says that it is not ok to stop"), nil
}

// restartAgain restarts all OSDs, at most one in each call, if they take a restored value only when they start:
// until then, they may run with a value of the sweep. The result waits says which OSD it restarts, or which
// condition it waits for. The result left names the OSDs that a person has to restart, because restartAgain
// could not restart them.
func (r *Reconciler) restartAgain(ctx context.Context, seen pass, report tuning.Report) (waits, left string, err error) {
	if !seen.mayRestart() {
		left, err = r.unrestarted(ctx, seen, report, "the sweep may no longer restart OSDs")
		return "", left, err
	}
	changes, err := r.takenAtStart(ctx, seen, back(report))
	if err != nil || len(changes) == 0 {
		return "", "", err
	}
	memory := &seen.memory.restoring.restarts
	look, err := r.observeRestarts(ctx, seen, memory)
	switch {
	case err != nil:
		return "", "", err
	case look.done():
		return "", "", nil
	case memory.vain(seen.now, look):
		return "", seen.notRestarted(changes, look, "waited too long for "+memory.pending(look)), nil
	}
	if danger := quiescence.DangerDuringRestart(look.status, memory.stopped(look)); danger != nil {
		return "Restarting OSDs. Waiting until the cluster is out of danger: " + sentence(danger.Message), "", nil
	}
	waits, err = r.restartNext(ctx, seen, look, memory)
	return waits, "", err
}

// unrestarted names all OSDs, because each may still run with the sweep's values: it may not have restarted since
// the restore. It returns "" if OSDs take all restored values while they run.
func (r *Reconciler) unrestarted(ctx context.Context, seen pass, report tuning.Report, reason string) (string, error) {
	changes, err := r.takenAtStart(ctx, seen, back(report))
	if err != nil || len(changes) == 0 {
		return "", err
	}
	// With an empty memory, only restarts from now on count, so all OSDs are due.
	look, err := r.observeRestarts(ctx, seen, &restartMemory{})
	if err != nil {
		return "", err
	}
	return seen.notRestarted(changes, look, reason), nil
}

// notRestarted names the OSDs that have not restarted since the restore, and says why and what to do; "" if
// all OSDs have restarted.
func (f facts) notRestarted(changes []tuning.Change, l restartLook, reason string) string {
	if len(l.due) == 0 && len(l.down) == 0 {
		return ""
	}
	var options []string
	for _, change := range changes {
		options = append(options, change.Setting.Option)
	}
	text := fmt.Sprintf("OSDs read %s only when they start, and not all have restarted since the restore (%s).", strings.Join(options, ", "), reason)
	if len(l.due) > 0 {
		text += fmt.Sprintf(" These may still run with the sweep's value: %s. Restart them one by one, each when all PGs are active+clean and `ceph osd ok-to-stop ID` agrees: `kubectl -n "+
			"%s delete pod -l app=rook-ceph-osd,ceph-osd-id=ID`.",
			someNames(l.due), f.sweep.Spec.ClusterRef.Namespace)
	}
	if len(l.down) > 0 {
		text += fmt.Sprintf(" These are down, and will start with the original value: %s.", someNames(l.down))
	}
	return text
}

// maxNames is the maximum number of OSDs that someNames names, so that the message has room for advice.
const maxNames = 16

func someNames(osds []int) string {
	if len(osds) <= maxNames {
		return ceph.OSDNames(osds)
	}
	return fmt.Sprintf("%s and %d more", ceph.OSDNames(osds[:maxNames]), len(osds)-maxNames)
}
