//go:build e2e

package e2e

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// An engine that runs out of work has measured nothing. The benchmark must fail, say why, and report
// no figures.
func TestBenchmarkThatEndsEarly(t *testing.T) {
	c := forTest(t)
	ioTotal := resource.MustParse("1Mi")
	tests := map[string]v1alpha1.Phase{
		"rados-seq": {Name: "short", RadosBench: &v1alpha1.RadosBench{
			Mode: v1alpha1.RadosBenchSeq, BlockSize: resource.MustParse("1Mi"), Duration: metav1.Duration{Duration: shortest},
		}},
		"rbd-write": {Name: "short", RBDBench: &v1alpha1.RBDBench{
			IOType: v1alpha1.RBDBenchWrite, DataPattern: v1alpha1.RBDBenchRepeatedByte, IOTotal: &ioTotal,
		}},
	}
	for name, phase := range tests {
		t.Run(name, func(t *testing.T) {
			b := c.benchmark("short-"+name, c.replicatedScratch(), phase)

			c.runTo(t, v1alpha1.ConditionFailed, b)

			wantReason(t, b, v1alpha1.ConditionFailed, v1alpha1.ReasonNoValidRun, "short", "EndedEarly")
			wantReason(t, b, v1alpha1.ConditionStalled, v1alpha1.ReasonNoValidRun)
			wantNoFigures(t, b)
		})
	}
}

// A phase that would fill the cluster must end before that, and its data must be removed. Writing
// that much takes minutes, and removing it from the OSDs takes longer.
func TestLongBenchmarkThatWouldFillTheCluster(t *testing.T) {
	c := forTest(t)
	phase := v1alpha1.Phase{Name: "endless", RadosBench: &v1alpha1.RadosBench{
		Mode: v1alpha1.RadosBenchWrite, BlockSize: resource.MustParse("4Mi"), Duration: metav1.Duration{Duration: 20 * time.Minute},
	}}
	b := c.benchmark("endless", c.replicatedScratch(), phase)

	c.runTo(t, v1alpha1.ConditionFailed, b)

	wantReason(t, b, v1alpha1.ConditionFailed, v1alpha1.ReasonOutOfRoom, "r1-endless ended early", "nearfull", "reuseObjects")
	wantNoFigures(t, b)
	c.wantNothingInCeph(t)
}

// wantNoFigures checks that a benchmark without a valid run reports no figures.
func wantNoFigures(t *testing.T, b *v1alpha1.CephBenchmark) {
	t.Helper()
	if len(b.Status.Phases) > 0 || b.Status.Headline != "" {
		t.Errorf("it gives figures: %q, %+v", b.Status.Headline, b.Status.Phases)
	}
	for _, run := range b.Status.Runs {
		if run.State == v1alpha1.RunValid || run.State == v1alpha1.RunRunning || run.Reason == "" {
			t.Errorf("run %d is %s for reason %q", run.Number, run.State, run.Reason)
		}
	}
}

// If Kubernetes cannot start the clients, status must say so within a minute, with Kubernetes' own
// message.
func TestBenchmarkThatCannotStart(t *testing.T) {
	c := forTest(t)
	tests := map[string]struct {
		prepare func(*testing.T, *v1alpha1.CephBenchmark)
		reason  string
	}{
		"no node takes its client": {
			prepare: func(_ *testing.T, b *v1alpha1.CephBenchmark) {
				b.Spec.Template.Clients.NodeSelector = map[string]v1alpha1.LabelValue{"cephtune.dev/e2e": "nowhere"}
			},
			reason: v1alpha1.ReasonUnschedulable,
		},
		"the quota of the namespace is used up": {
			prepare: func(t *testing.T, _ *v1alpha1.CephBenchmark) { c.allowNoPods(t) },
			reason:  v1alpha1.ReasonClientsRefused,
		},
		"there is no such claim": {
			prepare: func(_ *testing.T, b *v1alpha1.CephBenchmark) {
				b.Spec.Template.Target = v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: "cephtune-e2e-nowhere"}}
				b.Spec.Template.Phases = []v1alpha1.Phase{fioPhase("file", v1alpha1.Fio{Pattern: v1alpha1.FioRandRead})}
			},
			reason: v1alpha1.ReasonClaimNotFound,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := c.benchmark("stuck", c.replicatedScratch(), radosWrite("write"))
			test.prepare(t, b)
			c.create(t, b)
			c.await(t, b, conditionWithin, "to say what keeps it", hasReason(test.reason))
		})
	}
}

// allowNoPods sets a quota of zero pods on the namespace until the end of the test.
func (c *cluster) allowNoPods(t *testing.T) {
	t.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: "cephtune-e2e"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")}},
	}
	if err := c.Create(t.Context(), quota); err != nil {
		t.Fatalf("create a quota: %v", err)
	}
	t.Cleanup(func() { c.deleteAndWait(t, quota) })
}

// A pool that the administrator did not list is refused, and nothing is created.
func TestBenchmarkThatIsNotAllowed(t *testing.T) {
	c := forTest(t)
	b := c.benchmark("not-allowed", v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "cephtune-e2e-unlisted"}}, radosWrite("write"))
	c.create(t, b)
	c.await(t, b, conditionWithin, "to be refused", hasReason(v1alpha1.ReasonNotAllowed))
	wantReason(t, b, v1alpha1.ConditionStalled, v1alpha1.ReasonNotAllowed, "cephtune-e2e-unlisted")
	c.wantNoTraces(t, b)
}

// One benchmark runs at a time: the second waits, and names the first. When the first one's client
// is killed, the first benchmark fails and tears down, and the second one starts.
func TestBenchmarksQueueAndClientsAreLost(t *testing.T) {
	c := forTest(t)
	first := c.benchmark("first", c.replicatedScratch(), radosWrite("write"))
	second := c.benchmark("second", c.replicatedScratch(), radosWrite("write"))
	c.create(t, first)
	c.awaitMeasuring(t, first)
	c.create(t, second)
	c.await(t, second, conditionWithin, "to be queued", hasReason(v1alpha1.ReasonQueued))
	wantReason(t, second, v1alpha1.ConditionReconciling, v1alpha1.ReasonQueued, first.Name)

	if err := c.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(benchNamespace), made()); err != nil {
		t.Fatalf("kill the client: %v", err)
	}

	c.await(t, first, conditionWithin, "to have failed", func(b *v1alpha1.CephBenchmark) error {
		return hasEnded(b, v1alpha1.ConditionFailed)
	})
	wantReason(t, first, v1alpha1.ConditionFailed, v1alpha1.ReasonClientsLost)
	wantNoFigures(t, first)
	c.awaitMeasuring(t, second)
}
