package workload

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
)

// A standalone client does the same as with the manager, in the same order, and rests at the same
// places.
func TestThePlanIsWhatTheManagerWouldDo(t *testing.T) {
	cases := map[string][]engine.Load{
		"writes alone":         {fakeLoad{writes: true}},
		"reads of a dataset":   {fakeLoad{dataset: "d"}, fakeLoad{dataset: "d"}},
		"all kinds":            {fakeLoad{writes: true}, fakeLoad{dataset: "d"}, fakeLoad{dataset: "e", writes: true}},
		"nothing to tidy up":   {fakeLoad{}, fakeLoad{}},
		"writes in the middle": {fakeLoad{}, fakeLoad{writes: true}, fakeLoad{}},
	}
	states := []v1alpha1.InitialState{v1alpha1.InitialStateKeep, v1alpha1.InitialStateFresh, v1alpha1.InitialStateRollback}
	for name, loads := range cases {
		for i, rest := range []time.Duration{0, 5 * time.Second, 5 * time.Second} {
			for from := int32(1); from <= 3; from++ {
				t.Run(fmt.Sprintf("%s, %s, rest %v, from run %d", name, states[i], rest, from), func(t *testing.T) {
					s := scriptOf(1, loads...)
					s.rest, s.initialState, s.warm = rest, states[i], i > 0
					var want []string
					tasks, m, clock := newTasks(1), NewNotes(), time.Unix(1000, 0)
					for run := from; run <= 3; run++ {
						for _, move := range play(t, s, run, tasks, m, &clock) {
							if kind, id, _ := strings.Cut(move, " "); kind == "Rest" || kind == "Put" {
								want = append(want, kind+" "+id)
							}
						}
					}
					planned, err := s.Plan(from, 3)
					if err != nil {
						t.Fatal(err)
					}
					var got []string
					for _, todo := range planned {
						if todo.RestSeconds > 0 {
							got = append(got, "Rest "+todo.ID)
						}
						if todo.RestSeconds != 0 && todo.RestSeconds != rest.Seconds() {
							t.Errorf("task %s rests for %v s, want %v", todo.ID, todo.RestSeconds, rest)
						}
						got = append(got, "Put "+todo.ID)
					}
					if diff := cmp.Diff(want, got); diff != "" {
						t.Errorf("(-what the manager does +the plan):\n%s", diff)
					}
				})
			}
		}
	}
}

func TestPlansThatAreRefused(t *testing.T) {
	if planned, err := scriptOf(1, pilotedLoad{}).Plan(1, 1); err == nil {
		t.Errorf("planned %+v, although a pilot has to be read", planned)
	}
	s := scriptOf(1, fakeLoad{})
	s.DropCaches = true
	if planned, err := s.Plan(1, 1); err == nil {
		t.Errorf("planned %+v, although caches have to be dropped", planned)
	}
}
