package cephtuningsweep

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/reconcile/pages"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// archiveSession stores the evidence of a session in a ConfigMap, from which the verdict can be recomputed.
// It also removes the archive that exceeds historyLimit. A session that cannot be archived still counts,
// because the ledger has its entries. Then archiveSession returns why the session was not archived. After an
// error, the caller should retry.
func (r *Reconciler) archiveSession(ctx context.Context, seen pass, evidence session.Evidence) (reason string, err error) {
	kept := &archive.SwitchedSession{Objective: seen.objective(), Evidence: evidence}
	for i, c := range seen.design.Configurations() {
		kept.Configurations = append(kept.Configurations, sweepspec.NameOf(i, c))
	}
	if question, err := seen.sessions.Question(); err == nil && evidence.Record.Invalid == "" {
		kept.Mark = evidence.Mark(question)
		if counted, ok, err := evidence.Session(question, kept.Objective); err == nil && ok {
			kept.Counted = &counted
		}
	}
	cm, err := archive.SessionMap(seen.sweep, kept, sweepspec.SessionName(seen.sweep, seen.run()), sessionLabels(seen.facts))
	if err != nil {
		return fmt.Sprintf("The windows of session %d were not kept: %v", seen.run(), err), nil
	}
	names, err := archive.Names(r.MasterKey, seen.sweep.UID, cm.Name)
	if err != nil {
		return "", err
	}
	for _, cm.Name = range names {
		if err := archive.Sign(r.MasterKey, seen.sweep.UID, cm); err != nil {
			return "", err
		}
		taken, err := r.keepSession(ctx, seen, cm)
		switch {
		case taken:
			continue
		case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err): // for example because of a quota
			return fmt.Sprintf("The windows of session %d were not kept: %v", seen.run(), err), nil
		case err != nil:
			return "", fmt.Errorf("keep the windows of session %d: %w", seen.run(), err)
		}
		return "", r.pruneSession(ctx, seen)
	}
	return fmt.Sprintf("The windows of session %d were not kept, because other users have ConfigMaps with all their names, such as %s: save what you need from them, and delete them",
		seen.run(), names[0]), nil
}

// keepSession creates the ConfigMap of a session. A ConfigMap with its name may exist already. If the operator wrote
// it, it comes from an earlier attempt, or from a session with this number that was not entered before the manager
// ended. Such an archive is replaced, because the ledger gets the figures of the current session. Otherwise another
// user has taken the name.
func (r *Reconciler) keepSession(ctx context.Context, seen pass, cm *corev1.ConfigMap) (taken bool, err error) {
	if err := r.Client.Create(ctx, cm.DeepCopy()); !apierrors.IsAlreadyExists(err) {
		return false, err
	}
	found := &corev1.ConfigMap{}
	if err := r.Reader.Get(ctx, client.ObjectKeyFromObject(cm), found); err != nil {
		return false, err
	}
	ours, err := archive.Signed(r.MasterKey, seen.sweep.UID, found)
	switch {
	case err != nil || !ours:
		return err == nil, err
	case archive.Digest(found) == archive.Digest(cm):
		return false, nil
	}
	uid := found.UID
	if err := r.Client.Delete(ctx, found, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return false, err
	}
	return false, r.Client.Create(ctx, cm.DeepCopy())
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
func (r *Reconciler) pruneSession(ctx context.Context, seen pass) error {
	oldest := seen.run() - int(seen.sweep.Spec.HistoryLimit)
	if oldest < 1 {
		return nil
	}
	names, err := archive.Names(r.MasterKey, seen.sweep.UID, sweepspec.SessionName(seen.sweep, oldest))
	if err != nil {
		return err
	}
	for _, name := range names {
		cm := configMapMetadata()
		err := r.Reader.Get(ctx, types.NamespacedName{Namespace: seen.sweep.Namespace, Name: name}, cm)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("look for the windows of session %d: %w", oldest, err)
		}
		if err := r.removeArchive(ctx, seen, cm); err != nil {
			return err
		}
	}
	return nil
}

// removeArchives removes the session archives of earlier run IDs. If other users have created too many ConfigMaps with
// their labels, some archives stay until the sweep is deleted.
func (r *Reconciler) removeArchives(ctx context.Context, seen pass) error {
	labelled := pages.Metadata(ctx, r.Reader, corev1.SchemeGroupVersion.WithKind("ConfigMap"),
		client.InNamespace(seen.sweep.Namespace), client.HasLabels{sweepspec.LabelSweep, archive.LabelSwitchedSession})
	for page, err := range labelled {
		if tooMany, ok := errors.AsType[*pages.TooManyError](err); ok {
			logf.FromContext(ctx).Error(tooMany, "Some windows of earlier runs may stay")
			return nil
		}
		if err != nil {
			return fmt.Errorf("list the windows of earlier runs: %w", err)
		}
		for i := range page.Items {
			cm := &page.Items[i]
			if cm.Labels[sweepspec.LabelSweep] == sweepspec.SweepLabel(seen.sweep) {
				continue
			}
			cm.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
			if err := r.removeArchive(ctx, seen, cm); err != nil {
				return err
			}
		}
	}
	return nil
}

// removeArchive deletes a ConfigMap that the operator signed for this sweep. It deletes by UID, so that it never deletes
// another ConfigMap with the same name. Without a genuine signature, the ConfigMap stays until the sweep is deleted.
func (r *Reconciler) removeArchive(ctx context.Context, seen pass, cm *metav1.PartialObjectMetadata) error {
	ours, err := archive.Signed(r.MasterKey, seen.sweep.UID, cm)
	if err != nil || !ours {
		return err
	}
	uid := cm.UID
	if err := r.Client.Delete(ctx, cm, client.Preconditions{UID: &uid}); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove ConfigMap %s: %w", cm.Name, err)
	}
	return nil
}
