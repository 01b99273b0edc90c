package leftovers

import (
	"context"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/workload"
)

// pools has images by pool, and objects by pool and namespace. Ceph denies access to some pools.
type pools struct {
	scratchpool.Ceph
	images, objects map[string][]string
	denied          []string
}

func (p *pools) Images(_ context.Context, _ ceph.Connection, pool, prefix string) ([]string, error) {
	if slices.Contains(p.denied, pool) {
		return nil, &ceph.Error{Errno: int(syscall.EACCES)}
	}
	return withPrefix(p.images[pool], prefix), nil
}

func (p *pools) RemoveImage(_ context.Context, _ ceph.Connection, pool, image string) error {
	p.images[pool] = slices.DeleteFunc(p.images[pool], func(name string) bool { return name == image })
	return nil
}

func (p *pools) Objects(_ context.Context, _ ceph.Connection, pool, namespace, prefix string, atMost int) ([]string, error) {
	found := withPrefix(p.objects[pool+"/"+namespace], prefix)
	return found[:min(len(found), atMost)], nil
}

func (p *pools) RemoveObjects(_ context.Context, _ ceph.Connection, pool, namespace string, objects []string) error {
	key := pool + "/" + namespace
	p.objects[key] = slices.DeleteFunc(p.objects[key], func(name string) bool { return slices.Contains(objects, name) })
	return nil
}

func withPrefix(names []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, prefix) })
}

// inNamespace is a load that writes objects into a namespace of its client.
type inNamespace struct{ engine.Load }

func (inNamespace) Namespaces(p place.Place) []string { return []string{p.Namespace} }

func TestRemove(t *testing.T) {
	const execution = "cephtune-1"
	script := &workload.Script{Places: []place.Place{{Namespace: "cephtune-1-0"}}, Phases: []workload.Phase{{Load: inNamespace{}}}}
	for name, c := range map[string]struct {
		left Leftovers
		// wantImages and wantObjects are what remains, by pool.
		wantImages, wantObjects map[string]int
		wantErr                 bool
	}{
		"an existing pool": {
			left:       Leftovers{ImagePools: []string{"open"}, Target: "open", ObjectPool: "open", Lasts: true, Script: script},
			wantImages: map[string]int{"open": 1, "closed": 1}, wantObjects: map[string]int{"open/": 2, "open/cephtune-1-0": 0},
		},
		"an unknown spec": {
			left:       Leftovers{ImagePools: []string{"open", "closed"}, ObjectPool: "open", Lasts: true, Unremembered: true},
			wantImages: map[string]int{"open": 1, "closed": 1}, wantObjects: map[string]int{"open/": 1, "open/cephtune-1-0": 150},
		},
		"a pool that does not last": {
			left:       Leftovers{ImagePools: []string{"open"}, ObjectPool: "open", Script: script},
			wantImages: map[string]int{"open": 1, "closed": 1}, wantObjects: map[string]int{"open/": 2, "open/cephtune-1-0": 150},
		},
		"a claim": {
			left:       Leftovers{Lasts: true, Script: script},
			wantImages: map[string]int{"open": 3, "closed": 1}, wantObjects: map[string]int{"open/": 2, "open/cephtune-1-0": 150},
		},
		"a target that the key does not permit": {left: Leftovers{ImagePools: []string{"closed"}, Target: "closed"}, wantErr: true},
	} {
		t.Run(name, func(t *testing.T) {
			c.left.Execution = execution
			p := &pools{
				images: map[string][]string{"open": {execution + "-0", execution + "-1", "cephtune-2-0"}, "closed": {execution + "-0"}},
				objects: map[string][]string{
					"open/": {place.ObjectPrefix + execution + "-0", "theirs"}, "open/cephtune-1-0": slices.Repeat([]string{"a"}, ObjectsAtOnce/2*3),
				},
				denied: []string{"closed"},
			}
			for range 10 { // Each call removes a part.
				waits, err := c.left.Remove(t.Context(), p, ceph.Connection{})
				if (err != nil) != c.wantErr {
					t.Fatalf("%v", err)
				}
				if err != nil {
					return
				}
				if waits.IsDone() {
					break
				}
			}
			for pool, want := range c.wantImages {
				if got := len(p.images[pool]); got != want {
					t.Errorf("%d images remain in %s, want %d", got, pool, want)
				}
			}
			for key, want := range c.wantObjects {
				if got := len(p.objects[key]); got != want {
					t.Errorf("%d objects remain in %s, want %d", got, key, want)
				}
			}
		})
	}
}
