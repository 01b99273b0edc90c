package cephtuningsweep

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/session"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// archiveSession stores the evidence of a session in a ConfigMap, from which its verdict can be
// recomputed, and removes the archive that exceeds historyLimit. A session that cannot be
// archived still counts, because the ledger has its entries; why then says why it was not
// archived. A caller should retry after an error.
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
	if err := r.Client.Create(ctx, cm); apierrors.IsAlreadyExists(err) {
		return r.archivedBefore(ctx, seen, client.ObjectKeyFromObject(cm))
	} else if err != nil {
		return "", fmt.Errorf("keep the windows of session %d: %w", seen.run(), err)
	}
	return "", r.pruneSession(ctx, seen)
}

// archivedBefore handles an existing ConfigMap with the archive's name, from an earlier attempt or from
// another client.
func (r *Reconciler) archivedBefore(ctx context.Context, seen facts, key types.NamespacedName) (why string, err error) {
	cm := configMapMetadata()
	if err := r.Reader.Get(ctx, key, cm); err != nil {
		return "", fmt.Errorf("look at ConfigMap %s: %w", key.Name, err)
	}
	if metav1.IsControlledBy(cm, seen.sweep) {
		return "", nil
	}
	return fmt.Sprintf("The windows of session %d were not kept, because ConfigMap %s does not belong to this sweep: save what you need from it, and delete it", seen.run(), key.Name), nil
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

// pruneSession removes the archive of the session that exceeds historyLimit.
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

// removeArchives removes the archives of sessions of earlier run IDs.
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

// removeArchive removes a ConfigMap of this sweep by UID, so that it never removes another one with the same
// name.
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
