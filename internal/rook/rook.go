// Package rook is the operator's interface to Rook. It finds the connection to a CephCluster, and reads its
// state and the settings that Rook sets in Ceph. It makes Rook create and remove scratch pools, and deletes
// the pods of OSDs to restart them. It reads objects directly from the API server, never from a cache. So
// it needs no right to watch in Rook's namespaces.
package rook

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	group   = "ceph.rook.io"
	version = "v1"

	kindCluster   = "CephCluster"
	kindBlockPool = "CephBlockPool"
	kindClient    = "CephClient"

	// These are phases of Rook's objects. Ready: Rook is done. Connected: Rook has reached an external
	// cluster. Progressing: Rook works on the object. Progressing is also the type of a condition.
	phaseReady       = "Ready"
	phaseConnected   = "Connected"
	phaseProgressing = "Progressing"
	phaseFailure     = "Failure"
)

// The reasons of an Error. Each is suitable as the reason of a condition.
const (
	// ReasonClusterMissing means that the CephCluster does not exist.
	ReasonClusterMissing = "ClusterMissing"
	// ReasonClusterNotReady means that Rook has not created the cluster yet.
	ReasonClusterNotReady = "ClusterNotReady"
	// ReasonKeyMissing means that the key of an identity does not exist.
	ReasonKeyMissing = "KeyMissing"
	// ReasonForbidden means that a Role of the operator is missing.
	ReasonForbidden = "Forbidden"
	// ReasonForeignPool means that a pool has the name of a scratch pool, but the operator did not
	// create it. The operator never touches that pool.
	ReasonForeignPool = "ForeignPool"
	// ReasonScratchPoolTaken means that a scratch pool has another owner.
	ReasonScratchPoolTaken = "ScratchPoolTaken"
	// ReasonScratchPoolDiffers means that the owner's scratch pool was created for another spec, or
	// for other runs. It has to be removed before it is created again.
	ReasonScratchPoolDiffers = "ScratchPoolDiffers"
	// ReasonScratchPoolGone means that a scratch pool was removed or recreated, although earlier
	// runs that are being compared have used it.
	ReasonScratchPoolGone = "ScratchPoolGone"
	// ReasonPoolRefused means that Rook will never create a scratch pool of this spec in this cluster.
	ReasonPoolRefused = "PoolRefused"
	// ReasonNetworkUnknown means that the cluster's network configuration is not supported.
	ReasonNetworkUnknown = "NetworkUnknown"
)

// Error is an error that rarely disappears without action. Its message says what is wrong, and what a user
// can do, if anything.
type Error struct {
	Reason, Message string
	// Err is the cause, such as the API server's error; nil if Message says everything.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Access reads and writes Rook's objects.
type Access struct {
	reader client.Reader
	writer client.Writer
	now    func() time.Time
}

// New returns an Access. The reader must not use a cache: use the manager's API reader.
func New(reader client.Reader, writer client.Writer, now func() time.Time) *Access {
	return &Access{reader: reader, writer: writer, now: now}
}

func object(kind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// get reads one of Rook's objects into a struct, whose fields select what is decoded.
func get(ctx context.Context, reader client.Reader, o *unstructured.Unstructured, target any) error {
	if err := reader.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, target); err != nil {
		return fmt.Errorf("read %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

// explain wraps the API server's error about objects of a kind. If the operator lacks a right, the
// result is an *Error with advice. A key without a name stands for all objects in a namespace.
func explain(err error, verb, kind string, key client.ObjectKey) error {
	name := strings.TrimSuffix(key.String(), "/")
	if apierrors.IsForbidden(err) {
		return &Error{
			Reason:  ReasonForbidden,
			Message: fmt.Sprintf("the operator may not %s %s %s: create the Role for it in namespace %s, with the chart (rbac.create) or config/ceph", verb, kind, name, key.Namespace),
			Err:     err,
		}
	}
	return fmt.Errorf("%s %s %s: %w", verb, kind, name, err)
}
