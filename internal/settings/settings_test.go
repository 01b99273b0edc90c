package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

const whole = `
clusters:
- namespace: rook-ceph
  name: my-cluster
  existingPools: [replicapool, ec_data.1]
  identities: {observer: observer, io: io, cacheDropper: dropper, tuner: tuner}
  placePGs: true
  toolsImage: example.org/tools:ceph18
  options:
  - {name: osd_mclock_profile, mask: "class:ssd", values: [balanced, high_client_ops]}
  - {name: pg_num, pool: replicapool, min: "16", max: "64"}
images:
  tools: example.org/tools:1
  runner: example.org/cephtune:1
  pullPolicy: Always
  pullSecrets: [registry]
pods:
  startTimeout: 90s
  priorityClassName: low
  labels: {team: storage}
  annotations: {example.com/inject: "false"}
  nodeSelector: {storage: client}
  tolerations: [{key: storage, operator: Exists}]
`

// TestRisksOfNewOptionsInCeph20 pins the assessment of each option of OSDs that 20.2.4 has and
// 18.2.7 does not have.
func TestRisksOfNewOptionsInCeph20(t *testing.T) {
	list, err := os.ReadFile(filepath.Join("testdata", "new-in-ceph-20.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		name, want, _ := strings.Cut(strings.TrimSpace(line), " ")
		if got, reason := ConfigRisk(name); string(got) != want {
			t.Errorf("%s: %s (%s), want %s", name, got, reason, want)
		}
	}
}

func TestOptionsThatBreakOSDsOnPurposeAreNeverVaried(t *testing.T) {
	for _, name := range []string{
		"bluestore_debug_omit_block_device_write", "osd_debug_drop_ping_probability", "osd_inject_failure_on_pg_removal",
		"bdev_inject_crash", "ceph_assert_supresssions", "debug_osd",
	} {
		if got, _ := ConfigRisk(name); got != RiskNever {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// Each option of pools that sweeps may vary has an entry. An option that alters stored data or moves it can never
// be switched under a load, and neither can one that an administrator cannot allow.
func TestPoolOptionsThatSwitchLeaveNothingBehind(t *testing.T) {
	for name, s := range poolSwitches() {
		if risk, _ := PoolRisk(name); s.reason == "" || s.can && (AltersStoredData(name) || risk == RiskNever) {
			t.Errorf("%s: can %t, because %q", name, s.can, s.reason)
		}
		// "X is not switched, because Y." has to fit into designReason.
		if size := len(name + " is not switched, because " + s.reason + "."); !s.can && size > 88 {
			t.Errorf("%s: a reason of %d bytes", name, size)
		}
	}
	if can, reason := SwitchesInPool("target_max_objects"); can || reason == "" {
		t.Errorf("an option without an entry: %t, %q", can, reason)
	}
}

func TestLoad(t *testing.T) {
	cases := map[string]struct {
		text string
		want Settings
	}{
		"nothing allows nothing": {
			want: Settings{
				Images: Images{PullPolicy: "IfNotPresent"},
				Pods:   Pods{StartTimeout: metav1.Duration{Duration: 5 * time.Minute}},
			},
		},
		"what is not said has defaults": {
			text: "clusters: [{namespace: rook-ceph, name: my-cluster}]\nimages: {tools: t, runner: r}",
			want: Settings{
				Clusters: []Cluster{{
					Namespace: "rook-ceph", Name: "my-cluster",
					Identities: Identities{Observer: "cephtune-observer", IO: "cephtune-io"},
				}},
				Images: Images{Tools: "t", Runner: "r", PullPolicy: "IfNotPresent"},
				Pods:   Pods{StartTimeout: metav1.Duration{Duration: 5 * time.Minute}},
			},
		},
		"who may tune may vary what does little harm": {
			text: "clusters: [{namespace: rook-ceph, name: my-cluster, identities: {tuner: t}}]\nimages: {tools: t, runner: r}",
			want: Settings{
				Clusters: []Cluster{{
					Namespace: "rook-ceph", Name: "my-cluster",
					Identities: Identities{Observer: "cephtune-observer", IO: "cephtune-io", Tuner: "t"},
					Options:    DefaultOptions(),
				}},
				Images: Images{Tools: "t", Runner: "r", PullPolicy: "IfNotPresent"},
				Pods:   Pods{StartTimeout: metav1.Duration{Duration: 5 * time.Minute}},
			},
		},
		"a class has a maximum, and an empty list is no list": {
			text: "clusters: [{namespace: a, name: b, storageClasses: [{name: fast}]}, {namespace: c, name: d, storageClasses: []}]\nimages: {tools: t, runner: r}",
			want: Settings{
				Clusters: []Cluster{{
					Namespace: "a", Name: "b", Identities: Identities{Observer: "cephtune-observer", IO: "cephtune-io"},
					StorageClasses: []StorageClass{{Name: "fast", MaxTotal: new(DefaultMaxTotal())}},
				}, {
					Namespace: "c", Name: "d", Identities: Identities{Observer: "cephtune-observer", IO: "cephtune-io"},
					StorageClasses: []StorageClass{},
				}},
				Images: Images{Tools: "t", Runner: "r", PullPolicy: "IfNotPresent"},
				Pods:   Pods{StartTimeout: metav1.Duration{Duration: 5 * time.Minute}},
			},
		},
		"who may stop OSDs has an identity for it": {
			text: "clusters: [{namespace: rook-ceph, name: my-cluster, stopOSDs: true}]\nimages: {tools: t, runner: r}",
			want: Settings{
				Clusters: []Cluster{{
					Namespace: "rook-ceph", Name: "my-cluster", StopOSDs: true,
					Identities: Identities{Observer: "cephtune-observer", IO: "cephtune-io", OSDStopper: "cephtune-osd-stopper"},
				}},
				Images: Images{Tools: "t", Runner: "r", PullPolicy: "IfNotPresent"},
				Pods:   Pods{StartTimeout: metav1.Duration{Duration: 5 * time.Minute}},
			},
		},
		"what is said is taken": {
			text: whole,
			want: Settings{
				Clusters: []Cluster{{
					Namespace: "rook-ceph", Name: "my-cluster", ExistingPools: []string{"replicapool", "ec_data.1"},
					Identities: Identities{Observer: "observer", IO: "io", CacheDropper: "dropper", Tuner: "tuner"},
					PlacePGs:   true,
					ToolsImage: "example.org/tools:ceph18",
					Options: []Option{
						{Name: "osd_mclock_profile", Mask: "class:ssd", Values: []string{"balanced", "high_client_ops"}},
						{Name: "pg_num", Pool: "replicapool", Min: "16", Max: "64"},
					},
				}},
				Images: Images{Tools: "example.org/tools:1", Runner: "example.org/cephtune:1", PullPolicy: "Always", PullSecrets: []string{"registry"}},
				Pods: Pods{
					StartTimeout: metav1.Duration{Duration: 90 * time.Second}, PriorityClassName: "low",
					Labels: map[string]string{"team": "storage"}, Annotations: map[string]string{"example.com/inject": "false"},
					NodeSelector: map[string]string{"storage": "client"}, Tolerations: []corev1.Toleration{{Key: "storage", Operator: corev1.TolerationOpExists}},
				},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&tc.want, got); diff != "" {
				t.Errorf("settings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	cases := map[string]struct {
		old, new  string // a change of whole
		wantField string
		wantHint  string
	}{
		"an unknown field":               {old: "pods:", new: "pod:", wantField: `unknown field "pod"`},
		"a field twice":                  {old: "images:", new: "images: {}\nimages:", wantField: `"images" already set`},
		"a namespace that cannot be one": {old: "namespace: rook-ceph", new: "namespace: Rook", wantField: "clusters[0].namespace", wantHint: "write the namespace of a CephCluster"},
		"no name":                        {old: "name: my-cluster", new: `name: ""`, wantField: "clusters[0].name", wantHint: "write the name of a CephCluster"},
		"a cluster twice":                {old: "images:", new: "- {namespace: rook-ceph, name: my-cluster}\nimages:", wantField: `clusters[1]: Duplicate value: "rook-ceph/my-cluster"`},
		"a class that may create nothing": {
			old: "existingPools:", new: "storageClasses: [{name: fast, maxTotal: 0}]\n  existingPools:", wantField: "clusters[0].storageClasses[0].maxTotal",
			wantHint: "remove the entry",
		},
		"a class that cannot be one": {
			old: "existingPools:", new: "storageClasses: [{name: Fast}]\n  existingPools:", wantField: "clusters[0].storageClasses[0].name",
			wantHint: "the name of a StorageClass",
		},
		"a class twice": {
			old: "existingPools:", new: "storageClasses: [{name: fast}, {name: fast}]\n  existingPools:",
			wantField: `clusters[0].storageClasses[1]: Duplicate value: "fast"`,
		},
		"a pool of Ceph's own":               {old: "replicapool", new: ".mgr", wantField: "clusters[0].existingPools[0]", wantHint: "remove this pool"},
		"a pool that could be an option":     {old: "replicapool", new: "--yes", wantField: "clusters[0].existingPools[0]", wantHint: "ceph osd pool ls"},
		"a scratch pool as an existing one":  {old: "replicapool", new: "cephtune-scratch", wantField: "clusters[0].existingPools[0]", wantHint: "target.scratchPool"},
		"a pool twice":                       {old: "ec_data.1", new: "replicapool", wantField: `clusters[0].existingPools[1]: Duplicate value: "replicapool"`},
		"the administrator as an identity":   {old: "io: io", new: "io: admin", wantField: "clusters[0].identities.io", wantHint: "cephtune's own"},
		"an identity with its type":          {old: "observer: observer", new: "observer: client.x", wantField: "clusters[0].identities.observer", wantHint: `without "client."`},
		"the pods' key as the operator's":    {old: "observer: observer", new: "observer: io", wantField: "clusters[0].identities.io", wantHint: "nothing else uses"},
		"the pods' key for everything":       {old: "cacheDropper: dropper", new: "cacheDropper: io", wantField: "clusters[0].identities.io", wantHint: "nothing else uses"},
		"the operator's for everything":      {old: "cacheDropper: dropper", new: "cacheDropper: observer", wantField: "clusters[0].identities.cacheDropper", wantHint: "an identity of its own"},
		"options without a key for them":     {old: ", tuner: tuner", new: "", wantField: "clusters[0].options", wantHint: "identities.tuner"},
		"placing without a key for it":       {old: ", tuner: tuner", new: "", wantField: "clusters[0].placePGs", wantHint: "identities.tuner"},
		"the observer as the tuner":          {old: "tuner: tuner", new: "tuner: observer", wantField: "clusters[0].identities.tuner", wantHint: "an identity of its own"},
		"the pods' key as the tuner's":       {old: "tuner: tuner", new: "tuner: io", wantField: "clusters[0].identities.io", wantHint: "nothing else uses"},
		"the pods' key to stop OSDs":         {old: "tuner: tuner", new: "tuner: tuner, osdStopper: io", wantField: "clusters[0].identities.osdStopper", wantHint: "an identity of its own"},
		"the tuner to stop OSDs":             {old: "tuner: tuner", new: "tuner: tuner, osdStopper: tuner", wantField: "clusters[0].identities.osdStopper", wantHint: "an identity of its own"},
		"an option of authentication":        {old: "osd_mclock_profile", new: "auth_client_required", wantField: "clusters[0].options[0].name", wantHint: "who may use the cluster"},
		"full ratios":                        {old: "osd_mclock_profile", new: "mon_osd_full_ratio", wantField: "clusters[0].options[0].name", wantHint: "never varied"},
		"the size of a pool":                 {old: "name: pg_num", new: "name: size", wantField: "clusters[0].options[1].name", wantHint: "how many copies"},
		"compression of an existing pool":    {old: "name: pg_num", new: "name: compression_mode", wantField: "clusters[0].options[1].name", wantHint: "for scratch pools"},
		"pg_num of no pool":                  {old: "pool: replicapool, ", new: "", wantField: "clusters[0].options[1].pool", wantHint: "name the pool"},
		"an option of a pool not listed":     {old: "pool: replicapool, ", new: "pool: other, ", wantField: "clusters[0].options[1].pool", wantHint: "existingPools"},
		"a mask that there is not":           {old: "class:ssd", new: "rack:a", wantField: "clusters[0].options[0].mask", wantHint: "class:CLASS"},
		"a bound that is no number":          {old: `min: "16"`, new: "min: few", wantField: "clusters[0].options[1].min", wantHint: "4Gi"},
		"a mask that Ceph's commands refuse": {old: "class:ssd", new: "host:" + strings.Repeat("n", 64), wantField: "clusters[0].options[0].mask", wantHint: "at most 63 characters"},
		"a fraction with a unit":             {old: `min: "16"`, new: "min: 0.5Gi", wantField: "clusters[0].options[1].min", wantHint: "such as 64, 0.5 or 4Gi"},
		"memory without an end": {
			old: "osd_mclock_profile, mask: \"class:ssd\", values: [balanced, high_client_ops]", new: "osd_memory_target, min: 1Gi",
			wantField: "clusters[0].options[0].max: Required", wantHint: "the limit of its pod",
		},
		"an option twice":                  {old: "name: osd_mclock_profile,", new: "name: osd_x}\n  - {name: osd_x}\n  - {name: osd_y,", wantField: "clusters[0].options[1]: Duplicate"},
		"no image of the tools":            {old: "tools: example.org/tools:1", new: `tools: ""`, wantField: "images.tools: Required", wantHint: "ghcr.io/cephtune/tools"},
		"a cluster's image with a space":   {old: "tools:ceph18", new: "tools ceph18", wantField: "clusters[0].toolsImage", wantHint: "no spaces"},
		"an image with a space":            {old: "runner: example.org/cephtune:1", new: `runner: "a b"`, wantField: "images.runner", wantHint: "no spaces"},
		"a policy that there is not":       {old: "Always", new: "Sometimes", wantField: "images.pullPolicy", wantHint: `"IfNotPresent"`},
		"a pull secret twice":              {old: "[registry]", new: "[registry, registry]", wantField: "images.pullSecrets[1]: Duplicate"},
		"a time without a unit":            {old: "90s", new: "90", wantField: "cannot unmarshal number"},
		"hardly any time":                  {old: "90s", new: "1s", wantField: "pods.startTimeout", wantHint: "between 10s and 24h"},
		"a node label with a space":        {old: "{storage: client}", new: "{storage: any client}", wantField: "pods.nodeSelector"},
		"a priority class with a space":    {old: "priorityClassName: low", new: "priorityClassName: very low", wantField: "pods.priorityClassName"},
		"a label that cannot be one":       {old: "team: storage", new: "team: a b", wantField: "pods.labels"},
		"a label by which pods are known":  {old: "team: storage", new: "app.kubernetes.io/component: x", wantField: "pods.labels[app.kubernetes.io/component]", wantHint: "remove it"},
		"an annotation of cephtune's":      {old: "example.com/inject", new: "cephtune.dev/run", wantField: "pods.annotations[cephtune.dev/run]", wantHint: "remove it"},
		"an annotation that cannot be one": {old: "example.com/inject", new: "a b", wantField: "pods.annotations"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(whole, tc.old) {
				t.Fatalf("nothing to change: %q", tc.old)
			}
			_, err := Parse([]byte(strings.Replace(whole, tc.old, tc.new, 1)))
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, want := range []string{tc.wantField, tc.wantHint} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q, want %q in it", err, want)
				}
			}
		})
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "missing.yaml")
	if _, err := Load(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names %s", err, path)
	}
}

func TestCluster(t *testing.T) {
	s := Settings{Clusters: []Cluster{{Namespace: "a", Name: "one", ExistingPools: []string{"p"}}, {Namespace: "b", Name: "one"}}}
	for ref, want := range map[v1alpha1.ClusterReference]bool{
		{Namespace: "a", Name: "one"}: true,
		{Namespace: "b", Name: "one"}: true,
		{Namespace: "a", Name: "two"}: false,
		{Namespace: "c", Name: "one"}: false,
		{}:                            false,
	} {
		got, found := s.Cluster(ref)
		if found != want || (found && got.Namespace != ref.Namespace) {
			t.Errorf("%v: found %t %v, want %t", ref, found, got, want)
		}
	}
	c := s.Clusters[0]
	if !c.AllowsPool("p") || c.AllowsPool("P") || c.AllowsPool("") || s.Clusters[1].AllowsPool("p") {
		t.Error("pools other than those listed are allowed, or those listed are not")
	}
}

func TestToolsOfAClusterAreItsOwnOrTheDefault(t *testing.T) {
	s := Settings{Images: Images{Tools: "tools:ceph20", Runner: "runner", PullPolicy: "Always"}}
	for toolsImage, want := range map[string]string{"": "tools:ceph20", "tools:ceph18": "tools:ceph18"} {
		got := s.ImagesFor(Cluster{ToolsImage: toolsImage})
		if diff := cmp.Diff(Images{Tools: want, Runner: "runner", PullPolicy: "Always"}, got); diff != "" {
			t.Errorf("toolsImage %q (-want +got):\n%s", toolsImage, diff)
		}
	}
	if s.Images.Tools != "tools:ceph20" {
		t.Errorf("the default is now %s", s.Images.Tools)
	}
}

func TestRefusal(t *testing.T) {
	allowed := Settings{Clusters: []Cluster{{Namespace: "rook-ceph", Name: "c", ExistingPools: []string{"open"}}}}
	placers := func(may bool) Cluster {
		return Cluster{Namespace: "rook-ceph", Name: map[bool]string{true: "places", false: "tunes"}[may], PlacePGs: may, Identities: Identities{Tuner: "t"}}
	}
	allowed.Clusters = append(allowed.Clusters, placers(true), placers(false))
	confined := v1alpha1.BenchmarkTemplate{Target: v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{OSDSelection: &v1alpha1.OSDSelection{Count: 1}}}}
	scratch := func(data, metadata string) v1alpha1.Target {
		pool := &v1alpha1.ScratchPool{Parameters: map[string]v1alpha1.ParameterValue{"pg_num": "8", data: "1"}, ErasureCoded: &v1alpha1.ErasureCodedPool{}}
		pool.ErasureCoded.Metadata.Parameters = map[string]v1alpha1.ParameterValue{metadata: "1"}
		return v1alpha1.Target{ScratchPool: pool}
	}
	pool := func(name, data v1alpha1.PoolName) v1alpha1.Target {
		return v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: name, DataPool: data}}
	}
	for name, tc := range map[string]struct {
		cluster  string
		template v1alpha1.BenchmarkTemplate
		want     string // a part of it; "" for none
	}{
		"on some OSDs":                   {"places", confined, ""},
		"on some OSDs, not allowed":      {"tunes", confined, "powers.placePGs"},
		"on some OSDs, without a tuner":  {"c", confined, "powers.placePGs"},
		"a scratch pool":                 {"c", v1alpha1.BenchmarkTemplate{Target: scratch("compression_mode", "pg_num")}, ""},
		"a pool that is open":            {"c", v1alpha1.BenchmarkTemplate{Target: pool("open", "")}, ""},
		"one that is not":                {"c", v1alpha1.BenchmarkTemplate{Target: pool("prod", "")}, "pool prod"},
		"one whose data is in such one":  {"c", v1alpha1.BenchmarkTemplate{Target: pool("open", "prod")}, "pool prod"},
		"another cluster":                {"d", v1alpha1.BenchmarkTemplate{Target: scratch("pg_num", "pg_num")}, "CephCluster d"},
		"caches":                         {"c", v1alpha1.BenchmarkTemplate{OSDCaches: v1alpha1.OSDCachesDropBeforePhase}, "caches"},
		"a pool that could not go":       {"c", v1alpha1.BenchmarkTemplate{Target: scratch("nodelete", "pg_num")}, "Parameter nodelete"},
		"metadata that could not go":     {"c", v1alpha1.BenchmarkTemplate{Target: scratch("pg_num", "nodelete")}, "Parameter nodelete"},
		"a pool that takes others' PGs":  {"c", v1alpha1.BenchmarkTemplate{Target: scratch("target_size_ratio", "pg_num")}, "Parameter target_size_ratio"},
		"a pool that cannot be used":     {"c", v1alpha1.BenchmarkTemplate{Target: scratch("eio", "pg_num")}, "Parameter eio"},
		"a pool whose PGs cannot change": {"c", v1alpha1.BenchmarkTemplate{Target: scratch("nopgchange", "pg_num")}, "Parameter nopgchange"},
	} {
		t.Run(name, func(t *testing.T) {
			got := allowed.Refusal(v1alpha1.ClusterReference{Namespace: "rook-ceph", Name: tc.cluster}, tc.template)
			if (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("refusal %q, want one about %q", got, tc.want)
			}
		})
	}
}

func TestCurvesOfExistingTargetsAreAPower(t *testing.T) {
	curve := []v1alpha1.Phase{{Name: "p", Fio: &v1alpha1.Fio{Curve: &v1alpha1.Curve{AtMost: "10ms"}}}}
	pool := v1alpha1.Target{ExistingPool: &v1alpha1.ExistingPool{Name: "rbd"}}
	claim := v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: "data"}}
	made := v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{Template: &v1alpha1.PersistentVolumeClaimTemplate{StorageClassName: "a"}}}
	for name, tc := range map[string]struct {
		power   bool
		target  v1alpha1.Target
		phases  []v1alpha1.Phase
		refused bool
	}{
		"a pool of others":            {false, pool, curve, true},
		"a claim of others":           {false, claim, curve, true},
		"a claim of its own":          {false, made, curve, false},
		"a scratch pool":              {false, v1alpha1.Target{ScratchPool: &v1alpha1.ScratchPool{}}, curve, false},
		"another load":                {false, pool, []v1alpha1.Phase{{Name: "p", Fio: &v1alpha1.Fio{}}}, false},
		"the administrator allows it": {true, claim, curve, false},
	} {
		s := Settings{Clusters: []Cluster{{Namespace: "a", Name: "one", ExistingPools: []string{"rbd"}, SaturateExisting: tc.power}}}
		got := s.Refusal(v1alpha1.ClusterReference{Namespace: "a", Name: "one"}, v1alpha1.BenchmarkTemplate{Target: tc.target, Phases: tc.phases})
		if strings.Contains(got, "saturateExisting") != tc.refused || !tc.refused && got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestStoppingOSDsIsAPower(t *testing.T) {
	ref := v1alpha1.ClusterReference{Namespace: "a", Name: "one"}
	template := v1alpha1.BenchmarkTemplate{Outage: &v1alpha1.Outage{}}
	for name, tc := range map[string]struct {
		cluster Cluster
		want    string
	}{
		"by default none":         {Cluster{Namespace: "a", Name: "one"}, "stopOSDs"},
		"an identity is no power": {Cluster{Namespace: "a", Name: "one", Identities: Identities{OSDStopper: "s"}}, "stopOSDs"},
		"who was granted it may":  {Cluster{Namespace: "a", Name: "one", StopOSDs: true}, ""},
	} {
		s := Settings{Clusters: []Cluster{tc.cluster}}
		if got := s.Refusal(ref, template); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: %q, want %q in it", name, got, tc.want)
		}
	}
}
