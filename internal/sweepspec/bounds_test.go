package sweepspec

import (
	"fmt"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/testing/crd"
)

// Markers of the API cannot use constants, so each such bound is in the code a second time.
func TestBoundsAreThoseOfTheSchema(t *testing.T) {
	schema := crd.Schema(t, root, "cephtuningsweeps")
	for path, want := range map[string]int64{
		"status.trials":                   sweep.MaxLedger,
		"status.trials[].comparisons":     maxSwitched,
		"status.trials[].constraints":     sweep.MaxConstraints,
		"status.configurations":           sweep.MaxCandidates + 1, // with the baseline
		"status.configurations[].name":    maxName,
		"status.configurations[].reason":  maxReason,
		"status.configurations[].figure":  maxFigure,
		"status.summary":                  maxSummary,
		"status.patches":                  maxPatches,
		"status.patches[].merge":          maxPatch,
		"status.plan.refusals":            maxRefusals,
		"status.plan.refusals[]":          maxRefusal,
		"status.plan.designReason":        maxPlanReason,
		"status.plan.datasetReason":       maxPlanReason,
		"spec.configurations":             sweep.MaxCandidates,
		"spec.constraints":                sweep.MaxConstraints,
		"spec.quiescence.allowedWarnings": maxAllowedWarnings,
		"spec.strategy.seed":              maxSeed,
	} {
		field := crd.Field(t, schema, path)
		var got int64
		switch {
		case field.MaxItems != nil:
			got = *field.MaxItems
		case field.MaxLength != nil:
			got = *field.MaxLength
		case field.Maximum != nil:
			got = int64(*field.Maximum)
		}
		if got != want {
			t.Errorf("%s: the schema's maximum is %d, that of the code is %d", path, got, want)
		}
	}
}

// A sweep checks the values of the load before it creates a benchmark, which the API server would
// refuse otherwise.
func TestRangesOfTheLoadAreThoseOfTheSchema(t *testing.T) {
	schema := crd.Schema(t, root, "cephtuningsweeps")
	for path, field := range map[string]v1alpha1.WorkloadField{
		"clients.count":                   v1alpha1.WorkloadClients,
		"phases[].fio.numJobs":            v1alpha1.WorkloadNumJobs,
		"phases[].fio.ioDepth":            v1alpha1.WorkloadIODepth,
		"phases[].fio.rateIOPS":           v1alpha1.WorkloadRateIOPS,
		"phases[].radosBench.concurrency": v1alpha1.WorkloadConcurrency,
		"phases[].rbdBench.ioThreads":     v1alpha1.WorkloadIOThreads,
	} {
		property, limits := crd.Field(t, schema, "spec.template."+path), boundOf(field)
		if property.Minimum == nil || property.Maximum == nil || int64(*property.Minimum) != limits.low || int64(*property.Maximum) != limits.high {
			t.Errorf("%s: the schema's range differs from %d to %d", path, limits.low, limits.high)
		}
		if want := fmt.Sprintf("a whole number between %d and %d", limits.low, limits.high); limits.text != want {
			t.Errorf("%s: its text is %q, want %q", path, limits.text, want)
		}
	}
}
