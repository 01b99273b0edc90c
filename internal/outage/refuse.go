package outage

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
)

// Cluster holds the facts about a cluster whose OSDs are to be stopped.
type Cluster struct {
	OSDMap *ceph.OSDMap
	// PGs holds the placement groups of all OSDs, or at least of those to stop.
	PGs    []ceph.PG
	Config []ceph.ConfigEntry
	// RemovesOSDs says that Rook removes OSDs that are out.
	RemovesOSDs bool
	// TargetPools lists the pools with the benchmark's data.
	TargetPools []string
	// Status and Stop are Ceph's answers to `ceph status` and `ceph osd ok-to-stop` right before the stop;
	// nil when only [Plan.Impossible] is checked.
	Status *ceph.Status
	Stop   *ceph.Stop
}

// Refuse returns the reason why the OSDs must not be stopped now; "" if they may be.
func (p Plan) Refuse(c Cluster, now time.Time) string {
	for _, rule := range []func(Cluster) string{
		p.removedByRook, p.unknown, p.flagged, p.incomplete, p.lostMeanwhile, p.shared, p.unsafe,
	} {
		if reason := rule(c); reason != "" {
			return reason
		}
	}
	if wait := p.Rested(c.Config, c.OSDMap).Sub(now); c.Status != nil && wait > 0 {
		return fmt.Sprintf("one of the OSDs was marked down within the last %v: an OSD that is marked down too often stops its process",
			spacing(c.Config))
	}
	return ""
}

// Impossible returns the reason why the OSDs can be stopped only after a change to the cluster's
// configuration or to the outage. It returns "" if they can be stopped now or later.
func (p Plan) Impossible(c Cluster) string {
	for _, rule := range []func(Cluster) string{p.removedByRook, p.unknown, p.lostMeanwhile, p.shared} {
		if reason := rule(c); reason != "" {
			return reason
		}
	}
	return ""
}

// Rested returns when the OSDs may be marked down again; zero if they never were marked down. It takes the
// latest time at which one of the OSDs was marked down, according to any of the maps, and adds the result of
// spacing.
func (p Plan) Rested(config []ceph.ConfigEntry, maps ...*ceph.OSDMap) time.Time {
	var last time.Time
	for _, m := range maps {
		if m == nil {
			continue
		}
		for _, osd := range m.OSDs {
			if slices.Contains(p.OSDs, osd.ID) && osd.DownSince.After(last) {
				last = osd.DownSince
			}
		}
	}
	if last.IsZero() {
		return last
	}
	return last.Add(spacing(config))
}

func (p Plan) removedByRook(c Cluster) string {
	if !c.RemovesOSDs {
		return ""
	}
	return "the CephCluster sets removeOSDsIfOutAndSafeToRemove, so Rook would remove OSDs that are out: set it to false"
}

func (p Plan) unknown(c Cluster) string {
	for _, id := range p.OSDs {
		if !slices.ContainsFunc(c.OSDMap.OSDs, func(o ceph.OSDState) bool { return o.ID == id }) {
			return fmt.Sprintf("there is no osd.%d: name OSDs that `ceph osd ls` shows", id)
		}
	}
	return ""
}

// flagged returns a reason if a flag is set that prevents an outage. It accepts the flags that
// suppress scrubs.
func (p Plan) flagged(c Cluster) string {
	for _, flag := range c.OSDMap.Flags {
		if flag != ceph.FlagNoScrub && flag != ceph.FlagNoDeepScrub {
			return fmt.Sprintf("the flag %s is set and changes how OSDs go down, come up or recover: unset it with `ceph osd unset %s`", flag, flag)
		}
	}
	for _, osd := range c.OSDMap.OSDs {
		if len(osd.Flags) > 0 {
			return fmt.Sprintf("osd.%d has the flag %s, so maintenance may be going on: unset it with `ceph osd unset-group %[2]s osd.%[1]d`", osd.ID, osd.Flags[0])
		}
	}
	return ""
}

