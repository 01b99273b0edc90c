package archive

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/result"
)

// exampleBackground returns a run with a background load.
func exampleBackground(t *testing.T, state v1alpha1.RunState, size sized) *Run {
	t.Helper()
	run := example(t, state, size)
	phase := &run.Phases[0]
	report := phase.Clients[0]
	run.Background = &Background{
		SpecDigest: "sha256:2", StartTime: phase.StartTime, EndTime: phase.EndTime, Report: &report,
		Observation: &figure.Observation{Result: report.Result, Figures: slices.Clone(phase.Observation.Figures)},
	}
	phase.Background = slices.Clone(phase.Observation.Figures[:1])
	return run
}

func TestTheBackgroundIsKept(t *testing.T) {
	run := exampleBackground(t, v1alpha1.RunInvalid, sized{clients: 2, seconds: 5, bins: 5, output: 100})
	got := roundTrip(t, run)
	want := *run.Background
	report := *want.Report
	report.Result = nil // The observation contains it.
	want.Report = &report
	if diff := cmp.Diff(&want, got.Background); diff != "" {
		t.Errorf("background (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(run.Phases[0].Background, got.Phases[0].Background); diff != "" {
		t.Errorf("its figures (-want +got):\n%s", diff)
	}
	if run.Background.Report.Result == nil {
		t.Error("what was given was changed")
	}
}

// If the background load does not fit, its figures are dropped last.
func TestTheBackgroundMakesRoom(t *testing.T) {
	run := exampleBackground(t, v1alpha1.RunInvalid, sized{clients: 1, seconds: 3000, bins: 300, output: 5000})
	data, err := marshal(run, 3000)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unmarshal(data)
	if err != nil {
		t.Fatal(err)
	}
	b := got.Background
	if b.Report.Output != "" || len(b.Observation.Figures) == 0 || len(got.Phases[0].Background) == 0 {
		t.Errorf("it has %d bytes of output, and figures %+v", len(b.Report.Output), b.Observation.Figures)
	}
	for _, d := range b.Observation.Result.Directions() {
		if d.Series != nil {
			t.Error("it has its course still")
		}
	}
	if run.Background.Observation.Result.Directions()[0].Series == nil {
		t.Error("what was given was changed")
	}
}

func TestBackgroundWritesCount(t *testing.T) {
	run := &Run{Background: &Background{Observation: &figure.Observation{Result: &result.Result{Write: &result.Direction{Bytes: 7}}}}}
	if got := run.WrittenBytes(); got != 7 {
		t.Errorf("%d bytes", got)
	}
}
