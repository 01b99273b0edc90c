package quiescence

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// NoRoom is the code of an obstacle: OSDs have too little space for the data. The test of the page about obstacles looks for codes
// as literals.
const NoRoom = "NoRoom"

// nearFullRatio is Ceph's default, used for an OSD map without the ratio.
const nearFullRatio = 0.85

func (in input) nearFullRatio() float64 {
	if in.OSDMap.NearFullRatio > 0 {
		return in.OSDMap.NearFullRatio
	}
	return nearFullRatio
}

// byClass returns the input for the OSDs of each device class of the demand, or for all OSDs. Classes have separate room.
func (in input) byClass() (all []input) {
	for _, class := range in.Demand.DeviceClasses {
		in.class = class
		all = append(all, in)
	}
	if len(all) == 0 {
		return []input{in}
	}
	return all
}

// serving returns the OSDs that may store the benchmark's data.
func (in input) serving() []ceph.OSD { return Serving(in.OSDs, in.class) }

// Serving returns the OSDs of a device class, or of all classes, that can store data.
func Serving(all []ceph.OSD, deviceClass string) []ceph.OSD {
	var osds []ceph.OSD
	for _, osd := range all {
		// The size of an OSD that is out or down is 0.
		if osd.TotalBytes > 0 && (deviceClass == "" || osd.DeviceClass == deviceClass) {
			osds = append(osds, osd)
		}
	}
	return osds
}

// unevenness is the factor by which an OSD may exceed its share of the data when there are
// few placement groups.
const unevenness = 1.25

// RawRoom returns the number of bytes, including copies or coding, that OSDs can take until the
// first one may become nearfull and Ceph warns. It assumes that CRUSH spreads writes by OSD size,
// though not perfectly evenly. If demand.OnOSDs is set, only the number of the pool's OSDs is known, not
// which OSDs they are. RawRoom then assumes that they get equal shares of the data, and that the OSD with
// the least free space is among them. Of several device classes, it is the room of the fullest.
func RawRoom(osds []ceph.OSD, osdMap *ceph.OSDMap, demand Demand) int64 {
	in := input{Facts: Facts{OSDs: osds, OSDMap: osdMap, Demand: demand}}
	least := int64(math.MaxInt64)
	for _, one := range in.byClass() {
		least = min(least, one.rawRoom())
	}
	return least
}

func (in input) rawRoom() int64 {
	var total int64
	for _, osd := range in.serving() {
		total += osd.TotalBytes
	}
	room := math.Inf(1)
	for _, osd := range in.serving() {
		free := in.nearFullRatio()*float64(osd.TotalBytes) - float64(osd.UsedBytes)
		shares := float64(total) / float64(osd.TotalBytes)
		if in.Demand.OnOSDs > 0 { // Each of these OSDs is assumed to get an equal share, whatever its size.
			shares = float64(in.Demand.OnOSDs)
		}
		room = min(room, free*shares/unevenness)
	}
	if math.IsInf(room, 1) {
		return 0
	}
	return int64(max(room, 0))
}

// LeastRoom is the minimum room in bytes for each client that writes new objects. A client would
// fill a smaller room within moments.
const LeastRoom = 64 << 20

// RoomForObjects returns an obstacle if clients that write new objects have too little room. Its
// argument is the room for each client in bytes.
func RoomForObjects(bytes int64) []Obstacle {
	if bytes >= LeastRoom {
		return nil
	}
	return []Obstacle{*waits("NoRoom", "each client that writes new objects can write only %s until an OSD may be nearfull or half of the remaining quota is used, but needs at least %s; free space",
		quantity(bytes), quantity(LeastRoom))}
}

// fullOSDs returns the health codes for full, backfillfull and nearfull OSDs. It omits the codes for full
// pools: a pool may be full because of its quota, which concerns only its owner.
func fullOSDs() []string { return []string{"OSD_FULL", "OSD_BACKFILLFULL", nearFullCode} }

const nearFullCode = "OSD_NEARFULL"

// OutOfRoom says that OSDs are full or nearly full; "" if there is room. It ignores muted
// checks, except for a full OSD, which stops all writes to the cluster. A spec can allow
// nearfull OSDs, but nothing worse.
func OutOfRoom(status *ceph.Status, spec v1alpha1.Quiescence) string {
	var found []string
	for _, check := range status.Health.Checks {
		lifted := check.Severity != healthError && (check.Muted || check.Code == nearFullCode && matches(check.Code, allowances(spec)))
		if !lifted && matches(check.Code, fullOSDs()) {
			found = append(found, fmt.Sprintf("%s (%s)", check.Code, check.Summary))
		}
	}
	return strings.Join(found, ", ")
}

func nearFull(in input) *Obstacle {
	var full []string
	for _, osd := range in.serving() {
		if fill := float64(osd.UsedBytes) / float64(osd.TotalBytes); fill >= in.nearFullRatio() {
			full = append(full, fmt.Sprintf("osd.%d (%.0f%%)", osd.ID, 100*fill))
		}
	}
	if len(full) == 0 {
		return nil
	}
	return waits("NearFull", "OSDs are filled to %.0f%% or more: %s; free space", 100*in.nearFullRatio(), strings.Join(full, ", "))
}

