package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const manifests = `
apiVersion: v1
kind: ConfigMap
metadata:
  name: one
  labels: {grafana_dashboard: "1"}
  annotations: {grafana_folder: Ceph}
data: {one.json: '{"uid": "one"}'}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: another}
data: {another.json: '{"uid": "another"}'}
---
apiVersion: v1
kind: Secret
metadata:
  name: secret
  labels: {grafana_dashboard: "1"}
data: {secret.json: e30=}
`

func TestOnlyConfigMapsWithTheLabelAreWritten(t *testing.T) {
	folder := t.TempDir()
	if err := run(strings.NewReader(manifests), folder); err != nil {
		t.Fatal(err)
	}

	files, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(folder, "Ceph", "one.json"); len(files) != 1 || files[0] != want {
		t.Fatalf("it wrote %q, want %s alone", files, want)
	}
	if text, err := os.ReadFile(files[0]); err != nil || string(text) != `{"uid": "one"}` {
		t.Errorf("%s holds %q (%v)", files[0], text, err)
	}
}

func TestNoDashboardIsAnError(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":          "",
		"without a label":  strings.Replace(manifests, "grafana_dashboard", "grafana_dashbord", 1),
		"what is not YAML": "{",
	} {
		t.Run(name, func(t *testing.T) {
			if err := run(strings.NewReader(text), t.TempDir()); err == nil {
				t.Error("it has no error")
			}
		})
	}
}
