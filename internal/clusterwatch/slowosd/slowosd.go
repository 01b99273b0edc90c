// Package slowosd finds the OSDs that were slower than their peers during a measured phase, by the commit
// latencies that they report. It decides only from the observations that callers pass. docs/results.md
// explains the statistic and its limits.
package slowosd

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/stats"
)

const (
	// MaxNamed is the maximum number of OSDs that are named, the slowest first.
	MaxNamed = 3

	// leastPeers is the minimum number of OSDs of one class for a comparison: with two, either
	// may be the slow one.
	leastPeers = 3
	// leastSamples is the minimum number of an OSD's latency reports during a phase.
	leastSamples = 2
	// mostDeviations is a limit for the logarithms of latencies: those of slow OSDs lie at least this number
	// of standard deviations above the median of the logarithms. The value is the usual limit if the standard
	// deviation is estimated from the median absolute deviation. leastExcessSeconds is a second condition.
	mostDeviations = 3.5
	// sigmaOfMAD converts a median absolute deviation to a standard deviation, for a normal
	// distribution.
	sigmaOfMAD = 1.4826
	// leastScatter is the minimum standard deviation of logarithms that is assumed. With it, no OSD below
	// 1.5 times the median is slow.
	leastScatter = 0.12
	// leastExcessSeconds is the minimum excess of a slow OSD's latency over the median. Smaller differences
	// are noise of OSDs with little work.
	leastExcessSeconds = 0.002
	// late is how long after a phase an OSD's report may still concern the phase.
	late = 5 * time.Second
)

// Phase has the observations of the OSDs during a measured phase.
type Phase struct {
	Start, End time.Time
	Samples    []archive.OSDSample
	// OSDs has the device classes, and Placement has the placement groups of the target. OSDs without
	// placement groups of the target are not peers. If Placement is unknown, as for a
	// PersistentVolumeClaim, all OSDs are peers.
	OSDs      []ceph.OSD
	Placement []archive.Placement
	// IO is the client work of OSDs, as far as known. Find does not use it to decide; the
	// report shows it for slow OSDs.
	IO []ceph.OSDIO
}

// Find returns the OSDs that were slower than their peers, at most MaxNamed. The first is the one that
// was slowest relative to its peers.
func Find(p Phase) []archive.SlowOSD {
	byClass := map[string][]archive.SlowOSD{}
	pgs := placementGroups(p.Placement)
	latency, work := p.latencies(), workByOSD(p.IO)
	for _, osd := range p.OSDs {
		if seconds, reported := latency[osd.ID]; reported && (pgs[osd.ID] > 0 || len(p.Placement) == 0) {
			byClass[osd.DeviceClass] = append(byClass[osd.DeviceClass], archive.SlowOSD{
				ID: osd.ID, DeviceClass: osd.DeviceClass, CommitSeconds: seconds, PGs: pgs[osd.ID], Work: work[osd.ID],
			})
		}
	}
	var slow []archive.SlowOSD
	for _, peers := range byClass {
		compareWork(peers)
		slow = append(slow, outliers(peers)...)
	}
	slices.SortFunc(slow, func(a, b archive.SlowOSD) int {
		return cmp.Or(cmp.Compare(b.CommitSeconds/b.PeersSeconds, a.CommitSeconds/a.PeersSeconds), cmp.Compare(a.ID, b.ID))
	})
	return slow[:min(len(slow), MaxNamed)]
}

// latencies returns the medians of the latencies that OSDs reported from the phase's start until shortly
// after its end. It omits OSDs with fewer than leastSamples reports, and OSDs with a median of 0: they were
// idle or served only reads.
func (p Phase) latencies() map[int]float64 {
	reported := map[int][]float64{}
	for _, sample := range p.Samples {
		if sample.Time.Before(p.Start) || sample.Time.After(p.End.Add(late)) {
			continue
		}
		for _, osd := range sample.OSDs {
			reported[osd.ID] = append(reported[osd.ID], osd.CommitSeconds)
		}
	}
	latencies := map[int]float64{}
	for id, seconds := range reported {
		if m := stats.Median(seconds); len(seconds) >= leastSamples && m > 0 {
			latencies[id] = m
		}
	}
	return latencies
}

// placementGroups counts the placement groups of all pools of the target, by OSD.
func placementGroups(placement []archive.Placement) map[int]int {
	counts := map[int]int{}
	for _, pool := range placement {
		for _, osd := range pool.OSDs {
			counts[osd.ID] += osd.PGs
		}
	}
	return counts
}

