package cephbenchmark

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/dependencies"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/schedule"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/settings/namespaces"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/testing/memapi"
	"github.com/cephtune/cephtune/internal/testing/storm"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

const (
	// beat is the interval at which the world around the managers acts.
	beat = 5 * time.Second
	// stormBeats limits the storm, and calmBeats the time after it in which everything must end.
	stormBeats, calmBeats = 1500, 1440
	// stormEdits is the number of edits of a benchmark that rests.
	stormEdits = 3
	// rival is the name of a second benchmark.
	rival = "rival"
)

// TestStorm tells random stories of benchmarks under random faults (docs/development.md).
func TestStorm(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	kinds := memapi.CompileKinds(t, apiserver.Root(t))
	storm.Run(t, stormPlot(func(t *testing.T) storm.Server { return storm.InMemory(t, kinds) }))
}

// TestStormOnRealServer tells stories on a real API server. A seed does not give the same story again.
func TestStormOnRealServer(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	server := storm.Start(t)
	plot := stormPlot(func(*testing.T) storm.Server { return server.Story() })
	plot.Stories, plot.Differs = 2, true
	storm.Run(t, plot)
}

// stormPlot returns the plot of the stories of benchmarks. The function returns the API server of a story.
func stormPlot(server func(*testing.T) storm.Server) storm.Plot {
	return storm.Plot{
		Names: []string{
			"killed before", "killed after", "killed after", "killed at a step", "refused", "answer lost", "answer lost", "conflict", "throttled",
			"frozen", "frozen", "clock steps", "watches lost", "change is late", "edit", "edit", "edit", "administrator",
			"cut off", "Ceph unreachable", "ceph-mgr away", "OSD down", "Rook away", "Lease deleted", "finalizer removed", "rival", "rival", "namespace emptied",
			"client fails", "clients unreachable", "pod deleted", "pod forged", "Job deleted", "stranger", "stranger", "stranger",
		},
		Faults: 8, Calls: 1000, Stories: 500,
		Play: func(t *testing.T, s *storm.Story) {
			t.Helper()
			tempestOf(t, s, server(t)).play()
		},
	}
}

// tempest is a world in a storm, with one benchmark.
type tempest struct {
	*world

	story *storm.Story
	// operator is the managers' own namespace.
	operator string
	// api is the API server as managers reach it. cluster is Ceph as managers reach it.
	api     client.WithWatch
	cluster *storm.Cluster

	mu sync.Mutex // guards the fields below
	// random is the source of the current edit.
	random *rand.Rand
	// strict says that the administrator allows less than before.
	strict bool
	// foreign has the objects of strangers, by UID.
	foreign map[types.UID]client.Object
	// disturbed has the times at which figures were wrong, because an OSD was down.
	disturbed []span
	// stepKill is how many steps of a change of OSDs the manager lives on; 0 for all.
	stepKill int
	// forgotten is the verb that teardown forgets, in tests of the checks.
	forgotten string
	// unprotected says that a benchmark was deleted after a user had removed its finalizer. Then nobody removes what it
	// has left.
	unprotected bool
}

// span is a time; its end is zero while it lasts.
type span struct{ from, to time.Time }

func tempestOf(t *testing.T, s *storm.Story, server storm.Server) *tempest {
	t.Helper()
	time.Sleep(time.Until(server.Begins))
	api := storm.APIClient(server.Client, s)
	e := &tempest{world: worldWith(t, api, server.Namespace), story: s, operator: server.Operator, api: api, random: s.Random, foreign: map[types.UID]client.Object{}}
	if err := api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: server.Namespace}}); err != nil {
		t.Fatal(err)
	}
	if err := api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: server.Operator}}); err != nil {
		t.Fatal(err)
	}
	e.createClaim("data", corev1.PersistentVolumeFilesystem)
	e.cluster = storm.ClusterOf(s, e.ceph, []string{"SetNoUp", "MarkOSDsDown"}, []string{"SetKey", "RemoveKey", "RemoveImage", "RemoveObjects", "DropOSDCaches"})
	e.ceph.Carry = e.carry
	e.ceph.Act(func(c *cephtest.Cluster) { c.Now, c.RecoveryLooks = time.Now, 2 })
	s.Effects, s.Start = e.effects(), e.manage
	return e
}

