package watch

import (
	"context"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

var update = flag.Bool("update", false, "write the golden files")

func winner(t testing.TB) *v1alpha1.CephTuningSweep {
	s := recorded(t, "osd_option", "two-osd-options")
	setCondition(s, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonRestored, "Everything was read back at its original value.")
	return s
}

func undecided(t testing.TB) *v1alpha1.CephTuningSweep {
	s := recorded(t, "plan", "pg-num-in-place")
	setCondition(s, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonLeftAlone,
		"Pg_num of pool replicapool was 64 before, and something else has changed it to 100: left as it is.")
	return s
}

func failed(t testing.TB) *v1alpha1.CephTuningSweep {
	s := undecided(t)
	s.Status.Trials, s.Status.Configurations, s.Status.Conditions = s.Status.Trials[:5], s.Status.Configurations[:1], nil
	s.Status.Configurations[0].Runs, s.Status.Progress.Summary, s.Status.Progress.CompletedRuns = 2, "5/39 runs", 5
	s.Status.Best, s.Status.Effect, s.Status.Verdict, s.Status.Summary, s.Status.Noise = "", "", "", "", nil
	conclude(s, v1alpha1.ConditionFailed, v1alpha1.ReasonClusterUnhealthy, "Ceph has reported HEALTH_ERR since settings were changed: OSD_FULL (1 full osd(s)).")
	setCondition(s, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonRestored, "Everything was read back at its original value.")
	return s
}

func planned(t testing.TB) *v1alpha1.CephTuningSweep {
	s := undecided(t)
	plan := s.Status.Plan
	plan.Refusals = []string{"The administrator does not allow varying pg_num of pool replicapool: add it to the options of cluster rook-ceph/my-cluster in the operator config."}
	s.Spec.Mode, s.Status = v1alpha1.SweepModePlan, v1alpha1.CephTuningSweepStatus{Plan: plan}
	conclude(s, v1alpha1.ConditionComplete, v1alpha1.ReasonPlanned, "The plan is in status: 40 to 72 runs, at most 3h55m52s.")
	return s
}

func notAllowed(t testing.TB) *v1alpha1.CephTuningSweep {
	s := sample(t, "lab")
	conclude(s, v1alpha1.ConditionFailed, v1alpha1.ReasonNotAllowed, "The operator config does not list CephCluster my-cluster in namespace rook-ceph.")
	s.Status.Conditions = s.Status.Conditions[1:] // It never began, so it has not failed.
	s.Status.ObservedRunID = ""
	return s
}

// nightly returns an ended benchmark and the archive of its run.
func nightly(t testing.TB) (*v1alpha1.CephBenchmark, client.Object) {
	t.Helper()
	b := &v1alpha1.CephBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: clitest.Namespace, Name: "nightly", UID: "4f9c", Generation: 3},
		Spec:       v1alpha1.CephBenchmarkSpec{HistoryLimit: 5, RunID: "2"},
		Status: v1alpha1.CephBenchmarkStatus{
			ObservedGeneration: 3, ObservedRunID: "2", StartTime: new(metav1.NewTime(clitest.Morning(0))), CompletionTime: new(metav1.NewTime(clitest.Morning(3))),
			Headline: "write-4m 384 MiB/s", Verdict: v1alpha1.BenchmarkPassed, Summary: "Passed: write-4m Bandwidth is 384 MiB/s, at least 300Mi.",
			Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonComplete, Message: "The results are in status."},
				{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonComplete, Message: "The results are in status."},
			},
		},
	}
	res := &result.Result{
		SchemaVersion: result.SchemaVersion, Clients: 1, Source: result.Source{Tool: result.ToolFIO, Format: "fio-json"},
		Write: &result.Direction{
			Operations: 5760, Bytes: 5760 * (4 << 20), Seconds: 60, ShortestSeconds: 60,
			Latency: &result.Latency{Moments: result.MomentsFromStddev(5760, 0.16, 0.01)},
		},
	}
	reports := []task.Report{{Status: task.Status{ID: "t", State: task.Done}, Result: res}}
	observed, err := figure.Observe(reports, engine.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := archive.ConfigMap(b, &archive.Run{
		Number: 1, State: v1alpha1.RunValid, StartTime: clitest.Morning(1), EndTime: clitest.Morning(2),
		Phases: []archive.Phase{{Name: "write-4m", Observation: &observed, Clients: reports, StartSpreadSeconds: new(0.01)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	clitest.Record(t, b, kept)
	return b, kept
}

func unschedulable(t testing.TB) *v1alpha1.CephBenchmark {
	b, _ := nightly(t)
	b.Status.Headline, b.Status.Verdict, b.Status.Summary, b.Status.Runs = "", "", "", nil
	b.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient cpu."},
		{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient cpu."},
		{Type: v1alpha1.ConditionFailed, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonUnschedulable, Message: "0/1 nodes are available: 1 Insufficient cpu."},
	}
	return b
}

// watching returns the command for a cluster, at eight o'clock.
func watching(c client.WithWatch, p pace) *cobra.Command {
	return newCommand(surroundings{
		connect: clitest.Connecting(c), now: func() time.Time { return clitest.Morning(120) }, pace: p,
	})
}

func TestGolden(t *testing.T) {
	benchmark, kept := nightly(t)
	for name, c := range map[string]struct {
		objects []client.Object
		line    string
	}{
		"a winner":                        {[]client.Object{winner(t)}, "mclock-profile"},
		"a winner on scratch pools":       {[]client.Object{recorded(t, "pg_num", "pg-num-on-scratch-pools")}, "cephtuningsweep/pg-num"},
		"nothing is decided":              {[]client.Object{undecided(t)}, "cephsweep/pg-num-in-place"},
		"a sweep that failed":             {[]client.Object{failed(t)}, "cephtuningsweep pg-num-in-place"},
		"a plan with a refusal":           {[]client.Object{planned(t)}, "cephtuningsweeps.cephtune.dev/pg-num-in-place"},
		"a sweep that is not allowed":     {[]client.Object{notAllowed(t)}, "lab"},
		"a benchmark":                     {[]client.Object{benchmark, kept}, "cephbenchmark/nightly"},
		"a benchmark that failed":         {[]client.Object{unschedulable(t)}, "cephbench nightly"},
		"yaml of a sweep that failed":     {[]client.Object{failed(t)}, "pg-num-in-place -o yaml"},
		"json of a plan":                  {[]client.Object{planned(t)}, "pg-num-in-place -o json"},
		"error no such sweep":             {nil, "pg-num"},
		"error no such benchmark":         {nil, "cephbenchmark/nightly"},
		"usage no name":                   {nil, ""},
		"usage an empty name":             {nil, "cephbenchmark/"},
		"usage three arguments":           {nil, "cephbenchmark nightly weekly"},
		"usage two names":                 {nil, "cephbenchmark/nightly cephbenchmark/weekly"},
		"usage a kind of something else":  {nil, "pod/nightly"},
		"usage unknown output":            {nil, "nightly -o wide"},
		"usage a timeout that is no time": {nil, "nightly --timeout -1s"},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Execute(t, watching(clitest.Holding(t, c.objects...), defaultPace()), c.line, "")
			clitest.Golden(t, name, "$ kubectl cephtune watch "+c.line+"\n"+got.String(), *update)
		})
	}
}

// A user who may not read results still sees the outcome, because it is in status.
func TestAVerdictNeedsNoDetails(t *testing.T) {
	benchmark, kept := nightly(t)
	blind := interceptor.NewClient(clitest.Holding(t, benchmark, kept), interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if _, ok := list.(*corev1.ConfigMapList); ok {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no"))
			}
			return c.List(ctx, list, opts...)
		},
	})
	got := clitest.Execute(t, watching(blind, defaultPace()), "cephbenchmark/nightly", "")
	if got.Err != nil || !strings.Contains(got.Stdout, benchmark.Status.Summary) || !strings.Contains(got.Stdout, "details cannot be shown") {
		t.Errorf("%v\n%s", got.Err, got.Stdout)
	}
}
