package cephbenchmark

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/clients/live"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
	"github.com/cephtune/cephtune/internal/loadtarget/claims"
	"github.com/cephtune/cephtune/internal/lock/queue"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/schedule"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/signature/trial"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/workload"
)

// facts holds the observations of one pass. Rules only read them.
type facts struct {
	now       time.Time
	settings  *settings.Settings
	benchmark *v1alpha1.CephBenchmark
	// spec is the spec with which the current execution began, from its Job. If the Job is missing or altered,
	// it is the benchmark's present spec, which may already have another run ID.
	spec      v1alpha1.CephBenchmarkSpec
	execution clientjob.Execution
	cluster   settings.Cluster
	known     bool // the operator config lists the cluster
	// refused is why benchmarks may not run in the namespace, or may not use or create the target's claims; ""
	// if they may. The namespace is observed only before an execution begins. The claims are observed until the Job
	// exists, because the spec and a claim may change until then.
	refused string

	rook       *rook.ClusterInfo
	rookErr    error
	kubernetes string // the version of the API server
	locked     bool   // the execution has the lock, and need not renew it yet
	// line is what is ahead in the queue. It is observed only while the execution does nothing but wait for it; then all
	// other observations are missing.
	line queue.Line

	job     *batchv1.Job
	jobLost bool // the Job was created and is gone, but not because the operator replaces it
	// jobMismatch says how the Job differs from the one that the manager created. The manager ignores the
	// spec that is stored in such a Job. If another user created the Job, job is nil.
	jobMismatch clientjob.Mismatch
	// unrecorded is the execution's Job, or that of its background load, if its UID was not recorded. Its pods
	// do not count, because it may be a copy.
	unrecorded *batchv1.Job
	pods       []corev1.Pod
	// orphans holds the execution's pods whose Job is gone. Only a teardown observes them, because they may
	// still write data that it has to remove.
	orphans []corev1.Pod
	// hint is Kubernetes' last warning about the execution's Jobs or pods while pods do not start; "" without
	// one.
	hint string

	background backgroundFacts // observations of the background load

	live   *live.Execution
	memory memory
	// headway says what the execution waits for, and since when.
	headway reconcile.Headway
	// schedule is what spec.schedule requests. Its run ID is that in the spec of the object in memory.
	schedule schedule.Request
	clusterwatch.View

	datasetBytes int64 // bytes that each client prefills
	roomBytes    int64 // bytes that each client may write in addition to datasetBytes

	block    bool  // the target is a claim in volume mode Block
	claimErr error // why block is unknown

	script    *workload.Script
	scriptErr error // why the spec cannot be carried out on this cluster

	outage outage.View

	pool    scratchpool.View // observations of the scratch pool while it is being prepared
	poolErr error

	// misplaced describes how the scratch pool's placement differed from the requested one after the phases
	// of the current run; "" if it did not. misplacedErr is why the placement is unknown.
	misplaced    string
	misplacedErr error

	// inCeph says that Ceph may have pools, images, objects or the lock of the execution. It is determined
	// only for a teardown or a pause. inCephErr is why inCeph is unknown.
	inCeph    bool
	inCephErr error

	// admission is the answer to a benchmark that is about to begin with a sweep as its controller.
	admission trial.Admission
	// untrusted says why an execution that names a sweep is not, or no longer, the run of that sweep; "" if it is, or
	// if the benchmark runs for itself.
	untrusted string

	runners map[int]clientview.View
	logs    map[int]*clientview.Log // logs of clients whose pods have ended
	tasks   workload.Tasks          // nil until all clients' runners have answered
	next    workload.Move
}

