package controllers

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/testing/memapi"
	"github.com/cephtune/cephtune/internal/tuning"
)

// The cost of a benchmark, a sample, from its creation to its result hardly grows with the number of benchmarks, in one queue
// or over ten Ceph clusters. All but the first of each cluster wait: they write how long the queue is, once for each halving and
// three times at its front, and survey Ceph again when it is their turn.
func TestCostOfOneBenchmark(t *testing.T) {
	kinds, length := compile(t), queueLength(t, 20)
	cases := map[string]int{"ten clusters": clusterCount}
	if os.Getenv(queueVariable) != "" { // Both cases together would take more than five seconds of CPU.
		cases["one cluster"] = 1
	}
	for name, clusters := range cases {
		t.Run(name, func(t *testing.T) {
			few, many := costOfOne(t, kinds, clusters, 10), costOfOne(t, kinds, clusters, length)
			t.Logf("each of 10: %+.3v; each of %d: %+.3v", few, length, many)
			halvings := math.Log2(float64(length) / 10)
			if many.Reads > 1.2*few.Reads || many.Commands > 1.2*few.Commands || many.Writes > few.Writes+3+halvings {
				t.Errorf("the cost of a benchmark grows from %+.3v with 10 to %+.3v with %d", few, many, length)
			}
		})
	}
}

// costOfOne plays benchmarks to their end, and returns the share of each.
func costOfOne(t *testing.T, kinds memapi.Kinds, clusters, count int) (share cost) {
	t.Helper()
	sample, err := os.ReadFile(filepath.Join(apiserver.Root(t), "config", "samples", "cephbenchmark_radosbench.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	play(t, kinds, func(h *hall) {
		h.makes.Store(true)
		ctx, stop := context.WithCancel(h.t.Context())
		defer stop()
		go h.nodes.work(ctx)
		began := time.Now()
		for i := range count {
			b := &v1alpha1.CephBenchmark{}
			if err := yaml.Unmarshal(sample, b); err != nil {
				h.t.Fatal(err)
			}
			for i := range b.Spec.Template.Phases {
				b.Spec.Template.Phases[i].RadosBench.Ramp = &metav1.Duration{} // The figures of these clients have no course.
			}
			b.Spec.Repetitions = 1
			b.Namespace, b.Name, b.Spec.ClusterRef.Name = namespace, fmt.Sprintf("q%04d", i), clusterName(i%clusters)
			h.create(b)
			if i == clusters-1 {
				// One that began in the same second may get the lock before another that the queue has ahead of it. That
				// one then surveys Ceph at each look, because nothing is ahead of it.
				time.Sleep(2 * time.Second)
			}
		}
		for ended := 0; ended < count; {
			time.Sleep(time.Minute)
			ended = 0
			for _, o := range h.all() {
				_, conditions := statusOf(o)
				if meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionFailed) || time.Since(began) > time.Duration(count/clusters)*time.Hour {
					h.t.Fatalf("%s: %+v", o.GetName(), conditions)
				}
				if meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReady) {
					ended++
				}
			}
		}
		each := func(n int64) float64 { return float64(n) / float64(count) }
		share = cost{Reads: each(h.reads.Load()), Writes: each(h.writes.Load()), Commands: each(h.commands.Load())}
		h.t.Logf("%d benchmarks: %.1f passes for each, %v", count, each(h.passes.Load()), time.Since(began))
	})
	return share
}

// A pass in a cluster with 1,000 OSDs and 10,000 placement groups takes less than a second of CPU, with its share of the
// samples and of the survey of Ceph.
func TestPassInALargeCluster(t *testing.T) {
	const osds, pgs = 1000, 10_000
	play(t, compile(t), func(h *hall) {
		h.ceph.Change(func(a *cephtest.Answers) { enlarge(a, osds, pgs) })
		before, passes := cpu(t), h.passes.Load()
		h.create(benchmark("b"))
		h.awaitHolder("b", time.Minute)
		time.Sleep(10 * time.Minute)
		passes = h.passes.Load() - passes
		each := (cpu(t) - before) / time.Duration(passes)
		t.Logf("%d passes, each with %v of CPU", passes, each.Round(10*time.Microsecond))
		if passes < 100 || each > time.Second {
			t.Errorf("%d passes, each with %v of CPU", passes, each)
		}
	})
}

