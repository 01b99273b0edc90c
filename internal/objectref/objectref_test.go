package objectref

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
