package cephtuningsweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/loadtarget/claims"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/lock/queue"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/schedule"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/signature/trial"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// facts are the observations of one pass. The rules use only these facts. A step may read more data from
// Ceph.
type facts struct {
	now      time.Time
	pace     Pace
	settings *settings.Settings
	sweep    *v1alpha1.CephTuningSweep
	cluster  settings.Cluster
	known    bool // the operator config lists the cluster
	memory   memory
	// headway says what the sweep waits for, and since when its steps have failed.
	headway reconcile.Headway
	// schedule is what spec.schedule requests. Its run ID is that in the spec of the object in memory.
	schedule schedule.Request
	// orphaned reports that the restorer restores the sweep's changes, because the sweep does not restore them.
	orphaned bool
	// refused says why benchmarks may not run in the namespace or may not use the template's claims; "" if they
	// may, or if that was not checked. It is checked only before a run ID begins or continues.
	refused string

	rook    *rook.ClusterInfo
	rookErr error
	// otherCeph says that the CephCluster is no longer the Ceph cluster for which the sweep was planned; ""
	// otherwise.
	otherCeph string
	locked    bool
	// line is what is ahead in the queue. It is observed only while the sweep does nothing but wait for it; then all
	// other observations are missing.
	line queue.Line

	// journal has the settings to restore in the Ceph cluster, whichever sweep changed them; nil if no journal
	// was found. It is the copy in Kubernetes, or the journal of another sweep that the last search found only
	// in Ceph.
	journal *tuning.Journal
	// otherIsThere reports that another sweep has to restore the journal, and still runs.
	otherIsThere bool

	// design knows the trials so far. It is nil after an edit or a change of the run ID, and if the plan or the trials
	// are missing or unusable. next is its decision; zero without a design. If settings are switched under a load,
	// next also has the configuration to prove.
	design sweepspec.Design
	// edited reports that the spec differs, in an input of the verdict, from the spec for which the plan was
	// made.
	edited  bool
	next    sweep.Decision
	planErr error
	// sessions has the trials that switch settings under a load; nil without a design, and if trials switch none.
	sessions *sweepspec.Sessions

	// switches reports that a loop of this process may still switch the sweep's settings.
	switches bool
	// child is the benchmark of the next or current run, as the operator signed it; nil before it is created. others
	// lists the children that must be removed before a restore, before the next session, or before the run in which
	// spoilt is set ends.
	child  *v1alpha1.CephBenchmark
	others []v1alpha1.CephBenchmark
	// taken reports that another object has the name that the benchmark of the next run needs.
	taken bool
	// spoilt says why the benchmark of the current run does not count, for example because it was deleted; ""
	// otherwise.
	spoilt string

	open    bool // spec.maintenanceWindow is open, so changes may start
	opens   time.Time
	openErr error
}

// observe gathers the facts. It changes nothing, and reads only what the sweep's stage requires: nothing for
// an ended sweep, unless it is deleted or its run ID has changed.
func (r *Reconciler) observe(ctx context.Context, s *v1alpha1.CephTuningSweep, p reconcile.Pass[memory]) (facts, error) {
	seen := facts{now: p.Now, pace: r.Pace, settings: r.Settings, sweep: s, memory: p.Memory, headway: p.Headway, schedule: p.Schedule}
	seen.cluster, seen.known = r.Settings.Cluster(s.Spec.ClusterRef)
	if !seen.mayHaveMade() {
		return seen, r.observePermission(ctx, &seen)
	}
	seen.switches = r.loops.contains(client.ObjectKeyFromObject(s))
	seen.open, seen.opens, seen.openErr = sweepspec.OpenAt(&s.Spec, seen.now)
	seen.observePlan()
	if err := errors.Join(r.observeChildren(ctx, &seen), r.observeChild(ctx, &seen)); err != nil {
		return facts{}, err
	}
	return seen, r.observeCluster(ctx, &seen)
}

