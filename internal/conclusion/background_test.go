package conclusion

import (
	"strings"
	"testing"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// halfAMinute is a load that measures for half a minute.
type halfAMinute struct{ engine.Load }

func (halfAMinute) Timing() engine.Timing { return engine.Timing{MeasuredSeconds: 30} }

// The figures of a phase come from its own time only.
func TestTheBackgroundDuringAPhase(t *testing.T) {
	began := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	course := &result.Series{
		Boundaries: result.NominalBoundaries, StartSeconds: []float64{0, 50, 100}, EndSeconds: []float64{50, 100, 150},
		OperationsPerSecond: []float64{100, 20, 0}, BytesPerSecond: []float64{100 << 12, 20 << 12, 0},
	}
	measured := &result.Result{
		SchemaVersion: result.SchemaVersion, Clients: 1, Source: result.Source{Tool: result.ToolFIO, Format: "fio-json"},
		Write: &result.Direction{Operations: 6000, Bytes: 6000 << 12, Seconds: 150, ShortestSeconds: 150, Series: course},
	}
	s := Execution{Notes: *workload.NewNotes(), Script: &workload.Script{
		Phases: []workload.Phase{{Name: "p1", Load: halfAMinute{}}, {Name: "p2", Load: halfAMinute{}}},
	}}
	s.Notes.StartedAt["background-r1"] = began
	for id, from := range map[string]time.Duration{"r1-p1": time.Minute, "r1-p2": 110 * time.Second} {
		s.Notes.StartedAt[id], s.Notes.EndedAt[id] = began.Add(from), began.Add(from+30*time.Second)
	}
	observation, err := figure.Observe([]task.Report{{Status: task.Status{ID: "b", State: task.Done}, Result: measured}}, engine.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	iopsOf := func(figures []figure.Figure) float64 {
		f, _ := figure.Find(figures, v1alpha1.MetricIOPS, v1alpha1.DirectionTotal)
		return f.Value
	}
	run := &archive.Run{Number: 1, Background: &archive.Background{Observation: &observation}, Phases: []archive.Phase{{Name: "p1"}, {Name: "p2"}}}
	wrong := s.duringPhases(run, "background-r1")
	if !strings.HasPrefix(wrong, "BackgroundLoadNoIO: ") || !strings.Contains(wrong, "phase p2") {
		t.Errorf("what is wrong is %q", wrong)
	}
	if got := iopsOf(run.Phases[0].Background); got != 20 || len(run.Phases[1].Background) != 0 {
		t.Errorf("%v operations per second beside the first phase, and %+v beside the second", got, run.Phases[1].Background)
	}

	observation.Result.Write.Series = nil
	if wrong := s.duringPhases(run, "background-r1"); wrong != "" || !run.Background.WholeRun || iopsOf(run.Phases[1].Background) != 40 {
		t.Errorf("without a course: %q, %+v", wrong, run.Phases)
	}
}
