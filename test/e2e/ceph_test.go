//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// rookObject returns one of Rook's custom resources.
func (c *cluster) rookObject(kind, name string, spec map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: "ceph.rook.io", Version: "v1", Kind: kind})
	object.SetNamespace(c.rookNamespace)
	object.SetName(name)
	return object
}

// createReady creates one of Rook's objects and waits until it is Ready. The object is removed at
// the end of the test.
func (c *cluster) createReady(t testing.TB, object *unstructured.Unstructured) {
	t.Helper()
	if err := c.Create(t.Context(), object); err != nil {
		t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	t.Cleanup(func() { c.deleteAndWait(t, object) })
	eventually(t, 3*time.Minute, object.GetKind()+" "+object.GetName()+" to be Ready", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		if phase, _, _ := unstructured.NestedString(object.Object, "status", "phase"); phase != "Ready" {
			return fmt.Errorf("its phase is %q", phase)
		}
		return nil
	})
}

func (c *cluster) deleteAndWait(t testing.TB, object client.Object) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 3*time.Minute)
	defer cancel()
	if err := client.IgnoreNotFound(c.Delete(ctx, object)); err != nil {
		t.Errorf("delete %s: %v", object.GetName(), err)
	}
	for {
		err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
		if apierrors.IsNotFound(err) {
			return
		}
		select {
		case <-ctx.Done():
			t.Errorf("%s is still there: %v", object.GetName(), err)
			return
		case <-time.After(time.Second):
		}
	}
}

// poolPGs is the number of PGs of the tests' own pools.
const poolPGs = "16"

// createPool creates a replicated pool through Rook.
func (c *cluster) createPool(t testing.TB, name string) {
	t.Helper()
	t.Cleanup(func() { c.wantNoPool(t, name) })
	c.createReady(t, c.rookObject("CephBlockPool", name, map[string]any{
		"failureDomain": c.failureDomain,
		"replicated":    map[string]any{"size": int64(3)},
		"parameters":    map[string]any{"pg_num": poolPGs, "pg_autoscale_mode": "off"},
	}))
	t.Cleanup(func() { c.removeImages(t, name) }) // Rook does not remove a pool that has images.
}

// settledFor is how long PGs must look settled. Ceph's reports are up to about seven seconds late.
const settledFor = 15 * time.Second

// createSettledPool creates the existing pool, and waits until it has its final number of PGs. A
// pool begins with another number. PGs that are split or merged have to peer, which would end a
// run.
func (c *cluster) createSettledPool(t testing.TB) {
	t.Helper()
	c.createPool(t, existingPool)
	// Rook sets a pool's parameters in any order, so the autoscaler may have changed the number
	// before it was turned off. The values must equal Rook's, because Rook may set them again at
	// any time.
	c.pinPGs(t, existingPool)
	c.awaitSettledPGs(t)
}

func (c *cluster) pinPGs(t testing.TB, pool string) {
	t.Helper()
	for _, set := range [][]string{{"pg_autoscale_mode", "off"}, {"pg_num", poolPGs}} {
		if _, err := c.ceph(t.Context(), append([]string{"osd", "pool", "set", pool}, set...)...); err != nil {
			t.Fatalf("set %s of pool %s: %v", set[0], pool, err)
		}
	}
}

// createDataPool creates an erasure-coded pool for the data of images in another pool.
func (c *cluster) createDataPool(t testing.TB, name string) {
	t.Helper()
	t.Cleanup(func() { c.wantNoPool(t, name) })
	c.createReady(t, c.rookObject("CephBlockPool", name, map[string]any{
		"failureDomain": c.failureDomain,
		"erasureCoded":  map[string]any{"dataChunks": int64(2), "codingChunks": int64(1)},
		"parameters":    map[string]any{"pg_num": poolPGs, "pg_autoscale_mode": "off"},
	}))
	c.pinPGs(t, name)
	c.awaitSettledPGs(t)
}

