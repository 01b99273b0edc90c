// Package disruption decides about OSDs that a benchmark has down for a while: whether
// they may be stopped, when they go and come, and what that has cost. That is pure: what is
// known of the cluster comes in, and decisions come out. What it decides is carried out by
// the controller of CephBenchmarks, and what is to be put back is in a [tuning.Journal];
// PutBack alone acts, for everybody who finds such a journal.
//
// OSDs are stopped by the flag noup, which each gets on its own, and by being marked down.
// Their processes go on, wait for the flag to go, and come up by themselves: neither the
// kubelet nor Rook sees anything to mend. Marking an OSD down often makes it give up, and
// its process end: see spacing.
package disruption

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Plan is a disruption as it is to happen.
type Plan struct {
	OSDs []int
	// Before counts from the signal to start, the ramp included.
	Before, Outage time.Duration
	// Backfill tells that the outage is to last until Ceph moves data.
	Backfill bool
	// OtherPools is how many pools beside the target may be degraded.
	OtherPools int
}

// PlanOf is the plan of a template, for a phase with that ramp.
func PlanOf(d *v1alpha1.Disruption, ramp time.Duration) Plan {
	p := Plan{
		Before: ramp + d.Before.Duration, Outage: d.Outage.Duration,
		Backfill: d.Backfill == v1alpha1.BackfillExpect, OtherPools: int(d.OtherPools),
	}
	for _, id := range d.OSDs {
		p.OSDs = append(p.OSDs, int(id))
	}
	return p
}

// grace is how much later than planned everything has to be put back at the latest. With
// the time after which somebody else notices that it was not, it has to stay below
// outMargin: what is there for the case that something fails must not come after Ceph has
// taken the OSDs for lost.
const grace = 15 * time.Second

// Until is by when OSDs that are stopped now have to be let up again, whoever does it. It
// is in UTC and has no fractions, so that it reads the same wherever it is kept.
func (p Plan) Until(now time.Time) time.Time {
	return now.Add(p.Outage + grace).UTC().Truncate(time.Second)
}

// Changes are the flags that keep the OSDs down.
func (p Plan) Changes() []tuning.Change {
	changes := make([]tuning.Change, 0, len(p.OSDs))
	for _, id := range p.OSDs {
		changes = append(changes, tuning.Change{Setting: tuning.NoUp(id), To: tuning.Of("true"), Type: "bool"})
	}
	return changes
}

// OSDsOf are those that a journal is about.
func OSDsOf(j *tuning.Journal) []int {
	var osds []int
	for _, entry := range j.Entries {
		if entry.Setting.Kind == tuning.KindNoUp {
			osds = append(osds, entry.Setting.OSD)
		}
	}
	return osds
}

// Ceph's defaults of the options that matter here.
const (
	defaultOutAfter       = 600 * time.Second
	defaultMinInRatio     = 0.75
	defaultMarkdowns      = 5
	defaultMarkdownPeriod = 600 * time.Second
)

// outAfter is how long an OSD may be down before Ceph takes it for lost; 0 for ever. The
// monitor that leads decides, so that it is a range where one of them has a value of its own.
func outAfter(config []ceph.ConfigEntry) (shortest, longest time.Duration) {
	const option = "mon_osd_down_out_interval"
	for i, seconds := range append(apart(config, "mon", option), number(config, "mon", option, defaultOutAfter.Seconds())) {
		after := time.Duration(seconds * float64(time.Second))
		if i == 0 {
			shortest, longest = after, after
			continue
		}
		shortest, longest = earlier(shortest, after), later(longest, after)
	}
	return shortest, longest
}

// earlier is the first of two times, of which 0 never comes.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// later is the last of two times, of which 0 never comes.
func later(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// minInRatio is the share of OSDs that has to be in for Ceph to take another one for lost;
// the strictest where monitors differ.
func minInRatio(config []ceph.ConfigEntry) float64 {
	const option = "mon_osd_min_in_ratio"
	return slices.Max(append(apart(config, "mon", option), number(config, "mon", option, defaultMinInRatio)))
}

// staysOut tells whether an OSD that Ceph took for lost stays so once it is up again, until
// somebody says otherwise.
func staysOut(config []ceph.ConfigEntry) bool {
	back := true
	for _, place := range []string{"global", "mon"} {
		for _, entry := range config {
			if set, err := strconv.ParseBool(entry.Value); err == nil && entry.Section == place && entry.Name == "mon_osd_auto_mark_auto_out_in" {
				back = set
			}
		}
	}
	return !back
}

// spacing is how long after it was marked down an OSD may be marked down again. One that
// was marked down wrongly, as it sees it, more than osd_max_markdown_count times within
// osd_max_markdown_period ends its process. Once in a period's share, and a little more,
// is never too often, whoever else has marked it down once.
func spacing(config []ceph.ConfigEntry) time.Duration {
	const ofPeriod, ofCount = "osd_max_markdown_period", "osd_max_markdown_count"
	period := slices.Max(append(apart(config, "osd", ofPeriod), number(config, "osd", ofPeriod, defaultMarkdownPeriod.Seconds())))
	count := slices.Min(append(apart(config, "osd", ofCount), number(config, "osd", ofCount, defaultMarkdowns)))
	return time.Duration(period/max(1, count-1)*float64(time.Second)) + 10*time.Second
}

// number is an option of the central configuration, for all daemons of a kind.
func number(config []ceph.ConfigEntry, section, name string, otherwise float64) float64 {
	value := otherwise
	for _, place := range []string{"global", section} {
		for _, entry := range config {
			set, err := strconv.ParseFloat(entry.Value, 64)
			if entry.Section == place && entry.Mask == "" && entry.Name == name && err == nil && set >= 0 {
				value = set
			}
		}
	}
	return value
}

// apart are the values of an option that some daemons of a kind have for themselves: by
// their name, or by a mask.
func apart(config []ceph.ConfigEntry, section, name string) []float64 {
	var values []float64
	for _, entry := range config {
		own := strings.HasPrefix(entry.Section, section+".") || entry.Mask != "" && (entry.Section == section || entry.Section == "global")
		if set, err := strconv.ParseFloat(entry.Value, 64); own && entry.Name == name && err == nil && set >= 0 {
			values = append(values, set)
		}
	}
	return values
}

// LostAfter is how long an OSD may be down at least before Ceph takes it for lost and moves
// its data; 0 for ever.
func LostAfter(config []ceph.ConfigEntry) time.Duration {
	shortest, _ := outAfter(config)
	return shortest
}
