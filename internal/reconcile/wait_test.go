package reconcile

import (
	"errors"
	"testing"
	"time"
)

func TestDeadlineIsOver(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	p := Deadline{For: "cluster", Within: time.Minute}
	for name, c := range map[string]struct {
		deadline Deadline
		waiting  Waiting
		want     bool
	}{
		"too long":             {p, Waiting{For: "cluster", Since: now.Add(-61 * time.Second)}, true},
		"not too long":         {p, Waiting{For: "cluster", Since: now.Add(-time.Minute)}, false},
		"for something else":   {p, Waiting{For: "plan", Since: now.Add(-time.Hour)}, false},
		"without any deadline": {Deadline{}, Waiting{Since: now.Add(-time.Hour)}, false},
	} {
		if got := c.deadline.IsOver(c.waiting, now); got != c.want {
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

// The message belongs to one wait. Renewals of the lock neither end a wait nor the trouble of other steps.
func TestHeadwayIsNotedAfterEachPass(t *testing.T) {
	now, failure := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), errors.New("no monitor answers")
	var h Headway
	for i, c := range []struct {
		step                Step
		wait, message       string
		early               bool
		err                 error
		wantMessage         string
		wantSince, troubled int // the pass in which the wait and the trouble began; -1 for no trouble
	}{
		{step: StepWait, wait: "cluster", message: "It is away.", wantMessage: "It is away.", troubled: -1},
		{step: StepWait, wait: "cluster", err: failure, wantMessage: "no monitor answers", troubled: 1},
		{step: StepLock, wait: "", message: "It has the lock.", wantMessage: "no monitor answers", troubled: 1},
		{step: StepWait, wait: "cluster", early: true, wantMessage: "no monitor answers", troubled: 1},
		{step: StepWait, wait: "plan", wantSince: 4, troubled: -1},
		{step: StepLock, wait: "", err: failure, wantSince: 4, troubled: 5},
		{step: StepLock, wait: "", wantSince: 4, troubled: -1},
	} {
		h.Note(c.step, c.wait, c.message, c.early, c.err, now.Add(time.Duration(i)*time.Minute))
		since, troubled := int(h.Waiting.Since.Sub(now).Minutes()), -1
		if h.Trouble != nil {
			troubled = int(h.TroubledSince.Sub(now).Minutes())
		}
		if h.Message != c.wantMessage || since != c.wantSince || troubled != c.troubled {
			t.Errorf("pass %d: message %q, waits since pass %d, trouble since pass %d; want %q, %d, %d", i, h.Message, since, troubled, c.wantMessage, c.wantSince, c.troubled)
		}
	}
}
