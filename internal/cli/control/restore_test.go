package control

import (
	"context"
	"errors"
	"flag"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	fsid  = "4f6b2e0c-1111-4000-8000-000000000001"
	other = "4f6b2e0c-2222-4000-8000-000000000002"
)

func changed(t *testing.T) *v1alpha1.CephTuningSweep {
	s := clitest.Sweep(t, "pg_num")
	s.Name, s.Namespace = "pg-num", clitest.Namespace
	clitest.GoOn(&s.Status.Conditions, v1alpha1.ReasonRestoring, "No monitor answers.")
	return s
}

func config(text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: kube.OperatorNamespace, Name: "cephtune-journal-" + fsid, Labels: map[string]string{settings.LabelManagedBy: settings.ManagedBy}},
		Data:       map[string]string{journals.Key: text},
	}
}

func journal(t *testing.T, subject string, s *v1alpha1.CephTuningSweep, entries ...tuning.Entry) *corev1.ConfigMap {
	t.Helper()
	text, err := tuning.Encode(&tuning.Journal{
		SchemaVersion: tuning.SchemaVersion, FSID: subject,
		Sweep: tuning.Sweep{Namespace: s.Namespace, Name: s.Name, UID: string(s.UID)}, Entries: entries,
	})
	if err != nil {
		t.Fatal(err)
	}
	cm := config(string(text))
	cm.Name = "cephtune-journal-" + subject
	return cm
}

// withOSDsDown returns the journal of a deleted benchmark that has left an OSD down.
func withOSDsDown(t *testing.T, subject, name string) *corev1.ConfigMap {
	t.Helper()
	text, err := tuning.Encode(&tuning.Journal{
		SchemaVersion: tuning.SchemaVersion, FSID: subject, Sweep: tuning.Sweep{Kind: "CephBenchmark", Namespace: clitest.Namespace, Name: name, UID: "u"},
		Entries: []tuning.Entry{{Setting: tuning.NoUp(2), Type: "bool", Applied: []tuning.AppliedValue{{Intended: cephvalue.Of("true")}}, State: tuning.Open}},
	})
	if err != nil {
		t.Fatal(err)
	}
	cm := config(string(text))
	cm.Name = "cephtune-disruption-" + subject
	return cm
}

// entries returns settings of every kind. One of them is closed.
func entries() []tuning.Entry {
	ours := func(values ...string) (all []tuning.AppliedValue) {
		for _, v := range values {
			all = append(all, tuning.AppliedValue{Intended: cephvalue.Of(v)})
		}
		return all
	}
	return []tuning.Entry{
		{Setting: tuning.Setting{Kind: tuning.KindBalancer}, Type: "bool", Original: cephvalue.Of("true"), Applied: ours("false"), State: tuning.Open},
		{Setting: tuning.Setting{Kind: tuning.KindAutoscaler, Pool: "replicapool"}, Type: "str", Original: cephvalue.Of("on"), Applied: ours("off"), State: tuning.Open},
		{Setting: tuning.Setting{Kind: tuning.KindScrubFlag, Option: "noscrub"}, Type: "bool", Applied: ours("true"), State: tuning.Open},
		{Setting: tuning.Setting{Kind: tuning.KindPoolOption, Pool: "replicapool", Option: "pg_num"}, Type: "int", Original: cephvalue.Of("32"), Applied: ours("64", "128"), State: tuning.Open},
		{Setting: tuning.Setting{Kind: tuning.KindPoolOption, Pool: "it's", Option: "compression_mode"}, Type: "str", Applied: ours("force"), State: tuning.Open},
		{
			Setting: tuning.Setting{Kind: tuning.KindConfig, Mask: "class:ssd", Option: "osd_mclock_profile"}, Type: "str", Original: cephvalue.Of("balanced"), Applied: ours("high_client_ops"),
			State: tuning.Open,
		},
		{Setting: tuning.Setting{Kind: tuning.KindConfig, Option: "osd_client_message_cap"}, Type: "uint", Applied: ours("16"), State: tuning.Open},
		{Setting: tuning.Setting{Kind: tuning.KindConfig, Option: "osd_max_backfills"}, Type: "uint", Original: cephvalue.Of("1"), Applied: ours("3"), State: tuning.Restored},
	}
}

func operator() *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: kube.OperatorNamespace, Name: "cephtune-manager",
		Labels: map[string]string{"app.kubernetes.io/name": "cephtune", settings.LabelComponent: "manager"},
	}}
}

func closed() tuning.Entry {
	e := entries()[0]
	e.State = tuning.Restored
	return e
}

