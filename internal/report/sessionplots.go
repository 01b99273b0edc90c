package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// sessionPlots returns a plot for each session: the clients' work in each second or, for an objective that is a latency,
// the figure of each window, with strips that show the applied configuration.
func sessionPlots(sessions []*archive.SwitchedSession) []Part {
	var parts []Part
	for _, s := range sessions {
		if s.Evidence.Plan.Curves {
			parts = append(parts, curvesInTurns(s)...)
			continue
		}
		parts = append(parts, Part{Plot: sessionPlot(s)})
	}
	return parts
}

// curvesInTurns shows the curves of a session: a plot of both, and the steps of each.
func curvesInTurns(s *archive.SwitchedSession) []Part {
	var curves []curveOf
	var tables []Part
	for i, course := range s.Evidence.JudgedCourses() {
		if i >= len(s.Configurations) || len(course.Steps) == 0 {
			continue
		}
		session := fmt.Sprintf("session %d", s.Number())
		k := curveOf{side: fmt.Sprintf("%s in %s", s.Configurations[i], session), phase: v1alpha1.PhaseName(session), course: &course}
		curves, tables = append(curves, k), append(tables, Part{Text: k.sentence()}, Part{Table: curveTable(k)})
	}
	if len(curves) == 0 {
		return nil
	}
	return append([]Part{{Plot: curvePlot(curves)}}, tables...)
}

// sessionPlot returns the plot of one session. It returns nil without the clients' courses, without a switch,
// and for a session that is shorter than two seconds.
func sessionPlot(s *archive.SwitchedSession) *Plot {
	metric := s.Objective.Metric
	rates := perSecond(s, metric)
	windows := figure.IsLatency(metric) // A second has no percentile.
	if windows {
		rates = perWindow(s)
	}
	if len(rates) < 2 || len(s.Evidence.Record.Switches) == 0 {
		return nil
	}
	title := fmt.Sprintf("Session %d", s.Number())
	unit := "of all clients together in each second"
	if windows {
		unit = "of each window, as a line"
	}
	caption := fmt.Sprintf("%s: %s %s; %s is better. A strip shows when a configuration was applied; a pale strip does not count. Gaps between the strips are switches and the first "+
		"seconds after them, which do not count.", title, metric, unit, sweepspec.BetterWord(metric))
	if invalid := s.Evidence.Record.Invalid; invalid != "" {
		caption = fmt.Sprintf("%s is invalid: %s. %s", title, invalid, caption)
	}
	end := min(s.Evidence.Record.End, longestSession).Seconds()
	return drawn(fmt.Sprintf("%s: %s %s, and the configurations", title, metric, unit), caption, func(c *canvas) {
		x, y := c.within(scale{high: end}, spanning(append(slices.Clone(rates), 0), false), 24, 260)
		c.drawWindows(s, x, y)
		c.leftAxis(y, metric)
		c.line("axis", x.from, y.from, x.to, y.from)
		var marks []mark
		for minute := 0; float64(minute*60) < end; minute++ {
			marks = append(marks, mark{x.position(float64(60 * minute)), fmt.Sprintf("%d min", minute)})
		}
		c.bottomAxis(y.from+16, marks)
		if windows {
			c.drawFigures(s, x, y)
		} else {
			points := make([][2]float64, len(rates))
			for i, rate := range rates {
				points[i] = [2]float64{x.position(float64(i) + 0.5), y.position(rate)}
			}
			c.path("throughput", points)
		}
		c.legend(s.Configurations, nil, x.from, y.from+44)
	})
}

// perWindow returns the figure of each window that counts; nil if the archive lacks them.
func perWindow(s *archive.SwitchedSession) []float64 {
	if s.Counted == nil {
		return nil
	}
	var figures []float64
	for i, w := range s.Counted.Windows {
		if !s.Counted.Faults[i] {
			figures = append(figures, w.Figure)
		}
	}
	return figures
}

// drawFigures draws a line at the figure of each window that counts, as long as its strip.
func (c *canvas) drawFigures(s *archive.SwitchedSession, x, y scale) {
	for i, w := range s.Counted.Windows {
		if i >= len(s.Evidence.Record.Switches) || s.Counted.Faults[i] {
			continue
		}
		change := s.Evidence.Record.Switches[i]
		c.path("throughput", [][2]float64{{x.position((change.Acknowledged + s.Evidence.Plan.Timing.WashOut).Seconds()), y.position(w.Figure)}, {x.position(change.Ended.Seconds()), y.position(w.Figure)}})
	}
}

// drawWindows draws a strip for the time after each switch, without the wash-out. A pale strip shows
// windows that do not count.
func (c *canvas) drawWindows(s *archive.SwitchedSession, x, y scale) {
	washOut := s.Evidence.Plan.Timing.WashOut
	for i, w := range s.Evidence.Record.Switches {
		class, counts := fmt.Sprintf("strip c%d", w.Treatment%colours), "counts"
		if s.Counted == nil || i >= len(s.Counted.Faults) || s.Counted.Faults[i] {
			class, counts = class+" pale", "does not count"
		}
		from, to := x.position((w.Acknowledged + washOut).Seconds()), x.position(w.Ended.Seconds())
		name := fmt.Sprintf("configuration %d", w.Treatment)
		if w.Treatment < len(s.Configurations) {
			name = s.Configurations[w.Treatment]
		}
		if s.Counted != nil && i < len(s.Counted.Windows) && s.Counted.Windows[i].Figure > 0 {
			counts += ", " + figure.Human(s.Objective.Metric, s.Counted.Windows[i].Figure)
		}
		c.rect(class, from, y.to, to-from, y.from-y.to, fmt.Sprintf("window %d: %s, %s", i+1, name, counts))
	}
}

// longestSession limits the size of a plot; no session lasts this long.
const longestSession = 6 * time.Hour

// perSecond returns the operations or bytes of all clients in each second since the session began. It returns
// nil without the clients' courses, and for a session that is shorter than a second. A row of a client covers
// about a second, and its count is spread evenly over that time.
func perSecond(s *archive.SwitchedSession, metric v1alpha1.Metric) []float64 {
	e := s.Evidence
	seconds := int(min(e.Record.End, longestSession).Seconds())
	if seconds < 1 || len(e.Clients) == 0 {
		return nil
	}
	rates := make([]float64, seconds)
	for _, client := range e.Clients {
		for i := range client.Seconds {
			row := &client.Seconds[i]
			from := (time.Duration(row.FromNanoseconds) - client.Offset).Seconds()
			to := (time.Duration(row.ToNanoseconds) - client.Offset).Seconds()
			rate := amountOf(row, metric) / (to - from)
			for index := max(int(from), 0); index < seconds && float64(index) < to; index++ {
				rates[index] += rate * (min(to, float64(index+1)) - max(from, float64(index)))
			}
		}
	}
	return rates
}

func amountOf(row *result.Second, metric v1alpha1.Metric) float64 {
	if metric == v1alpha1.MetricBandwidth {
		return row.Bytes
	}
	return row.Operations
}
