package outage

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/ceph"
)

// maxExamples is how many placement groups a message names.
const maxExamples = 3

// Unavailable describes the placement groups that may become unavailable without the given OSDs; "" if all
// stay available. It expects all placement groups that these OSDs serve, from [ceph.Client.PGsOn].
//
// `ceph osd ok-to-stop` should answer this question, but is wrong in Ceph 20.2.4. It ignores a placement
// group unless the last OSD of its acting set is among those to stop. So a refusal by Ceph counts, but an
// approval does not suffice.
func Unavailable(m *ceph.OSDMap, pgs []ceph.PG, without []int) string {
	var lost []string
	for _, pg := range pgs {
		if reason := unavailable(m, pg, without); reason != "" {
			lost = append(lost, pg.ID+" "+reason)
		}
	}
	if len(lost) == 0 {
		return ""
	}
	slices.Sort(lost)
	return fmt.Sprintf("placement groups may become unavailable without %s (%d in all): %s",
		ceph.OSDNames(without), len(lost), strings.Join(lost[:min(len(lost), maxExamples)], ", "))
}

// unavailable says why a placement group may become unavailable; "" if it stays available. A
// placement group that is not clean counts as unavailable, because the remaining OSDs may lack some
// of its objects.
func unavailable(m *ceph.OSDMap, pg ceph.PG, without []int) string {
	index := slices.IndexFunc(m.Pools, func(p ceph.Pool) bool { return p.ID == pg.PoolID })
	if index < 0 {
		return "belongs to a pool that is not in the OSD map"
	}
	if state := ceph.PGState(pg.State); state.IsUnclean() {
		return fmt.Sprintf("is %q, not clean", state)
	}
	left := 0
	for _, osd := range m.OSDs {
		if osd.Up && slices.Contains(pg.Acting, osd.ID) && !slices.Contains(without, osd.ID) {
			left++
		}
	}
	if least := max(1, m.Pools[index].MinSize); left < least {
		return fmt.Sprintf("would have fewer OSDs left (%d) than it needs (%d, min_size of pool %s)", left, least, m.Pools[index].Name)
	}
	return ""
}
