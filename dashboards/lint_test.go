package dashboards

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/cephtune/cephtune/internal/testing/constants"
)

func TestCommittedDashboardsAreTheGeneratedOnes(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file.Name)
		if err != nil {
			t.Error(err)
		} else if string(text) != string(file.JSON) {
			t.Errorf("%s is not what is generated; run \"make dashboards\" in the project's root and commit the result", file.Name)
		}
	}
}

func TestUIDsStay(t *testing.T) {
	want := map[string]string{"sweep": "cephtune-sweep", "benchmark": "cephtune-benchmark", "fleet": "cephtune-fleet"}
	for name, dashboard := range committed(t) {
		if dashboard.UID != want[name] {
			t.Errorf("%s has the uid %q, want %q: people and other dashboards link to it", name, dashboard.UID, want[name])
		}
	}
}

func TestDashboardsAsAWhole(t *testing.T) {
	for name, dashboard := range committed(t) {
		if dashboard.Title == "" || dashboard.Description == "" {
			t.Errorf("%s has no title or no description", name)
		}
		if dashboard.Editable { // uneditable-dashboard
			t.Errorf("%s can be edited: what is provisioned would overwrite it", name)
		}
		if dashboard.Refresh == "" {
			t.Errorf("%s does not refresh", name)
		}
		if dashboard.SchemaVersion != 38 {
			t.Errorf("%s has schema version %d, want 38, that of Grafana 10", name, dashboard.SchemaVersion)
		}
		if !slices.Contains(dashboard.Tags, tag) || slices.Contains(dashboard.Tags, "ceph") {
			t.Errorf("%s has tags %q: links look for %q, and \"ceph\" is Rook's", name, dashboard.Tags, tag)
		}
		for _, wanted := range []string{"ceph-mixin", "ceph", tag} {
			found := false
			for _, link := range dashboard.Links {
				found = found || link.Type == "dashboards" && link.IncludeVars == (wanted != tag) && slices.Contains(link.Tags, wanted)
			}
			if !found {
				t.Errorf("%s has no link to the dashboards tagged %q", name, wanted)
			}
		}
	}
}

func TestPanelsAreComplete(t *testing.T) {
	for name, dashboard := range committed(t) {
		seen := map[int]string{}
		titles := map[string]bool{}
		for _, panel := range dashboard.Panels {
			if other, twice := seen[panel.ID]; twice || panel.ID == 0 {
				t.Errorf("%s: %q and %q have the id %d", name, panel.Title, other, panel.ID)
			}
			seen[panel.ID] = panel.Title
		}
		for _, panel := range dashboard.panels() {
			checkPanel(t, name, panel)
			if titles[panel.Title] {
				t.Errorf("%s has two panels %q", name, panel.Title)
			}
			titles[panel.Title] = true
		}
	}
}

// unitsOfGrafana are the units in Grafana's list that the dashboards use. Grafana treats any other
// unit as a text to write behind figures.
var unitsOfGrafana = []string{"none", "locale", "percentunit", "binBps", "iops", "reqps", "s", "ms", "dateTimeFromNow"}

