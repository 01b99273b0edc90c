//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// crushNode is a node of Ceph's tree of hosts and OSDs.
type crushNode struct {
	ID       int    `json:"id"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Class    string `json:"device_class"`
	Children []int  `json:"children"`
}

// osdsByHost returns the OSDs of each host.
func (c *cluster) osdsByHost(t *testing.T) map[string][]crushNode {
	t.Helper()
	var tree struct {
		Nodes []crushNode `json:"nodes"`
	}
	if err := c.cephJSON(t.Context(), &tree, "osd", "tree"); err != nil {
		t.Fatal(err)
	}
	hosts := map[string][]crushNode{}
	for _, host := range tree.Nodes {
		for _, osd := range tree.Nodes {
			if host.Type == "host" && slices.Contains(host.Children, osd.ID) {
				hosts[host.Name] = append(hosts[host.Name], osd)
			}
		}
	}
	if len(hosts) != 3 {
		t.Fatalf("OSDs are on %d hosts, want 3", len(hosts))
	}
	return hosts
}

// runningValues returns the values of an option with which OSDs run, as they say themselves.
func (c *cluster) runningValues(t *testing.T, option string) map[int]string {
	t.Helper()
	values := map[int]string{}
	for _, osds := range c.osdsByHost(t) {
		for _, osd := range osds {
			var got map[string]string
			if err := c.cephJSON(t.Context(), &got, "tell", osd.Name, "config", "get", option); err != nil {
				t.Fatal(err)
			}
			values[osd.ID] = got[option]
		}
	}
	return values
}

// A sweep over an option of one host, and of one device class: only these OSDs run with the candidate's value, and none
// afterwards. The OSD of the victim gets a class of its own for that.
func TestNodesMasks(t *testing.T) {
	c := forTest(t)
	hosts := c.osdsByHost(t)
	for mask, osd := range map[string]crushNode{"host:node2": hosts["node2"][0], "class:ssd": hosts[victim][0]} {
		t.Run(mask, func(t *testing.T) {
			if class, masked := strings.CutPrefix(mask, "class:"); masked {
				c.reclass(t, osd, class)
			}
			c.sweepMask(t, mask, osd.ID)
		})
	}
}

// reclass gives an OSD another device class for the time of the test. Pools without a device class stay where they are.
func (c *cluster) reclass(t *testing.T, osd crushNode, class string) {
	t.Helper()
	if osd.Class == "" || osd.Class == class {
		t.Fatalf("%s has the device class %q", osd.Name, osd.Class)
	}
	change := func(class string) {
		c.mustCeph(t, "osd", "crush", "rm-device-class", osd.Name)
		c.mustCeph(t, "osd", "crush", "set-device-class", class, osd.Name)
	}
	t.Cleanup(func() { change(osd.Class) })
	change(class)
	c.awaitHealthy(t)
}

func (c *cluster) sweepMask(t *testing.T, mask string, osd int) {
	const option = "osd_client_message_cap"
	before, running := c.tunables(t), c.runningValues(t, option)
	parameter := messageCap("64")
	parameter.Config.Mask = mask
	s := c.sweep("mask", c.replicatedScratch(), parameter)
	s.Spec.Strategy.Seed = new(int64(1)) // With this seed, the first run is of the candidate.
	c.createSweep(t, s)

	c.awaitRunOf(t, s, "message_cap=64")
	want := maps.Clone(running)
	want[osd] = "64"
	if now := c.runningValues(t, option); !maps.Equal(now, want) {
		t.Errorf("OSDs run with %v, want %v", now, want)
	}
	if now := c.tunables(t); !strings.Contains(now, fmt.Sprintf("osd %s %s = 64", mask, option)) {
		t.Errorf("Ceph is set to\n%s\nwithout the mask %s", now, mask)
	}

	c.changeSweep(t, s, func(spec *v1alpha1.CephTuningSweepSpec) { spec.Suspend = true })
	c.awaitSweep(t, s, restoreWithin, "to be suspended", sweepIs(v1alpha1.ReasonSuspended))
	c.wantRestored(t, s, before)
	if now := c.runningValues(t, option); !maps.Equal(now, running) {
		t.Errorf("OSDs run with %v, want %v as before", now, running)
	}
}

// Sweeps that choose OSDs, and that restart them, on three hosts.
func TestNodesOSDs(t *testing.T) {
	c := forTest(t)
	t.Run("their number", c.sweepHosts)
	t.Run("restarts", c.restartHosts)
}

// A pool with two copies is on two hosts, and then on three. Each placement group has its copies on two of them.
func (c *cluster) sweepHosts(t *testing.T) {
	for host, osds := range c.osdsByHost(t) {
		if len(osds) != 1 {
			t.Fatalf("%s has %d OSDs: numbers of OSDs are those of hosts only with one", host, len(osds))
		}
	}
	before := c.tunables(t)
	target := c.replicatedScratch()
	target.ScratchPool.Replicated.Size = 2
	target.ScratchPool.OSDSelection = &v1alpha1.OSDSelection{Count: 2}
	s := c.sweep("hosts", target, v1alpha1.Parameter{
		Name: "osds", OSDCount: &v1alpha1.OSDCountParameter{}, Values: []v1alpha1.ParameterValue{"3"},
	})
	c.createSweep(t, s)
	c.wantOnItsOSDs(t, c.awaitRunOf(t, s, "baseline"), 2, 2)
	c.wantOnItsOSDs(t, c.awaitRunOf(t, s, "osds=3"), 3, 2)

	c.changeSweep(t, s, func(spec *v1alpha1.CephTuningSweepSpec) { spec.Suspend = true })
	c.awaitSweep(t, s, restoreWithin, "to be suspended", sweepIs(v1alpha1.ReasonSuspended))
	c.wantRestored(t, s, before)
	c.wantNoUpmaps(t)
}

// restartWithin is how long a sweep takes to restore, and to restart three OSDs after it.
const restartWithin = 15 * time.Minute

// OSDs are restarted for an option that they read only when they start: never those of two hosts at once, and a client
// can always write. At the end they run with the original value.
func (c *cluster) restartHosts(t *testing.T) {
	c.createSettledPool(t)
	const option = "osd_op_num_shards"
	before, running := c.tunables(t), c.runningValues(t, option)
	first := c.osdEpoch(t)
	stop := c.keepWriting(t, existingPool)
	s := c.sweep("restarts", v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: existingPool}}, v1alpha1.Parameter{
		Name: "shards", Config: &v1alpha1.ConfigParameter{Option: option}, Values: []v1alpha1.ParameterValue{"1"},
	})
	s.Spec.Strategy.Seed = new(int64(1)) // With this seed, the first run is of the candidate.
	s.Spec.Guardrails.OSDRestarts = v1alpha1.RestartAllow
	c.createSweep(t, s)

	c.awaitRunOf(t, s, "shards=1")
	for osd, value := range c.runningValues(t, option) {
		if value != "1" {
			t.Errorf("osd.%d runs with %s %s in a run with 1", osd, option, value)
		}
	}

	c.changeSweep(t, s, func(spec *v1alpha1.CephTuningSweepSpec) { spec.Suspend = true })
	c.awaitSweep(t, s, restartWithin, "to have restored, and restarted OSDs again", func(s *v1alpha1.CephTuningSweep) error {
		if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionRestored) {
			return fmt.Errorf("condition %s is not True", v1alpha1.ConditionRestored)
		}
		return nil
	})
	stop()
	c.wantTunables(t, before)
	if now := c.runningValues(t, option); !maps.Equal(now, running) {
		t.Errorf("OSDs run with %s %v, want %v as before", option, now, running)
	}
	c.wantOneDown(t, first, c.osdEpoch(t))
}

func (c *cluster) osdEpoch(t *testing.T) int {
	t.Helper()
	var osdMap struct {
		Epoch int `json:"epoch"`
	}
	if err := c.cephJSON(t.Context(), &osdMap, "osd", "dump"); err != nil {
		t.Fatal(err)
	}
	return osdMap.Epoch
}

// wantOneDown checks, in each of Ceph's maps from one epoch to another, that at most one OSD is down, and that each went
// down twice: for the run, and after the restore.
func (c *cluster) wantOneDown(t *testing.T, from, to int) {
	t.Helper()
	times, last := map[int]int{}, -1
	for epoch, down := range c.downIn(t, from, to) {
		if len(down) > 1 {
			t.Errorf("in epoch %d, OSDs %v are down, each on a host of its own", from+epoch, down)
		}
		now := -1
		if len(down) > 0 {
			now = down[0]
		}
		if now >= 0 && now != last {
			times[now]++
		}
		last = now
	}
	t.Logf("times that OSDs went down: %v", times)
	for _, osds := range c.osdsByHost(t) {
		for _, osd := range osds {
			if times[osd.ID] < 2 {
				t.Errorf("%s went down %d times, want 2", osd.Name, times[osd.ID])
			}
		}
	}
}

// downIn returns the OSDs that are down in each of Ceph's maps from one epoch to another.
func (c *cluster) downIn(t *testing.T, from, to int) (down [][]int) {
	t.Helper()
	const atOnce = 40 // A command in the toolbox has limited time.
	for ; from <= to; from += atOnce {
		out, err := c.toolbox(t.Context(), "bash", "-ec", `set -o pipefail
			for epoch in $(seq "$1" "$2"); do ceph osd dump "$epoch" -f json | jq -c '[.osds[] | select(.up == 0) | .osd]'; done`,
			"-", strconv.Itoa(from), strconv.Itoa(min(from+atOnce-1, to)))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out) {
			var osds []int
			if err := json.Unmarshal([]byte(line), &osds); err != nil {
				t.Fatalf("%v, in %s", err, line)
			}
			down = append(down, osds)
		}
	}
	return down
}

// keepWriting writes one object of a pool again and again, until stop. A write that takes a minute fails the test.
func (c *cluster) keepWriting(t *testing.T, pool string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	writes, slowest := 0, time.Duration(0)
	var failed error
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			begin := time.Now()
			_, err := c.toolbox(context.WithoutCancel(ctx), "timeout", "60", "rados", "-p", pool, "put", "cephtune-e2e-written", "/etc/hostname")
			slowest = max(slowest, time.Since(begin))
			if writes++; err != nil {
				failed = errors.Join(failed, fmt.Errorf("after %v: %w", time.Since(begin), err))
			}
			select {
			case <-ctx.Done():
			case <-time.After(2 * time.Second):
			}
		}
	}()
	ended := false
	stop = func() {
		cancel()
		<-done
		if ended {
			return
		}
		ended = true
		t.Logf("%d writes to pool %s, the slowest took %v with its command", writes, pool, slowest.Round(time.Millisecond))
		if failed != nil || writes == 0 {
			t.Errorf("%d writes: %v", writes, failed)
		}
	}
	t.Cleanup(stop)
	return stop
}
