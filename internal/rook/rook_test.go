package rook

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/settings"
)

const rookNamespace = "rook-ceph"

var cluster = settings.Cluster{Namespace: rookNamespace, Name: "my-cluster"}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

func fromYAML(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), o); err != nil {
		t.Fatal(err)
	}
	return o
}

func secret(name string, data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: rookNamespace, Name: name}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

// wantReason fails unless err is an *Error with that reason and hint. If both are empty, it fails
// on any error.
func wantReason(t *testing.T, err error, reason, hint string) {
	t.Helper()
	problem, ok := errors.AsType[*Error](err)
	if reason == "" {
		if err != nil {
			t.Errorf("error %v, want none", err)
		}
		return
	}
	if !ok || problem.Reason != reason || !strings.Contains(err.Error(), hint) {
		t.Errorf("error %v, want reason %s and %q in it", err, reason, hint)
	}
}

func TestConnection(t *testing.T) {
	const monHost = "[v2:10.0.0.1:3300,v1:10.0.0.1:6789]"
	const newerKey = "AgDpNARrAAAAACAAQPracFeGho13ZeP2hnJIEFMH7ImUykP/aS45E2moF+4="
	config := secret("rook-ceph-config", map[string]string{"mon_host": monHost})
	identity := func(phase string) *unstructured.Unstructured {
		return fromYAML(t, `{apiVersion: ceph.rook.io/v1, kind: CephClient, metadata: {namespace: rook-ceph, name: io}, status: {phase: `+phase+`}}`)
	}
	cases := map[string]struct {
		objects    []client.Object
		forbidden  string
		want       ceph.Connection
		wantReason string
		wantHint   string
	}{
		"Rook 1.17's Secret": {
			objects: []client.Object{config, secret("rook-ceph-client-io", map[string]string{"io": "KEY==", "userID": "io", "userKey": "KEY==", "adminID": "io", "adminKey": "KEY=="})},
			want:    ceph.Connection{MonHost: monHost, User: "io", Key: "KEY=="},
		},
		"a Secret with the keys for CSI alone, and line ends": {
			objects: []client.Object{config, secret("rook-ceph-client-io", map[string]string{"userID": "io\n", "userKey": "KEY==\n"})},
			want:    ceph.Connection{MonHost: monHost, User: "io", Key: "KEY=="},
		},
		"a key that only Ceph 20 reads": {
			objects: []client.Object{
				config, secret("rook-ceph-client-io", map[string]string{"io": newerKey}),
				fromYAML(t, `{apiVersion: ceph.rook.io/v1, kind: CephCluster, metadata: {namespace: rook-ceph, name: my-cluster}, spec: {cephVersion: {image: "ceph:next"}}, status: {version: `+
					`{image: "ceph:v20.2.4"}}}`),
			},
			want: ceph.Connection{MonHost: monHost, User: "io", Key: newerKey, Image: "ceph:v20.2.4"},
		},
		"such a key, and a CephCluster that cannot be read": {
			objects: []client.Object{config, secret("rook-ceph-client-io", map[string]string{"io": newerKey})},
			want:    ceph.Connection{MonHost: monHost, User: "io", Key: newerKey},
		},
		"no cluster yet":           {wantReason: ReasonClusterNotReady, wantHint: "mon_host"},
		"a cluster without a mon":  {objects: []client.Object{secret("rook-ceph-config", nil)}, wantReason: ReasonClusterNotReady},
		"monitors with a line end": {objects: []client.Object{secret("rook-ceph-config", map[string]string{"mon_host": "a\nkeyring = /x"})}, wantReason: ReasonClusterNotReady},
		"no CephClient": {
			objects: []client.Object{config}, wantReason: ReasonKeyMissing,
			wantHint: "there is no CephClient rook-ceph/io: create it with the chart (cephClients.create) or config/ceph",
		},
		"a CephClient in the works": {objects: []client.Object{config, identity("Progressing")}, wantReason: ReasonKeyMissing, wantHint: "in phase Progressing"},
		"a Secret of another name":  {objects: []client.Object{config, identity("Ready")}, wantReason: ReasonKeyMissing, wantHint: "secretName must not be set"},
		"a Secret without a key":    {objects: []client.Object{config, secret("rook-ceph-client-io", map[string]string{"userID": "io"})}, wantReason: ReasonKeyMissing, wantHint: "delete the Secret"},
		"no right to read monitors": {objects: []client.Object{config}, forbidden: "rook-ceph-config", wantReason: ReasonForbidden, wantHint: "the Role for it in namespace rook-ceph"},
		"no right to read the key":  {objects: []client.Object{config}, forbidden: "rook-ceph-client-io", wantReason: ReasonForbidden, wantHint: "the Role for it in namespace rook-ceph"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reader := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(tc.objects...).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if key.Name == tc.forbidden {
						return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, key.Name, errors.New("no"))
					}
					return c.Get(ctx, key, o, opts...)
				},
			}).Build()
			got, err := NewConnections(reader, time.Now).Connection(t.Context(), cluster, "io")
			wantReason(t, err, tc.wantReason, tc.wantHint)
			if got != tc.want {
				t.Errorf("connection to %q as %q, want %q as %q", got.MonHost, got.User, tc.want.MonHost, tc.want.User)
			}
		})
	}
}

