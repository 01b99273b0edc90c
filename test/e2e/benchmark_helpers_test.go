//go:build e2e

package e2e

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	cephtune "github.com/cephtune/cephtune/internal/settings"
)

const (
	// benchNamespace is the namespace that the tests' manager handles.
	benchNamespace = "cephtune-bench"
	// existingPool is listed in the operator config of the tests' manager. Tests that need it
	// create and remove it.
	existingPool = "cephtune-e2e-existing"

	// Deadlines of a benchmark on a machine that also does other work: until its clients measure,
	// until it ends, and until its teardown is complete.
	startWithin    = 6 * time.Minute // including up to three for a quiescent cluster
	runWithin      = 12 * time.Minute
	teardownWithin = 2 * time.Minute
	// conditionWithin is the deadline for a benchmark to say what it waits for.
	conditionWithin = time.Minute
)

// benchmark returns a CephBenchmark of one run, with clients and deadlines that suit a small cluster.
// It does not create it.
func (c *cluster) benchmark(name string, target v1alpha1.Target, phases ...v1alpha1.Phase) *v1alpha1.CephBenchmark {
	return &v1alpha1.CephBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: "cephtune-e2e-" + name},
		Spec: v1alpha1.CephBenchmarkSpec{
			ClusterRef:  v1alpha1.ClusterReference{Namespace: c.rookNamespace, Name: c.cephCluster},
			Repetitions: 1,
			Template: v1alpha1.BenchmarkTemplate{
				Target: target,
				Clients: v1alpha1.Clients{
					Count:     1,
					Resources: v1alpha1.ClientResources{CPU: resource.MustParse("800m"), Memory: resource.MustParse("1Gi")},
				},
				Dataset: v1alpha1.Dataset{Size: "64Mi"},
				Rest:    &metav1.Duration{Duration: time.Second},
				Phases:  phases,
			},
			Quiescence: v1alpha1.Quiescence{
				Timeout: metav1.Duration{Duration: 3 * time.Minute},
				// A small machine that also does other work is slow now and then. Its OSDs may need
				// minutes to remove the data of the previous test. The tests do not depend on
				// speed.
				AllowedWarnings: []v1alpha1.HealthCode{"BLUESTORE_SLOW_OP_ALERT", "SLOW_OPS", "STRAY_PGS"},
			},
		},
	}
}

// replicatedScratch returns a scratch pool with images of 128 MiB.
func (c *cluster) replicatedScratch() v1alpha1.Target {
	return v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{
		Replicated:    &v1alpha1.ReplicatedPool{Size: 3},
		FailureDomain: c.failureDomain,
		Parameters:    map[string]v1alpha1.ParameterValue{"pg_num": "16", "pg_autoscale_mode": "off"},
		Image:         v1alpha1.Image{Size: resource.MustParse("128Mi")},
	}}
}

// shortest is the shortest phase that the API permits.
const shortest = 30 * time.Second

func radosWrite(name v1alpha1.PhaseName) v1alpha1.Phase {
	return v1alpha1.Phase{Name: name, RadosBench: &v1alpha1.RadosBench{
		Mode:      v1alpha1.RadosBenchWrite,
		BlockSize: resource.MustParse("64Ki"),
		Duration:  metav1.Duration{Duration: shortest},
		Ramp:      &metav1.Duration{Duration: 2 * time.Second},
	}}
}

func fioPhase(name v1alpha1.PhaseName, fio v1alpha1.Fio) v1alpha1.Phase {
	fio.Duration = metav1.Duration{Duration: shortest}
	fio.Ramp = &metav1.Duration{Duration: 2 * time.Second}
	return v1alpha1.Phase{Name: name, Fio: &fio}
}

// create creates a benchmark. At the end of the test it is removed, and nothing of it may remain.
// If the test has failed, everything about the benchmark is logged before that.
func (c *cluster) create(t testing.TB, b *v1alpha1.CephBenchmark) {
	t.Helper()
	since := time.Now()
	if err := c.Create(t.Context(), b); err != nil {
		t.Fatalf("create CephBenchmark %s: %v", b.Name, err)
	}
	t.Cleanup(func() {
		c.deleteAndWait(t, b)
		c.wantNoTraces(t, b)
	})
	t.Cleanup(func() {
		if t.Failed() {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
			defer cancel()
			t.Log(c.story(ctx, b, since))
		}
	})
}

