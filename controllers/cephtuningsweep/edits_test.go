package cephtuningsweep

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/tuning"
)

const (
	// firstSeed is that of the first sequence, and sequences is how many there are. After
	// sequencesWithin none is begun any more, and the one under way has no more edits.
	firstSeed       = 1
	sequences       = 6
	sequencesWithin = 25 * time.Second
	// edits is how many a sequence has.
	edits = 25
	// maxPasses bounds the end of a sequence.
	maxPasses = 500
)

// TestRandomEdits plays random sequences of edits, by somebody who may edit sweeps and nothing
// else, while the manager is killed now and then and Ceph refuses changes for a while. Ceph is
// never told a value that the administrator does not allow, and in the end each setting has its
// original value, or the sweep has said what that was.
//
// One goroutine does it all, with a clock of its own, so that a seed plays the same sequence again:
// CEPHTUNE_EDITS=SEED plays that one alone, CEPHTUNE_EDITS=FIRST-LAST all of them ("make edits").
func TestRandomEdits(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	first, last, within := uint64(firstSeed), uint64(firstSeed+sequences-1), sequencesWithin
	if asked := os.Getenv("CEPHTUNE_EDITS"); asked != "" {
		from, to, many := strings.Cut(asked, "-")
		if !many {
			to = from
		}
		first, last, within = seedOf(t, from), seedOf(t, to), 24*time.Hour
	}
	server := apiserver.Start(t)
	told := 0
	for seed, until := first, time.Now().Add(within); seed <= last && time.Now().Before(until); seed++ {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			w := stillWorld(t, server, fmt.Sprintf("edits-%d", seed))
			w.stopped = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			told += play(w, seed, until)
		})
	}
	if told == 0 {
		t.Error("Ceph was told nothing, so that nothing was shown")
	}
}

func seedOf(t *testing.T, text string) uint64 {
	t.Helper()
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("CEPHTUNE_EDITS: %v", err)
	}
	return seed
}

// play plays a sequence, and returns how many values Ceph was told.
func play(w *world, seed uint64, until time.Time) int {
	w.t.Helper()
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Answers.ConfigDump = append(c.Answers.ConfigDump, ceph.ConfigEntry{Section: "osd", Name: "osd_client_message_cap", Value: "300", Level: "advanced", Runtime: true})
	})
	w.bench.set(func(b *bench) { b.speed = w.faster() })
	e := &editor{world: w, random: rand.New(rand.NewPCG(seed, 19)), before: w.shown(), said: map[string]bool{}, did: map[string]int{}}
	w.ceph.Act(func(c *cephtest.Cluster) { c.Before = e.interfere })
	e.startAnew()
	for n := 0; n < edits && time.Now().Before(until); n++ {
		e.edit()
		passes := e.random.IntN(16)
		if e.random.IntN(3) == 0 {
			passes = 70 // Enough for all runs.
		}
		for n := 0; n < passes && !e.rests(); n++ {
			e.pass()
		}
	}
	e.end()
	w.t.Logf("seed %d: edits %v; values told to Ceph: %d", seed, e.did, len(w.changes()))
	return len(w.changes())
}

// editor edits a sweep, and is the manager in between.
type editor struct {
	*world

	random *rand.Rand
	before map[string]string
	// said is what conditions and events have said.
	said map[string]bool
	did  map[string]int

	//nolint:containedctx // It is the life of a process.
	life    context.Context
	manager *Reconciler
	keeper  *keeper
	kept    time.Time // when the keeper has looked last
	// during says that a pass is under way, and refuses for how many more changes Ceph refuses.
	during  bool
	refuses int
	// ends says that nobody interferes any more.
	ends bool
	// seen is what has come of the passes, and same is how many of them it did not change in.
	seen string
	same int
}

// Eventf implements events.EventRecorder.
func (e *editor) Eventf(_, _ kruntime.Object, _, _, _, note string, args ...any) {
	e.said[fmt.Sprintf(note, args...)] = true
}

// startAnew ends the manager and starts another one, which dies at a random step of some change.
func (e *editor) startAnew() {
	ctx, die := context.WithCancel(e.t.Context())
	o := e.options(e.asManager())
	o.Recorder, o.KeepEvery = e, KeepEvery
	o.Reached = func(tuning.Step) error {
		if e.ends || e.random.IntN(60) > 0 {
			return nil
		}
		e.did["kill"]++
		die()
		return cephtest.ErrKilled
	}
	e.life, e.manager, e.keeper = ctx, New(o), newKeeper(o)
}

