package quiescence

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
)

const (
	// maxLookGap is how far apart two looks may be that count as running: a placement group
	// that was inactive in both may have been active for all of a longer time between them.
	maxLookGap = 15 * time.Second
	// maxInactive is how many placement groups a message names.
	maxInactive = 5
)

// Inactive is what looks running have shown of placement groups that are not active, so that
// their clients wait. The zero value is for before the first look.
//
// It goes by single placement groups: a pool that splits or merges has one or the other that
// agrees anew at almost any moment, and none for long.
type Inactive struct {
	looked time.Time
	since  map[string]time.Time // by ID
}

// HasInactive reports whether the cluster has inactive placement groups. Without a manager
// that is unknown.
func HasInactive(s *ceph.Status) bool {
	return s.ManagerActive && s.CountPGs(ceph.PGState.IsInactive) > 0
}

// Next takes another look at placement groups, and returns what is known after it, and the
// danger that it is if some stay inactive for longer than PeeringGrace.
func (i Inactive) Next(at time.Time, pgs []ceph.PG) (Inactive, *Danger) {
	known := i.since
	if at.Sub(i.looked) > maxLookGap {
		known = nil
	}
	next := Inactive{looked: at, since: map[string]time.Time{}}
	var stay []string
	for _, pg := range pgs {
		if pg.State == "" || !ceph.PGState(pg.State).IsInactive() {
			continue
		}
		since, before := known[pg.ID]
		if !before {
			since = at
		}
		next.since[pg.ID] = since
		if at.Sub(since) > PeeringGrace {
			stay = append(stay, fmt.Sprintf("%s (%s)", pg.ID, pg.State))
		}
	}
	if len(stay) == 0 {
		return next, nil
	}
	slices.Sort(stay)
	return next, &Danger{AtOnce: true, Message: fmt.Sprintf("%d placement groups stay inactive for more than %v, and their clients wait: %s",
		len(stay), PeeringGrace, strings.Join(stay[:min(len(stay), maxInactive)], ", "))}
}
