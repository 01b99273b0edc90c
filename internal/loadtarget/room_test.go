package loadtarget

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// noData is a load without prefilled data.
type noData struct{ engine.Load }

func (noData) Datasets(place.Place) []engine.Dataset { return nil }

// The room of an existing pool is limited by its own OSDs, by its copies or coding chunks, and by
// its quota.
func TestRoomOfAnExistingPool(t *testing.T) {
	const gib = 1 << 30
	existing := func(pool ceph.Pool) Target {
		return Target{
			Template: &v1alpha1.BenchmarkTemplate{
				Target: v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "p"}},
				Phases: []v1alpha1.Phase{
					{RadosBench: &v1alpha1.RadosBench{Mode: v1alpha1.RadosBenchWrite, BlockSize: resource.MustParse("4Mi")}},
					{RadosBench: &v1alpha1.RadosBench{Mode: v1alpha1.RadosBenchWrite, BlockSize: resource.MustParse("1Mi"), ObjectSize: new(resource.MustParse("2Mi"))}},
					{RadosBench: &v1alpha1.RadosBench{Mode: v1alpha1.RadosBenchSeq, BlockSize: resource.MustParse("64Ki")}},
				},
			},
			View: clusterwatch.View{Survey: &clusterwatch.Survey{
				OSDMap: &ceph.OSDMap{Pools: []ceph.Pool{pool}},
				DF:     &ceph.DF{Pools: []ceph.PoolDF{{Name: "p", StoredBytes: 4 * gib, Objects: 1024}}},
				PGs:    []ceph.PG{{PoolID: 7, Acting: []int{0, 1, 2147483647}}, {PoolID: 8, Acting: []int{2}}},
				OSDs: []ceph.OSD{
					{ID: 0, TotalBytes: 100 * gib},
					{ID: 1, TotalBytes: 100 * gib},
					{ID: 2, TotalBytes: 100 * gib, UsedBytes: 99 * gib}, // used by another pool
				},
			}},
			Script: &workload.Script{Places: make([]place.Place, 1)},
		}
	}
	// Two OSDs hold 170 GiB until they are nearfull. A fifth of that is kept free.
	cases := map[string]struct {
		pool ceph.Pool
		want int64 // GiB
	}{
		"two copies":         {ceph.Pool{ID: 7, Name: "p", Size: 2}, 68},
		"erasure coding":     {ceph.Pool{ID: 7, Name: "p", Size: 3, DataChunks: 2}, 90},
		"an unknown coding":  {ceph.Pool{ID: 7, Name: "p", Size: 4, ErasureCodeProfile: "x"}, 34},
		"a quota":            {ceph.Pool{ID: 7, Name: "p", Size: 2, QuotaMaxBytes: 10 * gib}, 3},
		"a quota beyond it":  {ceph.Pool{ID: 7, Name: "p", Size: 2, QuotaMaxBytes: 1000 * gib}, 68},
		"a quota of objects": {ceph.Pool{ID: 7, Name: "p", Size: 2, QuotaMaxObjects: 5 * 1024}, 4},
		"a huge one":         {ceph.Pool{ID: 7, Name: "p", Size: 2, QuotaMaxObjects: 1 << 62}, 68},
		"no PG is known":     {ceph.Pool{ID: 9, Name: "p", Size: 2}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			seen := existing(tc.pool)
			if got := seen.roomInAll(seen.Script); got/gib != tc.want {
				t.Errorf("room for %d GiB, want %d", got/gib, tc.want)
			}
		})
	}
}

// The data pool decides, also if it has a lower ID than the metadata pool.
func TestExistingDataPool(t *testing.T) {
	target := v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "meta", DataPool: "data"}}
	data, meta := ceph.Pool{ID: 3, Name: "data", Size: 6, DataChunks: 4}, ceph.Pool{ID: 9, Name: "meta", Size: 3}
	for name, pools := range map[string][]ceph.Pool{"created first": {data, meta}, "created last": {meta, data}} {
		seen := Target{Template: &v1alpha1.BenchmarkTemplate{Target: target}, View: clusterwatch.View{Survey: &clusterwatch.Survey{OSDMap: &ceph.OSDMap{Pools: pools}}}}
		if got := seen.Overhead(); got != 1.5 {
			t.Errorf("%s: OSDs store %v bytes for one byte, want 1.5", name, got)
		}
	}
}

