package cephbenchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// facts are the observations of one pass. Later code does not look again.
type facts struct {
	now       time.Time
	settings  *settings.Settings
	benchmark *v1alpha1.CephBenchmark
	// spec is what the session at work was started with; the benchmark's own may ask
	// for another run already.
	spec    v1alpha1.CephBenchmarkSpec
	session session
	cluster settings.Cluster
	known   bool // that cluster is in the settings
	// refused is why nothing may run in the namespace; "" if benchmarks may. It is asked
	// before anything is begun.
	refused string

	rook    *rook.ClusterInfo
	rookErr error
	locked  bool // by this benchmark, or by the sweep that it belongs to

	job     *batchv1.Job
	jobLost bool // it was made, and not the manager has deleted it
	// jobMismatch is why the Job is not as the manager made it; "" if it is. The manager does
	// not believe such a Job, and leaves a foreign one alone.
	jobMismatch string
	pods        []corev1.Pod
	// orphans are pods that go on though their Job is gone, where they are about to be
	// cleaned up after.
	orphans []corev1.Pod
	// hint is Kubernetes' last warning about the Job, or about a pod of it, that makes no
	// progress.
	hint string

	background backgroundFacts // what was seen of the background load

	live   *liveSession
	memory *memory
	clusterwatch.View

	datasetBytes int64 // that each client prefills
	roomBytes    int64 // that each may write in addition

	block    bool  // the target is a claim in volume mode Block
	claimErr error // it could not be found out

	script    *workload.Script
	scriptErr error // the spec cannot be carried out on this cluster

	outage outageView

	// leftBehind: the replaced run may have left something.
	leftBehind bool

	// shared is the use of a scratch pool of the sweep; the zero value where the benchmark has
	// its own.
	shared rook.ScratchUse

	runners map[int]runnerView
	logs    map[int]*podLog // of clients that are known only from logs
	tasks   workload.Tasks  // nil if not all runners have answered yet
	next    workload.Move
}

// With the Job is kept what the session was started with: the spec, and the bytes that
// each client prefills.
const (
	annotationSpec    = "cephtune.dev/spec"
	annotationDataset = "cephtune.dev/dataset-bytes"
	// annotationRoom is what each client may write in addition.
	annotationRoom = "cephtune.dev/room-bytes"
)

// observe gathers the facts. It only reads, and no more than the object's stage
// needs: one that has ended costs a look into a cache.
func (r *Reconciler) observe(ctx context.Context, b *v1alpha1.CephBenchmark) (facts, error) {
	seen := facts{now: r.now(), settings: r.settings, benchmark: b, spec: b.Spec}
	seen.session = sessionOf(b.UID, b.Status.ObservedRunID)
	if !seen.mayHaveMade() {
		return seen, r.observeNamespace(ctx, &seen)
	}
	seen.live = r.live.session(client.ObjectKeyFromObject(b), seen.session.id())
	seen.memory = seen.live.memory
	var err error
	if seen.shared, err = scratchpool.Shared(r.masterKey, b); err != nil {
		return facts{}, err
	}
	if err := r.observeJob(ctx, &seen); err != nil {
		return facts{}, err
	}
	if seen.cluster, seen.known = r.settings.Cluster(seen.spec.ClusterRef); !seen.known {
		return seen, nil
	}
	r.observeCluster(ctx, &seen)
	if err := r.observeReplaced(ctx, &seen); err != nil {
		return facts{}, err
	}
	if err := r.observeRunners(ctx, &seen); err != nil {
		return facts{}, err
	}
	seen.noteOutage()
	seen.live.lookBetweenRuns(seen.betweenRuns())
	return seen, nil
}

// observeNamespace asks whether benchmarks may run where one is about to begin.
func (r *Reconciler) observeNamespace(ctx context.Context, seen *facts) (err error) {
	status := seen.benchmark.Status
	if seen.deleted() || seen.benchmark.Spec.Suspend || hasEnded(status) && status.ObservedRunID == seen.benchmark.Spec.RunID {
		return nil
	}
	seen.refused, err = r.places.Refusal(ctx, seen.benchmark.Namespace)
	return err
}

// read reads the object: one that has ended from the cache, any other from the API
// server, because a cache may not have seen yet what the last pass has written, and a
// step that is taken twice is worse than a request.
func (r *Reconciler) read(ctx context.Context, key types.NamespacedName) (*v1alpha1.CephBenchmark, error) {
	b := &v1alpha1.CephBenchmark{}
	if err := r.client.Get(ctx, key, b); err != nil {
		return nil, err
	}
	cached := facts{benchmark: b}
	if hasEnded(b.Status) && b.Status.ObservedRunID == b.Spec.RunID && !cached.atWork() && !cached.deleted() {
		return b, nil
	}
	return b, r.reader.Get(ctx, key, b)
}

