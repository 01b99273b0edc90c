package report

import (
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
)

const diagnosisMethod = `The operator watched Ceph, compared its OSDs with each other, and went through a list of known causes. It sent no load. ` +
	`Certain: Ceph itself reports that operations wait, or that part of the cluster is missing. Likely: it was measured, or is known to cost speed. ` +
	`Possible: it costs speed under some loads. How much time an operation spends where was not measured.`

// diagnosisReport returns the report of a diagnosis.
func diagnosisReport(b *v1alpha1.CephBenchmark, yaml string) *Document {
	d := benchmarkHead(b)
	d.Figures = [][]string{{"code", "confidence", "message", "evidence", "remedy"}}
	found := b.Status.Diagnosis
	if found == nil {
		found = &v1alpha1.DiagnosisResult{}
	} else if diagnosis.Alarming(*found) {
		d.Tone = ToneBad
	}
	table := &Table{Header: []string{"Finding", "Confidence", "Cause", "Evidence", "Remedy"}}
	for _, f := range found.Findings {
		row := []string{f.Code, string(f.Confidence), f.Message, strings.Join(f.Evidence, "; "), f.Remedy}
		table.Rows = append(table.Rows, row)
		d.Figures = append(d.Figures, row)
	}
	unchecked := &Table{Header: []string{"Not checked"}}
	for _, text := range found.Unchecked {
		unchecked.Rows = append(unchecked.Rows, []string{text})
	}
	d.add("Findings", Part{Table: table})
	d.add("What was not checked", Part{Table: unchecked})
	d.add("Method", Part{Text: diagnosisMethod})
	d.add("To do it again", Part{Code: yaml})
	return d
}
