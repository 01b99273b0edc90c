//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/task"
)

// maxStatusBytes and maxSpreadSeconds are limits that the documentation promises.
const (
	maxStatusBytes   = 64 << 10
	maxSpreadSeconds = 0.25
)

// load has the known properties of a phase. Figures are checked against them: the performance may
// be poor, but all figures must describe the same operations.
type load struct {
	phase      v1alpha1.PhaseName
	blockBytes float64
	// inFlight is the number of operations that all clients together keep in flight; 0 for an
	// offered rate.
	inFlight float64
	// readShare is the share of reads in a phase with reads and writes; 0 for another phase.
	readShare float64
	// metrics are all metrics that the engine reports.
	metrics []v1alpha1.Metric
	marks   []v1alpha1.ResultMark // there may be others
}

// These are the metrics that each engine reports.
func rbdBenchMetrics() []v1alpha1.Metric {
	return []v1alpha1.Metric{v1alpha1.MetricBandwidth, v1alpha1.MetricIOPS}
}

func radosBenchMetrics() []v1alpha1.Metric {
	return append(rbdBenchMetrics(), v1alpha1.MetricLatencyMean, v1alpha1.MetricLatencyMax)
}

func fioMetrics() []v1alpha1.Metric {
	return append(radosBenchMetrics(),
		v1alpha1.MetricLatencyP50, v1alpha1.MetricLatencyP95, v1alpha1.MetricLatencyP99, v1alpha1.MetricLatencyP999)
}

// figures has the values of a phase by direction and metric.
type figures map[v1alpha1.Direction]map[v1alpha1.Metric]float64

func figuresOf(t testing.TB, phase v1alpha1.PhaseResult) figures {
	t.Helper()
	all := figures{}
	for _, m := range phase.Metrics {
		value, err := strconv.ParseFloat(string(m.Value), 64)
		if err != nil {
			t.Errorf("phase %s: %s is %q: %v", phase.Name, m.Metric, m.Value, err)
		}
		if all[m.Direction] == nil {
			all[m.Direction] = map[v1alpha1.Metric]float64{}
		}
		all[m.Direction][m.Metric] = value
	}
	return all
}

func phaseOf(t testing.TB, b *v1alpha1.CephBenchmark, name v1alpha1.PhaseName) v1alpha1.PhaseResult {
	t.Helper()
	i := slices.IndexFunc(b.Status.Phases, func(p v1alpha1.PhaseResult) bool { return p.Name == name })
	if i < 0 {
		t.Fatalf("status has no phase %s", name)
	}
	return b.Status.Phases[i]
}

// wantPlausible checks the results of phases against the known properties of their loads.
func wantPlausible(t *testing.T, b *v1alpha1.CephBenchmark, loads ...load) {
	t.Helper()
	if len(b.Status.Phases) != len(loads) {
		t.Errorf("status has %d phases, want %d", len(b.Status.Phases), len(loads))
	}
	for _, l := range loads {
		t.Run(string(l.phase), func(t *testing.T) {
			phase := phaseOf(t, b, l.phase)
			if phase.ValidRuns != b.Spec.Repetitions {
				t.Errorf("it has %d valid runs, want %d", phase.ValidRuns, b.Spec.Repetitions)
			}
			for _, mark := range l.marks {
				if !slices.Contains(phase.Marks, mark) {
					t.Errorf("its marks are %v, want %s among them", phase.Marks, mark)
				}
			}
			if closed := slices.Contains(phase.Marks, v1alpha1.MarkClosedLoop); closed && !slices.Contains(l.marks, v1alpha1.MarkClosedLoop) {
				t.Error("it is marked ClosedLoop, and is not one with percentiles")
			}
			all := figuresOf(t, phase)
			l.check(t, all[v1alpha1.DirectionTotal])
			l.checkMix(t, all)
		})
	}
}

