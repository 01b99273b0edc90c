package runner

import (
	"fmt"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/task"
)

// BenchmarkEndToReport measures the time from the exit of a tool until a waiting manager has its
// report, with the output of three jobs of fio.
func BenchmarkEndToReport(b *testing.B) {
	r := run(b, options(b))
	output := "print=" + captured(b, "fio/testdata/fio-3.33/three-jobs.plus.json")
	var total, longest time.Duration
	b.ResetTimer()
	for i := range b.N {
		tk := rados(fmt.Sprint("t", i), output)
		tk.Measure.Format, tk.Measure.RequestedSeconds = "fio-json", 0
		r.put(b, tk)
		r.until(b, equals(task.Ready))
		if _, err := r.Start(b.Context(), tk.ID); err != nil {
			b.Fatal(err)
		}
		r.until(b, task.State.Ended)
		report, err := r.Report(b.Context(), tk.ID)
		if err != nil || report.State != task.Done {
			b.Fatal(report, err)
		}
		took := time.Since(*report.EndTime) // the same clock, because it is the same machine
		total, longest = total+took, max(longest, took)
	}
	b.ReportMetric(float64(total.Microseconds())/float64(b.N)/1e3, "ms/report")
	b.ReportMetric(float64(longest.Microseconds())/1e3, "ms/worst")
}