// read refreshes a benchmark.
func (c *cluster) read(ctx context.Context, b *v1alpha1.CephBenchmark) error {
	read := &v1alpha1.CephBenchmark{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(b), read); err != nil {
		return err
	}
	*b = *read
	return nil
}

// change patches the spec of a benchmark, so that a write of status meanwhile is no conflict.
func (c *cluster) change(t testing.TB, b *v1alpha1.CephBenchmark, edit func(*v1alpha1.CephBenchmarkSpec)) {
	t.Helper()
	before := b.DeepCopy()
	edit(&b.Spec)
	if err := c.Patch(t.Context(), b, client.MergeFrom(before)); err != nil {
		t.Fatalf("change CephBenchmark %s: %v", b.Name, err)
	}
}

// await polls a benchmark until holds returns no error. A benchmark that has failed does not change, so
// a failure ends the wait, and the error contains the logs of its pods before these are removed.
func (c *cluster) await(t testing.TB, b *v1alpha1.CephBenchmark, within time.Duration, goal string, holds func(*v1alpha1.CephBenchmark) error) {
	t.Helper()
	c.poll(t, b, within, goal, func(ctx context.Context) error {
		err := holds(b)
		if failed := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionFailed); err != nil && isTrue(failed) {
			t.Fatalf("CephBenchmark %s failed, want it %s: %s: %s\n%s", b.Name, goal, failed.Reason, failed.Message, c.podLogs(ctx, b))
		}
		return err
	})
}

// poll refreshes a benchmark until holds returns no error.
func (c *cluster) poll(t testing.TB, b *v1alpha1.CephBenchmark, within time.Duration, goal string, holds func(context.Context) error) {
	t.Helper()
	eventually(t, within, "CephBenchmark "+b.Name+" "+goal, func(ctx context.Context) error {
		if err := c.read(ctx, b); err != nil {
			return err
		}
		if err := holds(ctx); err != nil {
			return fmt.Errorf("%w; %s", err, progressOf(b))
		}
		return nil
	})
}

func isTrue(condition *metav1.Condition) bool {
	return condition != nil && condition.Status == metav1.ConditionTrue
}

// progressOf summarizes a benchmark's status in one line.
func progressOf(b *v1alpha1.CephBenchmark) string {
	step := ""
	if b.Status.Progress != nil {
		step = b.Status.Progress.Summary + " " + b.Status.Progress.Step
	}
	if ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady); ready != nil {
		return fmt.Sprintf("it is %s (%s): %s", ready.Reason, step, ready.Message)
	}
	return "it says nothing yet"
}

// runTo creates a benchmark, and waits until it has ended with the condition kind, which is
// Complete or Failed, and nothing of it remains.
func (c *cluster) runTo(t testing.TB, kind string, b *v1alpha1.CephBenchmark) {
	t.Helper()
	c.create(t, b)
	c.awaitEnd(t, kind, b)
}

func (c *cluster) awaitEnd(t testing.TB, kind string, b *v1alpha1.CephBenchmark) {
	t.Helper()
	c.await(t, b, runWithin, "to be "+kind, func(b *v1alpha1.CephBenchmark) error {
		return hasEnded(b, kind)
	})
	c.poll(t, b, teardownWithin, "to be done with removing what it made", func(context.Context) error {
		if reconciling := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReconciling); isTrue(reconciling) {
			return fmt.Errorf("it is still at it: %s", reconciling.Message)
		}
		return hasEnded(b, kind)
	})
	c.wantNoTraces(t, b)
}

// hasEnded returns an error unless the requested run ID of a benchmark has ended with the given
// condition.
func hasEnded(b *v1alpha1.CephBenchmark, kind string) error {
	switch {
	case b.Status.ObservedRunID != b.Spec.RunID:
		return fmt.Errorf("status is about run %q", b.Status.ObservedRunID)
	case !meta.IsStatusConditionTrue(b.Status.Conditions, kind):
		return fmt.Errorf("condition %s is not True", kind)
	}
	return nil
}

