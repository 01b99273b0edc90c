package analyze

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/internal/cli/terminal"
)

// This file makes the rows for both text and Markdown.

func runHeader(u unit) []string {
	return []string{"CONFIGURATION", "RUN", "FORMAT", u.symbol, "WINDOW"}
}

func (r *report) runRows(u unit) [][]string {
	var rows [][]string
	for _, s := range r.configurations() {
		for _, v := range s.RunValues {
			rows = append(rows, []string{s.Name, v.Source, v.Format, number(v.Value / u.scale), describeWindow(v.Window)})
		}
	}
	return rows
}

func (r *report) configurations() []summary {
	out := []summary{r.Baseline}
	for _, c := range r.Candidates {
		out = append(out, c.summary)
	}
	return out
}

func describeWindow(w *windowEntry) string {
	switch {
	case w == nil:
		return ""
	case w.RunSeconds == 0:
		return w.Description
	}
	return fmt.Sprintf("%s–%s of %s s, %s", seconds(w.FromSeconds), seconds(w.ToSeconds), seconds(w.RunSeconds), w.Description)
}

// describeWindows describes the windows of several runs by their sum.
func describeWindows(windows []windowEntry) string {
	sum := windows[0]
	for _, w := range windows[1:] {
		sum.FromSeconds += w.FromSeconds
		sum.ToSeconds += w.ToSeconds
		sum.RunSeconds += w.RunSeconds
		if w.Description != sum.Description {
			sum.Description = "in different parts"
		}
	}
	if len(windows) == 1 || sum.RunSeconds == 0 {
		return describeWindow(&sum)
	}
	return fmt.Sprintf("%s of %s s in all, %s", seconds(sum.ToSeconds-sum.FromSeconds), seconds(sum.RunSeconds), sum.Description)
}

func verdictHeader(u unit) []string {
	return []string{"CONFIGURATION", "RUNS", "MEAN " + u.symbol, "RATIO", "INTERVAL", "P GAIN", "P SUPERIOR", "P HOLM", "VERDICT"}
}

func (r *report) verdictRows(u unit) [][]string {
	b := r.Baseline
	rows := [][]string{{b.Name, strconv.Itoa(b.Runs), number(b.Mean / u.scale), "1", "", "", "", "", "(baseline)"}}
	for _, c := range r.Candidates {
		interval := ""
		if c.RatioLow != nil && c.RatioHigh != nil {
			interval = fmt.Sprintf("%.3f–%.3f", *c.RatioLow, *c.RatioHigh)
		}
		ratio := ""
		if c.Ratio != nil {
			ratio = fmt.Sprintf("%.3f", *c.Ratio)
		}
		rows = append(rows, []string{
			c.Name, strconv.Itoa(c.Runs), number(c.Mean / u.scale), ratio, interval,
			pValue(c.PValueAnyGain), pValue(c.PValueSuperior), pValue(c.PValueHolm), c.Verdict,
		})
	}
	return rows
}

func number(x float64) string {
	if x >= 10_000 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

func seconds(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

func pValue(p *float64) string {
	switch {
	case p == nil:
		return ""
	case *p < 0.0001:
		return "<0.0001"
	}
	return fmt.Sprintf("%.4f", *p)
}

func share(x float64) string { return strconv.FormatFloat(100*x, 'g', 4, 64) + "%" }

// question describes the metric, and the criteria on which the verdict depends.
func (r *report) question(u unit) string {
	better := "higher is better"
	if !r.HigherIsBetter {
		better = "lower is better"
	}
	name := r.Metric
	if u.symbol != r.Metric {
		name += " in " + u.symbol
	}
	method := "unpaired (Welch on logarithms)"
	if r.Method == "paired" {
		method = "paired within blocks"
	}
	return fmt.Sprintf("%s, %s; minimum effect %s, equivalence %s, confidence %s; %s",
		name, better, share(r.MinimumEffect), share(r.Equivalence), share(r.Confidence), method)
}

func writeText(w io.Writer, r *report, u unit) error {
	var out strings.Builder
	terminal.Append(&out, "%s\n\n", r.question(u))
	if r.Source == "files" {
		terminal.WriteTable(&out, terminal.Columns(w), runHeader(u), r.runRows(u))
		out.WriteString("\n")
	}
	terminal.WriteTable(&out, terminal.Columns(w), verdictHeader(u), r.verdictRows(u))
	out.WriteString("\n")
	for _, c := range r.Candidates {
		terminal.Append(&out, "%s: %s\n", c.Verdict, c.Reason)
	}
	for _, warning := range r.Warnings {
		terminal.Append(&out, "warning: %s\n", warning)
	}
	_, err := terminal.WriteString(w, out.String())
	return err
}
