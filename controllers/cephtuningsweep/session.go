package cephtuningsweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clients/live"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/figure/fitness"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Clients are the clients of sessions' benchmarks.
type Clients interface {
	// Course passes the number and the course of each client to the function take, with one row of figures for each
	// second. It makes one call at a time. The parameter first has, for each client, the index of the first row.
	Course(ctx context.Context, benchmark types.NamespacedName, phase v1alpha1.PhaseName, first []int, take func(number int, course runner.Course) error) error
	// Aim makes all clients, whose number is the parameter clients, continue a phase in a window. It returns when their
	// engines run.
	Aim(ctx context.Context, benchmark types.NamespacedName, clients int, w live.Window) error
	// ClosedLoop returns the curve of a phase without steps, once all clients have ended the closed loop before it.
	ClosedLoop(ctx context.Context, benchmark types.NamespacedName, clients int, phase v1alpha1.PhaseName) (curve.Course, error)
	// Step makes all clients offer a rate in a step of a curve, and returns what they did.
	Step(ctx context.Context, benchmark types.NamespacedName, clients int, phase v1alpha1.PhaseName, number int, q curve.Question, offered curve.Decision) (session.Step, error)
}

// sessionMemory is the memory of the next or current session.
type sessionMemory struct {
	number int
	since  time.Time
	// proven is the number of configurations that are proven for the session. engine is the tuning.Engine that
	// has proven them. Only this Engine may switch their settings.
	proven int
	engine *tuning.Engine
	// child is the benchmark that this process has created for the session.
	child types.UID
	// loop switches settings while the benchmark runs; nil before the load has warmed up.
	loop *loop
	// trial is the session's trial once it has ended, and reason says why it is invalid. Memory keeps both, because
	// they cannot be computed again after a failed write of status: the benchmark is removed by then.
	trial  *v1alpha1.Trial
	reason string
	// lack says which CPU a session that proves no gain lacked; "" otherwise.
	lack string
}

// noteSession begins the memory of the current session before the session's first step.
func (f pass) noteSession(next step) {
	if f.sessions == nil || f.next.Action != sweep.RunTrial || next == stepRemoveBenchmarks { // stepRemoveBenchmarks still belongs to the previous session.
		return
	}
	s := &f.memory.switching
	index := f.proven()
	if s.number != f.run() {
		*s = sessionMemory{number: f.run(), since: f.now, engine: s.engine}
	}
	s.proven = index
}

// proven returns the number of configurations that are proven for the current session. A proof
// stays valid for later sessions until settings are restored, or a new connection to Ceph needs a new
// tuning.Engine. Only the baseline is proven again, because each session begins with it.
func (f facts) proven() int {
	s := f.memory.switching
	switch {
	case s.engine != f.memory.engine:
		return 0 // Nothing was proven with this Engine yet, or enterInterrupted has discarded the proofs.
	case s.number != f.run():
		return max(s.proven-1, 0)
	}
	return s.proven
}

// configurationToProve returns the index of the configuration to prove next: first the candidates, then the baseline,
// with which each session begins.
func (f facts) configurationToProve() int {
	all := f.provable()
	return (min(f.proven(), all-1) + 1) % all
}

// provable returns how many configurations are applied and proven before a session. If the session aims clients, these
// configurations are all the same to Ceph.
func (f facts) provable() int {
	if f.sessions.Aims() {
		return 1
	}
	return len(f.design.Configurations())
}

// allProven reports whether all configurations were applied and proven, and these proofs are still
// valid.
func (f facts) allProven() bool {
	mayBe := f.memory.engine != nil || f.cluster.Identities.Tuner == "" // Without a tuner, there is nothing to prove.
	return mayBe && f.proven() >= f.provable()
}

// observeSessions adds the configuration to prove to the decision, and the day of the next session. Before a session,
// configurations are applied and proven one by one, without load.
func (f *facts) observeSessions() {
	if f.next.Action == sweep.RunTrial {
		f.next.Trial.Configuration = f.configurationToProve()
	}
	if next := f.sessions.NotBefore; f.now.Before(next) { // The next session belongs to another day, as if spec.maintenanceWindow were closed.
		f.open, f.opens = false, next
	}
}

// proveConfiguration proves the applied values without load.
func (r *Reconciler) proveConfiguration(ctx context.Context, seen pass) (effect, error) {
	if unproven, waits, err := r.unproven(ctx, seen); err != nil || waits {
		return unproven, err
	}
	s := &seen.memory.switching
	s.proven, s.engine = s.proven+1, seen.memory.engine
	seen.memory.trial = trialMemory{}
	return effect{Again: reconcile.AtOnce}, nil
}

