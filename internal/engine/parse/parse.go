// Package parse has the parts that the parsers of all engines share: options, errors, readers of
// bounded lines and documents, and number parsing without allocations.
package parse

import (
	"fmt"
	"io"
	"io/fs"

	"github.com/cephtune/cephtune/internal/result"
)

// Options holds facts about a run that its output may lack. The zero value has no facts.
type Options struct {
	// RequestedSeconds is how long the engine was asked to run, without fio's ramp. For rados bench it
	// includes the ramp, which is cut from the time series later. It is 0 if
	// unknown, or if the run had another limit; the parser then
	// checks the duration that the output mentions, unless another limit may have ended the run.
	RequestedSeconds float64
	// RequestedBytes is how many bytes the engine was asked to move. It is 0 if unknown, or if the
	// run had another limit.
	RequestedBytes int64
	// OperationBytes is the size of each operation, for an output that may be cut off before it
	// shows that size; 0 if unknown.
	OperationBytes int64
	// Group selects the jobs of one group of a fio run. fio runs several groups one after the
	// other or in parallel. With nil, an output with several groups is refused.
	Group *int
}

// MinimumShare is the share of the requested time that a run has to last. The engines end a little
// early or late. An engine that ends far earlier was stopped, or had no work left.
const MinimumShare = 0.95

// Format is one output format of one engine.
type Format struct {
	// Name is the stable name, such as "rados-bench-text".
	Name string
	// Tool is the engine that writes it.
	Tool result.Tool
	// Detect reports whether the first bytes of an output, [HeadBytes] or all of
	// it, are of this format.
	Detect func(head []byte) bool
	// Parse reads one output. The error is a [*SyntaxError] if the output does not have the
	// format. It is an [*IncompleteError] if the output has the format, but the run must not be
	// compared with others. Any other error comes from the reader.
	Parse func(r io.Reader, options Options) (*result.Result, error)
	// NewLive returns a reader of the output of one run while it runs; nil for a format that cannot
	// be read before the run ends.
	NewLive func() Live
	// NewKeeper returns a [Keeper] for the output of a run that prints cumulative reports; nil for
	// a format without a Keeper. Lines outside of reports go to around.
	NewKeeper func(around io.Writer) Keeper
	// AttachLogs adds the rows of the log files with a prefix to a result; nil for a format without
	// log files.
	AttachLogs func(to *result.Result, dir fs.FS, prefix string) error
}

// Keeper keeps the last of several cumulative reports. Its Write never fails.
type Keeper interface {
	io.Writer
	// Last returns the last complete report, followed by the beginning of an incomplete one, if
	// any.
	Last() []byte
}

// HeadBytes is how many bytes of an output suffice to recognise its format.
const HeadBytes = 64 << 10

// SyntaxError says that an output does not have the expected format.
type SyntaxError struct {
	// Line is the line, from 1; 0 if the error concerns the whole output.
	Line int
	// Want describes the expected text, Found the actual text.
	Want, Found string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("want %s, found %s", e.Want, e.Found)
	}
	return fmt.Sprintf("line %d: want %s, found %s", e.Line, e.Want, e.Found)
}

// Reason says why a run must not be compared with others.
type Reason string

// These are the reasons.
const (
	// Truncated means that the output ends before the end of the engine's summary.
	Truncated Reason = "Truncated"
	// Killed means that a signal stopped the engine.
	Killed Reason = "Killed"
	// EndedEarly means that the run was much shorter than requested, for instance because a
	// sequential read ran out of objects, or that it moved too few bytes.
	EndedEarly Reason = "EndedEarly"
	// NoIO means that the engine reports no I/O.
	NoIO Reason = "NoIO"
	// ToolError means that the engine reports an error.
	ToolError Reason = "ToolError"
)

// IncompleteError says that an output has the format as far as it goes, but that it is cut off, or that
// the run failed, was stopped, ended early or did nothing. Its numbers may look fine.
type IncompleteError struct {
	Reason Reason
	// Line is the line that shows the fault, from 1; 0 if the error concerns the whole output.
	Line int
	// Detail describes the evidence in the output.
	Detail string
	// Partial holds the measurements so far, for a diagnosis and never for a comparison; nil if
	// the output has no usable measurements.
	Partial *result.Result
}

// Error implements error.
func (e *IncompleteError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Reason, e.Detail)
	}
	return fmt.Sprintf("line %d: %s: %s", e.Line, e.Reason, e.Detail)
}

// CheckDuration returns an [*IncompleteError] if a run was much shorter than requested. It
// checks nothing if requestedSeconds is 0.
func CheckDuration(partial *result.Result, seconds, requestedSeconds float64) error {
	if seconds >= MinimumShare*requestedSeconds {
		return nil
	}
	return &IncompleteError{
		Reason:  EndedEarly,
		Detail:  fmt.Sprintf("it lasted %.4g s of the %.4g s requested", seconds, requestedSeconds),
		Partial: partial,
	}
}

// maxNotes limits how many lines of an output become warnings.
const maxNotes = 16

// Notes gathers warnings about lines, a bounded number of them.
type Notes struct {
	warnings []result.Warning
	omitted  int
}

// Add notes a line.
func (n *Notes) Add(code result.WarningCode, line int, text []byte) {
	if len(n.warnings) == maxNotes {
		n.omitted++
		return
	}
	n.warnings = append(n.warnings, result.Warning{Code: code, Message: Excerpt(text), Line: line})
}

// AppendTo adds the warnings to a result.
func (n *Notes) AppendTo(r *result.Result) {
	r.Warnings = append(r.Warnings, n.warnings...)
	if n.omitted > 0 {
		r.Warn(result.Warning{
			Code:    result.WarnUnrecognizedLine,
			Message: fmt.Sprintf("further lines that are not part of the format: %d", n.omitted),
		})
	}
}