// interfere edits the sweep in the middle of some changes, and has Ceph refuse others.
func (e *editor) interfere(verb string) error {
	if e.ends || !slices.Contains([]string{"SetConfig", "RemoveConfig", "SetPoolOption", "UnsetPoolOption"}, verb) {
		return nil
	}
	if e.random.IntN(8) == 0 {
		e.edit()
	}
	if e.refuses > 0 {
		e.refuses--
		return &ceph.Error{Verb: verb, Errno: 13, Message: "Error EACCES: access denied"}
	}
	return nil
}

// pass is one of the manager, after which time goes on as far as it waits.
func (e *editor) pass() {
	e.during = true
	came, _ := e.manager.Reconcile(e.life, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: e.namespace, Name: "s"}})
	e.during = false // What fails is tried again.
	if e.life.Err() != nil {
		e.startAnew()
	}
	e.ahead.Add(int64(max(came.RequeueAfter, e.pause())))
	if e.now().Sub(e.kept) >= KeepEvery {
		e.kept = e.now()
		e.keeper.look(e.life, e.allowed.Clusters[0])
	}
	for range 4 {
		e.ceph.Tick()
	}
	e.bench.work()
	if _, there := e.current(); !there { // The garbage collector.
		e.removeChildren()
	}
}

// pause is how long nobody looks at the sweep: longer and longer, as long as nothing happens.
func (e *editor) pause() time.Duration {
	now := fmt.Sprint(len(e.changes()), e.bench.count())
	if s, there := e.current(); there {
		now += reasonOf(s)
	}
	if now != e.seen {
		e.seen, e.same = now, 0
	}
	e.same++
	return min(time.Second<<(e.same/4), time.Minute)
}

// rests reports whether nothing happens before the next edit.
func (e *editor) rests() bool {
	s, there := e.current()
	if !there {
		return e.journalInCeph() == ""
	}
	settled := s.Status.ObservedGeneration == s.Generation && !is(v1alpha1.ConditionReconciling)(s) && s.DeletionTimestamp.IsZero()
	return settled && !facts{sweep: s}.replaced() && (facts{sweep: s}.ended() || s.Spec.Suspend)
}

// current reads the sweep, and keeps in mind what it says of its restore.
func (e *editor) current() (*v1alpha1.CephTuningSweep, bool) {
	s := &v1alpha1.CephTuningSweep{}
	err := e.Get(e.t.Context(), client.ObjectKey{Namespace: e.namespace, Name: "s"}, s)
	if err != nil {
		if !apierrors.IsNotFound(err) {
			e.t.Fatal(err)
		}
		return s, false
	}
	if c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRestored); c != nil {
		e.said[c.Message] = true
	}
	return s, true
}

// shown is what each setting is, as messages name it.
func (w *world) shown() map[string]string {
	all := map[string]string{}
	for _, option := range []string{"osd_mclock_profile", "osd_client_message_cap", "osd_memory_target", "osd_max_backfills", "osd_op_num_shards"} {
		all["osd "+option] = "unset"
		if value, set := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, option); set {
			all["osd "+option] = value
		}
	}
	pool := w.ceph.Pool("open")
	all["pg_num of pool open"] = strconv.Itoa(pool.PGNumTarget)
	all["pg_autoscale_mode of pool open"] = pool.AutoscaleMode
	w.ceph.Act(func(c *cephtest.Cluster) {
		all["flags"] = fmt.Sprint(c.Answers.OSDMap.Flags)
		all["balancer"] = strconv.FormatBool(c.Answers.Balancer.Active)
	})
	return all
}

// changes are all values that Ceph was told.
func (w *world) changes() []cephtest.Call {
	return slices.Concat(w.ceph.Calls("SetConfig"), w.ceph.Calls("RemoveConfig"), w.ceph.Calls("SetPoolOption"), w.ceph.Calls("UnsetPoolOption"))
}