// observePermission checks whether a sweep that is about to begin or continue may run benchmarks in its
// namespace, with its claims.
func (r *Reconciler) observePermission(ctx context.Context, seen *facts) (err error) {
	if seen.deleted() || seen.sweep.Spec.Suspend || seen.ended() && !seen.replaced() {
		return nil
	}
	seen.refused, err = r.Namespaces.Refusal(ctx, seen.sweep.Namespace)
	if err != nil || seen.refused != "" || !seen.known {
		return err
	}
	use := claims.UseOf(seen.sweep.Namespace, seen.sweep.Spec.Template)
	use.Volumes = sweepspec.Volumes(&seen.sweep.Spec)
	seen.refused, err = use.Refusal(ctx, r.Reader, seen.cluster)
	return err
}

// observePlan replays the trials. The decision depends only on the spec, the plan and the trials. The configuration to
// prove depends on memory, too.
func (f *facts) observePlan() {
	status := &f.sweep.Status
	if status.Plan == nil || status.Plan.Seed == nil || f.replaced() {
		return
	}
	if f.edited, f.planErr = sweepspec.Edited(&f.sweep.Spec, status.Plan); f.edited || f.planErr != nil {
		return // The ledger belongs to another spec, or the specs cannot be compared.
	}
	design, err := sweepspec.DesignOf(&f.sweep.Spec, status)
	if err != nil {
		f.planErr = err
		return
	}
	f.follow(design)
}

// follow makes a design the sweep's.
func (f *facts) follow(design sweepspec.Design) {
	f.design, f.next, f.sessions = design, design.Next(), sweepspec.Switching(design)
	if f.sessions != nil {
		f.observeSessions()
	}
}

// observeChild reads the benchmark of the trial in status. An object that is not that benchmark is a fact, not an
// error: it must not keep the sweep from restoring.
func (r *Reconciler) observeChild(ctx context.Context, seen *facts) error {
	recorded := seen.sweep.Status.Trial
	if recorded == nil {
		return nil
	}
	found := &v1alpha1.CephBenchmark{}
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: seen.sweep.Namespace, Name: recorded.Name}, found)
	switch {
	case apierrors.IsNotFound(err):
		found = nil
	case err != nil:
		return fmt.Errorf("read the benchmark of run %d: %w", recorded.Number, err)
	}
	state, err := trial.StateOf(r.MasterKey, seen.sweep, found)
	if err != nil {
		return err
	}
	if left := cmp.Or(state.Benchmark, state.Left); left != nil {
		seen.noteLeft(left, state.Left != nil)
	}
	if seen.hasTrial() {
		seen.child, seen.taken, seen.spoilt = state.Benchmark, state.Taken, state.Spoilt
	}
	return nil
}

// noteLeft adds the benchmark of the trial to the field others if it has to be removed. A run that ended just before
// the sweep paused is not entered into the ledger, so its benchmark is removed, too.
func (f *facts) noteLeft(b *v1alpha1.CephBenchmark, spoilt bool) {
	paused := (f.sweep.Spec.Suspend || f.memory.pauses != "") && childHasEnded(b) && !reconcile.IsGone(b, reconcile.CleanupFinalizer)
	if spoilt && leavesSomething(b) || f.mustRestore() && (paused || leavesSomething(b)) {
		f.addOther(b)
	}
}

func (f *facts) addOther(b *v1alpha1.CephBenchmark) {
	if !slices.ContainsFunc(f.others, func(o v1alpha1.CephBenchmark) bool { return o.UID == b.UID }) {
		f.others = append(f.others, *b)
	}
}

// hasTrial reports whether the trial in status is that of the next or current run.
func (f facts) hasTrial() bool {
	recorded := f.sweep.Status.Trial
	return recorded != nil && f.planErr == nil && f.next.Action == sweep.RunTrial && int(recorded.Number) == f.run()
}

// observeChildren finds the sweep's benchmarks that have not ended or are stalled. It does so only if mustRestore
// returns true or the sweep is interleaved. The cache may lack the latest benchmark, which is that of the trial in
// status: observeChild reads it by name. The cache may also lack the end of a benchmark, so each is read again.
func (r *Reconciler) observeChildren(ctx context.Context, seen *facts) error {
	if !seen.mustRestore() && seen.sessions == nil {
		return nil
	}
	children, err := r.children(ctx, seen.sweep, leavesSomething)
	if err != nil {
		return err
	}
	for i := range children {
		child := &v1alpha1.CephBenchmark{}
		err := r.Reader.Get(ctx, client.ObjectKeyFromObject(&children[i]), child)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("read benchmark %s: %w", children[i].Name, err)
		}
		if err == nil && trial.IsOf(child, seen.sweep) && leavesSomething(child) {
			seen.addOther(child)
		}
	}
	return nil
}

