package reconcile

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// AddFinalizer adds a finalizer, unless the object has it. It updates the object, including its
// status, from the API server's answer.
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

// patchFinalizer changes the finalizers under optimistic locking. A merge patch replaces the whole list, so
// it could otherwise drop a finalizer that another client has just added.
func patchFinalizer(ctx context.Context, c client.Client, o client.Object, finalizer string, change func(client.Object, string) bool) error {
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("%T does not copy to an object", o)
	}
	if !change(o, finalizer) {
		return nil
	}
	return c.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}
