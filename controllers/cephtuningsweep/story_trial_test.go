package cephtuningsweep

import (
	"context"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/signature"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// foreignFigure is the figure of benchmarks that strangers create. No verdict may use it.
const foreignFigure = "9000000"

// keepsBest is a sweep over an option without effect. If it believed a stranger's figure, that option would win, and
// stay in Ceph.
const keepsBest = profile + "onCompletion: KeepBest\n"

// Stories of strangers who may create and delete benchmarks with any name, label, annotation, owner and spec, and edit
// them, but cannot write status.
func trialStories() map[string]story {
	return map[string]story{
		"a forged benchmark with an easier load":     func(w *world) { w.forgesAllRuns(forgedEasier) },
		"a forged benchmark that copies everything":  func(w *world) { w.forgesAllRuns(forgedCopy) },
		"the names of the runs are taken before":     namesAreTaken,
		"whoever takes each name ends the sweep":     eachNameIsTaken,
		"another master key in mid-run":              anotherMasterKey,
		"an object with a foreign finalizer is left": aForeignFinalizer,
	}
}

func sessionTrialStories() map[string]story {
	return map[string]story{
		"the name of the session is taken before":  namesOfSessionsAreTaken,
		"the benchmark is replaced in mid-session": aSessionIsReplaced,
	}
}

// forgery returns what a stranger creates in the place of a benchmark. The argument found is nil if there is none.
type forgery func(s *v1alpha1.CephTuningSweep, found *v1alpha1.CephBenchmark) *v1alpha1.CephBenchmark

// forgedName is a stranger's benchmark that has only the name.
func forgedName(s *v1alpha1.CephTuningSweep, _ *v1alpha1.CephBenchmark) *v1alpha1.CephBenchmark {
	b := &v1alpha1.CephBenchmark{}
	b.Namespace, b.Name, b.Spec.ClusterRef, b.Spec.Template = s.Namespace, s.Status.Trial.Name, s.Spec.ClusterRef, *s.Spec.Template.DeepCopy()
	return b
}

// forgedOwner is a stranger's benchmark that also names the sweep as its owner.
func forgedOwner(s *v1alpha1.CephTuningSweep, found *v1alpha1.CephBenchmark) *v1alpha1.CephBenchmark {
	b := forgedName(s, found)
	b.Labels = map[string]string{sweepspec.LabelSweep: sweepspec.SweepLabel(s)}
	b.Annotations = map[string]string{signature.Annotation: "v3:" + strings.Repeat("0", 64)}
	b.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind(sweepKind))}
	return b
}

// forgedCopy is a copy of the benchmark, with its signature.
func forgedCopy(s *v1alpha1.CephTuningSweep, found *v1alpha1.CephBenchmark) *v1alpha1.CephBenchmark {
	if found == nil {
		return forgedOwner(s, nil)
	}
	b := &v1alpha1.CephBenchmark{Spec: *found.Spec.DeepCopy()}
	b.Namespace, b.Name, b.Labels, b.Annotations, b.OwnerReferences = found.Namespace, found.Name, found.Labels, found.Annotations, found.OwnerReferences
	return b
}

// forgedEasier is such a copy with an easier load.
func forgedEasier(s *v1alpha1.CephTuningSweep, found *v1alpha1.CephBenchmark) *v1alpha1.CephBenchmark {
	b := forgedCopy(s, found)
	if phase := &b.Spec.Template.Phases[0]; phase.Fio != nil {
		phase.Fio.Pattern = v1alpha1.FioRandRead
	}
	return b
}

// replace puts a forgery in the place of the sweep's benchmark. The forgery has a result, as if it had run before.
func (w *world) replace(s *v1alpha1.CephTuningSweep, forge forgery) *v1alpha1.CephBenchmark {
	w.t.Helper()
	ctx, found := w.t.Context(), &v1alpha1.CephBenchmark{}
	if err := w.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Status.Trial.Name}, found); err != nil {
		found = nil
	}
	forged := forge(s, found)
	if found != nil {
		if err := w.Delete(ctx, found); client.IgnoreNotFound(err) != nil {
			w.t.Error(err)
		}
	}
	if err := w.Create(ctx, forged); err != nil {
		if ctx.Err() == nil {
			w.t.Error(err)
		}
		return forged
	}
	forged.Status.ObservedRunID = forged.Spec.RunID
	forged.Status.Runs = []v1alpha1.BenchmarkRun{{Number: 1, State: v1alpha1.RunValid}}
	forged.Status.Phases = []v1alpha1.PhaseResult{{Name: "write", ValidRuns: 1, Metrics: []v1alpha1.MetricResult{
		{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal, Value: foreignFigure},
	}}}
	meta.SetStatusCondition(&forged.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue, Reason: "Ended"})
	if err := w.Status().Update(ctx, forged); err != nil && ctx.Err() == nil {
		w.t.Error(err)
	}
	return forged
}