// A switch is proven within its window, however many OSDs there are: the manager asks at most 32 of them.
func TestSwitchInALargeCluster(t *testing.T) {
	for osds, asked := range map[int]int{3: 3, 1000: 32} {
		t.Run(fmt.Sprintf("%d OSDs", osds), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := &proving{Cluster: cephtest.NewCluster()}
				c.Change(func(a *cephtest.Answers) { enlarge(a, osds, 10*osds) })
				plan, err := session.Quick(7, 1, 1, 8, session.DefaultWindow)
				if err != nil {
					t.Fatal(err)
				}
				record, err := session.Run(t.Context(), plan, c, func(_ context.Context, r session.Record) (session.Next, error) {
					return session.Next{Enough: len(r.Switches) >= 8}, nil
				})
				t.Logf("a switch is proven %v after Ceph has acknowledged it, by %d OSDs", c.longest, c.asked)
				if err != nil || c.proofs != len(record.Switches) || c.asked != asked {
					t.Errorf("%d of %d switches are proven, by %d OSDs, want %d; %v", c.proofs, len(record.Switches), c.asked, asked, err)
				}
			})
		})
	}
}

// askTakes is the time that one OSD's running values take. On the lab, those of three OSDs take half a second
// (docs/statistics-switched.md).
const askTakes = time.Second / 6

// proving is a Ceph cluster whose settings are switched, and in which each OSD's running values take their time.
type proving struct {
	*cephtest.Cluster

	switched      time.Time
	longest       time.Duration // until a proof
	asked, proofs int
}

func (p *proving) changes(setting int) []tuning.Change {
	change := tuning.Change{Setting: tuning.Setting{Kind: tuning.KindConfig, Option: "osd_client_message_cap"}}
	change.To = cephvalue.Of([]string{"256", "512"}[setting])
	return []tuning.Change{change}
}

// Switch implements [session.Treatments].
func (p *proving) Switch(_ context.Context, _, to int) (sent, acknowledged time.Time, err error) {
	p.switched = time.Now()
	change := p.changes(to)[0]
	p.Change(func(a *cephtest.Answers) {
		a.ConfigDump = []ceph.ConfigEntry{{Section: "osd", Name: change.Setting.Option, Value: change.To.Text}}
	})
	return p.switched, p.switched, nil
}

// Holds implements [session.Treatments].
func (p *proving) Holds(context.Context, int) error { return nil }

// Complete implements [session.Treatments].
func (p *proving) Complete(context.Context, int) error { return nil }

// Try implements [session.Treatments].
func (p *proving) Try(context.Context) error { return nil }

// Proven implements [session.Treatments].
func (p *proving) Proven(ctx context.Context, setting int) (bool, error) {
	known := tuning.Known{Help: cephtest.Options()}
	p.Change(func(a *cephtest.Answers) { known.OSDs = a.OSDs })
	proof, err := tuning.Prove(ctx, p, ceph.Connection{}, p.changes(setting), known, p.proofs)
	if err == nil && proof.Proven() {
		p.proofs++
		p.longest = max(p.longest, time.Since(p.switched))
	}
	return proof.Proven(), err
}

// RunningConfig implements ceph.Client.
func (p *proving) RunningConfig(ctx context.Context, conn ceph.Connection, osds []int, options []string) ([]ceph.Running, error) {
	p.asked = len(osds)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Duration(len(osds)) * askTakes):
		return p.Cluster.RunningConfig(ctx, conn, osds, options)
	}
}

// enlarge gives a cluster OSDs and placement groups, with twenty OSDs to a host.
func enlarge(a *cephtest.Answers, osds, pgs int) {
	a.Status.OSDs, a.Status.UpOSDs, a.Status.InOSDs, a.Status.PGs = osds, osds, osds, pgs
	a.Status.PGsByState = map[string]int{"active+clean": pgs}
	a.OSDMap.OSDs, a.OSDs, a.OSDTree, a.PGs = nil, nil, nil, nil
	for id := range osds {
		a.OSDMap.OSDs = append(a.OSDMap.OSDs, ceph.OSDState{ID: id, Up: true})
		a.OSDs = append(a.OSDs, ceph.OSD{ID: id, DeviceClass: "ssd", Status: "up", TotalBytes: 1 << 40, AvailableBytes: 1 << 40, PGs: 3 * pgs / osds})
		a.OSDTree = append(a.OSDTree, ceph.OSDLocation{
			ID: id, DeviceClass: "ssd", Up: true, In: true, Buckets: map[string]string{"host": fmt.Sprintf("node-%d", id/20), "root": "default"},
		})
		a.OSDPerf = append(a.OSDPerf, ceph.OSDLatency{ID: id})
	}
	for i := range pgs {
		a.PGs = append(a.PGs, ceph.PG{
			ID: fmt.Sprintf("3.%x", i), State: "active+clean", PoolID: 3, Acting: []int{i % osds, (i + 7) % osds, (i + 13) % osds}, Primary: i % osds,
		})
	}
}

// cpu returns the CPU time of this process.
func cpu(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
