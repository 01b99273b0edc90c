package watch

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
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

// recorded is a sweep that has ended, with the runs of the planner's own transcript.
func recorded(t testing.TB, sampleName, transcript string) *v1alpha1.CephTuningSweep {
	s := clitest.Recorded(t, sampleName, transcript)
	s.Spec.HistoryLimit, s.CreationTimestamp, s.Status.Conditions = 50, metav1.Time{}, nil
	conclude(s, v1alpha1.ConditionComplete, v1alpha1.ReasonComplete, s.Status.Summary)
	return s
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
