package rook

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/objectref"
	"github.com/cephtune/cephtune/internal/settings"
)

const (
	// annotationOwner names the object that a scratch pool is for, for people;
	// annotationOwnerUID is what counts. Without both, the pool is foreign.
	annotationOwner    = "cephtune.dev/owner"
	annotationOwnerUID = "cephtune.dev/owner-uid"
	// annotationSpec is a digest of the spec that the pool was made for.
	annotationSpec = "cephtune.dev/spec"

	// poolFinalizer is Rook's.
	poolFinalizer = "cephblockpool.ceph.rook.io"
	// releaseAfter is how long a deletion has to have been asked for before Rook's
	// finalizer is taken off a pool that Ceph does not have: longer than Rook takes
	// for a pass that it began before.
	releaseAfter = time.Minute

	defaultMetadataSize = 3

	paramPGNum         = "pg_num"
	paramAutoscaleMode = "pg_autoscale_mode"
	autoscalerOff      = "off"
)

// ScratchUse identifies the user of a scratch pool.
type ScratchUse struct {
	Owner objectref.Ref
	// Key distinguishes pools of one owner with the same spec; "" if it has one at a time.
	Key string
	// Continues says that earlier users with that key have measured on the pool, so that
	// another one cannot take its place.
	Continues bool
	// Data says that they work on the same data, which the first of them has prefilled.
	Data bool
}

