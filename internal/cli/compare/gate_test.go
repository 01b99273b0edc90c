package compare

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/object"
)

// onDays returns a benchmark with an execution on each day, around a rate in MiB/s. The last one is in
// its status, and complete says whether that one has ended.
func onDays(t *testing.T, name string, complete bool, rates ...float64) []client.Object {
	t.Helper()
	b := clitest.Benchmark(t, "fio_rbd")
	b.Name, b.Namespace, b.UID = name, clitest.Namespace, types.UID("uid-of-"+name)
	var runs []client.Object
	for day, rate := range rates {
		b.Status.StartTime = new(metav1.NewTime(clitest.Morning(24 * 60 * day)))
		b.Status.ObservedRunID = v1alpha1.RunID([]string{"mon", "tue", "wed", "thu"}[day])
		runs = append(runs, execution(t, b, "19.2.3", "s", 0.99*rate*mib, rate*mib, 1.01*rate*mib)...)
	}
	clitest.GoOn(&b.Status.Conditions, v1alpha1.ReasonRunning, "1/3 runs")
	if complete {
		clitest.Complete(&b.Status.Conditions, "3 of 3 runs are valid.")
	}
	return append([]client.Object{b}, runs...)
}

// write writes objects into a file as export does, and returns its path.
func write(t *testing.T, name string, objects ...client.Object) string {
	t.Helper()
	var text bytes.Buffer
	for _, o := range objects {
		text.WriteString("---\n")
		if err := object.Print(clitest.Holding(t), o, "yaml", &text); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// The gate reads all executions of its reference, from the cluster and from files, and each outcome
// has an exit code of its own.
func TestGate(t *testing.T) {
	reference := onDays(t, "reference", true, 100, 102, 98)
	var all []client.Object
	all = append(all, reference...)
	all = append(all, onDays(t, "running", false, 100, 102, 98, 10)...)
	all = append(all, onDays(t, "begun", false, 100)...)
	all = append(all, onDays(t, "good", true, 100)...)
	all = append(all, onDays(t, "bad", true, 80)...)
	all = append(all, onDays(t, "near", true, 92)...)
	all = append(all, benchmark(t, "other", "1", "19.2.3", "t", 99*mib, 100*mib, 101*mib)...)
	all = append(all, benchmark(t, "blind", "1", "", "s", 99*mib, 100*mib, 101*mib)...)
	all = append(all, onDays(t, "loop", true, 100)...)
	all = append(all, onDays(t, "loop2", true, 100)...)
	inCluster := clitest.Connecting(clitest.Holding(t, all...))
	offline := func() (client.WithWatch, string, error) { return nil, "", errors.New("there is no cluster") }
	references, good, bad := write(t, "reference.yaml", reference...), write(t, "good.yaml", onDays(t, "good", true, 100)...), write(t, "bad.json", onDays(t, "bad", true, 80)...)
	alone := write(t, "alone.yaml", reference[0])
	sweep := write(t, "sweep.yaml", clitest.Sweep(t, "osd_option"))

	for name, c := range map[string]struct {
		connect object.Connect
		line    string
		code    int
		want    string // a part of the output or of the error
	}{
		"kept":                   {inCluster, "reference good --max-regression 15%", exit.OK, "Kept: randread-4k Bandwidth is 1 (0.906 to 1.1) times that of reference, at most 15% worse"},
		"days are named":         {inCluster, "reference good --max-regression 15%", exit.OK, "compares with 3 days of reference"},
		"broken":                 {inCluster, "reference bad --max-regression 10%", exit.Unexpected, "worse by more than 10%: randread-4k Bandwidth, randread-4k LatencyP99"},
		"unknown":                {inCluster, "reference near --max-regression 10%", exit.Undecided, "it is unknown whether B is worse by more than 10%: randread-4k Bandwidth"},
		"as JSON":                {inCluster, "reference near --max-regression 10% -o json", exit.Undecided, `"days": 3,`},
		"one execution of it":    {inCluster, "reference@tue good --max-regression 10% --this-hour", exit.OK, "reference@tue has runs on 1 of the 3 days"},
		"one day":                {inCluster, "reference@tue good --max-regression 10%", exit.Undecided, "in this hour, which does not pass a gate: run reference@tue on 2 more days, or ask for this hour"},
		"one run of it":          {inCluster, "reference:1 good --max-regression 10%", exit.Undecided, "1 valid run has the figure in the latest execution of reference:1"},
		"a running one":          {inCluster, "running good --max-regression 15%", exit.OK, "A: running, run ID wed"},
		"one never complete":     {inCluster, "begun good --max-regression 10%", exit.Undecided, "begun is not Complete: wait for it"},
		"another phase":          {inCluster, "other good --max-regression 10% --this-hour --expect-difference=phases", exit.OK, "Kept: randread-4k Bandwidth is 1 "},
		"no environment":         {inCluster, "reference blind --max-regression 10%", exit.Undecided, "the environment of blind was not recorded"},
		"a metric of nothing":    {inCluster, "reference good --max-regression 15% --metric bw,p50", exit.Undecided, "B has no figure LatencyP50"},
		"a closed loop":          {inCluster, "loop loop2 --max-regression 15% --metric p99 --this-hour", exit.Undecided, "randread-4k LatencyP99 is a percentile of a closed loop, which hides stalls"},
		"a closed loop, named":   {inCluster, "loop loop2 --max-regression 15% --metric p99 --this-hour --closed-loop", exit.OK, "Kept: randread-4k LatencyP99"},
		"not by default":         {inCluster, "loop loop2 --max-regression 15% --this-hour -o json", exit.OK, `"metric": "Bandwidth"`},
		"a file":                 {inCluster, references + " bad --max-regression 10%", exit.Unexpected, "more than 10% worse"},
		"two files":              {offline, references + " " + good + " --max-regression 15%", exit.OK, "3 days of " + references},
		"two files, broken":      {offline, references + " " + bad + " --max-regression 10%", exit.Unexpected, "worse by more than 10%"},
		"an execution of a file": {offline, references + "@tue " + good + " --max-regression 10% --this-hour", exit.OK, "has runs on 1 of the 3 days"},
		"files without a gate":   {offline, references + "@mon:1 " + references + "@wed:3", exit.OK, "run ID wed, run 3"},
		"not in the file":        {offline, references + "@sun " + good, exit.Failure, "there are no results of " + references + "@sun"},
		"a file of no results":   {offline, alone + " " + good, exit.Failure, `write it with "kubectl cephtune export cephbenchmark/reference"`},
		"a file of a sweep":      {offline, sweep + " " + good, exit.Usage, "only CephBenchmarks can be compared"},
		"no such file":           {offline, "nowhere.yaml " + good, exit.Failure, "nowhere.yaml"},
		"not a file":             {offline, "cephbenchmark/reference.yaml " + good, exit.Failure, "there is no cluster"},
		"not a file's run":       {offline, references + ":x " + good, exit.Usage, "want the number of a run after the colon"},
	} {
		t.Run(name, func(t *testing.T) {
			got := clitest.Execute(t, NewCommand(c.connect), c.line, "")
			if got.Code() != c.code || !strings.Contains(strings.Join(strings.Fields(got.String()), " "), c.want) {
				t.Errorf("exit code %d, want %d and %q:\n%s", got.Code(), c.code, c.want, got)
			}
		})
	}
}

// The reference of a pipe is standard input.
func TestGateOnStandardInput(t *testing.T) {
	text, err := os.ReadFile(write(t, "reference.yaml", onDays(t, "reference", true, 100, 102, 98)...))
	if err != nil {
		t.Fatal(err)
	}
	got := clitest.Execute(t, NewCommand(clitest.Connecting(clitest.Holding(t, onDays(t, "good", true, 100)...))), "- good --max-regression 15%", string(text))
	if got.Err != nil || !strings.Contains(got.Stdout, "3 days of -") {
		t.Errorf("%s", got)
	}
}

func TestParse(t *testing.T) {
	for arg, want := range map[string]argument{
		"nightly":                    {name: "nightly"},
		"nightly@2:3":                {name: "nightly", runID: "2", number: 3},
		"cephbenchmark/nightly.yaml": {name: "nightly.yaml"},
		"nightly.yaml":               {name: "nightly.yaml", file: true},
		"a/b.c/nightly.yml@2:3":      {name: "a/b.c/nightly.yml", file: true, runID: "2", number: 3},
		"./ni@ght:ly.json:3":         {name: "./ni@ght:ly.json", file: true, number: 3},
		"-":                          {name: "-", file: true},
	} {
		want.typed = arg
		got, err := parse(arg)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(argument{})); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", arg, err, diff)
		}
	}
}
