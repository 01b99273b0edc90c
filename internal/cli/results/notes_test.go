package results

import (
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
		"data at the beginning: of run 1 they had just been prefilled (Prefilled), of runs 2, 3 they were as earlier runs had left them (Used)":           found("Prefilled", "Used", "Used"),
		"data at the beginning: of runs 1, 2 they had just been rolled back to the prefilled state (RolledBack)":                                          found("RolledBack", "RolledBack"),
		"data at the beginning: of run 2 they had just been prefilled (Prefilled)":                                                                        found("", "Prefilled"),
		"data at the beginning: of run 1 they were in a state that is unknown to this version (Later), of run 2 they had just been prefilled (Prefilled)": found("Later", "Prefilled"),
	} {
		if got := dataNote(runs); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
