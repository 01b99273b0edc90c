// Package metrics has the names of cephtune's metrics. Metrics about a CR come from its status at every
// scrape. So they survive a restart of the manager, and disappear with the CR. Metrics about events count
// events as they happen.
//
// This package has only names and descriptions, and imports only the standard library, so that the modules of
// dashboards and alerts can use it. Package exporter has the values.
package metrics

// These are the names of metrics. Dashboards and documentation are generated from these names, and a test
// compares the alerts with them.
const (
	// A sweep has at most six of these series. When it ends, the series about the run and the expected end
	// disappear. The series about noise then appear if the noise is known.
	SweepInfo                = "cephtune_sweep_info"
	SweepProgressRatio       = "cephtune_sweep_progress_ratio"
	SweepEstimatedCompletion = "cephtune_sweep_estimated_completion_timestamp_seconds"
	SweepRunning             = "cephtune_sweep_running"
	SweepRestored            = "cephtune_sweep_restored"
	SweepNoiseFloor          = "cephtune_sweep_noise_floor_ratio"
	SweepSmallestEffect      = "cephtune_sweep_smallest_effect_ratio"
	SweepMinimumEffect       = "cephtune_sweep_minimum_effect_ratio"

	// Each configuration of a sweep has at most five series.
	SweepConfigurationRatio     = "cephtune_sweep_configuration_ratio"
	SweepConfigurationRatioLow  = "cephtune_sweep_configuration_ratio_low"
	SweepConfigurationRatioHigh = "cephtune_sweep_configuration_ratio_high"
	SweepConfigurationLatest    = "cephtune_sweep_configuration_latest_run"
	SweepConfigurationTypical   = "cephtune_sweep_configuration_typical"

	// A benchmark has at most twenty series.
	BenchmarkInfo          = "cephtune_benchmark_info"
	BenchmarkProgressRatio = "cephtune_benchmark_progress_ratio"
	BenchmarkRunning       = "cephtune_benchmark_running"
	BenchmarkCompletion    = "cephtune_benchmark_completion_timestamp_seconds"
	BenchmarkRegressed     = "cephtune_benchmark_regressed"
	BenchmarkFinding       = "cephtune_benchmark_finding"
	BenchmarkBandwidth     = "cephtune_benchmark_bandwidth_bytes_per_second"
	BenchmarkIOPS          = "cephtune_benchmark_operations_per_second"
	BenchmarkLatency       = "cephtune_benchmark_latency_seconds"
	BenchmarkValidRuns     = "cephtune_benchmark_valid_runs"
	BenchmarkBandwidthLow  = "cephtune_benchmark_bandwidth_low_bytes_per_second"
	BenchmarkBandwidthHigh = "cephtune_benchmark_bandwidth_high_bytes_per_second"
	BenchmarkExpectations  = "cephtune_benchmark_expectations"
	BenchmarkLimit         = "cephtune_benchmark_limit"
	BenchmarkTimeToClean   = "cephtune_benchmark_time_to_clean_seconds"

	BenchmarkSustainable     = "cephtune_benchmark_sustainable_operations_per_second"
	BenchmarkSustainableLow  = "cephtune_benchmark_sustainable_low_operations_per_second"
	BenchmarkSustainableHigh = "cephtune_benchmark_sustainable_high_operations_per_second"

	// These series describe a Ceph cluster.
	LockHeld     = "cephtune_lock_held"
	LockAcquired = "cephtune_lock_acquired_timestamp_seconds"
	QueueLength  = "cephtune_queue_length"
	JournalOpen  = "cephtune_journal_open_entries"
	OSDsKeptDown = "cephtune_osds_kept_down"
	OSDsDueUp    = "cephtune_osds_due_up_timestamp_seconds"

	// These metrics count events, or measure how long they take, since the manager was started.
	InvalidRuns    = "cephtune_invalid_runs_total"
	Restores       = "cephtune_restores_total"
	Settle         = "cephtune_settle_duration_seconds"
	SidecarRequest = "cephtune_sidecar_request_duration_seconds"
	SidecarErrors  = "cephtune_sidecar_request_errors_total"
	APIRequest     = "cephtune_api_request_duration_seconds"

	// These metrics show the costs of outages since the manager was started.
	Outages               = "cephtune_outages_total"
	OutageDuration        = "cephtune_outage_duration_seconds"
	DegradedObjectSeconds = "cephtune_outage_degraded_object_seconds_total"
	RecoveredObjects      = "cephtune_outage_recovered_objects_total"

	// These series describe the exporter itself.
	DroppedSeries    = "cephtune_dropped_series"
	CollectionErrors = "cephtune_collection_errors"
)

// These are the labels. LabelNamespace and LabelName identify the CR. Without honorLabels in the scrape
// configuration, Prometheus renames namespace to exported_namespace.
const (
	LabelNamespace     = "namespace"
	LabelName          = "name"
	LabelCluster       = "ceph_cluster" // namespace/name of the CephCluster
	LabelReason        = "reason"       // reason of the condition Ready, or reason why a run is invalid
	LabelState         = "state"        // Reconciling, Stalled, Ready or Idle
	LabelVerdict       = "verdict"
	LabelSummary       = "summary" // the outcome, or what to do
	LabelBest          = "best"
	LabelMetric        = "metric" // metric of the objective, such as Bandwidth
	LabelBetter        = "better" // higher or lower
	LabelConstraints   = "constraints"
	LabelConfiguration = "configuration"
	LabelRun           = "run"
	LabelPhase         = "phase"
	LabelDirection     = "direction" // Read, Write or Total
	LabelStatistic     = "statistic" // statistic of a latency: mean, p50, p95, p99, p99.9 or max
	LabelMarks         = "marks"     // caveats about a figure
	LabelEnvironment   = "environment"
	LabelRunID         = "run_id"
	LabelHolder        = "holder" // kind/namespace/name
	LabelKind          = "kind"
	LabelOutcome       = "outcome"
	LabelVerb          = "verb"
	LabelPart          = "part"       // part of an outage
	LabelCode          = "code"       // code of a finding
	LabelConfidence    = "confidence" // of a finding: Certain, Likely or Possible
)

// These are the values of LabelState: the condition that is true, or Idle without such a condition, for
// example while the object is suspended.
const (
	StateReconciling = "Reconciling"
	StateStalled     = "Stalled"
	StateReady       = "Ready"
	StateIdle        = "Idle"
)

// These are the values of LabelBetter: the direction in which an objective improves.
const (
	BetterHigher = "higher"
	BetterLower  = "lower"
)

// Switched is the value of LabelConfiguration while a sweep of the design Interleaved switches between configurations.
const Switched = "switched"

// These are the maximum numbers of series about CRs and clusters.
const (
	MaxSweepSeries         = 6    // per sweep, without those of its configurations
	MaxConfigurationSeries = 5    // per configuration of the sweep
	MaxBenchmarkSeries     = 20   // per benchmark
	MaxSeries              = 5000 // of all CRs and clusters together
)
