package slowosd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
)

var start = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// during returns a phase of half a minute with these latencies of OSDs in milliseconds: one list
// for each sample, ten seconds apart.
func during(looks ...[]float64) Phase {
	p := Phase{Start: start, End: start.Add(30 * time.Second)}
	for i, look := range looks {
		sample := archive.OSDSample{Time: start.Add(time.Duration(5+10*i) * time.Second)}
		for id, milliseconds := range look {
			sample.OSDs = append(sample.OSDs, ceph.OSDLatency{ID: id, CommitSeconds: milliseconds / 1000})
		}
		p.Samples = append(p.Samples, sample)
	}
	placement := archive.Placement{Pool: "cephtune-scratch"}
	for id := range looks[0] {
		p.OSDs = append(p.OSDs, ceph.OSD{ID: id, DeviceClass: "ssd"})
		placement.OSDs = append(placement.OSDs, archive.OSDShare{ID: id, PGs: 32})
	}
	p.Placement = []archive.Placement{placement}
	return p
}

// steady returns a phase with the same latencies in each sample.
func steady(milliseconds ...float64) Phase { return during(milliseconds, milliseconds, milliseconds) }

func with(p Phase, change func(*Phase)) Phase {
	change(&p)
	return p
}

func TestFind(t *testing.T) {
	for name, tc := range map[string]struct {
		phase Phase
		want  string
	}{
		"all alike":                          {steady(4, 4.1, 3.9, 4.2), ""},
		"one far above":                      {steady(4, 4.1, 12, 4.2), "2"},
		"one far above, of three":            {steady(4, 12, 4.2), "1"},
		"one far above, of two":              {steady(4, 12), ""},
		"one far below is no slow one":       {steady(4, 4.1, 0.5, 4.2), ""},
		"a third more than peers that agree": {steady(10, 10, 13, 10), ""},
		"three fifths more":                  {steady(10, 10, 16, 10), "2"},
		"as much more where peers scatter":   {steady(5, 10, 16, 14, 7), ""},
		"far above, of OSDs that do little":  {steady(0.1, 0.1, 1.5, 0.1), ""},
		"far above, by more than noise":      {steady(0.1, 0.1, 2.2, 0.1), "2"},
		"half of them are slow":              {steady(4, 4, 12, 12), ""},
		"two of five, the slower first":      {steady(4, 12, 4, 30, 4), "3 1"},
		"four of ten, with three named":      {steady(4, 4, 4, 4, 4, 4, 20, 21, 22, 23), "9 8 7"},
		"one blip is not the phase":          {during([]float64{4, 4, 4}, []float64{4, 90, 4}, []float64{4, 4, 4}), ""},
		"two of three looks are":             {during([]float64{4, 4, 4}, []float64{4, 90, 4}, []float64{4, 95, 4}), "1"},
		"one look is too few":                {during([]float64{4, 90, 4}), ""},
		"idle OSDs are no peers":             {steady(0, 0, 0, 4, 4), ""},
		"nothing was written":                {steady(0, 0, 0), ""},
		"the slow one is of another class": {
			with(steady(1, 1, 20, 1), func(p *Phase) { p.OSDs[2].DeviceClass = "hdd" }), "",
		},
		"each class has its own": {
			with(steady(1, 1, 20, 22, 21, 90), func(p *Phase) {
				for i := range p.OSDs[2:] {
					p.OSDs[i+2].DeviceClass = "hdd"
				}
			}), "5",
		},
		"an OSD without the target's placement groups": {
			with(steady(4, 4, 12, 4), func(p *Phase) { p.Placement[0].OSDs[2].PGs = 0 }), "",
		},
		"where the placement groups are is not known": {with(steady(4, 4, 12, 4), func(p *Phase) { p.Placement = nil }), "2"},
		"looks before and long after do not count": {
			with(steady(4, 12, 4), func(p *Phase) {
				p.Samples[0].Time, p.Samples[1].Time = start.Add(-time.Second), start.Add(36*time.Second)
			}), "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := fmt.Sprint(tc.phase)
			var ids []string
			for _, osd := range Find(tc.phase) {
				ids = append(ids, fmt.Sprint(osd.ID))
			}
			if got := strings.Join(ids, " "); got != tc.want {
				t.Errorf("%q are slow, want %q", got, tc.want)
			}
			if fmt.Sprint(tc.phase) != before {
				t.Error("its argument was changed")
			}
		})
	}
}

