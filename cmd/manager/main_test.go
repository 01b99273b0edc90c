package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/cephtuningsweep"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

const (
	systemNamespace = "system" // as in config/rbac, before kustomize adds a prefix
	benchNamespace  = "cephtune-bench"
	otherNamespace  = "other"
	serviceAccount  = "system:serviceaccount:" + systemNamespace + ":manager"

	// patience is the deadline of everything that should happen soon.
	patience = time.Minute
)

// TestManager starts the manager as it is deployed: with exactly the rights of config/rbac, as
// leader, with secure metrics, limited to one namespace.
func TestManager(t *testing.T) {
	config := apiserver.Start(t)
	admin, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{systemNamespace, benchNamespace, otherNamespace} {
		create(t, admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	applyRBAC(t, admin)

	opts := &options{
		namespaces:      namespaceList{benchNamespace},
		probeAddress:    freeAddress(t),
		metricsAddress:  freeAddress(t),
		metricsSecure:   true,
		leaderElect:     true,
		leaderNamespace: systemNamespace,
	}
	registry := prometheus.NewRegistry()
	_, stop := start(t, config, opts, registry)

	t.Run("is healthy and ready", func(t *testing.T) {
		for _, path := range []string{"/healthz", "/readyz"} {
			eventually(t, func() error { return wantStatus(t, "http://"+opts.probeAddress+path, "", http.StatusOK) })
		}
	})
	t.Run("holds the lease", func(t *testing.T) {
		eventually(t, func() error { return leaseHeld(t, admin, true) })
	})
	t.Run("gives metrics to those who may have them", func(t *testing.T) {
		url := "https://" + opts.metricsAddress + "/metrics"
		eventually(t, func() error { return wantStatus(t, url, "", http.StatusUnauthorized) })
		eventually(t, func() error { return wantStatus(t, url, token(t, admin, otherNamespace), http.StatusForbidden) })
		eventually(t, func() error { return wantStatus(t, url, token(t, admin, systemNamespace), http.StatusOK) })
	})
	t.Run("says what is not allowed", func(t *testing.T) { testStalls(t, admin) })
	t.Run("tells of it in metrics", func(t *testing.T) { testMetrics(t, registry) })
	t.Run("says that something is suspended", func(t *testing.T) { testSuspended(t, admin) })
	t.Run("leaves other namespaces alone", func(t *testing.T) { testOtherNamespace(t, admin) })
	t.Run("runs in a pod that restricted namespaces take", func(t *testing.T) { testPodSecurity(t, admin) })

	if err := stop(); err != nil {
		t.Errorf("the manager ended with %v, want a graceful end", err)
	}
	if err := leaseHeld(t, admin, false); err != nil {
		t.Errorf("after the end: %v", err)
	}
}

// TestManagerStartsWhereItsNamespaceGoes starts a manager whose namespace is being deleted, so that
// the manager has lost the right to read Jobs and pods. It must still remove the finalizer of a
// sweep in that namespace.
func TestManagerStartsWhereItsNamespaceGoes(t *testing.T) {
	config := apiserver.Start(t)
	admin, err := client.New(config, client.Options{Scheme: newScheme()})
	if err != nil {
		t.Fatal(err)
	}
	bench := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: benchNamespace}}
	for _, namespace := range []*corev1.Namespace{bench, {ObjectMeta: metav1.ObjectMeta{Name: systemNamespace}}, {ObjectMeta: metav1.ObjectMeta{Name: otherNamespace}}} {
		create(t, admin, namespace)
	}
	applyRBAC(t, admin)
	sweep := &v1alpha1.CephTuningSweep{}
	sample(t, "cephtuningsweep_pg_num.yaml", sweep)
	sweep.Finalizers = []string{cephtuningsweep.Finalizer}
	create(t, admin, sweep)
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "manager", Namespace: benchNamespace}}
	for _, object := range []client.Object{bench, binding, sweep} {
		if err := admin.Delete(deadline(t), object); err != nil {
			t.Fatal(err)
		}
	}
	pods := right{user: serviceAccount, namespace: benchNamespace, resource: "pods"}
	eventually(t, func() error { return wantRight(t, admin, pods, "list", false) })

	opts := &options{namespaces: namespaceList{benchNamespace}, probeAddress: freeAddress(t), metricsAddress: "0", leaderNamespace: systemNamespace}
	_, stop := start(t, config, opts, prometheus.NewRegistry())
	eventually(t, func() error { return wantStatus(t, "http://"+opts.probeAddress+"/readyz", "", http.StatusOK) })
	eventually(t, func() error {
		if err := admin.Get(deadline(t), client.ObjectKeyFromObject(sweep), sweep); err != nil {
			return client.IgnoreNotFound(err)
		}
		return fmt.Errorf("the sweep is still there: %+v", sweep.Status.Conditions)
	})
	if err := stop(); err != nil {
		t.Errorf("the manager ended with %v", err)
	}
}

