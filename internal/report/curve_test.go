package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/design/curve"
	"github.com/cephtune/cephtune/internal/figure"
)

// curveRun returns a run with a curve: one step of each outcome.
func curveRun(knee curve.Knee) []*archive.Run {
	step := func(rate float64, over int64, seconds float64) curve.Step {
		return curve.Step{
			OfferedPerSecond: rate, AchievedPerSecond: rate, Count: 1000, Over: over, PercentileSeconds: seconds,
			P50Seconds: 0.001, P95Seconds: 0.004, P99Seconds: seconds, P999Seconds: 2 * seconds, MostInFlight: 12, LateP99Seconds: 20e-6,
		}
	}
	saturated, fault := step(1000, 0, 0), step(500, 0, 0)
	saturated.Saturated, saturated.AchievedPerSecond, fault.Fault = true, 900, "a client lacked CPU"
	course := &curve.Course{
		Question: curve.Question{Percent: 99, LimitSeconds: 0.01}, ClosedLoopPerSecond: 1000, ClosedLoopSeconds: 0.008, Knee: knee,
		Steps: []curve.Step{step(400, 2, 0.005), step(800, 200, 0.03), saturated, fault},
	}
	return []*archive.Run{{Number: 1, Phases: []archive.Phase{{Name: "read", Observation: &figure.Observation{Curve: course}}}}}
}

func TestCurve(t *testing.T) {
	runs := curveRun(curve.Knee{State: curve.Found, PerSecond: 600, LowPerSecond: 560, HighPerSecond: 650, Reason: "600/s keep it."})
	want := [][]string{
		{"1", "400 IOPS", "400 IOPS", "1ms", "4ms", "5ms", "10ms", "12", "20µs", "Kept"},
		{"2", "800 IOPS", "800 IOPS", "1ms", "4ms", "30ms", "60ms", "12", "20µs", "Exceeded"},
		{"3", "1k IOPS", "900 IOPS", "", "", "", "", "12", "20µs", "Saturated"},
		{"4", "500 IOPS", "500 IOPS", "", "", "", "", "12", "20µs", "Unusable"},
	}
	curves := Curves(runs)
	if len(curves) != 1 || curves[0].Sentence != "Run 1, read: 600/s keep it. The closed loop seems to keep the limit at 1k IOPS, with 8ms: it sends nothing while it waits." {
		t.Fatalf("%+v", curves)
	}
	if diff := cmp.Diff(want, curves[0].Steps.Rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	picture := [][]string{
		{"400 IOPS", "5ms", "████████·······│··············", "Kept"},
		{"500 IOPS", "", "···············│··············", "Unusable"},
		{"800 IOPS", "30ms", "███████████████│█████████████▶", "Exceeded"},
		{"1k IOPS", "", "···············│··············", "Saturated"},
		{"1k IOPS", "8ms", "████████████···│··············", "Closed loop"},
	}
	if diff := cmp.Diff(picture, curves[0].Picture.Rows); diff != "" {
		t.Errorf("picture (-want +got):\n%s", diff)
	}
	parts := curveParts(runs)
	plot := parts[0].Plot
	if !strings.Contains(plot.Caption, curves[0].Sentence+" The horizontal line is the limit of 10ms") {
		t.Errorf("caption %q", plot.Caption)
	}
	for name, svg := range map[string]string{"wide": plot.SVG, "narrow": plot.Narrow} {
		if strings.Count(svg, `class="dot`) < 2 || strings.Count(svg, `class="cross"`) != 2 || !strings.Contains(svg, `class="band"`) || strings.Contains(svg, "NaN") {
			t.Errorf("%s: %s", name, svg)
		}
	}
}

func TestCurvesTogether(t *testing.T) {
	names := [2]string{"before", "after"}
	a := curveRun(curve.Knee{State: curve.Found, PerSecond: 600, LowPerSecond: 560, HighPerSecond: 650, Reason: "600/s keep it."})
	b := curveRun(curve.Knee{State: curve.Inconclusive, Reason: "The steps differ."})
	part, ok := CurvesTogether(names, [2][]*archive.Run{a, b}, "read")
	if !ok || !strings.Contains(part.Plot.Caption, "before: Run 1, read: 600/s keep it. The closed loop seems to keep") {
		t.Fatalf("%+v, %v", part, ok)
	}
	svg := part.Plot.SVG
	if strings.Count(svg, `class="band"`) != 1 || strings.Count(svg, `class="cross"`) != 4 || !strings.Contains(svg, ">before<") || !strings.Contains(svg, ">after<") {
		t.Errorf("%s", svg)
	}
	if _, ok := CurvesTogether(names, [2][]*archive.Run{a, b}, "write"); ok {
		t.Error("a plot of a phase that nobody has")
	}
}

func TestCurveWithoutARate(t *testing.T) {
	parts := curveParts(curveRun(curve.Knee{State: curve.Inconclusive, Reason: "The steps differ."}))
	if plot := parts[0].Plot; !strings.Contains(plot.Caption, "The steps differ.") || strings.Contains(plot.SVG, `class="band"`) {
		t.Errorf("caption %q", plot.Caption)
	}
	if parts := curveParts([]*archive.Run{{Number: 1}}); parts != nil {
		t.Errorf("%d parts without a curve", len(parts))
	}
}
