package dashboards

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// mayBeEmpty lists the panels that show nothing for a choice of variables, with the reason. All
// other panels must show something for every choice.
var mayBeEmpty = map[string]map[string]string{
	"sweep cephtune-bench/pg-num": {
		"Expected to end": "it has ended",
		"Measuring now":   "it has ended",
	},
	"sweep cephtune-bench/profile": {
		"Verdict":                  "it has not ended",
		"What it found":            "it has not ended",
		"Constraints":              "it has none",
		"Noise floor":              "it has not ended",
		"Smallest provable effect": "it has not ended",
	},
	"sweep lab/depth": {
		"Expected to end": "it ended before the time range",
		"Measuring now":   "it ended before the time range",
		"Constraints":     "it has none",
	},
	"benchmark lab/smoke": {
		"Regressed":                             "it has too few run IDs",
		"Verdict":                               "it has no expectations",
		"What it found":                         "its run has not ended",
		"Expectations":                          "it has no expectations",
		"Sustainable rate, run after run":       "it has no curve",
		"Sustainable rate against earlier runs": "it has no curve",
		"Time to clean, run after run":          "it has no outage",
		"Time to clean against earlier runs":    "it has no outage",
	},
}

// emptyAnnotations lists the annotations that show nothing, with the reason.
var emptyAnnotations = map[string]string{
	"benchmark lab/smoke / Regressed":                        "it has too few run IDs",
	"sweep cephtune-bench/profile / Runs of the baseline":    "its first run is that of another configuration",
	"sweep lab/depth / Runs of the baseline":                 "it ended before the time range",
	"sweep lab/depth / Runs of configurations, and sessions": "it ended before the time range",
}

// wantChoices are the choices that the recorded data offers.
var wantChoices = []string{
	"benchmark cephtune-bench/nightly", "benchmark lab/smoke", "fleet .*/",
	"sweep cephtune-bench/pg-num", "sweep cephtune-bench/profile", "sweep lab/depth",
}

func TestEveryPanelShowsRecordedData(t *testing.T) {
	prometheus := server{storage: recorded(t), engine: engine()}
	var choices []string
	for name, dashboard := range committed(t) {
		answered := map[string]bool{}
		for _, values := range prometheus.choices(t, dashboard) {
			choice := fmt.Sprintf("%s %s/%s", name, values["namespace"], values["name"])
			choices = append(choices, choice)
			t.Run(choice, func(t *testing.T) {
				prometheus.checkPanels(t, dashboard, values, mayBeEmpty[choice], answered)
				prometheus.checkAnnotations(t, dashboard, values, choice)
			})
		}
		for _, panel := range dashboard.panels() {
			for _, target := range panel.Targets {
				if !isReason(target) && !answered[panel.Title+" / "+target.RefID] {
					t.Errorf("%s: %q / %s has no answer for any choice: %s", name, panel.Title, target.RefID, target.Expr)
				}
			}
		}
	}
	slices.Sort(choices)
	if !slices.Equal(choices, wantChoices) {
		t.Errorf("variables offer %q, want %q", choices, wantChoices)
	}
}

// checkPanels checks that every panel shows something for these values of variables, unless it is
// excused. It notes in answered which queries have results.
func (s server) checkPanels(t *testing.T, dashboard dashboardFile, values, excuses map[string]string, answered map[string]bool) {
	t.Helper()
	unused := maps.Clone(excuses)
	for _, panel := range dashboard.panels() {
		shown := false
		for _, target := range panel.Targets {
			if isReason(target) {
				continue
			}
			if s.shows(t, panel, target, values) {
				shown = true
				answered[panel.Title+" / "+target.RefID] = true
			}
		}
		reason, excused := excuses[panel.Title]
		delete(unused, panel.Title)
		if !shown && !excused {
			t.Errorf("%q shows nothing", panel.Title)
		}
		if shown && excused {
			t.Errorf("%q shows something, although %s", panel.Title, reason)
		}
	}
	for title := range unused {
		t.Errorf("mayBeEmpty has %q, which is no panel", title)
	}
}

