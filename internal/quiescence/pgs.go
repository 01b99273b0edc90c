package quiescence

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// clean are the states in which Rook calls a PG clean.
var clean = regexp.MustCompile(`^active(\+(clean|deep|scrubbing|snaptrim|snaptrim_wait))+$`)

// unknownPG is the state of a PG of which a manager that has just started knows
// nothing yet.
const unknownPG = "unknown"

// isUnclean tells of states in which data is missing or on its way.
func isUnclean(state string) bool {
	return !clean.MatchString(state) || !has(state, "clean")
}

// isInactive tells of states in which clients of the PG wait.
func isInactive(state string) bool {
	return state != unknownPG && (!has(state, "active") || has(state, "stale"))
}

func isUnknown(state string) bool   { return state == unknownPG }
func isScrubbing(state string) bool { return has(state, "scrubbing") }
func isTrimming(state string) bool  { return has(state, "snaptrim") }

// isRecovering tells of states that move data or are about to.
func isRecovering(state string) bool {
	return slices.ContainsFunc(strings.Split(state, "+"), func(word string) bool {
		switch word {
		case "recovering", "recovery_wait", "recovery_toofull", "recovery_unfound", "forced_recovery",
			"backfilling", "backfill_wait", "backfill_toofull", "backfill_unfound", "forced_backfill",
			"degraded", "undersized", "remapped", "premerge":
			return true
		}
		return false
	})
}

// has tells whether one of the words that a state is composed of is that one.
func has(state, word string) bool { return slices.Contains(strings.Split(state, "+"), word) }

// count counts PGs in states of a kind.
func count(byState map[string]int, kind func(string) bool) int {
	total := 0
	for state, n := range byState {
		if kind(state) {
			total += n
		}
	}
	return total
}

// list lists states of a kind as "3 active+clean+scrubbing".
func list(byState map[string]int, kind func(string) bool) string {
	var texts []string
	for _, state := range slices.Sorted(maps.Keys(byState)) {
		if kind(state) && byState[state] > 0 {
			texts = append(texts, fmt.Sprintf("%d %s", byState[state], state))
		}
	}
	return strings.Join(texts, ", ")
}