func TestNewManagerSaysWhatFailed(t *testing.T) {
	_, err := newManager(t.Context(), &rest.Config{Host: "not a host"}, &options{}, prometheus.NewRegistry())
	if err == nil || !strings.Contains(err.Error(), "create the manager") {
		t.Errorf("error %v, want one that says what failed", err)
	}
}

func testStalls(t *testing.T, admin client.Client) {
	benchmark := &v1alpha1.CephBenchmark{}
	sample(t, "cephbenchmark_radosbench.yaml", benchmark)
	create(t, admin, benchmark)
	sweep := &v1alpha1.CephTuningSweep{}
	sample(t, "cephtuningsweep_pg_num.yaml", sweep)
	create(t, admin, sweep)

	stalled := func(reason string) []metav1.Condition {
		return []metav1.Condition{
			{Type: "Ready", Status: "False", Reason: reason, ObservedGeneration: 1},
			{Type: "Stalled", Status: "True", Reason: reason, ObservedGeneration: 1},
		}
	}
	// Without an operator config, nothing is allowed.
	eventually(t, func() error {
		return wantConditions(t, admin, benchmark, func() []metav1.Condition { return benchmark.Status.Conditions }, stalled("NotAllowed"))
	})
	eventually(t, func() error {
		return wantConditions(t, admin, sweep, func() []metav1.Condition { return sweep.Status.Conditions }, stalled("NotAllowed"))
	})
	if benchmark.Status.ObservedRunID != "" || benchmark.Status.ObservedGeneration != 1 {
		t.Errorf("status is about run %q and generation %d, want none and 1", benchmark.Status.ObservedRunID, benchmark.Status.ObservedGeneration)
	}
	eventually(t, func() error { return wantEvent(t, admin, "CephBenchmark", "NotAllowed") })
	eventually(t, func() error { return wantEvent(t, admin, "CephTuningSweep", "NotAllowed") })
	quiet(t, admin, benchmark)

	// A changed label needs no write of status.
	touch(t, admin, benchmark, `{"metadata": {"labels": {"a": "b"}}}`)
	quiet(t, admin, benchmark)

	// A changed spec with the same outcome does: status says that it was observed.
	touch(t, admin, benchmark, `{"spec": {"historyLimit": 9}}`)
	eventually(t, func() error {
		if err := admin.Get(deadline(t), client.ObjectKeyFromObject(benchmark), benchmark); err != nil {
			return err
		}
		if got := benchmark.Status.ObservedGeneration; got != 2 {
			return fmt.Errorf("observed generation %d, want 2", got)
		}
		return nil
	})
	quiet(t, admin, benchmark)
}

// testMetrics looks for series of the objects of testStalls, and of the requests for them.
func testMetrics(t *testing.T, registry *prometheus.Registry) {
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			found[family.GetName()] = true
			for _, label := range metric.GetLabel() {
				found[family.GetName()+" "+label.GetName()+"="+label.GetValue()] = true
			}
		}
	}
	for _, want := range []string{
		metrics.BenchmarkInfo + " reason=NotAllowed", metrics.BenchmarkInfo + " state=Stalled", metrics.BenchmarkInfo + " namespace=" + benchNamespace,
		metrics.SweepInfo + " reason=NotAllowed", metrics.DroppedSeries, metrics.APIRequest + " verb=patch",
	} {
		if !found[want] {
			t.Errorf("no series with %s", want)
		}
	}
}

func testSuspended(t *testing.T, admin client.Client) {
	benchmark := &v1alpha1.CephBenchmark{}
	sample(t, "cephbenchmark_fio_rbd.yaml", benchmark)
	benchmark.Spec.Suspend = true
	create(t, admin, benchmark)
	eventually(t, func() error {
		return wantConditions(t, admin, benchmark, func() []metav1.Condition { return benchmark.Status.Conditions },
			[]metav1.Condition{{Type: "Ready", Status: "False", Reason: "Suspended", ObservedGeneration: 1}})
	})
}

