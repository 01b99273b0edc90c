package analyze

import (
	"errors"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// length converts a number to the type that the plot package uses for sizes.
func length(n int) vg.Length { return vg.Length(n) }

// drawRatios draws each candidate's ratio to the baseline with its interval. If the runs form blocks,
// it also draws the ratios within each block. The axis reaches at most from 0.1 to 10; values outside
// this range are drawn at its ends.
func drawRatios(r *report) ([]byte, error) {
	p := newPanel(r.Metric + ", ratio to " + r.Baseline.Name)
	p.Y.Label.Text = "ratio (logarithmic)"
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, ratioTicks{}
	names := make([]string, len(r.Candidates))
	for i, c := range r.Candidates {
		names[i] = c.Name
	}
	shown := 0
	low, high := 0.9, 1.1
	for _, c := range r.Candidates {
		if c.Ratio == nil {
			continue
		}
		shown++
		low, high = min(low, *c.Ratio), max(high, *c.Ratio)
		if c.RatioLow != nil && c.RatioHigh != nil {
			low, high = min(low, *c.RatioLow), max(high, *c.RatioHigh)
		}
		for _, b := range c.blockRatios(r.Baseline) {
			low, high = min(low, b), max(high, b)
		}
	}
	if shown == 0 {
		return nil, errors.New("no candidate can be compared with the baseline, so there is nothing to draw")
	}
	// The interval of two runs can span several powers of ten. An axis of that length would make all
	// other intervals too small to read.
	low, high = max(low/1.05, 0.1), min(high*1.05, 10)
	if err := drawThresholds(p, r, low, high); err != nil {
		return nil, err
	}
	for i, c := range r.Candidates {
		if err := drawRatio(p, r.Baseline, c, float64(i), low, high); err != nil {
			return nil, err
		}
	}
	p.NominalX(names...)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = -0.5, float64(len(names))-0.5, low, high
	return svg([][]*plot.Plot{{p}}, 110*length(len(names))+110, 300)
}

func drawThresholds(p *plot.Plot, r *report, low, high float64) error {
	ink := colours()
	right := float64(len(r.Candidates)) - 0.5
	e := 1 + r.Equivalence
	if _, err := drawShade(p, -0.5, right, max(1/e, low), min(e, high), ink.shade); err != nil {
		return err
	}
	if _, err := drawLine(p, plotter.XYs{{X: -0.5, Y: 1}, {X: right, Y: 1}}, ink.faint, 0.8); err != nil {
		return err
	}
	threshold := 1 + r.MinimumEffect
	if !r.HigherIsBetter {
		threshold = 1 - r.MinimumEffect
	}
	if threshold <= low || threshold >= high {
		return nil
	}
	_, err := drawLine(p, plotter.XYs{{X: -0.5, Y: threshold}, {X: right, Y: threshold}}, ink.running, 0.8, 4, 2)
	return err
}

func drawRatio(p *plot.Plot, baseline summary, c candidateEntry, x, low, high float64) error {
	if c.Ratio == nil {
		return nil
	}
	ink := colours()
	var blocks plotter.XYs
	for _, ratio := range c.blockRatios(baseline) {
		blocks = append(blocks, plotter.XY{X: x + 0.15, Y: min(max(ratio, low), high)})
	}
	if err := drawDots(p, blocks, draw.GlyphStyle{Color: ink.faint, Radius: 2, Shape: draw.RingGlyph{}}); err != nil {
		return err
	}
	if c.RatioLow != nil && c.RatioHigh != nil {
		interval := plotter.XYs{{X: x, Y: max(*c.RatioLow, low)}, {X: x, Y: min(*c.RatioHigh, high)}}
		if _, err := drawLine(p, interval, ink.seconds, 1.5); err != nil {
			return err
		}
	}
	return drawDots(p, plotter.XYs{{X: x, Y: min(max(*c.Ratio, low), high)}}, draw.GlyphStyle{Color: ink.mean, Radius: 3, Shape: draw.CircleGlyph{}})
}

func drawDots(p *plot.Plot, points plotter.XYs, style draw.GlyphStyle) error {
	if len(points) == 0 {
		return nil
	}
	dots, err := plotter.NewScatter(points)
	if err != nil {
		return err
	}
	dots.GlyphStyle = style
	p.Add(dots)
	return nil
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

// ratioTicks places ticks at round ratios.
type ratioTicks struct{}

// Ticks implements plot.Ticker.
func (ratioTicks) Ticks(low, high float64) []plot.Tick {
	var ticks []plot.Tick
	values := []float64{0.1, 0.2, 0.5, 0.8, 1, 1.2, 1.5, 2, 3, 5, 10}
	if high/low < 2 {
		values = []float64{0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8}
	}
	for _, v := range values {
		if v >= low && v <= high {
			ticks = append(ticks, plot.Tick{Value: v, Label: number(v)})
		}
	}
	return ticks
}
