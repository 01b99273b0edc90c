package reconcile

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// AddFinalizer adds a finalizer, unless the object has it. The object is then what the API
// server has answered, status included.
func AddFinalizer(ctx context.Context, c client.Client, o client.Object, finalizer string) error {
	if err := patchFinalizer(ctx, c, o, finalizer, controllerutil.AddFinalizer); err != nil {
		return fmt.Errorf("add the finalizer: %w", err)
	}
	return nil
}

// RemoveFinalizer removes it, if the object has it. One that is gone is no error.
func RemoveFinalizer(ctx context.Context, c client.Client, o client.Object, finalizer string) error {
	err := patchFinalizer(ctx, c, o, finalizer, controllerutil.RemoveFinalizer)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the finalizer: %w", err)
	}
	return nil
}

// patchFinalizer locks optimistically: a merge patch replaces the whole list, and so would drop
// a finalizer that others have added meanwhile.
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
