package metrics

// Type is the type of a metric in Prometheus.
type Type string

// These are the types.
const (
	Gauge     Type = "gauge"
	Counter   Type = "counter"
	Histogram Type = "histogram"
)

// Description describes a metric.
type Description struct {
	Name string
	Type Type
	// Help is the help text for Prometheus, including the unit.
	Help string
	// Labels lists the labels in the order of the values in samples.
	Labels []string
	// Example is a typical query.
	Example string
	// Answers is the question that the example answers.
	Answers string
}

// Group is a group of metrics about one subject.
type Group struct {
	Title string
	// About introduces the metrics. For example, it says when they appear and disappear.
	About        string
	Descriptions []Description
}

// Table returns all metrics, in the order of the documentation.
func Table() []Group {
	return []Group{
		sweepGroup(), configurationGroup(), benchmarkGroup(), clusterGroup(), eventGroup(), outageGroup(), exporterGroup(),
	}
}

// Describe returns the description of a metric, or false if there is no such metric.
func Describe(name string) (Description, bool) {
	for _, group := range Table() {
		for _, d := range group.Descriptions {
			if d.Name == name {
				return d, true
			}
		}
	}
	return Description{}, false
}

func sweepGroup() Group {
	return Group{
		Title: "Sweeps",
		About: "Each CephTuningSweep has at most 6 of these series. They come from its status, so a restart of the manager does not change them, and they disappear when the sweep is " +
			"deleted. Only a running sweep has the series of the run that measures and of the expected end. Only a sweep of the design Blocks that has ended with a verdict has those of the noise.",
		Descriptions: []Description{
			{
				Name: SweepInfo, Type: Gauge,
				Help: "A sweep, with texts from its status as labels. The value is always 1.",
				Labels: []string{
					LabelNamespace, LabelName, LabelCluster, LabelRunID, LabelState, LabelReason, LabelVerdict, LabelSummary, LabelBest, LabelMetric, LabelBetter, LabelConstraints,
					LabelEnvironment,
				},
				Example: `count by (state, reason) (` + SweepInfo + `)`, Answers: "how many sweeps are in each state",
			},
			{
				Name: SweepProgressRatio, Type: Gauge,
				Help:    "The share of a sweep's planned trials that have ended, from 0 to 1. It may fall when trials have to be repeated.",
				Labels:  []string{LabelNamespace, LabelName},
				Example: SweepProgressRatio + `{namespace="cephtune-bench"}`, Answers: "the progress of each sweep",
			},
			{
				Name: SweepEstimatedCompletion, Type: Gauge,
				Help:    "The estimated end of a sweep, including its restore, in seconds since 1970. Absent until it can be estimated, while the sweep is suspended, and once it has ended.",
				Labels:  []string{LabelNamespace, LabelName},
				Example: SweepEstimatedCompletion + ` - time()`, Answers: "how many seconds are left",
			},
			{
				Name: SweepRunning, Type: Gauge,
				Help: "1 while a run of a sweep measures, and no series otherwise. Meanwhile, the cluster's load includes the benchmark's. For the design Interleaved, the " +
					"configuration is " + Switched + ", because a trial switches every few seconds.",
				Labels:  []string{LabelNamespace, LabelName, LabelConfiguration, LabelRun},
				Example: `max by (configuration) (` + SweepRunning + `{name="pg-num"})`, Answers: "which configuration was measured when, to shade a graph",
			},
			{
				Name: SweepRestored, Type: Gauge,
				Help: "1 once every setting that a sweep changed in Ceph was read back at its original value, except those of a winner that is kept and those that something else changed; 0 " +
					"before that, after an abandoned restore, and if OSDs may use the sweep's values until they restart; no series for a sweep that changed nothing.",
				Labels:  []string{LabelNamespace, LabelName},
				Example: SweepRestored + ` == 0`, Answers: "which sweeps have not restored everything",
			},
			{
				Name: SweepNoiseFloor, Type: Gauge,
				Help:    "The coefficient of variation between runs of the same configuration in a sweep that has ended: 0.03 means that runs scatter by 3 %.",
				Labels:  []string{LabelNamespace, LabelName},
				Example: SweepNoiseFloor + ` > 0.1`, Answers: "which clusters were too noisy to show small differences",
			},
			{
				Name: SweepSmallestEffect, Type: Gauge,
				Help:    "The smallest improvement that an ended sweep could prove at its noise, four times out of five, as a share of the figure: 0.05 is 5 %.",
				Labels:  []string{LabelNamespace, LabelName},
				Example: SweepSmallestEffect + ` and on (namespace, name) ` + SweepInfo + `{verdict="Inconclusive"}`, Answers: "the effect that an undecided sweep could have proven",
			},
			{
				Name: SweepMinimumEffect, Type: Gauge,
				Help:    "The improvement that a configuration has to exceed to be Superior, from the spec, as a share of the figure: 0.1 is 10 %.",
				Labels:  []string{LabelNamespace, LabelName},
				Example: SweepConfigurationRatioLow + ` > on (namespace, name) group_left 1 + ` + SweepMinimumEffect, Answers: "which configurations have their whole interval above the minimum effect",
			},
		},
	}
}

