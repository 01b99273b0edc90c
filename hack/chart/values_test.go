package chart

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/internal/settings"
)

// TestLint does what "helm lint --strict" does.
func TestLint(t *testing.T) {
	for _, variant := range variants(t) {
		t.Run(variant, func(t *testing.T) {
			linter := lint.All(chartFolder, valuesOf(t, variant), namespace, true)
			for _, message := range linter.Messages {
				if message.Severity > support.InfoSev {
					t.Error(message)
				}
			}
		})
	}
}

// TestRefused has wrong values, and texts that the message must contain.
func TestRefused(t *testing.T) {
	const cluster = "benchmarkNamespaces: [b]\nclusters: [{namespace: rook-ceph, name: c}]\n"
	for name, tc := range map[string]struct {
		values string
		want   []string
	}{
		"a value that there is not":         {"cluster: []", []string{"cluster"}},
		"a namespace that cannot be one":    {"clusters: [{namespace: Rook, name: c}]", []string{"clusters/0/namespace", "Rook"}},
		"a cluster without a name":          {"clusters: [{namespace: rook}]", []string{"clusters/0", "name"}},
		"a power that there is not":         {"powers: {removeOSDs: true}", []string{"powers", "removeOSDs"}},
		"a power that is no truth value":    {"powers: {dropCaches: please}", []string{"powers/dropCaches", "boolean"}},
		"a benchmark namespace with a dot":  {"benchmarkNamespaces: [a.b]", []string{"benchmarkNamespaces/0", "a.b"}},
		"a benchmark namespace twice":       {"benchmarkNamespaces: [a, a]", []string{"benchmarkNamespaces"}},
		"a pool of Ceph's own":              {"existingPools: [.mgr]", []string{"existingPools/0", ".mgr"}},
		"a pool that could be a flag":       {"existingPools: [--yes]", []string{"existingPools/0", "--yes"}},
		"a pool with a comma, more caps":    {"existingPools: ['a, allow *']", []string{"existingPools/0"}},
		"a scratch pool as an existing one": {"existingPools: [cephtune-scratch]", []string{"existingPools/0", "not"}},
		"an option with a space, more caps": {"options: [{name: 'a, allow *'}]", []string{"options/0/name"}},
		"an option of authentication":       {"options: [{name: auth_client_required}]", []string{"options/0/name"}},
		"the size of a pool":                {"options: [{name: size, pool: p}]", []string{"options/0/name"}},
		"a set that there is not":           {"optionSets: [network]", []string{"optionSets/0", "bluestore-cache"}},
		"a set twice":                       {"optionSets: [mclock, mclock]", []string{"optionSets"}},
		"pg_num of no pool":                 {"options: [{name: pg_num}]", []string{"options/0/name"}},
		"a mask that there is not":          {"options: [{name: osd_x, mask: 'rack:a'}]", []string{"options/0/mask", "rack:a"}},
		"a mask of a pool's option":         {"options: [{name: pg_num, pool: p, mask: 'class:ssd'}]", []string{"options/0"}},
		"a bound that is no number":         {"options: [{name: osd_x, min: few}]", []string{"options/0/min", "few"}},
		"an amount of memory that is none":  {"manager: {resources: {limits: {memory: lots}}}", []string{"manager/resources/limits/memory", "lots"}},
		"a resource that there is not":      {"manager: {sidecarResources: {limits: {memry: 1Gi}}}", []string{"manager/sidecarResources/limits", "memry"}},
		"limits in the wrong place":         {"manager: {helperResources: {memory: 1Gi}}", []string{"manager/helperResources", "memory"}},
		"a toleration of no effect":         {"benchmarkPods: {tolerations: [{key: a, effect: NoStart}]}", []string{"benchmarkPods/tolerations/0/effect"}},
		"an affinity that there is not":     {"manager: {affinity: {nodes: {}}}", []string{"manager/affinity", "nodes"}},
		"a spread over nothing":             {"manager: {topologySpreadConstraints: [{maxSkew: 1}]}", []string{"manager/topologySpreadConstraints/0", "topologyKey"}},
		"a user that is a name":             {"manager: {podSecurityContext: {runAsUser: nobody}}", []string{"manager/podSecurityContext/runAsUser"}},
		"a right that there is not":         {"manager: {securityContext: {runAsRoot: true}}", []string{"manager/securityContext", "runAsRoot"}},
		"a volume of two sources":           {"manager: {extraVolumes: [{name: a, emptyDir: {}, hostPath: {path: /}}]}", []string{"manager/extraVolumes/0"}},
		"a mount without a path":            {"manager: {extraVolumeMounts: [{name: a}]}", []string{"manager/extraVolumeMounts/0", "mountPath"}},
		"a variable that is a number":       {"manager: {extraEnv: [{name: A, value: 1}]}", []string{"manager/extraEnv/0/value"}},
		"a peer that there is not":          {"networkPolicy: {metrics: {from: [{pods: {}}]}}", []string{"networkPolicy/metrics/from/0", "pods"}},
		"a relabeling that there is not":    {"serviceMonitor: {relabelings: [{source_labels: [a]}]}", []string{"serviceMonitor/relabelings/0", "source_labels"}},
		"a selector of instances by name":   {"dashboards: {grafanaOperator: {instanceSelector: {name: grafana}}}", []string{"instanceSelector", "name"}},
		"too many managers":                 {"manager: {replicas: 50}", []string{"manager/replicas", "5"}},
		"a port out of range":               {"metrics: {service: {port: 70000}}", []string{"metrics/service/port", "65,535"}},
		"a time without a unit":             {"benchmarkPods: {startTimeout: '90'}", []string{"benchmarkPods/startTimeout", "90"}},
		"a label of cephtune's":             {"benchmarkPods: {labels: {app.kubernetes.io/component: x}}", []string{"benchmarkPods/labels"}},
		"a label of the chart's":            {"commonLabels: {app.kubernetes.io/name: x}", []string{"commonLabels"}},
		"a cluster's tools of no version": {
			"clusters: [{namespace: r, name: c, toolsImage: {repository: example.org/tools}}]\nbenchmarkNamespaces: [b]",
			[]string{"toolsImage of CephCluster r/c", "0.1.0-ceph18"},
		},
		"a cluster's tools as text":              {"clusters: [{namespace: r, name: c, toolsImage: 'tools:18'}]", []string{"clusters/0/toolsImage"}},
		"a digest that is none":                  {"images: {operator: {digest: latest}}", []string{"images/operator/digest", "latest"}},
		"a registry with a space":                {"global: {imageRegistry: 'a b'}", []string{"global/imageRegistry"}},
		"a variable without a name":              {"manager: {extraEnv: [{value: x}]}", []string{"manager/extraEnv/0", "name"}},
		"an object without a kind":               {"extraObjects: [{apiVersion: v1}]", []string{"extraObjects/0", "kind"}},
		"a name with a dot":                      {"nameOverride: a.b", []string{"nameOverride"}},
		"another alert":                          {"prometheusRule: {enabled: true, overrides: {CephTuneFire: {for: 1h}}}", []string{"CephTuneFire", "CephTuneAbsent"}},
		"a cluster label with a space":           {"clusterLabel: 'a, b'", []string{"clusterLabel"}},
		"an alert's threshold":                   {"prometheusRule: {overrides: {CephTuneAbsent: {threshold: 1}}}", []string{"prometheusRule/overrides/CephTuneAbsent", "threshold"}},
		"a policy that there is not":             {"images: {pullPolicy: Sometimes}", []string{"images/pullPolicy"}},
		"clusters without namespaces":            {"clusters: [{namespace: rook-ceph, name: c}]", []string{"benchmarkNamespaces", "such as cephtune-bench"}},
		"benchmarks in Rook's namespace":         {"clusters: [{namespace: b, name: c}]\nbenchmarkNamespaces: [b]", []string{"b is Rook's namespace"}},
		"benchmarks in kube-system":              {"benchmarkNamespaces: [b, kube-system]", []string{"kube-system is for Kubernetes itself"}},
		"benchmarks in kube-public":              {"benchmarkNamespaces: [kube-public]", []string{"kube-public is for"}},
		"benchmarks with the nodes' leases":      {"benchmarkNamespaces: [kube-node-lease]", []string{"kube-node-lease is for"}},
		"benchmarks where strangers begin":       {"benchmarkNamespaces: [default]", []string{"default is for", "such as cephtune-bench"}},
		"a namespace that is a number":           {"benchmarkNamespaces: [123]", []string{"benchmarkNamespaces/0", "string"}},
		"a namespace that is a truth value":      {"benchmarkNamespaces: [true]", []string{"benchmarkNamespaces/0", "string"}},
		"a namespace of two lines":               {`benchmarkNamespaces: ["a\nb"]`, []string{"benchmarkNamespaces/0"}},
		"a namespace that ends a line":           {`benchmarkNamespaces: ["a\n"]`, []string{"benchmarkNamespaces/0"}},
		"a namespace with a quote":               {`benchmarkNamespaces: ['a"b']`, []string{"benchmarkNamespaces/0"}},
		"a class without a name":                 {"storageClasses: [{maxTotal: 1Gi}]", []string{"storageClasses/0", "name"}},
		"a class with a number of bytes":         {"storageClasses: [{name: fast, maxTotal: 1e12}]", []string{"storageClasses/0/maxTotal"}},
		"a class of nothing":                     {"storageClasses: [{name: fast, maxTotal: '0'}]", []string{"storageClasses/0/maxTotal"}},
		"benchmarks in the operator's own":       {"benchmarkNamespaces: [cephtune-system]", []string{"the operator's own"}},
		"a check without its Role":               {"rbac: {create: false}", []string{"set uninstallCheck.enabled to false"}},
		"the operator in Rook's namespace":       {"benchmarkNamespaces: [b]\nclusters: [{namespace: cephtune-system, name: c}]", []string{"cephtune-system is Rook's namespace"}},
		"two clusters in one namespace":          {"benchmarkNamespaces: [b]\nclusters: [{namespace: r, name: c}, {namespace: r, name: d}]", []string{"two entries of clusters"}},
		"an option of a pool that is not listed": {cluster + "options: [{name: pg_num, pool: p}]", []string{"pg_num", "existingPools"}},
		"placing with no key for it":             {cluster + "powers: {changeSettings: false, placePGs: true}", []string{"placePGs", "changeSettings"}},
		"restarts for nothing":                   {cluster + "powers: {changeSettings: false, restartOSDs: true}", []string{"restartOSDs", "changeSettings"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := render(t, parseValues(t, tc.values))
			if err == nil {
				t.Fatal("it was taken")
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q, want %q in it", err, want)
				}
			}
		})
	}
}

