package tuning

import (
	"errors"
	"testing"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// nth kills at the nth time that a point is reached. It reports whether it has killed.
func nth(n int) (reached func() bool, killed *bool) {
	killed = new(bool)
	passed := 0
	return func() bool {
		passed++
		*killed = *killed || passed == n
		return passed == n
	}, killed
}

// An undisturbed life passes exactly the steps in the table.
func TestALifePassesEveryStep(t *testing.T) {
	w := newWorld(t)
	before := w.state()
	if err := life(t.Context(), w, w.process(nil)); err != nil {
		t.Fatal(err)
	}
	w.wantState(before)
	for _, step := range Steps() {
		if w.passed[step] == 0 {
			t.Errorf("step %s is not passed: the tests that kill there prove nothing", step)
		}
		delete(w.passed, step)
	}
	if len(w.passed) > 0 {
		t.Errorf("passed %v, which are not in Steps", w.passed)
	}
}

// A process is killed at each step, each time that it passes the step. The next process must
// restore everything.
func TestKilledAtEachStep(t *testing.T) {
	for _, step := range Steps() {
		t.Run(string(step), func(t *testing.T) {
			for n := 1; ; n++ {
				w := newWorld(t)
				before := w.state()
				reached, killed := nth(n)
				err := life(t.Context(), w, w.process(func(s Step) bool { return s == step && reached() }))
				if !*killed {
					if n == 1 {
						t.Fatalf("the step is never passed: %v", err)
					}
					return
				}
				if err := w.next(nil); err != nil {
					t.Fatalf("killed at %s, time %d: %v", step, n, err)
				}
				w.wantState(before)
			}
		})
	}
}

// A process is killed before and after each verb, and then the next process is killed as well.
func TestKilledAroundEachVerb(t *testing.T) {
	hooks := map[string]func(*cephtest.Cluster, func(string) error){
		"before": func(c *cephtest.Cluster, hook func(string) error) { c.Before = hook },
		"after":  func(c *cephtest.Cluster, hook func(string) error) { c.After = hook },
	}
	for name, set := range hooks {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				again, ended := killedAround(t, set, n)
				if ended {
					return
				}
				for second := 1; again; second++ {
					again = killedTwice(t, set, n, second)
				}
			}
		})
	}
}

// killedAround kills at the nth verb. It reports whether there was no such verb.
func killedAround(t *testing.T, set func(*cephtest.Cluster, func(string) error), n int) (again, ended bool) {
	t.Helper()
	w := newWorld(t)
	before := w.state()
	if !w.killed(set, n) {
		return false, true
	}
	if err := w.next(nil); err != nil {
		t.Fatalf("killed at verb %d: %v", n, err)
	}
	w.wantState(before)
	// All pairs would take too long, so every seventh is tried.
	return n%7 == 0, false
}

// killed plays a life that ends at the nth verb.
func (w *world) killed(set func(*cephtest.Cluster, func(string) error), n int) bool {
	reached, killed := nth(n)
	w.cluster.Act(func(c *cephtest.Cluster) {
		set(c, func(string) error {
			if reached() {
				return cephtest.ErrKilled
			}
			return nil
		})
	})
	err := life(w.t.Context(), w, w.process(nil))
	w.cluster.Act(func(c *cephtest.Cluster) { set(c, nil) })
	if *killed && !errors.Is(err, cephtest.ErrKilled) {
		w.t.Fatalf("killed at verb %d, and it ended with %v", n, err)
	}
	return *killed
}

// killedTwice also kills the restoring process, at its nth step.
func killedTwice(t *testing.T, set func(*cephtest.Cluster, func(string) error), first, second int) bool {
	t.Helper()
	w := newWorld(t)
	before := w.state()
	w.killed(set, first)
	reached, killed := nth(second)
	err := w.next(func(Step) bool { return reached() })
	if !*killed {
		return false
	}
	if !errors.Is(err, cephtest.ErrKilled) {
		t.Fatalf("killed again at %d: %v", second, err)
	}
	if err := w.next(nil); err != nil {
		t.Fatalf("killed at verb %d and step %d: %v", first, second, err)
	}
	w.wantState(before)
	return true
}

// A change whose answer was lost may be carried out after its process has died. It must be restored
// too, so the next process waits until it must have been carried out.
func TestALostChangeLandsAfterTheProcess(t *testing.T) {
	for _, verb := range []string{"SetPoolOption", "UnsetPoolOption", "SetConfig", "RemoveConfig", "SetBalancer", "SetFlag", "SetNoUp"} {
		t.Run(verb, func(t *testing.T) {
			w := newWorld(t)
			before := w.state()
			w.cluster.Act(func(c *cephtest.Cluster) { c.Lose = verb })
			if err := life(t.Context(), w, w.process(nil)); err == nil {
				t.Fatal("no verb was lost")
			}
			if err := w.next(nil); err != nil {
				t.Fatal(err)
			}
			w.cluster.Land() // if the process did not wait for it
			w.wantState(before)
		})
	}
}

