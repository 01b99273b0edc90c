package cephbenchmark

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/history"
	"github.com/cephtune/cephtune/internal/reconcile"
)

// nightsUntil returns nights of the phase write, of which the last began at a time. The last six are slower by a factor.
func nightsUntil(last time.Time, nights int, factor float64) []history.Night {
	var all []history.Night
	for i := range nights {
		value := 1000 + 10*float64(i%3)
		if i >= nights-6 {
			value *= factor
		}
		all = append(all, history.Night{SchemaVersion: 1, Time: last.AddDate(0, 0, i+1-nights), Figures: []history.Figure{{
			Phase: "write", SpecDigest: "d", Metric: v1alpha1.MetricIOPS, Value: value, Runs: 1,
		}}})
	}
	return all
}

func TestRegression(t *testing.T) {
	start := metav1.NewTime(time.Unix(1e9, 0))
	started := func(f *facts) {
		f.benchmark.Status.StartTime, f.benchmark.Generation, f.now = &start, 7, start.AddDate(0, 0, 1)
		f.spec.Template.Phases = []v1alpha1.Phase{{Name: "write"}}
	}
	ended := func(f *facts) { f.benchmark.Status.Conditions = nil }
	acknowledged := func(f *facts) { f.benchmark.Spec.AcknowledgedUntil = start.Format(time.DateOnly) }
	for name, c := range map[string]struct {
		seen   facts
		nights []history.Night
		want   metav1.ConditionStatus // "" if the condition stays as it is
	}{
		"slower":                       {atWork(started), nightsUntil(start.Time, 20, 0.8), metav1.ConditionTrue},
		"as before":                    {atWork(started), nightsUntil(start.Time, 20, 1), metav1.ConditionFalse},
		"too few":                      {atWork(started), nightsUntil(start.Time, 7, 0.8), metav1.ConditionUnknown},
		"no night":                     {atWork(started), nil, ""},
		"the execution is no night":    {atWork(started), nightsUntil(start.AddDate(0, 0, -1), 20, 0.8), metav1.ConditionTrue},
		"the next run ID waits":        {atWork(started, func(f *facts) { f.benchmark.Spec.RunID = "next" }), nightsUntil(start.Time, 20, 0.8), ""},
		"slower, as somebody knows":    {atWork(started, acknowledged), nightsUntil(start.Time, 20, 0.8), metav1.ConditionFalse},
		"acknowledged after the end":   {atWork(started, ended, acknowledged), nightsUntil(start.Time, 20, 0.8), metav1.ConditionFalse},
		"another edit after the end":   {atWork(started, ended), nightsUntil(start.Time, 20, 0.8), metav1.ConditionTrue},
		"acknowledged after a failure": {atWork(started, ended, acknowledged), nightsUntil(start.AddDate(0, 0, -1), 20, 0.8), metav1.ConditionFalse},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.seen.regression(c.nights)
			if (got == nil) != (c.want == "") || got != nil && (got.Status != c.want || got.ObservedGeneration != 7) {
				t.Errorf("got %+v, want %s", got, c.want)
			}
		})
	}
}

func TestRegressionEvents(t *testing.T) {
	condition := func(status metav1.ConditionStatus) *metav1.Condition {
		return &metav1.Condition{Type: v1alpha1.ConditionRegressed, Status: status, Message: string(status)}
	}
	slower, over := reconcile.Warning("Regressed", "True"), "NoLongerRegressed"
	for name, c := range map[string]struct {
		before, after metav1.ConditionStatus
		want          []reconcile.Event
	}{
		"the first night":   {"", metav1.ConditionUnknown, nil},
		"not slower":        {metav1.ConditionUnknown, metav1.ConditionFalse, nil},
		"slower":            {metav1.ConditionFalse, metav1.ConditionTrue, []reconcile.Event{slower}},
		"still slower":      {metav1.ConditionTrue, metav1.ConditionTrue, nil},
		"repaired":          {metav1.ConditionTrue, metav1.ConditionFalse, []reconcile.Event{reconcile.Normal(over, "False")}},
		"another workload":  {metav1.ConditionTrue, metav1.ConditionUnknown, []reconcile.Event{reconcile.Normal(over, "Unknown")}},
		"it was not judged": {metav1.ConditionTrue, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			seen, after := atWork(), (*metav1.Condition)(nil)
			if c.before != "" {
				seen.benchmark.Status.Conditions = append(seen.benchmark.Status.Conditions, *condition(c.before))
			}
			if c.after != "" {
				after = condition(c.after)
			}
			if got := seen.regressionEvents(after); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}
