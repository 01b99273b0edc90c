package conclusion

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// maxStatusBytes is the size of the largest status that the API promises.
const maxStatusBytes = 64 << 10

// This status has the maximum of everything, as the operator writes it.
func TestTheLargestStatusFits(t *testing.T) {
	long := strings.Repeat("x", 2000)
	figures := []v1alpha1.Metric{
		"Bandwidth", "IOPS", "LatencyMean", "LatencyStdDev", "LatencyMax", "LatencyP50", "LatencyP99", "LatencyP999",
	}
	moment := metav1.Now()
	s := v1alpha1.CephBenchmarkStatus{
		ObservedRunID: v1alpha1.RunID(long[:63]), Headline: long[:96], Summary: long[:512], StartTime: &moment, CompletionTime: &moment,
		Progress:    &v1alpha1.Progress{Summary: long[:32], Step: long[:128]},
		Environment: &v1alpha1.Environment{Digest: long[:71]},
	}
	for _, kind := range []string{"Ready", "Reconciling", "Stalled", "Complete", "Failed"} {
		s.Conditions = append(s.Conditions, metav1.Condition{Type: kind, Reason: long[:24], Message: long[:1024], LastTransitionTime: moment})
	}
	for n := range int32(20) {
		SetRun(&s, v1alpha1.BenchmarkRun{
			Number: n + 1, State: v1alpha1.RunInvalid, Reason: long[:128], StartTime: &moment, StartSpread: "0.123456", InitialState: v1alpha1.DataRolledBack, Results: long[:63],
		})
	}
	for n := range 16 {
		p := v1alpha1.PhaseResult{
			Name: v1alpha1.PhaseName(fmt.Sprintf("%s%02d", long[:18], n)), ValidRuns: 20,
			BackgroundIOPS: "0.0123456",
			Marks:          []v1alpha1.ResultMark{"Cached", "Warmed", "ClosedLoop", "SharedImage", "Throttled", "NotSteady", "Disturbed"},
		}
		for _, metric := range figures {
			for _, direction := range []v1alpha1.Direction{"Total", "Read", "Write"} {
				m := v1alpha1.MetricResult{Metric: metric, Direction: direction, Value: "0.0123456", Low: "0.0123456", High: "0.0123456"}
				if direction == v1alpha1.DirectionTotal {
					m.Text = "1.23 MiB/s (1.23 MiB/s to 1.23 MiB/s)"
				}
				p.Metrics = append(p.Metrics, m)
			}
		}
		if n == 0 { // One phase may have an outage.
			for _, metric := range []v1alpha1.Metric{
				"TimeToClean", "P50Before", "P99Before", "P50Outage", "P99Outage", "P50Recovery", "P99Recovery", "P50After", "P99After",
			} {
				p.Metrics = append(p.Metrics, v1alpha1.MetricResult{Metric: metric, Direction: "Total", Value: "0.0123456", Low: "0.0123456", High: "0.0123456"})
			}
		}
		s.Phases = append(s.Phases, p)
		s.Expectations = append(s.Expectations, v1alpha1.ExpectationResult{
			MetricReference: v1alpha1.MetricReference{Phase: p.Name, Metric: "LatencyP999", Direction: "Total"},
			Outcome:         v1alpha1.ExpectationUnknown, Value: "0.0123456", Mark: v1alpha1.MarkClosedLoop,
		})
	}
	text, err := json.Marshal(s)
	if t.Logf("%d bytes", len(text)); err != nil || len(text) > maxStatusBytes {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}
