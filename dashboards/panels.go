package dashboards

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/barchart"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
	"github.com/grafana/grafana-foundation-sdk/go/table"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// Units, as Grafana names them.
const (
	noUnit         = "none"
	bytesPerSecond = "binBps"
	perSecond      = "iops"
	requests       = "reqps"
	seconds        = "s"
	milliseconds   = "ms"
	fraction       = "percentunit"
	count          = "locale" // whole, with separators between thousands
	fromNow        = "dateTimeFromNow"
)

// about has the properties that all panels have.
type about struct {
	title       string
	description string
	unit        string

	// empty is the text that a panel shows without data. It says why data are missing.
	empty string
	// rows is an expression that has a result whenever the table has rows. It is "" if the table's first query
	// has such an expression.
	rows string

	// width is in columns; a dashboard has 24. height is in rows of about 38 pixels.
	width, height uint32
}

// panelBuilder has the methods that all panel builders of the SDK share.
type panelBuilder[B any] interface {
	Title(title string) B
	Description(description string) B
	Datasource(source common.DataSourceRef) B
	Transparent(transparent bool) B
	Unit(unit string) B
	Decimals(decimals float64) B
	NoValue(text string) B
	Span(columns uint32) B
	Height(lines uint32) B
	ColorScheme(color cog.Builder[dashboard.FieldColor]) B
	WithTarget(target cog.Builder[variants.Dataquery]) B
	OverrideByQuery(id string, properties []dashboard.DynamicConfigValue) B
	OverrideByName(name string, properties []dashboard.DynamicConfigValue) B
}

// begin sets the common properties of a panel. Without a colour, Grafana would draw figures below 80 green
// and higher figures red.
func begin[B panelBuilder[B]](builder B, a about) B {
	if a.unit == count {
		builder.Decimals(0) // Prometheus extrapolates counts, so they would have decimals.
	}
	return builder.
		Title(a.title).
		Description(a.description).
		Datasource(dataSource()).
		Unit(a.unit).
		NoValue(a.empty).
		Span(a.width).
		Height(a.height).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdFixed).FixedColor(blue))
}

func property(id string, value any) dashboard.DynamicConfigValue {
	return dashboard.DynamicConfigValue{Id: id, Value: value}
}

// fixed returns a fixed colour as the value of a property.
func fixed(color string) dashboard.FieldColor {
	return dashboard.FieldColor{Mode: dashboard.FieldColorModeIdFixed, FixedColor: &color}
}

// shades returns the shades of a colour. They distinguish an unknown number of series.
func shades(color string) dashboard.FieldColor {
	return dashboard.FieldColor{Mode: dashboard.FieldColorModeIdShades, FixedColor: &color}
}

// dataLink is the target of a click on a value.
type dataLink struct {
	Title string `json:"title"`
	URL   string `json:"url"`
}

// words returns a panel that shows the values of a label.
func words(a about, expression, label string, size float64, values []dashboard.ValueMapping) *stat.PanelBuilder {
	a.unit = noUnit
	return shown(begin(stat.NewPanelBuilder(), a), values).
		WithTarget(instant("A", expression)).
		ReduceOptions(common.NewReduceDataOptionsBuilder().
			Calcs([]string{"lastNotNull"}).
			Fields("/^" + label + "$/")).
		TextMode(common.BigValueTextModeValue).
		Text(common.NewVizTextDisplayOptionsBuilder().ValueSize(size))
}

// figure returns a panel that shows the value of a series at the end of the time range.
func figure(a about, expression string, values []dashboard.ValueMapping) *stat.PanelBuilder {
	return shown(begin(stat.NewPanelBuilder(), a), values).
		WithTarget(instant("A", expression).
			Format(prometheus.PromQueryFormatTimeSeries)).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		TextMode(common.BigValueTextModeValue)
}

// shown sets the appearance of the panels of words and figure. Without states, values have the colour of
// text. With states, their background has the colour of the state.
func shown(builder *stat.PanelBuilder, states []dashboard.ValueMapping) *stat.PanelBuilder {
	builder.
		GraphMode(common.BigValueGraphModeNone).
		Orientation(common.VizOrientationAuto).
		JustifyMode(common.BigValueJustifyModeAuto).
		ColorMode(common.BigValueColorModeNone)
	if states == nil {
		return builder
	}
	return builder.
		ColorMode(common.BigValueColorModeBackground).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdFixed).FixedColor(slate)).
		Mappings(states)
}

// line is a query of a graph, and how its series are drawn.
type line struct {
	id, expression, legend string

	color dashboard.FieldColor

	// unit overrides the panel's unit, if set.
	unit string

	// reference draws the line wide and dashed, as the reference for other lines.
	reference bool
}

// wholeTicks is the smallest end of an axis whose ticks are all whole numbers.
const wholeTicks = 4

