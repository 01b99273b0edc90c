package objectref

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestRefIsWrittenAsBefore(t *testing.T) {
	ref := To("CephBenchmark", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "nightly", UID: "5f3a"}})
	if got := ref.String(); got != "CephBenchmark bench/nightly" { // an annotation of scratch pools
		t.Errorf("as people write it: %s", got)
	}
	if got := ref.Identity(); got != "CephBenchmark/bench/nightly/5f3a" { // in Leases and in Ceph
		t.Errorf("its identity: %s", got)
	}
}

func TestSweepOf(t *testing.T) {
	sweep := metav1.OwnerReference{APIVersion: "cephtune.dev/v1alpha1", Kind: "CephTuningSweep", Name: "pg-num", UID: "11", Controller: new(true)}
	with := func(change func(*metav1.OwnerReference)) []metav1.OwnerReference {
		owner := *sweep.DeepCopy()
		change(&owner)
		return []metav1.OwnerReference{owner}
	}
	for name, tc := range map[string]struct {
		owners []metav1.OwnerReference
		want   bool
	}{
		"no owner":                {},
		"a sweep":                 {[]metav1.OwnerReference{sweep}, true},
		"a later version":         {with(func(o *metav1.OwnerReference) { o.APIVersion = "cephtune.dev/v1" }), true},
		"not its controller":      {with(func(o *metav1.OwnerReference) { o.Controller = nil }), false},
		"another kind":            {with(func(o *metav1.OwnerReference) { o.Kind = "CephBenchmark" }), false},
		"the kind of other group": {with(func(o *metav1.OwnerReference) { o.APIVersion = "example.com/v1" }), false},
	} {
		t.Run(name, func(t *testing.T) {
			ref, ok := SweepOf(&v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "b", OwnerReferences: tc.owners}})
			if ok != tc.want || ok && ref != (Ref{Kind: "CephTuningSweep", Namespace: "bench", Name: "pg-num", UID: "11"}) {
				t.Errorf("the sweep is %+v, %t, want %t", ref, ok, tc.want)
			}
		})
	}
}
