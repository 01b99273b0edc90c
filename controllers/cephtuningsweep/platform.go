package cephtuningsweep

import (
	"context"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
)

// Rook is what the controller needs of Rook.
type Rook interface {
	// Cluster returns the facts about a CephCluster.
	Cluster(ctx context.Context, ref v1alpha1.ClusterReference) (rook.ClusterInfo, error)
	// Connection is the way to its Ceph as one of its CephClients.
	Connection(ctx context.Context, cluster settings.Cluster, clientName string) (ceph.Connection, error)
	// MonCaps are the caps for mons that a CephClient asks Rook for.
	MonCaps(ctx context.Context, cluster settings.Cluster, clientName string) (string, error)
	// Owned is what Rook's custom resources set, and set again.
	Owned(ctx context.Context, ref v1alpha1.ClusterReference) (rook.Owned, error)
	// HasScratchPool reports whether the owner's scratch pool is there and is not being removed.
	HasScratchPool(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (bool, error)
	// OwnsScratchPool reports whether it is there at all.
	OwnsScratchPool(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (bool, error)
	// DeleteScratchPool removes it, and reports whether it is gone, or why it is not.
	DeleteScratchPool(ctx context.Context, cluster settings.Cluster, owner objectref.Ref, osdMap *ceph.OSDMap) (gone bool, why string, err error)
	// RestartOSD ends an OSD, in whose place Kubernetes starts another.
	RestartOSD(ctx context.Context, ref v1alpha1.ClusterReference, id int) error
}

// Namespaces says where benchmarks may run.
type Namespaces interface {
	// Refusal says why nothing runs in a namespace; "" if benchmarks may.
	Refusal(ctx context.Context, namespace string) (string, error)
	// Handles reports whether this manager looks after the sweeps in a namespace.
	Handles(namespace string) bool
}

// Lock lets one holder at a time have a Ceph cluster.
type Lock interface {
	// Peek returns the holder, and asks only Kubernetes.
	Peek(ctx context.Context, fsid string, holder objectref.Ref) (lock.Grant, error)
	Acquire(ctx context.Context, at ceph.Connection, fsid string, holder objectref.Ref, now time.Time) (lock.Grant, error)
	Release(ctx context.Context, at ceph.Connection, fsid string, holder objectref.Ref) error
}
