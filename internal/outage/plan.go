// Package outage decides about a benchmark's outages: whether OSDs may be stopped, when
// they go down and come up, and what that has cost. It is pure: facts about the cluster come
// in, decisions come out. The controller of CephBenchmarks carries them out, with a
// [tuning.Journal]. Only Restore acts, for any process that finds such a journal.
//
// OSDs are stopped by the flag noup, set for each, and by marking them down. Their processes
// keep running, wait until the flag is unset, and come up by themselves: neither the kubelet
// nor Rook sees a failure. An OSD that is marked down too often ends its process: see spacing.
package outage

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Plan is a planned outage.
type Plan struct {
	OSDs []int
	// Before counts from the signal to start, the ramp included.
	Before, Duration time.Duration
	// Backfill says that the outage lasts until Ceph moves data.
	Backfill bool
	// OtherPools is how many pools other than the target may be degraded.
	OtherPools int
}

// PlanOf is the plan of a template, for a phase with that ramp.
func PlanOf(d *v1alpha1.Outage, ramp time.Duration) Plan {
	p := Plan{
		Before: ramp + d.Before.Duration, Duration: d.Duration.Duration,
		Backfill: d.Backfill == v1alpha1.BackfillExpect, OtherPools: int(d.OtherPools),
	}
	for _, id := range d.OSDs {
		p.OSDs = append(p.OSDs, int(id))
	}
	return p
}

// grace bounds how much later than planned an outage may end. Together with the time after
// which another manager notices an overdue outage, it has to stay below outMargin: the
// fallback must act before Ceph marks the OSDs out.
const grace = 15 * time.Second

// Until is the deadline for unsetting noup for OSDs that are stopped now. It is in UTC without
// fractions, so that it reads the same in every store.
func (p Plan) Until(now time.Time) time.Time {
	return now.Add(p.Duration + grace).UTC().Truncate(time.Second)
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

// outAfter is how long an OSD may be down before Ceph marks it out; 0 for ever. The leading
// monitor decides, so it is a range if a monitor has its own value.
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

// earlier returns the first of two times; 0 means never.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// later returns the last of two times; 0 means never.
func later(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// minInRatio is the share of OSDs that has to be in for Ceph to mark another one out; the
// strictest if monitors differ.
func minInRatio(config []ceph.ConfigEntry) float64 {
	const option = "mon_osd_min_in_ratio"
	return slices.Max(append(apart(config, "mon", option), number(config, "mon", option, defaultMinInRatio)))
}

// staysOut reports whether an OSD that Ceph marked out stays out once it is up again, until an
// administrator marks it in.
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

// spacing is the minimum time between marking the same OSD down twice. An OSD that is marked
// down while it runs more than osd_max_markdown_count times within osd_max_markdown_period
// ends its process. Once in a period's share, and a little more, stays below that even if
// another client has marked it down once.
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

// apart returns the values of an option that are set for single daemons of a kind, by name or
// by mask.
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

// LostAfter is the shortest time that an OSD may be down before Ceph marks it out and moves
// its data; 0 for ever.
func LostAfter(config []ceph.ConfigEntry) time.Duration {
	shortest, _ := outAfter(config)
	return shortest
}
