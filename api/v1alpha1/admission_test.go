package v1alpha1_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

const namespace = "cephtune-bench"

// TestAdmission asks a real API server what it takes, what it refuses with which
// words, and what it fills in.
func TestAdmission(t *testing.T) {
	config := apiserver.Start(t)
	c := newClient(t, config)
	t.Run("samples", func(t *testing.T) { testSamples(t, c) })
	t.Run("documentation", func(t *testing.T) { testDocumentation(t, c) })
	t.Run("defaults", func(t *testing.T) { testDefaults(t, c) })
	t.Run("benchmarks", func(t *testing.T) { testCreate(t, c, minimalBenchmark, benchmarkCases) })
	t.Run("sweeps", func(t *testing.T) { testCreate(t, c, minimalSweep, sweepCases) })
	t.Run("schedules of benchmarks", func(t *testing.T) { testCreate(t, c, minimalBenchmark, scheduleCases) })
	t.Run("schedules of sweeps", func(t *testing.T) { testCreate(t, c, minimalSweep, scheduleCases) })
	t.Run("changes of benchmarks", func(t *testing.T) { testChange(t, c, minimalBenchmark, benchmarkChanges) })
	t.Run("changes of sweeps", func(t *testing.T) { testChange(t, c, minimalSweep, sweepChanges) })
	t.Run("columns", func(t *testing.T) { testColumns(t, config, c) })
	t.Run("width", func(t *testing.T) { testWidth(t, config, c) })
	t.Run("changes with a schedule", func(t *testing.T) { testScheduledChanges(t, c) })
	t.Run("a schedule added in a change", func(t *testing.T) { testAddedSchedule(t, c) })
	t.Run("field selectors", func(t *testing.T) { testFieldSelectors(t, c) })
}

// A specCase is a merge patch, in YAML, for the spec of a minimal object.
type specCase struct {
	patch string
	// wantRefusal is a part of the message; empty, the object is accepted.
	wantRefusal string
}

func testSamples(t *testing.T, c client.Client) {
	var files []string
	for _, folder := range []string{"config/samples/ceph*.yaml", "test/e2e/recipes/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(apiserver.Root(t), filepath.FromSlash(folder)))
		if err != nil || len(found) == 0 {
			t.Fatalf("no %s: %v", folder, err)
		}
		files = append(files, found...)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Create(deadline(t), parse(t, string(text)), client.DryRunAll); err != nil {
				t.Error(err)
			}
		})
	}
}

// testDocumentation has every example of the documentation admitted. One that is a part
// of a spec is tried as a change of the minimal sweep.
func testDocumentation(t *testing.T, c client.Client) {
	root := apiserver.Root(t)
	found := 0
	for _, file := range documentation(t, root) {
		for i, example := range yamlExamples(t, file) {
			found++
			t.Run(fmt.Sprintf("%s %d", strings.TrimPrefix(file, root+"/"), i+1), func(t *testing.T) {
				object := parse(t, example)
				if object.GetAPIVersion() == "" {
					object = parse(t, minimalSweep)
					mergeSpec(t, object, example)
				}
				if err := c.Create(deadline(t), object, client.DryRunAll); err != nil {
					t.Errorf("%v\n%s", err, example)
				}
			})
		}
	}
	if found < 12 {
		t.Errorf("found %d examples: are they marked as yaml?", found)
	}
}

// documentation is the README and every page in docs and the folders below it.
func documentation(t *testing.T, root string) []string {
	t.Helper()
	files := []string{filepath.Join(root, "README.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(file string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && filepath.Ext(file) == ".md" {
			files = append(files, file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// yamlExamples are the blocks of a Markdown file that are marked as YAML. What belongs to
// other programs is marked as yml, which looks the same.
func yamlExamples(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var examples []string
	for _, match := range regexp.MustCompile("(?ms)^ *```yaml\\n(.*?)^ *```$").FindAllStringSubmatch(string(text), -1) {
		examples = append(examples, match[1])
	}
	return examples
}

func testDefaults(t *testing.T, c client.Client) {
	for _, name := range []string{"benchmark", "sweep"} {
		t.Run(name, func(t *testing.T) {
			object := parse(t, map[string]string{"benchmark": minimalBenchmark, "sweep": minimalSweep}[name])
			if err := c.Create(deadline(t), object, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			text, err := os.ReadFile(filepath.Join("testdata", "defaults", name+".yaml"))
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]any{}
			if err := yaml.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			if err := yaml.Unmarshal(mustYAML(t, object.Object["spec"]), &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("the spec with its defaults (-want +got):\n%s\nin full:\n%s", diff, mustYAML(t, got))
			}
		})
	}
}

func testCreate(t *testing.T, c client.Client, base string, cases map[string]specCase) {
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := parse(t, base)
			mergeSpec(t, object, tc.patch)
			checkRefusal(t, c.Create(deadline(t), object, client.DryRunAll), tc.wantRefusal)
		})
	}
}

func testChange(t *testing.T, c client.Client, base string, cases map[string]specCase) {
	object := parse(t, base)
	if err := c.Create(deadline(t), object); err != nil {
		t.Fatal(err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			patch, err := yaml.YAMLToJSON([]byte("spec: " + indent(tc.patch)))
			if err != nil {
				t.Fatal(err)
			}
			changed := object.DeepCopy()
			err = c.Patch(deadline(t), changed, client.RawPatch("application/merge-patch+json", patch), client.DryRunAll)
			checkRefusal(t, err, tc.wantRefusal)
		})
	}
}

func checkRefusal(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused, want it accepted: %v", err)
	case want != "" && err == nil:
		t.Errorf("accepted, want it refused with %q", want)
	case want != "" && !apierrors.IsInvalid(err) && !apierrors.IsBadRequest(err):
		t.Errorf("got error %v, want a refusal", err)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("refused with:\n%v\nwant:\n%s", err, want)
	}
	if n := len(causes(err)); n > 1 {
		t.Errorf("refused for %d reasons, want the one that the case is about: %v", n, err)
	}
}

// causes are what the API server found wrong.
func causes(err error) []metav1.StatusCause {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	return slices.DeleteFunc(status.Status().Details.Causes, func(cause metav1.StatusCause) bool {
		return strings.Contains(cause.Message, "some validation rules were not checked")
	})
}

func newClient(t *testing.T, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
	if err := c.Create(deadline(t), ns); err != nil {
		t.Fatal(err)
	}
	return client.WithFieldValidation(c, metav1.FieldValidationStrict)
}

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func mergeSpec(t *testing.T, object *unstructured.Unstructured, patch string) {
	t.Helper()
	spec, err := json.Marshal(object.Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	change, err := yaml.YAMLToJSON([]byte(patch))
	if err != nil {
		t.Fatal(err)
	}
	merged, err := jsonpatch.MergePatch(spec, change)
	if err != nil {
		t.Fatal(err)
	}
	changed := map[string]any{}
	if err := yaml.Unmarshal(merged, &changed); err != nil {
		t.Fatal(err)
	}
	object.Object["spec"] = changed
}

func mustYAML(t *testing.T, value any) []byte {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func indent(text string) string {
	return strings.ReplaceAll("\n"+strings.TrimSpace(text), "\n", "\n  ")
}

func deadline(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}
