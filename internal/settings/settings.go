// Package settings is what the administrator of an installation allows: the file
// that the manager is started with.
package settings

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Settings is the content of that file. It allows only what it names.
type Settings struct {
	// Clusters may be measured.
	Clusters []Cluster `json:"clusters,omitempty"`
	// Images are those of the pods of benchmarks.
	Images Images `json:"images,omitzero"`
	// Pods are further settings of the benchmarks' pods.
	Pods Pods `json:"pods,omitzero"`
}

// Cluster is a CephCluster of Rook's that may be measured.
type Cluster struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// ExistingPools may be named as targets.
	ExistingPools []string `json:"existingPools,omitempty"`
	// Options may be varied by sweeps, where Identities has a Tuner. Without any,
	// DefaultOptions may.
	Options []Option `json:"options,omitempty"`
	// RestartOSDs allows sweeps to restart OSDs, one after another, for options that they
	// take only when they start. The manager needs the right to delete their pods for it.
	RestartOSDs bool `json:"restartOSDs,omitempty"`
	// StopOSDs allows benchmarks to have OSDs down for a while and to measure how the
	// cluster recovers, where Identities has an OSDStopper.
	StopOSDs bool `json:"stopOSDs,omitempty"`
	// PlacePGs allows scratch pools to be confined to some OSDs. The tuner's caps have to
	// have `osd pg-upmap` for it, which Ceph cannot limit to scratch pools.
	PlacePGs bool `json:"placePGs,omitempty"`
	// Identities are the CephClients, in the namespace of the cluster, whose keys
	// the operator uses.
	Identities Identities `json:"identities,omitzero"`
}

// Identities are names of CephClients.
type Identities struct {
	// Observer reads the cluster, and keeps the operator's records in it.
	// cephtune-observer, unless said otherwise.
	Observer string `json:"observer,omitempty"`
	// IO reads and writes scratch pools and existing pools that are listed. Its key
	// is given to the pods of benchmarks. cephtune-io, unless said otherwise.
	IO string `json:"io,omitempty"`
	// CacheDropper drops the caches of OSDs, for which it has to be allowed everything on all
	// OSDs. If empty, caches may not be dropped.
	CacheDropper string `json:"cacheDropper,omitempty"`
	// Tuner changes the settings of Ceph that Options list. Empty, nothing is changed,
	// and sweeps over Ceph's settings are refused.
	Tuner string `json:"tuner,omitempty"`
	// OSDStopper marks OSDs down and keeps them down. cephtune-osd-stopper where StopOSDs
	// is true, unless said otherwise. It stays named while an OSD may be down: what it
	// has done is undone with the same key.
	OSDStopper string `json:"osdStopper,omitempty"`
}

// Images are those of the pods of benchmarks.
type Images struct {
	// Tools has rados, rbd and fio.
	Tools string `json:"tools,omitempty"`
	// Runner has the runner at /runner; the manager's own image does.
	Runner string `json:"runner,omitempty"`
	// PullPolicy and PullSecrets are as in a pod. The policy is IfNotPresent, unless
	// said otherwise.
	PullPolicy  string   `json:"pullPolicy,omitempty"`
	PullSecrets []string `json:"pullSecrets,omitempty"`
}

// Pods are what the pods of benchmarks get.
type Pods struct {
	// StartTimeout is how long pods may take to start before the benchmark fails:
	// five minutes, unless said otherwise.
	StartTimeout metav1.Duration `json:"startTimeout,omitzero"`
	// PriorityClassName, Labels and Annotations are as in a pod.
	PriorityClassName string            `json:"priorityClassName,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	// NodeSelector and Tolerations are of clients whose benchmark has none of its own.
	NodeSelector map[string]string   `json:"nodeSelector,omitempty"`
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty"`
}

// The names of the scratch pools. They are fixed, so that a key can be limited to
// them; there is one benchmark at a time in a cluster.
const (
	ScratchPool     = "cephtune-scratch"
	ScratchDataPool = "cephtune-scratch-data"
)

// The labels of the pods of benchmarks, by which a NetworkPolicy knows them. Pods.Labels
// cannot change them.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelComponent = "app.kubernetes.io/component"

	// LabelRole distinguishes the pod of a background load from those of clients.
	LabelRole = "cephtune.dev/role"

	ManagedBy          = "cephtune"
	ComponentBenchmark = "benchmark"
	RoleBackground     = "background"
)

// ContainerClient is the container of those pods in which the tool runs.
const ContainerClient = "client"

// AnnotationBenchmark names the CephBenchmark of a pod.
const AnnotationBenchmark = "cephtune.dev/benchmark"

// Cluster returns what is allowed in a cluster, or false if nothing is.
func (s *Settings) Cluster(ref v1alpha1.ClusterReference) (Cluster, bool) {
	at := slices.IndexFunc(s.Clusters, func(c Cluster) bool {
		return c.Namespace == ref.Namespace && c.Name == ref.Name
	})
	if at < 0 {
		return Cluster{}, false
	}
	return s.Clusters[at], true
}

// AllowsPool reports whether an existing pool of the cluster may be a target.
func (c Cluster) AllowsPool(name string) bool {
	return slices.Contains(c.ExistingPools, name)
}
