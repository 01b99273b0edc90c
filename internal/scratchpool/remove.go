package scratchpool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/settings"
)

// ImagePrefix is the prefix of the names of all images that benchmarks create.
const ImagePrefix = "cephtune-"

// imagesWithin limits the duration of one call that removes an image.
const imagesWithin = 30 * time.Second

// Rook is the part of Rook's interface that a removal needs.
type Rook interface {
	Connection(ctx context.Context, cluster settings.Cluster, clientName string) (ceph.Connection, error)
	ScratchPoolsOf(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) ([]string, error)
	DeleteScratchPools(ctx context.Context, cluster settings.Cluster, owner objectref.Ref, osdMap *ceph.OSDMap) (gone bool, reason string, err error)
}

// Ceph is the part of Ceph's interface that a removal needs.
type Ceph interface {
	OSDMap(ctx context.Context, connection ceph.Connection) (*ceph.OSDMap, error)
	Images(ctx context.Context, connection ceph.Connection, pool, prefix string) ([]string, error)
	RemoveImage(ctx context.Context, connection ceph.Connection, pool, image string) error
}

// Remover removes scratch pools.
type Remover struct {
	Rook Rook
	Ceph Ceph
}

// Remaining is the rest of a removal. The zero value means that the owner has no scratch pool.
type Remaining struct {
	// Waits is what the removal waits for.
	Waits reconcile.Wait
	// Full reports that a scratch pool is full. Rook does nothing while full OSDs keep the cluster in
	// HEALTH_ERR, so the caller has to remove the pool's objects.
	Full bool
}

// Remove removes the owner's scratch pools. Rook does not remove a pool with images. So as long as a pool
// has images, each call removes one image, and no pool. Remove never touches a pool of another owner. If
// the owner has no pool, Remove sends nothing to Ceph. Call it again until Remaining is zero.
func (r Remover) Remove(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (Remaining, error) {
	owned, err := r.Rook.ScratchPoolsOf(ctx, cluster, owner)
	if err != nil || len(owned) == 0 {
		return Remaining{}, err
	}
	if waits, err := r.removeImages(ctx, cluster, owned); !waits.IsDone() || err != nil {
		return Remaining{Waits: waits}, err
	}
	connection, err := r.Rook.Connection(ctx, cluster, cluster.Identities.Observer)
	if err != nil {
		return Remaining{}, err
	}
	osdMap, err := r.Ceph.OSDMap(ctx, connection)
	if err != nil {
		return Remaining{}, err
	}
	gone, reason, err := r.Rook.DeleteScratchPools(ctx, cluster, owner, osdMap)
	if err != nil || gone {
		return Remaining{}, err
	}
	full := slices.ContainsFunc(owned, func(pool string) bool { return isFull(osdMap, pool) })
	return Remaining{Waits: reconcile.Wait(strings.TrimSpace("The scratch pool is being removed. " + reason)), Full: full}, nil
}

// isFull reports whether Ceph refuses writes to a pool because it is full.
func isFull(osdMap *ceph.OSDMap, pool string) bool {
	return slices.ContainsFunc(osdMap.Pools, func(p ceph.Pool) bool { return p.Name == pool && slices.Contains(p.Flags, "full") })
}

// removeImages removes one image of the owned pools. The names of images are in the metadata pools.
func (r Remover) removeImages(ctx context.Context, cluster settings.Cluster, owned []string) (reconcile.Wait, error) {
	ctx, cancel := context.WithTimeout(ctx, imagesWithin)
	defer cancel()
	connection, err := r.Rook.Connection(ctx, cluster, cluster.Identities.IO)
	if err != nil {
		return "", err
	}
	for target := range settings.MaxTargets {
		pool := settings.ScratchNamesOf(target).Pool
		if !slices.Contains(owned, pool) {
			continue
		}
		if waits, err := RemoveImages(ctx, r.Ceph, connection, pool, ImagePrefix); !waits.IsDone() || err != nil {
			return waits, err
		}
	}
	return reconcile.Done, nil
}

// RemoveImages removes from a pool one image whose name begins with the given prefix. The Wait says how many
// such images are left, or why the removal failed. It is Done if the pool had no such image, or does not exist.
func RemoveImages(ctx context.Context, c Ceph, connection ceph.Connection, pool, prefix string) (reconcile.Wait, error) {
	images, err := c.Images(ctx, connection, pool, prefix)
	if IsNotFound(err) {
		return reconcile.Done, nil // The pool does not exist.
	}
	if err != nil || len(images) == 0 {
		return "", err
	}
	if err := c.RemoveImage(ctx, connection, pool, images[0]); err != nil {
		return reconcile.Wait(fmt.Sprintf("Image %s/%s cannot be removed yet: %v", pool, images[0], err)), nil
	}
	return reconcile.Wait(fmt.Sprintf("Images left to remove in pool %s: %d.", pool, len(images)-1)), nil
}

// IsNotFound reports whether Ceph answered that an object does not exist.
func IsNotFound(err error) bool {
	answer, ok := errors.AsType[*ceph.Error](err)
	return ok && answer.Errno == int(syscall.ENOENT)
}