func (p Plan) incomplete(c Cluster) string {
	for _, osd := range c.OSDMap.OSDs {
		if !osd.Up {
			return fmt.Sprintf("osd.%d is down already", osd.ID)
		}
	}
	switch {
	case c.Status == nil:
		return ""
	case !c.Status.ManagerActive:
		return "no ceph-mgr is active, so the state of the data is unknown"
	case c.Status.InOSDs < c.Status.OSDs:
		return fmt.Sprintf("%d of %d OSDs are out", c.Status.OSDs-c.Status.InOSDs, c.Status.OSDs)
	case !c.Status.AllClean():
		return "not all placement groups are active+clean"
	}
	return ""
}

// outMargin is the safety margin between the end of an outage and the time at which Ceph would
// mark the OSDs out.
const outMargin = time.Minute

func (p Plan) lostMeanwhile(c Cluster) string {
	lost, lostAtLatest := outAfter(c.Config)
	switch {
	case staysOut(c.Config):
		return "mon_osd_auto_mark_auto_out_in is off, so an OSD that Ceph marks out would stay out after the outage: " +
			"set it to true"
	case !p.Backfill && lost > 0 && p.Duration+outMargin > lost:
		return fmt.Sprintf("Ceph marks OSDs out that are down for %v (mon_osd_down_out_interval), and moves their data: "+
			"make the outage of %v at least %v shorter than that, or set outage.backfill to Expect", lost, p.Duration, outMargin)
	case p.Backfill && lostAtLatest == 0:
		return "Ceph never marks OSDs out here (mon_osd_down_out_interval is 0), so no backfill will begin"
	case p.Backfill && !p.allGoOut(c):
		return fmt.Sprintf("Ceph marks no more OSDs out once less than %g of them are in (mon_osd_min_in_ratio), "+
			"so not all %d OSDs would go out: name fewer", minInRatio(c.Config), len(p.OSDs))
	case p.Backfill && p.Duration <= lostAtLatest+outMargin:
		return fmt.Sprintf("outage.backfill is Expect, and Ceph moves data only after %v (mon_osd_down_out_interval): raise outage.duration above %v",
			lostAtLatest, lostAtLatest+outMargin)
	}
	return ""
}

// allGoOut reports whether Ceph would mark all of the OSDs out, one after the other. Each time before it marks
// one out, Ceph checks how many OSDs are still in.
func (p Plan) allGoOut(c Cluster) bool {
	in := len(c.OSDMap.OSDs)
	if c.Status != nil {
		in = c.Status.InOSDs
	}
	return float64(in-len(p.OSDs)+1) >= minInRatio(c.Config)*float64(len(c.OSDMap.OSDs))
}

// ownPool is Ceph's own pool, which has no data that clients wait for.
const ownPool = ".mgr"

func (p Plan) shared(c Cluster) string {
	names := map[int64]string{}
	for _, pool := range c.OSDMap.Pools {
		names[pool.ID] = pool.Name
	}
	var others []string
	for _, pg := range c.PGs {
		name := names[pg.PoolID]
		ours := name == "" || name == ownPool || slices.Contains(c.TargetPools, name) || slices.Contains(others, name)
		if !ours && slices.ContainsFunc(pg.Acting, func(id int) bool { return slices.Contains(p.OSDs, id) }) {
			others = append(others, name)
		}
	}
	if len(others) <= p.OtherPools {
		return ""
	}
	slices.Sort(others)
	return fmt.Sprintf("other pools have data on these OSDs and would be degraded too (%d in all: %s): "+
		"name OSDs without such data, or raise outage.otherPools to %[1]d if their owners agree", len(others), strings.Join(others[:min(len(others), 5)], ", "))
}

func (p Plan) unsafe(c Cluster) string {
	if c.Stop == nil {
		return ""
	}
	if reason := Unavailable(c.OSDMap, c.PGs, p.OSDs); reason != "" {
		return reason
	}
	if c.Stop.OK {
		return ""
	}
	return "Ceph says that the OSDs are not ok to stop: " + c.Stop.Reason
}
