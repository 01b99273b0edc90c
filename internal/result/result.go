// Package result defines a tool-independent record of the measurements of one phase of a run.
//
// It follows three rules. Every quantity has its unit in its name. A quantity that a tool did not report is
// absent (a nil pointer, a missing column, a gap in a series), never zero, except in [Done]. Totals are stored
// in a form that can be merged without loss: operations, bytes, moments and histograms. Rates and percentiles
// are computed from these on demand. Two exceptions: a [Series] has rates, and a [Latency] without a histogram
// has the tool's own percentiles.
package result

import "slices"

// SchemaVersion is the version of the JSON form of a result. [Result.Validate] refuses any other
// version.
const SchemaVersion = 1

// Tool names the program that did the I/O. Other packages call it the engine.
type Tool string

// These are the known tools.
const (
	ToolRadosBench Tool = "rados bench"
	ToolRBDBench   Tool = "rbd bench"
	ToolFIO        Tool = "fio"
	// ToolOpenLoop is cephtune's own generator (package openloop).
	ToolOpenLoop Tool = "cephtune generator"
)

// HasRollingRows reports whether the tool prints rates as means over several seconds. Such means spread a slow
// start over many rows, so the start looks like a trend.
func (t Tool) HasRollingRows() bool { return t == ToolRBDBench }

// Result holds the measurements of one or more clients in one phase.
type Result struct {
	// SchemaVersion is always [SchemaVersion] in a valid result.
	SchemaVersion int `json:"schemaVersion"`
	// Source is the origin of the numbers.
	Source Source `json:"source"`
	// Clients is the number of clients whose results were merged into this result; 1 for the output of one
	// client.
	Clients int `json:"clients"`

	// A direction without I/O is nil. Mixed has reads and writes that the tool reported only together.
	Read  *Direction `json:"read,omitempty"`
	Write *Direction `json:"write,omitempty"`
	Trim  *Direction `json:"trim,omitempty"`
	Mixed *Direction `json:"mixed,omitempty"`

	// Arrivals shows whether the load followed its schedule; nil unless the generator measures that.
	Arrivals *Arrivals `json:"arrivals,omitempty"`

	// SyncLatency is the latency of fsync, fdatasync and sync_file_range, which fio reports apart from reads and
	// writes; nil without them. Like Jobs, it is not stored.
	SyncLatency *Latency `json:"-"`
	// Jobs are the loads that the output names: those of fio's jobs, or the one load of another tool. They are
	// not stored, because an archive has the spec of the phase.
	Jobs []Job `json:"-"`

	// Warnings are facts that a reader of the numbers has to know. In the merged result of several clients,
	// they are sorted by code, message and line.
	Warnings []Warning `json:"warnings,omitempty"`
}

// Source is the provenance of a result.
type Source struct {
	Tool Tool `json:"tool"`
	// ToolVersion is the version that the tool printed. It is "" for rados bench and rbd bench, which print
	// no version, and if merged results have different versions.
	ToolVersion string `json:"toolVersion,omitempty"`
	// Format names the format of the output that was parsed.
	Format string `json:"format"`
	// Settings are the tool's options as the tool reported them, verbatim, mostly under its own names. They
	// are not settings of Ceph. Options in which merged results differ are missing.
	Settings map[string]string `json:"settings,omitempty"`
}

// Job is what an output says about the load of one job.
type Job struct {
	// Name is the name of a job of fio; "" for other tools.
	Name string
	// Options are the options under the tool's names, verbatim. Global are those that hold for all jobs of fio,
	// unless the job sets them.
	Options, Global map[string]string
	// Partial says that an option which is missing may have been set, because the format does not carry all
	// options.
	Partial bool
}

// Direction is the I/O of one direction.
type Direction struct {
	// Operations is the number of completed operations.
	Operations int64 `json:"operations"`
	// Bytes is the number of bytes that the operations moved.
	Bytes int64 `json:"bytes"`
	// Seconds is the duration of the I/O. For several clients, it is the window: the time from their common
	// start to the end of the last client. For one client that runs several jobs of fio, the same holds for
	// the jobs.
	Seconds float64 `json:"seconds"`
	// ShortestSeconds is the time of the client, or of the job of fio, that finished first. For one client
	// with one job it equals Seconds. If it is far below Seconds, the window ends with less load than
	// requested.
	ShortestSeconds float64 `json:"shortestSeconds"`

	// Latency is the time for which a client waits: from before the submission of an operation to
	// its completion. SubmissionLatency and CompletionLatency are its parts, which fio calls slat
	// and clat.
	Latency           *Latency `json:"latency,omitempty"`
	SubmissionLatency *Latency `json:"submissionLatency,omitempty"`
	CompletionLatency *Latency `json:"completionLatency,omitempty"`

	// Series has the figures over time; nil if the tool did not report a time series.
	Series *Series `json:"series,omitempty"`
	// LatencyWindows are the latency histograms of parts of the phase; nil if the tool did not report them.
	LatencyWindows []LatencyWindow `json:"latencyWindows,omitempty"`
}

