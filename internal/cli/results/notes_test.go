package results

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
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
