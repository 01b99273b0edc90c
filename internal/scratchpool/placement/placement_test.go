package placement

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// hosts returns OSDs that are up and in, with these numbers of OSDs per host.
func hosts(counts ...int) []ceph.OSDLocation {
	var all []ceph.OSDLocation
	for host, count := range counts {
		for range count {
			all = append(all, ceph.OSDLocation{
				ID: len(all), DeviceClass: "ssd", Up: true, In: true,
				Buckets: map[string]string{"host": fmt.Sprintf("node-%d", host), "root": "default"},
			})
		}
	}
	return all
}

func but(all []ceph.OSDLocation, change func([]ceph.OSDLocation)) []ceph.OSDLocation {
	change(all)
	return all
}

func TestChoose(t *testing.T) {
	one := func(copies, pgs int) []Pool { return []Pool{{Copies: copies, PGs: pgs}} }
	for name, tc := range map[string]struct {
		osds    []ceph.OSDLocation
		request Request
		want    string // OSDs by number; if there are none, a part of the refusal
	}{
		"all OSDs": {hosts(1, 1, 1), Request{Count: 3, Pools: one(3, 8), FailureDomain: "host"}, "[0 1 2]"},
		"one of one host, with the failure domain OSD": {
			hosts(1), Request{Count: 1, Pools: one(1, 8), FailureDomain: "osd"}, "[0]",
		},
		"the OSD that is down is not drawn": {
			but(hosts(1, 1, 1), func(o []ceph.OSDLocation) { o[1].Up = false }), Request{Count: 2, Pools: one(1, 8), FailureDomain: "host"}, "[0 2]",
		},
		"nor the one that is out": {
			but(hosts(1, 1, 1), func(o []ceph.OSDLocation) { o[2].In = false }), Request{Count: 2, Pools: one(1, 8), FailureDomain: "host"}, "[0 1]",
		},
		"nor one of another class": {
			but(hosts(1, 1, 1), func(o []ceph.OSDLocation) { o[0].DeviceClass = "hdd" }),
			Request{Count: 2, Pools: one(1, 8), FailureDomain: "host", DeviceClass: "ssd"},
			"[1 2]",
		},
		"nor one of another root": {
			but(hosts(1, 1, 1), func(o []ceph.OSDLocation) { o[0].Buckets["root"] = "attic" }), Request{Count: 2, Pools: one(1, 8), FailureDomain: "host"}, "[1 2]",
		},
		"a root of another name, if it is the only one": {
			but(hosts(1, 1), func(o []ceph.OSDLocation) { o[0].Buckets["root"], o[1].Buckets["root"] = "attic", "attic" }),
			Request{Count: 2, Pools: one(1, 8), FailureDomain: "host"},
			"[0 1]",
		},
		"more than there are": {
			hosts(1, 1, 1), Request{Count: 4, Pools: one(1, 8), FailureDomain: "host"}, "OSDs requested for the pool: 4; OSDs that are up and in: 3; request fewer OSDs",
		},
		"more than there are of the class": {
			but(hosts(1, 1, 1), func(o []ceph.OSDLocation) { o[0].DeviceClass = "hdd" }),
			Request{Count: 3, Pools: one(1, 8), FailureDomain: "host", DeviceClass: "ssd"},
			"OSDs of device class ssd that are up and in: 2",
		},
		"of another class in another root": {
			but(hosts(1, 1, 1), func(o []ceph.OSDLocation) { o[0].Buckets["root"], o[0].DeviceClass = "attic", "hdd" }), Request{Count: 2, Pools: one(1, 8), FailureDomain: "host"}, "[1 2]",
		},
		"of two classes at once": {
			but(hosts(1, 1, 1), func(o []ceph.OSDLocation) { o[0].DeviceClass = "hdd" }), Request{Count: 3, Pools: one(1, 8), FailureDomain: "host"}, "different device classes (hdd, ssd)",
		},
		"more copies than OSDs": {
			hosts(1, 1, 1), Request{Count: 2, Pools: one(3, 8), FailureDomain: "host"}, "OSDs requested for the pool: 2; its copies or chunks: 3",
		},
		"more copies than hosts": {
			hosts(3), Request{Count: 3, Pools: one(2, 8), FailureDomain: "host"}, "in only 1: use failureDomain osd",
		},
		"the second of two pools": {
			hosts(3, 3), Request{Count: 4, Pools: []Pool{{Copies: 2, PGs: 8}, {Copies: 3, PGs: 8}}, FailureDomain: "host"}, "3 copies or chunks need as many failure domains of type host",
		},
		"fewer placement groups than OSDs": {
			hosts(2, 2), Request{Count: 4, Pools: one(1, 2), FailureDomain: "host"}, "pg_num 2 and size 1 cannot use all of 4 OSDs",
		},
		"a number of placement groups that is not known": {hosts(2, 2), Request{Count: 4, Pools: one(1, 0), FailureDomain: "host"}, "[0 1 2 3]"},
		"a failure domain that there is not":             {hosts(2, 2), Request{Count: 2, Pools: one(1, 8), FailureDomain: "rack"}, "no OSD is in a CRUSH bucket of type rack"},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, err := Choose(tc.osds, tc.request)
			if problem, refused := errors.AsType[*Error](err); refused {
				if strings.HasPrefix(tc.want, "[") || !strings.Contains(problem.Message, tc.want) {
					t.Errorf("refused: %q, want %q", problem.Message, tc.want)
				}
				return
			}
			if got := fmt.Sprint(chosen.Sorted()); err != nil || got != tc.want {
				t.Errorf("chosen %s, %v, want %s", got, err, tc.want)
			}
		})
	}
}

