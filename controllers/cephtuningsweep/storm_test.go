package cephtuningsweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/lock/queue"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/testing/memapi"
	"github.com/cephtune/cephtune/internal/testing/storm"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

const (
	// beat is the interval at which the world around the managers acts.
	beat = 10 * time.Second
	// stormBeats limits the storm, and calmBeats the time after it in which everything must end.
	stormBeats, calmBeats = 1500, 4320
	// stormEdits is the number of edits of a sweep that rests.
	stormEdits = 4
	// rival is the name of a second sweep.
	rival = "rival"
)

// TestStorm tells random stories of sweeps under random faults (docs/development.md).
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

// stormPlot returns the plot of the stories of sweeps. The function returns the API server of a story.
func stormPlot(server func(*testing.T) storm.Server) storm.Plot {
	var wants []string
	for _, step := range tuning.Steps() {
		wants = append(wants, killedAt(step, v1alpha1.DesignBlocks), killedAt(step, v1alpha1.DesignInterleaved))
	}
	return storm.Plot{
		Wants: wants,
		Names: []string{
			"killed before", "killed after", "killed at a step", "killed at a step", "killed at a step", "killed at a step", "refused", "answer lost", "answer lost", "conflict", "throttled",
			"frozen", "frozen", "clock steps", "watches lost", "change is late", "change is late", "edit", "edit", "edit", "administrator",
			"cut off", "benchmark deleted", "benchmark forged", "Ceph unreachable", "ceph-mgr away", "OSD down", "Rook away", "others change Ceph",
			"journal deleted", "Lease deleted", "finalizer removed", "rival", "rival", "namespace emptied",
		},
		Faults: 8, Calls: 1500, Stories: 500,
		Play: func(t *testing.T, s *storm.Story) {
			t.Helper()
			tempestOf(t, s, server(t)).play()
		},
	}
}

// tempest is a world in a storm, with one sweep.
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
	// before has the settings at the last time without a journal. said has the messages of
	// conditions and events since then.
	before   map[string]string
	reported map[string]bool
	// values has the changes that a plan permits, by the digest of its spec, in the form of
	// recorded changes. plans has the digests of the latest plans.
	values map[string][]string
	plans  []string
	// foreign has the values that other clients have set while there was a journal.
	foreign []string
	// strict says that the administrator allows less than before.
	strict bool
	// collected has the UIDs of the sweeps at the last collection of garbage.
	collected string
	// killStep is the step of a change at which the manager dies, once it has reached that stepKill times; 0 for never.
	killStep tuning.Step
	stepKill int
}

func tempestOf(t *testing.T, s *storm.Story, server storm.Server) *tempest {
	t.Helper()
	time.Sleep(time.Until(server.Begins))
	api := storm.APIClient(server.Client, s)
	e := &tempest{
		world: worldWith(t, api, server.Namespace), story: s, operator: server.Operator, api: api, random: s.Random,
		reported: map[string]bool{}, values: map[string][]string{},
	}
	if err := api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: server.Namespace}}); err != nil {
		t.Fatal(err)
	}
	if err := api.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: server.Operator}}); err != nil {
		t.Fatal(err)
	}
	e.ceph.Act(func(c *cephtest.Cluster) {
		c.Now = time.Now
		c.Answers.ConfigDump = append(c.Answers.ConfigDump, ceph.ConfigEntry{Section: "osd", Name: "osd_client_message_cap", Value: "300", Level: "advanced", Runtime: true})
	})
	e.cluster = storm.ClusterOf(s, e.ceph, tuningVerbs(), []string{"SetKey", "RemoveKey"})
	e.ceph.Carry = e.carry
	e.withPools()
	e.bench.speed = func(*v1alpha1.CephBenchmark) float64 { return 1000 * e.factor() }
	e.before = e.shown()
	s.Effects, s.Start = e.effects(), e.manage
	return e
}