func configurationGroup() Group {
	labels := []string{LabelNamespace, LabelName, LabelConfiguration}
	return Group{
		Title: "Configurations of sweeps",
		About: "Each configuration of a CephTuningSweep has at most 5 of these series, which come from status. A ratio compares the configuration with the baseline: 1 means no " +
			"difference. The label better of `" + SweepInfo + "` says whether a higher or a lower figure is better.",
		Descriptions: []Description{
			{
				Name: SweepConfigurationRatio, Type: Gauge,
				Help:    "The objective of a configuration divided by that of the baseline, as a ratio. The verdict is empty while the configuration is in the race.",
				Labels:  append(labels[:3:3], LabelVerdict),
				Example: `topk by (namespace, name) (1, ` + SweepConfigurationRatio + `{verdict="Superior"})`, Answers: "which configuration won, and by how much",
			},
			{
				Name: SweepConfigurationRatioLow, Type: Gauge,
				Help:    "The lower end of the interval of a configuration's ratio.",
				Labels:  labels,
				Example: SweepConfigurationRatioLow + ` > 1`, Answers: "which configurations have their whole interval above the baseline",
			},
			{
				Name: SweepConfigurationRatioHigh, Type: Gauge,
				Help:    "The upper end of the interval of a configuration's ratio.",
				Labels:  labels,
				Example: SweepConfigurationRatioHigh + ` - ` + SweepConfigurationRatioLow, Answers: "how wide the intervals are",
			},
			{
				Name: SweepConfigurationLatest, Type: Gauge,
				Help: "The objective in the latest valid run of a configuration, in bytes per second, operations per second or seconds, as the label metric of " + SweepInfo +
					" says: Bandwidth, IOPS, or a latency or time. The baseline is a configuration of its own. Sweeps of the design Interleaved have no such series.",
				Labels:  labels,
				Example: SweepConfigurationLatest + ` and on (namespace, name) ` + SweepInfo + `{metric="Bandwidth"}`, Answers: "bandwidth of run after run, in bytes per second",
			},
			{
				Name: SweepConfigurationTypical, Type: Gauge,
				Help: "The typical figure of the objective of a configuration, in the unit of " + SweepConfigurationLatest + ": the mean of the valid trials or, for a percentile, the figure of the " +
					"median trial. Its quotients differ from the ratios, which compare neighbours in time.",
				Labels:  labels,
				Example: SweepConfigurationTypical + `{configuration="baseline"}`, Answers: "what each baseline typically reaches",
			},
		},
	}
}

