package diagnosis

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// This file has the checks of placement groups and pools.

const (
	// wantedPGs is mon_target_pg_per_osd, which Ceph's autoscaler aims at, and autoscalerActs its threshold: it
	// changes pg_num if that is wrong by this factor.
	wantedPGs      = 100
	autoscalerActs = 3
	// balancedWithin is upmap_max_deviation: the balancer stops when each OSD is within that many placement groups
	// of its share. Where OSDs have many, that is little. So the excess must also be unevenShare of the share, which
	// is ours: the busiest OSD then has a fifth more work than the others.
	balancedWithin = 5
	unevenShare    = 0.2
	// busyPrimary is ours: one OSD serves more than twice its share of a pool's operations.
	busyPrimary = 2.0
)

// fewPGs finds placement groups that are too few to use all OSDs: in the pool that seems slow, by counting; in the
// cluster, by the target of Ceph's autoscaler.
func fewPGs(f Facts) *v1alpha1.Finding {
	if p := f.pool(); p != nil {
		return f.fewIn(p)
	}
	total, osds := 0, 0
	for _, osd := range f.OSDs {
		if osd.Status == "up" {
			total, osds = total+osd.PGs, osds+1
		}
	}
	used := slices.ContainsFunc(f.OSDMap.Pools, func(p ceph.Pool) bool { return !strings.HasPrefix(p.Name, ".") })
	if osds == 0 || !used || float64(total)/float64(osds) >= wantedPGs/autoscalerActs {
		return nil
	}
	return found(possible, "Name the pool that seems slow in diagnosis.pool. `ceph osd pool autoscale-status` says what Ceph would choose.",
		[]string{fmt.Sprintf("%d placement groups on %d OSDs, copies included", total, osds)},
		"OSDs have %.0f placement groups on average. Ceph aims at %d.", float64(total)/float64(osds), wantedPGs)
}

// fewIn counts the OSDs that serve a pool: clients send their operations to the primary of a placement group.
func (f Facts) fewIn(p *ceph.Pool) *v1alpha1.Finding {
	primaries, candidates := f.serving(p)
	busiest := -1
	for osd, n := range primaries {
		if busiest < 0 || n > primaries[busiest] || n == primaries[busiest] && osd < busiest {
			busiest = osd
		}
	}
	if busiest < 0 || candidates < 2 {
		return nil
	}
	share := float64(primaries[busiest]) / float64(p.PGNum)
	evidence := []string{
		fmt.Sprintf("pg_num %d, %d OSDs that could serve it", p.PGNum, candidates),
		fmt.Sprintf("osd.%d serves %.0f %% of its placement groups, %d OSDs serve some", busiest, 100*share, len(primaries)),
	}
	remedy := "On scratch pools: " + f.sweep(fmt.Sprintf("pg_num=%d,%d --baseline pg_num=%d --quick", 2*p.PGNum, 4*p.PGNum, p.PGNum), "what more of them bring")
	switch {
	case len(primaries) < candidates:
		return found(certain, remedy, evidence, "Only %d of %d OSDs serve operations of pool %s: it has too few placement groups.", len(primaries), candidates, p.Name)
	case share > busyPrimary/float64(candidates):
		return found(likely, remedy, evidence, "osd.%d serves %.1f times its share of operations of pool %s.", busiest, share*float64(candidates), p.Name)
	}
	return nil
}

// serving returns the number of a pool's placement groups by primary, and the number of OSDs of the classes that store
// the pool.
func (f Facts) serving(p *ceph.Pool) (primaries map[int]int, candidates int) {
	primaries = map[int]int{}
	classes := map[string]bool{}
	for _, pg := range f.PGs {
		if pg.PoolID != p.ID || pg.Primary < 0 {
			continue
		}
		primaries[pg.Primary]++
		for _, osd := range pg.Acting {
			classes[f.classOf(osd)] = true
		}
	}
	for class, osds := range f.classes() {
		if classes[class] {
			candidates += len(osds)
		}
	}
	return primaries, candidates
}

// manyPGs has the threshold of Ceph's own warning, mon_max_pg_per_osd.
func manyPGs(f Facts) *v1alpha1.Finding {
	limit := quiescence.DefaultMaxPGsPerOSD
	for _, e := range f.Config {
		if n, err := strconv.Atoi(e.Value); e.Name == "mon_max_pg_per_osd" && err == nil && n > 0 {
			limit = n
		}
	}
	var evidence []string
	for _, osd := range f.OSDs {
		if osd.PGs > limit {
			evidence = append(evidence, fmt.Sprintf("osd.%d: %d placement groups", osd.ID, osd.PGs))
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	return found(possible, "Add OSDs, or lower pg_num of pools that hold little data.", evidence,
		"OSDs have more placement groups than mon_max_pg_per_osd, %d: they need memory and CPU for each.", limit)
}

// unevenPGs compares each OSD's placement groups with its share by size, in its class.
func unevenPGs(f Facts) *v1alpha1.Finding {
	var evidence []string
	worst := 0.0
	for class, osds := range f.classes() {
		pgs, bytes := 0, int64(0)
		for _, osd := range osds {
			pgs, bytes = pgs+osd.PGs, bytes+osd.TotalBytes
		}
		for _, osd := range osds {
			if bytes <= 0 {
				continue
			}
			fair := float64(pgs) * float64(osd.TotalBytes) / float64(bytes)
			if excess := float64(osd.PGs) - fair; excess > math.Max(balancedWithin, unevenShare*fair) {
				evidence = append(evidence, fmt.Sprintf("osd.%d: %d placement groups, %.0f by its size in class %q", osd.ID, osd.PGs, fair, class))
				worst = max(worst, float64(osd.PGs)/fair)
			}
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	slices.Sort(evidence)
	remedy := "The balancer is on: it evens them out in time, unless CRUSH rules prevent it. `ceph balancer status` says so."
	if f.Balancer != nil && !f.Balancer.Active {
		remedy = "The balancer is off: `ceph balancer on`. It moves data, so choose a quiet hour."
	}
	return found(possible, remedy, evidence, "Some OSDs have up to %.1f times the placement groups that their size suggests, and as much more work.", worst)
}

// pgsChanging finds pools whose placement groups Ceph splits, merges or moves.
func pgsChanging(f Facts) *v1alpha1.Finding {
	var evidence []string
	for _, p := range f.OSDMap.Pools {
		if p.PGNumTarget > 0 && p.PGNum != p.PGNumTarget || p.PGPlacementTarget > 0 && p.PGPlacementNum != p.PGPlacementTarget {
			evidence = append(evidence, fmt.Sprintf("pool %s: pg_num %d, to be %d", p.Name, p.PGNum, p.PGNumTarget))
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	return found(likely, "Wait until it has ended, and diagnose again. If the autoscaler keeps changing it, set the flag bulk, or turn pg_autoscale_mode off.", evidence,
		"Ceph splits or merges placement groups, which moves data.")
}

func poolCompressed(f Facts) *v1alpha1.Finding {
	p := f.pool()
	if p == nil || p.Options["compression_mode"] == "" || p.Options["compression_mode"] == "none" {
		return nil
	}
	mode := p.Options["compression_mode"]
	return found(possible, "On scratch pools: "+f.sweep("compression_mode=none --baseline compression_mode="+mode, "what it costs"),
		[]string{"compression_mode " + mode}, "OSDs compress what is written to pool %s.", p.Name)
}