// wantReason checks that a condition is True, its reason, and words in its message.
func wantReason(t testing.TB, b *v1alpha1.CephBenchmark, kind, reason string, words ...string) {
	t.Helper()
	condition := meta.FindStatusCondition(b.Status.Conditions, kind)
	if !isTrue(condition) || condition.Reason != reason {
		t.Errorf("condition %s is %+v, want it True with reason %s", kind, condition, reason)
		return
	}
	for _, word := range words {
		if !strings.Contains(condition.Message, word) {
			t.Errorf("condition %s says %q, want it to name %q", kind, condition.Message, word)
		}
	}
}

// hasReason returns a function that returns an error if a benchmark's condition Ready has another
// reason.
func hasReason(reason string) func(*v1alpha1.CephBenchmark) error {
	return func(b *v1alpha1.CephBenchmark) error {
		ready := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Reason != reason {
			return fmt.Errorf("its reason is not %s", reason)
		}
		return nil
	}
}

// isMeasuring returns an error unless a run of the benchmark is under way.
func isMeasuring(b *v1alpha1.CephBenchmark) error {
	if err := hasReason(v1alpha1.ReasonRunning)(b); err != nil {
		return err
	}
	if len(b.Status.Runs) == 0 || b.Status.Runs[len(b.Status.Runs)-1].State != v1alpha1.RunRunning {
		return errors.New("no run is under way")
	}
	return nil
}

// awaitMeasuring waits until a benchmark is within its first phase.
func (c *cluster) awaitMeasuring(t testing.TB, b *v1alpha1.CephBenchmark) {
	t.Helper()
	c.await(t, b, startWithin, "to measure", isMeasuring)
	time.Sleep(5 * time.Second) // Status does not show when the engine has started.
}

// wantNoTraces checks, in Kubernetes and in Ceph, that only the results of an ended benchmark
// remain.
func (c *cluster) wantNoTraces(t testing.TB, b *v1alpha1.CephBenchmark) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
	defer cancel()
	if left, err := c.traces(ctx, b); err != nil {
		t.Errorf("look for traces of %s: %v", b.Name, err)
	} else if len(left) > 0 {
		t.Errorf("CephBenchmark %s has left behind: %s", b.Name, strings.Join(left, ", "))
	}
}

// made selects the objects that the operator creates for a benchmark. Only one benchmark runs at a
// time.
func made() client.MatchingLabels {
	return client.MatchingLabels{"app.kubernetes.io/managed-by": "cephtune", "app.kubernetes.io/component": "benchmark"}
}

func (c *cluster) traces(ctx context.Context, b *v1alpha1.CephBenchmark) ([]string, error) {
	var left []string
	for _, list := range []client.ObjectList{
		&batchv1.JobList{}, &corev1.PodList{}, &corev1.SecretList{}, &corev1.PersistentVolumeClaimList{},
	} {
		if err := c.List(ctx, list, client.InNamespace(b.Namespace), made()); err != nil {
			return nil, err
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return nil, err
		}
		for _, item := range items {
			object, err := meta.Accessor(item)
			if err != nil {
				return nil, err
			}
			left = append(left, fmt.Sprintf("%T %s", item, object.GetName()))
		}
	}
	inCeph, err := c.tracesInCeph(ctx)
	if err != nil {
		return nil, err
	}
	lock, err := c.heldLocks(ctx, b)
	return slices.Concat(left, inCeph, lock), err
}

