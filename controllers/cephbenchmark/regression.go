package cephbenchmark

import (
	"fmt"

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

// historyEvents returns the events about the history after an execution. A refusal has one event.
func (p pass) historyEvents() []reconcile.Event {
	events := p.regressionEvents(p.memory.regressed)
	if refused := p.memory.refused; refused != nil {
		p.memory.refused = nil
		events = append(events, reconcile.Warning("HistoryNotKept", fmt.Sprintf(
			"Kubernetes refused to %v. Nothing is lost: the results have the nights, and the next run tries again. If a quota refused it, raise that before then.", refused)))
	}
	return events
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
