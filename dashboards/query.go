package dashboards

import (
	"fmt"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"

	"github.com/cephtune/cephtune/internal/metrics"
)

// dataSource is the Prometheus that is chosen above the dashboard.
func dataSource() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}
}

// instant is a query for what is the case at the end of the time range, as a table with
// a column for each label.
func instant(id, expression string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().
		RefId(id).
		Datasource(dataSource()).
		Expr(expression).
		Instant().
		Format(prometheus.PromQueryFormatTable)
}

// overTime is a query for the whole time range. The legend may name labels: {{phase}}.
func overTime(id, expression, legend string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().
		RefId(id).
		Datasource(dataSource()).
		Expr(expression).
		Range().
		Format(prometheus.PromQueryFormatTimeSeries).
		LegendFormat(legend)
}

// ofNamespace matches what is in the namespace that is chosen above the dashboard.
const ofNamespace = metrics.LabelNamespace + `="$namespace"`

// one selects the series of the sweep or benchmark that is chosen above the dashboard.
// More matchers may follow.
func one(metric string, matchers ...string) string {
	return selector(metric, append([]string{
		ofNamespace,
		metrics.LabelName + `="$name"`,
	}, matchers...)...)
}

// selector selects the series of a metric that match.
func selector(metric string, matchers ...string) string {
	return metric + "{" + strings.Join(matchers, ",") + "}"
}

// notOfSweeps matches benchmarks but for those that a sweep makes for its runs, one after
// the other by the hundred: their names end with the sweep's session and the run's number, of
// three digits. A name with a date and a time has four or six.
const notOfSweeps = metrics.LabelName + `!~".+-[0-9a-f]{8}-[0-9]{3}"`

// latest keeps these labels and drops those of the scrape, such as the pod. If two pods report
// the same series for a moment, during an update, it keeps one.
func latest(series string, labels ...string) string {
	return fmt.Sprintf("max by (%s) (%s)", strings.Join(labels, ","), series)
}

// quantile of a histogram's buckets, by labels, as seen by a function of a range.
func quantile(q, histogram, window string, labels ...string) string {
	return fmt.Sprintf("histogram_quantile(%s, sum by (%s) (%s))",
		q, strings.Join(append([]string{"le"}, labels...), ","),
		fmt.Sprintf(window, histogram+"_bucket"))
}

// dataSourceVariable lets people choose the Prometheus.
func dataSourceVariable() cog.Builder[dashboard.VariableModel] {
	return dashboard.NewDatasourceVariableBuilder("datasource").
		Label("Data source").
		Description("The Prometheus that scrapes cephtune, and Ceph.").
		Type("prometheus")
}

// labelVariable lets people choose a value of a label of some series.
func labelVariable(name, label, series, of string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).
		Label(label).
		Datasource(dataSource()).
		Query(dashboard.StringOrMap{String: new(fmt.Sprintf("label_values(%s, %s)", series, of))}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortNaturalAsc)
}

// annotations is what Grafana calls a list of them.
type annotations struct {
	List []annotation `json:"list"`
}

// annotation marks times in the graphs. Neighbouring samples of a series become one
// region.
type annotation struct {
	dashboard.AnnotationQuery

	TitleFormat     string `json:"titleFormat"`
	TextFormat      string `json:"textFormat"`
	UseValueForTime bool   `json:"useValueForTime"`

	// Expr and Step say once more what Target says: Grafana 10 reads these alone, and
	// without them never asks.
	Expr string `json:"expr"`
	Step string `json:"step"`
}

// mark makes an annotation. A step of 30 s is that of usual scrapes: with a longer one,
// short runs would be missed.
func mark(name, color, expression, title, text string) annotation {
	const step = "30s"
	source := dataSource()
	return annotation{
		AnnotationQuery: dashboard.AnnotationQuery{
			Name:       name,
			Datasource: &source,
			Enable:     true,
			IconColor:  color,
			Target: prometheus.Dataquery{
				Expr:     expression,
				Interval: new(step),
				RefId:    new("Anno"),
			},
		},
		TitleFormat: title,
		TextFormat:  text,
		Expr:        expression,
		Step:        step,
	}
}

// links lead to the other dashboards of cephtune, and to imported ones of Ceph and Rook: Grafana
// finds them by tags. Between cephtune's own no variables are taken along: the name of a
// benchmark is not that of a sweep.
func links() []dashboard.DashboardLink {
	own := dashboardsTagged("cephtune", "The other dashboards of cephtune", tag)
	own.IncludeVars = false
	return []dashboard.DashboardLink{
		own,
		dashboardsTagged("Ceph", "Ceph's own dashboards", "ceph-mixin"),
		dashboardsTagged("Rook", "Dashboards of pools and OSDs as Rook ships them", "ceph"),
	}
}

// dashboardsTagged links to all dashboards with a tag. Variables of the same name, such
// as the pool, are taken along.
func dashboardsTagged(title, tooltip, tag string) dashboard.DashboardLink {
	return dashboard.DashboardLink{
		Title:       title,
		Tooltip:     tooltip,
		Type:        dashboard.DashboardLinkTypeDashboards,
		Icon:        "external link",
		Tags:        []string{tag},
		AsDropdown:  true,
		IncludeVars: true,
		KeepTime:    true,
	}
}
