package watch

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/live"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

func figureAt(seconds int) live.Figure {
	return live.Figure{
		Task: "r1-write-4m", Elapsed: time.Duration(seconds) * time.Second, Clients: 1, Of: 1,
		Rate: parse.Rate{BytesPerSecond: 412 << 20, OperationsPerSecond: 103, MeanLatencySeconds: 0.155},
	}
}

// tellEach shows figures each second. A phase ends meanwhile, and a figure of other clients comes
// too late.
func tellEach(s *screen, clock *time.Time) {
	us := live.Subject{Namespace: clitest.Namespace, Benchmark: "nightly", Clients: 1}
	_, _ = s.show(view{phase: "Running", progress: "0/3 runs", step: "run 1: write-4m", clients: us})
	for second := range 25 {
		*clock = clitest.Morning(120).Add(time.Duration(second) * time.Second)
		figure := figureAt(second)
		if second == 24 {
			figure = live.Figure{} // The phase has ended.
		}
		s.showSpeed(us, figure)
		s.showSpeed(live.Subject{Namespace: clitest.Namespace, Benchmark: "another"}, figureAt(7))
	}
	for range 2 {
		s.showSpeed(us, live.Figure{Unknown: "you may not"})
	}
	_, _ = s.show(view{phase: "Complete", progress: "3/3 runs", end: endResult})
	s.showSpeed(us, figureAt(25))
}

