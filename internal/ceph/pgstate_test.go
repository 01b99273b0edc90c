package ceph

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// pgKinds has the predicates by name.
var pgKinds = map[string]func(PGState) bool{
	"clean": PGState.IsClean, "inactive": PGState.IsInactive, "unknown": PGState.IsUnknown,
	"scrubbing": PGState.IsScrubbing, "trimming": PGState.IsTrimming, "recovering": PGState.IsRecovering,
}

func TestPGStates(t *testing.T) {
	for state, want := range map[PGState]string{
		"active+clean":                                  "clean",
		"clean+active":                                  "clean",
		"active+clean+scrubbing":                        "clean scrubbing",
		"active+clean+scrubbing+deep":                   "clean scrubbing",
		"active+clean+snaptrim":                         "clean trimming",
		"active+clean+snaptrim_wait":                    "clean",
		"active+clean+remapped":                         "recovering",
		"active+clean+inconsistent":                     "",
		"active+clean+scrubbing+deep+repair":            "scrubbing",
		"active+clean+failed_repair":                    "",
		"active+clean+snaptrim_error":                   "",
		"active+clean+laggy":                            "",
		"active+clean+wait":                             "",
		"active+clean+premerge":                         "recovering",
		"active+clean+anything_new":                     "",
		"stale+active+clean":                            "inactive",
		"active":                                        "",
		"active+scrubbing":                              "scrubbing",
		"active+undersized":                             "recovering",
		"active+undersized+degraded":                    "recovering",
		"stale+active+undersized+degraded":              "inactive recovering",
		"active+recovering":                             "recovering",
		"active+recovery_wait+degraded":                 "recovering",
		"active+recovery_toofull":                       "recovering",
		"active+recovery_unfound+degraded":              "recovering",
		"active+forced_recovery+recovery_wait":          "recovering",
		"active+remapped":                               "recovering",
		"active+remapped+backfilling":                   "recovering",
		"active+remapped+backfill_wait":                 "recovering",
		"active+undersized+degraded+backfill_toofull":   "recovering",
		"active+backfill_unfound":                       "recovering",
		"active+forced_backfill+backfill_wait+remapped": "recovering",
		"activating":                                    "inactive",
		"activating+remapped":                           "inactive recovering",
		"creating+peering":                              "inactive",
		"peering":                                       "inactive",
		"remapped+peering":                              "inactive recovering",
		"undersized+degraded+peered":                    "inactive recovering",
		"incomplete":                                    "inactive",
		"down":                                          "inactive",
		"stale+down":                                    "inactive",
		"unknown":                                       "unknown",
	} {
		var got []string
		for _, name := range slices.Sorted(maps.Keys(pgKinds)) {
			if pgKinds[name](state) {
				got = append(got, name)
			}
		}
		if text := strings.Join(got, " "); text != want {
			t.Errorf("%s is %q, want %q", state, text, want)
		}
		if state.IsClean() == state.IsUnclean() {
			t.Errorf("%s is both clean and not, or neither", state)
		}
	}
}

func TestPGsOfAStatus(t *testing.T) {
	for name, tc := range map[string]struct {
		states   map[string]int
		allClean bool
		count    int
		list     string // of the PGs that are not clean
	}{
		"none is known":  {},
		"all are clean":  {states: map[string]int{"active+clean": 9, "active+clean+scrubbing": 1}, allClean: true},
		"one is not":     {states: map[string]int{"active+clean": 9, "stale+active+clean": 1}, count: 1, list: "1 stale+active+clean"},
		"several states": {states: map[string]int{"peering": 2, "active+clean": 9, "active+remapped": 3}, count: 5, list: "3 active+remapped, 2 peering"},
		"a state of none any more": {
			states: map[string]int{"active+clean": 9, "peering": 0}, allClean: true,
		},
		"nothing is known yet": {states: map[string]int{"unknown": 10}, count: 10, list: "10 unknown"},
	} {
		s := &Status{PGsByState: tc.states}
		count, list := s.CountPGs(PGState.IsUnclean), s.ListPGs(PGState.IsUnclean)
		if s.AllClean() != tc.allClean || count != tc.count || list != tc.list {
			t.Errorf("%s: all clean %t, %d are not: %q; want %t, %d, %q", name, s.AllClean(), count, list, tc.allClean, tc.count, tc.list)
		}
	}
}

func TestMovesData(t *testing.T) {
	for name, tc := range map[string]struct {
		status Status
		want   bool
	}{
		"nothing moves":              {},
		"a PG recovers":              {Status{PGsByState: map[string]int{"active+recovering": 1}}, true},
		"one object misplaced":       {Status{MisplacedObjects: 1}, true},
		"one copy degraded":          {Status{DegradedObjects: 1}, true},
		"one byte a second":          {Status{RecoveryBytesPerSecond: 1}, false},
		"less than a block a second": {Status{RecoveryBytesPerSecond: 4<<10 - 1}, false},
		"a block a second":           {Status{RecoveryBytesPerSecond: 4 << 10}, true},
		"an object a second":         {Status{RecoveryObjectsPerSecond: 1}, true},
	} {
		if got := tc.status.MovesData(); got != tc.want {
			t.Errorf("%s: MovesData is %t", name, got)
		}
	}
}
