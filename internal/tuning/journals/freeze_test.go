package journals_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/tuning"
)

// gate stops a manager at the nth point that it passes until it is thawed, and kills it some points
// later. Other code runs only while it is stopped.
type gate struct {
	n, lives     int
	passed       int
	step         string
	frozen, thaw chan struct{}
}

// forever is the life of a manager that is not killed.
const forever = 1 << 20

func newGate(n, lives int) *gate {
	return &gate{n: n, lives: lives, frozen: make(chan struct{}), thaw: make(chan struct{})}
}

// open returns a gate that never stops a manager.
func open() *gate { return newGate(0, forever) }

func (g *gate) pass(point string) error {
	g.passed++
	if g.passed == g.n {
		g.step = point
		g.frozen <- struct{}{}
		<-g.thaw
	}
	if g.passed > g.n+g.lives {
		return cephtest.ErrKilled
	}
	return nil
}

// through calls a verb between two points.
func through[T any](g *gate, verb string, do func() (T, error)) (T, error) {
	var none T
	if err := g.pass("before " + verb); err != nil {
		return none, err
	}
	answer, err := do()
	if killed := g.pass("after " + verb); killed != nil {
		return none, killed
	}
	return answer, err
}

func (g *gate) around(verb string, do func() error) error {
	_, err := through(g, verb, func() (struct{}, error) { return struct{}{}, do() })
	return err
}

// gatedCeph is the cluster, with one manager's gate.
type gatedCeph struct {
	*cephtest.Cluster

	*gate
}

func (c gatedCeph) OSDMap(ctx context.Context, connection ceph.Connection) (*ceph.OSDMap, error) {
	return through(c.gate, "OSDMap", func() (*ceph.OSDMap, error) { return c.Cluster.OSDMap(ctx, connection) })
}

func (c gatedCeph) ConfigDump(ctx context.Context, connection ceph.Connection) ([]ceph.ConfigEntry, error) {
	return through(c.gate, "ConfigDump", func() ([]ceph.ConfigEntry, error) { return c.Cluster.ConfigDump(ctx, connection) })
}

func (c gatedCeph) Balancer(ctx context.Context, connection ceph.Connection) (*ceph.Balancer, error) {
	return through(c.gate, "Balancer", func() (*ceph.Balancer, error) { return c.Cluster.Balancer(ctx, connection) })
}

func (c gatedCeph) GetKey(ctx context.Context, connection ceph.Connection, key string) (value string, found bool, err error) {
	err = c.around("GetKey "+key, func() error {
		value, found, err = c.Cluster.GetKey(ctx, connection, key)
		return err
	})
	return value, found, err
}

func (c gatedCeph) SetKey(ctx context.Context, connection ceph.Connection, key, value string) error {
	return c.around("SetKey "+key, func() error { return c.Cluster.SetKey(ctx, connection, key, value) })
}

func (c gatedCeph) RemoveKey(ctx context.Context, connection ceph.Connection, key string) error {
	return c.around("RemoveKey "+key, func() error { return c.Cluster.RemoveKey(ctx, connection, key) })
}

func (c gatedCeph) SetPoolOption(ctx context.Context, connection ceph.Connection, f ceph.Fence, pool, option, value string) error {
	return c.around("SetPoolOption", func() error { return c.Cluster.SetPoolOption(ctx, connection, f, pool, option, value) })
}

func (c gatedCeph) UnsetPoolOption(ctx context.Context, connection ceph.Connection, f ceph.Fence, pool, option string) error {
	return c.around("UnsetPoolOption", func() error { return c.Cluster.UnsetPoolOption(ctx, connection, f, pool, option) })
}

func (c gatedCeph) SetConfig(ctx context.Context, connection ceph.Connection, f ceph.Fence, who ceph.ConfigWho, option, value string) error {
	return c.around("SetConfig", func() error { return c.Cluster.SetConfig(ctx, connection, f, who, option, value) })
}

func (c gatedCeph) RemoveConfig(ctx context.Context, connection ceph.Connection, f ceph.Fence, who ceph.ConfigWho, option string) error {
	return c.around("RemoveConfig", func() error { return c.Cluster.RemoveConfig(ctx, connection, f, who, option) })
}

func (c gatedCeph) SetBalancer(ctx context.Context, connection ceph.Connection, f ceph.Fence, on bool) error {
	return c.around("SetBalancer", func() error { return c.Cluster.SetBalancer(ctx, connection, f, on) })
}

func (c gatedCeph) SetFlag(ctx context.Context, connection ceph.Connection, f ceph.Fence, flag string, on bool) error {
	return c.around("SetFlag", func() error { return c.Cluster.SetFlag(ctx, connection, f, flag, on) })
}

