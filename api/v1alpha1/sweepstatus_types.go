package v1alpha1

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// SweepVerdict is the verdict on a configuration.
// +kubebuilder:validation:Enum=Superior;Better;Equivalent;Inferior;Inconclusive;Invalid
type SweepVerdict string

// The verdicts.
const (
	// VerdictSuperior means that the configuration is better than the baseline by more than minimumEffect.
	VerdictSuperior SweepVerdict = "Superior"
	// VerdictBetter means that the configuration is better than the baseline, but by less than
	// minimumEffect.
	VerdictBetter SweepVerdict = "Better"
	// VerdictEquivalent means that any difference is within the equivalence margin.
	VerdictEquivalent SweepVerdict = "Equivalent"
	// VerdictInferior means that the configuration is worse than the baseline.
	VerdictInferior SweepVerdict = "Inferior"
	// VerdictInconclusive means that the valid runs support no other verdict.
	VerdictInconclusive SweepVerdict = "Inconclusive"
	// VerdictInvalid means that the runs do not count: too few are valid, they failed or drifted,
	// or the setting is inert.
	VerdictInvalid SweepVerdict = "Invalid"
)

// CephTuningSweepStatus has the progress and the results of a sweep. It stays below 128 KiB: 400
// trials of at most 250 bytes, 65 configurations of at most 288 bytes, and the rest.
type CephTuningSweepStatus struct {
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

	// conditions are Ready, Reconciling and Stalled, which follow the kstatus convention; Complete and
	// Failed, which follow Kubernetes Jobs; and Restored.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// progress says how far the sweep has come.
	// +optional
	Progress *Progress `json:"progress,omitempty"`

	// startTime is when the execution of observedRunID began.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// completionTime is when the execution of observedRunID ended, restore included.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// best is the name of the best configuration. It is the baseline until another configuration is proven
	// to be better and to keep all constraints. It is absent until one of the other configurations has
	// enough valid runs or sessions.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Best string `json:"best,omitempty"`

	// effect is the relative difference of best to the baseline. It is absent if best is the baseline.
	// +optional
	Effect Effect `json:"effect,omitempty"`

	// headline has the typical figures of the objective with the baseline and with the leading configuration, the
	// interval of the difference, and which way is better, such as `41.2k → 52k IOPS (+14 % to +38 %), higher is better`.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Headline string `json:"headline,omitempty"`

	// verdict is the verdict on the leading configuration, once no more runs follow: the winner, or the
	// one that came closest to winning. If no configuration leads, verdict is Invalid.
	// +optional
	Verdict SweepVerdict `json:"verdict,omitempty"`

	// scope says what the verdict speaks for.
	// +optional
	Scope SweepScope `json:"scope,omitempty"`

	// summary is the outcome in a few sentences. Its first line is a recommendation.
	// +optional
	// +kubebuilder:validation:MaxLength=1000
	Summary string `json:"summary,omitempty"`

	// plan has the choices that are fixed until runID changes, and the estimated cost.
	// +optional
	Plan *SweepPlan `json:"plan,omitempty"`

	// trials are the trials so far, in order. The planner, which chooses the next trial, decides only from
	// these entries, the spec and the plan.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=400
	Trials []Trial `json:"trials,omitempty"`

	// runs are trials that an earlier version of the operator wrote as texts. The operator reads them if trials
	// is empty, and replaces them with trials when it next writes status. Readers use trials.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=400
	// +kubebuilder:validation:items:MaxLength=120
	Runs []string `json:"runs,omitempty"`

	// trial identifies the CephBenchmark of the current or last run. In the design Interleaved, it is that of a
	// session. It is absent after a pause, until the next run is prepared.
	// +optional
	Trial *SweepTrial `json:"trial,omitempty"`

	// configurations are the configurations, by index; 0 is the baseline.
	// +optional
	// +listType=map
	// +listMapKey=index
	// +kubebuilder:validation:MaxItems=65
	Configurations []ConfigurationResult `json:"configurations,omitempty"`

	// noise is the noise of the cluster, once no more runs follow. It is absent in the design Interleaved.
	// +optional
	Noise *Noise `json:"noise,omitempty"`

	// constraints are the outcomes of spec.constraints for best, in the same order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	Constraints []ConstraintResult `json:"constraints,omitempty"`

	// patches have the winner's settings, ready to commit to Git: one patch for each object to change, but
	// at most three. Comments in them name further steps.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	Patches []WinnerPatch `json:"patches,omitempty"`

	// environment identifies what the results depend on besides the varied settings.
	// +optional
	Environment *Environment `json:"environment,omitempty"`
}