// between calls a function after each pass, with the sweep as it is then.
func (w *world) between(s *v1alpha1.CephTuningSweep, act func(*v1alpha1.CephTuningSweep)) {
	key := client.ObjectKeyFromObject(s)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.afterPass = func() {
		now := &v1alpha1.CephTuningSweep{}
		if err := w.Get(w.t.Context(), key, now); err == nil {
			act(now)
		}
	}
}

// wantForeignUnused checks that no run has a stranger's figure, and that the strangers' objects are still there.
func (w *world) wantForeignUnused(s *v1alpha1.CephTuningSweep, foreign ...client.Object) {
	w.t.Helper()
	if s.Status.Verdict == v1alpha1.VerdictSuperior || s.Status.Verdict == v1alpha1.VerdictBetter {
		w.t.Errorf("verdict %s: %s", s.Status.Verdict, s.Status.Summary)
	}
	ledger, err := sweepspec.LedgerOf(s)
	if err != nil {
		w.t.Error(err)
	}
	for i, e := range ledger {
		if len(e.Values) > 0 && e.Values[0] > 5000 {
			w.t.Errorf("run %d has the figure of a stranger: %v", i+1, e.Values)
		}
	}
	for _, theirs := range foreign {
		kind, err := w.GroupVersionKindFor(theirs)
		if err != nil {
			w.t.Fatal(err)
		}
		now := &metav1.PartialObjectMetadata{}
		now.SetGroupVersionKind(kind)
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(theirs), now); err != nil || now.UID != theirs.GetUID() {
			w.t.Errorf("%T %s, which is a stranger's, is gone: %v", theirs, theirs.GetName(), err)
		}
	}
}

// strangers is a list of objects that several passes extend.
type strangers struct {
	mu  sync.Mutex
	all []client.Object
}

func (l *strangers) add(theirs ...client.Object) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, theirs...)
}

