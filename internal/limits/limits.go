// Package limits reads JSON from untrusted writers within a fixed amount of memory.
//
// A bound on the bytes of a document does not bound its memory: "{}," takes three bytes, but the
// element that it adds to a slice of structs may take hundreds. So [Decode] counts memory while it
// allocates.
package limits

import (
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Limits are the limits for a document. All fields are required.
type Limits struct {
	// TextBytes bounds the document, which is never in memory as a whole. StringBytes bounds each
	// of its strings, which are in memory.
	TextBytes, StringBytes int64
	// MemoryBytes bounds the total size of all values, see [Size]. The contents of strings do
	// not count, because TextBytes bounds them. When a slice grows by a quarter, its old and its
	// new memory exist together, so at worst Decode takes 2.25 times this memory.
	MemoryBytes int64
	// Depth bounds how deep objects and arrays are nested.
	Depth int
}

// Error says which limit a document exceeds.
type Error struct {
	What  string
	Limit int64
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s, more than %d", e.What, e.Limit) }

// Decode reads the single document in r. It skips members that v does not have. If several members
// have the same name, the last one counts, but objects are merged. The error wraps an [*Error] if
// the document exceeds a limit.
func Decode(r io.Reader, v any, l Limits) error {
	left := l.MemoryBytes
	charge := func(_ *jsontext.Decoder, value any) error {
		if left -= costOf(reflect.TypeOf(value).Elem()); left < 0 {
			return &Error{What: "bytes of values", Limit: l.MemoryBytes}
		}
		return errors.ErrUnsupported // Then the decoder continues as if this function did not exist.
	}
	return json.UnmarshalRead(&scanner{from: r, limits: l}, v,
		// Otherwise, the decoder would remember all names of an object, in more memory than the names take.
		jsontext.AllowDuplicateNames(true),
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(charge), json.UnmarshalFromFunc(nanoseconds))))
}

// nanoseconds reads a duration as encoding/json writes it. This decoder has no default form for
// durations.
func nanoseconds(d *jsontext.Decoder, into *time.Duration) error {
	var n int64
	if err := json.UnmarshalDecode(d, &n); err != nil {
		return err
	}
	*into = time.Duration(n)
	return nil
}

// entryBytes is the memory of a map's entry, without its key and its value.
const entryBytes = 48

// costOf returns the memory of a value of a type. A field counts twice: in its struct and by itself.
func costOf(t reflect.Type) int64 {
	cost := int64(t.Size()) //nolint:gosec // No type is large enough to overflow.
	if t.Kind() == reflect.String {
		cost += entryBytes // It may be a key or a value of a map, or an element.
	}
	return cost
}

// Size returns the memory of a value, including its text. It is at least the memory that [Decode]
// counts when it reads the value from JSON, unless the value has durations: Decode counts each of
// them twice.
func Size(v any) int64 { return sizeOf(reflect.ValueOf(v)) }

func sizeOf(v reflect.Value) int64 {
	if !v.IsValid() {
		return 0
	}
	size := costOf(v.Type())
	switch v.Kind() {
	case reflect.String:
		size += int64(v.Len())
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			size += sizeOf(v.Elem())
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			size += sizeOf(field)
		}
	case reflect.Slice, reflect.Array:
		size += sizeOfElements(v)
	case reflect.Map:
		for each := v.MapRange(); each.Next(); {
			size += entryBytes + sizeOf(each.Key()) + sizeOf(each.Value())
		}
	default:
	}
	return size
}

func sizeOfElements(v reflect.Value) int64 {
	switch v.Type().Elem().Kind() { // Elements of other kinds are counted one by one.
	case reflect.Float64, reflect.Int64, reflect.Uint8: // Documents have many of these.
		return int64(v.Len()) * costOf(v.Type().Elem())
	default:
	}
	size := int64(0)
	for i := range v.Len() {
		size += sizeOf(v.Index(i))
	}
	return size
}

// scanner passes a document on, up to the byte that exceeds a limit. It looks only at strings and
// brackets. The decoder finds out whether the document is JSON.
type scanner struct {
	from   io.Reader
	limits Limits

	text, length      int64 // bytes of the document so far, and of the current string
	depth             int
	inString, escaped bool
	// exceeded is the error for each further Read, because a caller may ignore an error that
	// comes together with bytes.
	exceeded error
}

// Read implements io.Reader.
func (s *scanner) Read(p []byte) (int, error) {
	if s.exceeded != nil {
		return 0, s.exceeded
	}
	n, err := s.from.Read(p)
	for i, c := range p[:n] {
		if s.exceeded = s.look(c); s.exceeded != nil {
			return i, s.exceeded
		}
	}
	return n, err
}

func (s *scanner) look(c byte) error {
	if s.text++; s.text > s.limits.TextBytes {
		return &Error{What: "bytes", Limit: s.limits.TextBytes}
	}
	if s.inString {
		return s.lookInString(c)
	}
	switch c {
	case '"':
		s.inString, s.length = true, 0
	case '{', '[':
		if s.depth++; s.depth > s.limits.Depth {
			return &Error{What: "levels", Limit: int64(s.limits.Depth)}
		}
	case '}', ']':
		s.depth--
	}
	return nil
}

func (s *scanner) lookInString(c byte) error {
	if s.length++; s.length > s.limits.StringBytes {
		return &Error{What: "bytes of a string", Limit: s.limits.StringBytes}
	}
	switch {
	case s.escaped:
		s.escaped = false
	case c == '\\':
		s.escaped = true
	case c == '"':
		s.inString = false
	}
	return nil
}
