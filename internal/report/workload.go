package report

import (
	"fmt"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// Workload describes a template's load in words: each phase, the clients and the target.
func Workload(t v1alpha1.BenchmarkTemplate) string {
	measured := t.Measured()
	phases := make([]string, len(measured))
	for i, phase := range measured {
		phases[i] = phaseWords(phase)
	}
	clients := "1 client"
	if t.Clients.Count > 1 {
		clients = fmt.Sprintf("%d clients", t.Clients.Count)
	}
	return strings.Join(phases, "; ") + ", by " + clients + " on " + targetWords(t.Target)
}

func phaseWords(phase v1alpha1.Phase) string {
	var words []string
	if spec := engine.SpecOf(&phase); spec != nil {
		words = spec.Words()
	}
	if _, measured, err := sweepspec.PhaseTiming(phase); err == nil && measured > 0 {
		words = append(words, fmt.Sprintf("for %v", measured))
	}
	return fmt.Sprintf("%s: %s", phase.Name, strings.Join(words, " "))
}

func targetWords(target v1alpha1.Target) string {
	switch scratch, claim := target.ScratchPool, target.PersistentVolumeClaim; {
	case scratch != nil && scratch.ErasureCoded != nil:
		return fmt.Sprintf("scratch pools of %d+%d chunks", scratch.ErasureCoded.DataChunks, scratch.ErasureCoded.CodingChunks)
	case scratch != nil && scratch.Replicated != nil:
		return fmt.Sprintf("scratch pools of %d copies", scratch.Replicated.Size)
	case target.ExistingPool != nil:
		return "pool " + string(target.ExistingPool.Name)
	case claim != nil && claim.Template != nil:
		return "volumes of StorageClass " + claim.Template.StorageClassName
	case claim != nil:
		return "claim " + claim.ClaimName
	}
	return "its target"
}
