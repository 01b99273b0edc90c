package progress

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cephtune/cephtune/internal/engine/parse"
)

func TestProgressLinesRoundTrip(t *testing.T) {
	for text, line := range map[string]Line{
		"cephtune-progress-1 task=r1-write-4m seconds=12 MiB/s=412.5 IOPS=103.1 latencyMs=155.2": {
			Task: "r1-write-4m", Elapsed: 12 * time.Second,
			Rate: parse.Rate{BytesPerSecond: 412.5 * (1 << 20), OperationsPerSecond: 103.1, MeanLatencySeconds: 0.1552},
		},
		// A second without operations is not a second without information.
		"cephtune-progress-1 task=r1-write-4m seconds=13 MiB/s=0 IOPS=0": {
			Task: "r1-write-4m", Elapsed: 13 * time.Second,
		},
		"cephtune-progress-1 task=r20-mix seconds=3600 MiB/s=1.25e+04 IOPS=3.2e+06": {
			Task: "r20-mix", Elapsed: time.Hour,
			Rate: parse.Rate{BytesPerSecond: 12500 << 20, OperationsPerSecond: 3.2e6},
		},
	} {
		if diff := cmp.Diff(text, line.String()); diff != "" {
			t.Errorf("written (-want +got):\n%s", diff)
		}
		for _, before := range []string{"", "2026-03-01T06:00:00.123456789Z stderr F "} {
			got, ok := Parse(before + text)
			if diff := cmp.Diff(line, got, cmpopts.EquateApprox(1e-9, 0)); !ok || diff != "" {
				t.Errorf("%s: %t (-want +got):\n%s", text, ok, diff)
			}
		}
	}
}

func TestParseIgnoresUnknownFields(t *testing.T) {
	got, ok := Parse("cephtune-progress-1 task=r1-a seconds=1 MiB/s=2 IOPS=3 queue=7 note=x")
	if !ok || got.Rate.OperationsPerSecond != 3 {
		t.Errorf("%t, %+v", ok, got)
	}
}

func TestOtherLinesAreNotTaken(t *testing.T) {
	for _, text := range []string{
		"",
		"listening on 0.0.0.0:7480",
		"cephtune-report-1 data H4sIAAAA",
		"cephtune-progress-1",
		"cephtune-progress-1 task=r1-a seconds=1 MiB/s=2", // cut off
		"cephtune-progress-1 seconds=1 MiB/s=2 IOPS=3",
		"cephtune-progress-1 task= seconds=1 MiB/s=2 IOPS=3",
		"cephtune-progress-1 task=r1-a seconds=1 MiB/s=NaN IOPS=3",
		"cephtune-progress-1 task=r1-a seconds=1 MiB/s=-2 IOPS=3",
		"cephtune-progress-2 task=r1-a seconds=1 MiB/s=2 IOPS=3",
	} {
		if got, ok := Parse(text); ok {
			t.Errorf("%q was taken for %+v", text, got)
		}
	}
}
