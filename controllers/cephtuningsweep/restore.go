package cephtuningsweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// restoreAndRelease carries out one part of the restore. After the last part, it also records how the sweep
// continues, because another holder could take the lock before the next pass.
func (r *Reconciler) restoreAndRelease(ctx context.Context, seen pass, p plan) (effect, error) {
	concluded, err := seen.concluded(p)
	if err != nil {
		return effect{}, err
	}
	if p.Detail.part != partEndSwitching {
		seen.noteRestore(p.Detail.then)
		r.renewLock(ctx, seen)
	}
	result, done, err := r.restorePart(ctx, seen, p)
	switch {
	case err != nil:
		return effect{Edit: concluded}, err
	case done && p.Detail.part.isLast():
		after, err := r.afterRestore(ctx, seen, p)
		if err != nil { // An abandoned restore happens once, so its outcome must not be lost.
			return effect{Edit: inTurn(concluded, result.Edit), Events: result.Events}, err
		}
		seen.memory.restoring = restoring{}
		after.Events = append(result.Events, after.Events...)
		after.Edit = inTurn(result.Edit, after.Edit)
		result = after
	case done:
		seen.memory.restoring.note(p.Detail.part)
		result.Continues, result.Again = true, reconcile.AtOnce
	}
	result.Edit = inTurn(concluded, result.Edit)
	return result, nil
}

// noteRestore records the start of the restore. If the sweep pauses or spec.maintenanceWindow has closed, it also records
// this reason. It discards the preparation of the next run.
func (f pass) noteRestore(then ending) {
	m := f.memory
	m.trial = trialMemory{}
	if m.restoring.since.IsZero() {
		m.restoring.since = f.now
	}
	if then == endsPaused || then == endsClosed {
		m.pauses = then
	}
}

// forgetRestore discards the progress of a restore before a step that may change Ceph again. A wait or a
// failure only interrupts the restore, and keeps the progress.
func (f pass) forgetRestore(next step) {
	if !slices.Contains([]step{stepRestore, reconcile.StepWait, reconcile.StepFail, reconcile.StepLock}, next) {
		f.memory.restoring = restoring{}
	}
}

// renewLock renews the lock during the restore, which may take hours if PGs merge. A failed renewal does not
// stop the restore, because each change verifies the lock first.
func (r *Reconciler) renewLock(ctx context.Context, seen pass) {
	if seen.memory.lock == nil || !seen.reachable() || seen.now.Sub(seen.memory.lockedAt) < lock.RenewAfter {
		return
	}
	ctx, stop := context.WithTimeout(ctx, renewWithin)
	defer stop()
	switch grant, err := r.acquire(ctx, seen); {
	case err != nil:
		logf.FromContext(ctx).Error(err, "The lock of the Ceph cluster cannot be renewed during the restore")
	case !grant.Held:
		seen.memory.lock = nil
	}
}

// renewWithin limits how long the restore waits for a renewal of the lock.
const renewWithin = 10 * time.Second

// inTurn combines edits in order; an edit may be nil.
func inTurn(edits ...func(*v1alpha1.CephTuningSweepStatus)) func(*v1alpha1.CephTuningSweepStatus) {
	return func(s *v1alpha1.CephTuningSweepStatus) {
		for _, edit := range edits {
			if edit != nil {
				edit(s)
			}
		}
	}
}

// restorePart carries out one part of a restore, and reports whether the part is complete.
func (r *Reconciler) restorePart(ctx context.Context, seen pass, p plan) (effect, bool, error) {
	switch p.Detail.part {
	case partEndSwitching:
		result := inProgress(p, p.Outcome.Message+" Waiting for the switch that is under way.")
		result.Again = loopAgain
		return result, r.loops.end(client.ObjectKeyFromObject(seen.sweep)), nil
	case partEndBenchmarks:
		waits, err := r.endChildren(ctx, seen)
		delete(seen.memory.restoring.done, partRemovePool) // A benchmark may have created a pool since that part.
		return inProgress(p, p.Outcome.Message+" "+string(waits)), false, err
	case partAbandon:
		return r.abandon(ctx, seen, p)
	case partWaitForReach:
		return inProgress(p, seen.whyUnreachable("changes", "restored")), false, nil
	case partLeavePool: // This part is the last, so the lock is not released: it expires by itself.
		return r.leavePool(ctx, seen, p)
	case partRemovePool:
		waits, err := r.removePool(ctx, seen)
		switch {
		case err == nil && waits.IsDone():
			return effect{}, true, nil
		case seen.abandonRequested():
			return effect{Events: []reconcile.Event{abandonedPool(waits, err)}}, true, nil
		}
		return inProgress(p, p.Outcome.Message+" "+string(waits)), false, err
	case partRelease:
		return effect{}, true, r.releaseAtEnd(ctx, seen)
	default:
		return r.restore(ctx, seen, p)
	}
}

