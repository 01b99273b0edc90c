package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// CephBenchmark measures a Ceph cluster and writes what it measured into its
// status.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=cephbenchmarks,scope=Namespaced,shortName=cephbench,categories=ceph
// +kubebuilder:printcolumn:name="Phase",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`,description="What goes on at present."
// +kubebuilder:printcolumn:name="Progress",type=string,JSONPath=`.status.progress.summary`,description="How far the run is."
// +kubebuilder:printcolumn:name="Result",type=string,JSONPath=`.status.headline`,description="The figure that the first phase is about."
// +kubebuilder:printcolumn:name="Verdict",type=string,JSONPath=`.status.verdict`,description="Whether the expectations were met."
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterRef.name`,description="The CephCluster.",priority=1
// +kubebuilder:printcolumn:name="Run",type=string,JSONPath=`.status.observedRunID`,description="The run that status is about.",priority=1
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type CephBenchmark struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitzero"`

	// spec is what to measure.
	// +required
	Spec CephBenchmarkSpec `json:"spec"`

	// status is what was measured. Its observedGeneration is -1 until the operator has
	// looked: kstatus takes an object without any for done.
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

// CephBenchmarkSpec is what to measure.
//
// +kubebuilder:validation:XValidation:rule="!has(self.expectations) || self.expectations.all(e, self.template.phases.exists(p, p.name == e.phase))",message="every expectation must name a phase of template.phases"
// +kubebuilder:validation:XValidation:rule="!has(self.expectations) || self.expectations.all(e, self.template.phases.all(p, p.name != e.phase || !has(p.radosBench) || e.metric in ['Bandwidth', 'IOPS', 'LatencyMean', 'LatencyMax']))",message="radosBench gives Bandwidth, IOPS, LatencyMean and LatencyMax: for percentiles expect them of a fio phase, such as one with engine RADOS"
// +kubebuilder:validation:XValidation:rule="!has(self.expectations) || self.expectations.all(e, self.template.phases.all(p, p.name != e.phase || !has(p.rbdBench) || e.metric in ['Bandwidth', 'IOPS']))",message="rbdBench gives Bandwidth and IOPS: for latencies expect them of a fio phase, such as one with engine RBD"
// +kubebuilder:validation:XValidation:rule="!has(self.expectations) || self.expectations.all(e, e.direction == 'Total' || self.template.phases.all(p, p.name != e.phase || (has(p.rbdBench) && p.rbdBench.ioType == 'ReadWrite') || (has(p.fio) && (has(p.fio.jobs) || p.fio.pattern in ['ReadWrite', 'RandReadWrite']))))",message="direction Read or Write is for phases that mix both: leave it out"
// +kubebuilder:validation:XValidation:rule="!has(self.failOn) || has(self.expectations)",message="failOn needs expectations: without them there is no verdict"
// +kubebuilder:validation:XValidation:rule="!has(self.expectations) || self.expectations.all(e, !e.metric.matches('TimeToClean|Before|Outage|Recovery|After') || (has(self.template.outage) && self.template.outage.phase == e.phase && e.direction == 'Total'))",message="TimeToClean and latencies of a window, such as P99Outage, are figures of the phase that template.outage names, without a direction"
// +kubebuilder:validation:XValidation:rule="self.quiescence.scrub != 'Pause'",message="a CephBenchmark changes nothing in Ceph: use scrub Record, Invalidate or Abort, or pause scrubs in a CephTuningSweep"
// +kubebuilder:validation:XValidation:rule="self.runID != oldSelf.runID || (self.template == oldSelf.template && has(self.expectations) == has(oldSelf.expectations) && (!has(self.expectations) || self.expectations == oldSelf.expectations) && self.quiescence == oldSelf.quiescence && self.repetitions == oldSelf.repetitions)",message="template, expectations, quiescence and repetitions are fixed for a run: change runID in the same edit to run again with the new ones"
type CephBenchmarkSpec struct {
	// clusterRef is the CephCluster to measure.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="clusterRef is immutable: create another CephBenchmark for another cluster"
	ClusterRef ClusterReference `json:"clusterRef"`

	// runID names the run; a change of it means: run again, queued while a run
	// is active.
	// +optional
	// +kubebuilder:default="1"
	RunID RunID `json:"runID,omitempty"`

	// suspend stops the run after its current phase and keeps it from starting.
	// The repetition that was interrupted starts anew afterwards.
	// +optional
	// +kubebuilder:default=false
	Suspend bool `json:"suspend,omitempty"`

	// repetitions is how often all phases are run. Intervals need three.
	// +optional
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	Repetitions int32 `json:"repetitions,omitempty"`

	// template is what is measured and how.
	// +required
	Template BenchmarkTemplate `json:"template"`

	// expectations make the benchmark a gate: its verdict is Passed or Failed.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	Expectations []Expectation `json:"expectations,omitempty"`

	// failOn lists verdicts on which the benchmark ends as Failed rather than
	// Complete, for what waits for it: Argo CD, Flux, kubectl wait. Unset, it is
	// Complete whatever the verdict. It may be changed at any time, also after
	// the end.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +kubebuilder:validation:XValidation:rule="!('Passed' in self)",message="failOn lists what is not accepted: Failed, Inconclusive, Invalid"
	FailOn []BenchmarkVerdict `json:"failOn,omitempty"`

	// quiescence defines when the cluster is quiet enough, and what is done
	// about disturbances.
	// +optional
	// +kubebuilder:default={}
	Quiescence Quiescence `json:"quiescence,omitzero"`

	// historyLimit is the number of runs, the latest ones, whose full results
	// are kept.
	// +optional
	// +kubebuilder:default=5
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	HistoryLimit int32 `json:"historyLimit,omitempty"`

	// rawOutput says when the tools' own output is kept with the results.
	// +optional
	// +kubebuilder:default=OnFailure
	RawOutput RawOutputPolicy `json:"rawOutput,omitempty"`
}

