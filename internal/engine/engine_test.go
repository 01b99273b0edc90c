package engine

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

func TestFormatsAreListedInOneOrder(t *testing.T) {
	want := []string{"rados-bench-json", "rados-bench-text", "rados-bench-lines", "rbd-bench-text", "rbd-bench-lines", "fio-json", "fio-normal", "fio-log", "fio-terse", "fio-lines", "open-loop-json"}
	for range 3 {
		var got []string
		for _, f := range Formats() {
			got = append(got, f.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

func TestLookup(t *testing.T) {
	if f, ok := Lookup("fio-json"); !ok || f.Name != "fio-json" {
		t.Errorf("got %v, %v", f.Name, ok)
	}
	if f, ok := Lookup("iozone"); ok {
		t.Errorf("got %v for a format that does not exist", f.Name)
	}
}

// Every captured and synthetic output is recognised as the format of its folder.
func TestOutputsAreRecognised(t *testing.T) {
	for pattern, want := range map[string]string{
		"radosbench/testdata/*/*.txt":  "rados-bench-text",
		"radosbench/testdata/*/*.json": "rados-bench-json",
		"rbdbench/testdata/*/*.txt":    "rbd-bench-text",
		"fio/testdata/*/*.json":        "fio-json",
		"fio/testdata/*/*.txt":         "fio-normal",
		"fio/testdata/*/*.log":         "fio-log",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, ".golden.json") || isNoOutput(file) {
				continue
			}
			t.Run(file, func(t *testing.T) {
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if got, ok := Detect(data); !ok || got.Name != want {
					t.Errorf("recognised as %q, want %q", got.Name, want)
				}
			})
		}
	}
}

// isNoOutput names files without any content that shows their format.
func isNoOutput(file string) bool {
	switch filepath.Base(file) {
	case "killed-without-report.json", "nothing-to-read.txt":
		return true
	}
	return false
}

func TestParseSaysWhichFormatItWas(t *testing.T) {
	file, err := os.Open("rbdbench/testdata/pvc-and-rbd/rbd-bench-1m-write.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // The file was only read, so a failed close loses no data.
	res, err := parseOutput(file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if res.Source.Format != "rbd-bench-text" {
		t.Errorf("format is %q", res.Source.Format)
	}
}

func TestParseFailsWithTheErrorOfTheFormat(t *testing.T) {
	broken := errors.New("broken pipe")
	var syntax *SyntaxError
	var incomplete *IncompleteError
	cases := map[string]struct {
		reader io.Reader
		want   func(err error) bool
	}{
		"nothing":      {strings.NewReader(""), func(err error) bool { return errors.As(err, &incomplete) && incomplete.Reason == parse.Truncated }},
		"another tool": {strings.NewReader("iozone\n"), func(err error) bool { return errors.As(err, &syntax) }},
		"a log of fio": {strings.NewReader("1000, 5, 0, 0\n"), func(err error) bool { return errors.As(err, &syntax) }},
		"a failed run": {
			strings.NewReader("bench  type write io_size 4096 io_threads 16 bytes 0 pattern sequential\nwrite error: (28)\n"),
			func(err error) bool { return errors.As(err, &incomplete) && incomplete.Reason == parse.ToolError },
		},
		"a broken reader": {io.MultiReader(strings.NewReader("sec Cur ops\n"), failingReader{broken}), func(err error) bool { return errors.Is(err, broken) }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res, err := parseOutput(tc.reader, Options{})
			if res != nil || !tc.want(err) {
				t.Errorf("got %v, %v", res, err)
			}
		})
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }

// A hostile output must not be recognised as one format and then crash that parser.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "Cur ops", "bench  type ", `"fio version"`, ": (groupid=", "1000, 5, 0, 0\n", `{"datas":[]}`,
		"Cur ops\n\"fio version\"\n{\n}\n", "bench  type write io_size 1 io_threads 1 bytes 1 pattern x\nelapsed: 1   ops: 1   ops/sec: 1   bytes/sec: 1\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		res, err := parseOutput(strings.NewReader(string(data)), Options{})
		if (res == nil) == (err == nil) {
			t.Fatalf("want either a result or an error, got %v and %v", res, err)
		}
		if res != nil {
			if err := res.Validate(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// parseOutput parses an output of one part.
func parseOutput(r io.Reader, options Options) (*result.Result, error) {
	text, err := parse.ReadDocument(r)
	if err != nil {
		return nil, err
	}
	return parse.OnlyPart(Output{Text: text}.Parts(options))
}
