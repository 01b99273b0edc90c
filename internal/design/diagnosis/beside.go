package diagnosis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/stats"
)

// This file compares OSDs with each other.

const (
	// alpha is the probability that any OSD is named although none is slower by leastRatio. All OSDs share it
	// (Bonferroni). It is small, because noise that lasts from one sample to the next multiplies it.
	alpha = 0.01
	// leastRatio is ours: OSDs of a class differ by tens of percent, because their placement groups do. Ceph reports whole
	// milliseconds (seen on 20.2.4), so 1.4 and 1.6 ms look as if one were twice the other: leastExcessSeconds is two of
	// these steps.
	leastRatio         = 1.5
	stepSeconds        = 0.001
	leastExcessSeconds = 2 * stepSeconds
	// leastPeers is the minimum number of OSDs of a class: of two, either may be the slow one. leastLooks is the
	// minimum number of samples in which an OSD wrote.
	leastPeers = 3
	leastLooks = 4
)

// comparison is one OSD beside its class.
type comparison struct {
	osd   int
	class string
	// operation is that whose own time is compared; "" if it is the commit latency.
	operation string
	// ratios has, for each sample, the OSD's latency divided by the median of the others of its class.
	ratios []float64
	// seconds and others are the mean latencies.
	seconds, others float64
}

// timed is how long an OSD took in a sample.
type timed struct {
	osd     int
	seconds float64
}

// slowOSDs names OSDs that are slower than those of their class in a way that chance does not explain. In each sample, an
// OSD is divided by the median of the others, so what slows all of them cancels. The ratios have to be above leastRatio by
// a t interval whose error is shared among all OSDs. A robust score of one value for each OSD could not tell anything
// about the three OSDs that many clusters have.
func slowOSDs(f Facts) *v1alpha1.Finding {
	all, least := f.beside()
	var evidence []string
	var osds []int
	for _, n := range slower(all, least) {
		osds = append(osds, n.osd)
		evidence = append(evidence, f.slowness(n))
	}
	if len(osds) == 0 {
		return nil
	}
	slices.Sort(osds)
	osds = slices.Compact(osds) // One may be slow for reads and for writes.
	verb := "is"
	if len(osds) > 1 {
		verb = "are"
	}
	const remedy = "Look at their disks and nodes (`ceph device ls`, SMART, CPU limits). " +
		"To see the pool without one of them: `ceph osd primary-affinity osd.N 0` keeps reads away; out moves its data."
	return found(likely, remedy, evidence, "%s %s slower than others of the class. A write waits for the slowest of its copies.", names(osds), verb)
}

// slowness is the evidence that an OSD is slow.
func (f Facts) slowness(s slow) string {
	times := fmt.Sprintf("%.1f times (%.1f to %.1f)", s.seconds/s.others, s.low, s.high)
	if s.operation == "" {
		return fmt.Sprintf("osd.%d: commits in %s, others of class %q in %s; %s%s",
			s.osd, milliseconds(s.seconds), s.class, milliseconds(s.others), times, f.workOf(s.osd, s.class))
	}
	return fmt.Sprintf("osd.%d: %s for a %s by itself, others of class %q %s; %s%s",
		s.osd, milliseconds(s.seconds), s.operation, s.class, milliseconds(s.others), times, f.stageOf(s.comparison))
}

// slow is an OSD that is slower than others by a factor within an interval.
type slow struct {
	comparison

	low, high float64
}

// slower returns the OSDs that are slower than others by leastRatio and this time, the slowest first.
func slower(all []comparison, leastSeconds float64) []slow {
	var named []slow
	for _, c := range all {
		bounds, err := stats.GeometricInterval(c.ratios, 1-2*alpha/float64(len(all)))
		if err == nil && bounds.Low > leastRatio && c.seconds-c.others >= leastSeconds {
			named = append(named, slow{c, bounds.Low, bounds.High})
		}
	}
	slices.SortFunc(named, func(a, b slow) int { return cmp.Or(cmp.Compare(b.low, a.low), cmp.Compare(a.osd, b.osd)) })
	return named
}

