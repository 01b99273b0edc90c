package diagnosis

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// layered is a world in which writes and reads have known layers, in seconds.
type layered struct {
	client, queue, processing, store, others float64
	// storeClock is the factor by which BlueStore's clock is wrong, and outside what one copy adds outside of the OSD.
	storeClock, outside float64
	// noise is the standard deviation of the logarithm of what a window multiplies all layers with.
	noise float64
}

func typicalLayers() layered {
	return layered{client: 0.4e-3, queue: 0.1e-3, processing: 0.15e-3, store: 1.2e-3, others: 0.6e-3, storeClock: 1, noise: 0.2}
}

// windows returns what a client and OSDs would have counted in six rounds.
func (l layered) windows(seed uint64) []Window {
	random := rand.New(rand.NewPCG(seed, 1))
	var all []Window
	for round := range 6 {
		for _, copies := range []int{1, 3} {
			k := math.Exp(l.noise * random.NormFloat64())
			wait, client := l.others, l.client
			if copies == 1 {
				wait, client = 0, l.client+l.outside
			}
			n := int64(4000)
			average := func(seconds float64) ceph.Average {
				return ceph.Average{Count: n, Seconds: float64(n) * k * seconds * (1 + 0.02*random.NormFloat64())}
			}
			const submit = 0.1e-3
			processing := l.processing + l.store + wait
			w := Window{Round: round, Copies: copies, Writes: true, Operations: n - 3, MeanSeconds: k * (client + l.queue + processing)}
			w.Counted = ceph.OSDCounters{
				Write: average(l.queue + processing), WriteProcessing: average(processing), WritePreparing: average(l.processing + submit),
				Submit: average(submit), Commit: average(l.store * l.storeClock),
			}
			for _, a := range []*ceph.Average{&w.Counted.Submit, &w.Counted.Commit} {
				a.Count, a.Seconds = n*int64(copies), a.Seconds*float64(copies)
			}
			all = append(all, w)
		}
	}
	return all
}

func write(t *testing.T, windows []Window) v1alpha1.OperationTime {
	t.Helper()
	return Layers(3, windows)[0]
}

func shares(o v1alpha1.OperationTime) map[string]float64 {
	all := map[string]float64{}
	for _, l := range o.Layers {
		all[l.Code] = number(l.Share)
	}
	return all
}

// The layers come out as they are, they are the whole together, and the finding names the largest.
func TestLayersOfAWrite(t *testing.T) {
	got := write(t, typicalLayers().windows(1))
	want := map[string]float64{"Client": 0.163, "Queue": 0.041, "Processing": 0.061, "Store": 0.49, "OtherCopies": 0.245, "Unexplained": 0}
	sum := 0.0
	for code, share := range shares(got) {
		sum += share
		if math.Abs(share-want[code]) > 0.04 {
			t.Errorf("%s: %.3f, want %.3f", code, share, want[code])
		}
	}
	if math.Abs(sum-1) > 0.001 || !got.Explained || got.Rounds != 6 {
		t.Errorf("the shares are %.4f together: %+v", sum, got)
	}
	f := healthy(3)
	f.Layers = []v1alpha1.OperationTime{got}
	r := Judge(f)
	if diff := cmp.Diff([]string{"WriteTime"}, codes(r)); diff != "" || !strings.HasPrefix(r.Findings[0].Message, "The store takes 49 %") || Alarming(r) {
		t.Errorf("%s%+v", diff, r.Findings)
	}
	slow := typicalLayers()
	slow.others = 4e-3
	f.Layers = []v1alpha1.OperationTime{write(t, slow.windows(2))}
	if m := Judge(f).Findings[0].Message; !strings.HasPrefix(m, "The wait for other copies takes 67 %") {
		t.Error(m)
	}
}

