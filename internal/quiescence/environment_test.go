package quiescence

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

func inputs() Inputs {
	return Inputs{
		FSID: "f", RookVersion: "v1.17.1", DeviceClasses: []string{"ssd"},
		Versions: &ceph.Versions{Overall: map[string]int{"18.2.7": 7}},
		OSDs: []ceph.OSD{
			{ID: 0, DeviceClass: "ssd", TotalBytes: gib, UsedBytes: 1, PGs: 1}, {ID: 1, DeviceClass: "ssd", TotalBytes: gib}, {ID: 2, DeviceClass: "hdd", TotalBytes: gib},
		},
		Pools: []ceph.Pool{
			{ID: 7, Name: "p", Type: "replicated", Size: 3, PGNum: 32, PGNumTarget: 32, CrushRule: 4, Options: map[string]string{"compression_mode": "none"}, Flags: []string{"b", "a"}},
			{ID: 8, Name: "o", Type: "erasure"},
		},
		Config: []ceph.ConfigEntry{
			{Section: "osd", Name: "osd_memory_target", Value: "4096", Level: "basic", Runtime: true},
			{Section: "osd.1", Name: "osd_mclock_max_capacity_iops_ssd", Value: "20000"},
			{Section: "osd", Mask: "class:ssd", Name: "osd_mclock_profile", Value: "balanced"},
			{Section: "mgr", Name: "mgr/dashboard/GRAFANA_API_PASSWORD", Value: "hidden"},
			{Section: "client.rgw.a", Name: "rgw_frontends", Value: "hidden"},
			{Section: "global", Name: "rgw_keystone_admin_password", Value: "hidden"},
			{Section: "global", Name: "some_secret", Value: "hidden"},
		},
		KubernetesVersion: "v1.35.1",
		Devices:           []ceph.OSDDevice{{ID: 0, Kernel: "6.8.0-45"}, {ID: 1, Kernel: "6.8.0-45"}, {ID: 2, Kernel: "5.15.0"}, {ID: 9, Kernel: "5.4.0"}},

		Images: map[string]string{"tools": "sha256:1", "runner": "sha256:2"},
		Nodes:  []Node{{Name: "b"}, {Name: "a"}},
	}
}

func digest(t *testing.T, in Inputs) string {
	t.Helper()
	e, err := Fingerprint(Describe(in))
	if err != nil {
		t.Fatal(err)
	}
	return e.Digest
}

func TestFingerprint(t *testing.T) {
	got, err := Fingerprint(Describe(inputs()))
	if err != nil {
		t.Fatal(err)
	}
	want := v1alpha1.Environment{FSID: "f", CephVersion: "18.2.7", RookVersion: "v1.17.1", TotalOSDs: 2, Digest: got.Digest}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !strings.HasPrefix(got.Digest, "sha256:") || len(got.Digest) > 80 {
		t.Errorf("the digest is %q", got.Digest)
	}
}

// These changes must not change the fingerprint.
func TestFingerprintStays(t *testing.T) {
	tests := map[string]func(*Inputs){
		"order": func(in *Inputs) {
			slices.Reverse(in.OSDs)
			slices.Reverse(in.Pools)
			slices.Reverse(in.Config)
			slices.Reverse(in.Nodes)
			slices.Reverse(in.Devices)
			slices.Reverse(in.Pools[1].Flags)
		},
		"a pool made anew":           func(in *Inputs) { in.Pools[0].ID, in.Pools[0].CrushRule = 9, 10 },
		"a target not yet reached":   func(in *Inputs) { in.Pools[0].PGNumTarget = 64 },
		"how full OSDs are":          func(in *Inputs) { in.OSDs[0].UsedBytes, in.OSDs[0].PGs = 5, 5 },
		"OSDs of another class":      func(in *Inputs) { in.OSDs = in.OSDs[:2] },
		"kernels of other OSDs":      func(in *Inputs) { in.Devices = in.Devices[:2] },
		"a gateway more":             func(in *Inputs) { in.Versions.Overall["18.2.7"]++ },
		"what is so by default":      func(in *Inputs) { in.InitialState, in.OSDCaches = v1alpha1.InitialStateKeep, v1alpha1.OSDCachesKeep },
		"what the manager's modules": func(in *Inputs) { in.Config[3].Value = "other" },
	}
	want := digest(t, inputs())
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			in := inputs()
			change(&in)
			if got := digest(t, in); got != want {
				t.Errorf("the digest changed: %v", Compare(Describe(inputs()), Describe(in)))
			}
		})
	}
}