func testOtherNamespace(t *testing.T, admin client.Client) {
	elsewhere := &v1alpha1.CephBenchmark{}
	sample(t, "cephbenchmark_radosbench.yaml", elsewhere)
	elsewhere.Namespace = otherNamespace
	create(t, admin, elsewhere)
	here := &v1alpha1.CephBenchmark{}
	sample(t, "cephbenchmark_rbdbench.yaml", here)
	create(t, admin, here)
	// The manager has handled the object that was created later, so it would have handled the other
	// one too.
	eventually(t, func() error {
		if err := admin.Get(deadline(t), client.ObjectKeyFromObject(here), here); err != nil {
			return err
		}
		if len(here.Status.Conditions) == 0 {
			return errors.New("no conditions yet")
		}
		return nil
	})
	if err := admin.Get(deadline(t), client.ObjectKeyFromObject(elsewhere), elsewhere); err != nil {
		t.Fatal(err)
	}
	if len(elsewhere.Status.Conditions) > 0 {
		t.Errorf("an object in namespace %s got conditions %v", otherNamespace, elsewhere.Status.Conditions)
	}
}

func testPodSecurity(t *testing.T, admin client.Client) {
	folder := filepath.Join(apiserver.Root(t), "config", "manager")
	namespace := manifests(t, filepath.Join(folder, "namespace.yaml"))[0]
	namespace.SetName("restricted")
	create(t, admin, namespace)
	deployment := &appsv1.Deployment{}
	read(t, filepath.Join(folder, "manager.yaml"), deployment)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "manager", Namespace: namespace.GetName()},
		Spec:       deployment.Spec.Template.Spec,
	}
	if err := admin.Create(deadline(t), pod.DeepCopy(), client.DryRunAll); err != nil {
		t.Error(err)
	}
	pod.Spec.SecurityContext = nil
	if err := admin.Create(deadline(t), pod, client.DryRunAll); !apierrors.IsForbidden(err) {
		t.Errorf("a pod that may run as root: %v, want it forbidden", err)
	}
}

// sidecar starts a sidecar that can reach no cluster, and returns its socket.
func sidecar(t testing.TB) string {
	t.Helper()
	cli, err := ceph.NewCLI(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- ceph.Serve(ctx, socket, cli, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return socket
}

// TestReadinessSeesTheSidecar checks that the manager is unready exactly while no sidecar answers.
func TestReadinessSeesTheSidecar(t *testing.T) {
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", http.NoBody)
	if err := sidecarAnswers(filepath.Join(t.TempDir(), "none"))(request); err == nil {
		t.Error("it is ready without a sidecar")
	}
	check := sidecarAnswers(sidecar(t))
	eventually(t, func() error { return check(request) })
}

// start runs a manager as its service account. The returned function stops it and waits until it
// has ended.
func start(t testing.TB, config *rest.Config, opts *options, registry *prometheus.Registry) (ended <-chan error, end func() error) {
	t.Helper()
	if opts.cephSocket == "" {
		opts.cephSocket = sidecar(t)
	}
	config = rest.CopyConfig(config)
	config.Impersonate.UserName = serviceAccount
	config.Impersonate.Groups = []string{"system:serviceaccounts", "system:authenticated"}
	mgr, err := newManager(t.Context(), config, opts, registry)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- mgr.Start(ctx) }()
	t.Cleanup(cancel)
	return result, func() error {
		cancel()
		select {
		case err := <-result:
			return err
		case <-time.After(patience):
			return fmt.Errorf("it did not end within %s", patience)
		}
	}
}

// applyRBAC creates the objects of config/rbac. As in config/namespaced, it binds the manager's
// role only in the benchmark namespace.
func applyRBAC(t testing.TB, admin client.Client) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(apiserver.Root(t), "config", "rbac", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no manifests: %v", err)
	}
	for _, file := range files {
		switch filepath.Base(file) {
		case "kustomization.yaml", "role_binding.yaml":
			continue
		}
		for _, object := range manifests(t, file) {
			create(t, admin, object)
		}
	}
	bindManager(t, admin, benchNamespace)
	create(t, admin, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics-reader"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "scraper", Namespace: systemNamespace}},
	})
	for _, namespace := range []string{systemNamespace, otherNamespace} {
		create(t, admin, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "scraper", Namespace: namespace}})
	}
}