// graph draws series over time.
func graph(a about, lines ...line) *timeseries.PanelBuilder {
	builder := begin(timeseries.NewPanelBuilder(), a).
		LineWidth(1.5).
		FillOpacity(0).
		ShowPoints(common.VisibilityModeNever).
		Legend(legendBelow(true)).
		Tooltip(tooltip(common.TooltipDisplayModeMulti, common.SortOrderDescending))
	if a.unit == count {
		// On an axis that ends at 1, some ticks are fractions. Grafana labels fractions of a count with the
		// text for missing data.
		builder.AxisSoftMax(wholeTicks)
	}
	for _, line := range lines {
		properties := []dashboard.DynamicConfigValue{property("color", line.color)}
		if line.unit != "" {
			properties = append(properties, property("unit", line.unit))
		}
		if line.reference {
			properties = append(properties,
				property("custom.lineWidth", 3),
				property("custom.lineStyle", map[string]any{"fill": "dash", "dash": []int{10, 6}}))
		}
		builder.WithTarget(overTime(line.id, line.expression, line.legend)).
			OverrideByQuery(line.id, properties)
	}
	return builder
}

// steps draws series as steps: each value holds until the next one.
func steps(a about, lines ...line) *timeseries.PanelBuilder {
	return graph(a, lines...).
		LineInterpolation(common.LineInterpolationStepAfter).
		ShowPoints(common.VisibilityModeAuto)
}

// bars draws a bar for the events in each interval.
func bars(a about, lines ...line) *timeseries.PanelBuilder {
	return graph(a, lines...).
		DrawStyle(common.GraphDrawStyleBars).
		FillOpacity(60).
		Min(0)
}

// timeline draws the states of series as bars. A bar contains the name of its state if it has room. The
// panel has no legend, because a legend would show the text of an empty panel as if it were a state.
func timeline(a about, expression, legend string, values []dashboard.ValueMapping) *statetimeline.PanelBuilder {
	a.unit = noUnit
	return begin(statetimeline.NewPanelBuilder(), a).
		WithTarget(overTime("A", expression, legend)).
		Mappings(values).
		ShowValue(common.VisibilityModeAuto).
		MergeValues(true).
		RowHeight(0.8).
		FillOpacity(80).
		LineWidth(0).
		Tooltip(tooltip(common.TooltipDisplayModeSingle, common.SortOrderNone)).
		Legend(legendBelow(false))
}

// legendBelow returns a legend below a panel.
func legendBelow(shown bool) *common.VizLegendOptionsBuilder {
	return common.NewVizLegendOptionsBuilder().ShowLegend(shown).DisplayMode(common.LegendDisplayModeList).Placement(common.LegendPlacementBottom)
}

func tooltip(mode common.TooltipDisplayMode, order common.SortOrder) *common.VizTooltipOptionsBuilder {
	return common.NewVizTooltipOptionsBuilder().Mode(mode).Sort(order)
}

// column is a column of a table: a label, or the value of a query.
type column struct {
	field, title string

	unit     string
	values   []dashboard.ValueMapping
	link     *dataLink
	width    int
	decimals int // 0 leaves the number to Grafana, except for the unit count

	// unitFrom is the id of a query for the unit, if the unit depends on the data. The query returns at
	// most one series, which has the unit in its label unitLabel. The query has no column.
	unitFrom string

	// hidden marks a column that is not shown: its query only adds rows, and columns for its labels.
	hidden bool

	// inspect lets users open a cell in a window, to copy its text.
	inspect bool
}

// onlyValue is Grafana's name for the value field of a table with one query.
const onlyValue = "Value"

// valueOf returns Grafana's name for the value field of one of several queries.
func valueOf(id string) string { return "Value #" + id }

// narrowest is the smallest width of a column in pixels. Grafana's default of 150 would push the last
// columns of a table out of view.
const narrowest = 80

// rowsOf returns a table that merges the results of all queries. Rows with the same values of the labels
// that the queries share become one row.
func rowsOf(a about, columns []column, queries ...*prometheus.DataqueryBuilder) *table.PanelBuilder {
	a.unit = noUnit
	if len(queries) > 1 {
		queries = append(queries, reason(a.empty, columns, cmp.Or(a.rows, expressionOf(queries[0]))))
		columns = append(slices.Clone(columns), column{field: valueOf(reasonID), hidden: true})
	}
	builder := begin(table.NewPanelBuilder(), a).
		ShowHeader(true).
		CellHeight(common.TableCellHeightSm).
		MinWidth(narrowest).
		Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{}))
	for _, column := range columns {
		if column.unitFrom != "" { // takeUnit must precede merge, because merge drops the names of the queries.
			builder.WithTransformation(column.takeUnit())
		}
	}
	builder.
		WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: struct{}{}}).
		WithTransformation(arrange(columns))
	for _, query := range queries {
		builder.WithTarget(query)
	}
	for _, column := range columns {
		if column.hidden {
			continue
		}
		builder.OverrideByName(column.title, column.properties())
	}
	return builder
}

// reasonID is the id of the query that says why a table is empty.
const reasonID = "why_empty"

