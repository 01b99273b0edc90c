package cephbenchmark

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/objectref"
	"github.com/cephtune/cephtune/internal/placement"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/scratchpool"
)

// prepare creates the scratch pool, waits until the pool in Ceph equals the specified one, and
// then creates the Job and the objects that its pods need.
func (r *Reconciler) prepare(ctx context.Context, seen facts) (effect, error) {
	if seen.job != nil {
		return effect{again: time.Second}, r.completeClients(ctx, seen)
	}
	seen.memory.usedBefore = seen.Survey.DF.UsedRawBytes
	waits, err := r.preparePool(ctx, seen)
	if o, final := finalFailure(err); final {
		return failed(seen, o), nil
	}
	if err != nil {
		return effect{}, err
	}
	if !waits.IsDone() {
		return effect{again: time.Second, outcome: preparing(string(waits))}, nil
	}
	if seen.spec.Template.Target.ScratchPool != nil {
		seen.live.Hurry() // The last observation of Ceph may be older than the pool.
	}
	return effect{edit: func(s *v1alpha1.CephBenchmarkStatus) { s.OSDs = seen.osdsInStatus() }}, r.makeClients(ctx, seen)
}

// preparePool takes the scratch pool of the target one step further.
func (r *Reconciler) preparePool(ctx context.Context, seen facts) (reconcile.Wait, error) {
	want := seen.target().ScratchPool()
	if want == nil {
		return reconcile.Done, nil
	}
	return scratchpool.Preparer{
		Preparation: &seen.memory.pool, Rook: r.rook, Ceph: r.ceph, Cluster: seen.cluster,
		Want: *want, Use: seen.poolUse(), Now: seen.now, Settle: r.poolSettle,
		Guard:     func(ctx context.Context) (ceph.Fence, error) { return r.fence(ctx, seen) },
		Misplaced: func() string { return seen.target().Misplaced(seen.memory.pool.PGs) },
		Remove: func(ctx context.Context) (reconcile.Wait, error) {
			return r.removePoolOf(ctx, seen, seen.poolUse().Owner)
		},
	}.Prepare(ctx)
}

// finalFailure returns the outcome of a benchmark whose pool can never be created; false for
// other errors and for nil.
func finalFailure(err error) (kstatus.Outcome, bool) {
	if problem, is := errors.AsType[*placement.Error](err); is {
		return kstatus.Outcome{Reason: v1alpha1.ReasonNotPossible, Message: problem.Error() + "."}, true
	}
	if problem, is := errors.AsType[*rook.Error](err); is && problem.Reason == rook.ReasonScratchPoolGone {
		return kstatus.Outcome{Reason: v1alpha1.ReasonScratchPoolGone, Message: problem.Error() + "."}, true
	}
	return kstatus.Outcome{}, false
}

// poolUse returns the marks of this session's scratch pool, or of the sweep's scratch pool if
// the session shares it.
func (f facts) poolUse() rook.ScratchUse {
	if f.sharesPool() {
		return f.shared
	}
	return rook.ScratchUse{Owner: objectref.To("CephBenchmark", f.benchmark)}
}

// sharesPool reports whether the scratch pool also serves other runs of the sweep. The sweep
// then removes the pool.
func (f facts) sharesPool() bool {
	return f.shared.Key != "" && f.spec.Template.Target.ScratchPool != nil
}

// blockDataset begins the names of data that the runs of a block share. Their scratch pool has
// no data of other blocks.
const blockDataset = scratchpool.ImagePrefix + "block"

// shareDataset makes clients use the data of their block, if its runs share data.
func (f facts) shareDataset(places []place.Place) {
	if !f.sharesPool() || !f.shared.Data {
		return
	}
	for i := range places {
		places[i].DatasetOwner, places[i].DatasetThere = blockDataset, f.shared.Continues
	}
}

// jobSpec returns the input from which the Jobs of the session are made.
func (r *Reconciler) jobSpec(seen facts) (clientjob.Spec, error) {
	network, err := seen.rook.PodNetwork()
	if err != nil {
		return clientjob.Spec{}, err
	}
	return clientjob.Spec{
		Benchmark: seen.benchmark, Spec: seen.spec, Session: seen.session, Script: seen.script, Block: seen.block,
		Images: r.settings.ImagesFor(seen.cluster), Pods: r.settings.Pods, Network: network, Standalone: seen.memory.standalone,
		Secret: clientjob.SecretName(seen.session, seen.memory.standalone),
	}, nil
}

