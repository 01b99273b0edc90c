package report_test

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/report"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/sweepspec"
	"github.com/cephtune/cephtune/internal/task"
)

var update = flag.Bool("update", false, "write the golden files")

// winner returns a sweep with a winner, and with all other features of a sweep.
func winner(t *testing.T) *v1alpha1.CephTuningSweep {
	s := clitest.Recorded(t, "osd_option", "two-osd-options")
	clitest.Set(&s.Status.Conditions, v1alpha1.ConditionRestored, metav1.ConditionTrue, v1alpha1.ReasonRestored, "Everything was read back at its original value.")
	s.Status.Environment = &v1alpha1.Environment{FSID: "4f6b2e0c-1111-4000-8000-000000000001", CephVersion: "19.2.3", RookVersion: "v1.17.2", TotalOSDs: 3, Digest: "sha256:0123"}
	return s
}

func pgNum(t *testing.T) *v1alpha1.CephTuningSweep {
	return clitest.Recorded(t, "pg_num", "pg-num-on-scratch-pools")
}

// validTrial returns a valid trial with the figure 1. The index of its configuration is its position.
func validTrial(number, block, position int) v1alpha1.Trial {
	return v1alpha1.Trial{
		Number: int32(number), State: v1alpha1.TrialValid, Configuration: new(int32(position)), Objective: "1",
		Block: &v1alpha1.TrialBlock{Number: int32(block), Attempt: 1, Position: int32(position)},
	}
}

// runsOf returns the benchmarks of all runs of a sweep except the first. The first phase has the
// figures in the ledger, and the second phase reads that many times faster.
func runsOf(t *testing.T, s *v1alpha1.CephTuningSweep) report.Runs {
	t.Helper()
	ledger, err := sweepspec.ReadLedger(&s.Status)
	if err != nil {
		t.Fatal(err)
	}
	var all []*v1alpha1.CephBenchmark
	for i, e := range ledger {
		if len(e.Values) == 0 || i == 0 {
			continue
		}
		metric := func(value float64) []v1alpha1.MetricResult {
			return []v1alpha1.MetricResult{
				{Metric: v1alpha1.MetricLatencyP99, Value: figure.Decimal(1e7 / value)},
				{Metric: v1alpha1.MetricBandwidth, Value: figure.Decimal(value)},
				{Metric: v1alpha1.MetricLatencyMax, Value: "1"},
			}
		}
		b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "any"}}
		b.Status.Trial = runOf(s, i+1)
		for n, phase := range s.Spec.Template.Phases {
			b.Status.Phases = append(b.Status.Phases, v1alpha1.PhaseResult{Name: phase.Name, Metrics: metric(e.Values[0] * float64(n+1))})
		}
		all = append(all, b)
	}
	all = append(all, &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "of-somebody-else"}})
	return report.RunsOf(s, all)
}

