package report

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// Workload describes a template's load in words: each phase, the clients and the target.
func Workload(t v1alpha1.BenchmarkTemplate) string {
	phases := make([]string, len(t.Phases))
	for i, phase := range t.Phases {
		phases[i] = phaseWords(phase)
	}
	clients := "1 client"
	if t.Clients.Count > 1 {
		clients = fmt.Sprintf("%d clients", t.Clients.Count)
	}
	return strings.Join(phases, "; ") + ", by " + clients + " on " + targetWords(t.Target)
}

func phaseWords(phase v1alpha1.Phase) string {
	var what []string
	add := func(format string, args ...any) { what = append(what, fmt.Sprintf(format, args...)) }
	switch b, r, f := phase.RadosBench, phase.RBDBench, phase.Fio; {
	case b != nil:
		add("rados bench %s", b.Mode)
		if b.Mode == v1alpha1.RadosBenchWrite {
			what = append(what, ofSize(b.BlockSize)...)
		}
		add("with %d in flight", b.Concurrency)
	case r != nil:
		add("rbd bench %s", r.IOType)
		what = append(what, ofSize(r.IOSize)...)
		add("with %d in flight", r.IOThreads)
	case f != nil && len(f.Jobs) > 0:
		add("fio with %d kinds of jobs", len(f.Jobs))
	case f != nil:
		add("fio %s", f.Pattern)
		what = append(what, ofSize(f.BlockSize)...)
		add("with %d in flight", f.IODepth)
		if f.NumJobs > 1 {
			add("in each of %d jobs", f.NumJobs)
		}
		if f.RateIOPS != nil {
			add("at %d IOPS offered by each job", *f.RateIOPS)
		}
	}
	if _, measured, err := sweepspec.PhaseTiming(phase); err == nil && measured > 0 {
		add("for %v", measured)
	}
	return fmt.Sprintf("%s: %s", phase.Name, strings.Join(what, " "))
}

// ofSize describes a size. It returns nothing for an unset size, as in a file without API
// server defaults.
func ofSize(size resource.Quantity) []string {
	if size.IsZero() {
		return nil
	}
	return []string{"of " + size.String()}
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