// beginSession creates the benchmark of a session. Ceph must already have the baseline.
func (r *Reconciler) beginSession(ctx context.Context, seen pass) (effect, error) {
	created, uid, err := r.createBenchmark(ctx, seen, seen.design.Configurations()[0])
	seen.memory.switching.child = uid // It stays empty if another process has created the benchmark: the next pass enters that session as interrupted.
	return created, err
}

// waitingForLoad says why the loop has not begun.
func waitingForLoad(phase v1alpha1.PhaseName, err error) string {
	if errors.Is(err, live.ErrNotMeasuring) {
		return fmt.Sprintf("Waiting until the clients begin phase %s.", phase)
	}
	return "Waiting for the load: " + err.Error() + "."
}

// watchSession checks the cluster, and starts the loop once the load has warmed up. If the benchmark has
// ended, it stops the loop.
func (r *Reconciler) watchSession(ctx context.Context, seen pass) (effect, error) {
	s := &seen.memory.switching
	if s.loop != nil && (hasOutcome(seen.child) || childHasEnded(seen.child)) {
		s.loop.stop(fmt.Errorf("the benchmark ended: %s", kstatus.Current(seen.child.Status.Conditions).Message))
	}
	if watched, err := r.watch(ctx, seen); err != nil || watched.Edit != nil || s.loop != nil {
		return watched, err
	}
	closedLoop, waits := r.warmUp(ctx, seen)
	if waits != nil {
		return *waits, nil
	}
	if !r.loops.end(client.ObjectKeyFromObject(seen.sweep)) { // The loop of an earlier session may still switch.
		return effect{Again: loopAgain}, nil
	}
	plan, err := r.loopOf(ctx, seen, closedLoop)
	if err != nil {
		return effect{}, err
	}
	s.loop = r.loops.begin(ctx, client.ObjectKeyFromObject(seen.sweep), r.Budget.Open(), plan.runSession)
	eta := seen.now.Add(seen.sessions.TimeLeft())
	return effect{Edit: seen.expects(eta)}, nil
}

// warmUp returns what to wait for until the load has warmed up; then nil, with the closed loop of curves.
func (r *Reconciler) warmUp(ctx context.Context, seen pass) (closedLoop curve.Course, waits *effect) {
	child, clients, phase := client.ObjectKeyFromObject(seen.child), int(seen.child.Spec.Template.Clients.Count), seen.sweep.Spec.Objective.Phase
	if sweepspec.DrawsCurves(&seen.sweep.Spec) {
		closedLoop, err := r.Clients.ClosedLoop(ctx, child, clients, phase)
		if err != nil {
			waits = &effect{Again: seen.pace.Settle, Outcome: seen.inSession(waitingForLoad(phase, err))}
		}
		return closedLoop, waits
	}
	var warm time.Time // The latest time at which a client may have begun its load.
	err := r.Clients.Course(ctx, child, phase, make([]int, clients), func(_ int, course runner.Course) error {
		if course.Began.NotAfter.After(warm) {
			warm = course.Began.NotAfter
		}
		return nil
	})
	if err != nil {
		return closedLoop, &effect{Again: seen.pace.Settle, Outcome: seen.inSession(waitingForLoad(phase, err))}
	}
	if since := time.Since(warm); since < sweepspec.Ramp(&seen.sweep.Spec) {
		return closedLoop, &effect{Again: max(seen.pace.Settle, sweepspec.Ramp(&seen.sweep.Spec)-since)}
	}
	return closedLoop, nil
}

// expects returns the edit that writes the expected end of the sweep into status.
func (f facts) expects(eta time.Time) func(*v1alpha1.CephTuningSweepStatus) {
	return func(s *v1alpha1.CephTuningSweepStatus) {
		if s.Progress == nil {
			progress := f.sessions.Progress()
			s.Progress = &progress
		}
		moment := metav1.NewTime(eta)
		s.Progress.EstimatedCompletionTime = &moment
	}
}