// The word for a change depends on its interval. A lower figure is better if the metric says so.
func TestEveryPhaseSaysWhatIsBetter(t *testing.T) {
	s := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}}
	s.Spec.Confidence, s.Spec.Objective.MinimumEffect = "0.95", "20%"
	s.Spec.Template.Phases = []v1alpha1.Phase{{Name: "p"}}
	s.Status.Configurations = []v1alpha1.ConfigurationResult{{Index: 0, Name: "baseline"}, {Index: 1, Name: "other"}}
	tests := map[string]struct {
		metric    v1alpha1.Metric
		candidate [3]string // compared with 100, 100, 100
		want      string
	}{
		"far better":                    {v1alpha1.MetricIOPS, [3]string{"150", "151", "152"}, "+51.0% (+48.5% to +53.5%) better by 20%"},
		"better":                        {v1alpha1.MetricIOPS, [3]string{"110", "112", "111"}, "+11.0% (+8.5% to +13.5%) better"},
		"more latency is worse":         {v1alpha1.MetricLatencyP99, [3]string{"110", "112", "111"}, "+11.0% (+8.5% to +13.5%) worse"},
		"less latency is better":        {v1alpha1.MetricLatencyP99, [3]string{"50", "51", "50"}, "-49.7% (-51.1% to -48.2%) better by 20%"},
		"less latency in a window, too": {v1alpha1.MetricP99Outage, [3]string{"50", "51", "50"}, "-49.7% (-51.1% to -48.2%) better by 20%"},
		"nobody can tell":               {v1alpha1.MetricIOPS, [3]string{"80", "100", "120"}, "-1.4% (-40.4% to +63.4%)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := s.DeepCopy()
			var all []*v1alpha1.CephBenchmark
			for block, value := range test.candidate {
				for position, v := range []string{"100", value} {
					run := 2*block + position + 1
					s.Status.Trials = append(s.Status.Trials, validTrial(run, block+1, position))
					all = append(all, &v1alpha1.CephBenchmark{
						ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "any"},
						Status: v1alpha1.CephBenchmarkStatus{Trial: runOf(s, run), Phases: []v1alpha1.PhaseResult{{
							Name: "p", Metrics: []v1alpha1.MetricResult{{Metric: test.metric, Value: v1alpha1.Decimal(v)}},
						}}},
					})
				}
			}
			d, err := report.Sweep(s, report.RunsOf(s, all))
			if err != nil {
				t.Fatal(err)
			}
			if got := cellOf(t, d, "Every phase and figure"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// The windows before, during and after an outage appear by configuration, in order of time.
func TestEveryPhaseHasTheWindowsInOrder(t *testing.T) {
	s := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}}
	s.Spec.Template.Phases = []v1alpha1.Phase{{Name: "p"}}
	s.Status.Configurations = []v1alpha1.ConfigurationResult{{Index: 0, Name: "baseline"}, {Index: 1, Name: "other"}}
	var all []*v1alpha1.CephBenchmark
	for run := 1; run <= 2; run++ {
		s.Status.Trials = append(s.Status.Trials, validTrial(run, 1, run-1))
		phase := v1alpha1.PhaseResult{Name: "p"}
		for _, metric := range []v1alpha1.Metric{
			v1alpha1.MetricP99After, v1alpha1.MetricP99Outage, v1alpha1.MetricTimeToClean, v1alpha1.MetricP99Recovery, v1alpha1.MetricIOPS, v1alpha1.MetricP99Before,
		} {
			phase.Metrics = append(phase.Metrics, v1alpha1.MetricResult{Metric: metric, Value: "0.2"})
		}
		all = append(all, &v1alpha1.CephBenchmark{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "any"},
			Status:     v1alpha1.CephBenchmarkStatus{Trial: runOf(s, run), Phases: []v1alpha1.PhaseResult{phase}},
		})
	}
	d, err := report.Sweep(s, report.RunsOf(s, all))
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, section := range d.Sections {
		for _, part := range section.Parts {
			if section.Title == "Every phase and figure" && part.Table != nil {
				for _, row := range part.Table.Rows {
					rows = append(rows, row[0]+" "+row[1])
				}
			}
		}
	}
	want := []string{"p IOPS 0.2 IOPS", "p TimeToClean 200ms", "p P99Before 200ms", "p P99Outage 200ms", "p P99Recovery 200ms", "p P99After 200ms"}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// cellOf returns the last cell in the first row of a section's only table.
func cellOf(t *testing.T, d *report.Document, title string) string {
	t.Helper()
	for _, section := range d.Sections {
		for _, part := range section.Parts {
			if section.Title == title && part.Table != nil {
				row := part.Table.Rows[0]
				return row[len(row)-1]
			}
		}
	}
	t.Fatalf("there is no table %q", title)
	return ""
}

// fresh is a sweep that the operator has not seen; failed has ended without a result.
func fresh(t *testing.T) *v1alpha1.CephTuningSweep {
	s := clitest.Sweep(t, "plan")
	s.Status = v1alpha1.CephTuningSweepStatus{}
	return s
}

