package watch

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

const namespace = "cephtune-bench"

func morning(minutes int) time.Time {
	return time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

// sample is a sweep as config/samples has it, with the defaults that matter here.
func sample(t testing.TB, name string) *v1alpha1.CephTuningSweep {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../config/samples", "cephtuningsweep_"+name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	s := &v1alpha1.CephTuningSweep{}
	if err := yaml.UnmarshalStrict(text, s); err != nil {
		t.Fatal(err)
	}
	s.UID, s.Generation, s.Spec.RunID, s.Spec.HistoryLimit = "4f6b2e0c-0000-4000-8000-000000000001", 1, "1", 50
	return s
}

// recorded is a sweep that has ended, with the plan, the runs and the status of the
// planner's own transcript.
func recorded(t testing.TB, sampleName, transcript string) *v1alpha1.CephTuningSweep {
	t.Helper()
	s := sample(t, sampleName)
	s.Spec.Mode = v1alpha1.SweepModeRun
	text, err := os.ReadFile(filepath.Join("../../sweepspec/testdata", transcript+".golden"))
	if err != nil {
		t.Fatal(err)
	}
	run := regexp.MustCompile(`: (\d+ \d+\.\d+\.\d+ \d+ \S+ \d+s \d+Mi \w+)$`)
	var plan, status []string
	into := &plan
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if match := run.FindStringSubmatch(line); match != nil {
			s.Status.Runs = append(s.Status.Runs, v1alpha1.SweepRun(match[1]))
			into = nil
		}
		if line == "status:" {
			into = &status
		}
		if into != nil {
			*into = append(*into, line)
		}
	}
	unmarshal(t, plan, &s.Status)
	unmarshal(t, status, &struct {
		Status *v1alpha1.CephTuningSweepStatus `json:"status"`
	}{&s.Status})
	s.Status.StartTime, s.Status.CompletionTime = new(metav1.NewTime(morning(0))), new(metav1.NewTime(morning(78)))
	conclude(s, v1alpha1.ConditionComplete, v1alpha1.ReasonComplete, s.Status.Summary)
	return s
}

func unmarshal(t testing.TB, lines []string, into any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(strings.Join(lines, "\n")), into); err != nil {
		t.Fatal(err)
	}
}

// conclude gives a sweep the conditions of one that has ended.
func conclude(s *v1alpha1.CephTuningSweep, end, reason, message string) {
	s.Status.ObservedGeneration, s.Status.ObservedRunID = s.Generation, s.Spec.RunID
	meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionReconciling)
	setCondition(s, end, metav1.ConditionTrue, reason, message)
	if end == v1alpha1.ConditionComplete {
		setCondition(s, v1alpha1.ConditionReady, metav1.ConditionTrue, reason, message)
		return
	}
	setCondition(s, v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	setCondition(s, v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, message)
}

// goOn gives a sweep the conditions of one at work.
func goOn(s *v1alpha1.CephTuningSweep, reason, message string) {
	s.Status.ObservedGeneration, s.Status.ObservedRunID = s.Generation, s.Spec.RunID
	setCondition(s, v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	setCondition(s, v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
}

func setCondition(s *v1alpha1.CephTuningSweep, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(morning(78)),
	})
}
