package settings

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Refusal says why a template is not allowed in a CephCluster, and what to do; "" if it is allowed. It names
// only the first reason: either the operator config forbids a part of the template or does not list the
// CephCluster, or the template has a parameter that guardOf forbids.
func (s *Settings) Refusal(ref v1alpha1.ClusterReference, template v1alpha1.BenchmarkTemplate) string {
	cluster, ok := s.Cluster(ref)
	if !ok {
		return fmt.Sprintf("The operator config does not list CephCluster %s in namespace %s. "+
			"Ask the administrator to add it to clusters, or name another in spec.clusterRef.", ref.Name, ref.Namespace)
	}
	if name := cluster.forbiddenPool(template.Target.ExistingPool); name != "" {
		return fmt.Sprintf("The operator config does not allow benchmarks on pool %s. "+
			"Ask the administrator to add it to existingPools of the cluster, or use target.scratchPool.", name)
	}
	if name := guardOf(template.Target.ScratchPool); name != "" {
		return fmt.Sprintf("Parameter %s of target.scratchPool is not allowed: it would affect more than the pool, or keep the operator from using or removing it. Remove the parameter.", name)
	}
	if template.OSDCaches == v1alpha1.OSDCachesDropBeforePhase && cluster.Identities.CacheDropper == "" {
		return "The operator has no identity that may drop the caches of OSDs. " +
			"Ask the administrator for one (with Helm powers.dropCaches, otherwise identities.cacheDropper of the cluster), or set template.osdCaches to Keep."
	}
	if pool := template.Target.ScratchPool; pool != nil && pool.OSDSelection != nil && !cluster.MayPlacePGs() {
		return NoPlacer
	}
	if template.Outage != nil && !cluster.StopOSDs {
		return "The operator config does not allow stopping OSDs of this cluster. " +
			"Ask the administrator to allow it (with Helm powers.stopOSDs, otherwise stopOSDs and identities.osdStopper of the cluster), or remove template.outage."
	}
	if saturatesExisting(template) && !cluster.SaturateExisting {
		return "A curve loads its target beyond what it can take, and the operator config does not allow that on existing pools and claims. " +
			"Use a scratch pool or persistentVolumeClaim.template, or ask the administrator to allow it (with Helm powers.saturateExisting, otherwise saturateExisting of the cluster)."
	}
	return ""
}

// forbiddenPool returns the first pool of a target that the operator config does not list; "" if it lists all.
func (c Cluster) forbiddenPool(pool *v1alpha1.ExistingPool) v1alpha1.PoolName {
	if pool != nil {
		for _, name := range []v1alpha1.PoolName{pool.Name, pool.DataPool} {
			if name != "" && !c.AllowsPool(string(name)) {
				return name
			}
		}
	}
	return ""
}

// saturatesExisting reports whether a template has a curve of a pool or a claim that is not its own.
func saturatesExisting(template v1alpha1.BenchmarkTemplate) bool {
	pool, claim := template.Target.ExistingPool, template.Target.PersistentVolumeClaim
	return (pool != nil || claim != nil && claim.ClaimName != "") && slices.ContainsFunc(template.Phases, func(p v1alpha1.Phase) bool { return p.Fio != nil && p.Fio.Curve != nil })
}

// guardOf returns the alphabetically first forbidden parameter of a scratch pool; "" if all parameters are
// allowed. Some of the forbidden parameters make the pool unusable or keep it from being removed. The
// autoscaler's parameters can take PGs from other pools, even while the autoscaler is off for the scratch
// pool.
func guardOf(pool *v1alpha1.ScratchPool) string {
	if pool == nil {
		return ""
	}
	var names []string
	for _, p := range CephPools(0, *pool) {
		names = slices.AppendSeq(names, maps.Keys(p.Parameters))
	}
	slices.Sort(names)
	index := slices.IndexFunc(names, func(name string) bool {
		return slices.Contains([]string{
			"eio", "nodelete", "nopgchange", "nosizechange", "crush_rule",
			"bulk", "pg_autoscale_bias", "pg_num_max", "pg_num_min", "target_size_bytes", "target_size_ratio",
		}, name)
	})
	if index < 0 {
		return ""
	}
	return names[index]
}

// MayPlacePGs reports whether scratch pools may be confined to some OSDs.
func (c Cluster) MayPlacePGs() bool { return c.PlacePGs && c.Identities.Tuner != "" }

// NoPlacer is the refusal of a scratch pool on chosen OSDs if MayPlacePGs is false.
const NoPlacer = "The operator config does not allow moving placement groups to chosen OSDs. " +
	"Ask the administrator to allow it (with Helm powers.placePGs, otherwise placePGs of the cluster and `osd pg-upmap` among the caps of identities.tuner), " +
	"or remove scratchPool.osdSelection and osdCount."
