// Package rook is what the operator knows of Rook: how to reach a CephCluster, what
// state it is in, what it sets in Ceph, and how to have scratch pools made and removed.
// It reads straight from the API server, never from a cache, and by name, so that it
// needs no watch in Rook's namespaces, and list of CephBlockPools alone.
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

	// phaseReady is Rook's phase of a finished object, phaseConnected of an external cluster
	// that it has reached, phaseProgressing of an object that it works on.
	phaseReady       = "Ready"
	phaseConnected   = "Connected"
	phaseProgressing = "Progressing"
)

// The reasons of an Error: words that make sense as the reason of a condition.
const (
	// ReasonClusterMissing means that there is no such CephCluster.
	ReasonClusterMissing = "ClusterMissing"
	// ReasonClusterNotReady means that Rook has not made the cluster yet.
	ReasonClusterNotReady = "ClusterNotReady"
	// ReasonKeyMissing means that there is no key of an identity.
	ReasonKeyMissing = "KeyMissing"
	// ReasonForbidden means that a Role of the operator's is not there.
	ReasonForbidden = "Forbidden"
	// ReasonForeignPool means that a pool with the name of a scratch pool is not of
	// the operator's making, so that it is never touched.
	ReasonForeignPool = "ForeignPool"
	// ReasonScratchPoolTaken means that a scratch pool has another owner.
	ReasonScratchPoolTaken = "ScratchPoolTaken"
	// ReasonScratchPoolDiffers means that the owner's scratch pool was made for
	// another spec: it has to be removed before it is made anew.
	ReasonScratchPoolDiffers = "ScratchPoolDiffers"
	// ReasonScratchPoolGone means that a scratch pool on which others have measured, whose
	// figures are compared, does not exist any more.
	ReasonScratchPoolGone = "ScratchPoolGone"
	// ReasonNetworkUnknown means that the network of a cluster is not understood.
	ReasonNetworkUnknown = "NetworkUnknown"
)

// Error is something that does not mend itself: its message says what to do.
type Error struct {
	Reason, Message string
	// Err is what the API server said, if it was that.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Message
	}
	return e.Message + ": " + e.Err.Error()
}

// Unwrap returns what the API server said.
func (e *Error) Unwrap() error { return e.Err }

// Access reads and writes Rook's objects.
type Access struct {
	reader client.Reader
	writer client.Writer
	now    func() time.Time
}

// New returns an Access. The reader must not be one that keeps a cache: use the
// manager's API reader.
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

// get reads one of Rook's objects, and the fields of it that into has.
func get(ctx context.Context, reader client.Reader, o *unstructured.Unstructured, into any) error {
	if err := reader.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		return fmt.Errorf("read %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

// explain adds what to do to what the API server said about a kind of objects. A key
// without a name is all that are in a namespace.
func explain(err error, verb, kind string, key client.ObjectKey) error {
	name := strings.TrimSuffix(key.String(), "/")
	if apierrors.IsForbidden(err) {
		return &Error{
			Reason:  ReasonForbidden,
			Message: fmt.Sprintf("the operator may not %s %s %s: the Role for it in namespace %s, which the chart makes (rbac.create) and config/ceph has, has to be there and to name it", verb, kind, name, key.Namespace),
			Err:     err,
		}
	}
	return fmt.Errorf("%s %s %s: %w", verb, kind, name, err)
}
