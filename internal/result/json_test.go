package result

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mustMarshal returns a valid result as JSON.
func mustMarshal(t testing.TB, r *Result) []byte {
	t.Helper()
	data, err := json.Marshal(r)
	if err = errors.Join(r.Validate(), err); err != nil {
		t.Fatal(err)
	}
	return data
}

// read reads a valid result, and refuses unknown fields.
func read(data []byte) (*Result, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	r := &Result{}
	if err := decoder.Decode(r); err != nil {
		return nil, err
	}
	return r, r.Validate()
}

func TestJSONRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	results := []*Result{write1()}
	for range 50 {
		results = append(results, randomResult(t, random))
	}
	for _, want := range results {
		data := mustMarshal(t, want)
		got, err := read(data)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-written +read):\n%s", diff)
		}
		if again := mustMarshal(t, got); string(again) != string(data) {
			t.Fatalf("written again it is\n%s\nnot\n%s", again, data)
		}
	}
}

func TestJSONForm(t *testing.T) {
	const want = `{"schemaVersion":1,"source":{"tool":"fio","toolVersion":"fio-3.33","format":"fio-json",` +
		`"settings":{"bs":"4k","rbdname":"a"}},"clients":1,` +
		`"write":{"operations":100,"bytes":409600,"seconds":4,"shortestSeconds":4,` +
		`"latency":{"moments":{"count":100,"meanSeconds":0.002,"m2SecondsSquared":0.0001,"minSeconds":0.001,"maxSeconds":0.004},` +
		`"histogram":{"nanosecondBins":[[1003520,60],[4014080,40]]}},` +
		`"series":{"boundaries":"nominal","startSeconds":[0,1,2,3],"endSeconds":[1,2,3,4],` +
		`"operationsPerSecond":[25,25,0,50],"bytesPerSecond":[102400,102400,0,204800]}},` +
		`"warnings":[{"code":"ToolMessage","message":"clock","line":1}]}`
	if diff := cmp.Diff(want, string(mustMarshal(t, write1()))); diff != "" {
		t.Errorf("a change of this form needs a new SchemaVersion (-want +got):\n%s", diff)
	}
}

func TestReadRefuses(t *testing.T) {
	good := string(mustMarshal(t, write1()))
	cases := map[string]string{
		"an unknown inner field":   strings.Replace(good, `"shortestSeconds"`, `"shortestMilliseconds"`, 1),
		"a bin of three numbers":   strings.Replace(good, "[1003520,60]", "[1003520,60,1]", 1),
		"a bin fio does not have":  strings.Replace(good, "[1003520,60]", "[1003521,60]", 1),
		"a negative number":        strings.Replace(good, `"seconds":4`, `"seconds":-4`, 1),
		"a column of other length": strings.Replace(good, "[25,25,0,50]", "[25,25,0]", 1),
		"a later version":          strings.Replace(good, `"schemaVersion":1`, `"schemaVersion":2`, 1),
	}
	for name, document := range cases {
		t.Run(name, func(t *testing.T) {
			if got, err := read([]byte(document)); err == nil {
				t.Errorf("got %+v, want an error", got)
			}
		})
	}
}

func TestValidateRefuses(t *testing.T) {
	cases := map[string]func(r *Result){
		"no version":                       func(r *Result) { r.SchemaVersion = 0 },
		"no clients":                       func(r *Result) { r.Clients = 0 },
		"no tool":                          func(r *Result) { r.Source.Tool = "" },
		"no direction":                     func(r *Result) { r.Write = nil },
		"a direction without I/O":          func(r *Result) { r.Write.Operations = 0 },
		"negative bytes":                   func(r *Result) { r.Write.Bytes = -1 },
		"no time":                          func(r *Result) { r.Write.Seconds = 0 },
		"a time that is not a number":      func(r *Result) { r.Write.Seconds = math.NaN() },
		"a time too short for a rate":      func(r *Result) { r.Write.Seconds, r.Write.ShortestSeconds = 5e-324, 5e-324 },
		"a shortest time above the window": func(r *Result) { r.Write.ShortestSeconds = 5 },
		"an infinite latency":              func(r *Result) { r.Write.Latency.Moments.MeanSeconds = math.Inf(1) },
		"a latency of nothing":             func(r *Result) { r.Write.Latency.Moments.Count = 0 },
		"a negative spread":                func(r *Result) { r.Write.Latency.Moments.M2SecondsSquared = new(-1.0) },
		"percentiles out of order": func(r *Result) {
			r.Write.Latency.Percentiles = []Percentile{{Percent: 99}, {Percent: 50}}
		},
		"intervals that overlap":      func(r *Result) { r.Write.Series.StartSeconds[1] = 0.5 },
		"an interval without length":  func(r *Result) { r.Write.Series.EndSeconds[0] = 0 },
		"a series without end":        func(r *Result) { r.Write.Series.EndSeconds[3] = 1e12 },
		"unknown boundaries":          func(r *Result) { r.Write.Series.Boundaries = "" },
		"ends without starts":         func(r *Result) { r.Write.Series.StartSeconds = nil },
		"a setting that is not UTF-8": func(r *Result) { r.Source.Settings["bs"] = "\xff" },
		"a negative rate":             func(r *Result) { r.Write.Series.BytesPerSecond[0] = -1 },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			r := write1()
			change(r)
			if err := r.Validate(); err == nil {
				t.Errorf("%+v is valid", r)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add(mustMarshal(f, write1()))
	f.Add([]byte(`{"schemaVersion":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := read(data)
		if err != nil {
			return
		}
		mustMarshal(t, r)
		// A result that can be read can be merged with itself, or Merge returns an error.
		if merged, err := Merge(r, r); err == nil {
			mustMarshal(t, merged)
		}
	})
}
