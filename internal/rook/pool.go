package rook

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/settings"
)

const (
	// annotationOwner names the object that owns a scratch pool, for people. Only
	// annotationOwnerUID is compared. A pool without annotationOwnerUID is foreign.
	annotationOwner    = "cephtune.dev/owner"
	annotationOwnerUID = "cephtune.dev/owner-uid"
	// annotationSpec is a digest of the spec and the ScratchUse.Key that the pool was made for.
	annotationSpec = "cephtune.dev/spec"

	// poolFinalizer is Rook's finalizer on pools.
	poolFinalizer = "cephblockpool.ceph.rook.io"
	// releaseAfter is the minimum time between the request to delete a pool and the removal of Rook's
	// finalizer, if Ceph does not have the pool. Rook may have begun to reconcile the pool
	// before the request; after this time, it has finished.
	releaseAfter = time.Minute

	paramPGNum         = "pg_num"
	paramAutoscaleMode = "pg_autoscale_mode"
	autoscalerOff      = "off"
)

// ScratchUse identifies the user of a scratch pool.
type ScratchUse struct {
	Owner objectref.Ref
	// Key distinguishes pools of one owner with the same spec; "" if the owner has only one pool at a time.
	Key string
	// Continues reports that earlier runs with the same key have used the pool, so that a new pool cannot
	// replace it.
	Continues bool
	// Data reports that the runs also share data, which the first run has prefilled.
	Data bool
}

// blockPool has the fields of a CephBlockPool's status that this package reads.
type blockPool struct {
	Status struct {
		Phase      string             `json:"phase"`
		Conditions []metav1.Condition `json:"conditions"`
	} `json:"status"`
}

// EnsureScratchPools has Rook create the scratch pool of each target and, if that is erasure-coded, a metadata pool. The
// specs have to contain their numbers of PGs (see placement.Sized), because the autoscaler is off. The method
// is idempotent. It returns true when Rook reports Ready for all, and before that the first obstacle. Call VerifyPools
// afterwards: Rook reports Ready even if Ceph refused a parameter.
//
// It returns an *Error if Rook refuses such a pool in this cluster, if the name is taken, if the pool was created for another spec or other runs, or if
// the operator lacks a right. It also returns an *Error if use.Continues is set, but the pool was removed
// or recreated. The method never touches a CephBlockPool without the operator's annotations. It also never
// adopts a pool that exists in Ceph without a CephBlockPool, because Rook would take that pool over and
// finally remove it. For this check, the OSD map must have been read after the previous scratch pool
// disappeared.
func (a *Access) EnsureScratchPools(ctx context.Context, cluster settings.Cluster, specs []v1alpha1.ScratchPool, use ScratchUse, osdMap *ceph.OSDMap) (ready bool, reason string, err error) {
	ready = true
	for _, pool := range scratchPools(specs) {
		waiting, err := a.ensure(ctx, pool, cluster, use, osdMap)
		if err != nil {
			return false, "", err
		}
		if waiting != "" && ready {
			ready, reason = false, waiting
		}
	}
	return ready, reason, nil
}

// ensure creates one pool if it does not exist, and says what it waits for.
func (a *Access) ensure(ctx context.Context, pool scratchPool, cluster settings.Cluster, use ScratchUse, osdMap *ceph.OSDMap) (string, error) {
	digest, err := pool.digest(use.Key)
	if err != nil {
		return "", err
	}
	key := client.ObjectKey{Namespace: cluster.Namespace, Name: pool.name}
	o := object(kindBlockPool, key.Namespace, key.Name)
	read := blockPool{}
	switch err := get(ctx, a.reader, o, &read); {
	case apierrors.IsNotFound(err) && use.Continues:
		return "", poolGone(key)
	case apierrors.IsNotFound(err) && hasPool(osdMap, pool.name):
		return "", &Error{
			Reason:  ReasonForeignPool,
			Message: fmt.Sprintf("Ceph has a pool %s without a CephBlockPool in namespace %s, so cephtune does not touch it: remove it, because scratch pools need that name", pool.name, key.Namespace),
		}
	case apierrors.IsNotFound(err):
		if err := a.refuses(ctx, pool, cluster); err != nil {
			return "", err
		}
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
		return "", &Error{Reason: ReasonScratchPoolDiffers, Message: fmt.Sprintf("CephBlockPool %s was created for another spec or other runs", key)}
	}
	return read.waiting(key)
}

