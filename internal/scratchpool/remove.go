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
	"github.com/cephtune/cephtune/internal/objectref"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/settings"
)

// ImagePrefix is the prefix of the names of all images that benchmarks create.
const ImagePrefix = "cephtune-"

// imagesWithin limits the duration of one call that removes an image.
const imagesWithin = 30 * time.Second

// Rook is the part of Rook's interface that a removal needs.
type Rook interface {
	Connection(ctx context.Context, cluster settings.Cluster, clientName string) (ceph.Connection, error)
	OwnsScratchPool(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (bool, error)
	DeleteScratchPool(ctx context.Context, cluster settings.Cluster, owner objectref.Ref, osdMap *ceph.OSDMap) (gone bool, why string, err error)
}

// Ceph is the part of Ceph's interface that a removal needs.
type Ceph interface {
	OSDMap(ctx context.Context, at ceph.Connection) (*ceph.OSDMap, error)
	Images(ctx context.Context, at ceph.Connection, pool, prefix string) ([]string, error)
	RemoveImage(ctx context.Context, at ceph.Connection, pool, image string) error
}

// Remover removes scratch pools.
type Remover struct {
	Rook Rook
	Ceph Ceph
}

// Remaining is the rest of a removal. The zero value means that the pool no longer exists.
type Remaining struct {
	// Waits is what the removal waits for.
	Waits reconcile.Wait
	// Full reports that a scratch pool is full. Rook does nothing in a cluster in HEALTH_ERR, so
	// the pool's objects have to be removed one by one.
	Full bool
}

// Remove removes the owner's scratch pool. It first removes the pool's images, one in each call, because
// Rook does not remove a pool with images. It never touches a pool of others, and if the owner
// has no pool, it sends nothing to Ceph. Repeat it until Remaining is zero.
func (r Remover) Remove(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (Remaining, error) {
	owned, err := r.Rook.OwnsScratchPool(ctx, cluster, owner)
	if err != nil || !owned {
		return Remaining{}, err
	}
	if waits, err := r.removeImages(ctx, cluster); !waits.IsDone() || err != nil {
		return Remaining{Waits: waits}, err
	}
	at, err := r.Rook.Connection(ctx, cluster, cluster.Identities.Observer)
	if err != nil {
		return Remaining{}, err
	}
	osdMap, err := r.Ceph.OSDMap(ctx, at)
	if err != nil {
		return Remaining{}, err
	}
	gone, why, err := r.Rook.DeleteScratchPool(ctx, cluster, owner, osdMap)
	if err != nil || gone {
		return Remaining{}, err
	}
	full := isFull(osdMap, settings.ScratchPool) || isFull(osdMap, settings.ScratchDataPool)
	return Remaining{Waits: reconcile.Wait(strings.TrimSpace("The scratch pool is being removed. " + why)), Full: full}, nil
}

// isFull reports whether Ceph refuses writes to a pool.
func isFull(osdMap *ceph.OSDMap, pool string) bool {
	return slices.ContainsFunc(osdMap.Pools, func(p ceph.Pool) bool { return p.Name == pool && slices.Contains(p.Flags, "full") })
}

func (r Remover) removeImages(ctx context.Context, cluster settings.Cluster) (reconcile.Wait, error) {
	ctx, cancel := context.WithTimeout(ctx, imagesWithin)
	defer cancel()
	at, err := r.Rook.Connection(ctx, cluster, cluster.Identities.IO)
	if err != nil {
		return "", err
	}
	return RemoveImages(ctx, r.Ceph, at, settings.ScratchPool, ImagePrefix)
}

// RemoveImages removes one image whose name begins with a prefix from a pool. It says how many such
// images are left, or why the removal failed; Done if none was left before.
func RemoveImages(ctx context.Context, c Ceph, at ceph.Connection, pool, prefix string) (reconcile.Wait, error) {
	images, err := c.Images(ctx, at, pool, prefix)
	if IsNotFound(err) {
		return reconcile.Done, nil // The pool does not exist.
	}
	if err != nil || len(images) == 0 {
		return "", err
	}
	if err := c.RemoveImage(ctx, at, pool, images[0]); err != nil {
		return reconcile.Wait(fmt.Sprintf("Image %s/%s cannot be removed yet: %v", pool, images[0], err)), nil
	}
	return reconcile.Wait(fmt.Sprintf("Images left to remove in pool %s: %d.", pool, len(images)-1)), nil
}

// IsNotFound reports whether Ceph answered that an object does not exist.
func IsNotFound(err error) bool {
	answer, ok := errors.AsType[*ceph.Error](err)
	return ok && answer.Errno == int(syscall.ENOENT)
}
