package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Rules of CephBenchmark.
//
// +kubebuilder:validation:XValidation:message="reference must name another CephBenchmark: a new run would replace the
//    results of this one",
//   rule="!has(self.spec.expectations) ||
//      self.spec.expectations.all(e, !has(e.reference) || e.reference != self.metadata.name)"
// +kubebuilder:validation:XValidation:message="template, diagnosis, expectations, quiescence and repetitions are fixed
//    for a run: change runID in the same edit to run again with the new values; with a schedule, wait until the run
//    ends",
//   rule="$mayChange ||
//      (has(self.spec.template) == has(oldSelf.spec.template) &&
//        (!has(self.spec.template) || self.spec.template == oldSelf.spec.template) &&
//        has(self.spec.diagnosis) == has(oldSelf.spec.diagnosis) &&
//        (!has(self.spec.diagnosis) || self.spec.diagnosis == oldSelf.spec.diagnosis) &&
//        has(self.spec.otherTargets) == has(oldSelf.spec.otherTargets) &&
//        (!has(self.spec.otherTargets) || self.spec.otherTargets == oldSelf.spec.otherTargets) &&
//        has(self.spec.expectations) == has(oldSelf.spec.expectations) &&
//        (!has(self.spec.expectations) || self.spec.expectations == oldSelf.spec.expectations) &&
//        self.spec.quiescence == oldSelf.spec.quiescence &&
//        self.spec.repetitions == oldSelf.spec.repetitions)"

// CephBenchmark measures a Ceph cluster. Its status has the results.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cephbenchmarks,scope=Namespaced,shortName=cephbench,categories=ceph
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="The present activity."
// +kubebuilder:printcolumn:name="Result",type=string,JSONPath=`.status.progress.summary`,description="The progress, and at the end the main figure of the first phase."
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.verdict`,description="Whether the expectations were met.",priority=1
// +kubebuilder:printcolumn:name="Trial of",type=string,JSONPath=`.status.trial.sweep`,description="The CephTuningSweep that created the benchmark.",priority=1
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`,description="The CephCluster.",priority=1
// +kubebuilder:printcolumn:name="Cluster namespace",type=string,JSONPath=`.spec.clusterRef.namespace`,description="The namespace of the CephCluster.",priority=1
// +kubebuilder:printcolumn:name="Run",type=string,JSONPath=`.status.observedRunID`,description="The run that status describes.",priority=1
// +kubebuilder:printcolumn:name="Next",type=string,JSONPath=`.status.schedule.nextTime`,description="When the next run is due.",priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:selectablefield:JSONPath=`.spec.clusterRef.name`
// +kubebuilder:selectablefield:JSONPath=`.spec.clusterRef.namespace`
// +kubebuilder:selectablefield:JSONPath=`.status.phase`
// +kubebuilder:selectablefield:JSONPath=`.status.verdict`
type CephBenchmark struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec says what to measure.
	// +required
	Spec CephBenchmarkSpec `json:"spec"`

	// status has the results. Its observedGeneration is -1 until the operator has seen the object.
	// Without that -1, tools that follow the kstatus convention, such as Flux, would regard a new object as
	// done.
	// +optional
	// +kubebuilder:default:={"observedGeneration":-1}
	Status CephBenchmarkStatus `json:"status,omitzero"`
}

// CephBenchmarkList is a list of CephBenchmarks.
//
// +kubebuilder:object:root=true
type CephBenchmarkList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitzero"`

	Items []CephBenchmark `json:"items"`
}

