package ceph

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// PGState is what Ceph calls a placement group: words that are joined, such as
// active+clean+scrubbing. What words mean is said here and nowhere else.
type PGState string

// unknownPG is the state of a placement group of which a manager that has just started
// knows nothing yet.
const unknownPG PGState = "unknown"

// IsClean tells of a placement group that has all its copies where they are to be, and
// serves its clients. Beside that it may be scrubbed, and its snapshots trimmed. With any
// other word it is not clean, those among them that a later Ceph may have:
//
//   - stale says that its primary has not reported for a while, so that what else is said of
//     it is of before: most of the time, of before its OSD went down.
//   - remapped says that others than those that CRUSH has chosen serve it. Ceph moves it as
//     soon as it can, also where it calls it clean meanwhile.
//   - laggy and wait say that its clients wait for a lease; inconsistent, repair,
//     failed_repair and snaptrim_error that somebody has to look after it.
func (s PGState) IsClean() bool {
	for word := range strings.SplitSeq(string(s), "+") {
		switch word {
		case "active", "clean", "scrubbing", "deep", "snaptrim", "snaptrim_wait":
		default:
			return false
		}
	}
	return s.has("active") && s.has("clean")
}

// IsUnclean tells of one that is not clean.
func (s PGState) IsUnclean() bool { return !s.IsClean() }

// IsInactive tells of a placement group whose clients wait. One that is stale counts: nobody
// has heard of its primary, which may be gone. One that is remapped does not, since those that
// serve it in the meantime do. Of one that is not known yet, nothing is said.
func (s PGState) IsInactive() bool {
	return !s.IsUnknown() && (!s.has("active") || s.has("stale"))
}

// IsUnknown tells of one of which the manager knows nothing yet.
func (s PGState) IsUnknown() bool { return s == unknownPG }

// IsScrubbing tells of one that is scrubbed.
func (s PGState) IsScrubbing() bool { return s.has("scrubbing") }

// IsTrimming tells of one whose snapshots are trimmed.
func (s PGState) IsTrimming() bool { return s.has("snaptrim") }

// IsRecovering tells of one whose data is moved, or about to be. Not all that is unclean
// is: one that is inconsistent, or peers, moves nothing.
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

// has tells whether one of the words is that one.
func (s PGState) has(word string) bool {
	return slices.Contains(strings.Split(string(s), "+"), word)
}

// AllClean tells whether all placement groups are clean. Where none is known, they are not.
func (s *Status) AllClean() bool {
	return len(s.PGsByState) > 0 && s.CountPGs(PGState.IsUnclean) == 0
}

// CountPGs counts the placement groups that are such.
func (s *Status) CountPGs(are func(PGState) bool) int {
	total := 0
	for state, n := range s.PGsByState {
		if are(PGState(state)) {
			total += n
		}
	}
	return total
}

// ListPGs lists the placement groups that are such, by state, as "3 active+clean+scrubbing".
func (s *Status) ListPGs(are func(PGState) bool) string {
	var texts []string
	for _, state := range slices.Sorted(maps.Keys(s.PGsByState)) {
		if n := s.PGsByState[state]; n > 0 && are(PGState(state)) {
			texts = append(texts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(texts, ", ")
}
