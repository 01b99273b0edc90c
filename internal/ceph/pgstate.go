package ceph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// PGState is the state of a placement group as Ceph prints it: words joined by "+", such as
// active+clean+scrubbing.
type PGState string

// unknownPG is the state of a placement group whose primary has not yet reported to a newly started
// ceph-mgr.
const unknownPG PGState = "unknown"

// IsClean reports whether a placement group has all its copies in place and serves its clients. It stays
// clean while Ceph scrubs it or trims its snapshots. Any other word makes it unclean, also a word that a
// later Ceph release adds. Some of these words:
//
//   - stale: its primary has not reported for a while, so the rest of the state is outdated. Usually the
//     rest dates from before the primary went down.
//   - remapped: OSDs other than those chosen by CRUSH serve it. Ceph moves the placement group as soon as it
//     can, even if the state also includes clean.
//   - laggy and wait: its clients wait because of a read lease.
//   - inconsistent, repair, failed_repair and snaptrim_error: it needs an administrator.
func (s PGState) IsClean() bool {
	for word := range strings.SplitSeq(string(s), "+") {
		switch word {
		case "active", "clean", "scrubbing", "deep", "snaptrim", "snaptrim_wait":
		default:
			return false
		}
	}
	return s.includes("active") && s.includes("clean")
}

// IsUnclean is the opposite of IsClean.
func (s PGState) IsUnclean() bool { return !s.IsClean() }

// IsInactive reports whether a placement group is not active, so that its clients wait. A stale placement
// group counts as inactive, because its primary may be gone. A placement group that is active and remapped does
// not count, because its temporary OSDs serve it. An unknown placement group does not count either.
func (s PGState) IsInactive() bool {
	return !s.IsUnknown() && (!s.includes("active") || s.includes("stale"))
}

// IsUnknown reports whether ceph-mgr does not know the state yet.
func (s PGState) IsUnknown() bool { return s == unknownPG }

// IsScrubbing reports whether the placement group is being scrubbed.
func (s PGState) IsScrubbing() bool { return s.includes("scrubbing") }

// IsTrimming reports whether snapshots of the placement group are being trimmed.
func (s PGState) IsTrimming() bool { return s.includes("snaptrim") }

// IsRecovering reports whether Ceph moves data of the placement group, or will move data as soon as it can. In
// some unclean states, such as inconsistent and peering, Ceph moves no data.
func (s PGState) IsRecovering() bool {
	for word := range strings.SplitSeq(string(s), "+") {
		switch word {
		case "recovering", "recovery_wait", "recovery_toofull", "recovery_unfound", "forced_recovery",
			"backfilling", "backfill_wait", "backfill_toofull", "backfill_unfound", "forced_backfill",
			"degraded", "undersized", "remapped", "premerge":
			return true
		}
	}
	return false
}

func (s PGState) includes(word string) bool {
	return slices.Contains(strings.Split(string(s), "+"), word)
}

// AllClean reports whether all placement groups are clean. It is false if the status has no
// placement groups.
func (s *Status) AllClean() bool {
	return len(s.PGsByState) > 0 && s.CountPGs(PGState.IsUnclean) == 0
}

// CountPGs counts the placement groups whose state satisfies a condition.
func (s *Status) CountPGs(are func(PGState) bool) int {
	total := 0
	for state, n := range s.PGsByState {
		if are(PGState(state)) {
			total += n
		}
	}
	return total
}

// A rate of recovery below both of these is the tail of Ceph's average after one object of a few bytes was recovered,
// such as the header of an image: a run with an erasure-coded pool saw one byte per second, with all PGs active+clean.
const (
	tailBytesPerSecond   = 4 << 10
	tailObjectsPerSecond = 1
)

// MovesData reports whether Ceph recovers or moves data, or did so within the seconds that its rates are averaged over.
func (s *Status) MovesData() bool {
	return s.MisplacedObjects > 0 || s.DegradedObjects > 0 || s.CountPGs(PGState.IsRecovering) > 0 ||
		s.RecoveryBytesPerSecond >= tailBytesPerSecond || s.RecoveryObjectsPerSecond >= tailObjectsPerSecond
}

// ListPGs counts the placement groups whose state satisfies a condition, and lists the counts by state, such
// as "3 active+clean+scrubbing, 1 peering".
func (s *Status) ListPGs(are func(PGState) bool) string {
	if s.CountPGs(are) == 0 { // As in almost every sample of a day, all of which are judged together.
		return ""
	}
	var texts []string
	for _, state := range slices.Sorted(maps.Keys(s.PGsByState)) {
		if n := s.PGsByState[state]; n > 0 && are(PGState(state)) {
			texts = append(texts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(texts, ", ")
}