// Only a write of new objects uses up the room.
func TestOnlyTheRoomThatBindsStopsTheBenchmark(t *testing.T) {
	early := workload.Failure{ID: "r1-write", Failure: task.Failure{Reason: task.FailureReason(engine.EndedEarly)}}
	const room = 64 << 20
	for name, tc := range map[string]struct {
		change func(*v1alpha1.RadosBench)
		failed workload.Failure
		want   string
	}{
		"no limit of its own": {nil, early, "Task r1-write ended early, because it had written its limit of 64Mi. "},
		"data of its own":     {func(r *v1alpha1.RadosBench) { r.ReuseObjects = true }, early, ""},
		"another phase":       {nil, workload.Failure{ID: "r1-other", Failure: early.Failure}, ""},
		"another failure":     {nil, workload.Failure{ID: "r1-write", Failure: task.Failure{Reason: "ToolError"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bench := v1alpha1.RadosBench{
				Mode: v1alpha1.RadosBenchWrite, BlockSize: resource.MustParse("4Mi"), Concurrency: 1, Duration: metav1.Duration{Duration: time.Minute},
			}
			if tc.change != nil {
				tc.change(&bench)
			}
			template := v1alpha1.BenchmarkTemplate{Phases: []v1alpha1.Phase{{Name: "write", RadosBench: &bench}}}
			script, err := workload.New(template, make([]place.Place, 2), place.Place{})
			if err != nil {
				t.Fatal(err)
			}
			script.Limit(room, 0)
			got := Target{Template: &template, Script: script}.StoppedByRoom(1, tc.failed, room)
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// Several clients and a background load share the room.
func TestRoomIsShared(t *testing.T) {
	seen := Target{
		Template: &v1alpha1.BenchmarkTemplate{Target: v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{Replicated: &v1alpha1.ReplicatedPool{Size: 1}}}},
		View:     clusterwatch.View{Survey: &clusterwatch.Survey{OSDMap: &ceph.OSDMap{}, OSDs: []ceph.OSD{{TotalBytes: 1000}}}},
		Script:   &workload.Script{Places: make([]place.Place, 3), Background: &workload.Background{Load: noData{}}},
	}
	if got := seen.Room(seen.Script); got != 170 {
		t.Errorf("each may write %d bytes, want 170", got)
	}
	seen.Template.Target = v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{}}
	if got := seen.Room(seen.Script); got != 0 {
		t.Errorf("room of a claim is %d, want 0, since nobody knows", got)
	}
}

// A scratch pool stores its data on the OSDs of its root, which alone count for its space, its number of placement
// groups and its placement.
func TestScratchPoolInARoot(t *testing.T) {
	const gib = 1 << 30
	targetIn := func(root string) Target {
		seen := Target{
			Template: &v1alpha1.BenchmarkTemplate{Target: v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{
				CrushRoot: root, Replicated: &v1alpha1.ReplicatedPool{Size: 1},
			}}},
			View: clusterwatch.View{Survey: &clusterwatch.Survey{OSDMap: &ceph.OSDMap{Pools: []ceph.Pool{{ID: 7, Name: "cephtune-scratch", PGNum: 1}}}}},
		}
		for id := range 5 {
			location := ceph.OSDLocation{ID: id, Buckets: map[string]string{"root": "default"}}
			if id >= 3 {
				location.Buckets["root"] = "fast"
			}
			seen.Survey.Tree = append(seen.Survey.Tree, location)
			seen.Survey.OSDs = append(seen.Survey.OSDs, ceph.OSD{ID: id, TotalBytes: 10 * gib, AvailableBytes: 10 * gib})
		}
		return seen
	}
	for root, want := range map[string]struct {
		available int64
		pgs       v1alpha1.ParameterValue
		misplaced bool // if its placement group is on osd.0
	}{
		"":     {30 * gib, "256", false}, // The default of pg_num counts all OSDs.
		"fast": {20 * gib, "64", true},
	} {
		seen := targetIn(root)
		if got := seen.available(); got != want.available {
			t.Errorf("root %q: %d bytes are available, want %d", root, got, want.available)
		}
		if got := seen.ScratchPools()[0].Parameters["pg_num"]; got != want.pgs {
			t.Errorf("root %q: pg_num %s, want %s", root, got, want.pgs)
		}
		wrong := seen.outsideClass([]ceph.PG{{ID: "7.0", PoolID: 7, Acting: []int{0}}})
		if (wrong != "") != want.misplaced || want.misplaced && !strings.HasSuffix(wrong, "may use only OSDs in the CRUSH root fast") {
			t.Errorf("root %q: %q", root, wrong)
		}
	}
}

// Targets on several device classes have room as on the fullest, and each stays on its own class.
func TestTargetsOnDeviceClasses(t *testing.T) {
	const gib = 1 << 30
	on := func(class string) v1alpha1.Target {
		return v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{DeviceClass: class, Replicated: &v1alpha1.ReplicatedPool{Size: 1}}}
	}
	seen := Target{
		Template:  &v1alpha1.BenchmarkTemplate{Target: on("ssd")},
		Elsewhere: []v1alpha1.Target{on("hdd")},
		View: clusterwatch.View{Survey: &clusterwatch.Survey{OSDMap: &ceph.OSDMap{Pools: []ceph.Pool{
			{ID: 7, Name: "cephtune-scratch", PGNum: 1}, {ID: 8, Name: "cephtune-scratch-1", PGNum: 1},
		}}}},
	}
	for id, class := range []string{"ssd", "ssd", "hdd", "nvme"} {
		seen.Survey.OSDs = append(seen.Survey.OSDs, ceph.OSD{ID: id, DeviceClass: class, TotalBytes: 10 * gib, AvailableBytes: int64(8-id) * gib})
	}
	if got := seen.available(); got != 6*gib {
		t.Errorf("%d bytes are available, want those of osd.2", got)
	}
	if got := seen.spread().DeviceClasses; !slices.Equal(got, []string{"hdd", "ssd"}) {
		t.Errorf("the demand is on the device classes %q", got)
	}
	for name, c := range map[string]struct {
		first, second int // the OSDs of the pools
		want          string
	}{
		"each on its own":   {0, 2, ""},
		"both on the first": {0, 1, "may use only OSDs of device class hdd"},
		"exchanged":         {2, 0, "may use only OSDs of device class ssd"},
	} {
		wrong := seen.Misplaced([]ceph.PG{{ID: "7.0", PoolID: 7, Acting: []int{c.first}}, {ID: "8.0", PoolID: 8, Acting: []int{c.second}}})
		if !strings.HasSuffix(wrong, c.want) || (wrong == "") != (c.want == "") {
			t.Errorf("%s: %q, want %q", name, wrong, c.want)
		}
	}
	seen.Elsewhere = []v1alpha1.Target{on("")}
	if got := seen.DeviceClasses(); got != nil {
		t.Errorf("with a target on all OSDs: %q", got)
	}
}
