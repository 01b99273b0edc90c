// Package alerts tests the alerts of config/prometheus with Prometheus's own rule engine. It is a
// separate module, to keep Prometheus out of the operator's dependencies.
package alerts

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/internal/metrics"
)

const (
	ruleFile = "../../config/prometheus/rules.yaml"
	runbooks = "../../docs/runbooks"
	// interval is how often rules are evaluated.
	interval = time.Minute
)

// prometheusRule is the part of a PrometheusRule that the tests read.
type prometheusRule struct {
	Spec struct {
		Groups []struct {
			Name  string
			Rules []rule
		}
	}
}

type rule struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

func read(t *testing.T) prometheusRule {
	t.Helper()
	text, err := os.ReadFile(ruleFile)
	if err != nil {
		t.Fatal(err)
	}
	var all prometheusRule
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

func alerts(t *testing.T) []rule {
	t.Helper()
	var all []rule
	for _, group := range read(t).Spec.Groups {
		all = append(all, group.Rules...)
	}
	return all
}

// fileOf writes a file with one alert, in Prometheus's own format, and returns its path.
func fileOf(t *testing.T, alert string) string {
	t.Helper()
	all := alerts(t)
	index := slices.IndexFunc(all, func(r rule) bool { return r.Alert == alert })
	if index < 0 {
		t.Fatalf("there is no alert %s", alert)
	}
	r := all[index]
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "g", "rules": []any{map[string]any{
		"alert": r.Alert, "expr": r.Expr, "for": r.For, "labels": r.Labels, "annotations": r.Annotations,
	}}}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// look is the expected state of an alert at a time: for each firing alert, the labels that do not
// come from the rule.
type look struct {
	after  time.Duration
	firing []string
}

// story has series with a sample every five minutes, in the notation of Prometheus's own tests, and
// the expected states of an alert.
type story struct {
	name   string
	alert  string
	series string
	looks  []look
}

const (
	working   = `cephtune_sweep_info{namespace="bench",name="pg-num",ceph_cluster="rook-ceph/c",run_id="1",state="Reconciling",reason="Running"}`
	restoring = `cephtune_sweep_info{namespace="bench",name="pg-num",ceph_cluster="rook-ceph/c",run_id="1",state="Reconciling",reason="Restoring"}`
	queued    = `cephtune_sweep_info{namespace="bench",name="pg-num",ceph_cluster="rook-ceph/c",run_id="1",state="Reconciling",reason="Queued"}`
	stalled   = `cephtune_sweep_info{namespace="bench",name="pg-num",ceph_cluster="rook-ceph/c",run_id="1",state="Stalled",reason="ClusterUnhealthy"}`
	refused   = `cephtune_sweep_info{namespace="bench",name="pg-num",ceph_cluster="rook-ceph/c",run_id="1",state="Stalled",reason="FailedOnVerdict",verdict="Inferior"}`
	suspended = `cephtune_sweep_info{namespace="bench",name="pg-num",ceph_cluster="rook-ceph/c",run_id="1",state="Idle",reason="Suspended"}`
	complete  = `cephtune_sweep_info{namespace="bench",name="pg-num",ceph_cluster="rook-ceph/c",run_id="1",state="Ready",reason="Complete"}`
	other     = `cephtune_sweep_info{namespace="bench",name="other",ceph_cluster="rook-ceph/c",run_id="1",state="Reconciling",reason="Queued"}`
	changed   = `cephtune_sweep_restored{namespace="bench",name="pg-num"}`
	progress  = `cephtune_sweep_progress_ratio{namespace="bench",name="pg-num"}`
	journal   = `cephtune_journal_open_entries{ceph_cluster="rook-ceph/c",holder="CephTuningSweep/bench/pg-num"}`
	closed    = `cephtune_journal_open_entries{ceph_cluster="rook-ceph/c",holder=""}`
	lock      = `cephtune_lock_held{ceph_cluster="rook-ceph/c",holder="CephTuningSweep/bench/pg-num"}`
	lockOfOne = `cephtune_lock_held{ceph_cluster="rook-ceph/c",holder="CephBenchmark/bench/nightly"}`
	keptDown  = `cephtune_osds_kept_down{ceph_cluster="rook-ceph/c",holder="CephBenchmark/bench/outage"}`
	allUp     = `cephtune_osds_kept_down{ceph_cluster="rook-ceph/c",holder=""}`
	dueUp     = `cephtune_osds_due_up_timestamp_seconds{ceph_cluster="rook-ceph/c"}`
	unlocked  = `cephtune_lock_held{ceph_cluster="rook-ceph/c",holder=""}`
	acquired  = `cephtune_lock_acquired_timestamp_seconds{ceph_cluster="rook-ceph/c"}`

	ofSweep = `name="pg-num", namespace="bench"`
	ofLock  = `ceph_cluster="rook-ceph/c", holder="CephTuningSweep/bench/pg-num"`
)

// nightly returns the info series of a benchmark.
func nightly(runID, state, verdict string) string {
	return fmt.Sprintf(`cephtune_benchmark_info{namespace="bench",name="nightly",ceph_cluster="rook-ceph/c",run_id=%q,state=%q,verdict=%q}`, runID, state, verdict)
}

// lines formats series with their values.
func lines(pairs ...string) string {
	var text strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&text, "  %s %s\n", pairs[i], pairs[i+1])
	}
	return text.String()
}

