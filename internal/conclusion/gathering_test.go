package conclusion

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
	bounded "github.com/cephtune/cephtune/internal/testing/memory"
)

// reporter is a runner with one report. It encodes and decodes the report as a log does.
type reporter struct {
	index int
	log   []byte
	err   error
	asked int
}

func (r *reporter) Report(context.Context, string) (*task.Report, error) {
	r.asked++
	if r.err != nil {
		return nil, r.err
	}
	reports, err := runner.ReadFrames(bytes.NewReader(r.log), nil)
	if err != nil {
		return nil, err
	}
	reports[0].Client = r.index
	return &reports[0], nil
}

// reporters returns runners that all have the same report.
func reporters(t *testing.T, clients int, report *task.Report) ([]*reporter, []Reporter) {
	t.Helper()
	var log bytes.Buffer
	if err := runner.WriteFrame(&log, report); err != nil {
		t.Fatal(err)
	}
	all, seen := make([]*reporter, clients), make([]Reporter, clients)
	for i := range all {
		all[i] = &reporter{index: i, log: log.Bytes()}
		seen[i] = all[i]
	}
	return all, seen
}

// courseOf returns a report with a course by the second.
func courseOf(seconds int) *task.Report {
	random := rand.New(rand.NewPCG(1, 2))
	s := &result.Series{Boundaries: result.NominalBoundaries}
	for i := range seconds {
		operations := 10_000 + random.IntN(1000)
		s.StartSeconds, s.EndSeconds = append(s.StartSeconds, float64(i)), append(s.EndSeconds, float64(i+1))
		s.OperationsPerSecond, s.BytesPerSecond = append(s.OperationsPerSecond, float64(operations)), append(s.BytesPerSecond, float64(operations<<12))
		s.MeanLatencySeconds = append(s.MeanLatencySeconds, float64(random.IntN(1e6))/1e9)
	}
	return &task.Report{Status: task.Status{ID: "r1-a", State: task.Done}, Output: "output", Result: &result.Result{
		SchemaVersion: result.SchemaVersion, Clients: 1, Source: result.Source{Tool: result.ToolFIO, Format: "fio-json"},
		Write: &result.Direction{Operations: 1000, Bytes: 1000 << 12, Seconds: float64(seconds), ShortestSeconds: float64(seconds), Series: s},
	}}
}

// The largest benchmark that the API allows fits into the memory of a manager with the chart's limit, with the longest
// sensible phase and with all phases of a day.
func TestManyClientsWithLongCourses(t *testing.T) {
	t.Run("one phase of 16 hours", func(t *testing.T) { manyClients(t, 1, 16*3600) })
	t.Run("16 phases of a day", func(t *testing.T) { manyClients(t, 16, 24*3600/16) })
}

// manyClients gathers and archives the reports of 64 clients on a number of phases.
func manyClients(t *testing.T, phases, seconds int) {
	t.Helper()
	const clients = 64
	bounded.Within(t, func(t *testing.T) {
		budget := limits.NewBudget(bounded.ForClients)
		gathered := &Gathering{}
		gathered.Charge(budget.Open())
		_, seen := reporters(t, clients, courseOf(seconds))
		run := &archive.Run{Number: 1, State: v1alpha1.RunValid, RawOutput: v1alpha1.RawOutputAlways}
		for i := range phases {
			fetched, err := gathered.fetch(t.Context(), seen, 1, fmt.Sprint("r1-", i), engine.Timing{})
			if err != nil {
				t.Fatal(err)
			}
			observation, err := fetched.observer.Observation()
			if err != nil {
				t.Fatal(err)
			}
			if d := observation.Result.Write; d.Operations != 1000*clients || d.Series == nil || d.Series.Len() != seconds {
				t.Errorf("phase %d: %d operations, with a course: %t", i, d.Operations, d.Series != nil)
			}
			run.Phases = append(run.Phases, archive.Phase{Name: v1alpha1.PhaseName(fmt.Sprint(i)), Observation: &observation})
		}
		for i := range run.Phases {
			run.Phases[i].Clients = gathered.tasks[fmt.Sprint("r1-", i)].reports
		}
		run.Dropped = gathered.dropped
		t.Logf("the gathering holds %d MiB", (bounded.ForClients-budget.Free())>>20)
		data, err := archive.Marshal(run)
		if err != nil {
			t.Fatal(err)
		}
		if run, err = archive.Unmarshal(data); err != nil {
			t.Fatal(err)
		}
		if len(run.Phases) != phases || len(run.Phases[0].Clients) != clients || !slices.Equal(run.Dropped[:2], archive.Parts()[:2]) {
			t.Errorf("%d phases, %d clients, dropped %v", len(run.Phases), len(run.Phases[0].Clients), run.Dropped)
		}
	})
}

