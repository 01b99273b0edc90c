package exporter

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/tuning"
)

var update = flag.Bool("update", false, "write golden files")

// platform answers for one Ceph cluster. A field that holds an error makes the request fail.
type platform struct {
	fsid    string
	grant   lock.Grant
	journal *tuning.Journal
	// stopped is the journal of OSDs that are kept down.
	stopped *tuning.Journal

	rookErr, lockErr, journalErr error
	asked                        int
	hangs                        bool
}

// stops holds the outages' journals of a platform.
type stops struct{ platform *platform }

func (s stops) Load(context.Context, string) (*tuning.Journal, error) {
	return s.platform.stopped, s.platform.journalErr
}

func (p *platform) Cluster(context.Context, v1alpha1.ClusterReference) (rook.ClusterInfo, error) {
	p.asked++
	return rook.ClusterInfo{FSID: p.fsid}, p.rookErr
}

func (p *platform) Peek(ctx context.Context, fsid string, holder objectref.Ref) (lock.Grant, error) {
	if p.hangs {
		<-ctx.Done()
		return lock.Grant{}, ctx.Err()
	}
	if fsid != p.fsid || holder != (objectref.Ref{}) {
		return lock.Grant{}, fmt.Errorf("asked for %q as %v", fsid, holder)
	}
	return p.grant, p.lockErr
}

func (p *platform) Load(_ context.Context, fsid string) (*tuning.Journal, error) {
	if fsid != p.fsid {
		return nil, fmt.Errorf("asked for %q", fsid)
	}
	return p.journal, p.journalErr
}

// quietPlatform returns a platform whose cluster has no lock holder.
func quietPlatform() *platform { return &platform{fsid: "f1"} }

// reader is an API server with objects, like the manager's cache.
func reader(t testing.TB, objects ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

// collector returns a collector of a leading manager.
func collector(r client.Reader, p *platform) *Collector {
	leads := make(chan struct{})
	close(leads)
	return NewCollector(Options{
		Reader: r, Clusters: []settings.Cluster{{Namespace: cluster.Namespace, Name: cluster.Name}},
		Rook: p, Lock: p, Journals: p, Outages: stops{p}, Leads: leads, Log: logr.Discard(), Now: func() time.Time { return noon },
	})
}

// exposition returns the answer to a scrape.
func exposition(t testing.TB, collectors ...prometheus.Collector) string {
	t.Helper()
	var text bytes.Buffer
	for _, family := range gather(t, collectors...) {
		if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
			t.Fatal(err)
		}
	}
	return text.String()
}

