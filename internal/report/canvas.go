package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/report/medium"
)

// colours is the number of classes c0, c1, … of the style sheet; shapes is the number of marker shapes.
// Combinations of colour and shape distinguish configurations.
const (
	colours = 8
	shapes  = 3
)

// Each plot is drawn for two widths of screens, because text that shrinks with a plot cannot be read on a phone.
const (
	wideScreen   = 960
	narrowScreen = 360
	plotLeft     = 84 // the position of the left axis, if the plot has one
	plotRight    = 16 // the space on the right
)

// drawn returns a plot with its pictures for both widths, which a function draws. The name is for screen readers.
func drawn(name, caption string, draw func(*canvas)) *Plot {
	picture := func(width float64) string {
		c := &canvas{width: width}
		draw(c)
		return c.svg(name)
	}
	return &Plot{SVG: picture(wideScreen), Narrow: picture(narrowScreen), Caption: caption}
}

// canvas is a picture in progress. Colours are classes of the style sheet, so that one
// picture suits light and dark screens and paper.
type canvas struct {
	width, height float64
	body          strings.Builder
}

// px formats a length to a tenth of a pixel, so that all machines produce the same bytes.
func px(v float64) string { return strconv.FormatFloat(math.Round(10*v)/10, 'f', -1, 64) }

func (c *canvas) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&c.body, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`+"\n", class, px(x1), px(y1), px(x2), px(y2))
}

func (c *canvas) rect(class string, x, y, w, h float64, title string) {
	fmt.Fprintf(&c.body, `<rect class="%s" x="%s" y="%s" width="%s" height="%s">%s</rect>`+"\n", class, px(x), px(y), px(max(w, 0)), px(max(h, 0)), titled(title))
}

func (c *canvas) text(class, anchor string, x, y float64, s string) {
	fmt.Fprintf(&c.body, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`+"\n", class, anchor, px(x), px(y), medium.HTML(s))
}

func (c *canvas) path(class string, points [][2]float64) {
	if len(points) < 2 {
		return
	}
	texts := make([]string, len(points))
	for i, p := range points {
		texts[i] = px(p[0]) + "," + px(p[1])
	}
	fmt.Fprintf(&c.body, `<polyline class="%s" points="%s"/>`+"\n", class, strings.Join(texts, " "))
}

// marker draws a marker in the colour and shape of the n-th series.
func (c *canvas) marker(class string, n int, x, y float64, title string) {
	class = fmt.Sprintf("%s c%d", class, n%colours)
	switch n / colours % shapes {
	case 0:
		fmt.Fprintf(&c.body, `<circle class="%s" cx="%s" cy="%s" r="4.5">%s</circle>`+"\n", class, px(x), px(y), titled(title))
	case 1:
		c.rect(class, x-4, y-4, 8, 8, title)
	default:
		fmt.Fprintf(&c.body, `<path class="%s" d="M%s %sl5 9h-10z">%s</path>`+"\n", class, px(x), px(y-5), titled(title))
	}
}

// cross draws the mark of a run that has no value.
func (c *canvas) cross(x, y float64, title string) {
	fmt.Fprintf(&c.body, `<path class="cross" d="M%s %sl7 7m0 -7l-7 7">%s</path>`+"\n", px(x-3.5), px(y-3.5), titled(title))
}

func titled(title string) string {
	if title == "" {
		return ""
	}
	return "<title>" + medium.HTML(title) + "</title>"
}

// svg returns the picture.
func (c *canvas) svg(name string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %s %s" role="img" aria-label="%s">`+"\n%s</svg>",
		px(c.width), px(c.height), medium.HTML(name), c.body.String())
}

// scale maps values to pixels.
type scale struct {
	low, high, from, to float64
	log                 bool
}

func (s scale) position(v float64) float64 {
	low, high := s.low, s.high
	if s.log {
		v, low, high = math.Log(v), math.Log(low), math.Log(high)
	}
	return s.from + (v-low)/(high-low)*(s.to-s.from)
}

// within returns the scales of a plot whose axes are at the left and at the bottom.
func (c *canvas) within(x, y scale, top, bottom float64) (scale, scale) {
	x.from, x.to = plotLeft, c.width-plotRight
	y.from, y.to = bottom, top
	return x, y
}

// beginning warns readers of a scale that does not begin at 0.
func (s scale) beginning() string {
	if s.low > 0 {
		return "; the scale does not begin at 0"
	}
	return ""
}

// spanning returns a scale that spans the values, with margins at both ends. A linear scale does not extend
// below 0.
func spanning(values []float64, log bool) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v), max(high, v)
	}
	if log {
		room := math.Pow(high/low, 0.08) * 1.02
		return scale{low: low / room, high: high * room, log: true}
	}
	room := max((high-low)*0.1, high*0.01)
	return scale{low: max(low-room, 0), high: high + room}
}

