package cephbenchmark

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/internal/kstatus"
)

// record writes what the pass came to into status, and then tells it as an
// event, if it is news.
func (r *Reconciler) record(ctx context.Context, seen facts, p plan) error {
	if p.step == stepNone {
		return nil
	}
	after := seen.benchmark.DeepCopy()
	after.Status.ObservedGeneration = after.Generation
	after.Status.ObservedRunID = after.Spec.RunID
	mark := kstatus.MarkIdle
	if p.step == stepStall {
		mark = kstatus.MarkStalled
	}
	mark(&after.Status.Conditions, after.Generation, p.outcome)

	written, err := kstatus.Patch(ctx, r.client, seen.benchmark, after)
	if err != nil || !written {
		return err
	}
	r.recorder.Eventf(after, nil, eventType(p.step), p.outcome.Reason, string(p.step), "%s", p.outcome.Message)
	return nil
}

func eventType(s step) string {
	if s == stepStall {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}