// Expectation is a limit that a figure has to keep.
//
// +kubebuilder:validation:ExactlyOneOf=atMost;atLeast
// +kubebuilder:validation:XValidation:rule="!self.metric.matches('^(Latency|P[59]|TimeToClean)') || [has(self.atMost) ? self.atMost : '0s', has(self.atLeast) ? self.atLeast : '0s'].all(v, v.endsWith('s'))",message="a limit of a latency is a time, such as 20ms; so is one of TimeToClean"
// +kubebuilder:validation:XValidation:rule="self.metric.matches('^(Latency|P[59]|TimeToClean)') || [has(self.atMost) ? self.atMost : '0', has(self.atLeast) ? self.atLeast : '0'].all(v, !v.endsWith('s') && isQuantity(v))",message="a limit of Bandwidth is bytes per second, such as 400Mi; a limit of IOPS is a number, such as 5k"
type Expectation struct {
	MetricReference `json:",inline"`

	// atMost is the largest value that passes.
	// +optional
	AtMost Threshold `json:"atMost,omitempty"`

	// atLeast is the smallest value that passes.
	// +optional
	AtLeast Threshold `json:"atLeast,omitempty"`
}

// BenchmarkVerdict says whether the expectations were met.
// +kubebuilder:validation:Enum=Passed;Failed;Inconclusive;Invalid
type BenchmarkVerdict string

// The verdicts.
const (
	// BenchmarkPassed means that every expectation was met.
	BenchmarkPassed BenchmarkVerdict = "Passed"
	// BenchmarkFailed means that at least one was not.
	BenchmarkFailed BenchmarkVerdict = "Failed"
	// BenchmarkInconclusive means that an interval reaches across its limit, or that too few
	// runs are valid for one.
	BenchmarkInconclusive BenchmarkVerdict = "Inconclusive"
	// BenchmarkInvalid means that no run is valid.
	BenchmarkInvalid BenchmarkVerdict = "Invalid"
)

