package doctor

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

var update = flag.Bool("update", false, "write the golden files")

const fsid = "4f6b2e0c-1111-4000-8000-000000000001"

func crd(kind object.Kind) *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: kind.Plural + ".cephtune.dev"},
		Spec:       apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1alpha1", Served: true}}},
		Status: apiextensionsv1.CustomResourceDefinitionStatus{Conditions: []apiextensionsv1.CustomResourceDefinitionCondition{
			{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue},
		}},
	}
}

func operator() *appsv1.Deployment {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: kube.OperatorNamespace, Name: "cephtune-manager", Labels: map[string]string{kube.LabelName: "cephtune", settings.LabelComponent: "manager"},
	}}
	d.Spec.Template.Spec.Containers = []corev1.Container{{Image: "ghcr.io/cephtune/cephtune:0.1.0"}, {Image: "ghcr.io/cephtune/tools:0.1.0"}}
	volume := corev1.Volume{Name: "config"}
	volume.ConfigMap = &corev1.ConfigMapVolumeSource{}
	volume.ConfigMap.Name = "cephtune-config-abc"
	d.Spec.Template.Spec.Volumes = []corev1.Volume{volume}
	d.Status = appsv1.DeploymentStatus{Replicas: 1, ReadyReplicas: 1, UpdatedReplicas: 1}
	return d
}

// config returns the operator config of the manifests.
func config(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(apiserver.Root(t), "config", "manager", "config.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: kube.OperatorNamespace, Name: "cephtune-config-abc"},
		Data:       map[string]string{"config.yaml": strings.ReplaceAll(string(text), "tools:dev", "tools:0.1.0-ceph19")},
	}
}

func rook(kind, name string, status map[string]any) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"status": status}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "ceph.rook.io", Version: "v1", Kind: kind})
	o.SetNamespace("rook-ceph")
	o.SetName(name)
	return o
}

func healthy() *unstructured.Unstructured {
	return rook("CephCluster", "my-cluster", map[string]any{
		"phase": "Ready", "ceph": map[string]any{"health": "HEALTH_OK"}, "version": map[string]any{"version": "19.2.3-0"},
	})
}

func journal(t *testing.T, sweep *v1alpha1.CephTuningSweep, state tuning.State) *corev1.ConfigMap {
	t.Helper()
	text, err := tuning.Encode(&tuning.Journal{
		SchemaVersion: tuning.SchemaVersion, FSID: fsid, Sweep: tuning.Sweep{Namespace: sweep.Namespace, Name: sweep.Name, UID: string(sweep.UID)},
		Entries: []tuning.Entry{{State: state}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: kube.OperatorNamespace, Name: "cephtune-journal-" + fsid, Labels: map[string]string{settings.LabelManagedBy: settings.ManagedBy}},
		Data:       map[string]string{journals.Key: string(text)},
	}
}

// withOSDsDown returns the journal of a benchmark with an OSD down.
func withOSDsDown(t *testing.T, subject string, until time.Time) *corev1.ConfigMap {
	t.Helper()
	text, err := tuning.Encode(&tuning.Journal{
		SchemaVersion: tuning.SchemaVersion, FSID: subject, Sweep: tuning.Sweep{Kind: "CephBenchmark", Namespace: "bench", Name: "outage", UID: "u"},
		Until: until, Entries: []tuning.Entry{{Setting: tuning.NoUp(2), State: tuning.Open}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: kube.OperatorNamespace, Name: "cephtune-disruption-" + subject, Labels: map[string]string{settings.LabelManagedBy: settings.ManagedBy}},
		Data:       map[string]string{journals.Key: string(text)},
	}
}

func lease(holder string, renewed time.Time) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: kube.OperatorNamespace, Name: "cephtune-" + fsid},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new(holder), RenewTime: new(metav1.NewMicroTime(renewed)), LeaseDurationSeconds: new(int32(600))},
	}
}

