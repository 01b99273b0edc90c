package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// measured returns 300 reads in 10 s, one in a hundred of 20 ms.
func measured(task.Task) *result.Result {
	bin := func(milliseconds, count int64) result.Bin {
		return result.Bin{Nanoseconds: result.BinNanoseconds(result.BinIndex(milliseconds * 1e6)), Count: count}
	}
	h := &result.Histogram{Bins: []result.Bin{bin(1, 297), bin(20, 3)}}
	return &result.Result{
		SchemaVersion: result.SchemaVersion, Clients: 1,
		Source: result.Source{Tool: result.ToolOpenLoop, Format: "cephtune-generator"},
		Read: &result.Direction{Operations: 300, Bytes: 300 * 4096, Seconds: 10, ShortestSeconds: 10, Latency: &result.Latency{
			Moments: result.Moments{Count: 300, MeanSeconds: 0.001, MinSeconds: new(0.001), MaxSeconds: new(0.021)}, Histogram: h,
		}},
	}
}

// curved returns executions that may follow two clients, their runners, and the script of a phase with a curve.
func curved(t *testing.T) (*Executions, map[string]*runnertest.Runner, *workload.Script) {
	t.Helper()
	runners := map[string]*runnertest.Runner{}
	for i, address := range []string{"one:1", "two:1"} {
		runners[address] = runnertest.New(i)
		runners[address].Script("r1-", runnertest.Script{ResultOf: measured})
	}
	l := New(func(address string, _ []byte, _ *limits.Account) (runner.Client, error) { return runners[address], nil }, nil, time.Now, func(types.NamespacedName) {})
	template := v1alpha1.BenchmarkTemplate{Clients: v1alpha1.Clients{Count: 2}, Phases: []v1alpha1.Phase{{Name: "write", Fio: &v1alpha1.Fio{
		Pattern: v1alpha1.FioRandRead, NumJobs: 1, IODepth: 7, BlockSize: resource.MustParse("4Ki"), Duration: metav1.Duration{Duration: time.Minute},
		Curve: &v1alpha1.Curve{Metric: v1alpha1.MetricLatencyP99, AtMost: "10ms", MaxSteps: 40, StepDuration: metav1.Duration{Duration: 10 * time.Second}},
	}}}}
	var places []place.Place
	for i := range 2 {
		places = append(places, place.Place{Owner: "o", Namespace: "o", Pool: "p", CephUser: "io", Client: i, Clients: 2, DatasetBytes: 1 << 30})
	}
	script, err := workload.New(template, places, place.Place{})
	if err != nil {
		t.Fatal(err)
	}
	return l, runners, script
}

// closedLoopOf waits for the end of the closed loop.
func closedLoopOf(t *testing.T, l *Executions, key types.NamespacedName) curve.Course {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		begun, err := l.ClosedLoop(t.Context(), key, 2, "write")
		switch {
		case err == nil:
			return begun
		case !errors.Is(err, ErrNotMeasuring) || time.Now().After(deadline):
			t.Fatal(err)
		}
	}
}

func TestAStepIsMadeByAllClients(t *testing.T) {
	key := types.NamespacedName{Namespace: "bench", Name: "b"}
	l, runners, script := curved(t)
	if _, err := l.ClosedLoop(t.Context(), key, 2, "write"); !errors.Is(err, ErrNotMeasuring) {
		t.Fatalf("without clients: %v", err)
	}
	s := l.Of(key, "1")
	t.Cleanup(func() { l.Forget(key) })
	s.Runners.Follow(map[int]string{0: "one:1", 1: "two:1"}, nil)
	s.NoteScript(script)
	if _, err := l.ClosedLoop(t.Context(), key, 2, "write"); !errors.Is(err, ErrNotMeasuring) {
		t.Fatalf("before the closed loop: %v", err)
	}
	for _, c := range runners {
		if _, err := c.Put(t.Context(), task.Task{ID: "r1-write", Measure: &task.Measurement{RequestedSeconds: 10}, MeasureTimeoutSeconds: 60}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range runners {
		await(t, c)
	}
	begun := closedLoopOf(t, l, key)
	if begun.ClosedLoopPerSecond != 60 || begun.Question.LimitSeconds != 0.01 || begun.Question.StepSeconds != 10 {
		t.Errorf("course %+v", begun)
	}
	wantStep(t, l, key, runners, begun.Question)
	wantFailures(t, l, key, runners, begun.Question)
}

// wantStep checks a step that all clients make.
func wantStep(t *testing.T, l *Executions, key types.NamespacedName, runners map[string]*runnertest.Runner, q curve.Question) {
	t.Helper()
	made, err := l.Step(t.Context(), key, 2, "write", 0, q, curve.Decision{Purpose: curve.Grid, OfferedPerSecond: 60})
	if err != nil || made.Fault != "" || made.Saturated || made.Count != 600 || made.Over != 6 || made.OfferedPerSecond != 60 || made.AchievedPerSecond != 60 || len(made.Usage) != 2 {
		t.Errorf("%+v, %v", made, err)
	}
	for address, c := range runners {
		step := slices.IndexFunc(c.Tasks(), func(one task.Task) bool { return one.ID == workload.StepID(1, 0, "write") })
		if step < 0 || !strings.Contains(fmt.Sprint(c.Tasks()[step].Measure.Argv), `"iops":30`) {
			t.Errorf("%s has the tasks %+v, want a step of 30/s", address, c.Tasks())
		}
	}
}

// wantFailures checks steps that fail on one client, or do not end.
func wantFailures(t *testing.T, l *Executions, key types.NamespacedName, runners map[string]*runnertest.Runner, q curve.Question) {
	t.Helper()
	runners["two:1"].Script("r1--1-", runnertest.Script{Failure: &task.Failure{Reason: "Killed", Message: "out of memory"}})
	if _, err := l.Step(t.Context(), key, 2, "write", 1, q, curve.Decision{OfferedPerSecond: 60}); err == nil || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("a step that failed on one client: %v", err)
	}
	runners["one:1"].Script("r1--2-", runnertest.Script{Measuring: time.Hour})
	within, stop := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer stop()
	if _, err := l.Step(within, key, 2, "write", 2, q, curve.Decision{OfferedPerSecond: 60}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a step that does not end: %v", err)
	}
}
