package results

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/figure"
)

// measured returns a benchmark and the archive of its run.
func reported(t *testing.T) (*v1alpha1.CephBenchmark, *corev1.ConfigMap) {
	t.Helper()
	b := clitest.Benchmark(t, "radosbench")
	b.Name, b.Namespace = "nightly", clitest.Namespace
	b.Status.StartTime = new(metav1.NewTime(clitest.Morning(0)))
	kept, err := archive.ConfigMap(b, &archive.Run{
		Number: 1, State: v1alpha1.RunValid, StartTime: clitest.Morning(1), EndTime: clitest.Morning(2),
		Phases: []archive.Phase{{Name: "write-4m", Observation: &figure.Observation{
			Figures: []figure.Figure{{Metric: v1alpha1.MetricBandwidth, Direction: v1alpha1.DirectionTotal, Value: 4e8}},
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	clitest.Record(t, b, kept)
	return b, kept
}

func reportedSweep(t *testing.T) *v1alpha1.CephTuningSweep {
	s := clitest.Recorded(t, "osd_option", "two-osd-options")
	s.Namespace = clitest.Namespace
	return s
}

func TestEveryForm(t *testing.T) {
	b, kept := reported(t)
	c := clitest.Holding(t, b, kept, reportedSweep(t))
	for line, want := range map[string]string{
		"mclock-profile":                        "<!DOCTYPE html>",
		"cephbenchmark/nightly":                 "<h1>nightly</h1>",
		"cephsweep mclock-profile -o markdown":  "# CephTuningSweep mclock-profile",
		"cephbenchmark/nightly -o csv":          "1,Valid,write-4m,Total,Bandwidth,bytesPerSecond,400000000",
		"cephbenchmark nightly --output csv":    "all,,write-4m,Total,Bandwidth",
		"cephtuningsweep/mclock-profile -o csv": "1,1,1,0,1,profile=balanced cap=1024,Valid,100,3072,",
	} {
		got := clitest.Execute(t, NewReportCommand(clitest.Connecting(c)), line, "")
		if got.Err != nil || !strings.Contains(got.Stdout, want) {
			t.Errorf("%s: %v, no %q in\n%.400s", line, got.Err, want, got.Stdout)
		}
	}
}

// TestAFileSaysTheSame compares reports from a cluster with reports from files that kubectl has
// written: an object, and a List.
func TestAFileSaysTheSame(t *testing.T) {
	b, kept := reported(t)
	c := clitest.Holding(t, b, kept, reportedSweep(t))
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(b), b); err != nil {
		t.Fatal(err)
	}
	list := &corev1.List{Items: []runtime.RawExtension{{Object: kept}}}
	var text strings.Builder
	for _, item := range []client.Object{b, kept} {
		gvk, err := c.GroupVersionKindFor(item)
		if err != nil {
			t.Fatal(err)
		}
		item.GetObjectKind().SetGroupVersionKind(gvk)
	}
	if err := object.Print(c, b, "yaml", &text); err != nil {
		t.Fatal(err)
	}
	text.WriteString("# A field of a later version.\nlater: {}\n---\n")
	if err := object.Print(c, list, "yaml", &text); err != nil {
		t.Fatal(err)
	}
	for _, form := range reportOutputs() {
		live := clitest.Execute(t, NewReportCommand(clitest.Connecting(c)), "cephbenchmark/nightly -o "+form, "")
		file := clitest.Execute(t, NewReportCommand(clitest.Connecting(nil)), "-f - -o "+form, text.String())
		if live.Err != nil || file.Err != nil || live.Stdout != file.Stdout || !strings.Contains(file.Stdout, "write-4m") {
			t.Errorf("%s: %v, %v\n%s\n%s", form, live.Err, file.Err, live.Stdout, file.Stdout)
		}
	}
}

func TestToAFile(t *testing.T) {
	to := filepath.Join(t.TempDir(), "report.html")
	cmd := NewReportCommand(clitest.Connecting(clitest.Holding(t, reportedSweep(t))))
	got := clitest.Execute(t, cmd, "mclock-profile --to "+to, "")
	page, err := os.ReadFile(to)
	if got.Err != nil || got.Stdout != "" || err != nil || !strings.HasSuffix(string(page), "</html>\n") {
		t.Errorf("%v, %v", got.Err, err)
	}
}

func TestTheEndingChoosesTheFormat(t *testing.T) {
	c := clitest.Holding(t, reportedSweep(t))
	for line, want := range map[string]string{
		"--to a.html":             "<!DOCTYPE html>",
		"--to a.md":               "# CephTuningSweep",
		"--to a.MD -o markdown":   "# CephTuningSweep",
		"--to a.csv":              "trial,block,",
		"--to a":                  "<!DOCTYPE html>",
		"--to a.txt -o csv":       "trial,block,",
		"--to a.txt":              "no format has the ending .txt",
		"--to a.md -o html":       "are two formats: remove -o",
		"--to a.json -o markdown": "are two formats: remove -o",
		"--to a.pdf":              "no format has the ending .pdf",
	} {
		t.Chdir(t.TempDir())
		got := clitest.Execute(t, NewReportCommand(clitest.Connecting(c)), "mclock-profile "+line, "")
		text, err := os.ReadFile(strings.Fields(line)[1])
		if got.Err != nil {
			text = []byte(got.Err.Error())
			if got.Code() != 2 || err == nil {
				t.Errorf("%s: exit code %d, written: %v", line, got.Code(), err == nil)
			}
		}
		if !strings.HasPrefix(string(text), want) && (got.Err == nil || !strings.Contains(string(text), want)) {
			t.Errorf("%s: got %.100q, want %q", line, text, want)
		}
	}
}

func TestReportErrors(t *testing.T) {
	damaged := reportedSweep(t)
	damaged.Status.Trials[0].State = "nothing"
	c := clitest.Holding(t, damaged)
	for line, want := range map[string]struct {
		code int
		text string
	}{
		"":                           {2, "want one object"},
		"-f - mclock-profile":        {2, "remove one of them"},
		"mclock-profile -o pdf":      {2, "want one of html, markdown, csv"},
		"weekly":                     {1, "there is no CephTuningSweep or CephBenchmark weekly"},
		"mclock-profile":             {1, "status.trials, item 1"},
		"-f /nowhere/at/all":         {1, "no such file"},
		"-f -":                       {1, "no CephBenchmark and no CephTuningSweep"},
		"weekly --to /nowhere/at/it": {1, "there is no CephTuningSweep or CephBenchmark weekly"},
	} {
		got := clitest.Execute(t, NewReportCommand(clitest.Connecting(c)), line, "")
		if got.Code() != want.code || !strings.Contains(got.Err.Error(), want.text) || got.Stdout != "" {
			t.Errorf("%s: %d, %v", line, got.Code(), got.Err)
		}
	}
}

// The report of an exported sweep with the design Interleaved draws its session.
func TestSessionsAreDrawn(t *testing.T) {
	const exported = "../testdata/exports/message-cap.yaml"
	got := clitest.Execute(t, NewReportCommand(nil), "-f "+exported, "")
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	if strips := strings.Count(got.Stdout, `<rect class="strip c`); strips != 2*24 {
		t.Errorf("%d windows are drawn, want 24 for wide screens and 24 for phones", strips)
	}
	for _, want := range []string{"Session 1: IOPS of all clients together", "message_cap=1, counts, ", `class="throughput"`} {
		if !strings.Contains(got.Stdout, want) {
			t.Errorf("no %q", want)
		}
	}
}

// A table of runs would be empty: the ledger of such a sweep has sessions.
func TestFiguresOfSessions(t *testing.T) {
	got := clitest.Execute(t, NewReportCommand(nil), "-f ../testdata/exports/switched.yaml -o csv", "")
	const want = `trial,validity,windows,seconds,written_mib,configuration_index,configuration,phase,metric,direction,blocks,ratio,deviation,unit,baseline_value,value
1,Valid,Short,392,128,1,message_cap=1,read-4k,IOPS,Total,8,0.5702822,0.179707,operationsPerSecond,,
1,Valid,Short,392,128,2,message_cap=512,read-4k,IOPS,Total,8,0.9939911,0.170308,operationsPerSecond,,
`
	if got.Err != nil || strings.ReplaceAll(got.Stdout, "\r\n", "\n") != want {
		t.Errorf("%v\n%s", got.Err, got.Stdout)
	}
}