// SweepTrial identifies the CephBenchmark of a run or a session. Users can create benchmarks with any name, so the
// operator trusts only the benchmark whose name, nonce and UID are in the status of the sweep.
type SweepTrial struct {
	// number is the number of the run or the session, from 1.
	// +required
	// +kubebuilder:validation:Minimum=1
	Number int32 `json:"number"`

	// name is the name of the benchmark. It is recorded before the benchmark is created.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// nonce is a random text that the signature of the benchmark covers. It is recorded before the benchmark
	// is created.
	// +required
	// +kubebuilder:validation:MaxLength=32
	Nonce string `json:"nonce"`

	// uid is the UID of the benchmark. It is absent until the benchmark is created. The benchmark begins only
	// after its UID is recorded.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=64
	UID types.UID `json:"uid,omitempty"`

	// namesTaken is how many names of this run were taken by other benchmarks.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=8
	NamesTaken int32 `json:"namesTaken,omitempty"`

	// pool says how the benchmark uses the scratch pool that the runs of a block share. It is absent if the
	// benchmark does not share one.
	// +optional
	Pool *SharedPool `json:"pool,omitempty"`
}

// SharedPool says how a benchmark uses the scratch pool that the runs of a block share.
type SharedPool struct {
	// key is equal for benchmarks that use the same pool.
	// +required
	// +kubebuilder:validation:MaxLength=128
	Key string `json:"key"`

	// continues says that earlier runs were valid on the pool, so that this benchmark must not create it.
	// +optional
	Continues bool `json:"continues,omitempty"`

	// dataset says that the benchmarks also share data, which the first of them prefills.
	// +optional
	Dataset bool `json:"dataset,omitempty"`
}

// MadeFor says whether a scratch pool or a dataset is created for each block or each run.
// +kubebuilder:validation:Enum=Block;Run
type MadeFor string

// Values of MadeFor.
const (
	MadeForBlock MadeFor = "Block"
	MadeForRun   MadeFor = "Run"
)

