package quiescence

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// DefaultMaxPGsPerOSD is Ceph's default of mon_max_pg_per_osd.
const DefaultMaxPGsPerOSD = 250

// pgShare is the percentage of mon_max_pg_per_osd that may be used. At the limit itself, Ceph
// refuses pools, and PGs may stay inactive after the loss of OSDs.
const pgShare = 80

// Facts are the state of a cluster before a run. All of them are known: as long as Ceph leaves a query for them
// unanswered, no check is made.
type Facts struct {
	// Phase is the phase of the CephCluster, such as "Ready", or "Connected" for an
	// external one.
	Phase    string
	Status   *ceph.Status
	OSDMap   *ceph.OSDMap
	OSDs     []ceph.OSD
	DF       *ceph.DF
	PoolIO   []ceph.PoolIO
	Versions *ceph.Versions
	// Config is the central configuration.
	Config []ceph.ConfigEntry
	// OwnPools are the benchmark's pools, whose I/O is not foreign I/O. OwnPools is empty if the target
	// is a PersistentVolumeClaim, because the claim's pool is unknown.
	OwnPools []string
	// Demand is the benchmark's demand.
	Demand Demand
}

// Demand is the data and the PGs that a benchmark adds to a cluster.
type Demand struct {
	// Bytes is the size of the datasets that clients write. RawBytes also counts copies or coding chunks.
	// Other writes of clients are limited separately: see RawRoom.
	Bytes, RawBytes int64
	// DeviceClasses are those of the OSDs that store the data; empty for all OSDs. The OSDs of each class are taken to store all of it.
	DeviceClasses []string
	// Pool is an existing pool whose quota applies.
	Pool string
	// PGReplicas is the number of PGs of new pools, multiplied by their copies or chunks.
	PGReplicas int
	// OnOSDs is the number of OSDs to which the benchmark confines its pool; 0 if the pool uses all OSDs.
	OnOSDs int
}

// Obstacle is a reason not to measure now.
type Obstacle struct {
	// Code is a CamelCase reason.
	Code string
	// Message describes the obstacle and what to do.
	Message string
	// Waits reports that the obstacle may disappear without an action of the user.
	Waits bool
	// Surveyed reports that the obstacle was seen in the OSD map or the versions. The samples taken every few
	// seconds lack both, so only a new survey can show that the obstacle is gone.
	Surveyed bool
}

// input holds the facts that rules check, and the limits for these facts.
type input struct {
	Facts

	class    string // the device class whose OSDs are checked; "" for all
	spec     v1alpha1.Quiescence
	allowed  []string
	expected []Expectation
}

// rule returns an obstacle, or nil.
type rule func(input) *Obstacle

// Check returns the obstacles to a measurement, sorted by code. It accepts the expected warnings, which
// the caller causes itself, such as POOL_NO_REDUNDANCY for a pool without copies.
func Check(facts Facts, spec v1alpha1.Quiescence, expected []Expectation) []Obstacle {
	in := input{Facts: facts, spec: spec, allowed: allowances(spec, OldWarnings()), expected: expected}
	var obstacles []Obstacle
	add := func(in input, rules ...rule) {
		for _, rule := range rules {
			if found := rule(in); found != nil {
				obstacles = append(obstacles, *found)
			}
		}
	}
	add(in, healthErrors, healthWarnings, noQuorum, noManager, upgrade, mixedVersions,
		osdsDown, osdsOut, ioStopped, flagsSet, pgsUnclean, pgsScrubbing, quota, foreignIO)
	for _, one := range in.byClass() {
		add(one, nearFull, noRoom, pgsPerOSD)
	}
	slices.SortFunc(obstacles, func(a, b Obstacle) int { return cmp.Compare(a.Code, b.Code) })
	return obstacles
}

func waits(code, format string, args ...any) *Obstacle {
	return &Obstacle{Code: code, Message: fmt.Sprintf(format, args...), Waits: true}
}

// surveyed is like waits, for an obstacle in the OSD map or in the versions.
func surveyed(code, format string, args ...any) *Obstacle {
	obstacle := waits(code, format, args...)
	obstacle.Surveyed = true
	return obstacle
}