// bindManager gives the manager its rights in a benchmark namespace.
func bindManager(t testing.TB, admin client.Client, namespace string) {
	t.Helper()
	create(t, admin, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "manager", Namespace: namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "manager"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Name: "manager", Namespace: systemNamespace}},
	})
}

func manifests(t testing.TB, file string) []*unstructured.Unstructured {
	t.Helper()
	stream, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Close() }()
	var objects []*unstructured.Unstructured
	decoder := utilyaml.NewYAMLOrJSONDecoder(stream, 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); err != nil {
			return objects
		}
		objects = append(objects, object)
	}
}

// sample reads an object from config/samples.
func sample(t testing.TB, file string, object client.Object) {
	t.Helper()
	read(t, filepath.Join(apiserver.Root(t), "config", "samples", file), object)
}

func read(t testing.TB, file string, object client.Object) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, object); err != nil {
		t.Fatal(err)
	}
}

func create(t testing.TB, admin client.Client, object client.Object) {
	t.Helper()
	if err := admin.Create(deadline(t), object); err != nil {
		t.Fatal(err)
	}
}

func touch(t *testing.T, admin client.Client, object client.Object, patch string) {
	t.Helper()
	if err := admin.Patch(deadline(t), object, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
}

// quiet checks that the manager does not write the object again. The manager's own write does not
// start a pass, so a fraction of a second is long enough.
func quiet(t *testing.T, admin client.Client, object client.Object) {
	t.Helper()
	if err := admin.Get(deadline(t), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	want := object.GetResourceVersion()
	time.Sleep(300 * time.Millisecond)
	if err := admin.Get(deadline(t), client.ObjectKeyFromObject(object), object); err != nil {
		t.Fatal(err)
	}
	if got := object.GetResourceVersion(); got != want {
		t.Errorf("the object was written again, resource version %s, want %s", got, want)
	}
}

func wantConditions(t *testing.T, admin client.Client, object client.Object, got func() []metav1.Condition, want []metav1.Condition) error {
	t.Helper()
	if err := admin.Get(deadline(t), client.ObjectKeyFromObject(object), object); err != nil {
		return err
	}
	if diff := cmp.Diff(want, got(), cmpopts.IgnoreFields(metav1.Condition{}, "LastTransitionTime", "Message")); diff != "" {
		return fmt.Errorf("conditions (-want +got):\n%s", diff)
	}
	return nil
}

func wantEvent(t *testing.T, admin client.Client, kind, reason string) error {
	t.Helper()
	list := &eventsv1.EventList{}
	if err := admin.List(deadline(t), list, client.InNamespace(benchNamespace)); err != nil {
		return err
	}
	for _, event := range list.Items {
		if event.Regarding.Kind == kind && event.Reason == reason {
			return nil
		}
	}
	return fmt.Errorf("no event %s about a %s", reason, kind)
}

func wantStatus(t testing.TB, url, bearer string, want int) error {
	t.Helper()
	request, err := http.NewRequestWithContext(deadline(t), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{InsecureSkipVerify: true}, // self-signed, on this machine
		DisableKeepAlives: true,
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != want {
		return fmt.Errorf("%s: %s, want %d", url, response.Status, want)
	}
	return nil
}

// token returns a token of the service account scraper in a namespace.
func token(t *testing.T, admin client.Client, namespace string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "scraper", Namespace: namespace}}
	request := &authenticationv1.TokenRequest{}
	if err := admin.SubResource("token").Create(deadline(t), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

func leaseHeld(t *testing.T, admin client.Client, want bool) error {
	t.Helper()
	lease := &coordinationv1.Lease{}
	err := admin.Get(deadline(t), client.ObjectKey{Namespace: systemNamespace, Name: leaseName}, lease)
	if apierrors.IsNotFound(err) {
		return errors.New("there is no lease")
	}
	if err != nil {
		return err
	}
	holder := lease.Spec.HolderIdentity
	if held := holder != nil && *holder != ""; held != want {
		return fmt.Errorf("the lease is held: %t, want %t", held, want)
	}
	return nil
}

// eventually retries a check until it passes, or fails the test with its last
// error.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	end := time.Now().Add(patience)
	for {
		err := check()
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not within %s: %v", patience, err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func deadline(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// freeAddress returns an address on which no process listens.
func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(deadline(t), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
