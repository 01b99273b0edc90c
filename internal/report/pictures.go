package report

import (
	"fmt"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// picture returns panels in rows as one SVG file with the styles of a page. A panel may be nil.
func picture(name string, rows [][]*canvas) []byte {
	var body strings.Builder
	width, height := 0.0, 0.0
	for _, row := range rows {
		x, lowest := 0.0, 0.0
		for _, panel := range row {
			if panel != nil {
				fmt.Fprintf(&body, "<g transform=\"translate(%s %s)\">\n%s</g>\n", px(x), px(height), panel.body.String())
				x, lowest = x+panel.width, max(lowest, panel.height)
			}
		}
		width, height = max(width, x), height+lowest
	}
	page := &canvas{width: width, height: height}
	// In a file of its own, the picture has its size. In a page, it has the width of the page.
	fmt.Fprintf(&page.body, "<style>%ssvg { width: %spx; height: %spx; }</style>\n<rect width=\"100%%\" height=\"100%%\" style=\"fill: var(--paper)\"/>\n%s",
		styleSheet, px(width), px(height), body.String())
	return []byte(page.svg(name) + "\n")
}

// Estimate is the ratio of a configuration to the baseline. Low and High are the ends of its interval; both equal the ratio
// if the interval is unknown.
type Estimate struct {
	Name             string
	Index            int // of the configuration
	Verdict          string
	Ratio, Low, High float64
	// Blocks has the ratios within blocks, if they are to be drawn.
	Blocks []float64
}

// RatioPicture returns a picture of ratios, with the band of equivalence around 1. The margin is the ratio that a
// configuration has to exceed to be Superior.
func RatioPicture(all []Estimate, margin, equal float64) []byte {
	c := &canvas{width: wideScreen}
	c.ratios(all, margin, equal)
	return picture(ratioName, [][]*canvas{{c}})
}

// Second is a part of a run that takes about a second: its start and end, in seconds since the run began, and its rate.
type Second struct{ Start, End, Rate float64 }

// Seconds returns how long the part took.
func (s Second) Seconds() float64 { return s.End - s.Start }

// Course is a run over time.
type Course struct {
	Name    string
	Seconds float64 // the length of the run
	Rows    []Second
	// Value is the mean rate from the second From to the second To; 0 if the figure of the run is not a rate. The time
	// before is the warm-up.
	Value, From, To float64
}

// CoursePicture returns a column of panels for each configuration, with a panel for each run. All panels have the same
// scales: different ones would mislead.
func CoursePicture(metric v1alpha1.Metric, columns [][]Course) []byte {
	longest, highest, most := 0.0, 0.0, 0
	for _, column := range columns {
		most = max(most, len(column))
		for _, run := range column {
			longest = max(longest, run.Seconds)
			for _, row := range run.Rows {
				highest = max(highest, row.Rate)
			}
		}
	}
	width := max(wideScreen/float64(len(columns)), narrowScreen)
	rows := make([][]*canvas, 0, most+1)
	for i := range most {
		row := make([]*canvas, 0, len(columns))
		for _, column := range columns {
			panel := &canvas{width: width}
			if i < len(column) {
				x, y := panel.within(scale{high: longest}, scale{high: 1.1 * highest}, 28, 160)
				column[i].draw(panel, metric, x, y)
			}
			row = append(row, panel)
		}
		rows = append(rows, row)
	}
	legend := &canvas{width: width * float64(len(columns))}
	legend.legend([]string{"each second", "average so far", "value of the run"}, []int{1, 2, 0}, plotLeft, 14)
	return picture(fmt.Sprintf("%s of each run over time", metric), append(rows, []*canvas{legend}))
}

// draw draws a run: a staircase of its rates, the running mean, which rados bench prints too, and its value.
func (run Course) draw(c *canvas, metric v1alpha1.Metric, x, y scale) {
	c.height = y.from + 34
	c.text("", "start", x.from, 16, clipped(run.Name, int((x.to-x.from)/widthOf(" "))))
	c.rect("band", x.from, y.to, x.position(run.From)-x.from, y.from-y.to, "warm-up, left out")
	c.leftAxis(y, metric)
	c.line("axis", x.from, y.from, x.to, y.from)
	c.bottomAxis(y.from+16, x.marks(inWholeSeconds))
	var steps, average [][2]float64
	moved, passed := 0.0, 0.0
	for _, row := range run.Rows {
		steps = append(steps, [2]float64{x.position(row.Start), y.position(row.Rate)}, [2]float64{x.position(row.End), y.position(row.Rate)})
		moved, passed = moved+row.Rate*row.Seconds(), passed+row.Seconds()
		average = append(average, [2]float64{x.position(row.End), y.position(moved / passed)})
	}
	c.path("stroke c1", steps)
	c.path("stroke c2 dashed", average)
	if run.Value > 0 {
		c.line("stroke c0", x.position(run.From), y.position(run.Value), x.position(run.To), y.position(run.Value))
	}
}
