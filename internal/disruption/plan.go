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
	"strconv"
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

// grace is how much later than planned everything has to be put back at the latest.
const grace = 2 * time.Minute

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
	defaultMarkdowns      = 5
	defaultMarkdownPeriod = 600 * time.Second
)

// outAfter is how long an OSD may be down before Ceph takes it for lost; 0 for ever.
func outAfter(config []ceph.ConfigEntry) time.Duration {
	return time.Duration(number(config, "mon", "mon_osd_down_out_interval", defaultOutAfter.Seconds()) * float64(time.Second))
}

// spacing is how long after it was marked down an OSD may be marked down again. One that
// was marked down wrongly, as it sees it, more than osd_max_markdown_count times within
// osd_max_markdown_period ends its process. Once in a period's share, and a little more,
// is never too often, whoever else has marked it down once.
func spacing(config []ceph.ConfigEntry) time.Duration {
	period := number(config, "osd", "osd_max_markdown_period", defaultMarkdownPeriod.Seconds())
	count := number(config, "osd", "osd_max_markdown_count", defaultMarkdowns)
	return time.Duration(period/max(1, count-1)*float64(time.Second)) + 10*time.Second
}

// number is an option of the central configuration, for all daemons of a kind; of what is
// set for some of them alone nothing is known.
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
