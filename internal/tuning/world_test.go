package tuning

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

var ourSweep = Sweep{Namespace: "bench", Name: "s", UID: "u1"}

// world is a simulated cluster with the two copies of the journal and a clock. It has one process
// after another.
type world struct {
	t       *testing.T
	cluster *cephtest.Cluster
	kept    *memory
	now     time.Time
	started int
	passed  map[Step]int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, cluster: cephtest.NewCluster("p", "q"), kept: &memory{},
		now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC), passed: map[Step]int{},
	}
	w.cluster.Act(func(c *cephtest.Cluster) {
		c.Answers.ConfigDump = []ceph.ConfigEntry{
			{Section: "osd", Name: "osd_memory_target", Value: "939524096", Runtime: true},
			{Section: "mon", Name: "mon_data_avail_warn", Value: "5"},
		}
		c.Answers.OSDMap.Pools[1].Options = map[string]string{"compression_mode": "passive"}
	})
	return w
}

// process returns a new process, which is killed when kill says so.
func (w *world) process(kill func(Step) bool) *Engine {
	w.started++
	observer := ceph.Connection{MonHost: "m", User: "observer", Key: "AAAA"}
	return NewEngine(w.cluster, Cluster{FSID: cephtest.FSID, Observer: observer, Tuner: ceph.Connection{MonHost: "m", User: "tuner", Key: "AAAA"}}, Options{
		Store: NewMirrored(w.kept, NewConfigKey(w.cluster, observer)),
		Guard: func(context.Context) (ceph.Fence, error) {
			return ceph.Fence{FSID: cephtest.FSID, Epoch: 1, Until: w.now.Add(time.Hour)}, nil
		},
		Writer: fmt.Sprintf("process-%d", w.started),
		Now:    func() time.Time { return w.now },
		Reached: func(step Step) error {
			w.passed[step]++
			if kill != nil && kill(step) {
				return cephtest.ErrKilled
			}
			return nil
		},
	})
}

func poolOption(pool, option, value string) Change {
	valueType, _ := PoolOptionType(option)
	return Change{Setting: Setting{Kind: KindPoolOption, Pool: pool, Option: option}, To: valueOf(value), Type: valueType}
}

func config(option, value string) Change {
	return Change{Setting: Setting{Kind: KindConfig, Option: option}, To: valueOf(value), Type: cephtest.Options()[option].Type}
}

// noUp returns a change that no sweep makes. It is restored in the same way.
func noUp(osd int) Change { return Change{Setting: NoUp(osd), To: cephvalue.Of("true"), Type: "bool"} }

func masked(mask, option, value string) Change {
	change := config(option, value)
	change.Setting.Mask = mask
	return change
}

// valueOf returns a value in a test; "" means unset.
func valueOf(text string) cephvalue.Value {
	if text == "" {
		return cephvalue.Unset()
	}
	return cephvalue.Of(text)
}

// configurations returns two configurations of a sweep. Each changes settings that the other does
// not.
func configurations() [][]Change {
	return [][]Change{
		{
			poolOption("p", "pg_num", "64"), poolOption("q", "compression_mode", "force"), config("osd_memory_target", "4G"),
			config("osd_mclock_override_recovery_settings", "1"), config("osd_max_backfills", "4"), noUp(1),
		},
		{
			poolOption("p", "pg_num", "16"), poolOption("q", "compression_mode", ""), config("osd_memory_target", ""),
			masked("class:ssd", "osd_recovery_sleep", "0.1"), config("osd_max_backfills", "2"),
		},
	}
}

// life makes all changes of a sweep.
func life(ctx context.Context, w *world, e *Engine) error {
	facts, err := ReadFacts(ctx, w.cluster, ceph.Connection{}, []Setting{{Kind: KindAutoscaler}, {Kind: KindBalancer}})
	if err != nil {
		return err
	}
	held, err := HoldStill(facts, []string{"p"}, true)
	if err != nil {
		return err
	}
	if _, err := e.Apply(ctx, ourSweep, held); err != nil {
		return err
	}
	for _, configuration := range configurations() {
		applied, err := e.Apply(ctx, ourSweep, configuration)
		if err != nil {
			return err
		}
		if len(applied.NotTaken) > 0 {
			return fmt.Errorf("not taken: %v", applied.NotTaken)
		}
		w.cluster.Tick()
	}
	return putAllBack(ctx, e)
}

func putAllBack(ctx context.Context, e *Engine) error {
	report, err := e.Restore(ctx)
	if err != nil {
		return err
	}
	if !report.Done {
		return fmt.Errorf("not done: %v", report.Waiting)
	}
	return e.Close(ctx)
}

// next is a new process that restores what a dead process has left.
func (w *world) next(kill func(Step) bool) error {
	w.t.Helper()
	e := w.process(kill)
	err := putAllBack(w.t.Context(), e)
	if wait, must := errors.AsType[*WaitError](err); must {
		w.now = wait.Until
		w.cluster.Land()
		err = putAllBack(w.t.Context(), e)
	}
	return err
}

// state returns everything that can be changed, in a fixed order, once the cluster is quiescent.
func (w *world) state() string {
	for range 16 {
		w.cluster.Tick()
	}
	var text strings.Builder
	w.cluster.Act(func(c *cephtest.Cluster) {
		for _, pool := range c.Answers.OSDMap.Pools {
			fmt.Fprintf(&text, "%s %d %d %s %v\n", pool.Name, pool.PGNum, pool.PGNumTarget, pool.AutoscaleMode, pool.Options)
		}
		entries := slices.SortedFunc(slices.Values(c.Answers.ConfigDump), func(a, b ceph.ConfigEntry) int {
			return cmp.Compare(a.Section+a.Mask+a.Name, b.Section+b.Mask+b.Name)
		})
		for _, entry := range entries {
			fmt.Fprintf(&text, "%s/%s %s=%s\n", entry.Section, entry.Mask, entry.Name, entry.Value)
		}
		for _, osd := range c.Answers.OSDMap.OSDs {
			fmt.Fprintf(&text, "osd.%d up %t, flags %v\n", osd.ID, osd.Up, osd.Flags)
		}
		fmt.Fprintf(&text, "balancer %t, flags %v, keys %v\n", c.Answers.Balancer.Active, c.Answers.OSDMap.Flags, c.Keys["cephtune/journal"])
	})
	return text.String()
}

func (w *world) wantState(want string) {
	w.t.Helper()
	if diff := gocmp.Diff(want, w.state()); diff != "" {
		w.t.Errorf("state of the cluster, -want +got:\n%s", diff)
	}
}
