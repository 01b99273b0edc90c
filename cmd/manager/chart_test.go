package main

import (
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// crdModule is a Go module that contains CRDs. The sum is pinned here, because the checksum
// database does not have every version of Rook.
type crdModule struct {
	module, version, sum string
	files                []string
}

// crdModules have the CRDs, other than our own, of the objects in the chart.
func crdModules() []crdModule {
	return []crdModule{
		{ // as in test/lab/stacks/reef.env
			module: "github.com/rook/rook", version: "v1.17.2",
			sum:   "h1:pb64owmhpZDM997MDHCWoLCIUvOgXUTqKpe8QmXTh00=",
			files: []string{"deploy/examples/crds.yaml"},
		},
		{
			module: "github.com/prometheus-operator/prometheus-operator", version: "v0.93.1",
			sum: "h1:4Juk8v93RdG1DSGD/mGp+SeQKPmnlLIj2iq3blLZgFY=",
			files: []string{
				"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml",
				"example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
			},
		},
		{
			module: "github.com/grafana/grafana-operator/v5", version: "v5.24.0",
			sum:   "h1:7NvVn7J7hknBBWte99giWEK4TV5qYfZdvDIW8WeU3oU=",
			files: []string{"config/crd/bases/grafana.integreatly.org_grafanadashboards.yaml"},
		},
	}
}

// TestChartIsAdmitted asks a real API server whether it admits every object of every variant of the
// Helm chart. The server has the CRDs of Rook, of the Prometheus operator and of the Grafana
// operator. It would only drop fields that it does not know, so the test requests that they are
// errors. Tests in hack/chart check what the objects contain.
func TestChartIsAdmitted(t *testing.T) {
	config := apiserver.Start(t)
	if _, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{Paths: foreignCRDs(t), ErrorIfPathMissing: true}); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cephtune-system", benchNamespace, "team-storage", rookNamespace, "rook-test", "monitoring"} {
		labels := map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
		create(t, api, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
	}
	t.Run("it finds what is wrong", func(t *testing.T) { testAdmission(t, api) })
	for _, file := range goldens(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			for _, object := range manifests(t, file) {
				for _, wanted := range []*unstructured.Unstructured{whole(t, object), podOf(t, object)} {
					if err := admit(t, api, wanted); err != nil {
						t.Errorf("%s %s: %v", object.GetKind(), object.GetName(), err)
					}
				}
			}
		})
	}
}

// goldens returns the files with the rendered chart.
func goldens(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(apiserver.Root(t), "hack", "chart", "testdata", "golden", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no renderings of the chart: %v", err)
	}
	return files
}

// TestChartsFlagsAreKnown checks that the manager and its commands accept the flags that the chart
// passes to them.
func TestChartsFlagsAreKnown(t *testing.T) {
	ran := map[string]int{}
	for _, file := range goldens(t) {
		for _, object := range manifests(t, file) {
			pod := podOf(t, object)
			if object.GetKind() == "Pod" {
				pod = object
			}
			if pod == nil {
				continue
			}
			containers, _, err := unstructured.NestedSlice(pod.Object, "spec", "containers")
			if err != nil {
				t.Fatal(err)
			}
			for _, container := range containers {
				line := commandLine(t, container)
				if line[0] != "/manager" {
					continue
				}
				name, err := parseAsManager(t, line[1:])
				if err != nil {
					t.Errorf("%s: %v", strings.Join(line, " "), err)
				}
				ran[name]++
			}
		}
	}
	for _, name := range []string{"", "check-install", "check-uninstall"} {
		if ran[name] == 0 {
			t.Errorf("the chart never runs the manager's command %q", name)
		}
	}
}

func commandLine(t *testing.T, container any) []string {
	t.Helper()
	content, ok := container.(map[string]any)
	if !ok {
		t.Fatalf("%v is no container", container)
	}
	var line []string
	for _, field := range []string{"command", "args"} {
		words, _, err := unstructured.NestedStringSlice(content, field)
		if err != nil {
			t.Fatal(err)
		}
		line = append(line, words...)
	}
	return line
}

