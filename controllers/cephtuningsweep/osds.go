package cephtuningsweep

import (
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/scratchpool/placement"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// placementProblems returns why Ceph cannot place scratch pools as the configurations request. For example,
// the cluster may not allow upmap, which confines pools to some OSDs. Or it cannot keep copies apart, or has too
// few OSDs.
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
	if sweepspec.ConfinesOSDs(spec) {
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
	wish := placement.RequestOf(placement.Sized(pool, p.storing(pool)))
	if pool.OSDSelection == nil {
		return placement.Apart(p.tree, wish)
	}
	_, err := placement.Choose(p.tree, wish)
	return err
}

// storing returns the OSDs of the CRUSH root that a pool names, or all.
func (p *preflight) storing(pool v1alpha1.ScratchPool) []ceph.OSD {
	if pool.CrushRoot == "" {
		return p.known.OSDs
	}
	return placement.UsableOSDs(p.known.OSDs, p.tree, pool)
}

// share returns the smallest fraction of all OSDs to which the template or a configuration confines the scratch
// pool; 1 if neither confines it.
func (p *preflight) share(spec *sweepspec.Spec) float64 {
	fewest := sweepspec.FewestOSDs(spec)
	if fewest == 0 || len(p.known.OSDs) == 0 {
		return 1
	}
	return min(1, float64(fewest)/float64(len(p.known.OSDs)))
}
