package workload

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
)

// readOnly is a load whose data is never overwritten.
type readOnly struct{ fakeLoad }

func (l readOnly) Datasets(p place.Place) []engine.Dataset {
	all := l.fakeLoad.Datasets(p)
	all[0].Rollback = nil
	return all
}

func TestTasksAtTheStartOfRuns(t *testing.T) {
	over, reads := fakeLoad{dataset: "d"}, readOnly{fakeLoad{dataset: "e"}}
	piloted := pilotedLoad{over}
	cases := map[string]struct {
		initially v1alpha1.InitialState
		warm      bool
		loads     []engine.Load
		// runs has the tasks of each run, except the pilots.
		runs  []string
		found []v1alpha1.DataState
	}{
		"as it was left": {
			v1alpha1.InitialStateKeep, false,
			[]engine.Load{over, reads},
			[]string{"data-d data-e r1-p1 r1-p2", "r2-p1 r2-p2", "r3-p1 r3-p2"},
			[]v1alpha1.DataState{v1alpha1.DataPrefilled, v1alpha1.DataUsed, v1alpha1.DataUsed},
		},
		"as it was left by pilots": {
			v1alpha1.InitialStateKeep, false,
			[]engine.Load{piloted, reads},
			[]string{"data-d data-e r1-p1 r1-p2", "r2-p1 r2-p2"},
			[]v1alpha1.DataState{v1alpha1.DataUsed, v1alpha1.DataUsed},
		},
		"as an earlier run of the block has left it": {
			v1alpha1.InitialStateKeep, false,
			[]engine.Load{fakeLoad{dataset: "d", there: true}, reads},
			[]string{"data-e r1-p1 r1-p2", "r2-p1 r2-p2"},
			[]v1alpha1.DataState{v1alpha1.DataUsed, v1alpha1.DataUsed},
		},
		"fresh": {
			v1alpha1.InitialStateFresh, false,
			[]engine.Load{over, reads},
			[]string{"data-d data-e r1-p1 r1-p2", "initial-2-d initial-2-e r2-p1 r2-p2", "initial-3-d initial-3-e r3-p1 r3-p2"},
			[]v1alpha1.DataState{v1alpha1.DataPrefilled, v1alpha1.DataPrefilled, v1alpha1.DataPrefilled},
		},
		"fresh after pilots": {
			v1alpha1.InitialStateFresh, false,
			[]engine.Load{piloted, reads},
			[]string{"data-d data-e initial-1-d initial-1-e r1-p1 r1-p2", "initial-2-d initial-2-e r2-p1 r2-p2"},
			[]v1alpha1.DataState{v1alpha1.DataPrefilled, v1alpha1.DataPrefilled},
		},
		"rolled back, but for what is only read": {
			v1alpha1.InitialStateRollback, false,
			[]engine.Load{over, reads},
			[]string{"data-d data-e r1-p1 r1-p2", "initial-2-d r2-p1 r2-p2"},
			[]v1alpha1.DataState{v1alpha1.DataRolledBack, v1alpha1.DataRolledBack},
		},
		"rolled back after pilots": {
			v1alpha1.InitialStateRollback, false,
			[]engine.Load{piloted, reads},
			[]string{"data-d data-e initial-1-d r1-p1 r1-p2"},
			[]v1alpha1.DataState{v1alpha1.DataRolledBack},
		},
		"no data": {
			v1alpha1.InitialStateFresh, true, []engine.Load{fakeLoad{}, fakeLoad{}}, []string{"r1-p1 r1-p2", "r2-p1 r2-p2"}, []v1alpha1.DataState{"", ""},
		},
		"warm": {
			v1alpha1.InitialStateKeep, true,
			[]engine.Load{over, fakeLoad{}},
			[]string{"data-d warm-r1-p1 r1-p1 r1-p2", "warm-r2-p1 r2-p1 r2-p2"},
			[]v1alpha1.DataState{v1alpha1.DataPrefilled, v1alpha1.DataUsed},
		},
		"warm after it was rolled back": {
			v1alpha1.InitialStateRollback, true,
			[]engine.Load{over, over},
			[]string{"data-d warm-r1-p1 r1-p1 warm-r1-p2 r1-p2", "initial-2-d warm-r2-p1 r2-p1 warm-r2-p2 r2-p2"},
			[]v1alpha1.DataState{v1alpha1.DataRolledBack, v1alpha1.DataRolledBack},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s := scriptOf(2, tc.loads...)
			s.initialState, s.warm = tc.initially, tc.warm
			tasks, m, clock := newTasks(2), NewNotes(), time.Unix(1000, 0)
			for i, want := range tc.runs {
				run := int32(i + 1)
				var got []string
				for _, move := range play(t, s, run, tasks, m, &clock) {
					if id, put := strings.CutPrefix(move, "Put "); put && !strings.HasPrefix(id, "pilot-") {
						got = append(got, id)
					}
				}
				if diff := cmp.Diff(want, strings.Join(got, " ")); diff != "" {
					t.Errorf("run %d (-want +got):\n%s", run, diff)
				}
				if found := s.Found(run, tasks); found != tc.found[i] {
					t.Errorf("run %d found its data %q, want %q", run, found, tc.found[i])
				}
			}
			if found := s.Found(1, tasks); found != tc.found[0] {
				t.Errorf("looked at afterwards, run 1 found its data %q, want %q", found, tc.found[0])
			}
		})
	}
}

