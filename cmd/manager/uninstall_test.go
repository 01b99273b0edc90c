package main

import (
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/controllers/cephbenchmark"
	"github.com/cephtune/cephtune/controllers/cephtuningsweep"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

func TestUninstallCheck(t *testing.T) {
	now := time.Date(2026, 11, 22, 8, 0, 0, 0, time.UTC)
	object := func(finalizers ...string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: benchNamespace, Name: "nightly", Finalizers: finalizers}
	}
	cases := map[string]struct {
		objects []client.Object
		state   tuning.State // of the journal, if there is one
		crdsToo bool
		want    []string // parts of the refusal; none if nothing is refused
	}{
		"nothing was ever done":                    {},
		"everything is restored":                   {state: tuning.Restored},
		"the restore was abandoned":                {state: tuning.Abandoned},
		"an unfinished object whose CRD is kept":   {objects: []client.Object{&v1alpha1.CephBenchmark{ObjectMeta: object(cephbenchmark.Finalizer)}}},
		"a finished object whose CRD goes":         {crdsToo: true, objects: []client.Object{&v1alpha1.CephBenchmark{ObjectMeta: object()}}},
		"a lock that has expired":                  {objects: []client.Object{lease(now.Add(-time.Hour), "CephBenchmark/bench/nightly/u")}},
		"a lock that was given back":               {objects: []client.Object{lease(now, "")}},
		"a foreign ConfigMap in the way":           {objects: []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "kube-root-ca.crt"}}}},
		"another installation's, in its namespace": {objects: []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: otherNamespace, Name: "cephtune-journal-x"}}}},
		"a sweep has settings to restore": {
			state: tuning.Open,
			want: []string{
				"CephTuningSweep bench/pg-num has changed settings of Ceph cluster f", "the balancer",
				"kubectl -n bench delete cephtuningsweep pg-num", "--no-hooks", "uninstall it again",
			},
		},
		"a benchmark has OSDs down": {
			objects: []client.Object{stopped(t)},
			want:    []string{"CephBenchmark bench/nightly keeps OSDs of Ceph cluster f down", "osd.2", "kubectl -n bench delete cephbenchmark nightly"},
		},
		"a journal that cannot be read": {
			objects: []client.Object{&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "cephtune-journal-x"}}},
			want:    []string{"it is unknown whether settings", "cephtune-journal-x"},
		},
		"a benchmark is at work": {
			objects: []client.Object{lease(now, "CephBenchmark/bench/nightly/u")},
			want:    []string{"CephBenchmark bench/nightly is working on Ceph cluster g", "kubectl -n bench delete cephbenchmark nightly"},
		},
		"a holder of another kind of name": {
			objects: []client.Object{lease(now, "somebody")},
			want:    []string{"somebody is working on Ceph cluster g", "Wait for its end"},
		},
		"an orphaned journal is restored": {
			objects: []client.Object{lease(now, "OrphanedJournal/bench/nightly/u")},
			want:    []string{"OrphanedJournal bench/nightly is working on Ceph cluster g", "Wait for its end"},
		},
		"unfinished objects whose CRDs go": {
			crdsToo: true,
			objects: []client.Object{
				&v1alpha1.CephBenchmark{ObjectMeta: object(cephbenchmark.Finalizer)},
				&v1alpha1.CephTuningSweep{ObjectMeta: object(cephtuningsweep.Finalizer)},
			},
			want: []string{"CephBenchmark " + benchNamespace + "/nightly has a finalizer", "CephTuningSweep " + benchNamespace + "/nightly has a finalizer", "crds.keep"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(tc.objects...).Build()
			check := &uninstallCheck{
				journals: journals.New(c, c, systemNamespace), locks: lock.NewLeases(c, c, systemNamespace, "manager"),
				objects: c, crdsToo: tc.crdsToo, now: func() time.Time { return now },
			}
			if tc.state != "" {
				if err := check.journals.Save(t.Context(), journalOf(tc.state)); err != nil {
					t.Fatal(err)
				}
			}
			err := check.run(t.Context())
			if (err != nil) != (len(tc.want) > 0) {
				t.Fatalf("error %v, want one: %t", err, len(tc.want) > 0)
			}
			for _, want := range tc.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q, want %q in it", err, want)
				}
			}
		})
	}
}

// journalOf returns the journal of a sweep that has turned the balancer off.
func journalOf(state tuning.State) *tuning.Journal {
	return &tuning.Journal{
		SchemaVersion: tuning.SchemaVersion, FSID: "f", Sweep: tuning.Sweep{Namespace: "bench", Name: "pg-num", UID: "u"},
		Epoch: 1, Writer: "w", Revision: 1, Entries: []tuning.Entry{{Setting: tuning.Setting{Kind: tuning.KindBalancer}, State: state}},
	}
}

// stopped returns the journal of a benchmark with an OSD down.
func stopped(t *testing.T) *corev1.ConfigMap {
	t.Helper()
	j := journalOf(tuning.Open)
	j.Sweep = tuning.Sweep{Kind: "CephBenchmark", Namespace: "bench", Name: "nightly", UID: "u"}
	j.Entries[0].Setting = tuning.NoUp(2)
	text, err := tuning.Encode(j)
	if err != nil {
		t.Fatal(err)
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "cephtune-disruption-f"}, Data: map[string]string{journals.Key: string(text)},
	}
}

func lease(renewed time.Time, holder string) *coordinationv1.Lease {
	l := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "cephtune-g"},
		Spec: coordinationv1.LeaseSpec{
			RenewTime: new(metav1.NewMicroTime(renewed)), LeaseDurationSeconds: new(int32(lock.Duration / time.Second)),
		},
	}
	if holder != "" {
		l.Spec.HolderIdentity = &holder
	}
	return l
}
