package runner

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload/progress"
)

// step is a tool's output, and the time after the step before.
type step struct {
	after time.Duration
	print string
}

// liveFunc is a [parse.Live] without state.
type liveFunc func(line []byte) (parse.Rate, bool)

func (f liveFunc) Line(line []byte) (parse.Rate, bool) { return f(line) }

// progressLines returns the lines about a tool with these outputs.
func progressLines(count int, steps ...step) []string {
	clock := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
	var lines []string
	w := &progressWriter{
		live: liveFunc(func(line []byte) (parse.Rate, bool) {
			var rate parse.Rate
			_, err := fmt.Sscanf(string(line), "%g", &rate.OperationsPerSecond)
			return rate, err == nil
		}),
		task: "r1-write", since: clock, now: func() time.Time { return clock },
		report: func(l progress.Line) {
			lines = append(lines, fmt.Sprintf("%v: %g", l.Elapsed, l.Rate.OperationsPerSecond))
		},
		count: &count,
	}
	for _, s := range steps {
		clock = clock.Add(s.after)
		if n, err := w.Write([]byte(s.print)); n != len(s.print) || err != nil {
			panic(fmt.Sprint(n, err)) // A real tool would wait, or end.
		}
	}
	return lines
}

func TestProgressIsLoggedOnceASecond(t *testing.T) {
	second, half := time.Second, time.Second/2
	for name, tc := range map[string]struct {
		count int
		steps []step
		want  []string
	}{
		"a line each second":        {0, []step{{second, "1\n"}, {second, "2\n"}, {second - time.Millisecond, "3\n"}}, []string{"1s: 1", "2s: 2", "2.999s: 3"}},
		"more often than that":      {0, []step{{half, "1\n"}, {half, "2\n"}, {half, "3\n"}, {half, "4\n"}}, []string{"500ms: 1", "1.5s: 3"}},
		"in pieces":                 {0, []step{{second, "1"}, {0, "2"}, {0, "\n3"}, {second, "\n"}}, []string{"1s: 12", "2s: 3"}},
		"as on a terminal":          {0, []step{{second, "1\r"}, {second, "2\r\n"}}, []string{"1s: 1", "2s: 2"}},
		"lines that say nothing":    {0, []step{{second, "hints = 1\n\n"}, {0, "1\n"}}, []string{"1s: 1"}},
		"a line that has no end":    {0, []step{{second, strings.Repeat("7", 2*maxProgressLine)}, {0, "\n"}, {second, "1\n"}}, []string{"2s: 1"}},
		"nothing":                   {0, []step{{second, ""}}, nil},
		"after hours, now and then": {maxProgress, []step{{second, "1\n"}, {second, "2\n"}, {9 * second, "3\n"}}, []string{"1s: 1", "11s: 3"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, progressLines(tc.count, tc.steps...)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A runner logs the rate of its tool, and that must not change its report.
func TestLogHasProgress(t *testing.T) {
	r := run(t, options(t))
	report := r.measure(t, rados("r1-write", "print="+captured(t, "radosbench/testdata/lab-ceph-18.2.7/write-4m.txt")))
	if report.State != task.Done || report.Result == nil {
		t.Fatalf("%+v", report.Status)
	}
	var lines []progress.Line
	for line := range strings.Lines(r.stderr.String()) {
		if l, ok := progress.Parse(line); ok {
			lines = append(lines, l)
		}
	}
	// The tool prints everything within the first second.
	if len(lines) != 1 || lines[0].Task != "r1-write" || lines[0].Rate.OperationsPerSecond < 10 || lines[0].Rate.MeanLatencySeconds <= 0 {
		t.Errorf("%+v\n%s", lines, r.stderr)
	}
}
