package cephbenchmark

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/dependencies"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/metrics/exporter/exportertest"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/settings/namespaces"
	"github.com/cephtune/cephtune/internal/testing/rights"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

const (
	rookNamespace = "rook-ceph"
	// soon bounds each wait of these tests. It only ends tests that hang: a wait takes a second or two on an idle machine,
	// and took up to two minutes on one with 30 times as much work as processors.
	soon = 8 * time.Minute
)

// world is a namespace of a real API server with the controller, and simulates the rest of a
// cluster: pods of Jobs, their runners, Rook, Ceph, and a clock that can be advanced.
type world struct {
	client.Client
	t         *testing.T
	server    *rest.Config // for the manager, with the rights in the manifests
	namespace string
	ceph      *cephtest.Cluster
	rook      *fakeRook
	kubelet   *kubelet
	logs      *podPrinter
	writes    *writes
	counted   *prometheus.Registry
	counts    *exporter.Events
	ahead     atomic.Int64 // how far the clock of the world is ahead of the real one, in nanoseconds
	started   int
	// kill is the step at which the manager dies, once, while it changes OSDs. died then receives a
	// value.
	kill atomic.Pointer[tuning.Step]
	died chan struct{}
	// keepEvery is the interval at which managers that start from now on look for orphaned OSDs.
	keepEvery  time.Duration
	masterKey  []byte // of managers that start from now on
	reconciler *Reconciler
	stop       context.CancelFunc
}

// newWorld starts a world with its own namespace on an API server.
func newWorld(t *testing.T, server *rest.Config, namespace string) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(server, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	w := worldWith(t, c, namespace)
	restricted := map[string]string{"pod-security.kubernetes.io/enforce": "restricted"} // as config/bench has it
	if err := c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: restricted}}); err != nil {
		t.Fatal(err)
	}
	w.server = rights.Manager(t, server, namespace)
	go w.kubelet.run(t.Context())
	w.start()
	return w
}

// worldWith returns a world in which nothing happens by itself, with the client of an administrator.
func worldWith(t *testing.T, c client.Client, namespace string) *world {
	w := &world{
		Client: c, t: t, namespace: namespace,
		ceph: quietCeph(), rook: &fakeRook{}, kubelet: newKubelet(c, namespace), writes: &writes{}, counted: prometheus.NewRegistry(),
		died: make(chan struct{}, 1), masterKey: make([]byte, 32),
	}
	w.rook.ceph = w.ceph
	w.counts = exporter.NewEvents(w.counted)
	w.ceph.Act(func(c *cephtest.Cluster) { c.Now = w.now })
	w.logs = &podPrinter{}
	return w
}

func kubernetesVersion(context.Context) string { return "v1.36.3" }