func stories() []story {
	const always = "1x600"
	return slices.Concat(restoreStories(always), journalStories(always), osdStories(), lockStories(always), sweepStories(always), benchmarkStories(), exporterStories(always))
}

func restoreStories(always string) []story {
	const alert = "CephTuneRestoreFailed"
	return []story{
		{"a sweep that runs", alert, lines(working, always, changed, "0x600", journal, always), []look{{10 * time.Hour, nil}}},
		{"one that restores for long", alert, lines(restoring, always, changed, "0x600", journal, "2x600"), []look{{25 * time.Minute, nil}, {35 * time.Minute, []string{ofSweep}}}},
		{"one whose cluster settles for long", alert, lines(restoring, always, changed, "0x600", closed, "0x600"), []look{{10 * time.Hour, nil}}},
		{"one that was put back", alert, lines(complete, always, changed, always, closed, "0x600"), []look{{10 * time.Hour, nil}}},
		{"one that was put back, and whose verdict is refused", alert, lines(refused, always, changed, always, closed, "0x600"), []look{{10 * time.Hour, nil}}},
		{"one whose verdict is refused, and that was not put back", alert, lines(refused, always, changed, "0x600", journal, "2x600"), []look{{35 * time.Minute, []string{ofSweep}}}},
		{"one whose cluster was taken out of the settings", alert, lines(restoring, always, changed, "0x600"), []look{{35 * time.Minute, []string{ofSweep}}}},
		{"one that changed nothing", alert, lines(complete, always, closed, "0x600"), []look{{10 * time.Hour, nil}}},
		{"one that was given up", alert, lines(stalled, always, changed, "0x600", closed, "0x600"), []look{{35 * time.Minute, []string{ofSweep}}}},
		{
			"one that restores in time, then and again", alert,
			lines(restoring, "1x3 _x3 1x3 _x3", changed, "0x3 1x3 0x3 1x3", journal, "1x3 _x3 1x3 _x3", complete, "_x3 1x3 _x3 1x3"),
			[]look{{20 * time.Minute, nil}, {40 * time.Minute, nil}, {time.Hour, nil}},
		},
		{
			"a manager that is replaced meanwhile", alert,
			strings.NewReplacer("}", `,pod="a"}`).Replace(lines(restoring, "1x3 _x60", changed, "0x3 _x60", journal, "1x3 _x60")) +
				strings.NewReplacer("}", `,pod="b"}`).Replace(lines(restoring, "_x2 1x60", changed, "_x2 0x60", journal, "_x2 1x60")),
			[]look{{25 * time.Minute, nil}, {35 * time.Minute, []string{ofSweep}}},
		},
	}
}

func journalStories(always string) []story {
	const alert = "CephTuneJournalOpenWithoutSweep"
	return []story{
		{"of a sweep that runs", alert, lines(working, always, journal, "3x600"), []look{{10 * time.Hour, nil}}},
		{"of one that restores", alert, lines(restoring, always, journal, "3x600"), []look{{10 * time.Hour, nil}}},
		{"of one that is gone", alert, lines(journal, "3x600"), []look{{10 * time.Minute, nil}, {20 * time.Minute, []string{ofLock}}}},
		{"of one that is gone, while another waits", alert, lines(journal, "3x600", other, always), []look{{20 * time.Minute, []string{ofLock}}}},
		{"of one that has ended", alert, lines(journal, "3x600", complete, always), []look{{20 * time.Minute, []string{ofLock}}}},
		{"closed", alert, lines(closed, "0x600"), []look{{10 * time.Hour, nil}}},
	}
}