func benchmarkGroup() Group {
	return Group{
		Title: "Benchmarks",
		About: "Each CephBenchmark has at most 20 of these series, which come from its status. The series of the first six metrics below and of the expectations are never left out to " +
			"keep this limit. The other series are added, each for all phases, in this order until the next would exceed 20: the time to clean, bandwidth, operations, the 99th percentile, " +
			"the valid runs, both ends of the interval, the limits, and the latencies mean, p50, p95, p99.9 and max, all with direction Total; then the same figures with directions Read and Write. A " +
			"benchmark that belongs to a sweep has series only while it runs.",
		Descriptions: append([]Description{
			{
				Name: BenchmarkInfo, Type: Gauge,
				Help:    "A benchmark, with texts from its status as labels. The value is always 1.",
				Labels:  []string{LabelNamespace, LabelName, LabelCluster, LabelRunID, LabelState, LabelReason, LabelVerdict, LabelSummary, LabelEnvironment},
				Example: BenchmarkInfo + `{verdict="Failed"}`, Answers: "which benchmarks missed an expectation, and how",
			},
			{
				Name: BenchmarkProgressRatio, Type: Gauge,
				Help:    "The share of a benchmark's runs that have ended, from 0 to 1.",
				Labels:  []string{LabelNamespace, LabelName},
				Example: BenchmarkProgressRatio + ` < 1`, Answers: "which benchmarks have runs left",
			},
			{
				Name: BenchmarkRunning, Type: Gauge,
				Help:    "1 while a run of a benchmark measures, and no series otherwise.",
				Labels:  []string{LabelNamespace, LabelName, LabelRun},
				Example: `max by (namespace, name, run) (` + BenchmarkRunning + `)`, Answers: "when each run measured, to shade a graph",
			},
			{
				Name: BenchmarkCompletion, Type: Gauge,
				Help:    "When the latest run ID of a benchmark ended, in seconds since 1970. Absent while a run ID is running.",
				Labels:  []string{LabelNamespace, LabelName},
				Example: `time() - ` + BenchmarkCompletion + ` > 2 * 86400`, Answers: "which benchmarks ended more than two days ago",
			},
			{
				Name: BenchmarkRegressed, Type: Gauge,
				Help: "1 if a figure of a benchmark is worse since a certain run ID, 0 if no figure is known to be, and no series with too few run IDs of the same workload. The condition " +
					"Regressed says since when and by how much.",
				Labels:  []string{LabelNamespace, LabelName},
				Example: BenchmarkRegressed + ` == 1`, Answers: "which benchmarks have become slower",
			},
			{
				Name: BenchmarkFinding, Type: Gauge,
				Help:    "1 for each cause that the latest diagnosis found. The confidence is Certain, Likely or Possible. status.diagnosis has evidence and remedy.",
				Labels:  []string{LabelNamespace, LabelName, LabelCode, LabelConfidence},
				Example: BenchmarkFinding + `{confidence!="Possible"}`, Answers: "what makes clusters slow for certain, or is likely to",
			},
		}, figureDescriptions()...),
	}
}

// figureDescriptions returns the metrics of what was measured, and of the evidence for it.
func figureDescriptions() []Description {
	figure := []string{LabelNamespace, LabelName, LabelPhase, LabelDirection}
	return append([]Description{
		{
			Name: BenchmarkBandwidth, Type: Gauge,
			Help:    "The bandwidth of a phase over all valid runs, in bytes per second.",
			Labels:  figure,
			Example: BenchmarkBandwidth + `{name="nightly", direction="Total"}`, Answers: "bandwidth of each phase, from night to night",
		},
		{
			Name: BenchmarkIOPS, Type: Gauge,
			Help:    "The operations of a phase over all valid runs, in operations per second.",
			Labels:  figure,
			Example: BenchmarkIOPS + `{phase="randread-4k", direction="Total"}`, Answers: "operations per second of one phase",
		},
		{
			Name: BenchmarkLatency, Type: Gauge,
			Help:    "A latency of a phase over all valid runs, in seconds: the mean, a percentile or the longest, as label statistic says.",
			Labels:  append(figure[:4:4], LabelStatistic),
			Example: BenchmarkLatency + `{statistic="p99", direction="Total"} > 0.02`, Answers: "which phases have a 99th percentile above 20 ms",
		},
	}, evidenceDescriptions()...)
}