// reason returns a query that says in the first visible column why a table is empty. The last argument is an
// expression that has a result whenever the table has rows. The query has a result only while that expression
// has no result. Without this query, Grafana shows the text only for tables with a single query.
func reason(text string, columns []column, rows string) *prometheus.DataqueryBuilder {
	label := columns[slices.IndexFunc(columns, func(c column) bool { return !c.hidden })].field
	return instant(reasonID, fmt.Sprintf(`label_replace(vector(1), %q, %q, "", "") unless on () (%s)`, label, text, rows))
}

// expressionOf returns the expression of a query.
func expressionOf(query *prometheus.DataqueryBuilder) string {
	built, _ := query.Build() // Build cannot fail for a query with one expression.
	asked, _ := built.(prometheus.Dataquery)
	return asked.Expr
}

// arrange orders and renames the visible columns, and hides the hidden ones and the time.
func arrange(columns []column) dashboard.DataTransformerConfig {
	order := make(map[string]int, len(columns))
	names := make(map[string]string, len(columns))
	hidden := map[string]bool{"Time": true}
	for i, column := range columns {
		if column.hidden {
			hidden[column.field] = true
			continue
		}
		order[column.field] = i
		names[column.field] = column.title
	}
	return dashboard.DataTransformerConfig{Id: "organize", Options: map[string]any{
		"excludeByName": hidden,
		"indexByName":   order,
		"renameByName":  names,
	}}
}

// unitLabel is the label from which takeUnit reads a unit.
const unitLabel = "unit"

// takeUnit sets the column's unit from the query unitFrom, and drops the result of that query. The column
// must have no other unit, because that unit would override this one.
func (c column) takeUnit() dashboard.DataTransformerConfig {
	return dashboard.DataTransformerConfig{Id: "configFromData", Options: map[string]any{
		"configRefId": c.unitFrom,
		"applyTo":     map[string]string{"id": "byName", "options": c.field},
		"mappings":    []map[string]string{{"fieldName": unitLabel, "handlerKey": "unit"}},
	}}
}

func (c column) properties() []dashboard.DynamicConfigValue {
	// Without a text of its own, an empty cell would show the panel's text for missing data.
	properties := []dashboard.DynamicConfigValue{property("noValue", "–")}
	if c.unit != "" {
		properties = append(properties, property("unit", c.unit))
	}
	if c.decimals > 0 || c.unit == count {
		properties = append(properties, property("decimals", c.decimals))
	}
	if c.values != nil {
		properties = append(properties,
			property("mappings", c.values),
			property("color", fixed(none)), // for cells without a state
			property("custom.cellOptions", map[string]string{"type": "color-background", "mode": "basic"}))
	}
	if c.link != nil {
		properties = append(properties, property("links", []dataLink{*c.link}))
	}
	if c.inspect {
		properties = append(properties, property("custom.inspect", true))
	}
	if c.width > 0 {
		properties = append(properties, property("custom.width", c.width))
	}
	return properties
}

// bar is one of the bars in each category.
type bar struct {
	id, title, expression string

	color string

	// hidden bars are invisible: they fill the space between zero and the bars that are stacked on them.
	// unnamed bars continue another bar, and are not in the legend.
	hidden, unnamed bool
}

// categories draws bars for each value of a label. Without data, Grafana would show an error about fields.
// To avoid this error, the query then returns the text for an empty panel as the only value of the label,
// with bars of length zero.
func categories(a about, label string, bars ...bar) *barchart.PanelBuilder {
	columns := []column{{field: label, title: label}}
	builder := begin(barchart.NewPanelBuilder(), a).
		XField(label).
		ShowValue(common.VisibilityModeNever).
		LineWidth(0).
		FillOpacity(90).
		GroupWidth(0.7).
		BarWidth(0.9).
		XTickLabelMaxLength(60).
		Tooltip(tooltip(common.TooltipDisplayModeMulti, common.SortOrderNone)).
		Legend(legendBelow(true))
	for _, bar := range bars {
		columns = append(columns, column{field: valueOf(bar.id), title: bar.title})
		builder.WithTarget(instant(bar.id, fmt.Sprintf(`%s or on () label_replace(vector(0), %q, %q, "", "")`, bar.expression, label, a.empty)))
		properties := []dashboard.DynamicConfigValue{property("color", fixed(bar.color))}
		if bar.hidden {
			properties = append(properties,
				property("custom.fillOpacity", 0),
				property("custom.hideFrom", map[string]bool{"legend": true, "tooltip": true, "viz": false}))
		}
		if bar.unnamed {
			properties = append(properties, property("custom.hideFrom", map[string]bool{"legend": true, "tooltip": false, "viz": false}))
		}
		builder.OverrideByName(bar.title, properties)
	}
	return builder.
		WithTransformation(dashboard.DataTransformerConfig{Id: "merge", Options: struct{}{}}).
		WithTransformation(arrange(columns))
}
