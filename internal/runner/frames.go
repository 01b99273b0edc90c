package runner

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
)

// A frame is a report in a log. Readers find a complete frame even if other lines stand between its lines, or
// a prefix precedes each line. They also find it if the log has lost lines before or after the frame.
//
//	cephtune-report-1 begin id=ID bytes=N sha256=HEX lines=N
//	cephtune-report-1 data BASE64
//	cephtune-report-1 end id=ID
//
// The data is the report's JSON, compressed by gzip. The values of bytes and sha256 describe the compressed
// data. If the log has no room for a frame, one line replaces it:
//
//	cephtune-report-1 omitted id=ID bytes=N
const (
	frameMagic   = "cephtune-report-1 "
	frameBegin   = "begin id=%s bytes=%d sha256=%64s lines=%d"
	frameData    = "data "
	frameEnd     = "end id=%s"
	frameOmitted = "omitted id=%s bytes=%d"

	// frameLineBytes is the maximum number of bytes in a data line before base64. The encoded line with its
	// prefix is shorter than 8 KiB. Container runtimes split lines at 16 KiB.
	frameLineBytes = 6000
)

// frameWriter writes frames within a limit; left is the rest of the limit in bytes. One line replaces each
// frame that exceeds the rest.
type frameWriter struct {
	mu   sync.Mutex
	w    io.Writer
	left int
}

// newFrameWriter returns a writer for at most [task.MaxReportBytes] of frames. The limit is below the 10 MiB
// at which kubelets rotate a log by default.
func newFrameWriter(w io.Writer) *frameWriter { return &frameWriter{w: w, left: task.MaxReportBytes} }

func (f *frameWriter) write(id string, encoded []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	frame := encodeFrame(id, encoded)
	if len(frame) > f.left {
		_, err := fmt.Fprintf(f.w, frameMagic+frameOmitted+"\n", id, len(encoded))
		return err
	}
	f.left -= len(frame)
	_, err := f.w.Write(frame)
	return err
}

// WriteFrame writes a report as a frame, for tests of log readers.
func WriteFrame(w io.Writer, report *task.Report) error {
	encoded, err := encodeReport(report)
	if err != nil {
		return err
	}
	_, err = w.Write(encodeFrame(report.ID, encoded))
	return err
}

func encodeFrame(id string, encoded []byte) []byte {
	var b bytes.Buffer
	digest := sha256.Sum256(encoded)
	lines := (len(encoded) + frameLineBytes - 1) / frameLineBytes
	fmt.Fprintf(&b, frameMagic+frameBegin+"\n", id, len(encoded), hex.EncodeToString(digest[:]), lines)
	for piece := range slices.Chunk(encoded, frameLineBytes) {
		b.WriteString(frameMagic + frameData + base64.StdEncoding.EncodeToString(piece) + "\n")
	}
	fmt.Fprintf(&b, frameMagic+frameEnd+"\n", id)
	return b.Bytes()
}

// notesWriter writes lines for humans into the log that contains the frames. Such lines may repeat the output
// of engines or the requests of unauthenticated peers. notesWriter replaces frameMagic in them, so that no
// line can pass for a part of a frame.
type notesWriter struct{ w io.Writer }