// TestAsADependency checks values that a parent chart adds: global and enabled.
func TestAsADependency(t *testing.T) {
	mustRender(t, parseValues(t, "enabled: true\nglobal: {someOther: unused}"))
}

// TestImagesOfAMirror checks that global.imageRegistry replaces only the registry of a repository.
func TestImagesOfAMirror(t *testing.T) {
	for repository, want := range map[string]string{
		"ghcr.io/cephtune/tools": "mirror.example/x/cephtune/tools:1", "localhost:5000/tools": "mirror.example/x/tools:1",
		"cephtune/tools": "mirror.example/x/cephtune/tools:1", "tools": "mirror.example/x/tools:1",
	} {
		values := "global: {imageRegistry: mirror.example/x/}\nimages: {tools: {repository: '" + repository + "', tag: '1'}}"
		got, err := settingsOf(t, mustRender(t, parseValues(t, values)))
		if err != nil || got.Images.Tools != want {
			t.Errorf("%s: %q, want %q (%v)", repository, got.Images.Tools, want, err)
		}
	}
}

// TestToolsOfACluster checks that a cluster's entry may leave out the repository, and that the
// default's digest does not displace the cluster's tag.
func TestToolsOfACluster(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for name, tc := range map[string]struct{ image, rest, want string }{
		"none":              {"{}", "", ""},
		"a tag":             {"{tag: 0.1.0-ceph18}", "", "ghcr.io/cephtune/tools:0.1.0-ceph18"},
		"another place":     {"{repository: example.org/tools, tag: '18'}", "", "example.org/tools:18"},
		"a digest":          {"{tag: '18', digest: '" + digest + "'}", "", "ghcr.io/cephtune/tools@" + digest},
		"a mirror":          {"{tag: '18'}", "global: {imageRegistry: mirror.example/x}", "mirror.example/x/cephtune/tools:18"},
		"default by digest": {"{tag: '18'}", "images: {tools: {repository: example.org/t, digest: '" + digest + "'}}", "example.org/t:18"},
	} {
		values := "clusters: [{namespace: rook-ceph, name: c, toolsImage: " + tc.image + "}, {namespace: r, name: d}]\nbenchmarkNamespaces: [b]\n" + tc.rest
		got, err := settingsOf(t, mustRender(t, parseValues(t, values)))
		if err != nil || got.Clusters[0].ToolsImage != tc.want || got.Clusters[1].ToolsImage != "" {
			t.Errorf("%s: %+v, want %q (%v)", name, got, tc.want, err)
		}
	}
}