func checkPanel(t *testing.T, name string, panel panelJSON) {
	t.Helper()
	where := name + ": " + panel.Title
	if panel.Title == "" || panel.Description == "" { // panel-title-description-rule
		t.Errorf("%s: panel %d (%q) has no title or no description", name, panel.ID, panel.Title)
	}
	if unit := panel.FieldConfig.Defaults.Unit; !slices.Contains(unitsOfGrafana, unit) { // panel-units-rule, which checks only some types
		t.Errorf("%s has the unit %q, which is none that Grafana knows by that name, or is not listed here", where, unit)
	}
	if decimals := panel.FieldConfig.Defaults.Decimals; panel.FieldConfig.Defaults.Unit == count && (decimals == nil || *decimals != 0) {
		t.Errorf("%s shows a count with decimals", where)
	}
	if len(strings.Fields(panel.FieldConfig.Defaults.NoValue)) < 3 {
		t.Errorf("%s does not say why it may be empty, but %q", where, panel.FieldConfig.Defaults.NoValue)
	}
	if len(panel.Targets) == 0 { // panel-no-targets-rule
		t.Errorf("%s queries nothing", where)
	}
	checkDataSource(t, where, panel.Datasource) // panel-datasource-rule
	refs := map[string]bool{}
	for _, target := range panel.Targets {
		checkDataSource(t, where+" / "+target.RefID, target.Datasource)
		if target.RefID == "" || refs[target.RefID] {
			t.Errorf("%s has two queries %q", where, target.RefID)
		}
		refs[target.RefID] = true
		if target.Instant == target.Range {
			t.Errorf("%s / %s is both instant and over time, or neither", where, target.RefID)
		}
	}
}

func checkDataSource(t *testing.T, where string, source sourceJSON) {
	t.Helper()
	if source != (sourceJSON{Type: "prometheus", UID: "${datasource}"}) {
		t.Errorf("%s has the data source %+v, not the variable", where, source)
	}
}

func TestPanelsDoNotOverlapAndLeaveNoHoles(t *testing.T) {
	for name, dashboard := range committed(t) {
		taken := map[[2]int]string{}
		bottom := 0
		for _, panel := range dashboard.Panels {
			position := panel.GridPos
			bottom = max(bottom, position.Y+position.H)
			for x := position.X; x < position.X+position.W; x++ {
				for y := position.Y; y < position.Y+position.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s: %q overlaps with %q, or is too wide, at %d,%d", name, panel.Title, other, x, y)
					}
					taken[[2]int{x, y}] = panel.Title
				}
			}
		}
		if len(taken) != 24*bottom {
			t.Errorf("%s has holes: %d of %d places are taken", name, len(taken), 24*bottom)
		}
	}
}

func TestOverridesNameExistingFields(t *testing.T) {
	for name, dashboard := range committed(t) {
		for _, panel := range dashboard.panels() {
			known := map[string]bool{}
			fields := map[string]bool{"Time": true}
			for _, target := range panel.Targets {
				known["byFrameRefID "+target.RefID] = true
				fields["Value #"+target.RefID] = true
			}
			if len(panel.Targets) == 1 {
				fields = map[string]bool{"Time": true, onlyValue: true}
			}
			for _, transformation := range panel.Transformations {
				for field, title := range transformation.Options.RenameByName {
					known["byName "+title] = true
					if strings.HasPrefix(field, "Value") && !fields[field] {
						t.Errorf("%s: %q renames %q, which no query gives", name, panel.Title, field)
					}
				}
				for field := range transformation.Options.ExcludeByName {
					if !fields[field] {
						t.Errorf("%s: %q hides %q, which no query gives", name, panel.Title, field)
					}
				}
			}
			for _, override := range panel.FieldConfig.Overrides {
				options, _ := override.Matcher.Options.(string)
				if override.Matcher.ID != "byRegexp" && !known[override.Matcher.ID+" "+options] {
					t.Errorf("%s: %q changes %s %q, which is not there", name, panel.Title, override.Matcher.ID, options)
				}
			}
		}
	}
}

// A column without a unit shows a bare number, such as 540000000.
func TestColumnsOfFiguresHaveAUnit(t *testing.T) {
	for name, dashboard := range committed(t) {
		for _, panel := range dashboard.panels() {
			if panel.Type == "table" {
				checkColumns(t, name+": "+panel.Title, panel)
			}
		}
	}
}