// installation returns an installation without problems.
func installation(t *testing.T) []client.Object {
	t.Helper()
	all := []client.Object{crd(object.Sweep()), crd(object.Benchmark()), operator(), config(t), healthy()}
	for _, name := range []string{"cephtune-observer", "cephtune-io", "cephtune-tuner"} {
		all = append(all, rook("CephClient", name, map[string]any{"phase": "Ready"}),
			&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "rook-ceph", Name: keyNamePrefix + name}})
	}
	// The lease of the manager's leader election is not a lock.
	return append(all, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: kube.OperatorNamespace, Name: "manager.cephtune.dev"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("manager-1")},
	})
}

func monitored() []client.Object {
	monitor := &unstructured.Unstructured{}
	monitor.SetGroupVersionKind(schema.GroupVersionKind{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"})
	monitor.SetNamespace(kube.OperatorNamespace)
	monitor.SetName("cephtune-manager")
	monitor.SetLabels(map[string]string{kube.LabelName: "cephtune"})
	return []client.Object{monitor, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: "monitoring", Name: "cephtune-dashboard-sweep", Labels: map[string]string{kube.LabelName: "cephtune", "grafana_dashboard": "1"},
	}}}
}

// allowing answers which rights the caller has. It refuses to read objects for which refused
// returns an error.
func allowing(c client.WithWatch, allowed func(verb, resource string) bool, refused func(o any) error) client.WithWatch {
	return interceptor.NewClient(c, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if review, ok := o.(*authorizationv1.SelfSubjectAccessReview); ok {
				asked := review.Spec.ResourceAttributes
				review.Status.Allowed = asked.Namespace == clitest.Namespace && allowed(asked.Verb, asked.Resource)
				return nil
			}
			return c.Create(ctx, o, opts...)
		},
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if err := refused(o); err != nil {
				return err
			}
			return c.Get(ctx, key, o, opts...)
		},
		List: func(ctx context.Context, c client.WithWatch, o client.ObjectList, opts ...client.ListOption) error {
			if err := refused(o); err != nil {
				return err
			}
			return c.List(ctx, o, opts...)
		},
	})
}

// cephCSI returns a client that can read a cluster whose volumes are from Ceph-CSI.
func cephCSI(t *testing.T) []client.Object {
	t.Helper()
	scheme, err := kube.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	decode := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer().Decode
	var all []client.Object
	for _, name := range []string{"classes.yaml", "drivers.yaml", "volumes.yaml"} {
		text, err := os.ReadFile(filepath.Join("testdata", "ceph-csi", name))
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			o, _, err := decode([]byte(document), nil, nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			made, ok := o.(client.Object)
			if !ok {
				t.Fatalf("%s has a %T", name, o)
			}
			all = append(all, made)
		}
	}
	return all
}

func everything(string, string) bool { return true }
func nothing(any) error              { return nil }

// without leaves out objects whose names contain a text.
func without(all []client.Object, name string) []client.Object {
	var some []client.Object
	for _, o := range all {
		if !strings.Contains(o.GetName(), name) {
			some = append(some, o)
		}
	}
	return some
}

// ofChart returns the operator's Deployment as the chart renders it, for a Helm release. Without a
// release, another program has rendered it.
func ofChart(release string) *appsv1.Deployment {
	d := operator()
	d.Labels[settings.LabelManagedBy] = managedByHelm
	if release != "" {
		d.Annotations = map[string]string{annotationRelease: release}
	}
	return d
}

// missingMuch returns an installation without operator, without a CRD, without an identity and
// without the CephCluster.
func missingMuch(t *testing.T) []client.Object {
	t.Helper()
	all := installation(t)
	for _, name := range []string{"cephtune-manager", "cephtuningsweeps", "cephtune-io", "my-cluster"} {
		all = without(all, name)
	}
	return all
}

