package diagnosis

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
)

// Measurements of equal disks scatter by sigma (of logarithms). Of twenty right capacities, none is named, and a
// capacity that is wrong by a factor of ten is, also among few OSDs.
func TestSimulatedCapacities(t *testing.T) {
	const worlds = 400
	random := rand.New(rand.NewPCG(1, 2))
	named := func(osds int, sigma, factor float64) (right, wrong int) {
		f := healthy(osds)
		for id := range osds {
			v := 9000 * math.Exp(sigma*random.NormFloat64())
			if id == 0 {
				v *= factor
			}
			f.Config = append(f.Config, ceph.ConfigEntry{Section: fmt.Sprintf("osd.%d", id), Name: "osd_mclock_max_capacity_iops_ssd", Value: strconv.FormatFloat(v, 'f', 3, 64)})
		}
		finding := mclockCapacity(f)
		if finding == nil {
			return 0, 0
		}
		for _, e := range finding.Evidence {
			if factor != 1 && strings.HasPrefix(e, "osd.0:") {
				wrong++
			} else {
				right++
			}
		}
		return right, wrong
	}
	for _, tc := range []struct {
		osds                  int
		sigma, factor         float64
		leastWrong, mostRight float64
	}{
		{osds: 20, sigma: 0.1, factor: 1, mostRight: 0.005},
		{osds: 20, sigma: 0.25, factor: 1, mostRight: 0.005},
		{osds: 20, sigma: 0.4, factor: 1, mostRight: 0.02},
		{osds: 5, sigma: 0.4, factor: 1, mostRight: 0.03},
		{osds: 200, sigma: 0.25, factor: 1, mostRight: 0.005},
		{osds: 20, sigma: 0.25, factor: 0.1, leastWrong: 0.99, mostRight: 0.005},
		{osds: 20, sigma: 0.25, factor: 10, leastWrong: 0.99, mostRight: 0.005},
		{osds: 6, sigma: 0.25, factor: 0.1, leastWrong: 0.9, mostRight: 0.01},
		{osds: 3, sigma: 0.1, factor: 0.1, leastWrong: 0.9, mostRight: 0.01},
	} {
		right, wrong := 0, 0
		for range worlds {
			r, w := named(tc.osds, tc.sigma, tc.factor)
			right, wrong = right+min(r, 1), wrong+w
		}
		t.Logf("%+v: a right one is named in %.2f %% of the worlds, the wrong one in %.1f %%", tc, 100*float64(right)/worlds, 100*float64(wrong)/worlds)
		if float64(right) > tc.mostRight*worlds || float64(wrong) < tc.leastWrong*worlds {
			t.Errorf("%+v: %d right ones and %d wrong ones are named", tc, right, wrong)
		}
	}
}

// course returns samples of OSDs that share the noise of the minute, differ from each other by spread, and have noise
// of their own that lasts from sample to sample. The first OSD is slower by a factor.
func course(random *rand.Rand, osds, n int, factor, spread, noise float64) []archive.OSDSample {
	typical, own := make([]float64, osds), make([]float64, osds)
	for id := range osds {
		typical[id], own[id] = spread*random.NormFloat64(), random.NormFloat64()
	}
	var all []archive.OSDSample
	for i := range n {
		sample := archive.OSDSample{Time: time.Unix(int64(10*i), 0)}
		minute := 0.5 * random.NormFloat64()
		for id := range osds {
			own[id] = 0.5*own[id] + math.Sqrt(0.75)*random.NormFloat64()
			seconds := 0.004 * math.Exp(minute+typical[id]+noise*own[id])
			if id == 0 {
				seconds *= factor
			}
			sample.OSDs = append(sample.OSDs, ceph.OSDLatency{ID: id, CommitSeconds: seconds})
		}
		all = append(all, sample)
	}
	return all
}

// counted returns samples as intervals in which OSDs counted writes that took as long in their store.
func counted(samples []archive.OSDSample) (all []Interval) {
	for _, sample := range samples {
		var i Interval
		for _, osd := range sample.OSDs {
			n := ceph.Average{Count: 100}
			i.Before = append(i.Before, ceph.OSDCounters{ID: osd.ID})
			i.After = append(i.After, ceph.OSDCounters{ID: osd.ID, Write: n, WriteProcessing: n, WritePreparing: n, Submit: n, Commit: ceph.Average{Count: 100, Seconds: 100 * osd.CommitSeconds}})
		}
		all = append(all, i)
	}
	return all
}

// In a cluster without a slow OSD, one is named in at most 5 % of the worlds, although noise lasts from sample to sample;
// an OSD that is three times as slow is named in most.
func TestSimulatedSlowOSDs(t *testing.T) {
	const worlds = 400
	random := rand.New(rand.NewPCG(3, 4))
	for _, tc := range []struct {
		osds                      int
		factor, spread, noise     float64
		leastSlow, mostOthersSlow float64
		counters                  bool
	}{
		{osds: 3, factor: 1, spread: 0.1, noise: 0.3, mostOthersSlow: 0.05, counters: true},
		{osds: 12, factor: 1, spread: 0.1, noise: 0.3, mostOthersSlow: 0.05, counters: true},
		{osds: 12, factor: 1, spread: 0.1, noise: 0.8, mostOthersSlow: 0.05, counters: true},
		{osds: 12, factor: 3, spread: 0.1, noise: 0.2, leastSlow: 0.6, mostOthersSlow: 0.05, counters: true},
		{osds: 3, factor: 1, spread: 0.1, noise: 0.3, mostOthersSlow: 0.05},
		{osds: 12, factor: 1, spread: 0.1, noise: 0.3, mostOthersSlow: 0.05},
		{osds: 60, factor: 1, spread: 0.1, noise: 0.3, mostOthersSlow: 0.05},
		{osds: 12, factor: 1, spread: 0.1, noise: 0.8, mostOthersSlow: 0.05},
		{osds: 3, factor: 3, spread: 0.1, noise: 0.2, leastSlow: 0.6, mostOthersSlow: 0.05},
		{osds: 12, factor: 3, spread: 0.1, noise: 0.2, leastSlow: 0.6, mostOthersSlow: 0.05},
		{osds: 12, factor: 6, spread: 0.1, noise: 0.2, leastSlow: 0.95, mostOthersSlow: 0.05},
	} {
		slow, others := 0, 0
		for range worlds {
			f := healthy(tc.osds)
			f.Latencies = course(random, tc.osds, 6, tc.factor, tc.spread, tc.noise)
			if tc.counters {
				f.Intervals = counted(f.Latencies)
			}
			finding := slowOSDs(f)
			if finding == nil {
				continue
			}
			first, wrong := 0, 0
			for _, e := range finding.Evidence {
				if tc.factor != 1 && strings.HasPrefix(e, "osd.0:") {
					first = 1
				} else {
					wrong = 1
				}
			}
			slow, others = slow+first, others+wrong
		}
		t.Logf("%+v: the slow one is named in %.1f %% of the worlds, another in %.1f %%", tc, 100*float64(slow)/worlds, 100*float64(others)/worlds)
		if float64(others) > tc.mostOthersSlow*worlds || float64(slow) < tc.leastSlow*worlds {
			t.Errorf("%+v: the slow one is named in %d worlds, another in %d", tc, slow, others)
		}
	}
}
