package compare

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/difference"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
)

var (
	slow = v1alpha1.Finding{Code: "SlowOSDs", Confidence: v1alpha1.ConfidenceLikely, Message: "osd.1 is slower than others of the class."}
	few  = v1alpha1.Finding{Code: "FewPGs", Confidence: v1alpha1.ConfidenceCertain, Message: "Only 1 of 3 OSDs serves pool apps."}
	logs = v1alpha1.Finding{Code: "DebugLogs", Confidence: v1alpha1.ConfidencePossible, Message: "OSDs write logs for debugging."}
)

// diagnosed adds a diagnosis of a run ID to a benchmark, and returns its results.
func diagnosed(t *testing.T, b *v1alpha1.CephBenchmark, runID string, asked v1alpha1.Diagnosis, slower time.Duration, checked []string, findings ...v1alpha1.Finding) *corev1.ConfigMap {
	t.Helper()
	b.Status = v1alpha1.CephBenchmarkStatus{ObservedRunID: v1alpha1.RunID(runID), StartTime: new(metav1.NewTime(clitest.Morning(len(runID))))}
	clitest.Complete(&b.Status.Conditions, "Findings.")
	d := &archive.Diagnosis{Asked: asked, Result: v1alpha1.DiagnosisResult{Checked: checked, Findings: findings}}
	if asked.Layers != nil {
		d.Windows = windows(t, slower)
	}
	b.Status.Diagnosis = &d.Result
	kept, err := archive.ConfigMap(b, &archive.Run{
		Number: 1, State: v1alpha1.RunValid, Environment: environment(t, "20.2.4"), StartTime: clitest.Morning(0), Diagnosis: d,
	})
	if err != nil {
		t.Fatal(err)
	}
	clitest.Record(t, b, kept)
	return kept
}

// windows returns what was recorded on the lab, with a client that is slower.
func windows(t *testing.T, slower time.Duration) json.RawMessage {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "design", "diagnosis", "testdata", "layers-ceph-20.2.4", "windows-busy.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []diagnosis.Window
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i].MeanSeconds += slower.Seconds()
	}
	if text, err = json.Marshal(all); err != nil {
		t.Fatal(err)
	}
	return text
}

func diagnosisNamed(name string) *v1alpha1.CephBenchmark {
	b := &v1alpha1.CephBenchmark{Spec: v1alpha1.CephBenchmarkSpec{Diagnosis: &v1alpha1.Diagnosis{}}}
	b.Name, b.Namespace, b.UID = name, clitest.Namespace, types.UID("uid-of-"+name)
	return b
}

func TestDiagnoses(t *testing.T) {
	all := []string{"SlowOSDs", "FewPGs", "DebugLogs"}
	ofApps := v1alpha1.Diagnosis{Pool: "apps"}
	layered := v1alpha1.Diagnosis{Pool: "apps", Layers: &v1alpha1.DiagnosisLayers{Copies: 3}}
	two := v1alpha1.Diagnosis{Pool: "apps", Layers: &v1alpha1.DiagnosisLayers{Copies: 2}}
	why := diagnosisNamed("why")
	objects := []client.Object{
		diagnosed(t, why, "1", ofApps, 0, all, few, logs),
		diagnosed(t, why, "22", ofApps, 0, all, slow, logs),
		diagnosed(t, why, "blind", ofApps, 0, []string{"FewPGs", "DebugLogs"}, logs),
		diagnosed(t, why, "sure", layered, 0, all, slow, few),
		diagnosed(t, why, "latest", layered, 10*time.Millisecond, all, logs),
		why,
	}
	other := diagnosisNamed("two-copies")
	objects = append(objects, diagnosed(t, other, "1", two, 10*time.Millisecond, all), other)
	objects = append(objects, benchmark(t, "nightly", "1", "20.2.4", "s", 100*mib)...)
	holding := clitest.Holding(t, objects...)
	for name, tc := range map[string]struct {
		line string
		code int
	}{
		"diagnoses one new one gone":             {"why@1 why@22", 3},
		"diagnoses none is worse":                {"why@22 why", 0},
		"diagnoses could not look":               {"why@22 why@blind", 4},
		"diagnoses with layers":                  {"why@sure why", 0},
		"diagnoses with layers as a page":        {"why@sure why -o html", 0},
		"diagnoses with layers as JSON":          {"why@sure why -o json", 0},
		"diagnoses with other loads":             {"why two-copies", 0},
		"diagnoses and a difference that is not": {"why@22 why --expect Ceph", 3},
		"diagnoses and a benchmark":              {"why nightly", 2},
		"diagnoses as a gate":                    {"why@1 why --max-regression 5%", 2},
		"diagnoses of a run ID that is not kept": {"why@0 why", 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Execute(t, NewCommand(clitest.Connecting(holding)), tc.line, "")
			if got.Code() != tc.code {
				t.Errorf("exit code %d: %v", got.Code(), got.Err)
			}
			clitest.Golden(t, name, "$ compare "+tc.line+"\n"+got.String(), *update)
		})
	}
}

