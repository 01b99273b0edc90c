package cephbenchmark

import (
	"context"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/objectref"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/signature"
)

// prepare carries out the next part of preparing the scratch pool. If nothing remains to prepare, it
// creates the Jobs and the Secret that their pods need.
func (r *Reconciler) prepare(ctx context.Context, seen facts, p plan) (effect, error) {
	if seen.job != nil {
		return effect{again: time.Second}, r.completeClients(ctx, seen, seen.job)
	}
	seen.memory.usedBefore = seen.Survey.DF.UsedRawBytes
	if seen.poolErr != nil {
		return effect{}, seen.poolErr
	}
	if p.preparing.Part != scratchpool.PartNone {
		return r.preparePool(ctx, seen, p.preparing)
	}
	if seen.spec.Template.Target.ScratchPool != nil {
		seen.live.Hurry() // The last observation of Ceph may be older than the pool.
	}
	if seen.memory.nonce == "" || seen.recorded().Nonce != seen.memory.nonce {
		return effect{again: reconcile.AtOnce, edit: seen.memory.drawNonce()}, nil
	}
	return effect{again: time.Second, edit: func(s *v1alpha1.CephBenchmarkStatus) { s.OSDs = seen.osdsInStatus() }}, r.makeClients(ctx, seen)
}

// drawNonce draws the nonce for the next Job, and returns the edit that records it. A nonce serves for one attempt to
// create a Job. So even if the manager ends before it has recorded the Job's UID, no two Jobs can have one nonce
// unless someone has copied one.
func (m *memory) drawNonce() func(*v1alpha1.CephBenchmarkStatus) {
	nonce := signature.NewNonce()
	m.nonce, m.clientsJob, m.backgroundJob = nonce, "", ""
	return func(s *v1alpha1.CephBenchmarkStatus) { s.Clients = &v1alpha1.BenchmarkClients{Nonce: nonce} }
}

func (r *Reconciler) preparePool(ctx context.Context, seen facts, next scratchpool.Next) (effect, error) {
	waits, err := r.preparer(seen).Do(ctx, next, seen.pool)
	if o, final := scratchpool.Final(err); final {
		return failed(seen, o), nil
	}
	if err != nil || waits.IsDone() {
		return now(), err
	}
	return effect{again: time.Second, outcome: preparing(string(waits))}, nil
}

// preparer returns the Preparer of the scratch pool.
func (r *Reconciler) preparer(seen facts) scratchpool.Preparer {
	return scratchpool.Preparer{
		Preparation: &seen.memory.pool, Rook: r.rook, Ceph: r.ceph, Cluster: seen.cluster,
		Want: *seen.target().ScratchPool(), Use: seen.poolUse(),
		Guard: r.lockOf(seen).Fence,
		Remove: func(ctx context.Context) (reconcile.Wait, error) {
			return r.poolRemover(seen).Remove(ctx, seen.poolUse().Owner, seen.leftovers())
		},
	}
}

// observePool observes the scratch pool while it is being prepared.
func (r *Reconciler) observePool(ctx context.Context, seen *facts) {
	if seen.preparesPool() && seen.Survey != nil && seen.memory.waits.For == forPreparation {
		seen.pool, seen.poolErr = r.preparer(*seen).Observe(ctx, r.poolSettle, seen.now)
	}
}

// preparesPool reports whether a scratch pool has to be prepared before the Job exists.
func (f facts) preparesPool() bool {
	return f.job == nil && f.spec.Template.Target.ScratchPool != nil && !f.tearingDown()
}

// preparation returns the facts that the rules of the preparation depend on.
func (f facts) preparation() scratchpool.Facts {
	t := f.target()
	made := scratchpool.Facts{Preparation: f.memory.pool, View: f.pool, Want: *t.ScratchPool(), Now: f.now}
	if f.memory.pool.PGs != nil {
		made.Misplaced = t.Misplaced(f.memory.pool.PGs)
	}
	return made
}

// poolUse identifies the session's scratch pool, or the sweep's scratch pool if the session shares that.
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
	return clientjob.Maker{Client: r.client, MasterKey: r.masterKey}
}

// jobSpec returns the input from which the Jobs of the session are made, except for their Secret.
func (r *Reconciler) jobSpec(seen facts) (clientjob.Spec, error) {
	network, err := seen.rook.PodNetwork()
	if err != nil {
		return clientjob.Spec{}, err
	}
	return clientjob.Spec{
		Benchmark: seen.benchmark, Spec: seen.spec, Session: seen.session, Script: seen.script, Block: seen.block,
		Images: r.settings.ImagesFor(seen.cluster), Pods: r.settings.Pods, Network: network, Standalone: seen.memory.standalone,
	}, nil
}

// makeClients creates the Job, and then what completes it.
func (r *Reconciler) makeClients(ctx context.Context, seen facts) error {
	spec, err := r.jobSpec(seen)
	if err != nil {
		return err
	}
	in := clientjob.Input{DatasetBytes: seen.datasetBytes, RoomBytes: seen.roomBytes, OSDs: seen.memory.pool.OSDs}
	if seen.memory.standalone {
		in.StandaloneFrom = seen.currentRun()
	}
	files, err := r.files(ctx, seen, in.StandaloneFrom)
	if err != nil {
		return err
	}
	spec.Secret, spec.Digest = clientjob.SecretName(seen.session, seen.memory.nonce), runner.FilesDigest(files)
	job, err := r.makeJob(ctx, seen, spec, in)
	if err != nil {
		return client.IgnoreAlreadyExists(err)
	}
	return r.completeClients(ctx, seen, job)
}

// makeJob creates the Job. After any error, the next pass looks for the Job without a cache: the name may be taken, or
// the API server may have created the Job although its answer was lost. A cache that lacks such a Job would make the
// next pass draw another nonce, and then the Job would count as another user's.
func (r *Reconciler) makeJob(ctx context.Context, seen facts, spec clientjob.Spec, in clientjob.Input) (*batchv1.Job, error) {
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
func (r *Reconciler) completeClients(ctx context.Context, seen facts, job *batchv1.Job) error {
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
func (r *Reconciler) makeSecret(ctx context.Context, seen facts, spec clientjob.Spec, job *batchv1.Job) error {
	from, _ := clientjob.StandaloneFrom(job)
	files, err := r.files(ctx, seen, from)
	if err != nil || spec.Digest != "" && runner.FilesDigest(files) != spec.Digest {
		return err
	}
	return r.maker().MakeSecret(ctx, spec, job, files)
}

// files returns the files of the clients' Secret. The number is that of the run with which a standalone client
// begins; 0 for a client that is not standalone.
func (r *Reconciler) files(ctx context.Context, seen facts, standaloneFrom int32) (map[string][]byte, error) {
	at, err := r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.IO)
	if err != nil {
		return nil, err
	}
	var tasks []byte
	if standaloneFrom > 0 {
		if tasks, err = seen.asStandalone(standaloneFrom).File(); err != nil {
			return nil, err
		}
	}
	return r.maker().Files(seen.session, rook.CephConf(at, *seen.rook), rook.Keyring(at), tasks)
}