// isReason reports whether a query only says why a table is empty.
func isReason(target targetJSON) bool { return target.RefID == reasonID }

// A bar chart, and a table with several queries, must say why they are empty, and only if they are.
// Grafana itself would show an error, or only "No data".
func TestReasonsAreShownWhereThereIsNothingElse(t *testing.T) {
	prometheus := server{storage: recorded(t), engine: engine()}
	for name, dashboard := range committed(t) {
		nobody := map[string]string{"namespace": "nobody", "name": "nothing", "ceph_cluster": "none"}
		for _, panel := range dashboard.panels() {
			if panel.Type != "barchart" && (panel.Type != "table" || len(panel.Targets) == 1) {
				continue
			}
			reasons := 0
			for _, target := range panel.Targets {
				for _, row := range prometheus.atTheEnd(t, target, nobody) {
					if !strings.Contains(row, panel.FieldConfig.Defaults.NoValue) {
						t.Errorf("%s: %q shows %s of nobody", name, panel.Title, row)
					}
					reasons++
				}
			}
			if reasons == 0 {
				t.Errorf("%s: %q does not say why it is empty", name, panel.Title)
			}
			for _, values := range prometheus.choices(t, dashboard) {
				wantNoReason(t, prometheus, panel, values)
			}
		}
	}
}

// wantNoReason checks that a panel with data does not say why it has none.
func wantNoReason(t *testing.T, s server, panel panelJSON, values map[string]string) {
	t.Helper()
	rows, reasons := 0, 0
	for _, target := range panel.Targets {
		for _, row := range s.atTheEnd(t, target, values) {
			if strings.Contains(row, panel.FieldConfig.Defaults.NoValue) {
				reasons++
			} else {
				rows++
			}
		}
	}
	if rows > 0 && reasons > 0 || rows+reasons == 0 {
		t.Errorf("%q of %v has %d rows, and says %d times why it is empty", panel.Title, values, rows, reasons)
	}
}

func (s server) checkAnnotations(t *testing.T, dashboard dashboardFile, values map[string]string, choice string) {
	t.Helper()
	for _, annotation := range dashboard.Annotations.List {
		shown := len(s.ask(t, annotation.Target, values)) > 0
		reason, excused := emptyAnnotations[choice+" / "+annotation.Name]
		if shown == excused {
			t.Errorf("the annotation %q shows something: %t (%s)", annotation.Name, shown, reason)
		}
	}
}