// Settings that another user has changed after the process was killed are left alone and reported.
// Everything else is restored.
func TestKilledAndChangedByAnother(t *testing.T) {
	theirs := map[string]struct {
		change   func(*cephtest.Cluster) error
		undo     func(*cephtest.Cluster) error
		setting  Setting
		original cephvalue.Value
		found    cephvalue.Value
	}{
		"a number of PGs": {
			change: func(c *cephtest.Cluster) error {
				return c.SetPoolOption(t.Context(), conn(), fence(), "p", "pg_num", "48")
			},
			undo: func(c *cephtest.Cluster) error {
				return c.SetPoolOption(t.Context(), conn(), fence(), "p", "pg_num", "32")
			},
			setting: poolOption("p", "pg_num", "").Setting, original: cephvalue.Of("32"), found: cephvalue.Of("48"),
		},
		"an option of a pool": {
			change: func(c *cephtest.Cluster) error {
				return c.SetPoolOption(t.Context(), conn(), fence(), "q", "compression_mode", "aggressive")
			},
			undo: func(c *cephtest.Cluster) error {
				return c.SetPoolOption(t.Context(), conn(), fence(), "q", "compression_mode", "passive")
			},
			setting: poolOption("q", "compression_mode", "").Setting, original: cephvalue.Of("passive"), found: cephvalue.Of("aggressive"),
		},
		"an option of the configuration": {
			change: func(c *cephtest.Cluster) error {
				return c.SetConfig(t.Context(), conn(), fence(), ceph.ConfigWho{Section: "osd"}, "osd_memory_target", "2G")
			},
			undo: func(c *cephtest.Cluster) error {
				return c.SetConfig(t.Context(), conn(), fence(), ceph.ConfigWho{Section: "osd"}, "osd_memory_target", "939524096")
			},
			setting: config("osd_memory_target", "").Setting, original: cephvalue.Of("939524096"), found: cephvalue.Of("2147483648"),
		},
		"an autoscaler": {
			change: func(c *cephtest.Cluster) error {
				return c.SetPoolOption(t.Context(), conn(), fence(), "p", "pg_autoscale_mode", "warn")
			},
			undo: func(c *cephtest.Cluster) error {
				return c.SetPoolOption(t.Context(), conn(), fence(), "p", "pg_autoscale_mode", "on")
			},
			setting: Setting{Kind: KindAutoscaler, Pool: "p"}, original: cephvalue.Of("on"), found: cephvalue.Of("warn"),
		},
	}
	for name, their := range theirs {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			before := w.state()
			second := 0
			err := life(t.Context(), w, w.process(func(s Step) bool {
				if s == StepStoredWritten {
					second++
				}
				return second == 3 // pauses, first configuration, second configuration
			}))
			if !errors.Is(err, cephtest.ErrKilled) {
				t.Fatal(err)
			}
			if err := their.change(w.cluster); err != nil {
				t.Fatal(err)
			}
			e := w.process(nil)
			_, err = e.Restore(t.Context())
			if wait, must := errors.AsType[*WaitError](err); must {
				w.now = wait.Until
			} else {
				t.Fatalf("%v, want it to wait", err)
			}
			report, err := e.Restore(t.Context())
			if err != nil || !report.Done {
				t.Fatal(report, err)
			}
			left := report.LeftAlone()
			if len(left) != 1 || left[0].Setting != their.setting || *left[0].Found != their.found || left[0].Original != their.original || left[0].State != LeftAlone {
				t.Errorf("left alone: %+v, want %s as %s", left, their.setting, their.found)
			}
			if err := errors.Join(e.Close(t.Context()), their.undo(w.cluster)); err != nil {
				t.Fatal(err)
			}
			w.wantState(before)
		})
	}
}

// Ceph may refuse a verb or not answer it. A later restore must be complete.
func TestEachVerbFailsOnce(t *testing.T) {
	for _, verb := range []string{"OSDMap", "ConfigDump", "Balancer", "SetPoolOption", "UnsetPoolOption", "SetConfig", "RemoveConfig", "SetBalancer", "SetFlag", "SetNoUp", "GetKey", "SetKey"} {
		t.Run(verb, func(t *testing.T) {
			for n := 1; ; n++ {
				w := newWorld(t)
				before := w.state()
				reached, failed := nth(n)
				w.cluster.Act(func(c *cephtest.Cluster) {
					c.Before = func(called string) error {
						if called == verb && reached() {
							return &ceph.Error{Verb: verb, Errno: 1, Message: "Error EPERM"}
						}
						return nil
					}
				})
				e := w.process(nil)
				err := life(t.Context(), w, e)
				if !*failed {
					if n == 1 {
						t.Fatalf("it is never called")
					}
					return
				}
				if err == nil {
					t.Errorf("time %d: the failure was hidden", n)
				}
				if err := putAllBack(t.Context(), e); err != nil {
					t.Fatalf("time %d: %v", n, err)
				}
				w.wantState(before)
			}
		})
	}
}

func fence() ceph.Fence { return ceph.Fence{FSID: cephtest.FSID, Epoch: 1} }

func conn() ceph.Connection { return ceph.Connection{} }