func TestCaps(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(
		fromYAML(t, `{apiVersion: ceph.rook.io/v1, kind: CephClient, metadata: {namespace: rook-ceph, name: tuner}, spec: {caps: {mon: allow r, mgr: allow *}}}`),
		fromYAML(t, `{apiVersion: ceph.rook.io/v1, kind: CephClient, metadata: {namespace: rook-ceph, name: none}, spec: {caps: {osd: allow r}}}`),
	).Build()
	connections := NewConnections(c, time.Now)
	for name, want := range map[string]Caps{"tuner": {Mon: "allow r"}, "none": {OSD: "allow r"}} {
		if got, err := connections.Caps(t.Context(), cluster, name); got != want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
		}
	}
	if _, err := connections.Caps(t.Context(), cluster, "missing"); err == nil {
		t.Error("a CephClient that is not there has caps")
	}
}

func TestConnectionsAreKeptForAWhile(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(
		secret("rook-ceph-config", map[string]string{"mon_host": "before"}),
		secret("rook-ceph-client-io", map[string]string{"io": "KEY"}),
	).Build()
	now := time.Unix(0, 0)
	connections := NewConnections(c, func() time.Time { return now })
	want := func(monHost string) {
		t.Helper()
		got, err := connections.Connection(t.Context(), cluster, "io")
		if err != nil || got.MonHost != monHost {
			t.Fatalf("connection to %q with error %v, want %q", got.MonHost, err, monHost)
		}
	}
	change := func(monHost string) {
		t.Helper()
		if err := c.Update(t.Context(), secret("rook-ceph-config", map[string]string{"mon_host": monHost})); err != nil {
			t.Fatal(err)
		}
	}
	want("before")
	change("after")
	now = now.Add(29 * time.Second)
	want("before")
	now = now.Add(time.Second)
	want("after")
}

// A replaced key is read again as soon as Ceph has refused the old one.
func TestConnectionsThatWereRefusedAreForgotten(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(
		secret("rook-ceph-config", map[string]string{"mon_host": "mon"}),
		secret("rook-ceph-client-io", map[string]string{"io": "BEFORE"}),
		secret("rook-ceph-client-tuner", map[string]string{"tuner": "OTHER"}),
	).Build()
	connections := NewConnections(c, func() time.Time { return time.Unix(0, 0) })
	want := func(name, key string) ceph.Connection {
		t.Helper()
		got, err := connections.Connection(t.Context(), cluster, name)
		if err != nil || got.Key != key {
			t.Fatalf("connection as %s with key %q and error %v, want %q", name, got.Key, err, key)
		}
		return got
	}
	before := want("io", "BEFORE")
	want("tuner", "OTHER")
	for name, key := range map[string]string{"io": "AFTER", "tuner": "UNREAD"} {
		if err := c.Update(t.Context(), secret("rook-ceph-client-"+name, map[string]string{name: key})); err != nil {
			t.Fatal(err)
		}
	}
	want("io", "BEFORE")
	connections.Forget(before)
	want("io", "AFTER")
	want("tuner", "OTHER") // Ceph has not refused this key.
	connections.Forget(before)
	want("io", "AFTER")
}

// labCluster is the status of a cluster from Rook 1.17.2, shortened.
const labCluster = `
apiVersion: ceph.rook.io/v1
kind: CephCluster
metadata: {name: my-cluster, namespace: rook-ceph, generation: 2}
spec:
  cephConfig: {osd: {osd_memory_target: "939524096"}}
  cephVersion: {image: "ceph:18.2.7"}
  network: {multiClusterService: {}}
  removeOSDsIfOutAndSafeToRemove: true
status:
  ceph:
    fsid: dce35d2b-7ca1-460d-abca-8481ef87445b
    health: HEALTH_OK
    versions:
      mon: {ceph version 18.2.7 (6b0e98) reef (stable): 1}
      mgr: {ceph version 18.2.7 (6b0e98) reef (stable): 1}
      osd: {ceph version 18.2.7 (6b0e98) reef (stable): 3}
      overall: {ceph version 18.2.7 (6b0e98) reef (stable): 5}
  conditions: [{type: Ready, status: "True", reason: ClusterCreated, lastHeartbeatTime: "2026-11-21T15:33:38Z"}]
  message: Cluster created successfully
  observedGeneration: 2
  phase: Ready
  state: Created
  version: {image: "ceph:18.2.7", version: 18.2.7-0}
`