// Rules of CephBenchmarkSpec.
//
// +kubebuilder:validation:XValidation:message="every expectation must name a phase of template.phases that is not the
//    background load",
//   rule="!has(self.template) || !has(self.expectations) ||
//      self.expectations.all(e, self.template.phases.exists(p, p.name == e.phase && p.name != $templateBackground))"
// +kubebuilder:validation:XValidation:message="radosBench has only Bandwidth, IOPS, LatencyMean and LatencyMax: to
//    limit a percentile, name a fio phase, such as one with engine RADOS",
//   rule="!has(self.template) || !has(self.expectations) ||
//      self.expectations.all(e,
//        self.template.phases.all(p, p.name != e.phase || !has(p.radosBench) || e.metric in $radosBenchMetrics))"
// +kubebuilder:validation:XValidation:message="rbdBench has only Bandwidth and IOPS: to limit a latency, name a fio
//    phase, such as one with engine RBD",
//   rule="!has(self.template) || !has(self.expectations) ||
//      self.expectations.all(e,
//        self.template.phases.all(p, p.name != e.phase || !has(p.rbdBench) || e.metric in ['Bandwidth', 'IOPS']))"
// +kubebuilder:validation:XValidation:message="direction Read or Write is for phases that both read and write: leave
//    direction out",
//   rule="!has(self.template) || !has(self.expectations) ||
//      self.expectations.all(e, e.direction == 'Total' ||
//        self.template.phases.all(p, p.name != e.phase ||
//          (has(p.rbdBench) && p.rbdBench.ioType == 'ReadWrite') ||
//          (has(p.fio) && (has(p.fio.jobs) || p.fio.pattern in ['ReadWrite', 'RandReadWrite']))))"
// +kubebuilder:validation:XValidation:message="without a rate, a phase is a closed loop, whose percentiles hide
//    stalls: set rateIOPS or rateBandwidth in the phase, or closedLoop: true in the expectation",
//   rule="!has(self.template) || !has(self.expectations) ||
//      self.template.phases.all(p, !has(p.fio) ||
//        $phaseHasRate ||
//        self.expectations.all(e, e.phase != p.name ||
//          !e.metric.startsWith('LatencyP') ||
//          (has(e.closedLoop) && e.closedLoop)))"
// +kubebuilder:validation:XValidation:message="only a phase with fio.curve has SustainableIOPS, and only for all
//    operations: name such a phase, and leave direction out",
//   rule="!has(self.template) || !has(self.expectations) ||
//      self.expectations.all(e, e.metric != 'SustainableIOPS' ||
//        (e.direction == 'Total' &&
//          self.template.phases.exists(p, p.name == e.phase && has(p.fio) && has(p.fio.curve))))"
// +kubebuilder:validation:XValidation:message="failOn needs expectations: without them there is no verdict",
//   rule="!has(self.failOn) || has(self.expectations)"
// +kubebuilder:validation:XValidation:message="only the phase that template.outage names has TimeToClean and
//    latencies of a window, such as P99Outage: name that phase, and leave direction out",
//   rule="!has(self.template) || !has(self.expectations) ||
//      self.expectations.all(e, !e.metric.matches($outageMetrics) ||
//        (has(self.template.outage) && self.template.outage.phase == e.phase && e.direction == 'Total'))"
// +kubebuilder:validation:XValidation:message="a CephBenchmark changes nothing in Ceph: use scrub Record, Invalidate
//    or Abort, or pause scrubs in a CephTuningSweep",
//   rule="self.quiescence.scrub != 'Pause'"
// +kubebuilder:validation:XValidation:message="otherTargets and template.target must be scratch pools, or templates of
//    claims: a CephTuningSweep sets otherTargets, so leave it out",
//   rule="!has(self.template) || !has(self.otherTargets) ||
//      (has(self.template.target.scratchPool) && self.otherTargets.all(t, has(t.scratchPool))) ||
//      (has(self.template.target.persistentVolumeClaim) &&
//        has(self.template.target.persistentVolumeClaim.template) &&
//        self.otherTargets.all(t,
//          has(t.persistentVolumeClaim) &&
//          has(t.persistentVolumeClaim.template) &&
//          t.persistentVolumeClaim.template.volumeMode ==
//            self.template.target.persistentVolumeClaim.template.volumeMode))"
// +kubebuilder:validation:XValidation:message="a diagnosis judges by itself: leave out expectations and otherTargets",
//   rule="!has(self.diagnosis) || (!has(self.expectations) && !has(self.otherTargets))"
// +kubebuilder:validation:XValidation:message="schedule gives each run its run ID: leave runID out",
//   rule="!has(self.schedule) || self.runID == '1'"