// observe gathers the facts. It changes nothing in Kubernetes or Ceph. It reads only as much as the stage
// of the benchmark needs: nothing if the benchmark has ended, is torn down, and has no new run ID.
// [memory.remember] stores the observations that later passes need.
func (r *Reconciler) observe(ctx context.Context, b *v1alpha1.CephBenchmark, p reconcile.Pass[memory]) (facts, error) {
	seen := facts{now: p.Now, settings: r.Settings, benchmark: b, spec: diagnosis.Expand(b.Spec), memory: p.Memory, headway: p.Headway, schedule: p.Schedule}
	seen.execution = clientjob.ExecutionOf(b.UID, b.Status.ObservedRunID)
	if !seen.mayHaveMade() {
		return seen, r.observePermission(ctx, &seen)
	}
	seen.live = r.live.Of(client.ObjectKeyFromObject(b), seen.execution.ID()) //nolint:contextcheck // The goroutines that follow clients outlive the pass.
	var err error
	if err = r.observeJob(ctx, &seen); err != nil {
		return facts{}, err
	}
	if seen.untrusted, err = seen.whyUntrusted(); err != nil {
		return facts{}, err
	}
	if seen.cluster, seen.known = r.Settings.Cluster(seen.spec.ClusterRef); !seen.known {
		seen.memory.remember(seen)
		return seen, nil
	}
	if err := r.observeClaims(ctx, &seen); err != nil {
		return facts{}, err
	}
	r.observeCluster(ctx, &seen)
	r.observePool(ctx, &seen)
	if seen.tearingDown() || b.Spec.Suspend {
		seen.inCeph, seen.inCephErr = r.mayBeInCeph(ctx, seen)
	}
	if seen.replaced() && seen.inCephErr != nil {
		return facts{}, seen.inCephErr
	}
	if err := r.observeRunners(ctx, &seen); err != nil {
		return facts{}, err
	}
	seen.memory.remember(seen)
	seen.observeOutage()
	seen.observeNext()
	r.observePlacement(ctx, &seen)
	asks := seen.asks()
	if seen.mayLoseNodes() {
		asks.Clients = r.blocker(seen).Addresses
	}
	seen.live.Ask(asks)
	return seen, nil
}

// observePermission checks, when a benchmark is about to begin, whether benchmarks may run in its namespace, and
// whether its target may use or create claims. If a sweep is its controller, it also checks whether the sweep
// created it.
func (r *Reconciler) observePermission(ctx context.Context, seen *facts) (err error) {
	status := seen.benchmark.Status
	if seen.deleted() || seen.benchmark.Spec.Suspend || hasEnded(status) && status.ObservedRunID == seen.benchmark.Spec.RunID {
		return nil
	}
	seen.refused, err = r.Namespaces.Refusal(ctx, seen.benchmark.Namespace)
	if err != nil || seen.refused != "" {
		return err
	}
	if seen.admission, err = r.admit(ctx, seen.benchmark); err != nil {
		return err
	}
	if seen.cluster, seen.known = r.Settings.Cluster(seen.spec.ClusterRef); !seen.known {
		return nil
	}
	return r.observeClaims(ctx, seen)
}

// observeClaims checks whether the target may use or create claims.
func (r *Reconciler) observeClaims(ctx context.Context, seen *facts) (err error) {
	if seen.job == nil && !seen.jobLost && !seen.tearingDown() {
		seen.refused, err = claims.UseOf(seen.benchmark.Namespace, seen.spec.Template, seen.spec.OtherTargets...).Refusal(ctx, r.Reader, seen.cluster)
	}
	return err
}

// admit decides whether a benchmark with a sweep as its controller may begin. It reads the sweep from the API
// server, because a cache may lack the latest trial.
func (r *Reconciler) admit(ctx context.Context, b *v1alpha1.CephBenchmark) (trial.Admission, error) {
	owner, found := objectref.SweepOf(b)
	if !found {
		return trial.Admission{}, nil
	}
	s := &v1alpha1.CephTuningSweep{}
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: b.Namespace, Name: owner.Name}, s)
	if client.IgnoreNotFound(err) != nil {
		return trial.Admission{}, fmt.Errorf("look for the sweep of the benchmark: %w", err)
	}
	s.Name = owner.Name // A sweep that does not exist has no trial.
	return trial.Admit(r.MasterKey, s, b)
}

