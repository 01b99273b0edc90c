package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/list"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

const (
	// crsVariable names the variable with the number of CRs that BenchmarkManyCRs creates. The
	// default is 1,000.
	crsVariable = "CEPHTUNE_CRS"
	// finishedVariable names the variable with the number of CRs that BenchmarkFinishedCRs stores. The
	// default is 1,000.
	finishedVariable = "CEPHTUNE_FINISHED"
	// namespacesVariable names the variable with the number of namespaces in BenchmarkNamespaces. The default is 50.
	namespacesVariable = "CEPHTUNE_NAMESPACES"
	// kindsInCaches is the number of kinds that a manager watches in a namespace: benchmarks, sweeps, Jobs and pods.
	kindsInCaches = 4
	// createdAtOnce is how many CRs are created concurrently, as by a busy Argo CD.
	createdAtOnce = 8
	// listedAtOnce is the number of CRs in one answer.
	listedAtOnce = 500
	// manyTimeout is the deadline of each measured step.
	manyTimeout = 20 * time.Minute

	mebibyte = 1 << 20
)

// BenchmarkManyCRs measures a manager with many CRs and the rights with which it is deployed. Half
// of the CRs are CephBenchmarks, half are CephTuningSweeps.
//
//   - told-s: from before the first creation until all CRs have a condition. create-s is the part
//     of it that the creations take. The operator config allows none of the CRs, so each takes
//     one pass.
func BenchmarkManyCRs(b *testing.B) {
	m := newMany(b, crsVariable)
	for b.Loop() {
		m.measureTold(b)
		m.removeAll(b)
	}
	b.ReportMetric(0, "ns/op") // the time of one iteration means nothing here
}