func milliseconds(seconds float64) string { return fmt.Sprintf("%.2f ms", 1000*seconds) }

// workOf compares the client I/O of an OSD with the median of its class; "" if unknown.
func (f Facts) workOf(osd int, class string) string {
	var work float64
	var others []float64
	for _, io := range f.Work {
		switch operations := io.ReadOperationsPerSecond + io.WriteOperationsPerSecond; {
		case io.ID == osd:
			work = operations
		case f.classOf(io.ID) == class:
			others = append(others, operations)
		}
	}
	if len(others) == 0 || stats.GeometricMedian(others) <= 0 {
		return ""
	}
	return fmt.Sprintf("; serves %.1f times their operations", work/stats.GeometricMedian(others))
}

// beside returns the OSDs that can be compared, and the excess that counts: by their counters, or else by their commit
// latencies.
func (f Facts) beside() ([]comparison, float64) {
	if all := f.owns(); len(all) > 0 {
		return all, leastOwnExcess
	}
	var samples []map[string][]timed
	for _, sample := range f.Latencies {
		samples = append(samples, f.written(sample))
	}
	return compared(samples), leastExcessSeconds
}

// compared returns the OSDs that can be compared with others of their class in samples.
func compared(samples []map[string][]timed) []comparison {
	byOSD := map[int]*comparison{}
	for _, sample := range samples {
		for class, latencies := range sample {
			if len(latencies) < leastPeers {
				continue
			}
			for i, latency := range latencies {
				others := make([]float64, 0, len(latencies)-1)
				for j, other := range latencies {
					if i != j {
						others = append(others, other.seconds)
					}
				}
				typical := stats.GeometricMedian(others)
				c := byOSD[latency.osd]
				if c == nil {
					c = &comparison{osd: latency.osd, class: class}
					byOSD[latency.osd] = c
				}
				c.ratios = append(c.ratios, latency.seconds/typical)
				c.seconds, c.others = c.seconds+latency.seconds, c.others+typical
			}
		}
	}
	var all []comparison
	for _, c := range byOSD {
		if n := float64(len(c.ratios)); n >= leastLooks {
			c.seconds, c.others = c.seconds/n, c.others/n
			all = append(all, *c)
		}
	}
	slices.SortFunc(all, func(a, b comparison) int { return cmp.Compare(a.osd, b.osd) })
	return all
}

// written returns the latencies of those OSDs that committed anything, by device class. An OSD reports 0 without writes,
// and if a commit takes less than a millisecond. If clients write to the OSD, it is the latter, and counts as a millisecond.
func (f Facts) written(sample archive.OSDSample) map[string][]timed {
	byClass := map[string][]timed{}
	for _, osd := range sample.OSDs {
		if osd.CommitSeconds <= 0 && f.isWritten(osd.ID) {
			osd.CommitSeconds = stepSeconds
		}
		if osd.CommitSeconds > 0 {
			class := f.classOf(osd.ID)
			byClass[class] = append(byClass[class], timed{osd.ID, osd.CommitSeconds})
		}
	}
	return byClass
}

// isWritten reports whether clients write to an OSD, as primary.
func (f Facts) isWritten(osd int) bool {
	return slices.ContainsFunc(f.Work, func(io ceph.OSDIO) bool { return io.ID == osd && io.WriteOperationsPerSecond > 0 })
}

// whyNotBesides returns why no OSDs were compared; "" if some were.
func whyNotBesides(f Facts) string {
	if all, _ := f.beside(); len(all) > 0 {
		return ""
	}
	for _, osds := range f.classes() {
		if len(osds) >= leastPeers {
			return "hardly anything was written meanwhile. Diagnose while clients write."
		}
	}
	return fmt.Sprintf("no device class has %d OSDs that are up.", leastPeers)
}
