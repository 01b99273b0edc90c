package cephbenchmark

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/workload"
)

// effect is the outcome of a step. A step that changes a Job or a runner's task causes an event, which starts the next
// pass.
type effect = reconcile.Effect[v1alpha1.CephBenchmarkStatus]

// now returns an effect that requests the next pass without delay.
func now() effect { return effect{Again: reconcile.AtOnce} }

// pass is what a step works with: the facts, which have the memory as it was before the step, and the memory that the
// step changes.
type pass struct {
	facts

	memory *memory
}

// act carries out the step of a plan, and returns what the memory becomes.
func (r *Reconciler) act(ctx context.Context, seen facts, p plan) (effect, memory, error) {
	after := seen.memory
	done, err := r.carryOut(ctx, pass{facts: seen, memory: &after}, p)
	return done, after, err
}

func (r *Reconciler) carryOut(ctx context.Context, seen pass, p plan) (effect, error) {
	switch p.Step {
	case reconcile.StepNone, reconcile.StepIdle, reconcile.StepAwait, reconcile.StepStall:
		return effect{}, nil
	case reconcile.StepWait:
		r.waitFor(seen, p)
		return effect{}, nil
	case reconcile.StepAcknowledge:
		_, err := r.keepResults(ctx, seen)
		return effect{Events: seen.historyEvents()}, err
	case reconcile.StepProtect:
		return now(), reconcile.AddFinalizer(ctx, r.Client, seen.benchmark, Finalizer)
	case reconcile.StepBegin:
		return r.beginExecution(seen), nil //nolint:contextcheck // The goroutines that follow clients outlive the pass.
	case reconcile.StepLock:
		return r.takeLock(ctx, seen)
	case stepPrepare:
		return r.prepare(ctx, seen, p)
	case stepRemoveUnrecorded, stepMove, stepTakeOSDsDown, stepRestoreOSDs, stepDiagnose, stepConcludeRun:
		return r.work(ctx, seen, p)
	case reconcile.StepFail:
		return failed(seen, p.Outcome), nil
	case stepTearDown:
		return r.tearDown(ctx, seen, p)
	case stepRemoveFinalizer:
		return effect{Gone: true}, reconcile.RemoveFinalizer(ctx, r.Client, seen.benchmark, Finalizer)
	default:
		return effect{}, fmt.Errorf("no action for step %q", p.Step)
	}
}

// work carries out a step of the runs, or of a diagnosis.
func (r *Reconciler) work(ctx context.Context, seen pass, p plan) (effect, error) {
	switch p.Step {
	case stepRemoveUnrecorded:
		return effect{Again: time.Second}, r.removeUnrecorded(ctx, seen)
	case stepTakeOSDsDown, stepRestoreOSDs:
		return r.carryOutOutage(ctx, seen, p)
	case stepDiagnose:
		return r.diagnose(ctx, seen, p.Detail.wrong)
	case stepConcludeRun:
		return r.concludeRun(ctx, seen, p)
	default:
		return r.makeMove(ctx, seen, p)
	}
}

// waitFor carries out a wait. If it waits for a quiescent cluster, it requests a sample now. If the reason
// for the wait is in the last survey, it requests a new survey.
func (r *Reconciler) waitFor(seen pass, p plan) {
	if p.Detail.removes {
		seen.memory.removal.Begin(p.Detail.run, seen.now)
	}
	if p.Detail.watches && seen.memory.watchedSince.IsZero() {
		seen.memory.watchedSince = seen.now
	}
	if p.Detail.surveys {
		seen.live.StartWatch(r.Ceph, r.connection(seen.cluster, seen.cluster.Identities.Observer)).SurveyAgain()
	}
	if p.Outcome.Reason == v1alpha1.ReasonWaitingForQuiescence {
		seen.live.Hurry()
	}
}

