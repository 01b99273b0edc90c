// Package settings reads the operator config: the file in which the administrator says what the operator may
// do.
package settings

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Settings is the content of the operator config. The operator may use only the clusters, existing pools and
// powers that the config names, and scratch pools in these clusters.
type Settings struct {
	// Clusters are the clusters that may be measured.
	Clusters []Cluster `json:"clusters,omitempty"`
	// Images are the images of benchmark pods.
	Images Images `json:"images,omitzero"`
	// Pods has further fields of benchmark pods, such as labels.
	Pods Pods `json:"pods,omitzero"`
}

// Cluster is a CephCluster that may be measured.
type Cluster struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// ExistingPools are the existing pools that may be targets.
	ExistingPools []string `json:"existingPools,omitempty"`
	// StorageClasses are the classes whose volumes benchmarks may create. If this field is missing, these are
	// the classes that Cluster.StoresClass accepts, with DefaultMaxTotal; an empty list allows no class.
	StorageClasses []StorageClass `json:"storageClasses,omitempty"`
	// Options are the options that sweeps may vary, apart from options of scratch pools, which need no entry.
	// The entries require Identities.Tuner. If Identities.Tuner is set and this field is missing,
	// DefaultOptions apply; an empty list allows no option.
	Options []Option `json:"options,omitempty"`
	// RestartOSDs allows sweeps to restart OSDs, one after another, for options that OSDs
	// read only when they start. The manager then needs the right to delete the OSDs' pods.
	RestartOSDs bool `json:"restartOSDs,omitempty"`
	// StopOSDs allows benchmarks to take OSDs down for a while and to measure the recovery.
	StopOSDs bool `json:"stopOSDs,omitempty"`
	// SaturateExisting allows curves, which load their target beyond what it can take, on existing pools and claims.
	SaturateExisting bool `json:"saturateExisting,omitempty"`
	// PlacePGs allows scratch pools to be confined to some OSDs. The tuner's caps then have
	// to include `osd pg-upmap`, which Ceph cannot limit to scratch pools.
	PlacePGs bool `json:"placePGs,omitempty"`
	// ToolsImage replaces Images.Tools in the cluster's benchmark pods, for example if the cluster has
	// another Ceph version. If empty, Images.Tools applies.
	ToolsImage string `json:"toolsImage,omitempty"`
	// Identities are the CephClients whose keys the operator uses. The CephClients are in the namespace of
	// the cluster.
	Identities Identities `json:"identities,omitzero"`
}

// Identities are names of CephClients.
type Identities struct {
	// Observer reads the cluster, and stores the operator's records in it. The default is
	// cephtune-observer.
	Observer string `json:"observer,omitempty"`
	// IO reads and writes scratch pools and the pools in ExistingPools. Benchmark pods get its key. The
	// default is cephtune-io.
	IO string `json:"io,omitempty"`
	// CacheDropper drops the caches of OSDs, which requires all rights on all OSDs. If empty, benchmarks may
	// not drop caches.
	CacheDropper string `json:"cacheDropper,omitempty"`
	// Tuner changes the Ceph settings that Options lists. For sweeps, it also turns off autoscalers, the
	// balancer and scrubs, and switches options of scratch pools. With PlacePGs, it moves PGs of scratch
	// pools. If empty, the operator refuses sweeps over settings outside scratch pools, sweeps that pause
	// scrubs, and sweeps that switch options of scratch pools under a load.
	Tuner string `json:"tuner,omitempty"`
	// OSDStopper marks OSDs down and keeps them down. The default is cephtune-osd-stopper if
	// StopOSDs is true. Keep it set while an OSD may be down, because the same key brings the
	// OSD up again.
	OSDStopper string `json:"osdStopper,omitempty"`
}

// Images are the images of benchmark pods.
type Images struct {
	// Tools is an image with rados, rbd and fio. A cluster's ToolsImage takes precedence.
	Tools string `json:"tools,omitempty"`
	// Runner is an image with the runner at /runner, such as the manager's image.
	Runner string `json:"runner,omitempty"`
	// PullPolicy and PullSecrets apply to both images, in each benchmark pod. The default policy is
	// IfNotPresent.
	PullPolicy  string   `json:"pullPolicy,omitempty"`
	PullSecrets []string `json:"pullSecrets,omitempty"`
}

// Pods has fields of benchmark pods, such as labels, and the time within which pods have to start.
type Pods struct {
	// StartTimeout is the longest time that pods may take to start before the benchmark fails. It also limits
	// the wait for a missing claim. The default is five minutes.
	StartTimeout metav1.Duration `json:"startTimeout,omitzero"`
	// PriorityClassName, Labels and Annotations are set on each benchmark pod.
	PriorityClassName string            `json:"priorityClassName,omitempty"`
	Labels            map[string]string `json:"labels,omitempty"`
	Annotations       map[string]string `json:"annotations,omitempty"`
	// NodeSelector is the default for a benchmark without a node selector. Tolerations are the default for a
	// benchmark without tolerations.
	NodeSelector map[string]string   `json:"nodeSelector,omitempty"`
	Tolerations  []corev1.Toleration `json:"tolerations,omitempty"`
}

// The names of the scratch pools of target 0, the usual one. The names of all scratch pools are fixed, so that caps can be
// limited to them. Each target of a benchmark has a pair of names, because a cluster runs only one benchmark at a time.
const (
	ScratchPool     = "cephtune-scratch"
	ScratchDataPool = "cephtune-scratch-data"
)

// MaxTargets is the largest number of targets of a benchmark. The caps and roles in config/ceph name the pools of each.
const MaxTargets = 7

// ScratchNames are the names of the pools of one target: the pool, and the pool of its data if it is erasure-coded.
type ScratchNames struct{ Pool, Data string }

// ScratchNamesOf returns the names of the scratch pools of a target, which is numbered from 0.
func ScratchNamesOf(target int) ScratchNames {
	if target == 0 {
		return ScratchNames{ScratchPool, ScratchDataPool}
	}
	name := fmt.Sprintf("%s-%d", ScratchPool, target)
	return ScratchNames{name, name + "-data"}
}

// IsScratchPool reports whether a pool has the name of a scratch pool.
func IsScratchPool(name string) bool {
	for target := range MaxTargets {
		if names := ScratchNamesOf(target); name == names.Pool || name == names.Data {
			return true
		}
	}
	return false
}

// The labels of benchmark pods, and their values. NetworkPolicies and cephtune itself select pods by these labels,
// so Pods.Labels cannot change them.
const (
	LabelManagedBy = "app.kubernetes.io/managed-by"
	LabelComponent = "app.kubernetes.io/component"

	// LabelRole has the value RoleBackground on pods of a background load. Pods of measured clients lack the
	// label.
	LabelRole = "cephtune.dev/role"

	ManagedBy          = "cephtune"
	ComponentBenchmark = "benchmark"
	RoleBackground     = "background"
)

// ContainerClient is the name of the container in which the runner and the engines run.
const ContainerClient = "client"

// AnnotationBenchmark has the name of the pod's CephBenchmark.
const AnnotationBenchmark = "cephtune.dev/benchmark"

// Cluster returns the entry of a cluster, or false if the config does not list it.
func (s *Settings) Cluster(ref v1alpha1.ClusterReference) (Cluster, bool) {
	index := slices.IndexFunc(s.Clusters, func(c Cluster) bool {
		return c.Namespace == ref.Namespace && c.Name == ref.Name
	})
	if index < 0 {
		return Cluster{}, false
	}
	return s.Clusters[index], true
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