func gather(t testing.TB, collectors ...prometheus.Collector) []*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	for _, c := range collectors {
		if err := registry.Register(c); err != nil {
			t.Fatal(err)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func count(families []*dto.MetricFamily) int {
	n := 0
	for _, family := range families {
		n += len(family.GetMetric())
	}
	return n
}

func valueOf(t testing.TB, families []*dto.MetricFamily, name string) float64 {
	t.Helper()
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatalf("there is no %s", name)
	return 0
}

func TestExposition(t *testing.T) {
	running := runningSweep()
	mixed := judged(nightly(2))
	mixed.Status.Phases[0].Name, mixed.Status.Phases[1].Name = "write-4m", "randrw-4k"
	mixed.Status.Phases[0].Metrics = mixed.Status.Phases[0].Metrics[5:]
	holds := &platform{
		fsid:    "f1",
		grant:   lock.Grant{Holder: "CephTuningSweep/bench/pg-num/s1", Since: noon.Add(-time.Hour), Expires: noon.Add(time.Minute)},
		journal: &tuning.Journal{Sweep: tuning.Sweep{Namespace: "bench", Name: "pg-num", UID: "s1"}, Entries: []tuning.Entry{{State: tuning.Open}}},
	}
	withOutage := &platform{fsid: "f1", stopped: &tuning.Journal{
		Sweep: tuning.Sweep{Kind: "CephBenchmark", Namespace: "bench", Name: "nightly", UID: "b1"}, Until: noon.Add(time.Minute),
		Entries: []tuning.Entry{{Setting: tuning.NoUp(2), State: tuning.Open}},
	}}
	hadOutage := nightly(1)
	hadOutage.Status.Phases[0].Metrics = append(hadOutage.Status.Phases[0].Metrics, v1alpha1.MetricResult{
		Metric: v1alpha1.MetricTimeToClean, Direction: v1alpha1.DirectionTotal, Value: "73.9",
	})
	hadCurve := nightly(1)
	hadCurve.Status.Phases[0].Metrics = append(hadCurve.Status.Phases[0].Metrics, sustainable())
	cases := map[string]struct {
		platform *platform
		objects  []client.Object
	}{
		"curve":          {quietPlatform(), []client.Object{hadCurve}},
		"outage":         {withOutage, []client.Object{hadOutage}},
		"running-sweep":  {holds, []client.Object{running, childOf(running, "2.1.0.0", reconciling("Running"))}},
		"ended-sweep":    {quietPlatform(), []client.Object{endedSweep()}},
		"benchmark":      {quietPlatform(), []client.Object{mixed}},
		"nothing-at-all": {quietPlatform(), nil},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			got := exposition(t, collector(reader(t, test.objects...), test.platform))
			golden := filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func sustainable() v1alpha1.MetricResult {
	return v1alpha1.MetricResult{Metric: v1alpha1.MetricSustainableIOPS, Direction: v1alpha1.DirectionTotal, Value: "2210", Low: "2080", High: "2350"}
}

func TestPromlint(t *testing.T) {
	running := runningSweep()
	registry := prometheus.NewPedanticRegistry()
	events := NewEvents(registry)
	events.Settled(time.Minute)
	events.invalidRuns.WithLabelValues("CephBenchmark", "Scrub")
	events.sidecar.WithLabelValues("status")
	events.sidecarErrors.WithLabelValues("status")
	events.apiRequests.WithLabelValues("get")
	events.outages.duration.WithLabelValues("clean")
	hadOutage := regressed(judged(nightly(1)), metav1.ConditionTrue)
	hadOutage.Status.Diagnosis = &v1alpha1.DiagnosisResult{Findings: []v1alpha1.Finding{{Code: "SlowOSDs", Confidence: v1alpha1.ConfidenceLikely}}}
	hadOutage.Status.Phases[0].Metrics[0] = v1alpha1.MetricResult{Metric: v1alpha1.MetricTimeToClean, Value: "73.9"}
	hadOutage.Status.Phases[0].Metrics = append(hadOutage.Status.Phases[0].Metrics, sustainable())
	if err := registry.Register(collector(reader(t, running, childOf(running, "2.1.0.0", reconciling("Running")), endedSweep(), hadOutage),
		&platform{
			fsid: "f1", grant: lock.Grant{Holder: "a/b/c/d", Since: noon, Expires: noon.Add(1)},
			stopped: &tuning.Journal{Until: noon, Entries: []tuning.Entry{{State: tuning.Open}}},
		})); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, family := range families {
		byName[family.GetName()] = family
	}
	for _, group := range metrics.Table() {
		for _, d := range group.Descriptions {
			family := byName[d.Name]
			if family == nil {
				t.Errorf("%s is described, and was not linted", d.Name)
				continue
			}
			if kind := strings.ToLower(family.GetType().String()); kind != string(d.Type) {
				t.Errorf("%s is a %s, and described as a %s", d.Name, kind, d.Type)
			}
		}
	}
}

func TestBounds(t *testing.T) {
	var objects []client.Object
	for i := range 400 { // each has 19 series
		objects = append(objects, named(nightly(2), fmt.Sprintf("b%03d", i), noon.Add(time.Duration(i)*time.Minute)))
	}
	oldest := runningSweep()
	oldest.CreationTimestamp.Time = noon.Add(-time.Hour)
	for i := range int32(20) { // more than the remaining room
		oldest.Status.Configurations = append(oldest.Status.Configurations, v1alpha1.ConfigurationResult{Index: 3 + i, Name: fmt.Sprintf("c%d", i), Ratio: "1.1"})
	}
	families := gather(t, collector(reader(t, append(objects, oldest)...), quietPlatform()))
	ofExporter, ofClusters, ofSweep := 2, 4, 5+5+20
	fit := (metrics.MaxSeries - ofClusters - ofSweep) / 19
	if got, want := count(families), ofExporter+ofClusters+ofSweep+19*fit; got != want || got > metrics.MaxSeries+ofExporter {
		t.Errorf("%d series, want %d", got, want)
	}
	if got, want := valueOf(t, families, metrics.DroppedSeries), float64(19*(400-fit)); got != want {
		t.Errorf("%v series were dropped, want %v", got, want)
	}
	text := exposition(t, collector(reader(t, append(objects, oldest)...), quietPlatform()))
	for name, want := range map[string]bool{"pg-num": true, "b399": true, "b000": false, fmt.Sprintf("b%03d", 400-fit): true, fmt.Sprintf("b%03d", 400-fit-1): false} {
		if got := strings.Contains(text, `name="`+name+`"`); got != want {
			t.Errorf("series of %s: %t, want %t", name, got, want)
		}
	}
}

// The alert about a sweep that has left settings in Ceph must stay, however many objects are
// created later.
func TestUnrestoredSweepKeepsItsPlace(t *testing.T) {
	left := runningSweep()
	left.CreationTimestamp.Time = noon.Add(-time.Hour)
	left.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonSuspended},
		{Type: v1alpha1.ConditionRestored, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonAbandoned},
	}
	for i := range int32(20) { // more than the remaining room
		left.Status.Configurations = append(left.Status.Configurations, v1alpha1.ConfigurationResult{Index: 3 + i, Name: fmt.Sprintf("c%d", i), Ratio: "1.1"})
	}
	objects := []client.Object{left}
	for i := range 400 {
		objects = append(objects, named(nightly(2), fmt.Sprintf("b%03d", i), noon.Add(time.Duration(i)*time.Minute)))
	}
	if text := exposition(t, collector(reader(t, objects...), quietPlatform())); !strings.Contains(text, metrics.SweepRestored+`{name="pg-num"`) {
		t.Error("the sweep's series are left out")
	}
}

func TestTheLargestSweepIsWithinItsBounds(t *testing.T) {
	s := runningSweep()
	s.Status.Configurations = nil
	for i := range int32(65) {
		s.Status.Configurations = append(s.Status.Configurations, v1alpha1.ConfigurationResult{
			Index: i, Name: fmt.Sprintf("c%d", i), Ratio: "1.1", Low: "1", High: "1.2", Verdict: v1alpha1.VerdictBetter,
		})
	}
	var ledger []sweepspec.Entry
	for i := range 65 {
		ledger = append(ledger, sweepspec.NewEntry(sweep.Trial{Block: 1, Attempt: 1, Position: i, Configuration: i}, "", "", []float64{5}, 1, 1))
	}
	s.Status.Trials = sweepspec.WriteLedger(ledger, sweep.Decision{})
	child := childOf(s, "2.1.0.0", reconciling("Running"))
	if got, want := len(SweepSamples(s, child)), metrics.MaxSweepSeries+65*metrics.MaxConfigurationSeries; got != want {
		t.Errorf("%d series, want %d, which is the bound", got, want)
	}
}

// Whatever a status contains, the scrape must be valid, because one invalid series would make all
// others unusable.
func TestBadStatusesDoNotSpoilTheScrape(t *testing.T) {
	b := nightly(2)
	b.Status.Phases[1] = b.Status.Phases[0] // The same phase occurs twice.
	b.Status.Phases[0].Metrics[0].Value = "much"
	b.Status.Summary = "caf\xe9 \n \"quoted\""
	// A fake API server would not store such text, so only the reader returns it.
	r := interceptor.NewClient(fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build(), interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			if all, ok := list.(*v1alpha1.CephBenchmarkList); ok {
				all.Items = append(all.Items, *b)
			}
			return nil
		},
	})
	text := exposition(t, collector(r, quietPlatform()))
	if !utf8.ValidString(text) || !strings.Contains(text, `summary="caf� \n \"quoted\""`) {
		t.Errorf("the summary is not as it should be in:\n%s", text)
	}
	if n := strings.Count(text, metrics.BenchmarkBandwidth+"{"); n != 1 {
		t.Errorf("%d bandwidths of one phase", n)
	}
}