func (l *strangers) list() []client.Object {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// forgesAllRuns replaces each run of the candidate once, while it is measured, and lets the sweep end.
func (w *world) forgesAllRuns(forge forgery) {
	before, made, last := w.state(), &strangers{}, int32(0)
	s := w.parse("s", keepsBest)
	w.between(s, func(s *v1alpha1.CephTuningSweep) {
		t := s.Status.Trial
		if t == nil || t.UID == "" || t.Number <= last || t.Number > 6 || t.Number%2 == 0 {
			return
		}
		last = t.Number
		made.add(w.replace(s, forge))
	})
	if err := w.Create(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	w.await(s, "at rest", conditionTrue(v1alpha1.ConditionReady))
	if n := trialsThatAre(s, v1alpha1.TrialFailed); n != 3 || len(made.list()) != 3 {
		w.t.Errorf("%d of %d replaced runs do not count, want 3: %s", n, len(made.list()), validities(s))
	}
	w.awaitEvent("TrialInvalid", "created another with its name")
	w.wantForeignUnused(s, made.list()...)
	w.wantState(before)
	w.wantFreeLock()
}

// suspendedWithNames returns a suspended sweep. Strangers have taken the names of its first runs.
func (w *world) suspendedWithNames(spec string, runs int) (*v1alpha1.CephTuningSweep, []client.Object) {
	w.t.Helper()
	s := w.create("s", spec+"suspend: true\n")
	var made []client.Object
	for run := range runs {
		named := s.DeepCopy()
		named.Status.Trial = &v1alpha1.SweepTrial{Name: sweepspec.ChildName(s, run+1)}
		made = append(made, w.replace(named, forgedOwner))
	}
	return s, made
}

func namesAreTaken(w *world) {
	before := w.state()
	s, made := w.suspendedWithNames(keepsBest, 3)
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
	w.await(s, "at rest", conditionTrue(v1alpha1.ConditionReady))
	w.awaitEvent("NameTaken", made[0].GetName())
	if n := trialsThatAre(s, v1alpha1.TrialValid); n != len(s.Status.Trials) {
		w.t.Errorf("%d valid runs, want all: %s", n, validities(s))
	}
	w.wantForeignUnused(s, made...)
	w.wantState(before)
	w.wantFreeLock()
}

// takesNames is the manager's client while somebody takes each name just before the manager uses it.
type takesNames struct {
	client.Client

	take func(name string)
}

func (c takesNames) Create(ctx context.Context, o client.Object, opts ...client.CreateOption) error {
	if b, ok := o.(*v1alpha1.CephBenchmark); ok {
		c.take(b.Name)
	}
	return c.Client.Create(ctx, o, opts...)
}

func eachNameIsTaken(w *world) {
	before, made := w.state(), &strangers{}
	s := w.parse("s", keepsBest)
	key := client.ObjectKeyFromObject(s) // The story reads s while the manager works.
	w.tune = func(o *Options) {
		o.Client = takesNames{o.Client, func(name string) {
			named := &v1alpha1.CephTuningSweep{}
			if err := w.Get(w.t.Context(), key, named); err != nil {
				w.t.Error(err)
			}
			named.Status.Trial = &v1alpha1.SweepTrial{Name: name}
			made.add(w.replace(named, forgedName))
		}}
	}
	w.restart()
	if err := w.Create(w.t.Context(), s); err != nil {
		w.t.Fatal(err)
	}
	w.await(s, "failed", conditionTrue(v1alpha1.ConditionFailed))
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonNotPossible, "have taken 5 names of run 1")
	w.wantForeignUnused(s, made.list()...)
	w.wantState(before)
	w.wantFreeLock()
}

// inSecondTrial returns a sweep whose second run has begun, and does not end.
func (w *world) inSecondTrial() *v1alpha1.CephTuningSweep {
	w.t.Helper()
	w.bench.set(func(b *bench) { b.holdIf = func(*v1alpha1.CephBenchmark) bool { return b.ended >= 1 } })
	s := w.create("s", profile)
	w.await(s, "in its second run", func(s *v1alpha1.CephTuningSweep) bool {
		if s.Status.Trial == nil || s.Status.Trial.Number != 2 {
			return false
		}
		return slices.ContainsFunc(w.children(), func(b v1alpha1.CephBenchmark) bool { return b.UID == s.Status.Trial.UID && b.Status.Trial != nil })
	})
	return s
}

func anotherMasterKey(w *world) {
	before := w.state()
	s := w.inSecondTrial()
	w.stop()
	w.goOn()
	w.bench.set(func(b *bench) { b.key = slices.Repeat([]byte{7}, 32) })
	w.tune = func(o *Options) { o.MasterKey = slices.Repeat([]byte{7}, 32) }
	w.start()
	w.awaitAfterCrash(s, "at rest", conditionTrue(v1alpha1.ConditionReady))
	if n := trialsThatAre(s, v1alpha1.TrialFailed); n != 1 || s.Status.Verdict != v1alpha1.VerdictEquivalent {
		w.t.Errorf("%d failed runs, verdict %s, want 1 and Equivalent: %s", n, s.Status.Verdict, validities(s))
	}
	w.awaitEvent("TrialInvalid", "lost its signature")
	w.wantState(before)
}

// A user adds a finalizer to the sweep's benchmark, so that the deleted object stays.
func aForeignFinalizer(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) { b.hold = true })
	s := w.create("s", profile)
	child := w.awaitChild()
	patch := client.MergeFrom(child.DeepCopy())
	child.Finalizers = append(child.Finalizers, "example.com/mine")
	if err := w.Patch(w.t.Context(), child, patch); err != nil {
		w.t.Fatal(err)
	}
	w.delete(s)
	w.awaitGone(s)
	w.wantState(before)
	w.wantFreeLock()
}

func namesOfSessionsAreTaken(w *world) {
	before := w.state()
	s, made := w.suspendedWithNames(switchedSpec, 2)
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Suspend = false })
	w.await(s, "at rest", conditionTrue(v1alpha1.ConditionReady))
	w.awaitEvent("NameTaken", made[0].GetName())
	w.wantForeignUnused(s, made...)
	w.wantState(before)
	w.wantFreeLock()
}

func aSessionIsReplaced(w *world) {
	before := w.state()
	s := w.inSession()
	if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(s), s); err != nil {
		w.t.Fatal(err)
	}
	forged := w.replace(s, forgedCopy)
	w.await(s, "at rest", conditionTrue(v1alpha1.ConditionReady))
	if n := trialsThatAre(s, v1alpha1.TrialFailed); n != 1 || w.sessions(s).Short != 1 {
		w.t.Errorf("%d invalid sessions, want 1, and one that is valid: %s", n, validities(s))
	}
	w.wantForeignUnused(s, forged)
	w.wantState(before)
	w.wantFreeLock()
}