// Eventf implements events.EventRecorder.
func (e *tempest) Eventf(_, _ kruntime.Object, kind, reason, _, note string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := fmt.Sprintf(note, args...)
	e.reported[text] = true
	if kind == corev1.EventTypeWarning {
		e.story.Note("event %s: %s", reason, text)
	}
}

// strictKey is the context key of a manager's strictness.
type strictKey struct{}

// carry carries a verb of Ceph out, and checks the changes of managers.
func (e *tempest) carry(ctx context.Context, verb string, do func() error) error {
	return e.cluster.Carry(ctx, verb, func() error {
		if !slices.Contains(tuningVerbs(), verb) {
			return do()
		}
		e.plan() //nolint:contextcheck // The manager's context may have ended.
		err := do()
		if calls := e.ceph.Calls(verb); len(calls) > 0 {
			e.wantAllowed(ctx, calls[len(calls)-1])
		}
		return err
	})
}

// wantAllowed checks one change by a manager.
func (e *tempest) wantAllowed(ctx context.Context, call cephtest.Call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	strict, managed := ctx.Value(strictKey{}).(bool)
	if !managed {
		return
	}
	e.story.Note("Ceph: %s %s", call.Verb, call.Args)
	setting, value := parseCall(call)
	switch {
	case e.before[setting] == value || slices.Contains(e.foreign, setting+" "+value):
	case !e.may(strict, setting, value):
		e.story.Fail("allowed", "Ceph was told %s %s", call.Verb, call.Args)
	case value == "off" && setting == "pg_autoscale_mode of pool open":
	case !slices.ContainsFunc(e.plans, func(plan string) bool { return slices.Contains(e.values[plan], setting+" "+value) }):
		e.story.Fail("planned", "Ceph was told %s %s, which is neither in the plan nor what was there before", call.Verb, call.Args)
	}
}

// plan notes the plans of the sweeps. A manager may still carry out a change of the plan before.
func (e *tempest) plan() {
	e.current()
	sweeps := e.sweeps()
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range sweeps {
		if s.Status.Plan == nil {
			continue
		}
		e.noteBaseline(&s)
		if !slices.Contains(e.plans, s.Status.Plan.SpecDigest) {
			e.plans = append(e.plans[max(0, len(e.plans)-3):], s.Status.Plan.SpecDigest)
		}
	}
}

// noteBaseline permits the values that the plan found. Others may have changed them since.
func (e *tempest) noteBaseline(s *v1alpha1.CephTuningSweep) {
	for i, p := range s.Spec.Parameters {
		if p.Config == nil || i >= len(s.Status.Plan.Baseline) {
			continue
		}
		value := "osd " + string(p.Config.Option) + " " + strings.Replace(string(s.Status.Plan.Baseline[i].Value), string(v1alpha1.Unset), "unset", 1)
		if known := e.values[s.Status.Plan.SpecDigest]; !slices.Contains(known, value) {
			e.values[s.Status.Plan.SpecDigest] = append(known, value)
		}
	}
}

func (e *tempest) sweeps() []v1alpha1.CephTuningSweep {
	var all v1alpha1.CephTuningSweepList
	if err := e.List(e.t.Context(), &all, client.InNamespace(e.namespace)); err != nil {
		e.story.Fail("harness", "%v", err)
	}
	return all.Items
}

