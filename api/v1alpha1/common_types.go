package v1alpha1

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterReference names a CephCluster.
type ClusterReference struct {
	// namespace of the CephCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`

	// name of the CephCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}

// Percent is a percentage with at most two decimals, such as `10%` or `2.5%`.
// +kubebuilder:validation:MinLength=2
// +kubebuilder:validation:MaxLength=7
// +kubebuilder:validation:Pattern=`^(100|[1-9]?[0-9](\.[0-9]{1,2})?)%$`
type Percent string

// Decimal is a number in decimal notation: a string, because JSON numbers lose
// digits on their way through clients. The unit is that of the metric.
// +kubebuilder:validation:MaxLength=12
// +kubebuilder:validation:Pattern=`^-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]{1,3})?$`
type Decimal string

// Effect is a signed relative difference to the baseline, such as `+23.4%`.
// +kubebuilder:validation:MaxLength=10
// +kubebuilder:validation:Pattern=`^[+-]?[0-9]{1,6}(\.[0-9]{1,2})?%$`
type Effect string

// PhaseName names a phase within its template.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=32
// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
type PhaseName string

// PoolName names a Ceph pool. Pools whose name starts with a dot belong to Ceph
// itself and cannot be named.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`
type PoolName string

// RunID names one execution of a spec. It is a word chosen by the user, such as
// a counter, a date or a commit.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=40
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
type RunID string

// Metric is a figure that a phase yields.
//
//   - Bandwidth: bytes moved per second.
//   - IOPS: operations completed per second.
//   - LatencyMean, LatencyMax: mean and longest time of an operation, in seconds.
//   - LatencyP50, LatencyP95, LatencyP99, LatencyP999: the time within which that
//     share of operations completed, in seconds. LatencyP999 is 99.9 %.
//   - TimeToClean: how long the cluster took to be whole again after an outage, in
//     seconds. It is a figure of the phase of template.outage and of no other.
//   - P50Before, P99Before, P50Outage, P99Outage, P50Recovery, P99Recovery, P50After,
//     P99After: the time within which half, and 99 %, of the operations completed in a
//     part of that phase, in seconds: until the OSDs went down, while they were, until
//     the cluster was whole again, and from then on.
//
// Not every engine has every metric: fio gives all of them, radosBench gives Bandwidth, IOPS,
// LatencyMean and LatencyMax, rbdBench gives Bandwidth and IOPS.
// +kubebuilder:validation:Enum=Bandwidth;IOPS;LatencyMean;LatencyMax;LatencyP50;LatencyP95;LatencyP99;LatencyP999;TimeToClean;P50Before;P99Before;P50Outage;P99Outage;P50Recovery;P99Recovery;P50After;P99After
type Metric string

// The metrics.
const (
	MetricBandwidth   Metric = "Bandwidth"
	MetricIOPS        Metric = "IOPS"
	MetricLatencyMean Metric = "LatencyMean"
	MetricLatencyMax  Metric = "LatencyMax"
	MetricLatencyP50  Metric = "LatencyP50"
	MetricLatencyP95  Metric = "LatencyP95"
	MetricLatencyP99  Metric = "LatencyP99"
	MetricLatencyP999 Metric = "LatencyP999"
	MetricTimeToClean Metric = "TimeToClean"

	MetricP50Before   Metric = "P50Before"
	MetricP99Before   Metric = "P99Before"
	MetricP50Outage   Metric = "P50Outage"
	MetricP99Outage   Metric = "P99Outage"
	MetricP50Recovery Metric = "P50Recovery"
	MetricP99Recovery Metric = "P99Recovery"
	MetricP50After    Metric = "P50After"
	MetricP99After    Metric = "P99After"
)

// LowerIsBetter reports whether a metric is a time.
func (m Metric) LowerIsBetter() bool {
	return m == MetricTimeToClean || strings.HasPrefix(string(m), "Latency") || strings.HasPrefix(string(m), "P50") || strings.HasPrefix(string(m), "P99")
}

// Direction selects the operations that a metric is about.
// +kubebuilder:validation:Enum=Total;Read;Write
type Direction string

// The directions.
const (
	// DirectionTotal is every operation of the phase.
	DirectionTotal Direction = "Total"
	// DirectionRead is the reads of a phase that mixes both.
	DirectionRead Direction = "Read"
	// DirectionWrite is the writes of a phase that mixes both.
	DirectionWrite Direction = "Write"
)

// MetricReference points at one figure of one phase.
type MetricReference struct {
	// phase is the name of a phase of the template.
	// +required
	Phase PhaseName `json:"phase"`

	// metric is the figure of that phase. fio gives every metric; radosBench
	// gives Bandwidth, IOPS, LatencyMean and LatencyMax; rbdBench gives
	// Bandwidth and IOPS. TimeToClean and the latencies of a window, such as
	// P99Outage, are of the phase of template.outage.
	// +required
	Metric Metric `json:"metric"`

	// direction selects reads or writes of a phase that mixes both.
	// +optional
	// +kubebuilder:default=Total
	Direction Direction `json:"direction,omitempty"`
}

// Threshold is a limit in the unit of its metric: a time such as `20ms` for
// latencies, bytes per second such as `400Mi` for Bandwidth, and a number such
// as `5k` for IOPS.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=16
// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?(us|ms|s|k|M|G|T|Ki|Mi|Gi|Ti)?$`
type Threshold string

// ScrubPolicy says what to do about scrubs of the placement groups measured.
// +kubebuilder:validation:Enum=Record;Invalidate;Abort;Pause
type ScrubPolicy string

// The scrub policies.
const (
	ScrubRecord     ScrubPolicy = "Record"
	ScrubInvalidate ScrubPolicy = "Invalidate"
	ScrubAbort      ScrubPolicy = "Abort"
	ScrubPause      ScrubPolicy = "Pause"
)

// DisturbanceAction says what a disturbance during a run leads to: Record notes
// it with the result, Invalidate also excludes the run from the evidence, Abort
// stops the run at once.
// +kubebuilder:validation:Enum=Record;Invalidate;Abort
type DisturbanceAction string

// The actions.
const (
	DisturbanceRecord     DisturbanceAction = "Record"
	DisturbanceInvalidate DisturbanceAction = "Invalidate"
	DisturbanceAbort      DisturbanceAction = "Abort"
)

// HealthCode is a health check of Ceph, such as PG_NOT_SCRUBBED.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Z][A-Z0-9_]*$`
type HealthCode string

// Quiescence defines when a cluster is quiet enough to be measured, and what is
// done about each disturbance that comes up during a run. HEALTH_ERR and
// inactive placement groups always abort.
type Quiescence struct {
	// timeout is how long to wait, before a run, for a cluster that is healthy
	// and quiet.
	// +optional
	// +kubebuilder:default="30m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="must be between 10s and 24h"
	Timeout metav1.Duration `json:"timeout,omitzero"`

	// scrub is what to do about scrubs: Record, Invalidate, Abort, or Pause,
	// which sets Ceph's noscrub and nodeep-scrub flags while runs are under way
	// and is for sweeps only. Large clusters always scrub somewhere, so the
	// default is to record it.
	// +optional
	// +kubebuilder:default=Record
	Scrub ScrubPolicy `json:"scrub,omitempty"`

	// recovery is what to do about recovery, backfill and misplaced objects
	// during a run.
	// +optional
	// +kubebuilder:default=Invalidate
	Recovery DisturbanceAction `json:"recovery,omitempty"`

	// foreignIOPS is how many client operations per second, other than the
	// benchmark's own, the cluster may serve before it counts as disturbed.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000000
	ForeignIOPS *int64 `json:"foreignIOPS,omitempty"`

	// foreignIO is what to do when foreignIOPS is exceeded during a run.
	// +optional
	// +kubebuilder:default=Record
	ForeignIO DisturbanceAction `json:"foreignIO,omitempty"`

	// health is what to do about a health warning that comes up during a run
	// and is not in allowedWarnings.
	// +optional
	// +kubebuilder:default=Invalidate
	Health DisturbanceAction `json:"health,omitempty"`

	// allowedWarnings are health warnings that may be present before a run and
	// come up during it, besides those that the operator always allows because
	// they say nothing about speed, such as PG_NOT_SCRUBBED.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	AllowedWarnings []HealthCode `json:"allowedWarnings,omitempty"`
}

// RawOutputPolicy says when the tools' own output is kept.
// +kubebuilder:validation:Enum=OnFailure;Always;Never
type RawOutputPolicy string

// The policies.
const (
	RawOutputOnFailure RawOutputPolicy = "OnFailure"
	RawOutputAlways    RawOutputPolicy = "Always"
	RawOutputNever     RawOutputPolicy = "Never"
)

// Progress says how far the current run is.
type Progress struct {
	// summary is the progress in a few words, such as `7/24 runs`.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Summary string `json:"summary,omitempty"`

	// completedRuns is the number of runs that have ended, invalid ones
	// included.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CompletedRuns int32 `json:"completedRuns,omitempty"`

	// totalRuns is the number of runs that are planned at present; racing and
	// runs that have to be repeated change it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TotalRuns int32 `json:"totalRuns,omitempty"`

	// step is what goes on at present, such as `phase write-4m` or `settling`.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Step string `json:"step,omitempty"`

	// estimatedCompletionTime is when the run is expected to end.
	// +optional
	EstimatedCompletionTime *metav1.Time `json:"estimatedCompletionTime,omitempty"`
}

// Environment is what a result depends on besides the settings under test.
// Results may be compared when their digests are equal.
type Environment struct {
	// fsid identifies the Ceph cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	FSID string `json:"fsid,omitempty"`

	// cephVersion is the version that all daemons run, such as `18.2.7`.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	CephVersion string `json:"cephVersion,omitempty"`

	// rookVersion is the version of the Rook operator.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	RookVersion string `json:"rookVersion,omitempty"`

	// osds is the number of OSDs that serve the target.
	// +optional
	// +kubebuilder:validation:Minimum=0
	OSDs int32 `json:"osds,omitempty"`

	// digest covers everything above, the device classes, the settings of the
	// pool, Ceph's configuration, the images and the nodes.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	Digest string `json:"digest,omitempty"`
}