// CephBenchmarkStatus is what was measured. It stays below 64 KiB; full results
// are in the ConfigMaps that runs name.
type CephBenchmarkStatus struct {
	// observedGeneration is the generation of the spec that status is about.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// observedRunID is the run that status is about.
	// +optional
	ObservedRunID RunID `json:"observedRunID,omitempty"`

	// conditions are Ready, Reconciling and Stalled as kstatus knows them, and
	// Complete and Failed as Jobs have them.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// progress says how far the run is.
	// +optional
	Progress *Progress `json:"progress,omitempty"`

	// startTime is when the run began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when the run ended.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// headline is the figure that the first phase is about, such as
	// `write-4m 412 MiB/s`.
	// +optional
	// +kubebuilder:validation:MaxLength=96
	Headline string `json:"headline,omitempty"`

	// verdict says whether the expectations were met.
	// +optional
	Verdict BenchmarkVerdict `json:"verdict,omitempty"`

	// summary is the outcome in one sentence.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Summary string `json:"summary,omitempty"`

	// phases are the results of each phase over all valid runs.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Phases []PhaseResult `json:"phases,omitempty"`

	// expectations are the outcomes, in the order of the spec.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Expectations []ExpectationResult `json:"expectations,omitempty"`

	// runs are the executions of all phases, the latest 20 of them.
	// +optional
	// +listType=map
	// +listMapKey=number
	// +kubebuilder:validation:MaxItems=20
	Runs []BenchmarkRun `json:"runs,omitempty"`

	// environment is what the results depend on.
	// +optional
	Environment *Environment `json:"environment,omitempty"`

	// osds are the IDs of the OSDs that the scratch pool was confined to, by
	// commas, if target.scratchPool.osds asked for that: as many as fit. The results have all
	// of them.
	// +optional
	// +kubebuilder:validation:MaxLength=256
	OSDs string `json:"osds,omitempty"`

	// slowOSDs were slower than their peers in more than half of the valid runs,
	// the slowest first.
	// +optional
	// +listType=map
	// +listMapKey=osd
	// +kubebuilder:validation:MaxItems=3
	SlowOSDs []SlowOSD `json:"slowOSDs,omitempty"`

	// spaceEfficiency is how much room the data of the target took, when there
	// was the most of it. It is absent with an outage, because OSDs that are down do not report
	// what they hold, and with initialState Rollback, because snapshots share room with their
	// images.
	// +optional
	SpaceEfficiency *SpaceEfficiency `json:"spaceEfficiency,omitempty"`
}

// SlowOSD is an OSD whose commit latency was far above that of the OSDs of its
// device class that serve the target too.
type SlowOSD struct {
	// osd is its ID.
	// +required
	// +kubebuilder:validation:Minimum=0
	OSD int32 `json:"osd"`

	// phase in which it stood out most.
	// +required
	Phase PhaseName `json:"phase"`

	// commitLatency is the OSD's own figure in that phase, in seconds: the median of the runs
	// in which it was slow.
	// +required
	CommitLatency Decimal `json:"commitLatency"`

	// peersCommitLatency is the median of the OSDs of its class in those runs.
	// +required
	PeersCommitLatency Decimal `json:"peersCommitLatency"`

	// relativeWork is the OSD's operations for clients, as their primary, divided by those of
	// its peers: the median of those runs. An OSD that did no more than its peers is slow; one
	// that did more may only be busy. It is absent if Ceph did not report it.
	// +optional
	RelativeWork Decimal `json:"relativeWork,omitempty"`

	// runs is in how many valid runs it was slow.
	// +required
	// +kubebuilder:validation:Minimum=1
	Runs int32 `json:"runs"`
}

// SpaceEfficiency compares what was stored with what it takes on the OSDs, copies,
// coding chunks and compression included, according to `ceph df`.
type SpaceEfficiency struct {
	// storedBytes is what clients stored.
	// +required
	// +kubebuilder:validation:Minimum=0
	StoredBytes int64 `json:"storedBytes"`

	// usedBytes is what it takes on the OSDs.
	// +required
	// +kubebuilder:validation:Minimum=0
	UsedBytes int64 `json:"usedBytes"`

	// theoreticalBytes is what it would take if copies or coding chunks were all
	// there is: neither the smallest room that an object takes, nor metadata, nor
	// compression.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TheoreticalBytes int64 `json:"theoreticalBytes,omitempty"`

	// clusterUsedBytes is what all OSDs together used at that time, for whatever.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ClusterUsedBytes int64 `json:"clusterUsedBytes,omitempty"`

	// clusterUsedBytesBefore is what they used before the benchmark had made
	// anything. An OSD without data uses some for its database and its log. It is
	// missing where the operator was restarted meanwhile.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ClusterUsedBytesBefore int64 `json:"clusterUsedBytesBefore,omitempty"`
}

// ResultMark is something that has to be known about a result.
// +kubebuilder:validation:Enum=Cached;Warmed;ClosedLoop;BelowRate;SharedImage;Throttled;NotSteady;Disturbed
type ResultMark string

// The marks.
const (
	// MarkCached means that the dataset fits into the caches of the OSDs.
	MarkCached ResultMark = "Cached"
	// MarkWarmed means that the dataset was read once before the phase, so that the
	// caches of the OSDs held what of it fits into them.
	MarkWarmed ResultMark = "Warmed"
	// MarkClosedLoop means that latencies were measured without an offered rate.
	MarkClosedLoop ResultMark = "ClosedLoop"
	// MarkBelowRate means that clients did less than 95% of the offered rate, so that
	// latencies are those of a cluster, or a client, at its limit.
	MarkBelowRate ResultMark = "BelowRate"
	// MarkSharedImage means that clients shared an image and its lock.
	MarkSharedImage ResultMark = "SharedImage"
	// MarkThrottled means that a client was short of CPU.
	MarkThrottled ResultMark = "Throttled"
	// MarkNotSteady means that the warm-up did not come to an end.
	MarkNotSteady ResultMark = "NotSteady"
	// MarkDisturbed means that something was recorded that quiescence is about.
	MarkDisturbed ResultMark = "Disturbed"
)