// manage runs the passes of one manager to its end.
func (e *tempest) manage(m *storm.Manager) {
	e.mu.Lock()
	o := e.options(e.api, m.Name)
	ctx := context.WithValue(m.Context(), strictKey{}, e.strict)
	e.mu.Unlock()
	ctx = logf.IntoContext(ctx, funcr.New(func(_, line string) {
		if strings.Contains(line, `"Decided"`) || strings.Contains(line, `"Found"`) {
			e.story.Note("%s: %s", m.Name, line)
		}
	}, funcr.Options{}))
	o.Journals, o.Outages = journals.New(e.api, e.api, e.operator), journals.New(e.api, e.api, e.operator).ForOutages()
	o.Recorder, o.KeepEvery, o.Now, o.Pace = e, KeepEvery, m.Now, Pace{Settle: 5 * time.Second, Watch: 20 * time.Second, Queue: queue.LookEvery}
	o.Hasten, o.Lock = nil, lock.NewBoth(lock.NewLeases(e.api, e.api, e.operator, m.Name), lock.NewRecords(e.ceph, "this-cluster"))
	o.Reached = func(step tuning.Step) error { return e.stepped(m, step) }
	r, restorer := New(o), newRestorer(o)
	var background sync.WaitGroup
	background.Go(func() { _ = r.loops.Start(ctx) })
	background.Go(func() {
		time.Sleep(3 * time.Microsecond) // No two goroutines may begin at the same time: their order would be random.
		_ = restorer.Start(ctx)
	})
	for _, name := range []string{"s", rival} {
		background.Go(func() { e.reconcile(ctx, m, r, client.ObjectKey{Namespace: e.namespace, Name: name}) })
	}
	background.Wait()
}

// reconcile runs the passes of a manager for one sweep.
func (e *tempest) reconcile(ctx context.Context, m *storm.Manager, r *Reconciler, key client.ObjectKey) {
	e.story.Reconcile(ctx, storm.Reconciler{
		First: reconcile.RetryFirst, AtMost: reconcile.RetryAtMost,
		Wait: func(longest time.Duration) { e.story.Wait(m, longest) },
		Pass: func(ctx context.Context) (time.Duration, error) {
			time.Sleep(time.Duration(len(key.Name)) * time.Microsecond) // One event wakes the loops of both sweeps.
			e.plan()                                                    //nolint:contextcheck // The manager's context may have ended.
			result, err := r.Reconcile(ctx, ctrl.Request{NamespacedName: key})
			return result.RequeueAfter, err
		},
	})
}

// stepped kills the manager at a step of a change, if that is due.
func (e *tempest) stepped(m *storm.Manager, step tuning.Step) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stepKill == 0 || step != e.killStep {
		return nil
	}
	if e.stepKill--; e.stepKill > 0 {
		return nil
	}
	e.story.Count(killedAt(step, e.design()))
	return m.Kill()
}

func killedAt(step tuning.Step, in v1alpha1.SweepDesign) string {
	return "killed at " + string(step) + " of " + string(in)
}

// design returns the design of the sweep that has the lock.
func (e *tempest) design() v1alpha1.SweepDesign {
	holder := e.holder()
	for _, s := range e.sweeps() {
		if s.Status.Plan != nil && strings.HasSuffix(holder, "/"+string(s.UID)) {
			return cmp.Or(s.Status.Plan.Design, v1alpha1.DesignBlocks)
		}
	}
	return "no sweep"
}

func (e *tempest) key() client.ObjectKey { return client.ObjectKey{Namespace: e.namespace, Name: "s"} }

// effects returns the faults of sweeps.
func (e *tempest) effects() map[string]storm.Effect {
	effects := storm.Faults(e.story)
	maps.Copy(effects, e.cluster.Faults())
	// act returns a fault that happens before the call. Its function may use e.random.
	act := func(do func(c *storm.Call)) storm.Effect {
		return func(c *storm.Call, call func() error) error {
			e.mu.Lock()
			e.random = c.Random
			e.mu.Unlock()
			do(c)
			return call()
		}
	}
	maps.Copy(effects, map[string]storm.Effect{
		"killed at a step": act(func(c *storm.Call) {
			steps := tuning.Steps()
			e.locked(func() { e.killStep, e.stepKill = steps[c.Random.IntN(len(steps))], 1+c.Random.IntN(2) })
		}),
		"edit": act(func(*storm.Call) { e.edit() }),
		"administrator": func(c *storm.Call, _ func() error) error {
			e.locked(e.allow)
			return c.Manager.Kill()
		},
		"benchmark deleted": act(func(*storm.Call) { e.removeChildren() }),
		"benchmark forged":  act(func(c *storm.Call) { e.forge(c.Random) }),
		"Rook away": act(func(c *storm.Call) {
			e.rook.set(func(f *fakeRook) { f.clusterIs = errors.New("the API server does not answer") })
			c.Later(20*time.Minute, func() { e.rook.set(func(f *fakeRook) { f.clusterIs = nil }) })
		}),
		"Lease deleted": act(func(*storm.Call) {
			_ = e.Delete(e.t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: e.operator, Name: "cephtune-" + cephtest.FSID}})
		}),
		"rival": act(func(*storm.Call) {
			s := e.parse(rival, profile)
			e.edited("create a rival", e.Create(e.t.Context(), s))
			e.mayTell(s)
		}),
		"namespace emptied":  act(func(*storm.Call) { e.empty() }),
		"others change Ceph": act(func(c *storm.Call) { e.others(c.Random) }),
		"journal deleted":    act(func(*storm.Call) { e.removeJournal() }),
		"finalizer removed": act(func(*storm.Call) {
			if s, there := e.current(); there {
				e.patch(s, []string{"no finalizer"})
			}
		}),
	})
	return effects
}

