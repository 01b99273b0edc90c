package outage

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

// holders grants the lock to every holder. It records who takes it and who releases it.
type holders struct {
	lock.Locker // panics: a restorer only acquires and releases

	took, gave []string
}

func (h *holders) Acquire(_ context.Context, _ ceph.Connection, _ string, holder objectref.Ref, now time.Time) (lock.Grant, error) {
	if !slices.Contains(h.took, holder.Name) {
		h.took = append(h.took, holder.Name)
	}
	return lock.Grant{Held: true, Epoch: 1, Expires: now.Add(lock.Duration), Asked: now}, nil
}

func (h *holders) Release(_ context.Context, _ ceph.Connection, _ string, holder objectref.Ref) error {
	h.gave = append(h.gave, holder.Name)
	return nil
}

const fsid = "11111111-2222-3333-4444-555555555555"

// fixedRook has one cluster.
type fixedRook struct{}

func (fixedRook) Cluster(context.Context, v1alpha1.ClusterReference) (rook.ClusterInfo, error) {
	return rook.ClusterInfo{FSID: fsid}, nil
}

func (fixedRook) Connection(_ context.Context, _ settings.Cluster, name string) (ceph.Connection, error) {
	return ceph.Connection{User: name}, nil
}

// restorersWorld has an OSD down for a benchmark, and a restorer that watches it.
type restorersWorld struct {
	*Restorer
	t       *testing.T
	ceph    *cephtest.Cluster
	store   tuning.Store
	holders *holders
	clock   time.Time
	cluster settings.Cluster
}

func newRestorersWorld(t *testing.T, objects ...client.Object) *restorersWorld {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cluster := cephtest.NewCluster()
	cluster.Change(func(a *cephtest.Answers) {
		a.OSDMap = ceph.OSDMap{FSID: fsid, OSDs: []ceph.OSDState{{Up: true}, {ID: 1, Up: true}, {ID: 2, Up: true}}}
		a.Keys, a.Errors = map[string]string{}, map[string]error{}
	})
	cache := fake.NewClientBuilder().Build()
	w := &restorersWorld{t: t, ceph: cluster, store: journals.New(cache, cache, "cephtune-system").ForOutages(), holders: &holders{}, clock: begin}
	w.cluster = settings.Cluster{Namespace: "rook-ceph", Name: "my-cluster", Identities: settings.Identities{Observer: "observer", OSDStopper: "stopper"}}
	w.Restorer = &Restorer{
		Operator: Operator{
			Ceph: w.ceph, Rook: fixedRook{}, Store: w.store, Writer: "this", Doubts: &tuning.Doubts{},
			Now: func() time.Time { return w.clock }, Reached: func(tuning.Step) error { return nil },
		},
		Lock: w.holders, Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), kept: map[string]*kept{},
	}
	return w
}

// stop takes OSDs down for a benchmark, as a manager does: osd.2 unless others are given.
func (w *restorersWorld) stop(name, writer string, until time.Time, osds ...int) {
	w.t.Helper()
	if len(osds) == 0 {
		osds = []int{2}
	}
	var changes []tuning.Change
	for _, id := range osds {
		changes = append(changes, tuning.Change{Setting: tuning.NoUp(id), To: cephvalue.Of("true"), Type: "bool"})
	}
	engine := tuning.NewEngine(w.ceph, tuning.Cluster{FSID: fsid}, tuning.Options{
		Store:  tuning.NewMirrored(w.store, tuning.NewConfigKey(w.ceph, ceph.Connection{}).ForOutages()),
		Guard:  func(context.Context) (ceph.Fence, error) { return ceph.Fence{FSID: fsid, Epoch: 1}, nil },
		Writer: writer, Now: func() time.Time { return w.clock }, Until: until,
	})
	sweep := tuning.Sweep{Kind: "CephBenchmark", Namespace: "bench", Name: name, UID: name}
	if _, err := engine.Apply(w.t.Context(), sweep, changes); err != nil {
		w.t.Fatal(err)
	}
	if err := w.ceph.MarkOSDsDown(w.t.Context(), ceph.Connection{}, ceph.Fence{FSID: fsid, Epoch: 1}, osds); err != nil {
		w.t.Fatal(err)
	}
}

// after advances the clock. The restorer looks twice a minute meanwhile.
func (w *restorersWorld) after(d time.Duration) error {
	var err error
	for end := w.clock.Add(d); w.clock.Before(end); {
		w.clock = w.clock.Add(30 * time.Second)
		err = w.keep(w.t.Context(), w.cluster)
	}
	return err
}

func (w *restorersWorld) up() (up bool) {
	w.ceph.Change(func(a *cephtest.Answers) { up = a.OSDMap.OSDs[2].Up && len(a.OSDMap.OSDs[2].Flags) == 0 })
	return up
}

// ofBenchmark returns benchmark a, which is running or has ended.
func ofBenchmark(working metav1.ConditionStatus) *v1alpha1.CephBenchmark {
	b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "a", UID: "a"}}
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReconciling, Status: working}}
	return b
}