// evidenceDescriptions returns the metrics about valid runs, intervals, expectations and the time to clean.
func evidenceDescriptions() []Description {
	return []Description{
		{
			Name: BenchmarkValidRuns, Type: Gauge,
			Help: "The number of runs from which the figures of a phase are computed. The label marks has notes on them. With ClosedLoop, for example, latencies are not those of a fixed " +
				"rate; with Cached, figures are not those of the disks.",
			Labels:  []string{LabelNamespace, LabelName, LabelPhase, LabelMarks},
			Example: BenchmarkValidRuns + `{marks=~".*Cached.*"}`, Answers: "which figures come from caches",
		},
		{
			Name: BenchmarkBandwidthLow, Type: Gauge,
			Help: "The lower end of the 95 % interval of the bandwidth of a phase in a typical run, in bytes per second. Absent with fewer than three runs. With blocks of one size, the " +
				"interval of the operations is proportional to it.",
			Labels:  []string{LabelNamespace, LabelName, LabelPhase},
			Example: BenchmarkBandwidthLow + ` < 300 * 1024^2`, Answers: "which phases may typically be slower than 300 MiB/s",
		},
		{
			Name: BenchmarkBandwidthHigh, Type: Gauge,
			Help:    "The upper end of the 95 % interval of the bandwidth of a phase in a typical run, in bytes per second. Absent with fewer than three runs.",
			Labels:  []string{LabelNamespace, LabelName, LabelPhase},
			Example: BenchmarkBandwidthHigh + ` / ` + BenchmarkBandwidthLow + ` > 1.1`, Answers: "which phases have an interval wider than a tenth",
		},
		{
			Name: BenchmarkExpectations, Type: Gauge,
			Help:    "How many expectations of a benchmark have this outcome: Met, Missed or Unknown. An outcome without expectations has no series.",
			Labels:  []string{LabelNamespace, LabelName, LabelOutcome},
			Example: BenchmarkExpectations + `{outcome="Missed"}`, Answers: "how many expectations were missed",
		},
		{
			Name: BenchmarkLimit, Type: Gauge,
			Help: "The limit of an expectation with atMost or atLeast, in bytes per second, operations per second or seconds, as the label metric says. Of several limits of one figure, the " +
				"first has a series.",
			Labels:  []string{LabelNamespace, LabelName, LabelPhase, LabelDirection, LabelMetric},
			Example: BenchmarkLimit + `{metric="Bandwidth"}`, Answers: "the bandwidth that each gate demands",
		},
		{
			Name: BenchmarkSustainable, Type: Gauge,
			Help:    "The highest rate that keeps the limit of a curve, in operations per second. Only a phase with fio.curve has this series, with direction Total, and only if the rate is known.",
			Labels:  []string{LabelNamespace, LabelName, LabelPhase, LabelDirection},
			Example: BenchmarkSustainable + ` < 5000`, Answers: "which targets sustain fewer than 5,000 operations per second",
		},
		{
			Name: BenchmarkSustainableLow, Type: Gauge,
			Help:    "The lower end of the 95 % interval of the rate that keeps the limit of a curve, in operations per second.",
			Labels:  []string{LabelNamespace, LabelName, LabelPhase},
			Example: BenchmarkSustainableLow + ` > 5000`, Answers: "which targets certainly sustain 5,000 operations per second",
		},
		{
			Name: BenchmarkSustainableHigh, Type: Gauge,
			Help:    "The upper end of the 95 % interval of the rate that keeps the limit of a curve, in operations per second.",
			Labels:  []string{LabelNamespace, LabelName, LabelPhase},
			Example: BenchmarkSustainableHigh + ` / ` + BenchmarkSustainableLow + ` > 1.2`, Answers: "which curves are not exact",
		},
		{
			Name: BenchmarkTimeToClean, Type: Gauge,
			Help: "The time from when noup was unset after an outage until all placement groups had all their copies again, over all valid runs, in seconds. Only the phase of an outage " +
				"has this series, with direction Total.",
			Labels:  []string{LabelNamespace, LabelName, LabelPhase, LabelDirection},
			Example: BenchmarkTimeToClean + ` > 300`, Answers: "which clusters take more than five minutes to be clean again",
		},
	}
}