// beginExecution resets status for a new run ID, and leaves status as it is for a paused run ID. No object of
// the execution exists now (a pause removes them all), so this process will know all objects of the execution.
func (r *Reconciler) beginExecution(seen pass) effect {
	b := seen.benchmark
	execution := clientjob.ExecutionOf(b.UID, b.Spec.RunID).ID()
	r.live.Of(client.ObjectKeyFromObject(b), execution)
	begun := newMemory()
	begun.fromBeginning = true
	drawn := begun.drawNonce()
	r.passes.Begin(b, execution, begun)
	return effect{Again: reconcile.AtOnce, Outcome: lookingAtCluster(), Edit: func(s *v1alpha1.CephBenchmarkStatus) {
		conclusion.Begin(s, b.Spec.RunID, seen.now)
		drawn(s)
		s.Trial = seen.admission.Trial
	}}
}

// makeMove carries out the plan's move: the next action with runners or with the OSDs' caches.
func (r *Reconciler) makeMove(ctx context.Context, seen pass, p plan) (effect, error) {
	runners, tasks := seen.party(p.Detail.move)
	switch p.Detail.move.Kind {
	case workload.MoveAssign:
		return effect{Edit: markRunning(seen, p)}, clientview.Each(ctx, runners, func(ctx context.Context, i int, c runner.Client) error {
			_, err := c.Put(ctx, p.Detail.move.Tasks[i])
			return err
		})
	case workload.MoveStart:
		seen.live.NoteScript(seen.script)
		return effect{}, clientview.Start(ctx, runners, p.Detail.move.ID, &seen.memory.noted, r.Now())
	case workload.MoveCancel:
		return effect{Again: time.Second}, clientview.Cancel(ctx, runners, tasks, p.Detail.move.ID)
	case workload.MoveDropCaches:
		return now(), r.dropCaches(ctx, seen, p.Detail.move.ID)
	case workload.MoveCount:
		return now(), r.countOSDs(ctx, seen, p.Detail.move.ID)
	case workload.MoveReadPilot:
		return now(), r.readPilot(ctx, seen, p.Detail.move.ID)
	case workload.MoveReadStep:
		return now(), r.readStep(ctx, seen, p.Detail.move)
	default:
		return effect{}, fmt.Errorf("no action for move %q", p.Detail.move.Kind)
	}
}

// dropTimeout is how long OSDs may take to drop their caches.
const dropTimeout = 2 * time.Minute

func (r *Reconciler) dropCaches(ctx context.Context, seen pass, id string) error {
	ctx, cancel := context.WithTimeout(ctx, dropTimeout)
	defer cancel()
	connection, err := r.Rook.Connection(ctx, seen.cluster, seen.cluster.Identities.CacheDropper)
	if err != nil {
		return err
	}
	if err := r.Ceph.DropOSDCaches(ctx, connection); err != nil {
		return fmt.Errorf("drop the caches of the OSDs: %w", err)
	}
	seen.memory.noted.CachesDropped[id] = true
	return nil
}

func (r *Reconciler) readPilot(ctx context.Context, seen pass, id string) error {
	slowest, err := conclusion.SlowestSeconds(ctx, reporters(seen.runners), id)
	if err != nil {
		return err
	}
	seen.memory.noted.PilotSeconds[id] = slowest
	return nil
}

// readStep adds a step to the curve of a phase.
func (r *Reconciler) readStep(ctx context.Context, seen pass, move workload.Move) error {
	return seen.concluded(move.Read.Run).ReadStep(ctx, reporters(seen.runners), move, seen.disturbancesOf(move.Read.Run, move.ID), seen.memory.noted.Courses)
}

// markRunning returns an edit of status. If the plan assigns the run's first phase to the clients, the edit
// marks the run as running. Otherwise it changes nothing.
func markRunning(seen pass, p plan) func(*v1alpha1.CephBenchmarkStatus) {
	return func(s *v1alpha1.CephBenchmarkStatus) {
		if seen.diagnoses() || p.Detail.move.ID != workload.TaskID(p.Detail.run, seen.script.Phases[0].Name) {
			return
		}
		start := metav1.NewTime(seen.now)
		conclusion.SetRun(s, v1alpha1.BenchmarkRun{Number: p.Detail.run, State: v1alpha1.RunRunning, StartTime: &start})
	}
}