// observeJob looks at the Job of the session and its pods.
func (r *Reconciler) observeJob(ctx context.Context, seen *facts) error {
	key := types.NamespacedName{Namespace: seen.benchmark.Namespace, Name: seen.session.name}
	job := &batchv1.Job{}
	err := r.client.Get(ctx, key, job)
	if apierrors.IsNotFound(err) && seen.memory.madeJob != "" {
		err = r.reader.Get(ctx, key, job) // The cache may be late.
	}
	if apierrors.IsNotFound(err) {
		seen.jobLost = seen.memory.madeJob != seen.memory.replacedJob
		return r.observeOrphans(ctx, seen)
	}
	if err != nil {
		return fmt.Errorf("read the Job of the clients: %w", err)
	}
	seen.session.keyedByName = startedBefore(job)
	if seen.jobMismatch, err = seen.session.mismatch(r.masterKey, seen.benchmark, job); err != nil {
		return err
	}
	if !metav1.IsControlledBy(job, seen.benchmark) {
		return nil
	}
	seen.job, seen.memory.madeJob = job, job.UID
	if seen.jobMismatch == "" {
		if err := seen.readSession(job); err != nil {
			return err
		}
		seen.jobMismatch = seen.osdsUnknown()
	}
	return r.observePods(ctx, seen, job)
}

// readSession reads what the session was started with.
func (f *facts) readSession(job *batchv1.Job) error {
	// A session's dataset keeps its size, even if the free room changes later.
	f.datasetBytes, _ = strconv.ParseInt(job.Annotations[annotationDataset], 10, 64)
	f.roomBytes, _ = strconv.ParseInt(job.Annotations[annotationRoom], 10, 64)
	if err := json.Unmarshal([]byte(job.Annotations[annotationSpec]), &f.spec); err != nil {
		return fmt.Errorf("read the spec that Job %s was made for: %w", job.Name, err)
	}
	return nil
}

// observePods observes the clients, and why they make no progress.
func (r *Reconciler) observePods(ctx context.Context, seen *facts, job *batchv1.Job) (err error) {
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{labelSession: seen.session.name}); err != nil {
		return fmt.Errorf("list the pods of the clients: %w", err)
	}
	// Not those of a Job that this one has replaced.
	seen.pods = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, job) })
	if stuck := stuckObject(job, seen.pods); stuck != nil && seen.now.Sub(job.CreationTimestamp.Time) > hintAfter {
		if seen.hint, err = r.lastWarning(ctx, stuck); err != nil {
			return err
		}
	}
	return r.observeBackgroundJob(ctx, seen)
}

// observeOrphans looks for pods whose Job is gone, before what they write is removed. Who
// deletes the Job, or the namespace, has Kubernetes end them, which takes a moment.
func (r *Reconciler) observeOrphans(ctx context.Context, seen *facts) error {
	if !seen.tearingDown() {
		return nil
	}
	for _, job := range []string{seen.session.name, seen.session.background().name} {
		var pods corev1.PodList
		if err := r.client.List(ctx, &pods, client.InNamespace(seen.benchmark.Namespace), client.MatchingLabels{labelSession: job}); err != nil {
			return fmt.Errorf("list the pods of the deleted Job %s: %w", job, err)
		}
		seen.orphans = append(seen.orphans, pods.Items...)
	}
	return nil
}

// hintAfter is how long a Job may be without pods, or a pod may be on its way, before
// events are asked why.
const hintAfter = 5 * time.Second

// stuckObject is what to ask events about: a Job without pods, or the first pod that
// is on a node and does not run; nil if there is no need.
func stuckObject(job *batchv1.Job, pods []corev1.Pod) client.Object {
	if len(pods) == 0 {
		return job
	}
	for i := range pods {
		if pods[i].Status.Phase == corev1.PodPending {
			return &pods[i]
		}
	}
	return nil
}

