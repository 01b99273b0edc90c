package cephbenchmark

import (
	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/settings"
)

// notAllowed names the parts of a spec that the administrator does not allow, and how to request
// them; "" if all are allowed.
func notAllowed(spec v1alpha1.CephBenchmarkSpec, allowed *settings.Settings) string {
	return allowed.Refusal(spec.ClusterRef, spec.Template)
}
