package tuning

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
)

// ofPool returns the changes of pools p and q that the tests below restore by name.
func ofPool() []Change {
	return []Change{autoscaler("p"), poolOption("p", "recovery_priority", "3"), poolOption("p", "pg_num", "64")}
}

func (w *world) rename(from, to string) {
	w.cluster.Act(func(c *cephtest.Cluster) {
		for i := range c.Answers.OSDMap.Pools {
			if pool := &c.Answers.OSDMap.Pools[i]; pool.Name == from {
				pool.Name = to
			}
		}
	})
}

// remake creates another pool with the same name and with the sweep's values.
func (w *world) remake(name string) {
	w.cluster.Act(func(c *cephtest.Cluster) {
		c.Answers.OSDMap.Pools = append(c.Answers.OSDMap.Pools, ceph.Pool{
			ID: 77, Name: name, PGNum: 64, PGNumTarget: 64, PGNumPending: 64, PGPlacementNum: 64, PGPlacementTarget: 64,
			AutoscaleMode: "off", Options: map[string]string{"recovery_priority": "3"},
		})
	})
}

func (w *world) wantPool(name string, target int, mode, priority string) {
	w.t.Helper()
	pool := w.cluster.Pool(name)
	if pool.PGNumTarget != target || pool.AutoscaleMode != mode || pool.Options["recovery_priority"] != priority {
		w.t.Errorf("pool %s has pg_num %d, autoscaler %s, options %v; want %d, %s, %q",
			name, pool.PGNumTarget, pool.AutoscaleMode, pool.Options, target, mode, priority)
	}
}

func TestARenamedPoolIsRestored(t *testing.T) {
	w := newWorld(t)
	e := w.process(nil)
	if _, err := e.Apply(t.Context(), ourSweep, ofPool()); err != nil {
		t.Fatal(err)
	}
	w.rename("p", "renamed")
	if _, err := e.Apply(t.Context(), ourSweep, ofPool()); !errors.Is(err, ErrPoolGone) {
		t.Errorf("applied to a pool that was renamed: %v", err)
	}
	if err := w.next(nil); err != nil {
		t.Fatal(err)
	}
	w.wantPool("renamed", 32, "on", "")
}

// Another pool with the name of the sweep's pool must be left alone, whatever its values.
func TestAnotherPoolOfTheNameIsLeftAlone(t *testing.T) {
	for name, act := range map[string]func(w *world){
		"the sweep's was renamed": func(w *world) { w.rename("p", "renamed") },
		"the sweep's was removed": func(w *world) {
			w.cluster.Act(func(c *cephtest.Cluster) { c.Answers.OSDMap.Pools = c.Answers.OSDMap.Pools[1:] })
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			e := w.process(nil)
			if _, err := e.Apply(t.Context(), ourSweep, ofPool()); err != nil {
				t.Fatal(err)
			}
			act(w)
			w.remake("p")
			count := len(w.cluster.Calls("SetPoolOption"))
			if _, err := e.Apply(t.Context(), ourSweep, []Change{poolOption("p", "pg_num", "16")}); !errors.Is(err, ErrPoolGone) {
				t.Errorf("applied to another pool: %v", err)
			}
			if err := e.Keep(t.Context(), ofPool()[2:]); name == "the sweep's was removed" && !errors.Is(err, ErrPoolGone) {
				t.Errorf("kept in another pool: %v", err)
			}
			if len(w.cluster.Calls("SetPoolOption")) != count {
				t.Error("Ceph was told all the same")
			}
			report, err := e.Restore(t.Context())
			if err != nil || !report.Done {
				t.Fatal(report, err)
			}
			for _, entry := range report.Entries {
				if name == "the sweep's was removed" && entry.State != Gone {
					t.Errorf("%s is %s", entry.Setting, entry.State)
				}
			}
			w.wantPool("p", 64, "off", "3")
		})
	}
}

// The pool may also be replaced between the journal and the command.
func TestAPoolThatIsReplacedMeanwhileIsNotChanged(t *testing.T) {
	w := newWorld(t)
	done := false
	e := w.process(func(s Step) bool {
		if s == StepIntentReadBack && !done {
			done = true
			w.rename("p", "renamed")
			w.remake("p")
		}
		return false
	})
	if _, err := e.Apply(t.Context(), ourSweep, []Change{poolOption("p", "pg_num", "16")}); !errors.Is(err, ErrPoolGone) {
		t.Errorf("error is %v", err)
	}
	w.wantPool("p", 64, "off", "3")
	if err := putAllBack(t.Context(), e); err != nil {
		t.Error(err)
	}
}

// Journals of earlier versions have no IDs, so their pools are identified by name. Versions that do
// not know IDs can read journals with IDs.
func TestAJournalWithoutIDsIsRestoredByName(t *testing.T) {
	w := newWorld(t)
	if _, err := w.process(nil).Apply(t.Context(), ourSweep, ofPool()); err != nil {
		t.Fatal(err)
	}
	j, err := w.kept.Load(t.Context(), cephtest.FSID)
	if err != nil {
		t.Fatal(err)
	}
	if j.SchemaVersion != 1 || j.Entries[0].PoolID == 0 {
		t.Errorf("version %d, %+v", j.SchemaVersion, j.Entries[0])
	}
	for i := range j.Entries {
		j.Entries[i].PoolID = 0
	}
	text, err := json.Marshal(j)
	if err != nil || strings.Contains(string(text), "poolID") {
		t.Fatal(err, string(text))
	}
	w.kept = &memory{kept: map[string][]byte{cephtest.FSID: text}}
	w.cluster.Act(func(c *cephtest.Cluster) { c.Keys[journalKey] = string(text) })
	if err := w.next(nil); err != nil {
		t.Fatal(err)
	}
	w.wantPool("p", 32, "on", "")
}
