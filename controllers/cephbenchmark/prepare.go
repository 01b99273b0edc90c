package cephbenchmark

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/signature"
)

// prepare carries out the next part of preparing the scratch pool. If nothing remains to prepare, it
// creates the Jobs and the Secret that their pods need.
func (r *Reconciler) prepare(ctx context.Context, seen pass, p plan) (effect, error) {
	if seen.job != nil {
		return effect{Again: time.Second}, r.completeClients(ctx, seen, seen.job)
	}
	seen.memory.usedBefore = seen.Survey.DF.UsedRawBytes
	if seen.poolErr != nil {
		return effect{}, seen.poolErr
	}
	if p.Detail.preparing.Part != scratchpool.PartNone {
		return r.preparePool(ctx, seen, p.Detail.preparing)
	}
	if seen.spec.Template.Target.ScratchPool != nil {
		seen.live.Hurry() // The last observation of Ceph may be older than the pool.
	}
	if seen.memory.nonce == "" || seen.recorded().Nonce != seen.memory.nonce {
		return effect{Again: reconcile.AtOnce, Edit: seen.memory.drawNonce()}, nil
	}
	return effect{Again: time.Second, Edit: func(s *v1alpha1.CephBenchmarkStatus) { s.PoolOSDs = seen.poolOSDs() }}, r.makeClients(ctx, seen)
}

// drawNonce draws the nonce for the next Job, and returns the edit that records it. A nonce serves for one attempt to
// create a Job. So even if the manager ends before it has recorded the Job's UID, no two Jobs can have one nonce
// unless someone has copied one.
func (m *memory) drawNonce() func(*v1alpha1.CephBenchmarkStatus) {
	nonce := signature.NewNonce()
	m.nonce, m.clientsJob, m.backgroundJob = nonce, "", ""
	return func(s *v1alpha1.CephBenchmarkStatus) { s.Clients = &v1alpha1.BenchmarkClients{Nonce: nonce} }
}

func (r *Reconciler) preparePool(ctx context.Context, seen pass, next scratchpool.Next) (effect, error) {
	waits, err := r.preparer(seen).Do(ctx, next, seen.pool)
	if o, final := scratchpool.Final(err); final {
		return failed(seen, o), nil
	}
	if err != nil || waits.IsDone() {
		return now(), err
	}
	return effect{Again: time.Second, Outcome: preparing(string(waits))}, nil
}

// preparer returns the Preparer of the scratch pool.
func (r *Reconciler) preparer(seen pass) scratchpool.Preparer {
	return scratchpool.Preparer{
		Preparation: &seen.memory.pool, Rook: r.Rook, Ceph: r.Ceph, Cluster: seen.cluster,
		Want: seen.target().ScratchPools(), Use: seen.poolUse(),
		Guard: r.lockOf(seen.facts).Fence,
		Remove: func(ctx context.Context) (reconcile.Wait, error) {
			return r.poolRemover(seen).Remove(ctx, seen.poolUse().Owner, seen.leftovers())
		},
	}
}

// observePool observes the scratch pool while it is being prepared.
func (r *Reconciler) observePool(ctx context.Context, seen *facts) {
	if seen.preparesPool() && seen.Survey != nil && seen.headway.Waiting.For == forPreparation {
		seen.pool, seen.poolErr = r.preparer(pass{facts: *seen, memory: &seen.memory}).Observe(ctx, r.PoolSettle, seen.now)
	}
}

// preparesPool reports whether a scratch pool has to be prepared before the Job exists.
func (f facts) preparesPool() bool {
	return f.job == nil && f.spec.Template.Target.ScratchPool != nil && !f.tearingDown()
}

// preparation returns the facts that the rules of the preparation depend on.
func (f facts) preparation() scratchpool.Facts {
	t := f.target()
	made := scratchpool.Facts{Preparation: f.memory.pool, View: f.pool, Want: t.ScratchPools(), Now: f.now}
	if f.memory.pool.PGs != nil {
		made.Misplaced = t.Misplaced(f.memory.pool.PGs)
	}
	return made
}

// poolUse identifies the execution's scratch pool, or the sweep's scratch pool if the execution shares that.
func (f facts) poolUse() rook.ScratchUse {
	if f.sharesPool() {
		pool := f.sharedPool()
		return rook.ScratchUse{Owner: f.holder(), Key: pool.Key, Continues: pool.Continues, Data: pool.Dataset}
	}
	return rook.ScratchUse{Owner: objectref.To(v1alpha1.KindCephBenchmark, f.benchmark)}
}

// sharesPool reports whether the scratch pool also serves other runs of the sweep. The sweep
// then removes the pool.
func (f facts) sharesPool() bool {
	return f.sharedPool() != nil && f.spec.Template.Target.ScratchPool != nil
}

// sharedPool says how the benchmark uses its sweep's scratch pool; nil if it does not share one.
func (f facts) sharedPool() *v1alpha1.SharedPool {
	if run := f.benchmark.Status.Trial; run != nil {
		return run.Pool
	}
	return nil
}

