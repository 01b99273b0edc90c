package reference

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// ofReference returns a match for a benchmark of one phase on a replicated pool.
func ofReference(status metav1.ConditionStatus) *Match {
	b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "nightly", UID: "nightly-uid"}}
	b.Status.ObservedRunID = "3"
	b.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: status}}
	return NewMatch(b, "nightly", Workload{Digests: map[v1alpha1.PhaseName]string{"write": "same"}, Environment: here()})
}

func here() quiescence.Detail {
	return quiescence.Detail{FSID: "fsid", CephVersions: []string{"20.2.4"}, Pools: []ceph.Pool{{Name: "cephtune-scratch", Type: "replicated", Size: 3}}}
}

func recorded(t *testing.T, change ...func(*archive.Run, *quiescence.Detail)) *archive.Run {
	t.Helper()
	detail := here()
	run := &archive.Run{
		State: v1alpha1.RunValid, ExecutionTime: time.Date(2026, 3, 2, 6, 0, 0, 0, time.UTC),
		Phases: []archive.Phase{{Name: "write", SpecDigest: "same", Observation: &figure.Observation{
			Figures: []figure.Figure{{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal, Value: 5000}},
		}}},
	}
	for _, c := range change {
		c(run, &detail)
	}
	text, err := json.Marshal(detail)
	if err != nil {
		t.Fatal(err)
	}
	if run.Environment == nil {
		run.Environment = text
	}
	return run
}

func TestWhichRunsOfAReferenceCount(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*archive.Run, *quiescence.Detail)
		// unusable is a part of the reason; "" if the run counts.
		unusable string
		figures  int
	}{
		"the same":             {func(*archive.Run, *quiescence.Detail) {}, "", 1},
		"another Ceph version": {func(_ *archive.Run, d *quiescence.Detail) { d.CephVersions = []string{"18.2.7"} }, "", 1},
		"a flag of the pool":   {func(_ *archive.Run, d *quiescence.Detail) { d.Pools[0].Flags = []string{"hashpspool"} }, "", 1},
		"another phase":        {func(r *archive.Run, _ *quiescence.Detail) { r.Phases[0].SpecDigest = "other" }, "", 0},
		"another cluster":      {func(_ *archive.Run, d *quiescence.Detail) { d.FSID = "other" }, "nightly measured another workload (cluster: fsid, and was other)", 0},
		"fewer copies": {
			func(_ *archive.Run, d *quiescence.Detail) { d.Pools[0].Size = 2 },
			"another workload (pool cephtune-scratch size: 3, and was 2): give both the same target and template", 0,
		},
		"another kind of pool": {
			func(_ *archive.Run, d *quiescence.Detail) { d.Pools[0].Type = "erasure" },
			"another workload (pool cephtune-scratch type: replicated, and was erasure)", 0,
		},
		"another profile": {
			func(_ *archive.Run, d *quiescence.Detail) { d.Pools[0].ErasureCodeProfile = "k4m2" },
			"another workload (pool cephtune-scratch erasure_code_profile: ", 0,
		},
		"another initial state": {
			func(_ *archive.Run, d *quiescence.Detail) { d.InitialState = v1alpha1.InitialStateFresh },
			"another workload (initial state of the data: ", 0,
		},
		"other caches": {
			func(_ *archive.Run, d *quiescence.Detail) { d.OSDCaches = v1alpha1.OSDCachesDropBeforePhase },
			"another workload (OSD caches before each phase: ", 0,
		},
		"a background load": {func(_ *archive.Run, d *quiescence.Detail) { d.Background = "write" }, "another workload (background: ", 0},
		"no environment":    {func(r *archive.Run, _ *quiescence.Detail) { r.Environment = json.RawMessage{} }, "its environment was not recorded", 0},
		"an invalid run":    {func(r *archive.Run, _ *quiescence.Detail) { r.State = v1alpha1.RunInvalid }, "nightly has no valid run left: run it again", 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := ofReference(metav1.ConditionTrue)
			m.Add("execution", recorded(t, c.change))
			got := m.Reference()
			if (c.unusable == "") != (got.Unusable == "") || !strings.Contains(got.Unusable, c.unusable) {
				t.Fatalf("%q, want %q", got.Unusable, c.unusable)
			}
			if c.unusable == "" && (len(got.Runs) != 1 || len(got.Runs[0].Figures["write"]) != c.figures || got.Runs[0].Start.Day() != 2) {
				t.Errorf("runs %+v, want one with %d figures", got.Runs, c.figures)
			}
		})
	}
}

