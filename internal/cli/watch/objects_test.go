package watch

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
)

// sample returns a sweep of config/samples that the operator has not seen yet.
func sample(t testing.TB, name string) *v1alpha1.CephTuningSweep {
	s := clitest.Sweep(t, name)
	s.Spec.HistoryLimit, s.CreationTimestamp, s.Status = 50, metav1.Time{}, v1alpha1.CephTuningSweepStatus{}
	return s
}

// recorded returns an ended sweep with the runs of a transcript of the planner.
func recorded(t testing.TB, sampleName, transcript string) *v1alpha1.CephTuningSweep {
	s := clitest.Recorded(t, sampleName, transcript)
	s.Spec.HistoryLimit, s.CreationTimestamp, s.Status.Conditions = 50, metav1.Time{}, nil
	conclude(s, v1alpha1.ConditionComplete, v1alpha1.ReasonComplete, s.Status.Summary)
	return s
}

// conclude sets the conditions of an ended sweep.
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

// goOn sets the conditions of a running sweep.
func goOn(s *v1alpha1.CephTuningSweep, reason, message string) {
	s.Status.ObservedGeneration, s.Status.ObservedRunID = s.Generation, s.Spec.RunID
	setCondition(s, v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	setCondition(s, v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
}

func setCondition(s *v1alpha1.CephTuningSweep, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(clitest.Morning(78)),
	})
}
