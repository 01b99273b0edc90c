// Package kstatus writes the outcome of a reconciliation into conditions, in the form that kubectl wait,
// Flux and Argo CD understand. The package writes status in one patch, or not at all if nothing changed.
package kstatus

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ellipsis"
)

// MaxMessage is the maximum length of a condition's message, and of the note of an event, in bytes.
const MaxMessage = 1024

// Outcome is the result of a reconciliation, for the user. Its text must not change with each pass, because
// each change costs a write to the API server. So it has no current time and no list in random order.
type Outcome struct {
	// Reason is a CamelCase word that makes sense in the printer column Phase.
	Reason string
	// Message is a sentence about the current state or about the action to take.
	Message string
}

// MarkStalled sets the conditions of an object that makes no progress until a person changes something.
func MarkStalled(conditions *[]metav1.Condition, generation int64, o Outcome) {
	Set(conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, generation, o)
	Set(conditions, v1alpha1.ConditionStalled, metav1.ConditionTrue, generation, o)
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionReconciling)
}

// MarkReconciling sets the conditions of an object on which the operator works, or which waits for
// something that should happen by itself.
func MarkReconciling(conditions *[]metav1.Condition, generation int64, o Outcome) {
	Set(conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, generation, o)
	Set(conditions, v1alpha1.ConditionReconciling, metav1.ConditionTrue, generation, o)
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionStalled)
}

// MarkReady sets the conditions of an object for which everything in the spec is done.
func MarkReady(conditions *[]metav1.Condition, generation int64, o Outcome) {
	Set(conditions, v1alpha1.ConditionReady, metav1.ConditionTrue, generation, o)
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionReconciling)
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionStalled)
}

// MarkIdle sets the conditions of an object that is suspended: Ready is false, and neither Reconciling nor
// Stalled is set.
func MarkIdle(conditions *[]metav1.Condition, generation int64, o Outcome) {
	Set(conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, generation, o)
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionReconciling)
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionStalled)
}

// Set sets a condition, and cuts its message if it is too long.
func Set(conditions *[]metav1.Condition, kind string, status metav1.ConditionStatus, generation int64, o Outcome) {
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type:               kind,
		Status:             status,
		ObservedGeneration: generation,
		Reason:             o.Reason,
		Message:            ellipsis.Cut(o.Message, MaxMessage),
	})
}

// MarkEnded copies the outcome from condition Complete to Ready, or from Failed to Ready and Stalled, when an
// object has ended. One of Complete and Failed must be set. MarkEnded also updates the generation of that
// condition. Otherwise, after a change of the spec that keeps the run ID, kubectl wait would wait forever: it
// ignores conditions with an earlier generation.
func MarkEnded(conditions *[]metav1.Condition, generation int64) {
	if failed := meta.FindStatusCondition(*conditions, v1alpha1.ConditionFailed); failed != nil && failed.Status == metav1.ConditionTrue {
		failed.ObservedGeneration = generation
		MarkStalled(conditions, generation, Outcome{Reason: failed.Reason, Message: failed.Message})
		return
	}
	complete := meta.FindStatusCondition(*conditions, v1alpha1.ConditionComplete)
	complete.ObservedGeneration = generation
	MarkReady(conditions, generation, Outcome{Reason: complete.Reason, Message: complete.Message})
}

// Judge returns the condition of an object that ends with results: Failed if failOn lists the verdict,
// otherwise Complete. In both cases, the message contains the first line of a summary, because status has the rest.
func Judge[V ~string](verdict V, failOn []V, summary string) (condition string, o Outcome) {
	sentence, _, _ := strings.Cut(summary, "\n")
	if verdict == "" || !slices.Contains(failOn, verdict) {
		return v1alpha1.ConditionComplete, Outcome{Reason: v1alpha1.ReasonComplete, Message: sentence}
	}
	return v1alpha1.ConditionFailed, Outcome{
		Reason: v1alpha1.ReasonFailedOnVerdict, Message: fmt.Sprintf("The verdict is %s, which spec.failOn lists. %s", verdict, sentence),
	}
}

// JudgeAgain updates the condition of an object that has ended with results, after failOn has changed. It
// does not change the condition of an object that has ended without results, nor of a sweep in mode Plan.
func JudgeAgain[V ~string](conditions *[]metav1.Condition, generation int64, verdict V, failOn []V, sentence string) {
	for _, kind := range []string{v1alpha1.ConditionComplete, v1alpha1.ConditionFailed} {
		end := meta.FindStatusCondition(*conditions, kind)
		if end == nil || end.Status != metav1.ConditionTrue {
			continue
		}
		if end.Reason != v1alpha1.ReasonComplete && end.Reason != v1alpha1.ReasonFailedOnVerdict {
			return
		}
		judged, o := Judge(verdict, failOn, sentence)
		if judged == kind {
			return
		}
		meta.RemoveStatusCondition(conditions, kind)
		Set(conditions, judged, metav1.ConditionTrue, generation, o)
		return
	}
}

