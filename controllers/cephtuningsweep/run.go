package cephtuningsweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// applyConfiguration sets the values of the next configuration in Ceph. It also stops Ceph's own activity
// that would change these values or disturb runs: autoscalers, the balancer and, if requested, scrubs.
func (r *Reconciler) applyConfiguration(ctx context.Context, seen pass) (effect, error) {
	current := seen.memory.ofTrial(seen.run(), seen.now)
	if err := r.removePoolBefore(ctx, seen); err != nil {
		return effect{}, err
	}
	if seen.cluster.Identities.Tuner == "" { // Without a tuner, the sweep varies no setting of Ceph.
		current.want, current.settled = []tuning.Change{}, true
		return effect{Edit: seen.preparesTrial()}, nil
	}
	engine, err := r.engine(ctx, seen)
	if err != nil {
		return effect{}, err
	}
	known, err := r.known(ctx, seen, seen.memory.connected.Observer)
	if err != nil {
		return effect{}, err
	}
	if known.Journal, err = engine.Journal(ctx); err != nil {
		return effect{}, err
	}
	want, err := r.wanted(ctx, seen, known)
	if err != nil {
		return seen.notApplied(err)
	}
	forbidden, err := r.forbidden(ctx, seen, known)
	switch {
	case err != nil:
		return effect{}, err
	case forbidden != "":
		return seen.endsFor(v1alpha1.ReasonNotAllowed, forbidden), nil
	}
	applied, err := engine.Apply(ctx, seen.self(), want)
	if err != nil {
		return seen.notApplied(err)
	}
	current.want, current.changed = want, len(applied.Changed) > 0
	current.settled = len(want) == 0
	return effect{Edit: inTurn(notRestored(want), seen.preparesTrial())}, nil
}

// forbidden says why the next configuration must not be applied; "" if it may be applied. The plan was
// checked when it was made. Since then, the administrator may have narrowed the bounds, or a user with edit
// rights may have inserted other values into the spec or into status.plan.
func (r *Reconciler) forbidden(ctx context.Context, seen pass, known tuning.Known) (reason string, err error) {
	changes := changesOf(seen.sweep.Spec, seen.configuration().Values, known)
	if known.Facts, err = tuning.ReadFacts(ctx, r.Ceph, seen.memory.connected.Observer, tuning.SettingsOf(changes)); err != nil {
		return "", err
	}
	var all []string
	for _, problem := range tuning.Forbidden(changes, known, tuning.Permissions{Cluster: seen.cluster}) {
		all = append(all, sentence(problem.Message))
	}
	return strings.Join(all, " "), nil
}

// notKept records that the winner's settings cannot be kept.
func (f pass) notKept(reason string) effect {
	f.memory.cannotKeep = true
	return effect{Again: reconcile.AtOnce, Events: []reconcile.Event{
		reconcile.Warning("NotKept", fmt.Sprintf("%s has won, but its settings cannot be kept: %s", f.configuration().Name, reason)),
	}}
}

// errJournalGone ends a sweep, because a new journal would record the sweep's own values as the originals.
var errJournalGone = errors.New("the journal was removed while the sweep ran")

// notApplied returns the effect of an error that kept values from being applied. It ends the sweep after Ceph has denied a
// change, because retries would be denied too, and if the journal, a pool or a value is no longer that of the sweep. It
// returns any other error, so that the pass is retried.
func (f pass) notApplied(err error) (effect, error) {
	if wait, ok := errors.AsType[*tuning.WaitError](err); ok {
		return effect{Waits: true, Again: wait.Until.Sub(f.now) + time.Second, Outcome: f.settling(sentence(wait.Why))}, nil
	}
	if denied, ok := errors.AsType[*tuning.DeniedError](err); ok {
		return f.endsFor(v1alpha1.ReasonNotAllowed, sentence(denied.Error())), nil
	}
	foreign, changed := errors.AsType[*tuning.ForeignChangeError](err)
	switch {
	case changed:
		err = foreign
	case !errors.Is(err, errJournalGone) && !errors.Is(err, tuning.ErrPoolGone):
		return effect{}, err
	}
	return failed(kstatus.Outcome{Reason: v1alpha1.ReasonChangedByOthers, Message: sentence(err.Error())}), nil
}