// Write implements io.Writer.
func (n notesWriter) Write(p []byte) (int, error) {
	word := bytes.TrimSpace([]byte(frameMagic))
	if _, err := n.w.Write(bytes.ReplaceAll(p, word, []byte("(a frame)"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

// FrameError says that a report could not be recovered from a log.
type FrameError struct {
	// ID is the task's ID.
	ID string
	// Line is the number, from 1, of the log line that begins or replaces the frame. If that line is lost,
	// Line is the number of the line that ends the frame.
	Line int
	// Problem completes the sentence that begins with "the report of task ID".
	Problem string
}

// Error implements error.
func (e *FrameError) Error() string {
	return fmt.Sprintf("line %d of the log: the report of task %s %s", e.Line, e.ID, e.Problem)
}

// The limits for reading a log.
const (
	maxFrames       = maxTasks
	maxFrameErrors  = 100
	maxFramesMemory = 2 * maxReportMemory // of all reports
	maxLogLineBytes = 16 << 10
)

// ReadFrames returns the reports in a log, in the log's order. It skips reports that are damaged, truncated,
// omitted or invalid, or exceed the limits. The error contains one [*FrameError] for each of the first
// maxFrameErrors of these reports, but none for a report if the log has lost both the first and the last line
// of its frame. If reading fails, ReadFrames returns the reports before the failure, and the error. The reports are
// charged to the parameter account, which may be nil, until ReadFrames returns.
func ReadFrames(r io.Reader, account *limits.Account) ([]task.Report, error) {
	reader := &frameReader{account: account, held: account.Hold()}
	defer reader.held.Release()
	in := bufio.NewReaderSize(r, maxLogLineBytes)
	for {
		line, err := in.ReadSlice('\n')
		reader.number++
		if text, found := frameText(line); found {
			reader.line(text)
		}
		for errors.Is(err, bufio.ErrBufferFull) { // A line that exceeds the buffer does not belong to a frame.
			_, err = in.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			reader.fail("is cut off, because the log cannot be read")
			return reader.reports, errors.Join(append(reader.errs, fmt.Errorf("read the log: %w", err))...)
		}
	}
	reader.fail("is cut off by the end of the log")
	return reader.reports, errors.Join(reader.errs...)
}

// frameText returns the text after frameMagic, and whether the line contains frameMagic. A timestamp or a pod
// name may precede frameMagic.
func frameText(line []byte) (string, bool) {
	_, text, ok := bytes.Cut(line, []byte(frameMagic))
	return strings.TrimRight(string(text), "\r\n"), ok
}

// frameReader reads frames line by line, one frame after another.
type frameReader struct {
	number  int
	account *limits.Account
	reports []task.Report
	memory  int64           // of reports
	held    *limits.Holding // of that memory
	errs    []error

	open   bool
	id     string
	begin  int // the line on which the frame begins
	length int
	digest string
	lines  int
	data   []byte
}

func (f *frameReader) line(text string) {
	var id string
	var length int
	switch {
	case strings.HasPrefix(text, "begin "):
		f.fail("is cut off by the next one")
		f.start(text)
	case strings.HasPrefix(text, "omitted "):
		f.fail("is cut off by the next one")
		if _, err := fmt.Sscanf(text, frameOmitted, &id, &length); err == nil && isID(id) {
			f.id, f.begin, f.open = id, f.number, true
			f.fail(fmt.Sprintf("was left out: the log had no room for its %d bytes", length))
		}
	case strings.HasPrefix(text, frameData) && f.open:
		f.add(text[len(frameData):])
	default:
		if _, err := fmt.Sscanf(text, frameEnd, &id); err == nil && isID(id) {
			f.end(id)
		}
	}
}

func (f *frameReader) end(id string) {
	switch {
	case f.open && id == f.id:
		f.finish()
	// A frame that has failed keeps its ID in f.id, so this switch ignores the frame's end line.
	case id != f.id:
		f.fail("is cut off by the next one")
		f.id, f.begin, f.open = id, f.number, true
		f.fail("has lost its beginning")
	}
}

func (f *frameReader) start(text string) {
	var id, digest string
	var length, lines int
	if _, err := fmt.Sscanf(text, frameBegin, &id, &length, &digest, &lines); err != nil || !isID(id) {
		return // The line does not belong to a frame.
	}
	f.open, f.id, f.begin, f.length, f.digest, f.lines, f.data = true, id, f.number, length, digest, lines, nil
	if length <= 0 || length > task.MaxReportBytes {
		f.fail(fmt.Sprintf("says that it has %d bytes", length))
	}
}

func (f *frameReader) add(text string) {
	piece, err := base64.StdEncoding.DecodeString(text)
	f.lines--
	switch {
	case err != nil:
		f.fail("is damaged: " + err.Error())
	case len(f.data)+len(piece) > f.length:
		f.fail("is longer than it says")
	default:
		f.data = append(f.data, piece...)
	}
}

// fail discards the open frame, and records its problem unless maxFrameErrors problems are recorded already.
// Without an open frame, it does nothing.
func (f *frameReader) fail(problem string) {
	if f.open && len(f.errs) < maxFrameErrors {
		f.errs = append(f.errs, &FrameError{ID: f.id, Line: f.begin, Problem: problem})
	}
	f.open, f.data = false, nil
}

// finish checks and decodes the open frame when its end line was read.
func (f *frameReader) finish() {
	digest := sha256.Sum256(f.data)
	switch {
	case f.lines != 0 || len(f.data) != f.length:
		f.fail(fmt.Sprintf("has lost lines: only %d of %d bytes were found", len(f.data), f.length))
		return
	case hex.EncodeToString(digest[:]) != f.digest:
		f.fail("is damaged: its digest does not match")
		return
	case len(f.reports) >= maxFrames:
		f.fail(fmt.Sprintf("is one more than the %d that a log can have", maxFrames))
		return
	}
	report, err := readReport(bytes.NewReader(f.data), min(maxReportMemory, maxFramesMemory-f.memory), f.account)
	if err == nil {
		err = f.held.Resize(f.memory + limits.Size(report))
	}
	if err != nil {
		f.fail("cannot be read: " + err.Error())
		return
	}
	f.memory += limits.Size(report)
	f.reports = append(f.reports, *report)
	f.open, f.data = false, nil
}
