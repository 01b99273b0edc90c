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

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
)

// An OSD is taken down under load and comes back: normally, or because the benchmark is deleted or
// its manager killed. Each test uses another OSD, because an OSD that is marked down too often
// shuts itself down.
func TestLongBenchmarkWithOutage(t *testing.T) {
	c := forTest(t)
	t.Run("to the end", func(t *testing.T) {
		b := c.withOutage("outage", 0)
		c.create(t, b)
		c.awaitDown(t, b, 0)
		c.awaitEnd(t, v1alpha1.ConditionComplete, b)
		c.wantUp(t, time.Minute, 0)
		run, err := c.document(t, b, b.Status.Runs[0])
		if err != nil {
			t.Fatal(err)
		}
		d := run.Phases[0].Outage
		if b.Status.Runs[0].State != v1alpha1.RunValid || d == nil {
			t.Fatalf("run %+v", b.Status.Runs[0])
		}
		t.Logf("outage: %+v", *d)
		for name, figure := range map[string]v1alpha1.Decimal{
			"up": d.SecondsToUp, "active": d.SecondsToActive, "clean": d.SecondsToClean, "degraded object-seconds": d.DegradedObjectSeconds,
		} {
			if figure == "" {
				t.Errorf("it does not tell %s: %+v", name, d)
			}
		}
		if d.RecoveredObjects == nil || *d.RecoveredObjects == 0 {
			t.Errorf("nothing was recovered: %+v", d)
		}
		var windows []archive.WindowName
		for _, w := range d.Windows {
			windows = append(windows, w.Name)
		}
		if want := []archive.WindowName{"Before", "Outage", "Recovery", "After"}; !slices.Equal(windows, want) {
			t.Errorf("windows %v, want %v", windows, want)
		}
		for _, metric := range []v1alpha1.Metric{v1alpha1.MetricTimeToClean, v1alpha1.MetricP99Before, v1alpha1.MetricP99Outage, v1alpha1.MetricP99After} {
			if !slices.ContainsFunc(b.Status.Phases[0].Metrics, func(m v1alpha1.MetricResult) bool { return m.Metric == metric }) {
				t.Errorf("no %s among the metrics %+v", metric, b.Status.Phases[0].Metrics)
			}
		}
	})
	t.Run("deleted in mid-outage", func(t *testing.T) {
		b := c.withOutage("outage-deleted", 1)
		c.create(t, b)
		c.awaitDown(t, b, 1)
		c.deleteAndWait(t, b)
		c.wantUp(t, 10*time.Second, 1)
	})
	t.Run("the manager is killed in mid-outage", func(t *testing.T) {
		b := c.withOutage("outage-killed", 2)
		c.create(t, b)
		c.awaitDown(t, b, 2)
		c.killManager(t)
		c.wantUp(t, 3*time.Minute, 2)
		c.poll(t, b, runWithin, "ended", func(context.Context) error {
			if !isTrue(meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionFailed)) {
				return errors.New("it has not failed")
			}
			return nil
		})
		if !strings.Contains(b.Status.Runs[0].Reason, "the manager was restarted") {
			t.Errorf("run %+v, want the reason to be the restart", b.Status.Runs[0])
		}
	})
}

// This outage is long enough for Ceph to mark the OSD out and to move its data. By default, Ceph would
// mark it out only after ten minutes.
func TestLongBenchmarkWithBackfill(t *testing.T) {
	c := forTest(t)
	c.mustCeph(t, "config", "set", "mon", "mon_osd_down_out_interval", "30")
	t.Cleanup(func() { c.mustCeph(t, "config", "rm", "mon", "mon_osd_down_out_interval") })
	// Two OSDs cannot hold three copies, so the cluster could not be clean without the third OSD.
	c.mustCeph(t, "osd", "pool", "set", ".mgr", "size", "2")
	t.Cleanup(func() { c.mustCeph(t, "osd", "pool", "set", ".mgr", "size", "3") })

	b := c.withOutage("backfill", 2)
	b.Spec.Template.Target.ScratchPool.Replicated.Size = 2
	b.Spec.Template.Phases[0].Fio.Duration = metav1.Duration{Duration: 6 * time.Minute}
	b.Spec.Template.Outage.Backfill = v1alpha1.BackfillExpect
	b.Spec.Template.Outage.Duration = metav1.Duration{Duration: 150 * time.Second}
	c.create(t, b)
	c.awaitEnd(t, v1alpha1.ConditionComplete, b)
	c.wantUp(t, time.Minute, 2)
	for _, run := range c.wantRuns(t, b) {
		d := run.Phases[0].Outage
		if d == nil {
			t.Fatalf("run %d has no outage", run.Number)
		}
		t.Logf("outage: %+v", *d)
		if d.SecondsToOut == "" || d.SecondsToBackfilled == "" || d.SecondsToClean == "" {
			t.Errorf("out after %q s, moved after %q s, whole after %q s: it does not tell all of them", d.SecondsToOut, d.SecondsToBackfilled, d.SecondsToClean)
		}
	}
}

// withOutage returns a benchmark with an OSD down for 40 s in the middle. It allows any share of other
// pools' data on the OSD, because all OSDs of a small cluster have such data.
func (c *cluster) withOutage(name string, osd int32) *v1alpha1.CephBenchmark {
	phase := fioPhase("outage", v1alpha1.Fio{Pattern: v1alpha1.FioRandWrite, IODepth: 4, RateIOPS: new(int64(50))})
	phase.Fio.Duration = metav1.Duration{Duration: 4 * time.Minute}
	b := c.benchmark(name, c.replicatedScratch(), phase)
	b.Spec.Template.Outage = &v1alpha1.Outage{
		Phase: "outage", OSDs: []int32{osd}, OtherPools: 100, Backfill: v1alpha1.BackfillRefuse,
		Before: metav1.Duration{Duration: 20 * time.Second}, Duration: metav1.Duration{Duration: 40 * time.Second},
	}
	// The OSD may have been down in an earlier test, so the benchmark waits until it may be stopped
	// again.
	b.Spec.Quiescence.Timeout = metav1.Duration{Duration: 10 * time.Minute}
	return b
}

func (c *cluster) awaitDown(t testing.TB, b *v1alpha1.CephBenchmark, osd int) {
	t.Helper()
	c.await(t, b, startWithin+10*time.Minute, fmt.Sprintf("without osd.%d", osd), func(*v1alpha1.CephBenchmark) error {
		state, err := c.osdState(t.Context(), osd)
		if err == nil && slices.Contains(state, "up") {
			err = fmt.Errorf("osd.%d is up", osd)
		}
		return err
	})
}

// wantUp waits until an OSD is up and has no noup.
func (c *cluster) wantUp(t testing.TB, within time.Duration, osd int) {
	t.Helper()
	eventually(t, within, fmt.Sprintf("osd.%d to be up", osd), func(ctx context.Context) error {
		state, err := c.osdState(ctx, osd)
		if err == nil && (!slices.Contains(state, "up") || slices.Contains(state, "noup")) {
			err = fmt.Errorf("osd.%d is %v", osd, state)
		}
		return err
	})
}

func (c *cluster) osdState(ctx context.Context, id int) ([]string, error) {
	var osdMap struct {
		OSDs []struct {
			ID    int      `json:"osd"`
			State []string `json:"state"`
		} `json:"osds"`
	}
	if err := c.cephJSON(ctx, &osdMap, "osd", "dump"); err != nil {
		return nil, err
	}
	for _, osd := range osdMap.OSDs {
		if osd.ID == id {
			return osd.State, nil
		}
	}
	return nil, fmt.Errorf("there is no osd.%d", id)
}
