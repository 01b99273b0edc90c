package quiescence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
)

const (
	// maxLookGap is the longest time between two samples that count as consecutive. With a longer gap, a
	// placement group that was inactive in both samples may have been active in between.
	maxLookGap = 15 * time.Second
	// maxInactive is the maximum number of placement groups that a message names.
	maxInactive = 5
)

// Inactive tracks how long placement groups stay inactive, while their clients wait. The zero value is
// ready for the first sample.
//
// Inactive tracks each placement group separately: in a pool that splits or merges, some placement group is
// peering at almost any moment, but none for long.
type Inactive struct {
	looked time.Time
	since  map[string]time.Time // by ID
}

// HasInactive reports whether the cluster has inactive placement groups. It returns false without an
// active manager daemon (mgr), because the states are then unknown.
func HasInactive(s *ceph.Status) bool {
	return s.ManagerActive && s.CountPGs(ceph.PGState.IsInactive) > 0
}

// Next adds a sample of placement groups. It returns the new state, and a danger if placement groups have
// been inactive for longer than PeeringGrace.
func (i Inactive) Next(moment time.Time, pgs []ceph.PG) (Inactive, *Danger) {
	known := i.since
	if moment.Sub(i.looked) > maxLookGap {
		known = nil
	}
	next := Inactive{looked: moment, since: map[string]time.Time{}}
	var stay []string
	for _, pg := range pgs {
		if pg.State == "" || !ceph.PGState(pg.State).IsInactive() {
			continue
		}
		since, before := known[pg.ID]
		if !before {
			since = moment
		}
		next.since[pg.ID] = since
		if moment.Sub(since) > PeeringGrace {
			stay = append(stay, fmt.Sprintf("%s (%s)", pg.ID, pg.State))
		}
	}
	if len(stay) == 0 {
		return next, nil
	}
	slices.Sort(stay)
	return next, &Danger{AtOnce: true, Message: fmt.Sprintf("placement groups have been inactive for more than %v, so clients wait: %s", PeeringGrace, firstOf(stay))}
}

// firstOf lists at most maxInactive placement groups, and says how many it omits.
func firstOf(all []string) string {
	list := strings.Join(all[:min(len(all), maxInactive)], ", ")
	if more := len(all) - maxInactive; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}