// releaseAtEnd releases the lock. For a deleted sweep without changes, it ignores errors, because the Ceph
// cluster may no longer exist, and the lock expires by itself. But if the journal was closed before, Ceph has
// answered, so the first failed attempt to release the lock is reported, and repeated.
func (r *Reconciler) releaseAtEnd(ctx context.Context, seen pass) error {
	err := r.release(ctx, seen)
	first := seen.memory.restoring.done[partCloseJournal] && seen.headway.Trouble == nil
	if seen.deleted() && !seen.changedCeph() && !first {
		return nil
	}
	return err
}

// reachable reports whether the Ceph cluster seems reachable. It sends no request to the cluster.
func (f facts) reachable() bool { return f.known && f.rookErr == nil && f.rook != nil }

// whyUnreachable says why the sweep's changes or pool cannot be restored or removed, and what to do.
func (f facts) whyUnreachable(object, done string) string {
	reason := "The operator config no longer lists the CephCluster."
	if f.rookErr != nil {
		reason = sentence(f.rookErr.Error())
	}
	return fmt.Sprintf("The sweep's %s cannot be %s: %s If the Ceph cluster is gone for good, annotate the sweep with %s=true.", object, done, reason, v1alpha1.AnnotationAbandonRestore)
}

func inProgress(p plan, message string) effect {
	return effect{Outcome: kstatus.Outcome{Reason: p.Outcome.Reason, Message: message}}
}

// endChildren deletes the benchmarks in the field others, and waits for their teardown. The field must not be
// empty.
func (r *Reconciler) endChildren(ctx context.Context, seen pass) (reconcile.Wait, error) {
	for i := range seen.others {
		if err := r.removeChild(ctx, &seen.others[i]); err != nil {
			return "", err
		}
	}
	return reconcile.Wait(fmt.Sprintf("Waiting for the teardown of benchmark %s.", seen.others[0].Name)), nil
}

// restore restores the settings, and then carries out a part that requires restored settings. It calls the
// tuner for each of these parts: another process may have taken over the journal meanwhile, or the outcome of
// a change may be in doubt. If all settings are still restored, and no other process has had the journal, the
// tuner only reads the journal. Otherwise, the restore of settings begins again.
func (r *Reconciler) restore(ctx context.Context, seen pass, p plan) (effect, bool, error) {
	progress := &seen.memory.restoring
	report, err := r.restoreSettings(ctx, seen)
	if err != nil || !report.Done {
		progress.done = nil
	}
	if wait, found := errors.AsType[*tuning.WaitError](err); found {
		result := inProgress(p, sentence(wait.Why))
		result.Again = wait.Until.Sub(seen.now) + time.Second
		return result, false, nil
	}
	if err != nil {
		r.Counts.RestoreEnded(exporter.OutcomeFailed)
	}
	if err != nil && len(report.Waiting) == 0 {
		return effect{}, false, err
	}
	if !report.Done {
		result := inProgress(p, strings.Join(append([]string{p.Outcome.Message}, report.Waiting...), " "))
		result.Edit = func(s *v1alpha1.CephTuningSweepStatus) { setRestored(s, report, "") }
		return result, false, nil
	}
	progress.report = report
	switch p.Detail.part {
	case partSettle, partRestartOSDs:
		return r.settleRestored(ctx, seen, p)
	case partRecord:
		return seen.recorded(p), false, nil
	case partCloseJournal:
		if !recordsRestored(&seen.sweep.Status, report, progress.unrestarted) { // The tuner has just changed the journal, so status must get the new outcome first.
			return effect{Continues: true, Again: reconcile.AtOnce}, false, nil
		}
		return effect{}, true, seen.memory.engine.Close(ctx)
	default:
		return effect{}, true, nil
	}
}

