package results

import (
	"strings"
	"testing"

	"github.com/cephtune/cephtune/internal/archive"
)

func TestResultsShowOutages(t *testing.T) {
	run := &archive.Run{Number: 2, Phases: []archive.Phase{{Name: "outage", Outage: &archive.Outage{
		SecondsToOut: "90", SecondsToBackfilled: "12", SecondsToUp: "2", SecondsToClean: "20", DegradedObjectSeconds: "14700",
		Windows: []archive.OutageWindow{{Name: archive.WindowRecovery, Seconds: 20, IOPS: "275", LatencyP50: "0.002", LatencyP99: "0.012", StalledSeconds: 1}},
	}}}}
	var out strings.Builder
	writeOutages(&out, 120, []*archive.Run{{Number: 1, Phases: []archive.Phase{{Name: "outage"}}}, run})
	words := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"2 outage 2s 20s 14700", "2 90s 12s", "2 Recovery 20 275 2ms 12ms 1"} {
		if !strings.Contains(words, want) {
			t.Errorf("%q is not in it:\n%s", want, out.String())
		}
	}
	out.Reset()
	if writeOutages(&out, 120, []*archive.Run{{Number: 1}}); out.Len() > 0 {
		t.Errorf("of none it tells %q", out.String())
	}
}
