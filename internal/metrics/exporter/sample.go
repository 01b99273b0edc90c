// Package exporter provides the values of the metrics that package metrics names. It reads the status of CRs,
// locks and journals at each scrape, and counts events as they happen.
package exporter

import (
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// Sample is the value of one series. Labels are in the order of the metric's description.
type Sample struct {
	Name   string
	Labels []string
	Value  float64
}

// maxText is the maximum length of the value of [metrics.LabelSummary], in bytes.
const maxText = 512

func sample(name string, value float64, labels ...string) Sample {
	return Sample{Name: name, Labels: labels, Value: value}
}

// decimals adds a sample for a figure of a status, if the status has it.
func decimals(all []Sample, name string, value v1alpha1.Decimal, labels ...string) []Sample {
	number, err := strconv.ParseFloat(string(value), 64)
	if err != nil { // The value is missing, or another version wrote it.
		return all
	}
	return append(all, sample(name, number, labels...))
}

// percents adds a sample for a percentage in a status, if the status has it.
func percents(all []Sample, name string, value v1alpha1.Percent, labels ...string) []Sample {
	number, err := strconv.ParseFloat(strings.TrimSuffix(string(value), "%"), 64)
	if err != nil { // The value is missing, or another version wrote it.
		return all
	}
	return append(all, sample(name, number/100, labels...))
}

// truth adds a sample for a condition that is True (1) or False (0).
func truth(all []Sample, name string, c *metav1.Condition, labels ...string) []Sample {
	switch {
	case c == nil || c.Status == metav1.ConditionUnknown:
		return all
	case c.Status == metav1.ConditionTrue:
		return append(all, sample(name, 1, labels...))
	}
	return append(all, sample(name, 0, labels...))
}

// progress adds a sample for the progress of an object, if its total number of runs is known.
func progress(all []Sample, name string, p *v1alpha1.Progress, labels ...string) []Sample {
	if p == nil || p.TotalRuns == 0 {
		return all
	}
	return append(all, sample(name, float64(p.CompletedRuns)/float64(p.TotalRuns), labels...))
}

// seconds returns a time in the form of Prometheus: seconds since 1970.
func seconds(t metav1.Time) float64 { return float64(t.UnixMilli()) / 1000 }

func clusterName(ref v1alpha1.ClusterReference) string { return ref.Namespace + "/" + ref.Name }

// stateOf returns the kstatus condition that is true, or StateIdle.
func stateOf(conditions []metav1.Condition) string {
	switch {
	case meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReconciling):
		return metrics.StateReconciling
	case meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionStalled):
		return metrics.StateStalled
	case meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady):
		return metrics.StateReady
	}
	return metrics.StateIdle
}

// atWork reports whether an object is in progress.
func atWork(conditions []metav1.Condition) bool {
	return stateOf(conditions) == metrics.StateReconciling
}

func reasonOf(conditions []metav1.Condition) string { return kstatus.Current(conditions).Reason }

// summaryOf returns the outcome or, without an outcome, the message of the condition Stalled, which says what
// to do. It never returns progress, because each change of a label creates another series.
func summaryOf(summary string, conditions []metav1.Condition) string {
	if stalled := meta.FindStatusCondition(conditions, v1alpha1.ConditionStalled); summary == "" && stalled != nil {
		summary = stalled.Message
	}
	return ellipsis.Cut(summary, maxText)
}

func digestOf(e *v1alpha1.Environment) string {
	if e == nil {
		return ""
	}
	return e.Digest
}