// waiting returns what a pool that is not ready waits for, or an *Error if Rook refuses its spec for good.
func (p blockPool) waiting(key client.ObjectKey) (string, error) {
	if p.Status.Phase == phaseReady {
		return "", nil
	}
	words := p.failure()
	switch {
	case strings.HasPrefix(words, invalidPool):
		return "", &Error{Reason: ReasonPoolRefused, Message: fmt.Sprintf("Rook refuses CephBlockPool %s: %s", key, words)}
	case words != "":
		return fmt.Sprintf("Rook could not create the pool of CephBlockPool %s yet: %s", key, words), nil
	}
	return fmt.Sprintf("Rook has not created the pool of CephBlockPool %s yet (phase %q): see its events", key, p.Status.Phase), nil
}

// invalidPool begins Rook's message about a spec that it refuses before it asks Ceph. Any other failure may pass:
// Rook tries again.
const invalidPool = "invalid pool CR"

// failure returns Rook's message about a pool that it could not create; "" if there is none.
func (p blockPool) failure() string {
	for _, c := range p.Status.Conditions {
		if c.Type == phaseFailure && c.Status == metav1.ConditionTrue && c.Message != "" {
			return c.Message
		}
	}
	return ""
}

// refuses returns an *Error if Rook creates no such pool in a cluster of this kind: none in an external cluster, and
// in a stretch cluster only pools with four copies.
func (a *Access) refuses(ctx context.Context, pool scratchPool, cluster settings.Cluster) error {
	var read struct {
		Spec struct {
			External struct {
				Enable bool `json:"enable"`
			} `json:"external"`
			Mon struct {
				StretchCluster *struct{} `json:"stretchCluster"`
			} `json:"mon"`
		} `json:"spec"`
	}
	o := object(kindCluster, cluster.Namespace, cluster.Name)
	key := client.ObjectKeyFromObject(o)
	if err := get(ctx, a.reader, o, &read); err != nil {
		if apierrors.IsNotFound(err) { // Other rules report a missing CephCluster.
			return nil
		}
		return explain(err, "get", kindCluster, key)
	}
	var message string
	copies, _, _ := unstructured.NestedInt64(pool.spec, "replicated", "size")
	switch {
	case read.Spec.External.Enable:
		message = fmt.Sprintf("CephCluster %s is external (spec.external.enable), and Rook creates no pools in it: use an existingPool", key)
	case read.Spec.Mon.StretchCluster != nil && copies != stretchCopies:
		message = fmt.Sprintf("CephCluster %s is a stretch cluster, in which Rook creates only replicated pools of size %d: set scratchPool.replicated.size to it, or use an existingPool", key,
			stretchCopies)
	default:
		return nil
	}
	return &Error{Reason: ReasonPoolRefused, Message: message}
}

// stretchCopies is the only size of a pool that Rook accepts in a stretch cluster.
const stretchCopies = 4

func poolGone(key client.ObjectKey) *Error {
	return &Error{
		Reason:  ReasonScratchPoolGone,
		Message: fmt.Sprintf("CephBlockPool %s, which earlier runs of the block used, was removed or recreated: find out what did that", key),
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
	// If another client created the pool first, the next call of ensure reads the pool's annotations.
	if err := a.writer.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return "", explain(err, "create", kindBlockPool, key)
	}
	return fmt.Sprintf("CephBlockPool %s was created; Rook is creating the pool", key), nil
}

