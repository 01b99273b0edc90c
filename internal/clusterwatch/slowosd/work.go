package slowosd

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/stats"
)

// reported is the maximum age of the data in Ceph's answer: OSDs report every five seconds,
// and a rate covers the time between two reports.
const reported = 10 * time.Second

// Look is Ceph's answer about the client work of OSDs at one moment.
type Look struct {
	Time time.Time
	OSDs []ceph.OSDIO
}

// Typical returns each OSD's median work between two times, sorted by ID. It skips looks right after the
// start, because their data may be from before the start.
func Typical(looks []Look, start, end time.Time) []ceph.OSDIO {
	answersOf := map[int][]ceph.OSDIO{}
	for _, look := range looks {
		if look.Time.Before(start.Add(reported)) || look.Time.After(end) {
			continue
		}
		for _, osd := range look.OSDs {
			answersOf[osd.ID] = append(answersOf[osd.ID], osd)
		}
	}
	var typical []ceph.OSDIO
	for id, answers := range answersOf {
		typical = append(typical, medianIO(id, answers))
	}
	slices.SortFunc(typical, func(a, b ceph.OSDIO) int { return cmp.Compare(a.ID, b.ID) })
	return typical
}

// medianIO returns the median of answers. It skips answers in which everything is 0, unless all answers are
// 0. Ceph also reports 0 for a busy OSD whose last two reports came within one second.
func medianIO(id int, answers []ceph.OSDIO) ceph.OSDIO {
	idle := ceph.OSDIO{ID: id}
	answers = slices.DeleteFunc(answers, func(io ceph.OSDIO) bool { return io == idle })
	return ceph.OSDIO{
		ID:                       id,
		ReadOperationsPerSecond:  stats.Median(mapped(answers, func(io ceph.OSDIO) float64 { return io.ReadOperationsPerSecond })),
		WriteOperationsPerSecond: stats.Median(mapped(answers, func(io ceph.OSDIO) float64 { return io.WriteOperationsPerSecond })),
		ReadBytesPerSecond:       stats.Median(mapped(answers, func(io ceph.OSDIO) float64 { return io.ReadBytesPerSecond })),
		WriteBytesPerSecond:      stats.Median(mapped(answers, func(io ceph.OSDIO) float64 { return io.WriteBytesPerSecond })),
	}
}

// workByOSD adds up reads and writes for each OSD.
func workByOSD(all []ceph.OSDIO) map[int]*archive.Work {
	work := map[int]*archive.Work{}
	for _, io := range all {
		work[io.ID] = &archive.Work{
			OperationsPerSecond: io.ReadOperationsPerSecond + io.WriteOperationsPerSecond,
			BytesPerSecond:      io.ReadBytesPerSecond + io.WriteBytesPerSecond,
		}
	}
	return work
}

// compareWork computes the median of all peers' work, and stores it in the Work of each peer. It ignores peers
// with unknown work.
func compareWork(peers []archive.SlowOSD) {
	known := slices.DeleteFunc(mapped(peers, func(osd archive.SlowOSD) *archive.Work { return osd.Work }), func(w *archive.Work) bool { return w == nil })
	operations := stats.Median(mapped(known, func(w *archive.Work) float64 { return w.OperationsPerSecond }))
	bytes := stats.Median(mapped(known, func(w *archive.Work) float64 { return w.BytesPerSecond }))
	for _, work := range known {
		work.PeersOperationsPerSecond, work.PeersBytesPerSecond = operations, bytes
	}
}

// relativeWork returns the median of an OSD's relative work in the runs in which it was slow; ""
// if unknown.
func relativeWork(slow []archive.SlowOSD) v1alpha1.Decimal {
	var all []float64
	for _, osd := range slow {
		if relative, known := osd.Work.Relative(); known {
			all = append(all, relative)
		}
	}
	if len(all) == 0 {
		return ""
	}
	return figure.Decimal(hundredths(stats.Median(all)))
}

func hundredths(v float64) float64 { return math.Round(v*100) / 100 }