// wanted returns all values that Ceph must have: the values that stop Ceph's own activity, and the values of
// the configuration.
func (r *Reconciler) wanted(ctx context.Context, seen pass, known tuning.Known) ([]tuning.Change, error) {
	now, err := tuning.ReadFacts(ctx, r.Ceph, seen.memory.connected.Observer, []tuning.Setting{{Kind: tuning.KindAutoscaler}, {Kind: tuning.KindBalancer}})
	if err != nil {
		return nil, err
	}
	spec := seen.sweep.Spec
	held, err := tuning.HoldStill(now, heldPools(spec), spec.Quiescence.Scrub == v1alpha1.ScrubPause)
	if err != nil {
		return nil, err
	}
	if known.Journal == nil && seen.changedCeph() {
		return nil, errJournalGone
	}
	none := []tuning.Change{} // An empty slice, unlike nil, means that no change is needed.
	return append(none, slices.Concat(holding(known.Journal, held), held, changesOf(spec, seen.configuration().Values, known))...), nil
}

// holding returns the changes in the journal that stop Ceph's own activity, except for the settings
// in the parameter again.
func holding(journal *tuning.Journal, again []tuning.Change) []tuning.Change {
	var changes []tuning.Change
	if journal == nil {
		return nil
	}
	for _, entry := range journal.Entries {
		varied := entry.Setting.Kind == tuning.KindPoolOption || entry.Setting.Kind == tuning.KindConfig
		known := slices.ContainsFunc(again, func(c tuning.Change) bool { return c.Setting == entry.Setting })
		if entry.State == tuning.Open && !varied && !known && len(entry.Applied) > 0 {
			changes = append(changes, tuning.Change{Setting: entry.Setting, To: entry.Applied[0].Intended, Type: entry.Type})
		}
	}
	return changes
}

// settle checks that the cluster has the settings and is quiescent.
func (r *Reconciler) settle(ctx context.Context, seen pass) (effect, error) {
	current := &seen.memory.trial
	settled, err := r.lookWhetherSettled(ctx, seen, current.want, &current.settling, seen.deadline(r.Deadline(current.want), sweepspec.ChangesCeph(&seen.sweep.Spec)))
	if danger, ok := errors.AsType[*dangerError](err); ok {
		return seen.endsFor(v1alpha1.ReasonClusterUnhealthy, danger.Error()), nil
	}
	switch {
	case err != nil:
		return effect{}, err
	case settled.Done:
		current.settled = true
		if current.changed {
			r.Counts.Settled(seen.now.Sub(current.settling.Began))
		}
		return effect{Again: reconcile.AtOnce}, nil
	case settled.Failed:
		return r.without(ctx, seen, sweepspec.Evidence{Failure: "The cluster has " + settled.Progress + "."})
	case seen.asksAgain(settled.Inert):
		return effect{Outcome: seen.settling("Checking what changed a setting.")}, nil
	case len(settled.Inert) > 0:
		return r.without(ctx, seen, inertEvidence(settled.Inert))
	}
	return effect{Outcome: seen.settling(sentence(settled.Progress))}, nil
}

// deadline returns p with the limits of the spec's guardrails. The soak is the minimum time for which the
// cluster must stay settled. If soaks is false, the soak is 0, and two samples are enough.
//
// In a sweep that changes settings of Ceph, every run soaks, even if its settings equal those of the previous
// run. Candidates nearly always follow a change, and controls (extra runs of the baseline) often do not. If
// only runs after a change soaked, controls would begin after a shorter pause than candidates.
func (f facts) deadline(p tuning.Deadline, soaks bool) tuning.Deadline {
	if soak := f.sweep.Spec.Guardrails.SettleFor; soak != nil {
		p.Soak = soak.Duration
	}
	if limit := f.sweep.Spec.Guardrails.SettleTimeout; limit != nil {
		p.Deadline = limit.Duration
	}
	if !soaks {
		p.Polls, p.Soak = min(p.Polls, 2), 0
	}
	return p
}

// lookWhetherSettled takes one sample of a cluster after a change. It returns a *dangerError
// if the cluster is in danger, because the sweep may be the cause.
func (r *Reconciler) lookWhetherSettled(ctx context.Context, seen pass, want []tuning.Change, settling *tuning.Settling, deadline tuning.Deadline) (tuning.Settled, error) {
	connection, known, err := r.knownNow(ctx, seen)
	if err != nil {
		return tuning.Settled{}, err
	}
	sample := tuning.Sample{At: r.Now()}
	if sample.Facts, err = tuning.ReadFacts(ctx, r.Ceph, connection, tuning.SettingsOf(want)); err != nil {
		return tuning.Settled{}, err
	}
	if sample.Status, err = r.Ceph.Status(ctx, connection); err != nil {
		return tuning.Settled{}, err
	}
	if err := r.endangeredByChange(ctx, seen, connection, sample.Status, 0); err != nil {
		return tuning.Settled{}, err
	}
	next, settled := settling.Next(sample, want, deadline, known)
	*settling = next
	return settled, nil
}

// unprovenFor limits how long the sweep waits for daemons to report the values that they run with. Ceph's
// manager normally knows these values some seconds after a change.
const unprovenFor = 30 * time.Second

