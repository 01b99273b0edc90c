// Package placement sizes and places scratch pools. It lists the Ceph pools of a scratch pool with their
// numbers of placement groups: one pool, or two with erasure coding, one of them for metadata. It also
// confines a scratch pool to some OSDs: it chooses the OSDs, assigns each placement group to some of them,
// and verifies the result.
//
// The package is pure: it reads no clock and no cluster. Callers send the assignment to Ceph with "osd
// pg-upmap" for each placement group; docs/choosing-osds.md explains why they do not use a CRUSH rule.
package placement

import (
	"cmp"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/settings"
)

const (
	// typeOSD is the failure domain of single OSDs.
	typeOSD = "osd"
	// defaultRoot is the root of the CRUSH hierarchy to use if a cluster has several.
	defaultRoot = "default"
	// defaultDomain is the failure domain of a pool that names none.
	defaultDomain = "host"
	// firstRelease is the first release with clients that support upmaps.
	firstRelease = "luminous"
)

// Request describes the pools for which OSDs are chosen.
type Request struct {
	// Count is the number of OSDs to choose.
	Count int
	// Pools are the pools to place on these OSDs.
	Pools []Pool
	// FailureDomain is the type of CRUSH bucket that keeps copies apart: no two copies of a
	// placement group are in one bucket.
	FailureDomain string
	// Root is the root of the CRUSH hierarchy whose OSDs store the pools; "" for the usual one.
	Root string
	// DeviceClass is the device class of the OSDs. It may be empty if the cluster has only one
	// class.
	DeviceClass string
	// Seed determines the draw of OSDs.
	Seed int64
}

// Pool is a pool to be placed.
type Pool struct {
	// Copies is the number of OSDs of each placement group: its copies or chunks.
	Copies int
	// PGs is the number of placement groups; 0 if unknown.
	PGs int
}

// RequestOf returns the request for a scratch pool that [Sized] returned.
func RequestOf(pool v1alpha1.ScratchPool) Request {
	request := Request{FailureDomain: cmp.Or(pool.FailureDomain, defaultDomain), Root: pool.CrushRoot, DeviceClass: pool.DeviceClass}
	if pool.OSDSelection != nil {
		request.Count = int(pool.OSDSelection.Count)
		if pool.OSDSelection.Seed != nil {
			request.Seed = *pool.OSDSelection.Seed
		}
	}
	for _, p := range slices.Backward(Pools(0, pool)) { // The pool of the data is the first to be checked.
		if pool.ErasureCoded != nil && p.Name == settings.ScratchPool {
			p.PGNum = 0 // The metadata pool need not use all of the OSDs, so its number of placement groups does not matter.
		}
		request.Pools = append(request.Pools, Pool{Copies: p.Size, PGs: p.PGNum})
	}
	return request
}

// SupportsUpmap says why a cluster cannot place single placement groups; nil if it can.
func SupportsUpmap(m *ceph.OSDMap) error {
	if m.MinCompatClient != "" && m.MinCompatClient < firstRelease { // Release names are in alphabetical order.
		return refuse("the cluster allows clients of release %s, which do not support upmap: if no such client is left, run `ceph osd set-require-min-compat-client luminous`", m.MinCompatClient)
	}
	return nil
}

// Error says why a request cannot be met. Its message is for the user.
type Error struct{ Message string }

// Error implements error.
func (e *Error) Error() string { return e.Message }