// may reports whether the administrator allows a change, or it restores what was there before.
func (e *editor) may(call cephtest.Call) bool {
	words := strings.Fields(call.Args)
	at, option, value := words[0], words[1], "unset"
	if len(words) > 2 {
		value = words[2]
	}
	if at == "osd" && value == e.before["osd "+option] || at == "open" && value == e.before[option+" of pool open"] {
		return true
	}
	within := func(low, high int) bool {
		n, err := strconv.Atoi(value)
		return err == nil && low <= n && n <= high
	}
	switch at + " " + option {
	case "osd osd_mclock_profile":
		return slices.Contains([]string{"unset", "balanced", "high_recovery_ops", "high_client_ops", "custom"}, value)
	case "osd osd_client_message_cap":
		return value == "unset" || value == "1K" || within(16, 16384) // Its default is 256.
	case "open pg_num":
		return within(8, 128)
	case "open pg_autoscale_mode":
		return value == "off"
	}
	return false
}

// allowedParameters are what editors may have.
func allowedParameters() []string {
	return []string{
		`{name: a, config: {option: osd_mclock_profile}, values: [high_client_ops]}`,
		`{name: a, config: {option: osd_client_message_cap}, values: ["64", Unset]}`,
		`{name: a, config: {option: osd_client_message_cap}, values: ["1K"]}`,
		`{name: a, poolOption: {option: pg_num, method: InPlace}, values: ["64"]}`,
	}
}

// otherParameters are what they may not have.
func otherParameters() []string {
	return []string{
		`{name: a, config: {option: osd_client_message_cap}, values: ["1"]}`,
		`{name: a, config: {option: osd_client_message_cap}, values: ["0x20"]}`,
		`{name: a, config: {option: osd_client_message_cap}, values: ["16385"]}`,
		`{name: a, config: {option: osd_client_message_cap}, values: ["1M"]}`,
		`{name: a, config: {option: osd_client_message_cap, mask: "class:ssd"}, values: ["64"]}`,
		`{name: a, config: {option: osd_memory_target}, values: ["68719476736"]}`,
		`{name: a, config: {option: osd_memory_target}, values: [Unset]}`,
		`{name: a, config: {option: osd_max_backfills}, values: ["50"]}`,
		`{name: a, config: {option: osd_op_num_shards}, values: ["4"]}`,
		`{name: a, config: {option: debug_osd}, values: ["20"]}`,
		`{name: a, poolOption: {option: pg_num, method: InPlace}, values: ["256"]}`,
		`{name: a, poolOption: {option: size, method: InPlace}, values: ["1"]}`,
		`{name: a, poolOption: {option: pg_num, pool: others, method: InPlace}, values: ["64"]}`,
	}
}

// anyOf picks one.
func anyOf[T any](e *editor, all []T) T { return all[e.random.IntN(len(all))] }

// spec is a random one.
func (e *editor) spec() string {
	parameters := allowedParameters()
	if e.random.IntN(3) == 0 {
		parameters = otherParameters()
	}
	spec := profileTemplate + "parameters:\n- " + anyOf(e, parameters) + `
objective: {phase: write, metric: IOPS}
strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3, seed: 11}
runID: "` + anyOf(e, []string{"1", "2"}) + `"
`
	if e.random.IntN(4) == 0 {
		spec += "onCompletion: KeepBest\n"
	}
	return spec
}

// respec gives a sweep what decides its verdict from another one.
func respec(s, from *v1alpha1.CephTuningSweep) {
	s.Spec.Parameters, s.Spec.Template, s.Spec.OnCompletion = from.Spec.Parameters, from.Spec.Template, from.Spec.OnCompletion
}

// edits are what may be done to a sweep, by name.
func (e *editor) edits() map[string]func(s *v1alpha1.CephTuningSweep) {
	run := func(id v1alpha1.RunID) func(*v1alpha1.CephTuningSweep) {
		return func(s *v1alpha1.CephTuningSweep) { s.Spec.RunID = id }
	}
	return map[string]func(*v1alpha1.CephTuningSweep){
		"suspend":     func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true },
		"resume":      func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false },
		"run 1":       run("1"),
		"run 2":       run("2"),
		"resume as 1": func(s *v1alpha1.CephTuningSweep) { s.Spec.RunID, s.Spec.Suspend = "1", false },
		"another spec": func(s *v1alpha1.CephTuningSweep) {
			respec(s, e.sweep())
			s.Spec.RunID = anyOf(e, []v1alpha1.RunID{"1", "2", "3", "4"})
		},
		"another spec, suspended": func(s *v1alpha1.CephTuningSweep) {
			respec(s, e.sweep())
			s.Spec.RunID, s.Spec.Suspend = "other", true
		},
		"keep":    func(s *v1alpha1.CephTuningSweep) { s.Spec.OnCompletion = v1alpha1.CompletionKeepBest },
		"restore": func(s *v1alpha1.CephTuningSweep) { s.Spec.OnCompletion = v1alpha1.CompletionRestore },
		"plan":    func(s *v1alpha1.CephTuningSweep) { s.Spec.Mode, s.Spec.RunID = v1alpha1.SweepModePlan, "plan" },
		"abandon": func(s *v1alpha1.CephTuningSweep) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, v1alpha1.AnnotationAbandonRestore, "true")
		},
		"do not abandon": func(s *v1alpha1.CephTuningSweep) { delete(s.Annotations, v1alpha1.AnnotationAbandonRestore) },
		"nodes": func(s *v1alpha1.CephTuningSweep) {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, AnnotationNodes, anyOf(e, []string{"1 nowhere", "1", "2 " + ofBackground, "x y z"}))
		},
		"no finalizer": func(s *v1alpha1.CephTuningSweep) { controllerutil.RemoveFinalizer(s, Finalizer) },
	}
}