// lastWarning is Kubernetes' last warning about an object. Only there do problems of quotas, pod
// security and mounts show.
func (r *Reconciler) lastWarning(ctx context.Context, o client.Object) (string, error) {
	var events corev1.EventList
	err := r.reader.List(ctx, &events, client.InNamespace(o.GetNamespace()), client.MatchingFields{
		"involvedObject.uid": string(o.GetUID()), "type": corev1.EventTypeWarning,
	})
	if client.IgnoreNotFound(err) != nil { // A resource is not found while its namespace is being deleted.
		return "", fmt.Errorf("read the events of %s: %w", o.GetName(), err)
	}
	if len(events.Items) == 0 {
		return "", nil
	}
	latest := slices.MaxFunc(events.Items, func(a, b corev1.Event) int { return a.LastTimestamp.Compare(b.LastTimestamp.Time) })
	return latest.Message, nil
}

// observeCluster looks at Rook's CephCluster, the lock, and Ceph.
func (r *Reconciler) observeCluster(ctx context.Context, seen *facts) {
	info, err := r.rook.Cluster(ctx, seen.spec.ClusterRef)
	if err != nil {
		seen.rookErr = err
		return
	}
	seen.rook = &info
	if seen.tearingDown() {
		seen.View = seen.live.lastView()
		return
	}
	watching := seen.live.startWatch(r.ceph, r.connection(seen.cluster, seen.cluster.Identities.Observer))
	seen.View = watching.View()
	seen.locked = seen.memory.lock != nil && seen.now.Sub(seen.memory.lockedAt) < lock.RenewAfter
}

// observeReplaced asks whether a run that is replaced may have left something.
func (r *Reconciler) observeReplaced(ctx context.Context, seen *facts) (err error) {
	if seen.replaced() {
		seen.leftBehind, err = r.mayBeInCeph(ctx, *seen)
	}
	return err
}

// connection finds the way to a cluster anew each time, because monitors move and
// keys are rotated.
func (r *Reconciler) connection(cluster settings.Cluster, identity string) clusterwatch.Connect {
	return func(ctx context.Context) (ceph.Connection, error) { return r.rook.Connection(ctx, cluster, identity) }
}

// observeRunners looks at how far the clients are, and so what comes next.
func (r *Reconciler) observeRunners(ctx context.Context, seen *facts) error {
	if seen.Survey == nil && !seen.tearingDown() && !seen.benchmark.Spec.Suspend {
		return nil
	}
	if err := r.observeClaim(ctx, seen); err != nil || seen.claimErr != nil {
		return err
	}
	if seen.script, seen.scriptErr = seen.newScript(); seen.scriptErr != nil || seen.job == nil {
		return nil //nolint:nilerr // It is a fact, about which a rule decides.
	}
	if err := r.observeClients(ctx, seen); err != nil {
		return err
	}
	seen.tasks = tasksOf(seen.runners, int(seen.spec.Template.Clients.Count))
	if seen.hasBackground() {
		seen.background.tasks = tasksOf(seen.background.runners, 1)
		seen.memory.noted.NoteEnds(seen.background.tasks, seen.now)
	}
	if len(seen.logs) > 0 {
		seen.memory.noted.NoteTimes(seen.tasks)
	}
	seen.memory.noted.NoteEnds(seen.tasks, seen.now)
	if seen.heard() && !seen.allRunsEnded() {
		seen.next = seen.script.Next(seen.currentRun(), seen.tasksOfRun(), seen.background.tasks, &seen.memory.noted, seen.now)
	}
	return nil
}

func (f *facts) newScript() (*workload.Script, error) {
	if f.job == nil && f.Survey != nil && !f.tearingDown() { // The teardown does not need its size.
		var err error
		if f.datasetBytes, _, err = f.dataset(); err != nil {
			return nil, err
		}
	}
	places := workload.Places(f.session.name, f.cluster.Identities.IO, f.spec.Template, f.cephMajor(), f.datasetBytes, f.block)
	background := workload.PlaceOfBackground(f.session.background().name, places)
	f.shareDataset(places)
	made, err := workload.New(f.spec.Template, places, background)
	if err != nil {
		return nil, err
	}
	made.Switched = sweepspec.IsSession(f.benchmark)
	if f.job == nil {
		f.roomBytes = f.room(made)
	}
	made.Limit(f.roomBytes, f.dataChunks())
	return made, nil
}

