package history

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/results"
	"github.com/cephtune/cephtune/internal/cli/start"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/history"
	"github.com/cephtune/cephtune/internal/quiescence"
)

var update = flag.Bool("update", false, "write the golden files")

// month is a benchmark of one phase with nights, and what a night was like.
type month struct {
	nights int
	slower int // the first night that is 15 % slower; 0 for none
}

func at(night int) time.Time { return time.Date(2026, 3, 1+night, 2, 0, 0, 0, time.UTC) }

func (m month) environment(t *testing.T, night int) json.RawMessage {
	t.Helper()
	in := quiescence.Inputs{
		FSID: "f", RookVersion: "v1.19.1", Versions: &ceph.Versions{Overall: map[string]int{"20.2.4": 5}},
		KubernetesVersion: "v1.36.3", OSDs: []ceph.OSD{{ID: 0, DeviceClass: "ssd"}}, Devices: []ceph.OSDDevice{{ID: 0, Kernel: "6.8.0-45-generic"}},
		Pools: []ceph.Pool{{Name: "cephtune-scratch", Type: "replicated", Size: 3, PGNum: 64}},
	}
	if m.slower > 0 && night >= m.slower {
		in.RookVersion, in.Devices[0].Kernel, in.Pools[0].PGNum = "v1.20.0", "6.8.0-47-generic", 32
		in.Config = []ceph.ConfigEntry{{Section: "osd", Name: "osd_mclock_profile", Value: "high_recovery_ops"}}
	}
	text, err := json.Marshal(quiescence.Describe(in))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// cluster returns a cluster that keeps the latest nights of a month: the last one in the results of the execution in status,
// and the others in the history.
func (m month) cluster(t *testing.T, kept int, digest func(night int) string) client.WithWatch {
	t.Helper()
	b := clitest.Benchmark(t, "radosbench")
	b.Name, b.Namespace, b.UID = "nightly", clitest.Namespace, "nightly"
	rng := rand.New(rand.NewPCG(2026, 3))
	var earlier []*archive.Run
	var all []client.Object
	for night := range m.nights {
		b.Status.StartTime, b.Status.ObservedRunID = new(metav1.NewTime(at(night))), v1alpha1.RunID(fmt.Sprint("n", night))
		b.Status.Runs, all = nil, nil
		level := 400.0 * (1 << 20) * math.Exp(0.03*rng.NormFloat64())
		if m.slower > 0 && night >= m.slower {
			level *= 0.85
		}
		for number := range int32(3) {
			cm, err := archive.ConfigMap(b, &archive.Run{
				Number: number + 1, State: v1alpha1.RunValid, Environment: m.environment(t, night),
				Phases: []archive.Phase{{Name: b.Spec.Template.Phases[0].Name, SpecDigest: digest(night), Observation: &figure.Observation{
					Figures: []figure.Figure{{Metric: v1alpha1.MetricBandwidth, Direction: v1alpha1.DirectionTotal, Value: level * math.Exp(0.01*rng.NormFloat64())}},
				}}},
			})
			if err != nil {
				t.Fatal(err)
			}
			run, err := archive.FromConfigMap(cm)
			if err != nil {
				t.Fatal(err)
			}
			if night >= m.nights-kept && night < m.nights-1 {
				earlier = append(earlier, run)
			}
			all = append(all, cm)
			b.Status.Runs = append(b.Status.Runs, v1alpha1.BenchmarkRun{Number: number + 1, Results: cm.Name, ResultsDigest: archive.Digest(cm)})
		}
	}
	cm, err := history.ConfigMap(b, history.Of(earlier))
	if err != nil {
		t.Fatal(err)
	}
	b.Status.History = &v1alpha1.BenchmarkHistory{Results: cm.Name, ResultsDigest: archive.Digest(cm)}
	return clitest.Holding(t, append(all, cm, b)...)
}

func same(int) string { return "digest" }

func execute(t *testing.T, c client.WithWatch, line string) clitest.Outcome {
	t.Helper()
	return clitest.Execute(t, NewCommand(clitest.Connecting(c)), line, "")
}

// acknowledging sets the field of the benchmark in a cluster.
func acknowledging(t *testing.T, c client.WithWatch, date string) client.WithWatch {
	t.Helper()
	var b v1alpha1.CephBenchmark
	key := client.ObjectKey{Namespace: clitest.Namespace, Name: "nightly"}
	if err := c.Get(t.Context(), key, &b); err != nil {
		t.Fatal(err)
	}
	b.Spec.AcknowledgedUntil = date
	if err := c.Update(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestHistory(t *testing.T) {
	for name, c := range map[string]struct {
		month  month
		digest func(int) string
		until  string
		code   int
	}{
		"slower":           {month{nights: 20, slower: 13}, same, "2026-03-01", exit.Unexpected},
		"acknowledged":     {month{nights: 20, slower: 13}, same, "2026-03-14", exit.OK},
		"steady":           {month{nights: 20}, same, "", exit.OK},
		"too-few":          {month{nights: 5}, same, "", exit.Undecided},
		"another-workload": {month{nights: 20, slower: 6}, func(n int) string { return fmt.Sprint(n >= 6) }, "", exit.OK},
	} {
		t.Run(name, func(t *testing.T) {
			got := execute(t, acknowledging(t, c.month.cluster(t, 20, c.digest), c.until), "nightly")
			if got.Code() != c.code {
				t.Errorf("exit code %d, want %d: %v", got.Code(), c.code, got.Err)
			}
			clitest.Golden(t, name+".txt", got.Stdout, *update)
		})
	}
}

// The subcommand sweep takes the commands as they are printed.
func TestPrintedSweepsAreAccepted(t *testing.T) {
	got := execute(t, month{nights: 20, slower: 13}.cluster(t, 20, same), "nightly -o json")
	var all []history.Series
	if err := json.Unmarshal([]byte(got.Stdout), &all); err != nil {
		t.Fatal(err)
	}
	printed := all[0].Changes[0].Sweeps
	if len(printed) != 2 {
		t.Errorf("%q, want an option of OSDs and one of the pool", printed)
	}
	for _, command := range printed {
		line, isOurs := strings.CutPrefix(command, "kubectl cephtune sweep ")
		line, namespaced := strings.CutSuffix(line, " -n "+clitest.Namespace)
		sweep := start.NewSweepCommand(clitest.Connecting(clitest.Holding(t)), nil, nil)
		if got := clitest.Execute(t, sweep, line+" --ceph-cluster a/b --dry-run -o yaml", ""); !isOurs || !namespaced || got.Err != nil {
			t.Errorf("%s: %v", command, got.Err)
		}
	}
}

func TestOutputsForPipelines(t *testing.T) {
	slower := month{nights: 20, slower: 13}
	two := func(n int) string { return fmt.Sprint(n >= 18) }
	for name, c := range map[string]struct {
		digest      func(int) string
		until, line string
		code        int
	}{
		"nights.benchstat":                       {same, "", "nightly -o benchstat", exit.OK},
		"nights-with-another-workload.benchstat": {two, "", "nightly -o benchstat --metric bandwidth", exit.OK},
		"slower.xml":                             {same, "", "nightly -o junit", exit.Unexpected},
		"acknowledged.xml":                       {same, "2026-03-14", "nightly -o junit", exit.OK},
		"too-few.xml":                            {two, "", "nightly -o junit", exit.Undecided},
	} {
		t.Run(name, func(t *testing.T) {
			got := execute(t, acknowledging(t, slower.cluster(t, 20, c.digest), c.until), c.line)
			if got.Code() != c.code {
				t.Errorf("exit code %d, want %d: %v", got.Code(), c.code, got.Err)
			}
			clitest.Golden(t, name, got.Stdout, *update)
		})
	}
}

// A file holds the nights that the cluster has forgotten, and reading it again gives the same answer as if it had not.
func TestNightsInAFile(t *testing.T) {
	m := month{nights: 30, slower: 22}
	file := filepath.Join(t.TempDir(), "nights.jsonl")
	early := month{nights: 18}.cluster(t, 18, same)
	if got := execute(t, early, "nightly -o jsonl --to "+file); got.Err != nil || got.Stdout != "" {
		t.Fatal(got)
	}
	late := m.cluster(t, 15, same)
	for range 2 { // The second time, all nights of the cluster are in the file, too.
		if got := execute(t, late, "nightly -o jsonl -f "+file+" --to "+file); got.Err != nil {
			t.Fatal(got)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\n"); n != 30 {
		t.Errorf("%d nights, want 30", n)
	}
	want := execute(t, m.cluster(t, 30, same), "nightly -o json")
	got := execute(t, late, "nightly -o json -f "+file)
	if got.Stdout != want.Stdout || got.Code() != exit.Unexpected {
		t.Errorf("%v\n%s\nwant\n%s", got.Err, got.Stdout, want.Stdout)
	}
	var all []history.Series
	if err := json.Unmarshal([]byte(got.Stdout), &all); err != nil {
		t.Fatal(err)
	}
	if c := all[0].Changes; len(c) != 1 || !isFound(c[0]) {
		t.Errorf("%+v", c)
	}
}

// An export has the history, also after the cluster has lost it.
func TestNightsInAnExport(t *testing.T) {
	full := month{nights: 30, slower: 22}.cluster(t, 30, same)
	file := filepath.Join(t.TempDir(), "export.yaml")
	if got := clitest.Execute(t, results.NewExportCommand(clitest.Connecting(full)), "cephbenchmark/nightly --to "+file, ""); got.Err != nil {
		t.Fatal(got.Err)
	}
	want := execute(t, full, "nightly -o json")
	got := execute(t, month{nights: 2}.cluster(t, 2, same), "nightly -o json -f "+file)
	if got.Stdout != want.Stdout || got.Code() != exit.Unexpected {
		t.Errorf("%v\n%s\nwant\n%s", got.Err, got.Stdout, want.Stdout)
	}
}

// isFound reports whether a change is that of 15 % in night 22.
func isFound(c history.Change) bool {
	return c.Worse && c.Low < 0.87 && c.High > 0.83 && !c.First.After(at(22)) && !c.Last.Before(at(22))
}

func TestBadInput(t *testing.T) {
	c := month{nights: 3}.cluster(t, 3, same)
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	line := `{"schemaVersion":1,"benchmark":{"name":"NAME"},"time":"2026-01-01T00:00:00Z"}` + "\n"
	for name, c2 := range map[string]struct{ line, part string }{
		"a sweep":           {"cephsweep/nightly", "a sweep has no history"},
		"an unknown metric": {"nightly --metric max", "want one of bandwidth"},
		"--to of a table":   {"nightly --to x", "--to is for -o jsonl"},
		"no file":           {"nightly -f " + filepath.Join(dir, "none"), "no such file"},
		"no nights":         {"nightly -f " + write("yaml", "a: b\n"), "line 1 is no night"},
		"another version":   {"nightly -f " + write("two", `{"schemaVersion":2}`), "line 1 is no night"},
		"another benchmark": {"nightly -f " + write("other", strings.Replace(line, "NAME", "weekly", 1)), "of benchmark weekly"},
		"too many nights":   {"nightly -f " + write("many", strings.Repeat(line, 801)), "more than 800 nights"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := execute(t, c, c2.line); got.Code() != exit.Usage || !strings.Contains(fmt.Sprint(got.Err), c2.part) {
				t.Errorf("exit code %d, %v, want %q", got.Code(), got.Err, c2.part)
			}
		})
	}
}

// A user of the namespace may delete the history, or write another one in its place.
func TestAHistoryOfSomebodyElse(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*testing.T, client.Client, *corev1.ConfigMap)
		code   int
		part   string
	}{
		"deleted": {func(t *testing.T, c client.Client, cm *corev1.ConfigMap) {
			t.Helper()
			if err := c.Delete(t.Context(), cm); err != nil {
				t.Fatal(err)
			}
		}, exit.Undecided, "too few nights"},
		"replaced": {func(t *testing.T, c client.Client, cm *corev1.ConfigMap) {
			t.Helper()
			cm.BinaryData[archive.HistoryKey] = []byte("other")
			if err := c.Update(t.Context(), cm); err != nil {
				t.Fatal(err)
			}
		}, exit.Failure, "does not have the results that the operator wrote"},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := month{nights: 20}.cluster(t, 20, same)
			var maps corev1.ConfigMapList
			if err := cluster.List(t.Context(), &maps, client.MatchingLabels(archive.HistoryLabels("nightly"))); err != nil || len(maps.Items) != 1 {
				t.Fatal(err, len(maps.Items))
			}
			c.change(t, cluster, &maps.Items[0])
			if got := execute(t, cluster, "nightly"); got.Code() != c.code || !strings.Contains(fmt.Sprint(got.Err), c.part) {
				t.Errorf("exit code %d, %v, want %q", got.Code(), got.Err, c.part)
			}
		})
	}
}
