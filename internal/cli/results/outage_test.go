package results

import (
	"io"
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/report"
)

func TestResultsShowOutages(t *testing.T) {
	run := &archive.Run{Number: 2, Phases: []archive.Phase{{Name: "outage", Outage: &archive.Outage{
		SecondsToOut: "90", SecondsToBackfilled: "12", SecondsToUp: "2", SecondsToClean: "20", DegradedObjectSeconds: "14700",
		Windows: []archive.OutageWindow{{Name: archive.WindowRecovery, Seconds: 20, IOPS: "275", LatencyP50: "0.002", LatencyP99: "0.012", StalledSeconds: 1}},
	}}}}
	out := terminal.NewPage(io.Discard)
	for _, table := range report.OutageTables([]*archive.Run{{Number: 1, Phases: []archive.Phase{{Name: "outage"}}}, run}) {
		writeReported(out, table)
	}
	words := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"2 2s 20s 14700", "2 90s 12s", "2 Recovery 20 275 IOPS 2ms 12ms 1"} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is not in it:\n%s", want, out.String())
		}
	}
	if tables := report.OutageTables([]*archive.Run{{Number: 1}}); len(tables) > 0 {
		t.Errorf("of none it tells %v", tables)
	}
}
