package v1alpha1

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rules of BenchmarkTemplate.
//
// +kubebuilder:validation:XValidation:message="only fio works on a persistentVolumeClaim: use fio phases, or a
//    scratchPool or existingPool as target",
//   rule="!has(self.target.persistentVolumeClaim) || self.phases.all(p, has(p.fio))"
// +kubebuilder:validation:XValidation:message="fio engines RBD and RADOS need a pool as target: use LibAIO or IOUring
//    on a persistentVolumeClaim",
//   rule="!has(self.target.persistentVolumeClaim) ||
//      self.phases.all(p, !has(p.fio) || !has(p.fio.engine) || p.fio.engine in ['LibAIO', 'IOUring'])"
// +kubebuilder:validation:XValidation:message="fio engines LibAIO and IOUring need a persistentVolumeClaim as target:
//    use RBD or RADOS on a pool",
//   rule="has(self.target.persistentVolumeClaim) ||
//      self.phases.all(p, !has(p.fio) || !has(p.fio.engine) || p.fio.engine in ['RBD', 'RADOS'])"
// +kubebuilder:validation:XValidation:message="erasure-coded pools have no omap: use destination Object or XAttr, or
//    a replicated pool",
//   rule="!has(self.target.scratchPool) ||
//      !has(self.target.scratchPool.erasureCoded) ||
//      self.phases.all(p, !has(p.radosBench) || p.radosBench.destination != 'OMap')"
// +kubebuilder:validation:XValidation:message="one claim serves one client: set clients.count to 1, or use
//    persistentVolumeClaim.template, which creates a claim for each pod",
//   rule="!has(self.target.persistentVolumeClaim) ||
//      !has(self.target.persistentVolumeClaim.claimName) ||
//      self.clients.count == 1"
// +kubebuilder:validation:XValidation:message="one claim serves one pod, and the background load has its own pod: use
//    persistentVolumeClaim.template, which creates a claim for each pod",
//   rule="!has(self.backgroundLoad) ||
//      !has(self.target.persistentVolumeClaim) ||
//      !has(self.target.persistentVolumeClaim.claimName)"
// +kubebuilder:validation:XValidation:message="backgroundLoad.phase must name a phase of phases: write the background
//    load there",
//   rule="!has(self.backgroundLoad) ||
//      !has(self.backgroundLoad.phase) ||
//      self.phases.exists(p, p.name == self.backgroundLoad.phase)"
// +kubebuilder:validation:XValidation:message="phases needs a phase that is measured, besides the background load",
//   rule="!has(self.backgroundLoad) || self.phases.exists(p, p.name != $background)"
// +kubebuilder:validation:XValidation:message="a background load runs as long as the other phases: leave duration out
//    of its phase",
//   rule="self.phases.all(p, p.name != $background ||
//        ((!has(p.radosBench) || duration(p.radosBench.duration) == duration('60s')) &&
//          (!has(p.rbdBench) || duration(p.rbdBench.duration) == duration('60s')) &&
//          (!has(p.fio) || duration(p.fio.duration) == duration('60s'))))"
// +kubebuilder:validation:XValidation:message="leave ramp out of the phase of a background load: backgroundLoad.ramp
//    says how long it runs before the first phase",
//   rule="self.phases.all(p, p.name != $background ||
//        ((!has(p.radosBench) || duration(p.radosBench.ramp) == duration('10s')) &&
//          (!has(p.fio) || duration(p.fio.ramp) == duration('15s'))))"
// +kubebuilder:validation:XValidation:message="a background load must not end before the other phases: leave
//    reuseObjects and ioTotal out of its phase, and use mode Rand instead of Seq",
//   rule="self.phases.all(p, p.name != $background ||
//        ((!has(p.rbdBench) || !has(p.rbdBench.ioTotal)) &&
//          (!has(p.radosBench) || (!p.radosBench.reuseObjects && p.radosBench.mode != 'Seq'))))"
// +kubebuilder:validation:XValidation:message="a background load has no curve: leave curve out of its phase",
//   rule="self.phases.all(p, p.name != $background || !has(p.fio) || !has(p.fio.curve))"
// +kubebuilder:validation:XValidation:message="outage.phase must name a phase of phases that is not the background
//    load",
//   rule="!has(self.outage) || self.phases.exists(p, p.name == self.outage.phase && p.name != $background)"
// +kubebuilder:validation:XValidation:message="an outage needs a phase with a fixed rate, because writes during the
//    outage decide how much has to be recovered: make it a fio phase, and set rateIOPS or rateBandwidth to a rate
//    that the cluster sustains easily, also for a background load",
//   rule="!has(self.outage) ||
//      self.phases.all(p, (p.name != self.outage.phase && p.name != $background) || (has(p.fio) && $phaseHasRate))"
// +kubebuilder:validation:XValidation:message="the duration of the phase with the outage must be at least
//    outage.before, outage.duration and 1m for the recovery together: raise the duration of the phase",
//   rule="!has(self.outage) ||
//      self.phases.all(p, p.name != self.outage.phase ||
//        !has(p.fio) ||
//        duration(p.fio.duration) >= duration(self.outage.before) + duration(self.outage.duration) + duration('1m'))"
// +kubebuilder:validation:XValidation:message="initialState Rollback is for RBD images that the benchmark creates,
//    and not for the volume of a persistentVolumeClaim: use Fresh, which writes the data again",
//   rule="!has(self.initialState) || self.initialState != 'Rollback' || !has(self.target.persistentVolumeClaim)"
// +kubebuilder:validation:XValidation:message="initialState Rollback is for RBD images, and not for objects of
//    radosBench or of fio's engine RADOS: use Fresh, or phases with rbdBench or fio's engine RBD",
//   rule="!has(self.initialState) ||
//      self.initialState != 'Rollback' ||
//      self.phases.all(p, !(has(p.fio) && has(p.fio.engine) && p.fio.engine == 'RADOS') &&
//        !(has(p.radosBench) && has(p.radosBench.reuseObjects) && p.radosBench.reuseObjects))"
// +kubebuilder:validation:XValidation:message="initialState Rollback needs a phase of rbdBench or fio that overwrites
//    an RBD image: without one, leave initialState out",
//   rule="!has(self.initialState) ||
//      self.initialState != 'Rollback' ||
//      has(self.target.persistentVolumeClaim) ||
//      self.phases.exists(p, p.name != $background &&
//        ((has(p.rbdBench) && p.rbdBench.ioType != 'Read') ||
//          (has(p.fio) &&
//            ((has(p.fio.pattern) && p.fio.pattern.endsWith('Write')) ||
//              (has(p.fio.jobs) && p.fio.jobs.exists(j, has(j.pattern) && j.pattern.endsWith('Write')))))))"
// +kubebuilder:validation:XValidation:message="osdCaches WarmBeforePhase reads the prefilled data, but rados bench
//    cannot read omaps and xattrs: use destination Object with reuseObjects, or leave osdCaches out",
//   rule="!has(self.osdCaches) ||
//      self.osdCaches != 'WarmBeforePhase' ||
//      self.phases.all(p, !has(p.radosBench) ||
//        !has(p.radosBench.reuseObjects) ||
//        !p.radosBench.reuseObjects ||
//        p.radosBench.destination == 'Object')"

