package cephbenchmark

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/clientview"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/workload"
)

// effect is the outcome of a step.
type effect struct {
	// outcome replaces the outcome in the plan if outcome.Reason is not empty.
	outcome kstatus.Outcome
	// again is the delay of the next pass, unless an event starts it earlier; 0 waits for an event. A step
	// that changes a Job or a runner's task causes such an event.
	again time.Duration
	// finished says that a teardown is complete.
	finished bool
	// edit changes status, in addition to the outcome.
	edit func(*v1alpha1.CephBenchmarkStatus)
	// event is about the run that the step concluded; nil without one. record emits it after writing status.
	event *kstatus.Outcome
	// invalid says in one word, for metrics, why the run that the step concluded is invalid; "" if it is
	// valid.
	invalid string
	// outage is the outcome of the concluded run's outage, for metrics.
	outage outageEnd
}

// now returns an effect that requests the next pass without delay.
func now() effect { return effect{again: reconcile.AtOnce} }

// act carries out the step of a plan, and records in memory what the plan waits for.
func (r *Reconciler) act(ctx context.Context, seen facts, p plan) (effect, error) {
	came, err := r.carryOut(ctx, seen, p)
	if seen.memory != nil {
		seen.memory.noteWait(p, came, err, seen.now)
	}
	return came, err
}

// noteWait records what the pass waits for, since when, and the latest error or message of that wait.
func (m *memory) noteWait(p plan, came effect, err error, now time.Time) {
	if p.step == stepLock {
		return // Taking or renewing the lock must not restart the clock of another wait.
	}
	if p.removes {
		m.removal.Begin(p.run, now)
	}
	if m.waits.Note(p.patience.For, now) {
		m.trouble = ""
	}
	switch {
	case err != nil:
		m.trouble = err.Error()
	case came.outcome.Message != "":
		m.trouble = came.outcome.Message
	}
}

func (r *Reconciler) carryOut(ctx context.Context, seen facts, p plan) (effect, error) {
	switch p.step {
	case stepNone, stepIdle, stepStall:
		return effect{again: p.again}, nil
	case stepWait:
		return r.waitFor(seen, p), nil
	case stepAcknowledge:
		_, err := r.results(seen).Prune(ctx, seen.spec.HistoryLimit)
		return effect{}, err
	case stepProtect:
		return now(), r.protect(ctx, seen.benchmark)
	case stepBegin:
		return r.beginSession(seen), nil //nolint:contextcheck // The goroutines that follow clients outlive the pass.
	case stepLock:
		return r.takeLock(ctx, seen)
	case stepPrepare:
		return r.prepare(ctx, seen, p)
	case stepReplace, stepRemoveUnrecorded:
		return r.replaceJob(ctx, seen, p)
	case stepMove:
		return r.makeMove(ctx, seen, p)
	case stepTakeOSDsDown, stepRestoreOSDs:
		return r.carryOutOutage(ctx, seen, p)
	case stepConcludeRun:
		return r.concludeRun(ctx, seen, p)
	case stepFail:
		return failed(seen, p.outcome), nil
	case stepTearDown:
		return r.tearDown(ctx, seen, p)
	case stepRemoveFinalizer:
		return effect{finished: true}, reconcile.RemoveFinalizer(ctx, r.client, seen.benchmark, Finalizer)
	default:
		return effect{}, fmt.Errorf("no action for step %q", p.step)
	}
}

// waitFor carries out a wait. If it waits for a quiescent cluster, it requests a sample now. If the reason
// for the wait is in the last survey, it requests a new survey.
func (r *Reconciler) waitFor(seen facts, p plan) effect {
	if p.surveys {
		seen.live.StartWatch(r.ceph, r.connection(seen.cluster, seen.cluster.Identities.Observer)).SurveyAgain()
	}
	if p.outcome.Reason == v1alpha1.ReasonWaitingForQuiescence {
		seen.live.Hurry()
	}
	return effect{again: p.again}
}

