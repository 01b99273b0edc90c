package tuning

import (
	"errors"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

// rehearse applies both settings of a session once, the baseline last.
func rehearse(t *testing.T, e *Engine) (baseline, candidate []Change) {
	t.Helper()
	baseline, candidate = []Change{config("osd_memory_target", "896M")}, []Change{config("osd_memory_target", "4G")}
	for _, changes := range [][]Change{candidate, baseline} {
		if applied, err := e.Apply(t.Context(), ourSweep, changes); err != nil || len(applied.NotTaken) > 0 {
			t.Fatalf("Apply: %+v, %v", applied, err)
		}
	}
	return baseline, candidate
}

func TestSwitchWritesNoJournal(t *testing.T) {
	w := newWorld(t)
	before := w.state()
	e := w.process(nil)
	baseline, candidate := rehearse(t, e)
	journal, err := e.Journal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := e.Switch(t.Context(), ourSweep, baseline, candidate); err != nil {
			t.Fatal(err)
		}
		if value, _ := w.cluster.Central(ceph.ConfigWho{Section: "osd"}, "osd_memory_target"); value != "4294967296" {
			t.Fatalf("the candidate is %s in Ceph", value)
		}
		if _, err := e.Switch(t.Context(), ourSweep, candidate, baseline); err != nil {
			t.Fatal(err)
		}
	}
	after, err := e.Journal(t.Context())
	if err != nil || after.Revision != journal.Revision {
		t.Errorf("the journal was written %d times more, %v", after.Revision-journal.Revision, err)
	}
	if _, err := e.Switch(t.Context(), ourSweep, baseline, candidate); err != nil {
		t.Fatal(err)
	}
	if err := w.next(nil); err != nil { // killed within a session
		t.Fatal(err)
	}
	w.wantState(before)
}

// setMemoryTarget is a change by another user.
func (w *world) setMemoryTarget(value string) {
	w.cluster.Act(func(c *cephtest.Cluster) {
		for i, entry := range c.Answers.ConfigDump {
			if entry.Name == "osd_memory_target" {
				c.Answers.ConfigDump[i].Value = value
			}
		}
	})
}

func TestSwitchIsRefused(t *testing.T) {
	other := ourSweep
	other.UID = "u2"
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	for name, c := range map[string]struct {
		before func(w *world, e *Engine) *Engine // nil for nothing
		sweep  Sweep
		to     string
		want   func(error) bool
	}{
		"a value that was never applied": {nil, ourSweep, "5G", is(ErrNotRehearsed)},
		"another sweep's":                {nil, other, "4G", func(err error) bool { _, is := errors.AsType[*OtherSweepError](err); return is }},
		"by another process":             {func(w *world, _ *Engine) *Engine { return w.process(nil) }, ourSweep, "4G", is(ErrNotRehearsed)},
		"after a restore": {func(_ *world, e *Engine) *Engine {
			if _, err := e.Restore(t.Context()); err != nil {
				t.Error(err)
			}
			return e
		}, ourSweep, "4G", is(ErrNotRehearsed)},
		"after a foreign change": {func(w *world, e *Engine) *Engine {
			w.setMemoryTarget("2147483648")
			return e
		}, ourSweep, "4G", func(err error) bool { _, is := errors.AsType[*ForeignChangeError](err); return is }},
		"under a value of ours that is not the window's": {func(w *world, e *Engine) *Engine {
			w.setMemoryTarget("4294967296")
			return e
		}, ourSweep, "4G", func(err error) bool { _, is := errors.AsType[*ForeignChangeError](err); return is }},
		"between other settings": {nil, ourSweep, "", func(err error) bool { return err != nil }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			e := w.process(nil)
			baseline, _ := rehearse(t, e)
			if c.before != nil {
				e = c.before(w, e)
			}
			before := w.state()
			to := []Change{config("osd_memory_target", c.to)}
			if c.to == "" {
				to = nil
			}
			_, err := e.Switch(t.Context(), c.sweep, baseline, to)
			if err == nil || !c.want(err) {
				t.Errorf("Switch: %v", err)
			}
			w.wantState(before)
		})
	}
}

func TestSwitchWithoutAnAnswer(t *testing.T) {
	w := newWorld(t)
	before := w.state()
	e := w.process(nil)
	baseline, candidate := rehearse(t, e)
	w.cluster.Act(func(c *cephtest.Cluster) { c.Lose = "SetConfig" })
	if _, err := e.Switch(t.Context(), ourSweep, baseline, candidate); !ceph.Unsure(err) {
		t.Fatalf("Switch: %v", err)
	}
	_, err := e.Switch(t.Context(), ourSweep, baseline, candidate)
	wait, must := errors.AsType[*WaitError](err)
	if !must {
		t.Fatalf("the switch after it: %v, want a wait", err)
	}
	w.cluster.Land() // Ceph carries it out after all.
	w.now = wait.Until.Add(time.Second)
	if err := putAllBack(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	w.wantState(before)
}