// PhaseResult is the result of one phase over all valid runs.
type PhaseResult struct {
	// name of the phase.
	// +required
	Name PhaseName `json:"name"`

	// validRuns is the number of runs that the figures rest on.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=20
	ValidRuns int32 `json:"validRuns,omitempty"`

	// marks are what has to be known about the figures.
	// ---
	// At most seven of the eight: ClosedLoop and BelowRate exclude each other.
	//
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=7
	Marks []ResultMark `json:"marks,omitempty"`

	// metrics are the figures: eight of reads, of writes and of both together at most, and
	// nine of an outage.
	// +optional
	// +listType=map
	// +listMapKey=metric
	// +listMapKey=direction
	// +kubebuilder:validation:MaxItems=33
	Metrics []MetricResult `json:"metrics,omitempty"`

	// backgroundIOPS is the operations per second of the background load while the phase
	// was measured: the geometric mean of all valid runs. Its other figures are in
	// the full results.
	// +optional
	BackgroundIOPS Decimal `json:"backgroundIOPS,omitempty"`
}

// MetricResult is one figure with its interval.
type MetricResult struct {
	// metric is which figure it is.
	// +required
	Metric Metric `json:"metric"`

	// direction is the operations that it is about.
	// +optional
	// +kubebuilder:default=Total
	Direction Direction `json:"direction,omitempty"`

	// value is that of all valid runs, in bytes per second for Bandwidth,
	// operations per second for IOPS and seconds for latencies: the geometric
	// mean of the runs, the percentile of the operations of all runs together,
	// or the longest of all.
	// +required
	Value Decimal `json:"value"`

	// low is the lower end of the 95 % interval of a typical run. It is absent for fewer than
	// three runs, and for LatencyMax.
	// +optional
	Low Decimal `json:"low,omitempty"`

	// high is the upper end of that interval.
	// +optional
	High Decimal `json:"high,omitempty"`
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

// ExpectationResult is an expectation with the figure that decided it.
type ExpectationResult struct {
	MetricReference `json:",inline"`

	// outcome is Met, Missed or Unknown.
	// +required
	Outcome ExpectationOutcome `json:"outcome"`

	// value is the figure that decided, in the unit of the metric.
	// +optional
	Value Decimal `json:"value,omitempty"`

	// mark is ClosedLoop for a percentile of a phase without a rate limit: it measures how fast
	// the loop went round, not how long a client with a fixed rate would wait.
	// +optional
	Mark ResultMark `json:"mark,omitempty"`
}

// RunState says what became of a run.
// +kubebuilder:validation:Enum=Running;Valid;Invalid;Failed
type RunState string

// The states.
const (
	RunRunning RunState = "Running"
	RunValid   RunState = "Valid"
	RunInvalid RunState = "Invalid"
	RunFailed  RunState = "Failed"
)

// DataState says what a run found where its phases work on data that was prefilled.
// +kubebuilder:validation:Enum=Prefilled;Used;RolledBack
type DataState string

// The states of data.
const (
	// DataPrefilled is data that had just been written.
	DataPrefilled DataState = "Prefilled"
	// DataUsed is data as earlier runs, or the pilots that size a phase, had left it.
	DataUsed DataState = "Used"
	// DataRolledBack is data of images that had just been rolled back to what they were
	// prefilled with.
	DataRolledBack DataState = "RolledBack"
)

// BenchmarkRun is one execution of all phases.
type BenchmarkRun struct {
	// number counts runs within observedRunID, from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=20
	Number int32 `json:"number"`

	// state says what became of it.
	// +required
	State RunState `json:"state"`

	// reason is why the run is Invalid or Failed.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Reason string `json:"reason,omitempty"`

	// startTime is when its first phase began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// startSpread is by how much, at most, the clients started a phase apart, in
	// seconds.
	// +optional
	StartSpread Decimal `json:"startSpread,omitempty"`

	// initialState is what the run found where its phases work on data that was
	// prefilled, as template.initialState has it. It is empty where none of them does.
	// +optional
	InitialState DataState `json:"initialState,omitempty"`

	// results is the ConfigMap that holds the full result.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Results string `json:"results,omitempty"`
}
