package v1alpha1

import (
	"encoding/json"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ClusterReference names a CephCluster.
type ClusterReference struct {
	// namespace is the namespace of the CephCluster.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespace string `json:"namespace"`

	// name is the name of the CephCluster.
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

// Decimal is a decimal number, with or without an exponent. It is a string, because clients may drop digits
// of JSON numbers.
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

// PoolName names a Ceph pool. Pools whose name starts with a dot belong to Ceph itself and cannot be named.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`
type PoolName string

// RunID names one execution of a spec. The user chooses it, for example a counter, a date or a commit.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=40
// +kubebuilder:validation:Pattern=`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`
type RunID string

// Values of Metric.
//
// +kubebuilder:validation:Enum=Bandwidth;IOPS;LatencyMean;LatencyMax;LatencyP50;LatencyP95;LatencyP99;LatencyP999;
//   SustainableIOPS;TimeToClean;P50Before;P99Before;P50Outage;P99Outage;P50Recovery;P99Recovery;P50After;P99After

// Metric is a figure of a phase.
//
//   - Bandwidth: bytes moved per second.
//   - IOPS: operations completed per second.
//   - LatencyMean, LatencyMax: mean and longest time of an operation, in seconds.
//   - LatencyP50, LatencyP95, LatencyP99, LatencyP999: the time within which 50 %, 95 %, 99 %
//     or 99.9 % of the operations completed, in seconds.
//   - SustainableIOPS: the highest rate of operations a second that keeps a limit of latency. Only a
//     phase with fio.curve has it.
//   - TimeToClean: the time from the end of an outage until all placement groups were clean
//     again, in seconds. Only the phase that template.outage names has it.
//   - P50Before, P99Before, P50Outage, P99Outage, P50Recovery, P99Recovery, P50After,
//     P99After: the time within which 50 % or 99 % of the operations in one part of the phase
//     of template.outage completed, in seconds. Before ends when the OSDs go down, Outage when
//     they may come up again, and Recovery when all placement groups are clean again. After is
//     the rest of the phase.
//
// Not every engine has every metric: fio has all metrics; radosBench has Bandwidth, IOPS, LatencyMean and
// LatencyMax; rbdBench has Bandwidth and IOPS.
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

	MetricSustainableIOPS Metric = "SustainableIOPS"

	MetricP50Before   Metric = "P50Before"
	MetricP99Before   Metric = "P99Before"
	MetricP50Outage   Metric = "P50Outage"
	MetricP99Outage   Metric = "P99Outage"
	MetricP50Recovery Metric = "P50Recovery"
	MetricP99Recovery Metric = "P99Recovery"
	MetricP50After    Metric = "P50After"
	MetricP99After    Metric = "P99After"
)

// LowerIsBetter reports whether smaller values of the metric are better. It returns true for latencies and
// TimeToClean.
func (m Metric) LowerIsBetter() bool {
	return m == MetricTimeToClean || strings.HasPrefix(string(m), "Latency") || strings.HasPrefix(string(m), "P50") || strings.HasPrefix(string(m), "P99")
}

// Direction selects the operations that a metric covers.
// +kubebuilder:validation:Enum=Total;Read;Write
type Direction string

// The directions.
const (
	// DirectionTotal covers every operation of the phase.
	DirectionTotal Direction = "Total"
	// DirectionRead covers the reads of a phase that reads and writes.
	DirectionRead Direction = "Read"
	// DirectionWrite covers the writes of a phase that reads and writes.
	DirectionWrite Direction = "Write"
)

// MetricReference names one figure of one phase.
type MetricReference struct {
	// phase is the name of a phase of the template.
	// +required
	Phase PhaseName `json:"phase"`

	// metric is the figure of that phase. fio gives every metric; radosBench gives Bandwidth, IOPS,
	// LatencyMean and LatencyMax; rbdBench gives Bandwidth and IOPS. Only a phase with fio.curve
	// has SustainableIOPS. Only the phase of template.outage has TimeToClean and the latencies of its
	// parts, such as P99Outage.
	// +required
	Metric Metric `json:"metric"`

	// direction selects the operations: Total, Read or Write. Read and Write are for phases that both read
	// and write.
	// +optional
	// +kubebuilder:default=Total
	Direction Direction `json:"direction,omitempty"`
}

// Threshold is a limit for a metric: a time such as `20ms` for latencies and TimeToClean, bytes
// per second such as `400Mi` for Bandwidth, and a number such as `5k` for IOPS and SustainableIOPS. A whole number may be written as a
// number or as a string.
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=16
// +kubebuilder:validation:Pattern=`^[0-9]+(\.[0-9]+)?(us|ms|s|k|M|G|T|Ki|Mi|Gi|Ti)?$`
type Threshold string

// UnmarshalJSON reads a string or a whole number.
func (t *Threshold) UnmarshalJSON(text []byte) error { return unmarshalIntOrString(text, t) }

// ScrubPolicy says what to do about scrubs.
// +kubebuilder:validation:Enum=Record;Invalidate;Abort;Pause
type ScrubPolicy string

// The scrub policies.
const (
	ScrubRecord     ScrubPolicy = "Record"
	ScrubInvalidate ScrubPolicy = "Invalidate"
	ScrubAbort      ScrubPolicy = "Abort"
	ScrubPause      ScrubPolicy = "Pause"
)

// DisturbanceAction says what follows from a disturbance during a run. Record notes the disturbance with
// the result. Invalidate also makes the run invalid. Abort also stops the run if two checks in a row find
// the disturbance; if only a single check does, the run is invalid but continues.
// +kubebuilder:validation:Enum=Record;Invalidate;Abort
type DisturbanceAction string

// The actions.
const (
	DisturbanceRecord     DisturbanceAction = "Record"
	DisturbanceInvalidate DisturbanceAction = "Invalidate"
	DisturbanceAbort      DisturbanceAction = "Abort"
)

// HealthCode is the code of a health check of Ceph, such as PG_NOT_SCRUBBED.
// +kubebuilder:validation:MinLength=1
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:Pattern=`^[A-Z][A-Z0-9_]*$`
type HealthCode string

// Quiescence says when a cluster is quiet enough to be measured, and what follows from a disturbance during
// a run. HEALTH_ERR and inactive placement groups always abort the run. Placement groups that
// template.outage makes inactive for some seconds are an exception. An OSD that goes up, down, in or out
// makes the run invalid, except during the outage of template.outage and the recovery that follows. In that
// time, the run is aborted if another OSD goes down or out, or an OSD of the outage goes down again. In a
// sweep with the design Interleaved, an OSD that goes up, down, in or out, or a disturbance with the action
// Invalidate, invalidates only the blocks of windows that it touches.
type Quiescence struct {
	// timeout is how long a run may wait until the cluster is healthy and quiet. After that, the benchmark
	// fails. A sweep also fails if it cannot be planned within this time. If a benchmark or sweep cannot
	// reach the cluster, it fails after this time at the latest.
	// +optional
	// +kubebuilder:default="30m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=16
	// +kubebuilder:validation:Pattern=`^([0-9]+(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) >= duration('10s') && duration(self) <= duration('24h')",message="must be between 10s and 24h"
	Timeout metav1.Duration `json:"timeout,omitzero"`

	// scrub is what to do about scrubs: Record, Invalidate, Abort or Pause. With Invalidate and Abort, no
	// run begins during a scrub. Pause is for sweeps only. It sets Ceph's noscrub and nodeep-scrub flags
	// until the sweep restores its changes. A scrub that is running when the flags are set continues, and
	// is recorded. The default is Record, because large clusters always scrub somewhere.
	// +optional
	// +kubebuilder:default=Record
	Scrub ScrubPolicy `json:"scrub,omitempty"`

	// recovery is what to do about recovery, backfill, and misplaced or degraded objects during a
	// run. No run begins before all placement groups are clean.
	// +optional
	// +kubebuilder:default=Invalidate
	Recovery DisturbanceAction `json:"recovery,omitempty"`

	// foreignIOPS is how many operations per second clients may do in pools other than the target's. With
	// more operations, no run begins, and a run in progress is disturbed: see foreignIO. The pool of a
	// persistentVolumeClaim is unknown. With that target, all pools count before a run, and no pool counts
	// during a run.
	// +optional
	// +kubebuilder:default=50
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10000000
	ForeignIOPS *int64 `json:"foreignIOPS,omitempty"`

	// foreignIO is what to do when foreignIOPS is exceeded during a run.
	// +optional
	// +kubebuilder:default=Record
	ForeignIO DisturbanceAction `json:"foreignIO,omitempty"`

	// health is what to do about a health warning that appears during a run and is not allowed: see
	// allowedWarnings. No run begins with such a warning.
	// +optional
	// +kubebuilder:default=Invalidate
	Health DisturbanceAction `json:"health,omitempty"`

	// allowedWarnings are health warnings that may be present before a run or appear during it. The
	// operator always allows warnings that say nothing about speed, such as PG_NOT_SCRUBBED, and warnings
	// that are muted in Ceph. It also allows warnings about events before the run, such as RECENT_CRASH.
	// OSD_DOWN also allows OSDs that are out, and OSDMAP_FLAGS allows flags such as noout. STRAY_PGS is a
	// code of cephtune, not of Ceph. It allows placement groups that OSDs still have to remove.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	AllowedWarnings []HealthCode `json:"allowedWarnings,omitempty"`
}

// RawOutputPolicy says when the results include the engines' own output.
// +kubebuilder:validation:Enum=OnFailure;Always;Never
type RawOutputPolicy string

// The policies.
const (
	RawOutputOnFailure RawOutputPolicy = "OnFailure"
	RawOutputAlways    RawOutputPolicy = "Always"
	RawOutputNever     RawOutputPolicy = "Never"
)

// Progress says how far a benchmark or sweep has come.
type Progress struct {
	// summary is the progress in a few words, such as `7/24 runs`, and at the end the outcome, such as
	// `Superior: pg_num=64, 378 → 541 MiB/s (+14 % to +68 %)`.
	// +optional
	// +kubebuilder:validation:MaxLength=96
	Summary string `json:"summary,omitempty"`

	// completedRuns is the number of runs that have ended, including invalid ones. In the design
	// Interleaved, it is the number of valid sessions. Sessions in which settings stay applied for minutes
	// do not count.
	// +optional
	// +kubebuilder:validation:Minimum=0
	CompletedRuns int32 `json:"completedRuns"`

	// totalRuns is the number of runs or sessions that are now planned, including completed ones. It
	// changes when configurations leave the race, when runs have to be repeated, and when windows become
	// longer.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TotalRuns int32 `json:"totalRuns"`

	// step is the present activity, such as `run 2, phase write-4m`.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	Step string `json:"step,omitempty"`

	// estimatedCompletionTime is when the benchmark or sweep is expected to end.
	// +optional
	EstimatedCompletionTime *metav1.Time `json:"estimatedCompletionTime,omitempty"`
}

// Environment describes what a result depends on besides the varied settings. Two results are
// comparable if their digests are equal. The hardware of nodes is not recorded.
type Environment struct {
	// fsid identifies the Ceph cluster.
	// +optional
	// +kubebuilder:validation:MaxLength=36
	FSID string `json:"fsid,omitempty"`

	// cephVersion is the version of all daemons, such as `18.2.7`, or `mixed` if their versions differ.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	CephVersion string `json:"cephVersion,omitempty"`

	// rookVersion is the version of Rook that last updated the manager daemons.
	// +optional
	// +kubebuilder:validation:MaxLength=32
	RookVersion string `json:"rookVersion,omitempty"`

	// totalOSDs is the number of OSDs of the scratch pool's device class. Without such a class, it is
	// the number of all OSDs in the cluster.
	// +optional
	// +kubebuilder:validation:Minimum=0
	TotalOSDs int32 `json:"totalOSDs,omitempty"`

	// digest identifies the values of the fields above, the number and size of OSDs by device class,
	// osdCaches, and Ceph's configuration. Options of managers, metadata servers, gateways and
	// ceph-exporter, and options whose names suggest secrets, are left out. For a CephBenchmark, the digest
	// also identifies initialState, the pools' settings, the OSDs of a confined pool, the images, the nodes,
	// the background load, the kernels of the OSDs' nodes and the version of Kubernetes.
	// +optional
	// +kubebuilder:validation:MaxLength=80
	Digest string `json:"digest,omitempty"`
}

// UnmarshalJSON also reads the number of OSDs from the field osds, which exports of the version before have.
func (e *Environment) UnmarshalJSON(data []byte) error {
	type plain Environment
	read := struct {
		*plain
		OSDs int32 `json:"osds"`
	}{plain: (*plain)(e)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	e.TotalOSDs = max(e.TotalOSDs, read.OSDs)
	return nil
}
