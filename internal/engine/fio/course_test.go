package fio

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cephtune/cephtune/internal/result"
)

// Two jobs with 500 reads and 500 writes per second each, after a ramp of 2 s.
func TestAttachLogsAddsUpTheJobs(t *testing.T) {
	res := parseJSON(t, read(t, "fio-3.33/jobs-with-logs.plus.json"))
	if err := attachLogs(res, os.DirFS("testdata"), "fio-3.33-logs/jobs"); err != nil {
		t.Fatal(err)
	}
	if len(res.Warnings) > 0 {
		t.Errorf("warnings: %v", res.Warnings)
	}
	if err := res.Validate(); err != nil {
		t.Error(err)
	}
	near := cmpopts.EquateApprox(0.02, 0)
	for _, d := range res.Directions() {
		s := d.Series
		if s == nil || s.Len() != 3 || s.StartSeconds[0] != 0 || s.MeanLatencySeconds == nil {
			t.Fatalf("%s: got %+v, want the three seconds and all columns that fio wrote: the ramp is not in them", d.Name, s)
		}
		var operations, bytes float64
		for i := range s.Len() {
			operations += s.OperationsPerSecond[i]
			bytes += s.BytesPerSecond[i]
		}
		operations, bytes = operations/float64(s.Len()), bytes/float64(s.Len())
		if !cmp.Equal(operations, d.OperationsPerSecond(), near) || !cmp.Equal(bytes, d.BytesPerSecond(), near) {
			t.Errorf("%s: the course has %v operations/s and %v bytes/s, the report %v and %v", d.Name, operations, bytes, d.OperationsPerSecond(), d.BytesPerSecond())
		}
		if got, want := s.MeanLatencySeconds[0], (925e-9+1248e-9)/2; d.Name == result.Read && !cmp.Equal(got, want, cmpopts.EquateApprox(0.01, 0)) {
			t.Errorf("the mean latency of the first second of reads is %v, want %v", got, want)
		}
	}
}

// A last window of 3 ms must not count as the length of all windows. Otherwise all others would
// look like stalls.
func TestAttachLogsKnowsTheLengthOfAWindow(t *testing.T) {
	res := parseJSON(t, read(t, "fio-3.33/logs.plus.json"))
	logs := fstest.MapFS{"run_bw.1.log": {Data: []byte("1000, 5, 0, 0\n2000, 5, 0, 0\n2003, 5, 0, 0\n")}}
	if err := attachLogs(res, logs, "run"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{5120, 5120, 5120}, res.Read.Series.BytesPerSecond); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestALogThatCannotBeReadCostsItsKind(t *testing.T) {
	whole := &fstest.MapFile{Data: []byte("1000, 5, 0, 0\n2000, 5, 0, 0\n")}
	cases := map[string]struct {
		broken         string
		wantBandwidth  bool
		wantOperations bool
	}{
		"cut within a line": {"run_bw.2.log", false, true},
		"of another kind":   {"run_clat.2.log", true, true},
		"of another run":    {"run2_bw.1.log", true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res := parseJSON(t, read(t, "fio-3.33/logs.plus.json"))
			before := len(res.Warnings)
			logs := fstest.MapFS{"run_bw.1.log": whole, "run_bw.2.log": whole, "run_iops.1.log": whole, "run_iops.2.log": whole}
			logs[tc.broken] = &fstest.MapFile{Data: []byte("1000, 5, 0, 0\n20")}
			if err := attachLogs(res, logs, "run"); err != nil {
				t.Fatal(err)
			}
			s := res.Read.Series
			if (s.BytesPerSecond != nil) != tc.wantBandwidth || (s.OperationsPerSecond != nil) != tc.wantOperations {
				t.Errorf("bandwidth %v, operations %v", s.BytesPerSecond, s.OperationsPerSecond)
			}
			if warned := len(res.Warnings) > before; warned == tc.wantBandwidth {
				t.Errorf("warnings: %v", res.Warnings)
			} else if warned && (res.Warnings[before].Code != result.WarnSeriesDropped || !strings.Contains(res.Warnings[before].Message, tc.broken)) {
				t.Errorf("the warning %v does not name %s", res.Warnings[before], tc.broken)
			}
		})
	}
}

func TestAttachLogsWithoutLogs(t *testing.T) {
	for name, prefix := range map[string]string{"no folder": "none/run", "no log": "run"} {
		res := parseJSON(t, read(t, "fio-3.33/logs.plus.json"))
		if err := attachLogs(res, fstest.MapFS{"run_bw.txt": {}}, prefix); err == nil {
			t.Errorf("%s: want an error", name)
		}
	}
}