func TestRestoreGolden(t *testing.T) {
	gone := changed(t)
	gone.UID = "another"
	unseen := changed(t)
	unseen.Status.Conditions = nil
	elsewhere := changed(t)
	elsewhere.Namespace = "elsewhere"
	unlike := changed(t)
	clitest.Set(&unlike.Status.Conditions, v1alpha1.ConditionRestored, metav1.ConditionFalse, v1alpha1.ReasonNotRestored, "pg_num of pool replicapool was 32.")
	one := entries()[3]
	for name, c := range map[string]struct {
		line    string
		objects []client.Object
	}{
		"a sweep":                   {"pg-num", []client.Object{changed(t), journal(t, fsid, changed(t), entries()...)}},
		"yaml":                      {"pg-num -o yaml", []client.Object{changed(t), journal(t, fsid, changed(t), one)}},
		"all":                       {"", []client.Object{changed(t), journal(t, fsid, changed(t), one), journal(t, other, elsewhere, one)}},
		"of another namespace":      {"pg-num", []client.Object{changed(t), journal(t, other, elsewhere, one)}},
		"nothing is open":           {"", []client.Object{changed(t), journal(t, fsid, changed(t), closed())}},
		"nothing is open as json":   {"-o json", []client.Object{operator()}},
		"no operator is there":      {"", []client.Object{changed(t)}},
		"no such sweep":             {"pg-num", []client.Object{operator()}},
		"a journal that is missing": {"pg-num", []client.Object{operator(), unlike}},
		"the sweep is gone":         {"pg-num", []client.Object{gone, journal(t, fsid, changed(t), one)}},
		"OSDs are down":             {"", []client.Object{withOSDsDown(t, fsid, "outage"), withOSDsDown(t, other, "pg-num")}},
		"OSDs of a benchmark":       {"cephbenchmark/outage", []client.Object{withOSDsDown(t, fsid, "outage"), withOSDsDown(t, other, "pg-num")}},
		"OSDs of a namesake":        {"pg-num", []client.Object{changed(t), withOSDsDown(t, other, "pg-num")}},
		"nobody has looked":         {"pg-num", []client.Object{unseen, journal(t, fsid, changed(t), one)}},
		"a journal that is damaged": {"", []client.Object{config("{")}},
		"abandon unconfirmed":       {"pg-num --abandon", []client.Object{changed(t), journal(t, fsid, changed(t), entries()[0], one)}},
		"abandon":                   {"pg-num --abandon --yes", []client.Object{changed(t), journal(t, fsid, changed(t), one)}},
		"abandon nothing":           {"pg-num --abandon --yes", []client.Object{changed(t)}},
		"abandon what is gone":      {"pg-num --abandon --yes", []client.Object{journal(t, fsid, changed(t), one)}},
		"abandon what never was":    {"pg-num --abandon --yes", nil},
		"usage abandon everything":  {"--abandon --yes", nil},
		"usage yes to what":         {"pg-num --yes", nil},
		"usage a benchmark":         {"cephbenchmark/nightly --abandon", nil},
		"usage an output":           {"pg-num -o wide", nil},
		"usage abandon as json":     {"pg-num --abandon --yes -o json", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Execute(t, NewRestoreCommand(clitest.Connecting(clitest.Holding(t, c.objects...))), c.line, "")
			clitest.Golden(t, "restore "+name, "$ restore "+c.line+"\n"+got.String(), *update)
		})
	}
}

func annotated(t *testing.T, c client.Client) bool {
	t.Helper()
	now := &v1alpha1.CephTuningSweep{}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(changed(t)), now); err != nil {
		t.Fatal(err)
	}
	return now.Annotations[v1alpha1.AnnotationAbandonRestore] == "true"
}

func TestOnlyYesGivesUp(t *testing.T) {
	c := clitest.Holding(t, changed(t), journal(t, fsid, changed(t), entries()...))
	for _, step := range []struct {
		line string
		want bool
	}{{"pg-num", false}, {"pg-num --abandon", false}, {"pg-num --abandon --yes", true}} {
		clitest.Execute(t, NewRestoreCommand(clitest.Connecting(c)), step.line, "")
		if got := annotated(t, c); got != step.want {
			t.Errorf("after %q: given up is %t, want %t", step.line, got, step.want)
		}
	}
}

// TestRestoreReportsMissingRights covers users with rights only in their own namespace.
func TestRestoreReportsMissingRights(t *testing.T) {
	blind := interceptor.NewClient(clitest.Holding(t, changed(t)), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("no"))
		},
	})
	shown := clitest.Execute(t, NewRestoreCommand(clitest.Connecting(blind)), "pg-num", "")
	if !apierrors.IsForbidden(shown.Err) || shown.Code() != 1 {
		t.Errorf("got %v", shown.Err)
	}
	if given := clitest.Execute(t, NewRestoreCommand(clitest.Connecting(blind)), "pg-num --abandon --yes", ""); given.Err != nil || !annotated(t, blind) {
		t.Errorf("got %v", given.Err)
	}
}