// narrow is a ratio between the ends of a logarithmic scale. A scale with a smaller ratio looks
// linear, so its ticks are at equal steps.
const narrow = 5

// ticks returns about five round multiples of a unit within the scale. For a logarithmic scale, it ignores the
// unit. For a wide logarithmic scale, it returns at most nine round values.
func (s scale) ticks(unit float64) []float64 {
	if s.log && s.high/s.low < narrow {
		unit = 1e-9 // The unit must be below all drawn values: seconds or ratios. A nanosecond is.
	} else if s.log {
		return s.logTicks()
	}
	step := unit * nice((s.high-s.low)/unit/5)
	var all []float64
	for i := math.Ceil(s.low / step); i*step <= s.high; i++ {
		all = append(all, i*step)
	}
	return all
}

// logTicks returns round values within the scale, from the finest series that gives at most nine values;
// nil without such a series.
func (s scale) logTicks() []float64 {
	for _, digits := range [][]float64{{1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2, 2.5, 3, 4, 5, 6, 7, 7.5, 8, 8.5, 9, 9.5}, {1, 1.5, 2, 3, 5, 7}, {1, 2, 5}, {1}} {
		var all []float64
		for decade := math.Floor(math.Log10(s.low)); decade <= math.Log10(s.high); decade++ {
			for _, d := range digits {
				if v := d * math.Pow(10, decade); v >= s.low && v <= s.high {
					all = append(all, v)
				}
			}
		}
		if len(all) <= 9 {
			return all
		}
	}
	return nil
}

// nice rounds a step up to the next of 1, 2, 5, 10, ….
func nice(step float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, f := range []float64{1, 2, 5} {
		if step <= f*power {
			return f * power
		}
	}
	return 10 * power
}

// unitOf returns the unit in which values of a metric look round, such as MiB for a bandwidth of
// some MiB/s.
func unitOf(metric v1alpha1.Metric, largest float64) float64 {
	if metric != v1alpha1.MetricBandwidth || largest <= 0 {
		return 1
	}
	return math.Pow(1024, math.Floor(math.Log(largest)/math.Log(1024)))
}

// leftAxis draws horizontal grid lines with the values of a metric.
func (c *canvas) leftAxis(s scale, metric v1alpha1.Metric) {
	const left = plotLeft
	right := c.width - plotRight
	for _, v := range s.ticks(unitOf(metric, s.high)) {
		c.line("grid", left, s.position(v), right, s.position(v))
		label := "0"
		if v > 0 {
			label = figure.Human(metric, v)
		}
		c.text("soft", "end", left-8, s.position(v)+4, label)
	}
}

// widthOf estimates the width of a text in pixels.
func widthOf(text string) float64 { return 6.8 * float64(len([]rune(text))) }

// mark is a label at a position of an axis.
type mark struct {
	position float64
	text     string
}

// marks returns the labels of an axis.
func (s scale) marks(write func(float64) string) []mark {
	var marks []mark
	for _, v := range s.ticks(1) {
		marks = append(marks, mark{s.position(v), write(v)})
	}
	return marks
}

func inWholeSeconds(v float64) string { return fmt.Sprintf("%g s", v) }

// bottomAxis draws the labels of a horizontal axis, without those that would overlap the one before or leave the picture.
func (c *canvas) bottomAxis(y float64, marks []mark) {
	end := 0.0
	for _, m := range marks {
		half := widthOf(m.text) / 2
		if m.position-half < end || m.position+half > c.width {
			continue
		}
		c.text("soft", "middle", m.position, y, m.text)
		end = m.position + half + 6
	}
}

// clipped shortens a name that has more than the given number of characters.
func clipped(name string, most int) string {
	runes := []rune(name)
	if len(runes) <= most {
		return name
	}
	return string(runes[:most-1]) + "…"
}

// legend draws the names of series from top downwards, in as many lines as needed. The picture ends below them. The
// numbers of the series are 0, 1, … if they are nil.
func (c *canvas) legend(names []string, numbers []int, left, top float64) {
	x, y := left, top
	for i, name := range names {
		shown := clipped(name, min(48, int((c.width-left-14)/widthOf(" "))))
		room := 30 + widthOf(shown)
		if x+room > c.width && x > left {
			x, y = left, y+20
		}
		number := i
		if numbers != nil {
			number = numbers[i]
		}
		c.marker("dot", number, x+5, y-4, name)
		c.text("", "start", x+14, y, shown)
		x += room
	}
	c.height = y + 12
}
