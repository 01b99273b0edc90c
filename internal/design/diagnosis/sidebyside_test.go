package diagnosis

import (
	"fmt"
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
	milliseconds := func(o v1alpha1.OSDTime) [5]string {
		var all [5]string
		for i, d := range []v1alpha1.Decimal{o.WriteSeconds, o.QueueSeconds, o.StoreSeconds, o.ReadSeconds, o.CommitSeconds} {
			if d != "" {
				all[i] = fmt.Sprintf("%.1f", 1000*number(d))
			}
		}
		return all
	}
	want := [][5]string{
		{"22.4", "20.4", "1.5", "0.3", ""}, // It reported no commit latency, and no work.
		{"2.4", "0.4", "1.5", "0.3", "4.2"},
		{"", "", "", "", "1.1"}, // Its counters were not read.
	}
	for i, r := range rows {
		if diff := cmp.Diff(want[i], milliseconds(r)); diff != "" || r.DeviceClass != "ssd" {
			t.Errorf("osd.%d of %q (-want +got):\n%s", r.ID, r.DeviceClass, diff)
		}
	}
	if rows[0].OperationsPerSecond != "" || rows[1].OperationsPerSecond != "42" {
		t.Errorf("operations: %+v", rows)
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
