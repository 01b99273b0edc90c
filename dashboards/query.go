package dashboards

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"

	"github.com/cephtune/cephtune/internal/metrics"
)

// dataSource is the Prometheus that the user chooses above the dashboard.
func dataSource() common.DataSourceRef {
	return common.DataSourceRef{Type: new("prometheus"), Uid: new("${datasource}")}
}

// instant returns a query for the end of the time range. Its result is a table with a column for each label,
// and one for the value.
func instant(id, expression string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().
		RefId(id).
		Datasource(dataSource()).
		Expr(clustered(expression)).
		Instant().
		Format(prometheus.PromQueryFormatTable)
}

// overTime is a query for the whole time range. The legend may contain labels, such as {{phase}}.
func overTime(id, expression, legend string) *prometheus.DataqueryBuilder {
	return prometheus.NewDataqueryBuilder().
		RefId(id).
		Datasource(dataSource()).
		Expr(clustered(expression)).
		Range().
		Format(prometheus.PromQueryFormatTimeSeries).
		LegendFormat(legend)
}

// ofNamespace is the matcher for the namespace that the user chooses above the dashboard.
const ofNamespace = metrics.LabelNamespace + `="$namespace"`

// ofCluster is the matcher for the Kubernetes clusters that the user chooses above the dashboard. All of them match
// also series without the label, so the matcher does nothing if Prometheus has the series of one cluster alone. The
// chart can replace the label's name.
const ofCluster = labelKubernetes + `=~"$` + labelKubernetes + `"`

const labelKubernetes = "cluster"

// clustered adds ofCluster to every metric of cephtune in an expression. Metrics of Ceph and of nodes do not get the
// matcher, because Rook's ServiceMonitors use the label for the namespace of a Ceph cluster.
func clustered(expression string) string {
	metric := regexp.MustCompile(`(^|[^\w"|$])(cephtune_\w+)(\{?)`)
	return metric.ReplaceAllStringFunc(expression, func(found string) string {
		if strings.HasSuffix(found, "{") {
			return found + ofCluster + ","
		}
		return found + "{" + ofCluster + "}"
	})
}

// clusterVariable is the variable with which users choose among Kubernetes clusters.
func clusterVariable() cog.Builder[dashboard.VariableModel] {
	return several(valuesOf(labelKubernetes, "Kubernetes cluster", metrics.CollectionErrors, labelKubernetes).
		Description("Kubernetes clusters whose series this Prometheus has. Choose one, if objects in several have the same name."))
}

// several lets users choose any number of values of a variable. All values are chosen by default.
func several(variable *dashboard.QueryVariableBuilder) *dashboard.QueryVariableBuilder {
	return variable.Multi(true).IncludeAll(true).AllValue(".*").Current(dashboard.VariableOption{
		Selected: new(true),
		Text:     dashboard.StringOrArrayOfString{ArrayOfString: []string{"All"}},
		Value:    dashboard.StringOrArrayOfString{ArrayOfString: []string{"$__all"}},
	})
}

// one selects the series of the sweep or benchmark that the user chooses above the dashboard. The matchers
// narrow the selection.
func one(metric string, matchers ...string) string {
	return selector(metric, append([]string{
		ofNamespace,
		metrics.LabelName + `="$name"`,
	}, matchers...)...)
}

// selector selects the series of a metric that all matchers match.
func selector(metric string, matchers ...string) string {
	return metric + "{" + strings.Join(matchers, ",") + "}"
}

// notOfSweeps excludes the benchmarks that sweeps create for their runs, because a sweep may have hundreds.
// Their names end with a digest of eight hexadecimal digits and a run number of three digits. The pattern
// does not match a name that ends with a date and a time, because a time has four or six digits.
const notOfSweeps = metrics.LabelName + `!~".+-[0-9a-f]{8}-[0-9]{3}"`

// latest keeps the given labels and drops all others, such as the pod, which the scraping adds. Two pods may
// report the same series for a moment, during an update. Then latest keeps the larger value.
func latest(series string, labels ...string) string {
	return fmt.Sprintf("max by (%s) (%s)", strings.Join(labels, ","), series)
}

// quantile returns a query for a quantile of a histogram, by labels. The argument window is a format with a
// function over a range, such as "increase(%s[6h])". Without observations, the quantile would be NaN, and
// the panel would not say why it is empty. The comparison with 0 removes NaN.
func quantile(q, histogram, window string, labels ...string) string {
	return fmt.Sprintf("histogram_quantile(%s, sum by (%s) (%s)) >= 0",
		q, strings.Join(append([]string{"le"}, labels...), ","),
		fmt.Sprintf(window, histogram+"_bucket"))
}

// dataSourceVariable is the variable with which users choose a Prometheus.
func dataSourceVariable() cog.Builder[dashboard.VariableModel] {
	return dashboard.NewDatasourceVariableBuilder("datasource").
		Label("Data source").
		Description("The Prometheus that scrapes cephtune, and Ceph.").
		Type("prometheus")
}

// labelVariable is the variable with which users choose among the values that a label of Prometheus has in
// some series of the chosen Kubernetes clusters.
func labelVariable(name, caption, series, label string) *dashboard.QueryVariableBuilder {
	return valuesOf(name, caption, clustered(series), label)
}

// valuesOf is labelVariable for the series of all Kubernetes clusters.
func valuesOf(name, caption, series, label string) *dashboard.QueryVariableBuilder {
	return dashboard.NewQueryVariableBuilder(name).
		Label(caption).
		Datasource(dataSource()).
		Query(dashboard.StringOrMap{String: new(fmt.Sprintf("label_values(%s, %s)", series, label))}).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortNaturalAsc)
}

// annotations is the object with the list of annotations in Grafana's JSON.
type annotations struct {
	List []annotation `json:"list"`
}

// annotation marks times in graphs. Consecutive samples of a series become one region.
type annotation struct {
	dashboard.AnnotationQuery

	TitleFormat     string `json:"titleFormat"`
	TextFormat      string `json:"textFormat"`
	UseValueForTime bool   `json:"useValueForTime"`

	// Expr and Step repeat fields of Target, because Grafana 10 reads only Expr and Step.
	Expr string `json:"expr"`
	Step string `json:"step"`
}

// mark returns an annotation. Its step is a usual scrape interval, 30 s. A longer step would miss short
// runs. Grafana uses a longer one if the time range is several days.
func mark(name, color, expression, title, text string) annotation {
	const step = "30s"
	source := dataSource()
	expression = clustered(expression)
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

// links returns the links to the other dashboards of cephtune, and to Ceph's and Rook's dashboards if they
// are imported. Grafana finds dashboards by their tags. The links to cephtune's dashboards pass no
// variables on, because a benchmark and a sweep have different names.
func links() []dashboard.DashboardLink {
	siblings := dashboardsTagged("cephtune", "The other dashboards of cephtune", tag)
	siblings.IncludeVars = false
	return []dashboard.DashboardLink{
		siblings,
		dashboardsTagged("Ceph", "Ceph's own dashboards", "ceph-mixin"),
		dashboardsTagged("Rook", "Dashboards of pools and OSDs as Rook ships them", "ceph"),
	}
}

// dashboardsTagged links to all dashboards with a tag. The link passes on the values of variables, such as
// the chosen pools.
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
