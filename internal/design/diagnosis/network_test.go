package diagnosis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/task"
)

// wired returns a healthy cluster whose client ran on node-0, beside osd.0. In each of 18 windows, it connected five times to
// each OSD, with this round trip in milliseconds. Operations take 1 ms.
func wired(milliseconds ...float64) Facts {
	f := healthy(len(milliseconds))
	f.Host = &Host{Node: "node-0"}
	for range 18 {
		var trips []task.RoundTrip
		for id, ms := range milliseconds {
			trips = append(trips, task.RoundTrip{OSD: id, Connects: 5, MedianSeconds: ms / 1000, SegmentBytes: 8948, PathMTUBytes: 9000})
		}
		f.Host.RoundTrips = append(f.Host.RoundTrips, trips)
	}
	f.Layers = []v1alpha1.OperationTime{{Operation: v1alpha1.LayeredWrite, Seconds: "0.001"}}
	return f
}

func TestNetwork(t *testing.T) {
	even := []float64{0.02, 0.2, 0.2, 0.21, 0.19}
	each := func(change func(window int, trips []task.RoundTrip)) func(*Facts) {
		return func(f *Facts) {
			for i, trips := range f.Host.RoundTrips {
				change(i, trips)
			}
		}
	}
	network := func(share, low string) func(*Facts) {
		return func(f *Facts) {
			f.Layers[0].Network = &v1alpha1.OperationLayer{Seconds: "0.0004", Share: v1alpha1.Decimal(share), Low: v1alpha1.Decimal(low), High: "0.5"}
		}
	}
	for name, tc := range map[string]struct {
		milliseconds []float64
		plant        func(*Facts)
		code         string
		sure         v1alpha1.Confidence
		evidence     string
	}{
		"an even network, and an OSD on the client's node": {milliseconds: even},
		"one OSD is far": {
			milliseconds: []float64{0.02, 0.2, 0.2, 0.5, 0.2}, code: "SlowRoundTrip", sure: likely,
			evidence: "osd.3 on node-3: 0.50 ms, others 0.20 ms; 2.5 times (2.5 to 2.5), in 18 windows",
		},
		"one OSD is farther by less than matters":       {milliseconds: []float64{0.02, 0.02, 0.02, 0.06, 0.02}},
		"of two OSDs on other nodes, none is the other": {milliseconds: []float64{0.02, 0.2, 0.9}},
		"the nodes of OSDs are unknown":                 {milliseconds: []float64{0.02, 0.2, 0.2, 0.9, 0.2}, plant: func(f *Facts) { f.Devices = f.Devices[:3] }},
		"no operation was timed":                        {milliseconds: []float64{0.02, 0.2, 0.2, 0.9, 0.2}, plant: func(f *Facts) { f.Layers = nil }},
		"three windows":                                 {milliseconds: []float64{0.02, 0.2, 0.2, 0.9, 0.2}, plant: func(f *Facts) { f.Host.RoundTrips = f.Host.RoundTrips[:3] }},
		"much of a write":                               {milliseconds: even, plant: network("0.4", "0.3"), code: "SlowRoundTrip", sure: possible, evidence: "0.40 ms, by TCP handshakes"},
		"maybe much of a write":                         {milliseconds: even, plant: network("0.4", "0.2")},
		"much of a write on one node":                   {milliseconds: []float64{0.2}, plant: network("0.4", "0.3")},
		"connects of one OSD are lost": {
			milliseconds: even, code: "NetworkLoss", sure: likely, evidence: "osd.2 on node-2: 6 of 90 connects",
			plant: each(func(i int, trips []task.RoundTrip) {
				if i%3 == 0 {
					trips[2].Lost = 1
				}
			}),
		},
		"an OSD never answers": {milliseconds: []float64{0.02, 0.2, 0, 0.21, 0.19}, plant: each(func(_ int, trips []task.RoundTrip) {
			trips[2].Lost, trips[2].SegmentBytes = 5, 0
		})},
		"an OSD gets another address": {milliseconds: even, plant: each(func(i int, trips []task.RoundTrip) {
			if i > 6 {
				trips[2].Lost, trips[2].MedianSeconds = 5, 0
			}
		})},
		"an OSD does not answer for some windows": {
			milliseconds: even, code: "NetworkLoss", sure: likely, evidence: "osd.2 on node-2: 10 of 90 connects",
			plant: each(func(i int, trips []task.RoundTrip) {
				if i == 7 || i == 8 {
					trips[2].Lost, trips[2].MedianSeconds = 5, 0
				}
			}),
		},
		"one connect is lost to each OSD": {
			milliseconds: even, code: "NetworkLoss", sure: likely, evidence: "all OSDs together: 4 of 360",
			plant: each(func(i int, trips []task.RoundTrip) { trips[1+i%4].Lost = min(1, 4/(i+1)) }),
		},
		"one connect is lost":      {milliseconds: even, plant: func(f *Facts) { f.Host.RoundTrips[4][3].Lost = 1 }},
		"connects of the own node": {milliseconds: even, plant: each(func(_ int, trips []task.RoundTrip) { trips[0].Lost, trips[0].SegmentBytes = 5, 65483 })},
		"an OSD on the client's host, whose name differs": {milliseconds: even, plant: each(func(_ int, trips []task.RoundTrip) {
			trips[1].SegmentBytes, trips[1].PathMTUBytes = 65483, 65536
		})},
		"an OSD refuses after it moved": {milliseconds: even, plant: each(func(_ int, trips []task.RoundTrip) { trips[3].Failed, trips[3].MedianSeconds = 5, 0 })},
		"a small MTU": {
			milliseconds: even, code: "MTUMismatch", sure: likely, evidence: "segments of 1448 bytes, path MTU 1500: 1 OSDs, such as osd.3 on node-3; segments of 8948",
			plant: each(func(_ int, trips []task.RoundTrip) { trips[3].SegmentBytes, trips[3].PathMTUBytes = 1448, 1500 }),
		},
		"a host without timestamps of TCP": {milliseconds: even, plant: each(func(_ int, trips []task.RoundTrip) { trips[3].SegmentBytes = 8960 })},
		"a forged client": {milliseconds: even, plant: each(func(_ int, trips []task.RoundTrip) {
			trips[1].Lost, trips[2].Connects, trips[3].MedianSeconds, trips[4].OSD = 90, 1<<40, 1e9, 99
		})},
	} {
		t.Run(name, func(t *testing.T) {
			f := wired(tc.milliseconds...)
			if tc.plant != nil {
				tc.plant(&f)
			}
			wantOnly(t, Judge(f), tc.code, tc.sure, tc.evidence)
		})
	}
}