// blockDataset is the prefix of the names of data that the runs of a block share. The names need not
// identify the block, because a scratch pool never has data of several blocks.
const blockDataset = scratchpool.ImagePrefix + "block"

// shareDataset makes the clients use the data that the runs of their block share, if they share any.
func (f facts) shareDataset(places []place.Place) {
	pool := f.sharedPool()
	if !f.sharesPool() || !pool.Dataset {
		return
	}
	for i := range places {
		places[i].DatasetOwner, places[i].DatasetThere = blockDataset, pool.Continues
	}
}

// maker returns the Maker of Jobs and Secrets.
func (r *Reconciler) maker() clientjob.Maker {
	return clientjob.Maker{Client: r.Client, MasterKey: r.MasterKey}
}

// jobSpec returns the input from which the Jobs of the execution are made, except for their Secret.
func (r *Reconciler) jobSpec(seen pass) (clientjob.Spec, error) {
	network, err := seen.rook.PodNetwork()
	if err != nil {
		return clientjob.Spec{}, err
	}
	return clientjob.Spec{
		Benchmark: seen.benchmark, Spec: seen.spec, Execution: seen.execution, Script: seen.script, Block: seen.block,
		Images: r.Settings.ImagesFor(seen.cluster), Pods: r.Settings.Pods, Network: network,
	}, nil
}

// makeClients creates the Job, and then what completes it.
func (r *Reconciler) makeClients(ctx context.Context, seen pass) error {
	spec, err := r.jobSpec(seen)
	if err != nil {
		return err
	}
	in := clientjob.Input{DatasetBytes: seen.datasetBytes, RoomBytes: seen.roomBytes, OSDs: seen.memory.pool.OSDs}
	files, err := r.files(ctx, seen)
	if err != nil {
		return err
	}
	spec.Secret, spec.Digest = clientjob.SecretName(seen.execution, seen.memory.nonce), runner.FilesDigest(files)
	job, err := r.makeJob(ctx, seen, spec, in)
	if err != nil {
		return client.IgnoreAlreadyExists(err)
	}
	return r.completeClients(ctx, seen, job)
}

// makeJob creates the Job. After any error, the next pass looks for the Job without a cache: the name may be taken, or
// the API server may have created the Job although its answer was lost. A cache that lacks such a Job would make the
// next pass draw another nonce, and then the Job would count as another user's.
func (r *Reconciler) makeJob(ctx context.Context, seen pass, spec clientjob.Spec, in clientjob.Input) (*batchv1.Job, error) {
	seen.memory.nonce = ""
	job, err := r.maker().MakeJob(ctx, spec, in)
	if err != nil {
		seen.memory.taken = true
		return nil, err
	}
	seen.memory.madeJob, seen.memory.clientsJob = job.UID, job.UID
	return job, nil
}

// completeClients creates what the pods of the clients' Job need: the Secret, and the Job of the background load. It
// continues an earlier, interrupted attempt.
func (r *Reconciler) completeClients(ctx context.Context, seen pass, job *batchv1.Job) error {
	spec, err := r.jobSpec(seen)
	if err != nil {
		return err
	}
	spec.Secret, spec.Digest = clientjob.SecretIn(job)
	if seen.job == nil || seen.lacksSecret() {
		if err := r.makeSecret(ctx, seen, spec, job); err != nil {
			return err
		}
		seen.memory.secretMade = true
	}
	if !seen.hasBackground() || seen.memory.backgroundJob != "" {
		return nil
	}
	made, err := r.maker().MakeBackground(ctx, spec, job)
	if apierrors.IsAlreadyExists(err) {
		seen.memory.taken = true
		return nil
	}
	seen.memory.backgroundJob = made
	return err
}

// makeSecret creates the Secret of the clients' pods. If Ceph's connection has changed since an earlier process
// created the Job, the runners would refuse the files. Then makeSecret creates no Secret, and the pods do not start
// unless the earlier process has created it.
func (r *Reconciler) makeSecret(ctx context.Context, seen pass, spec clientjob.Spec, job *batchv1.Job) error {
	files, err := r.files(ctx, seen)
	if err != nil || spec.Digest != "" && runner.FilesDigest(files) != spec.Digest {
		return err
	}
	return r.maker().MakeSecret(ctx, spec, job, files)
}

// files returns the files of the clients' Secret.
func (r *Reconciler) files(ctx context.Context, seen pass) (map[string][]byte, error) {
	connection, err := r.Rook.Connection(ctx, seen.cluster, seen.cluster.Identities.IO)
	if err != nil {
		return nil, err
	}
	return r.maker().Files(seen.execution, rook.CephConf(connection, *seen.rook), rook.Keyring(connection))
}

// removeUnrecorded removes a Job whose UID was not recorded. The rules for an execution without that Job then create
// the new Job.
func (r *Reconciler) removeUnrecorded(ctx context.Context, seen pass) error {
	if seen.unrecorded == seen.job {
		seen.memory.secretMade, seen.memory.replacedJob = false, seen.job.UID
	}
	return r.maker().Remove(ctx, seen.unrecorded)
}
