package cephtuningsweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/archive/store"
	"github.com/cephtune/cephtune/internal/design/session"
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
	cm, err := archive.SessionMap(seen.sweep, kept, sweepspec.SessionName(seen.sweep, seen.run()), map[string]string{sweepspec.LabelSweep: sweepspec.SweepLabel(seen.sweep)})
	if err != nil {
		return fmt.Sprintf("The windows of session %d were not kept: %v", seen.run(), err), nil
	}
	err = r.keepSession(ctx, seen, cm)
	taken, isTaken := errors.AsType[*store.TakenError](err)
	switch {
	case isTaken:
		return fmt.Sprintf("The windows of session %d were not kept, because other users have ConfigMaps with all their names, such as %s: save what you need from them, and delete them",
			seen.run(), taken.Names[0]), nil
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err): // for example because of a quota
		return fmt.Sprintf("The windows of session %d were not kept: %v", seen.run(), err), nil
	case err != nil:
		return "", fmt.Errorf("keep the windows of session %d: %w", seen.run(), err)
	}
	return "", r.pruneSession(ctx, seen)
}

// keepSession creates the ConfigMap of a session. If the operator wrote one with its name before, that comes from an earlier
// attempt, or from a session with this number that was not entered before the manager ended. Such an archive is replaced,
// because the ledger gets the figures of the current session.
func (r *Reconciler) keepSession(ctx context.Context, seen pass, cm *corev1.ConfigMap) error {
	earlier, err := r.archives(seen).Create(ctx, cm)
	if err != nil || earlier == nil || archive.Digest(earlier) == archive.Digest(cm) {
		return err
	}
	if err := r.archives(seen).Remove(ctx, []metav1.PartialObjectMetadata{{ObjectMeta: earlier.ObjectMeta}}); err != nil {
		return err
	}
	return r.Client.Create(ctx, cm)
}

// archives returns the store of the sweep's sessions.
func (r *Reconciler) archives(seen pass) store.Owned {
	return store.Owned{Client: r.Client, Reader: r.Reader, MasterKey: r.MasterKey, Namespace: seen.sweep.Namespace, Owner: seen.sweep.UID}
}

func (f facts) objective() session.Figure {
	o := f.sweep.Spec.Objective
	return session.Figure{Metric: o.Metric, Direction: o.Direction}
}

// pruneSession removes the archive of one session: the one whose number is historyLimit below the current
// session's number.
func (r *Reconciler) pruneSession(ctx context.Context, seen pass) error {
	oldest := seen.run() - int(seen.sweep.Spec.HistoryLimit)
	if oldest < 1 {
		return nil
	}
	old, err := r.archives(seen).List(ctx, client.MatchingLabels{
		sweepspec.LabelSweep: sweepspec.SweepLabel(seen.sweep), archive.LabelSwitchedSession: strconv.Itoa(oldest),
	})
	if err != nil {
		return err
	}
	return r.archives(seen).Remove(ctx, old)
}

// removeArchives removes the session archives of earlier run IDs. If other users have created too many ConfigMaps with
// their labels, some archives stay until the sweep is deleted.
func (r *Reconciler) removeArchives(ctx context.Context, seen pass) error {
	all, err := r.archives(seen).List(ctx, client.HasLabels{sweepspec.LabelSweep, archive.LabelSwitchedSession})
	if err != nil {
		return err
	}
	return r.archives(seen).Remove(ctx, slices.DeleteFunc(all, func(m metav1.PartialObjectMetadata) bool {
		return m.Labels[sweepspec.LabelSweep] == sweepspec.SweepLabel(seen.sweep)
	}))
}