func osdStories() []story {
	const alert = "CephTuneOutageOverdue"
	ofBenchmark := []string{`ceph_cluster="rook-ceph/c", holder="CephBenchmark/bench/outage"`}
	return []story{
		{"for an hour, as was meant", alert, lines(keptDown, "2x12 _x600", allUp, "_x13 0x600", dueUp, "3615x12 _x600"), []look{{55 * time.Minute, nil}, {10 * time.Hour, nil}}},
		{"for longer", alert, lines(keptDown, "2x600", dueUp, "3615x600"), []look{{time.Hour, nil}, {70 * time.Minute, ofBenchmark}}},
		{"and let up late", alert, lines(keptDown, "2x15 _x600", allUp, "_x16 0x600", dueUp, "3615x15 _x600"), []look{{70 * time.Minute, ofBenchmark}, {90 * time.Minute, nil}}},
		{"none", alert, lines(allUp, "0x600"), []look{{10 * time.Hour, nil}}},
	}
}

func lockStories(always string) []story {
	const alert = "CephTuneLockHeldTooLong"
	benchmark := nightly("1", "Reconciling", "")
	return []story{
		{
			"by a sweep at work", alert, lines(working, always, lock, always, acquired, "0x600"),
			[]look{{23 * time.Hour, nil}, {24*time.Hour + 10*time.Minute, nil}, {24*time.Hour + 20*time.Minute, []string{ofLock}}},
		},
		{"by one after another", alert, lines(working, always, lock, always, acquired, "0x200 60000x400"), []look{{30 * time.Hour, nil}}},
		{"by a benchmark at work", alert, lines(benchmark, always, lockOfOne, always, acquired, "0x600"), []look{{23 * time.Hour, nil}}},
		{"by one that has ended", alert, lines(complete, always, lock, always, acquired, "0x600"), []look{{10 * time.Minute, nil}, {20 * time.Minute, []string{ofLock}}}},
		{"by a benchmark that is gone", alert, lines(lockOfOne, always, acquired, "0x600"), []look{{20 * time.Minute, []string{`ceph_cluster="rook-ceph/c", holder="CephBenchmark/bench/nightly"`}}}},
		{"by nobody", alert, lines(unlocked, "0x600"), []look{{40 * time.Hour, nil}}},
	}
}

func sweepStories(always string) []story {
	const alert = "CephTuneSweepStalled"
	return []story{
		{"one that gets on", alert, lines(working, always, progress, "0+0.001x600"), []look{{20 * time.Hour, nil}}},
		{"one that does not", alert, lines(working, always, progress, "0.5x600"), []look{{4 * time.Hour, nil}, {4*time.Hour + 20*time.Minute, []string{ofSweep}}}},
		{"one that gets on again", alert, lines(working, always, progress, "0.5x60 0.6x10"), []look{{5 * time.Hour, []string{ofSweep}}, {5*time.Hour + 15*time.Minute, nil}}},
		{"one that waits for its turn", alert, lines(queued, always, progress, "0x600"), []look{{20 * time.Hour, nil}}},
		{"one that has waited until now", alert, lines(queued, "1x60 _x60", working, "_x60 1x60", progress, "0x600"), []look{{6 * time.Hour, nil}, {8 * time.Hour, nil}}},
		{"one that has ended", alert, lines(complete, always, progress, always), []look{{20 * time.Hour, nil}}},
		{"one that is suspended", alert, lines(working, "1x12 _x600", suspended, "_x13 1x600", progress, "0.5x600"), []look{{4*time.Hour + 45*time.Minute, nil}, {20 * time.Hour, nil}}},
		{"one that waits for somebody", alert, lines(stalled, always, progress, "0.5x600"), []look{{10 * time.Minute, nil}, {20 * time.Minute, []string{ofSweep}}}},
		{"one whose verdict is refused", alert, lines(refused, always, progress, always), []look{{20 * time.Hour, nil}}},
		{"one that gets on until then", alert, lines(working, "1x12 _x600", refused, "_x13 1x600", progress, "0+0.08x12 1x600"), []look{{20 * time.Hour, nil}}},
		{"one that nobody has told of", alert, lines(progress, "0.5x600"), []look{{20 * time.Hour, nil}}},
	}
}

