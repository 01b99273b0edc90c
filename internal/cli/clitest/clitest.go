// Package clitest has helpers that the tests of the subcommands share.
package clitest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// Namespace is the namespace that the commands use in tests.
const Namespace = "cephtune-bench"

// Morning returns a time on a fixed day, the given number of minutes after 06:00 UTC.
func Morning(minutes int) time.Time {
	return time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

// Hurried returns a Pace that polls every millisecond, and accepts 50 ms without an answer.
func Hurried() object.Pace {
	return object.Pace{Every: time.Millisecond, Deadline: 50 * time.Millisecond}
}

// Holding returns the client of a fake cluster with the given objects.
func Holding(t testing.TB, objects ...client.Object) client.WithWatch {
	t.Helper()
	scheme, err := kube.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{List: lister(t)}).Build()
}

// Connecting returns a Connect function that yields the given client.
func Connecting(c client.WithWatch) object.Connect {
	return func() (client.WithWatch, string, error) { return c, Namespace, nil }
}

// Outcome is the output and the error of a command line.
type Outcome struct {
	Stdout, Stderr string
	Err            error
}

// Code returns the exit code that the error yields.
func (o Outcome) Code() int { return exit.Code(o.Err) }

// String returns the outcome in the form of golden files.
func (o Outcome) String() string {
	return fmt.Sprintf("--- stdout\n%s--- stderr\n%s--- error\n%v\n--- exit code %d\n", o.Stdout, o.Stderr, o.Err, o.Code())
}

// Execute runs a command. The parameter line holds the command's arguments, separated by spaces.
func Execute(t testing.TB, cmd *cobra.Command, line, stdin string) Outcome {
	t.Helper()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(strings.Fields(line))
	var out, errOut bytes.Buffer
	cmd.SetIn(strings.NewReader(stdin))
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	err := cmd.ExecuteContext(t.Context())
	return Outcome{Stdout: out.String(), Stderr: errOut.String(), Err: err}
}