// BenchmarkTemplate says what is measured, and how. Each CephBenchmark and CephTuningSweep has a template.
type BenchmarkTemplate struct {
	// target says where the load goes.
	// +required
	Target Target `json:"target"`

	// clients are the pods that send the load.
	// +optional
	// +kubebuilder:default={}
	Clients Clients `json:"clients,omitzero"`

	// dataset is the data that is written before phases that read or overwrite data. Only radosBench phases
	// that write new objects need no dataset. Writing the dataset is not measured.
	// +optional
	// +kubebuilder:default={}
	Dataset Dataset `json:"dataset,omitzero"`

	// initialState is the state of the data at the start of each run. Keep leaves it as the
	// previous run left it. Fresh removes it and prefills it again. Rollback rolls RBD images that
	// phases overwrite back to a snapshot of their prefilled state; a CephTuningSweep refuses it. None of that
	// is measured. In a CephTuningSweep with Keep, the runs of a block share prefilled data if they can: see
	// status.plan.datasetPer. With Fresh, each run of a sweep prefills its own data.
	// +optional
	// +kubebuilder:default=Keep
	InitialState InitialState `json:"initialState,omitempty"`

	// osdCaches says what happens to the caches of the OSDs before each phase. Keep leaves them as
	// they are. DropBeforePhase empties them; the administrator has to grant this power.
	// WarmBeforePhase makes the clients read all data of the phase once, which is not measured.
	// +optional
	// +kubebuilder:default=Keep
	OSDCaches OSDCachePolicy `json:"osdCaches,omitempty"`

	// rest is the pause before each phase. During the pause, the cluster writes back data that the
	// previous phase left in its caches.
	// +optional
	// +kubebuilder:default="5s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('1h')",message="must be at most 1h"
	Rest *metav1.Duration `json:"rest,omitempty"`

	// outage takes OSDs down during one of the phases, and measures latencies and the time of the
	// recovery. The administrator has to grant this power.
	// +optional
	Outage *Outage `json:"outage,omitempty"`

	// phases run in order; all clients start each phase together. The phase of a backgroundLoad runs during all
	// others.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Phases []Phase `json:"phases"`

	// backgroundLoad makes a phase a load that is not measured itself. It runs from before the first phase of each run
	// until after the last phase, in its own pod and with its own data. Its figures are recorded for the
	// time of each phase. A run is Invalid if the background load fails, ends early or does no I/O.
	// +optional
	BackgroundLoad *BackgroundLoad `json:"backgroundLoad,omitempty"`
}