// BenchmarkFinishedCRs measures a manager with many CRs that have ended with results:
//
//   - restart-s: from the start of a manager until it has looked at each CR. restart-writes is
//     what it writes meanwhile, which must be nothing;
//   - idle-MiB, full-MiB: the live heap of the process without any CR, and with the CRs. held-MiB is the memory that the
//     process has from the system, with the garbage of the restart and the memory limit of the chart. They include a client and
//     the test, but not the API server;
//   - list-s: how long "kubectl cephtune list" takes with all of them;
//   - restart-cpu-s, list-cpu-s: the CPU time of this process for both. restart-server-s, list-server-s: that of the API server;
//   - object-KiB: the size of an ended CR as JSON.
func BenchmarkFinishedCRs(b *testing.B) {
	m := newMany(b, finishedVariable)
	_, stop := m.manage(b) // The first manager creates its Secret.
	live, _ := memory()
	stop()
	size := m.store(b)
	for b.Loop() {
		m.measureRestart(b)
		m.measureList(b)
	}
	b.ReportMetric(live, "idle-MiB")
	b.ReportMetric(size, "object-KiB")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkNamespaces measures an idle manager with many benchmark namespaces:
//
//   - full-s: from its start until it has listed everything;
//   - requests: its requests until then, besides watches;
//   - live-MiB: its live heap.
func BenchmarkNamespaces(b *testing.B) {
	m := newMany(b, crsVariable)
	names := namespaceList{benchNamespace}
	for i := range numberOf(b, namespacesVariable, 50) - 1 {
		name := fmt.Sprintf("bench-%d", i)
		create(b, m.admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		bindManager(b, m.admin, name)
		names = append(names, name)
	}
	for b.Loop() {
		began := time.Now()
		registry, stop := m.manage(b, names...)
		lists, requests := float64(kindsInCaches*len(names)), 0.0
		m.await(b, "filled", func() (bool, error) {
			requests = sum(b, registry, metrics.APIRequest, nil)
			return requests >= lists, nil
		})
		b.ReportMetric(time.Since(began).Seconds(), "full-s")
		b.ReportMetric(requests, "requests")
		live, _ := memory()
		b.ReportMetric(live, "live-MiB")
		stop()
	}
	b.ReportMetric(0, "ns/op")
}

// numberOf returns the number in a variable of the environment.
func numberOf(b *testing.B, variable string, otherwise int) int {
	b.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 2 {
		b.Fatalf("%s is %q, want a number from 2 on", variable, text)
	}
	return n
}

// many is an API server with a namespace for benchmarks, and the number of CRs to create.
type many struct {
	server *rest.Config
	etcd   string
	admin  client.Client
	count  int
}

func newMany(b *testing.B, variable string) *many {
	b.Helper()
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	server, etcd := apiserver.StartWithEtcd(b)
	m := &many{server: rest.CopyConfig(server), etcd: etcd, count: numberOf(b, variable, 1000)}
	m.server.QPS = -1 // as ctrl.GetConfig sets it for a manager in a cluster
	var err error
	if m.admin, err = client.New(m.server, client.Options{Scheme: newScheme()}); err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{systemNamespace, benchNamespace, otherNamespace} {
		create(b, m.admin, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	applyRBAC(b, m.admin)
	return m
}

// manage starts a manager of the given namespaces, by default one, and waits until it is ready. It returns the registry that counts the
// manager's requests, and a function that stops the manager. This manager elects no leader, because
// the writes of the Lease would be counted.
func (m *many) manage(b *testing.B, names ...string) (registry *prometheus.Registry, stop func()) {
	b.Helper()
	if len(names) == 0 {
		names = []string{benchNamespace}
	}
	opts := &options{namespaces: names, leaderNamespace: systemNamespace, probeAddress: freeAddress(b), metricsAddress: "0"}
	registry = prometheus.NewRegistry()
	ended, end := start(b, m.server, opts, registry)
	m.await(b, "ready", func() (bool, error) {
		select {
		case err := <-ended:
			return false, fmt.Errorf("the manager ended: %w", err)
		default:
			return wantStatus(b, "http://"+opts.probeAddress+"/readyz", "", http.StatusOK) == nil, nil
		}
	})
	return registry, func() {
		if err := end(); err != nil {
			b.Error(err)
		}
	}
}

// measureTold creates all CRs and waits until each has a condition.
func (m *many) measureTold(b *testing.B) {
	b.Helper()
	_, stop := m.manage(b)
	defer stop()
	began := time.Now()
	m.create(b)
	b.ReportMetric(time.Since(began).Seconds(), "create-s")
	m.await(b, "told", func() (bool, error) {
		count := 0
		err := m.each(b, func(o client.Object) error {
			if len(conditionsOf(o)) > 0 {
				count++
			}
			return nil
		})
		return count == m.count, err
	})
	b.ReportMetric(time.Since(began).Seconds(), "told-s")
}

// measureRestart starts a manager after all CRs have ended.
func (m *many) measureRestart(b *testing.B) {
	b.Helper()
	debug.FreeOSMemory()
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(chartLimit * memoryShare / 100))
	server, before, began, used := m.serverCPU(b), reconciled(b), time.Now(), cpu(b)
	registry, stop := m.manage(b)
	defer stop()
	m.await(b, "looked at", func() (bool, error) { return reconciled(b)-before >= float64(m.count), nil })
	b.ReportMetric(time.Since(began).Seconds(), "restart-s")
	b.ReportMetric((cpu(b) - used).Seconds(), "restart-cpu-s")
	b.ReportMetric(m.serverCPU(b)-server, "restart-server-s")
	live, held := memory()
	b.ReportMetric(live, "full-MiB")
	b.ReportMetric(held, "held-MiB")
	time.Sleep(time.Second) // Late writes count too.
	writes := written(b, registry)
	b.ReportMetric(writes, "restart-writes")
	if writes > 0 {
		b.Errorf("a manager that has nothing to do has written %v times", writes)
	}
}

// measureList lists the ended CRs as users do.
func (m *many) measureList(b *testing.B) {
	b.Helper()
	var out strings.Builder
	cmd := kube.Connected(func(c *kube.Connection) *cobra.Command { return list.NewCommand(c.Connect, time.Now) })
	cmd.SetArgs([]string{"-n", benchNamespace, "--kubeconfig", apiserver.Kubeconfig(b, m.server)})
	cmd.SetOut(&out)
	server, began, used := m.serverCPU(b), time.Now(), cpu(b)
	if err := cmd.ExecuteContext(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(time.Since(began).Seconds(), "list-s")
	b.ReportMetric((cpu(b) - used).Seconds(), "list-cpu-s")
	b.ReportMetric(m.serverCPU(b)-server, "list-server-s")
	if lines := strings.Count(out.String(), "\n"); lines < m.count {
		b.Errorf("the list has %d lines", lines)
	}
}

// create creates all CRs from samples.
func (m *many) create(b *testing.B) {
	b.Helper()
	benchmark, sweep := &v1alpha1.CephBenchmark{}, &v1alpha1.CephTuningSweep{}
	benchmark.Spec, sweep.Spec = specs(b)
	group, ctx := errgroup.WithContext(b.Context())
	group.SetLimit(createdAtOnce)
	for i := range m.count {
		o := client.Object(benchmark.DeepCopy())
		if i%2 == 1 {
			o = sweep.DeepCopy()
		}
		o.SetNamespace(benchNamespace)
		o.SetName(fmt.Sprintf("cr-%d", i))
		group.Go(func() error { return m.admin.Create(ctx, o) })
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
}

// store stores ended CRs, and returns their average size in KiB. It writes copies of the first of each kind into etcd,
// because the API server would take hours for so many requests on a busy machine.
func (m *many) store(b *testing.B) float64 {
	b.Helper()
	benchmark, sweep := ended(b)
	benchmark.Spec, sweep.Spec = specs(b)
	benchmark.Status.ObservedGeneration, benchmark.Status.ObservedRunID = 1, benchmark.Spec.RunID
	sweep.Status.ObservedGeneration, sweep.Status.ObservedRunID = 1, sweep.Spec.RunID
	bytes := 0
	var puts []any
	for i, o := range []client.Object{benchmark, sweep} {
		kind, plural := []string{"CephBenchmark", "CephTuningSweep"}[i], []string{"cephbenchmarks", "cephtuningsweeps"}[i]
		o = m.managed(b, o)
		for n := range (m.count + 1 - i) / 2 {
			o.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
			o.SetNamespace(benchNamespace)
			o.SetName(fmt.Sprintf("cr-%d", n))
			o.SetUID(types.UID(fmt.Sprintf("00000000-0000-4000-800%d-%012d", i, n)))
			o.SetGeneration(1)
			o.SetCreationTimestamp(metav1.NewTime(time.Now().Truncate(time.Second)))
			o.SetResourceVersion("")
			text, err := json.Marshal(o)
			if err != nil {
				b.Fatal(err)
			}
			bytes += len(text)
			key := fmt.Sprintf("/registry/%s/%s/%s/%s", v1alpha1.GroupVersion.Group, plural, benchNamespace, o.GetName())
			puts = append(puts, map[string]any{"requestPut": map[string][]byte{"key": []byte(key), "value": text}})
		}
	}
	for some := range slices.Chunk(puts, 64) {
		body, err := json.Marshal(map[string]any{"success": some})
		if err != nil {
			b.Fatal(err)
		}
		answer, err := http.Post(m.etcd+"/v3/kv/txn", "application/json", strings.NewReader(string(body))) //nolint:noctx // It is the test's own etcd.
		if err != nil || answer.StatusCode != http.StatusOK {
			b.Fatal(answer, err)
		}
		_ = answer.Body.Close()
	}
	m.await(b, "served", func() (bool, error) { // The API server fills its own cache.
		count := 0
		err := m.each(b, func(client.Object) error { count++; return nil })
		return count == m.count, err
	})
	return float64(bytes) / float64(m.count) / 1024
}

// managed returns an ended object as the API server stores it, with managedFields, which can be as long as its status.
func (m *many) managed(b *testing.B, o client.Object) client.Object {
	b.Helper()
	o.SetNamespace(otherNamespace) // No manager of these tests looks there.
	made, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		b.Fatalf("%T", o)
	}
	create(b, m.admin, made)
	o.SetUID(made.GetUID())
	o.SetResourceVersion(made.GetResourceVersion())
	if err := m.admin.Status().Update(b.Context(), o); err != nil {
		b.Fatal(err)
	}
	return o
}

// specs returns the specs of samples.
func specs(b *testing.B) (v1alpha1.CephBenchmarkSpec, v1alpha1.CephTuningSweepSpec) {
	b.Helper()
	benchmark, sweep := &v1alpha1.CephBenchmark{}, &v1alpha1.CephTuningSweep{}
	sample(b, "cephbenchmark_radosbench.yaml", benchmark)
	sample(b, "cephtuningsweep_pg_num.yaml", sweep)
	benchmark.Spec.RunID, sweep.Spec.RunID = "1", "1"
	return benchmark.Spec, sweep.Spec
}

// ended returns a benchmark of four phases and a sweep of sixty runs, with results of a usual size.
func ended(b *testing.B) (*v1alpha1.CephBenchmark, *v1alpha1.CephTuningSweep) {
	b.Helper()
	folder := filepath.Join(apiserver.Root(b), "config", "argocd", "resource_customizations", "cephtune.dev")
	benchmark, sweep := &v1alpha1.CephBenchmark{}, &v1alpha1.CephTuningSweep{}
	read(b, filepath.Join(folder, "CephBenchmark", "testdata", "healthy_gate_passed.yaml"), benchmark)
	read(b, filepath.Join(folder, "CephTuningSweep", "testdata", "healthy_better.yaml"), sweep)
	phase := benchmark.Status.Phases[0]
	figure := phase.Metrics[0]
	phase.Metrics = nil
	for _, figure.Metric = range []v1alpha1.Metric{
		v1alpha1.MetricBandwidth, v1alpha1.MetricIOPS, v1alpha1.MetricLatencyMean, v1alpha1.MetricLatencyMax,
		v1alpha1.MetricLatencyP50, v1alpha1.MetricLatencyP95, v1alpha1.MetricLatencyP99, v1alpha1.MetricLatencyP999,
	} {
		phase.Metrics = append(phase.Metrics, figure)
	}
	benchmark.Status.Phases = nil
	for i := range 4 {
		phase.Name = v1alpha1.PhaseName(fmt.Sprintf("phase-%d", i))
		benchmark.Status.Phases = append(benchmark.Status.Phases, phase)
	}
	for n := int32(len(sweep.Status.Trials)) + 1; n <= 60; n++ {
		sweep.Status.Trials = append(sweep.Status.Trials, v1alpha1.Trial{
			Number: n, State: v1alpha1.TrialValid, DurationSeconds: 75, WrittenMebibytes: 4096, Configuration: new(int32(0)), Objective: "992",
			Block: &v1alpha1.TrialBlock{Number: (n-1)/4 + 1, Attempt: 1, Position: (n - 1) % 4},
		})
	}
	return benchmark, sweep
}

// each calls do for each CR. It lists a few at a time: an API server answers within a minute, and a busy one needs longer for
// 10,000.
func (m *many) each(b *testing.B, do func(client.Object) error) error {
	b.Helper()
	for _, all := range []client.ObjectList{&v1alpha1.CephBenchmarkList{}, &v1alpha1.CephTuningSweepList{}} {
		for more := true; more; more = all.GetContinue() != "" {
			err := m.admin.List(b.Context(), all, client.InNamespace(benchNamespace), client.Limit(listedAtOnce), client.Continue(all.GetContinue()))
			if err == nil {
				err = meta.EachListItem(all, func(item runtime.Object) error {
					return do(item.(client.Object)) //nolint:forcetypeassert,errcheck // It is a CR.
				})
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func conditionsOf(o client.Object) []metav1.Condition {
	switch o := o.(type) {
	case *v1alpha1.CephBenchmark:
		return o.Status.Conditions
	case *v1alpha1.CephTuningSweep:
		return o.Status.Conditions
	}
	return nil
}

func (m *many) removeAll(b *testing.B) {
	b.Helper()
	in := client.InNamespace(benchNamespace)
	if err := errors.Join(m.admin.DeleteAllOf(b.Context(), &v1alpha1.CephBenchmark{}, in), m.admin.DeleteAllOf(b.Context(), &v1alpha1.CephTuningSweep{}, in)); err != nil {
		b.Fatal(err)
	}
}

// await polls slowly, because the poll takes CPU from the process that is measured. An API server that is too busy to answer is
// asked again.
func (m *many) await(b *testing.B, goal string, reached func() (bool, error)) {
	b.Helper()
	for end := time.Now().Add(manyTimeout); ; time.Sleep(500 * time.Millisecond) {
		done, err := reached()
		if err != nil && !apierrors.IsTimeout(err) {
			b.Fatal(err)
		}
		if done {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("not %s within %v", goal, manyTimeout)
		}
	}
}

// memory returns the live heap of this process and the memory that it had from the system before
// the garbage collection, both in MiB.
func memory() (live, held float64) {
	var stats goruntime.MemStats
	goruntime.ReadMemStats(&stats)
	held = float64(stats.Sys-stats.HeapReleased) / mebibyte
	goruntime.GC()
	goruntime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc) / mebibyte, held
}

// cpu returns the CPU time of this process.
func cpu(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// serverCPU returns the seconds of CPU that the API server has used. The question itself takes some 0.1 s.
func (m *many) serverCPU(b *testing.B) float64 {
	b.Helper()
	api, err := discovery.NewDiscoveryClientForConfig(m.server)
	if err != nil {
		b.Fatal(err)
	}
	text, err := api.RESTClient().Get().AbsPath("/metrics").DoRaw(b.Context())
	found := regexp.MustCompile(`(?m)^process_cpu_seconds_total (\S+)$`).FindSubmatch(text)
	if err != nil || found == nil {
		b.Fatal("the API server does not say how much CPU it has used", err)
	}
	seconds, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		b.Fatal(err)
	}
	return seconds
}

// reconciled returns the number of passes of all controllers in this process.
func reconciled(b *testing.B) float64 {
	b.Helper()
	return sum(b, ctrlmetrics.Registry, "controller_runtime_reconcile_total", nil)
}

// written returns how many write requests a manager has sent.
func written(b *testing.B, gatherer prometheus.Gatherer) float64 {
	b.Helper()
	return sum(b, gatherer, metrics.APIRequest, map[string]bool{"get": true, "watch": true})
}

// sum adds up a counter, or the number of a histogram's observations. It leaves out series with one
// of the given labels.
func sum(b *testing.B, gatherer prometheus.Gatherer, name string, without map[string]bool) float64 {
	b.Helper()
	families, err := gatherer.Gather()
	if err != nil {
		b.Fatal(err)
	}
	total := 0.0
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			left := false
			for _, label := range metric.GetLabel() {
				left = left || without[label.GetValue()]
			}
			if !left {
				total += metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			}
		}
	}
	return total
}
