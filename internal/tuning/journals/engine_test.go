package journals_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

var sweep = tuning.Sweep{Namespace: "bench", Name: "s", UID: "u1"}

// world is a simulated Ceph cluster and an API server, with a clock. It has one manager after
// another, and each takes the lock in its own epoch.
type world struct {
	t       *testing.T
	cluster *cephtest.Cluster
	api     client.WithWatch
	now     time.Time
	started int
	// epoch is the lock's epoch for new managers. If it is 0, managers are counted.
	epoch int64
}

// newAPI returns an API server that knows only the kinds that managers write here. The fake builds
// a map of all kinds in its scheme for each write, and these tests create thousands of such
// servers.
func newAPI() client.WithWatch {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.ConfigMap{}, &corev1.ConfigMapList{})
	scheme.AddKnownTypes(coordinationv1.SchemeGroupVersion, &coordinationv1.Lease{}, &coordinationv1.LeaseList{})
	for _, version := range []schema.GroupVersion{corev1.SchemeGroupVersion, coordinationv1.SchemeGroupVersion} {
		metav1.AddToGroupVersion(scheme, version)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithTypeConverters(managedfields.NewDeducedTypeConverter()).Build()
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		t: t, cluster: cephtest.NewCluster("p"), api: newAPI(),
		now: time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC),
	}
	w.cluster.Act(func(c *cephtest.Cluster) {
		c.Answers.ConfigDump = []ceph.ConfigEntry{{Section: "osd", Name: "osd_memory_target", Value: "939524096", Runtime: true}}
	})
	return w
}

// manager returns a new manager, whose engine is killed when kill says so.
func (w *world) manager(api client.Client, kill func(tuning.Step) bool) *tuning.Engine {
	w.started++
	epoch := cmp.Or(w.epoch, int64(w.started))
	observer := ceph.Connection{MonHost: "m", User: "observer", Key: "AAAA"}
	cluster := tuning.Cluster{FSID: cephtest.FSID, Observer: observer, Tuner: ceph.Connection{MonHost: "m", User: "tuner", Key: "AAAA"}}
	return tuning.NewEngine(w.cluster, cluster, tuning.Options{
		Store: tuning.NewMirrored(storeOf(api), tuning.NewConfigKey(w.cluster, observer)),
		Guard: func(context.Context) (ceph.Fence, error) {
			return ceph.Fence{FSID: cephtest.FSID, Epoch: epoch, Until: w.now.Add(time.Hour)}, nil
		},
		Writer: fmt.Sprintf("manager-%d", w.started),
		Now:    func() time.Time { return w.now },
		Reached: func(step tuning.Step) error {
			if kill != nil && kill(step) {
				return cephtest.ErrKilled
			}
			return nil
		},
	})
}

func pgNum(value string) tuning.Change {
	kind, _ := tuning.PoolOptionType("pg_num")
	return tuning.Change{Setting: tuning.Setting{Kind: tuning.KindPoolOption, Pool: "p", Option: "pg_num"}, To: cephvalue.Of(value), Type: kind}
}

func config(option string, to cephvalue.Value) tuning.Change {
	return tuning.Change{Setting: tuning.Setting{Kind: tuning.KindConfig, Option: option}, To: to, Type: cephtest.Options()[option].Type}
}

// life makes the changes of a sweep: two configurations, and the restore.
func (w *world) life(e *tuning.Engine) error {
	ctx := w.t.Context()
	facts, err := tuning.ReadFacts(ctx, w.cluster, ceph.Connection{}, []tuning.Setting{{Kind: tuning.KindAutoscaler}, {Kind: tuning.KindBalancer}})
	if err != nil {
		return err
	}
	held, err := tuning.HoldStill(facts, []string{"p"}, true)
	if err != nil {
		return err
	}
	for _, changes := range [][]tuning.Change{
		held,
		{pgNum("64"), config("osd_client_message_cap", cephvalue.Of("512")), config("osd_memory_target", cephvalue.Of("4G"))},
		{pgNum("16"), config("osd_client_message_cap", cephvalue.Of("64")), config("osd_memory_target", cephvalue.Unset())},
	} {
		if _, err := e.Apply(ctx, sweep, changes); err != nil {
			return err
		}
		w.cluster.Tick()
	}
	return w.putAllBack(e)
}

// putAllBack restores and closes, after it has waited until requests of an earlier manager have
// ended.
func (w *world) putAllBack(e *tuning.Engine) error {
	report, err := e.Restore(w.t.Context())
	if wait, must := errors.AsType[*tuning.WaitError](err); must {
		w.now = wait.Until
		report, err = e.Restore(w.t.Context())
	}
	if err != nil {
		return err
	}
	if !report.Done {
		return fmt.Errorf("not done: %v", report.Waiting)
	}
	return e.Close(w.t.Context())
}