// WarningCode is the stable name of a kind of warning.
type WarningCode string

// These are the codes of warnings.
const (
	// WarnUnrecognizedLine says that a line, or its end, does not belong to the format.
	WarnUnrecognizedLine WarningCode = "UnrecognizedLine"
	// WarnToolMessage says that the tool printed a message between its figures.
	WarnToolMessage WarningCode = "ToolMessage"
	// WarnRoundedBytes says that the tool printed rounded bytes.
	WarnRoundedBytes WarningCode = "RoundedBytes"
	// WarnRoundedLatency says that the tool printed rounded latencies.
	WarnRoundedLatency WarningCode = "RoundedLatency"
	// WarnBlockSizes says that figures cover operations of several sizes, although the tool names one, or none.
	WarnBlockSizes WarningCode = "BlockSizes"
	// WarnUncheckedErrors says that the tool did not check for I/O errors, so errors may have occurred.
	WarnUncheckedErrors WarningCode = "UncheckedErrors"
	// WarnShortIO says that operations were short or dropped.
	WarnShortIO WarningCode = "ShortIO"
	// WarnSnapshots says that earlier, cumulative reports in the same output were skipped.
	WarnSnapshots WarningCode = "Snapshots"
	// WarnSeriesDropped says that a time series, or a part of it, could not be kept.
	WarnSeriesDropped WarningCode = "SeriesDropped"
	// WarnHistogramDropped says that a merged result lacks latencies, a histogram or percentiles that the
	// result of a client or of a job of fio has. Percentiles cannot be merged, and not every client or job has
	// a histogram.
	WarnHistogramDropped WarningCode = "HistogramDropped"
	// WarnHistogramCount says that a histogram and its moments count different numbers of
	// operations.
	WarnHistogramCount WarningCode = "HistogramCount"
	// WarnRampIncluded says that a mean latency covers the whole phase including the ramp, because
	// the tool reported no mean without the ramp.
	WarnRampIncluded WarningCode = "RampIncluded"
	// WarnOffSchedule says that latencies are missing, because the generator did not follow its schedule.
	WarnOffSchedule WarningCode = "OffSchedule"
	// WarnSaturated says that latencies are missing, because the storage could not take the rate.
	WarnSaturated WarningCode = "Saturated"
	// WarnUnevenClients says that some clients, or some jobs of fio in one client, ended long before the last.
	WarnUnevenClients WarningCode = "UnevenClients"
)

// Warning is one fact that a reader of the result has to know.
type Warning struct {
	Code    WarningCode `json:"code"`
	Message string      `json:"message"`
	// Line is the line of the output that the warning concerns, from 1; 0 for no line.
	Line int `json:"line,omitempty"`
}

// BytesPerSecond returns the bandwidth over the whole window: the total divided by the time,
// never an average of averages.
func (d *Direction) BytesPerSecond() float64 { return float64(d.Bytes) / d.Seconds }

// OperationsPerSecond returns the rate of operations over the whole window.
func (d *Direction) OperationsPerSecond() float64 { return float64(d.Operations) / d.Seconds }

// DirectionName names a direction, as in the JSON form.
type DirectionName string

// These are the directions, in the order in which they are always listed.
const (
	Read  DirectionName = "read"
	Write DirectionName = "write"
	Trim  DirectionName = "trim"
	Mixed DirectionName = "mixed"
)

// NamedDirection is a direction with its name.
type NamedDirection struct {
	Name DirectionName
	*Direction
}

// Directions lists the directions that did I/O, in a fixed order.
func (r *Result) Directions() []NamedDirection {
	return slices.DeleteFunc([]NamedDirection{
		{Read, r.Read}, {Write, r.Write}, {Trim, r.Trim}, {Mixed, r.Mixed},
	}, func(d NamedDirection) bool { return d.Direction == nil })
}

// Direction returns the direction of that name, or nil.
func (r *Result) Direction(name DirectionName) *Direction {
	if place := r.place(name); place != nil {
		return *place
	}
	return nil
}

// SetDirection sets the direction of that name.
func (r *Result) SetDirection(name DirectionName, d *Direction) {
	if place := r.place(name); place != nil {
		*place = d
	}
}

func (r *Result) place(name DirectionName) **Direction {
	switch name {
	case Read:
		return &r.Read
	case Write:
		return &r.Write
	case Trim:
		return &r.Trim
	case Mixed:
		return &r.Mixed
	}
	return nil
}

// Warn adds a warning, unless the result has it already.
func (r *Result) Warn(w Warning) {
	if !slices.Contains(r.Warnings, w) {
		r.Warnings = append(r.Warnings, w)
	}
}
