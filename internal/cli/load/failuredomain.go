package load

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// These labels are Rook's: all Deployments of OSDs have them.
const (
	labelApp  = "app"
	appOSD    = "rook-ceph-osd"
	labelHost = "topology-location-host"
)

// FitFailureDomain sets the failure domain of a scratch pool to osd if fewer hosts have OSDs than the pool has copies,
// and returns a sentence for the user. It does nothing if a flag names the failure domain, or if the user may not read
// the Deployments of OSDs.
func (l *Flags) FitFailureDomain(ctx context.Context, c client.Reader, cluster v1alpha1.ClusterReference) string {
	if !l.Scratch() || l.domain != "" {
		return ""
	}
	hosts, osds, known := hostsOf(ctx, c, cluster)
	if !known || hosts >= int(l.replicas) || osds < int(l.replicas) {
		return ""
	}
	l.domain = domainOSD
	return fmt.Sprintf("%d copies need as many hosts with OSDs, and there are %d: copies are separated by OSD, as with --failure-domain osd.\n", l.replicas, hosts)
}

// Failure domains that the Deployments of OSDs show.
const (
	domainHost = "host"
	domainOSD  = "osd"
)

// RefusedDomains says why a scratch pool cannot be made: the cluster has fewer hosts, or OSDs, than the pool has copies or
// chunks. It returns "" if the pool can be made, and if the user may not read the Deployments of OSDs. The parameter pool
// has the defaults of the API server, and may be nil.
func RefusedDomains(ctx context.Context, c client.Reader, cluster v1alpha1.ClusterReference, pool *v1alpha1.ScratchPool) string {
	if pool == nil || pool.FailureDomain != domainHost && pool.FailureDomain != domainOSD {
		return ""
	}
	hosts, osds, known := hostsOf(ctx, c, cluster)
	parts, names, have := partsOf(pool), "hosts", hosts
	if pool.FailureDomain == domainOSD {
		names, have = "OSDs", osds
	}
	if !known || have >= parts {
		return ""
	}
	text := fmt.Sprintf("The scratch pool keeps %d copies or chunks on different %s, and the cluster has %d %s with OSDs", parts, names, have, names)
	if pool.FailureDomain == domainOSD {
		text = fmt.Sprintf("The scratch pool keeps %d copies or chunks on different OSDs, and the cluster has %d", parts, have)
	}
	if pool.FailureDomain == domainHost && osds >= parts {
		return text + ": set target.scratchPool.failureDomain to osd."
	}
	return text + ": use fewer copies or chunks."
}

func partsOf(pool *v1alpha1.ScratchPool) int {
	switch {
	case pool.ErasureCoded != nil:
		return int(pool.ErasureCoded.DataChunks + pool.ErasureCoded.CodingChunks)
	case pool.Replicated != nil:
		return int(pool.Replicated.Size)
	}
	return 0
}

// hostsOf counts OSDs, and the hosts that have some. It returns false if the user may not read the Deployments of OSDs, if
// there are none, or if they do not name their hosts.
func hostsOf(ctx context.Context, c client.Reader, cluster v1alpha1.ClusterReference) (hosts, osds int, known bool) {
	found := &appsv1.DeploymentList{}
	if err := c.List(ctx, found, client.InNamespace(cluster.Namespace), client.MatchingLabels{labelApp: appOSD}); err != nil {
		return 0, 0, false
	}
	names := map[string]bool{}
	for _, d := range found.Items {
		host := d.Labels[labelHost]
		if host == "" {
			return 0, 0, false
		}
		names[host] = true
	}
	return len(names), len(found.Items), len(found.Items) > 0
}
