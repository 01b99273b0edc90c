package reconcile

import (
	"testing"
	"time"
)

func TestPatienceIsOver(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	p := Patience{For: "cluster", Within: time.Minute}
	for name, c := range map[string]struct {
		patience Patience
		waiting  Waiting
		want     bool
	}{
		"too long":             {p, Waiting{For: "cluster", Since: now.Add(-61 * time.Second)}, true},
		"not too long":         {p, Waiting{For: "cluster", Since: now.Add(-time.Minute)}, false},
		"for something else":   {p, Waiting{For: "plan", Since: now.Add(-time.Hour)}, false},
		"without any patience": {Patience{}, Waiting{Since: now.Add(-time.Hour)}, false},
	} {
		if got := c.patience.IsOver(c.waiting, now); got != c.want {
			t.Errorf("%s: %t, want %t", name, got, c.want)
		}
	}
}

func TestWaitingBeginsOnceForTheSame(t *testing.T) {
	first := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	later := first.Add(time.Minute)
	var w Waiting
	if !w.Note("cluster", first) || w.Note("cluster", later) || !w.Since.Equal(first) {
		t.Errorf("waits since %v, want since %v", w.Since, first)
	}
	if !w.Note("plan", later) || !w.Since.Equal(later) {
		t.Errorf("waits for something else since %v, want since %v", w.Since, later)
	}
}