// CephBenchmarkSpec says what to measure.
//
// +kubebuilder:validation:ExactlyOneOf=template;diagnosis
type CephBenchmarkSpec struct {
	// clusterRef is the CephCluster to measure.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterRef is immutable: create another CephBenchmark for another cluster"
	ClusterRef ClusterReference `json:"clusterRef"`

	// runID names one execution of the spec. Change it to start another execution. If the current execution
	// already has clients, the new execution waits until the current one ends. Otherwise the new execution
	// replaces the current one.
	// +optional
	// +kubebuilder:default="1"
	RunID RunID `json:"runID,omitempty"`

	// schedule says when runs are due, in place of runID.
	// +optional
	Schedule *Schedule `json:"schedule,omitempty"`

	// suspend keeps the benchmark from starting, or stops it after its current phase. Meanwhile no time of the schedule
	// is due. During an outage, or if
	// the manager cannot connect to the client, suspend does not wait for the end of the phase. When suspend
	// is false again, the interrupted repetition starts from its beginning.
	// +optional
	// +kubebuilder:default=false
	Suspend bool `json:"suspend,omitempty"`

	// repetitions is how often all phases run. Results have 95 % intervals only if at least three
	// repetitions are valid.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	Repetitions int32 `json:"repetitions,omitempty"`

	// template says what is measured, and how.
	// +optional
	Template BenchmarkTemplate `json:"template,omitzero"`

	// diagnosis asks why the cluster is slow, in place of a measurement. Then repetitions, historyLimit,
	// acknowledgedUntil and rawOutput have no effect.
	// +optional
	Diagnosis *Diagnosis `json:"diagnosis,omitempty"`

	// otherTargets are targets of the same type that stand beside template.target: scratch pools, or claims to be
	// created. In each window of a session, a CephTuningSweep makes all clients load one of these targets. Only a
	// CephTuningSweep sets this field.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=6
	OtherTargets []Target `json:"otherTargets,omitempty"`

	// expectations are limits for figures. With expectations, the benchmark has a verdict, unless an error
	// ended it: Passed, Failed, Inconclusive or Invalid.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Expectations []Expectation `json:"expectations,omitempty"`

	// failOn lists the verdicts with which the benchmark ends as Failed instead of Complete. Argo CD, Flux
	// and kubectl wait react to Failed. If unset, a benchmark with any verdict except Invalid ends as
	// Complete. You may change the list at any time, even after the benchmark has ended.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:XValidation:rule="!('Passed' in self)",message="failOn lists verdicts that are not good enough: Failed, Inconclusive or Invalid"
	FailOn []BenchmarkVerdict `json:"failOn,omitempty"`

	// quiescence says when the cluster is quiet enough to be measured, and what follows from a disturbance.
	// +optional
	// +kubebuilder:default={}
	Quiescence Quiescence `json:"quiescence,omitzero"`

	// historyLimit is how many of the latest run IDs keep their full results.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	HistoryLimit int32 `json:"historyLimit,omitempty"`

	// acknowledgedUntil is a date in UTC, such as `2026-03-14`. A change for the worse that may have begun on or before it
	// is known and accepted: condition Regressed does not count it. A date in the future has no effect yet. You may change
	// it at any time; that starts no run.
	// +optional
	// +kubebuilder:validation:Format=date
	// +kubebuilder:validation:MaxLength=32
	AcknowledgedUntil string `json:"acknowledgedUntil,omitempty"`

	// rawOutput says when the results include the engines' own output. With OnFailure, only the
	// results of Invalid or Failed runs include it.
	// +optional
	// +kubebuilder:default=OnFailure
	RawOutput RawOutputPolicy `json:"rawOutput,omitempty"`
}

// Rules of Expectation.
//
// +kubebuilder:validation:XValidation:message="maximumRegression and reference go together: set both, with the name
//    of the CephBenchmark to compare with",
//   rule="has(self.maximumRegression) == has(self.reference)"
// +kubebuilder:validation:XValidation:message="referenceUID needs reference, the name of the CephBenchmark with that
//    UID",
//   rule="!has(self.referenceUID) || has(self.reference)"
// +kubebuilder:validation:XValidation:message="maximumRegression must be above 0% and below 100%",
//   rule="!has(self.maximumRegression) ||
//      double(self.maximumRegression.split('%')[0]) > 0.0 && double(self.maximumRegression.split('%')[0]) < 100.0"
// +kubebuilder:validation:XValidation:message="LatencyMax has no interval, so it cannot be compared with a reference:
//    use LatencyP99 or atMost",
//   rule="!has(self.maximumRegression) || self.metric != 'LatencyMax'"
// +kubebuilder:validation:XValidation:message="a limit of a latency or of TimeToClean is a time, such as 20ms",
//   rule="!self.metric.matches($times) || $limitsAreTimes"
// +kubebuilder:validation:XValidation:message="a limit of Bandwidth is bytes per second, such as 400Mi; a limit of
//    IOPS is a number, such as 5k",
//   rule="self.metric.matches($times) || $limitsAreNumbers"

