// Package objectref has references to objects that hold a lock, wait in a queue or own a pool.
//
// The package is separate from package lock because package tuning uses references, and must not depend on
// a client of Kubernetes.
package objectref

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Ref identifies one object. Its UID distinguishes the object from a later one with the same name. The zero
// value identifies no object.
type Ref struct {
	Kind, Namespace, Name string
	UID                   types.UID
}

// To returns the Ref of an object. The kind is an argument, because an object that a client has read may
// lack it.
func To(kind string, o metav1.Object) Ref {
	return Ref{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()}
}

// SweepOf returns the sweep that controls a benchmark. It returns false if the benchmark has another
// controller, or no controller.
func SweepOf(b *v1alpha1.CephBenchmark) (Ref, bool) {
	owner := metav1.GetControllerOf(b)
	if owner == nil || owner.Kind != v1alpha1.KindCephTuningSweep {
		return Ref{}, false
	}
	if group, err := schema.ParseGroupVersion(owner.APIVersion); err != nil || group.Group != v1alpha1.GroupVersion.Group {
		return Ref{}, false
	}
	return Ref{Kind: owner.Kind, Namespace: b.Namespace, Name: owner.Name, UID: owner.UID}, true
}

// String returns the object's name for messages, such as CephBenchmark bench/nightly.
func (r Ref) String() string { return r.Kind + " " + r.Namespace + "/" + r.Name }

// Identity returns a text that is unique to the object, such as CephBenchmark/bench/nightly/5f3a…. It
// identifies the holder in the lock of a Ceph cluster.
func (r Ref) Identity() string {
	return strings.Join([]string{r.Kind, r.Namespace, r.Name, string(r.UID)}, "/")
}
