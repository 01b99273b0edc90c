package cephbenchmark

import (
	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/settings"
)

// notAllowed says what of a spec the administrator does not allow, and how to ask
// for it; "" if everything is.
func notAllowed(spec v1alpha1.CephBenchmarkSpec, allowed *settings.Settings) string {
	return allowed.Refusal(spec.ClusterRef, spec.Template)
}
