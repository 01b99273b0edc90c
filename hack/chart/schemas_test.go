package chart

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
)

// startTimeout is the deadline for the API server and etcd, each.
const startTimeout = 2 * time.Minute

// source is a Go module with CRDs among its files. The checksum database does not know
// every version of Rook, which is why sums are written down here.
type source struct {
	module, version, sum string
	files                []string
}

// sources are those of the CRDs of which the chart makes objects, beside our own.
func sources() []source {
	return []source{
		{ // as in test/lab/versions.env
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

// TestObjectsAreAdmitted has a real API server, with the CRDs of Rook, of the Prometheus
// operator and of the Grafana operator, look at every object of every variant. Fields that
// it does not know, which it would only drop, are errors.
func TestObjectsAreAdmitted(t *testing.T) {
	api := startAPIServer(t)
	t.Run("it finds what is wrong", func(t *testing.T) { testAdmissionFindsWhatIsWrong(t, api) })
	for _, variant := range variants(t) {
		t.Run(variant, func(t *testing.T) {
			for _, object := range mustRender(t, valuesOf(t, variant)).objects {
				if err := admit(t, api, object); err != nil {
					t.Errorf("%s: %v", id(object), err)
				}
				if pod := podOf(t, object); pod != nil {
					if err := admit(t, api, pod); err != nil {
						t.Errorf("the pod of %s, in a namespace that is restricted: %v", id(object), err)
					}
				}
			}
		})
	}
}

func testAdmissionFindsWhatIsWrong(t *testing.T, api client.Client) {
	for text, want := range map[string]string{
		`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: default}, spec: {port: 1}}`:                                                                     `unknown field "spec.port"`,
		`{apiVersion: v1, kind: Service, metadata: {name: a, namespace: default}, spec: {ports: []}}`:                                                                   "spec.ports: Required",
		`{apiVersion: ceph.rook.io/v1, kind: CephClient, metadata: {name: a, namespace: default}, spec: {caps: {mon: allow r}, cap: x}}`:                                `unknown field "spec.cap"`,
		`{apiVersion: ceph.rook.io/v1, kind: CephClient, metadata: {name: a, namespace: default}, spec: {caps: {mon: [allow r]}}}`:                                      "spec.caps.mon",
		`{apiVersion: ceph.rook.io/v1, kind: CephClient, metadata: {name: a, namespace: default}}`:                                                                      "spec: Required",
		`{apiVersion: monitoring.coreos.com/v1, kind: ServiceMonitor, metadata: {name: a, namespace: default}, spec: {selector: {}, endpoints: [{honourLabels: true}]}}`: `unknown field "spec.endpoints[0].honourLabels"`,
		`{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: cephtune-system}, spec: {containers: [{name: c, image: i}]}}`:                                       "violates PodSecurity",
	} {
		if err := admit(t, api, parse(t, text)[0]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", text, err, want)
		}
	}
}

// admit asks for an object without making it.
func admit(t *testing.T, api client.Client, object *unstructured.Unstructured) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := api.Create(ctx, object.DeepCopy(), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
	if apierrors.IsAlreadyExists(err) { // our CRDs and the namespaces
		err = api.Patch(ctx, object.DeepCopy(), client.Apply, client.DryRunAll, client.ForceOwnership, client.FieldOwner("test"), client.FieldValidation(metav1.FieldValidationStrict))
	}
	return err
}

// podOf is what a Deployment or Job would make.
func podOf(t *testing.T, object *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	template, found, err := unstructured.NestedMap(object.Object, "spec", "template")
	if err != nil {
		t.Fatal(err)
	}
	if !found {
		return nil
	}
	template["apiVersion"], template["kind"] = "v1", "Pod"
	pod := &unstructured.Unstructured{Object: template}
	pod.SetName("pod")
	pod.SetNamespace(object.GetNamespace())
	return pod
}

func startAPIServer(t *testing.T) client.Client {
	t.Helper()
	if os.Getenv("KUBEBUILDER_ASSETS") == "" {
		t.Fatal(`KUBEBUILDER_ASSETS is not set: run "make test", or export KUBEBUILDER_ASSETS="$(hack/envtest-assets)"`)
	}
	env := &envtest.Environment{
		CRDDirectoryPaths:        crdFiles(t),
		ErrorIfCRDPathMissing:    true,
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  startTimeout,
	}
	// Accounts are made by a controller, which is not there.
	env.ControlPlane.GetAPIServer().Configure().Append("disable-admission-plugins", "ServiceAccount")
	config, err := env.Start()
	if err != nil {
		t.Fatalf("start the API server: %v", err)
	}
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Errorf("stop the API server: %v", err)
		}
	})
	api, err := client.New(config, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{namespace, "cephtune-bench", "team-storage", "rook-ceph", "rook-test", "monitoring"} {
		o := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if name == namespace {
			o.Labels = map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
		}
		if err := api.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return api
}

func crdFiles(t *testing.T) []string {
	t.Helper()
	files := []string{filepath.Join(root, "config", "crd", "bases")}
	for _, from := range sources() {
		folder := moduleFolder(t, from)
		for _, file := range from.files {
			files = append(files, filepath.Join(folder, file))
		}
	}
	return files
}

// moduleFolder has Go download a module, outside of any other, and returns its folder.
func moduleFolder(t *testing.T, from source) string {
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