// Expectation is a limit for a figure. The limit is a value, or the maximum regression from the results of
// another CephBenchmark.
//
// +kubebuilder:validation:ExactlyOneOf=atMost;atLeast;maximumRegression
type Expectation struct {
	MetricReference `json:",inline"`

	// atMost is the largest value that meets the expectation.
	// +optional
	AtMost Threshold `json:"atMost,omitempty"`

	// atLeast is the smallest value that meets the expectation.
	// +optional
	AtLeast Threshold `json:"atLeast,omitempty"`

	// maximumRegression is how much worse than the reference's figure this figure may be, such as `10%`.
	// Worse means lower for Bandwidth and IOPS, and higher for latencies and TimeToClean. The interval of
	// the ratio of the two figures decides. The outcome is Unknown if the limit is within the interval, or
	// if no interval exists.
	// +optional
	MaximumRegression Percent `json:"maximumRegression,omitempty"`

	// reference is the name of another CephBenchmark in the same namespace. It must have measured the same
	// workload on the same target. All runs with one run ID are an execution. The comparison uses the executions
	// whose results the reference keeps, up to its latest 60 runs. The latest execution does not count if it
	// is unfinished or Failed. If the reference has executions on at least three days, the interval of the
	// ratio includes the differences between days: set historyLimit of the reference to 3 or more, so that
	// it keeps enough executions. The interval also grows with the time since these days. With fewer days, the
	// outcome is Unknown, unless thisHour is set.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`
	Reference string `json:"reference,omitempty"`

	// referenceUID is the metadata.uid of the reference. If the CephBenchmark with the name has another UID,
	// because somebody deleted the reference and created it again, the outcome is Unknown. Without
	// referenceUID, any CephBenchmark with the name counts, and status.summary has its UID.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`
	ReferenceUID string `json:"referenceUID,omitempty"`

	// closedLoop accepts a percentile of a phase without a rate. While the cluster stalls, the clients of such
	// a closed loop send nothing, so the percentile hides the stall. status.summary then says "in a closed loop".
	// +optional
	ClosedLoop bool `json:"closedLoop,omitempty"`

	// thisHour accepts a reference with executions on fewer than three days. The outcome then holds only for the
	// hour of the reference's latest execution.
	// +optional
	ThisHour bool `json:"thisHour,omitempty"`
}

// BenchmarkVerdict says whether the expectations were met.
// +kubebuilder:validation:Enum=Passed;Failed;Inconclusive;Invalid
type BenchmarkVerdict string

// The verdicts.
const (
	// BenchmarkPassed means that every expectation was met.
	BenchmarkPassed BenchmarkVerdict = "Passed"
	// BenchmarkFailed means that at least one expectation was missed.
	BenchmarkFailed BenchmarkVerdict = "Failed"
	// BenchmarkInconclusive means that no expectation was missed, but at least one outcome is Unknown. For
	// example, an interval contains its limit, or too few runs are valid for an interval.
	BenchmarkInconclusive BenchmarkVerdict = "Inconclusive"
	// BenchmarkInvalid means that no run is valid.
	BenchmarkInvalid BenchmarkVerdict = "Invalid"
)

