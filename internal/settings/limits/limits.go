// Package limits reads JSON from untrusted writers within a fixed amount of memory.
//
// A limit on a document's bytes does not limit its memory: "{}," takes three bytes, but may add hundreds of
// bytes to a slice of structs. So [Decode] counts the memory of each value.
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

// Limits are the bounds of a document and of the memory for its values. All fields but Account are required.
type Limits struct {
	// TextBytes limits the whole document, which Decode reads piece by piece. StringBytes limits each string,
	// which Decode keeps in memory. A string counts as it is written in JSON, with its closing quote.
	TextBytes, StringBytes int64
	// ValueBytes limits the text of a value that the decoder keeps as text until the value is complete: a
	// json.RawMessage, or a value that parses itself. It also limits the text of a member without a field.
	ValueBytes int64
	// MemoryBytes limits the total size of all values, without the contents of strings: TextBytes limits
	// those. The decoder copies a slice that is full to new memory, which is a quarter larger for a long slice,
	// and up to twice as large for a short one. The old and the new memory exist together during the copy. So the
	// values take at most about 2.25 times MemoryBytes if the largest slices are long.
	MemoryBytes int64
	// Depth limits how deep objects and arrays are nested.
	Depth int
	// Account is charged for the document until Decode returns. It may be nil. A caller that keeps the values
	// then holds their [Size].
	Account *Account
}

// Error says which limit a document exceeds.
type Error struct {
	What  string
	Limit int64
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s, more than %d", e.What, e.Limit) }

// Decode reads the single document in r into v. It skips members without a field in v. If an object has
// several members with the same name, the value of the last one counts; values that are objects are merged.
// If the document exceeds a limit, the error wraps an [*Error]. If the account has no room, the error wraps a
// [*BudgetError].
func Decode(r io.Reader, v any, l Limits) error {
	left, bill := l.MemoryBytes, bill{holding: l.Account.Hold()}
	defer bill.holding.Release()
	text := &scanner{reader: r, limits: l, bill: &bill}
	charge := func(_ *jsontext.Decoder, value any) error {
		text.pending = 0
		cost := costOf(reflect.TypeOf(value).Elem())
		if left -= cost; left < 0 {
			return &Error{What: "bytes of values", Limit: l.MemoryBytes}
		}
		if err := bill.add(cost * whileGrowing); err != nil {
			return err
		}
		return errors.ErrUnsupported // The decoder then reads the value in its usual way.
	}
	return json.UnmarshalRead(text, v,
		// If duplicates were forbidden, the decoder would keep all names of an object, which takes more
		// memory than their text.
		jsontext.AllowDuplicateNames(true),
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(charge), json.UnmarshalFromFunc(nanoseconds))))
}

// whileGrowing is how many times its size a long slice takes while the decoder copies it to new memory, rounded
// up: see [Limits].
const whileGrowing = 3

// billed is how many bytes a bill takes from an account at a time.
const billed = 64 << 10

// bill charges an account in large pieces, because a document has many values.
type bill struct {
	holding     *Holding
	taken, owed int64
}

func (b *bill) add(n int64) error {
	if b.owed += n; b.owed <= b.taken {
		return nil
	}
	b.taken = b.owed + billed
	return b.holding.Resize(b.taken)
}

// nanoseconds reads a duration as the integer that encoding/json writes. This decoder has no default form for
// durations.
func nanoseconds(d *jsontext.Decoder, target *time.Duration) error {
	var n int64
	if err := json.UnmarshalDecode(d, &n); err != nil {
		return err
	}
	*target = time.Duration(n)
	return nil
}

// entryBytes is the memory of a map's entry, without its key and its value.
const entryBytes = 48

// costOf returns the memory that Decode counts for a value of a type. A field counts twice: as a part of its
// struct and as a value.
func costOf(t reflect.Type) int64 {
	cost := int64(t.Size()) //nolint:gosec // No type is large enough to overflow.
	if t.Kind() == reflect.String {
		cost += entryBytes // The string may belong to an entry of a map.
	}
	return cost
}

// Size returns an upper estimate of the memory of a value in bytes, including the contents of its strings, but
// without the unused capacity of its slices. [Decode] counts at most this memory when it reads the value from
// JSON, unless the value has durations: Decode counts each duration twice.
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
	switch v.Type().Elem().Kind() {
	case reflect.Float64, reflect.Int64, reflect.Uint8: // Documents have many numbers, so counting them one by one would be slow.
		return int64(v.Len()) * costOf(v.Type().Elem())
	default:
	}
	size := int64(0)
	for i := range v.Len() {
		size += sizeOf(v.Index(i))
	}
	return size
}

// scanner reads a document up to the byte that exceeds a limit. It examines only strings and brackets. The
// decoder checks whether the document is JSON.
type scanner struct {
	reader io.Reader
	limits Limits
	bill   *bill // for the contents of strings

	text, length      int64 // bytes read of the document, and of the current string
	pending           int64 // bytes read since the decoder began its latest value
	depth             int
	inString, escaped bool
	// exceeded is the error that each further Read returns, because a caller may ignore an error that comes
	// together with bytes.
	exceeded error
}

// Read implements io.Reader.
func (s *scanner) Read(p []byte) (int, error) {
	if s.exceeded == nil && s.pending > max(s.limits.ValueBytes, s.limits.StringBytes) {
		s.exceeded = &Error{What: "bytes of a value", Limit: s.limits.ValueBytes}
	}
	if s.exceeded != nil {
		return 0, s.exceeded
	}
	n, err := s.reader.Read(p)
	s.pending += int64(n)
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
		return s.bill.add(s.length)
	}
	return nil
}
