package history

import (
	"fmt"

	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/history"
)

// mostLines is how many differences of a change, and sweeps, the table shows.
const mostLines = 12

func addTable(page *terminal.Page, all []history.Series) {
	rows := make([][]string, len(all))
	for i, s := range all {
		rows[i] = []string{string(s.Phase), string(s.Metric), fmt.Sprint(s.Nights), fmt.Sprintf("%.1f %%", 100*s.Noise), "no change"}
		switch {
		case s.TooFew != "":
			rows[i][3], rows[i][4] = "", s.TooFew
		case len(s.Changes) > 0:
			rows[i][4] = s.Changes[len(s.Changes)-1].Text
		case len(s.Trends) > 0:
			rows[i][4] = s.Trends[len(s.Trends)-1].Text
		}
	}
	page.Table([]string{"PHASE", "METRIC", "NIGHTS", "NOISE", "LATEST CHANGE"}, rows)
	for _, s := range all {
		addDetails(page, s)
	}
}

// addDetails adds all changes and trends of a series.
func addDetails(page *terminal.Page, s history.Series) {
	for _, t := range s.Trends {
		page.Printf("\n%s %s: %s\n", string(s.Phase), string(s.Metric), t.Text)
	}
	for _, c := range s.Changes {
		page.Printf("\n%s %s: %s\n", string(s.Phase), string(s.Metric), c.Text)
		page.Printf("  In detail: %s.\n", s.RangeOf(c))
		if len(c.Differences) == 0 {
			page.Printf("  Nothing that is recorded differs between the environments before and after.\n")
			continue
		}
		addList(page, "What differs since then, which need not be the cause:", c.Differences)
		addList(page, "Sweeps that would test these settings, with a load on scratch pools:", c.Sweeps)
	}
	if s.Others > 0 {
		page.Printf("\n%s: %d nights with another workload do not count.\n", string(s.Phase), s.Others)
	}
}

func addList(page *terminal.Page, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	page.Printf("  %s\n", title)
	for i, line := range lines {
		if i == mostLines {
			page.Printf("  - and %d more: see -o yaml\n", len(lines)-i)
			break
		}
		page.Printf("  - %s\n", line)
	}
}
