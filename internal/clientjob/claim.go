package clientjob

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// MissingClaimError says that the target is a claim that does not exist.
type MissingClaimError struct{ Claim types.NamespacedName }

func (e *MissingClaimError) Error() string {
	return fmt.Sprintf("there is no PersistentVolumeClaim %s in namespace %s: create it, or name another in target.persistentVolumeClaim.claimName", e.Claim.Name, e.Claim.Namespace)
}

// IsBlock reports whether the target is a claim that is a block device. If the Job exists, IsBlock
// reports whether the pods of the Job use the claim as a block device. Otherwise, if target.ClaimName names a
// claim that does not exist, the error is a *MissingClaimError.
func IsBlock(ctx context.Context, reader client.Reader, namespace string, target *v1alpha1.PersistentVolumeClaimTarget, job *batchv1.Job) (bool, error) {
	switch {
	case target == nil:
		return false, nil
	case job != nil:
		return len(job.Spec.Template.Spec.Containers[0].VolumeDevices) > 0, nil
	case target.Template != nil:
		return target.Template.VolumeMode == v1alpha1.VolumeModeBlock, nil
	}
	key := types.NamespacedName{Namespace: namespace, Name: target.ClaimName}
	var claim corev1.PersistentVolumeClaim
	if err := reader.Get(ctx, key, &claim); apierrors.IsNotFound(err) {
		return false, &MissingClaimError{key}
	} else if err != nil {
		return false, fmt.Errorf("read the claim: %w", err)
	}
	return claim.Spec.VolumeMode != nil && *claim.Spec.VolumeMode == corev1.PersistentVolumeBlock, nil
}
