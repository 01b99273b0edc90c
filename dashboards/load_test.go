package dashboards

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/tsdb"
)

// BenchmarkQueries evaluates all queries of the dashboards over one day, with as many series as the
// exporter has at most. It reports the 95th percentile and the maximum of their times. The step is
// the one that Grafana uses for a graph of a thousand points.
func BenchmarkQueries(b *testing.B) {
	const (
		series   = 5000
		day      = 24 * time.Hour
		interval = 30 * time.Second
	)
	end := time.Date(2026, 1, 16, 0, 0, 0, 0, time.UTC)
	db := crowded(b, series, end.Add(-day), end, interval)
	engine := engine()
	choices := map[string]map[string]string{
		"sweep":     {"namespace": "cephtune-bench", "name": "pg-num-copy-0", "pool": ".*", "ceph_namespace": "rook-ceph", "host": ".*"},
		"benchmark": {"namespace": "cephtune-bench", "name": "nightly-copy-0", "ceph_namespace": "rook-ceph", "host": ".*"},
		"fleet":     {"namespace": ".*", "ceph_cluster": ".*"},
	}
	var took []time.Duration
	var slowest string
	for b.Loop() {
		for name, dashboard := range committed(b) {
			for where, target := range dashboard.queries() {
				expression := strings.ReplaceAll(filled(target.Expr, choices[name]), "[30m]", "[1d]")
				began := time.Now()
				var query promql.Query
				var err error
				if target.Instant {
					query, err = engine.NewInstantQuery(b.Context(), db, nil, expression, end)
				} else {
					query, err = engine.NewRangeQuery(b.Context(), db, nil, expression, end.Add(-day), end, day/1000)
				}
				if err != nil {
					b.Fatalf("%s: %v", expression, err)
				}
				if result := query.Exec(b.Context()); result.Err != nil {
					b.Fatalf("%s: %v", expression, result.Err)
				}
				query.Close()
				took = append(took, time.Since(began))
				if took[len(took)-1] == slices.Max(took) {
					slowest = name + ": " + where
				}
			}
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms/query")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms/query")
	b.ReportMetric(0, "ns/op")
	b.Logf("the slowest of %d queries: %s", len(took), slowest)
}

var sweepOrBenchmark = regexp.MustCompile(`^cephtune_(sweep|benchmark)_`)

// crowded returns a storage with many copies of the last scrape's series of sweeps and benchmarks,
// and with its other series once.
func crowded(b *testing.B, series int, from, to time.Time, interval time.Duration) *tsdb.DB {
	b.Helper()
	db, err := tsdb.Open(b.TempDir(), nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	var all, copied []labels.Labels
	for _, sample := range parse(b, scrapes[len(scrapes)-1].file) {
		if sweepOrBenchmark.MatchString(sample.labels.Get(model.MetricNameLabel)) {
			copied = append(copied, sample.labels)
		} else {
			all = append(all, sample.labels)
		}
	}
	for i := range series {
		original := copied[i%len(copied)]
		all = append(all, labels.NewBuilder(original).
			Set("name", fmt.Sprintf("%s-copy-%s", original.Get("name"), strconv.Itoa(i/len(copied)))).
			Labels())
	}
	for moment := from; !moment.After(to); moment = moment.Add(interval) {
		appender := db.Appender(b.Context())
		for i, series := range all {
			if _, err := appender.Append(0, series, moment.UnixMilli(), float64(moment.Unix()-from.Unix()+int64(i))); err != nil {
				b.Fatal(err)
			}
		}
		if err := appender.Commit(); err != nil {
			b.Fatal(err)
		}
	}
	return db
}
