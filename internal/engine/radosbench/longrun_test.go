package radosbench

import (
	"fmt"
	"strings"
)

// longRun extends a captured output to a run of that many seconds.
func longRun(captured string, seconds int) string {
	head, rest, _ := strings.Cut(captured, "    0       0")
	_, tail, _ := strings.Cut(rest, "Total time run:")
	_, tail, _ = strings.Cut(tail, "Write size:")
	var b strings.Builder
	b.WriteString(head)
	finished := 0
	for i := range seconds {
		if i > 0 && i%20 == 0 {
			b.WriteString("2026-01-15T16:09:20.001234+0000 min lat: 0.000940606 max lat: 0.0183621 avg lat: 0.0022003\n")
			b.WriteString("  sec Cur ops   started  finished  avg MB/s  cur MB/s last lat(s)  avg lat(s)\n")
		}
		finished += 7265 + i%7
		average := float64(finished) / 8 / (float64(i) + 1.0001)
		fmt.Fprintf(&b, "%5d %7d %9d %9d %9.6g %9.6g %11s %11s\n", i+1, 16, finished+16, finished, average, 908.5, "0.00216009", "0.00220221")
	}
	total := float64(seconds) + 0.0021
	fmt.Fprintf(&b, "Total time run:         %g\nTotal writes made:      %d\nWrite size:%s", total, finished,
		strings.Replace(tail, "908.199", fmt.Sprintf("%.6g", float64(finished)/8/total), 1))
	return b.String()
}