func benchmarkStories() []story {
	const alert = "CephTuneBenchmarkFailingRepeatedly"
	ofBenchmark := []string{`name="nightly", namespace="bench"`}
	day := func(n int, series string) string { // It has a value only on that day.
		if n == 0 {
			return lines(series, "1x288")
		}
		return lines(series, fmt.Sprintf("_x%d 1x288", 288*n))
	}
	return []story{
		{
			"every night", alert,
			day(0, nightly("1", "Stalled", "")) + day(1, nightly("2", "Ready", "Failed")) + day(2, nightly("3", "Ready", "Failed")),
			[]look{{47 * time.Hour, nil}, {49 * time.Hour, ofBenchmark}},
		},
		{
			"but not the last time", alert,
			day(0, nightly("1", "Stalled", "")) + day(1, nightly("2", "Stalled", "")) + day(2, nightly("3", "Stalled", "")) + day(3, nightly("4", "Ready", "Passed")),
			[]look{{60 * time.Hour, ofBenchmark}, {73 * time.Hour, nil}},
		},
		{
			"now and then", alert,
			day(0, nightly("1", "Stalled", "")) + day(1, nightly("2", "Ready", "Passed")) + day(2, nightly("3", "Ready", "Failed")),
			[]look{{50 * time.Hour, nil}},
		},
		{
			"on verdicts that failOn lists", alert,
			day(0, nightly("1", "Stalled", "Inconclusive")) + day(1, nightly("2", "Stalled", "Failed")) + day(2, nightly("3", "Stalled", "Inconclusive")),
			[]look{{47 * time.Hour, nil}, {49 * time.Hour, ofBenchmark}},
		},
		{
			"on verdicts that failOn does not list", alert,
			day(0, nightly("1", "Ready", "Inconclusive")) + day(1, nightly("2", "Ready", "Inconclusive")) + day(2, nightly("3", "Ready", "Invalid")),
			[]look{{50 * time.Hour, nil}},
		},
		{
			"slower since a night", "CephTuneBenchmarkRegressed", lines(`cephtune_benchmark_regressed{namespace="bench",name="nightly"}`, "0x100 1x100 0x100"),
			[]look{{8 * time.Hour, nil}, {10 * time.Hour, ofBenchmark}, {18 * time.Hour, nil}},
		},
		{"too few nights to say so", "CephTuneBenchmarkRegressed", lines(`cephtune_benchmark_regressed{namespace="bench",name="nightly"}`, "_x100"), []look{{8 * time.Hour, nil}}},
		{"once, for long", alert, day(0, nightly("1", "Stalled", "")), []look{{20 * time.Hour, nil}}},
		{
			"more than a week ago", alert,
			day(0, nightly("1", "Stalled", "")) + day(1, nightly("2", "Stalled", "")) + day(9, nightly("3", "Stalled", "")),
			[]look{{9*24*time.Hour + time.Hour, nil}},
		},
	}
}