// noRoom reports the first OSD that the datasets would make nearfull, because Ceph stops writes at the
// first full OSD. It assumes that CRUSH spreads writes by OSD size, unless Demand.OnOSDs is set. It also
// reports if no OSD can store data.
func noRoom(in input) *Obstacle {
	osds := in.serving()
	if len(osds) == 0 {
		return stays("NoOSDs", "no OSD of device class %q can store anything; `ceph osd df` shows the classes", in.class)
	}
	var total int64
	for _, osd := range osds {
		total += osd.TotalBytes
	}
	for _, osd := range osds {
		added := float64(in.Demand.RawBytes) / float64(total)
		if in.Demand.OnOSDs > 0 { // Each of these OSDs is assumed to get an equal share, whatever its size.
			added = float64(in.Demand.RawBytes) / float64(in.Demand.OnOSDs) / float64(osd.TotalBytes)
		}
		fill := float64(osd.UsedBytes)/float64(osd.TotalBytes) + added
		if fill < in.nearFullRatio() || in.Demand.RawBytes == 0 {
			continue
		}
		// OSDs free the space of removed pools with a delay, usually of minutes. So waiting can help if the data
		// would fit into an empty cluster.
		obstacle := waits("NoRoom", "the benchmark writes up to %s, with copies, which would fill osd.%d to %.0f%%, beyond the %.0f%% at which Ceph warns; free space, or write less",
			quantity(in.Demand.RawBytes), osd.ID, 100*fill, 100*in.nearFullRatio())
		obstacle.Waits = added < in.nearFullRatio()
		return obstacle
	}
	return nil
}

// quota reports an existing pool whose quota of bytes is too small for the benchmark. It does not check a
// quota of objects.
func quota(in input) *Obstacle {
	if in.Demand.Pool == "" {
		return nil
	}
	var stored int64
	for _, pool := range in.DF.Pools {
		if pool.Name == in.Demand.Pool {
			stored = pool.StoredBytes
		}
	}
	for _, pool := range in.OSDMap.Pools {
		if pool.Name == in.Demand.Pool && pool.QuotaMaxBytes > 0 && stored+in.Demand.Bytes > pool.QuotaMaxBytes {
			return stays("QuotaTooSmall", "pool %s contains %s of its quota of %s, and the benchmark writes up to %s; raise max_bytes, or write less",
				pool.Name, quantity(stored), quantity(pool.QuotaMaxBytes), quantity(in.Demand.Bytes))
		}
	}
	return nil
}

// pgsPerOSD reports new pools with which OSDs would have more than pgShare percent of the PGs that Ceph
// allows.
func pgsPerOSD(in input) *Obstacle {
	osds := in.serving()
	if in.Demand.PGReplicas == 0 || len(osds) == 0 {
		return nil
	}
	limit := MaxPGsPerOSD(in.Config)
	replicas := in.Demand.PGReplicas
	for _, osd := range osds {
		replicas += osd.PGs
	}
	allowed := limit * pgShare / 100
	if most := in.mostPGs(osds); most > allowed {
		return stays("TooManyPGs", "an OSD would have %d PGs, more than %d%% of mon_max_pg_per_osd %d; use a smaller pg_num, or more OSDs", most, pgShare, limit)
	}
	if mean := (replicas + len(osds) - 1) / len(osds); mean > allowed {
		return stays("TooManyPGs", "OSDs would have %d PGs each, more than %d%% of mon_max_pg_per_osd %d; use a smaller pg_num", mean, pgShare, limit)
	}
	return nil
}

// mostPGs returns the highest number of PGs that an OSD has after a new pool is confined to some OSDs; 0
// without such a pool. It assumes that the pool's PGs are spread evenly over these OSDs, and that the OSD with
// the most PGs is among them. When a pool is created, Ceph checks only the mean of all OSDs, but an OSD with
// far too many PGs leaves some of its PGs inactive.
func (in input) mostPGs(osds []ceph.OSD) int {
	if in.Demand.OnOSDs == 0 {
		return 0
	}
	most := 0
	for _, osd := range osds {
		most = max(most, osd.PGs)
	}
	return most + (in.Demand.PGReplicas+in.Demand.OnOSDs-1)/in.Demand.OnOSDs
}

// MaxPGsPerOSD returns mon_max_pg_per_osd from the central configuration, or else Ceph's default.
func MaxPGsPerOSD(config []ceph.ConfigEntry) int {
	limit, rank := DefaultMaxPGsPerOSD, 0
	for _, entry := range config {
		if entry.Name != "mon_max_pg_per_osd" || entry.Mask != "" {
			continue
		}
		// The monitors enforce the limit, so section mon takes precedence over section
		// global.
		n, err := strconv.Atoi(entry.Value)
		if r := map[string]int{"global": 1, "mon": 2}[entry.Section]; err == nil && r > rank {
			limit, rank = n, r
		}
	}
	return limit
}

// quantity formats bytes as a Kubernetes quantity, rounded up to whole MiB.
func quantity(bytes int64) string {
	return resource.NewQuantity((bytes+1<<20-1)>>20<<20, resource.BinarySI).String()
}