// sweep is a random one, which is not in the API server.
func (e *editor) sweep() *v1alpha1.CephTuningSweep {
	return e.parse("s", e.spec())
}

// edit does one thing, which admission may refuse.
func (e *editor) edit() {
	s, there := e.current()
	if !there {
		e.done("create", e.Create(e.t.Context(), e.sweep()))
		return
	}
	switch n := e.random.IntN(20); {
	case n == 0:
		e.done("delete", e.Delete(e.t.Context(), s))
		return
	case n == 1 && !e.during:
		e.did["restart"]++
		e.startAnew()
		return
	case n == 2:
		for _, child := range e.children() {
			e.done("delete a child", client.IgnoreNotFound(e.Delete(e.t.Context(), &child)))
		}
		return
	case n == 3:
		e.did["refuse"]++
		e.refuses = 1 + e.random.IntN(6)
		return
	}
	possible := e.edits()
	before := s.DeepCopy()
	var names []string
	likely := []string{"another spec, suspended", "suspend", "run 1", "run 2", "abandon", "restore", "keep"}
	switch {
	case s.Spec.Suspend:
		likely = []string{"another spec, suspended", "resume", "resume", "resume as 1", "resume as 1", "do not abandon"}
	case facts{sweep: s}.ended():
		likely = []string{"another spec", "run 1", "run 2"}
	}
	for range 1 + e.random.IntN(5)/4 {
		name := anyOf(e, likely)
		if e.random.IntN(5) == 0 {
			name = anyOf(e, slices.Sorted(maps.Keys(possible)))
		}
		names = append(names, name)
		possible[name](s)
	}
	e.done(strings.Join(names, ", "), e.Patch(e.t.Context(), s, client.MergeFrom(before)))
}

func (e *editor) done(what string, err error) {
	switch {
	case err == nil:
		e.did[what]++
	case apierrors.IsInvalid(err):
		e.did["refused"]++
	case apierrors.IsConflict(err):
		e.did["too late"]++
	case apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err):
	default:
		e.t.Fatalf("%s: %v", what, err)
	}
}

// end deletes the sweep, and checks what is left.
func (e *editor) end() {
	e.ends = true
	for n := 0; ; n++ {
		s, there := e.current()
		if !there && e.journalInCeph() == "" {
			break
		}
		if n == maxPasses {
			e.t.Fatalf("something is left to restore: %q, %+v", e.journalInCeph(), s.Status.Conditions)
		}
		if there && s.DeletionTimestamp.IsZero() {
			e.change(s, func(s *v1alpha1.CephTuningSweep) { delete(s.Annotations, v1alpha1.AnnotationAbandonRestore) })
			e.done("delete", e.Delete(e.t.Context(), s))
		}
		e.pass()
	}
	e.wantNoJournal()
	for _, call := range e.changes() {
		if !e.may(call) {
			e.t.Errorf("Ceph was told %s %s", call.Verb, call.Args)
		}
	}
	said := strings.ToLower(strings.Join(slices.Sorted(maps.Keys(e.said)), "\n"))
	for setting, now := range e.shown() {
		original := e.before[setting]
		if now != original && !strings.Contains(said, strings.ToLower(fmt.Sprintf("%s was %s", setting, original))) {
			e.t.Errorf("%s is %s and was %s, which nobody has said:\n%s", setting, now, original, said)
		}
	}
}
