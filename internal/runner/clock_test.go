package runner

import (
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/task"
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
