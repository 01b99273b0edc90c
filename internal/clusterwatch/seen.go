package clusterwatch

import (
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clusterwatch/slowosd"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// around is how far outside a phase a sample may lie and still count for the phase. For Space, it must not lie
// before the phase.
const around = 2 * ExtraEvery

// OSDLatencies returns the latencies that OSDs reported from shortly before a phase until shortly after it.
func (v View) OSDLatencies(start, end time.Time) []archive.OSDSample {
	var samples []archive.OSDSample
	for _, x := range v.Extras {
		if x.time.Before(start.Add(-around)) || x.time.After(end.Add(around)) {
			continue
		}
		samples = append(samples, archive.OSDSample{Time: x.time, OSDs: x.latencies})
	}
	return samples
}

// Counters returns what OSDs had counted at each time from the start on, in order. It leaves out times without an answer.
func (v View) Counters(start time.Time) [][]ceph.OSDCounters {
	var all [][]ceph.OSDCounters
	for _, x := range v.Extras {
		if !x.time.Before(start) && len(x.counters) > 0 {
			all = append(all, x.counters)
		}
	}
	return all
}

// OSDIO returns one Look for each Extra, with the client I/O of OSDs. A Look has no OSDs if that I/O was not
// read.
func (v View) OSDIO() []slowosd.Look {
	var looks []slowosd.Look
	for _, x := range v.Extras {
		looks = append(looks, slowosd.Look{Time: x.time, OSDs: x.io})
	}
	return looks
}

// Space returns the space that the pools' data took during a phase or an execution; nil if no sample shows data.
// It uses the sample with the most stored data. Ceph's counts lag by some seconds, so earlier samples may show
// less. Data may be removed at the end of a run, so later samples may show less too.
func (v View) Space(pools []string, start, end time.Time) *archive.Space {
	var most *archive.Space
	for _, x := range v.Extras {
		if x.time.Before(start) || x.time.After(end.Add(around)) {
			continue
		}
		if space := spaceOf(x.DF, pools); space.StoredBytes > 0 && (most == nil || space.StoredBytes > most.StoredBytes) {
			most = &space
		}
	}
	return most
}

func spaceOf(df *ceph.DF, pools []string) archive.Space {
	space := archive.Space{ClusterUsedBytes: df.UsedRawBytes}
	for _, pool := range df.Pools {
		for _, name := range pools {
			if pool.Name == name {
				space.StoredBytes += pool.StoredBytes
				space.UsedBytes += pool.UsedBytes
			}
		}
	}
	return space
}

// SamplesUntil returns the samples up to the end of a phase.
func SamplesUntil(samples []quiescence.Sample, end time.Time) []quiescence.Sample {
	after := slices.IndexFunc(samples, func(s quiescence.Sample) bool { return s.Time.After(end) })
	if after < 0 {
		return samples
	}
	return samples[:after]
}