// carry carries a verb of Ceph out. Each verb takes its own time, because the order of two goroutines that are awake at the
// same time would be random.
func (e *tempest) carry(ctx context.Context, verb string, do func() error) error {
	digest := fnv.New32a()
	_, _ = digest.Write([]byte(verb))
	time.Sleep(time.Millisecond + time.Duration(digest.Sum32()%1000)*time.Microsecond)
	if verb == e.forgotten {
		return nil
	}
	return e.cluster.Carry(ctx, verb, do)
}

// Eventf implements events.EventRecorder.
func (e *tempest) Eventf(_, _ kruntime.Object, kind, reason, _, note string, args ...any) {
	if kind == corev1.EventTypeWarning {
		e.story.Note("event %s: %s", reason, fmt.Sprintf(note, args...))
	}
}

// manage runs the passes of one manager to its end.
func (e *tempest) manage(m *storm.Manager) {
	ctx := logf.IntoContext(m.Context(), funcr.New(func(_, line string) {
		if strings.Contains(line, `"Decided"`) || strings.Contains(line, `"Found"`) {
			e.story.Note("%s: %s", m.Name, line)
		}
	}, funcr.Options{}))
	store := journals.New(e.api, e.api, e.operator)
	platform := &stormRook{fakeRook: e.rook, tempest: e}
	r := New(Options{
		Shared: dependencies.Shared{
			Client: e.api, Reader: e.api, Recorder: e, Settings: e.allowances(), Ceph: e.ceph,
			Lock:     lock.NewBoth(lock.NewLeases(e.api, e.api, e.operator, m.Name), lock.NewRecords(e.ceph, "this-cluster")),
			Journals: store, Outages: store.ForOutages(), Writer: m.Name,
			Reached: func(tuning.Step) error { return e.stepped(m) }, MasterKey: e.masterKey, Counts: e.counts, Now: m.Now,
		},
		Rook: platform, Namespaces: namespaces.New(e.api), Dial: e.dial, Logs: e.logs, KubernetesVersion: kubernetesVersion,
	})
	restorer := &outage.Restorer{Operator: r.outages, Lock: r.Lock, Reader: r.Reader, Clusters: r.Settings.Clusters, Every: outage.KeepEvery}
	var background sync.WaitGroup
	background.Go(func() { _ = r.live.Start(ctx) })
	background.Go(func() {
		time.Sleep(3 * time.Microsecond) // No two goroutines may begin at the same time: their order would be random.
		_ = restorer.Start(ctx)
	})
	background.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-r.woken:
				m.Poke()
			}
		}
	})
	for _, name := range []string{"b", rival} {
		background.Go(func() { e.reconcile(ctx, m, r, client.ObjectKey{Namespace: e.namespace, Name: name}) })
	}
	background.Wait()
}

// reconcile runs the passes of a manager for one benchmark.
func (e *tempest) reconcile(ctx context.Context, m *storm.Manager, r *Reconciler, key client.ObjectKey) {
	watch := e.story.Watch(m)
	e.story.Reconcile(ctx, storm.Reconciler{
		First: reconcile.RetryFirst, AtMost: reconcile.RetryAtMost, Wait: watch.Wait,
		Pass: func(ctx context.Context) (time.Duration, error) {
			time.Sleep(time.Duration(len(key.Name)) * time.Microsecond) // One event wakes the loops of both benchmarks.
			result, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: key})
			return result.RequeueAfter, err
		},
	})
}

// stepped kills the manager at a step of a change of OSDs, if that is due.
func (e *tempest) stepped(m *storm.Manager) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stepKill--; e.stepKill != 0 {
		e.stepKill = max(e.stepKill, 0)
		return nil
	}
	return m.Kill()
}

// allowances returns the operator config of managers that start now.
func (e *tempest) allowances() *settings.Settings {
	all := allowances()
	if e.locked(func() bool { return e.strict }) {
		all.Clusters[0].ExistingPools, all.Clusters[0].StopOSDs = nil, false
	}
	return all
}

func (e *tempest) locked(do func() bool) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return do()
}

