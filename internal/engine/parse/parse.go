// Package parse has what the parsers of all engines share: their options, their
// errors, a reader of bounded lines, and numbers without allocations.
package parse

import (
	"fmt"
	"io"

	"github.com/cephtune/cephtune/internal/result"
)

// Options is what the caller knows about a run and its output may not say. The
// zero value knows nothing.
type Options struct {
	// RequestedSeconds is how long the tool was asked to run, without its ramp; 0
	// if it is not known or the run was bounded in another way. Where it is 0, what
	// the output says about it is used.
	RequestedSeconds float64
	// RequestedBytes is how much the tool was asked to do; 0 as above.
	RequestedBytes int64
	// OperationBytes are those of each operation, for an output that may be cut off
	// before it says so; 0 if they are not known.
	OperationBytes int64
	// Group selects the jobs of one group of a fio run that has several, which
	// fio runs one after the other or side by side; nil accepts one group only.
	Group *int
}

// MinimumShare is the share of the requested time that a run has to last. The
// tools end a little early or late; one that ends far earlier was stopped, or
// had nothing left to do.
const MinimumShare = 0.95

// Format is one output format of one tool.
type Format struct {
	// Name is the stable name, such as "rados-bench-text".
	Name string
	// Tool is the tool that writes it.
	Tool result.Tool
	// Detect reports whether the first bytes of an output, [HeadBytes] or all of
	// it, are of this format.
	Detect func(head []byte) bool
	// Parse reads one output. The error is a [*SyntaxError] where the output is not
	// what it should be, an [*IncompleteError] where it is, but the run is not one
	// to be compared with others, and otherwise that of the reader.
	Parse func(r io.Reader, options Options) (*result.Result, error)
	// NewLive returns what reads the output of one run while that is at work; nil for
	// a format that says nothing until the end.
	NewLive func() Live
}

// HeadBytes is how much of an output a format needs to see to be recognised.
const HeadBytes = 64 << 10

// SyntaxError says that an output is not of the format that it should be of.
type SyntaxError struct {
	// Line is the line, from 1; 0 if it is about the whole output.
	Line int
	// Want says what was expected, Found what was there.
	Want, Found string
}

// Error implements error.
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("want %s, found %s", e.Want, e.Found)
	}
	return fmt.Sprintf("line %d: want %s, found %s", e.Line, e.Want, e.Found)
}

// Reason says why a run is not one to be compared with others.
type Reason string

// The reasons.
const (
	// Truncated: the output ends before the tool's summary does.
	Truncated Reason = "Truncated"
	// Killed: the tool was stopped by a signal.
	Killed Reason = "Killed"
	// EndedEarly: the run was much shorter than requested, for instance because a
	// sequential read ran out of objects.
	EndedEarly Reason = "EndedEarly"
	// NoIO: the tool reports that it did nothing.
	NoIO Reason = "NoIO"
	// ToolError: the tool reports an error.
	ToolError Reason = "ToolError"
)

// IncompleteError says that an output is in order, but the run that it reports is
// not: it failed, was stopped, or did nothing. Its numbers may look fine.
type IncompleteError struct {
	Reason Reason
	// Line is the line that shows it, from 1; 0 if it is about the whole output.
	Line int
	// Detail says what was seen.
	Detail string
	// Partial is what was measured nevertheless, for a diagnosis and never for a
	// comparison; nil if there is nothing.
	Partial *result.Result
}

// Error implements error.
func (e *IncompleteError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Reason, e.Detail)
	}
	return fmt.Sprintf("line %d: %s: %s", e.Line, e.Reason, e.Detail)
}

// CheckDuration returns an [*IncompleteError] if a run was much shorter than
// requested. Nothing is checked if requestedSeconds is 0.
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

// maxNotes bounds how many lines of an output become warnings.
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

// AppendTo adds what was noted to a result.
func (n *Notes) AppendTo(r *result.Result) {
	r.Warnings = append(r.Warnings, n.warnings...)
	if n.omitted > 0 {
		r.Warn(result.Warning{
			Code:    result.WarnUnrecognizedLine,
			Message: fmt.Sprintf("%d more lines that are not part of the format", n.omitted),
		})
	}
}
