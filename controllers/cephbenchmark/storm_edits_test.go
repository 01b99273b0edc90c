package cephbenchmark

import (
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// impossible is a number of operations a second that no client reaches.
const impossible = "900k"

// anyOf returns a random element.
func anyOf[T any](e *tempest, all []T) T { return all[e.random.IntN(len(all))] }

// spec returns a random spec. Most of them may run.
func (e *tempest) spec() string {
	targets := []string{
		`{scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}`,
		`{scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}, image: {size: 1Gi}}}`,
		`{existingPool: {name: open}}`,
		`{existingPool: {name: open, image: {size: 1Gi, sharing: Clients}}}`,
	}
	phases := []string{
		`{name: write, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}`,
		`{name: write, fio: {pattern: RandWrite, ramp: 0s, duration: 30s}}`,
		`{name: read, fio: {pattern: RandRead, rateIOPS: 1000, ramp: 0s, duration: 30s}}`,
		`{name: curve, fio: {pattern: RandWrite, ramp: 0s, duration: 30s, curve: {atMost: 20ms, stepDuration: 10s, maxSteps: 8}}}`,
		`{name: bench, radosBench: {mode: Write, duration: 30s}}`,
		`{name: reuse, radosBench: {mode: Write, reuseObjects: true, duration: 30s}}`,
		`{name: block, rbdBench: {ioType: Write, ioPattern: Rand, ioTotal: 64Mi, dataPattern: RepeatedByte}}`,
	}
	var b strings.Builder
	b.WriteString("runID: \"" + anyOf(e, []string{"1", "2"}) + "\"\n")
	switch e.random.IntN(13) {
	case 0:
		return b.String() + onClaim
	case 1:
		return b.String() + strings.ReplaceAll(strings.ReplaceAll(outageWrite, "15m", "10m"), "5m", "2m")
	case 2:
		return b.String() + strings.ReplaceAll(onPool, "open", "prod")
	case 3:
		return b.String() + anyOf(e, []string{oneDiagnosis, oneLayeredDiagnosis})
	}
	b.WriteString("repetitions: " + anyOf(e, []string{"1", "1", "2", "3"}) + "\nhistoryLimit: 2\ntemplate:\n")
	b.WriteString("  target: " + anyOf(e, targets) + "\n  dataset: {size: 64Mi}\n")
	b.WriteString(anyOf(e, []string{"", "", "  clients: {count: 2}\n", "  osdCaches: DropBeforePhase\n", "  initialState: Rollback\n", "  initialState: Fresh\n"}))
	load := anyOf(e, []string{"", "", "  - {name: aside, fio: {pattern: RandWrite, rateIOPS: 1000}}\n"})
	if load != "" {
		b.WriteString("  backgroundLoad: {phase: aside, ramp: 0s}\n")
	}
	first := anyOf(e, phases)
	b.WriteString("  phases:\n  - " + first + "\n" + load)
	if second := anyOf(e, phases); second[:12] != first[:12] && e.random.IntN(2) == 0 {
		b.WriteString("  - " + second + "\n")
	}
	name, _, _ := strings.Cut(strings.TrimPrefix(first, "{name: "), ",")
	if e.random.IntN(2) == 0 {
		b.WriteString("expectations: [{phase: " + name + ", metric: IOPS, atLeast: " + anyOf(e, []string{impossible, "10"}) + "}]\n")
	}
	return b.String()
}

// edits returns the possible edits of a benchmark, by name.
func (e *tempest) edits() map[string]func(*v1alpha1.CephBenchmark) {
	return map[string]func(*v1alpha1.CephBenchmark){
		"suspend": func(b *v1alpha1.CephBenchmark) { b.Spec.Suspend = true },
		"resume":  func(b *v1alpha1.CephBenchmark) { b.Spec.Suspend = false },
		"run 1":   func(b *v1alpha1.CephBenchmark) { b.Spec.RunID = "1" },
		"run 2":   func(b *v1alpha1.CephBenchmark) { b.Spec.RunID = "2" },
		"run 3":   func(b *v1alpha1.CephBenchmark) { b.Spec.RunID = "3" },
		"each hour": func(b *v1alpha1.CephBenchmark) {
			b.Spec.RunID, b.Spec.Schedule = "1", &v1alpha1.Schedule{Cron: "0 * * * *"}
		},
		"no schedule": func(b *v1alpha1.CephBenchmark) { b.Spec.Schedule = nil },
		"fail on":     func(b *v1alpha1.CephBenchmark) { b.Spec.FailOn = []v1alpha1.BenchmarkVerdict{v1alpha1.BenchmarkFailed} },
		"keep one": func(b *v1alpha1.CephBenchmark) {
			b.Spec.HistoryLimit = 1
		},
		"another spec": func(b *v1alpha1.CephBenchmark) {
			runID, suspend := b.Spec.RunID, b.Spec.Suspend
			b.Spec = e.parse("b", e.spec()).Spec
			b.Spec.Suspend = suspend && e.random.IntN(2) == 0
			if b.Spec.RunID == runID {
				b.Spec.RunID = "4"
			}
		},
	}
}

// edit makes one random edit, which admission may refuse.
func (e *tempest) edit() {
	b, there := e.current()
	switch {
	case !there:
		e.edited("create", e.Create(e.t.Context(), e.parse("b", e.spec())))
		return
	case e.random.IntN(10) == 0:
		e.noteDeletion(b)
		e.edited("delete", e.Delete(e.t.Context(), b))
		return
	}
	likely := []string{"suspend", "run 1", "run 2", "another spec", "keep one"}
	switch {
	case b.Spec.Suspend:
		likely = []string{"resume", "resume", "resume", "another spec"}
	case hasEnded(b.Status):
		likely = []string{"another spec", "another spec", "another spec", "run 1", "run 2", "run 3", "each hour", "fail on"}
	}
	name := anyOf(e, likely)
	if e.random.IntN(6) == 0 {
		name = anyOf(e, slices.Sorted(maps.Keys(e.edits())))
	}
	e.patch(b, name, e.edits()[name])
}

func (e *tempest) patch(b *v1alpha1.CephBenchmark, name string, edit func(*v1alpha1.CephBenchmark)) {
	before := b.DeepCopy()
	edit(b)
	e.edited(name, e.Patch(e.t.Context(), b, client.MergeFrom(before)))
}

// noteDeletion notes whether a benchmark at work is deleted without its finalizer.
func (e *tempest) noteDeletion(b *v1alpha1.CephBenchmark) {
	if !controllerutil.ContainsFinalizer(b, Finalizer) && meta.IsStatusConditionTrue(b.Status.Conditions, v1alpha1.ConditionReconciling) {
		e.locked(func() bool { e.unprotected = true; return true })
	}
}

// empty deletes all benchmarks, as the deletion of their namespace does.
func (e *tempest) empty() {
	for _, b := range e.benchmarks() {
		e.noteDeletion(&b)
		e.edited("delete with its namespace", e.Delete(e.t.Context(), &b))
	}
}

// edited notes an edit.
func (e *tempest) edited(edit string, err error) {
	e.story.Note("edit: %s %s", edit, apierrors.ReasonForError(err))
	if err != nil && !apierrors.IsInvalid(err) && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
		e.story.Fail("harness", "%s: %v", edit, err)
	}
}
