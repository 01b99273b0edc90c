package exporter

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/tuning"
)

// samplesNamed returns the samples of one metric.
func samplesNamed(all []Sample, name string) []Sample {
	return slices.DeleteFunc(slices.Clone(all), func(s Sample) bool { return s.Name != name })
}

func TestMeasuringRunOfASweep(t *testing.T) {
	measuresNow := func(s *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark {
		return childOf(s, "2.1.0.0", reconciling("Running"))
	}
	cases := map[string]struct {
		child func(*v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark
		edit  func(*v1alpha1.CephTuningSweep)
		want  []string // configuration and run
	}{
		"a run that measures": {child: measuresNow, want: []string{"pg_num=8", "4"}},
		"the baseline": {child: func(s *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark {
			return childOf(s, "2.1.1.0", reconciling("Running"))
		}, want: []string{"baseline", "4"}},
		"the second attempt at a block": {child: func(s *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark {
			return childOf(s, "2.2.2.1", reconciling("Running"))
		}, want: []string{"pg_num=64", "4"}},
		"a trial that switches": {child: func(s *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark {
			return childOf(s, "1-1", reconciling("Running"))
		}, edit: func(s *v1alpha1.CephTuningSweep) { s.Status.Plan.Design = v1alpha1.DesignInterleaved }, want: []string{"switched", "4"}},
		"before there is a table": {child: measuresNow, edit: func(s *v1alpha1.CephTuningSweep) { s.Status.Configurations = nil }, want: []string{"#2", "4"}},
		"none yet":                {child: func(*v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark { return nil }},
		"one that prepares": {child: func(s *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark {
			return childOf(s, "2.1.0.0", reconciling("Preparing"))
		}},
		"one that has ended": {child: func(s *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark {
			return childOf(s, "2.1.0.0", complete())
		}},
		"one of an earlier block": {child: func(s *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark {
			return childOf(s, "1.1.0.0", reconciling("Running"))
		}},
		"one without such a trial": {child: func(s *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark {
			return childOf(s, "2.1.3.0", reconciling("Running"))
		}},
		"one of that name that is a person's": {child: func(s *v1alpha1.CephTuningSweep) *v1alpha1.CephBenchmark {
			b := measuresNow(s)
			b.Status.Trial = nil
			return b
		}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			s := runningSweep()
			if test.edit != nil {
				test.edit(s)
			}
			got := samplesNamed(SweepSamples(s, test.child(s)), metrics.SweepRunning)
			var labels []string
			if len(got) > 0 {
				labels = got[0].Labels[2:]
			}
			if diff := cmp.Diff(test.want, labels); diff != "" || len(got) > 1 {
				t.Errorf("%d series (-want +got):\n%s", len(got), diff)
			}
		})
	}
}

func TestTwoConfigurationsOfOneName(t *testing.T) {
	s := endedSweep()
	twin := s.Status.Configurations[1]
	twin.Index = 2
	s.Status.Configurations = append(s.Status.Configurations, twin)
	var names []string
	for _, ratio := range samplesNamed(SweepSamples(s, nil), metrics.SweepConfigurationRatio) {
		names = append(names, ratio.Labels[2])
	}
	if diff := cmp.Diff([]string{"profile=high_client_ops", "profile=high_client_ops #2"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestSweepsWithFewSeries(t *testing.T) {
	fresh := &v1alpha1.CephTuningSweep{ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "new"}}
	if got := SweepSamples(fresh, nil); len(got) != 1 || got[0].Name != metrics.SweepInfo || got[0].Labels[4] != metrics.StateIdle {
		t.Errorf("a new sweep has %v, want info of an idle one alone", got)
	}
	foreign := runningSweep()
	foreign.Status.Trials = []v1alpha1.Trial{{Number: 7}}
	if got := samplesNamed(SweepSamples(foreign, nil), metrics.SweepConfigurationLatest); len(got) != 0 {
		t.Errorf("a ledger that nobody can read gave %v", got)
	}
	if got := samplesNamed(SweepSamples(foreign, nil), metrics.SweepConfigurationRatio); len(got) != 1 {
		t.Errorf("the ratios are %v, want the one that status has", got)
	}
}

func TestSummary(t *testing.T) {
	long := strings.Repeat("ä", 400)
	cases := map[string]struct {
		summary    string
		conditions []metav1.Condition
		want       string
	}{
		"an outcome":                 {"It won.", complete(), "It won."},
		"an outcome goes first":      {"Nobody won.", stalled("NoValidRun", "Look at it."), "Nobody won."},
		"what has to be done":        {"", stalled("NotAllowed", "Ask the administrator."), "Ask the administrator."},
		"what goes on is no outcome": {"", reconciling("Running"), ""},
		"a long one, in whole runes": {long, nil, strings.Repeat("ä", 254) + "…"},
	}
	for name, test := range cases {
		if got := summaryOf(test.summary, test.conditions); got != test.want || len(got) > maxText {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

func TestBenchmarkSeries(t *testing.T) {
	cases := map[string]struct {
		phases, dropped int
		// last is the metric of the last series, and statistic is its statistic.
		last, statistic string
	}{
		"room for all":              {2, 0, metrics.BenchmarkIOPS, "Read"},
		"reads alone are dropped":   {3, 7, metrics.BenchmarkLatency, "p50"},
		"latencies are dropped too": {5, 23, metrics.BenchmarkValidRuns, "Cached, ClosedLoop"},
		"all but bandwidth":         {16, 8*16 - 17, metrics.BenchmarkIOPS, "Total"},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			got, dropped := BenchmarkSamples(nightly(test.phases))
			if len(got) > metrics.MaxBenchmarkSeries || dropped != test.dropped || len(got)+dropped != 3+8*test.phases {
				t.Errorf("%d series and %d dropped, want %d dropped", len(got), dropped, test.dropped)
			}
			last := got[len(got)-1]
			if last.Name != test.last || last.Labels[len(last.Labels)-1] != test.statistic {
				t.Errorf("the last one is %v, want %s of %s", last, test.last, test.statistic)
			}
			if n := len(samplesNamed(got, metrics.BenchmarkBandwidth)); n != test.phases {
				t.Errorf("%d bandwidths, want that of each of %d phases", n, test.phases)
			}
		})
	}
}

// Both ends of an interval are exported, or none. A less important figure never takes the place of
// a more important one.
func TestIntervalsOfABenchmark(t *testing.T) {
	const perPhase = 10 // 7 figures, the valid runs, and two ends
	for phases, want := range map[int]int{1: 1, 2: 2, 3: 2, 4: 0} {
		b := judged(nightly(phases))
		b.Status.Expectations, b.Spec.Expectations = nil, nil
		got, dropped := BenchmarkSamples(b)
		low, high := samplesNamed(got, metrics.BenchmarkBandwidthLow), samplesNamed(got, metrics.BenchmarkBandwidthHigh)
		if len(low) != want || len(high) != want || len(got)+dropped != 3+perPhase*phases || len(got) > metrics.MaxBenchmarkSeries {
			t.Errorf("%d phases: %d and %d ends, want %d; %d series and %d dropped", phases, len(low), len(high), want, len(got), dropped)
		}
		if want > 0 && (low[0].Value != 40e6 || high[0].Value != 42e6 || low[0].Labels[2] != "phase-0") {
			t.Errorf("%d phases: %v to %v", phases, low[0], high[0])
		}
		if means := samplesNamed(got, metrics.BenchmarkLatency); phases == 4 && len(means) != 4 {
			t.Errorf("latencies are %v, want the 99th percentiles alone", means)
		}
	}
	half := nightly(1)
	half.Status.Phases[0].Metrics[6].Low = "40000e3"
	if got, _ := BenchmarkSamples(half); len(samplesNamed(got, metrics.BenchmarkBandwidthLow)) > 0 {
		t.Error("one end of an interval is told without the other")
	}
}

func TestRegressed(t *testing.T) {
	series := func(value float64) []Sample {
		return []Sample{sample(metrics.BenchmarkRegressed, value, "bench", "nightly")}
	}
	for status, want := range map[metav1.ConditionStatus][]Sample{
		metav1.ConditionTrue: series(1), metav1.ConditionFalse: series(0), metav1.ConditionUnknown: {},
	} {
		got, _ := BenchmarkSamples(regressed(nightly(16), status))
		if diff := cmp.Diff(want, samplesNamed(got, metrics.BenchmarkRegressed)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", status, diff)
		}
	}
}

func TestFindings(t *testing.T) {
	b := nightly(0)
	b.Status.Diagnosis = &v1alpha1.DiagnosisResult{Findings: []v1alpha1.Finding{
		{Code: "SlowOSDs", Confidence: v1alpha1.ConfidenceLikely}, {Code: "NoFastDB", Confidence: v1alpha1.ConfidencePossible},
	}}
	got, dropped := BenchmarkSamples(b)
	want := []Sample{
		sample(metrics.BenchmarkFinding, 1, "bench", "nightly", "SlowOSDs", "Likely"),
		sample(metrics.BenchmarkFinding, 1, "bench", "nightly", "NoFastDB", "Possible"),
	}
	if diff := cmp.Diff(want, samplesNamed(got, metrics.BenchmarkFinding)); diff != "" || dropped > 0 {
		t.Errorf("%d dropped (-want +got):\n%s", dropped, diff)
	}
}

func TestExpectations(t *testing.T) {
	got, _ := BenchmarkSamples(judged(nightly(16)))
	want := []Sample{
		sample(metrics.BenchmarkExpectations, 2, "bench", "nightly", "Met"),
		sample(metrics.BenchmarkExpectations, 1, "bench", "nightly", "Missed"),
	}
	if diff := cmp.Diff(want, samplesNamed(got, metrics.BenchmarkExpectations)); diff != "" || len(got) != metrics.MaxBenchmarkSeries {
		t.Errorf("%d series (-want +got):\n%s", len(got), diff)
	}
}

func TestConstraintsOfASweep(t *testing.T) {
	kept, broken, unknown := v1alpha1.ConstraintKept, v1alpha1.ConstraintBroken, v1alpha1.ConstraintUnknown
	for want, outcomes := range map[string][]v1alpha1.ConstraintOutcome{
		"": nil, "Kept": {kept, kept}, "Unknown": {kept, unknown}, "Broken": {unknown, broken, kept},
	} {
		var results []v1alpha1.ConstraintResult
		for _, outcome := range outcomes {
			results = append(results, v1alpha1.ConstraintResult{Outcome: outcome})
		}
		if got := constraintsOf(results); got != want {
			t.Errorf("%v: %q, want %q", outcomes, got, want)
		}
	}
}

// Whatever its status contains, a sweep has no more series than its limit.
func TestTheSeriesOfASweepAreBounded(t *testing.T) {
	noise := &v1alpha1.Noise{Floor: "3.2%", SmallestEffect: "5%"}
	for name, s := range map[string]*v1alpha1.CephTuningSweep{"at work": runningSweep(), "ended": endedSweep()} {
		s.Status.Noise = noise
		s.Status.Progress.EstimatedCompletionTime = &metav1.Time{Time: noon}
		s.Status.Conditions = append(s.Status.Conditions, restored("False", "NotRestored"))
		got := SweepSamples(s, childOf(s, "2.1.0.0", reconciling("Running")))
		if most := metrics.MaxSweepSeries + metrics.MaxConfigurationSeries*len(s.Status.Configurations); len(got) > most {
			t.Errorf("%s: %d series, want %d at most", name, len(got), most)
		}
		floor := samplesNamed(got, metrics.SweepNoiseFloor)
		if (len(floor) == 1) != (name == "ended") || len(floor) == 1 && floor[0].Value != 0.032 {
			t.Errorf("%s: the noise is %v", name, floor)
		}
	}
}

func TestBenchmarksOfSweeps(t *testing.T) {
	s := runningSweep()
	for name, test := range map[string]struct {
		conditions []metav1.Condition
		want       int
	}{
		"at work":           {reconciling("Running"), 3},
		"prepares":          {reconciling("Preparing"), 2},
		"has ended":         {complete(), 0},
		"failed":            {stalled("PhaseFailed", "It failed."), 0},
		"nobody looked yet": {nil, 0},
	} {
		if got, dropped := BenchmarkSamples(childOf(s, "2.1.0.0", test.conditions)); len(got) != test.want || dropped != 0 {
			t.Errorf("one that %s has %d series, and %d were dropped; want %d", name, len(got), dropped, test.want)
		}
	}
}

func TestClusters(t *testing.T) {
	held := &lock.Grant{Holder: "CephTuningSweep/bench/pg-num/5f3a", Since: noon.Add(-time.Hour), Expires: noon.Add(time.Minute)}
	expired := &lock.Grant{Holder: held.Holder, Since: held.Since, Expires: noon}
	journal := &tuning.Journal{
		Sweep:   tuning.Sweep{Namespace: "bench", Name: "pg-num", UID: "5f3a"},
		Entries: []tuning.Entry{{State: tuning.Open}, {State: tuning.Restored}, {State: tuning.Open}},
	}
	done := &tuning.Journal{Sweep: journal.Sweep, Entries: journal.Entries[1:2]}
	free := sample(metrics.LockHeld, 0, "rook-ceph/my-cluster", "")
	closed := sample(metrics.JournalOpen, 0, "rook-ceph/my-cluster", "")
	cases := map[string]struct {
		found clusterFacts
		want  []Sample
	}{
		"nothing is known": {clusterFacts{}, nil},
		"nobody":           {clusterFacts{grant: &lock.Grant{}, journal: &tuning.Journal{}}, []Sample{free, closed}},
		"a sweep": {clusterFacts{grant: held, journal: journal}, []Sample{
			sample(metrics.LockHeld, 1, "rook-ceph/my-cluster", "CephTuningSweep/bench/pg-num"),
			sample(metrics.LockAcquired, float64(noon.Unix()-3600), "rook-ceph/my-cluster"),
			sample(metrics.JournalOpen, 2, "rook-ceph/my-cluster", "CephTuningSweep/bench/pg-num"),
		}},
		"OSDs that are kept down": {clusterFacts{outage: &tuning.Journal{
			Sweep: tuning.Sweep{Kind: "CephBenchmark", Namespace: "bench", Name: "outage"}, Until: noon,
			Entries: []tuning.Entry{{State: tuning.Open}, {State: tuning.Open}},
		}}, []Sample{
			sample(metrics.OSDsKeptDown, 2, "rook-ceph/my-cluster", "CephBenchmark/bench/outage"),
			sample(metrics.OSDsDueUp, float64(noon.Unix()), "rook-ceph/my-cluster"),
		}},
		"OSDs that were let up": {clusterFacts{outage: &tuning.Journal{Until: noon, Entries: []tuning.Entry{{State: tuning.Restored}}}}, []Sample{
			sample(metrics.OSDsKeptDown, 0, "rook-ceph/my-cluster", ""),
		}},
		"a lock that has expired is nobody's": {clusterFacts{grant: expired, journal: done}, []Sample{free, closed}},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			waiting := 2
			test.found.name, test.found.waiting = "rook-ceph/my-cluster", &waiting
			want := append([]Sample{sample(metrics.QueueLength, 2, "rook-ceph/my-cluster")}, test.want...)
			if diff := cmp.Diff(want, clusterSamples(test.found, noon)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