// Nothing is named from clocks that contradict each other, or from windows with other work.
func TestLayersThatAreNotConfirmed(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*layered)
		windows func([]Window) []Window
		reason  string
	}{
		"stores measure less than OSDs wait": {change: func(l *layered) { l.storeClock = 0.6 }, reason: "clocks of OSDs and of their stores differ"},
		"stores measure more":                {change: func(l *layered) { l.storeClock = 1.4 }, reason: "clocks of OSDs and of their stores differ"},
		"one copy takes longer outside":      {change: func(l *layered) { l.outside = 0.6e-3 }, reason: "outside of OSDs differs"},
		"three rounds":                       {windows: func(w []Window) []Window { return w[:6] }, reason: "3 rounds count, and it takes 4"},
		"no window":                          {windows: func([]Window) []Window { return nil }, reason: "0 rounds count"},
		"another client writes": {windows: func(w []Window) []Window {
			for i := range w {
				w[i].Counted.Write.Count += 600
			}
			return w
		}, reason: "OSDs counted 4600 writes, and the client did 3997"},
		"one foreign write waits for seconds": {windows: func(w []Window) []Window {
			for i := range w {
				w[i].Counted.Write.Seconds += 15
			}
			return w
		}, reason: "writes took longer in OSDs than for the client"},
		"recovery writes": {windows: func(w []Window) []Window {
			for i := range w {
				w[i].Counted.Commit.Count += 4000
			}
			return w
		}, reason: "stores counted 16000 operations, and the client's writes need 11991"},
		"no OSD counted the few writes of a slow cluster": {windows: func(w []Window) []Window {
			for i := range w {
				w[i].Operations, w[i].Counted = 12, ceph.OSDCounters{}
			}
			return w
		}, reason: "OSDs counted 0 writes, and the client did 12: their reports came too late"},
		"others do an eighth of the few writes of a slow cluster": {windows: func(w []Window) []Window {
			for i := range w {
				copies := int64(w[i].Copies)
				w[i].Operations = 100
				w[i].Counted.Write.Count, w[i].Counted.Commit.Count = 113, 113*copies
			}
			return w
		}, reason: "OSDs counted 113 writes, and the client did 100: others were at work"},
		"OSDs that do not report when a write was prepared": {change: func(l *layered) { l.processing = 0.03e-3 }, windows: func(w []Window) []Window {
			for i := range w {
				w[i].Counted.WritePreparing = ceph.Average{}
			}
			return w
		}, reason: "OSDs counted 4000 writes, but 0 that were prepared"},
		"OSDs that do not report what they submit": {change: func(l *layered) { l.processing = 0.03e-3 }, windows: func(w []Window) []Window {
			for i := range w {
				w[i].Counted.Submit = ceph.Average{}
			}
			return w
		}, reason: "transactions, but counted 0 that were submitted"},
		"a window failed": {windows: func(w []Window) []Window {
			for i := range w {
				w[i].Fault = "osd.1 has restarted"
			}
			return w
		}, reason: "First fault: osd.1 has restarted"},
	} {
		t.Run(name, func(t *testing.T) {
			l := typicalLayers()
			if c.change != nil {
				c.change(&l)
			}
			w := l.windows(3)
			if c.windows != nil {
				w = c.windows(w)
			}
			got := write(t, w)
			if got.Explained || !strings.Contains(got.Reason, c.reason) {
				t.Errorf("%+v, want the reason %q", got, c.reason)
			}
			f := healthy(3)
			f.Layers = []v1alpha1.OperationTime{got}
			if r := Judge(f); len(r.Findings) > 0 {
				t.Errorf("findings %+v", r.Findings)
			}
		})
	}
}