func TestTasksThatResetData(t *testing.T) {
	for state, want := range map[v1alpha1.InitialState]string{
		v1alpha1.InitialStateFresh: "[remove] [fill]", v1alpha1.InitialStateRollback: "[rollback]",
	} {
		s := scriptOf(1, fakeLoad{dataset: "d"})
		s.initialState = state
		made := s.resetTask("initial-2-d", s.datasets()[0], s.Places[0])
		var got []string
		for _, step := range made.Steps {
			got = append(got, fmt.Sprint(step.Argv))
		}
		if strings.Join(got, " ") != want || made.ID != "initial-2-d" || made.StepsTimeoutSeconds < tidyTimeout.Seconds() {
			t.Errorf("%s: %+v, want %s", state, made, want)
		}
	}
}

// Once a run has begun, the state of its data is not checked again. A manager without memory of the
// previous one must not reset the data again.
func TestDataAreResetOnce(t *testing.T) {
	s := scriptOf(1, fakeLoad{dataset: "d"}, fakeLoad{dataset: "d"})
	s.initialState = v1alpha1.InitialStateRollback
	done := func(ids ...string) Tasks {
		tasks := newTasks(1)
		for _, id := range ids {
			tasks[0][id] = task.Status{ID: id, State: task.Done}
		}
		return tasks
	}
	first := []string{"data-d", "r1-p1", "r1-p2"}
	for name, tc := range map[string]struct {
		tasks Tasks
		want  string
	}{
		"after the first run":           {done(first...), "Put initial-2-d"},
		"when that is done":             {done(append(slices.Clone(first), "initial-2-d")...), "Put r2-p1"},
		"in the midst of the run":       {done(append(slices.Clone(first), "initial-2-d", "r2-p1")...), "Put r2-p2"},
		"a client that was made anew":   {done("data-d"), "Put r2-p1"},
		"one that has only prefilled":   {done(), "Put data-d"},
		"the end of the run before was": {done("data-d", "r1-p1"), "Put initial-2-d"},
	} {
		mv := s.Next(2, tc.tasks, nil, NewNotes(), time.Unix(1000, 0))
		if got := string(mv.Kind) + " " + mv.ID; got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// IDs of runs begin with an r, and other IDs may do so in the future. Run 10 must not count as run
// 1.
func TestDataAreUsedByEarlierRuns(t *testing.T) {
	for id, want := range map[string]bool{
		"r1-p": true, "r9-p": true, "r10-p": false, "r11-p": false, "pilot-p-0": true, "data-r1-p": false, "initial-9-d": false, "tidy-r1-p": false,
		"warm-r1-p": false, "background-r1": false,
	} {
		if got := (Tasks{{id: {ID: id}}}).usedBefore(10); got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
}

// The pods' deadline includes the time that their tasks may take.
func TestDeadlineIncludesTasksAtTheStartOfRuns(t *testing.T) {
	deadline := func(state v1alpha1.InitialState, warm bool) time.Duration {
		s := scriptOf(1, fakeLoad{dataset: "d"})
		s.initialState, s.warm = state, warm
		return s.Deadline(v1alpha1.CephBenchmarkSpec{Repetitions: 2})
	}
	plain := deadline(v1alpha1.InitialStateKeep, false)
	for name, more := range map[string]time.Duration{
		"fresh": deadline(v1alpha1.InitialStateFresh, false) - 2*(tidyTimeout+prefillTimeout(0)),
		"warm":  deadline(v1alpha1.InitialStateKeep, true) - 2*prefillTimeout(0),
	} {
		if more != plain {
			t.Errorf("%s: %v beside what it needs, want %v", name, more, plain)
		}
	}
}
