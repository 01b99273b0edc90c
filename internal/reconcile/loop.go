package reconcile

import (
	"cmp"
	"context"
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/schedule"
)

// Loop carries out the passes of one kind of object. Each pass observes facts, decides on one step, carries it out,
// and records the outcome in one write of status. Set the exported fields before the first pass, except for those that
// may be nil. O is the object and S its status, F the facts, D the details of plans, and M the memory.
type Loop[O client.Object, S, F, D, M any] struct {
	// Client reads from a cache and writes. Reader reads from the API server.
	Client   client.Client
	Reader   client.Reader
	Recorder events.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// Finalizer keeps a deleted object until nothing of it is left.
	Finalizer string

	// New returns an empty object.
	New func() O
	// Status returns an object's status and its conditions.
	Status func(O) (*S, []metav1.Condition)
	// Rests reports whether the object needs no work, so that the cache suffices to read it. Otherwise a cache may
	// lack the last pass's status, and the loop would repeat a step.
	Rests func(O) bool
	// Queued returns the facts of an object that waits for its turn while others are ahead. It reads only the cache, so
	// that a long queue costs no requests. It returns false for an object that must be observed; nil does so for all.
	Queued func(context.Context, O, Pass[M]) (F, bool, error)
	// RunOf names the object's UID and run ID while something of that run may exist; "" otherwise. For each run, this
	// process has a memory.
	RunOf func(O) string
	// Fresh returns the memory of a run that this process has not seen before.
	Fresh func() M

	// Observe gathers the facts. It changes nothing in Kubernetes or Ceph.
	Observe func(context.Context, O, Pass[M]) (F, error)
	// Blind returns the facts to record that Observe failed for an object at work; nil records nothing.
	Blind func(O, time.Time) F
	// Decide returns the next step. It is pure.
	Decide func(F) Plan[D]
	// Describe returns the decision in the form that is logged.
	Describe func(F, Plan[D]) Decision
	// Act carries out a step. It returns what the memory becomes, also if the step fails.
	Act func(context.Context, F, Plan[D]) (Effect[S], M, error)
	// StatusAfter returns the object with the status that results from a pass. The memory and the error are those of Act.
	StatusAfter func(F, M, Plan[D], Effect[S], error) O

	// Recorded is called after each write of status, for metrics.
	Recorded func(before, after *S)
	// End ends what this process does for an object that is gone. It returns when to look again; 0 if all has ended.
	End func(types.NamespacedName) time.Duration

	memories memories[M]
}

// Pass is what a pass knows before it observes anything.
type Pass[M any] struct {
	Now time.Time
	// Memory is what this process remembers of the run, and Headway what the object waits for. Both are empty if
	// nothing of a run can exist. They are copies: facts are read-only.
	Memory  M
	Headway Headway
	// Schedule is what the object's schedule requests.
	Schedule schedule.Request
}

// RetryFirst and RetryAtMost are the shortest and the longest delay before a failed step is retried. The longest delay
// limits how long a controller continues to wait once Ceph or the network works again.
const (
	RetryFirst  = 100 * time.Millisecond
	RetryAtMost = 30 * time.Second
)

// sideBySide is the number of objects that a controller reconciles concurrently. A pass that waits for one Ceph
// cluster must not delay the passes of other objects, above all a pass that ends an outage.
const sideBySide = 4

// fillWithin is how long the caches may take to fill. A manager that ends earlier begins again with nothing, and an API
// server that is too busy for 10,000 CRs in two minutes, controller-runtime's default, would never see it begin.
const fillWithin = 20 * time.Minute

// Options returns the options with which controllers run their loops.
func Options() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: sideBySide,
		CacheSyncTimeout:        fillWithin,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](RetryFirst, RetryAtMost),
	}
}

// Reconcile moves one object one step forward. It writes status even if the step has failed, so that the user sees why.
func (l *Loop[O, S, F, D, M]) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	now := l.Now()
	object, request, seen, queued, err := l.read(ctx, req.NamespacedName, now)
	if apierrors.IsNotFound(err) || err == nil && IsGone(object, l.Finalizer) {
		l.memories.forget(req.NamespacedName)
		return ctrl.Result{RequeueAfter: l.End(req.NamespacedName)}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	known, run, before := l.recall(object, request, now)
	if !queued {
		if seen, err = l.Observe(ctx, object, before); err != nil {
			return ctrl.Result{}, errors.Join(err, l.recordBlind(ctx, object, now, err))
		}
	}
	next := l.Decide(seen)
	known.log.Note(ctx, object, l.Describe(seen, next))
	effect, memory, failure := l.Act(ctx, seen, next)
	run.memory = memory
	run.headway.Note(next.Step, next.Deadline.For, effect.Outcome.Message, effect.Waits, failure, now)
	known.log.Found(ctx, object, effect.Outcome.Reason, effect.Outcome.Message)
	if next.Step != StepNone || request.Changes(object) { // Most objects rest when a manager starts. To compute their statuses would take a tenth of the start.
		after := l.StatusAfter(seen, memory, next, effect, failure)
		request.Record(after)
		if request.Skipped != "" {
			effect.Events = append(effect.Events, Normal("RunSkipped", request.Skipped))
		}
		failure = errors.Join(failure, l.record(ctx, object, after, next.Step, effect, &run.headway, now))
	}
	if failure != nil {
		return ctrl.Result{}, failure
	}
	again := cmp.Or(effect.Again, next.Again)
	if again == 0 || request.Again > 0 && request.Again < again {
		again = request.Again
	}
	return ctrl.Result{RequeueAfter: again}, nil
}