// TestColumnsOfCountsAreWhole checks columns; checkPanel checks panels.
func TestColumnsOfCountsAreWhole(t *testing.T) {
	for name, dashboard := range committed(t) {
		for _, panel := range dashboard.panels() {
			for _, override := range panel.FieldConfig.Overrides {
				counts, whole := false, false
				for _, property := range override.Properties {
					counts = counts || property.ID == "unit" && property.Value == count
					whole = whole || property.ID == "decimals" && property.Value == 0.0
				}
				if counts && !whole {
					t.Errorf("%s: %s: %v shows a count with decimals", name, panel.Title, override.Matcher.Options)
				}
			}
		}
	}
}

func checkColumns(t *testing.T, where string, panel panelJSON) {
	t.Helper()
	titles, queried := map[string]string{}, map[string]bool{} // by fields
	for _, transformation := range panel.Transformations {
		maps.Copy(titles, transformation.Options.RenameByName)
		if transformation.ID == "configFromData" {
			queried[transformation.Options.ApplyTo.Options] = true
		}
	}
	given := map[string]bool{} // by titles
	for _, override := range panel.FieldConfig.Overrides {
		title, _ := override.Matcher.Options.(string)
		for _, property := range override.Properties {
			unit, _ := property.Value.(string)
			given[title] = given[title] || property.ID == "mappings" || property.ID == "unit" && slices.Contains(unitsOfGrafana, unit)
		}
	}
	for field, title := range titles {
		if strings.HasPrefix(field, onlyValue) && given[title] == queried[field] {
			t.Errorf("%s: the column %q has a unit: %t, and takes one from a query: %t; it needs one of them", where, title, given[title], queried[field])
		}
	}
}

func TestEveryMetricOfSweepsIsOneKindOfObjective(t *testing.T) {
	found := 0
	for _, c := range constants.Of(t, "../api/v1alpha1/common_types.go") {
		if !strings.HasPrefix(c.Name, "Metric") {
			continue
		}
		found++
		var kinds []string
		for _, target := range objectives() {
			selector, err := promQL().ParseMetricSelector("{" + target.metric + "}")
			if err != nil {
				t.Fatal(err)
			}
			if selector[0].Matches(c.Value) {
				kinds = append(kinds, target.id)
			}
		}
		if len(kinds) != 1 {
			t.Errorf("%s is an objective of the kinds %q, want one", c.Value, kinds)
		}
	}
	if found < 8 {
		t.Errorf("only %d metrics", found)
	}
}

func TestVariables(t *testing.T) {
	for name, dashboard := range committed(t) {
		var names []string
		for _, variable := range dashboard.Templating.List {
			names = append(names, variable.Name)
			checkVariable(t, name, variable)
		}
		want := []string{"datasource", "cluster", "namespace", "name"}
		if name == "fleet" {
			want = want[:3]
		}
		if len(names) < len(want) || !slices.Equal(names[:len(want)], want) {
			t.Errorf("%s has the variables %q, want %q first", name, names, want)
		}
	}
}

func checkVariable(t *testing.T, name string, variable variableJSON) {
	t.Helper()
	if variable.Label == "" || variable.Description == "" {
		t.Errorf("%s: the variable %s has no label or no description", name, variable.Name)
	}
	if variable.Type == "datasource" { // template-datasource-rule
		if variable.Name != "datasource" || variable.Label != "Data source" || variable.Query != "prometheus" {
			t.Errorf("%s: the data source is %+v", name, variable)
		}
		return
	}
	checkDataSource(t, name+": the variable "+variable.Name, variable.Datasource)
	if variable.Refresh != 2 { // template-on-time-change-reload-rule
		t.Errorf("%s: the variable %s is not reloaded when the time range changes", name, variable.Name)
	}
	if variable.IncludeAll && (variable.AllValue != ".*" || !variable.Multi) {
		t.Errorf("%s: all values of %s are %q, want .*: a list of all of them grows without bounds", name, variable.Name, variable.AllValue)
	}
}