// refused returns the facts with these OSDs refusing connects.
func refused(f Facts, osds ...int) Facts {
	for _, trips := range f.Host.RoundTrips {
		for _, osd := range osds {
			trips[osd].Failed = trips[osd].Connects
		}
	}
	return f
}

// What could not be seen is said, and not called checked.
func TestUncheckedNetwork(t *testing.T) {
	for name, tc := range map[string]struct {
		facts     Facts
		checked   int
		unchecked string
	}{
		"no client":           {healthy(3), 0, "The network between nodes: round trip, loss and MTU. Only slow heartbeats, which Ceph reports, would have been found."},
		"one node":            {wired(0.02), 0, "The network between nodes: no OSD is known to be on another one than node-0, where the client ran."},
		"two OSDs elsewhere":  {wired(0.02, 0.2, 0.2), 2, "The network between OSDs, and whether large packets pass: handshakes were timed with 2 OSDs only, too few to compare."},
		"one OSD elsewhere":   {wired(0.02, 0.2), 1, "The network between OSDs, and whether large packets pass: handshakes were timed with 1 OSDs only, too few to compare."},
		"four OSDs elsewhere": {wired(0.02, 0.2, 0.2, 0.2, 0.2), 3, "The network between OSDs, and whether large packets pass: handshakes were timed with 4 OSDs only."},
		"no OSD answered":     {refused(wired(0.02, 0, 0), 1, 2), 0, "The network between nodes: no OSD answered handshakes of node node-0, where the client ran."},
		"one OSD refused": {
			refused(wired(0.02, 0.2, 0.2, 0.2, 0), 4), 3,
			"The network between OSDs, and whether large packets pass: handshakes were timed with 3 OSDs only; 1 more did not answer.",
		},
	} {
		n := 0
		r := Judge(tc.facts)
		for _, code := range r.Checked {
			if code == "SlowRoundTrip" || code == "NetworkLoss" || code == "MTUMismatch" {
				n++
			}
		}
		if diff := cmp.Diff(tc.unchecked, uncheckedNetwork(tc.facts)); diff != "" || n != tc.checked {
			t.Errorf("%s: %d codes checked, %s", name, n, diff)
		}
	}
}