// start starts the manager, or starts another after it has ended.
func (w *world) start() {
	w.t.Helper()
	skip := true
	ours := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{settings.LabelManagedBy: settings.ManagedBy})}
	direct, err := client.NewWithWatch(w.server, client.Options{Scheme: w.Scheme()})
	if err != nil {
		w.t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(w.server, ctrl.Options{
		Scheme:     w.Scheme(),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: &skip},
		Cache: cache.Options{
			DefaultNamespaces: map[string]cache.Config{w.namespace: {}},
			ByObject:          map[client.Object]cache.ByObject{&batchv1.Job{}: ours, &corev1.Pod{}: ours},
		},
		NewCache: namespaces.NewCache,
		NewClient: func(c *rest.Config, o client.Options) (client.Client, error) {
			inner, err := client.NewWithWatch(c, o)
			return namespaces.Tolerant(interceptor.NewClient(inner, w.writes.funcs()), direct), err
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	counted := interceptor.NewClient(direct, w.writes.funcs())
	w.started++
	ctx, stop := context.WithCancel(w.t.Context())
	process := fmt.Sprintf("manager-%d", w.started)
	w.reconciler = New(Options{
		Shared: dependencies.Shared{
			Client: mgr.GetClient(), Reader: namespaces.Tolerant(direct, direct), Recorder: mgr.GetEventRecorder(Name),
			Settings: allowances(), Ceph: w.ceph,
			Lock:      lock.NewBoth(lock.NewLeases(counted, counted, w.namespace, process), lock.NewRecords(w.ceph, "this-cluster")),
			Journals:  journals.New(counted, counted, w.namespace),
			Outages:   journals.New(counted, counted, w.namespace).ForOutages(),
			Writer:    process,
			KeepEvery: w.keepEvery,
			Reached:   func(step tuning.Step) error { return w.reached(step, stop) },
			MasterKey: w.masterKey,
			Counts:    w.counts,
			Now:       w.now,
		},
		Rook:       w.rook,
		Namespaces: namespaces.New(direct),
		Dial:       w.kubelet.dial,
		Logs:       w.logs,

		KubernetesVersion: kubernetesVersion,
	})
	if err := w.reconciler.SetupWithManager(mgr); err != nil {
		w.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := mgr.Start(ctx); err != nil {
			w.t.Errorf("the manager ended: %v", err)
		}
	}()
	w.stop = func() { stop(); <-ended }
	w.t.Cleanup(w.stop)
}

// restart simulates a crash of the manager and a new start.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.start()
}

func allowances() *settings.Settings {
	return &settings.Settings{
		Clusters: []settings.Cluster{
			{
				Namespace: rookNamespace, Name: "my-cluster", ExistingPools: []string{"open"},
				Identities: settings.Identities{Observer: "observer", IO: "io", CacheDropper: "dropper", Tuner: "tuner", OSDStopper: "stopper"},
				StopOSDs:   true, PlacePGs: true,
			},
			{
				Namespace: rookNamespace, Name: "powerless", Identities: settings.Identities{Observer: "observer", IO: "io"},
			},
		},
		Images: settings.Images{Tools: "tools", Runner: "runner", PullPolicy: "IfNotPresent"},
		Pods:   settings.Pods{StartTimeout: metav1.Duration{Duration: 5 * time.Minute}},
	}
}

func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// wait advances the clock and wakes the reconciler for all objects.
func (w *world) wait(d time.Duration) {
	w.t.Helper()
	w.ahead.Add(int64(d))
	w.look()
}

// look wakes the reconciler for all objects.
func (w *world) look() {
	w.t.Helper()
	var all v1alpha1.CephBenchmarkList
	if err := w.List(w.t.Context(), &all, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	for i := range all.Items {
		w.reconciler.wake(client.ObjectKeyFromObject(&all.Items[i]))
	}
}

// writes counts the manager's writes, except Events, by verb and kind.
type writes struct {
	mu     sync.Mutex
	counts map[string]int
	// refuse, if set, is called before each write. Its error makes the write fail.
	refuse func(request string) error
}

func (w *writes) note(verb string, c client.Client, o client.Object) error {
	gvk, err := c.GroupVersionKindFor(o)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	request := verb + " " + gvk.Kind
	if w.refuse != nil {
		if err := w.refuse(request); err != nil {
			return err
		}
	}
	if w.counts == nil {
		w.counts = map[string]int{}
	}
	w.counts[request]++
	return nil
}

// counted returns the counts and their sum.
func (w *writes) counted() (map[string]int, int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	counts, sum := map[string]int{}, 0
	for request, n := range w.counts {
		counts[request] = n
		sum += n
	}
	return counts, sum
}

// refuseIf makes writes fail from now on if refuse returns an error for them, with that error.
func (w *writes) refuseIf(refuse func(request string) error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = refuse
}

func (w *writes) funcs() interceptor.Funcs {
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := w.note("create", c, o); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			if err := w.note("update", c, o); err != nil {
				return err
			}
			return c.Update(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := w.note("patch", c, o); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := w.note("delete", c, o); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := w.note("patch "+sub+" of", c, o); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}
}

// benchmark creates a benchmark from a part of its spec in YAML. It adds the cluster, and turns
// rests off.
func (w *world) benchmark(name, spec string, change ...func(*v1alpha1.CephBenchmark)) *v1alpha1.CephBenchmark {
	w.t.Helper()
	b := w.parse(name, spec)
	for _, c := range change {
		c(b)
	}
	if err := w.Create(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	return b
}

// parse returns a benchmark without creating it.
func (w *world) parse(name, spec string) *v1alpha1.CephBenchmark {
	w.t.Helper()
	b := &v1alpha1.CephBenchmark{}
	if err := yaml.UnmarshalStrict([]byte(spec), &b.Spec); err != nil {
		w.t.Fatal(err)
	}
	b.Namespace, b.Name = w.namespace, name
	b.Spec.ClusterRef = v1alpha1.ClusterReference{Namespace: rookNamespace, Name: "my-cluster"}
	if b.Spec.Diagnosis == nil {
		b.Spec.Template.Rest = &metav1.Duration{}
	}
	return b
}

// edit changes the spec of a benchmark.
func (w *world) edit(b *v1alpha1.CephBenchmark, change func(*v1alpha1.CephBenchmarkSpec)) {
	w.t.Helper()
	w.eventually(func() string {
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			return err.Error()
		}
		before := b.DeepCopy()
		change(&b.Spec)
		// Use a patch: an update would leave out empty fields, and the API server would set their
		// defaults.
		if err := w.Patch(w.t.Context(), b, client.MergeFrom(before)); err != nil {
			return err.Error()
		}
		return ""
	})
}

// editStatus changes the status of a benchmark, which the manager may also have changed since it was read.
func (w *world) editStatus(b *v1alpha1.CephBenchmark, change func(*v1alpha1.CephBenchmarkStatus)) {
	w.t.Helper()
	w.eventually(func() string {
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			return err.Error()
		}
		change(&b.Status)
		if err := w.Status().Update(w.t.Context(), b); err != nil {
			return err.Error()
		}
		return ""
	})
}

// untilObserved waits until the manager has seen the latest spec.
func (w *world) untilObserved(b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	w.until(b, "of the latest generation", func() bool { return b.Status.ObservedGeneration == b.Generation })
}

// untilSampled waits until the execution of a benchmark has a sample of the cluster's present state.
func (w *world) untilSampled(b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	changed, before := w.now(), -1
	w.eventually(func() string {
		execution, ok := w.reconciler.live.Followed(client.ObjectKeyFromObject(b))
		if !ok {
			return "its execution is not followed"
		}
		execution.Hurry()
		samples := execution.LastView().Samples
		if before < 0 {
			before = len(samples)
		}
		// The first sample may have been read before the change, at the same time of the test's clock.
		if len(samples) < before+2 || samples[len(samples)-1].Time.Before(changed) {
			return "the cluster is not sampled"
		}
		return ""
	})
}

// delete deletes a benchmark and waits until it is gone.
func (w *world) delete(b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	if err := w.Delete(w.t.Context(), b); err != nil {
		w.t.Fatal(err)
	}
	w.untilGone(b)
}

func (w *world) untilGone(b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	w.eventually(func() string {
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); !apierrors.IsNotFound(err) {
			return fmt.Sprintf("%s is still there, %v: %+v", b.Name, err, b.Status.Conditions)
		}
		return ""
	})
}

