// Package v1alpha1 is the cephtune.dev/v1alpha1 API. A CephBenchmark measures a Ceph cluster. A
// CephTuningSweep changes settings between or during measurements, or varies the load between them, and
// decides which configuration is best.
//
// The schema checks almost everything that does not depend on a cluster: bounds, enums, and cross-field
// rules in CEL. A rule's message says what to write instead. Every list and string is bounded. Bounds keep
// objects small, and rules cheap: the API server refuses rules whose worst case is too expensive.
//
// +kubebuilder:object:generate=true
// +groupName=cephtune.dev
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the group and version of every kind in this package.
//
//nolint:gochecknoglobals // It never changes, and users of an API package expect it.
var GroupVersion = schema.GroupVersion{Group: "cephtune.dev", Version: "v1alpha1"}

// The kinds of this package.
const (
	KindCephBenchmark   = "CephBenchmark"
	KindCephTuningSweep = "CephTuningSweep"
)

// AddToScheme adds the kinds of this package to a scheme.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&CephBenchmark{}, &CephBenchmarkList{},
		&CephTuningSweep{}, &CephTuningSweepList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