// recall returns what this process remembers of an object and of its run.
func (l *Loop[O, S, F, D, M]) recall(object O, request schedule.Request, now time.Time) (*remembered[M], *run[M], Pass[M]) {
	known := l.remembered(object)
	run := known.find(l.RunOf(object), l.Fresh)
	return known, run, Pass[M]{Now: now, Memory: run.memory, Headway: run.headway, Schedule: request}
}

// read returns the object with the run ID that its schedule requests. It reads the cache if the object needs no work or
// if others are ahead of it in the queue. In the latter case, it also returns the facts, and true.
func (l *Loop[O, S, F, D, M]) read(ctx context.Context, key types.NamespacedName, now time.Time) (object O, request schedule.Request, seen F, queued bool, err error) {
	if object, request, err = l.get(ctx, l.Client, key, now); err != nil || l.Rests(object) {
		return object, request, seen, false, err
	}
	// If this process remembers another object or run, the cache is late.
	if l.Queued != nil && l.memories.fits(key, object.GetUID(), l.RunOf(object)) {
		_, _, before := l.recall(object, request, now)
		if seen, queued, err = l.Queued(ctx, object, before); err != nil || queued {
			return object, request, seen, queued, err
		}
	}
	object, request, err = l.get(ctx, l.Reader, key, now)
	return object, request, seen, false, err
}

// get returns the object with the run ID that its schedule requests.
func (l *Loop[O, S, F, D, M]) get(ctx context.Context, from client.Reader, key types.NamespacedName, now time.Time) (O, schedule.Request, error) {
	object := l.New() // A field that is missing in an answer would keep its value.
	if err := from.Get(ctx, key, object); err != nil {
		return object, schedule.Request{}, err
	}
	return object, schedule.Enter(object, now), nil
}

// recordBlind records that the observation of an object has failed. An object without a run has nothing to say: the
// error in its status would mark an unchecked object as begun.
func (l *Loop[O, S, F, D, M]) recordBlind(ctx context.Context, object O, now time.Time, failure error) error {
	if l.Blind == nil || l.RunOf(object) == "" {
		return nil
	}
	var none Pass[M]
	after := l.StatusAfter(l.Blind(object, now), none.Memory, Plan[D]{Step: StepWait}, Effect[S]{}, failure)
	return l.record(ctx, object, after, StepWait, Effect[S]{}, &none.Headway, now)
}

// record writes status after a pass. Then it emits the events of the step, and an event if the reason has changed.
func (l *Loop[O, S, F, D, M]) record(ctx context.Context, before, after O, step Step, e Effect[S], headway *Headway, now time.Time) error {
	earlier, old := l.Status(before)
	soon := now.Sub(headway.writtenAt) < messageInterval(before, old)
	var written bool
	var err error
	if !e.Gone && (!soon || !kstatus.EqualIgnoringMessages(before, after)) {
		written, err = kstatus.Patch(ctx, l.Client, before, after)
	}
	if written {
		headway.writtenAt = now
	}
	// The events of the step are emitted even if a concurrent edit made the write fail. The next pass may not know
	// of them.
	Emit(l.Recorder, after, step, e.Events...)
	if err != nil || !written && !e.Gone {
		return err
	}
	status, conditions := l.Status(after)
	if e.Recorded == nil {
		e.Recorded = l.Recorded
	}
	e.Recorded(earlier, status)
	if current := kstatus.Current(conditions); current.Reason != kstatus.Current(old).Reason && !e.Gone {
		Emit(l.Recorder, after, step, Event{Type: kstatus.EventType(conditions), Reason: current.Reason, Message: current.Message})
	}
	return nil
}

// messageInterval is the shortest time between two writes of status that differ only in messages or in the texts of the
// progress. The messages of an object that has ended are less urgent, unless OSDs are still down or it is deleted.
func messageInterval(object client.Object, conditions []metav1.Condition) time.Duration {
	if kstatus.HasEnded(conditions) && object.GetDeletionTimestamp().IsZero() && kstatus.Current(conditions).Reason != v1alpha1.ReasonRestoringOSDs {
		return 3 * MessageInterval
	}
	return MessageInterval
}

// MessageInterval is the shortest time between two writes of status that differ only in messages.
const MessageInterval = 10 * time.Second

// Forget drops the memory of an object's run. Call it in a pass of that object.
func (l *Loop[O, S, F, D, M]) Forget(object O) { l.remembered(object).run = nil }

// Begin stores the memory of a run that this pass begins, and records in status. It replaces the memory of the object's
// last run.
func (l *Loop[O, S, F, D, M]) Begin(object O, id string, memory M) {
	l.remembered(object).run = &run[M]{id: id, memory: memory, headway: Headway{writtenAt: l.Now()}}
}

func (l *Loop[O, S, F, D, M]) remembered(object O) *remembered[M] {
	return l.memories.find(client.ObjectKeyFromObject(object), object.GetUID())
}