func failed(t *testing.T) *v1alpha1.CephTuningSweep {
	s := clitest.Recorded(t, "plan", "pg-num-in-place")
	s.Name = "pg-num <script>alert(1)</script> | `x`"
	s.Status.Trials, s.Status.Configurations, s.Status.Verdict, s.Status.Summary = s.Status.Trials[:7], s.Status.Configurations[:1], "", ""
	third := &s.Status.Trials[2]
	third.State, third.Reason, third.Objective, third.Constraints = v1alpha1.TrialInvalid, v1alpha1.TrialFailed, "", nil
	s.Status.Conditions = nil
	clitest.Set(&s.Status.Conditions, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonClusterUnhealthy, "Ceph has reported HEALTH_ERR: OSD_FULL (1 full osd(s)).")
	clitest.Set(&s.Status.Conditions, v1alpha1.ConditionRestored, metav1.ConditionFalse, v1alpha1.ReasonNotRestored, "pg_num of pool replicapool was 64.")
	return s
}

// client returns the result of a fio client: reads with latencies around a median.
func client(rate float64, median int64) *result.Result {
	d := &result.Direction{
		Operations: int64(60 * rate), Bytes: int64(60*rate) * 4096, Seconds: 60, ShortestSeconds: 60,
		Latency: &result.Latency{Moments: result.MomentsFromStddev(int64(60*rate), float64(median)/1e9, 0.0004), Histogram: &result.Histogram{}},
		Series:  &result.Series{Boundaries: result.MeasuredBoundaries},
	}
	d.Latency.Moments.MaxSeconds = new(float64(median) / 1e9 * 9)
	left := d.Operations
	for i, share := range []int64{100, 300, 350, 150, 60, 25, 10, 4, 1} {
		n := min(d.Operations*share/1000, left)
		d.Latency.Histogram.Bins = append(d.Latency.Histogram.Bins, result.Bin{Nanoseconds: result.BinNanoseconds(result.BinIndex(median * int64(60+25*i) / 100)), Count: n})
		left -= n
	}
	d.Latency.Histogram.Bins[2].Count += left
	for i := range 60 {
		n := rate * (1 + 0.05*float64(i%7-3)/3)
		d.Series.StartSeconds, d.Series.EndSeconds = append(d.Series.StartSeconds, float64(i)), append(d.Series.EndSeconds, float64(i+1))
		d.Series.OperationsPerSecond, d.Series.BytesPerSecond = append(d.Series.OperationsPerSecond, n), append(d.Series.BytesPerSecond, 4096*n)
	}
	return &result.Result{SchemaVersion: result.SchemaVersion, Clients: 1, Source: result.Source{Tool: result.ToolFIO, Format: "fio-json"}, Read: d}
}

