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
	// EnsureScratchPool creates the scratch pool if it does not exist, and reports whether Rook calls the
	// pool ready. If Rook does not, it also returns the reason. The OSD map must be current.
	EnsureScratchPool(ctx context.Context, cluster settings.Cluster, spec v1alpha1.ScratchPool, use rook.ScratchUse, osdMap *ceph.OSDMap) (ready bool, reason string, err error)
	// OwnsScratchPool reports whether the pool exists and belongs to owner.
	OwnsScratchPool(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (bool, error)
	// DeleteScratchPool removes the pool if it belongs to owner. It reports whether the pool is gone or
	// belongs to another owner. If the owner still has the pool, it also returns the reason.
	DeleteScratchPool(ctx context.Context, cluster settings.Cluster, owner objectref.Ref, osdMap *ceph.OSDMap) (gone bool, reason string, err error)
}

// Namespaces says where benchmarks may run.
type Namespaces interface {
	// Refusal returns why benchmarks may not run in a namespace; "" if they may.
	Refusal(ctx context.Context, namespace string) (string, error)
}
