// Package result defines a tool-independent record of the measurements of one benchmark run.
//
// It follows three rules. Every quantity has its unit in its name. A quantity that a tool did
// not report is absent (a nil pointer, a missing column, a gap in a series), never zero.
// Totals are stored in a form that can be merged without loss: operations, bytes, moments and
// histograms. Rates and percentiles are derived from them on demand. Two exceptions: a [Series] has
// rates, and a [Latency] without a histogram has the tool's own percentiles.
package result

import "slices"

// SchemaVersion is the version of the JSON form of a result. [Result.Validate] refuses any other
// version.
const SchemaVersion = 1

// Tool names the program that did the I/O. Other packages call it the engine.
type Tool string

// The tools whose output the engines can parse.
const (
	ToolRadosBench Tool = "rados bench"
	ToolRBDBench   Tool = "rbd bench"
	ToolFIO        Tool = "fio"
)

// HasRollingRows reports whether the rates in the rows that the tool prints are means over several
// seconds, in which a warm-up looks like a trend.
func (t Tool) HasRollingRows() bool { return t == ToolRBDBench }

// Result is what one or more clients measured in one phase.
type Result struct {
	// SchemaVersion is always [SchemaVersion] in a valid result.
	SchemaVersion int `json:"schemaVersion"`
	// Source is the origin of the numbers.
	Source Source `json:"source"`
	// Clients is the number of outputs that were merged into this result; 1 for a parsed
	// result.
	Clients int `json:"clients"`

	// Each direction is nil without I/O. Mixed has reads and writes that the tool reported only
	// together.
	Read  *Direction `json:"read,omitempty"`
	Write *Direction `json:"write,omitempty"`
	Trim  *Direction `json:"trim,omitempty"`
	Mixed *Direction `json:"mixed,omitempty"`

	// Warnings are facts that a reader of the numbers has to know. A merged result has them sorted
	// by code, message and line.
	Warnings []Warning `json:"warnings,omitempty"`
}

// Source is the provenance of a result.
type Source struct {
	Tool Tool `json:"tool"`
	// ToolVersion is the version that the tool printed; "" if it printed none (rados bench
	// and rbd bench never do), or if merged results have different versions.
	ToolVersion string `json:"toolVersion,omitempty"`
	// Format names the format of the output that was parsed.
	Format string `json:"format"`
	// Settings are the parameters that the tool itself reported, verbatim. Their names are mostly
	// the tool's own. Parameters that it did not report are missing, and so are parameters in
	// which merged results differ.
	Settings map[string]string `json:"settings,omitempty"`
}

// Direction is the I/O of one direction.
type Direction struct {
	// Operations is the number of completed operations.
	Operations int64 `json:"operations"`
	// Bytes is the number of bytes that the operations moved.
	Bytes int64 `json:"bytes"`
	// Seconds is the duration of the I/O. For several clients, which started together, it is
	// the window from the start to the end of the last client.
	Seconds float64 `json:"seconds"`
	// ShortestSeconds is the time of the client that finished first. For one client it equals
	// Seconds. If it is far below Seconds, the window ends with less load than requested.
	ShortestSeconds float64 `json:"shortestSeconds"`

	// Latency is the time for which a client waits: from before the submission of an operation to
	// its completion. SubmissionLatency and CompletionLatency are its parts, which fio calls slat
	// and clat.
	Latency           *Latency `json:"latency,omitempty"`
	SubmissionLatency *Latency `json:"submissionLatency,omitempty"`
	CompletionLatency *Latency `json:"completionLatency,omitempty"`

	// Series is the course of the run over time; nil if the tool did not report one.
	Series *Series `json:"series,omitempty"`
	// LatencyWindows are the latencies in windows of the run; nil unless the tool logged each
	// operation.
	LatencyWindows []LatencyWindow `json:"latencyWindows,omitempty"`
}

// WarningCode is the stable name of a kind of warning.
type WarningCode string

// The warnings.
const (
	// WarnUnrecognizedLine is a line, or the end of one, that is not part of the format.
	WarnUnrecognizedLine WarningCode = "UnrecognizedLine"
	// WarnToolMessage is a message of the tool between its figures.
	WarnToolMessage WarningCode = "ToolMessage"
	// WarnRoundedBytes says that bytes come from a rounded print-out.
	WarnRoundedBytes WarningCode = "RoundedBytes"
	// WarnRoundedLatency says that latencies come from a rounded print-out.
	WarnRoundedLatency WarningCode = "RoundedLatency"
	// WarnUncheckedErrors says that the tool does not report I/O errors, so that some may have
	// occurred.
	WarnUncheckedErrors WarningCode = "UncheckedErrors"
	// WarnShortIO says that operations were short or dropped.
	WarnShortIO WarningCode = "ShortIO"
	// WarnSnapshots says that earlier, cumulative reports in the same output were skipped.
	WarnSnapshots WarningCode = "Snapshots"
	// WarnSeriesDropped says that a course over time, or a part of it, existed, but could not be
	// kept.
	WarnSeriesDropped WarningCode = "SeriesDropped"
	// WarnHistogramDropped says that a merged result lacks latencies, a histogram or percentiles
	// that the result of a client has: not every client has a histogram, and percentiles cannot be
	// merged.
	WarnHistogramDropped WarningCode = "HistogramDropped"
	// WarnHistogramCount says that a histogram and its moments count different numbers of
	// operations.
	WarnHistogramCount WarningCode = "HistogramCount"
	// WarnRampIncluded says that a mean latency covers the whole run including the ramp, because
	// the tool reported no mean without the ramp.
	WarnRampIncluded WarningCode = "RampIncluded"
	// WarnUnevenClients says that some clients ended long before others.
	WarnUnevenClients WarningCode = "UnevenClients"
)

// Warning is one fact that a reader of the result has to know.
type Warning struct {
	Code    WarningCode `json:"code"`
	Message string      `json:"message"`
	// Line is the line of the output that the warning concerns, from 1; 0 for none.
	Line int `json:"line,omitempty"`
}

// BytesPerSecond returns the bandwidth over the whole window: the total divided by the time,
// never an average of averages.
func (d *Direction) BytesPerSecond() float64 { return float64(d.Bytes) / d.Seconds }

// OperationsPerSecond returns the rate of operations over the whole window.
func (d *Direction) OperationsPerSecond() float64 { return float64(d.Operations) / d.Seconds }

// DirectionName names a direction, as in the JSON form.
type DirectionName string

// The directions, in the order in which they are always listed.
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

// Warn adds a warning, once.
func (r *Result) Warn(w Warning) {
	if !slices.Contains(r.Warnings, w) {
		r.Warnings = append(r.Warnings, w)
	}
}
