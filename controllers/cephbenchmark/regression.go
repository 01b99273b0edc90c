package cephbenchmark

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/history"
	"github.com/cephtune/cephtune/internal/reconcile"
)

// regression returns the condition Regressed; nil if the present one stays. The spec has to be that of the execution in status,
// or a later one without an execution: its phases say which figures count.
func (f facts) regression(nights []history.Night) *metav1.Condition {
	b := f.benchmark
	if len(nights) == 0 || b.Status.ObservedRunID != b.Spec.RunID {
		return nil
	}
	c := history.Regressed(history.Judge(f.spec.Template.Phases, nights, "", history.AcknowledgedBefore(b.Spec, f.now)))
	c.ObservedGeneration = b.Generation
	return &c
}

// regressionEvents returns the event about a benchmark that has regressed, or no longer has.
func (f facts) regressionEvents(after *metav1.Condition) []reconcile.Event {
	before := meta.IsStatusConditionTrue(f.benchmark.Status.Conditions, v1alpha1.ConditionRegressed)
	switch {
	case after == nil || before == (after.Status == metav1.ConditionTrue):
		return nil
	case before:
		return []reconcile.Event{reconcile.Normal("NoLongerRegressed", after.Message)}
	}
	return []reconcile.Event{reconcile.Warning("Regressed", after.Message)}
}
