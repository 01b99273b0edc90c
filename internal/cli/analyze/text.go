package analyze

import (
	"fmt"
	"strconv"

	"github.com/cephtune/cephtune/internal/cli/terminal"
	document "github.com/cephtune/cephtune/internal/report"
)

// runs returns a table of all runs.
func (r *report) runs(u unit) (header []string, rows [][]string) {
	for _, s := range r.configurations() {
		for _, v := range s.RunValues {
			rows = append(rows, []string{s.Name, v.Source, v.Format, number(v.Value / u.scale), describeWindow(v.Window)})
		}
	}
	return []string{"CONFIGURATION", "RUN", "FORMAT", u.symbol, "WINDOW"}, rows
}

func (r *report) configurations() []summary {
	out := []summary{r.Baseline}
	for _, c := range r.Candidates {
		out = append(out, c.summary)
	}
	return out
}

func describeWindow(w window) string {
	if w.RunSeconds == 0 {
		return w.Why
	}
	return fmt.Sprintf("%s–%s of %s s, %s", seconds(w.FromSeconds), seconds(w.ToSeconds), seconds(w.RunSeconds), w.Why)
}

// describeWindows describes the windows of several runs by their sum.
func describeWindows(windows []window) string {
	sum := windows[0]
	for _, w := range windows[1:] {
		sum.FromSeconds += w.FromSeconds
		sum.ToSeconds += w.ToSeconds
		sum.RunSeconds += w.RunSeconds
		if w.Why != sum.Why {
			sum.Why = "in different parts"
		}
	}
	if len(windows) == 1 || sum.RunSeconds == 0 {
		return describeWindow(sum)
	}
	return fmt.Sprintf("%s of %s s in all, %s", seconds(sum.ToSeconds-sum.FromSeconds), seconds(sum.RunSeconds), sum.Why)
}

// verdicts returns a table of all configurations.
func (r *report) verdicts(u unit) (header []string, rows [][]string) {
	b := r.Baseline
	rows = [][]string{{b.Name, strconv.Itoa(b.Runs), number(b.Mean / u.scale), "1", "", "", "", "", "(baseline)"}}
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
	return []string{"CONFIGURATION", "RUNS", "MEAN " + u.symbol, "RATIO", "INTERVAL", "P GAIN", "P SUPERIOR", "P HOLM", "VERDICT"}, rows
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
		name, better, document.Percent(r.MinimumEffect), document.Percent(r.Equivalence), document.Percent(r.Confidence), method)
}

// show adds the report to a page. In Markdown, the runs come last, and are folded.
func (r *report) show(p *terminal.Page, u unit) {
	title, verdict, warning := "%s\n\n", "%s: %s\n", "warning: %s\n"
	if p.Markdown {
		title, verdict, warning = "**%s**\n\n", "- **%s**: %s\n", "- Warning: %s\n"
	}
	p.Printf(title, r.question(u))
	if r.Source == "files" && !p.Markdown {
		p.Table(r.runs(u))
		p.WriteString("\n")
	}
	p.Table(r.verdicts(u))
	p.WriteString("\n")
	for _, c := range r.Candidates {
		p.Printf(verdict, c.Verdict, c.Reason)
	}
	for _, text := range r.Warnings {
		p.Printf(warning, text)
	}
	if r.Source == "files" && p.Markdown {
		p.WriteString("\n<details><summary>Runs</summary>\n\n")
		p.Table(r.runs(u))
		p.WriteString("\n</details>\n")
	}
}
