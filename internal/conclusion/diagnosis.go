package conclusion

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// Diagnosed puts the outcome of a diagnosis into status, and sets the condition Complete.
func Diagnosed(s *v1alpha1.CephBenchmarkStatus, now time.Time, found v1alpha1.DiagnosisResult, environment v1alpha1.Environment) {
	s.CompletionTime, s.Environment = new(metav1.NewTime(now)), &environment
	s.Diagnosis, s.Headline, s.Summary = &found, diagnosis.Headline(found), diagnosis.Summary(found)
	kind, o := kstatus.Judge[v1alpha1.BenchmarkVerdict]("", nil, s.Summary)
	setEnd(s, kind, o)
}