// TestTheClusterLabelIsReplaced checks that another name replaces the label everywhere, and nothing else.
func TestTheClusterLabelIsReplaced(t *testing.T) {
	rules := func(values string) string {
		made := mustRender(t, parseValues(t, values))
		text, err := yaml.Marshal(find(t, made.objects, "PrometheusRule cephtune-system/cephtune-manager").Object["spec"])
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	before, now := rules("prometheusRule: {enabled: true}"), rules("clusterLabel: k8s\nprometheusRule: {enabled: true}")
	if regexp.MustCompile(`\bcluster[,)]|labels\.cluster`).MatchString(now) || !strings.Contains(now, "by (k8s, namespace, name)") {
		t.Errorf("%s", now)
	}
	if back := regexp.MustCompile(`\bk8s\b`).ReplaceAllString(now, "cluster"); strings.Join(strings.Fields(back), "") != strings.Join(strings.Fields(before), "") {
		t.Errorf("more than the label has changed:\n%s", now)
	}
}

// TestDashboardsHaveTheClusterLabel checks that another name replaces the label in each query, and that the variable
// keeps its own name.
func TestDashboardsHaveTheClusterLabel(t *testing.T) {
	dashboard := func(label string) string {
		made := mustRender(t, parseValues(t, "clusterLabel: "+label+"\ndashboards: {enabled: true}"))
		text, _, err := unstructured.NestedString(find(t, made.objects, "ConfigMap cephtune-system/cephtune-dashboard-fleet").Object, "data", "fleet.json")
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	before, now := dashboard("cluster"), dashboard("k8s")
	if strings.Contains(now, `{cluster=~`) || strings.Contains(now, `errors, cluster)`) || !strings.Contains(now, `{k8s=~\"$cluster\"`) {
		t.Error("queries have the old label")
	}
	if strings.ReplaceAll(now, "k8s", "cluster") != before {
		t.Error("more than the label has changed")
	}
}

// TestAlertsOfOnesOwn checks that overrides change only what they name.
func TestAlertsOfOnesOwn(t *testing.T) {
	alerts := func(values string) map[string]map[string]any {
		found := map[string]map[string]any{}
		for _, object := range mustRender(t, parseValues(t, values)).objects {
			groups, _, _ := unstructured.NestedSlice(object.Object, "spec", "groups")
			if object.GetKind() != "PrometheusRule" {
				continue
			}
			for _, group := range groups {
				rules, _, _ := unstructured.NestedSlice(group.(map[string]any), "rules")
				for _, rule := range rules {
					fields := rule.(map[string]any)
					found[fields["alert"].(string)] = fields
				}
			}
		}
		return found
	}
	before := alerts("prometheusRule: {enabled: true}")
	now := alerts("prometheusRule: {enabled: true, overrides: {CephTuneAbsent: {enabled: false}, CephTuneLockHeldTooLong: {for: 24h, expr: vector(1), labels: {severity: info}}}}")
	if len(before) < 2 || len(now) != len(before)-1 || now["CephTuneAbsent"] != nil {
		t.Fatalf("%d alerts instead of %d", len(now), len(before))
	}
	changed := now["CephTuneLockHeldTooLong"]
	if changed["for"] != "24h" || changed["expr"] != "vector(1)" || changed["labels"].(map[string]any)["severity"] != "info" || changed["annotations"] == nil {
		t.Errorf("%v", changed)
	}
	if !reflect.DeepEqual(before["CephTuneRestoreFailed"], now["CephTuneRestoreFailed"]) {
		t.Error("another alert has changed")
	}
}

// settingsOf parses the rendered operator config with the manager's code.
func settingsOf(t *testing.T, made rendered) (*settings.Settings, error) {
	t.Helper()
	for _, object := range made.objects {
		text, found, err := unstructured.NestedString(object.Object, "data", "config.yaml")
		if err != nil || !found {
			continue
		}
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return settings.Load(path)
	}
	t.Fatal("no ConfigMap has the settings")
	return nil, nil
}

// TestTheManagerReadsItsSettings parses the rendered operator config of each variant with the manager's
// code. An unknown field would keep the manager from starting.
func TestTheManagerReadsItsSettings(t *testing.T) {
	for _, variant := range variants(t) {
		t.Run(variant, func(t *testing.T) {
			got, err := settingsOf(t, mustRender(t, valuesOf(t, variant)))
			if err != nil {
				t.Fatal(err)
			}
			if variant == "two-clusters" {
				wantTwoClusters(t, got)
			}
		})
	}
}

func wantTwoClusters(t *testing.T, got *settings.Settings) {
	t.Helper()
	first, second := got.Clusters[0], got.Clusters[1]
	if option, allowed := first.AllowsOption("osd_memory_target", "", ""); !allowed || option.Max != "17179869184" {
		t.Errorf("osd_memory_target is allowed: %t, up to %q", allowed, option.Max)
	}
	if !first.AllowsPool("replicapool") || first.AllowsPool("shared") || !second.AllowsPool("shared") {
		t.Errorf("pools are %v and %v: a cluster's own have to count instead of those for all", first.ExistingPools, second.ExistingPools)
	}
	if second.Identities.Tuner != "" || len(second.Options) > 0 {
		t.Errorf("the second cluster may be tuned by %q: %v", second.Identities.Tuner, second.Options)
	}
}

// TestSchemaAndManagerAgree checks that values.schema.json and the manager accept the same options.
// The manager does not start with an option that it refuses. An option that only the schema refuses
// could not be used.
func TestSchemaAndManagerAgree(t *testing.T) {
	for _, option := range []string{
		"{name: osd_mclock_profile}", "{name: osd_memory_target, min: 1Gi, max: 4Gi}", "{name: osd_memory_target}",
		"{name: osd_memory_target, min: 1Gi, mask: 'class:ssd'}", "{name: osd_memory_target, values: [2Gi, 4Gi]}", "{name: osd_x, mask: 'class:ssd'}",
		"{name: osd_x, mask: 'rack:r'}", "{name: bluestore_throttle_bytes, min: 0.5}", "{name: bluestore_compression_mode}",
		"{name: bluestore_csum_type}", "{name: mon_osd_full_ratio}", "{name: osd_failsafe_full_ratio}", "{name: osd_heartbeat_grace}",
		"{name: bluestore_min_alloc_size_hdd}", "{name: debug_osd}", "{name: log_file}", "{name: ms_type}", "{name: cephx_require_signatures}",
		"{name: keyring}", "{name: osd_class_dir}", "{name: bluestore_block_path}", "{name: auth_supported}", "{name: osd_op_num_shards}",
		"{name: Osd}", "{name: pg_num}", "{name: pg_num, pool: p, min: 1}", "{name: size, pool: p}", "{name: min_size, pool: p}",
		"{name: crush_rule, pool: p}", "{name: pgp_num, pool: p}", "{name: bulk, pool: p}", "{name: pg_autoscale_mode, pool: p}",
		"{name: target_size_ratio, pool: p}", "{name: nodelete, pool: p}", "{name: eio, pool: p}", "{name: compression_mode, pool: p}",
		"{name: csum_type, pool: p}", "{name: dedup_tier, pool: p}", "{name: fingerprint_algorithm, pool: p}", "{name: fast_read, pool: p}",
		"{name: recovery_priority, pool: p}", "{name: hit_set_count, pool: p, mask: 'host:a'}",
	} {
		values := "clusters: [{namespace: rook-ceph, name: c}]\nbenchmarkNamespaces: [b]\nexistingPools: [p]\noptions: [" + option + "]"
		_, err := render(t, parseValues(t, values))
		path := filepath.Join(t.TempDir(), "config.yaml")
		text := "clusters: [{namespace: rook-ceph, name: c, identities: {tuner: t}, existingPools: [p], options: [" +
			strings.ReplaceAll(strings.ReplaceAll(option, "min: 1}", "min: '1'}"), "min: 0.5", "min: '0.5'") + "]}]\nimages: {tools: t, runner: r}"
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, refused := settings.Load(path)
		if (err == nil) != (refused == nil) {
			t.Errorf("%s: the chart says %v, the manager %v", option, err, refused)
		}
	}
}

// TestCapsNameEveryOption checks that Ceph's caps allow the options in the operator config, and
// nothing else.
// scratchCaps returns the osd caps for the scratch pools of seven targets.
func scratchCaps() []string {
	var caps []string
	for target := range 7 {
		name := "cephtune-scratch"
		if target > 0 {
			name = fmt.Sprintf("cephtune-scratch-%d", target)
		}
		caps = append(caps, "profile rbd pool="+name, "profile rbd pool="+name+"-data")
	}
	return caps
}

func TestCapsNameEveryOption(t *testing.T) {
	made := mustRender(t, valuesOf(t, "two-clusters"))
	for client, want := range map[string]map[string][]string{
		"CephClient rook-ceph/cephtune-tuner": {"mon": {
			`allow r`,
			`allow command "config set" with who="osd/class:ssd" name=osd_mclock_profile`,
			`allow command "config rm" with who="osd/class:ssd" name=osd_mclock_profile`,
			`allow command "osd pool set" with pool=replicapool var=pg_num`,
			`allow command "osd pool set" with pool=replicapool var=pg_autoscale_mode`,
			`allow command "config set" with who=osd name=osd_memory_target`,
			`allow command "config rm" with who=osd name=osd_memory_target`,
			`allow command "osd pool set" with pool=cephtune-scratch`,
			`allow command "osd pool set" with pool=cephtune-scratch-data`,
			`allow command "osd set" with key=noscrub`,
			`allow command "osd unset" with key=noscrub`,
			`allow command "osd set" with key=nodeep-scrub`,
			`allow command "osd unset" with key=nodeep-scrub`,
		}},
		"CephClient rook-ceph/cephtune-io": {"osd": append(scratchCaps(), "profile rbd pool=replicapool", "profile rbd pool=ec_data.1")},
		"CephClient rook-test/cephtune-io": {"osd": append(scratchCaps(), "profile rbd pool=shared")},
	} {
		for daemon, commands := range want {
			got, _, err := unstructured.NestedString(find(t, made.objects, client).Object, "spec", "caps", daemon)
			if err != nil {
				t.Fatal(err)
			}
			if got != strings.Join(commands, ", ") {
				t.Errorf("the caps of %s for %s are\n%s\nwant\n%s", client, daemon, got, strings.Join(commands, ", "))
			}
		}
	}
	for _, object := range made.objects {
		if object.GetKind() == "CephClient" && object.GetNamespace() == "rook-test" && object.GetName() == "cephtune-tuner" {
			t.Error("a cluster without the power to change settings has a tuner")
		}
	}
}

// optionSets returns the option sets in the file. The chart, its schema and the documentation must
// have the same ones.
func optionSets(t *testing.T) map[string][]settings.Option {
	t.Helper()
	var sets map[string][]struct {
		Name            string
		Min, Max        any
		Values          []string
		SwitchUnderLoad bool
	}
	if err := yaml.Unmarshal([]byte(read(t, filepath.Join(chartFolder, "files/config/ceph-tuner/option-sets.yaml"))), &sets); err != nil {
		t.Fatal(err)
	}
	out := map[string][]settings.Option{}
	for set, options := range sets {
		for _, o := range options {
			out[set] = append(out[set], settings.Option{Name: o.Name, Values: o.Values, SwitchUnderLoad: o.SwitchUnderLoad})
			if (o.Min == nil) != (o.Max == nil) || (o.Min == nil) == (len(o.Values) == 0) {
				t.Errorf("%s of set %s: want either values or two bounds", o.Name, set)
			}
		}
	}
	return out
}

// TestOptionSets checks each set: the schema accepts it, the operator config and the caps contain
// it, and all its options are permitted and documented.
func TestOptionSets(t *testing.T) {
	page := read(t, root+"/docs/option-sets.md")
	for set, options := range optionSets(t) {
		made := mustRender(t, parseValues(t, "clusters: [{namespace: rook-ceph, name: c}]\nbenchmarkNamespaces: [b]\noptions: []\noptionSets: ["+set+"]"))
		config, err := settingsOf(t, made)
		if err != nil {
			t.Fatalf("set %s: %v", set, err)
		}
		caps, _, err := unstructured.NestedString(find(t, made.objects, "CephClient rook-ceph/cephtune-tuner").Object, "spec", "caps", "mon")
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range options {
			got, listed := config.Clusters[0].AllowsOption(o.Name, "", "")
			if !listed || got.SwitchUnderLoad != o.SwitchUnderLoad || !slices.Equal(got.Values, o.Values) {
				t.Errorf("the operator config has %+v for %s of set %s", got, o.Name, set)
			}
			if risk, reason := settings.ConfigRisk(o.Name); risk == settings.RiskNever || risk == settings.RiskRestart {
				t.Errorf("%s of set %s is of risk %s: %s", o.Name, set, risk, reason)
			}
			for _, command := range []string{"config set", "config rm"} {
				if want := fmt.Sprintf("allow command %q with who=osd name=%s", command, o.Name); !strings.Contains(caps+",", want+",") {
					t.Errorf("the caps lack %s", want)
				}
			}
			if !strings.Contains(page, "`"+o.Name+"`") {
				t.Errorf("docs/option-sets.md does not have %s of set %s", o.Name, set)
			}
		}
	}
}

// TestASetCompletesTheDefaultOptions checks that a set allows what its page says although the chart's
// default options name one of its options too, and that an administrator's own fields stay.
func TestASetCompletesTheDefaultOptions(t *testing.T) {
	for name, c := range map[string]struct {
		values   string
		switches bool
		bounds   []string
	}{
		"the chart's default options": {"optionSets: [mclock]", true, []string{"balanced", "high_client_ops", "high_recovery_ops"}},
		"without the set":             {"optionSets: []", false, nil},
		"switching is forbidden":      {"optionSets: [mclock]\noptions: [{name: osd_mclock_profile, switchUnderLoad: false}]", false, []string{"balanced", "high_client_ops", "high_recovery_ops"}},
		"other values":                {"optionSets: [mclock]\noptions: [{name: osd_mclock_profile, values: [balanced, custom]}]", true, []string{"balanced", "custom"}},
		"of one device class":         {"optionSets: [mclock]\noptions: [{name: osd_mclock_profile, mask: 'class:ssd'}]", true, []string{"balanced", "high_client_ops", "high_recovery_ops"}},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := settingsOf(t, mustRender(t, parseValues(t, "clusters: [{namespace: rook-ceph, name: c}]\nbenchmarkNamespaces: [b]\n"+c.values)))
			if err != nil {
				t.Fatal(err)
			}
			got, listed := config.Clusters[0].AllowsOption("osd_mclock_profile", "", "")
			if !listed || got.SwitchUnderLoad != c.switches || !slices.Equal(got.Values, c.bounds) {
				t.Errorf("the operator config has %+v, want switchUnderLoad %t and values %q", got, c.switches, c.bounds)
			}
		})
	}
}