// SweepPlan has the choices that are fixed for a run ID, and the estimated cost. In the design Interleaved,
// the runs of the plan are sessions.
type SweepPlan struct {
	// plannerVersion is the version of the planner's rules. An operator with another version ends the
	// sweep, because it would interpret status.trials differently.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PlannerVersion int32 `json:"plannerVersion,omitempty"`

	// specDigest identifies the planned spec: measurement, parameters and decision rules. Its
	// prefix is the version of the rules for the digest.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	SpecDigest string `json:"specDigest,omitempty"`

	// design is Blocks or Interleaved.
	// +optional
	Design SweepDesign `json:"design,omitempty"`

	// designReason says why the design Auto chose Blocks. It is empty in all other cases.
	// +optional
	// +kubebuilder:validation:MaxLength=88
	DesignReason string `json:"designReason,omitempty"`

	// sessions is the largest number of valid sessions with windows of one length, in the design
	// Interleaved.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	Sessions int32 `json:"sessions,omitempty"`

	// pairs is the largest number of pairs of windows in a session for each configuration, in the
	// design Interleaved.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=99
	Pairs int32 `json:"pairs,omitempty"`

	// window is how long a setting stays applied in the first session, in the design Interleaved. Later
	// sessions may have longer windows.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=8
	Window *metav1.Duration `json:"window,omitempty"`

	// seed determines every random choice.
	// +optional
	Seed *int64 `json:"seed,omitempty"`

	// baseline has the baseline's value of each parameter. Values that the spec does not give were read when
	// the sweep was planned.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=6
	Baseline []BaselineValue `json:"baseline,omitempty"`

	// configurations is the number of configurations without the baseline.
	// +optional
	Configurations int32 `json:"configurations,omitempty"`

	// minimumRuns is the smallest number of runs with which the sweep can end with a winner.
	// +optional
	MinimumRuns int32 `json:"minimumRuns,omitempty"`

	// maximumRuns is the number of runs, including those of the confirmation, if no configuration leaves
	// the race early and no run is repeated. In the design Interleaved, more sessions may follow: some in
	// which settings stay applied for minutes, and some with longer windows.
	// +optional
	MaximumRuns int32 `json:"maximumRuns,omitempty"`

	// estimatedDuration is the estimated duration of maximumRuns, including settling and the
	// restore. In the design Interleaved, it includes a session in which settings stay applied for
	// minutes, if sessions is not 1.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	EstimatedDuration *metav1.Duration `json:"estimatedDuration,omitempty"`

	// estimatedBytesWritten is how many bytes maximumRuns are estimated to write, including prefills.
	// +optional
	EstimatedBytesWritten *resource.Quantity `json:"estimatedBytesWritten,omitempty"`

	// runDuration is the expected duration of one run, from the change of the configuration to the
	// end of the run. In the design Blocks, the planner uses it only until the first run has ended.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	RunDuration *metav1.Duration `json:"runDuration,omitempty"`

	// runBytesWritten is how many bytes one run is expected to write. In the design Blocks, the
	// planner uses it only until the first run has ended.
	// +optional
	RunBytesWritten *resource.Quantity `json:"runBytesWritten,omitempty"`

	// restoreDuration is the part of budget.duration that is reserved for the restore.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	RestoreDuration *metav1.Duration `json:"restoreDuration,omitempty"`

	// scratchPoolPer is Block if the runs of a block share a scratch pool, and Run if each run has its own
	// pool, because a parameter varies the pool. It is empty without a scratch pool. It is also empty in
	// the design Interleaved, where each session has its own pool.
	// +optional
	ScratchPoolPer MadeFor `json:"scratchPoolPer,omitempty"`

	// datasetPer is Block if the runs of a block share prefilled data, and Run if each run has its own
	// data. It is empty if no phase needs data. It is also empty in the design Interleaved, where each
	// session has its own data.
	// +optional
	DatasetPer MadeFor `json:"datasetPer,omitempty"`

	// datasetReason says why some or all data are prefilled for each run.
	// +optional
	// +kubebuilder:validation:MaxLength=88
	DatasetReason string `json:"datasetReason,omitempty"`

	// placementGroupChanges is the number of placement groups to create, split or merge in
	// maximumRuns, in the design Blocks.
	// +optional
	PlacementGroupChanges int64 `json:"placementGroupChanges,omitempty"`

	// osdRestarts is the number of restarts of OSDs in maximumRuns, in the design Blocks.
	// +optional
	OSDRestarts int32 `json:"osdRestarts,omitempty"`

	// smallestEffect is the smallest improvement that a sweep of maximumRuns proves four times out of five,
	// if the noise is as the plan assumes. 100% may also stand for a larger improvement. status.noise has
	// the measured noise.
	// +optional
	SmallestEffect Percent `json:"smallestEffect,omitempty"`

	// datasetSize is the size that replaces dataset.size Auto in every run. The operator computes it only
	// once, because the free space changes between runs.
	// +optional
	DatasetSize *resource.Quantity `json:"datasetSize,omitempty"`

	// refusals are the reasons why the plan cannot be carried out.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	Refusals []string `json:"refusals,omitempty"`

	// block is the number of the current block, from 1, in the design Blocks.
	// +optional
	Block int32 `json:"block,omitempty"`

	// order has the configurations of the current block, by index, in the order of their runs, in
	// the design Blocks.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=96
	// +kubebuilder:validation:items:Minimum=0
	// +kubebuilder:validation:items:Maximum=64
	Order []int32 `json:"order,omitempty"`
}

// BaselineValue is the value of a parameter in the baseline.
type BaselineValue struct {
	// name is the name of the parameter.
	// +required
	Name ParameterName `json:"name"`

	// value is the value of the parameter, or Unset.
	// +required
	Value ParameterValue `json:"value"`
}

// SweepScope says what a verdict speaks for. The scopes are in order, from the smallest to the largest.
// +kubebuilder:validation:Enum=Windows;Pool;Pools;Cluster
type SweepScope string

// The scopes.
const (
	// ScopeWindows means that the verdict holds for this pool, in this hour, while settings are switched
	// every few seconds. What a setting causes later than that was not measured.
	ScopeWindows SweepScope = "Windows"
	// ScopePool means that the verdict holds for this pool, in this hour. Each setting stayed applied for a
	// long window, or for a whole run.
	ScopePool SweepScope = "Pool"
	// ScopePools means the same for three or more pools that were created one after the other, in this hour. If
	// pools with different options stood at once, windows were short, as in the scope Windows.
	ScopePools SweepScope = "Pools"
	// ScopeCluster means that the same was measured on three or more days. Between the days, settings were
	// restored, and the lock was free.
	ScopeCluster SweepScope = "Cluster"
)

// SweepScopes returns the scopes, from the smallest to the largest.
func SweepScopes() []SweepScope {
	return []SweepScope{ScopeWindows, ScopePool, ScopePools, ScopeCluster}
}