// inTurns returns the treatments of a session that draws curves: steps with the given treatments.
func (r *Reconciler) inTurns(seen pass, compared session.Treatments, plan session.Plan, closedLoop curve.Course) *session.Steps {
	child, clients, phase := client.ObjectKeyFromObject(seen.child), int(seen.child.Spec.Template.Clients.Count), seen.sweep.Spec.Objective.Phase
	steps := &session.Steps{Treatments: compared, WrittenBytes: seen.sessions.ClosedLoopBytes(closedLoop.ClosedLoopPerSecond)}
	for i := range steps.Courses {
		course := closedLoop
		course.Question.InTurns, course.Question.MaxSteps, course.Question.Seed = true, len(plan.Order), 2*plan.Seed+uint64(i)
		steps.Courses[i] = course
	}
	steps.Offer = func(ctx context.Context, number int, q curve.Question, offered curve.Decision) (session.Step, error) {
		made, err := r.Clients.Step(ctx, child, clients, phase, number, q, offered)
		made.WrittenBytes = int64(float64(made.WrittenBytes) * (q.StepSeconds + session.AroundStep.Seconds()) / q.StepSeconds) // Its ramp is not counted.
		return made, err
	}
	return steps
}

// loopOf returns the inputs of a loop. The loop runs concurrently with passes. From the sweep's memory it
// uses only the tuner, which is safe for concurrent use.
func (r *Reconciler) loopOf(ctx context.Context, seen pass, closedLoop curve.Course) (loopPlan, error) {
	plan, err := seen.sessions.SessionPlan()
	if err != nil {
		return loopPlan{}, err
	}
	if r.Hasten != nil {
		plan = r.Hasten(plan)
	}
	question, err := seen.sessions.Question()
	if err != nil {
		return loopPlan{}, err
	}
	cluster, err := r.connect(ctx, seen)
	if err != nil {
		return loopPlan{}, err
	}
	compared, err := r.treatments(ctx, seen)
	if err != nil {
		return loopPlan{}, err
	}
	var names []string
	for i, configuration := range seen.design.Configurations() {
		names = append(names, sweepspec.NameOf(i, configuration))
	}
	var steps *session.Steps
	if plan.Curves {
		steps = r.inTurns(seen, compared, plan, closedLoop)
		compared = steps
	}
	child, phase := client.ObjectKeyFromObject(seen.child), seen.sweep.Spec.Objective.Phase
	return loopPlan{
		steps: steps,
		sweep: client.ObjectKeyFromObject(seen.sweep), plan: plan, question: question, names: names[1:], pairs: int(seen.sweep.Status.Plan.Pairs),
		writes: seen.sessions.Writes(), bytes: seen.sessions.LoadBytes(),
		compared: compared, quiet: quietOf(r.Ceph, cluster.Observer, seen.sweep.Spec.Quiescence, seen.child.Spec.Targets(), plan.Window), clients: int(seen.child.Spec.Template.Clients.Count),
		course: func(ctx context.Context, first []int, take func(int, runner.Course) error) error {
			return r.Clients.Course(ctx, child, phase, first, take)
		},
	}, nil
}

// noun returns the word for what the session compares.
func (f facts) noun() sweepspec.Noun { return sweepspec.NounOf(&f.sweep.Spec) }

// treatments returns what the session compares.
func (r *Reconciler) treatments(ctx context.Context, seen pass) (session.Treatments, error) {
	if seen.sessions.Aims() {
		return r.targets(ctx, seen)
	}
	return r.settings(ctx, seen)
}

// leaveChild removes the benchmark of an ended session, if it is still there.
func (r *Reconciler) leaveChild(ctx context.Context, seen pass) error {
	if err := r.forgetLostNodes(ctx, seen.facts, seen.child); err != nil || seen.child == nil {
		return err
	}
	return r.removeChild(ctx, seen.child)
}

// enterSession archives a session if its loop began, removes its benchmark, and then enters the session into
// the ledger. If another client has changed a setting, it ends the sweep instead.
func (r *Reconciler) enterSession(ctx context.Context, seen pass) (effect, error) {
	s := &seen.memory.switching
	if foreign := s.loop.foreignChange(); foreign != nil {
		return failed(kstatus.Outcome{Reason: v1alpha1.ReasonChangedByOthers, Message: sentence(foreign.Error())}), nil
	}
	if s.trial == nil {
		t, reason := seen.endedSession(s)
		s.trial, s.reason = &t, reason
		if s.loop != nil && fitness.Mark(t.Mark).Starves() {
			s.lack = fitness.Of(s.loop.evidence.Usage).Lack()
		}
	}
	notKept := ""
	if s.loop != nil && s.loop.hasEnded() {
		var err error
		if notKept, err = r.archiveSession(ctx, seen, s.loop.evidence); err != nil {
			return effect{}, err
		}
		if r.loops.end(client.ObjectKeyFromObject(seen.sweep)) {
			s.loop = nil // The evidence is large.
		}
	}
	if err := r.leaveChild(ctx, seen); err != nil {
		return effect{}, err
	}
	entered, err := seen.entered(*s.trial)
	if err != nil {
		return effect{}, err
	}
	if notKept != "" {
		entered.Events = append(entered.Events, reconcile.Warning("ResultsNotKept", sentence(notKept)))
	}
	if s.reason != "" {
		entered.Events = append(entered.Events, reconcile.Warning("TrialInvalid", fmt.Sprintf("Trial %d is %s: %s", seen.run(), s.trial.Validity(), sentence(s.reason))))
		seen.memory.pauses = endsInvalid
	}
	if s.lack != "" {
		entered.Events = append(entered.Events, starved(seen.run(), s.lack, nodesOfRun(seen.sweep)))
	}
	return entered, nil
}