func TestCluster(t *testing.T) {
	manager := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: rookNamespace, Name: "rook-ceph-mgr-b", Labels: map[string]string{"rook-version": "v1.17.2"}}}
	reader := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(fromYAML(t, labCluster), manager).Build()
	access := New(reader, reader, time.Now)

	got, err := access.Cluster(t.Context(), v1alpha1.ClusterReference{Namespace: rookNamespace, Name: "my-cluster"})
	if err != nil {
		t.Fatal(err)
	}
	want := ClusterInfo{
		Namespace: rookNamespace, Name: "my-cluster", FSID: "dce35d2b-7ca1-460d-abca-8481ef87445b",
		Phase: "Ready", State: "Created", Message: "Cluster created successfully", Reconciled: true,
		Image: "ceph:18.2.7", RunningImage: "ceph:18.2.7", CephVersions: map[string]int{"18.2.7": 5}, RookVersion: "v1.17.2",
		RemovesOSDs: true, CephConfig: map[string]map[string]string{"osd": {"osd_memory_target": "939524096"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("cluster (-want +got):\n%s", diff)
	}
	_, err = access.Cluster(t.Context(), v1alpha1.ClusterReference{Namespace: rookNamespace, Name: "other"})
	wantReason(t, err, ReasonClusterMissing, "clusterRef")
}

// Rook does not always report that it has seen a spec. If it has reported nothing else for a while,
// it counts as seen.
func TestSpecThatRookHasSeen(t *testing.T) {
	now := time.Date(2026, 11, 21, 15, 33, 38, 0, time.UTC)
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	cases := map[string]struct {
		observed           int64
		changed, heartbeat time.Duration // how long ago
		want               bool
	}{
		"it says so":                        {observed: 2, want: true},
		"a spec that was just changed":      {observed: 1, changed: time.Second, heartbeat: time.Hour},
		"a cluster that was just made":      {changed: time.Minute, heartbeat: time.Second},
		"work on a spec from some time ago": {observed: 1, changed: time.Hour, heartbeat: time.Minute},
		"ended work that was not reported":  {observed: 1, changed: time.Hour, heartbeat: 3 * time.Minute, want: true},
		"the same of a new cluster":         {changed: 4 * time.Minute, heartbeat: 3 * time.Minute, want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := fromYAML(t, labCluster)
			changed, reported := ago(tc.changed), ago(0)
			o.SetManagedFields([]metav1.ManagedFieldsEntry{{Time: &changed}, {Time: &reported, Subresource: "status"}})
			read := cephCluster{}
			read.Status.ObservedGeneration = tc.observed
			read.Status.Conditions = []condition{
				{Type: phaseReady, LastHeartbeatTime: ago(0)}, {Type: phaseProgressing, LastHeartbeatTime: ago(tc.heartbeat)},
			}
			if got := clusterInfo(o, read, now).Reconciled; got != tc.want {
				t.Errorf("reconciled %v, want %v", got, tc.want)
			}
		})
	}
}

func TestUnsettled(t *testing.T) {
	calm := ClusterInfo{Phase: "Ready", Reconciled: true, Image: "a", RunningImage: "a", CephVersions: map[string]int{"18.2.7": 5}}
	cases := map[string]struct {
		change func(*ClusterInfo)
		want   string
	}{
		"a calm cluster":            {change: func(*ClusterInfo) {}},
		"an external cluster":       {change: func(i *ClusterInfo) { i.Phase = "Connected" }},
		"a cluster being made":      {change: func(i *ClusterInfo) { i.Phase, i.Message = "Progressing", "Configuring Ceph OSDs" }, want: "Configuring Ceph OSDs"},
		"a cluster just created":    {change: func(i *ClusterInfo) { *i = ClusterInfo{} }, want: "Rook is reconciling"},
		"a spec that was changed":   {change: func(i *ClusterInfo) { i.Reconciled = false }, want: "latest spec"},
		"an upgrade that was asked": {change: func(i *ClusterInfo) { i.Image = "b" }, want: "from image a to b"},
		"an upgrade under way":      {change: func(i *ClusterInfo) { i.CephVersions = map[string]int{"18.2.7": 1, "19.2.0": 4} }, want: "2 different versions"},
		"a cluster being removed":   {change: func(i *ClusterInfo) { i.Deleting = true }, want: "deleted"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			info := calm
			tc.change(&info)
			if got := info.Unsettled(); (tc.want == "") != (got == "") || !strings.Contains(got, tc.want) {
				t.Errorf("unsettled %q, want %q in it", got, tc.want)
			}
		})
	}
}