// leavesSomething reports whether a benchmark has not ended, or may begin again because it is only stalled. A deleted
// benchmark whose teardown is complete leaves nothing, even if a finalizer of somebody else keeps the object.
func leavesSomething(b *v1alpha1.CephBenchmark) bool {
	return !reconcile.IsGone(b, reconcile.CleanupFinalizer) && (!childHasEnded(b) || stalled(b) != "")
}

// observeCluster reads Rook's CephCluster and the journal. If the journal belongs to another sweep, it also
// reads that sweep. It takes the state of the lock from memory.
func (r *Reconciler) observeCluster(ctx context.Context, seen *facts) error {
	seen.observeRook(r.Rook.Cluster(ctx, seen.sweep.Spec.ClusterRef))
	fsid := seen.fsid()
	if fsid == "" && seen.rookErr == nil {
		fsid = seen.rook.FSID
	}
	if fsid == "" {
		return nil
	}
	// The journal is read even if the CephCluster cannot be read, or is now another Ceph cluster. The sweep's
	// changes are in the Ceph cluster for which it was planned.
	var err error
	if seen.journal, err = r.Journals.Load(ctx, fsid); err != nil {
		return err
	}
	seen.locked = seen.rookErr == nil && seen.memory.lock != nil && seen.now.Sub(seen.memory.lockedAt) < lock.RenewAfter
	if seen.journal == nil {
		seen.journal = seen.memory.unrestoredInCeph
	}
	if seen.journal == nil || seen.journal.Sweep == seen.self() {
		return nil
	}
	seen.otherIsThere, err = r.isThere(ctx, seen.journal.Sweep)
	return err
}

// observeRook records Rook's information about the CephCluster, or why it cannot be used.
func (f *facts) observeRook(info rook.ClusterInfo, err error) {
	planned := f.fsid()
	switch {
	case err != nil:
		f.rookErr = err
		return
	case info.FSID == "":
		f.rookErr = fmt.Errorf("CephCluster %s/%s has no Ceph cluster yet: Rook is in phase %s", info.Namespace, info.Name, info.Phase)
	case planned != "" && planned != info.FSID:
		f.otherCeph = fmt.Sprintf("CephCluster %s/%s is now Ceph cluster %s, but the sweep was planned for %s and measured that one", info.Namespace, info.Name, info.FSID, planned)
		f.rookErr = errors.New(f.otherCeph)
	}
	f.rook = &info
}

// isThere reports whether the sweep of a journal is running, and therefore restores its changes itself. An
// ended sweep does not restore, even if a copy of its journal could not be removed. A sweep that the manager
// may not read does not count as running.
func (r *Reconciler) isThere(ctx context.Context, left tuning.Sweep) (bool, error) {
	other, err := r.changer(ctx, left)
	if apierrors.IsForbidden(err) {
		return false, nil
	}
	return other != nil && facts{sweep: other}.restores(), err
}

// changer reads the sweep of a journal from the API server. It returns nil if the sweep does not exist, or if
// the manager does not handle the sweep's namespace.
func (r *Reconciler) changer(ctx context.Context, left tuning.Sweep) (*v1alpha1.CephTuningSweep, error) {
	if !r.Namespaces.Handles(left.Namespace) {
		return nil, nil //nolint:nilnil // The doc comment explains nil.
	}
	s := &v1alpha1.CephTuningSweep{}
	switch err := r.Reader.Get(ctx, types.NamespacedName{Namespace: left.Namespace, Name: left.Name}, s); {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // The doc comment explains nil.
	case err != nil:
		return nil, fmt.Errorf("look for sweep %s, whose settings are not restored: %w", left, err)
	case string(s.UID) != left.UID:
		return nil, nil //nolint:nilnil // It is another object of that name.
	}
	return s, nil
}

// run returns the number of the next or current trial.
func (f facts) run() int {
	if f.design == nil {
		return 1
	}
	return f.design.Number()
}

