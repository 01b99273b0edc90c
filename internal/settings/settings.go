// Package settings reads the operator config: the file with which the administrator of an
// installation says what the operator may do.
package settings

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Settings is the content of the operator config. Anything that it does not name is forbidden.
type Settings struct {
	// Clusters are the clusters that may be measured.
	Clusters []Cluster `json:"clusters,omitempty"`
	// Images are the images of benchmark pods.
	Images Images `json:"images,omitzero"`
	// Pods has further settings of benchmark pods.
	Pods Pods `json:"pods,omitzero"`
}

// Cluster is a CephCluster that may be measured.
type Cluster struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// ExistingPools are the existing pools that may be targets.
	ExistingPools []string `json:"existingPools,omitempty"`
	// Options are the options that sweeps may vary if Identities has a Tuner. If the field is
	// missing, DefaultOptions apply; an empty list allows no option.
	Options []Option `json:"options,omitempty"`
	// RestartOSDs allows sweeps to restart OSDs, one after another, for options that OSDs
	// read only when they start. The manager then needs the right to delete the OSDs' pods.
	RestartOSDs bool `json:"restartOSDs,omitempty"`
	// StopOSDs allows benchmarks to take OSDs down for a while and to measure the recovery,
	// if Identities has an OSDStopper.
	StopOSDs bool `json:"stopOSDs,omitempty"`
	// PlacePGs allows scratch pools to be confined to some OSDs. The tuner's caps then have
	// to include `osd pg-upmap`, which Ceph cannot limit to scratch pools.
	PlacePGs bool `json:"placePGs,omitempty"`
	// ToolsImage is the tools image of the cluster's benchmark pods, for a cluster of another
	// Ceph version than Images.Tools. If empty, Images.Tools applies.
	ToolsImage string `json:"toolsImage,omitempty"`
	// Identities are the CephClients whose keys the operator uses. They are in the namespace
	// of the cluster.
	Identities Identities `json:"identities,omitzero"`
}

// Identities are names of CephClients.
type Identities struct {
	// Observer reads the cluster, and stores the operator's records in it. The default is
	// cephtune-observer.
	Observer string `json:"observer,omitempty"`
	// IO reads and writes scratch pools and the listed existing pools. Benchmark pods get its
	// key. The default is cephtune-io.
	IO string `json:"io,omitempty"`
	// CacheDropper drops the caches of OSDs, which requires all rights on all OSDs. If empty,
	// caches may not be dropped.
	CacheDropper string `json:"cacheDropper,omitempty"`
	// Tuner changes the Ceph settings that Options lists. If empty, the operator changes no
	// settings, and refuses sweeps over Ceph settings.
	Tuner string `json:"tuner,omitempty"`
	// OSDStopper marks OSDs down and keeps them down. The default is cephtune-osd-stopper if
	// StopOSDs is true. Keep it set while an OSD may be down, because the same key brings the
	// OSD up again.
	OSDStopper string `json:"osdStopper,omitempty"`
}

// Images are the images of benchmark pods.
type Images struct {
	// Tools has rados, rbd and fio. A cluster's ToolsImage takes precedence.
	Tools string `json:"tools,omitempty"`
	// Runner has the runner at /runner. The manager's own image contains it.
	Runner string `json:"runner,omitempty"`
	// PullPolicy and PullSecrets apply to both images, in each benchmark pod. The default policy is
	// IfNotPresent.
	PullPolicy  string   `json:"pullPolicy,omitempty"`
	PullSecrets []string `json:"pullSecrets,omitempty"`
}

// Pods has settings of benchmark pods.
type Pods struct {
	// StartTimeout is the time within which pods have to start, or else the benchmark fails.
	// The default is five minutes.
	StartTimeout metav1.Duration `json:"startTimeout,omitzero"`
	// PriorityClassName, Labels and Annotations are set on each benchmark pod.
	PriorityClassName string            `json:"priorityClassName,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	// NodeSelector and Tolerations apply to clients whose benchmark sets none.
	NodeSelector map[string]string   `json:"nodeSelector,omitempty"`
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty"`
}

// The names of the scratch pools. They are fixed, so that caps can be limited to them; a
// cluster has only one benchmark at a time.
const (
	ScratchPool     = "cephtune-scratch"
	ScratchDataPool = "cephtune-scratch-data"
)

// IsScratchPool reports whether a pool has the name of a scratch pool.
func IsScratchPool(name string) bool { return name == ScratchPool || name == ScratchDataPool }

// The labels of benchmark pods, by which a NetworkPolicy selects them. Pods.Labels cannot
// change them.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelComponent = "app.kubernetes.io/component"

	// LabelRole distinguishes the pods of a background load from those of clients.
	LabelRole = "cephtune.dev/role"

	ManagedBy          = "cephtune"
	ComponentBenchmark = "benchmark"
	RoleBackground     = "background"
)

// ContainerClient is the container of benchmark pods in which the runner and the engines run.
const ContainerClient = "client"

// AnnotationBenchmark names the CephBenchmark of a pod.
const AnnotationBenchmark = "cephtune.dev/benchmark"

// Cluster returns the entry of a cluster, or false if the config does not list it.
func (s *Settings) Cluster(ref v1alpha1.ClusterReference) (Cluster, bool) {
	at := slices.IndexFunc(s.Clusters, func(c Cluster) bool {
		return c.Namespace == ref.Namespace && c.Name == ref.Name
	})
	if at < 0 {
		return Cluster{}, false
	}
	return s.Clusters[at], true
}

// ImagesFor returns the images of the benchmark pods of a cluster.
func (s *Settings) ImagesFor(c Cluster) Images {
	images := s.Images
	images.Tools = cmp.Or(c.ToolsImage, images.Tools)
	return images
}

// AllowsPool reports whether an existing pool of the cluster may be a target.
func (c Cluster) AllowsPool(name string) bool {
	return slices.Contains(c.ExistingPools, name)
}
