package cephtuningsweep

import (
	"cmp"
	"context"
	"crypto/sha256"
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
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/tuning"
)

const (
	// firstSeed is the seed of the first sequence, and sequences is their number. After
	// sequencesWithin, no sequence begins, and the current one gets no more edits.
	firstSeed       = 1
	sequences       = 6
	sequencesWithin = 25 * time.Second
	// edits is the number of edits in a sequence.
	edits = 25
	// maxPasses limits the end of a sequence.
	maxPasses = 500
)

// TestRandomEdits plays random sequences of edits by a user who may only edit sweeps. Meanwhile the
// manager is killed now and then, Ceph refuses changes or loses answers for a while, and the
// administrator allows less. Ceph must never get a value that the administrator does not allow at
// that moment, or that the current plan does not have. Whenever no journal is left, each setting
// must have its original value, or a message must have named the original.
//
// One goroutine does everything, with a simulated clock, so that a seed always results in the same
// sequence. CEPHTUNE_EDITS=SEED plays one sequence, and CEPHTUNE_EDITS=FIRST-LAST plays several
// ("make edits").
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

// play plays a sequence, and returns how many changes Ceph got.
func play(w *world, seed uint64, until time.Time) int {
	w.t.Helper()
	w.ceph.Act(func(c *cephtest.Cluster) {
		c.Answers.ConfigDump = append(c.Answers.ConfigDump, ceph.ConfigEntry{Section: "osd", Name: "osd_client_message_cap", Value: "300", Level: "advanced", Runtime: true})
	})
	w.bench.set(func(b *bench) { b.speed = w.faster() })
	e := &editor{
		world: w, random: rand.New(rand.NewPCG(seed, 19)), before: w.shown(),
		said: map[string]bool{}, did: map[string]int{}, values: map[string][]string{}, checked: map[string]int{},
	}
	w.ceph.Act(func(c *cephtest.Cluster) { c.Before = e.interfere })
	e.startAnew()
	for n := 0; n < edits && time.Now().Before(until); n++ {
		e.edit()
		passes := e.random.IntN(16)
		if e.random.IntN(3) == 0 {
			passes = 70 // enough for all runs
		}
		for n := 0; n < passes && !e.rests(); n++ {
			e.pass()
		}
	}
	e.end()
	if os.Getenv("CEPHTUNE_EDITS") != "" {
		w.t.Log(strings.Join(e.course, "\n"))
	}
	w.t.Logf("seed %d: edits %v; values told to Ceph: %d; course %x", seed, e.did, e.told, sha256.Sum256([]byte(strings.Join(e.course, "\n"))))
	return e.told
}

// editor edits a sweep, and runs the manager's passes in between.
type editor struct {
	*world

	random *rand.Rand
	// before has the settings at the last time without a journal. said has the messages of
	// conditions and events since then.
	before map[string]string
	said   map[string]bool
	did    map[string]int
	// course lists what happened, in order.
	course []string
	// values has the changes that a plan permits, by the digest of its spec, in the form of
	// recorded changes.
	values map[string][]string
	// checked is how many changes were checked, by verb. told is the number of all changes.
	checked map[string]int
	told    int
	// strict says that the administrator allows less than before.
	strict bool
	// loses says that Ceph loses the next answer. lost is when it did, while Ceph may still carry
	// that change out; zero for none.
	loses bool
	lost  time.Time

	//nolint:containedctx // It ends with the process.
	life    context.Context
	manager *Reconciler
	keeper  *keeper
	kept    time.Time // when the keeper has looked last
	// during says that a pass is running. refuses is how many more changes Ceph refuses.
	during  bool
	refuses int
	// ends says that nothing interferes any more.
	ends bool
	// seen is the outcome of the last pass, and same is how many passes had it.
	seen string
	same int
}

// Eventf implements events.EventRecorder.
func (e *editor) Eventf(_, _ kruntime.Object, _, _, _, note string, args ...any) {
	e.said[fmt.Sprintf(note, args...)] = true
}

// startAnew ends the manager and starts another one, which dies at a random step of a change.
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

