package diagnosis

import (
	"fmt"
	"path"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// This file has the checks of what Ceph itself reports.

const (
	certain  = v1alpha1.ConfidenceCertain
	likely   = v1alpha1.ConfidenceLikely
	possible = v1alpha1.ConfidencePossible
)

// ioStopped finds flags with which OSDs answer no reads or no writes. Source: `ceph osd set` (pause), and the flag full.
func ioStopped(f Facts) *v1alpha1.Finding {
	var stopping []string
	for _, flag := range f.OSDMap.Flags {
		if slices.Contains([]string{"pauserd", "pausewr", "full"}, flag) {
			stopping = append(stopping, "flag "+flag)
		}
	}
	if len(stopping) == 0 {
		return nil
	}
	return found(certain, "`ceph osd unpause`, or add space if the flag full is set.", stopping, "A flag of the cluster stops clients.")
}

func pgsInactive(f Facts) *v1alpha1.Finding {
	status := f.latest()
	n := status.CountPGs(ceph.PGState.IsInactive)
	if n == 0 {
		return nil
	}
	return found(certain, "Bring back the OSDs that they need: `ceph health detail`.", []string{status.ListPGs(ceph.PGState.IsInactive)},
		"%d of %d placement groups serve no operations: clients that need them wait.", n, status.PGs)
}

func daemonsDown(f Facts) *v1alpha1.Finding {
	status := f.latest()
	var evidence []string
	if down := status.DownInOSDs(); down > 0 {
		evidence = append(evidence, fmt.Sprintf("%d of %d OSDs down", down, status.OSDs))
	}
	if out := status.OSDs - status.InOSDs; out > 0 {
		evidence = append(evidence, fmt.Sprintf("%d of %d OSDs out", out, status.OSDs))
	}
	if missing := status.Monitors - len(status.QuorumNames); missing > 0 {
		evidence = append(evidence, fmt.Sprintf("%d of %d monitors not in quorum", missing, status.Monitors))
	}
	if len(evidence) == 0 {
		return nil
	}
	return found(certain, "`ceph health detail` names them. Their pods, and the operator of Rook, say why they do not run.", evidence,
		"Daemons are missing, so others do their work.")
}

// slowOperations relies on Ceph's warnings. Source: osd_op_complaint_time, 30 s, and for BlueStore
// bluestore_log_op_age, 5 s.
func slowOperations(f Facts) *v1alpha1.Finding {
	if evidence := f.health("SLOW_OPS"); evidence != nil {
		return found(certain, "`ceph health detail` names the OSDs. If it is one, look at its disk and node; if it is many, look at the network, and at what else is found here.",
			evidence, "Operations wait for more than 30 s.")
	}
	if evidence := f.health("BLUESTORE_SLOW_OP_ALERT"); evidence != nil {
		return found(likely, "`ceph health detail` names the OSDs: look at their disks. The warning stays for a day after the last slow operation.",
			evidence, "Disks took more than 5 s for an operation, at some time in the last day.")
	}
	return nil
}

// slowNetwork relies on Ceph's warnings. Source: mon_warn_on_slow_ping_ratio, 5 % of osd_heartbeat_grace: 1 s.
func slowNetwork(f Facts) *v1alpha1.Finding {
	evidence := f.health("OSD_SLOW_PING_TIME_BACK", "OSD_SLOW_PING_TIME_FRONT")
	if evidence == nil {
		return nil
	}
	return found(certain, "`ceph health detail` names the pairs of OSDs. A node that is in most of them has a slow link, or a CPU that does not keep up.",
		evidence, "Heartbeats between OSDs take more than 5 %% of their deadline: the network, or a node, is slow.")
}

// spaceLow compares the fullest OSD with the ratios of the OSD map, which are Ceph's own.
func spaceLow(f Facts) *v1alpha1.Finding {
	var evidence []string
	sure := likely
	for _, osd := range f.OSDs {
		if osd.TotalBytes <= 0 || f.OSDMap.NearFullRatio <= 0 {
			continue
		}
		used := float64(osd.UsedBytes) / float64(osd.TotalBytes)
		if used < f.OSDMap.NearFullRatio {
			continue
		}
		evidence = append(evidence, fmt.Sprintf("osd.%d: %.0f %% full", osd.ID, 100*used))
		if used >= f.OSDMap.FullRatio {
			sure = certain
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	return found(sure, "Add OSDs, or delete data. If few OSDs are full, the balancer should be on.", evidence,
		"OSDs are nearly full: Ceph warns from %.0f %% on, moves no data to them from %.0f %% on, and refuses writes from %.0f %% on.",
		100*f.OSDMap.NearFullRatio, 100*f.OSDMap.BackfillFullRatio, 100*f.OSDMap.FullRatio)
}

// recoveryAtWork finds work that competes with clients. Ceph has no threshold for it, so there is none but that of MovesData.
func recoveryAtWork(f Facts) *v1alpha1.Finding {
	times, _ := f.times((*ceph.Status).MovesData)
	if times == "" {
		return nil
	}
	most := ceph.Status{}
	for _, s := range f.Statuses {
		most.RecoveryBytesPerSecond = max(most.RecoveryBytesPerSecond, s.RecoveryBytesPerSecond)
		most.DegradedObjects, most.MisplacedObjects = max(most.DegradedObjects, s.DegradedObjects), max(most.MisplacedObjects, s.MisplacedObjects)
	}
	evidence := []string{times, fmt.Sprintf("at most %d MiB/s, %d copies degraded, %d misplaced", most.RecoveryBytesPerSecond>>20, most.DegradedObjects, most.MisplacedObjects)}
	return found(likely, "Wait until it has ended, and diagnose again. Until then, `ceph config set osd osd_mclock_profile high_client_ops` leaves clients more of the OSDs.",
		evidence, "Ceph recovers or moves data, which takes disks and network from clients.")
}

// scrubsAtWork calls scrubs likely if they are at work most of the time.
func scrubsAtWork(f Facts) *v1alpha1.Finding {
	return f.atWork(ceph.PGState.IsScrubbing, "Scrubs read data, which takes disks from clients.",
		"Large clusters always scrub. If clients suffer at busy hours, set osd_scrub_begin_hour and osd_scrub_end_hour.")
}

func snapshotsTrimmed(f Facts) *v1alpha1.Finding {
	return f.atWork(ceph.PGState.IsTrimming, "Ceph removes snapshots, which takes disks from clients.",
		"Wait until it has ended, and diagnose again. Delete fewer snapshots at once.")
}

// atWork finds placement groups in a state. The finding is likely if that is so in at least half of the statuses.
func (f Facts) atWork(is func(ceph.PGState) bool, message, remedy string) *v1alpha1.Finding {
	times, share := f.times(func(s *ceph.Status) bool { return s.CountPGs(is) > 0 })
	if times == "" {
		return nil
	}
	most, sure := 0, possible
	for _, s := range f.Statuses {
		most = max(most, s.CountPGs(is))
	}
	if share >= 0.5 {
		sure = likely
	}
	return found(sure, remedy, []string{times, fmt.Sprintf("at most %d of %d placement groups", most, f.latest().PGs)}, "%s", message)
}

// mixedVersions finds an upgrade that has not ended.
func mixedVersions(f Facts) *v1alpha1.Finding {
	counts := f.Versions.OfLoad()
	if len(counts) < 2 {
		return nil
	}
	var evidence []string
	for version, n := range counts {
		evidence = append(evidence, fmt.Sprintf("%d of %s", n, version))
	}
	slices.Sort(evidence)
	return found(possible, "End the upgrade, and diagnose again.", evidence, "Daemons run different versions of Ceph.")
}

// elsewhere returns the health checks that other checks of this package read, or that concern no speed.
func elsewhere() []string {
	return append([]string{
		"SLOW_OPS", "BLUESTORE_SLOW_OP_ALERT", "OSD_SLOW_PING_TIME_*", "OSD_DOWN", "OSD_*_DOWN", "MON_DOWN", "OSD_*FULL", "POOL_*FULL", "POOL_FULL",
		"PG_DEGRADED", "PG_AVAILABILITY", "OBJECT_MISPLACED", "OBJECT_DEGRADED", "OSDMAP_FLAGS", "TOO_MANY_PGS", "POOL_NO_REDUNDANCY", "DAEMON_OLD_VERSION",
	}, quiescence.AllowedWarnings()...)
}

func healthWarnings(f Facts) *v1alpha1.Finding {
	var codes []string
	for _, c := range f.latest().Health.Checks {
		if !slices.ContainsFunc(elsewhere(), func(pattern string) bool {
			matches, err := path.Match(pattern, c.Code)
			return err == nil && matches
		}) {
			codes = append(codes, c.Code)
		}
	}
	if len(codes) == 0 {
		return nil
	}
	return found(possible, "`ceph health detail` says more.", f.health(codes...), "Ceph warns.")
}
