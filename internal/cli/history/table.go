package history

import (
	"fmt"
	"io"
	"strings"

	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/history"
)

// mostDifferences is how many differences of a change the table shows.
const mostDifferences = 12

func writeTable(w io.Writer, all []history.Series) error {
	var out strings.Builder
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
	terminal.WriteTable(&out, terminal.Columns(w), []string{"PHASE", "METRIC", "NIGHTS", "NOISE", "LATEST CHANGE"}, rows)
	for _, s := range all {
		writeDetails(&out, s)
	}
	_, err := terminal.WriteString(w, out.String())
	return err
}

// writeDetails writes all changes and trends of a series.
func writeDetails(out *strings.Builder, s history.Series) {
	for _, t := range s.Trends {
		terminal.Append(out, "\n%s %s: %s\n", string(s.Phase), string(s.Metric), t.Text)
	}
	for _, c := range s.Changes {
		terminal.Append(out, "\n%s %s: %s\n", string(s.Phase), string(s.Metric), c.Text)
		terminal.Append(out, "  The first such night is one of %s to %s (90 %%).\n", s.Date(c.First), s.Date(c.Last))
		if len(c.Differences) == 0 {
			terminal.Append(out, "  Nothing that is recorded differs between the environments before and after.\n")
			continue
		}
		terminal.Append(out, "  What differs since then, which need not be the cause:\n")
		for i, line := range c.Differences {
			if i == mostDifferences {
				terminal.Append(out, "  - and %d more: see -o yaml\n", len(c.Differences)-i)
				break
			}
			terminal.Append(out, "  - %s\n", line)
		}
	}
	if s.Others > 0 {
		terminal.Append(out, "\n%s: %d nights with another workload do not count.\n", string(s.Phase), s.Others)
	}
}
