package results

import (
	"io"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/report"
)

// WriteDiagnosis shows the findings of a diagnosis.
func WriteDiagnosis(w io.Writer, b *v1alpha1.CephBenchmark) error {
	page := terminal.NewPage(w)
	page.Printf("%s\n", b.Status.Summary)
	for _, f := range b.Status.Diagnosis.Findings {
		page.Printf("\n%s: %s\n%s\n", string(f.Confidence), f.Code, f.Message)
		for _, e := range f.Evidence {
			page.Printf("  - %s\n", e)
		}
		if f.Remedy != "" {
			page.Printf("Remedy: %s\n", f.Remedy)
		}
	}
	tables, sentences := report.LayerTables(b.Status.Diagnosis)
	for i, sentence := range sentences {
		page.Printf("\n%s\n", sentence)
		if len(tables[i].Rows) > 0 {
			page.Table(tables[i].Header, tables[i].Rows)
		}
	}
	if table := report.OSDTable(b.Status.Diagnosis); table != nil {
		page.WriteString("\nOSDs side by side, the slowest writes first:\n\n")
		writeReported(page, table)
	}
	page.WriteString("\nNot checked:\n")
	for _, u := range b.Status.Diagnosis.Unchecked {
		page.Printf("  - %s\n", u)
	}
	return page.Print()
}