func (e *tempest) locked(do func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	do()
}

// forge puts a stranger's benchmark in the place of the current one.
func (e *tempest) forge(random *rand.Rand) {
	s, there := e.current()
	if !there || s.Status.Trial == nil {
		e.story.Again("benchmark forged")
		return
	}
	forgeries := []forgery{forgedName, forgedOwner, forgedCopy, forgedEasier}
	e.replace(s, forgeries[random.IntN(len(forgeries))])
}

// others changes a setting as another client of Ceph.
func (e *tempest) others(random *rand.Rand) {
	e.wantSaid() // A change without a journal is the new original.
	option := []string{"osd_mclock_profile", "osd_client_message_cap"}[random.IntN(2)]
	value := map[string]string{"osd_mclock_profile": "custom", "osd_client_message_cap": "1000"}[option]
	e.story.Note("others set %s to %s", option, value)
	e.ceph.Act(func(c *cephtest.Cluster) {
		c.Answers.ConfigDump = append(slices.DeleteFunc(slices.Clone(c.Answers.ConfigDump), func(entry ceph.ConfigEntry) bool { return entry.Name == option }),
			ceph.ConfigEntry{Section: "osd", Name: option, Value: value, Level: "advanced", Runtime: true})
	})
	if !e.journaled() {
		e.locked(func() { e.before = e.shown() })
		return
	}
	e.locked(func() { // The operator may find either value before it knows the original.
		e.foreign = append(e.foreign, "osd "+option+" "+value)
	})
}

// journal returns the journal in Kubernetes; its name is "" if there is none.
func (e *tempest) journal() *corev1.ConfigMap {
	found := &corev1.ConfigMap{}
	_ = e.Get(e.t.Context(), client.ObjectKey{Namespace: e.operator, Name: "cephtune-journal-" + cephtest.FSID}, found)
	return found
}

// empty deletes the sweeps and benchmarks in their namespace, as its deletion does.
func (e *tempest) empty() {
	for _, s := range e.sweeps() {
		e.edited("delete with its namespace", e.Delete(e.t.Context(), &s))
	}
	e.removeChildren()
}

// removeJournal deletes the journal in Kubernetes. The copy in Ceph is enough.
func (e *tempest) removeJournal() {
	if found := e.journal(); found.Name != "" && e.journalInCeph() != "" {
		_ = e.Delete(e.t.Context(), found)
	}
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
			e.notePrefixes()
			e.locked(func() { e.random = e.story.Random })
			e.edit()
		}
	}
	e.story.Calm()
	e.cluster.Calm()
	e.locked(func() { e.stepKill = 0 })
	e.story.Lead()
	if s, there := e.current(); there {
		e.edited("do not abandon", e.Patch(e.t.Context(), s, client.RawPatch("application/merge-patch+json",
			[]byte(fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationAbandonRestore)))))
	}
	e.wantRest()
	e.wantVerdict()
	e.wantGone()
}

