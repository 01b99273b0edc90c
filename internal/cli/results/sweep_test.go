package results

import (
	"io"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

func TestTheLastFailedRunThatIsKept(t *testing.T) {
	s := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Name: "pg-num", Namespace: "cephtune-bench"}, Spec: v1alpha1.CephTuningSweepSpec{RunID: "1"}}
	ledger := []sweepspec.Entry{{Reason: v1alpha1.TrialFailed}, {Reason: v1alpha1.TrialFailed}, {}}
	for limit, want := range map[int32]int{50: 2, 2: 2, 1: 0} {
		s.Spec.HistoryLimit = limit
		if got := failedRunToShow(s, ledger); got != want {
			t.Errorf("of the last %d trials: trial %d, want %d", limit, got, want)
		}
	}
	out := terminal.NewPage(io.Discard)
	s.Spec.HistoryLimit = 50
	writeNext(out, s, ledger)
	if want := "describe cephbench " + sweepspec.ChildName(s, 2); !strings.Contains(out.String(), want) || !strings.Contains(out.String(), "why trial 2 failed") {
		t.Errorf("%s\nwant %s", out.String(), want)
	}
}

// switched is a sweep in its first session, with figures of the last one.
func switched() *v1alpha1.CephTuningSweep {
	s := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Name: "mclock", Namespace: clitest.Namespace, UID: "u"}}
	s.Spec.RunID = "1"
	s.Spec.Objective.MetricReference = v1alpha1.MetricReference{Phase: "randread", Metric: v1alpha1.MetricIOPS}
	s.Status = v1alpha1.CephTuningSweepStatus{
		ObservedRunID: "1", Plan: &v1alpha1.SweepPlan{Design: v1alpha1.DesignInterleaved, Sessions: 1, Configurations: 1},
		Progress: &v1alpha1.Progress{Summary: "pair 5 of 8, 0.71–0.94 so far, about 2 min"},
		Trials: []v1alpha1.Trial{{
			Number: 1, State: v1alpha1.TrialValid, Windows: v1alpha1.WindowsShort, DurationSeconds: 300, BaselineObjective: "41200",
			Comparisons: []v1alpha1.TrialComparison{{Configuration: 1, Blocks: 4, Objective: "52000", Ratio: "1.262", Deviation: "0.02"}},
		}},
		Configurations: []v1alpha1.ConfigurationResult{
			{Index: 0, Name: "osd_mclock_profile=balanced", Runs: 1, Figure: "41.2k IOPS"},
			{Index: 1, Name: "osd_mclock_profile=high_client_ops", Runs: 1, Figure: "52k IOPS", Ratio: "1.262", Low: "1.21", High: "1.31", Verdict: v1alpha1.VerdictSuperior, Reason: "ThresholdExceeded"},
		},
		Conditions: []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonRunning, Message: "Session 2.", LastTransitionTime: metav1.NewTime(time.Unix(0, 0))},
			{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRunning, LastTransitionTime: metav1.NewTime(time.Unix(0, 0))},
		},
	}
	return s
}

func TestResultsOfASweep(t *testing.T) {
	fresh := switched()
	fresh.Name, fresh.Status = "fresh", v1alpha1.CephTuningSweepStatus{}
	c := clitest.Holding(t, switched(), fresh)
	run := func(line string) clitest.Outcome {
		return clitest.Execute(t, NewCommand(clitest.Connecting(c)), line, "")
	}
	got := run("mclock")
	t.Log(got.Stdout)
	for _, want := range []string{"Not ended: Running, pair 5 of 8", "41.2k IOPS", "52k IOPS", "1.262", "1        osd_mclock", "higher is better"} {
		if got.Err != nil || !strings.Contains(got.Stdout, want) {
			t.Errorf("%v, want %q in it", got.Err, want)
		}
	}
	if csv := run("mclock -o csv"); csv.Err != nil || !strings.Contains(csv.Stdout, "operationsPerSecond,41200,52000") {
		t.Errorf("%v\n%s", csv.Err, csv.Stdout)
	}
	if yaml := run("mclock -o yaml"); yaml.Err != nil || !strings.Contains(yaml.Stdout, "figure: 52k IOPS") {
		t.Errorf("%v\n%s", yaml.Err, yaml.Stdout)
	}
	for line, want := range map[string]string{"mclock --run 1": "is a sweep", "fresh": "no results yet"} {
		if got := run(line); got.Err == nil || !strings.Contains(got.Err.Error(), want) {
			t.Errorf("%s: %v, want %q", line, got.Err, want)
		}
	}
}