// Golden compares a text with a file in testdata/golden. If the parameter update is true, it writes
// the file first.
func Golden(t testing.TB, name, got string, update bool) {
	t.Helper()
	file := filepath.Join("testdata", "golden", strings.ReplaceAll(name, " ", "-"))
	if filepath.Ext(file) == "" {
		file += ".golden"
	}
	if update {
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// SampleFile returns the path of a sample in config/samples.
func SampleFile(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(apiserver.Root(t), "config", "samples", name+".yaml")
}

// Sample reads a sample of config/samples, and sets a UID, a generation and a creation time, as the
// API server does.
func Sample[T client.Object](t testing.TB, name string, target T) T {
	t.Helper()
	text, err := os.ReadFile(SampleFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, target); err != nil {
		t.Fatal(err)
	}
	target.SetUID("4f6b2e0c-0000-4000-8000-000000000001")
	target.SetGeneration(1)
	target.SetCreationTimestamp(metav1.NewTime(Morning(0)))
	return target
}

// Sweep returns a sweep of config/samples. Its status shows that the operator has observed its run ID.
func Sweep(t testing.TB, name string) *v1alpha1.CephTuningSweep {
	t.Helper()
	s := Sample(t, "cephtuningsweep_"+name, &v1alpha1.CephTuningSweep{})
	s.Spec.RunID, s.Status.ObservedRunID, s.Status.ObservedGeneration = "1", "1", 1
	return s
}

// Benchmark returns a benchmark of config/samples. Its status shows that the operator has observed its
// run ID.
func Benchmark(t testing.TB, name string) *v1alpha1.CephBenchmark {
	t.Helper()
	b := Sample(t, "cephbenchmark_"+name, &v1alpha1.CephBenchmark{})
	b.Spec.RunID, b.Status.ObservedRunID, b.Status.ObservedGeneration = "1", "1", 1
	return b
}

// Set sets the condition of the type that the parameter kind names.
func Set(conditions *[]metav1.Condition, kind string, status metav1.ConditionStatus, reason, message string) {
	meta.SetStatusCondition(conditions, metav1.Condition{
		Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(Morning(1)),
	})
}

// Record enters the run in a ConfigMap into a benchmark's status, as the operator does.
func Record(t testing.TB, b *v1alpha1.CephBenchmark, cm *corev1.ConfigMap) {
	t.Helper()
	run, err := archive.FromConfigMap(cm)
	if err != nil {
		t.Fatal(err)
	}
	b.Status.Runs = append(b.Status.Runs, v1alpha1.BenchmarkRun{
		Number: run.Number, State: run.State, Reason: run.Reason, Results: cm.Name, ResultsDigest: archive.Digest(cm),
	})
}

// Complete sets the conditions of an object that has ended with a result.
func Complete(conditions *[]metav1.Condition, message string) {
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionReconciling)
	Set(conditions, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonComplete, message)
	Set(conditions, v1alpha1.ConditionComplete, metav1.ConditionTrue, v1alpha1.ReasonComplete, message)
}

// Fail sets the conditions of an object that has failed.
func Fail(conditions *[]metav1.Condition, reason, message string) {
	meta.RemoveStatusCondition(conditions, v1alpha1.ConditionReconciling)
	Set(conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	Set(conditions, v1alpha1.ConditionStalled, metav1.ConditionTrue, reason, message)
	Set(conditions, v1alpha1.ConditionFailed, metav1.ConditionTrue, reason, message)
}

// GoOn sets the conditions of an object that is in progress.
func GoOn(conditions *[]metav1.Condition, reason, message string) {
	Set(conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, reason, message)
	Set(conditions, v1alpha1.ConditionReconciling, metav1.ConditionTrue, reason, message)
}

// Recorded returns a sweep that has ended. Its plan, runs and status come from a golden file of the
// planner's tests; the parameter transcript is the name of the file without the extension .golden.
func Recorded(t testing.TB, sample, transcript string) *v1alpha1.CephTuningSweep {
	t.Helper()
	s := Sweep(t, sample)
	s.Spec.Mode = v1alpha1.SweepModeRun
	text, err := os.ReadFile(filepath.Join(apiserver.Root(t), "internal", "sweepspec", "testdata", transcript+".golden"))
	if err != nil {
		t.Fatal(err)
	}
	trial := regexp.MustCompile(`: (\{"number":.*\})$`)
	var plan, status []string
	section := &plan
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		if match := trial.FindStringSubmatch(line); match != nil {
			s.Status.Trials = append(s.Status.Trials, v1alpha1.Trial{})
			unmarshal(t, match[1:], &s.Status.Trials[len(s.Status.Trials)-1])
			section = nil
		}
		if line == "status:" {
			section = &status
		}
		if section != nil {
			*section = append(*section, line)
		}
	}
	unmarshal(t, plan, &s.Status)
	unmarshal(t, status, &struct {
		Status *v1alpha1.CephTuningSweepStatus `json:"status"`
	}{&s.Status})
	s.Status.StartTime, s.Status.CompletionTime = new(metav1.NewTime(Morning(0))), new(metav1.NewTime(Morning(78)))
	s.Status.ObservedGeneration, s.Status.ObservedRunID = s.Generation, s.Spec.RunID
	meta.RemoveStatusCondition(&s.Status.Conditions, v1alpha1.ConditionReconciling)
	Set(&s.Status.Conditions, v1alpha1.ConditionComplete, metav1.ConditionTrue, v1alpha1.ReasonComplete, s.Status.Summary)
	Set(&s.Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonComplete, s.Status.Summary)
	return s
}

func unmarshal(t testing.TB, lines []string, target any) {
	t.Helper()
	if err := yaml.UnmarshalStrict([]byte(strings.Join(lines, "\n")), target); err != nil {
		t.Fatal(err)
	}
}