// wantRest checks that the sweep ends or rests.
func (e *tempest) wantRest() {
	if !e.until(e.rests) {
		s, _ := e.current()
		e.story.Fail("deadline", "the sweep neither ends nor rests: %+v", s.Status.Conditions)
	}
}

// wantGone deletes the sweeps, and checks that nothing is left.
func (e *tempest) wantGone() {
	e.empty()
	gone := func() bool { return len(e.sweeps()) == 0 && !e.journaled() && e.holder() == "" }
	if !e.until(gone) {
		e.story.Fail("orphans", "journal %q, lock of %q, sweeps %+v", e.journalInCeph(), e.holder(), e.sweeps())
	}
	e.wantSaid()
	e.wantNothing()
}

// notePrefixes adds the decisions for each prefix of the ledger to the story.
func (e *tempest) notePrefixes() {
	s, there := e.current()
	if edited, err := sweepspec.Edited(&s.Spec, s.Status.Plan); !there || edited || err != nil {
		return
	}
	for _, line := range prefixes(s) {
		e.story.Note("%s", line)
	}
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
	for end := time.Now().Add(beat); time.Now().Before(end); {
		if len(e.childrenOfSessions()) == 0 {
			time.Sleep(beat)
			break
		}
		time.Sleep(beat / 50)
		e.load.work()
	}
	e.ceph.Tick()
	e.ceph.Tick()
	e.bench.work()
	e.collect()
	e.wantSaid()
	e.wantVerdict()
}

// collect removes objects whose sweep is gone, as the garbage collector does.
func (e *tempest) collect() {
	uids := ""
	for _, s := range e.sweeps() {
		uids += string(s.UID) + " "
	}
	if uids == e.collected {
		return
	}
	e.collected = uids
	if _, err := memapi.Collect(e.t.Context(), e, e.namespace, &v1alpha1.CephTuningSweepList{}, &v1alpha1.CephBenchmarkList{}, &corev1.ConfigMapList{}); err != nil {
		e.story.Fail("harness", "%v", err)
	}
}

// journaled reports whether a journal exists or a late change may still land.
func (e *tempest) journaled() bool {
	return e.cluster.Pending() || e.journalInCeph() != "" || e.journal().Name != ""
}