// settleRestored waits until the cluster has settled. For partRestartOSDs, it then restarts the next OSD, and
// the cluster has to settle again.
func (r *Reconciler) settleRestored(ctx context.Context, seen pass, p plan) (effect, bool, error) {
	progress := &seen.memory.restoring
	waits, err := r.settledAgain(ctx, seen, progress.report)
	if p.Detail.part == partRestartOSDs && waits == "" && err == nil {
		waits, progress.unrestarted, err = r.restartAgain(ctx, seen, progress.report)
	}
	result := inProgress(p, p.Outcome.Message+" "+waits)
	result.Edit = func(s *v1alpha1.CephTuningSweepStatus) { setSettling(s, waits) }
	return result, waits == "", err
}

// recorded returns the effect that writes the outcome of the restore into status.
func (f pass) recorded(p plan) effect {
	progress := f.memory.restoring
	result := inProgress(p, p.Outcome.Message)
	result.Again = reconcile.AtOnce
	result.Edit = func(s *v1alpha1.CephTuningSweepStatus) { setRestored(s, progress.report, progress.unrestarted) }
	if progress.unrestarted != "" {
		result.Events = append(result.Events, reconcile.Warning(v1alpha1.ReasonOSDsNotRestarted, progress.unrestarted))
	}
	for _, entry := range progress.report.LeftAlone() {
		result.Events = append(result.Events, reconcile.Warning(v1alpha1.ReasonLeftAlone, sentence(entry.Message())))
	}
	return result
}

// restoreSettings restores the settings in the journal, whichever sweep the journal belongs to.
func (r *Reconciler) restoreSettings(ctx context.Context, seen pass) (tuning.Report, error) {
	engine, err := r.restorer(ctx, seen)
	if err != nil {
		return tuning.Report{}, err
	}
	return engine.Restore(ctx)
}

// restorer returns the tuner, or an error if the operator has no identity that may restore.
func (r *Reconciler) restorer(ctx context.Context, seen pass) (*tuning.Engine, error) {
	if seen.cluster.Identities.Tuner == "" {
		return nil, errors.New("the operator has no identity that may restore settings: ask the administrator to grant it again (with Helm powers.changeSettings, otherwise identities.tuner of the cluster)")
	}
	return r.engine(ctx, seen)
}

// back returns the restored settings as changes to their original values.
func back(report tuning.Report) []tuning.Change {
	var want []tuning.Change
	for _, entry := range report.Entries {
		if entry.State == tuning.Restored {
			want = append(want, tuning.Change{Setting: entry.Setting, To: entry.Original, Type: entry.Type})
		}
	}
	return want
}

// settledAgain says why the cluster has not settled after the restore; "" if it has. It also returns "" if
// waiting is useless: the time limit has passed, the cluster is in danger, or a value was changed again or is
// unknown.
func (r *Reconciler) settledAgain(ctx context.Context, seen pass, report tuning.Report) (string, error) {
	want := back(report)
	settled, err := r.lookWhetherSettled(ctx, seen, want, &seen.memory.restoring.settling, seen.deadline(r.Deadline(want), false))
	if _, endangered := errors.AsType[*dangerError](err); endangered || settled.Done || settled.Failed || len(settled.Inert) > 0 {
		return "", nil // Waiting longer would be useless.
	}
	return "Settings are restored; waiting for the cluster to settle: " + settled.Progress + ".", err
}

// afterRestore returns the effect with which the sweep continues or ends after the restore.
func (r *Reconciler) afterRestore(ctx context.Context, seen pass, p plan) (effect, error) {
	switch p.Detail.then {
	case endsDeleted:
		r.passes.Forget(seen.sweep)
		return effect{Gone: true}, reconcile.RemoveFinalizer(ctx, r.Client, seen.sweep, Finalizer)
	case endsReplaced:
		if seen.abandonRequested() { // stallAbandoned makes the sweep wait.
			return effect{Finished: true}, nil
		}
		return begun(seen.facts), r.removeChildren(ctx, seen)
	case endsPaused, endsClosed, endsInvalid:
		seen.memory.pauses = ""
		result, err := seen.interrupted()
		result.Edit = inTurn(result.Edit, func(s *v1alpha1.CephTuningSweepStatus) { s.Trial = nil })
		result.Finished = p.Detail.then == endsPaused || seen.abandonRequested()
		return result, err
	case endsFailed:
		failing := seen.failing()
		o := kstatus.Outcome{Reason: failing.Reason, Message: failing.Message}
		return effect{Finished: true, Edit: ended(seen.now, v1alpha1.ConditionFailed, o)}, nil
	case endsComplete:
	}
	return effect{Finished: true, Edit: seen.judged}, nil
}

