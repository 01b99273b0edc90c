package archive

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
)

const (
	// MaxBytes is the maximum size of a compressed document.
	MaxBytes = 512 << 10
	// maxDocumentBytes is the maximum size of a document before compression.
	maxDocumentBytes = 16 << 20
	// MaxMemory is the maximum size of a document in memory before it is written, in bytes according to
	// [limits.Size]. A second of a time series takes 40 bytes of memory, but only about ten bytes of
	// the compressed document. So a document that exceeds MaxMemory would seldom fit into MaxBytes
	// either.
	MaxMemory = 8 << 20
)

// readLimits returns the limits for reading a document. Each document that Marshal or MarshalSession
// writes is within these limits.
func readLimits() limits.Limits {
	return limits.Limits{
		TextBytes: maxDocumentBytes, ValueBytes: maxDocumentBytes, MemoryBytes: 2 * MaxMemory, Depth: 32,
		// The longest string is an engine's output. JSON takes up to six bytes for a byte of the
		// output.
		StringBytes: 8 * task.MaxOutputBytes,
	}
}

// VersionError says that this package cannot read the schema version of a document.
type VersionError struct {
	// Found is the version in the document; 0 if the document names no version.
	Found int
}

// Error implements error.
func (e *VersionError) Error() string {
	return fmt.Sprintf("archive: the document has schema version %d, and only version %d can be read: use a kubectl-cephtune of the operator's version", e.Found, SchemaVersion)
}

// Marshal writes a run as compressed JSON of at most [MaxBytes]. The same run always gives the same
// bytes. Marshal omits outputs that run.RawOutput does not keep. If the document is too large, Marshal
// drops [Parts] in their order. It does not change the run. It fails if a result has impossible
// figures, if the run has no number, or if the document is too large even after all Parts were dropped.
func Marshal(run *Run) ([]byte, error) { return marshal(run, MaxBytes) }

func marshal(run *Run, limit int) ([]byte, error) {
	document := *run
	document.SchemaVersion = SchemaVersion
	document.Phases = clonePhases(run.Phases)
	document.Background = cloneBackground(run.Background)
	if err := document.validate(); err != nil {
		return nil, err
	}
	if !keepsOutput(run) {
		DropOutput.from(&document)
		document.Dropped = slices.DeleteFunc(slices.Clone(document.Dropped), func(p Part) bool { return p == DropOutput })
	}
	data, ok, err := encode(&document, limit)
	for _, part := range Parts() {
		if ok || err != nil {
			break
		}
		if part.from(&document) {
			if !slices.Contains(document.Dropped, part) {
				document.Dropped = append(slices.Clip(document.Dropped), part)
			}
			data, ok, err = encode(&document, limit)
		}
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("archive: %w", err)
	case !ok:
		return nil, fmt.Errorf("archive: without %v the run still takes more than %d bytes", Parts(), limit)
	}
	return data, nil
}

// keepsOutput reports whether run.RawOutput keeps the outputs of the engines. By default, only invalid
// and failed runs keep their outputs, because these may explain the fault.
func keepsOutput(run *Run) bool {
	switch run.RawOutput {
	case v1alpha1.RawOutputAlways:
		return true
	case v1alpha1.RawOutputNever:
		return false
	default:
		return run.State != v1alpha1.RunValid
	}
}

// encode returns a document as compressed JSON, and reports whether it fits into limit bytes. A
// document that exceeds MaxMemory or maxDocumentBytes does not fit, and is not compressed.
func encode(document any, limit int) (data []byte, fits bool, err error) {
	if limits.Size(document) > MaxMemory {
		return nil, false, nil
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil, false, err
	}
	if len(text) > maxDocumentBytes {
		return nil, false, nil
	}
	data, err = Compress(text)
	return data, len(data) <= limit, err
}

// Compress returns a text in the form in which ConfigMaps have it.
func Compress(text []byte) ([]byte, error) {
	var compressed bytes.Buffer
	writer, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := writer.Write(text); err != nil {
		return nil, err
	}
	err = writer.Close()
	return compressed.Bytes(), err
}

// Unmarshal reads the output of Marshal. It uses a bounded amount of memory for any input. It skips
// unknown fields. Data after the document and an invalid result are errors. For another schema version,
// the error is a [*VersionError].
func Unmarshal(data []byte) (*Run, error) {
	var version struct {
		SchemaVersion int `json:"schemaVersion"`
	}
	if err := decode(data, &version); err != nil {
		return nil, err
	}
	if version.SchemaVersion != SchemaVersion {
		return nil, &VersionError{Found: version.SchemaVersion}
	}
	run := &Run{}
	if err := decode(data, run); err != nil {
		return nil, err
	}
	if err := run.validate(); err != nil {
		return nil, err
	}
	return run, nil
}

func decode(data []byte, target any) error {
	if len(data) > MaxBytes {
		return fmt.Errorf("archive: the document has %d bytes compressed, more than %d", len(data), MaxBytes)
	}
	reader, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	if err := limits.Decode(reader, target, readLimits()); err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return nil
}