// interfere edits the sweep during some changes, and lets Ceph refuse others.
func (e *editor) interfere(verb string) error {
	if e.ends || !slices.Contains(tuningVerbs(), verb) {
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

// pass runs one pass of the manager. Then the clock advances by the time that the pass asked for.
func (e *editor) pass() {
	e.during = true
	plans := []string{e.planned()}
	came, _ := e.manager.Reconcile(e.life, ctrl.Request{NamespacedName: client.ObjectKey{Namespace: e.namespace, Name: "s"}})
	e.during = false // A failed pass is tried again.
	if e.life.Err() != nil {
		e.startAnew()
	}
	e.check(append(plans, e.planned()))
	e.timeGoesOn(max(came.RequeueAfter, e.pause()))
	if e.now().Sub(e.kept) >= KeepEvery {
		e.kept = e.now()
		e.keeper.look(e.life, e.allowed.Clusters[0])
		e.check(nil)
	}
	for range 4 {
		e.ceph.Tick()
	}
	e.bench.work()
	if _, there := e.current(); !there { // as the garbage collector does
		e.removeChildren()
	}
}

// timeGoesOn advances the clock. If Ceph has lost an answer, it carries that change out at a random
// time, or at the last moment at which it may.
func (e *editor) timeGoesOn(d time.Duration) {
	if !e.lost.IsZero() {
		until := e.lost.Add(ceph.LongestChange - time.Second).Sub(e.now())
		if d >= until || e.random.IntN(3) == 0 {
			until = max(min(d, until), 0)
			e.ahead.Add(int64(until))
			d -= until
			e.land()
		}
	}
	e.ahead.Add(int64(d))
}

func (e *editor) land() {
	e.notes("a late change lands")
	e.ceph.Land()
	e.lost = time.Time{}
}

func (e *editor) notes(what string) { e.course = append(e.course, what) }

// planned returns the digest of the spec in the sweep's plan; "" without a plan.
func (e *editor) planned() string {
	if s, there := e.current(); there && s.Status.Plan != nil {
		return s.Status.Plan.SpecDigest
	}
	return ""
}

// check checks the changes that were made under these plans.
func (e *editor) check(plans []string) {
	e.t.Helper()
	e.ceph.Act(func(c *cephtest.Cluster) {
		if e.loses && c.Lose == "" {
			e.loses, e.lost = false, e.now()
		}
	})
	for _, verb := range tuningVerbs() {
		calls := e.ceph.Calls(verb)
		for _, call := range calls[e.checked[verb]:] {
			e.told++
			e.notes(verb + " " + call.Args)
			switch setting, value := told(call); {
			case e.before[setting] == value:
			case !e.may(setting, value):
				e.t.Errorf("Ceph was told %s %s, which is not allowed", verb, call.Args)
			case value == "off" && setting == "pg_autoscale_mode of pool open":
			case !slices.ContainsFunc(plans, func(plan string) bool { return slices.Contains(e.values[plan], setting+" "+value) }):
				e.t.Errorf("Ceph was told %s %s, which is neither in the plan nor what was there before", verb, call.Args)
			}
		}
		e.checked[verb] = len(calls)
	}
	if e.journalInCeph() == "" && e.lost.IsZero() {
		e.wantSaid()
		e.before, e.said = e.shown(), map[string]bool{}
	}
}

// wantSaid checks, while there is no journal, that no original value is lost.
func (e *editor) wantSaid() {
	e.t.Helper()
	e.current()
	said := strings.ToLower(strings.Join(slices.Sorted(maps.Keys(e.said)), "\n"))
	for setting, now := range e.shown() {
		original := e.before[setting]
		if now != original && !strings.Contains(said, strings.ToLower(fmt.Sprintf("%s was %s", setting, original))) {
			e.t.Errorf("%s is %s and was %s, which nobody has said:\n%s", setting, now, original, said)
		}
	}
}

// pause returns the time until the next pass. It grows while nothing happens.
func (e *editor) pause() time.Duration {
	now := fmt.Sprint(e.told, e.bench.count())
	if s, there := e.current(); there {
		now += reasonOf(s)
	}
	if now != e.seen {
		e.seen, e.same = now, 0
	}
	e.same++
	return min(time.Second<<(e.same/4), time.Minute)
}

// rests reports whether nothing will happen before the next edit.
func (e *editor) rests() bool {
	s, there := e.current()
	if !there {
		return e.journalInCeph() == ""
	}
	settled := s.Status.ObservedGeneration == s.Generation && !is(v1alpha1.ConditionReconciling)(s) && s.DeletionTimestamp.IsZero()
	return settled && !facts{sweep: s}.replaced() && (facts{sweep: s}.ended() || s.Spec.Suspend)
}

// current reads the sweep, and records the message of its condition Restored.
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

// shown returns the value of each setting, with the setting's name in messages.
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

func tuningVerbs() []string {
	return []string{"SetConfig", "RemoveConfig", "SetPoolOption", "UnsetPoolOption"}
}

// told returns the setting of a change, with its name in messages, and the value.
func told(call cephtest.Call) (setting, value string) {
	words := strings.Fields(call.Args)
	value = "unset"
	if len(words) > 2 {
		value = words[2]
	}
	if strings.HasSuffix(call.Verb, "PoolOption") {
		return words[1] + " of pool " + words[0], value
	}
	return words[0] + " " + words[1], value
}

// may reports whether the administrator allows a change.
func (e *editor) may(setting, value string) bool {
	within := func(low, high int) bool {
		n, err := strconv.Atoi(value)
		return err == nil && low <= n && n <= high
	}
	switch setting {
	case "osd osd_mclock_profile":
		return !e.strict && slices.Contains([]string{"unset", "balanced", "high_recovery_ops", "high_client_ops", "custom"}, value)
	case "osd osd_client_message_cap":
		return value == "unset" || value == "1K" || within(128, 16384) || !e.strict && within(16, 16384) // The default is 256.
	case "pg_num of pool open":
		return within(8, 48) || !e.strict && within(8, 128)
	case "pg_autoscale_mode of pool open":
		return value == "off"
	}
	return false
}

// mayTell records the changes that the plan of a spec permits.
func (e *editor) mayTell(s *v1alpha1.CephTuningSweep) {
	e.t.Helper()
	digest, err := sweepspec.Digest(&s.Spec)
	if err != nil {
		e.t.Fatal(err)
	}
	var all []string
	for _, p := range s.Spec.Parameters {
		for _, value := range p.Values {
			text := string(value)
			if value == v1alpha1.Unset {
				text = "unset"
			}
			switch {
			case p.Config != nil:
				all = append(all, strings.TrimSuffix("osd/"+p.Config.Mask, "/")+" "+string(p.Config.Option)+" "+text)
			case p.PoolOption != nil:
				all = append(all, string(p.PoolOption.Option)+" of pool "+cmp.Or(string(p.PoolOption.Pool), "open")+" "+text)
			}
		}
	}
	e.values[digest] = all
}

// allowedParameters returns parameters that editors may use.
func allowedParameters() []string {
	return []string{
		`{name: a, config: {option: osd_mclock_profile}, values: [high_client_ops]}`,
		`{name: a, config: {option: osd_client_message_cap}, values: ["64", Unset]}`,
		`{name: a, config: {option: osd_client_message_cap}, values: ["1K"]}`,
		`{name: a, poolOption: {option: pg_num, method: InPlace}, values: ["64"]}`,
	}
}

// otherParameters returns parameters that they may not use.
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

// anyOf returns a random element.
func anyOf[T any](e *editor, all []T) T { return all[e.random.IntN(len(all))] }

// spec returns a random spec.
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
		spec += "onCompletion: KeepBest\nkeepScope: Pool\n"
	}
	return spec
}

