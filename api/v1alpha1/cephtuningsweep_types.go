package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Rules of CephTuningSweep.
//
// Fields that a verdict depends on are fixed until runID changes:
// +kubebuilder:validation:XValidation:message="mode, template, parameters, configurations, baseline, objective,
//    constraints, strategy, confidence and quiescence are fixed for a run: change runID in the same edit to start
//    afresh with the new values; with a schedule, wait until the run ends",
//   rule="$mayChange ||
//      (self.spec.mode == oldSelf.spec.mode &&
//        self.spec.template == oldSelf.spec.template &&
//        self.spec.parameters == oldSelf.spec.parameters &&
//        has(self.spec.configurations) == has(oldSelf.spec.configurations) &&
//        (!has(self.spec.configurations) || self.spec.configurations == oldSelf.spec.configurations) &&
//        has(self.spec.baseline) == has(oldSelf.spec.baseline) &&
//        (!has(self.spec.baseline) || self.spec.baseline == oldSelf.spec.baseline) &&
//        self.spec.objective == oldSelf.spec.objective &&
//        has(self.spec.constraints) == has(oldSelf.spec.constraints) &&
//        (!has(self.spec.constraints) || self.spec.constraints == oldSelf.spec.constraints) &&
//        self.spec.strategy == oldSelf.spec.strategy &&
//        self.spec.confidence == oldSelf.spec.confidence &&
//        self.spec.quiescence == oldSelf.spec.quiescence)"
// Fields that decide when a sweep stops are fixed, too. Extending a sweep after an unwelcome result would
// be optional stopping.
// +kubebuilder:validation:XValidation:message="budget and guardrails.maxFailedRuns are fixed for a run: change runID
//    in the same edit to start afresh with the new values, or set suspend to stop and restore; with a schedule, wait
//    until the run ends",
//   rule="$mayChange ||
//      (self.spec.budget == oldSelf.spec.budget &&
//        has(self.spec.guardrails.maxFailedRuns) == has(oldSelf.spec.guardrails.maxFailedRuns) &&
//        (!has(self.spec.guardrails.maxFailedRuns) ||
//          self.spec.guardrails.maxFailedRuns == oldSelf.spec.guardrails.maxFailedRuns))"

