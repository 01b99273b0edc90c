package runner

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

// readMeasured parses the results of an engine that ended as planned, from its standard output or from a file
// in its working directory.
func readMeasured(dir string, m *task.Measurement, stdout *os.File, stderr string) (_ *result.Result, err error) {
	root, err := os.OpenRoot(dir) // OpenRoot confines the file names, which come from the task, to dir.
	if err != nil {
		return nil, badOutput("the output of %s cannot be read: %v", m.Argv[0], err)
	}
	defer root.Close() //nolint:errcheck // The folder was only read, so a failed close loses no data.
	file := stdout
	if m.OutputFile != "" {
		if file, err = openOutput(root, m.OutputFile); err != nil {
			return nil, badOutput("%s wrote no report: %v", m.Argv[0], err)
		}
		defer file.Close() //nolint:errcheck // The file was only read, so a failed close loses no data.
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, badOutput("the output of %s cannot be read: %v", m.Argv[0], err)
	}
	measured, err := parseOutput(m, withMessages(m.Format, file, stderr))
	if err != nil {
		return nil, err
	}
	format, _ := engine.Lookup(m.Format)
	if m.LogPrefix != "" && format.AttachLogs != nil {
		if err := format.AttachLogs(measured, root.FS(), m.LogPrefix); err != nil {
			measured.Warn(result.Warning{Code: result.WarnSeriesDropped, Message: "the run has no time series: " + err.Error()})
		}
	}
	return measured, nil
}

// openOutput opens the file to which an engine wrote its results.
func openOutput(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // Reading a pipe could block for ever.
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return root.Open(name)
}

// withMessages appends an engine's standard error to its output: rbd bench reports a failed last flush only
// on standard error, and exits with success. The messages come last, because an engine writes its output in
// blocks and a message between two blocks could split a number. withMessages does not change JSON output,
// which contains its own errors.
func withMessages(format string, output io.Reader, stderr string) io.Reader {
	if stderr == "" || strings.HasSuffix(format, "-json") {
		return output
	}
	return io.MultiReader(output, strings.NewReader("\n"+stderr))
}

// parseOutput parses the output of an engine. A successful exit does not make a result valid: the output must
// be complete, and the I/O must have lasted long enough. If the engine had to run until it was cancelled, its
// output may be incomplete.
func parseOutput(m *task.Measurement, output io.Reader) (*result.Result, error) {
	format, ok := engine.Lookup(m.Format)
	if !ok { // The format was checked when the task arrived.
		return nil, badOutput("there is no format %q", m.Format)
	}
	options := engine.Options{RequestedSeconds: m.RequestedSeconds, RequestedBytes: m.RequestedBytes, OperationBytes: m.OperationBytes}
	measured, err := format.Parse(output, options)
	if err != nil {
		incomplete, ok := errors.AsType[*engine.IncompleteError](err)
		if ok && m.UntilCancelled && incomplete.Partial != nil && incomplete.Reason != parse.ToolError && incomplete.Reason != parse.NoIO {
			return incomplete.Partial, nil // The engine was stopped on purpose, so its output ends early.
		}
		if ok {
			return nil, incompleteOutput(incomplete.Reason, "%s gave no result: %v", m.Argv[0], err)
		}
		return nil, badOutput("the output of %s cannot be read as %s: %v", m.Argv[0], m.Format, err)
	}
	for _, d := range measured.Directions() {
		if d.Seconds < m.MinimumSeconds {
			return nil, incompleteOutput(parse.EndedEarly, "%s did I/O (%s) for %.3g s, want at least %.3g s: it had nothing left to do",
				m.Argv[0], d.Name, d.Seconds, m.MinimumSeconds)
		}
	}
	return measured, nil
}

func badOutput(format string, args ...any) error {
	return &failure{task.Failure{Reason: task.BadOutput, Message: fmt.Sprintf(format, args...)}}
}

func incompleteOutput(reason parse.Reason, format string, args ...any) error {
	return &failure{task.Failure{Reason: task.FailureReason(reason), Message: fmt.Sprintf(format, args...)}}
}