// Covers reports whether a scope is at least as large as another one. An unknown scope covers nothing.
func (s SweepScope) Covers(least SweepScope) bool {
	all := SweepScopes()
	at := slices.Index(all, s)
	return at >= 0 && at >= slices.Index(all, least)
}

// ConfigurationResult is a row of the table of configurations, at most 288 bytes of JSON.
type ConfigurationResult struct {
	// index is the index of the configuration; 0 is the baseline.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	Index int32 `json:"index"`

	// name is the name of the configuration. In a grid or a sample of it, the name consists of the values,
	// such as `pg_num=32`.
	// +required
	// +kubebuilder:validation:MaxLength=64
	Name string `json:"name"`

	// runs is the number of runs that the verdict is based on, one for each block. For the baseline, it is
	// the number of valid runs in the blocks that count. In the design Interleaved, it is the number of
	// valid sessions that count.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=400
	Runs int32 `json:"runs"`

	// figure is the typical figure of the objective with its unit, such as `412 MiB/s`: the mean of the valid trials
	// or, for a percentile, that of the median trial. It is absent if a trial has no figure. ratio compares trials, or
	// windows, that are close to each other in time. So it differs from the quotient of two figures.
	// +optional
	// +kubebuilder:validation:MaxLength=19
	Figure string `json:"figure,omitempty"`

	// ratio is the figure of the objective, divided by that of the baseline.
	// +optional
	Ratio Decimal `json:"ratio,omitempty"`

	// low is the lower end of the interval of ratio.
	// +optional
	Low Decimal `json:"low,omitempty"`

	// high is the upper end of the interval of ratio.
	// +optional
	High Decimal `json:"high,omitempty"`

	// verdict is the verdict on the configuration.
	// +optional
	Verdict SweepVerdict `json:"verdict,omitempty"`

	// reason says why the configuration has this verdict, or why it left the race.
	// +optional
	// +kubebuilder:validation:MaxLength=24
	Reason string `json:"reason,omitempty"`
}

// Noise is the noise of the cluster, from the runs of all configurations.
type Noise struct {
	// floor is the coefficient of variation between runs of one configuration in one block.
	// +optional
	Floor Percent `json:"floor,omitempty"`

	// drift is the change of the baseline from the first to the last block.
	// +optional
	Drift Effect `json:"drift,omitempty"`

	// smallestEffect is the smallest improvement that the sweep proves four times out of five, if the noise
	// is as large as floor. 100% may also stand for a larger improvement.
	// +optional
	SmallestEffect Percent `json:"smallestEffect,omitempty"`
}

// ConstraintOutcome says whether a constraint is kept.
// +kubebuilder:validation:Enum=Kept;Broken;Unknown
type ConstraintOutcome string

// The outcomes.
const (
	// ConstraintKept means that the whole interval is within the limit.
	ConstraintKept ConstraintOutcome = "Kept"
	// ConstraintBroken means that the whole interval is beyond the limit.
	ConstraintBroken ConstraintOutcome = "Broken"
	// ConstraintUnknown means that the limit is within the interval, or that too few runs are valid for an
	// interval.
	ConstraintUnknown ConstraintOutcome = "Unknown"
)

// ConstraintResult is a constraint with its outcome.
type ConstraintResult struct {
	MetricReference `json:",inline"`

	// outcome is Kept, Broken or Unknown.
	// +required
	Outcome ConstraintOutcome `json:"outcome"`

	// low is the lower end of the interval that decided the outcome. With maximumRegression, it is the
	// interval of the ratio to the baseline; with atMost or atLeast, it is the interval of the figure.
	// +optional
	Low Decimal `json:"low,omitempty"`

	// high is the upper end of the interval that decided the outcome.
	// +optional
	High Decimal `json:"high,omitempty"`
}

// WinnerPatch is a merge patch that makes the winner permanent.
type WinnerPatch struct {
	// kind is the kind of the object to patch: CephBlockPool or CephCluster.
	// +required
	// +kubebuilder:validation:Enum=CephBlockPool;CephCluster
	Kind string `json:"kind"`

	// namespace is the namespace of the object.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Namespace string `json:"namespace"`

	// name is the name of the object. It is empty for a CephBlockPool if scratch pools were measured. Then
	// apply the patch to the pool that serves the measured kind of load.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`

	// merge is the patch as YAML, or only a comment if the patch is too long for status.
	// +required
	// +kubebuilder:validation:MaxLength=640
	Merge string `json:"merge"`
}