func TestGolden(t *testing.T) {
	sweep := clitest.Sweep(t, "pg_num")
	sweep.Namespace = clitest.Namespace
	atWork, ended := sweep.DeepCopy(), sweep.DeepCopy()
	clitest.GoOn(&atWork.Status.Conditions, v1alpha1.ReasonRunning, "Run 8 is under way.")
	clitest.Set(&ended.Status.Conditions, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNotRestored, "No monitor answers.")
	holder := "CephTuningSweep/" + clitest.Namespace + "/pg-num/" + string(sweep.UID)
	idle := operator()
	idle.Status, idle.Spec.Replicas = appsv1.DeploymentStatus{}, new(int32(0))
	ill := rook("CephCluster", "my-cluster", map[string]any{"phase": "Ready", "ceph": map[string]any{
		"health": "HEALTH_ERR", "details": map[string]any{"OSD_FULL": map[string]any{}, "MON_DOWN": map[string]any{}},
	}, "version": map[string]any{"version": "19.2.3-0"}})
	upgraded := rook("CephCluster", "my-cluster", map[string]any{"phase": "Ready", "ceph": map[string]any{
		"health": "HEALTH_ERR", "details": map[string]any{
			"AUTH_INSECURE_CLIENT_KEY_TYPE":  map[string]any{"severity": "HEALTH_WARN"},
			"AUTH_INSECURE_SERVICE_KEY_TYPE": map[string]any{"severity": "HEALTH_ERR"}, "AUTH_INSECURE_SERVICE_TICKETS": map[string]any{"severity": "HEALTH_ERR"},
		},
	}, "version": map[string]any{"version": "20.2.4-0"}})
	rotated := rook("CephClient", "cephtune-io", map[string]any{"phase": "Ready", "cephx": map[string]any{"keyCephVersion": "20.2.4-0", "keyGeneration": int64(2)}})
	rotatedKey := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "rook-ceph", Name: keyNamePrefix + "cephtune-io"}}
	misspelled := config(t)
	misspelled.Data["config.yaml"] = "clusters:\n- namespace: rook-ceph\n  nome: my-cluster\n"
	notReady := rook("CephClient", "cephtune-io", map[string]any{"phase": "Failure"})
	noTuner := config(t)
	noTuner.Data["config.yaml"] = "clusters:\n- {namespace: rook-ceph, name: my-cluster}\nimages: {tools: t, runner: r}\n"
	for name, c := range map[string]struct {
		objects []client.Object
		allowed func(verb, resource string) bool
		refused func(any) error
	}{
		"nothing is wrong":            {append(installation(t), monitored()...), everything, nothing},
		"nothing is there":            {nil, everything, nothing},
		"the operator is idle":        {append(without(installation(t), "manager"), idle), everything, nothing},
		"a cluster that is ill":       {append(without(installation(t), "my-cluster"), ill), everything, nothing},
		"after an upgrade to Ceph 20": {append(without(without(installation(t), "my-cluster"), "cephtune-io"), upgraded, rotated, rotatedKey), everything, nothing},
		"settings that are not":       {append(without(installation(t), "config"), misspelled), everything, nothing},
		"identities":                  {append(without(without(installation(t), "tuner"), "cephtune-io"), notReady), everything, nothing},
		"by Helm and much is missing": {append(missingMuch(t), ofChart("bench")), everything, nothing},
		"a chart that others render":  {append(without(without(installation(t), "manager"), "config"), noTuner, ofChart("")), everything, nothing},
		"Helm and no settings":        {append(without(without(installation(t), "manager"), "config"), ofChart("bench")), everything, nothing},
		"a reader": {installation(t), func(verb, resource string) bool {
			return verb == "get" || verb == "list" || verb == "watch" || resource == "configmaps"
		}, nothing},
		"a sweep at work":               {append(installation(t), atWork, journal(t, atWork, tuning.Open), lease(holder, clitest.Morning(89))), everything, nothing},
		"a sweep that waits for people": {append(installation(t), ended, journal(t, ended, tuning.Open), lease(holder, clitest.Morning(20))), everything, nothing},
		"a sweep that is gone":          {append(installation(t), journal(t, sweep, tuning.Open), lease(holder, clitest.Morning(89))), everything, nothing},
		"a benchmark with OSDs down":    {append(installation(t), withOSDsDown(t, fsid, clitest.Morning(89))), everything, nothing},
		"OSDs that nobody lets up":      {append(installation(t), withOSDsDown(t, fsid, clitest.Morning(80))), everything, nothing},
		"OSDs down in two clusters": {
			append(installation(t), withOSDsDown(t, fsid, clitest.Morning(89)), withOSDsDown(t, "4f6b2e0c-2222-4000-8000-000000000002", clitest.Morning(80)),
				journal(t, sweep, tuning.Open)), everything, nothing,
		},
		"volumes of Ceph-CSI":    {append(installation(t), cephCSI(t)...), everything, nothing},
		"a journal that is done": {append(installation(t), journal(t, sweep, tuning.Restored)), everything, nothing},
		"hardly anything may be read": {installation(t), everything, func(o any) error {
			switch o := o.(type) {
			case *v1alpha1.CephBenchmark:
				return nil
			case *unstructured.UnstructuredList:
				return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "monitoring.coreos.com", Kind: o.GetKind()}}
			}
			return apierrors.NewForbidden(schema.GroupResource{Resource: "it"}, "it", errors.New("no"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := allowing(clitest.Holding(t, c.objects...), c.allowed, c.refused)
			cmd := NewCommand(clitest.Connecting(cluster), func() time.Time { return clitest.Morning(90) })
			clitest.Golden(t, name, clitest.Execute(t, cmd, "", "").String(), *update)
		})
	}
}