func TestVariablesAreUsed(t *testing.T) {
	for name, dashboard := range committed(t) {
		for _, variable := range dashboard.Templating.List {
			used := 0
			for _, query := range dashboard.queries() {
				used += strings.Count(query.Expr, "$"+variable.Name)
			}
			for _, other := range dashboard.Templating.List {
				used += strings.Count(other.Query, "$"+variable.Name)
			}
			if variable.Type != "datasource" && used == 0 {
				t.Errorf("%s: nothing uses the variable %s", name, variable.Name)
			}
		}
	}
}

func TestQueriesKeepTheRules(t *testing.T) {
	for name, dashboard := range committed(t) {
		for where, query := range dashboard.queries() {
			expression, err := promQL().ParseExpr(filled(query.Expr, map[string]string{}))
			if err != nil { // target-promql-rule
				t.Errorf("%s: %s: %v", name, where, err)
				continue
			}
			counters(t, name+": "+where, expression)
		}
		for _, match := range rates.FindAllStringSubmatch(everyExpression(dashboard), -1) { // target-rate-interval-rule
			if match[2] != "$__rate_interval" {
				t.Errorf("%s: a rate is over %s, want $__rate_interval", name, match[2])
			}
		}
	}
}

var rates = regexp.MustCompile(`\bi?rate\(([^\[\]]*)\[([^\]]*)\]`)

func everyExpression(dashboard dashboardFile) string {
	var text strings.Builder
	for _, query := range dashboard.queries() {
		text.WriteString(query.Expr + "\n")
	}
	return text.String()
}

// counters checks, as target-counter-agg-rule does, that counters are only used in a rate or
// increase. It also checks that the result is aggregated, because it has labels of the scrape.
func counters(t *testing.T, where string, expression parser.Expr) {
	t.Helper()
	parser.Inspect(expression, func(node parser.Node, path []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok || !isCounter(selector.Name) {
			return nil
		}
		rated, aggregated := false, false
		for _, parent := range path {
			switch parent := parent.(type) {
			case *parser.Call:
				rated = rated || slices.Contains([]string{"rate", "irate", "increase"}, parent.Func.Name)
			case *parser.AggregateExpr:
				aggregated = true
			}
		}
		if !rated || !aggregated {
			t.Errorf("%s: the counter %s is not in an aggregated rate or increase", where, selector.Name)
		}
		return nil
	})
}

func isCounter(name string) bool {
	return strings.HasSuffix(name, "_total") && name != cephPGs || strings.HasSuffix(name, "_bucket") ||
		slices.Contains([]string{
			cephPoolRead, cephPoolReadBytes, cephPoolWrite, cephPoolWritten,
			cephOSDReadLatency + "_sum", cephOSDReadLatency + "_count", cephOSDWriteLatency + "_sum", cephOSDWriteLatency + "_count",
		}, name)
}

func TestMetricsAreOfTheContractOrOfCephOrOfNodes(t *testing.T) {
	ours := metricConstants(t)
	ceph := []string{
		cephHealth, cephPoolMetadata, cephPoolRead, cephPoolReadBytes, cephPoolWrite, cephPoolWritten,
		cephOSDCommit, cephOSDUp, cephOSDIn, cephDaemonHealth, cephOSDSize, cephOSDUsed,
		cephOSDReadLatency + "_sum", cephOSDReadLatency + "_count", cephOSDWriteLatency + "_sum", cephOSDWriteLatency + "_count",
		cephPGs, cephPGsClean, cephMisplaced, cephDegraded, cephOSDMetadata,
	}
	node := []string{nodeInfo, nodeCPU, nodeReceived, nodeSent, nodeDiskRead, nodeDiskWritten, nodeDiskBusy}
	used := map[string]bool{}
	for name, dashboard := range committed(t) {
		for where, query := range dashboard.queries() {
			for _, metric := range metricsOf(t, query.Expr) {
				used[metric] = true
				base := strings.TrimSuffix(metric, "_bucket")
				if !slices.Contains(slices.Concat(ours, ceph, node), metric) && !slices.Contains(ours, base) {
					t.Errorf("%s: %s uses %s, which is neither in internal/metrics nor one of those of Ceph and of nodes that are listed", name, where, metric)
				}
			}
		}
	}
	for _, metric := range slices.Concat(ours, ceph, node) {
		if !used[metric] && !used[metric+"_bucket"] {
			t.Errorf("no dashboard shows %s", metric)
		}
	}
}

