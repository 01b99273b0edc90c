package analyze

import (
	"bytes"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// palette holds the colours of plots. Colour-blind people can distinguish them, also in print.
type palette struct {
	seconds, running, mean, faint, shade color.Color
}

func colours() palette {
	return palette{
		seconds: color.NRGBA{R: 0x1f, G: 0x77, B: 0xb4, A: 0xff},
		running: color.NRGBA{R: 0xd9, G: 0x5f, B: 0x02, A: 0xff},
		mean:    color.NRGBA{A: 0xff},
		faint:   color.NRGBA{R: 0x80, G: 0x80, B: 0x80, A: 0xff},
		shade:   color.NRGBA{R: 0xdd, G: 0xdd, B: 0xdd, A: 0xff},
	}
}

// drawFigure returns an SVG with the time series of each run, or with the ratios of a table. The
// same input always gives the same bytes.
func drawFigure(s *study, r *report) ([]byte, error) {
	if s.source == "table" {
		return drawRatios(r)
	}
	return drawRuns(s)
}

// svg draws panels in a grid with aligned axes.
func svg(panels [][]*plot.Plot, width, height vg.Length) ([]byte, error) {
	canvas := vgsvg.New(width, height)
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Path())
	tiles := draw.Tiles{
		Rows: len(panels), Cols: len(panels[0]),
		PadX: 14, PadY: 14, PadTop: 8, PadBottom: 8, PadLeft: 8, PadRight: 14,
	}
	canvases := plot.Align(panels, tiles, page)
	for y, row := range panels {
		for x, panel := range row {
			if panel != nil {
				panel.Draw(canvases[y][x])
			}
		}
	}
	var out bytes.Buffer
	if _, err := canvas.WriteTo(&out); err != nil {
		return nil, err
	}
	// The font is not embedded, so the style also names fonts whose letters have the same widths.
	const family = "font-family:Liberation Sans"
	return bytes.ReplaceAll(out.Bytes(), []byte(family), []byte(family+",Arimo,Arial,Helvetica,sans-serif")), nil
}

func newPanel(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text = title
	p.Title.Padding = 4
	setFont(&p.Title.TextStyle, 10)
	setFont(&p.Legend.TextStyle, 8)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		setFont(&axis.Label.TextStyle, 9)
		setFont(&axis.Tick.Label, 8)
	}
	return p
}

func setFont(style *text.Style, size vg.Length) {
	style.Font.Variant, style.Font.Size = "Sans", size
}

// drawLine adds a line to a panel. It fails only for a point that is not finite, and no caller passes such a
// point.
func drawLine(p *plot.Plot, points plotter.XYs, colour color.Color, width vg.Length, dashes ...vg.Length) (*plotter.Line, error) {
	l, err := plotter.NewLine(points)
	if err != nil {
		return nil, err
	}
	l.Color, l.Width, l.Dashes = colour, width, dashes
	p.Add(l)
	return l, nil
}

func drawShade(p *plot.Plot, fromX, toX, fromY, toY float64, colour color.Color) (*plotter.Polygon, error) {
	area, err := plotter.NewPolygon(plotter.XYs{{X: fromX, Y: fromY}, {X: toX, Y: fromY}, {X: toX, Y: toY}, {X: fromX, Y: toY}})
	if err != nil {
		return nil, err
	}
	area.Color, area.Width = colour, 0
	p.Add(area)
	return area, nil
}

// niceLimit returns a number somewhat above x, so that lines do not touch the frame.
func niceLimit(x float64) float64 {
	step := math.Pow(10, math.Floor(math.Log10(x))) / 2
	return math.Ceil(1.02*x/step) * step
}