// whyUntrusted returns the value of the field untrusted. A user may have edited the spec or the owner after the
// execution began. Without a trial in status, the benchmark was no sweep's when it began.
func (f *facts) whyUntrusted() (string, error) {
	run := f.benchmark.Status.Trial
	if owner, found := objectref.SweepOf(f.benchmark); run == nil && found {
		return trial.Refusal(owner.Name), nil
	}
	if run == nil {
		return "", nil
	}
	digest, err := trial.SpecDigest(f.spec)
	if err != nil || digest == run.SpecDigest {
		return "", err
	}
	return fmt.Sprintf("The spec is no longer that of run %d of CephTuningSweep %s: somebody changed runID. The run does not count.", run.Number, run.Sweep), nil
}

// observeJob observes the Job of the execution and its pods.
func (r *Reconciler) observeJob(ctx context.Context, seen *facts) error {
	jobs := r.jobs()
	job, err := jobs.Get(ctx, types.NamespacedName{Namespace: seen.benchmark.Namespace, Name: seen.execution.Name}, seen.recorded().JobUID != "" || seen.memory.madeJob != "" || seen.memory.taken)
	if err != nil {
		return err
	}
	if job == nil {
		seen.jobLost = seen.memory.madeJob != seen.memory.replacedJob
		return r.observeOrphans(ctx, seen)
	}
	origin, err := r.maker().Origin(seen.benchmark, seen.execution, job, seen.recorded().JobUID)
	if err != nil {
		return err
	}
	if !origin.Ours {
		seen.jobMismatch = origin.Mismatch
		return r.observeOrphans(ctx, seen)
	}
	if seen.job, seen.jobMismatch = job, origin.Mismatch; origin.Unrecorded {
		seen.unrecorded = job
	}
	if seen.jobMismatch.Matches() {
		in, err := clientjob.InputOf(job)
		if err != nil {
			return err
		}
		seen.spec, seen.datasetBytes, seen.roomBytes = in.Spec, in.DatasetBytes, in.RoomBytes
	}
	if seen.pods, err = jobs.Pods(ctx, job); err != nil {
		return err
	}
	if seen.hint, err = jobs.Hint(ctx, job, seen.pods, seen.now); err != nil {
		return err
	}
	return r.observeBackgroundJob(ctx, seen)
}

func (r *Reconciler) jobs() clientview.Jobs {
	return clientview.Jobs{Client: r.Client, Reader: r.Reader}
}

// recorded returns the nonce in status, and the UIDs of the execution's Jobs: those in status or, if status could not
// be written yet, those that this process has created.
func (f facts) recorded() v1alpha1.BenchmarkClients {
	var known v1alpha1.BenchmarkClients
	if f.benchmark.Status.Clients != nil {
		known = *f.benchmark.Status.Clients
	}
	known.JobUID = cmp.Or(known.JobUID, f.memory.clientsJob)
	known.BackgroundJobUID = cmp.Or(known.BackgroundJobUID, f.memory.backgroundJob)
	return known
}

// observeOrphans finds pods of an execution in teardown whose Job is gone. Kubernetes ends such pods with a
// delay, and meanwhile they may write data that the teardown has to remove. If the UID of the Job is known, pods
// of other Jobs do not count.
func (r *Reconciler) observeOrphans(ctx context.Context, seen *facts) (err error) {
	if !seen.tearingDown() {
		return nil
	}
	known := seen.recorded()
	seen.orphans, err = r.jobs().PodsNamed(ctx, seen.benchmark.Namespace, seen.execution.Name, seen.execution.Background().Name)
	seen.orphans = slices.DeleteFunc(seen.orphans, func(pod corev1.Pod) bool {
		owner := metav1.GetControllerOf(&pod)
		return known.JobUID != "" && (owner == nil || owner.UID != known.JobUID && owner.UID != known.BackgroundJobUID)
	})
	return err
}