// configuration returns the configuration of the next or current trial, or the one to prove next. After the last
// trial, it returns the winner, or the baseline if no configuration won.
func (f facts) configuration() sweep.Configuration {
	if f.next.Action == sweep.Conclude {
		return f.design.Configurations()[f.next.Conclusion.Winner]
	}
	return f.design.Configurations()[f.next.Trial.Configuration]
}

// holder returns the name with which the sweep holds the lock. The sweep's children use the sweep's lock. The
// restorer uses another name, so that the restorer and the sweep cannot mistake each other's lock for their own.
func (f facts) holder() objectref.Ref {
	kind := sweepKind
	if f.orphaned {
		kind = "OrphanedJournal"
	}
	return objectref.To(kind, f.sweep)
}

// self returns the identity of the sweep in journals.
func (f facts) self() tuning.Sweep {
	return tuning.Sweep{Namespace: f.sweep.Namespace, Name: f.sweep.Name, UID: string(f.sweep.UID)}
}

func (f facts) deleted() bool { return !f.sweep.DeletionTimestamp.IsZero() }

func (f facts) gone() bool { return reconcile.IsGone(f.sweep, Finalizer) }

// atWork reports whether the run ID in status has begun, and has not ended, paused or stalled. During
// this time, pools, pods or changes of it may exist.
func (f facts) atWork() bool {
	return meta.IsStatusConditionTrue(f.sweep.Status.Conditions, v1alpha1.ConditionReconciling)
}

// mayHaveMade reports whether pools, pods or changes of the sweep may exist.
func (f facts) mayHaveMade() bool {
	return f.atWork() || f.deleted() && !f.gone()
}

// restores reports whether the sweep restores its changes. A deleted sweep without Finalizer does not, even
// if another finalizer keeps the object.
func (f facts) restores() bool {
	return f.mayHaveMade() && !f.gone()
}

// ended reports whether the run ID in status has ended.
func (f facts) ended() bool {
	return kstatus.HasEnded(f.sweep.Status.Conditions)
}

// failing returns the condition Failed while it is False: it says why the sweep will end without a verdict
// after its restore. Otherwise, failing returns nil.
func (f facts) failing() *metav1.Condition {
	failed := meta.FindStatusCondition(f.sweep.Status.Conditions, v1alpha1.ConditionFailed)
	if failed == nil || failed.Status != metav1.ConditionFalse {
		return nil
	}
	return failed
}

// replaced reports whether the spec has another run ID than status.
func (f facts) replaced() bool { return f.sweep.Status.ObservedRunID != f.sweep.Spec.RunID }

// mustRestore reports whether the sweep has to stop and restore its changes, for another reason than its
// verdict. A closed spec.maintenanceWindow is such a reason only once the restore has begun, because noteRestore records
// it then.
func (f facts) mustRestore() bool {
	return f.deleted() || f.replaced() || f.sweep.Spec.Suspend || f.memory.pauses != "" || f.failing() != nil
}

// changedCeph reports whether Ceph may have values of this sweep.
func (f facts) changedCeph() bool {
	if f.journal != nil && f.journal.Sweep == f.self() {
		return true
	}
	restored := meta.FindStatusCondition(f.sweep.Status.Conditions, v1alpha1.ConditionRestored)
	if restored == nil || restored.Status != metav1.ConditionFalse {
		return false
	}
	return restored.Reason != v1alpha1.ReasonAbandoned && restored.Reason != v1alpha1.ReasonOSDsNotRestarted
}

// hasOutcome reports whether a benchmark is Complete or Failed. Its teardown may still be running.
func hasOutcome(b *v1alpha1.CephBenchmark) bool { return kstatus.HasEnded(b.Status.Conditions) }

// childHasEnded reports whether a benchmark and its teardown have ended, or whether the benchmark is stalled
// before it has begun.
func childHasEnded(b *v1alpha1.CephBenchmark) bool {
	isTrue := func(kind string) bool { return meta.IsStatusConditionTrue(b.Status.Conditions, kind) }
	return (hasOutcome(b) || isTrue(v1alpha1.ConditionStalled)) && !isTrue(v1alpha1.ConditionReconciling)
}