// CephBenchmarkStatus has the results. It stays below 128 KiB. The ConfigMaps that `runs` names
// have the full results.
type CephBenchmarkStatus struct {
	// observedGeneration is the generation of the spec that status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// observedRunID is the run ID that status describes.
	// +optional
	ObservedRunID RunID `json:"observedRunID,omitempty"`

	// schedule says what spec.schedule has requested.
	// +optional
	Schedule *ScheduleStatus `json:"schedule,omitempty"`

	// phase is the present activity or the final state: the reason of condition Ready. It is a field of its own, so that
	// field selectors can use it.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	Phase string `json:"phase,omitempty"`

	// conditions are Ready, Reconciling and Stalled, which follow the kstatus convention; Complete and Failed, which
	// follow Kubernetes Jobs; and Regressed, which compares run IDs with each other.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// progress says how far the benchmark has come.
	// +optional
	Progress *Progress `json:"progress,omitempty"`

	// trial says for which run of which CephTuningSweep the operator created the benchmark. It is absent for
	// all other benchmarks, whatever owner they name.
	// +optional
	Trial *BenchmarkTrial `json:"trial,omitempty"`

	// startTime is when the execution of observedRunID began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when the execution of observedRunID ended, before its teardown.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// headline is the figure of the expectation that decides, with its limit, such as
	// `read LatencyP99 64.2ms, at most 200ms`; without expectations, the main figure of the first phase, such as
	// `randread-4k 5.47k IOPS (4.85k–6.18k), closed-loop p99 5.8ms`. In brackets is the 95 % interval, if there is one.
	// +optional
	// +kubebuilder:validation:MaxLength=96
	Headline string `json:"headline,omitempty"`

	// verdict says whether the expectations were met. It is empty without expectations, before the benchmark
	// has ended, and if an error ended the benchmark.
	// +optional
	Verdict BenchmarkVerdict `json:"verdict,omitempty"`

	// summary is the outcome in a few sentences.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Summary string `json:"summary,omitempty"`

	// phases are the results of each phase over all valid runs.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Phases []PhaseResult `json:"phases,omitempty"`

	// expectations are the outcomes of spec.expectations, in the same order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Expectations []ExpectationResult `json:"expectations,omitempty"`

	// diagnosis is the outcome of spec.diagnosis.
	// +optional
	Diagnosis *DiagnosisResult `json:"diagnosis,omitempty"`

	// runs are the runs of observedRunID so far, in order. A diagnosis that has ended is one run.
	// +optional
	// +listType=map
	// +listMapKey=number
	// +kubebuilder:validation:MaxItems=20
	Runs []BenchmarkRun `json:"runs,omitempty"`

	// history says where the figures of the nights are, which outlast spec.historyLimit. It is absent before a second
	// run ID has results.
	// +optional
	History *BenchmarkHistory `json:"history,omitempty"`

	// clients identifies the Jobs that the operator created for observedRunID. Other Jobs with their names are
	// not the operator's.
	// +optional
	Clients *BenchmarkClients `json:"clients,omitempty"`

	// environment describes what the results depend on. The hardware of nodes is not recorded.
	// +optional
	Environment *Environment `json:"environment,omitempty"`

	// poolOSDs are the IDs of the OSDs to which target.scratchPool.osdSelection confines the scratch pool.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=100000
	PoolOSDs []int32 `json:"poolOSDs,omitempty"`

	// slowOSDs are OSDs that were slower than their peers in the same phase of more than half of the valid
	// runs. In each phase of a run, only the slowest three count. At most three are listed. The first is the
	// slowest relative to its peers.
	// +optional
	// +listType=map
	// +listMapKey=osd
	// +kubebuilder:validation:MaxItems=3
	SlowOSDs []SlowOSD `json:"slowOSDs,omitempty"`

	// spaceEfficiency is how much space the data in the target's pools took when the pools held the most
	// data. It is absent for a persistentVolumeClaim, whose pool is unknown. It is absent with an outage,
	// because OSDs that are down do not report their usage. It is also absent with initialState Rollback,
	// because snapshots share space with their images.
	// +optional
	SpaceEfficiency *SpaceEfficiency `json:"spaceEfficiency,omitempty"`
}

// BenchmarkTrial says for which run or session of a sweep a benchmark was created. The operator records it when the
// benchmark begins, after it has verified the benchmark's signature and UID.
type BenchmarkTrial struct {
	// sweep is the name of the CephTuningSweep, in the same namespace.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Sweep string `json:"sweep"`

	// uid is the UID of the CephTuningSweep.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	UID types.UID `json:"uid"`

	// runID is the run ID of the CephTuningSweep.
	// +required
	RunID RunID `json:"runID"`

	// number is the number of the run or the session, from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	Number int32 `json:"number"`

	// design is Interleaved for a session, and Blocks for a run.
	// +required
	Design SweepDesign `json:"design"`

	// specDigest identifies what runID fixes in the spec of the benchmark.
	// +required
	// +kubebuilder:validation:MaxLength=64
	SpecDigest string `json:"specDigest"`

	// pool says how the benchmark uses the scratch pool that the runs of a block share. It is absent if the
	// benchmark does not share one.
	// +optional
	Pool *SharedPool `json:"pool,omitempty"`
}