func refuse(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Chosen has the OSDs that were chosen for a request.
type Chosen struct {
	// IDs are in the order of the draw. A request for fewer OSDs with the same seed gets the first of these
	// IDs, if the cluster has the same OSDs.
	IDs []int
	// domain is the failure domain of each OSD.
	domain map[int]string
}

// Sorted returns the IDs in numerical order.
func (c Chosen) Sorted() []int { return slices.Sorted(slices.Values(c.IDs)) }

// Choose draws OSDs that are up and in. It takes one OSD from each failure domain in turn. So the copies of
// a placement group can be kept apart. The numbers of chosen OSDs per failure domain differ by at most one,
// unless a domain has too few OSDs.
//
// If a request cannot be met, the error is an *Error.
func Choose(all []ceph.OSDLocation, w Request) (Chosen, error) {
	domains, err := candidates(all, w)
	if err != nil {
		return Chosen{}, err
	}
	if err := w.possible(domains); err != nil {
		return Chosen{}, err
	}
	names := slices.Sorted(maps.Keys(domains))
	shuffle(names, w.Seed, 0)
	for i, name := range slices.Sorted(maps.Keys(domains)) {
		slices.Sort(domains[name])
		shuffle(domains[name], w.Seed, uint64(i+1))
	}
	chosen := Chosen{domain: map[int]string{}}
	for turn := 0; len(chosen.IDs) < w.Count; turn++ {
		for _, name := range names {
			if turn < len(domains[name]) && len(chosen.IDs) < w.Count {
				id := domains[name][turn]
				chosen.IDs = append(chosen.IDs, id)
				chosen.domain[id] = name
			}
		}
	}
	return chosen, nil
}

// Apart returns an error if the copies of a pool cannot be kept apart, because the cluster has too few
// failure domains. Ceph would create such a pool nevertheless, but its placement groups would never become
// clean. OSDs that are down or out count, since they may come back. If the request has no device class,
// OSDs of all classes count. If no OSD counts, the error is nil.
//
// If a request cannot be met, the error is an *Error.
func Apart(all []ceph.OSDLocation, w Request) error {
	domains, err := w.domains(all, func(ceph.OSDLocation) bool { return true })
	if err != nil || len(domains) == 0 {
		return err
	}
	for _, pool := range w.Pools {
		if pool.Copies > len(domains) {
			return refuse("%d copies or chunks need as many failure domains of type %s, but the OSDs%s are in only %d: set scratchPool.failureDomain to a level that has enough, such as osd, "+
				"or use a smaller size",
				pool.Copies, w.FailureDomain, w.ofClass(), len(domains))
		}
	}
	return nil
}

// candidates returns the OSDs that can be drawn, by failure domain.
func candidates(all []ceph.OSDLocation, w Request) (map[string][]int, error) {
	var classes []string
	for _, osd := range usable(all, w.Root) {
		classes = with(classes, osd.DeviceClass)
	}
	if w.DeviceClass == "" && len(classes) > 1 {
		slices.Sort(classes)
		return nil, refuse("OSDs of different device classes (%s) would be drawn, and results would depend on the draw: name one class in scratchPool.deviceClass", strings.Join(classes, ", "))
	}
	return w.domains(all, func(osd ceph.OSDLocation) bool { return osd.Up && osd.In })
}

// domains returns, by failure domain, the OSDs that the pools' CRUSH rule can use and that satisfy the
// condition in the parameter called counts.
func (w Request) domains(all []ceph.OSDLocation, counts func(ceph.OSDLocation) bool) (map[string][]int, error) {
	domains := map[string][]int{}
	nowhere := 0
	inside := usable(all, w.Root)
	if len(inside) == 0 && len(all) > 0 {
		return nil, refuse("no OSD is in the CRUSH root %s: set scratchPool.crushRoot to a root that `ceph osd tree` shows", w.Root)
	}
	for _, osd := range inside {
		if !counts(osd) || w.DeviceClass != "" && osd.DeviceClass != w.DeviceClass {
			continue
		}
		name := osd.Buckets[w.FailureDomain]
		if w.FailureDomain == typeOSD {
			name = fmt.Sprintf("osd.%d", osd.ID)
		}
		if name == "" {
			nowhere++
			continue
		}
		domains[name] = append(domains[name], osd.ID)
	}
	if len(domains) == 0 && nowhere > 0 {
		return nil, refuse("no OSD is in a CRUSH bucket of type %s: set scratchPool.failureDomain to a type that `ceph osd tree` shows", w.FailureDomain)
	}
	return domains, nil
}

// usable returns the OSDs in a root, with their buckets below it. Without a name, the root is "default", or any if the
// cluster has no such root.
func usable(all []ceph.OSDLocation, root string) []ceph.OSDLocation {
	var inside []ceph.OSDLocation
	for _, osd := range all {
		if buckets := osd.Below(cmp.Or(root, defaultRoot)); buckets != nil {
			osd.Buckets = buckets
			inside = append(inside, osd)
		}
	}
	if len(inside) == 0 && root == "" {
		return all
	}
	return inside
}

// UsableOSDs returns the OSDs that a scratch pool may use: those of its root. Without a tree, it returns all.
func UsableOSDs(all []ceph.OSD, tree []ceph.OSDLocation, pool v1alpha1.ScratchPool) []ceph.OSD {
	if len(tree) == 0 {
		return all
	}
	inside := map[int]bool{}
	for _, osd := range usable(tree, pool.CrushRoot) {
		inside[osd.ID] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(osd ceph.OSD) bool { return !inside[osd.ID] })
}

// with returns a list with a name added, unless the name is empty or the list has it already.
func with(names []string, name string) []string {
	if name == "" || slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// possible returns an error that says why a request cannot be met.
func (w Request) possible(domains map[string][]int) error {
	there := 0
	for _, osds := range domains {
		there += len(osds)
	}
	if w.Count > there {
		return refuse("OSDs requested for the pool: %d; OSDs%s that are up and in: %d; request fewer OSDs", w.Count, w.ofClass(), there)
	}
	for _, pool := range w.Pools {
		switch {
		case pool.Copies > w.Count:
			return refuse("OSDs requested for the pool: %d; its copies or chunks: %d; request at least one OSD for each, or use a smaller size", w.Count, pool.Copies)
		case pool.Copies > len(domains):
			return refuse("%d copies or chunks need as many failure domains of type %s, but the OSDs%s that are up and in are in only %d: use failureDomain osd, or a smaller size",
				pool.Copies, w.FailureDomain, w.ofClass(), len(domains))
		case pool.PGs > 0 && pool.PGs*pool.Copies < w.Count:
			return refuse("a pool with pg_num %d and size %d cannot use all of %d OSDs: use a larger pg_num", pool.PGs, pool.Copies, w.Count)
		}
	}
	return nil
}

func (w Request) ofClass() string {
	if w.DeviceClass == "" {
		return ""
	}
	return " of device class " + w.DeviceClass
}

// shuffle is a Fisher–Yates shuffle with random numbers from a PCG. It does not use rand.Shuffle, because a
// new version of Go may change that function, and a seed must always give the same draw.
func shuffle[T any](xs []T, seed int64, stream uint64) {
	source := rand.NewPCG(uint64(seed), stream) //nolint:gosec // All bit patterns are valid seeds.
	for i := len(xs) - 1; i > 0; i-- {
		j, _ := bits.Mul64(source.Uint64(), uint64(i+1))
		xs[i], xs[j] = xs[j], xs[i]
	}
}

// Spread assigns OSDs to each placement group of a pool, the primary first. The OSDs of a placement group
// are in different failure domains. As far as the domains allow, all OSDs have about the same number of
// placement groups, and are primary about equally often.
func (c Chosen) Spread(pool Pool) []ceph.PGPlacement {
	load, first := map[int]int{}, map[int]int{}
	all := make([]ceph.PGPlacement, pool.PGs)
	for number := range all {
		osds := c.leastLoaded(load, pool.Copies)
		slices.SortStableFunc(osds, func(a, b int) int { return cmp.Compare(first[a], first[b]) })
		first[osds[0]]++
		for _, osd := range osds {
			load[osd]++
		}
		all[number] = ceph.PGPlacement{Number: number, OSDs: osds}
	}
	return all
}

// leastLoaded returns OSDs from different failure domains: as many as the parameter count says, or one from
// each domain if the domains are fewer. It takes the domains with the least load per OSD, and from
// each of these the OSD with the least load.
func (c Chosen) leastLoaded(load map[int]int, count int) []int {
	var domains []string
	members := map[string][]int{}
	for _, osd := range c.IDs {
		domains = with(domains, c.domain[osd])
		members[c.domain[osd]] = append(members[c.domain[osd]], osd)
	}
	byLoad := func(a, b int) int { return cmp.Compare(load[a], load[b]) }
	mean := func(domain string) float64 {
		sum := 0
		for _, osd := range members[domain] {
			sum += load[osd]
		}
		return float64(sum) / float64(len(members[domain]))
	}
	slices.SortStableFunc(domains, func(a, b string) int { return cmp.Compare(mean(a), mean(b)) })
	var osds []int
	for _, domain := range domains[:min(count, len(domains))] {
		osds = append(osds, slices.MinFunc(members[domain], byLoad))
	}
	return osds
}

// Missing returns the placements that have to be sent to Ceph. If the OSD map has no placement of a placement
// group, Missing uses the one that this process has sent. The parameter called sent has these, by ID of the
// placement group. The OSD map is not enough, because Ceph drops a placement that equals CRUSH's own choice.
func Missing(pool ceph.Pool, wanted []ceph.PGPlacement, m *ceph.OSDMap, sent map[string][]int) []ceph.PGPlacement {
	return slices.DeleteFunc(slices.Clone(wanted), func(p ceph.PGPlacement) bool {
		id := p.ID(pool.ID)
		if upmap, mapped := m.PGUpmaps[id]; mapped {
			return slices.Equal(upmap, p.OSDs)
		}
		return slices.Equal(sent[id], p.OSDs)
	})
}

// Used returns those of the given OSDs that have placement groups of a pool.
func Used(pool ceph.Pool, pgs []ceph.PG, osds []int) []int {
	holds := Holding(pool.ID, pgs)
	return slices.DeleteFunc(slices.Clone(osds), func(osd int) bool { return !holds[osd] })
}

// Holding returns the OSDs that have placement groups of a pool. It looks at each placement group once: a cluster may have
// ten thousand, on a thousand OSDs.
func Holding(pool int64, pgs []ceph.PG) map[int]bool {
	holds := map[int]bool{}
	for _, pg := range pgs {
		if pg.PoolID == pool {
			for _, osd := range pg.Acting {
				holds[osd] = true
			}
		}
	}
	return holds
}

// Outside names a placement group of a pool that is on an OSD outside the given OSDs; "" if all are on
// them. If some placement groups are unknown, it says so.
func Outside(pool ceph.Pool, pgs []ceph.PG, osds []int) string {
	count := 0
	for _, pg := range pgs {
		if pg.PoolID != pool.ID {
			continue
		}
		count++
		for _, osd := range pg.Acting {
			if !slices.Contains(osds, osd) {
				return fmt.Sprintf("placement group %s of pool %s is on osd.%d", pg.ID, pool.Name, osd)
			}
		}
	}
	if count != pool.PGNum { // Unreported placement groups may be elsewhere.
		return unreported(pool, count)
	}
	return ""
}

func unreported(pool ceph.Pool, count int) string {
	return fmt.Sprintf("Ceph reports OSDs for only %d of the %d placement groups of pool %s", count, pool.PGNum, pool.Name)
}

// CheckConfined says why the placement groups of a pool are not confined to the given OSDs; "" if they are.
// Each placement group must be known, and on the right number of these OSDs. Together, the placement groups
// must use all of these OSDs.
func CheckConfined(pool ceph.Pool, pgs []ceph.PG, osds []int) string {
	used, count := map[int]bool{}, 0
	for _, pg := range pgs {
		if pg.PoolID != pool.ID {
			continue
		}
		count++
		if len(pg.Acting) != pool.Size {
			return fmt.Sprintf("placement group %s is on %d OSDs, not on %d", pg.ID, len(pg.Acting), pool.Size)
		}
		for _, osd := range pg.Acting {
			if !slices.Contains(osds, osd) {
				return fmt.Sprintf("placement group %s is on osd.%d, which is not among the %d OSDs of the pool", pg.ID, osd, len(osds))
			}
			used[osd] = true
		}
	}
	if count != pool.PGNum {
		return unreported(pool, count)
	}
	for _, osd := range osds {
		if !used[osd] {
			return fmt.Sprintf("osd.%d has no placement group of pool %s, although the pool has to use all %d OSDs", osd, pool.Name, len(osds))
		}
	}
	return ""
}