// state returns everything that life changes once the cluster is quiescent, and the copies of the
// journal.
func (w *world) state() string {
	for range 16 {
		w.cluster.Tick()
	}
	var text string
	w.cluster.Act(func(c *cephtest.Cluster) {
		pool := c.Answers.OSDMap.Pools[0]
		var entries []string
		for _, entry := range c.Answers.ConfigDump {
			entries = append(entries, fmt.Sprintf("%s/%s %s=%s", entry.Section, entry.Mask, entry.Name, entry.Value))
		}
		slices.Sort(entries)
		text = fmt.Sprintf("pg_num %d of %d, autoscaler %s\nconfiguration %v\nbalancer %t\nflags %v\njournal in Ceph %q\n",
			pool.PGNum, pool.PGNumTarget, pool.AutoscaleMode, entries, c.Answers.Balancer.Active, c.Answers.OSDMap.Flags, c.Keys["cephtune/journal"])
	})
	kept, err := storeOf(w.api).Load(w.t.Context(), cephtest.FSID)
	return text + fmt.Sprintf("journal in Kubernetes %v, %v\n", kept, err)
}

func (w *world) wantState(want string) {
	w.t.Helper()
	if diff := gocmp.Diff(want, w.state()); diff != "" {
		w.t.Errorf("state -want +got:\n%s", diff)
	}
}

// A manager is killed at each step, each time that it passes the step. The next manager must
// restore everything from the two copies of the journal.
func TestKilledAtEachStep(t *testing.T) {
	for _, step := range tuning.Steps() {
		t.Run(string(step), func(t *testing.T) {
			for n := 1; ; n++ {
				w := newWorld(t)
				before := w.state()
				passed := 0
				err := w.life(w.manager(w.api, func(s tuning.Step) bool {
					if s == step {
						passed++
					}
					return s == step && passed == n
				}))
				if passed < n {
					if n == 1 || err != nil {
						t.Fatalf("the step was passed %d times: %v", passed, err)
					}
					w.wantState(before)
					return
				}
				if !errors.Is(err, cephtest.ErrKilled) {
					t.Fatalf("killed at time %d, and it ended with %v", n, err)
				}
				if err := w.putAllBack(w.manager(w.api, nil)); err != nil {
					t.Fatalf("killed at time %d: %v", n, err)
				}
				w.wantState(before)
			}
		})
	}
}

