package start

import (
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
)

// A verdict about switched windows passes --expect only with --scope Windows.
func TestExpectNeedsItsScope(t *testing.T) {
	for name, c := range map[string]struct {
		verdict v1alpha1.SweepVerdict
		scope   v1alpha1.SweepScope
		least   string
		want    int
	}{
		"windows":               {v1alpha1.VerdictSuperior, v1alpha1.ScopeWindows, "Pool", exit.Unexpected},
		"windows, by name":      {v1alpha1.VerdictSuperior, v1alpha1.ScopeWindows, "Windows", exit.OK},
		"pools":                 {v1alpha1.VerdictSuperior, v1alpha1.ScopePools, "Pool", exit.OK},
		"pools for a cluster":   {v1alpha1.VerdictSuperior, v1alpha1.ScopePools, "Cluster", exit.Unexpected},
		"nothing said":          {v1alpha1.VerdictInconclusive, v1alpha1.ScopeWindows, "Pool", exit.OK},
		"another than expected": {v1alpha1.VerdictInferior, v1alpha1.ScopePools, "Pool", exit.Unexpected},
	} {
		o := starter{expect: []string{"Superior", "Inconclusive"}, scope: c.least}
		s := &v1alpha1.CephTuningSweep{Status: v1alpha1.CephTuningSweepStatus{Verdict: c.verdict, Scope: c.scope}}
		if err := o.judge(s); exit.Code(err) != c.want {
			t.Errorf("%s: %v, want exit code %d", name, err, c.want)
		}
	}
}

func TestInconclusiveGateHasItsExitCode(t *testing.T) {
	b := &v1alpha1.CephBenchmark{
		Spec:   v1alpha1.CephBenchmarkSpec{Expectations: []v1alpha1.Expectation{{}}},
		Status: v1alpha1.CephBenchmarkStatus{Verdict: v1alpha1.BenchmarkInconclusive},
	}
	if err := (&starter{}).judge(b); exit.Code(err) != exit.Undecided {
		t.Errorf("%v, want exit code %d", err, exit.Undecided)
	}
}
