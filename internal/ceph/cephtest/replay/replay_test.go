package replay_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephtest/replay"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// reads are the verbs of a Client that change nothing.
func reads() []string {
	return []string{
		"Status", "OSDMap", "OSDs", "OSDTree", "OSDDevices", "DF", "OSDPerf", "OSDIO", "OSDCounters", "PGs", "Strays", "PoolIO", "Versions", "ConfigDump",
		"ConfigShow", "ConfigHelp", "RunningConfig", "Balancer", "PGsOn", "OKToStop", "Recovered", "GetKey", "Images", "Objects", "ClientAddresses",
	}
}

// unseen are the verbs whose changes the rounds do not read: nothing of cephtune reads the blocklist.
func unseen() []string { return []string{"BlocklistClient"} }

// Each verb in the interfaces must be replayed, or be listed as changing nothing that a round reads.
func TestRoundsHaveEveryVerbThatChanges(t *testing.T) {
	replayed := map[string]bool{}
	for _, round := range slices.Concat(replay.Rounds(), replay.MClock()) {
		for _, call := range round.Calls {
			replayed[call.Verb] = true
		}
	}
	for verb := range reflect.TypeFor[replay.Ceph]().Methods() {
		if replayed[verb.Name] == slices.Contains(slices.Concat(reads(), unseen()), verb.Name) {
			t.Errorf("verb %s: replayed is %t, want it to be what changes something", verb.Name, replayed[verb.Name])
		}
	}
}

// The rounds must set and unset options of every type whose values cephtune compares, each in more
// than one form.
func TestRoundsHaveOptionsOfEveryType(t *testing.T) {
	seen := map[string]int{}
	for _, round := range replay.Rounds() {
		for _, call := range round.Calls {
			if call.Verb != "SetConfig" && call.Verb != "RemoveConfig" {
				continue
			}
			help := cephtest.Options()[fmt.Sprint(call.Args[1])]
			kind := help.Type
			if len(help.Enum) > 0 {
				kind = "enum"
			}
			seen[call.Verb+" "+kind]++
		}
	}
	for _, kind := range append(cephvalue.Types(), "enum") {
		if seen["SetConfig "+kind] < 3 || seen["RemoveConfig "+kind] < 1 {
			t.Errorf("options of type %s are set %d times and unset %d times, want 3 and 1", kind, seen["SetConfig "+kind], seen["RemoveConfig "+kind])
		}
	}
}

// The fake must answer and show what Ceph did in TestLongFakeIsAsCeph of the end-to-end tests.
func TestFakeIsAsRecorded(t *testing.T) {
	records, err := filepath.Glob("testdata/*.json")
	if err != nil || len(records) == 0 {
		t.Fatalf("there is no record: %v", err)
	}
	for _, file := range records {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var recorded map[string]replay.Seen
			if err := json.Unmarshal(text, &recorded); err != nil {
				t.Fatal(err)
			}
			for _, rounds := range [][]replay.Round{replay.Rounds(), replay.MClock()} {
				compare(t, strings.TrimSuffix(filepath.Base(file), ".json"), rounds, recorded)
			}
		})
	}
}

func compare(t *testing.T, version string, rounds []replay.Round, recorded map[string]replay.Seen) {
	t.Helper()
	fake, world := replay.NewFake(version)
	for _, round := range rounds {
		want, ok := recorded[round.Name]
		answers := world.Make(t.Context(), round)
		fake.Tick()
		shows, err := world.Look(t.Context(), round)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			continue // not recorded on that version
		}
		if diff := cmp.Diff(want, replay.Seen{Answers: answers, Shows: shows}); diff != "" {
			t.Errorf("%s: Ceph was seen (-), and the fake is (+):\n%s", round.Name, diff)
		}
	}
}