func (c gatedCeph) SetNoUp(ctx context.Context, connection ceph.Connection, f ceph.Fence, osd int, on bool) error {
	return c.around("SetNoUp", func() error { return c.Cluster.SetNoUp(ctx, connection, f, osd, on) })
}

// gatedAPI is the API server, with one manager's gate.
func gatedAPI(c client.WithWatch, g *gate) client.Client {
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return g.around("Get "+key.Name, func() error { return c.Get(ctx, key, o, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return g.around("Create "+o.GetName(), func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return g.around("Update "+o.GetName(), func() error { return c.Update(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return g.around("Delete "+o.GetName(), func() error { return c.Delete(ctx, o, opts...) })
		},
	})
}

// process is a manager with its own lock. All act for the same sweep.
type process struct {
	*tuning.Engine

	release func() error
}

// leader returns a new process that believes to be the leader.
func (w *world) leader(g *gate) process {
	w.started++
	name := fmt.Sprintf("manager-%d", w.started)
	api, to := gatedAPI(w.api, g), gatedCeph{w.cluster, g}
	observer := ceph.Connection{MonHost: "m", User: "observer", Key: "AAAA"}
	cluster := tuning.Cluster{FSID: cephtest.FSID, Observer: observer, Tuner: ceph.Connection{MonHost: "m", User: "tuner", Key: "AAAA"}}
	both := lock.NewBoth(lock.NewLeases(api, api, "cephtune-system", name), lock.NewRecords(to, "this-cluster"))
	holder := objectref.Ref{Kind: "CephTuningSweep", Namespace: sweep.Namespace, Name: sweep.Name, UID: "u1"}
	return process{
		release: func() error { return both.Release(w.t.Context(), observer, cephtest.FSID, holder) },
		Engine: tuning.NewEngine(to, cluster, tuning.Options{
			Store: tuning.NewMirrored(storeOf(api), tuning.NewConfigKey(to, observer)),
			Guard: func(ctx context.Context) (ceph.Fence, error) {
				grant, err := both.Acquire(ctx, observer, cephtest.FSID, holder, w.now)
				if err != nil {
					return ceph.Fence{}, err
				}
				fence, err := grant.Fence(cephtest.FSID)
				return fence, errors.Join(err, g.pass("between guard and change"))
			},
			Writer: name,
			Now:    func() time.Time { return w.now },
		}),
	}
}

// newFrozenWorld returns a world whose sidecar uses the world's clock.
func newFrozenWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.cluster.Act(func(c *cephtest.Cluster) {
		c.Now = func() time.Time { return w.now }
		c.Answers.OSDMap.Pools[0].Options = map[string]string{"compression_mode": "passive"}
	})
	return w
}

// allVerbs returns changes that together use each verb, either for the change or for its restore.
func allVerbs() []tuning.Change {
	boolean := func(s tuning.Setting, to string) tuning.Change {
		return tuning.Change{Setting: s, To: cephvalue.Of(to), Type: "bool"}
	}
	compression := tuning.Setting{Kind: tuning.KindPoolOption, Pool: "p", Option: "compression_mode"}
	return []tuning.Change{
		boolean(tuning.Setting{Kind: tuning.KindBalancer}, "false"),
		boolean(tuning.Setting{Kind: tuning.KindScrubFlag, Option: ceph.FlagNoScrub}, "true"),
		{Setting: compression, Type: "str"},
		pgNum("64"),
		config("osd_client_message_cap", cephvalue.Of("512")),
		config("osd_memory_target", cephvalue.Unset()),
		boolean(tuning.NoUp(1), "true"),
	}
}

// whole is the undisturbed life of a manager.
func (w *world) whole(p process) error {
	if _, err := p.Apply(w.t.Context(), sweep, allVerbs()); err != nil {
		return err
	}
	return w.restoredBy(p, func(string) {})
}

// restoredBy restores, closes and releases the lock. It calls reached after each part.
func (w *world) restoredBy(p process, reached func(string)) error {
	report, err := p.Restore(w.t.Context())
	if wait, must := errors.AsType[*tuning.WaitError](err); must {
		reached("it waits")
		w.now = wait.Until.Add(-time.Nanosecond)
		reached("it has nearly waited enough")
		w.now = wait.Until
		report, err = p.Restore(w.t.Context())
	}
	if err != nil {
		return err
	}
	if !report.Done {
		return fmt.Errorf("not done: %v", report.Waiting)
	}
	reached("it has restored")
	if err := p.Close(w.t.Context()); err != nil {
		return err
	}
	reached("it has closed the journal")
	if err := p.release(); err != nil {
		return err
	}
	reached("it has released the lock")
	return nil
}

// settings returns everything that may be changed, without the journals.
func (w *world) settings() (text string) {
	w.cluster.Act(func(c *cephtest.Cluster) {
		pool := c.Answers.OSDMap.Pools[0]
		text = fmt.Sprintf("pg_num %d, options %v\nconfiguration %d %v\nbalancer %t\nflags %v, %v\n", pool.PGNumTarget, pool.Options,
			len(c.Answers.ConfigDump), values(c.Answers.ConfigDump), c.Answers.Balancer.Active, len(c.Answers.OSDMap.Flags), len(c.Answers.OSDMap.OSDs[1].Flags))
	})
	return text
}

func values(entries []ceph.ConfigEntry) map[string]string {
	all := map[string]string{}
	for _, entry := range entries {
		all[entry.Name] = entry.Value
	}
	return all
}

// A manager is frozen at each point of its life: before and after each verb, each request to the
// API server, and between the lock and the change. Another manager takes over, restores and closes.
// Meanwhile or later, the first manager continues until it is killed, because leader election ends
// it at once. At the end, everything must be as before.
func TestAFrozenManagerChangesNothingLate(t *testing.T) {
	for _, story := range []struct {
		pause time.Duration // before the other manager comes
		until string
		lives int // the number of points that it passes after it was thawed
	}{
		{time.Second, "it waits", 3},
		{time.Second, "it has nearly waited enough", 3},
		{2 * time.Minute, "it waits", 3},
		{2 * time.Minute, "it has restored", 3},
		{2 * time.Minute, "it has restored", forever},
		{2 * time.Minute, "it has closed the journal", 3},
		{2 * time.Minute, "it has released the lock", 3},
	} {
		t.Run(fmt.Sprintf("for %s, and until the other one reports that %s, killed then %t", story.pause, story.until, story.lives < forever), func(t *testing.T) {
			t.Parallel()
			n := 1
			for ; frozenAt(t, newGate(n, story.lives), story.pause, story.until); n++ {
			}
			t.Logf("frozen at %d points", n-1)
		})
	}
}

// frozenAt plays one of these stories, and reports whether the manager has passed that many points.
func frozenAt(t *testing.T, g *gate, pause time.Duration, until string) bool {
	t.Helper()
	w := newFrozenWorld(t)
	before := w.settings()
	ended := make(chan error, 1)
	go func() { ended <- w.whole(w.leader(g)) }()
	select {
	case <-g.frozen:
	case err := <-ended:
		if err != nil || g.n < 50 {
			t.Fatalf("it has passed %d points: %v", g.passed, err)
		}
		return false
	}

	w.now = w.now.Add(pause)
	thawed := false
	var after error // The manager may have been refused, or killed.
	thaw := func(reached string) {
		if !thawed && reached == until {
			thawed = true
			close(g.thaw)
			after = <-ended
		}
	}
	if err := w.restoredBy(w.leader(open()), thaw); err != nil && !thawed {
		t.Fatalf("frozen %s: the other: %v", g.step, err)
	}
	thaw(until) // in case there was nothing to wait for
	if diff := gocmp.Diff(before, w.settings()); diff != "" {
		t.Fatalf("frozen %s (point %d), and ended with %v: -want +got:\n%s", g.step, g.n, after, diff)
	}
	// If the first manager writes late into a copy of the journal, the next manager finds that.
	w.now = w.now.Add(lock.Duration)
	if err := w.restoredBy(w.leader(open()), func(string) {}); err != nil {
		t.Fatalf("frozen %s (point %d): the one after them: %v", g.step, g.n, err)
	}
	if diff := gocmp.Diff(before, w.settings()); diff != "" {
		t.Fatalf("frozen %s (point %d), after the next one: -want +got:\n%s", g.step, g.n, diff)
	}
	return true
}

// A command is running when its manager is frozen, and is carried out at the last moment at which
// it may be.
func TestACommandLandsInTheLastMoment(t *testing.T) {
	for _, verb := range []string{"SetPoolOption", "UnsetPoolOption", "SetConfig", "RemoveConfig", "SetBalancer", "SetFlag", "SetNoUp"} {
		t.Run(verb, func(t *testing.T) {
			w := newFrozenWorld(t)
			before := w.settings()
			w.cluster.Act(func(c *cephtest.Cluster) { c.Lose = verb })
			if err := w.whole(w.leader(open())); err == nil {
				t.Fatal("no command was lost")
			}
			landed := false
			err := w.restoredBy(w.leader(open()), func(reached string) {
				if reached == "it has nearly waited enough" {
					landed = true
					w.cluster.Land()
				}
			})
			if err != nil || !landed {
				t.Fatalf("landed %t, %v", landed, err)
			}
			if diff := gocmp.Diff(before, w.settings()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