// prove reads back the values in Ceph, and the values that OSDs run with. It returns evidence if settings are
// inert, were changed, or are still unproven after unprovenFor, and nil if they have taken effect. It returns
// false while that is not known.
func (r *Reconciler) prove(ctx context.Context, seen pass, want []tuning.Change) (*sweepspec.Evidence, bool, error) {
	current := seen.memory.ofTrial(seen.run(), seen.now)
	if len(want) == 0 {
		return nil, true, nil
	}
	connection, known, err := r.knownNow(ctx, seen)
	if err != nil {
		return nil, false, err
	}
	proof, err := tuning.Prove(ctx, r.Ceph, connection, want, known, seen.run())
	if err != nil {
		return nil, false, err
	}
	if proof.Proven() {
		current.unproven = time.Time{}
		return nil, true, nil
	}
	if seen.asksAgain(proof.Inert) {
		return nil, false, nil
	}
	if current.unproven.IsZero() {
		current.unproven = seen.now
	}
	open := slices.ContainsFunc(proof.Inert, func(i tuning.Inert) bool { return i.Reason == tuning.InertUnproven })
	if open && seen.now.Sub(current.unproven) < unprovenFor {
		return nil, false, nil
	}
	evidence := inertEvidence(proof.Inert)
	return &evidence, true, nil
}

// asksAgain drops the survey if a setting was reverted by an unknown client. That client may be Rook, if Rook's
// custom resources were edited since the survey. asksAgain keeps a survey that was read in the current pass. It
// reports whether it has dropped the survey.
func (f pass) asksAgain(inert []tuning.Inert) bool {
	changed := slices.ContainsFunc(inert, func(i tuning.Inert) bool { return i.Reason == tuning.InertReverted })
	if !changed || f.memory.survey == nil || !f.memory.survey.taken.Before(f.now) {
		return false
	}
	f.memory.survey = nil
	return true
}

// inertEvidence returns the evidence against a run with inert settings. If an unknown client has changed a
// setting, the evidence is Changed instead of Inert.
func inertEvidence(inert []tuning.Inert) sweepspec.Evidence {
	var messages []string
	changed := false
	for _, i := range inert {
		messages = append(messages, sentence(i.Message))
		changed = changed || i.Reason == tuning.InertReverted
	}
	message := strings.Join(messages, " ")
	if changed {
		return sweepspec.Evidence{Changed: message}
	}
	return sweepspec.Evidence{Inert: message}
}

// measure proves that daemons run with the settings, and starts the benchmark.
func (r *Reconciler) measure(ctx context.Context, seen pass) (effect, error) {
	if unproven, waits, err := r.unproven(ctx, seen); err != nil || waits {
		return unproven, err
	}
	if lost, err := r.poolIsLost(ctx, seen); err != nil {
		return effect{}, err
	} else if lost {
		return seen.beginAgain()
	}
	created, _, err := r.createBenchmark(ctx, seen, seen.configuration())
	return created, err
}

// unproven returns the effect of a step that the cluster is not ready for, because the values of the configuration have not
// taken effect, or are not proven yet. It returns false once they are proven.
func (r *Reconciler) unproven(ctx context.Context, seen pass) (e effect, waits bool, err error) {
	against, proven, err := r.prove(ctx, seen, seen.memory.trial.want)
	switch {
	case against != nil:
		e, err = r.without(ctx, seen, *against)
	case err == nil && !proven:
		e.Outcome = seen.settling("Waiting for daemons to report their running values.")
		if seen.sessions != nil && !seen.keeps() {
			e.Outcome = seen.inSession("Waiting for daemons to report their running values.")
		}
	}
	return e, against != nil || !proven, err
}

// without returns the effect for a cluster that does not run with the configuration. Then the run does not
// count, the winner's settings cannot be kept, or the session's proof without load fails.
func (r *Reconciler) without(ctx context.Context, seen pass, e sweepspec.Evidence) (effect, error) {
	reason := e.Failure + e.Inert + e.Changed
	switch {
	case seen.keeps():
		return seen.notKept(reason), nil
	case seen.sessions != nil:
		return failed(kstatus.Outcome{Reason: v1alpha1.ReasonNotPossible, Message: fmt.Sprintf(
			"%s cannot be switched under load, because its proof without load failed: %s", seen.configuration().Name, reason)}), nil
	}
	return r.enterAs(ctx, seen, e)
}

// keep proves that the winner's settings have taken effect, and keeps them.
func (r *Reconciler) keep(ctx context.Context, seen pass) (effect, error) {
	if unproven, waits, err := r.unproven(ctx, seen); err != nil || waits {
		return unproven, err
	}
	varied := slices.DeleteFunc(slices.Clone(seen.memory.trial.want), func(c tuning.Change) bool {
		return c.Setting.Kind != tuning.KindConfig && c.Setting.Kind != tuning.KindPoolOption
	})
	return effect{Again: reconcile.AtOnce}, seen.memory.engine.Keep(ctx, varied)
}

