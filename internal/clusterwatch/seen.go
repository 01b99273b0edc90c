package clusterwatch

import (
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/slowosd"
)

// around is the margin before and after a phase in which samples still count for the phase.
const around = 2 * ExtraEvery

// OSDLatencies returns the latencies that OSDs reported during a phase, and shortly before and after it.
func (v View) OSDLatencies(start, end time.Time) []archive.OSDSample {
	var samples []archive.OSDSample
	for _, x := range v.Extras {
		if x.time.Before(start.Add(-around)) || x.time.After(end.Add(around)) {
			continue
		}
		sample := archive.OSDSample{Time: x.time}
		for _, osd := range x.latencies {
			sample.OSDs = append(sample.OSDs, archive.OSDLatency(osd))
		}
		samples = append(samples, sample)
	}
	return samples
}

// OSDIO returns all samples of the client I/O of OSDs.
func (v View) OSDIO() []slowosd.Look {
	var looks []slowosd.Look
	for _, x := range v.Extras {
		looks = append(looks, slowosd.Look{Time: x.time, OSDs: x.io})
	}
	return looks
}

// Space returns the space that the data of the pools took during a phase, from the sample with
// the most stored data; nil if no sample shows any. Other samples show less, because Ceph counts some
// seconds late and a run removes its data at the end.
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
