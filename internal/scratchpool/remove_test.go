package scratchpool

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/settings"
)

var errAway = errors.New("no monitor answers")

// world has one scratch pool, which is gone when its removal is requested for the second time.
type world struct {
	owner  objectref.Ref
	images []string
	full   bool
	stuck  error // why Ceph removes no image
	away   error // why Ceph does not answer
	asked  int   // how often Ceph was asked
}

func (w *world) Connection(context.Context, settings.Cluster, string) (ceph.Connection, error) {
	return ceph.Connection{}, nil
}

func (w *world) ScratchPoolsOf(_ context.Context, _ settings.Cluster, owner objectref.Ref) ([]string, error) {
	if w.owner != owner {
		return nil, nil
	}
	return []string{settings.ScratchPool, settings.ScratchDataPool}, nil
}

func (w *world) DeleteScratchPools(_ context.Context, _ settings.Cluster, _ objectref.Ref, _ *ceph.OSDMap) (bool, string, error) {
	w.owner = objectref.Ref{}
	return false, "Rook removes it", nil
}

func (w *world) OSDMap(context.Context, ceph.Connection) (*ceph.OSDMap, error) {
	w.asked++
	pool := ceph.Pool{Name: settings.ScratchDataPool}
	if w.full {
		pool.Flags = []string{"full"}
	}
	return &ceph.OSDMap{Pools: []ceph.Pool{{Name: "other", Flags: []string{"full"}}, pool}}, w.away
}

func (w *world) Images(context.Context, ceph.Connection, string, string) ([]string, error) {
	w.asked++
	return w.images, w.away
}

func (w *world) RemoveImage(context.Context, ceph.Connection, string, string) error {
	if w.stuck == nil {
		w.images = w.images[1:]
	}
	return w.stuck
}

func TestRemove(t *testing.T) {
	mine, other := objectref.Ref{UID: "1"}, objectref.Ref{UID: "2"}
	for name, c := range map[string]struct {
		world world
		waits []string // of each call
		full  bool     // at the end
		err   error
	}{
		"its own":                     {world{owner: mine}, []string{"Rook removes it", ""}, false, nil},
		"images go first":             {world{owner: mine, images: []string{"a", "b"}}, []string{"pool cephtune-scratch: 1.", "pool cephtune-scratch: 0.", "Rook removes it", ""}, false, nil},
		"an image that cannot go":     {world{owner: mine, images: []string{"a"}, stuck: errAway}, []string{"Image cephtune-scratch/a cannot be removed"}, false, nil},
		"a pool that is full":         {world{owner: mine, full: true}, []string{"Rook removes it"}, true, nil},
		"Ceph is away":                {world{owner: mine, away: errAway}, []string{""}, false, errAway},
		"another's, and Ceph is away": {world{owner: other, images: []string{"a"}, away: errAway}, []string{""}, false, nil},
		"a pool without an owner":     {world{away: errAway}, []string{""}, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w, left, err := &c.world, Remaining{}, error(nil)
			before := w.owner
			for _, want := range c.waits {
				left, err = Remover{Rook: w, Ceph: w}.Remove(t.Context(), settings.Cluster{}, mine)
				if !strings.Contains(string(left.Waits), want) || (want == "") != (left.Waits == "") {
					t.Fatalf("waits for %q, want %q", left.Waits, want)
				}
			}
			if left.Full != c.full || !errors.Is(err, c.err) {
				t.Errorf("full %t, %v, want %t, %v", left.Full, err, c.full, c.err)
			}
			if before != mine && (w.asked > 0 || w.owner != before) {
				t.Errorf("asked Ceph %d times about a pool of %v, which is %v's now", w.asked, before, w.owner)
			}
		})
	}
}
