package cephtuningsweep

import (
	"context"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
)

// Rook is the part of Rook's interface that the controller needs.
type Rook interface {
	// Cluster returns the facts about a CephCluster.
	Cluster(ctx context.Context, ref v1alpha1.ClusterReference) (rook.ClusterInfo, error)
	// Connection returns the connection to the Ceph cluster with the identity of a CephClient.
	Connection(ctx context.Context, cluster settings.Cluster, clientName string) (ceph.Connection, error)
	// Caps returns the caps in the spec of a CephClient.
	Caps(ctx context.Context, cluster settings.Cluster, clientName string) (rook.Caps, error)
	// Owned returns the settings that Rook takes from its custom resources, and sets again at each reconcile. It
	// also returns the names of the CephBlockPools.
	Owned(ctx context.Context, ref v1alpha1.ClusterReference) (rook.Owned, error)
	// HasScratchPool reports whether the owner's scratch pool exists and is not being removed. For an
	// erasure-coded pool, it reads only the metadata pool.
	HasScratchPool(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (bool, error)
	// ScratchPoolsOf returns the names of the owner's scratch pools, even of those that are being removed.
	ScratchPoolsOf(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) ([]string, error)
	// DeleteScratchPools removes the owner's scratch pools. It reports whether they are gone, and if not,
	// why.
	DeleteScratchPools(ctx context.Context, cluster settings.Cluster, owner objectref.Ref, osdMap *ceph.OSDMap) (gone bool, reason string, err error)
	// RestartOSD deletes the pod of an OSD, so that Kubernetes starts another pod.
	RestartOSD(ctx context.Context, ref v1alpha1.ClusterReference, id int) error
}

// Namespaces says where benchmarks may run, and which namespaces this manager handles.
type Namespaces interface {
	// Refusal says why benchmarks may not run in a namespace; "" if they may.
	Refusal(ctx context.Context, namespace string) (string, error)
	// Handles reports whether this manager reconciles the sweeps in a namespace.
	Handles(namespace string) bool
}