// effects returns the faults of benchmarks.
func (e *tempest) effects() map[string]storm.Effect {
	effects := storm.Faults(e.story)
	maps.Copy(effects, e.cluster.Faults())
	late, down := effects["change is late"], effects["OSD down"]
	// act returns a fault that happens before the call. Its function may use e.random.
	act := func(do func(c *storm.Call)) storm.Effect {
		return func(c *storm.Call, call func() error) error {
			e.locked(func() bool { e.random = c.Random; return true })
			do(c)
			return call()
		}
	}
	maps.Copy(effects, map[string]storm.Effect{
		"killed at a step": act(func(c *storm.Call) { e.locked(func() bool { e.stepKill = 1 + c.Random.IntN(8); return true }) }),
		"change is late": func(c *storm.Call, do func() error) error {
			if b, there := e.current(); !there || b.Spec.Template.Outage == nil {
				return do() // No change comes.
			}
			return late(c, do)
		},
		"OSD down": func(c *storm.Call, do func() error) error {
			e.disturb(true)
			return down(c, do)
		},
		"edit": act(func(*storm.Call) { e.edit() }),
		"administrator": func(c *storm.Call, _ func() error) error {
			e.locked(func() bool { e.strict = !e.strict; return e.strict })
			return c.Manager.Kill()
		},
		"Rook away": act(func(c *storm.Call) {
			e.rook.set(func(f *fakeRook) { f.clusterIs = errAway })
			c.Later(20*time.Minute, func() { e.rook.set(func(f *fakeRook) { f.clusterIs = nil }) })
		}),
		"Lease deleted": act(func(*storm.Call) {
			_ = e.Delete(e.t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: e.operator, Name: "cephtune-" + fsid}})
		}),
		"finalizer removed": act(func(*storm.Call) {
			if b, there := e.current(); there {
				e.patch(b, "remove the finalizer", func(b *v1alpha1.CephBenchmark) { controllerutil.RemoveFinalizer(b, Finalizer) })
			}
		}),
		"rival":               act(func(*storm.Call) { e.edited("create a rival", e.Create(e.t.Context(), e.parse(rival, e.spec()))) }),
		"namespace emptied":   act(func(*storm.Call) { e.empty() }),
		"client fails":        act(func(c *storm.Call) { e.failClient(c.Random) }),
		"clients unreachable": act(e.cutClients),
		"pod deleted":         act(func(*storm.Call) { e.deletePod() }),
		"pod forged":          act(func(*storm.Call) { e.forgePod() }),
		"Job deleted":         act(func(*storm.Call) { e.deleteJob() }),
		"stranger":            act(func(*storm.Call) { e.strange() }),
	})
	return effects
}

// disturb notes that an OSD goes down now. Figures are wrong until it is up.
func (e *tempest) disturb(begins bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	lasts := len(e.disturbed) > 0 && e.disturbed[len(e.disturbed)-1].to.IsZero()
	switch {
	case begins && !lasts:
		e.disturbed = append(e.disturbed, span{from: time.Now()})
	case !begins && lasts:
		e.disturbed[len(e.disturbed)-1].to = time.Now()
	}
}

