// Package result is the neutral record of what one run of a benchmark tool
// measured, whichever tool it was.
//
// It follows three rules. Every quantity has its unit in its name. A quantity that a tool did
// not report is absent (a nil pointer, a missing column, a gap in a series), never zero. And
// whatever can be added exactly is kept in the form that can be added: operations, bytes,
// moments and histograms, from which rates and percentiles are derived when they are asked
// for.
package result

import "slices"

// SchemaVersion is the version of the JSON form that this package writes and
// the only one that it reads.
const SchemaVersion = 1

// Tool names the program that did the I/O.
type Tool string

// The tools that the engines understand.
const (
	ToolRadosBench Tool = "rados bench"
	ToolRBDBench   Tool = "rbd bench"
	ToolFIO        Tool = "fio"
)

// Result is what one or more clients measured in one phase.
type Result struct {
	// SchemaVersion is always [SchemaVersion] in a valid result.
	SchemaVersion int `json:"schemaVersion"`
	// Source says where the numbers come from.
	Source Source `json:"source"`
	// Clients is how many outputs were merged into this result: 1 for a parsed one.
	Clients int `json:"clients"`

	// One entry for each direction that did I/O; nil means that it did none.
	// Mixed holds reads and writes that the tool reported together only.
	Read  *Direction `json:"read,omitempty"`
	Write *Direction `json:"write,omitempty"`
	Trim  *Direction `json:"trim,omitempty"`
	Mixed *Direction `json:"mixed,omitempty"`

	// Warnings are what a reader of the numbers has to know, in the order of the
	// output that they are about.
	Warnings []Warning `json:"warnings,omitempty"`
}

// Source is the provenance of a result.
type Source struct {
	Tool Tool `json:"tool"`
	// ToolVersion is what the tool called itself, or "" where it did not
	// (rados bench and rbd bench never do).
	ToolVersion string `json:"toolVersion,omitempty"`
	// Format names the format of the output that was parsed.
	Format string `json:"format"`
	// Settings are what the tool itself said about how it ran, verbatim and under
	// its own names; what it did not say is not here.
	Settings map[string]string `json:"settings,omitempty"`
}

// Direction is the I/O of one direction.
type Direction struct {
	// Operations is the number of completed operations.
	Operations int64 `json:"operations"`
	// Bytes is the number of bytes that they moved.
	Bytes int64 `json:"bytes"`
	// Seconds is the time that it took: with several clients, which started
	// together, the window from the start to the end of the last of them.
	Seconds float64 `json:"seconds"`
	// ShortestSeconds is the time of the client that was done first. It equals
	// Seconds for one client; far below it, the window has a tail with less load
	// than was asked for.
	ShortestSeconds float64 `json:"shortestSeconds"`

	// Latency is from before the submission to the completion of an operation: what
	// a client waits for. SubmissionLatency and CompletionLatency are the parts
	// that fio calls slat and clat.
	Latency           *Latency `json:"latency,omitempty"`
	SubmissionLatency *Latency `json:"submissionLatency,omitempty"`
	CompletionLatency *Latency `json:"completionLatency,omitempty"`

	// Series is the course of the run; nil if the tool did not give one.
	Series *Series `json:"series,omitempty"`
	// LatencyWindows are the latencies in parts of the run; nil unless each operation
	// was logged.
	LatencyWindows []LatencyWindow `json:"latencyWindows,omitempty"`
}

// WarningCode is the stable name of a kind of warning.
type WarningCode string

// The warnings.
const (
	// WarnUnrecognizedLine is a line that belongs to no known format.
	WarnUnrecognizedLine WarningCode = "UnrecognizedLine"
	// WarnToolMessage is a message of the tool between its figures.
	WarnToolMessage WarningCode = "ToolMessage"
	// WarnRoundedBytes says that bytes are only as exact as a rounded print-out.
	WarnRoundedBytes WarningCode = "RoundedBytes"
	// WarnRoundedLatency says that latencies are only as exact as a rounded print-out.
	WarnRoundedLatency WarningCode = "RoundedLatency"
	// WarnUncheckedErrors says that this tool would not have reported I/O errors.
	WarnUncheckedErrors WarningCode = "UncheckedErrors"
	// WarnShortIO says that operations were short or dropped.
	WarnShortIO WarningCode = "ShortIO"
	// WarnSnapshots says that earlier, cumulative reports in the same output were skipped.
	WarnSnapshots WarningCode = "Snapshots"
	// WarnSeriesDropped says that a course over time was there, but could not be kept.
	WarnSeriesDropped WarningCode = "SeriesDropped"
	// WarnHistogramDropped says that a merged result lacks a histogram, because a part lacked
	// it, or had only percentiles, which cannot be merged.
	WarnHistogramDropped WarningCode = "HistogramDropped"
	// WarnHistogramCount says that a histogram counts other operations than its moments.
	WarnHistogramCount WarningCode = "HistogramCount"
	// WarnRampIncluded says that a mean latency is that of the whole run, ramp included,
	// because the tool reported no other.
	WarnRampIncluded WarningCode = "RampIncluded"
	// WarnUnevenClients says that some clients ended long before others.
	WarnUnevenClients WarningCode = "UnevenClients"
)

// Warning is one thing that a reader of the result has to know.
type Warning struct {
	Code    WarningCode `json:"code"`
	Message string      `json:"message"`
	// Line is the line of the output that it is about, from 1, or 0.
	Line int `json:"line,omitempty"`
}

// BytesPerSecond is the bandwidth over the whole window: total by total, never
// an average of averages.
func (d *Direction) BytesPerSecond() float64 { return float64(d.Bytes) / d.Seconds }

// OperationsPerSecond is the rate of operations over the whole window.
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