func (c *cluster) awaitSettledPGs(t testing.TB) {
	t.Helper()
	var since time.Time
	eventually(t, 3*time.Minute, fmt.Sprintf("PGs to be settled for %v", settledFor), func(ctx context.Context) error {
		now := time.Now()
		if err := c.pgsSettled(ctx); err != nil {
			since = time.Time{}
			return err
		}
		if since.IsZero() {
			since = now
		}
		if settled := now.Sub(since); settled < settledFor {
			return fmt.Errorf("they are, for %v", settled)
		}
		return nil
	})
}

// pgsSettled returns an error if not all PGs are clean or their number is not final.
func (c *cluster) pgsSettled(ctx context.Context) error {
	var pools []struct {
		Name            string `json:"pool_name"`
		PGs             int    `json:"pg_num"`
		Target          int    `json:"pg_num_target"`
		Placement       int    `json:"pg_placement_num"`
		PlacementTarget int    `json:"pg_placement_num_target"`
	}
	if err := c.cephJSON(ctx, &pools, "osd", "pool", "ls", "detail"); err != nil {
		return err
	}
	total := 0
	for _, pool := range pools {
		if pool.PGs != pool.Target || pool.PGs != pool.Placement || pool.PGs != pool.PlacementTarget {
			return fmt.Errorf("pool %s is on its way to another number of PGs: %+v", pool.Name, pool)
		}
		total += pool.PGs
	}
	var status struct {
		PGMap struct {
			PGs    int `json:"num_pgs"`
			States []struct {
				Name string `json:"state_name"`
			} `json:"pgs_by_state"`
		}
	}
	if err := c.cephJSON(ctx, &status, "status"); err != nil {
		return err
	}
	if status.PGMap.PGs != total {
		return fmt.Errorf("statistics are of %d PGs, and pools have %d", status.PGMap.PGs, total)
	}
	for _, state := range status.PGMap.States {
		if !strings.HasPrefix(state.Name, "active+clean") {
			return fmt.Errorf("PGs are %v", status.PGMap.States)
		}
	}
	return nil
}

// wantNoPool asks Ceph, because Rook's object can be gone before its pool.
func (c *cluster) wantNoPool(t testing.TB, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	var pools []string
	if err := c.cephJSON(ctx, &pools, "osd", "pool", "ls"); err != nil {
		t.Errorf("list pools: %v", err)
	}
	if slices.Contains(pools, name) {
		t.Errorf("pool %s is still in Ceph", name)
	}
}

func (c *cluster) removeImages(t testing.TB, pool string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	script := `for image in $(rbd -p "$1" ls); do rbd rm --no-progress "$1/$image" || exit; done`
	if _, err := c.toolbox(ctx, "bash", "-c", script, "-", pool); err != nil {
		t.Errorf("remove the images of pool %s: %v", pool, err)
	}
}

// createClient creates a Ceph identity through Rook and returns its key.
func (c *cluster) createClient(t testing.TB, name string, caps map[string]any) string {
	t.Helper()
	c.createReady(t, c.rookObject("CephClient", name, map[string]any{"caps": caps}))
	var secret corev1.Secret
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: c.rookNamespace, Name: "rook-ceph-client-" + name}, &secret); err != nil {
		t.Fatalf("read the key that Rook made for CephClient %s: %v", name, err)
	}
	return string(secret.Data[name])
}

// createCredentials creates a Secret with the access of an identity to Ceph: a ceph.conf and a keyring.
func (c *cluster) createCredentials(t testing.TB, namespace, clientName, key string) {
	t.Helper()
	var rook corev1.Secret
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: c.rookNamespace, Name: "rook-ceph-config"}, &rook); err != nil {
		t.Fatalf("read the monitors' addresses: %v", err)
	}
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "ceph"},
		StringData: map[string]string{
			// librados refuses a ceph.conf whose last line has no line break.
			"ceph.conf": fmt.Sprintf("[global]\nmon_host = %s\nkeyring = /etc/ceph/keyring\n", rook.Data["mon_host"]),
			"keyring":   fmt.Sprintf("[client.%s]\n\tkey = %s\n", clientName, key),
		},
	}
	if err := c.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}
