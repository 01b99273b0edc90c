package cephbenchmark

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/testing/memapi"
	"github.com/cephtune/cephtune/internal/testing/storm"
)

// plantedDefect is a world in which one thing is wrong, or right, and the check that must tell them apart.
type plantedDefect struct {
	right, wrong, check func(*tempest)
	want                string // the violated invariant, and the beginning of its message
}

// A check of the storm that has never failed is no check.
func TestStormChecks(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	kinds := memapi.CompileKinds(t, apiserver.Root(t))
	for name, planted := range plantedDefects() {
		t.Run(name, func(t *testing.T) {
			look := func(prepare func(*tempest)) []string {
				return storm.Plot{Play: func(t *testing.T, s *storm.Story) {
					t.Helper()
					e := tempestOf(t, s, storm.InMemory(t, kinds))
					prepare(e)
					planted.check(e)
				}}.Failures(t, 1)
			}
			if found := look(planted.right); len(found) > 0 {
				t.Errorf("without the defect: %v", found)
			}
			if found := look(planted.wrong); len(found) == 0 || !strings.HasPrefix(found[0], planted.want) {
				t.Errorf("found %v, want %q", found, planted.want)
			}
		})
	}
}

// A teardown that forgets one thing leaves it in one of the first stories, without a fault.
func TestStormFindsForgetfulTeardown(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	kinds := memapi.CompileKinds(t, apiserver.Root(t))
	for _, forgotten := range []string{"RemoveKey", "DeleteScratchPools"} {
		t.Run(forgotten, func(t *testing.T) {
			plot := storm.Plot{Play: func(t *testing.T, s *storm.Story) {
				t.Helper()
				e := tempestOf(t, s, storm.InMemory(t, kinds))
				e.forgotten = forgotten
				e.play()
			}}
			for seed := range uint64(20) {
				found := plot.Failures(t, seed)
				if len(found) == 0 {
					continue
				}
				if !strings.HasPrefix(found[0], "orphans: ") {
					t.Errorf("seed %d: %v", seed, found)
				}
				return
			}
			t.Error("no story finds it")
		})
	}
}

func plantedDefects() map[string]plantedDefect {
	right := func(*tempest) {}
	orphans := func(want string, wrong func(*tempest)) plantedDefect {
		return plantedDefect{right: right, wrong: wrong, check: (*tempest).wantNothing, want: "orphans: " + want}
	}
	remains := func(want string, wrong func(*tempest)) plantedDefect {
		return plantedDefect{right: right, wrong: wrong, check: (*tempest).wantGone, want: "orphans: " + want}
	}
	inCeph := func(change func(*cephtest.Cluster)) func(*tempest) {
		return func(e *tempest) { e.ceph.Act(change) }
	}
	object := func(o client.Object) func(*tempest) {
		return func(e *tempest) {
			o.SetResourceVersion("")
			o.SetNamespace(e.namespace)
			o.SetName("left")
			e.must(e.Create(e.t.Context(), o))
		}
	}
	defects := map[string]plantedDefect{
		"a Job is left":          orphans("*v1.Job left", object(&batchv1.Job{})),
		"a pod is left":          orphans("*v1.Pod left", object(&corev1.Pod{})),
		"a Secret is left":       orphans("*v1.Secret left", object(&corev1.Secret{})),
		"results are left":       orphans("*v1.ConfigMap left", object(&corev1.ConfigMap{})),
		"a scratch pool is left": orphans("the scratch pool", func(e *tempest) { e.rook.set(func(f *fakeRook) { f.owner = objectref.Ref{UID: "gone"} }) }),
		"an image is left":       orphans("open has", inCeph(func(c *cephtest.Cluster) { store(c.Answers.Images, "open", "image") })),
		"an object is left":      orphans("open/x has", inCeph(func(c *cephtest.Cluster) { store(c.Answers.Objects, "open/x", "object") })),
		"a key is left":          orphans("cephtune/note in Ceph", inCeph(func(c *cephtest.Cluster) { c.Keys["cephtune/note"] = "x" })),
		"a lock is left":         {right: right, wrong: keepLease, check: (*tempest).wantGone, want: "orphans: lock of \"CephBenchmark/"},
		"an OSD stays down":      remains("lock of \"\"", inCeph(func(c *cephtest.Cluster) { c.Answers.OSDMap.OSDs[2].Flags = []string{"noup"} })),
		"a benchmark is stuck":   {right: right, wrong: stick, check: (*tempest).wantRest, want: "deadline: "},
		"a stranger's object is deleted": {
			right: strangersJob, wrong: func(e *tempest) { strangersJob(e); e.must(e.Delete(e.t.Context(), e.strangersJob())) },
			check: (*tempest).wantForeign, want: "foreign: ",
		},
	}
	maps.Copy(defects, wrongResults())
	return defects
}

func (e *tempest) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// stick creates a benchmark that waits for Rook forever.
func stick(e *tempest) {
	e.rook.set(func(f *fakeRook) { f.clusterIs = errAway })
	e.must(e.Create(e.t.Context(), e.parse("b", oneWrite)))
}

// keepLease keeps the lock for a benchmark that does not exist.
func keepLease(e *tempest) {
	e.must(e.Create(e.t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.operator, Name: "cephtune-" + fsid},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("CephBenchmark/bench/gone/1"), RenewTime: new(metav1.NewMicroTime(time.Now().Add(24 * time.Hour)))},
	}))
}

func (e *tempest) strangersJob() *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "theirs"}}
}

func strangersJob(e *tempest) {
	job := e.strangersJob()
	e.must(e.Create(e.t.Context(), job))
	e.foreign[job.UID] = job
}

// wrongResults has results in status that must not be there.
func wrongResults() map[string]plantedDefect {
	results := func(verdict v1alpha1.BenchmarkVerdict, state v1alpha1.RunState, iops v1alpha1.Decimal, expects v1alpha1.Threshold) *v1alpha1.CephBenchmark {
		b := &v1alpha1.CephBenchmark{}
		b.Spec.Expectations = []v1alpha1.Expectation{{AtLeast: expects}}
		b.Status.Verdict, b.Status.Runs = verdict, []v1alpha1.BenchmarkRun{{Number: 1, State: state}}
		b.Status.Phases = []v1alpha1.PhaseResult{{Name: "write", Metrics: []v1alpha1.MetricResult{{Metric: v1alpha1.MetricIOPS, Value: iops}}}}
		return b
	}
	good := results(v1alpha1.BenchmarkPassed, v1alpha1.RunValid, "1000", "10")
	check := func(b *v1alpha1.CephBenchmark) func(*tempest) { return func(e *tempest) { e.wantResults(b) } }
	planted := func(want string, b *v1alpha1.CephBenchmark) plantedDefect {
		return plantedDefect{right: check(good), wrong: check(b), check: func(*tempest) {}, want: want}
	}
	return map[string]plantedDefect{
		"it passed the impossible":    planted("verdicts: ", results(v1alpha1.BenchmarkPassed, v1alpha1.RunValid, "1000", impossible)),
		"it passed without a run":     planted("verdicts: ", results(v1alpha1.BenchmarkPassed, v1alpha1.RunInvalid, "1000", "10")),
		"it has figures without runs": planted("verdicts: ", results("", v1alpha1.RunFailed, "1000", "10")),
		"a disturbed figure counts":   planted("evidence: ", results(v1alpha1.BenchmarkPassed, v1alpha1.RunValid, "1000000", "10")),
	}
}