// Round trips of equal paths scatter, and some hosts stay slower by tens of percent. OSDs are seldom named unless their path
// is much longer.
func TestSimulatedRoundTrips(t *testing.T) {
	const worlds = 300
	random := rand.New(rand.NewPCG(7, 1))
	named := func(osds int, factor, spread, noise float64) float64 {
		n := 0
		for range worlds {
			f := wired(make([]float64, osds)...)
			typical := make([]float64, osds)
			for id := range typical {
				typical[id] = 0.2e-3 * math.Exp(spread*random.NormFloat64())
			}
			typical[1] *= factor
			for _, trips := range f.Host.RoundTrips {
				for id := range trips {
					trips[id].MedianSeconds = typical[id] * math.Exp(noise*random.NormFloat64())
				}
			}
			if slowRoundTrip(f) != nil {
				n++
			}
		}
		return float64(n) / worlds
	}
	for _, tc := range []struct {
		osds                  int
		factor, spread, noise float64
		least, most           float64
	}{
		{osds: 4, factor: 1, spread: 0.1, noise: 0.3, most: 0.01},
		{osds: 32, factor: 1, spread: 0.1, noise: 0.3, most: 0.01},
		{osds: 32, factor: 1, spread: 0.1, noise: 0.8, most: 0.01},
		{osds: 4, factor: 3, spread: 0.1, noise: 0.3, least: 0.95, most: 1},
		{osds: 32, factor: 3, spread: 0.1, noise: 0.3, least: 0.95, most: 1},
	} {
		share := named(tc.osds, tc.factor, tc.spread, tc.noise)
		if t.Logf("%+v: %.3f", tc, share); share < tc.least || share > tc.most {
			t.Errorf("%+v: named in %.3f", tc, share)
		}
	}
}

func TestPeers(t *testing.T) {
	f := Facts{OSDMap: &ceph.OSDMap{}}
	if got := f.Peers(); got != nil {
		t.Errorf("%+v", got)
	}
	for id := range 70 {
		f.OSDMap.OSDs = append(f.OSDMap.OSDs, ceph.OSDState{ID: id, Up: id != 1, Address: "10.0.0.1:6800"})
	}
	f.OSDMap.OSDs[2].Address = ""
	f.OSDMap.OSDs[3].Address = "169.254.169.254:6800"
	if got := f.Peers(); len(got) != task.MostPeers || got[0].OSD != 0 || got[1].OSD != 4 {
		t.Errorf("%d: %+v", len(got), got)
	}
	for id := range 70 { // The first 40 are on one host.
		f.Devices = append(f.Devices, ceph.OSDDevice{ID: id, Host: fmt.Sprint(max(id, 39))})
	}
	if got := f.Peers(); len(got) != task.MostPeers || got[0].OSD != 0 || got[1].OSD != 40 || got[30].OSD != 69 || got[31].OSD != 4 {
		t.Errorf("%d: %+v", len(got), got)
	}
}

// The round trip of an operation is that to the primary of its placement group, and is shown beside the layers.
func TestRoundTrip(t *testing.T) {
	pgs := []ceph.PG{{Primary: 0}, {Primary: 0}, {Primary: 0}, {Primary: 1}, {Primary: 2}}
	trips := []task.RoundTrip{{OSD: 0, Connects: 1, MedianSeconds: 0.1e-3}, {OSD: 1, Connects: 1, MedianSeconds: 0.5e-3}, {OSD: 2, Connects: 1, Lost: 1}}
	if got := RoundTrip(trips, pgs); math.Abs(got-0.2e-3) > 1e-9 || RoundTrip(nil, pgs) != 0 {
		t.Errorf("%v", got)
	}
	windows := typicalLayers().windows(1)
	if got := write(t, windows); got.Network != nil {
		t.Errorf("%+v", got.Network)
	}
	for i := range windows {
		windows[i].RoundTripSeconds = 0.2e-3
	}
	got := write(t, windows)
	if n := got.Network; n == nil || math.Abs(number(n.Seconds)-0.2e-3) > 1e-8 || number(n.Share) < 0.05 || number(n.Share) > 0.12 || number(n.Low) >= number(n.Share) || len(got.Layers) != 6 {
		t.Errorf("%+v", got)
	}
}

// The round trips of two diagnoses are compared.
func TestRoundTripChanges(t *testing.T) {
	windows := typicalLayers().windows(1)
	for i := range windows {
		windows[i].RoundTripSeconds = 0.2e-3
	}
	before := inLayers(slices.Clone(windows))
	for i := range windows {
		windows[i].RoundTripSeconds = 0.5e-3
	}
	changes, err := LayerChanges(before, inLayers(windows))
	isNetwork := func(c LayerChange) bool { return c.Layer == LayerNetwork && math.Abs(c.Difference-0.3e-3) < 1e-9 }
	if i := slices.IndexFunc(changes, isNetwork); err != nil || i < 0 || changes[i].Low <= 0 {
		t.Errorf("%v, %+v", err, changes)
	}
}
