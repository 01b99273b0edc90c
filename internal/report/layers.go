package report

import (
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
	"github.com/cephtune/cephtune/internal/figure"
)

// LayerTables returns a table of layers for each operation of a diagnosis that has some, and a sentence for each.
func LayerTables(found *v1alpha1.DiagnosisResult) (tables []*Table, sentences []string) {
	for _, o := range found.Operations {
		table := &Table{Header: []string{string(o.Operation), "Time", "Share", "95 % interval", "What it is"}}
		rows := o.Layers
		if o.Network != nil {
			rows = append(slices.Clip(rows), *o.Network)
		}
		for _, l := range rows {
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
	all := []Part{{Plot: layerPlot(found)}}
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
func layerPlot(found *v1alpha1.DiagnosisResult) *Plot {
	longest, codes := 0.0, []string(nil)
	for _, o := range found.Operations {
		total := 0.0
		for _, l := range o.Layers {
			v, _ := figure.ParseDecimal(l.Seconds)
			total += max(v, 0)
			if !slices.Contains(codes, l.Code) {
				codes = append(codes, l.Code)
			}
		}
		longest = max(longest, total)
	}
	if !(longest > 0) {
		return nil
	}
	const caption = "The mean time of an operation, from the client (left) to the disk and the other copies (right), with one operation at a time."
	return drawn("Where operations spend their time", caption, func(c *canvas) {
		const bar, gap = 30, 16
		x, _ := c.within(scale{high: longest}, scale{}, 0, 0)
		y := 12.0
		for _, o := range found.Operations {
			c.text("", "end", x.from-8, y+bar/2+4, string(o.Operation))
			from := 0.0
			for _, l := range o.Layers {
				v, _ := figure.ParseDecimal(l.Seconds)
				v = max(v, 0) // Clocks that differ a little give a time below 0.
				title := fmt.Sprintf("%s: %s, %s (%s to %s)", l.Code, inSeconds(l.Seconds), percent(l.Share), percent(l.Low), percent(l.High))
				c.rect(fmt.Sprintf("bar c%d", slices.Index(codes, l.Code)%colours), x.position(from), y, x.position(from+v)-x.position(from), bar, title)
				from += v
			}
			y += bar + gap
		}
		c.line("axis", x.from, y, x.to, y)
		c.bottomAxis(y+18, x.marks(latency))
		c.legend(codes, nil, x.from, y+44)
	})
}
