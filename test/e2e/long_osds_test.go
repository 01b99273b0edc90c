//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// The sweep varies the number of OSDs of a pool over all OSDs of the lab. The PGs of each run must
// be on its OSDs only, those of other pools must stay where they are, and no placement may remain
// in Ceph after the pool.
func TestLongSweepOfOSDCount(t *testing.T) {
	c := forTest(t)
	c.createSettledPool(t)
	before, others := c.tunables(t), c.placesOf(t, existingPool)
	target := c.replicatedScratch()
	target.ScratchPool.Replicated.Size = 1
	target.ScratchPool.OSDSelection = &v1alpha1.OSDSelection{Count: 1}
	s := c.sweep("osd-count", target, v1alpha1.Parameter{
		Name: "osds", OSDCount: &v1alpha1.OSDCountParameter{}, Values: []v1alpha1.ParameterValue{"2", "3"},
	})
	s.Spec.Template.Phases[0].RadosBench.Concurrency = 16
	c.createSweep(t, s)

	for _, count := range []int{2, 3} {
		c.wantOnItsOSDs(t, c.awaitRunOf(t, s, fmt.Sprintf("osds=%d", count)), count, 1)
		if now := c.placesOf(t, existingPool); now != others {
			t.Errorf("pool %s is at\n%s\nand was at\n%s", existingPool, now, others)
		}
	}
	c.awaitVerdict(t, s, before)

	for _, name := range []string{"osds=2", "osds=3"} {
		if row := configurationOf(t, s, name); row.Runs < 2 || row.Verdict == v1alpha1.VerdictInvalid {
			t.Errorf("%s is called %s (%s) on %d runs", row.Name, row.Verdict, row.Reason, row.Runs)
		}
	}
	if len(s.Status.Patches) > 0 {
		t.Errorf("there are patches for a number of OSDs: %+v", s.Status.Patches)
	}
	if now := c.placesOf(t, existingPool); now != others {
		t.Errorf("pool %s is at\n%s\nand was at\n%s", existingPool, now, others)
	}
	c.wantNoUpmaps(t)
}

// wantOnItsOSDs checks that the scratch pool of a benchmark uses exactly the OSDs in its status,
// and the wanted number of them, and that each placement group has its copies on different ones.
func (c *cluster) wantOnItsOSDs(t *testing.T, b *v1alpha1.CephBenchmark, count, copies int) {
	t.Helper()
	c.await(t, b, conditionWithin, "to name its OSDs", func(b *v1alpha1.CephBenchmark) error {
		if len(b.Status.PoolOSDs) != count {
			return fmt.Errorf("status.poolOSDs is %v", b.Status.PoolOSDs)
		}
		return nil
	})
	var used []int32
	for _, osds := range c.actingOf(t, "cephtune-scratch") {
		if slices.Sort(osds); len(slices.Compact(slices.Clone(osds))) != copies || len(osds) != copies {
			t.Errorf("a placement group is on %v, want %d OSDs", osds, copies)
		}
		for _, osd := range osds {
			if !slices.Contains(used, int32(osd)) {
				used = append(used, int32(osd))
			}
		}
	}
	slices.Sort(used)
	if !slices.Equal(used, slices.Sorted(slices.Values(b.Status.PoolOSDs))) {
		t.Errorf("the scratch pool is on OSDs %v, and status.poolOSDs has %v", used, b.Status.PoolOSDs)
	}
}

// actingOf returns the OSDs of each placement group of a pool.
func (c *cluster) actingOf(t *testing.T, pool string) map[string][]int {
	t.Helper()
	var osdMap struct {
		Pools []struct {
			ID   int64  `json:"pool"`
			Name string `json:"pool_name"`
		} `json:"pools"`
	}
	var dump struct {
		PGs []struct {
			ID     string `json:"pgid"`
			Acting []int  `json:"acting"`
		} `json:"pg_stats"`
	}
	if err := c.cephJSON(t.Context(), &osdMap, "osd", "dump"); err != nil {
		t.Fatal(err)
	}
	if err := c.cephJSON(t.Context(), &dump, "pg", "dump", "pgs_brief"); err != nil {
		t.Fatal(err)
	}
	acting := map[string][]int{}
	for _, p := range osdMap.Pools {
		for _, pg := range dump.PGs {
			if p.Name == pool && strings.HasPrefix(pg.ID, fmt.Sprintf("%d.", p.ID)) {
				acting[pg.ID] = pg.Acting
			}
		}
	}
	if len(acting) == 0 {
		t.Fatalf("Ceph has no placement group of pool %s", pool)
	}
	return acting
}

// placesOf returns the places of a pool's placement groups as text.
func (c *cluster) placesOf(t *testing.T, pool string) string {
	t.Helper()
	return fmt.Sprint(c.actingOf(t, pool))
}

// wantNoUpmaps waits until Ceph has no upmaps of removed pools.
func (c *cluster) wantNoUpmaps(t *testing.T) {
	t.Helper()
	eventually(t, conditionWithin, "no placement group to be put anywhere", func(ctx context.Context) error {
		var osdMap struct {
			Upmaps []struct {
				PG string `json:"pgid"`
			} `json:"pg_upmap"`
		}
		if err := c.cephJSON(ctx, &osdMap, "osd", "dump"); err != nil {
			return err
		}
		if len(osdMap.Upmaps) > 0 {
			return fmt.Errorf("%d are: %+v", len(osdMap.Upmaps), osdMap.Upmaps)
		}
		return nil
	})
}