func TestRestorerUnsetsOrphanedNoup(t *testing.T) {
	later := begin.Add(time.Hour)
	for name, tc := range map[string]struct {
		objects []client.Object
		writer  string
		until   time.Time
		after   time.Duration
		wantUp  bool
		// wantGiven says whether the restorer releases the lock. A running benchmark releases it
		// itself.
		wantGiven bool
	}{
		"its benchmark is at work":                 {[]client.Object{ofBenchmark("True")}, "this", later, 10 * time.Minute, false, false},
		"its time has come":                        {[]client.Object{ofBenchmark("True")}, "this", begin.Add(time.Minute), time.Minute, false, false},
		"its time is over":                         {[]client.Object{ofBenchmark("True")}, "this", begin.Add(time.Minute), 2 * time.Minute, true, false},
		"its benchmark has ended":                  {[]client.Object{ofBenchmark("False")}, "this", later, time.Minute, true, true},
		"its benchmark is gone":                    {nil, "this", later, time.Minute, true, true},
		"another one has its name":                 {[]client.Object{namesake()}, "this", later, time.Minute, true, true},
		"by an earlier manager, a minute ago":      {[]client.Object{ofBenchmark("True")}, "earlier", later, time.Minute, false, false},
		"by an earlier manager, three minutes ago": {[]client.Object{ofBenchmark("True")}, "earlier", later, 3 * time.Minute, true, false},
		"by an earlier manager, and it is gone":    {nil, "earlier", later, 90 * time.Second, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newRestorersWorld(t, tc.objects...)
			w.stop("a", tc.writer, tc.until)
			if err := w.after(tc.after); err != nil {
				t.Fatal(err)
			}
			if w.up() != tc.wantUp || len(w.holders.gave) > 0 != tc.wantGiven {
				t.Errorf("up: %t, and %v gave the lock back; want %t, %t", w.up(), w.holders.gave, tc.wantUp, tc.wantGiven)
			}
			left, err := w.store.Load(t.Context(), fsid)
			if err != nil || (left == nil) != tc.wantUp {
				t.Errorf("journal %+v, %v", left, err)
			}
		})
	}
}

func namesake() *v1alpha1.CephBenchmark {
	b := ofBenchmark("True")
	b.UID = "another"
	return b
}

// The restorer must not act for one benchmark in the name of another one that is long gone.
func TestTheRestorerActsForTheBenchmarkOfTheJournal(t *testing.T) {
	w := newRestorersWorld(t)
	for _, name := range []string{"a", "b"} {
		w.stop(name, "this", begin.Add(time.Hour))
		if err := w.after(time.Minute); err != nil || !w.up() {
			t.Fatalf("for %s: up: %t, %v", name, w.up(), err)
		}
	}
	if want := []string{"a", "b"}; !slices.Equal(w.holders.took, want) || !slices.Equal(w.holders.gave, want) {
		t.Errorf("it took the lock as %v and gave it back as %v, want %v", w.holders.took, w.holders.gave, want)
	}
}

// The second manager that died may also have sent a request.
func TestTheRestorerWaitsForEachEarlierManager(t *testing.T) {
	w := newRestorersWorld(t)
	w.stop("a", "earlier", begin.Add(time.Hour))
	if err := w.after(2 * time.Minute); err != nil || !w.up() {
		t.Fatalf("up: %t, %v", w.up(), err)
	}
	w.stop("a", "another", begin.Add(time.Hour))
	if err := w.after(30 * time.Second); err != nil || w.up() {
		t.Errorf("up: %t, %v, before what it has asked for must have ended", w.up(), err)
	}
	if err := w.after(time.Minute); err != nil || !w.up() {
		t.Errorf("up: %t, %v", w.up(), err)
	}
}

// An owner that cannot be read may be running. So the restorer brings its OSDs up, but does not
// release its lock.
func TestRestorerUnsetsNoupOfUnreadableOwner(t *testing.T) {
	w := newRestorersWorld(t)
	w.Reader = interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("cephbenchmarks").GroupResource(), "a", nil)
		},
	})
	w.stop("a", "this", begin.Add(time.Hour))
	if err := w.after(time.Minute); err != nil || !w.up() || len(w.holders.gave) > 0 {
		t.Errorf("up: %t, %v gave the lock back, %v; want it to be up, and the lock kept", w.up(), w.holders.gave, err)
	}
}

func TestRestorerNamesManualCommandWithoutIdentity(t *testing.T) {
	w := newRestorersWorld(t)
	w.stop("a", "this", begin.Add(time.Hour), 1, 2)
	w.cluster.Identities.OSDStopper = ""
	if err := w.after(time.Minute); err == nil || !strings.Contains(err.Error(), "`ceph osd unset-group noup osd.1 osd.2`") {
		t.Errorf("%v, want it to say how to let them up by hand", err)
	}
}