func clusterGroup() Group {
	return Group{
		Title: "Ceph clusters",
		About: "Each CephCluster in the operator config has these series. They come from the lock and the journals in the operator's namespace, and from the status of waiting CRs. Those " +
			"of the lock and the journals appear once the CephCluster has an FSID.",
		Descriptions: []Description{
			{
				Name: LockHeld, Type: Gauge,
				Help:    "1 while the lock of a Ceph cluster is held, and 0 while it is free. The label holder names the holder.",
				Labels:  []string{LabelCluster, LabelHolder},
				Example: LockHeld + ` == 1`, Answers: "who holds the lock of which cluster",
			},
			{
				Name: LockAcquired, Type: Gauge,
				Help:    "When the current holder took the lock of a Ceph cluster, in seconds since 1970. Absent while the lock is free.",
				Labels:  []string{LabelCluster},
				Example: `time() - ` + LockAcquired, Answers: "for how many seconds it has been held",
			},
			{
				Name: QueueLength, Type: Gauge,
				Help:    "How many benchmarks and sweeps wait for the lock of a Ceph cluster. Absent while CRs cannot be read.",
				Labels:  []string{LabelCluster},
				Example: `max_over_time(` + QueueLength + `[1d])`, Answers: "how long the queue was today",
			},
			{
				Name: JournalOpen, Type: Gauge,
				Help:    "How many settings of a Ceph cluster are to be restored, according to the journal. The label holder names the sweep that changed them, and is empty if no setting is to be restored.",
				Labels:  []string{LabelCluster, LabelHolder},
				Example: JournalOpen + ` > 0`, Answers: "which clusters have settings to restore",
			},
			{
				Name: OSDsKeptDown, Type: Gauge,
				Help: "How many OSDs of a Ceph cluster are kept down for an outage, according to its journal. The label holder names the benchmark or sweep that stopped them, and is empty " +
					"if no OSD is kept down.",
				Labels:  []string{LabelCluster, LabelHolder},
				Example: OSDsKeptDown + ` > 0`, Answers: "which clusters have OSDs down on purpose",
			},
			{
				Name: OSDsDueUp, Type: Gauge,
				Help:    "The latest time at which noup of OSDs that are kept down must be unset, in seconds since 1970. Absent while no OSD is kept down.",
				Labels:  []string{LabelCluster},
				Example: `time() - ` + OSDsDueUp + ` > 60`, Answers: "which OSDs are overdue by more than a minute",
			},
		},
	}
}

