package cephtuningsweep

import (
	"slices"
	"strconv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/placement"
	"github.com/cephtune/cephtune/internal/sweep"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// confines reports whether a sweep confines its scratch pools to some OSDs.
func confines(spec *sweepspec.Spec) bool {
	pool := spec.Template.Target.ScratchPool
	return pool != nil && (pool.OSDs != nil || sweepspec.VariesOSDCount(spec))
}

// placementProblems returns the reasons why copies of scratch pools cannot be kept apart, or
// why pools cannot be on as many OSDs as configurations request.
func (p *preflight) placementProblems(spec *sweepspec.Spec, configurations []sweep.Configuration) []string {
	if spec.Template.Target.ScratchPool == nil {
		return nil
	}
	var problems []string
	add := func(err error) {
		if err != nil && !slices.Contains(problems, err.Error()) {
			problems = append(problems, err.Error())
		}
	}
	if confines(spec) {
		add(placement.SupportsUpmap(p.cluster.OSDMap))
	}
	for _, c := range configurations {
		template, err := sweepspec.Template(spec, c.Values, 1)
		if err != nil {
			add(err)
			continue
		}
		add(p.placeable(*template.Target.ScratchPool))
	}
	return problems
}

// placeable returns an error if a pool cannot be placed as requested.
func (p *preflight) placeable(pool v1alpha1.ScratchPool) error {
	wish := placement.RequestOf(placement.Sized(pool, p.known.OSDs))
	if pool.OSDs == nil {
		return placement.Apart(p.tree, wish)
	}
	_, err := placement.Choose(p.tree, wish)
	return err
}

// fewestOSDs returns the smallest number of OSDs of any configuration's scratch pool; 0 for
// all OSDs.
func fewestOSDs(spec *sweepspec.Spec) int {
	fewest := 0
	least := func(count int) {
		if count > 0 && (fewest == 0 || count < fewest) {
			fewest = count
		}
	}
	if pool := spec.Template.Target.ScratchPool; pool != nil && pool.OSDs != nil {
		least(int(pool.OSDs.Count))
	}
	for _, p := range spec.Parameters {
		if p.OSDCount == nil {
			continue
		}
		values := slices.Clone(p.Values)
		if spec.Baseline != nil {
			values = append(values, spec.Baseline.Values[string(p.Name)])
		}
		for _, c := range spec.Configurations {
			values = append(values, c.Values[string(p.Name)])
		}
		for _, value := range values {
			count, _ := strconv.Atoi(string(value)) // Admission has refused values that are not numbers.
			least(count)
		}
	}
	return fewest
}

// share returns the smallest share of all OSDs that stores the data of a run.
func (p *preflight) share(spec *sweepspec.Spec) float64 {
	fewest := fewestOSDs(spec)
	if fewest == 0 || len(p.known.OSDs) == 0 {
		return 1
	}
	return min(1, float64(fewest)/float64(len(p.known.OSDs)))
}
