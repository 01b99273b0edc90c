package controllers

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// The cost of a benchmark, from its creation through the queue to its end, hardly grows with the number of benchmarks. The
// benchmarks fail once it is their turn, because Rook refuses their pools.
func TestCostOfOneBenchmark(t *testing.T) {
	kinds, length := compile(t), queueLength(t)
	costs := func(count int) (share cost) {
		play(t, kinds, func(h *hall) {
			h.refuses.Store(true)
			began := time.Now()
			for i := range count {
				h.create(benchmark(fmt.Sprintf("q%04d", i)))
			}
			for ended := 0; ended < count; {
				time.Sleep(5 * time.Second)
				ended = 0
				for _, o := range h.all() {
					if _, conditions := statusOf(o); kstatus.HasEnded(conditions) {
						ended++
					}
				}
			}
			each := func(n int64) float64 { return float64(n) / float64(count) }
			share = cost{Reads: each(h.reads.Load()), Writes: each(h.writes.Load()), Commands: each(h.commands.Load())}
			t.Logf("%d benchmarks: for each %+.3v, %.1f passes, %v", count, share, each(h.passes.Load()), time.Since(began)/time.Duration(count))
		})
		return share
	}
	few, many := costs(10), costs(length)
	if many.Reads > 1.2*few.Reads || many.Writes > 1.2*few.Writes || many.Commands > few.Commands+survey {
		t.Errorf("the cost of a benchmark grows from %+.3v with 10 to %+.3v with %d", few, many, length)
	}
}

// survey is the number of commands with which a benchmark looks at Ceph once more, because it has waited in the queue.
const survey = 10

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