// Phase is one load of a run, from one engine on each client.
// +kubebuilder:validation:ExactlyOneOf=radosBench;rbdBench;fio
type Phase struct {
	// name is the name by which metrics refer to the phase.
	// +required
	Name PhaseName `json:"name"`

	// radosBench runs `rados bench`.
	// +optional
	RadosBench *RadosBench `json:"radosBench,omitempty"`

	// rbdBench runs `rbd bench`.
	// +optional
	RBDBench *RBDBench `json:"rbdBench,omitempty"`

	// fio runs fio.
	// +optional
	Fio *Fio `json:"fio,omitempty"`
}

// BackgroundLoad makes one of the phases a load that runs during all others and imitates other users of the cluster.
// Give that phase a fixed rate, which only fio can keep. Without a fixed rate, the background load does less work if
// the other phases are faster, so it differs between the compared configurations.
//
// +kubebuilder:validation:XValidation:rule="has(self.phase)",message="phase must be set: write the background load as an entry of phases, and name that entry here"
type BackgroundLoad struct {
	// phase is the name of the phase of `phases` that is the background load. It has neither a duration nor a
	// ramp of its own, and no figures in status.phases.
	// +optional
	Phase PhaseName `json:"phase,omitempty"`

	// ramp is how long the background load runs before the first phase of a run.
	// +optional
	// +kubebuilder:default="10s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('1h')",message="must be at most 1h"
	Ramp *metav1.Duration `json:"ramp,omitempty"`

	// resources are the resources of the pod.
	// +optional
	// +kubebuilder:default={}
	Resources ClientResources `json:"resources,omitzero"`

	// nodes are the names of the nodes that the pod may run on. If unset, it may run on any node
	// that the nodeSelector of clients selects, preferably one without clients. A sweep uses the
	// node of its first run for all later runs.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Nodes []NodeName `json:"nodes,omitempty"`
}

// Measured returns the phases that are measured, in order: all but the background load.
func (t *BenchmarkTemplate) Measured() []Phase {
	if t.BackgroundLoad == nil {
		return t.Phases
	}
	return slices.DeleteFunc(slices.Clone(t.Phases), func(p Phase) bool { return p.Name == t.BackgroundLoad.Phase })
}

// Background returns the phase that is the background load; nil if the template has none, or does not name it.
func (t *BenchmarkTemplate) Background() *Phase {
	if t.BackgroundLoad == nil {
		return nil
	}
	return t.Phase(t.BackgroundLoad.Phase)
}

// Phase returns a phase by its name; nil if there is none. The background load is one of the phases.
func (t *BenchmarkTemplate) Phase(name PhaseName) *Phase {
	for i := range t.Phases {
		if t.Phases[i].Name == name {
			return &t.Phases[i]
		}
	}
	return nil
}

// Spread says how clients are distributed over nodes.
// +kubebuilder:validation:Enum=Required;Preferred;None
type Spread string

// The choices.
const (
	// SpreadRequired puts each client on its own node. With too few nodes, the benchmark fails.
	SpreadRequired Spread = "Required"
	// SpreadPreferred distributes clients over nodes as evenly as resources permit.
	SpreadPreferred Spread = "Preferred"
	// SpreadNone leaves the choice of nodes to the scheduler.
	SpreadNone Spread = "None"
)

