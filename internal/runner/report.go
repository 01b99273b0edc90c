package runner

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

// encodeReport returns the JSON of a report, compressed. It makes a report shorter
// that is longer than [task.MaxReportBytes]: the course of the run goes first, since
// it alone grows with the time, then the output. A report that is too long even so
// becomes that of a failure.
func encodeReport(r *task.Report) ([]byte, error) {
	for _, shorten := range []func(*task.Report){dropSeries, dropOutput, dropResult} {
		data, err := json.Marshal(r)
		if err != nil {
			return nil, fmt.Errorf("encode the report of task %s: %w", r.ID, err)
		}
		if len(data) <= task.MaxReportBytes {
			return compress(data)
		}
		shorten(r)
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode the report of task %s: %w", r.ID, err)
	}
	return compress(data)
}

func dropSeries(r *task.Report) {
	if r.Result == nil {
		return
	}
	for _, d := range r.Result.Directions() {
		d.Series = nil
	}
	r.Result.Warn(result.Warning{
		Code:    result.WarnSeriesDropped,
		Message: fmt.Sprintf("the course of the run was left out, because the report had more than %d MiB", task.MaxReportBytes>>20),
	})
}

func dropOutput(r *task.Report) { r.Output = "" }

func dropResult(r *task.Report) {
	r.Result, r.State = nil, task.Failed
	r.Failure = &task.Failure{Reason: task.BadOutput, Message: fmt.Sprintf("the result has more than %d MiB", task.MaxReportBytes>>20)}
}

func compress(data []byte) ([]byte, error) {
	var buffer bytes.Buffer
	w := gzip.NewWriter(&buffer)
	_, err := w.Write(data)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, err
	}
	return buffer.Bytes(), nil
}

// decodeReport reads the JSON of a report, whose result it validates: it comes out
// of a pod, and its numbers are going to be believed.
func decodeReport(data []byte) (*task.Report, error) {
	report := &task.Report{}
	if err := json.Unmarshal(data, report); err != nil {
		return nil, err
	}
	switch {
	case !isID(report.ID):
		return nil, fmt.Errorf("the report is of a task %q", report.ID)
	case !report.State.Ended():
		return nil, fmt.Errorf("the report of task %s is of one that is %s", report.ID, report.State)
	case (report.Result != nil) && report.State != task.Done:
		return nil, fmt.Errorf("the report of task %s has a result, although it is %s", report.ID, report.State)
	}
	if report.Result != nil {
		if err := report.Result.Validate(); err != nil {
			return nil, fmt.Errorf("the report of task %s: %w", report.ID, err)
		}
	}
	cleanFailure(report.Failure)
	return report, nil
}

// cleanFailure makes text of what a failure says that came out of a pod. It ends up in
// status, and so on terminals, to which control characters are commands.
func cleanFailure(f *task.Failure) {
	if f == nil {
		return
	}
	f.Reason = task.FailureReason(clean([]byte(f.Reason)))
	f.Message, f.Tail = clean([]byte(f.Message)), clean([]byte(f.Tail))
	for i, argument := range f.Command {
		f.Command[i] = clean([]byte(argument))
	}
}

// decompress returns at most limit bytes, and an error if there are more.
func decompress(data []byte, limit int64) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return readBounded(r, limit)
}

func readBounded(r io.Reader, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("there are more than %d bytes", limit)
	}
	return data, nil
}

// Bounds of a status, which together have less than 4 KiB as JSON but for text that
// is made of quotes and the like.
const (
	maxStatusBytes  = 4 << 10
	maxTailBytes    = 2 << 10
	maxMessageBytes = 512
	maxCommandBytes = 1 << 10
)

// boundFailure cuts a failure such that a status with it has at most 4 KiB.
func boundFailure(f *task.Failure) {
	f.Message = ellipsis.Cut(clean([]byte(f.Message)), maxMessageBytes)
	f.Command = shortenCommand(f.Command)
	for range 4 { // JSON makes up to six bytes of one.
		data, err := json.Marshal(f)
		if err != nil || len(data) <= maxStatusBytes-512 {
			return
		}
		f.Tail = strings.ToValidUTF8(f.Tail[len(f.Tail)/2:], "")
	}
	f.Tail, f.Command = "", f.Command[:min(1, len(f.Command))]
}

// shortenCommand leaves out arguments at the end, and says so.
func shortenCommand(argv []string) []string {
	room := maxCommandBytes
	for i, argument := range argv {
		if room -= len(argument) + len(`"",`); room < 0 {
			return append(append([]string{}, argv[:i]...), "…")
		}
	}
	return argv
}