func eventGroup() Group {
	return Group{
		Title: "What happens",
		About: "Counters since the start of the manager. Use rate() or increase() on them.",
		Descriptions: []Description{
			{
				Name: InvalidRuns, Type: Counter,
				Help:    "Invalid runs of benchmarks and invalid trials of sweeps, by kind of object and reason. Runs of a sweep's benchmarks count as its trials.",
				Labels:  []string{LabelKind, LabelReason},
				Example: `sum by (reason) (increase(` + InvalidRuns + `[1d]))`, Answers: "why runs and trials were invalid today",
			},
			{
				Name: Restores, Type: Counter,
				Help:    "Restores that ended, by outcome: Restored, LeftAlone, OSDsNotRestarted or Abandoned. Outcome Failed counts failed attempts, which are retried.",
				Labels:  []string{LabelOutcome},
				Example: `increase(` + Restores + `{outcome="Failed"}[1h])`, Answers: "how often restoring settings failed in the last hour",
			},
			{
				Name: Settle, Type: Histogram,
				Help:    "How long Ceph clusters took to settle after a configuration was applied, in seconds.",
				Example: `histogram_quantile(0.9, sum by (le) (rate(` + Settle + `_bucket[1d])))`, Answers: "within how many seconds nine of ten changes settled",
			},
			{
				Name: SidecarRequest, Type: Histogram,
				Help:    "How long requests to the sidecar with Ceph's command line took, in seconds, by verb.",
				Labels:  []string{LabelVerb},
				Example: `histogram_quantile(0.99, sum by (le, verb) (rate(` + SidecarRequest + `_bucket[5m])))`, Answers: "the 99th percentile of each verb, in seconds",
			},
			{
				Name: SidecarErrors, Type: Counter,
				Help:    "Requests to the sidecar that failed or got no answer, by verb.",
				Labels:  []string{LabelVerb},
				Example: `sum by (verb) (rate(` + SidecarErrors + `[5m]))`, Answers: "how many fail in a second",
			},
			{
				Name: APIRequest, Type: Histogram,
				Help:    "How long requests to the API server of Kubernetes took until the answer began, in seconds, by verb: get (lists too), watch, create, update, patch, delete or other.",
				Labels:  []string{LabelVerb},
				Example: `sum by (verb) (rate(` + APIRequest + `_count[5m]))`, Answers: "how many requests there are in a second",
			},
		},
	}
}

func outageGroup() Group {
	return Group{
		Title: "Outages",
		About: "The cost of outages, including those of sweeps, as counters since the start of the manager. Use rate() or increase() on them; `" + BenchmarkTimeToClean +
			"` has the figure of each benchmark, and the benchmark's report has the figures of each run.",
		Descriptions: []Description{
			{
				Name: Outages, Type: Counter,
				Help:    "Outages whose run has ended, by outcome: Measured, Refused (no OSD was stopped) or Failed (the run is invalid).",
				Labels:  []string{LabelOutcome},
				Example: `increase(` + Outages + `{outcome="Refused"}[1d])`, Answers: "how often OSDs could not be stopped today",
			},
			{
				Name: OutageDuration, Type: Histogram,
				Help:    "How long the parts of measured outages took, in seconds: until noup was unset, and from then until the OSDs were up, until placement groups were active, and until all were clean.",
				Labels:  []string{LabelPart},
				Example: `histogram_quantile(0.5, sum by (le) (rate(` + OutageDuration + `_bucket{part="clean"}[1d])))`, Answers: "within how many seconds half of the recoveries were over",
			},
			{
				Name: DegradedObjectSeconds, Type: Counter,
				Help:    "Missing copies of objects in measured outages, summed over time: object-seconds.",
				Example: `increase(` + DegradedObjectSeconds + `[1d])`, Answers: "how much redundancy outages have cost today",
			},
			{
				Name: RecoveredObjects, Type: Counter,
				Help:    "Recovered copies of objects in measured outages, of all pools.",
				Example: `increase(` + RecoveredObjects + `[1d])`, Answers: "how many copies had to be recovered today",
			},
		},
	}
}

func exporterGroup() Group {
	return Group{
		Title: "The exporter",
		About: "These say whether some of the series above are missing.",
		Descriptions: []Description{
			{
				Name: DroppedSeries, Type: Gauge,
				Help:    "How many series were left out, because a benchmark has at most 20, and all CRs and clusters together at most 5000. CRs at work come first, then waiting ones, then the others.",
				Example: DroppedSeries + ` > 0`, Answers: "whether something is missing",
			},
			{
				Name: CollectionErrors, Type: Gauge,
				Help:    "How many reads, such as that of a lock, a journal or the list of benchmarks, failed at this scrape; the series that need them are missing. The manager's log says why.",
				Example: CollectionErrors + ` > 0`, Answers: "whether locks, journals or CRs could not be read",
			},
		},
	}
}