func exporterStories(always string) []story {
	const alert = "CephTuneMetricsIncomplete"
	const errors = `cephtune_collection_errors{namespace="cephtune-system",job="cephtune-metrics",pod="a"}`
	return []story{
		{"all is read", alert, lines(errors, "0x600"), []look{{10 * time.Hour, nil}}},
		{"something is not", alert, lines(errors, always), []look{{10 * time.Minute, nil}, {20 * time.Minute, []string{`job="cephtune-metrics", namespace="cephtune-system"`}}}},
		{"something is not, for a moment", alert, lines(errors, "0x3 1x1 0x600"), []look{{20 * time.Minute, nil}, {40 * time.Minute, nil}}},
		{"there is a manager", "CephTuneAbsent", lines(errors, "0x600"), []look{{10 * time.Hour, nil}}},
		{"another has taken over", "CephTuneAbsent", lines(errors, "0x12 _x600", strings.ReplaceAll(errors, `"a"`, `"b"`), "_x13 0x600"), []look{{10 * time.Hour, nil}}},
		{
			"there is none in one of two clusters", "CephTuneAbsent", lines(ofCluster(errors, "east"), "0x12 _x600", ofCluster(errors, "west"), "0x600"),
			[]look{{time.Hour, nil}, {90 * time.Minute, []string{`cluster="east"`}}, {40 * time.Hour, []string{`cluster="east"`}}},
		},
		{
			"there is none in both clusters", "CephTuneAbsent", lines(ofCluster(errors, "east"), "0x12 _x600", ofCluster(errors, "west"), "0x12 _x600"),
			[]look{{time.Hour, nil}, {90 * time.Minute, []string{`cluster="east"`, `cluster="west"`}}},
		},
		{"there was none ever", "CephTuneAbsent", lines(`up{job="other"}`, always), []look{{10 * time.Minute, nil}, {20 * time.Minute, []string{""}}}},
		{"there is none", "CephTuneAbsent", lines(errors, "0x12 _x600"), []look{{time.Hour, nil}, {90 * time.Minute, []string{""}}}},
	}
}

// ofCluster adds the label of a Kubernetes cluster to all series of a text.
func ofCluster(series, cluster string) string {
	return strings.ReplaceAll(series, "}", `,cluster="`+cluster+`"}`)
}

// TestAlertsTellClustersApart plays each story in one Kubernetes cluster, while another one, whose objects have the same
// names, tells a story in which nothing fires. Neither may hide the other's alerts, or fire for it.
func TestAlertsTellClustersApart(t *testing.T) {
	for _, s := range stories() {
		if s.alert == "CephTuneAbsent" {
			continue // Its stories have several clusters.
		}
		for i, l := range s.looks {
			s.looks[i].firing = nil
			for _, firing := range l.firing {
				s.looks[i].firing = append(s.looks[i].firing, withCluster(firing, "east"))
			}
		}
		s.series = ofCluster(s.series, "east")
		for _, other := range stories() {
			if other.alert != s.alert || other.name == s.name || other.looks[len(other.looks)-1].firing != nil {
				continue
			}
			both := s
			both.series += ofCluster(other.series, "west")
			both.looks = slices.DeleteFunc(slices.Clone(s.looks), func(l look) bool { return !silentAt(other, l.after) })
			if len(both.looks) > 0 {
				t.Run(s.alert+"/"+s.name+"/"+other.name, func(t *testing.T) { play(t, both) })
			}
			break // One other story is enough, because each of them has the same names.
		}
	}
}

// withCluster adds the label of a cluster to the labels of an alert, which are sorted.
func withCluster(firing, cluster string) string {
	all := append(strings.Split(firing, ", "), `cluster="`+cluster+`"`)
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// silentAt reports whether a story says that its alert never fires until a time.
func silentAt(s story, at time.Duration) bool {
	return at <= s.looks[len(s.looks)-1].after && !slices.ContainsFunc(s.looks, func(l look) bool { return len(l.firing) > 0 })
}

func TestAlerts(t *testing.T) {
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, s := range stories() {
		t.Run(s.alert+"/"+s.name, func(t *testing.T) { play(t, s) })
		for _, l := range s.looks {
			fires[s.alert] = fires[s.alert] || len(l.firing) > 0
			silent[s.alert] = silent[s.alert] || len(l.firing) == 0
		}
	}
	for _, r := range alerts(t) {
		if !fires[r.Alert] || !silent[r.Alert] {
			t.Errorf("of %s there is a story in which it fires: %t, and one in which it does not: %t", r.Alert, fires[r.Alert], silent[r.Alert])
		}
	}
}

// play evaluates an alert over the series of a story, and compares its state with the expected
// ones.
func play(t *testing.T, s story) {
	suite, err := promqltest.NewLazyLoader("load 5m\n"+s.series, promqltest.LazyLoaderOpts{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := suite.Close(); err != nil {
			t.Error(err)
		}
	}()
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:    rules.EngineQueryFunc(suite.QueryEngine(), suite.Storage()),
		AppendableV2: suite.Storage(),
		Context:      t.Context(),
		NotifyFunc:   func(_ context.Context, _ string, _ ...*rules.Alert) {},
		Logger:       slog.New(slog.DiscardHandler),
		Parser:       parser.NewParser(parser.Options{}),
	})
	groups, failures := manager.LoadGroups(interval, labels.EmptyLabels(), "", nil, false, fileOf(t, s.alert))
	if len(failures) > 0 {
		t.Fatal(failures)
	}
	group := slices.Collect(maps.Values(groups))[0]
	alerting, ok := group.Rules()[0].(*rules.AlertingRule)
	if !ok {
		t.Fatalf("%s is no alert", s.alert)
	}
	alerting.SetRestored(true)
	end := s.looks[len(s.looks)-1].after
	start := time.Unix(0, 0).UTC()
	for now, next := time.Duration(0), 0; now <= end; now += interval {
		suite.WithSamplesTill(start.Add(now), func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			group.Eval(suite.Context(), start.Add(now))
		})
		if err := alerting.LastError(); err != nil {
			t.Fatal(err)
		}
		if now >= s.looks[next].after {
			if got := firing(alerting); !slices.Equal(got, s.looks[next].firing) {
				t.Errorf("after %s these fire: %q, want %q", now, got, s.looks[next].firing)
			}
			next++
		}
	}
}

