package reconcile

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// These are the finalizers of the operator.
const (
	// CleanupFinalizer keeps a CephBenchmark until everything that was created for it is removed.
	CleanupFinalizer = "cephtune.dev/cleanup"
	// RestoreFinalizer keeps a deleted CephTuningSweep until its changes are restored.
	RestoreFinalizer = "cephtune.dev/restore"
)

// AddFinalizer adds a finalizer, unless the object has it.
func AddFinalizer(ctx context.Context, c client.Client, o client.Object, finalizer string) error {
	if err := patchFinalizer(ctx, c, o, finalizer, controllerutil.AddFinalizer); err != nil {
		return fmt.Errorf("add the finalizer: %w", err)
	}
	return nil
}

// RemoveFinalizer removes a finalizer, if the object has it. A missing object is not an error.
func RemoveFinalizer(ctx context.Context, c client.Client, o client.Object, finalizer string) error {
	err := patchFinalizer(ctx, c, o, finalizer, controllerutil.RemoveFinalizer)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the finalizer: %w", err)
	}
	return nil
}

// IsGone reports whether an object is deleted without the operator's finalizer, normally after its teardown or restore.
// Finalizers of others may keep the object, and its status then says for ever that it is at work.
func IsGone(o client.Object, finalizer string) bool {
	return !o.GetDeletionTimestamp().IsZero() && !controllerutil.ContainsFinalizer(o, finalizer)
}

// patchFinalizer changes the finalizers under optimistic locking. A merge patch replaces the whole list, so
// it could otherwise drop a finalizer that another client has just added.
func patchFinalizer(ctx context.Context, c client.Client, o client.Object, finalizer string, change func(client.Object, string) bool) error {
	after, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T does not copy to an object", o)
	}
	if !change(after, finalizer) {
		return nil
	}
	if err := c.Patch(ctx, after, client.MergeFromWithOptions(o, client.MergeFromWithOptimisticLock{})); err != nil {
		return err
	}
	o.SetFinalizers(after.GetFinalizers())
	o.SetResourceVersion(after.GetResourceVersion())
	return nil
}
