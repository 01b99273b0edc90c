package analyze

import (
	"errors"
	"path/filepath"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	document "github.com/cephtune/cephtune/internal/report"
)

// drawFigure returns an SVG with the time series of each run, or with the ratios of a table. The
// same input always gives the same bytes.
func drawFigure(s *study, r *report) ([]byte, error) {
	if s.source == "table" {
		return drawRatios(r)
	}
	return drawRuns(s)
}

// drawRatios draws each candidate's ratio to the baseline with its interval. If the runs form blocks,
// it also draws the ratios within each block.
func drawRatios(r *report) ([]byte, error) {
	var all []document.Estimate
	for i, c := range r.Candidates {
		if c.Ratio == nil {
			continue
		}
		e := document.Estimate{Name: c.Name, Index: i + 1, Verdict: c.Verdict, Ratio: *c.Ratio, Low: *c.Ratio, High: *c.Ratio, Blocks: c.blockRatios(r.Baseline)}
		if c.RatioLow != nil && c.RatioHigh != nil {
			e.Low, e.High = *c.RatioLow, *c.RatioHigh
		}
		all = append(all, e)
	}
	if len(all) == 0 {
		return nil, errors.New("no candidate can be compared with the baseline, so there is nothing to draw")
	}
	margin := 1 + r.MinimumEffect
	if !r.HigherIsBetter {
		margin = 1 - r.MinimumEffect
	}
	return document.RatioPicture(all, margin, 1+r.Equivalence), nil
}

// blockRatios returns the ratios of a candidate's runs to the baseline's runs in the same block.
func (c candidateEntry) blockRatios(baseline summary) []float64 {
	var out []float64
	for _, r := range c.RunValues {
		for _, b := range baseline.RunValues {
			if r.Block != "" && r.Block == b.Block {
				out = append(out, r.Value/b.Value)
			}
		}
	}
	return out
}

// drawRuns draws each run over time. For latencies, it draws the bandwidth, because no engine reports latencies over time.
func drawRuns(s *study) ([]byte, error) {
	metric := v1alpha1.MetricBandwidth
	if s.metric == "iops" {
		metric = v1alpha1.MetricIOPS
	}
	some := false
	var columns [][]document.Course
	for _, c := range s.all() {
		var column []document.Course
		for _, r := range c.Runs {
			course := document.Course{Name: c.Name + ": " + filepath.Base(r.Source), Seconds: r.Window.RunSeconds, From: r.Window.FromSeconds, To: r.Window.ToSeconds, Rows: r.Course}
			if r.LatencyKind == "" {
				course.Value = r.Value
			}
			if len(r.Course) == 0 {
				course.Name += " (no values over time)"
			}
			if !r.Steady {
				course.Name += " (not steady)"
			}
			some = some || slices.ContainsFunc(r.Course, func(s document.Second) bool { return s.Rate > 0 })
			column = append(column, course)
		}
		columns = append(columns, column)
	}
	if !some {
		return nil, errors.New("no run has values over time to draw; rados bench and rbd bench print them")
	}
	return document.CoursePicture(metric, columns), nil
}
