package results

import (
	"io"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/report"
)

// WriteDiagnosis shows the findings of a diagnosis.
func WriteDiagnosis(w io.Writer, b *v1alpha1.CephBenchmark) error {
	var out strings.Builder
	terminal.Append(&out, "%s\n", b.Status.Summary)
	for _, f := range b.Status.Diagnosis.Findings {
		terminal.Append(&out, "\n%s: %s\n%s\n", string(f.Confidence), f.Code, f.Message)
		for _, e := range f.Evidence {
			terminal.Append(&out, "  - %s\n", e)
		}
		if f.Remedy != "" {
			terminal.Append(&out, "Remedy: %s\n", f.Remedy)
		}
	}
	tables, sentences := report.LayerTables(b.Status.Diagnosis)
	for i, sentence := range sentences {
		terminal.Append(&out, "\n%s\n", sentence)
		if len(tables[i].Rows) > 0 {
			terminal.WriteTable(&out, terminal.Narrow, tables[i].Header, tables[i].Rows)
		}
	}
	out.WriteString("\nNot checked:\n")
	for _, u := range b.Status.Diagnosis.Unchecked {
		terminal.Append(&out, "  - %s\n", u)
	}
	_, err := terminal.WriteString(w, out.String())
	return err
}
