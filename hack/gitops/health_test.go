package gitops

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/testing/constants"
)

const (
	customizations = "../../config/argocd/resource_customizations/cephtune.dev"
	configMap      = "../../config/argocd/argocd-cm.yaml"
	conditionsFile = "../../api/v1alpha1/conditions.go"
)

func kinds() []string { return []string{"CephBenchmark", "CephTuningSweep"} }

// TestHealth runs the tests of the health scripts, which have the format of Argo CD's own tests.
func TestHealth(t *testing.T) {
	for _, kind := range kinds() {
		var file struct {
			Tests []struct {
				InputPath    string `json:"inputPath"`
				HealthStatus health `json:"healthStatus"`
			} `json:"tests"`
		}
		read(t, filepath.Join(customizations, kind, "health_test.yaml"), &file)
		tested := map[string]bool{}
		for _, tc := range file.Tests {
			tested[tc.InputPath] = true
			t.Run(kind+"/"+tc.InputPath, func(t *testing.T) {
				got := healthOf(t, kind, stage(t, kind, tc.InputPath))
				if diff := cmp.Diff(tc.HealthStatus, got); diff != "" {
					t.Errorf("health (-want +got):\n%s", diff)
				}
				if name := filepath.Base(tc.InputPath); !strings.HasPrefix(name, strings.ToLower(got.Status)+"_") && name != strings.ToLower(got.Status)+".yaml" {
					t.Errorf("it is %s, and the file is called %s", got.Status, name)
				}
			})
		}
		for _, path := range stagesOf(t, kind) {
			if !tested[path] {
				t.Errorf("health_test.yaml of %s does not have %s", kind, path)
			}
		}
	}
}

// This test combines every reason with every function that the controllers use to set conditions.
func TestEveryReasonHasAHealth(t *testing.T) {
	marks := map[string]struct {
		apply func(*[]metav1.Condition, int64, kstatus.Outcome)
		want  string
	}{
		"reconciling": {kstatus.MarkReconciling, "Progressing"},
		"stalled":     {kstatus.MarkStalled, "Degraded"},
		"ready":       {kstatus.MarkReady, "Healthy"},
		"complete":    {ended(v1alpha1.ConditionComplete), "Healthy"},
		"failed":      {ended(v1alpha1.ConditionFailed), "Degraded"},
	}
	reasons := reasons(t)
	if len(reasons) < 30 {
		t.Fatalf("found %d reasons in %s: is it read rightly?", len(reasons), conditionsFile)
	}
	for _, kind := range kinds() {
		for _, reason := range reasons {
			for name, mark := range marks {
				o := kstatus.Outcome{Reason: reason, Message: "Because of " + reason + "."}
				want := health{mark.want, o.Message}
				if got := healthOf(t, kind, marked(kind, mark.apply, o)); got != want {
					t.Errorf("%s, %s because of %s: %+v, want %+v", kind, name, reason, got, want)
				}
			}
			// The run has neither begun nor ended. Only a suspended object has the health Suspended
			// then.
			o := kstatus.Outcome{Reason: reason, Message: "Because of " + reason + "."}
			want := health{"Progressing", o.Message}
			if reason == v1alpha1.ReasonSuspended {
				want.Status = "Suspended"
			}
			if got := healthOf(t, kind, marked(kind, kstatus.MarkIdle, o)); got != want {
				t.Errorf("%s, idle because of %s: %+v, want %+v", kind, reason, got, want)
			}
		}
	}
}

// This test combines every verdict with a failOn that lists it, and with one that does not.
func TestEveryVerdictHasAHealth(t *testing.T) {
	verdicts := append(stringsOf(
		v1alpha1.VerdictSuperior, v1alpha1.VerdictBetter, v1alpha1.VerdictEquivalent, v1alpha1.VerdictInferior, v1alpha1.VerdictInconclusive, v1alpha1.VerdictInvalid),
		stringsOf(v1alpha1.BenchmarkPassed, v1alpha1.BenchmarkFailed, v1alpha1.BenchmarkInconclusive, v1alpha1.BenchmarkInvalid, "")...)
	for _, kind := range kinds() {
		for _, verdict := range verdicts {
			for want, failOn := range map[string][]string{"Healthy": nil, "Degraded": {verdict}} {
				if verdict == "" { // A benchmark without expectations has no verdict.
					want = "Healthy"
				}
				mark := func(conditions *[]metav1.Condition, generation int64, _ kstatus.Outcome) {
					end, o := kstatus.Judge(verdict, failOn, "It is 4 % faster.")
					ended(end)(conditions, generation, o)
				}
				got := healthOf(t, kind, marked(kind, mark, kstatus.Outcome{}))
				if got.Status != want || !strings.Contains(got.Message, "It is 4 % faster.") {
					t.Errorf("%s with verdict %q, failOn %q: %+v, want %s and the sentence", kind, verdict, failOn, got, want)
				}
			}
		}
	}
}