// blockPool is the part of a CephBlockPool that is read.
type blockPool struct {
	Status struct {
		Phase      string             `json:"phase"`
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// EnsureScratchPool has Rook make the scratch pool, with its pool for metadata where it is
// erasure-coded. The spec is to name its numbers of PGs, as [Sized] does: the autoscaler,
// which is off, does not choose them. It is idempotent. The pool is ready when Rook says so;
// before that, why names the obstacle. That is not yet proof: Rook says Ready although Ceph
// refused a parameter, so VerifyPool has the last word.
//
// An *Error says that the name is taken, or was given to another spec, or that the pool of a
// use that continues is gone. A CephBlockPool
// without the operator's annotations is never touched. Neither is a pool that Ceph has
// without a CephBlockPool, which Rook would take over and remove in the end: that is
// what the OSD map is for, which must have been read after an earlier scratch pool was
// gone.
func (a *Access) EnsureScratchPool(ctx context.Context, cluster settings.Cluster, spec v1alpha1.ScratchPool, use ScratchUse, osdMap *ceph.OSDMap) (ready bool, why string, err error) {
	ready = true
	for _, pool := range scratchPools(spec) {
		waiting, err := a.ensure(ctx, pool, cluster.Namespace, use, osdMap)
		if err != nil {
			return false, "", err
		}
		if waiting != "" && ready {
			ready, why = false, waiting
		}
	}
	return ready, why, nil
}

// ensure creates one pool where it is not there, and says what is waited for.
func (a *Access) ensure(ctx context.Context, pool scratchPool, namespace string, use ScratchUse, osdMap *ceph.OSDMap) (string, error) {
	digest, err := pool.digest(use.Key)
	if err != nil {
		return "", err
	}
	key := client.ObjectKey{Namespace: namespace, Name: pool.name}
	o := object(kindBlockPool, namespace, pool.name)
	read := blockPool{}
	switch err := get(ctx, a.reader, o, &read); {
	case apierrors.IsNotFound(err) && use.Continues:
		return "", poolGone(key)
	case apierrors.IsNotFound(err) && hasPool(osdMap, pool.name):
		return "", &Error{
			Reason:  ReasonForeignPool,
			Message: fmt.Sprintf("Ceph has a pool %s that no CephBlockPool in namespace %s is for, so cephtune leaves it alone: remove it, since scratch pools have that name", pool.name, namespace),
		}
	case apierrors.IsNotFound(err):
		return a.create(ctx, pool, key, use.Owner, digest)
	case err != nil:
		return "", explain(err, "get", kindBlockPool, key)
	}
	if err := ownedBy(o, use.Owner); err != nil {
		return "", err
	}
	differs := o.GetAnnotations()[annotationSpec] != digest
	if use.Continues && (differs || o.GetDeletionTimestamp() != nil) {
		return "", poolGone(key)
	}
	if o.GetDeletionTimestamp() != nil {
		return fmt.Sprintf("CephBlockPool %s of an earlier run is being removed", key), nil
	}
	if differs {
		return "", &Error{Reason: ReasonScratchPoolDiffers, Message: fmt.Sprintf("CephBlockPool %s was made for another spec or other runs", key)}
	}
	if read.Status.Phase != phaseReady {
		return fmt.Sprintf("Rook has not made CephBlockPool %s yet, phase %q: its events say what Rook does", key, read.Status.Phase), nil
	}
	return "", nil
}

func poolGone(key client.ObjectKey) *Error {
	return &Error{
		Reason:  ReasonScratchPoolGone,
		Message: fmt.Sprintf("CephBlockPool %s, on which earlier runs of the block have measured, was removed or made again: find out by what", key),
	}
}

func (a *Access) create(ctx context.Context, pool scratchPool, key client.ObjectKey, owner objectref.Ref, digest string) (string, error) {
	o := object(kindBlockPool, key.Namespace, key.Name)
	o.SetLabels(map[string]string{settings.LabelManagedBy: settings.ManagedBy})
	o.SetAnnotations(map[string]string{
		annotationOwner:    owner.String(),
		annotationOwnerUID: string(owner.UID),
		annotationSpec:     digest,
	})
	o.Object["spec"] = pool.spec
	// Who was quicker shows in the next pass.
	if err := a.writer.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", explain(err, "create", kindBlockPool, key)
	}
	return fmt.Sprintf("CephBlockPool %s was created, Rook makes the pool", key), nil
}

// OwnsScratchPool reports whether a scratch pool of that owner exists; of an erasure-coded
// one, either the pool for metadata or that for data.
func (a *Access) OwnsScratchPool(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (bool, error) {
	for _, name := range []string{settings.ScratchPool, settings.ScratchDataPool} {
		o := object(kindBlockPool, cluster.Namespace, name)
		err := get(ctx, a.reader, o, &blockPool{})
		if client.IgnoreNotFound(err) != nil {
			return false, explain(err, "get", kindBlockPool, client.ObjectKeyFromObject(o))
		}
		if err == nil && owns(owner, o) {
			return true, nil
		}
	}
	return false, nil
}

// HasScratchPool reports whether the scratch pool of that owner exists and is not being removed.
func (a *Access) HasScratchPool(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (bool, error) {
	o := object(kindBlockPool, cluster.Namespace, settings.ScratchPool)
	err := get(ctx, a.reader, o, &blockPool{})
	if client.IgnoreNotFound(err) != nil {
		return false, explain(err, "get", kindBlockPool, client.ObjectKeyFromObject(o))
	}
	return err == nil && owns(owner, o) && o.GetDeletionTimestamp() == nil, nil
}

// DeleteScratchPool has Rook remove the owner's scratch pools. gone is true when neither
// exists; before that, why names the obstacle. Foreign pools are left alone and are no
// obstacle.
//
// The pool of metadata goes first: images are in it, and while there are any, Rook
// keeps it, and their data is needed to remove them.
//
// Rook waits for ever when it is to remove a pool that it could never make. With an
// OSD map of now, which may be nil, Rook's finalizer is taken off such a one.
func (a *Access) DeleteScratchPool(ctx context.Context, cluster settings.Cluster, owner objectref.Ref, osdMap *ceph.OSDMap) (gone bool, why string, err error) {
	for _, name := range []string{settings.ScratchPool, settings.ScratchDataPool} {
		waiting, err := a.remove(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: name}, owner, osdMap)
		if err != nil || waiting != "" {
			return false, waiting, err
		}
	}
	return true, "", nil
}

func (a *Access) remove(ctx context.Context, key client.ObjectKey, owner objectref.Ref, osdMap *ceph.OSDMap) (string, error) {
	o := object(kindBlockPool, key.Namespace, key.Name)
	read := blockPool{}
	switch err := get(ctx, a.reader, o, &read); {
	case apierrors.IsNotFound(err):
		return "", nil
	case err != nil:
		return "", explain(err, "get", kindBlockPool, key)
	case !owns(owner, o):
		return "", nil
	}
	if since := o.GetDeletionTimestamp(); since != nil {
		if osdMap != nil && !hasPool(osdMap, key.Name) && a.now().Sub(since.Time) > releaseAfter {
			return fmt.Sprintf("CephBlockPool %s has no pool in Ceph, its finalizer was taken off", key), a.release(ctx, o)
		}
		return blocked(key, read), nil
	}
	uid := o.GetUID()
	if err := a.writer.Delete(ctx, o, client.Preconditions{UID: &uid}); err != nil && !apierrors.IsNotFound(err) {
		return "", explain(err, "delete", kindBlockPool, key)
	}
	return fmt.Sprintf("Rook removes CephBlockPool %s", key), nil
}

// release takes Rook's finalizer off, and no other.
func (a *Access) release(ctx context.Context, o *unstructured.Unstructured) error {
	before := o.DeepCopy()
	if !controllerutil.RemoveFinalizer(o, poolFinalizer) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := a.writer.Patch(ctx, o, patch); err != nil && !apierrors.IsNotFound(err) {
		return explain(err, "patch", kindBlockPool, client.ObjectKeyFromObject(o))
	}
	return nil
}

// blocked says what Rook says about a deletion. Rook looks again every ten seconds.
func blocked(key client.ObjectKey, pool blockPool) string {
	for _, c := range pool.Status.Conditions {
		if (c.Type == "PoolDeletionIsBlocked" || c.Type == "DeletionIsBlocked") && c.Status == metav1.ConditionTrue {
			return fmt.Sprintf("Rook does not remove CephBlockPool %s yet: %s", key, c.Message)
		}
	}
	return fmt.Sprintf("Rook removes CephBlockPool %s", key)
}

func hasPool(m *ceph.OSDMap, name string) bool {
	return slices.ContainsFunc(m.Pools, func(p ceph.Pool) bool { return p.Name == name })
}

// owns reports whether the operator created a pool for owner.
func owns(owner objectref.Ref, o *unstructured.Unstructured) bool {
	uid := o.GetAnnotations()[annotationOwnerUID]
	return uid != "" && uid == string(owner.UID)
}

// ownedBy is an *Error unless owner owns the pool.
func ownedBy(o *unstructured.Unstructured, owner objectref.Ref) error {
	key := client.ObjectKeyFromObject(o)
	switch {
	case owns(owner, o):
		return nil
	case o.GetAnnotations()[annotationOwnerUID] == "":
		return &Error{
			Reason:  ReasonForeignPool,
			Message: fmt.Sprintf("CephBlockPool %s was not made by cephtune, which leaves it alone: remove it, since scratch pools have that name", key),
		}
	default:
		return &Error{
			Reason:  ReasonScratchPoolTaken,
			Message: fmt.Sprintf("CephBlockPool %s is the scratch pool of %s: wait for it to end, or delete the CephBlockPool if it no longer exists", key, o.GetAnnotations()[annotationOwner]),
		}
	}
}

// scratchPool is a CephBlockPool to be made.
type scratchPool struct {
	name string
	spec map[string]any // as JSON has it
}

// digest distinguishes specs, and uses with different keys. Rook fills the stored spec with
// fields of its own, so it cannot be compared.
func (p scratchPool) digest(key string) (string, error) {
	text, err := json.Marshal(p.spec)
	if err != nil {
		return "", fmt.Errorf("digest the spec of pool %s: %w", p.name, err)
	}
	if key != "" {
		text = fmt.Appendf(text, "\n%s", key)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8]), nil
}

// scratchPools returns what has to be made for a spec, in that order.
func scratchPools(spec v1alpha1.ScratchPool) []scratchPool {
	if spec.ErasureCoded == nil {
		size := int32(defaultMetadataSize)
		if spec.Replicated != nil {
			size = spec.Replicated.Size
		}
		return []scratchPool{{name: settings.ScratchPool, spec: replicatedSpec(spec, size, parameters(spec.Parameters))}}
	}
	ec := spec.ErasureCoded
	data := commonSpec(spec, parameters(spec.Parameters))
	data["erasureCoded"] = map[string]any{"dataChunks": int64(ec.DataChunks), "codingChunks": int64(ec.CodingChunks)}
	return []scratchPool{
		{name: settings.ScratchPool, spec: replicatedSpec(spec, metadataSize(*ec), parameters(ec.Metadata.Parameters))},
		{name: settings.ScratchDataPool, spec: data},
	}
}

func metadataSize(ec v1alpha1.ErasureCodedPool) int32 {
	if ec.Metadata.Size == 0 {
		return defaultMetadataSize
	}
	return ec.Metadata.Size
}

// replicatedSpec allows a single copy only where that was asked for: Rook refuses it
// otherwise.
func replicatedSpec(spec v1alpha1.ScratchPool, size int32, params map[string]any) map[string]any {
	pool := commonSpec(spec, params)
	pool["replicated"] = map[string]any{"size": int64(size), "requireSafeReplicaSize": size > 1}
	return pool
}

func commonSpec(spec v1alpha1.ScratchPool, params map[string]any) map[string]any {
	pool := map[string]any{}
	if spec.FailureDomain != "" {
		pool["failureDomain"] = spec.FailureDomain
	}
	if spec.DeviceClass != "" {
		pool["deviceClass"] = spec.DeviceClass
	}
	pool["parameters"] = params
	return pool
}

// parameters are those of a pool as Rook has them.
func parameters(asked map[string]v1alpha1.ParameterValue) map[string]any {
	params := map[string]any{}
	for name, value := range wantedParameters(asked) {
		params[name] = value
	}
	return params
}

// wantedParameters are the requested ones, with the autoscaler off: as data comes in, it would
// split placement groups during the measurement. Split ones have to peer, and are not confined
// to the pool's OSDs.
func wantedParameters(asked map[string]v1alpha1.ParameterValue) map[string]string {
	wanted := make(map[string]string, len(asked)+1)
	for name, value := range asked {
		wanted[name] = string(value)
	}
	wanted[paramAutoscaleMode] = autoscalerOff
	return wanted
}