func TestLogPrintsFiguresEveryTenSeconds(t *testing.T) {
	var out bytes.Buffer
	clock := clitest.Morning(120)
	tellEach(&screen{out: newOutput(&out), now: func() time.Time { return clock }}, &clock)
	want := `08:00:00  Running    0/3 runs  run 1: write-4m
08:00:00  Running    412 MiB/s  0/3 runs  103 IOPS, 155ms mean, write-4m at 0s
08:00:10  Running    412 MiB/s  0/3 runs  103 IOPS, 155ms mean, write-4m at 10s
08:00:20  Running    412 MiB/s  0/3 runs  103 IOPS, 155ms mean, write-4m at 20s
The present speed is unknown: you may not
08:00:24  Complete   3/3 runs
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestATerminalDrawsFiguresIntoTheLine(t *testing.T) {
	var out bytes.Buffer
	clock := clitest.Morning(120)
	s := &screen{out: output{w: &out, width: func() int { return 200 }}, now: func() time.Time { return clock }}
	tellEach(s, &clock)
	s.finish()
	const again = "\r\x1b[K"
	want := again + "08:00:00  Running    0/3 runs  run 1: write-4m"
	for second := range 24 {
		want += fmt.Sprintf("%s08:00:%02d  Running    412 MiB/s  0/3 runs  103 IOPS, 155ms mean, write-4m at %ds  run 1: write-4m", again, second, second)
	}
	bare := again + "08:00:24  Running    0/3 runs  run 1: write-4m"
	want += bare + again + "The present speed is unknown: you may not\n" + bare
	want += "\n08:00:24  Complete   3/3 runs\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// runners plays a node's kubelet, for logs only. Each pod's runner prints its line ten times a
// second.
func runners(t *testing.T, logs map[string]string) *httptest.Server {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		pod, isLog := strings.CutPrefix(r.URL.Path, "/containerLogs/"+clitest.Namespace+"/")
		query := r.URL.Query()
		if !isLog || query.Get("follow") != "true" || query.Get("tailLines") != "1" {
			http.Error(w, "this is not how logs are followed: "+r.URL.String(), http.StatusBadRequest)
			return
		}
		flush := http.NewResponseController(w)
		for r.Context().Err() == nil {
			if _, err := fmt.Fprintln(w, logs[strings.TrimSuffix(pod, "/client")]); err != nil || flush.Flush() != nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

// A user who may only read benchmarks and the logs of pods sees the clients' rates. A user without
// the right to logs learns which right is missing.
func TestLiveFiguresOfARealAPIServer(t *testing.T) {
	config := apiserver.Start(t)
	scheme, err := kube.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	rights, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	create(t, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: clitest.Namespace}})
	create(t, c, nodeOf(t, runners(t, map[string]string{
		"nightly-0": "cephtune-progress-1 task=r1-write-4m seconds=12 MiB/s=100 IOPS=25 latencyMs=40",
		"nightly-1": "cephtune-progress-1 task=r1-write-4m seconds=12 MiB/s=300 IOPS=75 latencyMs=80",
		"weekly-0":  "cephtune-progress-1 task=r1-write-4m seconds=12 MiB/s=9000 IOPS=9000 latencyMs=9",
	})))
	for name, benchmark := range map[string]string{"nightly-0": "nightly", "nightly-1": "nightly", "weekly-0": "weekly"} {
		create(t, c, clientPod(name, benchmark))
	}
	b := measuring(t, c)
	looks := rbacv1.PolicyRule{APIGroups: []string{"cephtune.dev"}, Resources: []string{"cephbenchmarks"}, Verbs: []string{"get", "list", "watch"}}
	allow(t, rights, "reader", looks,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods/log"}, Verbs: []string{"get"}})
	allow(t, rights, "looker", looks)
	kubeconfig := apiserver.Kubeconfig(t, config)
	for user, want := range map[string]string{
		"reader": "Running    400 MiB/s  0/3 runs  100 IOPS, 70ms mean, write-4m at 12s (2 clients)",
		"looker": `which you may not read: pods is forbidden: User "looker" cannot list resource "pods"`,
	} {
		t.Run(user, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			cmd := kube.Connected(func(c *kube.Connection) *cobra.Command { return NewCommand(c.Connect, c.FollowLog) })
			cmd.SilenceErrors, cmd.SilenceUsage = true, true
			cmd.SetArgs([]string{"cephbenchmark/" + b.Name, "-n", clitest.Namespace, "--kubeconfig", kubeconfig, "--as", user})
			lines := &log{}
			cmd.SetOut(lines)
			ended := make(chan error, 1)
			go func() { ended <- cmd.ExecuteContext(ctx) }()
			lines.await(t, want)
			cancel()
			if err := <-ended; err == nil || !strings.Contains(err.Error(), "goes on") {
				t.Errorf("got %v", err)
			}
			if n := strings.Count(lines.String(), want); n != 1 {
				t.Errorf("it is said %d times:\n%s", n, lines)
			}
		})
	}
}

func create(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	status, hasStatus := o.DeepCopyObject().(client.Object)
	if err := c.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if _, isNamespace := o.(*corev1.Namespace); isNamespace || !hasStatus {
		return
	}
	status.SetResourceVersion(o.GetResourceVersion())
	if err := c.Status().Update(t.Context(), status); err != nil {
		t.Fatal(err)
	}
}

// nodeOf returns the node of a kubelet.
func nodeOf(t *testing.T, kubelet *httptest.Server) *corev1.Node {
	t.Helper()
	host, text, err := net.SplitHostPort(kubelet.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "node"},
		Status: corev1.NodeStatus{
			Addresses:       []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: host}},
			DaemonEndpoints: corev1.NodeDaemonEndpoints{KubeletEndpoint: corev1.DaemonEndpoint{Port: int32(port)}},
		},
	}
}

func clientPod(name, benchmark string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: clitest.Namespace, Name: name, Annotations: map[string]string{settings.AnnotationBenchmark: benchmark},
			Labels: map[string]string{settings.LabelManagedBy: settings.ManagedBy, settings.LabelComponent: settings.ComponentBenchmark},
		},
		Spec:   corev1.PodSpec{NodeName: "node", Containers: []corev1.Container{{Name: settings.ContainerClient, Image: "tools"}}},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

// measuring returns a benchmark with two clients in its first run.
func measuring(t *testing.T, c client.Client) *v1alpha1.CephBenchmark {
	t.Helper()
	b := clitest.Benchmark(t, "radosbench")
	b.ObjectMeta = metav1.ObjectMeta{Namespace: clitest.Namespace, Name: "nightly"}
	b.Spec.Template.Clients.Count = 2
	if err := c.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	b.Status.ObservedGeneration, b.Status.ObservedRunID = b.Generation, b.Spec.RunID
	b.Status.Progress = &v1alpha1.Progress{Summary: "0/3 runs", Step: "run 1: write-4m"}
	clitest.GoOn(&b.Status.Conditions, v1alpha1.ReasonRunning, "Run 1 of 3.")
	if err := c.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	return b
}

// allow grants exactly these rights in the namespace to a user.
func allow(t *testing.T, c kubernetes.Interface, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	metadata := metav1.ObjectMeta{Namespace: clitest.Namespace, Name: user}
	if _, err := c.RbacV1().Roles(clitest.Namespace).Create(t.Context(), &rbacv1.Role{ObjectMeta: metadata, Rules: rules}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metadata, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: user, APIGroup: rbacv1.GroupName}},
	}
	if _, err := c.RbacV1().RoleBindings(clitest.Namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
