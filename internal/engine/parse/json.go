package parse

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDocument is the largest size of a JSON document in bytes. The largest known document, fio's JSON+ of a
// hundred jobs, has about 30 MiB.
const MaxDocument = 64 << 20

// ReadDocument reads a whole output of at most [MaxDocument] bytes.
func ReadDocument(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("reading: %w", err)
	}
	if len(data) > MaxDocument {
		return nil, DocumentTooLong(0)
	}
	return data, nil
}

// DocumentTooLong returns the error for a document of more than [MaxDocument] bytes that begins on the given
// line; 0 for the whole output.
func DocumentTooLong(line int) error {
	return &SyntaxError{Line: line, Want: fmt.Sprintf("a document of at most %d MiB", MaxDocument>>20), Found: "a longer one"}
}

// NewJSONDecoder returns a decoder of one document. It accepts repeated names, and text that is not UTF-8,
// because job names may contain such text.
func NewJSONDecoder(document []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(document),
		jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// JSONError returns the error for a failure to decode a document, with the line of the failure. It is an
// [*IncompleteError] if the document is cut off, and otherwise a [*SyntaxError]. The document begins on line
// firstLine.
func JSONError(err error, document []byte, firstLine int) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return &IncompleteError{
			Reason: Truncated, Line: lineAt(document, len(document), firstLine),
			Detail: "the JSON document ends before it is complete",
		}
	}
	offset := len(document)
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = min(offset, int(syntactic.ByteOffset))
	}
	rest, _, _ := bytes.Cut(document[offset:], []byte("\n"))
	return &SyntaxError{Line: lineAt(document, offset, firstLine), Want: "JSON", Found: Quote(rest)}
}

// lineAt returns the line of an offset in a document that begins on line firstLine.
func lineAt(document []byte, offset, firstLine int) int {
	return firstLine + bytes.Count(document[:min(offset, len(document))], []byte("\n"))
}

// LineAt returns the line, from 1, of an offset in a document.
func LineAt(document []byte, offset int64) int { return lineAt(document, int(offset), 1) }

// Unquoted returns the text of a JSON string that has no escapes, or of a number. Ceph prints some values
// either as a string or as a number.
func Unquoted(value []byte) []byte {
	if len(value) >= 2 && value[0] == '"' {
		return value[1 : len(value)-1]
	}
	return value
}