func TestSentenceAboutSlowOSDs(t *testing.T) {
	p := with(steady(4, 4, 12, 4), func(p *Phase) { p.Placement[0].OSDs[2].PGs = 60 })
	p.Placement = append(p.Placement, archive.Placement{Pool: "data", OSDs: []archive.OSDShare{{ID: 2, PGs: 4}}})
	want := archive.SlowOSD{ID: 2, DeviceClass: "ssd", CommitSeconds: 0.012, PeersSeconds: 0.004, Peers: 3, PGs: 64, PeersPGs: 32}
	if diff := cmp.Diff([]archive.SlowOSD{want}, Find(p)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// osd.1 may have been down for a moment: Ceph has not reported its I/O.
	p.IO = []ceph.OSDIO{
		{ID: 0, WriteOperationsPerSecond: 100, WriteBytesPerSecond: 4000},
		{ID: 2, WriteOperationsPerSecond: 190, ReadOperationsPerSecond: 110, WriteBytesPerSecond: 7600, ReadBytesPerSecond: 400},
		{ID: 3, WriteOperationsPerSecond: 80, ReadOperationsPerSecond: 70, WriteBytesPerSecond: 2000, ReadBytesPerSecond: 3000},
	}
	want.Work = &archive.Work{OperationsPerSecond: 300, PeersOperationsPerSecond: 150, BytesPerSecond: 8000, PeersBytesPerSecond: 5000}
	if diff := cmp.Diff([]archive.SlowOSD{want}, Find(p)); diff != "" {
		t.Errorf("with work, -want +got:\n%s", diff)
	}
	p.IO = p.IO[:1]
	if slow := Find(p); len(slow) != 1 || slow[0].Work != nil {
		t.Errorf("%+v are slow, want one of which nobody knows the work", slow)
	}
}

func TestInMost(t *testing.T) {
	slow := func(id int, seconds, peers float64) archive.SlowOSD {
		return archive.SlowOSD{ID: id, CommitSeconds: seconds, PeersSeconds: peers}
	}
	working := func(seconds, operations, peersOperations float64) archive.SlowOSD {
		osd := slow(3, seconds, 0.004)
		osd.Work = &archive.Work{OperationsPerSecond: operations, PeersOperationsPerSecond: peersOperations}
		return osd
	}
	run := func(phase v1alpha1.PhaseName, osds ...archive.SlowOSD) Named { return Named{phase: osds} }
	for name, tc := range map[string]struct {
		runs []Named
		want []v1alpha1.SlowOSD
	}{
		"no run":         {nil, nil},
		"the only run":   {[]Named{run("w", slow(3, 0.012, 0.004))}, []v1alpha1.SlowOSD{{OSD: 3, Phase: "w", CommitLatency: "0.012", PeersCommitLatency: "0.004", Runs: 1}}},
		"one run of two": {[]Named{run("w", slow(3, 0.012, 0.004)), run("w")}, nil},
		"two of three, another in one": {
			[]Named{run("w", slow(3, 0.012, 0.004)), run("w", slow(5, 1, 0.004)), run("w", slow(3, 0.016, 0.004))},
			[]v1alpha1.SlowOSD{{OSD: 3, Phase: "w", CommitLatency: "0.014", PeersCommitLatency: "0.004", Runs: 2}},
		},
		"the phase in which it stood out most": {
			[]Named{{"a": {slow(3, 0.012, 0.004)}, "b": {slow(3, 0.04, 0.004)}, "c": {slow(3, 0.04, 0.004)}}},
			[]v1alpha1.SlowOSD{{OSD: 3, Phase: "b", CommitLatency: "0.04", PeersCommitLatency: "0.004", Runs: 1}},
		},
		"the work of the runs that have it": {
			[]Named{run("w", working(0.012, 190, 100)), run("w", working(0.012, 210, 100)), run("w", slow(3, 0.012, 0.004)), run("w", working(0.012, 5, 0))},
			[]v1alpha1.SlowOSD{{OSD: 3, Phase: "w", CommitLatency: "0.012", PeersCommitLatency: "0.004", RelativeWork: "2", Runs: 4}},
		},
		"work to the hundredth": {
			[]Named{run("w", working(0.012, 2, 3))},
			[]v1alpha1.SlowOSD{{OSD: 3, Phase: "w", CommitLatency: "0.012", PeersCommitLatency: "0.004", RelativeWork: "0.67", Runs: 1}},
		},
		"the slowest three, over phases": {
			[]Named{{"a": {slow(1, 0.02, 0.01), slow(2, 0.03, 0.01)}, "b": {slow(3, 0.05, 0.01), slow(4, 0.04, 0.01)}}},
			[]v1alpha1.SlowOSD{
				{OSD: 3, Phase: "b", CommitLatency: "0.05", PeersCommitLatency: "0.01", Runs: 1},
				{OSD: 4, Phase: "b", CommitLatency: "0.04", PeersCommitLatency: "0.01", Runs: 1},
				{OSD: 2, Phase: "a", CommitLatency: "0.03", PeersCommitLatency: "0.01", Runs: 1},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 5 { // whatever the order of maps
				if diff := cmp.Diff(tc.want, InMost(tc.runs)); diff != "" {
					t.Fatalf("-want +got:\n%s", diff)
				}
			}
		})
	}
}

func TestSentence(t *testing.T) {
	osd := func(id int32) v1alpha1.SlowOSD {
		return v1alpha1.SlowOSD{OSD: id, Phase: "write-4m", CommitLatency: "0.012", PeersCommitLatency: "0.004", Runs: 1}
	}
	all := []v1alpha1.SlowOSD{osd(4), osd(1), osd(7)}
	for n, want := range []string{
		"",
		"osd.4 was slower than its peers: it took 12ms to commit in phase write-4m, they took 4ms.",
		"osd.4 was slower than its peers: it took 12ms to commit in phase write-4m, they took 4ms; so was osd.1.",
		"osd.4 was slower than its peers: it took 12ms to commit in phase write-4m, they took 4ms; so were osd.1 and osd.7.",
	} {
		if got := Sentence(slices.Clone(all[:n])); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	all[0].RelativeWork = "1.93"
	want := "osd.4 was slower than its peers: it took 12ms to commit in phase write-4m, they took 4ms, while it served 1.93 times their operations; so was osd.1."
	if got := Sentence(slices.Clone(all[:2])); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