// A gateway that stays on an older version is no upgrade.
func TestVersionsOfDaemonsThatDoNotMatterAreNoUpgrade(t *testing.T) {
	const old, current = "ceph version 17.2.6 (b) quincy (stable)", "ceph version 18.2.7 (a) reef (stable)"
	for daemon, settled := range map[string]bool{"rgw": true, "rbd-mirror": true, "osd": false, "mgr": false, "mon": false, "mds": false} {
		versions := map[string]any{"mon": map[string]any{current: int64(3)}, "overall": map[string]any{current: int64(3), old: int64(1)}}
		versions[daemon] = map[string]any{old: int64(1)}
		if daemon == "mon" {
			versions[daemon] = map[string]any{current: int64(2), old: int64(1)}
		}
		o := object(kindCluster, rookNamespace, "my-cluster")
		o.Object["status"] = map[string]any{"phase": "Ready", "ceph": map[string]any{"versions": versions}}
		reader := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(o).Build()
		info, err := New(reader, reader, time.Now).Cluster(t.Context(), v1alpha1.ClusterReference{Namespace: rookNamespace, Name: "my-cluster"})
		if err != nil {
			t.Fatal(err)
		}
		if reason := info.Unsettled(); (reason == "") != settled {
			t.Errorf("%s: %q", daemon, reason)
		}
	}
}

func TestNetworkOfCluster(t *testing.T) {
	cases := map[string]struct {
		network         string
		wantAnnotations map[string]string
		wantLines       []string
		wantReason      string
	}{
		"the pod network":                      {network: `{}`},
		"the hosts' network":                   {network: `{provider: host}`},
		"version 2 of the protocol alone":      {network: `{connections: {requireMsgr2: true}}`},
		"encryption":                           {network: `{connections: {encryption: {enabled: true}}}`, wantLines: []string{"ms_client_mode = secure", "ms_mon_client_mode = secure"}},
		"compression":                          {network: `{connections: {compression: {enabled: true}, encryption: null}}`, wantLines: []string{"ms_osd_compress_mode = force"}},
		"Multus for the cluster network alone": {network: `{provider: multus, selectors: {cluster: a/b}}`},
		"a selector without Multus":            {network: `{selectors: {public: a/b}}`},
		"Multus in the cluster's namespace":    {network: `{provider: multus, selectors: {public: fast}}`, wantAnnotations: map[string]string{multusAnnotation: "rook-ceph/fast"}},
		"Multus in another, with an interface": {network: `{provider: multus, selectors: {public: default/fast@net1}}`, wantAnnotations: map[string]string{multusAnnotation: "default/fast@net1"}},
		"Multus as JSON": {
			network:         `{provider: multus, selectors: {public: '[{"name":"fast","interface":"net1"}]'}}`,
			wantAnnotations: map[string]string{multusAnnotation: `[{"interface":"net1","name":"fast","namespace":"rook-ceph"}]`},
		},
		"Multus as JSON without brackets": {
			network:         `{provider: multus, selectors: {public: '{"name":"fast","namespace":"default"}'}}`,
			wantAnnotations: map[string]string{multusAnnotation: `[{"name":"fast","namespace":"default"}]`},
		},
		"two networks":         {network: `{provider: multus, selectors: {public: "a/b, c/d"}}`, wantReason: ReasonNetworkUnknown},
		"two networks as JSON": {network: `{provider: multus, selectors: {public: '[{"name":"a"},{"name":"b"}]'}}`, wantReason: ReasonNetworkUnknown},
		"no JSON":              {network: `{provider: multus, selectors: {public: "[a"}}`, wantReason: ReasonNetworkUnknown},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := fromYAML(t, strings.Replace(labCluster, "{multiClusterService: {}}", tc.network, 1))
			reader := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(o).Build()
			info, err := New(reader, reader, time.Now).Cluster(t.Context(), v1alpha1.ClusterReference{Namespace: rookNamespace, Name: "my-cluster"})
			if err != nil {
				t.Fatal(err)
			}
			got, err := info.PodNetwork()
			wantReason(t, err, tc.wantReason, "selector")
			if diff := cmp.Diff(tc.wantAnnotations, got.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.wantLines, info.ConfLines()); diff != "" {
				t.Errorf("lines (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFilesOfPods(t *testing.T) {
	conn := ceph.Connection{MonHost: "[v2:10.0.0.1:3300]", User: "cephtune-io", Key: "AQ=="}
	wantConf := "[global]\nmon_host = [v2:10.0.0.1:3300]\nkeyring = /etc/ceph/keyring\nms_client_mode = secure\nms_mon_client_mode = secure\n"
	if diff := cmp.Diff(wantConf, CephConf(conn, ClusterInfo{Network: Network{Encryption: true}})); diff != "" {
		t.Errorf("ceph.conf (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("[client.cephtune-io]\n\tkey = AQ==\n", Keyring(conn)); diff != "" {
		t.Errorf("keyring (-want +got):\n%s", diff)
	}
}