// firing returns the labels of the alerts that fire, without those of the rule. It adds annotations
// that contain a template error.
func firing(alerting *rules.AlertingRule) []string {
	unfilled := regexp.MustCompile(`<error|<no value>|(^| )/|/( |$)|  `)
	var all []string
	for _, a := range alerting.ActiveAlerts() {
		if a.State != rules.StateFiring {
			continue
		}
		identity := labels.NewBuilder(a.Labels).Del(labels.AlertName, "severity").Labels()
		text := strings.Trim(identity.String(), "{}")
		a.Annotations.Range(func(l labels.Label) {
			if unfilled.MatchString(l.Value) {
				text += " " + l.Value
			}
		})
		all = append(all, text)
	}
	slices.Sort(all)
	return all
}

// TestConventions checks the alerts against the conventions of kube-prometheus.
func TestConventions(t *testing.T) {
	sentence := regexp.MustCompile(`^[A-Z{].*\.$`)
	for _, r := range alerts(t) {
		if !regexp.MustCompile(`^CephTune([A-Z][a-z]+)+$`).MatchString(r.Alert) {
			t.Errorf("%s: not a name of ours", r.Alert)
		}
		if s := r.Labels["severity"]; !slices.Contains([]string{"critical", "warning", "info"}, s) || len(r.Labels) != 1 {
			t.Errorf("%s has the labels %v, want a severity", r.Alert, r.Labels)
		}
		if r.For == "" {
			t.Errorf("%s fires at once", r.Alert)
		}
		if got := slices.Sorted(maps.Keys(r.Annotations)); !slices.Equal(got, []string{"description", "runbook_url", "summary"}) {
			t.Errorf("%s has the annotations %v", r.Alert, got)
		}
		for _, name := range []string{"summary", "description"} {
			if !sentence.MatchString(r.Annotations[name]) {
				t.Errorf("%s: its %s is no sentence: %q", r.Alert, name, r.Annotations[name])
			}
		}
		if strings.Contains(r.Annotations["summary"], "{{") {
			t.Errorf("%s: its summary is another one for each: %q", r.Alert, r.Annotations["summary"])
		}
	}
}

// TestQueries looks for metrics and labels that the operator does not have.
func TestQueries(t *testing.T) {
	fromTarget := []string{"cluster", "job", "instance", "pod", "namespace"}
	made := []string{"kind", "holder"} // label_replace and label_join create them
	for _, r := range alerts(t) {
		expr, err := parser.NewParser(parser.Options{}).ParseExpr(r.Expr)
		if err != nil {
			t.Errorf("%s: %v", r.Alert, err)
			continue
		}
		var available []string
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			selector, ok := node.(*parser.VectorSelector)
			if !ok {
				return nil
			}
			d, found := metrics.Describe(selector.Name)
			if !found {
				t.Errorf("%s: there is no metric %s", r.Alert, selector.Name)
			}
			available = append(available, d.Labels...)
			for _, m := range selector.LabelMatchers {
				if m.Name != labels.MetricName && !slices.Contains(d.Labels, m.Name) {
					t.Errorf("%s: %s has no label %s", r.Alert, selector.Name, m.Name)
				}
			}
			return nil
		})
		available = slices.Concat(available, fromTarget, made)
		parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
			var used []string
			switch n := node.(type) {
			case *parser.AggregateExpr:
				used = n.Grouping
			case *parser.BinaryExpr:
				if n.VectorMatching != nil {
					used = n.VectorMatching.MatchingLabels
				}
			}
			for _, name := range used {
				if !slices.Contains(available, name) {
					t.Errorf("%s: no metric in it has the label %s", r.Alert, name)
				}
			}
			return nil
		})
	}
}