// otherLabels are the labels in queries that are not part of the contract: labels of Ceph's metrics
// and of the node exporter's, of every scrape and of histograms, and labels that queries create.
var otherLabels = []string{
	"instance", "pool_id", labelDaemon, "type", "hostname", "nodename", "mode", "device", "le", "__name__",
	"of", unitLabel, labelWhat, labelCommand, labelHost, labelKubernetes,
}

var inBraces = regexp.MustCompile(`{{([^}]*)}}`)

func TestLabelsAreOfTheContract(t *testing.T) {
	known := slices.Concat(texts(t, "Label"), otherLabels)
	for name, dashboard := range committed(t) {
		for where, query := range dashboard.queries() {
			used := labelsOf(t, query.Expr)
			for _, match := range inBraces.FindAllStringSubmatch(query.LegendFormat, -1) {
				used = append(used, match[1])
			}
			for _, label := range used {
				if !slices.Contains(known, label) {
					t.Errorf("%s: %s uses the label %q, which internal/metrics does not have", name, where, label)
				}
			}
		}
		for _, annotation := range dashboard.Annotations.List {
			for _, match := range inBraces.FindAllStringSubmatch(annotation.TitleFormat+annotation.TextFormat, -1) {
				if !slices.Contains(labelsOf(t, annotation.Target.Expr), match[1]) {
					t.Errorf("%s: the annotation %q says %s, which its query does not give", name, annotation.Name, match[1])
				}
			}
		}
	}
}

// labelsOf returns the labels by which an expression selects, groups or joins.
func labelsOf(t *testing.T, expression string) []string {
	t.Helper()
	parsed, err := promQL().ParseExpr(filled(expression, map[string]string{}))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			for _, matcher := range node.LabelMatchers {
				names = append(names, matcher.Name)
			}
		case *parser.AggregateExpr:
			names = append(names, node.Grouping...)
		case *parser.BinaryExpr:
			if node.VectorMatching != nil {
				names = append(names, node.VectorMatching.MatchingLabels...)
				names = append(names, node.VectorMatching.Include...)
			}
		}
		return nil
	})
	return names
}

func metricsOf(t *testing.T, expression string) []string {
	t.Helper()
	parsed, err := promQL().ParseExpr(filled(expression, map[string]string{}))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			names = append(names, selector.Name)
		}
		return nil
	})
	return names
}

// metricConstants returns the names of all metrics.
func metricConstants(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(texts(t, ""), func(text string) bool { return !strings.HasPrefix(text, "cephtune_") })
}

// texts returns the values of the contract's constants whose names have a prefix.
func texts(t *testing.T, prefix string) []string {
	t.Helper()
	const names = "../internal/metrics/names.go"
	var all []string
	for _, c := range constants.Of(t, names) {
		if strings.HasPrefix(c.Name, prefix) {
			all = append(all, c.Value)
		}
	}
	if len(all) < 10 {
		t.Fatalf("%s has only %d constants %s…", names, len(all), prefix)
	}
	return all
}

func TestMetricsAreNotNamedInText(t *testing.T) {
	sources, err := filepath.Glob("*.go")
	if err != nil || len(sources) == 0 {
		t.Fatalf("sources %q, %v", sources, err)
	}
	for _, source := range sources {
		if strings.HasSuffix(source, "_test.go") {
			continue
		}
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"cephtune_`) {
			t.Errorf("%s names a metric in text; use the constant of internal/metrics", source)
		}
	}
}