func (l load) check(t *testing.T, f map[v1alpha1.Metric]float64) {
	t.Helper()
	for _, metric := range l.metrics {
		if f[metric] <= 0 && !beyondBins(metric, f[v1alpha1.MetricLatencyMax]) {
			t.Errorf("%s is %v, want more than 0", metric, f[metric])
		}
	}
	for metric := range f {
		if !slices.Contains(l.metrics, metric) {
			t.Errorf("there is a %s, which the tool cannot tell", metric)
		}
	}
	wantWithin(t, "bandwidth by IOPS and block size", f[v1alpha1.MetricBandwidth]/(f[v1alpha1.MetricIOPS]*l.blockBytes), 0.95, 1.05)
	if mean, ok := f[v1alpha1.MetricLatencyMean]; ok && l.inFlight > 0 {
		// This is Little's law. The result is smaller if the engine also spends time outside I/O.
		wantWithin(t, "operations in flight, by IOPS and mean latency", mean*f[v1alpha1.MetricIOPS]/l.inFlight, 0.4, 1.15)
	}
	wantAscending(t, f, v1alpha1.MetricLatencyP50, v1alpha1.MetricLatencyP95, v1alpha1.MetricLatencyP99, v1alpha1.MetricLatencyP999)
	wantAscending(t, f, v1alpha1.MetricLatencyMean, v1alpha1.MetricLatencyMax)
}

// beyondBins reports whether a percentile may be missing. fio's histogram has no bins above 17 s,
// so percentiles of slower operations are unknown. A machine whose disk stops for a minute has such
// operations.
func beyondBins(metric v1alpha1.Metric, maxSeconds float64) bool {
	const lastBinSeconds = 17
	tail := metric == v1alpha1.MetricLatencyP99 || metric == v1alpha1.MetricLatencyP999
	return tail && maxSeconds > lastBinSeconds
}

// checkMix checks that reads and writes add up, if the phase has both.
func (l load) checkMix(t *testing.T, all figures) {
	t.Helper()
	reads, writes := all[v1alpha1.DirectionRead], all[v1alpha1.DirectionWrite]
	if l.readShare == 0 {
		if len(reads)+len(writes) > 0 {
			t.Errorf("there are figures by direction, %v, of a phase that does not mix", all)
		}
		return
	}
	total := all[v1alpha1.DirectionTotal][v1alpha1.MetricIOPS]
	wantWithin(t, "reads and writes by all operations", (reads[v1alpha1.MetricIOPS]+writes[v1alpha1.MetricIOPS])/total, 0.99, 1.01)
	wantWithin(t, "share of reads", reads[v1alpha1.MetricIOPS]/total, l.readShare-0.05, l.readShare+0.05)
}

func wantWithin(t *testing.T, name string, got, low, high float64) {
	t.Helper()
	if !(got >= low && got <= high) { // This form also catches NaN.
		t.Errorf("%s: %v, want it between %v and %v", name, got, low, high)
	}
}

// wantAscending checks that the metrics that exist ascend.
func wantAscending(t *testing.T, f map[v1alpha1.Metric]float64, metrics ...v1alpha1.Metric) {
	t.Helper()
	last := v1alpha1.Metric("")
	for _, metric := range metrics {
		value, ok := f[metric]
		if !ok {
			continue
		}
		if last != "" && value < f[last] {
			t.Errorf("%s is %v, want no less than %s, %v", metric, value, last, f[last])
		}
		last = metric
	}
}

// wantRuns checks the runs in status and their documents, and returns the documents.
func (c *cluster) wantRuns(t *testing.T, b *v1alpha1.CephBenchmark) []*archive.Run {
	t.Helper()
	if len(b.Status.Runs) != int(b.Spec.Repetitions) {
		t.Errorf("status has %d runs, want %d", len(b.Status.Runs), b.Spec.Repetitions)
	}
	var documents []*archive.Run
	for _, run := range b.Status.Runs {
		if run.State != v1alpha1.RunValid {
			t.Errorf("run %d is %s: %s", run.Number, run.State, run.Reason)
		}
		if spread, err := strconv.ParseFloat(string(run.StartSpread), 64); b.Spec.Template.Clients.Count > 1 && (err != nil || spread > maxSpreadSeconds) {
			t.Errorf("the clients of run %d started %q s apart, want at most %v", run.Number, run.StartSpread, maxSpreadSeconds)
		}
		document, err := c.document(t, b, run)
		if err != nil {
			t.Errorf("run %d: %v", run.Number, err)
			continue
		}
		documents = append(documents, document)
		wantComplete(t, b, document)
	}
	if text, err := json.Marshal(b.Status); err != nil || len(text) > maxStatusBytes {
		t.Errorf("status takes %d bytes (%v), want at most %d", len(text), err, maxStatusBytes)
	}
	return documents
}