// ScratchPoolsOf returns the names of the scratch pools of the owner, by target, with the pool of the metadata before that of
// the data. They include pools that are being removed.
func (a *Access) ScratchPoolsOf(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) ([]string, error) {
	owned, err := a.owned(ctx, cluster, owner)
	if err != nil {
		return nil, err
	}
	var names []string
	for target := range settings.MaxTargets {
		all := settings.ScratchNamesOf(target)
		for _, name := range []string{all.Pool, all.Data} {
			if owned[name] != nil {
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// owned returns the scratch pools of the owner, by name.
func (a *Access) owned(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (map[string]*unstructured.Unstructured, error) {
	pools, err := a.pools(ctx, cluster.Namespace)
	if err != nil {
		return nil, err
	}
	all := map[string]*unstructured.Unstructured{}
	for _, pool := range pools {
		if settings.IsScratchPool(pool.GetName()) && owns(owner, &pool) {
			all[pool.GetName()] = &pool
		}
	}
	return all, nil
}

// HasScratchPool reports whether the owner's scratch pool exists and is not being removed. For an
// erasure-coded pool, it reads only the metadata pool.
func (a *Access) HasScratchPool(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (bool, error) {
	o := object(kindBlockPool, cluster.Namespace, settings.ScratchPool)
	err := get(ctx, a.reader, o, &blockPool{})
	if client.IgnoreNotFound(err) != nil {
		return false, explain(err, "get", kindBlockPool, client.ObjectKeyFromObject(o))
	}
	return err == nil && owns(owner, o) && o.GetDeletionTimestamp() == nil, nil
}

// DeleteScratchPools has Rook remove the owner's scratch pools. It returns true when the owner has none, and before that the
// first obstacle. Pools of other owners stay, and are not an obstacle.
//
// Of each target, the metadata pool is removed first, because it contains the images. Rook does not remove it while images
// exist, and an image can be removed only while its data pool exists.
//
// Rook waits forever when it has to remove a pool that it could never create. If the OSD map still lacks
// the pool a minute after the request to delete it, DeleteScratchPools removes Rook's finalizer. The OSD map
// must be current. With a nil OSD map, the finalizer stays.
func (a *Access) DeleteScratchPools(ctx context.Context, cluster settings.Cluster, owner objectref.Ref, osdMap *ceph.OSDMap) (gone bool, reason string, err error) {
	owned, err := a.owned(ctx, cluster, owner)
	if err != nil {
		return false, "", err
	}
	for target := range settings.MaxTargets {
		names := settings.ScratchNamesOf(target)
		next := cmp.Or(owned[names.Pool], owned[names.Data])
		if next == nil {
			continue
		}
		waiting, err := a.remove(ctx, next, osdMap)
		if err != nil {
			return false, "", err
		}
		reason = cmp.Or(reason, waiting)
	}
	return len(owned) == 0, reason, nil
}

// remove requests the removal of a pool, and says what the removal waits for.
func (a *Access) remove(ctx context.Context, o *unstructured.Unstructured, osdMap *ceph.OSDMap) (string, error) {
	key := client.ObjectKeyFromObject(o)
	if since := o.GetDeletionTimestamp(); since != nil {
		if osdMap != nil && !hasPool(osdMap, key.Name) && a.now().Sub(since.Time) > releaseAfter {
			return fmt.Sprintf("CephBlockPool %s has no pool in Ceph, so its finalizer was removed", key), a.release(ctx, o)
		}
		read := blockPool{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &read); err != nil {
			return "", fmt.Errorf("read %s %s: %w", kindBlockPool, key, err)
		}
		return blocked(key, read), nil
	}
	uid := o.GetUID()
	if err := a.writer.Delete(ctx, o, client.Preconditions{UID: &uid}); err != nil && !apierrors.IsNotFound(err) {
		return "", explain(err, "delete", kindBlockPool, key)
	}
	return fmt.Sprintf("Rook is removing CephBlockPool %s", key), nil
}

// release removes Rook's finalizer and no other.
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

// blocked returns Rook's message about a blocked deletion, which Rook retries every ten seconds. If the
// deletion is not blocked, it only says that Rook is removing the pool.
func blocked(key client.ObjectKey, pool blockPool) string {
	for _, c := range pool.Status.Conditions {
		if (c.Type == "PoolDeletionIsBlocked" || c.Type == "DeletionIsBlocked") && c.Status == metav1.ConditionTrue {
			return fmt.Sprintf("Rook does not remove CephBlockPool %s yet: %s", key, c.Message)
		}
	}
	return fmt.Sprintf("Rook is removing CephBlockPool %s", key)
}

func hasPool(m *ceph.OSDMap, name string) bool {
	return slices.ContainsFunc(m.Pools, func(p ceph.Pool) bool { return p.Name == name })
}

// owns reports whether the operator created a pool for owner.
func owns(owner objectref.Ref, o *unstructured.Unstructured) bool {
	uid := o.GetAnnotations()[annotationOwnerUID]
	return uid != "" && uid == string(owner.UID)
}

// ownedBy returns an *Error unless owner owns the pool.
func ownedBy(o *unstructured.Unstructured, owner objectref.Ref) error {
	key := client.ObjectKeyFromObject(o)
	switch {
	case owns(owner, o):
		return nil
	case o.GetAnnotations()[annotationOwnerUID] == "":
		return &Error{
			Reason:  ReasonForeignPool,
			Message: fmt.Sprintf("cephtune did not create CephBlockPool %s: remove it, because scratch pools need that name", key),
		}
	default:
		return &Error{
			Reason:  ReasonScratchPoolTaken,
			Message: fmt.Sprintf("CephBlockPool %s is the scratch pool of %s: wait until that ends, or delete the CephBlockPool if its owner no longer exists", key, o.GetAnnotations()[annotationOwner]),
		}
	}
}

// scratchPool is a CephBlockPool to be created.
type scratchPool struct {
	name string
	spec map[string]any // with the types of decoded JSON
}

// digest returns a digest of the spec and the use's key. The stored spec cannot be compared directly,
// because Rook adds fields to it.
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

// scratchPools returns the pools to create for the specs of all targets, in the order of creation. It sets
// requireSafeReplicaSize to false if the size is 1: otherwise Rook refuses a single copy.
func scratchPools(specs []v1alpha1.ScratchPool) []scratchPool {
	var all []scratchPool
	for target, spec := range specs {
		for _, p := range settings.CephPools(target, spec) {
			pool := commonSpec(spec, parameters(p.Parameters))
			if p.DataChunks > 0 {
				pool["erasureCoded"] = map[string]any{"dataChunks": int64(p.DataChunks), "codingChunks": int64(p.Size - p.DataChunks)}
			} else {
				pool["replicated"] = map[string]any{"size": int64(p.Size), "requireSafeReplicaSize": p.Size > 1}
			}
			all = append(all, scratchPool{name: p.Name, spec: pool})
		}
	}
	return all
}

func commonSpec(spec v1alpha1.ScratchPool, params map[string]any) map[string]any {
	pool := map[string]any{}
	if spec.FailureDomain != "" {
		pool["failureDomain"] = spec.FailureDomain
	}
	if spec.CrushRoot != "" {
		pool["crushRoot"] = spec.CrushRoot
	}
	if spec.DeviceClass != "" {
		pool["deviceClass"] = spec.DeviceClass
	}
	pool["parameters"] = params
	return pool
}

// parameters converts pool parameters to Rook's form.
func parameters(asked map[string]v1alpha1.ParameterValue) map[string]any {
	params := map[string]any{}
	for name, value := range wantedParameters(asked) {
		params[name] = value
	}
	return params
}

// wantedParameters returns the requested parameters that are not Unset, with the autoscaler off.
// The autoscaler would split placement groups during the measurement as data grows. New placement
// groups have to peer. If the pool is confined to chosen OSDs, new placement groups may be on other OSDs.
func wantedParameters(asked map[string]v1alpha1.ParameterValue) map[string]string {
	wanted := make(map[string]string, len(asked)+1)
	for name, value := range asked {
		if value != v1alpha1.Unset {
			wanted[name] = string(value)
		}
	}
	wanted[paramAutoscaleMode] = autoscalerOff
	return wanted
}