func stays(code, format string, args ...any) *Obstacle {
	return &Obstacle{Code: code, Message: fmt.Sprintf(format, args...)}
}

func healthErrors(in input) *Obstacle {
	if in.Status.Health.Status != healthError {
		return nil
	}
	errors := severe(in.Status.Health.Checks)
	if hint := muteKeyErrors(errors); hint != "" {
		return waits("HealthError", "Ceph reports HEALTH_ERR: %s; rotate the keys, or %s", describe(errors), hint)
	}
	return waits("HealthError", "Ceph reports HEALTH_ERR: %s; fix it first", describe(errors))
}

// severe returns the checks that are errors and not muted.
func severe(checks []ceph.HealthCheck) []ceph.HealthCheck {
	return slices.DeleteFunc(slices.Clone(checks), func(check ceph.HealthCheck) bool {
		return check.Severity != healthError || check.Muted
	})
}

// healthWarnings ignores flags: ioStopped and flagsSet check those that matter.
func healthWarnings(in input) *Obstacle {
	found := slices.DeleteFunc(warnings(in.Status.Health, in.allowed, in.expected), func(check ceph.HealthCheck) bool {
		return check.Severity == healthError || check.Code == flagsCode
	})
	if len(found) == 0 {
		return nil
	}
	return waits("HealthWarning", "Ceph warns of %s; fix it, mute it in Ceph, or name it in quiescence.allowedWarnings", describe(found))
}

func noQuorum(in input) *Obstacle {
	if len(in.Status.QuorumNames) >= in.Status.Monitors && in.Status.Monitors > 0 {
		return nil
	}
	return waits("MonitorsDown", "%d of %d monitors are in quorum; bring back the others", len(in.Status.QuorumNames), in.Status.Monitors)
}

func noManager(in input) *Obstacle {
	if in.Status.ManagerActive {
		return nil
	}
	return waits("NoManager", "no ceph-mgr is active, so the state of PGs and I/O is unknown; bring one back")
}

func upgrade(in input) *Obstacle {
	if in.Phase == "Ready" || in.Phase == "Connected" {
		return nil
	}
	return waits("ClusterNotReady", "the CephCluster is in phase %q: Rook is reconciling it or has failed; see its conditions", in.Phase)
}

// mixedVersions reports daemons of different versions. A spec can allow those that do not matter for the load,
// because some clusters keep an old gateway for months.
func mixedVersions(in input) *Obstacle {
	counts := in.Versions.OfLoad()
	if len(counts) > 1 {
		var texts []string
		for _, version := range slices.Sorted(maps.Keys(counts)) {
			texts = append(texts, fmt.Sprintf("%d of %s", counts[version], version))
		}
		return surveyed("MixedVersions", "daemons run different versions of Ceph (%s); wait until the upgrade has ended", strings.Join(texts, ", "))
	}
	others := in.Versions.Others()
	muted := slices.ContainsFunc(in.Status.Health.Checks, func(c ceph.HealthCheck) bool { return c.Code == oldVersionCode && c.Muted })
	if len(others) == 0 || muted || matches(oldVersionCode, in.allowed) {
		return nil
	}
	return surveyed("MixedVersions", "daemons that the load does not need run another version (%s) than monitors, managers and OSDs (%s); upgrade them, or name %s in quiescence.allowedWarnings",
		strings.Join(others, ", "), strings.Join(slices.Sorted(maps.Keys(counts)), ""), oldVersionCode)
}

// oldVersionCode is Ceph's warning of daemons with an old version, which Ceph raises only after a week.
const oldVersionCode = "DAEMON_OLD_VERSION"

func osdsDown(in input) *Obstacle {
	down := in.Status.DownInOSDs()
	if down <= 0 && in.Status.InOSDs > 0 {
		return nil
	}
	return waits("OSDsDown", "%d of %d OSDs are up, and %d are in; bring back the others", in.Status.UpOSDs, in.Status.OSDs, in.Status.InOSDs)
}