// SlowOSD is an OSD whose commit latency was far above that of its peers. Peers are the other OSDs of its
// device class that have placement groups of the target and reported commit latencies above 0. For a
// persistentVolumeClaim, OSDs without placement groups of the target are peers too.
type SlowOSD struct {
	// osd is the ID of the OSD.
	// +required
	// +kubebuilder:validation:Minimum=0
	OSD int32 `json:"osd"`

	// phase is the phase in which the OSD differed most from its peers.
	// +required
	Phase PhaseName `json:"phase"`

	// commitLatency is the OSD's commit latency in `phase`, in seconds: the median over the runs in which
	// the OSD was slow.
	// +required
	CommitLatency Decimal `json:"commitLatency"`

	// peersCommitLatency is the median commit latency of the OSD and its peers, in seconds, in the same
	// phase and runs as commitLatency.
	// +required
	PeersCommitLatency Decimal `json:"peersCommitLatency"`

	// relativeWork is the rate of client operations that the OSD served as primary, divided by the median
	// rate of the OSD and its peers. The value is the median over the runs in which the OSD was slow. If it
	// is at most 1, the OSD itself is slow. If it is above 1, the OSD may only be busy. The field is absent
	// if Ceph did not report the operations.
	// +optional
	RelativeWork Decimal `json:"relativeWork,omitempty"`

	// runs is the number of valid runs in which the OSD was slow in `phase`.
	// +required
	// +kubebuilder:validation:Minimum=1
	Runs int32 `json:"runs"`
}

// SpaceEfficiency compares the bytes that clients stored with the space that these bytes take on the OSDs,
// according to `ceph df`. Copies and coding chunks increase that space; compression reduces it.
type SpaceEfficiency struct {
	// storedBytes is how many bytes clients stored in the target's pools.
	// +required
	// +kubebuilder:validation:Minimum=0
	StoredBytes int64 `json:"storedBytes"`

	// usedBytes is how many bytes the stored data takes on the OSDs.
	// +required
	// +kubebuilder:validation:Minimum=0
	UsedBytes int64 `json:"usedBytes"`

	// theoreticalBytes is how many bytes the data would take with copies or coding chunks alone:
	// without metadata, without compression, and without a minimum size on disk for each object.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TheoreticalBytes int64 `json:"theoreticalBytes,omitempty"`

	// clusterUsedBytes is how many bytes all OSDs together used for all purposes, when storedBytes was
	// measured.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ClusterUsedBytes int64 `json:"clusterUsedBytes,omitempty"`

	// clusterUsedBytesBefore is how many bytes all OSDs together used before the benchmark created
	// anything. Even an OSD without data uses some space, for its database and its log. The field is absent
	// if the operator was restarted after it had created the clients.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ClusterUsedBytesBefore int64 `json:"clusterUsedBytesBefore,omitempty"`
}

// ResultMark is a fact that a reader of a result has to know.
// +kubebuilder:validation:Enum=Cached;Warmed;ClosedLoop;BelowRate;Saturated;OffSchedule;SharedImage;Throttled;Starved;NotSteady;Disturbed
type ResultMark string