// tracesInCeph returns scratch pools, and the operator's records in Ceph, such as the lock.
func (c *cluster) tracesInCeph(ctx context.Context) ([]string, error) {
	var left, pools, keys []string
	for _, name := range []string{cephtune.ScratchPool, cephtune.ScratchDataPool} {
		pool := c.rookObject("CephBlockPool", name, nil)
		if err := c.Get(ctx, client.ObjectKeyFromObject(pool), pool); err == nil {
			left = append(left, "CephBlockPool "+name)
		} else if !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	if err := c.cephJSON(ctx, &pools, "osd", "pool", "ls"); err != nil {
		return nil, err
	}
	for _, pool := range pools {
		if strings.HasPrefix(pool, cephtune.ScratchPool) {
			left = append(left, "pool "+pool)
		}
	}
	if err := c.cephJSON(ctx, &keys, "config-key", "ls"); err != nil {
		return nil, err
	}
	for _, key := range keys {
		if strings.HasPrefix(key, "cephtune/") {
			left = append(left, "config-key "+key)
		}
	}
	return left, nil
}

// heldLocks returns the Leases that a benchmark holds.
func (c *cluster) heldLocks(ctx context.Context, b *v1alpha1.CephBenchmark) ([]string, error) {
	var leases coordinationv1.LeaseList
	if err := c.List(ctx, &leases, client.InNamespace(c.managerService.Namespace)); err != nil {
		return nil, err
	}
	var held []string
	for _, lease := range leases.Items {
		if holder := lease.Spec.HolderIdentity; holder != nil && strings.Contains(*holder, string(b.UID)) {
			held = append(held, "Lease "+lease.Name)
		}
	}
	return held, nil
}

// podLogs returns the logs of a benchmark's pods.
func (c *cluster) podLogs(ctx context.Context, b *v1alpha1.CephBenchmark) string {
	var text strings.Builder
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.InNamespace(b.Namespace), made()); err != nil {
		return err.Error()
	}
	for _, pod := range pods.Items {
		fmt.Fprintf(&text, "Pod %s is %s: %s\n", pod.Name, pod.Status.Phase, pod.Status.Message)
		for _, container := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
			log, err := c.logs(ctx, pod.Namespace, pod.Name, container.Name)
			if err != nil {
				log = err.Error()
			}
			fmt.Fprintf(&text, "--- %s/%s\n%s\n", pod.Name, container.Name, lastBytes(log, 16<<10))
		}
	}
	return text.String()
}

// story returns everything about a benchmark: the manager's log since its creation, its pods, its
// events, and the object. The most important part comes last, because readers and logs often keep
// only the end.
func (c *cluster) story(ctx context.Context, b *v1alpha1.CephBenchmark, since time.Time) string {
	var text strings.Builder
	fmt.Fprintf(&text, "=== Manager\n%s", c.managerLogs(ctx, since))
	fmt.Fprintf(&text, "=== Pods\n%s", c.podLogs(ctx, b))
	events, err := c.eventsOf(ctx, b)
	fmt.Fprintf(&text, "=== Events (%v)\n", err)
	for _, e := range events {
		fmt.Fprintf(&text, "%s %s %s: %s\n", e.CreationTimestamp.Format(time.TimeOnly), e.Type, e.Reason, e.Note)
	}
	if err := c.read(ctx, b); err != nil {
		fmt.Fprintf(&text, "CephBenchmark %s cannot be read: %v\n", b.Name, err)
	}
	b.ManagedFields = nil
	object, err := yaml.Marshal(b)
	fmt.Fprintf(&text, "=== CephBenchmark %s (%v)\n%s%s\n", b.Name, err, object, progressOf(b))
	for _, run := range b.Status.Runs {
		fmt.Fprintf(&text, "Run %d is %s: %s\n", run.Number, run.State, run.Reason)
	}
	return text.String()
}

// eventsOf returns the events of an object, in order.
func (c *cluster) eventsOf(ctx context.Context, o client.Object) ([]eventsv1.Event, error) {
	var all eventsv1.EventList
	if err := c.List(ctx, &all, client.InNamespace(o.GetNamespace())); err != nil {
		return nil, err
	}
	events := slices.DeleteFunc(all.Items, func(e eventsv1.Event) bool { return e.Regarding.UID != o.GetUID() })
	slices.SortStableFunc(events, func(x, y eventsv1.Event) int { return x.CreationTimestamp.Compare(y.CreationTimestamp.Time) })
	return events, nil
}

// managerPods returns the pods of the manager, including those that are terminating.
func (c *cluster) managerPods(ctx context.Context) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := c.List(ctx, &pods, client.InNamespace(c.managerService.Namespace), client.MatchingLabels{"app.kubernetes.io/component": "manager"})
	return pods.Items, err
}

func (c *cluster) managerLogs(ctx context.Context, since time.Time) string {
	pods, err := c.managerPods(ctx)
	if err != nil {
		return err.Error()
	}
	var text strings.Builder
	for _, pod := range pods {
		for _, container := range pod.Spec.Containers {
			log, err := c.logsSince(ctx, pod.Namespace, pod.Name, container.Name, since)
			if err != nil {
				log = err.Error()
			}
			fmt.Fprintf(&text, "--- %s/%s\n%s\n", pod.Name, container.Name, lastBytes(log, 64<<10))
		}
	}
	return text.String()
}

func lastBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return "…" + strings.ToValidUTF8(text[len(text)-most:], "")
}