// observeCluster observes Rook's CephCluster and, except during a teardown, the lock and Ceph.
func (r *Reconciler) observeCluster(ctx context.Context, seen *facts) {
	info, err := r.Rook.Cluster(ctx, seen.spec.ClusterRef)
	if err != nil {
		seen.rookErr = err
		return
	}
	seen.rook = &info
	if seen.tearingDown() {
		seen.View = seen.live.LastView()
		return
	}
	seen.kubernetes = r.KubernetesVersion(ctx)
	watching := seen.live.StartWatch(r.Ceph, r.connection(seen.cluster, seen.cluster.Identities.Observer))
	seen.View = watching.View()
	seen.locked = seen.memory.turn.IsRenewed(seen.now)
}

// connection returns a function that reads the connection to a cluster anew at each call, because
// monitors move and keys are rotated.
func (r *Reconciler) connection(cluster settings.Cluster, identity string) clusterwatch.Connect {
	return func(ctx context.Context) (ceph.Connection, error) { return r.Rook.Connection(ctx, cluster, identity) }
}

// observeRunners determines the script, which has the clients' tasks, and observes the statuses of these
// tasks.
func (r *Reconciler) observeRunners(ctx context.Context, seen *facts) error {
	if seen.Survey == nil && !seen.tearingDown() && !seen.benchmark.Spec.Suspend || !seen.hasClients() {
		return nil
	}
	var err error
	seen.block, err = claims.IsBlock(ctx, r.Reader, seen.benchmark.Namespace, seen.spec.Template.Target.PersistentVolumeClaim, seen.job)
	if missing, found := errors.AsType[*claims.MissingError](err); found {
		seen.claimErr = missing
		return nil
	}
	if err != nil {
		return err
	}
	if seen.script, seen.scriptErr = seen.newScript(); seen.scriptErr != nil || seen.job == nil {
		return nil //nolint:nilerr // A rule decides about the error later.
	}
	if err = r.observeClients(ctx, seen); err != nil {
		return err
	}
	seen.tasks = clientview.TasksOf(seen.runners, seen.clients())
	if seen.hasBackground() {
		seen.background.tasks = clientview.TasksOf(seen.background.runners, 1)
	}
	// A task may have ended after observeCluster read the samples. It is judged from all samples until its end, which
	// is at the latest now.
	latest := seen.live.LastView()
	seen.Samples, seen.Extras, seen.now = latest.Samples, latest.Extras, r.Now()
	return nil
}

// observeNext determines the next move from the tasks and the notes about them.
func (f *facts) observeNext() {
	if f.script != nil && f.job != nil && f.heard() && !f.allRunsEnded() {
		f.next = f.script.Next(f.currentRun(), f.tasks, f.background.tasks, &f.memory.noted, f.now)
	}
}

func (f *facts) newScript() (*workload.Script, error) {
	if f.job == nil && f.Survey != nil && !f.tearingDown() { // The teardown does not need the size of the dataset.
		var err error
		if f.datasetBytes, _, err = f.target().Dataset(); err != nil {
			return nil, err
		}
	}
	places := workload.Places(f.execution.Name, f.cluster.Identities.IO, f.spec.Template, f.spec.Targets(), 0, f.target().CephMajor(), f.datasetBytes, f.block)
	background := workload.PlaceOfBackground(f.execution.Background().Name, places)
	f.shareDataset(places)
	made, err := workload.New(f.spec.Template, places, background)
	if err != nil {
		return nil, err
	}
	made.Switched = sweepspec.IsSession(f.benchmark)
	for i := range f.spec.OtherTargets {
		made.Elsewhere = append(made.Elsewhere, workload.Places(f.execution.Name, f.cluster.Identities.IO, f.spec.Template, f.spec.Targets(), i+1, f.target().CephMajor(), f.datasetBytes, f.block))
	}
	if f.measuresLayers() {
		made.Counts = true
		if f.memory.symptoms != nil { // The same for all windows.
			made.Peers = f.memory.symptoms.Peers()
		}
		for i, load := range diagnosis.Loads(f.spec.Diagnosis.Layers) {
			made.Phases[i].Target = load.Target
		}
	}
	if f.job == nil {
		f.roomBytes = f.target().Room(made)
	}
	made.Limit(f.roomBytes, f.target().DataChunks())
	return made, nil
}