// judged ends a run ID whose verdict is already in status. The first line of the summary then says what became of
// the settings.
func (f facts) judged(s *v1alpha1.CephTuningSweepStatus) {
	s.Summary = sweepspec.WithRestored(s.Summary, restoredWord(s))
	kind, o := kstatus.Judge(s.Verdict, f.sweep.Spec.FailOn, s.Summary)
	ended(f.now, kind, o)(s)
}

// restoredWord says what became of the settings; "" if the sweep changed none.
func restoredWord(s *v1alpha1.CephTuningSweepStatus) string {
	restored := meta.FindStatusCondition(s.Conditions, v1alpha1.ConditionRestored)
	switch {
	case restored == nil:
		return ""
	case restored.Status != metav1.ConditionTrue || restored.Reason != v1alpha1.ReasonRestored:
		return "Not everything is restored."
	case strings.HasPrefix(restored.Message, allButWinner):
		return "It stays applied."
	}
	return "Restored."
}

// ended returns the edit of status that ends a run ID.
func ended(now time.Time, kind string, o kstatus.Outcome) func(*v1alpha1.CephTuningSweepStatus) {
	end := metav1.NewTime(now)
	return func(s *v1alpha1.CephTuningSweepStatus) {
		s.CompletionTime = &end
		if s.Progress != nil {
			s.Progress.EstimatedCompletionTime = nil
		}
		setCondition(s, kind, metav1.ConditionTrue, o)
	}
}

// interrupted returns the effect that discards the runs of the current block, or enters the current session
// as invalid.
func (f pass) interrupted() (effect, error) {
	if f.design == nil {
		return effect{Again: reconcile.AtOnce}, nil
	}
	if f.sessions != nil {
		return f.enterInterrupted()
	}
	entry, begun := sweepspec.Interrupt(f.next)
	if !begun {
		return effect{Again: reconcile.AtOnce}, nil
	}
	return f.entered(entry.Trial(f.run()))
}

// concluded returns the edit that writes the verdict into status before the restore, so that users need not
// wait for the restore. Without a verdict, it returns nil.
func (f facts) concluded(p plan) (func(*v1alpha1.CephTuningSweepStatus), error) {
	if p.Detail.then != endsComplete {
		return nil, nil //nolint:nilnil // The doc comment explains nil.
	}
	var pools map[v1alpha1.PoolName]string
	if f.memory.survey != nil {
		pools = map[v1alpha1.PoolName]string{}
		for pool, object := range f.memory.survey.objects {
			pools[v1alpha1.PoolName(pool)] = object
		}
	}
	outcome, err := f.design.Judge(pools)
	if err != nil {
		return nil, fmt.Errorf("conclude: %w", err)
	}
	return outcome.Write, nil
}

// restoreOther restores the orphaned changes of another sweep, and removes that sweep's scratch pool and
// journal.
func (r *Reconciler) restoreOther(ctx context.Context, seen pass, p plan) (effect, error) {
	left := seen.journal.Sweep
	report, err := r.restoreSettings(ctx, seen)
	if wait, found := errors.AsType[*tuning.WaitError](err); found {
		result := inProgress(p, p.Outcome.Message+" "+sentence(wait.Why))
		result.Again = wait.Until.Sub(seen.now) + time.Second
		return result, nil
	}
	if err != nil {
		r.Counts.RestoreEnded(exporter.OutcomeFailed)
	}
	if err != nil || !report.Done {
		return inProgress(p, strings.Join(append([]string{p.Outcome.Message}, report.Waiting...), " ")), err
	}
	unrestarted, err := r.unrestarted(ctx, seen, report, "this sweep does not restart OSDs for another")
	if err != nil {
		return effect{}, err
	}
	owner := objectref.Ref{Kind: sweepKind, Namespace: left.Namespace, Name: left.Name, UID: types.UID(left.UID)}
	if waits, err := r.removePoolOf(ctx, seen.cluster, owner); err != nil || !waits.IsDone() {
		return inProgress(p, p.Outcome.Message+" "+string(waits)), err
	}
	if err := seen.memory.engine.Close(ctx); err != nil {
		return effect{}, err
	}
	seen.memory.unrestoredInCeph = nil
	events, outcome := restoredFor(left, report, unrestarted)
	r.Counts.RestoreEnded(outcome)
	return effect{Events: events}, nil
}

