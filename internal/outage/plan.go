// Package outage implements a benchmark's outages: it decides whether and when OSDs go down, measures the
// cost, and brings the OSDs back. Plan and State only decide: they take facts about the cluster as values.
// Only Stopper, Restorer and Restore act on the cluster. A [tuning.Journal] records each flag that they set.
//
// To stop OSDs, the manager sets the flag noup for each and marks them down. Their processes keep
// running, wait until the flag is unset, and come up by themselves: neither the kubelet nor Rook
// sees a failure. The process of an OSD ends if the OSD is marked down too often: see spacing.
package outage

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Plan is a planned outage.
type Plan struct {
	OSDs []int
	// Before is the time until the stop, counted from the signal that starts the phase; it includes the ramp.
	// Duration is the time from the stop until noup is unset. Ramp is how long the phase runs before it is
	// measured.
	Before, Duration, Ramp time.Duration
	// Backfill says that Ceph is expected to backfill data to other OSDs during the outage.
	Backfill bool
	// OtherPools is how many pools other than the target and Ceph's own pool .mgr may be degraded.
	OtherPools int
}

// PlanFor returns the plan for the outage of a template, or false if the template has no outage.
func PlanFor(t *v1alpha1.BenchmarkTemplate) (Plan, bool) {
	if t.Outage == nil {
		return Plan{}, false
	}
	phase := cmp.Or(t.Phase(t.Outage.Phase), &v1alpha1.Phase{})
	return PlanOf(t.Outage, engine.TraitsOf(phase).Ramp), true
}

// PlanOf returns the plan for an outage in a template. The ramp is that of the outage's phase.
func PlanOf(d *v1alpha1.Outage, ramp time.Duration) Plan {
	p := Plan{
		Before: ramp + d.Before.Duration, Duration: d.Duration.Duration, Ramp: ramp,
		Backfill: d.Backfill == v1alpha1.BackfillExpect, OtherPools: int(d.OtherPools),
	}
	for _, id := range d.OSDs {
		p.OSDs = append(p.OSDs, int(id))
	}
	return p
}

// grace is how much later than planned an outage may end. After that, a Restorer of this or another manager
// brings the OSDs back. Unless a backfill is expected, it must do so before Ceph marks the OSDs out. So grace
// plus KeepEvery must be less than outMargin.
const grace = 15 * time.Second

// Until returns the deadline for unsetting noup if the OSDs are stopped now. The deadline is in UTC and
// whole seconds, so that storing it does not change it.
func (p Plan) Until(now time.Time) time.Time {
	return now.Add(p.Duration + grace).UTC().Truncate(time.Second)
}

// Changes returns the flags that keep the OSDs down.
func (p Plan) Changes() []tuning.Change {
	changes := make([]tuning.Change, 0, len(p.OSDs))
	for _, id := range p.OSDs {
		changes = append(changes, tuning.Change{Setting: tuning.NoUp(id), To: cephvalue.Of("true"), Type: "bool"})
	}
	return changes
}

// OSDsOf returns the OSDs of a journal.
func OSDsOf(j *tuning.Journal) []int {
	var osds []int
	for _, entry := range j.Entries {
		if entry.Setting.Kind == tuning.KindNoUp {
			osds = append(osds, entry.Setting.OSD)
		}
	}
	return osds
}

// These are Ceph's defaults of the options that this package uses.
const (
	defaultOutAfter       = 600 * time.Second
	defaultMinInRatio     = 0.75
	defaultMarkdowns      = 5
	defaultMarkdownPeriod = 600 * time.Second
)

// outAfter returns how long an OSD may be down before Ceph marks it out; 0 means never. The leading monitor
// decides, and any monitor may lead. So the result is a range if the monitors' values differ.
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

// earlier returns the shorter of two durations until an event; 0 means that it never comes.
func earlier(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// later returns the longer of two durations until an event; 0 means that it never comes.
func later(a, b time.Duration) time.Duration {
	if a == 0 || b == 0 {
		return 0
	}
	return max(a, b)
}

// minInRatio returns the share of OSDs that must be in before Ceph marks another one out; the highest value
// if the monitors' values differ.
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

// spacing returns the minimum time between two moments at which the same OSD is marked down. The process of
// an OSD ends if the running OSD is marked down more than osd_max_markdown_count times within
// osd_max_markdown_period. The result is the period divided by (count - 1), plus 10 s. So another client can
// mark the OSD down once without exceeding the limit. With a count below 2, the result is the whole period plus
// 10 s, and that other client may exceed the limit.
func spacing(config []ceph.ConfigEntry) time.Duration {
	const ofPeriod, ofCount = "osd_max_markdown_period", "osd_max_markdown_count"
	period := slices.Max(append(apart(config, "osd", ofPeriod), number(config, "osd", ofPeriod, defaultMarkdownPeriod.Seconds())))
	count := slices.Min(append(apart(config, "osd", ofCount), number(config, "osd", ofCount, defaultMarkdowns)))
	return time.Duration(period/max(1, count-1)*float64(time.Second)) + 10*time.Second
}

// number returns the value of a numeric option in the central configuration, for all daemons of a kind. If
// the option is not set, number returns its last argument.
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

// apart returns the values of an option that are set for only some daemons of a kind, by name or by mask.
func apart(config []ceph.ConfigEntry, section, name string) []float64 {
	var values []float64
	for _, entry := range config {
		narrower := strings.HasPrefix(entry.Section, section+".") || entry.Mask != "" && (entry.Section == section || entry.Section == "global")
		if set, err := strconv.ParseFloat(entry.Value, 64); narrower && entry.Name == name && err == nil && set >= 0 {
			values = append(values, set)
		}
	}
	return values
}

// LostAfter returns the shortest time after which Ceph marks a down OSD out and moves its data;
// 0 means never.
func LostAfter(config []ceph.ConfigEntry) time.Duration {
	shortest, _ := outAfter(config)
	return shortest
}
