package diagnosis

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

func ids(rows []v1alpha1.OSDTime) (all []int32) {
	for _, r := range rows {
		all = append(all, r.ID)
	}
	return all
}

func TestSideBySide(t *testing.T) {
	f := healthy(4)
	counting(func(c *ceph.OSDCounters) { c.Write.Seconds += 2 })(&f)
	f.OSDs[2].Status = "down"
	f.Work = []ceph.OSDIO{{ID: 0, ReadOperationsPerSecond: 30, WriteOperationsPerSecond: 12}}
	f.Latencies = looks([]float64{4, 0, 4, 1}, 6)
	rows := Judge(f).OSDs
	if diff := cmp.Diff([]int32{1, 0, 3}, ids(rows)); diff != "" {
		t.Fatalf("(-want +got):\n%s", diff)
	}
	slow, other, idle := rows[0], rows[1], rows[2]
	if math.Abs(number(slow.WriteSeconds)-0.0224) > 1e-4 || math.Abs(number(slow.QueueSeconds)-0.0204) > 1e-4 || math.Abs(number(slow.StoreSeconds)-0.0015) > 1e-6 {
		t.Errorf("the slow one: %+v", slow)
	}
	if slow.DeviceClass != "ssd" || slow.OperationsPerSecond != "" || slow.CommitSeconds != "" {
		t.Errorf("figures that nobody measured: %+v", slow)
	}
	if math.Abs(number(other.WriteSeconds)-0.0024) > 1e-4 || math.Abs(number(other.ReadSeconds)-0.0003) > 1e-5 || other.OperationsPerSecond != "42" ||
		math.Abs(number(other.CommitSeconds)-0.0042) > 1e-6 {
		t.Errorf("another: %+v", other)
	}
	if idle.WriteSeconds != "" || idle.QueueSeconds != "" || idle.ReadSeconds != "" || math.Abs(number(idle.CommitSeconds)-0.00105) > 1e-6 {
		t.Errorf("one without counters: %+v", idle)
	}
}

// Without counters, the reported latencies order OSDs. Status has room for a part of a large cluster.
func TestTheSlowestOSDsAreKept(t *testing.T) {
	f := healthy(100)
	milliseconds := make([]float64, 100)
	for i := range milliseconds {
		milliseconds[i] = float64(i)
	}
	f.Latencies = looks(milliseconds, 6)
	rows := Judge(f).OSDs
	if len(rows) != mostOSDs || rows[0].ID != 99 || rows[mostOSDs-1].ID != 99-mostOSDs+1 {
		t.Errorf("%v", ids(rows))
	}
}
