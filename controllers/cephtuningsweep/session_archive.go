package cephtuningsweep

import (
	"bytes"
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/session"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// archiveSession stores the evidence of a session in a ConfigMap, from which the verdict can be recomputed.
// It also removes the archive that exceeds historyLimit. A session that cannot be archived still counts,
// because the ledger has its entries. Then archiveSession returns why the session was not archived. After an
// error, the caller should retry.
func (r *Reconciler) archiveSession(ctx context.Context, seen facts, evidence session.Evidence) (why string, err error) {
	kept := &archive.SwitchedSession{Objective: seen.objective(), Evidence: evidence}
	for i, c := range seen.planner.Configurations() {
		kept.Configurations = append(kept.Configurations, sweepspec.NameOf(i, c))
	}
	if question, err := seen.sessions.Question(); err == nil && evidence.Record.Void == "" {
		if counted, has, err := evidence.Session(question, kept.Objective); err == nil && has {
			kept.Counted = &counted
		}
	}
	cm, err := archive.SessionMap(seen.sweep, kept, sweepspec.SessionName(seen.sweep, seen.run()), sessionLabels(seen))
	if err != nil {
		return fmt.Sprintf("The windows of session %d were not kept: %v", seen.run(), err), nil
	}
	switch err := r.Client.Create(ctx, cm); {
	case apierrors.IsAlreadyExists(err):
		return r.archivedBefore(ctx, seen, cm)
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err): // for example because of a quota
		return fmt.Sprintf("The windows of session %d were not kept: %v", seen.run(), err), nil
	case err != nil:
		return "", fmt.Errorf("keep the windows of session %d: %w", seen.run(), err)
	}
	return "", r.pruneSession(ctx, seen)
}

// archivedBefore handles an existing ConfigMap with the archive's name. It may come from an earlier attempt
// of this process, or from another client. It may also come from a session with this number that was not
// entered before the manager ended. Such an archive is replaced, because the ledger gets the figures of the
// current session.
func (r *Reconciler) archivedBefore(ctx context.Context, seen facts, cm *corev1.ConfigMap) (why string, err error) {
	found := &corev1.ConfigMap{}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(cm), found); err != nil {
		return "", fmt.Errorf("look at ConfigMap %s: %w", cm.Name, err)
	}
	switch {
	case !metav1.IsControlledBy(found, seen.sweep):
		return fmt.Sprintf("The windows of session %d were not kept, because ConfigMap %s does not belong to this sweep: save what you need from it, and delete it", seen.run(), cm.Name), nil
	case maps.EqualFunc(found.BinaryData, cm.BinaryData, bytes.Equal):
		return "", r.pruneSession(ctx, seen)
	}
	uid := found.UID
	if err := r.Client.Delete(ctx, found, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("replace ConfigMap %s: %w", cm.Name, err)
	}
	if err := r.Client.Create(ctx, cm); err != nil {
		return "", fmt.Errorf("keep the windows of session %d: %w", seen.run(), err)
	}
	return "", r.pruneSession(ctx, seen)
}

// configMapMetadata returns an object for reading a ConfigMap without its data, which may take half a MiB.
func configMapMetadata() *metav1.PartialObjectMetadata {
	cm := &metav1.PartialObjectMetadata{}
	cm.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	return cm
}

func (f facts) objective() session.Figure {
	o := f.sweep.Spec.Objective
	return session.Figure{Metric: o.Metric, Direction: o.Direction}
}

func sessionLabels(seen facts) map[string]string {
	return map[string]string{sweepspec.LabelSweep: sweepspec.SweepLabel(seen.sweep)}
}

// pruneSession removes the archive of one session: the one whose number is historyLimit below the current
// session's number.
func (r *Reconciler) pruneSession(ctx context.Context, seen facts) error {
	oldest := seen.run() - int(seen.sweep.Spec.HistoryLimit)
	if oldest < 1 {
		return nil
	}
	key := types.NamespacedName{Namespace: seen.sweep.Namespace, Name: sweepspec.SessionName(seen.sweep, oldest)}
	cm := configMapMetadata()
	switch err := r.Reader.Get(ctx, key, cm); {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("look for the windows of session %d: %w", oldest, err)
	}
	return r.removeArchive(ctx, seen, cm)
}

// removeArchives removes the session archives of earlier run IDs.
func (r *Reconciler) removeArchives(ctx context.Context, seen facts) error {
	all := &metav1.PartialObjectMetadataList{}
	all.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
	err := r.Reader.List(ctx, all, client.InNamespace(seen.sweep.Namespace), client.HasLabels{sweepspec.LabelSweep, archive.LabelSwitchedSession})
	if err != nil {
		return fmt.Errorf("list the windows of earlier runs: %w", err)
	}
	for i := range all.Items {
		cm := &all.Items[i]
		if cm.Labels[sweepspec.LabelSweep] == sweepspec.SweepLabel(seen.sweep) {
			continue
		}
		cm.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
		if err := r.removeArchive(ctx, seen, cm); err != nil {
			return err
		}
	}
	return nil
}

// removeArchive deletes a ConfigMap of this sweep by UID, so that it never deletes another ConfigMap with the
// same name.
func (r *Reconciler) removeArchive(ctx context.Context, seen facts, cm *metav1.PartialObjectMetadata) error {
	if !metav1.IsControlledBy(cm, seen.sweep) {
		return nil
	}
	uid := cm.UID
	if err := r.Client.Delete(ctx, cm, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove ConfigMap %s: %w", cm.Name, err)
	}
	return nil
}