// The marks.
const (
	// MarkCached means that the OSDs' caches may have served many reads of the phase. The data of all
	// clients is less than twice as large as these caches, or the size of the caches is unknown. The volume
	// of a claim may be outside Ceph, for example on a local disk. Then the OSDs' caches do not matter.
	MarkCached ResultMark = "Cached"
	// MarkWarmed means that the phase reads, and that the clients read all its data once before the phase.
	// The OSDs' caches then held as much of the data as fits.
	MarkWarmed ResultMark = "Warmed"
	// MarkClosedLoop means that latency percentiles were measured, although the phase or one of its
	// jobs has no fixed rate.
	MarkClosedLoop ResultMark = "ClosedLoop"
	// MarkBelowRate means that the clients did less than 95% of the offered rate, by more than chance
	// explains. If the phase reads and writes, both directions are below 95%. The latencies are then those
	// of a cluster or a client at its limit. A fio phase with a list of jobs does not get this mark.
	MarkBelowRate ResultMark = "BelowRate"
	// MarkSaturated means that the number of operations that were due but not done grew until the end of the
	// phase. The phase has no latencies. In a benchmark with one run, they miss any limit.
	MarkSaturated ResultMark = "Saturated"
	// MarkOffSchedule means that a client's generator did not follow its schedule, through no fault of the
	// storage. The phase has no latencies.
	MarkOffSchedule ResultMark = "OffSchedule"
	// MarkSharedImage means that clients shared an image and its lock.
	MarkSharedImage ResultMark = "SharedImage"
	// MarkThrottled means that the CPU limit stopped a client for more than 1% of the measured time.
	MarkThrottled ResultMark = "Throttled"
	// MarkStarved means that a client or its host lacked CPU, for another reason than the CPU limit: the CPUs of the host were busy for more than
	// 90% of the time or saturated for more than 25% of it, the hypervisor took more than 5% of them, or the
	// client waited for a CPU for more than 25% of the time. Hosts without clients are not observed.
	MarkStarved ResultMark = "Starved"
	// MarkNotSteady means that the rate was still changing in the second half of the measured time, or that
	// nothing completed after the warm-up. An rbdBench phase, or a phase with an outage, does not get this
	// mark.
	MarkNotSteady ResultMark = "NotSteady"
	// MarkDisturbed means that a disturbance was seen during the phase. Status has only the marks of valid
	// runs, so there, the disturbance did not make its run invalid.
	MarkDisturbed ResultMark = "Disturbed"
)

// PhaseResult is the result of one phase over all valid runs.
type PhaseResult struct {
	// name is the name of the phase.
	// +required
	Name PhaseName `json:"name"`

	// validRuns is the number of valid runs, from which the figures are computed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	ValidRuns int32 `json:"validRuns"`

	// marks are facts that a reader of the figures has to know.
	// ---
	// A phase has at most nine of the eleven marks, because ClosedLoop excludes BelowRate, Saturated and
	// OffSchedule, and Throttled excludes Starved.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=9
	Marks []ResultMark `json:"marks,omitempty"`

	// metrics are the figures: at most eight for reads, eight for writes, eight for both
	// together, nine for an outage, and one for a curve.
	// +optional
	// +listType=map
	// +listMapKey=metric
	// +listMapKey=direction
	// +kubebuilder:validation:MaxItems=34
	Metrics []MetricResult `json:"metrics,omitempty"`

	// curve says how the curve of the phase ended in the latest valid run.
	// +optional
	Curve *CurveResult `json:"curve,omitempty"`

	// backgroundIOPS is how many operations per second the background load did while the phase was
	// measured: the geometric mean of all valid runs. If the engine of the background load reports no
	// figures over time, the rate of the whole run is used. The full results have the other figures of the
	// background load.
	// +optional
	BackgroundIOPS Decimal `json:"backgroundIOPS,omitempty"`
}

// MetricResult is one figure with its interval.
type MetricResult struct {
	// metric names the figure.
	// +required
	Metric Metric `json:"metric"`

	// direction says which operations the figure covers.
	// +optional
	// +kubebuilder:default=Total
	Direction Direction `json:"direction,omitempty"`

	// value is the figure over all valid runs: in bytes per second for Bandwidth, operations per second for
	// IOPS, and seconds for the other metrics. It is the geometric mean of the runs, with three exceptions.
	// A percentile of the whole phase covers the operations of all runs together. A percentile of a part of
	// the phase, such as P99Outage, is the median of the runs' percentiles. LatencyMax is the longest
	// operation of all runs.
	// +required
	Value Decimal `json:"value"`

	// low is the lower end of the 95 % interval for the figure of a typical run. It is absent for fewer than
	// three valid runs, and for LatencyMax. SustainableIOPS also has it with fewer runs: then it is that of the curve.
	// +optional
	Low Decimal `json:"low,omitempty"`

	// high is the upper end of the 95 % interval for the figure of a typical run.
	// +optional
	High Decimal `json:"high,omitempty"`

	// text is value with its unit, and with its interval if there is one, for people: `412 MiB/s (400 MiB/s to 420 MiB/s)`.
	// Only figures with direction Total have it.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Text string `json:"text,omitempty"`
}

