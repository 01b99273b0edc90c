// Package objectref has references to the object that holds a lock, waits in a queue or owns a
// pool.
//
// It is separate from package lock because journals use references, and must not depend on a
// client of Kubernetes.
package objectref

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Ref identifies one object, by its UID too, so that a later object with the same name differs. The
// zero value identifies none.
type Ref struct {
	Kind, Namespace, Name string
	UID                   types.UID
}

// To returns the Ref of an object. The caller passes the kind, because objects that a client has
// read may lack it.
func To(kind string, o metav1.Object) Ref {
	return Ref{Kind: kind, Namespace: o.GetNamespace(), Name: o.GetName(), UID: o.GetUID()}
}

// SweepOf returns the sweep that controls a benchmark. It returns false for a benchmark with another
// controller or with none.
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

// String names the object as people do, such as CephBenchmark bench/nightly.
func (r Ref) String() string { return r.Kind + " " + r.Namespace + "/" + r.Name }

// Identity is unique to the object, such as CephBenchmark/bench/nightly/5f3a…. It is the holder's
// identity in the lock of a cluster.
func (r Ref) Identity() string {
	return strings.Join([]string{r.Kind, r.Namespace, r.Name, string(r.UID)}, "/")
}
