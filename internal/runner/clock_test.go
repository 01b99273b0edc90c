package runner

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/testing/wallclock"
)

// The manager gets the times of a task by its own clock, however wrong the node's is.
func TestTimesAreByTheManagersClock(t *testing.T) {
	ours := time.Date(2026, 3, 29, 1, 59, 0, 0, time.UTC)
	for name, ahead := range map[string]time.Duration{"right": 0, "five minutes ahead": 5 * time.Minute, "an hour behind": -time.Hour} {
		t.Run(name, func(t *testing.T) {
			theirs := ours.Add(ahead)
			start, end := theirs.Add(-40*time.Second), theirs.Add(-10*time.Second)
			got := Snapshot{Now: theirs, Tasks: []task.Status{{ID: "r1-read", StartTime: &start, EndTime: &end}, {ID: "r2-read"}}}.byOurClock(ours)
			first, second := got.Tasks[0], got.Tasks[1]
			if !first.StartTime.Equal(ours.Add(-40*time.Second)) || !first.EndTime.Equal(ours.Add(-10*time.Second)) {
				t.Errorf("from %v to %v, want 40 and 10 seconds before %v", first.StartTime, first.EndTime, ours)
			}
			if second.StartTime != nil || second.EndTime != nil {
				t.Errorf("a task that has not begun has times: %+v", second)
			}
		})
	}
	t.Run("unknown", func(t *testing.T) {
		start := ours.Add(-time.Minute)
		if got := (Snapshot{Tasks: []task.Status{{StartTime: &start}}}).byOurClock(ours).Tasks[0]; !got.StartTime.Equal(start) {
			t.Errorf("a runner that does not say its time has its times moved to %v", got.StartTime)
		}
	})
}

// Times that are restated keep their distances to each other and to now.
func TestTimesKeepTheirDistances(t *testing.T) {
	start := time.Now()
	end := start.Add(30 * time.Second)
	now := end.Add(20 * time.Second)
	got := byClockOf(task.Status{StartTime: &start, EndTime: &end}, now)
	if got.StartTime.Sub(now) != -50*time.Second || got.EndTime.Sub(*got.StartTime) != 30*time.Second {
		t.Errorf("from %v to %v at %v", got.StartTime, got.EndTime, now)
	}
}

// If the node's clock is set while a task measures, the manager still gets when it began and how long it took.
func TestTimesOfATaskWhoseClockIsSet(t *testing.T) {
	ours := time.Date(2026, 3, 29, 1, 59, 0, 0, time.UTC)
	for name, step := range map[string]time.Duration{
		"never": 0, "five minutes forward": 5 * time.Minute, "five minutes back": -5 * time.Minute, "ten seconds forward": 10 * time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Now()
			start, end := wallclock.Before(now.Add(-40*time.Second), step), now.Add(-10*time.Second)
			sent, err := json.Marshal(Snapshot{Now: now, Tasks: []task.Status{byClockOf(task.Status{ID: "r1-read", StartTime: &start, EndTime: &end}, now)}})
			if err != nil {
				t.Fatal(err)
			}
			var received Snapshot
			if err := json.Unmarshal(sent, &received); err != nil {
				t.Fatal(err)
			}
			got := received.byOurClock(ours).Tasks[0]
			if !got.StartTime.Equal(ours.Add(-40*time.Second)) || !got.EndTime.Equal(ours.Add(-10*time.Second)) {
				t.Errorf("from %v to %v, want 40 and 10 seconds before %v", got.StartTime, got.EndTime, ours)
			}
		})
	}
}

// If the node's clock is set between an engine's line and its reading, the row ends when the line is read. None is lost,
// and those before and after keep their times.
func TestRowsOfAnEngineWhoseClockIsSet(t *testing.T) {
	for name, step := range map[string]time.Duration{
		"five minutes forward": 5 * time.Minute, "five minutes back": -5 * time.Minute, "ten seconds forward": 10 * time.Second, "a second back": -time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := &running{execution: newExecution(t.TempDir()), entry: &entry{since: time.Now()}}
				for i := range 3 {
					time.Sleep(time.Second)
					taken := time.Now().Add(-100 * time.Millisecond)
					if i == 1 {
						taken = taken.Add(-step)
					}
					r.addSecond(&parse.Counted{Seconds: 1, Taken: taken})
				}
				want := []result.Second{{ToNanoseconds: 9e8}, {FromNanoseconds: 1e9, ToNanoseconds: 2e9}, {FromNanoseconds: 2e9, ToNanoseconds: 29e8}}
				if diff := cmp.Diff(want, r.entry.course); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
			})
		})
	}
}
