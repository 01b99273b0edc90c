// Package kstatus ends a reconciliation: it puts its outcome into conditions in
// the form that kstatus, and so kubectl wait, Flux and Argo CD, understand, and
// writes status in one patch, or not at all if nothing changed.
package kstatus

import (
	"context"
	"fmt"
	"slices"

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

// maxMessage, in bytes, keeps the message of one condition from filling the status.
const maxMessage = 1024

// Outcome is the result of a pass for the user. Its text has no timestamps and no lists in
// random order: status is written only when it differs.
type Outcome struct {
	// Reason is a CamelCase word that makes sense as a phase.
	Reason string
	// Message is a sentence about the current state or about the action to take.
	Message string
}

// MarkStalled says that nothing more will happen until someone changes something.
func MarkStalled(conditions *[]metav1.Condition, generation int64, o Outcome) {
	set(conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, generation, o)
	set(conditions, v1alpha1.ConditionStalled, metav1.ConditionTrue, generation, o)
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionReconciling)
}

// MarkReconciling says that the operator works, or waits for something that it
// expects to happen by itself.
func MarkReconciling(conditions *[]metav1.Condition, generation int64, o Outcome) {
	set(conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, generation, o)
	set(conditions, v1alpha1.ConditionReconciling, metav1.ConditionTrue, generation, o)
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionStalled)
}

// MarkReady says that what the spec asks for is done.
func MarkReady(conditions *[]metav1.Condition, generation int64, o Outcome) {
	set(conditions, v1alpha1.ConditionReady, metav1.ConditionTrue, generation, o)
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionReconciling)
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionStalled)
}

// MarkIdle says that there is nothing to do, although the run has not ended:
// neither progress nor a problem.
func MarkIdle(conditions *[]metav1.Condition, generation int64, o Outcome) {
	set(conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, generation, o)
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionReconciling)
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionStalled)
}

func set(conditions *[]metav1.Condition, kind string, status metav1.ConditionStatus, generation int64, o Outcome) {
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type:               kind,
		Status:             status,
		ObservedGeneration: generation,
		Reason:             o.Reason,
		Message:            ellipsis.Cut(o.Message, maxMessage),
	})
}

// MarkEnded makes the outcome of a run, which is in Complete or Failed already, the last
// word. That one is about the generation too: kubectl wait takes no condition that is about
// an earlier one, and would wait for ever after a change that asks for no run.
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

// Judge is the end of a run that has its results: the condition Complete or, where its
// verdict is one on which it has to fail, Failed. Either has the sentence of the outcome.
func Judge[V ~string](verdict V, failOn []V, sentence string) (condition string, o Outcome) {
	if verdict == "" || !slices.Contains(failOn, verdict) {
		return v1alpha1.ConditionComplete, Outcome{Reason: v1alpha1.ReasonComplete, Message: sentence}
	}
	return v1alpha1.ConditionFailed, Outcome{
		Reason: v1alpha1.ReasonFailedOnVerdict, Message: fmt.Sprintf("The verdict is %s, on which spec.failOn has it fail. %s", verdict, sentence),
	}
}

// JudgeAgain brings the end of a run that has its results to what failOn says by now. An
// end without results stays, and so does that of a plan.
func JudgeAgain[V ~string](conditions *[]metav1.Condition, generation int64, verdict V, failOn []V, sentence string) {
	for _, kind := range []string{v1alpha1.ConditionComplete, v1alpha1.ConditionFailed} {
		end := meta.FindStatusCondition(*conditions, kind)
		if end == nil || end.Status != metav1.ConditionTrue {
			continue
		}
		if end.Reason != v1alpha1.ReasonComplete && end.Reason != v1alpha1.ReasonFailedOnVerdict {
			return
		}
		is, o := Judge(verdict, failOn, sentence)
		if is == kind {
			return
		}
		meta.RemoveStatusCondition(conditions, kind)
		set(conditions, is, metav1.ConditionTrue, generation, o)
		return
	}
}

// Current returns the current reason and message of condition Ready. The printer column Phase shows
// the reason.
func Current(conditions []metav1.Condition) Outcome {
	if ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); ready != nil {
		return Outcome{Reason: ready.Reason, Message: ready.Message}
	}
	return Outcome{}
}

// EventType is a warning where someone has to do something.
func EventType(conditions []metav1.Condition) string {
	if meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionFailed) || meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionStalled) {
		return corev1.EventTypeWarning
	}
	return corev1.EventTypeNormal
}

// Patch writes the status of after where it differs from that of before, and reports whether
// it did. An object that is gone is not an error.
//
// The patch carries the resource version: a merge patch replaces the whole list
// of conditions, and so would undo what someone else wrote in the meantime.
func Patch(ctx context.Context, c client.StatusClient, before, after client.Object) (bool, error) {
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

func sameStatus(before, after client.Object) (bool, error) {
	was, err := statusOf(before)
	if err != nil {
		return false, err
	}
	is, err := statusOf(after)
	if err != nil {
		return false, err
	}
	return equality.Semantic.DeepEqual(was, is), nil
}

// statusOf is the status as it would be written, so that what JSON leaves out
// makes no difference.
func statusOf(object client.Object) (map[string]any, error) {
	written, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("convert status: %w", err)
	}
	status, _, err := unstructured.NestedMap(written, "status")
	return status, err
}
