// Package report makes a report of a CephTuningSweep or a CephBenchmark: a
// self-contained HTML page, Markdown for a pull request, and the raw figures as CSV.
//
//	object, runs → Sweep, Benchmark → Document → HTML, Markdown, CSV
//
// The package is pure: no clock, no cluster, no files. The same input gives the same bytes.
package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/report/medium"
	"github.com/cephtune/cephtune/internal/schedule"
)

// Document is a report, independent of its output format.
type Document struct {
	// Kind, Namespace and Name identify the object.
	Kind, Namespace, Name string
	// Tone is the style of Verdict, which may be empty.
	Verdict string
	Tone    Tone
	// Sentence is the summary of the outcome.
	Sentence string
	// Warnings come first in the report, since they qualify everything else.
	Warnings []string
	Facts    []Fact
	Sections []Section
	// Figures is the table of all raw figures. Its first row is the header.
	Figures [][]string
}

// Tone is the style of a verdict.
type Tone string

// These are the tones.
const (
	ToneGood    Tone = "good"
	ToneBad     Tone = "bad"
	ToneNeutral Tone = "neutral"
)

// Fact is a name with its value.
type Fact struct{ Name, Text string }

// Section is a heading with its parts.
type Section struct {
	Title string
	Parts []Part
}

// Part is one element of a section. At most one field is set. [Document.add] leaves out empty parts.
type Part struct {
	Text  string
	Table *Table
	Plot  *Plot
	Code  string
}

// Table has a header and rows.
type Table struct {
	Header []string
	Rows   [][]string
	// Folded is the title under which a long table is folded; "" for a table that is not folded.
	Folded string
}

// Plot is a picture.
type Plot struct {
	// SVG is the picture for a wide screen, and Narrow that for a phone. They load no external resources.
	SVG, Narrow string
	// Caption says what the plot shows.
	Caption string
}

func (t *Table) withoutEmptyColumns() *Table {
	out := &Table{Folded: t.Folded, Rows: make([][]string, len(t.Rows))}
	for i, name := range t.Header {
		if !slices.ContainsFunc(t.Rows, func(row []string) bool { return i < len(row) && row[i] != "" }) {
			continue
		}
		out.Header = append(out.Header, name)
		for j, row := range t.Rows {
			out.Rows[j] = append(out.Rows[j], row[i])
		}
	}
	return out
}

func text(format string, args ...any) Part { return Part{Text: fmt.Sprintf(format, args...)} }

// add appends a section, unless it is empty. Tables lose columns without text, because those look like missing results.
func (d *Document) add(title string, parts ...Part) {
	var some []Part
	for _, p := range parts {
		if p.Table != nil {
			p.Table = p.Table.withoutEmptyColumns()
		}
		if p.Text != "" || p.Code != "" || p.Plot != nil || p.Table != nil && len(p.Table.Rows) > 0 {
			some = append(some, p)
		}
	}
	if len(some) > 0 {
		d.Sections = append(d.Sections, Section{Title: title, Parts: some})
	}
}

// fact appends a fact, unless it is empty.
func (d *Document) fact(name, text string) {
	if text != "" {
		d.Facts = append(d.Facts, Fact{name, text})
	}
}

// fact appends a row with a name and a value, unless the value is empty.
func (t *Table) fact(name, value string) {
	if value != "" {
		t.Rows = append(t.Rows, []string{name, value})
	}
}

// warnEdited warns if a scheduled object was edited after the execution that the report is about.
func (d *Document) warnEdited(o metav1.Object) {
	if schedule.Edited(o) {
		d.Warnings = append(d.Warnings, "The object was edited after this execution began: below, the load, the limits and other parts of its specification may be newer than the figures.")
	}
}

// In returns the report in a format: markdown, csv or html.
func (d *Document) In(format string) ([]byte, error) {
	switch format {
	case "markdown":
		return d.Markdown(), nil
	case "csv":
		return d.CSV()
	}
	return d.HTML()
}

// CSV returns the table of all raw figures, in base units.
func (d *Document) CSV() ([]byte, error) { return medium.CSV(d.Figures) }

// FileName returns a file name for the report, with the given ending.
func (d *Document) FileName(ending string) string { return d.Name + "." + ending }

func formatTime(t *metav1.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

func took(from, to *metav1.Time) string {
	if from == nil || to == nil {
		return ""
	}
	return to.Sub(from.Time).Round(time.Second).String()
}

// software returns the versions of Ceph and Rook, and the number of OSDs that serve the target.
func software(e *v1alpha1.Environment) string {
	if e == nil {
		return ""
	}
	var parts []string
	if e.CephVersion != "" {
		parts = append(parts, "Ceph "+e.CephVersion)
	}
	if e.RookVersion != "" {
		parts = append(parts, "Rook "+e.RookVersion)
	}
	switch {
	case e.TotalOSDs == 1:
		parts = append(parts, "1 OSD for the target")
	case e.TotalOSDs > 1:
		parts = append(parts, fmt.Sprintf("%d OSDs for the target", e.TotalOSDs))
	}
	return strings.Join(parts, ", ")
}

// environmentTable shows the environment from status.
func environmentTable(e *v1alpha1.Environment) *Table {
	if e == nil {
		return nil
	}
	osds := ""
	if e.TotalOSDs > 0 {
		osds = fmt.Sprint(e.TotalOSDs)
	}
	table := &Table{Header: []string{"What", "Value"}}
	table.fact("Ceph cluster (FSID)", e.FSID)
	table.fact("Ceph", e.CephVersion)
	table.fact("Rook", e.RookVersion)
	table.fact("OSDs that serve the target", osds)
	table.fact("fingerprint of the environment", e.Digest)
	return table
}

// manifest returns the name, namespace, labels and spec of an object as YAML, so that it can be
// applied elsewhere.
func manifest(kind string, o metav1.ObjectMeta, spec any) (string, error) {
	type meta struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace,omitempty"`
		Labels    map[string]string `json:"labels,omitempty"`
	}
	out, err := medium.YAML(struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
		Metadata   meta   `json:"metadata"`
		Spec       any    `json:"spec"`
	}{v1alpha1.GroupVersion.String(), kind, meta{o.Name, o.Namespace, o.Labels}, spec})
	if err != nil {
		return "", fmt.Errorf("report: %w", err)
	}
	return string(out), nil
}
