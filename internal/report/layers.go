package report

import (
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
	"github.com/cephtune/cephtune/internal/figure"
)

// LayerTables returns a table of layers for each operation of a diagnosis that has some, and a sentence for each.
func LayerTables(found *v1alpha1.DiagnosisResult) (tables []*Table, sentences []string) {
	for _, o := range found.Operations {
		table := &Table{Header: []string{string(o.Operation), "Time", "Share", "95 % interval", "What it is"}}
		for _, l := range o.Layers {
			table.Rows = append(table.Rows, []string{l.Code, inSeconds(l.Seconds), percent(l.Share), percent(l.Low) + " to " + percent(l.High), diagnosis.Meaning(l.Code)})
		}
		sentence := fmt.Sprintf("%s: %s with one operation at a time, in %d rounds.", o.Operation, inSeconds(o.Seconds), o.Rounds)
		if len(o.Layers) == 0 {
			sentence = fmt.Sprintf("%s: no layers.", o.Operation)
		}
		if o.OneCopySeconds != "" {
			sentence += fmt.Sprintf(" With one copy, it takes %s.", inSeconds(o.OneCopySeconds))
		}
		if o.Explained {
			sentence += " Independent clocks agree with the layers within 10 % of the whole."
		} else {
			sentence += " Not confirmed: " + o.Reason
		}
		tables, sentences = append(tables, table), append(sentences, sentence)
	}
	return tables, sentences
}

// inSeconds returns a time for people. That of a layer may be negative, if clocks differ.
func inSeconds(d v1alpha1.Decimal) string {
	v, err := figure.ParseDecimal(d)
	if err == nil && v < 0 {
		return "-" + latency(-v)
	}
	return latency(v)
}

func percent(d v1alpha1.Decimal) string {
	v, _ := figure.ParseDecimal(d)
	return fmt.Sprintf("%.1f %%", 100*v)
}

// layerParts returns the picture and the tables of a diagnosis with layers.
func layerParts(found *v1alpha1.DiagnosisResult) []Part {
	var all []Part
	if plot := drawn(func(width float64) *Plot { return layerPlot(found, width) }); plot != nil {
		all = append(all, Part{Plot: plot})
	}
	tables, sentences := LayerTables(found)
	for i, sentence := range sentences {
		all = append(all, Part{Text: sentence})
		if len(tables[i].Rows) > 0 {
			all = append(all, Part{Table: tables[i]})
		}
	}
	return all
}

// layerPlot draws the layers of each operation as one bar; nil without layers. All bars have the same scale.
func layerPlot(found *v1alpha1.DiagnosisResult, width float64) *Plot {
	longest, codes, numbers := 0.0, []string(nil), map[string]int{}
	for _, o := range found.Operations {
		total := 0.0
		for _, l := range o.Layers {
			v, _ := figure.ParseDecimal(l.Seconds)
			total += max(v, 0)
			if _, known := numbers[l.Code]; !known {
				numbers[l.Code] = len(codes)
				codes = append(codes, l.Code)
			}
		}
		longest = max(longest, total)
	}
	if !(longest > 0) {
		return nil
	}
	const left, bar, gap = plotLeft, 30, 16
	c := &canvas{width: width}
	x := scale{high: longest, from: left, to: width - plotRight}
	y := 12.0
	for _, o := range found.Operations {
		c.text("", "end", left-8, y+bar/2+4, string(o.Operation))
		from := 0.0
		for _, l := range o.Layers {
			v, _ := figure.ParseDecimal(l.Seconds)
			v = max(v, 0) // Clocks that differ a little give a time below 0.
			title := fmt.Sprintf("%s: %s, %s (%s to %s)", l.Code, inSeconds(l.Seconds), percent(l.Share), percent(l.Low), percent(l.High))
			c.rect(fmt.Sprintf("bar c%d", numbers[l.Code]%colours), x.position(from), y, x.position(from+v)-x.position(from), bar, title)
			from += v
		}
		y += bar + gap
	}
	var marks []mark
	for _, v := range x.ticks(1) {
		marks = append(marks, mark{x.position(v), latency(v)})
	}
	c.line("axis", left, y, width-plotRight, y)
	c.bottomAxis(y+18, marks)
	all := make([]int, len(codes))
	for i, code := range codes {
		all[i] = numbers[code]
	}
	c.height = c.legend(codes, all, left, y+44)
	return &Plot{
		SVG:     c.svg("Where operations spend their time"),
		Caption: "The mean time of an operation, from the client (left) to the disk and the other copies (right), with one operation at a time.",
	}
}
