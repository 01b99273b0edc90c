package fio

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/load"
	"github.com/cephtune/cephtune/internal/result"
)

// operations returns a log with one operation each 10 ms, of this latency, for 12 s. No operation
// completes in the third second.
func operations(milliseconds int) string {
	var log strings.Builder
	for at := 10; at <= 12000; at += 10 {
		if at < 2000 || at >= 3000 {
			fmt.Fprintf(&log, "%d, %d, 1, 4096, 0\n", at, milliseconds*1_000_000)
		}
	}
	return log.String()
}

// A log of every operation results in latencies of windows of five seconds, over all jobs. An
// incomplete window is left out.
func TestEveryOperationGivesLatencyWindows(t *testing.T) {
	res := &result.Result{Write: &result.Direction{Operations: 1, Bytes: 1, Seconds: 12, ShortestSeconds: 12}}
	dir := fstest.MapFS{
		"run_lat.1.log":  {Data: []byte(operations(2))},
		"run_lat.2.log":  {Data: []byte(operations(8))},
		"run_slat.1.log": {Data: []byte("not read")},
	}
	if err := attachLogs(res, dir, "run"); err != nil {
		t.Fatal(err)
	}
	windows := res.Write.LatencyWindows
	if len(windows) != 2 || windows[1].StartSeconds != 5 || windows[1].EndSeconds != 10 {
		t.Fatalf("windows %+v", windows)
	}
	if n := windows[0].Histogram.Count(); n != 2*399 {
		t.Errorf("%d operations in the first one", n)
	}
	p, known := windows[0].Histogram.Percentile(99)
	if !known || p.Seconds < 0.0078 || p.Seconds > 0.0082 {
		t.Errorf("99 %% within %v s", p.Seconds)
	}
	if s := res.Write.Series; s == nil || s.Len() < 11 || !s.Stalled(2) || s.OperationsPerSecond[5] != 200 {
		t.Errorf("series %+v", s)
	}
	// An unreadable log must not result in any window.
	dir["run_lat.2.log"] = &fstest.MapFile{Data: []byte("fio: killed")}
	if err := attachLogs(res, dir, "run"); err != nil || res.Write.LatencyWindows != nil {
		t.Errorf("windows %+v, %v", res.Write.LatencyWindows, err)
	}
}

// Every operation is logged only if the run asks for it and there are not too many.
func TestLogOptions(t *testing.T) {
	limited := func(rate int64, jobs ...v1alpha1.FioJob) v1alpha1.Fio {
		f := v1alpha1.Fio{Jobs: jobs, NumJobs: 2, Duration: metav1.Duration{Duration: 10 * time.Minute}}
		if rate > 0 {
			f.RateIOPS = &rate
		}
		return f
	}
	rate := int64(100)
	for name, tc := range map[string]struct {
		spec  v1alpha1.Fio
		every bool
		want  bool
	}{
		"without a request":              {limited(500), false, false},
		"at a rate":                      {limited(500), true, true},
		"at a rate that is too high":     {limited(1700), true, false},
		"in an open loop":                {limited(0), true, false},
		"with a job in an open loop":     {limited(0, v1alpha1.FioJob{RateIOPS: &rate}, v1alpha1.FioJob{}), true, false},
		"with a rate for each job":       {limited(0, v1alpha1.FioJob{RateIOPS: &rate}, v1alpha1.FioJob{RateIOPS: &rate}), true, true},
		"for longer than a report holds": {v1alpha1.Fio{RateIOPS: &rate, Duration: metav1.Duration{Duration: time.Hour}}, true, false},
	} {
		f := &phase{spec: tc.spec, seconds: tc.spec.Duration.Seconds()}
		got := f.logOptions(load.Run{ID: "r", EveryOperation: tc.every})
		if every := !slices.Contains(got, "--log_avg_msec=1000"); every != tc.want || !slices.Contains(got, "--write_lat_log=r") {
			t.Errorf("%s: %v", name, got)
		}
	}
}