// parseAsManager only parses the flags, and returns which command they run.
func parseAsManager(t *testing.T, args []string) (string, error) {
	t.Helper()
	if do, ok := commandOf(args); ok {
		err := do(t.Context(), append(slices.Clone(args[1:]), "-help"), io.Discard)
		if errors.Is(err, flag.ErrHelp) {
			err = nil
		}
		return args[0], err
	}
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	(&options{}).bind(flags)
	(&zap.Options{}).BindFlags(flags)
	return "", flags.Parse(args)
}

func testAdmission(t *testing.T, api client.Client) {
	for text, want := range map[string]string{
		`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: default}, spec: {port: 1}}`:                                                                      `unknown field "spec.port"`,
		`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: default}, spec: {ports: []}}`:                                                                    "spec.ports: Required",
		`{apiVersion: ceph.rook.io/v1, kind: CephClient, metadata: {name: a, namespace: default}, spec: {caps: {mon: allow r}, cap: x}}`:                                 `unknown field "spec.cap"`,
		`{apiVersion: ceph.rook.io/v1, kind: CephClient, metadata: {name: a, namespace: default}, spec: {caps: {mon: [allow r]}}}`:                                       "spec.caps.mon",
		`{apiVersion: ceph.rook.io/v1, kind: CephClient, metadata: {name: a, namespace: default}}`:                                                                       "spec: Required",
		`{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: a, namespace: default}, spec: {selector: {}, endpoints: [{honourLabels: true}]}}`: "endpoints[0].honourLabels",
		`{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: cephtune-system}, spec: {containers: [{name: c, image: i}]}}`:                                        "violates PodSecurity",
	} {
		file := filepath.Join(t.TempDir(), "object.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := admit(t, api, manifests(t, file)[0]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", text, err, want)
		}
	}
}

// admit requests the creation of an object as a dry run. It does nothing for nil.
func admit(t *testing.T, api client.Client, object *unstructured.Unstructured) error {
	t.Helper()
	if object == nil {
		return nil
	}
	err := api.Create(deadline(t), object, client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	if apierrors.IsAlreadyExists(err) && object.GetKind() == "Namespace" {
		return nil
	}
	return err
}

// podOf returns the pod that a Deployment or Job would create; nil for another object.
func podOf(t *testing.T, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	template, found, err := unstructured.NestedMap(object.Object, "spec", "template")
	if err != nil || !found {
		return nil
	}
	pod := &unstructured.Unstructured{Object: template}
	pod.SetAPIVersion("v1")
	pod.SetKind("Pod")
	pod.SetName("pod")
	pod.SetNamespace(object.GetNamespace())
	return pod
}

// whole replaces the names of copies in a rendered object by the copied content. It returns nil for
// a CRD: the API server has it already.
func whole(t *testing.T, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	root := apiserver.Root(t)
	object = object.DeepCopy()
	switch object.GetKind() {
	case "CustomResourceDefinition":
		return nil
	case "PrometheusRule":
		object.Object["spec"] = manifests(t, filepath.Join(root, "config", "prometheus", "rules.yaml"))[0].Object["spec"]
	case "Role", "ClusterRole":
		name, file, ok := strings.Cut(asText(object.Object["rules"]), " in ")
		if !ok {
			return object
		}
		for _, from := range manifests(t, filepath.Join(root, filepath.FromSlash(file))) {
			if strings.HasSuffix(from.GetKind(), "Role") && "as "+from.GetName() == name {
				object.Object["rules"] = from.Object["rules"]
			}
		}
	}
	return object
}

func asText(value any) string {
	text, _ := value.(string)
	return text
}

func foreignCRDs(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, from := range crdModules() {
		folder := moduleFolder(t, from)
		for _, file := range from.files {
			files = append(files, filepath.Join(folder, filepath.FromSlash(file)))
		}
	}
	return files
}

// moduleFolder downloads a module, outside of this one, and returns its folder.
func moduleFolder(t *testing.T, from crdModule) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", from.module+"@"+from.version)
	command.Dir = t.TempDir()
	command.Env = append(os.Environ(), "GONOSUMDB="+from.module, "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("download %s@%s: %v: %s", from.module, from.version, err, out)
	}
	var got struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatal(err)
	}
	if got.Sum != from.sum {
		t.Fatalf("%s@%s has the sum %s, want %s", from.module, from.version, got.Sum, from.sum)
	}
	return got.Dir
}
