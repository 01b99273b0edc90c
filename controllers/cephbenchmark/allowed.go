package cephbenchmark

import (
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/settings"
)

// notAllowed says what of a spec the administrator does not allow, and how to ask
// for it; "" if everything is.
func notAllowed(spec v1alpha1.CephBenchmarkSpec, allowed *settings.Settings) string {
	cluster, ok := allowed.Cluster(spec.ClusterRef)
	if !ok {
		return fmt.Sprintf("The operator's settings do not list CephCluster %s in namespace %s. "+
			"Ask the administrator to add it to clusters, or name another in spec.clusterRef.", spec.ClusterRef.Name, spec.ClusterRef.Namespace)
	}
	if pool := spec.Template.Target.ExistingPool; pool != nil {
		for _, name := range []v1alpha1.PoolName{pool.Name, pool.DataPool} {
			if name != "" && !cluster.AllowsPool(string(name)) {
				return fmt.Sprintf("The operator's settings do not open pool %s to benchmarks. "+
					"Ask the administrator to add it to existingPools of the cluster, or use target.scratchPool.", name)
			}
		}
	}
	if spec.Template.OSDCaches == v1alpha1.OSDCachesDropBeforePhase && cluster.Identities.CacheDropper == "" {
		return "The operator has no identity that may drop the caches of OSDs. " +
			"Ask the administrator to grant that power, or set template.osdCaches to Keep."
	}
	return ""
}