// outliers returns the peers whose latency is far above the median of all peers.
func outliers(peers []archive.SlowOSD) []archive.SlowOSD {
	if len(peers) < leastPeers {
		return nil
	}
	var logs, seconds, pgs []float64
	for _, osd := range peers {
		logs, seconds, pgs = append(logs, math.Log(osd.CommitSeconds)), append(seconds, osd.CommitSeconds), append(pgs, float64(osd.PGs))
	}
	middle := stats.Median(logs)
	var deviations []float64
	for _, l := range logs {
		deviations = append(deviations, math.Abs(l-middle))
	}
	scatter := max(sigmaOfMAD*stats.Median(deviations), leastScatter)
	typical := stats.Median(seconds)
	var slow []archive.SlowOSD
	for i, osd := range peers {
		if (logs[i]-middle)/scatter < mostDeviations || osd.CommitSeconds-typical < leastExcessSeconds {
			continue
		}
		osd.PeersSeconds, osd.Peers, osd.PeersPGs = typical, len(peers)-1, stats.Median(pgs)
		slow = append(slow, osd)
	}
	return slow
}

// Named has the slow OSDs of one valid run, by phase.
type Named map[v1alpha1.PhaseName][]archive.SlowOSD

// InMost returns the OSDs that were named in the same phase of more than half of the valid runs. It returns
// at most MaxNamed, the slowest relative to its peers first. Each has the phase in which it stood out most.
func InMost(runs []Named) []v1alpha1.SlowOSD {
	type place struct {
		osd   int
		phase v1alpha1.PhaseName
	}
	found := map[place][]archive.SlowOSD{}
	for _, run := range runs {
		for phase, slow := range run {
			for _, osd := range slow {
				key := place{osd.ID, phase}
				found[key] = append(found[key], osd)
			}
		}
	}
	worst := map[int]v1alpha1.SlowOSD{}
	excess := map[int]float64{}
	for key, slow := range found {
		seconds, peers := stats.Median(mapped(slow, func(o archive.SlowOSD) float64 { return o.CommitSeconds })), stats.Median(mapped(slow, func(o archive.SlowOSD) float64 { return o.PeersSeconds }))
		better := seconds/peers > excess[key.osd] || seconds/peers == excess[key.osd] && key.phase < worst[key.osd].Phase
		if 2*len(slow) <= len(runs) || !better {
			continue
		}
		excess[key.osd] = seconds / peers
		worst[key.osd] = v1alpha1.SlowOSD{
			OSD: int32(key.osd), Phase: key.phase, Runs: int32(len(slow)), //nolint:gosec // Ceph has fewer OSDs, and a benchmark has few runs.
			CommitLatency: figure.Decimal(seconds), PeersCommitLatency: figure.Decimal(peers), RelativeWork: relativeWork(slow),
		}
	}
	var all []v1alpha1.SlowOSD
	for _, osd := range worst {
		all = append(all, osd)
	}
	slices.SortFunc(all, func(a, b v1alpha1.SlowOSD) int {
		return cmp.Or(cmp.Compare(excess[int(b.OSD)], excess[int(a.OSD)]), cmp.Compare(a.OSD, b.OSD))
	})
	return all[:min(len(all), MaxNamed)]
}

func mapped[T, V any](elements []T, get func(T) V) []V {
	values := make([]V, len(elements))
	for i, one := range elements {
		values[i] = get(one)
	}
	return values
}

// Sentence describes slow OSDs in one sentence; "" without slow OSDs.
func Sentence(slow []v1alpha1.SlowOSD) string {
	if len(slow) == 0 {
		return ""
	}
	first := slow[0]
	latency, peers := figure.HumanDecimal(v1alpha1.MetricLatencyMean, first.CommitLatency), figure.HumanDecimal(v1alpha1.MetricLatencyMean, first.PeersCommitLatency)
	text := fmt.Sprintf("osd.%d was slower than its peers: it took %s to commit in phase %s, they took %s%s", first.OSD, latency, first.Phase, peers, atWork(first))
	switch others := slow[1:]; len(others) {
	case 0:
	case 1:
		text += fmt.Sprintf("; so was osd.%d", others[0].OSD)
	default:
		text += fmt.Sprintf("; so were osd.%d and osd.%d", others[0].OSD, others[1].OSD)
	}
	return text + "."
}

// atWork compares an OSD's work with that of its peers; "" if unknown.
func atWork(osd v1alpha1.SlowOSD) string {
	if osd.RelativeWork == "" {
		return ""
	}
	return fmt.Sprintf(", while it served %s times their operations", osd.RelativeWork)
}