// failing returns an API server whose nth call fails: before it is carried out or, for writes only,
// after it, so that the answer is lost.
func failing(c client.WithWatch, nth int, after bool) (_ client.WithWatch, failed *bool) {
	failed = new(bool)
	calls := 0
	try := func(do func() error) error {
		calls++
		if calls != nth {
			return do()
		}
		*failed = true
		if after {
			if err := do(); err != nil {
				return err
			}
		}
		return apierrors.NewInternalError(errors.New("the connection was lost"))
	}
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if after {
				return c.Get(ctx, key, o, opts...)
			}
			return try(func() error { return c.Get(ctx, key, o, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return try(func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return try(func() error { return c.Update(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return try(func() error { return c.Delete(ctx, o, opts...) })
		},
	}), failed
}

// The API server may fail at any call. The failure must be reported, and the same manager must be
// able to restore everything.
func TestEachCallOfTheAPIServerFailsOnce(t *testing.T) {
	for _, after := range []bool{false, true} {
		t.Run(fmt.Sprintf("after it was carried out: %t", after), func(t *testing.T) {
			for n := 1; ; n++ {
				w := newWorld(t)
				before := w.state()
				api, failed := failing(w.api, n, after)
				e := w.manager(api, nil)
				err := w.life(e)
				if !*failed {
					if n == 1 || err != nil {
						t.Fatalf("%d calls were made: %v", n-1, err)
					}
					return
				}
				if err == nil {
					t.Errorf("call %d: the failure was hidden", n)
				}
				if err := w.putAllBack(e); err != nil {
					t.Fatalf("call %d: %v", n, err)
				}
				w.wantState(before)
			}
		})
	}
}

// Ceph may refuse its copy at any time. Then the copy in Kubernetes is one revision ahead, and it
// counts.
func TestTheMirrorFailsOnce(t *testing.T) {
	for n := 1; ; n++ {
		w := newWorld(t)
		before := w.state()
		calls := 0
		w.cluster.Act(func(c *cephtest.Cluster) {
			c.Before = func(verb string) error {
				if verb == "SetKey" {
					calls++
					if calls == n {
						return &ceph.Error{Verb: verb, Errno: 1, Message: "Error EPERM"}
					}
				}
				return nil
			}
		})
		e := w.manager(w.api, nil)
		err := w.life(e)
		if calls < n {
			if n == 1 || err != nil {
				t.Fatalf("Ceph was asked to keep it %d times: %v", calls, err)
			}
			return
		}
		if err == nil {
			t.Errorf("time %d: the failure was hidden", n)
		}
		if err := w.putAllBack(e); err != nil {
			t.Fatalf("time %d: %v", n, err)
		}
		w.wantState(before)
	}
}

// If a namespace is deleted with everything in it, one copy of the journal is lost. The other one
// is enough.
func TestTheConfigMapIsDeleted(t *testing.T) {
	w := newWorld(t)
	before := w.state()
	e := w.manager(w.api, nil)
	if _, err := e.Apply(t.Context(), sweep, []tuning.Change{config("osd_client_message_cap", cephvalue.Of("512"))}); err != nil {
		t.Fatal(err)
	}
	if err := w.api.Delete(t.Context(), configMap(t, w.api)); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Apply(t.Context(), sweep, []tuning.Change{config("osd_client_message_cap", cephvalue.Of("64"))}); err != nil {
		t.Fatal(err)
	}
	if got := configMap(t, w.api).Annotations[journals.AnnotationSweep]; got != "bench/s" {
		t.Errorf("the ConfigMap is of sweep %q", got)
	}
	if err := w.putAllBack(e); err != nil {
		t.Fatal(err)
	}
	w.wantState(before)
}

// A manager that has lost the lock without noticing must not write the journal after its successor
// has.
func TestAManagerThatWasReplaced(t *testing.T) {
	w := newWorld(t)
	before := w.state()
	old := w.manager(w.api, nil)
	if _, err := old.Apply(t.Context(), sweep, []tuning.Change{config("osd_client_message_cap", cephvalue.Of("512"))}); err != nil {
		t.Fatal(err)
	}
	kept, err := storeOf(w.api).Load(t.Context(), cephtest.FSID)
	if err != nil {
		t.Fatal(err)
	}
	successor := w.manager(w.api, nil)
	if _, err := successor.Restore(t.Context()); err == nil {
		t.Error("the successor did not wait")
	}
	w.now = w.now.Add(ceph.LongestChange)
	if report, err := successor.Restore(t.Context()); err != nil || !report.Done {
		t.Fatal(report, err)
	}
	kept.Revision++ // as the old manager would, from what it had read
	if err := storeOf(w.api).Save(t.Context(), kept); !errors.Is(err, tuning.ErrOvertaken) {
		t.Errorf("error is %v, want that it was overtaken", err)
	}
	if err := successor.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.wantState(before)
}

// Others find a journal by its copy in Kubernetes. While there is a copy in Ceph, the copy in
// Kubernetes must exist too. Otherwise no one would restore.
func TestTheCopyInKubernetesIsTheLastToGo(t *testing.T) {
	for _, before := range []bool{true, false} {
		t.Run(fmt.Sprintf("before it was carried out: %t", before), func(t *testing.T) {
			w := newWorld(t)
			as := w.state()
			w.cluster.Act(func(c *cephtest.Cluster) {
				lost := func(verb string) error {
					if verb == "RemoveKey" {
						return &ceph.Error{Verb: verb, Errno: 1, Message: "Error EPERM"}
					}
					return nil
				}
				if before {
					c.Before = lost
				} else {
					c.After = lost
				}
			})
			e := w.manager(w.api, nil)
			if err := w.life(e); err == nil {
				t.Error("the failure was hidden")
			}
			if kept, err := storeOf(w.api).Load(t.Context(), cephtest.FSID); err != nil || kept == nil || !kept.Done() {
				t.Errorf("in Kubernetes is %+v, %v; want what is done", kept, err)
			}
			w.cluster.Act(func(c *cephtest.Cluster) { c.Before, c.After = nil, nil })
			if err := w.putAllBack(w.manager(w.api, nil)); err != nil {
				t.Fatal(err)
			}
			w.wantState(as)
		})
	}
}

// A manager in another Kubernetes cluster, with its own lock epochs, restores what this manager has
// left. This manager wakes up within a write, after it has read the copy in Ceph. The other
// manager's later write must still count.
func TestAManagerOfAnotherClusterWakesUp(t *testing.T) {
	w := newWorld(t)
	before, ctx := w.state(), t.Context()
	w.epoch = 50
	changes := []tuning.Change{config("osd_client_message_cap", cephvalue.Of("512")), config("osd_memory_target", cephvalue.Of("4G"))}
	if _, err := w.manager(w.api, nil).Apply(ctx, sweep, changes); err != nil {
		t.Fatal(err)
	}
	stale, err := storeOf(w.api).Load(ctx, cephtest.FSID)
	if err != nil {
		t.Fatal(err)
	}
	w.api, w.epoch = newAPI(), 3
	w.cluster.NewSidecar()
	closed := 0
	successor := w.manager(w.api, func(step tuning.Step) bool {
		if step == tuning.StepRestoredWritten {
			closed++
		}
		return closed == 1 && step == tuning.StepRestoredWritten
	})
	if _, err := successor.Restore(ctx); err == nil {
		t.Fatal("the successor did not wait")
	}
	w.now = w.now.Add(ceph.LongestChange)
	if _, err := successor.Restore(ctx); !errors.Is(err, cephtest.ErrKilled) {
		t.Fatalf("%v, want it to be killed after the first setting", err)
	}
	stale.Revision++
	if err := tuning.NewConfigKey(w.cluster, ceph.Connection{}).Save(ctx, stale); !errors.Is(err, tuning.ErrOvertaken) {
		t.Errorf("before it has looked, its error is %v", err)
	}
	text, err := tuning.Encode(stale)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.cluster.SetKey(ctx, ceph.Connection{}, "cephtune/journal", string(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.putAllBack(w.manager(w.api, nil)); err != nil {
		t.Fatal(err)
	}
	w.wantState(before)
}