// restoredFor returns events about the restore of an orphaned sweep's settings, and the outcome for metrics.
func restoredFor(left tuning.Sweep, report tuning.Report, unrestarted string) (all []reconcile.Event, outcome string) {
	for _, entry := range report.Entries {
		all = append(all, reconcile.Normal(v1alpha1.ReasonRestored, fmt.Sprintf("For sweep %s: %s", left, sentence(entry.Message()))))
	}
	outcome = v1alpha1.ReasonRestored
	if len(report.LeftAlone()) > 0 {
		outcome = v1alpha1.ReasonLeftAlone
	}
	if unrestarted != "" {
		outcome = v1alpha1.ReasonOSDsNotRestarted
		all = append(all, reconcile.Warning(v1alpha1.ReasonOSDsNotRestarted, fmt.Sprintf("For sweep %s: %s", left, unrestarted)))
	}
	return all, outcome
}

// abandons reports whether a person has abandoned the restore, and Ceph may have values of this sweep.
func (f facts) abandons() bool {
	return f.abandonRequested() && f.changedCeph()
}

func (f facts) abandonRequested() bool {
	return f.sweep.Annotations[v1alpha1.AnnotationAbandonRestore] == "true"
}

// tryWithin limits the last attempt to restore, and the attempt of abandonPool, because a person must be able
// to abandon the restore even if Ceph does not respond.
const tryWithin = 2 * time.Minute

// abandon makes one attempt to restore, leaves the remaining settings as they are, and reports them. Any user
// who may edit the sweep can abandon its restore. The attempt restores scrubs, the balancer and autoscalers,
// too, so that such a user cannot leave them off. abandon removes the journal only after status has the
// original values (as many as fit), because after that, no other object keeps them.
func (r *Reconciler) abandon(ctx context.Context, seen pass, p plan) (effect, bool, error) {
	failure := r.lastAttempt(ctx, seen)
	if wait, found := errors.AsType[*tuning.WaitError](failure); found {
		result := inProgress(p, sentence(wait.Why))
		result.Again = wait.Until.Sub(seen.now) + time.Second
		return result, false, nil
	}
	report, err := r.toGiveUp(ctx, seen)
	if err != nil {
		return effect{}, false, err
	}
	if !recordsLeftAlone(&seen.sweep.Status, report) {
		logf.FromContext(ctx).Info("Abandoning the restore", "settings", messagesOf(report.LeftAlone()))
		result := inProgress(p, p.Outcome.Message)
		result.Again, result.Events = reconcile.AtOnce, givenUp(report, failure)
		result.Edit = func(s *v1alpha1.CephTuningSweepStatus) { setRestored(s, report, "") }
		return result, false, nil
	}
	result, err := r.endAbandoned(ctx, seen, report)
	return result, err == nil, err
}

// endAbandoned removes the journal in Kubernetes. If Ceph seems reachable, it also removes the journal in
// Ceph, calls abandonPool, and releases the lock.
func (r *Reconciler) endAbandoned(ctx context.Context, seen pass, report tuning.Report) (effect, error) {
	if err := giveUpIn(ctx, r.Journals, seen.fsid(), seen.self()); err != nil {
		return effect{}, err
	}
	result, unrestarted := effect{}, ""
	if seen.reachable() { // A copy of the journal in a lost Ceph cluster does no harm.
		result.Events = append(result.Events, r.abandonPool(ctx, seen)...)
		err := r.giveUpLock(ctx, seen)
		if err != nil {
			result.Events = append(result.Events, reconcile.Warning(v1alpha1.ReasonAbandoned, "The journal in Ceph could not be removed, or the lock could not be released: "+err.Error()))
		}
		if unrestarted, err = r.unrestarted(ctx, seen, report, "the restore was abandoned"); err != nil {
			unrestarted = "Cannot tell which OSDs need a restart to take the restored values: " + err.Error()
		}
	}
	if unrestarted != "" {
		result.Events = append(result.Events, reconcile.Warning(v1alpha1.ReasonOSDsNotRestarted, unrestarted))
	}
	result.Edit = func(s *v1alpha1.CephTuningSweepStatus) { setRestored(s, report, unrestarted) }
	return result, nil
}