// These changes must change it, and the description says how.
func TestFingerprintChanges(t *testing.T) {
	tests := map[string]struct {
		change func(*Inputs)
		want   []string
	}{
		"another cluster":      {func(in *Inputs) { in.FSID = "g" }, []string{"cluster: g, and was f"}},
		"a Ceph upgrade":       {func(in *Inputs) { in.Versions.Overall = map[string]int{"19.2.0": 7} }, []string{"Ceph version: 19.2.0, and was 18.2.7"}},
		"a Rook upgrade":       {func(in *Inputs) { in.RookVersion = "v1.18.0" }, []string{"Rook version: v1.18.0, and was v1.17.1"}},
		"a Kubernetes upgrade": {func(in *Inputs) { in.KubernetesVersion = "v1.36.0" }, []string{"Kubernetes version: v1.36.0, and was v1.35.1"}},
		"a kernel upgrade of one node": {
			func(in *Inputs) { in.Devices[1].Kernel = "6.8.0-47" },
			[]string{"kernel under OSDs: 6.8.0-45 and 6.8.0-47, and was 6.8.0-45"},
		},
		"an OSD more": {
			func(in *Inputs) { in.OSDs = append(in.OSDs, ceph.OSD{ID: 3, DeviceClass: "ssd", TotalBytes: 1}) },
			[]string{"OSDs of class ssd: 3 of 2147483649 bytes together, and was 2 of 2147483648 bytes together"},
		},
		"a setting of the pool": {
			func(in *Inputs) {
				in.Pools[0].PGNum, in.Pools[0].Options = 64, map[string]string{"compression_mode": "force"}
			},
			[]string{"pool p compression_mode: force, and was none", "pool p pg_num: 64, and was 32"},
		},
		"a pool less": {func(in *Inputs) { in.Pools = in.Pools[:1] }, nil},
		"a setting unset": {
			func(in *Inputs) { in.Config = in.Config[1:] },
			[]string{"config osd osd_memory_target: was 4096, and is absent now"},
		},
		"a setting set": {
			func(in *Inputs) { in.Config = append(in.Config, ceph.ConfigEntry{Section: "osd", Name: "x"}) },
			[]string{"config osd x: (empty), and was absent before"},
		},
		"what an OSD measured": {
			func(in *Inputs) { in.Config[1].Value = "30000" },
			[]string{"config osd.1 osd_mclock_max_capacity_iops_ssd: 30000, and was 20000"},
		},
		"an image": {func(in *Inputs) { in.Images = map[string]string{"tools": "sha256:3", "runner": "sha256:2"} }, []string{"image tools: sha256:3, and was sha256:1"}},
		"another node": {
			func(in *Inputs) { in.Nodes[0].Name = "c" },
			[]string{"node b: was with clients, and is absent now", "node c: with clients, and was absent before"},
		},
		"a background load": {
			func(in *Inputs) { in.Background, in.BackgroundNodes = "fio", []Node{{Name: "c"}} },
			[]string{"background: fio, and was absent before", "node of the background load c: with clients, and was absent before"},
		},
		"data that are rolled back": {
			func(in *Inputs) { in.InitialState = v1alpha1.InitialStateRollback },
			[]string{"initial state of the data: Rollback, and was Keep"},
		},
		"caches that are warm": {
			func(in *Inputs) { in.OSDCaches = v1alpha1.OSDCachesWarmBeforePhase },
			[]string{"OSD caches before each phase: WarmBeforePhase, and was Keep"},
		},
		"pool size": {func(in *Inputs) { in.Pools[0].QuotaMaxBytes = 5 }, []string{"pool p quota_max_bytes: 5, and was 0"}},
	}
	before := Describe(inputs())
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			in := inputs()
			test.change(&in)
			if digest(t, in) == digest(t, inputs()) {
				t.Error("the digest is the same")
			}
			got := Compare(before, Describe(in))
			if len(got) == 0 {
				t.Error("nothing is told")
			}
			if diff := cmp.Diff(test.want, got); test.want != nil && diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// Results of earlier versions lack some facts, and still compare with later ones.
func TestFactsThatOneEnvironmentLacks(t *testing.T) {
	var earlier Detail
	if err := json.Unmarshal([]byte(`{"fsid":"f","cephVersions":["18.2.7"],"osds":[]}`), &earlier); err != nil {
		t.Fatal(err)
	}
	later := earlier
	later.KubernetesVersion, later.Kernels, later.CephVersions = "v1.36.0", []string{"6.8.0"}, []string{"19.2.0"}
	want := []string{"Ceph version: 19.2.0, and was 18.2.7"}
	for _, lines := range [][]string{Compare(earlier, later), Compare(later, earlier)} {
		if len(lines) != 1 || !strings.HasPrefix(lines[0], "Ceph version: ") {
			t.Errorf("%q, want one line such as %q", lines, want)
		}
	}
}

func TestKernelsAreBounded(t *testing.T) {
	in := Inputs{}
	for id := range 100 {
		in.OSDs = append(in.OSDs, ceph.OSD{ID: id})
		in.Devices = append(in.Devices, ceph.OSDDevice{ID: id, Kernel: fmt.Sprintf("6.8.%d", id)})
	}
	if got := len(Describe(in).Kernels); got != mostKernels {
		t.Errorf("%d kernels, want %d", got, mostKernels)
	}
}

func TestSecretsAreNotKept(t *testing.T) {
	for _, entry := range Describe(inputs()).Config {
		if entry.Value == "hidden" {
			t.Errorf("%s is kept", entry.Name)
		}
	}
}

// Describe must not return memory that the caller may change.
func TestDescribeLeavesItsInputs(t *testing.T) {
	in, want := inputs(), inputs()
	d := Describe(in)
	d.Pools[0].Flags, d.Images["tools"] = nil, ""
	if diff := cmp.Diff(want, in); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !maps.Equal(in.Images, want.Images) {
		t.Error("images are shared")
	}
}

func TestDatasetBytes(t *testing.T) {
	const mib = int64(1) << 20
	tests := map[string]struct {
		size        string
		clients     int
		cache, free int64
		want        int64
		wantCached  bool
	}{
		"twice the caches":                    {"Auto", 2, 3 * gib, 1000 * gib, 3 * gib, false},
		"unset is Auto":                       {"", 2, 3 * gib, 1000 * gib, 3 * gib, false},
		"rounded up":                          {"Auto", 3, 3*gib + 1, 1000 * gib, 2*gib + mib, false},
		"a tenth of the free space":           {"Auto", 2, 3 * gib, 40 * gib, 2 * gib, true},
		"a tenth of the free space is enough": {"Auto", 2, 3 * gib, 60 * gib, 3 * gib, false},
		"a tenth, rounded down":               {"Auto", 3, 3 * gib, 10 * gib, 341 * mib, true},
		"hardly any space":                    {"Auto", 2, 3 * gib, 10, mib, true},
		"a size":                              {"3Gi", 2, 3 * gib, 0, 3 * gib, false},
		"a size below twice the caches":       {"2Gi", 2, 3 * gib, 1000 * gib, 2 * gib, true},
		"a size where caches are not known":   {"3Gi", 1, 0, 1000 * gib, 3 * gib, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, cached, err := DatasetBytes(v1alpha1.Dataset{Size: v1alpha1.DatasetSize(test.size)}, test.clients, test.cache, test.free)
			if err != nil || got != test.want || cached != test.wantCached {
				t.Errorf("got %d, %v, %v, want %d, %v", got, cached, err, test.want, test.wantCached)
			}
		})
	}
	failures := map[string]struct {
		size    string
		clients int
	}{
		"no size":                         {"much", 1},
		"no clients":                      {"1Gi", 0},
		"Auto where caches are not known": {"Auto", 1},
	}
	for name, test := range failures {
		t.Run(name, func(t *testing.T) {
			if got, _, err := DatasetBytes(v1alpha1.Dataset{Size: v1alpha1.DatasetSize(test.size)}, test.clients, 0, gib); err == nil {
				t.Errorf("got %d, want an error", got)
			}
		})
	}
}
