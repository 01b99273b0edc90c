package result

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustMarshal(t *testing.T, r *Result) []byte {
	t.Helper()
	data, err := Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestJSONRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	results := []*Result{write1()}
	for range 50 {
		results = append(results, randomResult(t, random))
	}
	for _, want := range results {
		data := mustMarshal(t, want)
		got, err := Unmarshal(data)
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

func TestUnmarshalIsStrict(t *testing.T) {
	good := string(mustMarshal(t, write1()))
	cases := map[string]string{
		"not JSON":                 "result",
		"cut short":                good[:len(good)-1],
		"an unknown field":         strings.Replace(good, `"clients"`, `"customers"`, 1),
		"an unknown inner field":   strings.Replace(good, `"shortestSeconds"`, `"shortestMilliseconds"`, 1),
		"something behind it":      good + "{}",
		"a bin of three numbers":   strings.Replace(good, "[1003520,60]", "[1003520,60,1]", 1),
		"a bin fio does not have":  strings.Replace(good, "[1003520,60]", "[1003521,60]", 1),
		"a negative number":        strings.Replace(good, `"seconds":4`, `"seconds":-4`, 1),
		"a column of other length": strings.Replace(good, "[25,25,0,50]", "[25,25,0]", 1),
	}
	for name, document := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := Unmarshal([]byte(document))
			if err == nil {
				t.Errorf("got %+v, want an error", got)
			}
			if _, ok := errors.AsType[*VersionError](err); ok {
				t.Errorf("got %v, want an error about something else", err)
			}
		})
	}
}

func TestUnmarshalNamesTheVersionThatItCannotRead(t *testing.T) {
	for name, tc := range map[string]struct {
		document string
		want     int
	}{
		"a later version":   {`{"schemaVersion":2,"somethingNew":true}`, 2},
		"without a version": {`{"clients":1}`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Unmarshal([]byte(tc.document))
			var version *VersionError
			if !errors.As(err, &version) || version.Found != tc.want {
				t.Errorf("got %v, want a VersionError of %d", err, tc.want)
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
			if _, err := Marshal(r); err == nil {
				t.Error("Marshal wrote it")
			}
		})
	}
}

func FuzzUnmarshal(f *testing.F) {
	data, err := Marshal(write1())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"schemaVersion":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Unmarshal(data)
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