// The manager keeps all warnings, and manipulated clients can have as many as fit into their
// reports.
func TestHostileClientsTogether(t *testing.T) {
	bounded.Within(t, func(t *testing.T) {
		all, seen := reporters(t, 64, courseOf(1))
		gathered := &Gathering{}
		for i, r := range all {
			report := courseOf(1)
			for j := range 50_000 {
				report.Result.Warnings = append(report.Result.Warnings, result.Warning{Message: fmt.Sprint(i, " ", j)})
			}
			var log bytes.Buffer
			if err := runner.WriteFrame(&log, report); err != nil {
				t.Fatal(err)
			}
			r.log = log.Bytes()
		}
		fetched, err := gathered.fetch(t.Context(), seen, 1, "r1-a", engine.Timing{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fetched.observer.Observation(); err == nil || !strings.Contains(err.Error(), "take more than 48 MiB") {
			t.Errorf("got %v", err)
		}
		if len(fetched.reports) != 64 || gathered.kept > archive.MaxMemory {
			t.Errorf("%d reports of %d bytes", len(fetched.reports), gathered.kept)
		}
	})
}

// The budget of the manager limits what all benchmarks gather together. Another benchmark still works.
func TestAGatheringHasABudget(t *testing.T) {
	budget := limits.NewBudget(1 << 20)
	for name, tc := range map[string]struct {
		seconds int
		fits    bool
	}{"a long course": {30_000, false}, "a short one": {100, true}} {
		_, seen := reporters(t, 4, courseOf(tc.seconds))
		account := budget.Open()
		gathered := &Gathering{}
		gathered.Charge(account)
		fetched, err := gathered.fetch(t.Context(), seen, 1, "r1-a", engine.Timing{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = fetched.observer.Observation()
		if _, exhausted := errors.AsType[*limits.BudgetError](err); exhausted == tc.fits || tc.fits && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if tc.fits && budget.Free() == 1<<20 {
			t.Errorf("%s: nothing is charged", name)
		}
		gathered.Empty()
		if budget.Free() != 1<<20 {
			t.Errorf("%s: afterwards, %d bytes are free", name, budget.Free())
		}
	}
}

func TestReportsAreFetchedOnce(t *testing.T) {
	want := courseOf(30)
	all, seen := reporters(t, 3, want)
	gathered := &Gathering{}
	all[1].err = errors.New("out of reach")
	if _, err := gathered.fetch(t.Context(), seen, 1, "r1-a", engine.Timing{}); !errors.Is(err, all[1].err) || !strings.Contains(err.Error(), "client 1") {
		t.Errorf("got %v", err)
	}
	all[1].err = nil
	for range 2 {
		fetched, err := gathered.fetch(t.Context(), seen, 1, "r1-a", engine.Timing{})
		if err != nil {
			t.Fatal(err)
		}
		want.Client = 2
		if len(fetched.reports) != 3 || gathered.dropped != nil {
			t.Fatalf("%d reports, dropped %v", len(fetched.reports), gathered.dropped)
		}
		if diff := cmp.Diff(*want, fetched.reports[2]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if observation, err := fetched.observer.Observation(); err != nil || observation.Result.Clients != 3 {
			t.Errorf("%+v, %v", observation, err)
		}
	}
	if all[0].asked != 1 || all[1].asked != 2 || all[2].asked != 1 {
		t.Errorf("asked %d, %d and %d times", all[0].asked, all[1].asked, all[2].asked)
	}
}

func TestTheNextRunIsGatheredAnew(t *testing.T) {
	_, seen := reporters(t, 3, courseOf(30))
	gathered := &Gathering{}
	if _, err := gathered.fetch(t.Context(), seen, 1, "r1-a", engine.Timing{}); err != nil {
		t.Fatal(err)
	}
	if fetched, err := gathered.fetch(t.Context(), seen, 2, "r2-a", engine.Timing{}); err != nil || len(fetched.reports) != 3 || len(gathered.tasks) != 1 {
		t.Errorf("of the next run: %+v, %v", fetched, err)
	}
}
