// Package parse has the code that the parsers of all engines share: options, errors, readers of bounded
// lines and documents, and number parsers.
package parse

import (
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/result"
)

// Options holds facts about a run that its output may lack. All facts are optional.
type Options struct {
	// RequestedSeconds is how long the engine was asked to run. It excludes fio's ramp, but includes the
	// ramp of rados bench, which is cut from the time series later. It is 0 if unknown, or if the run had
	// another limit. The parser then uses the requested time that the output names, if any, unless another
	// limit may have ended the run.
	RequestedSeconds float64
	// RequestedBytes is how many bytes the engine was asked to move; 0 if unknown, or if the run had
	// another limit.
	RequestedBytes int64
	// OperationBytes is the size of each operation; 0 if unknown. An output that is cut off may lack this
	// size.
	OperationBytes int64
	// Job selects the jobs of fio with this name, or those of a group, such as "group 1"; "" for all.
	Job string
}

// Part is what the jobs of a run did together: at the same time, and in the directions that belong together.
type Part struct {
	// Group and Jobs name the jobs of fio; both are empty for other engines.
	Group string
	Jobs  []string
	// Verification says that the part has the reads of the verification of what the jobs wrote before.
	Verification bool
	// Err is the error of this part alone.
	Result *result.Result
	// Figures are set instead of Result if the output is not whole, but has some figures.
	Figures *Figures
	Err     error
}

// Figures are what is left of the output of a run of which someone kept some lines, as by `rados bench … | grep
// Bandwidth`. A figure is 0 if it is unknown.
type Figures struct {
	Direction                             result.DirectionName // "" if unknown
	BytesPerSecond, OperationsPerSecond   float64
	MeanLatencySeconds, MaxLatencySeconds float64
}

// SomeFigures returns the part for an output of which only some figures are left. Its result names the tool, and
// has no operations.
func SomeFigures(tool result.Tool, format string, figures *Figures) Part {
	return Part{Figures: figures, Result: &result.Result{
		SchemaVersion: result.SchemaVersion, Source: result.Source{Tool: tool, Format: format}, Clients: 1,
		Jobs: []result.Job{{Partial: true}},
	}}
}

// OnlyPart returns the result of a run with one part. It refuses several parts, which ran one after the other:
// their rates cannot be added up.
func OnlyPart(parts []Part, err error) (*result.Result, error) {
	if err != nil {
		return nil, err
	}
	switch {
	case len(parts) == 1 && parts[0].Figures != nil:
		return nil, &SyntaxError{Want: "the whole output of a run", Found: "some lines of its summary"}
	case len(parts) == 1:
		return parts[0].Result, parts[0].Err
	}
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Name()
	}
	return nil, &SyntaxError{Want: "jobs that ran together, or the choice of a job", Found: strings.Join(names, "; ")}
}

// Name describes the part within its run.
func (p Part) Name() string {
	jobs := p.Jobs
	if len(jobs) > maxNames {
		jobs = append(slices.Clone(jobs[:maxNames]), "…")
	}
	name := Excerpt([]byte(strings.Join(jobs, ", ")))
	if p.Group != "" {
		name = p.Group + " (" + name + ")"
	}
	if p.Verification {
		name += ", verification"
	}
	return name
}

// maxNames is the number of jobs whose names are listed.
const maxNames = 4

// NoJobError is the error for an output without the wanted job.
type NoJobError struct{ Job, Found string }

// Error implements error.
func (e *NoJobError) Error() string {
	return fmt.Sprintf("want a job or a group named %q, found %s", e.Job, e.Found)
}

// MinimumShare is the least share of the requested time that a valid run lasts. Engines may end slightly
// before the requested time. An engine that ends much earlier was stopped, or had no work left.
const MinimumShare = 0.95