// TestFigures compares the content of panels, to find queries that have results but answer the
// wrong question.
func TestFigures(t *testing.T) {
	prometheus := server{storage: recorded(t), engine: engine()}
	dashboards := committed(t)
	for _, test := range []struct {
		dashboard, choice, panel, query string
		want                            []string
	}{
		{"sweep", "cephtune-bench/pg-num", "Verdict", "A", []string{
			`best="pg_num=64" ceph_cluster="rook-ceph/my-cluster" metric="Bandwidth" reason="Complete" summary="pg_num=64 is 31 % faster than pg_num=16 (95 % interval 24 % to 38 %), from 8 ` +
				`blocks." verdict="Superior" = 1`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Difference to the baseline, with its interval", "gap", []string{
			`configuration="pg_num=32" = 0`, `configuration="pg_num=64" = 0.24`, `configuration="pg_num=8" = 0`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Difference to the baseline, with its interval", "lower", []string{
			`configuration="pg_num=32" = 0.01`, `configuration="pg_num=64" = 0.07`, `configuration="pg_num=8" = 0`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Difference to the baseline, with its interval", "upper", []string{
			`configuration="pg_num=32" = 0.04`, `configuration="pg_num=64" = 0.07`, `configuration="pg_num=8" = 0`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Difference to the baseline, with its interval", "gap_below", []string{
			`configuration="pg_num=32" = 0`, `configuration="pg_num=64" = 0`, `configuration="pg_num=8" = -0.23`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Difference to the baseline, with its interval", "upper_below", []string{
			`configuration="pg_num=32" = 0`, `configuration="pg_num=64" = 0`, `configuration="pg_num=8" = -0.06`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Difference to the baseline, with its interval", "lower_below", []string{
			`configuration="pg_num=32" = -0.03`, `configuration="pg_num=64" = 0`, `configuration="pg_num=8" = -0.05`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Configurations", "ratio", []string{
			`configuration="pg_num=32" verdict="Equivalent" = 1.01`, `configuration="pg_num=64" verdict="Superior" = 1.31`, `configuration="pg_num=8" verdict="Inferior" = 0.71`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Configurations", "typical", []string{
			`configuration="baseline" = 404000000`, `configuration="pg_num=32" = 410000000`, `configuration="pg_num=64" = 535000000`, `configuration="pg_num=8" = 288000000`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Difference to the baseline, and the minimum effect", "below", []string{"= -0.1"}},
		{"sweep", "cephtune-bench/pg-num", "Difference to the baseline, and the minimum effect", "low", []string{
			`configuration="pg_num=32" = -0.03`, `configuration="pg_num=64" = 0.24`, `configuration="pg_num=8" = -0.34`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Hosts short of CPU", "A", []string{"= 2"}},
		{"benchmark", "cephtune-bench/nightly", "Bandwidth, run after run", "limit", []string{`direction="Total" metric="Bandwidth" phase="write-4m" = 367001600`}},
		{"sweep", "cephtune-bench/pg-num", "Configurations", "unit", []string{`unit="binBps" = 1`}},
		{"sweep", "cephtune-bench/profile", "Configurations", "unit", []string{`unit="s" = 1`}},
		{"sweep", "lab/depth", "Configurations", "unit", []string{`unit="iops" = 1`}},
		{"sweep", "cephtune-bench/pg-num", "Every run's figure", "bandwidth_best", []string{`configuration="pg_num=64" = 540000000`}},
		{"sweep", "cephtune-bench/pg-num", "Every run's figure", "bandwidth_baseline", []string{`configuration="baseline" = 408000000`}},
		{"sweep", "cephtune-bench/pg-num", "Every run's figure", "bandwidth_others", []string{
			`configuration="pg_num=32" = 414000000`, `configuration="pg_num=8" = 291000000`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Every run's figure", "time_best", nil},
		{"sweep", "cephtune-bench/profile", "Every run's figure", "time_best", []string{`configuration="profile=high_client_ops" = 0.0114`}},
		{"sweep", "cephtune-bench/profile", "Measuring now", "A", []string{`configuration="profile=high_client_ops" measuring="profile=high_client_ops · run 4" run="4" = 1`}},
		{"sweep", "cephtune-bench/profile", "Measurements over time", "A", []string{
			`configuration="baseline" = 0`, `configuration="profile=balanced" = 0`, `configuration="profile=high_client_ops" = 1`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Commit latency by OSD", "osd", []string{
			`ceph_daemon="osd.0" = 1`, `ceph_daemon="osd.1" = 4`, `ceph_daemon="osd.2" = 7`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Commit latency by OSD", "mean", []string{"= 4"}},
		{"benchmark", "cephtune-bench/nightly", "Read latency by OSD", "osd", []string{
			`ceph_daemon="osd.0" = 0.002`, `ceph_daemon="osd.1" = 0.0025`, `ceph_daemon="osd.2" = 0.006`,
		}},
		{"benchmark", "cephtune-bench/nightly", "Read latency by OSD", "mean", []string{"= 0.0035"}},
		{"sweep", "cephtune-bench/pg-num", "Write latency by OSD", "osd", []string{
			`ceph_daemon="osd.0" = 0.004`, `ceph_daemon="osd.1" = 0.005`, `ceph_daemon="osd.2" = 0.012`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Write latency by OSD", "mean", []string{"= 0.007"}},
		{"benchmark", "cephtune-bench/nightly", "Used space by OSD", "osd", []string{
			`ceph_daemon="osd.0" = 0.406`, `ceph_daemon="osd.1" = 0.388`, `ceph_daemon="osd.2" = 0.65`,
		}},
		{"benchmark", "cephtune-bench/nightly", "Slow operations by OSD", "osd", []string{
			`ceph_daemon="osd.0" = 0`, `ceph_daemon="osd.1" = 0`, `ceph_daemon="osd.2" = 0`,
		}},
		{"sweep", "cephtune-bench/pg-num", "CPU of hosts", "cpu", []string{`host="node-a" = 0.8898`, `host="node-b" = 0.9855`, `host="node-c" = 0.9863`}},
		// OSDs of the second Ceph cluster run on two of the hosts.
		{"sweep", "cephtune-bench/profile", "CPU of hosts", "cpu", []string{`host="node-b" = 0.9855`, `host="node-c" = 0.9863`}},
		{"benchmark", "lab/smoke", "Busiest disk of hosts", "busy", []string{`host="node-b" = 0.011`, `host="node-c" = 0.01`}},
		{"benchmark", "cephtune-bench/nightly", "Disk traffic of hosts", "written", []string{
			`host="node-a" = 2381735.2533`, `host="node-b" = 5597102.08`, `host="node-c" = 6761990.8267`,
		}},
		// The loopback interface of node-a received more.
		{"benchmark", "cephtune-bench/nightly", "Network of hosts", "received", []string{
			`host="node-a" = 2629.615`, `host="node-b" = 3018.9567`, `host="node-c" = 2953.2567`,
		}},
		{"sweep", "cephtune-bench/pg-num", "Commands", "commands", []string{
			`command="kubectl cephtune report cephtuningsweep/pg-num -n cephtune-bench --to pg-num.html" what="Report" = 1`,
			`command="kubectl cephtune restore cephtuningsweep/pg-num -n cephtune-bench" what="Settings to be restored" = 1`,
			`command="kubectl get cephtuningsweep pg-num -n cephtune-bench -o yaml" what="Object with its status" = 1`,
		}},
		{"benchmark", "lab/smoke", "Commands", "commands", []string{
			`command="kubectl cephtune report cephbenchmark/smoke -n lab --to smoke.html" what="Report" = 1`,
			`command="kubectl cephtune restore cephbenchmark/smoke -n lab" what="OSDs to be restored" = 1`,
			`command="kubectl get cephbenchmark smoke -n lab -o yaml" what="Object with its status" = 1`,
		}},
		{"benchmark", "cephtune-bench/nightly", "Bandwidth against earlier runs", "lowest", []string{
			`direction="Read" phase="mixed-16k" = 18200000`, `direction="Total" phase="randread-4k" = 12831000`,
			`direction="Total" phase="write-4m" = 374920000`, `direction="Write" phase="mixed-16k" = 7826000`,
		}},
		{"benchmark", "cephtune-bench/nightly", "Latency percentiles", "p99_9", []string{
			`direction="Read" of="mixed-16k Read" phase="mixed-16k" = 0.044`, `direction="Total" of="randread-4k Total" phase="randread-4k" = 0.0341`,
			`direction="Total" of="write-4m Total" phase="write-4m" = 0.6593`, `direction="Write" of="mixed-16k Write" phase="mixed-16k" = 0.0879`,
		}},
		{"sweep", "cephtune-bench/profile", "Objective", "A", []string{`better="lower" metric="LatencyP99" objective="LatencyP99, lower is better" = 1`}},
		{"sweep", "cephtune-bench/pg-num", "Constraints", "A", []string{`constraints="Kept" = 1`}},
		{"sweep", "cephtune-bench/pg-num", "Noise floor", "A", []string{"= 0.032"}},
		{"sweep", "cephtune-bench/pg-num", "Smallest provable effect", "A", []string{"= 0.071"}},
		{"benchmark", "cephtune-bench/nightly", "Phases", "low", []string{
			`direction="Total" phase="randread-4k" = 12400000`, `direction="Total" phase="write-4m" = 361000000`,
		}},
		{"benchmark", "cephtune-bench/nightly", "Phases", "runs", []string{
			`direction="Read" phase="mixed-16k" = 3`, `direction="Total" marks="Cached, ClosedLoop" phase="randread-4k" = 3`,
			`direction="Total" marks="ClosedLoop" phase="write-4m" = 3`, `direction="Write" phase="mixed-16k" = 3`,
		}},
		{"benchmark", "cephtune-bench/nightly", "Expectations", "expectations", []string{`outcome="Met" = 2`, `outcome="Missed" = 1`}},
		{"fleet", ".*/", "Stalled", "A", []string{"= 1"}},
		{"fleet", ".*/", "Not read", "A", []string{"= 0"}},
		{"fleet", ".*/", "Waiting", "A", []string{"= 1"}},
		{"fleet", ".*/", "Not restored", "A", []string{"= 1"}},
		{"fleet", ".*/", "Sweeps measuring", "A", []string{"= 1"}},
		{"fleet", ".*/", "Benchmarks measuring", "A", []string{"= 2"}},
		{"fleet", ".*/", "Benchmarks", "progress", []string{
			`name="nightly" namespace="cephtune-bench" = 1`, `name="smoke" namespace="lab" = 0.66`,
		}},
		{"fleet", ".*/", "Findings of diagnoses", "findings", []string{`code="SlowOSDs" confidence="Likely" name="why-slow" namespace="cephtune-bench" = 1`}},
		{"benchmark", "cephtune-bench/nightly", "Time to clean against earlier runs", "latest", []string{`direction="Total" phase="write-4m" = 73.9`}},
		{"fleet", ".*/", "Lock and queue now", "osds", []string{
			`ceph_cluster="rook-ceph-second/second" = 0`, `ceph_cluster="rook-ceph/my-cluster" = 1`,
		}},
		{"fleet", ".*/", "Lock and queue now", "held", []string{
			`ceph_cluster="rook-ceph-second/second" holder="CephTuningSweep/cephtune-bench/profile" = 1`,
			`ceph_cluster="rook-ceph/my-cluster" holder="CephBenchmark/cephtune-bench/nightly" = 1`,
		}},
	} {
		t.Run(test.dashboard+" "+test.choice+" "+test.panel+" "+test.query, func(t *testing.T) {
			values := prometheus.choice(t, dashboards[test.dashboard], test.choice)
			target := dashboards[test.dashboard].query(t, test.panel, test.query)
			if got := prometheus.atTheEnd(t, target, values); !slices.Equal(got, test.want) {
				t.Errorf("it shows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// A cluster can have thousands of OSDs, which no graph can show.
func TestGraphsOfOSDsShowTheHighestOfTheTimeRange(t *testing.T) {
	db, err := tsdb.Open(t.TempDir(), nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	appender := db.Appender(t.Context())
	for moment := begun; !moment.After(ended); moment = moment.Add(scrapeInterval) {
		for osd := range mostOSDs + 5 {
			latency := float64(osd)
			if osd == 0 && moment.Equal(begun.Add(15*time.Minute)) {
				latency = 100 // for one scrape only
			}
			series := labels.FromStrings("__name__", cephOSDCommit, labelDaemon, fmt.Sprintf("osd.%d", osd), "namespace", "rook-ceph")
			if _, err := appender.Append(0, series, moment.UnixMilli(), latency); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := appender.Commit(); err != nil {
		t.Fatal(err)
	}
	prometheus := server{storage: db, engine: engine()}
	shown := map[string]int{}
	for _, series := range prometheus.ask(t, committed(t)["sweep"].query(t, "Commit latency by OSD", "osd"), map[string]string{"ceph_namespace": "rook-ceph"}) {
		shown[series.Metric.Get(labelDaemon)] = len(series.Floats)
	}
	if len(shown) != mostOSDs {
		t.Errorf("%d OSDs are shown, want %d", len(shown), mostOSDs)
	}
	steps := int(ended.Sub(begun)/scrapeInterval) + 1
	for _, osd := range []string{"osd.0", "osd.6", "osd.24"} {
		if shown[osd] != steps {
			t.Errorf("%s is shown at %d of %d steps", osd, shown[osd], steps)
		}
	}
}

// query returns a query of a panel.
func (d dashboardFile) query(t *testing.T, title, id string) targetJSON {
	t.Helper()
	for _, panel := range d.panels() {
		for _, target := range panel.Targets {
			if panel.Title == title && target.RefID == id {
				return target
			}
		}
	}
	t.Fatalf("%s has no panel %q with a query %q", d.Title, title, id)
	return targetJSON{}
}

// promQL returns the parser of a Prometheus without experimental functions.
func promQL() parser.Parser { return parser.NewParser(parser.Options{}) }

func engine() *promql.Engine {
	return promql.NewEngine(promql.EngineOpts{
		MaxSamples:           1_000_000,
		Timeout:              time.Minute,
		EnableAtModifier:     true,
		EnableNegativeOffset: true,
		Parser:               promQL(),
	})
}

// server answers queries as Prometheus does, and replaces variables as Grafana does.
type server struct {
	storage storage.Queryable
	engine  *promql.Engine
}

// filled replaces the variables in a query by values. Grafana's own variables get values for the
// whole recorded time and for a rate interval of four scrapes.
func filled(expression string, values map[string]string) string {
	for _, pair := range [][2]string{{"$__rate_interval", "1m"}, {"$__range", "30m"}, {"$__interval", "15s"}} {
		expression = strings.ReplaceAll(expression, pair[0], pair[1])
	}
	// Longer names must come first, because $namespace begins with $name.
	names := []string{"ceph_namespace", "ceph_cluster", "namespace", "name", "pool", "host", "cluster"}
	for _, name := range names {
		value, chosen := values[name]
		if !chosen {
			value = "some-" + name
		}
		expression = strings.ReplaceAll(expression, "$"+name, value)
	}
	return expression
}

// ask returns the series of a result that have at least one finite value.
func (s server) ask(t *testing.T, target targetJSON, values map[string]string) []promql.Series {
	t.Helper()
	expression := filled(target.Expr, values)
	var query promql.Query
	var err error
	if target.Instant {
		query, err = s.engine.NewInstantQuery(t.Context(), s.storage, nil, expression, ended)
	} else {
		query, err = s.engine.NewRangeQuery(t.Context(), s.storage, nil, expression, begun, ended, scrapeInterval)
	}
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	defer query.Close()
	result := query.Exec(t.Context())
	if result.Err != nil {
		t.Fatalf("%s: %v", expression, result.Err)
	}
	// Only warnings fail the test. Ceph's counters cause an info message, because their names do
	// not end with _total.
	if warnings, _ := result.Warnings.AsStrings(expression, 0, 0); len(warnings) > 0 {
		t.Errorf("%s: %v", expression, warnings)
	}
	var matrix promql.Matrix
	switch value := result.Value.(type) {
	case promql.Matrix:
		matrix = value
	case promql.Vector:
		for _, sample := range value {
			matrix = append(matrix, promql.Series{Metric: sample.Metric, Floats: []promql.FPoint{{T: sample.T, F: sample.F}}})
		}
	default:
		t.Fatalf("%s gives a %s, which panels cannot show", expression, value.Type())
	}
	var shown []promql.Series
	for _, series := range matrix {
		if slices.ContainsFunc(series.Floats, func(point promql.FPoint) bool { return !math.IsNaN(point.F) && !math.IsInf(point.F, 0) }) {
			shown = append(shown, promql.Series{Metric: series.Metric, Floats: slices.Clone(series.Floats)})
		}
	}
	return shown
}

// shows reports whether a panel can show the result of a query. A panel that shows a label needs a
// value of that label.
func (s server) shows(t *testing.T, panel panelJSON, target targetJSON, values map[string]string) bool {
	t.Helper()
	series := s.ask(t, target, values)
	label := strings.TrimSuffix(strings.TrimPrefix(panel.Options.ReduceOptions.Fields, "/^"), "$/")
	if label == "" {
		label = panel.Options.XField
	}
	if label == "" {
		return len(series) > 0
	}
	return slices.ContainsFunc(series, func(one promql.Series) bool { return one.Metric.Get(label) != "" })
}

// atTheEnd formats the values of a query at the end of the time range.
func (s server) atTheEnd(t *testing.T, target targetJSON, values map[string]string) []string {
	t.Helper()
	var rows []string
	for _, series := range s.ask(t, target, values) {
		last := series.Floats[len(series.Floats)-1]
		if last.T != ended.UnixMilli() {
			continue
		}
		var row []string
		series.Metric.Range(func(label labels.Label) {
			row = append(row, fmt.Sprintf("%s=%q", label.Name, label.Value))
		})
		rounded := math.Round(last.F*1e4) / 1e4
		rows = append(rows, strings.TrimSpace(fmt.Sprintf("%s = %.12g", strings.Join(row, " "), rounded+0)))
	}
	sort.Strings(rows)
	return rows
}

// choices returns all combinations of values that a dashboard's variables offer.
func (s server) choices(t *testing.T, dashboard dashboardFile) []map[string]string {
	t.Helper()
	choices := []map[string]string{{}}
	for _, variable := range dashboard.Templating.List {
		if variable.Type == "datasource" {
			continue
		}
		var next []map[string]string
		for _, values := range choices {
			offered := s.offers(t, variable, values)
			if len(offered) == 0 && variable.Name != labelKubernetes { // The recorded series lack that label.
				t.Fatalf("%s: the variable %s offers nothing for %v", dashboard.Title, variable.Name, values)
			}
			if variable.IncludeAll {
				offered = []string{variable.AllValue}
			}
			for _, value := range offered {
				more := maps.Clone(values)
				more[variable.Name] = value
				next = append(next, more)
			}
		}
		choices = next
	}
	return choices
}

// TestEveryMetricIsOfTheChosenCluster checks that each selector of cephtune's metrics has the matcher, and that it
// lets series without the label through.
func TestEveryMetricIsOfTheChosenCluster(t *testing.T) {
	for name, dashboard := range committed(t) {
		for where, query := range dashboard.queries() {
			expression, err := promQL().ParseExpr(filled(query.Expr, map[string]string{labelKubernetes: ".*"}))
			if err != nil {
				t.Fatal(err)
			}
			parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
				selector, ok := node.(*parser.VectorSelector)
				if !ok || !strings.HasPrefix(selector.Name, "cephtune_") {
					return nil
				}
				i := slices.IndexFunc(selector.LabelMatchers, func(m *labels.Matcher) bool { return m.Name == labelKubernetes })
				if i < 0 || !selector.LabelMatchers[i].Matches("") || !selector.LabelMatchers[i].Matches("east") {
					t.Errorf("%s: %s: %s", name, where, selector)
				}
				return nil
			})
		}
	}
}

// choice returns the combination for NAMESPACE/NAME.
func (s server) choice(t *testing.T, dashboard dashboardFile, choice string) map[string]string {
	t.Helper()
	for _, values := range s.choices(t, dashboard) {
		if values["namespace"]+"/"+values["name"] == choice {
			return values
		}
	}
	t.Fatalf("%s does not offer %s", dashboard.Title, choice)
	return nil
}

var labelValues = regexp.MustCompile(`^label_values\((.*), ([a-z_]+)\)$`)

// offers returns the values that Grafana would offer for a variable: the values of a label in the
// series of the time range.
func (s server) offers(t *testing.T, variable variableJSON, values map[string]string) []string {
	t.Helper()
	parts := labelValues.FindStringSubmatch(variable.Query)
	if parts == nil { // template-label-promql-rule
		t.Fatalf("the variable %s has the query %q, want label_values", variable.Name, variable.Query)
	}
	within := regexp.MustCompile(".+")
	if variable.Regex != "" {
		within = regexp.MustCompile(strings.TrimSuffix(strings.TrimPrefix(variable.Regex, "/"), "/"))
	}
	var offered []string
	for _, series := range s.ask(t, targetJSON{Expr: parts[1], Range: true}, values) {
		match := within.FindStringSubmatch(series.Metric.Get(parts[2]))
		if match != nil && !slices.Contains(offered, match[len(match)-1]) {
			offered = append(offered, match[len(match)-1])
		}
	}
	slices.Sort(offered)
	return offered
}
