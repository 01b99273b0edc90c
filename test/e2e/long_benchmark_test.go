//go:build e2e

package e2e

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// existingDataPool is the erasure-coded pool for the data of images in the existing pool.
const existingDataPool = existingPool + "-data"

// Two clients share an image whose data is in an erasure-coded pool. Both pools contain data of
// another user, which must stay.
func TestLongBenchmarkOfSharedImages(t *testing.T) {
	c := forTest(t)
	c.createSettledPool(t)
	c.createDataPool(t, existingDataPool)
	before, data := c.occupy(t, existingPool), c.objects(t, existingDataPool)
	target := v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{
		Name: existingPool, DataPool: existingDataPool,
		Image: v1alpha1.Image{Size: resource.MustParse("128Mi"), Sharing: v1alpha1.ImageSharingClients},
	}}
	b := c.benchmark("shared", target,
		fioPhase("fio-randread", v1alpha1.Fio{Pattern: v1alpha1.FioRandRead, IODepth: 4}),
		v1alpha1.Phase{Name: "rbd-read", RBDBench: &v1alpha1.RBDBench{
			IOType: v1alpha1.RBDBenchRead, IOPattern: v1alpha1.RBDBenchRand, Duration: metav1.Duration{Duration: time.Minute},
		}},
	)
	b.Spec.Template.Clients.Count = 2

	c.runTo(t, v1alpha1.ConditionComplete, b)

	marks := append(cached(), v1alpha1.MarkSharedImage)
	wantPlausible(t, b,
		load{phase: "fio-randread", blockBytes: 4 << 10, inFlight: 2 * 4, metrics: fioMetrics(), marks: append(marks, v1alpha1.MarkClosedLoop)},
		load{phase: "rbd-read", blockBytes: 4 << 10, metrics: rbdBenchMetrics(), marks: marks},
	)
	c.wantRuns(t, b)
	if after := c.occupied(t, existingPool); after != before {
		t.Errorf("the pool holds\n%s\nwant it as it was:\n%s", after, before)
	}
	if after := c.objects(t, existingDataPool); !slices.Equal(after, data) {
		t.Errorf("the data pool holds %q, want %q as it was", after, data)
	}
}

// Two clients read objects sequentially, each object once. Writing enough objects for half a minute
// takes minutes.
func TestLongBenchmarkOfSequentialObjects(t *testing.T) {
	c := forTest(t)
	b := c.benchmark("seq", c.replicatedScratch(), v1alpha1.Phase{Name: "seq", RadosBench: &v1alpha1.RadosBench{
		Mode: v1alpha1.RadosBenchSeq, BlockSize: resource.MustParse("1Ki"), Concurrency: 1,
		Duration: metav1.Duration{Duration: shortest}, Ramp: &metav1.Duration{Duration: time.Second},
	}})
	b.Spec.Template.Clients.Count = 2

	c.runTo(t, v1alpha1.ConditionComplete, b)

	wantPlausible(t, b, load{phase: "seq", blockBytes: 1 << 10, inFlight: 2, metrics: radosBenchMetrics(), marks: cached()})
	c.wantRuns(t, b)
}

// OSDs go on removing the PGs of a pool long after the pool is gone, and Ceph warns of STRAY_PGS. A
// benchmark that does not allow this warning waits, but for a limited time. PGs that still remain then
// are recorded with its figures.
func TestLongBenchmarkWaitsForRemoval(t *testing.T) {
	c := forTest(t)
	c.runTo(t, v1alpha1.ConditionComplete, c.benchmark("leaves-pgs", c.replicatedScratch(), radosWrite("write")))
	b := c.benchmark("minds-pgs", c.replicatedScratch(), radosWrite("write"))
	b.Spec.Quiescence.AllowedWarnings = []v1alpha1.HealthCode{"BLUESTORE_SLOW_OP_ALERT", "SLOW_OPS"}
	c.create(t, b)
	c.await(t, b, conditionWithin, "to wait for OSDs that remove PGs", func(b *v1alpha1.CephBenchmark) error {
		if progress := progressOf(b); !strings.Contains(progress, "OSDs still remove") || !strings.Contains(progress, v1alpha1.ReasonWaitingForQuiescence) {
			return errors.New("it does not say so")
		}
		return nil
	})
	began := time.Now()
	c.await(t, b, quiescence.RemovalWait+startWithin, "to measure", isMeasuring)
	waited := time.Since(began)
	c.awaitEnd(t, v1alpha1.ConditionComplete, b)

	var left []string
	for _, d := range disturbancesIn(t, c.wantRuns(t, b)[0].Phases[0]) {
		if d.Kind == quiescence.KindStrayPGs {
			left = append(left, d.Message)
		}
	}
	t.Logf("it measured %v later; then were left: %q", waited.Round(time.Second), left)
	if waited < quiescence.RemovalWait/2 && len(left) > 0 {
		t.Errorf("it began after %v beside %q", waited, left)
	}
}

// objects lists the objects of a pool in all namespaces. It leaves out the objects with which Rook
// marks a pool, because Rook creates them at any time.
func (c *cluster) objects(t *testing.T, pool string) []string {
	t.Helper()
	listed, err := c.toolbox(t.Context(), "rados", "-p", pool, "ls", "--all")
	if err != nil {
		t.Fatalf("list pool %s: %v", pool, err)
	}
	names := slices.DeleteFunc(strings.Fields(listed), func(name string) bool { return name == "rbd_info" || name == "rbd_trash" })
	slices.Sort(names)
	return names
}
