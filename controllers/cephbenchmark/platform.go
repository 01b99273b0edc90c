package cephbenchmark

import (
	"context"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
)

// Rook has the methods of rook.Access that the controller needs.
type Rook interface {
	// Cluster returns the facts about a CephCluster.
	Cluster(ctx context.Context, ref v1alpha1.ClusterReference) (rook.ClusterInfo, error)
	// Connection returns the connection to the cluster as one of its CephClients.
	Connection(ctx context.Context, cluster settings.Cluster, clientName string) (ceph.Connection, error)
	// EnsureScratchPools creates the scratch pools of all targets if they do not exist, and reports whether Rook calls
	// them ready. If Rook does not, it also returns the reason. The OSD map must be current.
	EnsureScratchPools(ctx context.Context, cluster settings.Cluster, specs []v1alpha1.ScratchPool, use rook.ScratchUse, osdMap *ceph.OSDMap) (ready bool, reason string, err error)
	// ScratchPoolsOf returns the names of the scratch pools that belong to owner.
	ScratchPoolsOf(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) ([]string, error)
	// DeleteScratchPools removes the pools that belong to owner. It reports whether owner has none. If the owner still
	// has a pool, it also returns the reason.
	DeleteScratchPools(ctx context.Context, cluster settings.Cluster, owner objectref.Ref, osdMap *ceph.OSDMap) (gone bool, reason string, err error)
}

// Namespaces says where benchmarks may run.
type Namespaces interface {
	// Refusal returns why benchmarks may not run in a namespace; "" if they may.
	Refusal(ctx context.Context, namespace string) (string, error)
}