// Where clocks differ by less than the limit, and where they differ by more, the checks are right most of the time. If
// windows differ much from each other, they confirm less.
func TestSimulatedChecks(t *testing.T) {
	const worlds = 200
	for _, c := range []struct {
		storeClock, outside, noise float64
		least, most                float64
	}{
		{storeClock: 1, noise: 0.2, least: 0.9, most: 1},
		{storeClock: 0.9, noise: 0.2, least: 0.85, most: 1}, // 5 % of a write are unexplained.
		{storeClock: 1, noise: 0.4, least: 0.3, most: 1},
		{storeClock: 0.79, noise: 0.1, least: 0, most: 0.05}, // Here 10 % are, and below 15.
		{storeClock: 0.7, noise: 0.4, least: 0, most: 0.05},
		{storeClock: 1, outside: 0.3e-3, noise: 0.1, least: 0, most: 0.05},
	} {
		explained := 0
		for seed := range worlds {
			l := typicalLayers()
			l.storeClock, l.outside, l.noise = c.storeClock, c.outside, c.noise
			if write(t, l.windows(uint64(seed))).Explained {
				explained++
			}
		}
		share := float64(explained) / worlds
		if t.Logf("%+v: %.3f", c, share); share < c.least || share > c.most {
			t.Errorf("%+v: explained in %.3f", c, share)
		}
	}
}

func recorded(t *testing.T, name string) (windows []Window) {
	t.Helper()
	text, err := os.ReadFile("testdata/layers-ceph-20.2.4/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &windows); err != nil {
		t.Fatal(err)
	}
	return windows
}

// On a busy host, a write takes ten times as long, and some windows do not count. The others still agree.
func TestLayersOfABusyLab(t *testing.T) {
	got := write(t, recorded(t, "windows-busy.json"))
	t.Logf("%+v", got)
	if !got.Explained || got.Rounds != 4 {
		t.Errorf("%+v", got)
	}
}

// What the lab counted: OSDs and client count the same operations, stores explain what an OSD with one copy does, and the
// window with other work does not count.
func TestLayersOfTheLab(t *testing.T) {
	windows := recorded(t, "windows.json")
	rounds, fault := pairs(3, true, windows)
	if len(rounds) != 2 || fault != "the client did nothing" {
		t.Fatalf("%d rounds, fault %q", len(rounds), fault)
	}
	got := split(v1alpha1.OperationTime{Operation: v1alpha1.LayeredWrite}, rounds)
	want := map[string]float64{"Client": 0.142, "Queue": 0.023, "Processing": 0.069, "Store": 0.508, "OtherCopies": 0.265, "Unexplained": -0.007}
	for code, share := range shares(got) {
		if math.Abs(share-want[code]) > 0.001 {
			t.Errorf("%s: %.4f, want %.3f", code, share, want[code])
		}
	}
	reads := Layers(3, windows)[1]
	if reads.Rounds != 3 || reads.Explained {
		t.Errorf("%+v", reads)
	}
	for _, w := range windows[:8] {
		counted := w.Counted.Read.Count
		if w.Writes {
			counted = w.Counted.Write.Count
		}
		if diff := counted - w.Operations; diff < 0 || diff > 20 {
			t.Errorf("round %d, %d copies: OSDs counted %d operations, the client %d", w.Round, w.Copies, counted, w.Operations)
		}
	}
}

func TestCounted(t *testing.T) {
	before := []ceph.OSDCounters{{ID: 0, Write: ceph.Average{Count: 10, Seconds: 1}}, {ID: 1, Write: ceph.Average{Count: 5, Seconds: 2}}, {ID: 7}}
	after := []ceph.OSDCounters{{ID: 1, Write: ceph.Average{Count: 8, Seconds: 2.5}}, {ID: 0, Write: ceph.Average{Count: 11, Seconds: 1.25}}}
	got, err := Counted(before, after, []int{0, 1})
	if want := (ceph.Average{Count: 4, Seconds: 0.75}); err != nil || got.Write != want {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := Counted(before, after, []int{0, 7}); err == nil || !strings.Contains(err.Error(), "osd.7 has not reported") {
		t.Errorf("error %v", err)
	}
	after[1].Write.Count = 2
	if _, err := Counted(before, after, []int{0, 1}); err == nil || !strings.Contains(err.Error(), "osd.0 has restarted") {
		t.Errorf("error %v", err)
	}
}
