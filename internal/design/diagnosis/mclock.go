package diagnosis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/stats"
)

// This file audits what mClock takes for the capacity of each OSD. An OSD measures that when it starts for the first
// time, and records it in the central configuration. If the result is outside Ceph's own limits, Ceph keeps its default.

// media has, for hard disks and others, the option of mClock, its default, and the range in which Ceph believes its own
// measurement: osd_mclock_iops_capacity_low_threshold_* and osd_mclock_iops_capacity_threshold_*.
type media struct {
	option                string
	standard, least, most float64
}

func mediaOf(rotational bool) media {
	if rotational {
		return media{"osd_mclock_max_capacity_iops_hdd", 315, 50, 500}
	}
	return media{"osd_mclock_max_capacity_iops_ssd", 21500, 1000, 80000}
}

const (
	// leastFactor is ours: measurements of equal disks differ by tens of percent. sigmaOfMAD converts a median
	// absolute deviation to a standard deviation of a normal distribution, and leastScatter is the smallest standard
	// deviation of logarithms that is assumed.
	leastFactor   = 4.0
	sigmaOfMAD    = 1.4826
	leastScatter  = 0.2
	alphaCapacity = 0.05
)

// capacity is what mClock takes for the capacity of an OSD.
type capacity struct {
	osd      int
	class    string
	iops     float64
	recorded bool
	media    media
}

func (f Facts) usesMClock() bool { return len(f.running("osd_op_queue")["wpq"]) == 0 }

// mclockCapacity names OSDs whose capacity differs from that of their class, or is so low that Ceph would not believe it.
// A value above Ceph's range counts as right: only administrators record one, and Ceph's documentation asks them to.
func mclockCapacity(f Facts) *v1alpha1.Finding {
	if !f.usesMClock() {
		return nil
	}
	type wrong struct {
		capacity

		median float64
	}
	var named []wrong
	groups := map[string][]capacity{}
	for _, c := range f.capacities() {
		groups[c.class+c.media.option] = append(groups[c.class+c.media.option], c)
	}
	for _, group := range groups {
		typical := typicalOf(group)
		odd := outliers(group, typical)
		for i, c := range group {
			if odd[i] || c.recorded && c.iops < c.media.least {
				named = append(named, wrong{c, typical})
			}
		}
	}
	if len(named) == 0 {
		return nil
	}
	slices.SortFunc(named, func(a, b wrong) int { return cmp.Compare(a.osd, b.osd) })
	var evidence []string
	var osds []int
	for _, n := range named {
		osds = append(osds, n.osd)
		evidence = append(evidence, fmt.Sprintf("osd.%d: %s IOPS; median of class %q %s; Ceph believes %s to %s (%s)",
			n.osd, iops(n.iops), n.class, iops(n.median), iops(n.media.least), iops(n.media.most), n.media.option))
	}
	first := named[0]
	remedy := fmt.Sprintf("Measure the disk, or take the median: `ceph config set osd.%d %s %s`. `ceph config rm` instead makes the OSD measure again when it restarts.",
		first.osd, first.media.option, iops(first.median))
	return found(likely, remedy, evidence, "mClock plans %s with a capacity that is probably wrong: it holds clients back, or lets recovery crowd them out.", names(osds))
}

func iops(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }

// capacities returns the capacity of each OSD whose medium is known.
func (f Facts) capacities() []capacity {
	var all []capacity
	for _, d := range f.Devices {
		c := capacity{osd: d.ID, class: f.classOf(d.ID), media: mediaOf(d.Rotational)}
		c.iops = c.media.standard
		best := 0
		for _, e := range f.Config {
			v, err := strconv.ParseFloat(e.Value, 64)
			if e.Name != c.media.option || err != nil || v <= 0 {
				continue
			}
			if how := c.reaches(e.Section, e.Mask); how > best {
				best, c.iops, c.recorded = how, v, true
			}
		}
		all = append(all, c)
	}
	return all
}

// reaches returns how closely an entry of the configuration names the OSD; 0 if it does not concern the OSD, or has
// the mask of a host.
func (c capacity) reaches(section, mask string) int {
	switch {
	case section == "osd."+strconv.Itoa(c.osd):
		return 4
	case section == "osd" && mask == "class:"+c.class:
		return 3
	case section == "osd" && mask == "":
		return 2
	case section == "global" && mask == "":
		return 1
	}
	return 0
}

func typicalOf(group []capacity) float64 {
	var all []float64
	for _, c := range group {
		all = append(all, c.iops)
	}
	return stats.GeometricMedian(all)
}

// outliers returns which capacities differ from the median by leastFactor, and by more than chance explains: by a
// modified z-score (Iglewicz and Hoaglin, 1993), corrected for the number of OSDs (Holm). Of two OSDs, either may be
// the wrong one.
func outliers(group []capacity, typical float64) []bool {
	odd := make([]bool, len(group))
	if len(group) < leastPeers {
		return odd
	}
	var distances []float64
	for _, c := range group {
		distances = append(distances, math.Abs(math.Log(c.iops/typical)))
	}
	sorted := slices.Sorted(slices.Values(distances))
	scatter := max(sigmaOfMAD*sorted[len(sorted)/2], leastScatter)
	ps := make([]float64, len(group))
	for i, d := range distances {
		ps[i] = min(1, 2*distuv.UnitNormal.Survival(d/scatter))
	}
	adjusted, err := stats.Holm(ps)
	if err != nil {
		return odd
	}
	for i, p := range adjusted {
		odd[i] = p <= alphaCapacity && distances[i] >= math.Log(leastFactor)
	}
	return odd
}
