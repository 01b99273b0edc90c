package dashboards

import (
	"errors"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"
)

// scrapes lists the files in testdata. Each contains everything that was scraped at one time.
// Between two files, gauges stay the same and counters rise evenly.
var scrapes = []struct {
	file  string
	after time.Duration
}{
	{"testdata/minute-00.om", 0},
	{"testdata/minute-10.om", 10 * time.Minute},
	{"testdata/minute-20.om", 20 * time.Minute},
	{"testdata/minute-30.om", 30 * time.Minute},
}

// The begin and end of the recorded time.
var (
	begun = time.Date(2026, 1, 15, 9, 40, 0, 0, time.UTC)
	ended = begun.Add(30 * time.Minute)
)

const scrapeInterval = 15 * time.Second

// scrape has the samples of one scrape, by their labels.
type scrape map[string]sample

type sample struct {
	labels labels.Labels
	value  float64
}

// recorded returns a storage with the scrapes in testdata.
func recorded(t *testing.T) storage.Queryable {
	t.Helper()
	db, err := tsdb.Open(t.TempDir(), nil, nil, tsdb.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	appender := db.Appender(t.Context())
	before := scrape{}
	write := func(moment time.Time, samples scrape) {
		all := maps.Clone(samples)
		for key, gone := range before {
			if _, there := samples[key]; !there {
				// Prometheus marks the end of a series. Without the mark, queries would find the
				// series for five more minutes.
				all[key] = sample{labels: gone.labels, value: math.Float64frombits(value.StaleNaN)}
			}
		}
		for _, sample := range all {
			if _, err := appender.Append(0, sample.labels, moment.UnixMilli(), sample.value); err != nil {
				t.Fatalf("%s at %s: %v", sample.labels, moment, err)
			}
		}
		before = samples
	}
	for i, now := range scrapes {
		samples := parse(t, now.file)
		if i+1 == len(scrapes) {
			write(begun.Add(now.after), samples)
			break
		}
		next := scrapes[i+1]
		later := parse(t, next.file)
		for after := now.after; after < next.after; after += scrapeInterval {
			part := float64(after-now.after) / float64(next.after-now.after)
			write(begun.Add(after), between(samples, later, part))
		}
	}
	if err := appender.Commit(); err != nil {
		t.Fatal(err)
	}
	return db
}

// between returns the samples of a time between two scrapes.
func between(now, next scrape, part float64) scrape {
	samples := maps.Clone(now)
	for key, sample := range now {
		name := sample.labels.Get(model.MetricNameLabel)
		later, there := next[key]
		if there && (isCounter(name) || strings.HasSuffix(name, "_count") || strings.HasSuffix(name, "_sum")) {
			sample.value += part * (later.value - sample.value)
			samples[key] = sample
		}
	}
	return samples
}

// parse reads OpenMetrics.
func parse(t testing.TB, file string) scrape {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	parser := textparse.NewOpenMetricsParser(text, labels.NewSymbolTable())
	samples := scrape{}
	for {
		entry, err := parser.Next()
		if errors.Is(err, io.EOF) {
			return samples
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if entry != textparse.EntrySeries {
			continue
		}
		_, _, figure := parser.Series()
		var series labels.Labels
		parser.Labels(&series)
		if _, twice := samples[series.String()]; twice {
			t.Fatalf("%s has %s twice", file, series)
		}
		samples[series.String()] = sample{labels: series, value: figure}
	}
}

func TestRecordedDataHasEveryMetric(t *testing.T) {
	recordedNames := map[string]bool{}
	for _, scrape := range scrapes {
		for _, sample := range parse(t, scrape.file) {
			recordedNames[strings.TrimSuffix(sample.labels.Get(model.MetricNameLabel), "_bucket")] = true
		}
	}
	for _, name := range metricConstants(t) {
		if !recordedNames[name] {
			t.Errorf("testdata has no %s", name)
		}
	}
	if !slices.Contains(slices.Collect(maps.Keys(recordedNames)), cephHealth) {
		t.Errorf("testdata has no metrics of Ceph")
	}
}
