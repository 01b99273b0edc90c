package report

import (
	"fmt"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
	"github.com/cephtune/cephtune/internal/figure"
)

const diagnosisMethod = `The operator watched Ceph, compared its OSDs with each other, and went through a list of known causes, without load. ` +
	`Certain: Ceph itself reports that operations wait, or that part of the cluster is missing. Likely: it was measured, or is known to cost speed. ` +
	`Possible: it costs speed under some loads.`

const layersMethod = ` Then one client sent one operation at a time, in windows of 12 s, to two pools that stood beside each other: one with several ` +
	`copies, and one with a single copy. The client's clock, those of OSDs and those of their stores give the layers. Without other copies, ` +
	`nothing should remain of an OSD's time, and the time outside of OSDs should not depend on copies: within 10 % of a write, that confirms ` +
	`the layers. Windows in which OSDs counted other operations than the client's do not count.`

const osdMethod = `The slowest writes come first; at most 32 OSDs are shown. Times are an OSD's own, without the wait for other copies. ` +
	`An OSD is only called slow if chance does not explain the difference: the findings say so.`

// OSDTable lays the OSDs of a diagnosis side by side; nil without OSDs.
func OSDTable(found *v1alpha1.DiagnosisResult) *Table {
	if len(found.OSDs) == 0 {
		return nil
	}
	t := &Table{Header: []string{"OSD", "Class", "Operations", "Write", "Queue", "Store", "Read", "Commit"}}
	for _, o := range found.OSDs {
		t.Rows = append(t.Rows, []string{
			fmt.Sprintf("osd.%d", o.ID), o.DeviceClass, figure.HumanDecimal(v1alpha1.MetricIOPS, o.OperationsPerSecond), inSeconds(o.WriteSeconds),
			inSeconds(o.QueueSeconds), inSeconds(o.StoreSeconds), inSeconds(o.ReadSeconds), inSeconds(o.CommitSeconds),
		})
	}
	return t
}

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
	method := diagnosisMethod
	if len(found.Operations) > 0 {
		d.add("Where operations spend their time", layerParts(found)...)
		method += layersMethod
	}
	if table := OSDTable(found); table != nil {
		d.add("OSDs side by side", Part{Table: table}, Part{Text: osdMethod})
	}
	d.add("What was not checked", Part{Table: unchecked})
	d.add("Method", Part{Text: method})
	d.add("To do it again", Part{Code: yaml})
	return d
}
