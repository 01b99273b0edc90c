package analyze

import (
	"errors"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
)

// axes holds the scales that all panels of a plot share: different scales would mislead.
type axes struct {
	seconds, rate float64
	unit          unit
	label         string
}

// drawRuns draws a column of panels for each configuration, with a panel for each run.
func drawRuns(s *study) ([]byte, error) {
	a, err := s.axes()
	if err != nil {
		return nil, err
	}
	all := s.all()
	rows := 0
	for _, c := range all {
		rows = max(rows, len(c.Runs))
	}
	panels := make([][]*plot.Plot, rows)
	for y := range panels {
		panels[y] = make([]*plot.Plot, len(all))
		for x, c := range all {
			if y >= len(c.Runs) {
				continue
			}
			if panels[y][x], err = a.panel(c.Name, c.Runs[y], x == 0 && y == 0); err != nil {
				return nil, err
			}
		}
	}
	return svg(panels, 250*length(len(all))+20, 190*length(rows)+20)
}

func (s *study) axes() (axes, error) {
	a := axes{unit: s.unit, label: s.metric}
	if s.unit.name == "seconds" {
		bandwidth := metrics()[0]
		a.unit, a.label = bandwidth.unit, bandwidth.name
	}
	for _, c := range s.all() {
		for _, r := range c.Runs {
			a.seconds = max(a.seconds, r.Window.DurationSeconds)
			for _, i := range r.Course {
				a.rate = max(a.rate, i.Rate/a.unit.scale)
			}
		}
	}
	if a.rate == 0 {
		return a, errors.New("no run has values over time to draw; rados bench and rbd bench print them")
	}
	a.rate = niceLimit(a.rate)
	return a, nil
}

func (a axes) panel(name string, r run, legend bool) (*plot.Plot, error) {
	p := newPanel(name + ": " + filepath.Base(r.Source))
	p.X.Label.Text, p.Y.Label.Text = "seconds", a.label+", "+a.unit.symbol
	// The legend's text is right of its line, so that text in a viewer's wider font covers no line.
	p.Legend.Left, p.Legend.YOffs, p.Legend.XOffs = true, 4, 4
	if len(r.Course) == 0 {
		p.Title.Text += " (no values over time)"
	}
	if !r.Steady {
		p.Title.Text += " (not steady)"
	}
	if err := a.drawCourse(p, r, legend); err != nil {
		return nil, err
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, a.seconds, 0, a.rate
	return p, nil
}

func (a axes) drawCourse(p *plot.Plot, r run, legend bool) error {
	ink := colours()
	name := func(text string, thumbnail plot.Thumbnailer) {
		if legend {
			p.Legend.Add(text, thumbnail)
		}
	}
	if r.Window.FromSeconds > 0 {
		area, err := drawShade(p, 0, r.Window.FromSeconds, 0, a.rate, ink.shade)
		if err != nil {
			return err
		}
		name("warm-up, left out", area)
	}
	steps, running := a.points(r)
	if len(steps) > 0 {
		each, err := drawLine(p, steps, ink.seconds, 1.2)
		if err != nil {
			return err
		}
		average, err := drawLine(p, running, ink.running, 1.2, 4, 2)
		if err != nil {
			return err
		}
		name("each second", each)
		name("average so far", average)
	}
	if a.label == "bandwidth" && r.LatencyKind != "" {
		return nil // The value is a latency, but the axis shows rates.
	}
	value := r.Value / a.unit.scale
	mean, err := drawLine(p, plotter.XYs{{X: r.Window.FromSeconds, Y: value}, {X: r.Window.ToSeconds, Y: value}}, ink.mean, 1)
	if err != nil {
		return err
	}
	name("value of the run", mean)
	return nil
}

// points returns the points of a staircase line for a run's time series, and those of a line for its running
// mean, which rados bench prints too.
func (a axes) points(r run) (steps, running plotter.XYs) {
	moved, time := 0.0, 0.0
	for _, i := range r.Course {
		rate := i.Rate / a.unit.scale
		steps = append(steps, plotter.XY{X: i.Start, Y: rate}, plotter.XY{X: i.End, Y: rate})
		moved += rate * i.seconds()
		time += i.seconds()
		running = append(running, plotter.XY{X: i.End, Y: moved / time})
	}
	return steps, running
}