// osdsOut reports OSDs that are out. A spec can allow them, because some clusters keep the OSD of a dead
// disk for months.
func osdsOut(in input) *Obstacle {
	out := in.Status.OSDs - in.Status.InOSDs
	if out <= 0 || matches("OSD_DOWN", in.allowed) {
		return nil
	}
	return waits("OSDsOut", "%d of %d OSDs are out; bring them back, purge them, or name OSD_DOWN in quiescence.allowedWarnings", out, in.Status.OSDs)
}

// ioStopped reports the flags that the function stopping returns. A spec cannot allow them.
func ioStopped(in input) *Obstacle {
	flags := stopping(in.OSDMap.Flags)
	if len(flags) == 0 {
		return nil
	}
	return surveyed("IOStopped", "the flags %s stop I/O or recovery; unset them, or add space if full is among them", strings.Join(flags, ", "))
}

func flagsSet(in input) *Obstacle {
	flags := slices.DeleteFunc(withoutScrubFlags(in.OSDMap.Flags), func(flag string) bool {
		return slices.Contains(stopping(in.OSDMap.Flags), flag)
	})
	muted := slices.ContainsFunc(in.Status.Health.Checks, func(c ceph.HealthCheck) bool { return c.Code == flagsCode && c.Muted })
	if len(flags) == 0 || muted || matches(flagsCode, in.allowed) {
		return nil
	}
	return surveyed("FlagsSet", "the flags %s are set: maintenance may be going on; unset them with `ceph osd unset`, or name %s in quiescence.allowedWarnings",
		strings.Join(flags, ", "), flagsCode)
}

// stopping returns those flags that pause I/O or recovery, and the flag full. For `ceph osd set pause`, Ceph
// shows pauserd and pausewr. The function stopping leaves flags such as norecover to flagsSet.
func stopping(flags []string) []string {
	var found []string
	for _, flag := range flags {
		switch flag {
		case "pauserd", "pausewr", "pauserec", "full":
			found = append(found, flag)
		}
	}
	return found
}

func pgsUnclean(in input) *Obstacle {
	if in.Status.PGs == 0 {
		return waits("PGsUnclean", "Ceph knows of no PG yet")
	}
	found := in.Status.ListPGs(ceph.PGState.IsUnclean)
	if found == "" && in.Status.MisplacedObjects == 0 && in.Status.DegradedObjects == 0 {
		return nil
	}
	if found == "" {
		found = fmt.Sprintf("misplaced objects: %d, degraded: %d", in.Status.MisplacedObjects, in.Status.DegradedObjects)
	}
	return waits("PGsUnclean", "not all PGs are active+clean: %s; wait until recovery has ended", found)
}

// pgsScrubbing reports running scrubs if the spec says that a scrub spoils the run. The scrubs would
// continue into the run.
func pgsScrubbing(in input) *Obstacle {
	found := in.Status.ListPGs(ceph.PGState.IsScrubbing)
	if found == "" || (in.spec.Scrub != v1alpha1.ScrubInvalidate && in.spec.Scrub != v1alpha1.ScrubAbort) {
		return nil
	}
	return waits("Scrubbing", "PGs are being scrubbed (%s), which quiescence.scrub %s does not allow", found, in.spec.Scrub)
}

// foreignIO checks all pools except OwnPools.
func foreignIO(in input) *Obstacle {
	limit := foreignLimit(in.spec)
	if operations := foreignOperations(in.PoolIO, in.OwnPools); operations > limit {
		return waits("ForeignIO", "other clients do %d operations per second, more than quiescence.foreignIOPS %d; wait for a quieter hour, or allow more", operations, limit)
	}
	return nil
}

// foreignLimit returns quiescence.foreignIOPS, or the schema's default.
func foreignLimit(spec v1alpha1.Quiescence) int64 {
	if spec.ForeignIOPS == nil {
		return 50
	}
	return *spec.ForeignIOPS
}

func foreignOperations(pools []ceph.PoolIO, ownPools []string) int64 {
	var total int64
	for _, pool := range pools {
		if !slices.Contains(ownPools, pool.Name) {
			total += pool.ReadOperationsPerSecond + pool.WriteOperationsPerSecond
		}
	}
	return total
}