// A smaller draw must be the beginning of a larger one, so that levels in a block differ only by
// added OSDs. The first OSDs must be on different hosts.
func TestDrawsAreNestedAndInTurn(t *testing.T) {
	osds := hosts(3, 3, 2)
	for seed := range int64(20) {
		var before []int
		for count := 1; count <= len(osds); count++ {
			chosen, err := Choose(osds, Request{Count: count, Pools: []Pool{{Copies: 1, PGs: 16}}, FailureDomain: "host", Seed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if len(chosen.IDs) != count || !slices.Equal(chosen.IDs[:count-1], before) {
				t.Fatalf("seed %d: %d OSDs are %v, and one less %v", seed, count, chosen.IDs, before)
			}
			used := map[string]int{}
			for _, id := range chosen.IDs {
				used[chosen.domain[id]]++
			}
			if count >= 3 && len(used) != 3 {
				t.Errorf("seed %d: %v are on %d hosts, want all three", seed, chosen.IDs, len(used))
			}
			before = chosen.IDs
		}
	}
}

// Every OSD must be drawn first about equally often, and the same seed must always have the same
// draw.
func TestDrawsAreFair(t *testing.T) {
	request := Request{Count: 1, Pools: []Pool{{Copies: 1, PGs: 8}}, FailureDomain: "osd"}
	first := map[int]int{}
	const draws = 600
	for seed := range int64(draws) {
		request.Seed = seed
		chosen, err := Choose(hosts(3), request)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Choose(hosts(3), request)
		if err != nil || !slices.Equal(chosen.IDs, again.IDs) {
			t.Fatalf("seed %d draws %v and then %v, %v", seed, chosen.IDs, again.IDs, err)
		}
		first[chosen.IDs[0]]++
	}
	for osd := range 3 {
		// Six standard deviations of a binomial with a third: one in a billion.
		if n := first[osd]; n < draws/3-70 || n > draws/3+70 {
			t.Errorf("osd.%d was drawn first %d times of %d", osd, n, draws)
		}
	}
}

func TestSpread(t *testing.T) {
	for name, tc := range map[string]struct {
		osds          []ceph.OSDLocation
		count, copies int
		domain        string
		pgs           int
		// least and most are the smallest and largest number of placement groups of an OSD.
		// leastFirst and mostFirst count those of which the OSD is the primary.
		least, most, leastFirst, mostFirst int
	}{
		"one OSD":                           {hosts(3), 1, 1, "osd", 8, 8, 8, 8, 8},
		"two OSDs, one copy":                {hosts(3), 2, 1, "osd", 8, 4, 4, 4, 4},
		"three OSDs, one copy":              {hosts(3), 3, 1, "osd", 8, 2, 3, 2, 3},
		"three OSDs, two copies":            {hosts(3), 3, 2, "osd", 9, 6, 6, 3, 3},
		"three hosts, three copies":         {hosts(1, 1, 1), 3, 3, "host", 32, 32, 32, 10, 11},
		"six OSDs of three hosts":           {hosts(2, 2, 2), 6, 3, "host", 32, 16, 16, 5, 6},
		"nine OSDs of three hosts":          {hosts(3, 3, 3), 9, 2, "host", 36, 8, 8, 4, 4},
		"hosts that cannot share evenly":    {hosts(2, 1, 1), 4, 3, "host", 16, 8, 16, 4, 4},
		"chunks on more OSDs than they are": {hosts(1, 1, 1, 1, 1), 5, 3, "host", 20, 12, 12, 4, 4},
	} {
		t.Run(name, func(t *testing.T) {
			chosen, err := Choose(tc.osds, Request{Count: tc.count, Pools: []Pool{{Copies: tc.copies, PGs: tc.pgs}}, FailureDomain: tc.domain, Seed: 7})
			if err != nil {
				t.Fatal(err)
			}
			load, first := map[int]int{}, map[int]int{}
			for i, pg := range chosen.Spread(Pool{Copies: tc.copies, PGs: tc.pgs}) {
				domains := map[string]bool{}
				for _, osd := range pg.OSDs {
					load[osd]++
					domains[chosen.domain[osd]] = true
				}
				first[pg.OSDs[0]]++
				if pg.Number != i || len(pg.OSDs) != tc.copies || len(domains) != tc.copies {
					t.Errorf("placement group %d is %+v, in %d failure domains, want %d copies apart", i, pg, len(domains), tc.copies)
				}
			}
			for _, osd := range chosen.IDs {
				if load[osd] < tc.least || load[osd] > tc.most || first[osd] < tc.leastFirst || first[osd] > tc.mostFirst {
					t.Errorf("osd.%d has %d placement groups and is first of %d, want %d to %d, and %d to %d",
						osd, load[osd], first[osd], tc.least, tc.most, tc.leastFirst, tc.mostFirst)
				}
			}
			if len(load) != tc.count {
				t.Errorf("%d OSDs are used, want %d", len(load), tc.count)
			}
		})
	}
}

func TestMissing(t *testing.T) {
	pool := ceph.Pool{ID: 5, Name: "cephtune-scratch", Size: 2, PGNum: 5}
	wanted := []ceph.PGPlacement{
		{Number: 0, OSDs: []int{1, 2}}, {Number: 1, OSDs: []int{2, 1}}, {Number: 2, OSDs: []int{1, 2}}, {Number: 3, OSDs: []int{2, 1}}, {Number: 4, OSDs: []int{1, 2}},
	}
	osdMap := &ceph.OSDMap{PGUpmaps: map[string][]int{"5.0": {1, 2}, "5.1": {1, 2}, "4.2": {1, 2}}}
	sent := map[string][]int{"5.1": {2, 1}, "5.3": {1, 2}, "5.4": {1, 2}}
	var got []int
	for _, p := range Missing(pool, wanted, osdMap, sent) {
		got = append(got, p.Number)
	}
	// PG 0 is in the map as wanted. 4 was sent and equals CRUSH's mapping, so the map needs no
	// entry. Another user has moved 1, 2 was not sent, and 3 was sent with other OSDs.
	if diff := cmp.Diff([]int{1, 2, 3}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestWrong(t *testing.T) {
	pool := ceph.Pool{ID: 5, Name: "cephtune-scratch", Size: 2, PGNum: 2}
	two := func(a, b []int) []ceph.PG {
		return []ceph.PG{{ID: "4.0", PoolID: 4, Acting: []int{9}}, {ID: "5.0", PoolID: 5, Acting: a}, {ID: "5.1", PoolID: 5, Acting: b}}
	}
	for name, tc := range map[string]struct {
		pgs  []ceph.PG
		osds []int
		want string
	}{
		"as wanted":                    {two([]int{0, 2}, []int{2, 0}), []int{0, 2}, ""},
		"on another OSD":               {two([]int{0, 2}, []int{2, 1}), []int{0, 2}, "placement group 5.1 is on osd.1, which is not among the 2 OSDs"},
		"on fewer":                     {two([]int{0, 2}, []int{2, 0}), []int{0, 1, 2}, "osd.1 has no placement group"},
		"a copy is missing":            {two([]int{0}, []int{2, 0}), []int{0, 2}, "placement group 5.0 is on 1 OSDs, not on 2"},
		"a placement group is missing": {two([]int{0, 2}, []int{2, 0})[:2], []int{0, 2}, "OSDs for only 1 of the 2 placement groups"},
		"nothing is known":             {nil, []int{0, 2}, "OSDs for only 0 of the 2 placement groups"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CheckConfined(pool, tc.pgs, tc.osds); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
		})
	}
	for name, tc := range map[string]struct {
		pgs  []ceph.PG
		want string
	}{
		"inside":                       {two([]int{0, 2}, []int{2, 0}), ""},
		"on some of them":              {two([]int{0, 2}, []int{0, 2}), ""},
		"with one copy outside":        {two([]int{0, 2}, []int{2, 7}), "placement group 5.1 of pool cephtune-scratch is on osd.7"},
		"a placement group is missing": {two([]int{0, 2}, []int{2, 0})[:2], "OSDs for only 1 of the 2 placement groups"},
	} {
		if got := Outside(pool, tc.pgs, []int{0, 1, 2}); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: it says %q, want %q", name, got, tc.want)
		}
	}
	if got := Used(pool, two([]int{0, 2}, []int{2, 0}), []int{0, 1, 2}); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("used are %v, want 0 and 2", got)
	}
}

func TestRequestOf(t *testing.T) {
	pg := map[string]v1alpha1.ParameterValue{"pg_num": "16"}
	for name, tc := range map[string]struct {
		pool v1alpha1.ScratchPool
		want Request
	}{
		"copies": {
			v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 2}, FailureDomain: "osd", DeviceClass: "hdd", Parameters: pg, OSDSelection: &v1alpha1.OSDSelection{Count: 3, Seed: new(int64(9))}},
			Request{Count: 3, Pools: []Pool{{Copies: 2, PGs: 16}}, FailureDomain: "osd", DeviceClass: "hdd", Seed: 9},
		},
		"chunks, with metadata": {
			v1alpha1.ScratchPool{
				ErasureCoded: &v1alpha1.ErasureCodedPool{DataChunks: 2, CodingChunks: 1, Metadata: v1alpha1.MetadataPool{Size: 3}},
				Parameters:   pg, OSDSelection: &v1alpha1.OSDSelection{Count: 4},
			},
			Request{Count: 4, Pools: []Pool{{Copies: 3, PGs: 16}, {Copies: 3}}, FailureDomain: "host"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, RequestOf(tc.pool)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestUnderstood(t *testing.T) {
	for release, fine := range map[string]bool{"jewel": false, "kraken": false, "luminous": true, "reef": true, "": true, "unknown": true} {
		if err := SupportsUpmap(&ceph.OSDMap{MinCompatClient: release}); (err == nil) != fine {
			t.Errorf("clients of %q: %v, want it possible: %t", release, err, fine)
		}
	}
}

func TestApart(t *testing.T) {
	pools := func(copies ...int) []Pool {
		var all []Pool
		for _, n := range copies {
			all = append(all, Pool{Copies: n})
		}
		return all
	}
	for name, tc := range map[string]struct {
		osds    []ceph.OSDLocation
		request Request
		want    string // a part of the refusal; "" for none
	}{
		"a host for each copy": {hosts(2, 2, 2), Request{Pools: pools(3), FailureDomain: "host"}, ""},
		"three copies on two hosts": {
			hosts(3, 3),
			Request{Pools: pools(3), FailureDomain: "host"},
			"3 copies or chunks need as many failure domains of type host, but the OSDs are in only 2: set scratchPool.failureDomain to a level that has enough, such as osd",
		},
		"the same, apart by OSD": {hosts(3, 3), Request{Pools: pools(3), FailureDomain: "osd"}, ""},
		"more copies than OSDs":  {hosts(2), Request{Pools: pools(3), FailureDomain: "osd"}, "in only 2:"},
		"chunks that fit, metadata that do not": {
			hosts(1, 1), Request{Pools: pools(2, 3), FailureDomain: "host"}, "3 copies or chunks",
		},
		"hosts of another device class do not count": {
			but(hosts(1, 1, 1), func(o []ceph.OSDLocation) { o[0].DeviceClass = "hdd" }),
			Request{Pools: pools(3), FailureDomain: "host", DeviceClass: "ssd"},
			"the OSDs of device class ssd are in only 2:",
		},
		"any class will do": {
			but(hosts(1, 1, 1), func(o []ceph.OSDLocation) { o[0].DeviceClass = "hdd" }), Request{Pools: pools(3), FailureDomain: "host"}, "",
		},
		"a host that is down comes back": {
			but(hosts(1, 1, 1), func(o []ceph.OSDLocation) { o[0].Up, o[0].In = false, false }), Request{Pools: pools(3), FailureDomain: "host"}, "",
		},
		"a host of another root": {
			but(hosts(1, 1, 1), func(o []ceph.OSDLocation) { o[0].Buckets["root"] = "attic" }), Request{Pools: pools(3), FailureDomain: "host"}, "in only 2:",
		},
		"a pool in another root": {
			but(hosts(1, 1, 1), func(o []ceph.OSDLocation) { o[0].Buckets["root"] = "attic" }), Request{Pools: pools(1), FailureDomain: "host", Root: "attic"}, "",
		},
		"too few hosts in that root": {
			but(hosts(1, 1, 1), func(o []ceph.OSDLocation) { o[0].Buckets["root"] = "attic" }), Request{Pools: pools(2), FailureDomain: "host", Root: "attic"}, "in only 1:",
		},
		"a root that there is not": {
			hosts(1, 1, 1), Request{Pools: pools(1), FailureDomain: "host", Root: "attic"}, "no OSD is in the CRUSH root attic: set scratchPool.crushRoot to a root that `ceph osd tree` shows",
		},
		"a level that there is not":                  {hosts(1, 1, 1), Request{Pools: pools(1), FailureDomain: "zone"}, "no OSD is in a CRUSH bucket of type zone"},
		"a class that there is not, asked elsewhere": {hosts(1, 1, 1), Request{Pools: pools(3), FailureDomain: "host", DeviceClass: "nvme"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			err := Apart(tc.osds, tc.request)
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q", err, tc.want)
			}
			if _, ok := errors.AsType[*Error](err); err != nil && !ok {
				t.Errorf("%T is not for the user", err)
			}
		})
	}
}

// Scratch pools are in one root, so OSDs of other roots neither store their data nor limit it.
func TestUsableOSDs(t *testing.T) {
	osds := []ceph.OSD{{ID: 0}, {ID: 1}, {ID: 2}}
	in := func(id int, root string) ceph.OSDLocation {
		return ceph.OSDLocation{ID: id, Buckets: map[string]string{"root": root}}
	}
	both := func(osd ceph.OSDLocation, root string) ceph.OSDLocation {
		osd.Elsewhere = []map[string]string{{"root": root}}
		return osd
	}
	for name, tc := range map[string]struct {
		tree []ceph.OSDLocation
		root string
		want []int
	}{
		"two roots":        {[]ceph.OSDLocation{in(0, "default"), in(1, "fast"), in(2, "default")}, "", []int{0, 2}},
		"the other root":   {[]ceph.OSDLocation{in(0, "default"), in(1, "fast"), in(2, "default")}, "fast", []int{1}},
		"an OSD in both":   {[]ceph.OSDLocation{both(in(0, "default"), "fast"), in(1, "fast"), in(2, "default")}, "fast", []int{0, 1}},
		"one other root":   {[]ceph.OSDLocation{in(0, "fast"), in(1, "fast"), in(2, "fast")}, "", []int{0, 1, 2}},
		"a root of no OSD": {[]ceph.OSDLocation{in(0, "fast"), in(1, "fast"), in(2, "fast")}, "attic", nil},
		"no tree":          {nil, "fast", []int{0, 1, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []int
			for _, osd := range UsableOSDs(osds, tc.tree, v1alpha1.ScratchPool{CrushRoot: tc.root}) {
				got = append(got, osd.ID)
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}
