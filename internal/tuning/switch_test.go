package tuning

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/settings"
)

// applyBoth applies both settings of a session once, the baseline last.
func applyBoth(t *testing.T, e *Engine) (baseline, candidate []Change) {
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
	baseline, candidate := applyBoth(t, e)
	journal, err := e.Journal(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, err := e.Switch(t.Context(), ourSweep, OwnPool{}, baseline, candidate); err != nil {
			t.Fatal(err)
		}
		if value, _ := w.cluster.Central(ceph.ConfigWho{Section: "osd"}, "osd_memory_target"); value != "4294967296" {
			t.Fatalf("the candidate is %s in Ceph", value)
		}
		if _, err := e.Switch(t.Context(), ourSweep, OwnPool{}, candidate, baseline); err != nil {
			t.Fatal(err)
		}
	}
	after, err := e.Journal(t.Context())
	if err != nil || after.Revision != journal.Revision {
		t.Errorf("the journal was written %d times more, %v", after.Revision-journal.Revision, err)
	}
	if _, err := e.Switch(t.Context(), ourSweep, OwnPool{}, baseline, candidate); err != nil {
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
	wraps := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	for name, c := range map[string]struct {
		before func(w *world, e *Engine) *Engine // nil for nothing
		sweep  Sweep
		to     string
		want   func(error) bool
	}{
		"a value that was never applied": {nil, ourSweep, "5G", wraps(ErrNotApplied)},
		"another sweep's":                {nil, other, "4G", func(err error) bool { _, ok := errors.AsType[*OtherSweepError](err); return ok }},
		"by another process":             {func(w *world, _ *Engine) *Engine { return w.process(nil) }, ourSweep, "4G", wraps(ErrNotApplied)},
		"after a restore": {func(_ *world, e *Engine) *Engine {
			if _, err := e.Restore(t.Context()); err != nil {
				t.Error(err)
			}
			return e
		}, ourSweep, "4G", wraps(ErrNotApplied)},
		"after a foreign change": {func(w *world, e *Engine) *Engine {
			w.setMemoryTarget("2147483648")
			return e
		}, ourSweep, "4G", func(err error) bool { _, ok := errors.AsType[*ForeignChangeError](err); return ok }},
		"under a value of ours that is not the window's": {func(w *world, e *Engine) *Engine {
			w.setMemoryTarget("4294967296")
			return e
		}, ourSweep, "4G", func(err error) bool { _, ok := errors.AsType[*ForeignChangeError](err); return ok }},
		"between other settings": {nil, ourSweep, "", func(err error) bool { return err != nil }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			e := w.process(nil)
			baseline, _ := applyBoth(t, e)
			if c.before != nil {
				e = c.before(w, e)
			}
			before := w.state()
			to := []Change{config("osd_memory_target", c.to)}
			if c.to == "" {
				to = nil
			}
			_, err := e.Switch(t.Context(), c.sweep, OwnPool{}, baseline, to)
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
	baseline, candidate := applyBoth(t, e)
	w.cluster.Act(func(c *cephtest.Cluster) { c.Lose = "SetConfig" })
	if _, err := e.Switch(t.Context(), ourSweep, OwnPool{}, baseline, candidate); !ceph.Unsure(err) {
		t.Fatalf("Switch: %v", err)
	}
	_, err := e.Switch(t.Context(), ourSweep, OwnPool{}, baseline, candidate)
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

// addScratchPool adds the erasure-coded pool of a session, and returns it.
func (w *world) addScratchPool(id int64) OwnPool {
	w.cluster.Act(func(c *cephtest.Cluster) {
		others := slices.DeleteFunc(c.Answers.OSDMap.Pools, func(p ceph.Pool) bool { return p.Name == settings.ScratchDataPool })
		c.Answers.OSDMap.Pools = slices.Concat(others, []ceph.Pool{{ID: id, Name: settings.ScratchDataPool, Type: "erasure"}})
	})
	return OwnPool{Name: settings.ScratchDataPool, ID: id}
}

// fastRead is the value of the option in Ceph.
func (w *world) fastRead() (value string) {
	w.cluster.Act(func(c *cephtest.Cluster) {
		for _, p := range c.Answers.OSDMap.Pools {
			if p.Name == settings.ScratchDataPool {
				value = p.Options["fast_read"]
			}
		}
	})
	return value
}

// enterAlone applies a configuration without settings of its own, as a sweep does before each session.
func (w *world) enterAlone(t *testing.T, e *Engine) {
	t.Helper()
	if applied, err := e.Apply(t.Context(), ourSweep, nil); err != nil || len(applied.Changed) > 0 {
		t.Fatalf("Apply: %+v, %v", applied, err)
	}
}

// switchFastRead switches, and checks the value of the option in Ceph.
func (w *world) switchFastRead(t *testing.T, e *Engine, pool OwnPool, from, to []Change, want string) {
	t.Helper()
	if _, err := e.Switch(t.Context(), ourSweep, pool, from, to); err != nil || w.fastRead() != want {
		t.Fatalf("Switch: %v, and the value is %q, want %q", err, w.fastRead(), want)
	}
}

// An option of the session's own pool is switched without a journal, alone or together with an option of OSDs.
func TestSwitchInTheSessionsPool(t *testing.T) {
	for name, together := range map[string]bool{"alone": false, "with an option of OSDs": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			pool, e := w.addScratchPool(9), w.process(nil)
			var baseline, candidate []Change
			if together {
				baseline, candidate = applyBoth(t, e)
			} else {
				w.enterAlone(t, e)
			}
			before, err := e.Journal(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			baseline = append(baseline, poolOption(pool.Name, "fast_read", ""))
			candidate = append(candidate, poolOption(pool.Name, "fast_read", "true"))
			if err := e.Try(t.Context(), pool, [][]Change{candidate, baseline}); err != nil || w.fastRead() != "" {
				t.Fatalf("Try: %v, and the value is %q", err, w.fastRead())
			}
			for range 3 {
				w.switchFastRead(t, e, pool, baseline, candidate, "1")
				w.switchFastRead(t, e, pool, candidate, baseline, "")
			}
			after, err := e.Journal(t.Context())
			if err != nil || (before == nil) != (after == nil) || after != nil && (after.Revision != before.Revision || len(after.Entries) != 1) {
				t.Errorf("journal %+v, before %+v, %v", after, before, err)
			}
		})
	}
}

func TestSwitchInTheSessionsPoolIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(w *world)
		want      func(error) bool
	}{
		"after a foreign change": {
			func(w *world) {
				w.cluster.Act(func(c *cephtest.Cluster) {
					index := len(c.Answers.OSDMap.Pools) - 1
					c.Answers.OSDMap.Pools[index].Options = map[string]string{"fast_read": "1"}
				})
			},
			func(err error) bool { _, ok := errors.AsType[*ForeignChangeError](err); return ok },
		},
		"in the pool of another session": {
			func(w *world) { w.addScratchPool(10) },
			func(err error) bool { return errors.Is(err, ErrPoolGone) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			pool, e := w.addScratchPool(9), w.process(nil)
			w.enterAlone(t, e)
			baseline := []Change{poolOption(pool.Name, "fast_read", "")}
			candidate := []Change{poolOption(pool.Name, "fast_read", "true")}
			if err := e.Try(t.Context(), pool, [][]Change{candidate, baseline}); err != nil {
				t.Fatal(err)
			}
			c.meanwhile(w)
			count := len(w.cluster.Calls("SetPoolOption"))
			if _, err := e.Switch(t.Context(), ourSweep, pool, baseline, candidate); err == nil || !c.want(err) {
				t.Errorf("Switch: %v", err)
			}
			if now := len(w.cluster.Calls("SetPoolOption")); now != count {
				t.Error("Ceph was told a value")
			}
		})
	}
}

// A replicated pool has no fast_read, and Ceph says so before a session begins.
func TestTryFindsWhatThePoolRefuses(t *testing.T) {
	w := newWorld(t)
	e := w.process(nil)
	pool := OwnPool{Name: "p", ID: 1}
	w.cluster.Act(func(c *cephtest.Cluster) {
		for _, p := range c.Answers.OSDMap.Pools {
			if p.Name == pool.Name {
				pool.ID = p.ID
			}
		}
	})
	w.enterAlone(t, e)
	err := e.Try(t.Context(), pool, [][]Change{{poolOption("p", "fast_read", "true")}})
	if err == nil || !strings.Contains(err.Error(), "replication pools have none") {
		t.Errorf("Try: %v", err)
	}
}