// HasEnded reports whether a benchmark or sweep has ended, with or without results.
func HasEnded(conditions []metav1.Condition) bool {
	return meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionComplete) || meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionFailed)
}

// RemoveEnds removes the conditions Complete, Failed and Restored of a run ID that has ended, because another
// run ID begins.
func RemoveEnds(conditions *[]metav1.Condition) {
	for _, kind := range []string{v1alpha1.ConditionComplete, v1alpha1.ConditionFailed, v1alpha1.ConditionRestored} {
		meta.RemoveStatusCondition(conditions, kind)
	}
}

// OfPass returns the outcome of a pass for the user. That is the outcome of the step (the parameter actual) if
// it has a reason, otherwise the outcome in the plan (the parameter planned). If the step failed, the message
// is that of err, and the reason is the first of these that is set: the reason in the plan, the present reason
// of condition Ready, or Preparing.
func OfPass(planned, actual Outcome, err error, conditions []metav1.Condition) Outcome {
	switch {
	case err != nil:
		reason := cmp.Or(planned.Reason, Current(conditions).Reason, v1alpha1.ReasonPreparing)
		return Outcome{Reason: reason, Message: err.Error()}
	case actual.Reason != "":
		return actual
	}
	return planned
}

// Current returns the current reason and message of condition Ready. The printer column Phase shows
// the reason.
func Current(conditions []metav1.Condition) Outcome {
	if ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); ready != nil {
		return Outcome{Reason: ready.Reason, Message: ready.Message}
	}
	return Outcome{}
}

// EventType returns Warning if the object has failed or stalled, otherwise Normal.
func EventType(conditions []metav1.Condition) string {
	if meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionFailed) || meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionStalled) {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// Patch sets status.phase of the object in the parameter after. It writes the status of this object, if it
// differs from the status of the object in the parameter before, and reports whether it has written. An object
// that no longer exists is not an error.
//
// The patch carries the resource version, so it fails if another writer has changed the object in the
// meantime. Without the version, the patch could undo that change, because a merge patch replaces the whole
// list of conditions.
func Patch(ctx context.Context, c client.StatusClient, before, after client.Object) (bool, error) {
	setPhase(after)
	same, err := sameStatus(before, after)
	if err != nil || same {
		return false, err
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Status().Patch(ctx, after, patch); err != nil {
		return false, client.IgnoreNotFound(fmt.Errorf("write status: %w", err))
	}
	return true, nil
}

// setPhase copies the reason of condition Ready to status.phase.
func setPhase(object client.Object) {
	switch o := object.(type) {
	case *v1alpha1.CephBenchmark:
		o.Status.Phase = Current(o.Status.Conditions).Reason
	case *v1alpha1.CephTuningSweep:
		o.Status.Phase = Current(o.Status.Conditions).Reason
	}
}

// EqualIgnoringMessages reports whether the statuses of two objects differ at most in the messages
// of conditions, and in the step and the summary of the progress.
func EqualIgnoringMessages(a, b client.Object) bool {
	first, err := withoutMessages(a)
	if err != nil {
		return false
	}
	second, err := withoutMessages(b)
	return err == nil && equality.Semantic.DeepEqual(first, second)
}

func withoutMessages(object client.Object) (map[string]any, error) {
	status, err := statusOf(object)
	conditions, _ := status["conditions"].([]any)
	for _, condition := range conditions {
		if fields, ok := condition.(map[string]any); ok {
			delete(fields, "message")
		}
	}
	unstructured.RemoveNestedField(status, "progress", "step")
	unstructured.RemoveNestedField(status, "progress", "summary")
	return status, err
}

func sameStatus(before, after client.Object) (bool, error) {
	previous, err := statusOf(before)
	if err != nil {
		return false, err
	}
	current, err := statusOf(after)
	if err != nil {
		return false, err
	}
	return equality.Semantic.DeepEqual(previous, current), nil
}

// statusOf returns the status as it is in JSON. So empty fields that JSON omits do not count as
// differences.
func statusOf(object client.Object) (map[string]any, error) {
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("convert status: %w", err)
	}
	status, _, err := unstructured.NestedMap(written, "status")
	return status, err
}
