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
	"github.com/cephtune/cephtune/internal/settings"
)

// ImagePrefix begins the names of all images that benchmarks make.
const ImagePrefix = "cephtune-"

// imagesWithin bounds how long one call removes images.
const imagesWithin = 30 * time.Second

// Rook is what removing takes of Rook.
type Rook interface {
	Connection(ctx context.Context, cluster settings.Cluster, clientName string) (ceph.Connection, error)
	OwnsScratchPool(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (bool, error)
	DeleteScratchPool(ctx context.Context, cluster settings.Cluster, owner objectref.Ref, osdMap *ceph.OSDMap) (gone bool, why string, err error)
}

// Ceph is what it takes of Ceph.
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

// Remaining is what is left of a removal. The zero value says that the pool is gone.
type Remaining struct {
	// Waits is what the removal waits for.
	Waits string
	// Full says that a scratch pool is full. Rook does nothing for a cluster in HEALTH_ERR, so
	// its objects have to be removed one by one.
	Full bool
}

// Remove removes the owner's scratch pool, and before it the images in it, with which Rook
// would keep the pool. It never touches a pool of others, and does not ask Ceph if the owner has
// no pool. It can be repeated.
func (r Remover) Remove(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (Remaining, error) {
	owned, err := r.Rook.OwnsScratchPool(ctx, cluster, owner)
	if err != nil || !owned {
		return Remaining{}, err
	}
	if waits, err := r.removeImages(ctx, cluster); waits != "" || err != nil {
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
	return Remaining{Waits: strings.TrimSpace("The scratch pool is being removed. " + why), Full: full}, nil
}

// isFull reports whether Ceph takes no more writes to a pool.
func isFull(osdMap *ceph.OSDMap, pool string) bool {
	return slices.ContainsFunc(osdMap.Pools, func(p ceph.Pool) bool { return p.Name == pool && slices.Contains(p.Flags, "full") })
}

func (r Remover) removeImages(ctx context.Context, cluster settings.Cluster) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, imagesWithin)
	defer cancel()
	at, err := r.Rook.Connection(ctx, cluster, cluster.Identities.IO)
	if err != nil {
		return "", err
	}
	return RemoveImages(ctx, r.Ceph, at, settings.ScratchPool, ImagePrefix)
}

// RemoveImages removes one of the images of a pool whose names begin with a prefix, and says
// how many are left, or why it could not; "" once all are gone.
func RemoveImages(ctx context.Context, c Ceph, at ceph.Connection, pool, prefix string) (string, error) {
	images, err := c.Images(ctx, at, pool, prefix)
	if IsNotFound(err) {
		return "", nil // The pool is gone, or never was.
	}
	if err != nil || len(images) == 0 {
		return "", err
	}
	if err := c.RemoveImage(ctx, at, pool, images[0]); err != nil {
		return fmt.Sprintf("Image %s/%s cannot be removed yet: %v", pool, images[0], err), nil
	}
	return fmt.Sprintf("%d images are left in pool %s.", len(images)-1, pool), nil
}

// IsNotFound reports whether Ceph answered that something is not there.
func IsNotFound(err error) bool {
	answer, ok := errors.AsType[*ceph.Error](err)
	return ok && answer.Errno == int(syscall.ENOENT)
}