// ExpectationOutcome says whether an expectation was met.
// +kubebuilder:validation:Enum=Met;Missed;Unknown
type ExpectationOutcome string

// The outcomes.
const (
	ExpectationMet     ExpectationOutcome = "Met"
	ExpectationMissed  ExpectationOutcome = "Missed"
	ExpectationUnknown ExpectationOutcome = "Unknown"
)

// ExpectationResult is the outcome of an expectation, with the figure.
type ExpectationResult struct {
	MetricReference `json:",inline"`

	// outcome is Met, Missed or Unknown.
	// +required
	Outcome ExpectationOutcome `json:"outcome"`

	// value is the figure over all valid runs of this benchmark, in the unit of the metric. It is
	// absent if the figure is unknown.
	// +optional
	Value Decimal `json:"value,omitempty"`

	// mark is ClosedLoop if value is a percentile, and the phase or one of its jobs has no fixed rate.
	// In such a closed loop, a client sends an operation only when an earlier one is complete. So the
	// percentile does not show how long a client with a fixed rate would wait.
	// +optional
	Mark ResultMark `json:"mark,omitempty"`
}

// RunState is the state of a run.
// +kubebuilder:validation:Enum=Running;Valid;Invalid;Failed
type RunState string

// The states.
const (
	RunRunning RunState = "Running"
	RunValid   RunState = "Valid"
	RunInvalid RunState = "Invalid"
	RunFailed  RunState = "Failed"
)

// DataState is the state in which a run found its prefilled data.
// +kubebuilder:validation:Enum=Prefilled;Used;RolledBack
type DataState string

// The states of data.
const (
	// DataPrefilled means that the data was just written.
	DataPrefilled DataState = "Prefilled"
	// DataUsed means that earlier runs or pilots have used the data. Pilots are short trial runs that
	// determine the size of an rbdBench phase.
	DataUsed DataState = "Used"
	// DataRolledBack means that the images were just rolled back to their prefilled data.
	DataRolledBack DataState = "RolledBack"
)

// BenchmarkRun is one run of all phases.
type BenchmarkRun struct {
	// number is the number of the run within observedRunID, from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	Number int32 `json:"number"`

	// state is the state of the run.
	// +required
	State RunState `json:"state"`

	// reason says why the run is Invalid or Failed.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// startTime is when the first phase of the run began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// startSpread is an upper bound, in seconds, of the time between the first and the last client's start
	// of a phase. The phase with the largest bound counts.
	// +optional
	StartSpread Decimal `json:"startSpread,omitempty"`

	// initialState is the state in which the run found its prefilled data. It is empty if no
	// phase works on prefilled data. See template.initialState.
	// +optional
	InitialState DataState `json:"initialState,omitempty"`

	// results is the name of the ConfigMap with the full results of the run.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Results string `json:"results,omitempty"`

	// resultsDigest is the SHA-256 digest of the full results as they are stored, in hexadecimal. A ConfigMap
	// with another digest is not the operator's. The field is absent if an earlier version of the operator
	// wrote the results, without a signature.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	ResultsDigest string `json:"resultsDigest,omitempty"`
}

// BenchmarkHistory says where the nights of a benchmark are: the figures and the environment of each run ID that had a
// valid run.
type BenchmarkHistory struct {
	// results is the name of the ConfigMap with the nights.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Results string `json:"results"`

	// resultsDigest is the SHA-256 digest of the nights as they are stored, in hexadecimal. A ConfigMap with another
	// digest is not the operator's.
	// +required
	// +kubebuilder:validation:MaxLength=64
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	ResultsDigest string `json:"resultsDigest"`
}

// BenchmarkClients identifies the Jobs of a benchmark's clients.
type BenchmarkClients struct {
	// nonce is a random text that the operator records before it creates the Jobs. Their signatures cover it.
	// It is empty if an earlier version of the operator began observedRunID.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Nonce string `json:"nonce,omitempty"`

	// jobUID is the UID of the clients' Job.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	JobUID types.UID `json:"jobUID,omitempty"`

	// backgroundJobUID is the UID of the background load's Job.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	BackgroundJobUID types.UID `json:"backgroundJobUID,omitempty"`
}
