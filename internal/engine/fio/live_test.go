package fio

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/engine/parse/parsetest"
)

// statusOf339 is the output of fio 3.39 with --eta=always --eta-newline=1 while two jobs ran, after
// a ramp. Lines overwrite each other.
const statusOf339 = "Jobs: 2 (f=0)\rJobs: 2 (f=0): [/(2)][-.-%][eta 00m:04s]\r\n" +
	"Jobs: 2 (f=1), 0-4000 IOPS: [m(1),/(1)][42.9%][r=1KiB/s,w=1KiB/s][r=0,w=0 IOPS][eta 00m:04s]\r" +
	"Jobs: 2 (f=2), 0-8000 IOPS: [m(2)][57.1%][r=15.6MiB/s,w=15.6MiB/s][r=4000,w=4000 IOPS][eta 00m:03s]\r\n" +
	"Jobs: 2 (f=2), 0-8000 IOPS: [m(2)][85.7%][r=15.6MiB/s,w=15.6MiB/s][r=4004,w=4004 IOPS][eta 00m:01s] \r"

func TestLiveRatesOfARun(t *testing.T) {
	var got []float64
	reader := newLive()
	for _, line := range strings.FieldsFunc(statusOf339, func(r rune) bool { return r == '\r' || r == '\n' }) {
		if rate, ok := reader.Line([]byte(line)); ok {
			got = append(got, rate.OperationsPerSecond)
		}
	}
	if diff := cmp.Diff([]float64{8008}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLiveRate(t *testing.T) {
	parsetest.Rates(t, liveRate, map[string]*parse.Rate{
		"Jobs: 1 (f=1): [m(1)][50.0%][r=136MiB/s,w=58.5MiB/s][r=34.8k,w=14.8k IOPS][eta 00m:01s]": {BytesPerSecond: 194.5 * (1 << 20), OperationsPerSecond: 49600},
		"Jobs: 4 (f=4): [w(4)][3.3%][w=8192KiB/s][w=2048 IOPS][eta 01m:12s]":                      {BytesPerSecond: 8 << 20, OperationsPerSecond: 2048},
		"Jobs: 1 (f=1): [r(1)][10.0%][r=1025B/s][r=1 IOPS][eta 00m:09s]":                          {BytesPerSecond: 1025, OperationsPerSecond: 1},
		"Jobs: 1 (f=1): [d(1)][10.0%][r=1KiB/s,w=1KiB/s,t=2KiB/s][r=1,w=1,t=2 IOPS][eta 00m:09s]": {BytesPerSecond: 4096, OperationsPerSecond: 4},
		// These lines are from before the first operation and from after the last one.
		"Jobs: 1 (f=1)": nil,
		"Jobs: 1 (f=1): [m(1)][100.0%][eta 00m:00s]":                                      nil,
		"Jobs: 1 (f=1): [r(1)][10.0%][r=12MiB/s][eta 00m:09s]":                            nil,
		"Jobs: 1 (f=1): [r(1)][10.0%][r=12MiB/s][r=3.1k IO":                               nil, // cut off
		"Jobs: 1 (f=1): [r(1)][10.0%][r=fastMiB/s][r=3.1k IOPS][eta 00m:09s]":             nil,
		"fio: pid=0, err=5/file:io_u.c:1845, func=io_u error, error=Input/output error[]": nil,
		"": nil,
	})
}