// completeClients creates the objects that an earlier, interrupted attempt has not created.
func (r *Reconciler) completeClients(ctx context.Context, seen facts) error {
	if seen.lacksSecret() {
		if err := r.makeSecret(ctx, seen, seen.job); err != nil {
			return err
		}
	}
	made, err := r.jobSpec(seen)
	if err != nil {
		return err
	}
	return r.makeBackground(ctx, seen, seen.job, made)
}

// makeClients creates the Job, and then the Secret of its pods and the Job of the background
// load. The Job owns both, so they are deleted with it. Pods that start before the Secret exists
// wait for it.
func (r *Reconciler) makeClients(ctx context.Context, seen facts) error {
	spec, err := json.Marshal(seen.spec)
	if err != nil {
		return fmt.Errorf("write the spec: %w", err)
	}
	made, err := r.jobSpec(seen)
	if err != nil {
		return err
	}
	job := clientjob.JobOf(made)
	job.Annotations = map[string]string{
		clientjob.AnnotationSpec:    string(spec),
		clientjob.AnnotationDataset: strconv.FormatInt(seen.datasetBytes, 10),
		clientjob.AnnotationRoom:    strconv.FormatInt(seen.roomBytes, 10),
	}
	if len(seen.memory.pool.OSDs) > 0 {
		job.Annotations[clientjob.AnnotationOSDs] = osdsText(seen.memory.pool.OSDs)
	}
	if seen.memory.standalone {
		job.Annotations[clientjob.AnnotationStandalone] = strconv.Itoa(int(seen.currentRun()))
	}
	if err := seen.session.Seal(r.masterKey, job); err != nil {
		return err
	}
	if err := controllerutil.SetControllerReference(seen.benchmark, job, r.client.Scheme()); err != nil {
		return fmt.Errorf("own the Job: %w", err)
	}
	if err := r.client.Create(ctx, job); err != nil {
		return fmt.Errorf("create the Job of the clients: %w", err)
	}
	seen.memory.madeJob = job.UID
	if err := r.makeSecret(ctx, seen, job); err != nil {
		return err
	}
	return r.makeBackground(ctx, seen, job, made)
}

// makeSecret creates the Secret with which the pods reach Ceph and authenticate their manager.
// The Secret may exist already if the manager was restarted.
func (r *Reconciler) makeSecret(ctx context.Context, seen facts, job *batchv1.Job) error {
	key, err := seen.session.Key(r.masterKey)
	if err != nil {
		return err
	}
	at, err := r.rook.Connection(ctx, seen.cluster, seen.cluster.Identities.IO)
	if err != nil {
		return err
	}
	secret := clientjob.SecretOf(seen.benchmark, seen.session, rook.CephConf(at, *seen.rook), rook.Keyring(at), key)
	if from, alone := aloneFrom(job); alone {
		if err := addTasks(secret, seen, from); err != nil {
			return err
		}
	}
	if err := controllerutil.SetControllerReference(job, secret, r.client.Scheme()); err != nil {
		return fmt.Errorf("own the Secret: %w", err)
	}
	if err := r.client.Create(ctx, secret); client.IgnoreAlreadyExists(err) != nil {
		return fmt.Errorf("create the Secret of the clients: %w", err)
	}
	seen.memory.secretMade = true
	return nil
}

// observeClaim determines whether the target is a block device. For existing pods, the answer is
// the one from their creation.
func (r *Reconciler) observeClaim(ctx context.Context, seen *facts) error {
	target := seen.spec.Template.Target.PersistentVolumeClaim
	switch {
	case target == nil:
		return nil
	case seen.job != nil:
		seen.block = len(seen.job.Spec.Template.Spec.Containers[0].VolumeDevices) > 0
		return nil
	case target.Template != nil:
		seen.block = target.Template.VolumeMode == v1alpha1.VolumeModeBlock
		return nil
	}
	var claim corev1.PersistentVolumeClaim
	err := r.reader.Get(ctx, types.NamespacedName{Namespace: seen.benchmark.Namespace, Name: target.ClaimName}, &claim)
	if apierrors.IsNotFound(err) {
		seen.claimErr = fmt.Errorf("there is no PersistentVolumeClaim %s in namespace %s: create it, or name another in target.persistentVolumeClaim.claimName",
			target.ClaimName, seen.benchmark.Namespace)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the claim: %w", err)
	}
	seen.block = claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock
	return nil
}