// The same load says something else on a pool with another number of placement groups.
func TestLayersOfOtherPools(t *testing.T) {
	run := &archive.Run{Environment: environment(t, "20.2.4"), Diagnosis: &archive.Diagnosis{
		Asked: v1alpha1.Diagnosis{Layers: &v1alpha1.DiagnosisLayers{Copies: 3}}, Windows: windows(t, 0),
	}}
	for text, compared := range map[string]bool{"pool cephtune-scratch: pg_num 32, was 64": false, "config osd osd_mclock_profile: balanced": true} {
		c := &comparison{Differences: []difference.Difference{{Text: text}}}
		if err := c.diagnose(side{name: "a", runs: []*archive.Run{run}}, side{name: "b", runs: []*archive.Run{run}}); err != nil {
			t.Fatal(err)
		}
		if (len(c.Layers) > 0) != compared || strings.Contains(strings.Join(c.Notes, "\n"), "do not compare: "+text) == compared {
			t.Errorf("%s: %+v, %q", text, c.Layers, c.Notes)
		}
	}
}

// The file of an export is an operand, too.
func TestDiagnosesOfFiles(t *testing.T) {
	all := []string{"SlowOSDs"}
	why, later := diagnosisNamed("why"), diagnosisNamed("later")
	earlier := write(t, "earlier.yaml", diagnosed(t, why, "1", v1alpha1.Diagnosis{}, 0, all, slow), why)
	latest := write(t, "latest.yaml", diagnosed(t, later, "1", v1alpha1.Diagnosis{}, 0, all), later)
	got := clitest.Execute(t, NewCommand(clitest.Connecting(nil)), earlier+" "+latest, "")
	if got.Code() != 0 || !strings.Contains(got.Stdout, "0 new, 1 gone") || !strings.Contains(got.Stdout, "as trustworthy as the file") {
		t.Errorf("exit code %d: %s", got.Code(), got.String())
	}
}

func TestAnEarlierDiagnosis(t *testing.T) {
	why, later := diagnosisNamed("why"), diagnosisNamed("later")
	objects := append([]client.Object{
		diagnosed(t, why, "1", v1alpha1.Diagnosis{}, 0, []string{"SlowOSDs"}), why,
		diagnosed(t, later, "1", v1alpha1.Diagnosis{}, 0, []string{"SlowOSDs"}, slow), later,
	}, benchmark(t, "nightly", "1", "20.2.4", "s", 100*mib)...)
	connect := clitest.Connecting(clitest.Holding(t, objects...))
	earlier, err := ReadDiagnosis(t.Context(), connect, nil, "why@1")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := earlier.Compare(t.Context(), "later", &out, "table"); err == nil || !strings.Contains(err.Error(), "only B calls") || !strings.Contains(out.String(), "1 new, 0 gone") {
		t.Errorf("%v: %s", err, out.String())
	}
	if _, err := ReadDiagnosis(t.Context(), connect, nil, "nightly"); err == nil || !strings.Contains(err.Error(), "is no diagnosis") {
		t.Errorf("%v", err)
	}
	if _, err := ReadDiagnosis(t.Context(), connect, nil, "@"); err == nil {
		t.Error("no name, and no error")
	}
}