// CephTuningSweep changes settings of a Ceph cluster between or during measurements, or varies the load or
// the target between measurements. It decides which configurations are better than the baseline. At the end
// it restores the settings, except those of a winner if onCompletion is KeepBest.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cephtuningsweeps,scope=Namespaced,shortName=cephsweep,categories=ceph
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="The present activity."
// +kubebuilder:printcolumn:name="Result",type=string,JSONPath=`.status.progress.summary`,description="The progress, and at the end the verdict, and the objective with the baseline and the leader."
// +kubebuilder:printcolumn:name="Best",type=string,JSONPath=`.status.best`,description="The best configuration: the baseline until another one is proven to be better.",priority=1
// +kubebuilder:printcolumn:name="Δ",type=string,JSONPath=`.status.effect`,description="The difference of the best configuration to the baseline.",priority=1
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.verdict`,description="The verdict on the leading configuration.",priority=1
// +kubebuilder:printcolumn:name="Scope",type=string,JSONPath=`.status.scope`,description="What the verdict speaks for.",priority=1
// +kubebuilder:printcolumn:name="Restored",type=string,JSONPath=`.status.conditions[?(@.type=="Restored")].reason`,description="Whether all settings of Ceph are restored.",priority=1
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`,description="The CephCluster.",priority=1
// +kubebuilder:printcolumn:name="Cluster namespace",type=string,JSONPath=`.spec.clusterRef.namespace`,description="The namespace of the CephCluster.",priority=1
// +kubebuilder:printcolumn:name="Run",type=string,JSONPath=`.status.observedRunID`,description="The run that status describes.",priority=1
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.schedule.nextTime`,description="When the next run is due.",priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:selectablefield:JSONPath=`.spec.clusterRef.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.clusterRef.namespace`
// +kubebuilder:selectablefield:JSONPath=`.status.phase`
// +kubebuilder:selectablefield:JSONPath=`.status.verdict`
type CephTuningSweep struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says what to vary, and how to judge the configurations.
	// +required
	Spec CephTuningSweepSpec `json:"spec"`

	// status has the progress and the results of the sweep. Its observedGeneration is -1 until the operator
	// has seen the object. Without the -1, tools that follow the kstatus convention, such as Flux, would
	// regard a new object as done.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status CephTuningSweepStatus `json:"status,omitzero"`
}

// CephTuningSweepList is a list of CephTuningSweeps.
//
// +kubebuilder:object:root=true
type CephTuningSweepList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []CephTuningSweep `json:"items"`
}

// SweepMode says how far a sweep goes.
// +kubebuilder:validation:Enum=Run;Plan
type SweepMode string

// The modes.
const (
	// SweepModeRun runs the sweep.
	SweepModeRun SweepMode = "Run"
	// SweepModePlan writes the plan into status and changes nothing in Ceph.
	SweepModePlan SweepMode = "Plan"
)

// CompletionPolicy says which settings stay applied after a sweep.
// +kubebuilder:validation:Enum=Restore;KeepBest
type CompletionPolicy string

// The policies.
const (
	// CompletionRestore restores every setting that the sweep changed.
	CompletionRestore CompletionPolicy = "Restore"
	// CompletionKeepBest leaves the settings of a winner applied. The field onCompletion defines a winner.
	CompletionKeepBest CompletionPolicy = "KeepBest"
)

// Rules of CephTuningSweepSpec.
//
// Rules about the objective:
// +kubebuilder:validation:XValidation:message="objective.phase must name a phase of template.phases that is not the
//    background load",
//   rule="self.template.phases.exists(p, p.name == self.objective.phase && p.name != $templateBackground)"
// +kubebuilder:validation:XValidation:message="radosBench has only Bandwidth, IOPS, LatencyMean and LatencyMax: to
//    optimize a percentile, name a fio phase in objective, such as one with engine RADOS",
//   rule="self.template.phases.all(p, p.name != self.objective.phase ||
//        !has(p.radosBench) ||
//        self.objective.metric in $radosBenchMetrics)"
// +kubebuilder:validation:XValidation:message="rbdBench has only Bandwidth and IOPS: to optimize a latency, name a
//    fio phase in objective, such as one with engine RBD",
//   rule="self.template.phases.all(p, p.name != self.objective.phase ||
//        !has(p.rbdBench) ||
//        self.objective.metric in ['Bandwidth', 'IOPS'])"
// +kubebuilder:validation:XValidation:message="objective.direction Read or Write is for phases that both read and
//    write: leave direction out",
//   rule="self.objective.direction == 'Total' ||
//      self.template.phases.all(p, p.name != self.objective.phase ||
//        (has(p.rbdBench) && p.rbdBench.ioType == 'ReadWrite') ||
//        (has(p.fio) && (has(p.fio.jobs) || p.fio.pattern in ['ReadWrite', 'RandReadWrite'])))"
// +kubebuilder:validation:XValidation:message="without a rate, a phase is a closed loop, whose percentiles hide
//    stalls: set rateIOPS or rateBandwidth in the phase, or closedLoop: true in the objective or constraint",
//   rule="self.template.phases.all(p, !has(p.fio) ||
//        $phaseHasRate ||
//        self.parameters.exists(q, has(q.workload) &&
//          q.workload.field == 'rateIOPS' &&
//          has(q.workload.phase) &&
//          q.workload.phase == p.name) ||
//        ((self.objective.phase != p.name ||
//          !self.objective.metric.startsWith('LatencyP') ||
//          (has(self.objective.closedLoop) && self.objective.closedLoop)) &&
//          (!has(self.constraints) ||
//            self.constraints.all(c, c.phase != p.name ||
//              !c.metric.startsWith('LatencyP') ||
//              (has(c.closedLoop) && c.closedLoop)))))"
// +kubebuilder:validation:XValidation:message="only the phase that template.outage names has TimeToClean and
//    latencies of a window, such as P99Outage: name that phase in objective, and leave direction out",
//   rule="!self.objective.metric.matches($outageMetrics) ||
//      (has(self.template.outage) &&
//        self.template.outage.phase == self.objective.phase &&
//        self.objective.direction == 'Total')"
// +kubebuilder:validation:XValidation:message="only a phase with fio.curve has SustainableIOPS, and only for all
//    operations: name such a phase in objective and constraints, and leave direction out",
//   rule="(self.objective.metric != 'SustainableIOPS' ||
//        (self.objective.direction == 'Total' &&
//          self.template.phases.exists(p, p.name == self.objective.phase && has(p.fio) && has(p.fio.curve)))) &&
//      (!has(self.constraints) ||
//        self.constraints.all(c, c.metric != 'SustainableIOPS' ||
//          (c.direction == 'Total' &&
//            self.template.phases.exists(p, p.name == c.phase && has(p.fio) && has(p.fio.curve)))))"
//
// Rules about constraints:
// +kubebuilder:validation:XValidation:message="only the phase that template.outage names has TimeToClean and
//    latencies of a window, such as P99Outage: name that phase in constraints, and leave direction out",
//   rule="!has(self.constraints) ||
//      self.constraints.all(c, !c.metric.matches($outageMetrics) ||
//        (has(self.template.outage) && self.template.outage.phase == c.phase && c.direction == 'Total'))"
// +kubebuilder:validation:XValidation:message="every constraint must name a phase of template.phases that is not the
//    background load",
//   rule="!has(self.constraints) ||
//      self.constraints.all(c, self.template.phases.exists(p, p.name == c.phase && p.name != $templateBackground))"
// +kubebuilder:validation:XValidation:message="radosBench has only Bandwidth, IOPS, LatencyMean and LatencyMax: to
//    constrain a percentile, name a fio phase, such as one with engine RADOS",
//   rule="!has(self.constraints) ||
//      self.constraints.all(c,
//        self.template.phases.all(p, p.name != c.phase || !has(p.radosBench) || c.metric in $radosBenchMetrics))"
// +kubebuilder:validation:XValidation:message="rbdBench has only Bandwidth and IOPS: to constrain a latency, name a
//    fio phase, such as one with engine RBD",
//   rule="!has(self.constraints) ||
//      self.constraints.all(c,
//        self.template.phases.all(p, p.name != c.phase || !has(p.rbdBench) || c.metric in ['Bandwidth', 'IOPS']))"
// +kubebuilder:validation:XValidation:message="direction Read or Write of a constraint is for phases that both read
//    and write: leave direction out",
//   rule="!has(self.constraints) ||
//      self.constraints.all(c, c.direction == 'Total' ||
//        self.template.phases.all(p, p.name != c.phase ||
//          (has(p.rbdBench) && p.rbdBench.ioType == 'ReadWrite') ||
//          (has(p.fio) && (has(p.fio.jobs) || p.fio.pattern in ['ReadWrite', 'RandReadWrite']))))"
//
// Rules about configurations and the baseline:
// +kubebuilder:validation:XValidation:message="give every parameter values, or give configurations instead",
//   rule="has(self.configurations) || self.parameters.all(p, has(p.values))"
// +kubebuilder:validation:XValidation:message="values and configurations exclude each other: leave out the values of
//    every parameter, or leave out configurations",
//   rule="!has(self.configurations) || self.parameters.all(p, !has(p.values))"
// +kubebuilder:validation:XValidation:message="configurations must give values only to names in parameters",
//   rule="!has(self.configurations) ||
//      self.configurations.all(c, c.values.all(k, self.parameters.exists(p, p.name == k)))"
// +kubebuilder:validation:XValidation:message="a configuration named baseline has to be the one that
//    baseline.configuration names",
//   rule="!has(self.configurations) ||
//      self.configurations.all(c, c.name != 'baseline' ||
//        (has(self.baseline) && has(self.baseline.configuration) && self.baseline.configuration == 'baseline'))"
// +kubebuilder:validation:XValidation:message="baseline.values must give values only to names in parameters",
//   rule="!has(self.baseline) ||
//      !has(self.baseline.values) ||
//      self.baseline.values.all(k, self.parameters.exists(p, p.name == k))"
// +kubebuilder:validation:XValidation:message="baseline.configuration must name one of configurations",
//   rule="!has(self.baseline) ||
//      !has(self.baseline.configuration) ||
//      (has(self.configurations) && self.configurations.exists(c, c.name == self.baseline.configuration))"
// +kubebuilder:validation:XValidation:message="the grid has more than 64 configurations: give fewer values, or use
//    strategy.search LatinHypercube",
//   rule="has(self.configurations) ||
//      self.strategy.search != 'Grid' ||
//      [[0, 1, 2, 3, 4, 5].map(i, i < self.parameters.size() && has(self.parameters[i].values)
//        ? self.parameters[i].values.size()
//        : 1)].all(n,
//        n[0] * n[1] * n[2] * n[3] * n[4] * n[5] <= 64)"
//
// Rules about parameters and the target:
// +kubebuilder:validation:XValidation:message="method PoolPerValue needs a scratchPool as target: use InPlace on an
//    existing pool",
//   rule="has(self.template.target.scratchPool) ||
//      self.parameters.all(p, !has(p.poolOption) || !has(p.poolOption.method) || p.poolOption.method == 'InPlace')"
// +kubebuilder:validation:XValidation:message="method InPlace needs an existing pool: leave method out, and each run
//    gets a scratchPool with its values",
//   rule="!has(self.template.target.scratchPool) ||
//      self.parameters.all(p, !has(p.poolOption) ||
//        !has(p.poolOption.method) ||
//        p.poolOption.method == 'PoolPerValue')"
// +kubebuilder:validation:XValidation:message="size and min_size of existing pools are never varied: vary size of a
//    scratchPool, and Ceph derives min_size from it",
//   rule="has(self.template.target.scratchPool) ||
//      self.parameters.all(p, !has(p.poolOption) || !(p.poolOption.option in ['size', 'min_size']))"
// +kubebuilder:validation:XValidation:message="options that alter stored data, such as compression, are varied on a
//    scratchPool only",
//   rule="has(self.template.target.scratchPool) ||
//      self.parameters.all(p, !has(p.poolOption) ||
//        !p.poolOption.option.matches('^(compression_|csum_|allow_ec_|fingerprint_|dedup_)'))"
// +kubebuilder:validation:XValidation:message="poolOption.pool cannot be set if the target is a scratchPool, because
//    the sweep varies the scratchPool itself: leave pool out",
//   rule="!has(self.template.target.scratchPool) ||
//      self.parameters.all(p, !has(p.poolOption) || !has(p.poolOption.pool))"
// +kubebuilder:validation:XValidation:message="with a persistentVolumeClaim as target, poolOption.pool must name the
//    pool that stores the volume",
//   rule="!has(self.template.target.persistentVolumeClaim) ||
//      self.parameters.all(p, !has(p.poolOption) || has(p.poolOption.pool))"
// +kubebuilder:validation:XValidation:message="role Metadata needs a target with two pools: an erasureCoded
//    scratchPool or an existingPool with a dataPool",
//   rule="(has(self.template.target.scratchPool) && has(self.template.target.scratchPool.erasureCoded)) ||
//      (has(self.template.target.existingPool) && has(self.template.target.existingPool.dataPool)) ||
//      self.parameters.all(p, !has(p.poolOption) || p.poolOption.role == 'Data')"
// +kubebuilder:validation:XValidation:message="workload.phase must name a phase of template.phases that is not the
//    background load",
//   rule="self.parameters.all(p, !has(p.workload) ||
//        !has(p.workload.phase) ||
//        self.template.phases.exists(f, f.name == p.workload.phase && f.name != $templateBackground))"
// +kubebuilder:validation:XValidation:message="workload.field names a field that the engine of workload.phase does
//    not have: radosBench has concurrency, blockSize and objectSize; rbdBench has ioThreads and ioSize; fio has
//    ioDepth, numJobs, blockSize and rateIOPS",
//   rule="self.parameters.all(p, !has(p.workload) ||
//        !has(p.workload.phase) ||
//        p.workload.field == 'clients' ||
//        self.template.phases.all(f, f.name != p.workload.phase ||
//          (has(f.radosBench) && p.workload.field in ['concurrency', 'blockSize', 'objectSize']) ||
//          (has(f.rbdBench) && p.workload.field in ['ioThreads', 'ioSize']) ||
//          (has(f.fio) && p.workload.field in ['ioDepth', 'numJobs', 'blockSize', 'rateIOPS'])))"
// +kubebuilder:validation:XValidation:message="osdCount needs a scratchPool as target: a sweep never moves the data
//    of existing pools",
//   rule="has(self.template.target.scratchPool) || self.parameters.all(p, !has(p.osdCount))"
// +kubebuilder:validation:XValidation:message="osdCount needs target.scratchPool.parameters.pg_num: placement groups
//    are placed one by one, and their number must not change between runs",
//   rule="!has(self.template.target.scratchPool) ||
//      self.parameters.all(p, !has(p.osdCount)) ||
//      (has(self.template.target.scratchPool.parameters) && 'pg_num' in self.template.target.scratchPool.parameters)"
// +kubebuilder:validation:XValidation:message="only one of the parameters can be osdCount",
//   rule="self.parameters.filter(p, has(p.osdCount)).size() <= 1"
// +kubebuilder:validation:XValidation:message="osdCount needs a baseline: set target.scratchPool.osdSelection.count, or
//    baseline",
//   rule="!has(self.template.target.scratchPool) ||
//      has(self.template.target.scratchPool.osdSelection) ||
//      self.parameters.all(p, !has(p.osdCount) ||
//        (has(self.baseline) &&
//          (has(self.baseline.configuration) || (has(self.baseline.values) && p.name in self.baseline.values))))"
// +kubebuilder:validation:XValidation:message="deviceClass needs a scratchPool as target: a sweep never moves the
//    data of existing pools",
//   rule="has(self.template.target.scratchPool) || self.parameters.all(p, !has(p.deviceClass))"
// +kubebuilder:validation:XValidation:message="deviceClass needs target.scratchPool.parameters.pg_num: otherwise
//    pg_num would depend on the number of OSDs of each class",
//   rule="!has(self.template.target.scratchPool) ||
//      self.parameters.all(p, !has(p.deviceClass)) ||
//      (has(self.template.target.scratchPool.parameters) && 'pg_num' in self.template.target.scratchPool.parameters)"
// +kubebuilder:validation:XValidation:message="only one of the parameters can be deviceClass",
//   rule="self.parameters.filter(p, has(p.deviceClass)).size() <= 1"
// +kubebuilder:validation:XValidation:message="deviceClass needs a baseline: set target.scratchPool.deviceClass, or
//    baseline",
//   rule="!has(self.template.target.scratchPool) ||
//      has(self.template.target.scratchPool.deviceClass) ||
//      self.parameters.all(p, !has(p.deviceClass) ||
//        (has(self.baseline) &&
//          (has(self.baseline.configuration) || (has(self.baseline.values) && p.name in self.baseline.values))))"
// +kubebuilder:validation:XValidation:message="redundancy needs a scratchPool as target, with parameters.pg_num and
//    without osdSelection: otherwise the redundancy would also change the number of placement groups or the choice of OSDs",
//   rule="self.parameters.all(p, !has(p.redundancy)) ||
//      (has(self.template.target.scratchPool) &&
//        has(self.template.target.scratchPool.parameters) &&
//        'pg_num' in self.template.target.scratchPool.parameters &&
//        !has(self.template.target.scratchPool.osdSelection))"
// +kubebuilder:validation:XValidation:message="only one of the parameters can be redundancy, and the others cannot be
//    osdCount, the option size, or options of role Metadata",
//   rule="self.parameters.all(p, !has(p.redundancy)) ||
//      (self.parameters.filter(p, has(p.redundancy)).size() == 1 &&
//        self.parameters.all(p, !has(p.osdCount) &&
//          (!has(p.poolOption) || (p.poolOption.option != 'size' && p.poolOption.role == 'Data'))))"
// +kubebuilder:validation:XValidation:message="only one of the parameters can be storageClass, and it needs
//    target.persistentVolumeClaim.template: an existing claim keeps its class",
//   rule="self.parameters.filter(p, has(p.storageClass)).size() <= (has(self.template.target.persistentVolumeClaim) &&
//        has(self.template.target.persistentVolumeClaim.template)
//        ? 1
//        : 0)"
// +kubebuilder:validation:XValidation:message="initialState Rollback is for the repetitions of a CephBenchmark: the
//    runs of a sweep prefill data of their own, or share those of their block, so leave initialState out, or use
//    Fresh",
//   rule="!has(self.template.initialState) || self.template.initialState != 'Rollback'"
// +kubebuilder:validation:XValidation:message="onCompletion KeepBest needs a setting that can stay applied after the
//    sweep: config, or poolOption of an existing pool",
//   rule="self.onCompletion != 'KeepBest' ||
//      self.parameters.exists(p, has(p.config) || (has(p.poolOption) && !has(self.template.target.scratchPool)))"
// +kubebuilder:validation:XValidation:message="failOn Superior and onCompletion KeepBest exclude each other: a winner
//    is either kept or refused",
//   rule="!has(self.failOn) || self.onCompletion != 'KeepBest' || !('Superior' in self.failOn)"
// +kubebuilder:validation:XValidation:message="schedule gives each run its run ID: leave runID out",
//   rule="!has(self.schedule) || self.runID == '1'"

// CephTuningSweepSpec says what to vary, and how to judge the configurations.
type CephTuningSweepSpec struct {
	// clusterRef is the CephCluster to tune.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterRef is immutable: create another CephTuningSweep for another cluster"
	ClusterRef ClusterReference `json:"clusterRef"`

	// mode is Run or Plan. Plan writes the plan into status, and changes nothing in Ceph.
	// +optional
	// +kubebuilder:default=Run
	Mode SweepMode `json:"mode,omitempty"`

	// runID names one execution of the spec. Change it to start another execution. If an execution is
	// active, the operator first ends it, and restores the settings that it changed.
	// +optional
	// +kubebuilder:default="1"
	RunID RunID `json:"runID,omitempty"`

	// schedule says when runs are due, in place of runID.
	// +optional
	Schedule *Schedule `json:"schedule,omitempty"`

	// suspend ends the current run or session, restores all changed settings, and then waits. Meanwhile no time of
	// the schedule is due. When suspend
	// is false again, the interrupted block or session starts from its beginning.
	// +optional
	// +kubebuilder:default=false
	Suspend bool `json:"suspend,omitempty"`

	// template says what is measured for each configuration, and how.
	// +required
	Template BenchmarkTemplate `json:"template"`

	// parameters say what the sweep varies, such as options of Ceph or the load. Every combination of their
	// values is a configuration, unless you list configurations or use search LatinHypercube.
	// +required
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=6
	Parameters []Parameter `json:"parameters"`

	// configurations are the configurations to compare, each with its values. If set, leave out the values
	// of parameters.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	Configurations []Configuration `json:"configurations,omitempty"`

	// baseline is the configuration that all others are compared with. If unset, it has the
	// values that the cluster and the template have when the sweep is planned.
	// +optional
	Baseline *Baseline `json:"baseline,omitempty"`

	// objective is the figure by which configurations are compared.
	// +required
	Objective Objective `json:"objective"`

	// constraints are limits for further figures, such as a latency. A configuration wins only if the
	// confidence intervals of these figures show that it keeps all constraints.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	Constraints []Constraint `json:"constraints,omitempty"`

	// strategy says how configurations are chosen, and how often runs are repeated.
	// +optional
	// +kubebuilder:default={}
	Strategy Strategy `json:"strategy,omitzero"`

	// confidence is the confidence of the verdicts. The probability that the sweep wrongly calls one or
	// more of its configurations Superior is at most one minus confidence. The same limit holds for Better.
	// +optional
	// +kubebuilder:default="95%"
	// +kubebuilder:validation:XValidation:rule="double(self.split('%')[0]) >= 80.0 && double(self.split('%')[0]) <= 99.9",message="must be between 80% and 99.9%"
	Confidence Percent `json:"confidence,omitempty"`

	// quiescence says when the cluster is quiet enough to be measured, and what follows from a disturbance.
	// +optional
	// +kubebuilder:default={}
	Quiescence Quiescence `json:"quiescence,omitzero"`

	// guardrails limit what the sweep may do to the cluster and its users.
	// +optional
	// +kubebuilder:default={}
	Guardrails Guardrails `json:"guardrails,omitzero"`

	// budget limits what the sweep may use. If it has no room for the next block, run or session, the
	// sweep ends with the results so far.
	// +optional
	// +kubebuilder:default={}
	Budget Budget `json:"budget,omitzero"`

	// maintenanceWindow is when changes to Ceph may start. If unset, they may start at any time. When it
	// closes, a run or session that has begun continues to its end. Then the sweep restores the settings.
	// When it opens again, the interrupted block starts from its beginning.
	// +optional
	MaintenanceWindow *MaintenanceWindow `json:"maintenanceWindow,omitempty"`

	// window is the old name of maintenanceWindow. The operator obeys it in objects from before the change.
	// +optional
	// +kubebuilder:validation:XValidation:rule="false",message="window is now maintenanceWindow: rename it"
	Window *MaintenanceWindow `json:"window,omitempty"`

	// onCompletion is Restore or KeepBest. KeepBest leaves the settings of a winner applied. A winner is a
	// configuration that is Superior and keeps every constraint. In the design Blocks, if several
	// configurations are compared, the confirmation has to show that the winner is Superior. status.scope
	// has to be at least keepScope. If the winner's settings cannot be applied again, or OSDs do not run with
	// them, the sweep restores the original values.
	// +optional
	// +kubebuilder:default=Restore
	OnCompletion CompletionPolicy `json:"onCompletion,omitempty"`

	// keepScope is the smallest status.scope with which KeepBest leaves a winner's settings applied. Pools
	// accepts a verdict about three or more pools in one hour, and Pool one about a single pool.
	// +optional
	// +kubebuilder:default=Cluster
	// +kubebuilder:validation:XValidation:rule="self != 'Windows'",message="must be Pool, Pools or Cluster: a verdict about windows of seconds is not enough to keep settings"
	KeepScope SweepScope `json:"keepScope,omitempty"`

	// failOn lists the verdicts with which the sweep ends as Failed instead of Complete, after the restore.
	// Argo CD, Flux and kubectl wait react to Failed. If unset, the sweep ends as Complete with any
	// verdict. A sweep in mode Plan has no verdict. You may change the list at any time, even after the
	// sweep has ended.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=5
	FailOn []SweepVerdict `json:"failOn,omitempty"`

	// historyLimit is how many of the latest runs or sessions keep their full results. Status always has
	// the figures that decide the verdict.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=400
	HistoryLimit int32 `json:"historyLimit,omitempty"`

	// rawOutput says when the results include the engines' own output. With OnFailure, only the
	// results of Invalid or Failed runs include it.
	// +optional
	// +kubebuilder:default=OnFailure
	RawOutput RawOutputPolicy `json:"rawOutput,omitempty"`
}

// Rules of Objective.
//
// The rule removes the percent sign with split(), not with replace(), because gofmt turns the empty string
// of CEL in a comment into a quotation mark.
// +kubebuilder:validation:XValidation:message="equivalence must be above 0% and at most minimumEffect",
//   rule="double(self.equivalence.split('%')[0]) > 0.0 &&
//      double(self.equivalence.split('%')[0]) <= double(self.minimumEffect.split('%')[0])"

// Objective is the figure by which configurations are compared. Larger is better for Bandwidth
// and IOPS, smaller for latencies and TimeToClean.
type Objective struct {
	MetricReference `json:",inline"`

	// closedLoop accepts a percentile of a phase without a rate. While the cluster stalls, the clients of such
	// a closed loop send nothing, so the percentile hides the stall. status.summary then says ClosedLoop.
	// +optional
	ClosedLoop bool `json:"closedLoop,omitempty"`

	// minimumEffect is the improvement that a configuration has to exceed to be Superior. The design Interleaved
	// adds an allowance for stalls that a sweep of minutes cannot see: with 10%, Superior needs 14.6%.
	// +optional
	// +kubebuilder:default="10%"
	MinimumEffect Percent `json:"minimumEffect,omitempty"`

	// equivalence is the difference, in either direction, below which a configuration is
	// Equivalent to the baseline.
	// +optional
	// +kubebuilder:default="5%"
	Equivalence Percent `json:"equivalence,omitempty"`
}

// Rules of Constraint.
//
// +kubebuilder:validation:XValidation:message="a limit of a latency or of TimeToClean is a time, such as 20ms",
//   rule="!self.metric.matches($times) || $limitsAreTimes"
// +kubebuilder:validation:XValidation:message="a limit of Bandwidth is bytes per second, such as 400Mi; a limit of
//    IOPS is a number, such as 5k",
//   rule="self.metric.matches($times) || $limitsAreNumbers"

// Constraint is a figure that must not get worse than a limit.
//
// +kubebuilder:validation:ExactlyOneOf=maximumRegression;atMost;atLeast
type Constraint struct {
	MetricReference `json:",inline"`

	// closedLoop accepts a percentile of a phase without a rate. While the cluster stalls, the clients of such
	// a closed loop send nothing, so the percentile hides the stall. The plan and the report then say ClosedLoop.
	// +optional
	ClosedLoop bool `json:"closedLoop,omitempty"`

	// maximumRegression is how much worse than the baseline the figure may be. It has to be below 100%.
	// +optional
	MaximumRegression Percent `json:"maximumRegression,omitempty"`

	// atMost is the largest value that keeps the constraint. It has to be above 0.
	// +optional
	AtMost Threshold `json:"atMost,omitempty"`

	// atLeast is the smallest value that keeps the constraint. It has to be above 0.
	// +optional
	AtLeast Threshold `json:"atLeast,omitempty"`
}

// Search says how configurations are chosen.
// +kubebuilder:validation:Enum=Grid;LatinHypercube
type Search string

// The searches.
const (
	// SearchGrid tries every combination of values, or every entry of configurations.
	SearchGrid Search = "Grid"
	// SearchLatinHypercube tries a sample of the combinations that covers every parameter evenly.
	SearchLatinHypercube Search = "LatinHypercube"
)

// SweepDesign says how configurations are compared.
// +kubebuilder:validation:Enum=Auto;Blocks;Interleaved
type SweepDesign string

// The designs.
const (
	// DesignAuto lets the operator choose Interleaved or Blocks; strategy.design says how it chooses.
	DesignAuto SweepDesign = "Auto"
	// DesignBlocks measures each configuration in separate runs.
	DesignBlocks SweepDesign = "Blocks"
	// DesignInterleaved switches the settings under one running load.
	DesignInterleaved SweepDesign = "Interleaved"
)

// Rules of Interleaved.
//
// The rules use has() for fields that have defaults: see Strategy.
//
// +kubebuilder:validation:XValidation:message="two sessions of long windows are too few for a verdict: give 3 or
//    more, or 1 for a verdict about switched windows",
//   rule="!has(self.sessions) || self.sessions != 2"
// +kubebuilder:validation:XValidation:message="with sessions: 1, pairs is the number of pairs after which the session
//    ends at the latest: give 8, 12, 18, 28, 40 or 60, or leave pairs out",
//   rule="!has(self.sessions) || self.sessions != 1 || !has(self.pairs) || self.pairs in [8, 12, 18, 28, 40, 60]"
// +kubebuilder:validation:XValidation:message="daily needs sessions on three or more days: give sessions 3 or more,
//    or leave daily out",
//   rule="!has(self.daily) || !self.daily || !has(self.sessions) || self.sessions != 1"

// Interleaved says how often settings are switched under a running load. A session is one long phase, with
// a new scratch pool if the target is a scratchPool. A window is the time between two switches, with one
// setting applied. During a session, windows of the baseline and of the other configurations follow each
// other in random order.
type Interleaved struct {
	// sessions is the largest number of valid sessions of long windows. In each of them, the baseline and one
	// configuration stay applied for longWindow each. If several configurations are compared, a session of
	// short windows comes first, and selects that configuration. If configurations are targets that stand at
	// once, such as pools with different pg_num, each session has fresh ones, and compares all of them in short
	// windows. The sweep ends earlier if the first three or more sessions decide. See status.scope for what the
	// verdict speaks for. One session is the quick mode: a session of short windows, whose verdict has the scope
	// Windows. The quick mode checks the windows after 8, 12, 18, 28, 40 and 60 pairs. It ends at the first check
	// that decides on every configuration, at one that shows the winner, or after `pairs`. A configuration on
	// which a check has decided has no further windows.
	// +optional
	// +kubebuilder:default=6
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=12
	Sessions int32 `json:"sessions,omitempty"`

	// pairs is how many pairs of short windows a session has for each configuration. One window of each pair
	// has the baseline's settings, and the other has those of the configuration. Several configurations share
	// the windows of the baseline. If unset, pairs is 8, or 4 in several sessions of standing targets. In the
	// quick mode (one session), pairs is the largest number of pairs: 8, 12, 18, 28, 40 or 60. If unset in the
	// quick mode, pairs is the largest of these numbers that the budget allows. A smaller number allows fewer
	// checks, so each check may decide at a weaker level of evidence. But fewer pairs prove only larger effects.
	// With three or more sessions, a single configuration has no short windows, unless it is a standing target.
	// +optional
	// +kubebuilder:validation:Minimum=4
	// +kubebuilder:validation:Maximum=60
	// +kubebuilder:validation:MultipleOf=2
	Pairs int32 `json:"pairs,omitempty"`

	// window is the length of a short window: how long a setting stays applied before the next one. The first
	// three tenths of that time do not count, because the setting takes effect during them. The default is 8s, and
	// 10s for the objective SustainableIOPS, where a window has one step of a curve.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('8s') && duration(self) <= duration('60s')",message="must be between 8s and 60s"
	Window *metav1.Duration `json:"window,omitempty"`

	// longWindow is the length of a long window. Its first three fifths do not count. The verdict speaks of
	// settings that had settled for that time. Effects of a switch with a time constant of up to a sixth of
	// longWindow do not distort it.
	// +optional
	// +kubebuilder:default="60s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('60s') && duration(self) <= duration('30m')",message="must be between 60s and 30m"
	LongWindow *metav1.Duration `json:"longWindow,omitempty"`

	// daily spreads the sessions of long windows over days: each begins at least 18 hours after the previous
	// one ended, within window if that is set. In between, settings are restored, and the lock is free.
	// +optional
	Daily bool `json:"daily,omitempty"`
}

// Rules of Strategy.
//
// The rules here, in Blocks and in Interleaved use has() for fields that have defaults: the API server
// applies the rules to the default of strategy, {}, before it fills in the defaults of these fields.
//
// +kubebuilder:validation:XValidation:message="samples is required for search LatinHypercube: for Grid, leave samples
//    out",
//   rule="(has(self.search) && self.search == 'LatinHypercube') == has(self.samples)"

// Strategy says how configurations are chosen, and how often runs are repeated.
type Strategy struct {
	// search is Grid or LatinHypercube. Grid tries every combination of values. LatinHypercube tries a
	// sample of the combinations that covers every parameter evenly. If you list configurations, the sweep
	// tries those instead.
	// +optional
	// +kubebuilder:default=Grid
	Search Search `json:"search,omitempty"`

	// samples is the largest number of configurations that LatinHypercube chooses.
	// +optional
	// +kubebuilder:validation:Minimum=2
	// +kubebuilder:validation:Maximum=64
	Samples *int32 `json:"samples,omitempty"`

	// design is Auto, Blocks or Interleaved. Blocks measures each configuration in separate runs.
	// Interleaved switches settings under one running load, which takes much less time. The administrator
	// has to allow the switching of each option of OSDs. Auto chooses Interleaved on three conditions: it
	// is possible; the template has one phase and osdCaches Keep; and blocks and confirmationBlocks have
	// their defaults. Otherwise Auto chooses Blocks, and status.plan.designReason says why. The fields
	// blocks, controlInterval, racing and confirmationBlocks apply only to Blocks.
	// +optional
	// +kubebuilder:default=Auto
	Design SweepDesign `json:"design,omitempty"`

	// interleaved applies to the design Interleaved.
	// +optional
	// +kubebuilder:default={}
	Interleaved Interleaved `json:"interleaved,omitzero"`

	// blocks says how often every configuration is run. A block has one run of the baseline and one run of
	// each configuration that is still in the race, in random order. It may have further runs of the
	// baseline: see controlInterval. If the sweep varies pg_num of an existing pool, one block visits its
	// values in ascending order, and the next in descending order. With a single configuration, a block is
	// one pair of runs, and the sweep may have up to twice as many blocks as blocks.max.
	// +optional
	// +kubebuilder:default={}
	Blocks Blocks `json:"blocks,omitzero"`

	// controlInterval is the largest number of runs in a block between two runs of the baseline. The runs
	// of the baseline show drift: how much the cluster itself becomes faster or slower. If the sweep varies
	// pg_num of an existing pool, a block of several configurations has a further run of the baseline at
	// each end instead.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=16
	ControlInterval int32 `json:"controlInterval,omitempty"`

	// racing drops configurations that can no longer win, and ends the sweep as soon as the verdict is
	// decided. If false, the sweep runs all blocks, as far as the budget allows, and only configurations
	// with invalid runs leave earlier.
	// +optional
	// +kubebuilder:default=true
	Racing *bool `json:"racing,omitempty"`

	// confirmationBlocks limits the confirmation, in which the winner of the race and the baseline are
	// measured again in pairs of runs. The confirmation has at most twice confirmationBlocks pairs. If
	// three or more of these pairs count, only they decide the verdict on the winner. If fewer count, the
	// winner is not Superior. A single configuration needs no confirmation, because no winner was chosen
	// among several.
	// +optional
	// +kubebuilder:default=8
	// +kubebuilder:validation:Minimum=3
	// +kubebuilder:validation:Maximum=40
	ConfirmationBlocks int32 `json:"confirmationBlocks,omitempty"`

	// seed determines every random choice. If unset, the operator draws one and writes it into status.plan.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=9007199254740991
	Seed *int64 `json:"seed,omitempty"`
}

// Blocks limits how often every configuration is run.
// +kubebuilder:validation:XValidation:rule="!has(self.min) || !has(self.max) || self.min <= self.max",message="blocks.min must be at most blocks.max"
type Blocks struct {
	// min is the smallest number of blocks after which a sweep may end because its verdict is decided. It
	// applies to the race and, if the confirmation may have that many blocks, to the confirmation. A sweep
	// that ends early, for example because of its budget, may have a verdict from three blocks. In a sweep
	// without constraints, racing may drop a configuration after only two blocks, if it is far behind the
	// best one.
	// +optional
	// +kubebuilder:default=4
	// +kubebuilder:validation:Minimum=3
	// +kubebuilder:validation:Maximum=40
	Min int32 `json:"min,omitempty"`

	// max is the largest number of blocks of the race, the stage before the confirmation. With a
	// single configuration, the race may have twice as many.
	// +optional
	// +kubebuilder:default=12
	// +kubebuilder:validation:Minimum=3
	// +kubebuilder:validation:Maximum=40
	Max int32 `json:"max,omitempty"`
}

// RestartPolicy says whether OSDs may be restarted.
// +kubebuilder:validation:Enum=Forbid;Allow
type RestartPolicy string

// The policies.
const (
	// RestartForbid refuses options that need a restart to take effect.
	RestartForbid RestartPolicy = "Forbid"
	// RestartAllow restarts all OSDs, one at a time, before each run and after the restore, if a varied
	// option needs a restart.
	RestartAllow RestartPolicy = "Allow"
)

// Guardrails limit what a sweep may do to the cluster and its users.
type Guardrails struct {
	// maxFailedRuns is the number of failed runs that the sweep tolerates. After one more, the sweep ends
	// with the results so far. Runs that were disturbed, or during which another client changed a setting,
	// count as failed. Failed runs of a configuration that leaves the race because its runs are invalid do
	// not count. In the design Interleaved, the field limits invalid sessions instead.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	MaxFailedRuns *int32 `json:"maxFailedRuns,omitempty"`

	// osdRestarts is Forbid or Allow. With Allow, the sweep restarts all OSDs, one at a time, before each
	// run and after the restore, if OSDs read a varied option only when they start. The administrator also
	// has to grant the power to restart OSDs.
	// +optional
	// +kubebuilder:default=Forbid
	OSDRestarts RestartPolicy `json:"osdRestarts,omitempty"`

	// settleFor is how long the settings of a configuration must have been in effect, with all placement
	// groups clean, before a run begins. In the design Interleaved, each configuration is tried for that
	// long before the first session, and the baseline again before each later session. If unset, settleFor
	// is 30s. A sweep that varies neither config nor an option of an existing pool does not wait. If
	// settleFor is only a few seconds, the sweep may not notice that mClock or another client undoes the
	// change later.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5s') && duration(self) <= duration('1h')",message="must be between 5s and 1h"
	SettleFor *metav1.Duration `json:"settleFor,omitempty"`

	// settleTimeout is how long the cluster may take to apply a change and to settle, including settleFor.
	// If unset, it is 15m, or 2h for a change of pg_num. If the cluster takes longer, the run fails. In the
	// design Interleaved, the sweep fails instead.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('1m') && duration(self) <= duration('24h')",message="must be between 1m and 24h"
	SettleTimeout *metav1.Duration `json:"settleTimeout,omitempty"`

	// foreignClients are limits that protect the other users of the cluster. If two checks in a row find the
	// same limit broken during a run or session, the sweep stops and restores its changes.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	ForeignClients []ForeignClientLimit `json:"foreignClients,omitempty"`
}

// ForeignClientMetric is a figure that shows how well the users of a pool are served.
// +kubebuilder:validation:Enum=Bandwidth;IOPS;OSDLatency
type ForeignClientMetric string

// The metrics.
const (
	// ForeignBandwidth is the bytes per second of all clients of the pool.
	ForeignBandwidth ForeignClientMetric = "Bandwidth"
	// ForeignIOPS is the operations per second of all clients of the pool.
	ForeignIOPS ForeignClientMetric = "IOPS"
	// ForeignOSDLatency is the worst commit latency of all OSDs, whether or not they store the pool.
	ForeignOSDLatency ForeignClientMetric = "OSDLatency"
)

// Rules of ForeignClientLimit.
//
// +kubebuilder:validation:XValidation:message="a limit of OSDLatency is atMost and a time, such as 50ms",
//   rule="self.metric != 'OSDLatency' || (has(self.atMost) && string(self.atMost).endsWith('s'))"
// +kubebuilder:validation:XValidation:message="a limit of Bandwidth is bytes per second, such as 400Mi; a limit of
//    IOPS is a number, such as 5k",
//   rule="self.metric == 'OSDLatency' || $limitsAreNumbers"

// ForeignClientLimit is a limit that protects the users of a pool.
//
// +kubebuilder:validation:ExactlyOneOf=atMost;atLeast
type ForeignClientLimit struct {
	// pool is the pool whose users are protected.
	// +required
	Pool PoolName `json:"pool"`

	// metric is the figure that is watched.
	// +required
	Metric ForeignClientMetric `json:"metric"`

	// atMost is the largest value that is tolerated.
	// +optional
	AtMost Threshold `json:"atMost,omitempty"`

	// atLeast is the smallest value that is tolerated.
	// +optional
	AtLeast Threshold `json:"atLeast,omitempty"`
}

// Budget limits what a sweep may use. If the budget has no room for the next block, run or session, the
// sweep ends. The verdict is then based on the complete blocks or valid sessions.
type Budget struct {
	// duration limits the time of all runs or sessions and of the restore. Time in which the sweep waits
	// for the lock or for maintenanceWindow, or is suspended, does not count. If unset, there is no limit.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('5m') && duration(self) <= duration('720h')",message="must be between 5m and 720h"
	Duration *metav1.Duration `json:"duration,omitempty"`

	// bytesWritten limits the bytes that clients and the background load write, counted before replication.
	// Prefills count; the pilots of rbdBench, which are short trial runs, do not. In the design
	// Interleaved, the writes of the background load are not measured, but count as estimated in the plan. A
	// session of windows that reaches the limit ends after its current block of windows.
	// +optional
	// +kubebuilder:default="1Ti"
	// +kubebuilder:validation:XIntOrString
	// +kubebuilder:validation:MaxLength=24
	// +kubebuilder:validation:XValidation:rule="quantity(string(self)).isInteger() && quantity(string(self)).asInteger() >= 1048576",message="must be at least 1Mi, in whole bytes"
	BytesWritten resource.Quantity `json:"bytesWritten,omitzero"`
}

// Weekday is a day of the week.
// +kubebuilder:validation:Enum=Monday;Tuesday;Wednesday;Thursday;Friday;Saturday;Sunday
type Weekday string

// MaintenanceWindow is a time of the day in which changes to Ceph may start. At any time, the sweep may
// restore settings, and apply those of a winner to keep them.
// +kubebuilder:validation:XValidation:rule="self.start != self.end",message="start and end must differ; leave maintenanceWindow out for the whole day"
type MaintenanceWindow struct {
	// start is the beginning of the window, such as `22:00`.
	// +required
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]$`
	Start string `json:"start"`

	// end is the end of the window. It is on the next day if it is before start.
	// +required
	// +kubebuilder:validation:MaxLength=5
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]$`
	End string `json:"end"`

	// days are the days on which the window starts. If unset, the window starts every day.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=7
	Days []Weekday `json:"days,omitempty"`

	// timeZone is the time zone of start and end, by its name in the IANA database.
	// +optional
	// +kubebuilder:default="Etc/UTC"
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`
	TimeZone string `json:"timeZone,omitempty"`
}