func TestOnlyTheLeaderHasSeries(t *testing.T) {
	p := quietPlatform()
	c := collector(reader(t, nightly(1)), p)
	leads := make(chan struct{})
	c.leads = leads
	if families := gather(t, c); count(families) != 0 || p.asked != 0 {
		t.Errorf("one that does not lead has %d series and asked %d times", count(families), p.asked)
	}
	close(leads)
	if families := gather(t, c); count(families) == 0 {
		t.Error("one that leads has none")
	}
}

func TestSeriesGoWithTheObject(t *testing.T) {
	b := nightly(1)
	k := reader(t, b)
	c := collector(k, quietPlatform())
	before := count(gather(t, c))
	if err := k.Delete(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if after := count(gather(t, c)); before-after != 3+8 {
		t.Errorf("%d series before and %d after, want 11 fewer", before, after)
	}
}

func TestQueueLengths(t *testing.T) {
	s := runningSweep()
	s.Status.Conditions = reconciling("Queued")
	b := named(nightly(1), "waits", noon)
	b.Status.Conditions = reconciling("Queued")
	elsewhere := named(nightly(1), "elsewhere", noon)
	elsewhere.Status.Conditions, elsewhere.Spec.ClusterRef.Name = b.Status.Conditions, "other"
	families := gather(t, collector(reader(t, s, b, elsewhere, childOf(s, "2.1.0.0", reconciling("Queued"))), quietPlatform()))
	if got := valueOf(t, families, metrics.QueueLength); got != 2 {
		t.Errorf("%v wait, want the sweep and the benchmark", got)
	}
}

// noLists is a reader that cannot list objects.
type noLists struct{ client.Reader }

func (noLists) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("it is broken")
}

