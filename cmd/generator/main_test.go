package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/result"
)

// The generator runs the command of a phase, and the runner can read what it writes.
func TestGeneratorRunsAPhase(t *testing.T) {
	load, err := engine.LoadOf(v1alpha1.Phase{Name: "paced", Fio: &v1alpha1.Fio{
		Pattern: v1alpha1.FioRandReadWrite, BlockSize: resource.MustParse("4Ki"), IODepth: 1, NumJobs: 1, RateIOPS: new(int64(200)),
		Duration: metav1.Duration{Duration: time.Second},
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	todo, err := load.Task(place.Place{Owner: "o", Clients: 1, Directory: t.TempDir(), DatasetBytes: 4 << 20}, engine.Run{ID: "r1-paced", Switched: true})
	if err != nil {
		t.Fatal(err)
	}
	measure := todo.Measure
	_, data, _ := strings.Cut(measure.Argv[2], `"target":"`)
	data, _, _ = strings.Cut(data, `"`)
	if err := os.MkdirAll(filepath.Dir(data), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(data, make([]byte, 4<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	var lines bytes.Buffer
	if err := run(t.Context(), measure.Argv[1:], &lines); err != nil {
		t.Fatal(err)
	}
	output, err := os.Open(measure.OutputFile)
	if err != nil {
		t.Fatal(err)
	}
	defer output.Close() //nolint:errcheck // It is only read.
	format, _ := engine.Lookup(measure.Format)
	res, err := format.Parse(output, engine.Options{RequestedSeconds: measure.RequestedSeconds})
	if err != nil || res.Read == nil || res.Write == nil || res.Arrivals.Operations < 390 || res.Arrivals.Operations > 402 {
		t.Errorf("got %+v, %v", res, err)
	}
	rate, ok := format.NewLive().Line(bytes.TrimSpace(lines.Bytes()))
	if !ok || rate.Counted.Read == nil || rate.Counted.Read.Latencies == nil {
		t.Errorf("%s is the rate %+v", lines.String(), rate)
	}
}

func TestSummaryHasPercentilesOrTheReason(t *testing.T) {
	res := &result.Result{
		Read: &result.Direction{
			Operations: 50, Seconds: 2,
			Latency: &result.Latency{Histogram: &result.Histogram{Bins: []result.Bin{{Nanoseconds: result.BinNanoseconds(result.BinIndex(1_000_000)), Count: 50}}}},
		},
		Write:    &result.Direction{Operations: 50, Seconds: 2},
		Warnings: []result.Warning{{Message: "the generator was late"}},
	}
	var out bytes.Buffer
	if err := summarise(res, &out); err != nil {
		t.Fatal(err)
	}
	const want = "read: 25.0 operations a second, p50 1.004 ms, p95 1.004 ms, p99 1.004 ms, p99.9 1.004 ms\nwrite: 25.0 operations a second\nthe generator was late\n"
	if out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

func TestRefusedLoads(t *testing.T) {
	for load, want := range map[string]string{
		"":                    "EOF",
		`{"engine":"libaio"}`: "duration",
		`{"depth":1}`:         "unknown field",
		`{"engine":"none","seconds":1,"copies":[{"target":"f","size":4096,"reads":true,"blocks":[{"bytes":4096,"weight":1}],"iops":1,"seed":1}]}`: `engine "none"`,
	} {
		if err := run(t.Context(), []string{"--load=" + load}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %s", load, err, want)
		}
	}
}