// TestAnOptionOfItsOwnBeatsItsSet checks that an administrator's bounds replace those of a set, and
// that an option of two sets appears once.
func TestAnOptionOfItsOwnBeatsItsSet(t *testing.T) {
	made := mustRender(t, parseValues(t, `
benchmarkNamespaces: [b]
clusters:
- namespace: rook-ceph
  name: c
  options: [{name: osd_max_backfills, min: 1, max: 2}]
  optionSets: [recovery, backfill]
`))
	config, err := settingsOf(t, made)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, o := range config.Clusters[0].Options {
		seen[o.Name]++
		if o.Name == "osd_max_backfills" && o.Max != "2" {
			t.Errorf("its max is %s", o.Max)
		}
	}
	if seen["osd_max_backfills"] != 1 || seen["osd_mclock_override_recovery_settings"] != 1 || seen["osd_recovery_op_priority"] != 1 {
		t.Errorf("options %v", seen)
	}
}

// TestPowersAreGivenOneByOne checks that each power adds its identity, its Role and its setting, and
// that the chart does not have them without the power.
func TestPowersAreGivenOneByOne(t *testing.T) {
	const start = "clusters: [{namespace: rook-ceph, name: c}]\nbenchmarkNamespaces: [b]\npowers: "
	base := names(mustRender(t, parseValues(t, start+"{changeSettings: false}")))
	for powers, want := range map[string][]string{
		"{changeSettings: true}": {"CephClient rook-ceph/cephtune-tuner", "Role rook-ceph/cephtune-tuner", "RoleBinding rook-ceph/cephtune-tuner"},
		"{changeSettings: false, dropCaches: true}": {
			"CephClient rook-ceph/cephtune-cache-dropper", "Role rook-ceph/cephtune-cache-dropper", "RoleBinding rook-ceph/cephtune-cache-dropper",
		},
		"{placePGs: true}": {"CephClient rook-ceph/cephtune-tuner", "Role rook-ceph/cephtune-tuner", "RoleBinding rook-ceph/cephtune-tuner"},
		"{restartOSDs: true}": {
			"CephClient rook-ceph/cephtune-tuner", "Role rook-ceph/cephtune-osd-restarter", "Role rook-ceph/cephtune-tuner",
			"RoleBinding rook-ceph/cephtune-osd-restarter", "RoleBinding rook-ceph/cephtune-tuner",
		},
		"{changeSettings: false, stopOSDs: true}": {
			"CephClient rook-ceph/cephtune-osd-stopper", "Role rook-ceph/cephtune-osd-stopper", "RoleBinding rook-ceph/cephtune-osd-stopper",
		},
	} {
		made := mustRender(t, parseValues(t, start+powers))
		var more []string
		for _, name := range slices.Sorted(maps.Keys(names(made))) {
			if !base[name] {
				more = append(more, name)
			}
		}
		if !slices.Equal(more, want) {
			t.Errorf("%s brings %v, want %v", powers, more, want)
		}
		got, err := settingsOf(t, made)
		if err != nil {
			t.Fatal(err)
		}
		c := got.Clusters[0]
		for power, given := range map[string]bool{
			"changeSettings: false": c.Identities.Tuner == "", "dropCaches: true": c.Identities.CacheDropper != "", "restartOSDs: true": c.RestartOSDs,
			"stopOSDs: true": c.StopOSDs && c.Identities.OSDStopper != "",
			"placePGs: true": c.MayPlacePGs(),
		} {
			if given != strings.Contains(powers, power) {
				t.Errorf("with %s, the manager's settings have %s: %t", powers, power, given)
			}
		}
	}
}

// TestPlacingIsACap checks that the power to place PGs adds one cap, only for the tuner.
func TestPlacingIsACap(t *testing.T) {
	const start = "clusters: [{namespace: rook-ceph, name: c}]\nbenchmarkNamespaces: [b]\npowers: "
	for powers, want := range map[string]bool{"{placePGs: true}": true, "{restartOSDs: true, dropCaches: true}": false} {
		for _, object := range mustRender(t, parseValues(t, start+powers)).objects {
			if object.GetKind() != "CephClient" {
				continue
			}
			caps, _, err := unstructured.NestedString(object.Object, "spec", "caps", "mon")
			if err != nil {
				t.Fatal(err)
			}
			may := strings.HasSuffix(caps, `, allow command "osd pg-upmap"`)
			if may != (want && object.GetName() == "cephtune-tuner") || !may && strings.Contains(caps, "upmap") {
				t.Errorf("%s: %s has the caps %s", powers, object.GetName(), caps)
			}
		}
	}
}

func names(made rendered) map[string]bool {
	all := map[string]bool{}
	for _, object := range made.objects {
		all[id(object)] = true
	}
	return all
}
