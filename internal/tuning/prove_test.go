package tuning

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

// known returns what a sweep knows about the simulated cluster.
func (w *world) known() Known {
	w.t.Helper()
	osds, err := w.cluster.OSDs(w.t.Context(), conn())
	if err != nil {
		w.t.Fatal(err)
	}
	return Known{Facts: w.look().Facts, Help: cephtest.Options(), OSDs: osds, OpQueue: mClock}
}

func TestProve(t *testing.T) {
	central := func(section, mask, option, value string) func(*cephtest.Cluster) {
		return func(c *cephtest.Cluster) {
			c.Answers.ConfigDump = append(c.Answers.ConfigDump, ceph.ConfigEntry{Section: section, Mask: mask, Name: option, Value: value})
		}
	}
	tests := map[string]struct {
		want    []Change
		before  func(*cephtest.Cluster)
		after   func(*world)
		inert   InertReason // "" means that it has an effect
		osds    []int
		message string
	}{
		"a value":                        {want: []Change{config("osd_memory_target", "4G")}},
		"a fraction":                     {want: []Change{config("osd_deep_scrub_randomize_ratio", "0.95")}},
		"unset, so the default":          {want: []Change{config("osd_memory_target", "")}},
		"a mask":                         {want: []Change{masked("class:ssd", "osd_max_backfills", "3")}},
		"a mask that concerns no OSD":    {want: []Change{masked("class:hdd", "osd_max_backfills", "3")}},
		"a host, whose OSD alone has it": {want: []Change{masked("host:node-1", "osd_max_backfills", "3")}},
		"an option of a pool":            {want: []Change{poolOption("p", "compression_mode", "force")}},
		"an OSD with its own": {
			want: []Change{config("osd_max_backfills", "3")}, before: central("osd.1", "", "osd_max_backfills", "7"),
			inert: InertShadowed, osds: []int{1}, message: "set at osd.1",
		},
		"OSDs with a mask": {
			want: []Change{config("osd_max_backfills", "3")}, before: central("osd", "class:ssd", "osd_max_backfills", "7"),
			inert: InertShadowed, osds: []int{0, 1, 2}, message: "set at osd/class:ssd",
		},
		"unset, with a broader section behind it": {
			want: []Change{masked("class:ssd", "osd_max_backfills", "")}, before: central("global", "", "osd_max_backfills", "7"),
		},
		"set in the OSD itself": {
			want: []Change{config("osd_max_backfills", "3")}, after: func(w *world) { w.cluster.SetLocally(2, "osd_max_backfills", "9") },
			inert: InertOverridden, osds: []int{2}, message: "ceph tell",
		},
		"an option that needs a restart": {
			want: []Change{config("osd_op_num_shards", "8")}, inert: InertRestart, osds: []int{0, 1, 2}, message: "only when they start",
		},
		"the same after a restart of two": {
			want: []Change{config("osd_op_num_shards", "8")}, after: func(w *world) { w.cluster.Restart(0); w.cluster.Restart(1) },
			inert: InertRestart, osds: []int{2},
		},
		"mClock removed it": {
			want: []Change{config("osd_max_backfills", "3")},
			after: func(w *world) {
				w.cluster.Act(func(c *cephtest.Cluster) { c.MClock = true })
				w.cluster.Tick()
			},
			inert: InertMClock,
		},
		"another client changed it": {
			want: []Change{config("osd_memory_target", "4G")},
			after: func(w *world) {
				if err := w.cluster.SetConfig(w.t.Context(), conn(), fence(), ceph.ConfigWho{Section: "osd"}, "osd_memory_target", "5G"); err != nil {
					w.t.Fatal(err)
				}
			},
			inert: InertReverted, message: "is 5368709120, not 4G",
		},
		"without a manager": {
			want: []Change{config("osd_max_backfills", "3")}, after: func(w *world) {
				w.cluster.Act(func(c *cephtest.Cluster) { c.Answers.Status.ManagerActive = false })
			},
			inert: InertUnproven, osds: []int{0, 1, 2}, message: "no config state",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			if test.before != nil {
				w.cluster.Act(test.before)
			}
			known := w.known()
			if _, err := w.process(nil).Apply(t.Context(), ourSweep, test.want); err != nil {
				t.Fatal(err)
			}
			if test.after != nil {
				test.after(w)
			}
			proof, err := Prove(t.Context(), w.cluster, conn(), test.want, known, 0)
			if err != nil {
				t.Fatal(err)
			}
			if test.inert == "" {
				if !proof.Proven() {
					t.Errorf("not proven: %+v", proof.Inert)
				}
				return
			}
			if len(proof.Inert) != 1 || proof.Inert[0].Reason != test.inert || !strings.Contains(proof.Inert[0].Message, test.message) {
				t.Fatalf("inert: %+v, want %s saying %q", proof.Inert, test.inert, test.message)
			}
			if diff := cmp.Diff(test.osds, proof.Inert[0].OSDs); diff != "" {
				t.Errorf("OSDs, -want +got:\n%s", diff)
			}
		})
	}
}

func osdsUp(n int) []ceph.OSD {
	osds := make([]ceph.OSD, 0, n)
	for id := range n {
		osds = append(osds, ceph.OSD{ID: id, Status: "up"})
	}
	return osds
}

func TestOSDsToAsk(t *testing.T) {
	tests := map[string]struct {
		osds     []ceph.OSD
		shadows  []ceph.ConfigEntry
		count    int
		included []int
	}{
		"none":                   {nil, nil, 0, nil},
		"a few, all of them":     {osdsUp(32), nil, 32, []int{0, 31}},
		"without those down":     {append(osdsUp(2), ceph.OSD{ID: 2, Status: "down"}), nil, 2, []int{0, 1}},
		"one more than are few":  {osdsUp(33), nil, 32, nil},
		"many, some of them":     {osdsUp(1000), nil, 32, []int{0, 31, 500}},
		"with those of interest": {osdsUp(1000), []ceph.ConfigEntry{{Section: "osd.777"}, {Section: "osd"}, {Section: "osd.5000"}}, 32, []int{777}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := osdsToAsk(test.osds, test.shadows, 0)
			if len(got) != test.count || !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != test.count {
				t.Errorf("chose %v, want %d", got, test.count)
			}
			for _, id := range test.included {
				if !slices.Contains(got, id) {
					t.Errorf("%d is not among %v", id, got)
				}
			}
		})
	}
	seen := map[int]bool{}
	for turn := range 32 {
		for _, id := range osdsToAsk(osdsUp(1000), nil, turn) {
			seen[id] = true
		}
	}
	if len(seen) < 990 {
		t.Errorf("%d of 1000 OSDs are asked in 32 turns, want nearly all", len(seen))
	}
}