// TestNobodyAnswers checks the exit code if the API server does not answer: then all findings are
// unknown, and 0 would be wrong.
func TestNobodyAnswers(t *testing.T) {
	silent := interceptor.NewClient(clitest.Holding(t), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return errors.New("connection refused")
		},
	})
	got := clitest.Execute(t, NewCommand(clitest.Connecting(silent), time.Now), "", "")
	if got.Code() != 1 || got.Stdout != "" || !strings.Contains(got.Err.Error(), "choose another --context: connection refused") {
		t.Errorf("got %+v", got)
	}
}

func TestOutputAndExitCodesForScripts(t *testing.T) {
	cluster := allowing(clitest.Holding(t), everything, nothing)
	for line, want := range map[string]string{"-o json": `"state": "wrong"`, "-o yaml": "state: wrong", "--operator-namespace other": "There is no operator in namespace other."} {
		got := clitest.Execute(t, NewCommand(clitest.Connecting(cluster), time.Now), line, "")
		if got.Code() != 1 || !strings.Contains(got.Stdout, want) {
			t.Errorf("%s: %v, no %s in\n%s", line, got.Err, want, got.Stdout)
		}
	}
	for _, line := range []string{"-o wide", "everything"} {
		if got := clitest.Execute(t, NewCommand(clitest.Connecting(cluster), time.Now), line, ""); got.Code() != 2 {
			t.Errorf("%s: %v", line, got.Err)
		}
	}
}

// TestARealAPIServer checks that doctor finds the CRDs of this project, and that an administrator
// has all rights.
func TestARealAPIServer(t *testing.T) {
	scheme, err := kube.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(apiserver.Start(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	got := clitest.Execute(t, NewCommand(clitest.Connecting(c), time.Now), "", "")
	for _, want := range []string{
		"ok       CRD CephTuningSweep", "ok       CRD CephBenchmark", "wrong    Operator", "ok       Your rights in cephtune-bench",
		"ok       Journals", "ok       Locks", "The Prometheus operator is not installed", "1 of",
	} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}
