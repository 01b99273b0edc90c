package results

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/figure"
)

func TestNotesOnInitialState(t *testing.T) {
	found := func(states ...v1alpha1.DataState) []*archive.Run {
		var runs []*archive.Run
		for i, state := range states {
			runs = append(runs, &archive.Run{Number: int32(i + 1), InitialState: state})
		}
		return runs
	}
	for want, runs := range map[string][]*archive.Run{
		"": found("", ""),
		"the data when a run began: in run 1 they had just been prefilled (Prefilled), in runs 2, 3 they were as earlier runs had left them (Used)":           found("Prefilled", "Used", "Used"),
		"the data when a run began: in runs 1, 2 they had just been rolled back to the prefilled state (RolledBack)":                                          found("RolledBack", "RolledBack"),
		"the data when a run began: in run 2 they had just been prefilled (Prefilled)":                                                                        found("", "Prefilled"),
		"the data when a run began: in run 1 they were in a state that is unknown to this version (Later), in run 2 they had just been prefilled (Prefilled)": found("Later", "Prefilled"),
	} {
		if got := dataNote(runs); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMarkNotesNameDisturbances(t *testing.T) {
	const two = `[{"kind":"Scrub","message":"PGs are being scrubbed: 2 active+clean+scrubbing"},{"kind":"Recovery","message":"5 MiB/s"}]`
	for disturbances, want := range map[string][]string{
		two:     {"Disturbed by Scrub: PGs are being scrubbed: 2 active+clean+scrubbing", "Disturbed by Recovery: 5 MiB/s"},
		"":      {"Disturbed: the cluster was disturbed; kubectl cephtune results -o yaml shows the disturbances"},
		"{bad}": {"Disturbed: the cluster was disturbed; kubectl cephtune results -o yaml shows the disturbances"},
	} {
		if got := markNotes(v1alpha1.MarkDisturbed, json.RawMessage(disturbances)); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := markNotes(v1alpha1.MarkStarved, json.RawMessage(two)); len(got) != 1 {
		t.Errorf("got %q", got)
	}
}

func TestNotesNameStarvedHosts(t *testing.T) {
	starved := []archive.Phase{{Name: "write", Observation: &figure.Observation{Marks: []v1alpha1.ResultMark{v1alpha1.MarkStarved}}}}
	on := func(number int32, environment string) *archive.Run {
		return &archive.Run{Number: number, Environment: json.RawMessage(environment), Phases: starved}
	}
	got := phaseNotes("write", []*archive.Run{on(1, `{"nodes":[{"name":"a"},{"name":"b"}]}`), on(2, `{"nodes":[{"name":"a"},{"name":"b"}]}`), on(3, "")})
	want := []string{
		"write, runs 1, 2: Starved: a client or its host lacked CPU: end other work there, or use other nodes; clients ran on a, b",
		"write, run 3: Starved: a client or its host lacked CPU: end other work there, or use other nodes",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
