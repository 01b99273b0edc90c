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
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
)

// encodeReport returns a report as compressed JSON. While the JSON exceeds [task.MaxReportBytes], encodeReport
// drops one part after another: first the latency windows, which are the longest part, then the time series,
// and then the output. If the report is still too long, encodeReport replaces the result by a failure.
func encodeReport(r *task.Report) ([]byte, error) {
	for _, shorten := range []func(*task.Report){dropLatencyWindows, dropSeries, dropOutput, dropResult} {
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
		Message: fmt.Sprintf("the time series was left out, because the report had more than %d MiB", task.MaxReportBytes>>20),
	})
}

// dropLatencyWindows drops the latency windows (histograms of parts of a phase), which only phases with an
// outage have.
func dropLatencyWindows(r *task.Report) {
	if r.Result == nil {
		return
	}
	dropped := false
	for _, d := range r.Result.Directions() {
		dropped = dropped || d.LatencyWindows != nil
		d.LatencyWindows = nil
	}
	if dropped {
		r.Result.Warn(result.Warning{
			Code:    result.WarnSeriesDropped,
			Message: fmt.Sprintf("the latencies in windows were left out, because the report had more than %d MiB", task.MaxReportBytes>>20),
		})
	}
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

// maxReportMemory is the maximum memory of a report, in bytes. A time series within [task.MaxReportBytes]
// needs at most 9 MiB. A report on a task of a few seconds may have less: reportBytes, and reportBytesEachSecond for
// each second since the start signal, which is enough for histograms of latencies in each second.
const (
	maxReportMemory       = 12 << 20
	reportBytes           = 2 << 20
	reportBytesEachSecond = 64 << 10
)

// readReport reads a compressed report within a memory limit, as [limits.Decode] counts memory, and charges the
// account meanwhile. It validates the report, because pods are not trusted.
func readReport(r io.Reader, memory int64, account *limits.Account) (*task.Report, error) {
	text, err := gzip.NewReader(io.LimitReader(r, task.MaxReportBytes))
	if err != nil {
		return nil, fmt.Errorf("decompress the report: %w", err)
	}
	report := &task.Report{}
	err = limits.Decode(text, report, limits.Limits{
		TextBytes: task.MaxReportBytes, ValueBytes: maxStatusBytes, StringBytes: 8 * task.MaxOutputBytes, MemoryBytes: memory, Depth: 16,
		Account: account,
	})
	if err != nil {
		return nil, err
	}
	return report, validateReport(report)
}

func validateReport(report *task.Report) error {
	switch {
	case !isID(report.ID):
		return fmt.Errorf("the report has the invalid task ID %q", report.ID)
	case !report.State.Ended():
		return fmt.Errorf("the report of task %s has the state %s, which is not a final one", report.ID, report.State)
	case (report.Result != nil) && report.State != task.Done:
		return fmt.Errorf("the report of task %s has a result, although it is %s", report.ID, report.State)
	}
	if report.Result != nil {
		if err := report.Result.Validate(); err != nil {
			return fmt.Errorf("the report of task %s: %w", report.ID, err)
		}
	}
	cleanFailure(report.Failure)
	return nil
}

// cleanFailure cleans a failure's text, as clean does, because the text appears in status, and terminals
// would interpret control characters.
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

// The limits of a status, in bytes. maxStatusBytes is for the whole status as JSON. The other limits are for
// parts of its failure, before JSON escapes characters.
const (
	maxStatusBytes  = 4 << 10
	maxTailBytes    = 2 << 10
	maxMessageBytes = 512
	maxCommandBytes = 1 << 10
)

// boundFailure shortens a failure so that a status with it has at most 4 KiB.
func boundFailure(f *task.Failure) {
	f.Message = ellipsis.Cut(clean([]byte(f.Message)), maxMessageBytes)
	f.Command = shortenCommand(f.Command)
	for range 4 { // JSON may escape one byte as six, so several halvings may be needed.
		data, err := json.Marshal(f)
		if err != nil || len(data) <= maxStatusBytes-512 {
			return
		}
		f.Tail = strings.ToValidUTF8(f.Tail[len(f.Tail)/2:], "")
	}
	f.Tail, f.Command = "", f.Command[:min(1, len(f.Command))]
}

// shortenCommand replaces the last arguments of a long command by an ellipsis.
func shortenCommand(argv []string) []string {
	room := maxCommandBytes
	for i, argument := range argv {
		if room -= len(argument) + len(`"",`); room < 0 {
			return append(append([]string{}, argv[:i]...), "…")
		}
	}
	return argv
}