// protect adds the finalizer.
func (r *Reconciler) protect(ctx context.Context, b *v1alpha1.CephBenchmark) error {
	status := b.Status.DeepCopy() // AddFinalizer overwrites b with the API server's answer; keep the status that this pass observed.
	if err := reconcile.AddFinalizer(ctx, r.client, b, Finalizer); err != nil {
		return err
	}
	b.Status = *status
	return nil
}

// beginSession resets status for a new run ID, and leaves status as it is for a paused run ID. No object of
// the session exists now (a pause removes them all), so this process will know all objects of the session.
func (r *Reconciler) beginSession(seen facts) effect {
	b := seen.benchmark
	begun := r.live.Of(client.ObjectKeyFromObject(b), clientjob.SessionOf(b.UID, b.Spec.RunID).ID())
	begun.Memory.fromBeginning = true
	drawn := begun.Memory.drawNonce()
	return effect{again: reconcile.AtOnce, outcome: lookingAtCluster(), edit: func(s *v1alpha1.CephBenchmarkStatus) {
		conclusion.Begin(s, b.Spec.RunID, seen.now)
		drawn(s)
		s.Trial = seen.admission.Trial
	}}
}

// makeMove carries out the plan's move: the next action with runners or with the OSDs' caches.
func (r *Reconciler) makeMove(ctx context.Context, seen facts, p plan) (effect, error) {
	runners, tasks := seen.party(p.move)
	switch p.move.Kind {
	case workload.MoveAssign:
		return effect{edit: markRunning(seen, p)}, clientview.Each(ctx, runners, func(ctx context.Context, i int, c runner.Client) error {
			_, err := c.Put(ctx, p.move.Tasks[i])
			return err
		})
	case workload.MoveStart:
		return effect{}, clientview.Start(ctx, runners, p.move.ID, &seen.memory.noted, r.now())
	case workload.MoveCancel:
		return effect{again: time.Second}, clientview.Cancel(ctx, runners, tasks, p.move.ID)
	case workload.MoveDropCaches:
		return now(), r.dropCaches(ctx, seen, p.move.ID)
	case workload.MoveReadPilot:
		return now(), r.readPilot(ctx, seen, p.move.ID)
	default:
		return effect{}, fmt.Errorf("no action for move %q", p.move.Kind)
	}
}

// dropTimeout is how long OSDs may take to drop their caches.
const dropTimeout = 2 * time.Minute

func (r *Reconciler) dropCaches(ctx context.Context, seen facts, id string) error {
	ctx, cancel := context.WithTimeout(ctx, dropTimeout)
	defer cancel()
	at, err := r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.CacheDropper)
	if err != nil {
		return err
	}
	if err := r.ceph.DropOSDCaches(ctx, at); err != nil {
		return fmt.Errorf("drop the caches of the OSDs: %w", err)
	}
	seen.memory.noted.CachesDropped[id] = true
	return nil
}

func (r *Reconciler) readPilot(ctx context.Context, seen facts, id string) error {
	slowest, err := conclusion.SlowestSeconds(ctx, reporters(seen.runners), id)
	if err != nil {
		return err
	}
	seen.memory.noted.PilotSeconds[id] = slowest
	return nil
}

// markRunning returns an edit of status. If the plan assigns the run's first phase to the clients, the edit
// marks the run as running. Otherwise it changes nothing.
func markRunning(seen facts, p plan) func(*v1alpha1.CephBenchmarkStatus) {
	return func(s *v1alpha1.CephBenchmarkStatus) {
		if p.move.ID != workload.TaskID(p.run, seen.script.Phases[0].Name) {
			return
		}
		start := metav1.NewTime(seen.now)
		conclusion.SetRun(s, v1alpha1.BenchmarkRun{Number: p.run, State: v1alpha1.RunRunning, StartTime: &start})
	}
}