func run(t *testing.T, number int32, state v1alpha1.RunState, rate float64) *archive.Run {
	t.Helper()
	reports := []task.Report{
		{Status: task.Status{ID: "t", State: task.Done}, Client: 0, Result: client(rate, 1_000_000)},
		{Status: task.Status{ID: "t", State: task.Done}, Client: 1, Result: client(rate*0.98, 1_050_000)},
	}
	observed, err := figure.Observe(reports, engine.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	observed.Mark(v1alpha1.MarkClosedLoop)
	sleep := "0.1"
	if state != v1alpha1.RunValid {
		sleep = "0"
	}
	environment, err := json.Marshal(quiescence.Describe(quiescence.Inputs{
		FSID: "4f6b2e0c-1111-4000-8000-000000000001", RookVersion: "v1.17.2",
		Config: []ceph.ConfigEntry{{Section: "osd", Mask: "class:ssd", Name: "osd_recovery_sleep", Value: sleep}},
		OSDs:   []ceph.OSD{{ID: 0, DeviceClass: "ssd", TotalBytes: 1 << 40}}, Images: map[string]string{"tools": "sha256:77"},
		Nodes: []quiescence.Node{{Name: "node-a"}}, ConfinedTo: []int{4, 0},
	}))
	if err != nil {
		t.Fatal(err)
	}
	made := &archive.Run{
		SchemaVersion: archive.SchemaVersion, Number: number, State: state, Environment: environment,
		StartTime: clitest.Morning(5 * int(number)), EndTime: clitest.Morning(5*int(number) + 3),
		Phases: []archive.Phase{{Name: "randread-4k", Observation: &observed, Clients: reports, StartSpreadSeconds: new(0.012)}},
	}
	// A run that does not count must not name a slow OSD.
	made.Phases[0].SlowOSDs = []archive.SlowOSD{{
		ID: 4, DeviceClass: "ssd", CommitSeconds: 0.0121, PeersSeconds: 0.0041, Peers: 5, PGs: 21, PeersPGs: 16,
		Work: &archive.Work{OperationsPerSecond: 1640, PeersOperationsPerSecond: 1630, BytesPerSecond: 1640 * 4096, PeersBytesPerSecond: 1630 * 4096},
	}}
	switch number {
	case 3: // Ceph did not report the OSD's I/O.
		made.Phases[0].SlowOSDs[0].Work = nil
	case 4:
		made.Phases[0].SlowOSDs = nil
	}
	if state != v1alpha1.RunValid {
		made.Reason = "recovery came up during phase randread-4k"
	}
	return made
}

func nightly(t *testing.T) (*v1alpha1.CephBenchmark, []*archive.Run) {
	t.Helper()
	runs := []*archive.Run{run(t, 1, v1alpha1.RunValid, 9800), run(t, 2, v1alpha1.RunInvalid, 4100), run(t, 3, v1alpha1.RunValid, 9910), run(t, 4, v1alpha1.RunValid, 9870)}
	b := clitest.Benchmark(t, "fio_rbd")
	b.Name, b.Namespace = "nightly", clitest.Namespace
	b.Status.StartTime, b.Status.CompletionTime = new(metav1.NewTime(clitest.Morning(0))), new(metav1.NewTime(clitest.Morning(24)))
	b.Spec.Expectations = []v1alpha1.Expectation{{MetricReference: v1alpha1.MetricReference{Phase: "randread-4k", Metric: v1alpha1.MetricLatencyP99}, AtMost: "5ms", ClosedLoop: true}}
	combined, err := figure.Combine("randread-4k", archive.Observations(runs, "randread-4k"))
	if err != nil {
		t.Fatal(err)
	}
	b.Status.Phases = []v1alpha1.PhaseResult{combined}
	gate, err := figure.Expect(b.Spec.Expectations, b.Spec.Repetitions, b.Status.Phases, figure.Comparison{})
	if err != nil {
		t.Fatal(err)
	}
	b.Status.Expectations, b.Status.Verdict, b.Status.Summary = gate.Results, gate.Verdict, gate.Sentence
	b.Status.Headline = "randread-4k 19.6k IOPS"
	b.Status.SlowOSDs = []v1alpha1.SlowOSD{{OSD: 4, Phase: "randread-4k", CommitLatency: "0.0121", PeersCommitLatency: "0.0041", RelativeWork: "1.01", Runs: 2}}
	b.Status.SpaceEfficiency = &v1alpha1.SpaceEfficiency{
		StoredBytes: 1 << 30, UsedBytes: 3300 << 20, TheoreticalBytes: 3 << 30, ClusterUsedBytesBefore: 2 << 30, ClusterUsedBytes: 5400 << 20,
	}
	b.Status.Environment = &v1alpha1.Environment{FSID: "4f6b2e0c-1111-4000-8000-000000000001", RookVersion: "v1.17.2", TotalOSDs: 1}
	clitest.Complete(&b.Status.Conditions, "The results are in status.")
	return b, runs
}

// documents returns reports of all kinds.
func documents(t *testing.T) map[string]*report.Document {
	t.Helper()
	benchmark, runs := nightly(t)
	all := map[string]*report.Document{}
	var errs []error
	keep := func(name string) func(*report.Document, error) {
		return func(d *report.Document, err error) { all[name] = d; errs = append(errs, err) }
	}
	keep("a-winner")(report.Sweep(winner(t), nil))
	pgs := pgNum(t)
	keep("pg-num")(report.Sweep(pgs, runsOf(t, pgs)))
	keep("a-sweep-that-failed")(report.Sweep(failed(t), nil))
	keep("a-sweep-nobody-has-seen")(report.Sweep(fresh(t), nil))
	keep("a-benchmark")(report.Benchmark(benchmark, runs))
	keep("a-benchmark-without-its-runs")(report.Benchmark(benchmark, nil))
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestGolden(t *testing.T) {
	for name, d := range documents(t) {
		t.Run(name, func(t *testing.T) {
			page, err := d.HTML()
			if err != nil {
				t.Fatal(err)
			}
			figures, err := d.CSV()
			if err != nil {
				t.Fatal(err)
			}
			clitest.Golden(t, name+".md", string(d.Markdown()), *update)
			clitest.Golden(t, name+".csv", string(figures), *update)
			if name == "a-winner" || name == "a-benchmark" {
				clitest.Golden(t, name+".html", string(page), *update)
			}
		})
	}
}

// TestPagesNeedNothingElse checks every kind of report: it must be well-formed, it must not load or
// run anything, and names must never be markup.
func TestPagesNeedNothingElse(t *testing.T) {
	for name, d := range documents(t) {
		page, err := d.HTML()
		if err != nil {
			t.Fatal(err)
		}
		text := string(page)
		for _, never := range []string{"<script", "http://", "https://", "src=", "@import", "url(", "javascript:", "NaN", "Inf"} {
			if index := strings.Index(strings.ReplaceAll(text, `xmlns="http://www.w3.org/2000/svg"`, ""), never); index >= 0 {
				t.Errorf("%s: %q in the page, at %d", name, never, index)
			}
		}
		for _, picture := range regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(text, -1) {
			decoder := xml.NewDecoder(strings.NewReader(picture))
			for {
				if _, err := decoder.Token(); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s: %v in\n%s", name, err, picture)
				}
			}
		}
	}
}

func TestPlotsShowEveryRun(t *testing.T) {
	s := winner(t)
	d, err := report.Sweep(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	marks := 0
	for _, section := range d.Sections {
		for _, part := range section.Parts {
			if part.Plot != nil && section.Title == "Every trial, in the order of time" {
				marks = strings.Count(part.Plot.SVG, "<title>trial ")
			}
		}
	}
	if marks != len(s.Status.Trials) {
		t.Errorf("%d marks for %d trials", marks, len(s.Status.Trials))
	}
}

// On a screen of 390 pixels, a page has a plot of 360. Its labels must be inside, and must not overlap.
func TestLabelsOfPlotsFit(t *testing.T) {
	label := regexp.MustCompile(`text-anchor="(start|middle|end)" x="([0-9.-]+)" y="([0-9.]+)">([^<]*)<`)
	plots := 0
	for name, d := range documents(t) {
		for _, section := range d.Sections {
			for _, part := range section.Parts {
				if part.Plot == nil {
					continue
				}
				for width, picture := range map[float64]string{960: part.Plot.SVG, 360: part.Plot.Narrow} {
					plots++
					ends := map[string]float64{}
					if !strings.Contains(picture, fmt.Sprintf(`viewBox="0 0 %v `, width)) {
						t.Errorf("%s, %s: the plot is not %v wide", name, section.Title, width)
					}
					labels := label.FindAllStringSubmatch(picture, -1)
					slices.SortStableFunc(labels, func(a, b []string) int { return int(math.Round(leftOf(t, a) - leftOf(t, b))) })
					for _, l := range labels {
						left := leftOf(t, l)
						right := left + charWidth*float64(utf8.RuneCountInString(l[4]))
						if left < 0 || right > width || left < ends[l[3]] {
							t.Errorf("%s, %s at %v: %q from %.0f to %.0f, after one until %.0f", name, section.Title, width, l[4], left, right, ends[l[3]])
						}
						ends[l[3]] = right
					}
				}
			}
		}
	}
	if plots < 10 {
		t.Errorf("%d plots", plots)
	}
}

// charWidth is the mean width of a character of the labels, in pixels.
const charWidth = 6.4

// leftOf returns the left end of a label.
func leftOf(t *testing.T, label []string) float64 {
	x, err := strconv.ParseFloat(label[2], 64)
	if err != nil {
		t.Fatal(err)
	}
	return x - charWidth*float64(utf8.RuneCountInString(label[4]))*map[string]float64{"start": 0, "middle": 0.5, "end": 1}[label[1]]
}

// After one block there are ratios without intervals. A point must not be drawn as an interval.
func TestPlotOmitsUnknownInterval(t *testing.T) {
	s := pgNum(t)
	for i := range s.Status.Configurations {
		s.Status.Configurations[i].Low, s.Status.Configurations[i].High = "", ""
	}
	d, err := report.Sweep(s, nil)
	if err != nil {
		t.Fatal(err)
	}
	page, err := d.HTML()
	if err != nil {
		t.Fatal(err)
	}
	if label := regexp.MustCompile(`pg_num=64: [0-9.]+[^<]*`).FindString(string(page)); label == "" || strings.Contains(label, " to ") {
		t.Errorf("the plot says %q, want a ratio without an interval", label)
	}
}

func TestCSVHasARowForEachFigure(t *testing.T) {
	d, err := report.Sweep(failed(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := d.CSV()
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil || len(rows) < 8 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if rows[0][13] != "value" || rows[3][6] != "Failed" || rows[3][13] != "" {
		t.Errorf("got %v", rows)
	}
}

func TestReportHasBackgroundLoad(t *testing.T) {
	b, runs := nightly(t)
	b.Status.Phases[0].BackgroundIOPS = "498.5"
	runs[0].Phases[0].Background = []figure.Figure{
		{Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionTotal, Value: 497}, {Metric: v1alpha1.MetricIOPS, Direction: v1alpha1.DirectionRead, Value: 1},
	}
	d, err := report.Benchmark(b, runs)
	if err != nil {
		t.Fatal(err)
	}
	if text := string(d.Markdown()); !strings.Contains(text, "| Background | IOPS | 499 IOPS |") && !strings.Contains(text, "| Background | IOPS | 498 IOPS |") {
		t.Errorf("no row of the background load in\n%s", text)
	}
	rows, err := d.CSV()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(rows), "Background,IOPS"); n != 1 || !strings.Contains(string(rows), ",Background,IOPS,") {
		t.Errorf("%d rows of the background load in\n%s", n, rows)
	}
}

func TestALedgerOfAnotherVersionIsAnError(t *testing.T) {
	s := winner(t)
	s.Status.Trials[3].State = "what"
	if _, err := report.Sweep(s, nil); err == nil || !strings.Contains(err.Error(), "status.trials, item 4") {
		t.Errorf("got %v", err)
	}
}

func TestBenchmarkReportHasOutage(t *testing.T) {
	recovered := int64(240)
	stop := metav1.Now()
	back := metav1.NewTime(stop.Add(2 * 60e9))
	b := &v1alpha1.CephBenchmark{}
	b.Name, b.Namespace = "b", "bench"
	b.Spec.Template.Outage = &v1alpha1.Outage{Phase: "outage", OSDs: []int32{2}}
	run := &archive.Run{Number: 1, Phases: []archive.Phase{{Name: "outage", Outage: &archive.Outage{
		StopTime: &stop, NoupUnsetTime: &back, SecondsToOut: "90", SecondsToBackfilled: "12", SecondsToUp: "2", SecondsToActive: "4", SecondsToClean: "20",
		DegradedObjectSeconds: "14700", RecoveredObjects: &recovered, RecoveredObjectsPerSecond: "12",
		Windows: []archive.OutageWindow{{Name: archive.WindowOutage, Seconds: 60, IOPS: "487", Bandwidth: "1048576", StalledSeconds: 1}},
	}}}}
	d, err := report.Benchmark(b, []*archive.Run{run})
	if err != nil {
		t.Fatal(err)
	}
	text := string(d.Markdown())
	for _, want := range []string{"In phase outage, osd.2.", "| 1 | 2m0s | 2s | 4s | 20s | 14700 | 240 | 12 |", "| 1 | 90s | 12s |", "| 1 | Outage | 60 | 1 MiB/s | 487 IOPS |"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in it:\n%s", want, text)
		}
	}
	run.Phases[0].Outage, b.Spec.Template.Outage = nil, nil
	if d, err = report.Benchmark(b, []*archive.Run{run}); err != nil || strings.Contains(string(d.Markdown()), "Outage") {
		t.Errorf("without one: %v\n%s", err, d.Markdown())
	}
}

func TestReportSaysThatTheObjectWasEdited(t *testing.T) {
	b := &v1alpha1.CephBenchmark{}
	b.Name, b.Namespace, b.Generation = "b", "bench", 3
	for generation, warned := range map[int64]bool{2: true, 3: false} {
		b.Status.Schedule = &v1alpha1.ScheduleStatus{Generation: generation}
		d, err := report.Benchmark(b, nil)
		if err != nil || strings.Contains(string(d.Markdown()), "was edited") != warned {
			t.Errorf("begun with generation %d: %v\n%s", generation, err, d.Markdown())
		}
	}
}

// runOf returns the trial of a sweep's run.
func runOf(s *v1alpha1.CephTuningSweep, run int) *v1alpha1.BenchmarkTrial {
	return &v1alpha1.BenchmarkTrial{Sweep: s.Name, UID: s.UID, RunID: s.Status.ObservedRunID, Number: int32(run)}
}

// Users can take the name of a run's benchmark, but cannot write its status.
func TestRunsOfASweep(t *testing.T) {
	s := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s", UID: "1"}}
	s.Status.ObservedRunID, s.Status.Trials = "a", make([]v1alpha1.Trial, 3)
	named := func(run int, change func(*v1alpha1.CephBenchmark)) *v1alpha1.CephBenchmark {
		b := &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: sweepspec.ChildName(s, run)}}
		change(b)
		return b
	}
	renamed := named(3, func(b *v1alpha1.CephBenchmark) { b.Name, b.Status.Trial = "renamed", runOf(s, 1) })
	earlier := named(2, func(b *v1alpha1.CephBenchmark) {
		b.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(s, v1alpha1.GroupVersion.WithKind("CephTuningSweep"))}
	})
	foreign := []*v1alpha1.CephBenchmark{
		named(1, func(*v1alpha1.CephBenchmark) {}),
		named(3, func(*v1alpha1.CephBenchmark) {}),
		named(3, func(b *v1alpha1.CephBenchmark) { b.Status.Trial = runOf(s, 3); b.Status.Trial.UID = "2" }),
		named(3, func(b *v1alpha1.CephBenchmark) { b.Status.Trial = runOf(s, 3); b.Status.Trial.RunID = "b" }),
	}
	runs := report.RunsOf(s, append(foreign, renamed, earlier))
	if len(runs) != 2 || runs[1] != renamed || runs[2] != earlier {
		t.Errorf("got %v, want the sweep's own runs 1 and 2", runs)
	}
}