// TestExamples parses the queries of the documentation.
func TestExamples(t *testing.T) {
	for _, group := range metrics.Table() {
		for _, d := range group.Descriptions {
			if _, err := parser.NewParser(parser.Options{}).ParseExpr(d.Example); err != nil {
				t.Errorf("%s: %q: %v", d.Name, d.Example, err)
			}
		}
	}
}

// TestMonitor checks that the ServiceMonitor has what these alerts need: the port of the Service,
// and honorLabels, which keeps the labels of CRs.
func TestMonitor(t *testing.T) {
	var service struct {
		Metadata struct{ Labels map[string]string }
		Spec     struct {
			Ports []struct{ Name string }
		}
	}
	var monitor struct {
		Spec struct {
			Selector  struct{ MatchLabels map[string]string }
			Endpoints []struct {
				Port, Scheme string
				HonorLabels  bool
			}
		}
	}
	for file, target := range map[string]any{"../../config/default/metrics_service.yaml": &service, "../../config/prometheus/monitor.yaml": &monitor} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(text, target); err != nil {
			t.Fatal(err)
		}
	}
	service.Metadata.Labels["app.kubernetes.io/name"] = "cephtune" // config/default adds it.
	for name, value := range monitor.Spec.Selector.MatchLabels {
		if service.Metadata.Labels[name] != value {
			t.Errorf("it selects %s=%s, and the Service has the labels %v", name, value, service.Metadata.Labels)
		}
	}
	if len(monitor.Spec.Endpoints) != 1 || len(service.Spec.Ports) != 1 {
		t.Fatalf("%d endpoints for %d ports, want one of each", len(monitor.Spec.Endpoints), len(service.Spec.Ports))
	}
	if e := monitor.Spec.Endpoints[0]; e.Port != service.Spec.Ports[0].Name || e.Scheme != "https" || !e.HonorLabels {
		t.Errorf("it scrapes %+v, want port %s by https, with honored labels", e, service.Spec.Ports[0].Name)
	}
}

// TestRunbooks checks that each alert has a page, and that each page has an alert.
func TestRunbooks(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(runbooks, "CephTune*.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages := map[string]bool{}
	for _, file := range files {
		pages[strings.TrimSuffix(filepath.Base(file), ".md")] = true
	}
	index, err := os.ReadFile(filepath.Join(runbooks, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range alerts(t) {
		if want := "https://github.com/cephtune/cephtune/blob/main/docs/runbooks/" + r.Alert + ".md"; r.Annotations["runbook_url"] != want {
			t.Errorf("%s: its runbook is at %s, want %s", r.Alert, r.Annotations["runbook_url"], want)
		}
		page, err := os.ReadFile(filepath.Join(runbooks, r.Alert+".md"))
		if err != nil {
			t.Errorf("%s has no runbook: %v", r.Alert, err)
			continue
		}
		delete(pages, r.Alert)
		for _, part := range []string{"# " + r.Alert + "\n", "\n## Meaning\n", "\n## Diagnosis\n", "\n## Mitigation\n", "\n```console\n"} {
			if !strings.Contains(string(page), part) {
				t.Errorf("the runbook of %s has no %q", r.Alert, strings.TrimSpace(part))
			}
		}
		if !strings.Contains(string(index), "("+r.Alert+".md)") || !strings.Contains(string(page), r.Labels["severity"]) {
			t.Errorf("the runbook of %s is not in the index, or does not say its severity, which is %s", r.Alert, r.Labels["severity"])
		}
	}
	for page := range pages {
		t.Errorf("%s is the runbook of no alert", page)
	}
}
