package clusterwatch

import (
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/slowosd"
)

// around is how long before and after a phase something still belongs to it.
const around = 2 * ExtraEvery

// OSDLatencies are what the OSDs said before, during and after a phase.
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

// OSDIO are what Ceph said of the work of OSDs.
func (v View) OSDIO() []slowosd.Look {
	var looks []slowosd.Look
	for _, x := range v.Extras {
		looks = append(looks, slowosd.Look{Time: x.time, OSDs: x.io})
	}
	return looks
}

// Space is the room that the data of the pools took during a phase, when there
// was the most of it: Ceph counts it some seconds late, and a run tidies up after
// itself.
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

// SamplesUntil leaves out what was seen after a phase.
func SamplesUntil(samples []quiescence.Sample, end time.Time) []quiescence.Sample {
	after := slices.IndexFunc(samples, func(s quiescence.Sample) bool { return s.Time.After(end) })
	if after < 0 {
		return samples
	}
	return samples[:after]
}