func TestWhichResultsOfAReferenceAreRead(t *testing.T) {
	m := ofReference(metav1.ConditionFalse)
	cm := func(name, execution string, owner types.UID, hour int) metav1.PartialObjectMetadata {
		controller := true
		return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{archive.LabelExecution: execution},
			Annotations: map[string]string{archive.AnnotationExecutionStart: time.Date(2026, 3, 2, hour, 0, 0, 0, time.UTC).Format(time.RFC3339)},
			// A user has deleted all results, and created them again from copies, the oldest last.
			CreationTimestamp: metav1.NewTime(time.Date(2026, 4, 1, 23-hour, 0, 0, 0, time.UTC)),
			OwnerReferences:   []metav1.OwnerReference{{UID: owner, Controller: &controller}},
		}}
	}
	maps := []metav1.PartialObjectMetadata{
		cm("old", "1", "nightly-uid", 1), cm("new", "2", "nightly-uid", 2),
		cm("at work", archive.Execution(m.benchmark), "nightly-uid", 3), cm("of a deleted one", "1", "other-uid", 4),
	}
	if got := m.RunsToRead(maps); !slices.Equal(got, []string{"new", "old"}) {
		t.Errorf("%q, want those of earlier executions, the latest first", got)
	}
	if got := m.Reference().Unusable; !strings.Contains(got, "nightly is not Complete: wait for it") {
		t.Errorf("%q", got)
	}
	m = ofReference(metav1.ConditionTrue)
	maps[2].Labels[archive.LabelExecution] = archive.Execution(m.benchmark)
	if got := m.RunsToRead(maps); len(got) != 3 || got[0] != "at work" {
		t.Errorf("%q, want also those of the execution in status", got)
	}
	for range 2 * MaxRuns {
		maps = append(maps, cm("more", "0", "nightly-uid", 0))
	}
	if got := m.RunsToRead(maps); len(got) != MaxRuns {
		t.Errorf("%d runs are read, want %d", len(got), MaxRuns)
	}
}

// compare ignores the differences that its user expects.
// A user who deletes or changes the fast runs of a reference must not choose the verdict.
func TestAllRunsOfTheLatestExecutionCount(t *testing.T) {
	for name, c := range map[string]struct {
		complete metav1.ConditionStatus
		state    v1alpha1.RunState
		found    []string
		damaged  string
		unusable string
	}{
		"all are there":                    {metav1.ConditionTrue, v1alpha1.RunValid, []string{"r1", "r2"}, "", ""},
		"one was deleted":                  {metav1.ConditionTrue, v1alpha1.RunValid, []string{"r2"}, "", "the results of run 1 of nightly were deleted or changed"},
		"one was replaced":                 {metav1.ConditionTrue, v1alpha1.RunValid, []string{"r1", "r2"}, "r1", "the results of run 1 of nightly were deleted or changed"},
		"an invalid one was deleted":       {metav1.ConditionTrue, "Invalid", []string{"r2"}, "", ""},
		"one of an execution that goes on": {metav1.ConditionFalse, v1alpha1.RunValid, []string{"r2"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := ofReference(c.complete)
			m.benchmark.Status.Runs = []v1alpha1.BenchmarkRun{{Number: 1, State: c.state, Results: "r1"}, {Number: 2, State: v1alpha1.RunValid, Results: "r2"}}
			var maps []metav1.PartialObjectMetadata
			for _, name := range c.found {
				maps = append(maps, metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name}})
			}
			m.RunsToRead(maps)
			if c.damaged != "" {
				m.Read(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: c.damaged, OwnerReferences: []metav1.OwnerReference{{UID: "nightly-uid", Controller: new(true)}}}})
			}
			m.Add("1", recorded(t))
			if got := m.Reference().Unusable; (got == "") != (c.unusable == "") || !strings.Contains(got, c.unusable) {
				t.Errorf("%q, want %q", got, c.unusable)
			}
		})
	}
}

// One damaged ConfigMap does not make the other runs of a reference unusable.
func TestDamagedResultsOfAReferenceDoNotCount(t *testing.T) {
	m := ofReference(metav1.ConditionTrue)
	damaged := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "nightly-1", OwnerReferences: []metav1.OwnerReference{{UID: "nightly-uid", Controller: new(true)}}}}
	if m.Read(damaged); !strings.Contains(m.Reference().Unusable, "nightly has no valid run whose results can be read: run it again, and then run this benchmark again (ConfigMap nightly-1") {
		t.Errorf("only a damaged run: %+v", m.Reference())
	}
	m.Add("1", recorded(t))
	if m.Read(damaged); len(m.Reference().Runs) != 1 || m.Reference().Unusable != "" {
		t.Errorf("a damaged run and a good one: %+v", m.Reference())
	}
}

func TestDifferencesThatAreIgnored(t *testing.T) {
	for name, c := range map[string]struct {
		workload Workload
		figures  int
	}{
		"another cluster and phase": {Workload{Digests: map[v1alpha1.PhaseName]string{"write": AnySpec}, Ignore: func(d string) bool { return strings.HasPrefix(d, "cluster:") }}, 1},
		"another cluster alone":     {Workload{Digests: map[v1alpha1.PhaseName]string{"write": AnySpec}}, 0},
		"a phase of the reference":  {Workload{Ignore: func(string) bool { return true }}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c.workload.Environment = here()
			m := NewMatch(&v1alpha1.CephBenchmark{}, "nightly.yaml", c.workload)
			m.Add("execution", recorded(t, func(r *archive.Run, d *quiescence.Detail) { d.FSID, r.Phases[0].SpecDigest = "other", "other" }))
			figures := 0
			for _, run := range m.Reference().Runs {
				figures += len(run.Figures)
			}
			if figures != c.figures {
				t.Errorf("%d phases count, want %d", figures, c.figures)
			}
		})
	}
}
