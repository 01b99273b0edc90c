package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

func TestCommandOf(t *testing.T) {
	for args, want := range map[string]bool{"": false, "--leader-elect": false, "check-uninstall": true, "check-install --timeout=1s": true} {
		if _, known := commandOf(strings.Fields(args)); known != want {
			t.Errorf("%q is a command: %t, want %t", args, known, want)
		}
	}
}

func TestRunCommand(t *testing.T) {
	for name, tc := range map[string]struct {
		err      error
		wantCode int
		wantText string
	}{
		"it passes": {},
		"it fails":  {err: errors.New("something is left"), wantCode: 1, wantText: "something is left\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			code := runCommand(t.Context(), func(context.Context, []string, io.Writer) error { return tc.err }, nil, &out)
			if code != tc.wantCode || out.String() != tc.wantText {
				t.Errorf("exit code %d and %q, want %d and %q", code, out.String(), tc.wantCode, tc.wantText)
			}
		})
	}
}

func TestCommandsRefuseArguments(t *testing.T) {
	for _, name := range []string{"check-uninstall", "check-install"} {
		do, _ := commandOf([]string{name})
		if err := do(t.Context(), []string{"now"}, io.Discard); err == nil || !strings.Contains(err.Error(), `"now" is not a flag`) {
			t.Errorf("%s: error %v", name, err)
		}
		if err := do(t.Context(), []string{"--forces"}, io.Discard); err == nil || !strings.Contains(err.Error(), "forces") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestCommandsNameTheirFlagForTheNamespace(t *testing.T) {
	for _, name := range []string{"check-uninstall", "check-install"} {
		do, _ := commandOf([]string{name})
		if err := do(t.Context(), nil, io.Discard); err == nil || !strings.Contains(err.Error(), "set --namespace ") {
			t.Errorf("%s outside a pod: error %v, want one that names --namespace", name, err)
		}
	}
}

// TestHooks runs the code of the chart's hooks against a real API server, with exactly the rights
// that the chart renders for them.
func TestHooks(t *testing.T) {
	config := apiserver.Start(t)
	admin, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cephtune-system", benchNamespace} {
		create(t, admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	for _, object := range hookRights(t) {
		create(t, admin, object)
	}
	t.Run("check-uninstall", func(t *testing.T) { testUninstallHook(t, config, admin) })
	t.Run("check-install", func(t *testing.T) { testInstallHook(t, config, admin) })
}

// hookRights returns the accounts, roles and bindings of the hooks. They are rendered for a chart
// that does not keep the CRDs, because its hooks need the most rights.
func hookRights(t *testing.T) []client.Object {
	t.Helper()
	var rights []client.Object
	for _, object := range manifests(t, filepath.Join(apiserver.Root(t), "hack", "chart", "testdata", "golden", "all-powers.yaml")) {
		if isHookRight(object) {
			rights = append(rights, whole(t, object))
		}
	}
	if len(rights) != 10 {
		t.Fatalf("%d rights of hooks, want 10", len(rights))
	}
	return rights
}

func isHookRight(object *unstructured.Unstructured) bool {
	name := object.GetName()
	return (name == "cephtune-uninstall-check" || name == "cephtune-install-check") && object.GetKind() != "Job" && object.GetKind() != "Pod"
}

// as returns the configuration of a client that acts as a hook's account.
func as(config *rest.Config, account string) *rest.Config {
	config = rest.CopyConfig(config)
	config.Impersonate.UserName = "system:serviceaccount:cephtune-system:" + account
	config.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	return config
}

func testUninstallHook(t *testing.T, config *rest.Config, admin client.Client) {
	c, err := client.New(as(config, "cephtune-uninstall-check"), client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	check := &uninstallCheck{
		journals: journals.New(c, c, "cephtune-system"), locks: lock.NewLeases(c, c, "cephtune-system", "manager"),
		objects: c, crdsToo: true, now: time.Now,
	}
	// The API server takes a moment to know all rights.
	eventually(t, func() error { return check.run(t.Context()) })
	if err := journals.New(admin, admin, "cephtune-system").Save(t.Context(), journalOf(tuning.Open)); err != nil {
		t.Fatal(err)
	}
	if err := check.run(t.Context()); err == nil || !strings.Contains(err.Error(), "bench/pg-num") {
		t.Errorf("error %v, want one that names the sweep", err)
	}
}

func testInstallHook(t *testing.T, config *rest.Config, admin client.Client) {
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "cephtune-system", Name: "cephtune-metrics"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 8443}}},
	}
	create(t, admin, service)
	check := installCheck{config: as(config, "cephtune-install-check"), namespace: "cephtune-system", service: "cephtune-metrics"}
	if err := check.crdsServed(t.Context()); err != nil {
		t.Error(err)
	}
	eventually(t, func() error {
		_, err := check.metricsURL(t.Context())
		return err
	})
	if url, err := check.metricsURL(t.Context()); url != "https://"+service.Spec.ClusterIP+":8443/metrics" || err != nil {
		t.Errorf("%q, %v", url, err)
	}
	check.service = "kubernetes"
	if _, err := check.metricsURL(t.Context()); err == nil {
		t.Error("it may read other Services")
	}
}

func TestCRDsAreMissed(t *testing.T) {
	for name, tc := range map[string]struct{ answer, want string }{
		"without both": {want: "install the CRDs"},
		"without a sweep": {
			answer: `{"kind": "APIResourceList", "groupVersion": "cephtune.dev/v1alpha1", "resources": [{"name": "cephbenchmarks", "kind": "CephBenchmark"}]}`,
			want:   "without CephTuningSweep",
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if tc.answer == "" || r.URL.Path != "/apis/cephtune.dev/v1alpha1" {
					http.NotFound(w, r)
					return
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, tc.answer)
			}))
			defer api.Close()
			check := installCheck{config: &rest.Config{Host: api.URL}, interval: time.Millisecond, out: io.Discard}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if err := check.run(ctx); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}

func TestMetricsWithoutAServiceAreNotChecked(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"kind": "APIResourceList", "groupVersion": "cephtune.dev/v1alpha1", "resources": [{"name": "a", "kind": "CephBenchmark"}, {"name": "b", "kind": "CephTuningSweep"}]}`)
	}))
	defer api.Close()
	var out bytes.Buffer
	check := installCheck{config: &rest.Config{Host: api.URL}, interval: time.Millisecond, out: &out}
	if err := check.run(t.Context()); err != nil || strings.Contains(out.String(), "metrics") {
		t.Errorf("error %v, output %q, want none about metrics", err, out.String())
	}
}

func TestMetricsAreAskedFor(t *testing.T) {
	const page = "# HELP go_goroutines x\ngo_goroutines 9\ncephtune_dropped_series 0\n"
	for name, tc := range map[string]struct {
		page, token string
		want        string
	}{
		"they are given":           {page: page, token: "t"},
		"to others they are not":   {page: page, token: "other", want: "403"},
		"foreign ones are refused": {page: "# HELP cephtune_x\ngo_goroutines 9\n", token: "t", want: "no metric of cephtune"},
	} {
		t.Run(name, func(t *testing.T) {
			manager := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "Bearer t" {
					http.Error(w, "no", http.StatusForbidden)
					return
				}
				_, _ = io.WriteString(w, tc.page)
			}))
			defer manager.Close()
			check := installCheck{config: &rest.Config{BearerToken: tc.token}, namespace: "n", service: "s"}
			err := check.metricsAt(t.Context(), manager.URL+"/metrics")
			if (err != nil) != (tc.want != "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error %v, want %q in it", err, tc.want)
			}
		})
	}
}