// Format is one output format of one engine.
type Format struct {
	// Name is the stable name of the format, such as "rados-bench-text".
	Name string
	// Tool is the engine that writes the format.
	Tool result.Tool
	// Detect reports whether an output has this format. Its argument is the first [HeadBytes] bytes of the
	// output, or all of a shorter output.
	Detect func(head []byte) bool
	// Words are names directly in the JSON of a run, by any of which it is recognised; none for another format.
	Words []string
	// Parse reads one output. The error is a [*SyntaxError] if the output does not have the format, or if
	// its figures are impossible. It is an [*IncompleteError] if the output has the format, but the run must
	// not be compared with other runs. Any other error comes from the reader.
	Parse func(r io.Reader, options Options) (*result.Result, error)
	// Parts is like Parse, for an output whose jobs may not have run together. It is nil for a format whose
	// outputs have one part.
	Parts func(r io.Reader, options Options) ([]Part, error)
	// Split returns the offsets, in order, at which runs begin in a text with one or several outputs.
	Split func(text []byte) []int
	// NewLive returns a reader of the output during one run. It is nil for a format that cannot be read
	// before the run ends.
	NewLive func() Live
	// NewRestorer returns a [Restorer] for one run that prints cumulative reports. The Restorer writes all other
	// lines to the given writer. NewRestorer is nil for a format that has no Restorer.
	NewRestorer func(around io.Writer) Restorer
	// AttachLogs adds the time series of log files to a result. The log files are in dir, and their names
	// begin with prefix. AttachLogs is nil for a format whose log files, if any, are not read.
	AttachLogs func(target *result.Result, dir fs.FS, prefix string) error
}

// Restorer keeps only the last cumulative report of the output that is written to it. Its Write never fails.
type Restorer interface {
	io.Writer
	// Last returns the last complete report. If the output ends within a report, the beginning of that
	// report follows.
	Last() []byte
}

// HeadBytes is how many bytes of an output suffice to recognise its format.
const HeadBytes = 64 << 10

// SyntaxError is the error for an output that does not have the expected format, or has impossible figures.
type SyntaxError struct {
	// Line is the number of the line, from 1; 0 if the error concerns the whole output.
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

// Reason says why a run must not be compared with other runs.
type Reason string

const (
	// Truncated means that the output ends before the end of the engine's summary.
	Truncated Reason = "Truncated"
	// Killed means that a signal stopped the engine. For rbd bench, which does not report signals, it means
	// that the run moved fewer bytes than requested.
	Killed Reason = "Killed"
	// EndedEarly means that the run was much shorter than requested, moved fewer bytes than requested, or
	// did not last a millisecond. For example, a sequential read ran out of objects.
	EndedEarly Reason = "EndedEarly"
	// NoIO means that the engine reports no I/O.
	NoIO Reason = "NoIO"
	// ToolError means that the engine reports an error.
	ToolError Reason = "ToolError"
)

// IncompleteError is the error for an output that has the expected format, but does not show a complete,
// successful run. The numbers in such an output may look plausible.
type IncompleteError struct {
	Reason Reason
	// Line is the number of the line that shows the fault, from 1; 0 if the error concerns the whole
	// output.
	Line int
	// Detail describes the fault that the output shows.
	Detail string
	// Partial holds the measurements up to the fault; nil if the parser found no usable measurements. They
	// must not be compared with measurements of other runs.
	Partial *result.Result
}

// Error implements error.
func (e *IncompleteError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Reason, e.Detail)
	}
	return fmt.Sprintf("line %d: %s: %s", e.Line, e.Reason, e.Detail)
}

// CheckDuration returns an [*IncompleteError] if seconds is below MinimumShare of requestedSeconds. It
// returns nil if requestedSeconds is 0.
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

// Notes gathers warnings about lines: the first maxNotes of them, and the number of further ones.
type Notes struct {
	warnings []result.Warning
	omitted  int
}

// Add adds a warning that quotes a line.
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

// MaxRows limits the rows of a run, and so their memory: one row each second for a week.
const MaxRows = 7 * 24 * 3600

// WarnTooLong adds the warning about a run with more than [MaxRows] rows.
func WarnTooLong(r *result.Result) {
	r.Warn(result.Warning{
		Code:    result.WarnSeriesDropped,
		Message: fmt.Sprintf("the run has more than %d rows, so its time series was not kept", MaxRows),
	})
}
