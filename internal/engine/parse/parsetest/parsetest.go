// Package parsetest tests parsers. It compares the results of captured outputs with golden files, and
// fuzzes parsers with a check of properties that hold for any output.
package parsetest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// Parser is the parser of one format.
type Parser func(r io.Reader, options parse.Options) (*result.Result, error)

// updateGolden is an environment variable. If it is not empty, Golden writes the golden files instead of
// comparing with them.
const updateGolden = "UPDATE_GOLDEN"

// goldenSuffix follows the name of an output in the name of its golden file.
const goldenSuffix = ".golden.json"

// Outputs returns the outputs in testdata whose paths match one of the patterns, such as "*/*.txt". It
// excludes golden files and the fuzz corpus.
func Outputs(t testing.TB, patterns ...string) []string {
	t.Helper()
	var files []string
	for _, pattern := range patterns {
		found, err := filepath.Glob(filepath.Join("testdata", pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			if !strings.HasSuffix(file, goldenSuffix) && !strings.HasPrefix(file, filepath.Join("testdata", "fuzz")) {
				files = append(files, file)
			}
		}
	}
	if len(files) == 0 {
		t.Fatalf("no files in testdata match %v", patterns)
	}
	return files
}

// Golden parses the outputs that match the patterns. It applies Check to each, and compares the result or
// error with the golden file next to the output.
func Golden(t *testing.T, parser Parser, patterns ...string) {
	t.Helper()
	for _, file := range Outputs(t, patterns...) {
		t.Run(strings.TrimPrefix(file, "testdata/"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			Check(t, parser, data)
			compare(t, file+goldenSuffix, outcome(t, parser, data))
		})
	}
}

// outcome returns the result or the error of a parser for an output, as JSON.
func outcome(t testing.TB, parser Parser, data []byte) []byte {
	t.Helper()
	res, err := parser(bytes.NewReader(data), parse.Options{})
	if err == nil {
		return marshal(t, res)
	}
	described := map[string]any{"error": err.Error()}
	if incomplete, ok := errors.AsType[*parse.IncompleteError](err); ok {
		described["reason"] = incomplete.Reason
		if incomplete.Partial != nil {
			described["partial"] = json.RawMessage(marshal(t, incomplete.Partial))
		}
	}
	data, err = json.Marshal(described)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func marshal(t testing.TB, res *result.Result) []byte {
	t.Helper()
	data, err := json.Marshal(res)
	if err = errors.Join(res.Validate(), err); err != nil {
		t.Fatalf("a parser returned a result that is not valid: %v", err)
	}
	return data
}

func compare(t *testing.T, goldenFile string, got []byte) {
	t.Helper()
	if os.Getenv(updateGolden) != "" {
		if err := os.WriteFile(goldenFile, append(got, '\n'), 0o644); err != nil { //nolint:gosec // Test data may be readable by all.
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(goldenFile)
	if err != nil {
		t.Fatalf("%v (set %s=1 to write it, and read what it says)", err, updateGolden)
	}
	if diff := cmp.Diff(decode(t, want), decode(t, got)); diff != "" {
		t.Errorf("(-%s +got):\n%s", goldenFile, diff)
	}
}

func decode(t *testing.T, data []byte) any {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

// Check verifies properties that hold for every output. The parser returns either a valid result or an
// error that describes the fault. The parser returns the same result, or fails each time, regardless of how the
// reader splits the output.
func Check(t testing.TB, parser Parser, data []byte) {
	t.Helper()
	res, err := parser(bytes.NewReader(data), parse.Options{})
	switch {
	case (res == nil) == (err == nil):
		t.Fatalf("want either a result or an error, got %v and %v", res, err)
	case err != nil:
		checkError(t, err)
	default:
		checkRoundTrip(t, res)
	}
	first := outcome(t, parser, data)
	again, err := parser(&halfReader{data: data}, parse.Options{})
	if err == nil {
		if second := marshal(t, again); !bytes.Equal(first, second) {
			t.Fatalf("the same output gave\n%s\nand, in pieces,\n%s", first, second)
		}
	} else if res != nil {
		t.Fatalf("in pieces, the same output gave the error %v", err)
	}
}

func checkError(t testing.TB, err error) {
	t.Helper()
	var syntax *parse.SyntaxError
	var incomplete *parse.IncompleteError
	switch {
	case errors.As(err, &syntax):
		if syntax.Want == "" || syntax.Found == "" || syntax.Line < 0 {
			t.Fatalf("a syntax error that says too little: %#v", syntax)
		}
	case errors.As(err, &incomplete):
		if incomplete.Reason == "" || incomplete.Detail == "" || incomplete.Line < 0 {
			t.Fatalf("an error that says too little: %#v", incomplete)
		}
		if incomplete.Partial != nil {
			checkRoundTrip(t, incomplete.Partial)
		}
	default:
		t.Fatalf("neither a SyntaxError nor an IncompleteError: %v", err)
	}
}

func checkRoundTrip(t testing.TB, res *result.Result) {
	t.Helper()
	again := &result.Result{}
	if err := json.Unmarshal(marshal(t, res), again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(res, again, cmpopts.IgnoreFields(result.Result{}, "Jobs", "SyncLatency")); diff != "" {
		t.Fatalf("(-parsed +written and read):\n%s", diff)
	}
}

// halfReader returns half of the remaining data in each read, so that lines arrive in pieces.
type halfReader struct{ data []byte }

// Read implements io.Reader.
func (r *halfReader) Read(buffer []byte) (int, error) {
	if len(r.data) == 0 {
		return 0, io.EOF
	}
	n := copy(buffer, r.data[:(len(r.data)+1)/2])
	r.data = r.data[n:]
	return n, nil
}

// Fuzz fuzzes a parser. Its seeds are the corpus in testdata/fuzz and the outputs that match the patterns.
func Fuzz(f *testing.F, parser Parser, patterns ...string) {
	f.Helper()
	var seeds []string
	if len(patterns) > 0 {
		seeds = Outputs(f, patterns...)
	}
	for _, file := range seeds {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) { Check(t, parser, data) })
}

// Rates checks which rate each line yields. The map want has nil for a line that yields no rate.
func Rates(t *testing.T, parseLine func(line []byte) (parse.Rate, bool), want map[string]*parse.Rate) {
	t.Helper()
	for line, rate := range want {
		got, ok := parseLine([]byte(line))
		if ok != (rate != nil) {
			t.Errorf("%q: %t, %+v", line, ok, got)
			continue
		}
		if rate == nil {
			continue
		}
		if diff := cmp.Diff(*rate, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", line, diff)
		}
	}
}