// wantSaid checks, while there is no journal, that no original value is lost.
func (e *tempest) wantSaid() {
	e.current()
	if e.journaled() {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	message := strings.ToLower(strings.Join(slices.Sorted(maps.Keys(e.reported)), "\n"))
	now := e.shown()
	for _, setting := range slices.Sorted(maps.Keys(now)) {
		original := e.before[setting]
		if now[setting] != original && !slices.Contains(e.foreign, setting+" "+now[setting]) && !strings.Contains(message, strings.ToLower(fmt.Sprintf("%s was %s", setting, original))) {
			e.story.Fail("originals", "%s is %s and was %s, which nobody has said:\n%s", setting, now[setting], original, message)
		}
	}
	e.before, e.reported, e.foreign = now, map[string]bool{}, nil
}

// wantVerdict checks that a verdict is not wrong. The noise is so small that only invalid runs could make it so.
func (e *tempest) wantVerdict() {
	s, there := e.current()
	if !there || s.Status.Verdict == "" || s.Status.Plan == nil || len(s.Status.Plan.Baseline) == 0 || (facts{sweep: s}).replaced() {
		return
	}
	if edited, err := sweepspec.Edited(&s.Spec, s.Status.Plan); edited || err != nil || len(s.Spec.Parameters) == 0 {
		return
	}
	p := s.Spec.Parameters[0]
	option := "pg_num"
	if p.Config != nil {
		option = string(p.Config.Option)
	}
	baseline, gains := factorOf(option, string(s.Status.Plan.Baseline[0].Value)), []float64{}
	for _, value := range p.Values {
		gains = append(gains, factorOf(option, string(value))/baseline)
	}
	if isWrong(s.Status.Verdict, slices.Min(gains), slices.Max(gains)) {
		e.story.Fail("verdicts", "%s from %v, whose gains are %v: %s", s.Status.Verdict, validities(s), gains, s.Status.Summary)
	}
}

// isWrong reports whether no candidate with a gain from worst to best can have the verdict.
func isWrong(verdict v1alpha1.SweepVerdict, worst, best float64) bool {
	switch verdict {
	case v1alpha1.VerdictSuperior, v1alpha1.VerdictBetter:
		return best < 1.05
	case v1alpha1.VerdictInferior:
		return worst > 0.95
	case v1alpha1.VerdictEquivalent:
		return worst > 1.05 || best < 0.95
	case v1alpha1.VerdictInconclusive, v1alpha1.VerdictInvalid:
	}
	return false
}

// factor returns how fast the cluster is with its current settings.
func (e *tempest) factor() float64 {
	now := e.shown()
	return factorOf("osd_mclock_profile", now["osd osd_mclock_profile"]) * factorOf("osd_client_message_cap", now["osd osd_client_message_cap"]) *
		factorOf("pg_num", strconv.Itoa(e.ceph.Pool("open").PGNum))
}

// factorOf returns how fast the cluster is with one setting, relative to its default.
func factorOf(option, value string) float64 {
	number, err := strconv.Atoi(value)
	switch {
	case option == "osd_mclock_profile" && value == "high_client_ops":
		return 1.4
	case option == "osd_client_message_cap" && err == nil && number < 128:
		return 0.7
	case option == "pg_num" && number >= 64:
		return 1.4
	}
	return 1
}

// holder returns who has the lock.
func (e *tempest) holder() string {
	lease := &coordinationv1.Lease{}
	if err := e.Get(e.t.Context(), client.ObjectKey{Namespace: e.operator, Name: "cephtune-" + cephtest.FSID}, lease); err != nil {
		return ""
	}
	return ptr.Deref(lease.Spec.HolderIdentity, "")
}

// wantNothing checks that nothing of the sweep is left.
func (e *tempest) wantNothing() {
	e.collected = "unknown"
	e.collect()
	for _, child := range e.children() {
		if metav1.GetControllerOf(&child) != nil {
			e.story.Fail("orphans", "benchmark %s is left", child.Name)
		}
	}
	var left corev1.ConfigMapList
	if err := e.List(e.t.Context(), &left, client.InNamespace(e.namespace)); err != nil || len(left.Items) > 0 {
		e.story.Fail("orphans", "%d ConfigMaps are left: %v", len(left.Items), err)
	}
	if pool := e.scratchPool(); pool.owner.UID != "" {
		e.story.Fail("orphans", "the scratch pool of %s is left", pool.owner)
	}
	e.ceph.Act(func(c *cephtest.Cluster) {
		for key, value := range c.Keys {
			if value != "" {
				e.story.Fail("orphans", "%s in Ceph is left: %s", key, value)
			}
		}
	})
}

// rests reports whether nothing will happen before the next edit.
func (e *tempest) rests() bool {
	s, there := e.current()
	if !there {
		return !e.journaled()
	}
	settled := s.Status.ObservedGeneration == s.Generation && !conditionTrue(v1alpha1.ConditionReconciling)(s) && s.DeletionTimestamp.IsZero()
	return settled && (s.Spec.Suspend || conditionTrue(v1alpha1.ConditionStalled)(s) || facts{sweep: s}.ended() && !facts{sweep: s}.replaced())
}

// current reads the sweep, and records the message of its condition Restored.
func (e *tempest) current() (*v1alpha1.CephTuningSweep, bool) {
	s := &v1alpha1.CephTuningSweep{}
	err := e.Get(e.t.Context(), e.key(), s)
	if err != nil {
		if !apierrors.IsNotFound(err) {
			e.story.Fail("harness", "%v", err)
		}
		return s, false
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRestored); c != nil {
		e.locked(func() { e.reported[c.Message] = true })
	}
	return s, true
}