// observeClients observes the runners. It reads the logs of clients whose pods have ended.
func (r *Reconciler) observeClients(ctx context.Context, seen *facts) error {
	seen.logs = map[int]*clientview.Log{}
	key, err := seen.execution.Key(r.MasterKey)
	if err != nil {
		return err
	}
	addresses := clientview.Addresses(seen.pods, seen.clients())
	if address, runs := clientview.Addresses(seen.background.pods, 1)[0]; runs {
		addresses[backgroundIndex] = address
	}
	seen.runners = seen.live.Runners.Follow(addresses, key) //nolint:contextcheck // The goroutines that follow clients outlive the pass.
	if view, followed := seen.runners[backgroundIndex]; followed {
		delete(seen.runners, backgroundIndex)
		seen.background.runners = map[int]clientview.View{0: view}
	}
	r.readLogs(ctx, seen)
	return nil
}

// clients returns the number of clients, without the background load.
func (f facts) clients() int { return int(f.spec.Template.Clients.Count) }

// mayHaveMade reports whether something that the benchmark created may still exist.
func (f facts) mayHaveMade() bool {
	return f.atWork() || f.deleted() && !f.tidied()
}

// tidied reports whether the execution of status.observedRunID has ended and is torn down. record keeps the
// condition Reconciling until the teardown is complete.
func (f facts) tidied() bool { return hasEnded(f.benchmark.Status) && !f.atWork() }

func (f facts) deleted() bool { return !f.benchmark.DeletionTimestamp.IsZero() }

// atWork reports whether something of the execution of status.observedRunID may still exist.
func (f facts) atWork() bool {
	return meta.IsStatusConditionTrue(f.benchmark.Status.Conditions, v1alpha1.ConditionReconciling)
}

// replaced reports whether the spec has a new run ID while the current execution has no Job. That execution
// measures nothing, and its spec is lost, because only a Job stores the spec. An execution with jobLost
// is not replaced, because it fails.
func (f facts) replaced() bool {
	return f.atWork() && f.job == nil && !f.jobLost && f.benchmark.Status.ObservedRunID != f.benchmark.Spec.RunID
}

// tearingDown reports whether only the teardown remains.
func (f facts) tearingDown() bool {
	return f.deleted() || hasEnded(f.benchmark.Status) || f.pausing() || f.replaced()
}

// pausing reports whether the teardown for a suspension has begun. That teardown is always completed, even
// if the suspension ends before.
func (f facts) pausing() bool {
	return f.atWork() && reasonOf(f.benchmark) == v1alpha1.ReasonSuspended
}

func (f facts) startTime() time.Time {
	if f.benchmark.Status.StartTime == nil {
		return f.now
	}
	return f.benchmark.Status.StartTime.Time
}

// endedRuns counts the runs that have ended, valid or not.
func (f facts) endedRuns() int32 { return conclusion.EndedRuns(f.benchmark.Status) }

// currentRun returns the number of the current or next run, from 1.
func (f facts) currentRun() int32 { return f.endedRuns() + 1 }

func (f facts) allRunsEnded() bool { return f.endedRuns() >= f.spec.Repetitions }

// isMeasuring reports whether a phase may be running. After a restart of the manager, that is possible
// until all runners have answered.
func (f facts) isMeasuring() bool {
	if f.job != nil && f.tasks == nil && int(f.endedRuns()) < len(f.benchmark.Status.Runs) {
		return true
	}
	return f.tasks.Measuring()
}

// lost returns why a runner does not answer, and since when; nil if all answer.
func (f facts) lost() (since time.Time, cause error) { return clientview.Unreachable(f.everyone()) }
