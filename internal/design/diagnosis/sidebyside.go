package diagnosis

import (
	"cmp"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/figure"
)

// This file lays OSDs side by side. It judges nothing: see beside.go.

// mostOSDs is a limit of the API.
const mostOSDs = 32

// sideBySide returns what each OSD that is up did and took, the slowest writes first.
func sideBySide(f Facts) []v1alpha1.OSDTime {
	type row struct {
		v1alpha1.OSDTime

		write, commit float64
	}
	var rows []row
	for _, osd := range f.OSDs {
		if osd.Status != "up" {
			continue
		}
		r := row{OSDTime: v1alpha1.OSDTime{ID: int32(osd.ID), DeviceClass: osd.DeviceClass}, commit: f.commitOf(osd.ID)} //nolint:gosec // Ceph's numbers are small.
		if writes, known := f.meanOf(osd.ID, true); known {
			r.write = writes.own()
			r.WriteSeconds, r.QueueSeconds, r.StoreSeconds = figure.Decimal(writes.own()), figure.Decimal(writes.queue), figure.Decimal(writes.store)
		}
		if reads, known := f.meanOf(osd.ID, false); known {
			r.ReadSeconds = figure.Decimal(reads.own())
		}
		if r.commit > 0 {
			r.CommitSeconds = figure.Decimal(r.commit)
		}
		if i := slices.IndexFunc(f.Work, func(io ceph.OSDIO) bool { return io.ID == osd.ID }); i >= 0 {
			r.OperationsPerSecond = figure.Decimal(f.Work[i].ReadOperationsPerSecond + f.Work[i].WriteOperationsPerSecond)
		}
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(b.write, a.write), cmp.Compare(b.commit, a.commit), cmp.Compare(a.ID, b.ID))
	})
	var all []v1alpha1.OSDTime
	for _, r := range rows[:min(len(rows), mostOSDs)] {
		all = append(all, r.OSDTime)
	}
	return all
}

// meanOf returns the mean stages of an OSD's writes or reads, over the intervals that count for it; false if there are none.
func (f Facts) meanOf(osd int, writes bool) (mean stages, known bool) {
	n := 0.0
	for _, interval := range f.Intervals {
		if s, enough := interval.counted(osd, writes); enough {
			n++
			mean.queue, mean.processing, mean.store = mean.queue+s.queue, mean.processing+s.processing, mean.store+s.store
		}
	}
	return stages{queue: mean.queue / max(n, 1), processing: mean.processing / max(n, 1), store: mean.store / max(n, 1)}, n > 0
}

// commitOf returns the mean of the commit latencies that an OSD reported, of which one below a millisecond is 0.
func (f Facts) commitOf(osd int) float64 {
	sum, n := 0.0, 0.0
	for _, sample := range f.Latencies {
		for _, l := range sample.OSDs {
			if l.ID == osd {
				sum, n = sum+l.CommitSeconds, n+1
			}
		}
	}
	return sum / max(n, 1)
}
