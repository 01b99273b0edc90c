// Package dashboards defines cephtune's dashboards for Grafana in Go. If a metric is renamed, the compiler
// finds all panels that use the metric. "make dashboards" in the project's root generates the JSON in this
// folder.
package dashboards

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// schemaVersion is the version of the JSON's schema in Grafana 10.0, the oldest supported version. Later
// versions of Grafana migrate the dashboards. Earlier versions do not understand the options of table
// cells.
const schemaVersion = 38

// tag marks cephtune's dashboards, so that links between the dashboards find them.
const tag = "cephtune"

// The uids of the dashboards. They must not change, because URLs that users bookmark contain them.
const (
	SweepUID     = "cephtune-sweep"
	BenchmarkUID = "cephtune-benchmark"
	FleetUID     = "cephtune-fleet"
)

// File is the name and the content of a dashboard's JSON file.
type File struct {
	Name string
	JSON []byte
}

// Files returns the JSON files of all dashboards.
func Files() ([]File, error) {
	var files []File
	for _, made := range []struct {
		file string
		page page
	}{
		{"fleet.json", fleet()},
		{"sweep.json", sweep()},
		{"benchmark.json", benchmark()},
	} {
		text, err := made.page.encode()
		if err != nil {
			return nil, fmt.Errorf("dashboard %s: %w", made.file, err)
		}
		files = append(files, File{Name: made.file, JSON: text})
	}
	return files, nil
}

// page describes a dashboard.
type page struct {
	uid, title, description string

	// from is the default start of the time range, such as now-6h.
	from string

	variables   []cog.Builder[dashboard.VariableModel]
	annotations []annotation
	rows        []row
}

// row has a heading and panels. The first row has no heading.
type row struct {
	title  string
	panels []cog.Builder[dashboard.Panel]
}

// encode returns the JSON that Grafana reads.
func (p page) encode() ([]byte, error) {
	//nolint:staticcheck // Grafana before version 12 reads only the classic model.
	builder := dashboard.NewDashboardBuilder(p.title).
		Uid(p.uid).
		Description(p.description).
		Tags([]string{tag}).
		Readonly().
		Tooltip(dashboard.DashboardCursorSyncCrosshair).
		Refresh("30s").
		Time(p.from, "now").
		Variables(p.variables)
	for _, row := range p.rows {
		if row.title != "" {
			builder.WithRow(dashboard.NewRowBuilder(row.title))
		}
		for _, panel := range row.panels {
			builder.WithPanel(panel)
		}
	}
	built, err := builder.Build()
	if err != nil {
		return nil, err
	}
	built.SchemaVersion = schemaVersion
	built.Links = links()
	number(built.Panels)

	// The SDK's annotations have no titleFormat and textFormat, so this package has its own type for them.
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(struct {
		dashboard.Dashboard
		Annotations annotations `json:"annotations"`
	}{built, annotations{List: append([]annotation{}, p.annotations...)}})
	return text.Bytes(), err
}

// number numbers panels and rows in order. Links to a single panel contain its number.
func number(panels []dashboard.PanelOrRowPanel) {
	for i, panel := range panels {
		id := uint32(i + 1)
		if panel.RowPanel != nil {
			panel.RowPanel.Id = id
		} else {
			panel.Panel.Id = &id
		}
	}
}