// starved returns the event about a trial whose clients or hosts lacked CPU. Users can edit the annotation with the nodes, so
// their text is cut.
func starved(trial int, lack string, nodes []v1alpha1.NodeName) reconcile.Event {
	hosts := "the clients' hosts"
	if len(nodes) > 0 {
		hosts = ellipsis.Cut(strings.Trim(fmt.Sprint(nodes), "[]"), 256)
	}
	return reconcile.Warning("Starved", fmt.Sprintf("Trial %d counts, but proves no gain: %s. End other work on %s, or give clients more CPU.", trial, lack, hosts))
}

// endedSession returns the trial of a session, and why it is invalid; "" if it is valid.
func (f facts) endedSession(s *sessionMemory) (t v1alpha1.Trial, cause string) {
	if s.child == "" && f.child != nil && f.child.CreationTimestamp.Time.Before(s.since) {
		s.since = f.child.CreationTimestamp.Time // Another process began the session.
	}
	invalid := func(reason v1alpha1.TrialReason, explanation string) (v1alpha1.Trial, string) {
		return sweepspec.InvalidSession(f.run(), reason, f.sessionCost(s)), explanation
	}
	switch {
	case f.spoilt != "":
		return invalid(v1alpha1.TrialFailed, cmp.Or(f.memory.trial.spoilt, f.spoilt))
	case s.loop == nil && s.child == f.child.UID:
		return invalid(v1alpha1.TrialFailed, fmt.Sprintf("its benchmark ended before %ss were switched: %s", f.noun(), kstatus.Current(f.child.Status.Conditions).Message))
	case s.loop == nil:
		return invalid(v1alpha1.TrialInterrupted, "the manager was restarted")
	}
	question, err := f.sessions.Question()
	if err != nil {
		return invalid(v1alpha1.TrialFailed, err.Error())
	}
	summary, ok, err := s.loop.evidence.Summarize(question)
	summary.Mark = s.loop.evidence.Mark(question)
	return sweepspec.NewSessionTrial(f.noun(), f.run(), s.loop.evidence.Plan.Long > 0, summary, ok, err, f.sessionCost(s))
}

// sessionCost returns the cost of a session that ends now.
func (f facts) sessionCost(s *sessionMemory) sweepspec.SessionCost {
	return sweepspec.SessionCost{Seconds: int(f.now.Sub(s.since).Round(time.Second).Seconds()), MiB: f.sessionMiB(s), Ended: f.now}
}

// sessionMiB returns how many MiB a session has written, from the prefill and the clients' rows. Without
// rows, or before the loop has ended, it estimates the MiB from the expected bytes and the share of the
// expected time that has passed.
func (f facts) sessionMiB(s *sessionMemory) int64 {
	if s.loop != nil && s.loop.hasEnded() && len(s.loop.evidence.Clients)+len(s.loop.evidence.Courses) > 0 {
		return (f.sessions.Prefill() + s.loop.evidence.WrittenBytes(f.sessions.Writes())) >> 20
	}
	expected, share := f.sessions.Expected(), 1.0
	if expected.Time > 0 {
		share = min(1, f.now.Sub(s.since).Seconds()/expected.Time.Seconds())
	}
	return int64(share*float64(expected.Bytes)) >> 20
}

// enterInterrupted returns the effect that enters an interrupted session as invalid, for example after a
// suspension. If this process has not created the session's benchmark, the effect enters no session.
func (f pass) enterInterrupted() (effect, error) {
	s := f.memory.switching
	f.memory.switching = sessionMemory{}
	if f.next.Action != sweep.RunTrial || s.number != f.run() || s.child == "" {
		return effect{Again: reconcile.AtOnce}, nil
	}
	return f.entered(sweepspec.InvalidSession(f.run(), v1alpha1.TrialInterrupted, f.sessionCost(&s)))
}
