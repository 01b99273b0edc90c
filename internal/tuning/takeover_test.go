package tuning

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// A change whose answer was lost is carried out at the last moment at which it may be, while the
// same process continues. Before that, the process must not compare or change anything.
func TestALostChangeLandsInTheSameProcess(t *testing.T) {
	for _, verb := range []string{"SetPoolOption", "UnsetPoolOption", "SetConfig", "RemoveConfig", "SetBalancer", "SetFlag", "SetNoUp"} {
		t.Run(verb, func(t *testing.T) {
			w := newWorld(t)
			before := w.state()
			w.cluster.Act(func(c *cephtest.Cluster) { c.Lose = verb })
			e := w.process(nil)
			if err := life(t.Context(), w, e); err == nil {
				t.Fatal("no verb was lost")
			}
			w.now = w.now.Add(ceph.LongestChange - time.Second)
			_, err := e.Restore(t.Context())
			wait, must := errors.AsType[*WaitError](err)
			if !must {
				t.Errorf("Restore: %v, want it to wait", err)
			}
			if _, err := e.Apply(t.Context(), ourSweep, []Change{balancer()}); !errors.As(err, &wait) {
				t.Errorf("Apply: %v, want it to wait", err)
			}
			if err := e.Keep(t.Context(), nil); !errors.As(err, &wait) {
				t.Errorf("Keep: %v, want it to wait", err)
			}
			w.cluster.Land()
			w.now = w.now.Add(time.Second)
			if err := putAllBack(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			w.wantState(before)
		})
	}
}

// Another engine of the process must wait too. For example, one engine restores what another has
// changed, and a new engine replaces an old one when a monitor moves.
func TestEnginesOfAProcessShareTheirDoubts(t *testing.T) {
	w := newWorld(t)
	doubts := &Doubts{}
	first, second := w.process(nil), w.process(nil)
	first.doubts, second.doubts, second.writer = doubts, doubts, first.writer
	w.cluster.Act(func(c *cephtest.Cluster) { c.Lose = "SetConfig" })
	if _, err := first.Apply(t.Context(), ourSweep, []Change{config("osd_max_backfills", "4")}); err == nil {
		t.Fatal("no verb was lost")
	}
	_, err := second.Restore(t.Context())
	if _, must := errors.AsType[*WaitError](err); !must {
		t.Errorf("%v, want it to wait", err)
	}
}

// A change that Ceph has refused was not made, so there is nothing to wait for.
func TestARefusalIsNoDoubt(t *testing.T) {
	w := newWorld(t)
	e := w.process(nil)
	w.cluster.Act(func(c *cephtest.Cluster) { c.MaxPGs = 32 })
	_, err := e.Apply(t.Context(), ourSweep, []Change{poolOption("p", "pg_num", "64")})
	if _, refused := errors.AsType[*ceph.Error](err); !refused {
		t.Fatalf("%v, want ERANGE", err)
	}
	if err := putAllBack(t.Context(), e); err != nil {
		t.Error(err)
	}
}

// A process that takes over compares entries that an earlier process has closed. If it is killed,
// the next one does.
func TestEntriesClosedByAnEarlierProcessAreComparedAgain(t *testing.T) {
	mclock := config("osd_mclock_profile", "custom")
	tests := map[string]struct {
		found string // what another user had set when it was closed; "" for nothing
		late  string // its value when the next process comes
		want  string // the expected final value
	}{
		"it is as it was":                             {"", "balanced", "balanced"},
		"a late command of ours":                      {"", "custom", "balanced"},
		"a foreign value":                             {"", "high_recovery_ops", "high_recovery_ops"},
		"it was left alone, and is so":                {"high_client_ops", "high_client_ops", "high_client_ops"},
		"it was left alone, and ours came late":       {"high_client_ops", "custom", "high_client_ops"},
		"it was left alone, and is another one again": {"high_client_ops", "high_recovery_ops", "high_recovery_ops"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			set := func(value string) {
				if err := w.cluster.SetConfig(t.Context(), conn(), fence(), ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile", value); err != nil {
					t.Fatal(err)
				}
			}
			set("balanced")
			first := w.process(nil)
			if _, err := first.Apply(t.Context(), ourSweep, []Change{mclock}); err != nil {
				t.Fatal(err)
			}
			if test.found != "" {
				set(test.found)
			}
			if report, err := first.Restore(t.Context()); err != nil || !report.Done {
				t.Fatal(report, err)
			}
			set(test.late)
			// The process that takes over is killed before the journal names it.
			w.cluster.Act(func(c *cephtest.Cluster) {
				c.Before = func(verb string) error {
					if verb == "SetKey" {
						return cephtest.ErrKilled
					}
					return nil
				}
			})
			if err := w.next(nil); !errors.Is(err, cephtest.ErrKilled) {
				t.Fatalf("%v, want it to be killed", err)
			}
			w.cluster.Act(func(c *cephtest.Cluster) { c.Before = nil })
			if err := w.next(nil); err != nil {
				t.Fatal(err)
			}
			if got, _ := w.cluster.Central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile"); got != test.want {
				t.Errorf("it is %s, want %s", got, test.want)
			}
		})
	}
}

// A journal that another process has closed must be compared before it is removed.
func TestAJournalOfAnotherProcessIsNotClosedUnseen(t *testing.T) {
	w := newWorld(t)
	first := w.process(nil)
	if _, err := first.Apply(t.Context(), ourSweep, []Change{balancer()}); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Restore(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.process(nil).Close(t.Context()); err == nil {
		t.Error("it was removed")
	}
}

// If the lock is lost and taken again during a change, the change ends, because earlier reads may
// be outdated.
func TestAChangeIsMadeUnderOneHolding(t *testing.T) {
	w := newWorld(t)
	e := w.process(nil)
	epoch := int64(1)
	held := e.guard
	e.guard = func(ctx context.Context) (ceph.Fence, error) {
		fence, err := held(ctx)
		fence.Epoch = epoch
		return fence, err
	}
	w.cluster.Act(func(c *cephtest.Cluster) {
		c.Before = func(verb string) error {
			if verb == "ConfigDump" {
				epoch = 2
			}
			return nil
		}
	})
	if _, err := e.Apply(t.Context(), ourSweep, []Change{config("osd_max_backfills", "4")}); err == nil {
		t.Error("it went on")
	}
	if len(w.cluster.Calls("SetConfig"))+len(w.cluster.Calls("SetKey")) > 0 {
		t.Error("something was written")
	}
	if _, err := e.Apply(t.Context(), ourSweep, []Change{config("osd_max_backfills", "4")}); err != nil {
		t.Errorf("the next time: %v", err)
	}
}

// The journal keeps only the start of a long foreign value. Ceph must never get that start as a value.
func TestAPartOfAForeignValueIsNotRestored(t *testing.T) {
	rocksdb := config("bluestore_rocksdb_options", "ours")
	entry := Entry{Setting: rocksdb.Setting, Original: cephvalue.Of("before"), Applied: []AppliedValue{{Intended: rocksdb.To}}}
	j := &Journal{Entries: []Entry{entry}}
	j.closeEntry(rocksdb.Setting, LeftAlone, new(cephvalue.Of(strings.Repeat("theirs,", 40))))
	j.reopen(rocksdb.Setting, rocksdb.To)
	if got := j.Entries[0]; got.State != Open || got.Original != cephvalue.Of("before") {
		t.Errorf("%s, to be restored to %v: want Open, and the recorded original", got.State, got.Original)
	}
}
