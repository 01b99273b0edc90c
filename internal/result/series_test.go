package result

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPerSecondLosesAndInventsNothing(t *testing.T) {
	cases := map[string]struct {
		series, want *Series
	}{
		"intervals that begin within a second share it by time": {
			series: &Series{
				Boundaries:   MeasuredBoundaries,
				StartSeconds: []float64{0, 0.25, 1.25}, EndSeconds: []float64{0.25, 1.25, 2.25},
				BytesPerSecond: []float64{400, 100, 200},
			},
			want: &Series{
				Boundaries:   AlignedBoundaries,
				StartSeconds: []float64{0, 1}, EndSeconds: []float64{1, 2},
				BytesPerSecond: []float64{175, 175},
			},
		},
		"a partly unknown second is left out": {
			series: &Series{
				Boundaries:   NominalBoundaries,
				StartSeconds: []float64{0, 2.5, 4}, EndSeconds: []float64{1, 3, 5},
				OperationsPerSecond: []float64{1, 2, 3},
			},
			want: &Series{
				Boundaries:   AlignedBoundaries,
				StartSeconds: []float64{0, 4}, EndSeconds: []float64{1, 5},
				OperationsPerSecond: []float64{1, 3},
			},
		},
		"an interval of several seconds is so many of the same": {
			series: &Series{
				Boundaries:   NominalBoundaries,
				StartSeconds: []float64{1}, EndSeconds: []float64{4}, OperationsPerSecond: []float64{5},
			},
			want: &Series{
				Boundaries:   AlignedBoundaries,
				StartSeconds: []float64{1, 2, 3}, EndSeconds: []float64{2, 3, 4}, OperationsPerSecond: []float64{5, 5, 5},
			},
		},
		"latencies weigh as much as their operations": {
			series: &Series{
				Boundaries:   MeasuredBoundaries,
				StartSeconds: []float64{0, 0.5}, EndSeconds: []float64{0.5, 1},
				OperationsPerSecond: []float64{300, 100}, MeanLatencySeconds: []float64{0.001, 0.005},
			},
			want: &Series{
				Boundaries:   AlignedBoundaries,
				StartSeconds: []float64{0}, EndSeconds: []float64{1},
				OperationsPerSecond: []float64{200}, MeanLatencySeconds: []float64{0.002},
			},
		},
		"a stalled second is kept, and costs the latencies": {
			series: &Series{
				Boundaries:   NominalBoundaries,
				StartSeconds: []float64{0, 1, 2}, EndSeconds: []float64{1, 2, 3},
				OperationsPerSecond: []float64{300, 0, 100}, MeanLatencySeconds: []float64{0.001, 0, 0.002},
			},
			want: &Series{
				Boundaries:   AlignedBoundaries,
				StartSeconds: []float64{0, 1, 2}, EndSeconds: []float64{1, 2, 3},
				OperationsPerSecond: []float64{300, 0, 100},
			},
		},
		"less than a second": {
			series: &Series{
				Boundaries:   MeasuredBoundaries,
				StartSeconds: []float64{0}, EndSeconds: []float64{0.9}, BytesPerSecond: []float64{1},
			},
			want: nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.series.PerSecond()
			if diff := cmp.Diff(tc.want, got, rounding); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if got == nil {
				return
			}
			if diff := cmp.Diff(got, got.PerSecond()); diff != "" {
				t.Errorf("doing it again changed it:\n%s", diff)
			}
		})
	}
}

func TestAddSeriesKeepsSecondsOfAllClients(t *testing.T) {
	a := &Series{
		Boundaries: NominalBoundaries, StartSeconds: []float64{0, 1, 2}, EndSeconds: []float64{1, 2, 3},
		OperationsPerSecond: []float64{1, 1, 3}, MeanLatencySeconds: []float64{0.1, 0.3, 0.1}, BytesPerSecond: []float64{9, 9, 9},
	}
	b := &Series{
		Boundaries: NominalBoundaries, StartSeconds: []float64{1, 2, 3}, EndSeconds: []float64{2, 3, 4},
		OperationsPerSecond: []float64{4, 1, 1}, MeanLatencySeconds: []float64{0.3, 0.5, 0.5},
	}
	want := &Series{
		Boundaries: AlignedBoundaries, StartSeconds: []float64{1, 2}, EndSeconds: []float64{2, 3},
		OperationsPerSecond: []float64{5, 4}, MeanLatencySeconds: []float64{0.3, 0.2},
	}
	if diff := cmp.Diff(want, AddSeries(a, b), rounding); diff != "" {
		t.Errorf("AddSeries (-want +got):\n%s", diff)
	}
	if got := AddSeries(a, nil); got != nil {
		t.Errorf("AddSeries(a, nil) = %v, want nil", got)
	}
	onlyBytes := &Series{Boundaries: NominalBoundaries, StartSeconds: []float64{1}, EndSeconds: []float64{2}, BytesPerSecond: []float64{1}}
	if got := AddSeries(b, onlyBytes); got != nil {
		t.Errorf("AddSeries without a column in common = %v, want nil", got)
	}
}

func TestJoinSeriesPutsColumnsSideBySide(t *testing.T) {
	a := &Series{Boundaries: NominalBoundaries, StartSeconds: []float64{0, 1}, EndSeconds: []float64{1, 2}, BytesPerSecond: []float64{10, 20}}
	b := &Series{Boundaries: NominalBoundaries, StartSeconds: []float64{1, 2}, EndSeconds: []float64{2, 3}, OperationsPerSecond: []float64{2, 3}}
	want := &Series{
		Boundaries: AlignedBoundaries, StartSeconds: []float64{1}, EndSeconds: []float64{2},
		BytesPerSecond: []float64{20}, OperationsPerSecond: []float64{2},
	}
	if diff := cmp.Diff(want, JoinSeries(a, b)); diff != "" {
		t.Errorf("JoinSeries (-want +got):\n%s", diff)
	}
}

func TestStalledIsAnIntervalWithoutCompletions(t *testing.T) {
	s := &Series{StartSeconds: []float64{0, 1}, EndSeconds: []float64{1, 2}, BytesPerSecond: []float64{0, 1}}
	if !s.Stalled(0) || s.Stalled(1) {
		t.Errorf("Stalled() = %v, %v, want true, false", s.Stalled(0), s.Stalled(1))
	}
	latencies := &Series{StartSeconds: []float64{0}, EndSeconds: []float64{1}, MeanLatencySeconds: []float64{0}}
	if latencies.Stalled(0) {
		t.Error("latencies alone cannot say that nothing completed")
	}
}