// lastAttempt makes the last attempt to restore. It repeats the attempt only if the tuner had to wait.
func (r *Reconciler) lastAttempt(ctx context.Context, seen pass) error {
	if seen.memory.restoring.lastAttempt {
		return nil
	}
	err := r.tryOnce(ctx, seen)
	if _, waits := errors.AsType[*tuning.WaitError](err); !waits {
		seen.memory.restoring.lastAttempt = true
	}
	return err
}

// tryOnce tries once to restore the sweep's journal, if Ceph seems reachable.
func (r *Reconciler) tryOnce(ctx context.Context, seen pass) error {
	if !seen.reachable() {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, tryWithin)
	defer stop()
	engine, err := r.restorer(ctx, seen)
	if err != nil {
		return err
	}
	journal, err := engine.Journal(ctx)
	if err != nil || journal == nil || journal.Sweep != seen.self() {
		return err
	}
	_, err = engine.RestoreOnce(ctx)
	return err
}

// toGiveUp returns the report of an abandoned restore, and writes nothing. It uses the journal's copy in
// Kubernetes, or the copy in Ceph if the copy in Kubernetes was removed.
func (r *Reconciler) toGiveUp(ctx context.Context, seen pass) (tuning.Report, error) {
	left, err := r.Journals.Load(ctx, seen.fsid())
	if err != nil {
		return tuning.Report{}, err
	}
	if left == nil && seen.reachable() {
		if cluster, err := r.connect(ctx, seen); err == nil {
			left, err = tuning.NewConfigKey(r.Ceph, cluster.Observer).Load(ctx, cluster.FSID)
			if err != nil {
				logf.FromContext(ctx).Error(err, "The journal in Ceph cannot be read, so it is abandoned with the settings")
			}
		}
	}
	if left == nil || left.Sweep != seen.self() {
		return tuning.Report{Done: true}, nil
	}
	left.GiveUp()
	return tuning.Report{Done: true, Entries: left.Entries}, nil
}

// giveUpIn closes and removes a copy of the sweep's journal. It keeps the journal of another sweep, which
// that sweep still needs.
func giveUpIn(ctx context.Context, store tuning.Store, fsid string, self tuning.Sweep) error {
	left, err := store.Load(ctx, fsid)
	if err != nil || left == nil || left.Sweep != self {
		return err
	}
	left.GiveUp()
	return errors.Join(store.Save(ctx, left), store.Remove(ctx, left))
}

// giveUpLock removes the copy of the journal in Ceph, and releases the lock.
func (r *Reconciler) giveUpLock(ctx context.Context, seen pass) error {
	cluster, err := r.connect(ctx, seen)
	if err != nil {
		return err
	}
	err = giveUpIn(ctx, tuning.NewConfigKey(r.Ceph, cluster.Observer), cluster.FSID, seen.self())
	return errors.Join(err, r.release(ctx, seen))
}

// fsid returns the FSID of the Ceph cluster for which the sweep was planned; "" before the plan exists.
func (f facts) fsid() string {
	if e := f.sweep.Status.Environment; e != nil {
		return e.FSID
	}
	return ""
}

// givenUp returns events about the settings that are not restored, and about the failure of the last attempt.
func givenUp(report tuning.Report, failure error) []reconcile.Event {
	var all []reconcile.Event
	for _, entry := range report.LeftAlone() {
		all = append(all, reconcile.Warning(v1alpha1.ReasonAbandoned, sentence(entry.Message())))
	}
	if len(all) > 0 && failure != nil {
		all = append(all, reconcile.Warning(v1alpha1.ReasonAbandoned, "The last attempt to restore failed: "+failure.Error()))
	}
	return all
}