// Rules of Clients.
//
// +kubebuilder:validation:XValidation:message="spread Required needs a node for each client: name more nodes, or
//    lower count",
//   rule="!has(self.spread) || self.spread != 'Required' || !has(self.nodes) || self.nodes.size() >= self.count"

// Clients describes the pods that run the engines.
type Clients struct {
	// count is the number of clients. Each runs every phase.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Count int32 `json:"count,omitempty"`

	// spread says how clients are distributed over nodes.
	// +optional
	// +kubebuilder:default=Preferred
	Spread Spread `json:"spread,omitempty"`

	// nodeSelector limits the nodes. If unset, the nodeSelector of the operator config applies.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	NodeSelector map[string]LabelValue `json:"nodeSelector,omitempty"`

	// nodes are the names of the nodes that clients may run on; nodeSelector has to select them,
	// too. If unset, clients may run on any node that nodeSelector selects. A sweep uses the nodes
	// of its first run for all later runs.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Nodes []NodeName `json:"nodes,omitempty"`

	// tolerations let clients run on tainted nodes. If unset, the tolerations of the operator config apply.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`

	// resources are the resources of each client.
	// +optional
	// +kubebuilder:default={}
	Resources ClientResources `json:"resources,omitzero"`
}

// NodeName is the name of a node.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=253
// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
type NodeName string

// LabelValue is the value of a label.
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:Pattern=`^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`
type LabelValue string

// ClientResources are both request and limit, so that a client measures Ceph and not the other pods of its
// node. If the CPU limit stopped a client for more than 1% of the measured time, the result has the mark
// Throttled.
type ClientResources struct {
	// cpu is the CPU of each pod.
	// +optional
	// +kubebuilder:default="1"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).compareTo(quantity('100m')) >= 0 && quantity(string(self)).compareTo(quantity('256')) <= 0",message="must be between 100m and 256"
	CPU resource.Quantity `json:"cpu,omitzero"`

	// memory is the memory of each pod.
	// +optional
	// +kubebuilder:default="1Gi"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:$memorySize
	Memory resource.Quantity `json:"memory,omitzero"`
}

// Dataset is the prefilled data for phases that read or overwrite data. Its size for each client
// is the same for every configuration of a sweep.
type Dataset struct {
	// size is how much data each client prefills for a phase, or Auto. Phases share data if they can; data
	// that is only read is separate from data that is overwritten. With Auto, the data of all clients
	// together is twice as large as the OSDs' caches, but at most 10 % of the free space (5 % with
	// initialState Rollback), and at least 1Mi for each client. Auto is not possible if the size of the
	// caches is unknown. If that size is unknown, or the data of all clients is less than twice as large as
	// the caches, phases that read the data have the mark Cached.
	// +optional
	// +kubebuilder:default=Auto
	Size DatasetSize `json:"size,omitempty"`
}

// DatasetSize is Auto, or a size such as `20Gi`. A whole number may be written as a number or as a string.
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=24
// +kubebuilder:validation:XValidation:$datasetSize
type DatasetSize string

// UnmarshalJSON reads a string or a whole number.
func (s *DatasetSize) UnmarshalJSON(text []byte) error { return unmarshalIntOrString(text, s) }

// InitialState is the state of the data at the start of each run.
// +kubebuilder:validation:Enum=Keep;Fresh;Rollback
type InitialState string

// The initial states.
const (
	// InitialStateKeep leaves the data as the previous run left it.
	InitialStateKeep InitialState = "Keep"
	// InitialStateFresh removes the data and prefills it again before each run.
	InitialStateFresh InitialState = "Fresh"
	// InitialStateRollback rolls RBD images back to a snapshot of their prefilled data. Results are not
	// comparable with results from images without a snapshot, because Ceph has to keep the overwritten
	// data.
	InitialStateRollback InitialState = "Rollback"
)

// OSDCachePolicy says what happens to the caches of the OSDs.
// +kubebuilder:validation:Enum=Keep;DropBeforePhase;WarmBeforePhase
type OSDCachePolicy string

// The policies.
const (
	// OSDCachesKeep leaves the caches as they are.
	OSDCachesKeep OSDCachePolicy = "Keep"
	// OSDCachesDropBeforePhase empties the caches before each phase.
	OSDCachesDropBeforePhase OSDCachePolicy = "DropBeforePhase"
	// OSDCachesWarmBeforePhase makes the clients read the data of each phase once before it.
	OSDCachesWarmBeforePhase OSDCachePolicy = "WarmBeforePhase"
)