// enter proves the settings again after the benchmark has ended, and enters the run into the ledger.
func (r *Reconciler) enter(ctx context.Context, seen pass) (effect, error) {
	if seen.spoilt != "" {
		current := seen.memory.ofTrial(seen.run(), seen.now)
		return r.enterAs(ctx, seen, sweepspec.Evidence{Failure: cmp.Or(current.spoilt, seen.spoilt), BytesWritten: seen.expectedBytes()})
	}
	want, err := r.wantedOfRun(ctx, seen)
	if err != nil {
		return effect{}, err
	}
	against, proven, err := r.prove(ctx, seen, want)
	switch {
	case err != nil:
		return effect{}, err
	case !proven:
		return effect{Outcome: seen.settling("Waiting for daemons to report their running values.")}, nil
	case against != nil:
		against.Child = seen.child
		return r.enterAs(ctx, seen, *against)
	}
	return r.enterAs(ctx, seen, sweepspec.Evidence{Child: seen.child, Failure: cmp.Or(stalled(seen.child), seen.foreignFigures())})
}

// stalled says why a benchmark has not begun and does not begin by itself; "" otherwise.
func stalled(b *v1alpha1.CephBenchmark) string {
	condition := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionStalled)
	if condition == nil || condition.Status != metav1.ConditionTrue || meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionFailed) {
		return ""
	}
	return condition.Message
}

// wantedOfRun returns the values that Ceph had to have during the run. This process has set them; after a
// restart, they come from the journal and the configuration.
func (r *Reconciler) wantedOfRun(ctx context.Context, seen pass) ([]tuning.Change, error) {
	current := seen.memory.ofTrial(seen.run(), seen.now)
	if created := seen.child.CreationTimestamp.Time; created.Before(current.since) {
		current.since = created // Another process began the run.
	}
	if current.want != nil || seen.cluster.Identities.Tuner == "" {
		return current.want, nil
	}
	_, known, err := r.knownNow(ctx, seen)
	if err != nil {
		return nil, err
	}
	current.want = slices.Concat(holding(seen.journal, nil), changesOf(seen.sweep.Spec, seen.configuration().Values, known))
	return current.want, nil
}

// enterAs enters the run into the ledger with the given evidence, and asks the planner for the next run.
func (r *Reconciler) enterAs(ctx context.Context, seen pass, e sweepspec.Evidence) (effect, error) {
	var err error
	current := seen.memory.ofTrial(seen.run(), seen.now)
	e.Seconds = int(seen.now.Sub(current.since).Round(time.Second).Seconds())
	unread := ""
	if e.Child != nil {
		if e.BytesWritten, unread, err = r.writtenBytes(ctx, seen, e.Child); err != nil {
			return effect{}, err
		}
	}
	entry, reason := sweepspec.Observe(&seen.sweep.Spec, seen.next.Trial, e)
	entered, err := seen.entered(entry.Trial(seen.run()))
	if err != nil {
		return effect{}, err
	}
	if reason != "" {
		entered.Events = append([]reconcile.Event{reconcile.Warning("TrialInvalid", fmt.Sprintf("Trial %d, %s: %s %s", seen.run(), seen.configuration().Name, entry.Validity(), reason))}, entered.Events...)
	}
	if unread != "" {
		entered.Events = append(entered.Events, reconcile.Warning("ResultsNotRead", unread))
	}
	if err := r.forgetLostNodes(ctx, seen.facts, e.Child); err != nil {
		return effect{}, err
	}
	if err := r.removeStalled(ctx, e.Child); err != nil {
		return effect{}, err
	}
	if err := r.prune(ctx, seen); err != nil {
		return effect{}, err
	}
	return entered, nil
}

// removeStalled removes a stalled benchmark, because it could begin later and disturb the next measurement.
func (r *Reconciler) removeStalled(ctx context.Context, child *v1alpha1.CephBenchmark) error {
	if child == nil || stalled(child) == "" {
		return nil
	}
	return r.removeChild(ctx, child)
}

// entered returns the effect that writes a trial, and the decision after it, into status.
func (f facts) entered(t v1alpha1.Trial) (effect, error) {
	after, err := f.design.Enter(t)
	if err != nil {
		return effect{}, err
	}
	result := effect{Again: reconcile.AtOnce}
	if result.Edit, err = after.Record(f.now); err != nil {
		return effect{}, err
	}
	for _, e := range after.Next().Events {
		result.Events = append(result.Events, reconcile.Normal(string(e.Code), sentence(e.String())))
	}
	return result, nil
}