func TestUnknownQueueLengthsAreNotExported(t *testing.T) {
	text := exposition(t, collector(noLists{reader(t)}, quietPlatform()))
	if strings.Contains(text, metrics.QueueLength) || !strings.Contains(text, metrics.CollectionErrors+" 1\n") {
		t.Errorf("want no queue length and one error, got:\n%s", text)
	}
}

func TestUnreadableSourcesLoseTheirSeries(t *testing.T) {
	broken := errors.New("it is broken")
	cases := map[string]struct {
		edit  func(*platform)
		wants float64
		gone  []string
	}{
		"nothing":    {func(*platform) {}, 0, nil},
		"the lock":   {func(p *platform) { p.lockErr = broken }, 1, []string{metrics.LockHeld}},
		"both":       {func(p *platform) { p.lockErr, p.journalErr = broken, broken }, 3, []string{metrics.LockHeld, metrics.JournalOpen, metrics.OSDsKeptDown}},
		"Rook":       {func(p *platform) { p.rookErr = broken }, 1, []string{metrics.LockHeld, metrics.JournalOpen}},
		"no cluster": {func(p *platform) { p.fsid = "" }, 0, []string{metrics.LockHeld, metrics.JournalOpen}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			p := quietPlatform()
			test.edit(p)
			var logged int
			c := collector(reader(t), p)
			c.log = funcr.New(func(string, string) { logged++ }, funcr.Options{})
			families := gather(t, c)
			if got := valueOf(t, families, metrics.CollectionErrors); got != test.wants || logged != int(test.wants) {
				t.Errorf("%v errors and %d in the log, want %v", got, logged, test.wants)
			}
			for _, family := range families {
				for _, gone := range test.gone {
					if family.GetName() == gone {
						t.Errorf("%s is told, and nobody knows it", gone)
					}
				}
			}
			valueOf(t, families, metrics.QueueLength) // Everything else is still exported.
		})
	}
}

func TestAnFSIDIsRememberedForAWhile(t *testing.T) {
	p := quietPlatform()
	now := noon
	c := collector(reader(t), p)
	c.clusters.now = func() time.Time { return now }
	for _, step := range []struct {
		after time.Duration
		err   error
		asked int
	}{{0, nil, 1}, {fsidFor - 1, nil, 1}, {fsidFor, nil, 2}, {2 * fsidFor, errors.New("Rook is away"), 3}} {
		now, p.rookErr = noon.Add(step.after), step.err
		families := gather(t, c)
		if p.asked != step.asked || valueOf(t, families, metrics.CollectionErrors) != 0 {
			t.Errorf("after %s: asked %d times, want %d", step.after, p.asked, step.asked)
		}
		valueOf(t, families, metrics.JournalOpen)
	}
}

func TestAScrapeEnds(t *testing.T) {
	p := quietPlatform()
	p.hangs = true
	c := collector(reader(t), p)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	all := c.samples(ctx)
	if failed := samplesNamed(all, metrics.CollectionErrors); failed[0].Value != 1 {
		t.Errorf("%v, want one error", failed)
	}
}

// BenchmarkScrape measures a scrape of an installation with more series than fit.
func BenchmarkScrape(b *testing.B) {
	var objects []client.Object
	for i := range 1000 {
		objects = append(objects, named(nightly(4), fmt.Sprintf("b%04d", i), noon.Add(time.Duration(i)*time.Minute)))
	}
	k := reader(b, objects...)
	var cached v1alpha1.CephBenchmarkList
	if err := k.List(b.Context(), &cached); err != nil {
		b.Fatal(err)
	}
	r := interceptor.NewClient(fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build(), interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, list client.ObjectList, _ ...client.ListOption) error {
			if all, ok := list.(*v1alpha1.CephBenchmarkList); ok {
				all.Items = cached.Items
			}
			return nil
		},
	})
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector(r, quietPlatform()))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
