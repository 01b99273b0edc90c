package limits

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

type inner struct {
	Name  string            `json:"name"`
	Time  *time.Time        `json:"time,omitempty"`
	Words map[string]string `json:"words,omitempty"`
}

type outer struct {
	inner
	Numbers []float64       `json:"numbers"`
	Raw     json.RawMessage `json:"raw,omitempty"`
	Any     any             `json:"any,omitempty"`
	Inner   []inner         `json:"inner"`
	Pointer *inner          `json:"pointer,omitempty"`
}

var generous = Limits{TextBytes: 1 << 20, ValueBytes: 1 << 20, StringBytes: 1 << 10, MemoryBytes: 1 << 20, Depth: 8}

func TestDecodeReadsWhatWasWritten(t *testing.T) {
	moment := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	want := outer{
		Numbers: []float64{0, 1.5, -3e9}, Raw: json.RawMessage(`{"a":[1,"}\"]"]}`), Any: map[string]any{"b": []any{1.0, "<é>"}},
		Inner: []inner{{Name: "x", Words: map[string]string{"k": "v"}}, {Name: "y"}}, Pointer: &inner{Name: `\"`, Time: &moment},
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	exact := generous
	exact.MemoryBytes, exact.TextBytes = Size(want), int64(len(text))
	var got outer
	if err := Decode(iotest.OneByteReader(bytes.NewReader(text)), &got, exact); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outer{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := Decode(strings.NewReader(`{"unknown":[{"deep":[1]}],"numbers":[1],"numbers":[2]}`), &got, generous); err != nil || got.Numbers[0] != 2 {
		t.Errorf("got %v, %v: want unknown members passed over, and the last of a name", got.Numbers, err)
	}
}

func TestDecodeStopsAtLimits(t *testing.T) {
	for name, tc := range map[string]struct{ text, want string }{
		"text":           {`{"numbers":[` + strings.Repeat(" ", 1<<20), "bytes, more than 1048576"},
		"a string":       {`{"name":"` + strings.Repeat("x", 1<<11) + `"}`, "bytes of a string"},
		"a name":         {`{"` + strings.Repeat("x", 1<<11) + `":1}`, "bytes of a string"},
		"escapes":        {`{"name":"` + strings.Repeat(`\"`, 1<<11) + `"}`, "bytes of a string"},
		"depth":          {strings.Repeat(`{"any":`, 9), "levels, more than 8"},
		"depth, unknown": {`{"x":` + strings.Repeat(`[`, 9), "levels"},
		"structs":        {`{"inner":[{}` + strings.Repeat(`,{}`, 1<<17) + `]}`, "bytes of values"},
		"numbers":        {`{"numbers":[0` + strings.Repeat(`,0`, 1<<18) + `]}`, "bytes of values"},
		"nulls":          {`{"inner":[null` + strings.Repeat(`,null`, 1<<17) + `]}`, "bytes of values"},
		"anything":       {`{"any":[[]` + strings.Repeat(`,[]`, 1<<17) + `]}`, "bytes of values"},
		"one name again": {`{` + strings.Repeat(`"pointer":{"words":{}},`, 1<<15) + `"name":""}`, "bytes of values"},
		"map":            {`{"words":{"":""` + strings.Repeat(`,"":""`, 1<<17) + `}}`, "bytes of values"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Decode(strings.NewReader(tc.text), &outer{}, generous)
			var exceeded *Error
			if !errors.As(err, &exceeded) || !strings.Contains(exceeded.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func TestDecodeKeepsLittleText(t *testing.T) {
	small := generous
	small.ValueBytes = 1 << 12
	for name, text := range map[string]string{
		"a raw value": `{"raw":[0` + strings.Repeat(`,0`, 1<<14) + `]}`, "no field": `{"x":[0` + strings.Repeat(`,0`, 1<<14) + `]}`,
	} {
		var exceeded *Error
		if err := Decode(strings.NewReader(text), &outer{}, small); !errors.As(err, &exceeded) || exceeded.What != "bytes of a value" {
			t.Errorf("%s: %v", name, err)
		}
	}
	many := `{"numbers":[0` + strings.Repeat(`,0`, 1<<14) + `]}`
	if err := Decode(strings.NewReader(many), &outer{}, small); err != nil {
		t.Errorf("many small values: %v", err)
	}
}

func TestDecodeRefusesInvalidDocuments(t *testing.T) {
	broken := errors.New("broken")
	if err := Decode(iotest.ErrReader(broken), &outer{}, generous); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	for _, text := range []string{``, `{`, `{}{}`, `{} x`, `[1]`, `{"name":"` + "\xff" + `"}`, `]]]]`, `"`} {
		if err := Decode(strings.NewReader(text), &outer{}, generous); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

// An accepted text must have used no more than the limits, and reading it again must have the same
// result.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name":"a","inner":[{},{"words":{"a":"b"}}],"numbers":[1,2],"any":[null,{"x":[]}],"raw":[1]}`))
	f.Add([]byte(`{"pointer":{"time":"2026-03-01T12:00:00Z"},"pointer":null}`))
	small := Limits{TextBytes: 1 << 12, ValueBytes: 1 << 12, StringBytes: 1 << 8, MemoryBytes: 1 << 14, Depth: 8}
	f.Fuzz(func(t *testing.T, text []byte) {
		var got outer
		if Decode(bytes.NewReader(text), &got, small) != nil {
			return
		}
		written, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		enough := Limits{TextBytes: int64(len(written)), ValueBytes: int64(len(written)), StringBytes: 1 << 16, MemoryBytes: Size(got), Depth: 64}
		var again outer
		if err := Decode(bytes.NewReader(written), &again, enough); err != nil {
			t.Fatalf("%s is not read again: %v", written, err)
		}
	})
}