// document reads the full result of a run.
func (c *cluster) document(t testing.TB, b *v1alpha1.CephBenchmark, run v1alpha1.BenchmarkRun) (*archive.Run, error) {
	t.Helper()
	var kept corev1.ConfigMap
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: b.Namespace, Name: run.Results}, &kept); err != nil {
		return nil, fmt.Errorf("read its results: %w", err)
	}
	if !metav1.IsControlledBy(&kept, b) || kept.Immutable == nil || !*kept.Immutable {
		t.Errorf("ConfigMap %s is not the benchmark's own and immutable: %+v", kept.Name, kept.ObjectMeta)
	}
	return archive.FromConfigMap(&kept)
}

// wantComplete checks that a document is complete for each client.
func wantComplete(t *testing.T, b *v1alpha1.CephBenchmark, run *archive.Run) {
	t.Helper()
	if len(run.Phases) != len(b.Spec.Template.Phases) {
		t.Errorf("the document has %d phases, want %d", len(run.Phases), len(b.Spec.Template.Phases))
	}
	if len(run.Environment) == 0 {
		t.Error("the document has no environment")
	}
	if b.Spec.Template.Target.PersistentVolumeClaim == nil && len(run.Placement) == 0 {
		t.Error("the document does not tell where the placement groups are")
	}
	for _, placement := range run.Placement {
		pgs, primaries := 0, 0
		for _, osd := range placement.OSDs {
			pgs, primaries = pgs+osd.PGs, primaries+osd.Primaries
		}
		if primaries == 0 || pgs%primaries != 0 {
			t.Errorf("pool %s has %d copies of %d placement groups, want as many of each: %v", placement.Pool, pgs, primaries, placement.OSDs)
		}
	}
	for _, phase := range run.Phases {
		if len(phase.Clients) != int(b.Spec.Template.Clients.Count) {
			t.Errorf("phase %s has reports of %d clients, want %d", phase.Name, len(phase.Clients), b.Spec.Template.Clients.Count)
		}
		for _, report := range phase.Clients {
			if report.Result == nil {
				t.Errorf("phase %s: client %d has no result", phase.Name, report.Client)
			}
		}
		if len(phase.OSDLatencies) == 0 && b.Spec.Template.Target.PersistentVolumeClaim == nil {
			t.Errorf("phase %s tells nothing of the OSDs", phase.Name)
		}
	}
}

func reportHasNoOutput(report task.Report) bool { return report.Output == "" }

// wantEnvironment compares the environment in a benchmark's status with the cluster.
func (c *cluster) wantEnvironment(t *testing.T, b *v1alpha1.CephBenchmark) {
	t.Helper()
	environment := b.Status.Environment
	if environment == nil {
		t.Fatal("status has no environment")
	}
	fsid, err := c.ceph(t.Context(), "fsid")
	if err != nil {
		t.Fatal(err)
	}
	var versions struct{ Overall map[string]int }
	if err := c.cephJSON(t.Context(), &versions, "versions"); err != nil {
		t.Fatal(err)
	}
	var osds []int
	if err := c.cephJSON(t.Context(), &osds, "osd", "ls"); err != nil {
		t.Fatal(err)
	}
	if environment.FSID != fsid {
		t.Errorf("FSID is %q, want %q", environment.FSID, fsid)
	}
	for long := range versions.Overall {
		if want := "ceph version " + environment.CephVersion + " "; environment.CephVersion == "" || long[:min(len(long), len(want))] != want {
			t.Errorf("Ceph's version is %q, want that of %q", environment.CephVersion, long)
		}
	}
	if environment.RookVersion == "" || environment.Digest == "" || int(environment.TotalOSDs) != len(osds) {
		t.Errorf("the environment is %+v, want Rook's version, a digest and %d OSDs", *environment, len(osds))
	}
}