// isDisturbed reports whether an OSD was down for some samples of the cluster within a measurement.
func (e *tempest) isDisturbed(status task.Status) bool {
	if status.StartTime == nil || status.EndTime == nil {
		return false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.ContainsFunc(e.disturbed, func(s span) bool {
		from, to := *status.StartTime, *status.EndTime
		if s.from.After(from) {
			from = s.from
		}
		if !s.to.IsZero() && s.to.Before(to) {
			to = s.to
		}
		return to.Sub(from) > 15*time.Second
	})
}

// play plays the story: a storm, then calm weather, in which everything must end.
func (e *tempest) play() {
	e.edit()
	for n, edits := 0, 0; n < stormBeats && edits < stormEdits; n++ {
		if n%3 == 0 {
			e.story.Lead()
		}
		e.beat()
		if e.rests() {
			edits++
			e.locked(func() bool { e.random = e.story.Random; return true })
			e.edit()
		}
	}
	e.calm()
	e.wantRest()
	e.wantGone()
}

// wantRest checks that the benchmark ends or rests.
func (e *tempest) wantRest() {
	if !e.until(e.rests) {
		b, _ := e.current()
		e.story.Fail("deadline", "the benchmark neither ends nor rests: %+v", b.Status.Conditions)
	}
}

// wantGone deletes the benchmarks, and checks that nothing is left.
func (e *tempest) wantGone() {
	e.empty()
	gone := func() bool {
		return len(e.benchmarks()) == 0 && !e.cluster.Pending() && e.holder() == "" && !e.recorded() && e.up() && e.key("cephtune/disruption") == ""
	}
	if !e.until(gone) {
		e.story.Fail("orphans", "lock of %q, in Ceph %q, journal %q, OSD up %t, benchmarks %+v", e.holder(), e.lockInCeph(), e.key("cephtune/disruption"), e.up(), e.benchmarks())
	}
	for range 6 {
		e.beat() // Kubernetes deletes what belongs to the benchmarks.
	}
	e.wantNothing()
}

// calm ends all faults.
func (e *tempest) calm() {
	e.story.Calm()
	e.cluster.Calm()
	e.locked(func() bool { e.stepKill = 0; return true })
	e.story.Lead()
}

// until lets time pass until something is so. It reports whether that happened.
func (e *tempest) until(holds func() bool) bool {
	for range calmBeats {
		if holds() {
			return true
		}
		e.story.Lead()
		e.beat()
	}
	return false
}

// beat lets the world around the managers act.
func (e *tempest) beat() {
	time.Sleep(beat)
	e.ceph.Tick()
	e.kubelet.work(e.t.Context())
	down := false
	e.ceph.Act(func(c *cephtest.Cluster) { down = !c.Answers.OSDMap.OSDs[1].Up })
	if !down {
		e.disturb(false)
	}
	e.wantForeign()
	e.collect()
	for _, b := range e.benchmarks() {
		e.wantResults(&b)
	}
}

func (e *tempest) list(list client.ObjectList) {
	if err := e.List(e.t.Context(), list, client.InNamespace(e.namespace)); err != nil {
		e.story.Fail("harness", "%v", err)
	}
}

// collect removes objects whose owner is gone, as the garbage collector does.
func (e *tempest) collect() {
	deleted, err := memapi.Collect(e.t.Context(), e, e.namespace, &v1alpha1.CephBenchmarkList{}, &batchv1.JobList{}, &corev1.PodList{}, &corev1.SecretList{}, &corev1.ConfigMapList{})
	if err != nil {
		e.story.Fail("harness", "%v", err)
	}
	for _, object := range deleted {
		e.locked(func() bool { delete(e.foreign, object.GetUID()); return true })
	}
}

func (e *tempest) benchmarks() []v1alpha1.CephBenchmark {
	var all v1alpha1.CephBenchmarkList
	e.list(&all)
	return all.Items
}

// current reads a benchmark.
func (e *tempest) current() (*v1alpha1.CephBenchmark, bool) {
	b := &v1alpha1.CephBenchmark{}
	err := e.Get(e.t.Context(), client.ObjectKey{Namespace: e.namespace, Name: "b"}, b)
	if client.IgnoreNotFound(err) != nil {
		e.story.Fail("harness", "%v", err)
	}
	return b, err == nil
}

// rests reports whether nothing will happen before the next edit.
func (e *tempest) rests() bool {
	b, there := e.current()
	if !there {
		return true
	}
	settled := b.Status.ObservedGeneration == b.Generation && !isTrue(b, v1alpha1.ConditionReconciling) && b.DeletionTimestamp.IsZero()
	return settled && (b.Spec.Suspend || isTrue(b, v1alpha1.ConditionStalled) || reasonOf(b) == v1alpha1.ReasonScheduled || hasEnded(b.Status) && b.Status.ObservedRunID == schedule.RunID(b))
}

// holder returns who has the lock. A lock that a manager took after a freeze expires by itself, and so does the record of
// a lock whose Lease was deleted.
func (e *tempest) holder() string {
	lease := &coordinationv1.Lease{}
	if err := e.Get(e.t.Context(), client.ObjectKey{Namespace: e.operator, Name: "cephtune-" + fsid}, lease); err != nil || hasExpired(lease.Spec.RenewTime.Time) {
		return ""
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// recorded reports whether Ceph has the record of a lock that has not expired.
func (e *tempest) recorded() bool {
	var record struct{ Renewed time.Time }
	return json.Unmarshal([]byte(e.lockInCeph()), &record) == nil && !hasExpired(record.Renewed)
}

func hasExpired(renewed time.Time) bool { return time.Since(renewed) > lock.Duration }

// wantForeign checks that the objects of strangers stay.
func (e *tempest) wantForeign() {
	e.mu.Lock()
	foreign := maps.Clone(e.foreign)
	e.mu.Unlock()
	for _, uid := range slices.Sorted(maps.Keys(foreign)) {
		now, ok := foreign[uid].DeepCopyObject().(client.Object)
		if !ok {
			continue
		}
		err := e.Get(e.t.Context(), client.ObjectKeyFromObject(now), now)
		if err == nil && now.GetUID() == uid && now.GetDeletionTimestamp().IsZero() {
			continue
		}
		e.story.Fail("foreign", "the stranger's %T %s is gone or being deleted: %v", now, now.GetName(), err)
		e.locked(func() bool { delete(e.foreign, uid); return true })
	}
}

// wantResults checks that status has no figure of an invalid run, and no wrong verdict.
func (e *tempest) wantResults(b *v1alpha1.CephBenchmark) {
	disturbed := false
	for i := range b.Status.Phases {
		phase := &b.Status.Phases[i]
		disturbed = disturbed || slices.Contains(phase.Marks, v1alpha1.MarkDisturbed)
		e.wantFigures(b, phase)
	}
	passed := b.Status.Verdict == v1alpha1.BenchmarkPassed
	expects := len(b.Spec.Expectations) > 0 && b.Status.ObservedRunID == b.Spec.RunID && b.Spec.Expectations[0].AtLeast == impossible
	if passed && !disturbed && expects {
		e.story.Fail("verdicts", "%s although %s IOPS are not possible: %s", b.Status.Verdict, impossible, b.Status.Summary)
	}
	judged := passed || b.Status.Verdict == v1alpha1.BenchmarkFailed || len(b.Status.Phases) > 0
	if judged && !strings.Contains(states(b), string(v1alpha1.RunValid)) {
		e.story.Fail("verdicts", "verdict %s, %d phases, without a valid run: %s", b.Status.Verdict, len(b.Status.Phases), states(b))
	}
}

// wantFigures checks the IOPS of a phase. Each client does 1000 operations a second unless it is disturbed, and then the
// figure is marked.
func (e *tempest) wantFigures(b *v1alpha1.CephBenchmark, phase *v1alpha1.PhaseResult) {
	if slices.Contains(phase.Marks, v1alpha1.MarkDisturbed) {
		return
	}
	for _, m := range phase.Metrics {
		value, err := figure.ParseDecimal(m.Value)
		n := value / 1000
		if m.Metric == v1alpha1.MetricIOPS && (err != nil || n < 0.99 || n > 3.03) {
			e.story.Fail("evidence", "phase %s of %s has %s IOPS with the marks %v: %s", phase.Name, b.Name, m.Value, phase.Marks, states(b))
		}
	}
}

// wantNothing checks that nothing of the benchmarks is left.
func (e *tempest) wantNothing() {
	for _, list := range []client.ObjectList{&batchv1.JobList{}, &corev1.PodList{}, &corev1.SecretList{}, &corev1.ConfigMapList{}} {
		e.list(list)
		_ = meta.EachListItem(list, func(item kruntime.Object) error {
			object, ok := item.(client.Object)
			if ok && !e.locked(func() bool { return e.foreign[object.GetUID()] != nil }) {
				e.story.Fail("orphans", "%T %s is left", object, object.GetName())
			}
			return nil
		})
	}
	if e.locked(func() bool { return e.unprotected }) {
		return
	}
	if owner := e.rook.poolOwner(); owner.UID != "" {
		e.story.Fail("orphans", "the scratch pool of %s is left", owner)
	}
	e.ceph.Act(func(c *cephtest.Cluster) {
		for _, left := range []map[string][]string{c.Answers.Images, c.Answers.Objects} {
			for _, place := range slices.Sorted(maps.Keys(left)) {
				if len(left[place]) > 0 {
					e.story.Fail("orphans", "%s has %v", place, left[place])
				}
			}
		}
		for key, value := range c.Keys {
			if value != "" && key != lockKey {
				e.story.Fail("orphans", "%s in Ceph is left: %s", key, value)
			}
		}
	})
}

// pods returns the pods with labels of executions.
func (e *tempest) pods() []corev1.Pod {
	var pods corev1.PodList
	e.list(&pods)
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return pod.Labels[clientjob.LabelExecution] == "" })
}
