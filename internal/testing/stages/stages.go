// Package stages stores objects of the API in files, at each stage of their life. The controllers' own
// functions create the objects. Tests check how other programs, such as Argo CD and kstatus, judge them.
package stages

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// Dir returns the folder with the stages of a kind. Argo CD's own tests expect the stages in this folder.
func Dir(t testing.TB, kind string) string {
	t.Helper()
	return filepath.Join(apiserver.Root(t), "config", "argocd", "resource_customizations", v1alpha1.GroupVersion.Group, kind, "testdata")
}

// updateGolden is the environment variable that makes Check write the files instead of comparing them.
const updateGolden = "UPDATE_GOLDEN"

// Check compares the stages of a kind, by name, with the files. If UPDATE_GOLDEN is set, Check writes the
// files instead. In both cases, it fails for a file without a stage.
func Check(t *testing.T, kind string, all map[string]runtime.Object) {
	t.Helper()
	dir := Dir(t, kind)
	for name, object := range all {
		t.Run(name, func(t *testing.T) {
			got, err := text(object)
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, name+".yaml")
			if os.Getenv(updateGolden) != "" {
				if err := os.WriteFile(file, got, 0o644); err != nil { //nolint:gosec // The file holds no secrets.
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got); if that is intended, run the test with UPDATE_GOLDEN=1, and then the test of hack/gitops:\n%s", file, diff)
			}
		})
	}
	for _, name := range names(t, dir) {
		if all[name] == nil {
			t.Errorf("%s/%s.yaml is not a stage: remove it", dir, name)
		}
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		all = append(all, strings.TrimSuffix(filepath.Base(file), ".yaml"))
	}
	slices.Sort(all)
	return all
}

// text returns an object as YAML. It adds apiVersion, which the objects of the tests lack.
func text(object runtime.Object) ([]byte, error) {
	plain, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, err
	}
	plain["apiVersion"] = v1alpha1.GroupVersion.String()
	return yaml.Marshal(plain)
}