// respec copies the fields that decide the verdict from another sweep.
func respec(s, from *v1alpha1.CephTuningSweep) {
	s.Spec.Parameters, s.Spec.Template, s.Spec.OnCompletion = from.Spec.Parameters, from.Spec.Template, from.Spec.OnCompletion
}

// edits returns the possible edits of a sweep, by name.
func (e *editor) edits() map[string]func(s *v1alpha1.CephTuningSweep) {
	run := func(id v1alpha1.RunID) func(*v1alpha1.CephTuningSweep) {
		return func(s *v1alpha1.CephTuningSweep) { s.Spec.RunID = id }
	}
	return map[string]func(*v1alpha1.CephTuningSweep){
		"suspend": func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = true },
		"resume":  func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false },
		"run 1":   run("1"),
		"run 2":   run("2"),
		resumeAsPlanned: func(s *v1alpha1.CephTuningSweep) { // with its current spec, whatever that is
			s.Spec.RunID, s.Spec.Suspend = cmp.Or(s.Status.ObservedRunID, "1"), false
		},
		"another spec": func(s *v1alpha1.CephTuningSweep) {
			respec(s, e.sweep())
			s.Spec.RunID = anyOf(e, []v1alpha1.RunID{"1", "2", "3", "4"})
		},
		anotherSpec: func(s *v1alpha1.CephTuningSweep) {
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

// sweep returns a random sweep. It does not create it.
func (e *editor) sweep() *v1alpha1.CephTuningSweep {
	return e.parse("s", e.spec())
}

// edit makes one random edit, which admission may refuse.
func (e *editor) edit() {
	s, there := e.current()
	if !there {
		s = e.sweep()
		e.done("create", e.Create(e.t.Context(), s))
		e.mayTell(s)
		return
	}
	if e.disturb(s, e.random.IntN(20)) {
		return
	}
	names := e.likely(s)
	e.patch(s, names)
	if slices.Contains(names, anotherSpec) && e.random.IntN(3) > 0 { // before the next pass
		e.patch(s, []string{resumeAsPlanned})
	}
}

// disturb does something other than an edit of the sweep, if there is such an action for the random
// number n. It reports whether there was one.
func (e *editor) disturb(s *v1alpha1.CephTuningSweep, n int) bool {
	switch {
	case n == 0:
		e.done("delete", e.Delete(e.t.Context(), s))
	case n == 1 && !e.during:
		e.did["restart"]++
		e.startAnew()
	case n == 2:
		for _, child := range e.children() {
			e.done("delete a child", client.IgnoreNotFound(e.Delete(e.t.Context(), &child)))
		}
	case n == 3:
		e.did["refuse"]++
		e.refuses = 1 + e.random.IntN(6)
	case n == 4 && !e.during && e.lost.IsZero():
		e.did["lose"]++
		e.loses = true
		e.ceph.Act(func(c *cephtest.Cluster) { c.Lose = anyOf(e, tuningVerbs()) })
	case (n == 5 || n == 6 && e.strict) && !e.during:
		e.allow()
	default:
		return false
	}
	return true
}

const (
	anotherSpec     = "another spec, suspended"
	resumeAsPlanned = "resume as planned"
)

// likely returns edits that matter to the sweep in its state, and sometimes another one.
func (e *editor) likely(s *v1alpha1.CephTuningSweep) (names []string) {
	likely := []string{anotherSpec, anotherSpec, "suspend", "run 1", "run 2", "abandon", "restore", "keep"}
	switch {
	case s.Spec.Suspend:
		likely = []string{anotherSpec, "resume", "resume", resumeAsPlanned, resumeAsPlanned, resumeAsPlanned, "do not abandon"}
	case facts{sweep: s}.ended():
		likely = []string{"another spec", "run 1", "run 2"}
	}
	for range 1 + e.random.IntN(5)/4 {
		name := anyOf(e, likely)
		if e.random.IntN(5) == 0 {
			name = anyOf(e, slices.Sorted(maps.Keys(e.edits())))
		}
		names = append(names, name)
	}
	return names
}

// patch makes several edits at once.
func (e *editor) patch(s *v1alpha1.CephTuningSweep, names []string) {
	before := s.DeepCopy()
	for _, name := range names {
		e.edits()[name](s)
	}
	e.done(strings.Join(names, ", "), e.Patch(e.t.Context(), s, client.MergeFrom(before)))
	e.mayTell(s)
}

// allow toggles whether the administrator allows less.
func (e *editor) allow() {
	e.strict = !e.strict
	e.did["allow"]++
	e.notes(fmt.Sprintf("strict %t", e.strict))
	e.allowed = allowances()
	if e.strict {
		e.allowed.Clusters[0].Options = []settings.Option{
			{Name: "osd_client_message_cap", Min: "128", Max: "16384"},
			{Name: "pg_num", Pool: "open", Min: "8", Max: "48"},
		}
	}
	e.startAnew()
}

func (e *editor) done(what string, err error) {
	e.notes(fmt.Sprint(what, " ", apierrors.ReasonForError(err)))
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

// end deletes the sweep, and checks that nothing remains.
func (e *editor) end() {
	e.ends, e.loses = true, false
	e.ceph.Act(func(c *cephtest.Cluster) { c.Lose = "" })
	for n := 0; ; n++ {
		s, there := e.current()
		if !there && e.journalInCeph() == "" && e.lost.IsZero() {
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
}