// until waits until a benchmark is in the state that goal names.
func (w *world) until(b *v1alpha1.CephBenchmark, goal string, reached func() bool) {
	w.t.Helper()
	w.eventually(func() string {
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
			return err.Error()
		}
		if !reached() {
			return fmt.Sprintf("%s is not %s: %+v", b.Name, goal, b.Status)
		}
		return ""
	})
}

// untilReason waits for the reason of Ready, and for parts of its message.
func (w *world) untilReason(b *v1alpha1.CephBenchmark, reason string, parts ...string) {
	w.t.Helper()
	w.until(b, reason, func() bool { return reasonOf(b) == reason })
	for _, part := range parts {
		if strings.Contains(messageOf(b), part) {
			continue
		}
		w.wait(reconcile.MessageInterval)
		w.until(b, fmt.Sprintf("%s, telling %q", reason, part), func() bool {
			return reasonOf(b) == reason && strings.Contains(messageOf(b), part)
		})
	}
}

// untilFailed waits until a benchmark has failed and its teardown is complete.
func (w *world) untilFailed(b *v1alpha1.CephBenchmark, reason string, parts ...string) {
	w.t.Helper()
	w.untilReason(b, reason, parts...)
	w.until(b, "Stalled", func() bool { return isTrue(b, v1alpha1.ConditionStalled) })
	if !isTrue(b, v1alpha1.ConditionFailed) || reasonOf(b) != reason {
		w.t.Errorf("conditions %+v", b.Status.Conditions)
	}
	w.wantClean()
}

// untilComplete waits until a benchmark has results and nothing else of it remains.
func (w *world) untilComplete(b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	w.until(b, "Ready", func() bool {
		return isTrue(b, v1alpha1.ConditionReady) || isTrue(b, v1alpha1.ConditionFailed)
	})
	if !isTrue(b, v1alpha1.ConditionReady) || !isTrue(b, v1alpha1.ConditionComplete) {
		w.t.Errorf("conditions %+v", b.Status.Conditions)
	}
	w.wantClean()
}

func (w *world) eventually(problem func() string) {
	w.t.Helper()
	last := ""
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if last = problem(); last == "" {
			return
		}
	}
	w.t.Fatal(last)
}

// wantClean waits until no Job, scratch pool or lock of a benchmark remains.
func (w *world) wantClean() {
	w.t.Helper()
	w.eventually(func() string {
		var jobs batchv1.JobList
		if err := w.List(w.t.Context(), &jobs, client.InNamespace(w.namespace)); err != nil || len(jobs.Items) > 0 {
			return fmt.Sprintf("%d Jobs are left, %v", len(jobs.Items), err)
		}
		if owner := w.rook.poolOwner(); owner.UID != "" && owner.UID != stranger {
			return fmt.Sprintf("the scratch pool of %s is left", owner)
		}
		if left := w.lockInCeph(); strings.Contains(left, "this-cluster") {
			return "the lock is left: " + left
		}
		return ""
	})
}

// results returns the archives of benchmarks.
func (w *world) results() []corev1.ConfigMap {
	w.t.Helper()
	var maps corev1.ConfigMapList
	if err := w.List(w.t.Context(), &maps, client.InNamespace(w.namespace), client.HasLabels{clientjob.LabelExecution}); err != nil {
		w.t.Fatal(err)
	}
	return maps.Items
}

func isTrue(b *v1alpha1.CephBenchmark, kind string) bool {
	return meta.IsStatusConditionTrue(b.Status.Conditions, kind)
}

// untilCounted waits until a counter has the given value. It changes only after status was written.
func (w *world) untilCounted(want float64, metric string, values ...string) {
	w.t.Helper()
	w.eventually(func() string {
		if got := exportertest.Counted(w.t, w.counted, metric, values...); got != want {
			return fmt.Sprintf("%s of %v is %v, want %v", metric, values, got, want)
		}
		return ""
	})
}

func messageOf(b *v1alpha1.CephBenchmark) string { return kstatus.Current(b.Status.Conditions).Message }