// The operator does not write such a status, but an object that was restored from a backup may have
// it.
func TestTheEndOfAnotherRunIsNone(t *testing.T) {
	for _, kind := range kinds() {
		object := marked(kind, kstatus.MarkReady, kstatus.Outcome{Reason: v1alpha1.ReasonComplete, Message: "It is 4 % faster."})
		object["spec"] = map[string]any{"runID": "2"}
		if got := healthOf(t, kind, object); got.Status != "Progressing" || strings.Contains(got.Message, "faster") {
			t.Errorf("%s: %+v, want Progressing, and nothing of the run before", kind, got)
		}
	}
}

func TestBothKindsHaveTheSameScript(t *testing.T) {
	if diff := cmp.Diff(script(t, kinds()[0]), script(t, kinds()[1])); diff != "" {
		t.Errorf("the scripts differ:\n%s", diff)
	}
}

func TestTheConfigMapHasTheScripts(t *testing.T) {
	var patch struct {
		Data map[string]string `json:"data"`
	}
	read(t, configMap, &patch)
	want := map[string]string{}
	for _, kind := range kinds() {
		want["resource.customizations.health.cephtune.dev_"+kind] = script(t, kind)
	}
	if diff := cmp.Diff(want, patch.Data); diff != "" {
		t.Errorf("%s is not what \"make generate\" makes of the scripts (-want +got):\n%s", configMap, diff)
	}
}

// ended returns a function that sets conditions as controllers do at the end of a run.
func ended(kind string) func(*[]metav1.Condition, int64, kstatus.Outcome) {
	return func(conditions *[]metav1.Condition, generation int64, o kstatus.Outcome) {
		*conditions = append(*conditions, metav1.Condition{
			Type: kind, Status: metav1.ConditionTrue, Reason: o.Reason, Message: o.Message, ObservedGeneration: generation,
		})
		kstatus.MarkEnded(conditions, generation)
	}
}

// marked returns an object of the kind with the conditions that mark sets.
func marked(kind string, mark func(*[]metav1.Condition, int64, kstatus.Outcome), o kstatus.Outcome) map[string]any {
	const generation = 7
	var conditions []metav1.Condition
	mark(&conditions, generation, o)
	status := v1alpha1.CephTuningSweepStatus{ObservedGeneration: generation, ObservedRunID: "1", Conditions: conditions}
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		panic(err) // The conversion of a valid struct cannot fail.
	}
	return map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": kind,
		"metadata": map[string]any{"name": "x", "namespace": "y", "generation": int64(generation)},
		"spec":     map[string]any{"runID": "1"}, "status": plain,
	}
}

// reasons returns the values of all constants of the API whose names begin with Reason.
func reasons(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, c := range constants.Of(t, conditionsFile) {
		if strings.HasPrefix(c.Name, "Reason") {
			all = append(all, c.Value)
		}
	}
	slices.Sort(all)
	return all
}

func stringsOf[V ~string](values ...V) []string {
	var all []string
	for _, v := range values {
		all = append(all, string(v))
	}
	return all
}

func healthOf(t *testing.T, kind string, object map[string]any) health {
	t.Helper()
	got, err := run(t.Context(), script(t, kind), object)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func script(t *testing.T, kind string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(customizations, kind, "health.lua"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// stagesOf returns the files with the stages of a kind, with paths as in health_test.yaml.
func stagesOf(t *testing.T, kind string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(customizations, kind, "testdata", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no stages of %s: %v", kind, err)
	}
	for i, file := range files {
		files[i] = "testdata/" + filepath.Base(file)
	}
	return files
}

// stage reads an object from a file as a client would, with integers as int64.
func stage(t *testing.T, kind, path string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(customizations, kind, path))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(plain); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if object.GroupVersionKind() != v1alpha1.GroupVersion.WithKind(kind) {
		t.Fatalf("%s is a %s", path, object.GroupVersionKind())
	}
	return object.Object
}

func read(t *testing.T, file string, target any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(text, target); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