// observeClients asks the runners, and reads the logs of those that cannot be asked.
func (r *Reconciler) observeClients(ctx context.Context, seen *facts) error {
	seen.runners, seen.logs = map[int]runnerView{}, map[int]*podLog{}
	if !seen.standalone() {
		key, err := seen.session.key(r.masterKey)
		if err != nil {
			return err
		}
		addresses := addressesOf(seen.pods)
		if address, runs := addressesOf(seen.background.pods)[0]; runs {
			addresses[backgroundIndex] = address
		}
		seen.runners = seen.live.runners.follow(addresses, key) //nolint:contextcheck // It outlives the pass.
		if view, followed := seen.runners[backgroundIndex]; followed {
			delete(seen.runners, backgroundIndex)
			seen.background.runners = map[int]runnerView{0: view}
		}
	}
	for _, view := range seen.runners {
		seen.memory.reached = seen.memory.reached || view.snapshot != nil
	}
	return r.readLogs(ctx, seen)
}

// mayHaveMade reports whether something may exist that the object has made.
func (f facts) mayHaveMade() bool {
	return f.atWork() || f.deleted() && controllerutil.ContainsFinalizer(f.benchmark, Finalizer) && !f.tidied()
}

// tidied reports whether the run ID has ended and everything that was made for it is
// removed: a status that has ended is written as no longer at work only then.
func (f facts) tidied() bool { return hasEnded(f.benchmark.Status) && !f.atWork() }

func (f facts) deleted() bool { return !f.benchmark.DeletionTimestamp.IsZero() }

// atWork reports whether something may exist that belongs to the run which status
// is about.
func (f facts) atWork() bool {
	return meta.IsStatusConditionTrue(f.benchmark.Status.Conditions, v1alpha1.ConditionReconciling)
}

// replaced reports whether the spec asks for another run while this one has no clients: it
// measures nothing, and its spec is gone.
func (f facts) replaced() bool {
	return f.atWork() && f.job == nil && !f.jobLost && f.benchmark.Status.ObservedRunID != f.benchmark.Spec.RunID
}

// tearingDown reports whether all that is left is to remove what was made.
func (f facts) tearingDown() bool {
	return f.deleted() || hasEnded(f.benchmark.Status) || f.pausing() || f.replaced()
}

// pausing reports whether the teardown for a suspension has begun. It is then completed, and the
// session is not used again.
func (f facts) pausing() bool {
	return f.atWork() && reasonOf(f.benchmark) == v1alpha1.ReasonSuspended
}

func (f facts) startTime() time.Time {
	if f.benchmark.Status.StartTime == nil {
		return f.now
	}
	return f.benchmark.Status.StartTime.Time
}

// endedRuns counts the runs that have ended, in whatever way.
func (f facts) endedRuns() int32 {
	ended := int32(0)
	for _, run := range f.benchmark.Status.Runs {
		if run.State != v1alpha1.RunRunning {
			ended++
		}
	}
	return ended
}

// currentRun is the run at work, or the next one, from 1.
func (f facts) currentRun() int32 { return f.endedRuns() + 1 }

func (f facts) allRunsEnded() bool { return f.endedRuns() >= f.spec.Repetitions }

// isMeasuring reports whether a phase is running, or may be: after a restart of the manager that
// is unknown until the runners have answered.
func (f facts) isMeasuring() bool {
	if f.standalone() {
		return false // It always is; to wait for a pause would be to wait for the end.
	}
	if f.job != nil && f.tasks == nil && int(f.endedRuns()) < len(f.benchmark.Status.Runs) {
		return true
	}
	return f.tasks != nil && slices.ContainsFunc(f.tasks, func(of map[string]task.Status) bool {
		for _, status := range of {
			if status.State == task.Measuring {
				return true
			}
		}
		return false
	})
}

// lostSince is since when a runner that had to answer has not; zero if all do.
func (f facts) lostSince() time.Time {
	var since time.Time
	for _, view := range f.everyone() {
		if view.err != nil && (since.IsZero() || view.since.Before(since)) {
			since = view.since
		}
	}
	return since
}

// lostErr is why the first of those does not answer, in their order: the message that
// it ends up in must not change with the order of a map.
func (f facts) lostErr() error {
	for _, view := range f.everyone() {
		if view.err != nil {
			return view.err
		}
	}
	return nil
}

// addressesOf are the addresses of the pods that run, by client.
func addressesOf(pods []corev1.Pod) map[int]string {
	addresses := map[int]string{}
	for i := range pods {
		index, ok := clientIndex(&pods[i])
		if ok && pods[i].Status.Phase == corev1.PodRunning && pods[i].Status.PodIP != "" && pods[i].DeletionTimestamp.IsZero() {
			addresses[index] = net.JoinHostPort(pods[i].Status.PodIP, strconv.Itoa(runner.Port))
		}
	}
	return addresses
}
