package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/version"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	osds      = "../engine/radosbench/testdata/osd-count/"
	howto     = "../engine/radosbench/testdata/rados-howto/"
	broken    = "../engine/radosbench/testdata/synthetic/"
	pvc       = "../engine/fio/testdata/pvc-and-rbd/"
	fio       = "../engine/fio/testdata/fio-3.33/"
	logs      = "../engine/fio/testdata/fio-3.33-logs/"
	rbd       = "../engine/rbdbench/testdata/pvc-and-rbd/"
	tables    = "../stats/testdata/"
	ownTables = "testdata/tables/"
	field     = "testdata/field/"

	depth1   = field + "k01-depth1-1.json," + field + "k01-depth1-2.json," + field + "k01-depth1-3.json"
	depth32  = field + "k01-depth32-1.json," + field + "k01-depth32-2.json," + field + "k01-depth32-3.json"
	limitedA = field + "k09-rate-a1.json," + field + "k09-rate-a2.json," + field + "k09-rate-a3.json," + field + "k09-rate-a4.json"
	limitedB = field + "k09-rate-b1.json," + field + "k09-rate-b2.json," + field + "k09-rate-b3.json," + field + "k09-rate-b4.json"
)

// goldenCases are command lines after "analyze". Words are separated by spaces.
var goldenCases = map[string]string{
	"one run on a side decides nothing": "--baseline " + osds + "1osd-write.txt --candidate " + osds + "2osd-write.txt",
	"several candidates, names first": "--baseline " + osds + "1osd-write.txt --candidate-name 2osd --candidate " + osds + "2osd-write.txt --candidate-name 3osd --candidate " +
		osds + "3osd-write.txt -o json",
	"several candidates, names last": "--baseline " + osds + "1osd-rand.txt --candidate " + osds + "2osd-rand.txt --candidate-name 2osd --candidate " + osds +
		"3osd-rand.txt --candidate-name 3osd",
	"a cluster that stalls is not steady": "--baseline " + osds + "1osd-seq.txt --candidate " + osds + "2osd-seq.txt --candidate-name 2osd --candidate " + osds +
		"3osd-seq.txt --candidate-name 3osd",
	"128 KiB writes, latency":            "--baseline " + howto + "write-128k.txt --candidate " + howto + "write-128k.txt --metric latencyMean",
	"128 KiB reads":                      "--baseline " + howto + "seq-128k.txt --candidate " + howto + "seq-128k.txt --metric IOPS",
	"a copy is not another run":          "--baseline " + osds + "1osd-write.txt " + osds + "1osd-write.txt," + osds + "1osd-write.txt --candidate " + osds + "3osd-write.txt",
	"fio, plain, percentiles":            "--metric latencyP99 --baseline " + pvc + "fio-4k-randread.txt --candidate " + pvc + "fio-4k-randread.txt",
	"fio, mixed, both directions":        "--baseline " + pvc + "fio-4k-randrw-70-30.txt --candidate " + pvc + "fio-4k-randrw-70-30.txt --metric iops",
	"fio, mixed, reads only":             "--baseline " + pvc + "fio-4k-randrw-70-30.txt --candidate " + pvc + "fio-4k-randrw-70-30.txt --metric latencyP95 --direction read --closed-loop",
	"fio and rbd bench, different tools": "--baseline " + pvc + "fio-4k-randwrite.txt --candidate " + rbd + "rbd-bench-4k-randwrite.txt",
	"fio, different block sizes":         "--baseline " + pvc + "fio-4k-randwrite.txt --candidate " + pvc + "fio-1m-write.txt",
	"rbd bench, reads and writes":        "--baseline " + rbd + "rbd-bench-4k-randrw-70-30.txt --candidate " + rbd + "rbd-bench-4k-randrw-70-30.txt",
	"rbd bench, reads":                   "--baseline " + rbd + "rbd-bench-4k-randread.txt --candidate " + rbd + "rbd-bench-4k-randread.txt --metric iops",
	"rbd bench, large writes":            "--baseline " + rbd + "rbd-bench-1m-write.txt --candidate " + rbd + "rbd-bench-1m-write.txt -o markdown",
	"three runs of each, unpaired": "--baseline " + osds + "1osd-write.txt," + osds + "2osd-write.txt," + osds + "3osd-write.txt --candidate " + howto + "write-128k.txt," +
		broken + "show-time.txt," + broken + "crlf.txt",
	"three pairs, latency": "--paired --expect-difference mode --metric latencyMean --baseline " + osds + "1osd-rand.txt " + osds + "1osd-seq.txt " + osds +
		"2osd-rand.txt --candidate " + osds + "2osd-rand.txt " + osds + "2osd-seq.txt " + osds + "3osd-rand.txt",
	"the same runs without pairs": "--expect-difference mode --metric latencyMean --baseline " + osds + "1osd-rand.txt " + osds + "1osd-seq.txt " + osds +
		"2osd-rand.txt --candidate " + osds + "2osd-rand.txt " + osds + "2osd-seq.txt " + osds + "3osd-rand.txt",
	"error: not paired":                    "--paired --baseline " + osds + "1osd-write.txt," + osds + "2osd-write.txt --candidate " + osds + "3osd-write.txt",
	"error: no percentiles in rados bench": "--metric latencyP99 --baseline " + osds + "1osd-write.txt --candidate " + osds + "2osd-write.txt",
	"error: no latency in rbd bench":       "--metric latencyMean --baseline " + rbd + "rbd-bench-4k-randread.txt --candidate " + rbd + "rbd-bench-4k-randread.txt",
	"error: percentiles switched off":      "--metric latencyP99 --baseline " + fio + "percentiles-off.json --candidate " + fio + "percentiles-off.json",
	"error: latency of two directions":     "--metric latencyP99 --baseline " + pvc + "fio-4k-randrw-70-30.txt --candidate " + pvc + "fio-4k-randrw-70-30.txt",
	"error: direction that is not there":   "--direction read --baseline " + osds + "1osd-write.txt --candidate " + osds + "2osd-write.txt",
	"error: reads against writes":          "--baseline " + osds + "1osd-write.txt --candidate " + osds + "2osd-seq.txt",
	"error: damaged row":                   "--baseline " + osds + "1osd-write.txt --candidate " + broken + "damaged-row.txt",
	"error: truncated":                     "--baseline " + osds + "1osd-write.txt --candidate " + broken + "truncated-in-rows.txt",
	"error: nothing done":                  "--baseline " + osds + "1osd-write.txt --candidate " + broken + "no-operations.txt",
	"error: a log of fio":                  "--baseline " + logs + "avg_bw.1.log --candidate " + logs + "perio_bw.1.log",
	"error: not a benchmark":               "--baseline cli.go --candidate cli_test.go",
	"error: no such file":                  "--baseline nowhere.txt --candidate nowhere.txt",
	"files alone":                          osds + "1osd-write.txt " + osds + "2osd-write.txt",
	"files alone, of one name":             osds + "1osd-write.txt " + ownTables + "other/1osd-write.txt --metric iops",
	"files alone, lists and more candidates": "--metric p99 " + fio + "libaio-randread.plus.json," + fio + "libaio-randrw.plus.json " + fio + "libaio-randrw.plus.json " + pvc +
		"fio-4k-randread.txt --direction read --closed-loop",
	"files alone, three runs in each":     ownTables + "old.txt " + ownTables + "new.txt -o yaml",
	"files alone, folders":                ownTables + "before " + ownTables + "after --paired",
	"one file":                            fio + "libaio-randread.plus.json",
	"one file of three runs":              ownTables + "old.txt -o markdown",
	"one file, both directions":           pvc + "fio-4k-randrw-70-30.txt",
	"one file, one metric":                ownTables + "old.txt --metric bw -o yaml",
	"one file as JSON":                    rbd + "rbd-bench-4k-randread.txt -o json",
	"field: depths":                       "--baseline " + depth1 + " --candidate " + depth32,
	"field: depths that are expected":     "--expect-difference iodepth --baseline " + depth1 + " --candidate " + depth32,
	"field: throughput at a rate":         "--baseline " + limitedA + " --candidate " + limitedB,
	"field: latency at a rate":            "--metric p99 --baseline " + limitedA + " --candidate " + limitedB,
	"one file of two hosts":               field + "k07-clients.json",
	"one file with syncs":                 field + "k09-fdatasync.json",
	"one file with syncs, plain":          fio + "fsync.txt",
	"usage: differences of one file":      ownTables + "old.txt --expect-difference iodepth",
	"error: one file without a result":    broken + "no-operations.txt",
	"error: the second run of a file":     ownTables + "broken.txt " + ownTables + "new.txt",
	"error: no file of that name":         "nowhere.txt",
	"usage: one file to plot":             ownTables + "old.txt --plot x.svg",
	"usage: files with and without flags": "--paired " + ownTables + "old.txt --candidate y",
	"usage: no candidate":                 "--baseline " + osds + "1osd-write.txt",
	"usage: name without files":           "--baseline x --candidate-name a --candidate-name b --candidate y",
	"usage: files without name":           "--baseline x --candidate a --candidate-name b --candidate y",
	"usage: name twice":                   "--baseline x --candidate-name a --candidate b --candidate-name a --candidate y",
	"usage: unknown metric":               "--baseline x --candidate y --metric speed",
	"usage: unknown output":               "--baseline x --candidate y -o xml",
	"usage: ambiguous share":              "--baseline x --candidate y --minimum-effect 20",
	"usage: confidence of 100%":           "--baseline x --candidate y --confidence 100%",
	"usage: unknown flag":                 "--baseline x --candidates y",
	"usage: stray argument":               "y --baseline x",
	"usage: table without columns":        "--table " + tables + "recovery.csv --baseline default",
	"usage: table flags for files":        "--baseline x --candidate y --block session",
	"usage: candidate for a table":        "--table " + tables + "recovery.csv --configuration config --value recovery_seconds --baseline default --candidate threads=6",
	"usage: metric for a table":           "--table " + tables + "recovery.csv --configuration config --value recovery_seconds --baseline default --metric latencyP99",
	"usage: direction for a table":        "--table " + tables + "recovery.csv --configuration config --value recovery_seconds --baseline default --direction read",
	"usage: what is better for files":     "--baseline x --candidate y --higher-is-better=false",
	"usage: where without value":          "--table " + tables + "recovery.csv --configuration config --value recovery_seconds --baseline default --where session",
	"table: recovery within 20%": "--table " + tables +
		"recovery.csv --configuration config --value recovery_seconds --block session --higher-is-better=false --equivalence 20% --baseline default",
	"table: recovery as JSON": "--table " + tables +
		"recovery.csv --configuration config --value recovery_seconds --block session --higher-is-better=false --baseline default -o json",
	"table: recovery without blocks": "--table " + tables + "recovery.csv --configuration config --value recovery_seconds --higher-is-better=false --baseline default",
	"table: random reads by session": "--table " + tables +
		"fio-rbd.csv --configuration config --value iops --block session --baseline default --where block_size=4k --where pattern=randread --where background_io=no",
	"table: writes by session, pattern, background": "--table " + tables +
		"fio-rbd.csv --configuration config --value bandwidth_mib_s --block session,pattern,background_io,iodepth --baseline default --where block_size=4k -o markdown",
	"table: everything mixed":       "--table " + tables + "fio-rbd.csv --configuration config --value iops --block session --baseline default",
	"table: all verdicts":           "--table " + ownTables + "verdicts.csv --configuration config --value iops --block block --baseline old",
	"table: expected verdict":       "--table " + ownTables + "verdicts.csv --configuration config --value iops --block block --baseline old --expect Superior,Better",
	"table: identical runs":         "--table " + ownTables + "rounded.csv --configuration config --value iops --baseline old -o json",
	"error: table without value":    "--table " + ownTables + "empty-value.csv --configuration config --value iops --baseline a",
	"error: table with zero":        "--table " + ownTables + "zero.csv --configuration config --value iops --baseline a",
	"error: table with short row":   "--table " + ownTables + "short-row.csv --configuration config --value iops --baseline a",
	"error: table without rows":     "--table " + ownTables + "no-rows.csv --configuration config --value iops --baseline a",
	"error: table with same column": "--table " + ownTables + "same-column.csv --configuration config --value iops --baseline a",
	"error: table without column":   "--table " + tables + "recovery.csv --configuration config --value seconds --baseline default",
	"error: table without baseline": "--table " + tables + "recovery.csv --configuration config --value recovery_seconds --baseline standard",
	"error: no row is left":         "--table " + tables + "recovery.csv --configuration config --value recovery_seconds --baseline default --where session=E",
}

func TestGolden(t *testing.T) {
	for name, line := range goldenCases {
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := Run(append([]string{"/usr/bin/kubectl-cephtune", "analyze"}, strings.Fields(line)...), &stdout, &stderr)
			if code != 0 && code != 3 && stdout.Len() > 0 {
				t.Errorf("exit code %d with output on stdout: half an answer looks like one", code)
			}
			compareGolden(t, name, fmt.Sprintf("$ kubectl cephtune analyze %s\n--- stdout\n%s--- stderr\n%s--- exit code %d\n", line, &stdout, &stderr, code))
		})
	}
}

// A wrong word in a command line gets a suggestion.
func TestSuggestions(t *testing.T) {
	for line, want := range map[string]string{
		"run --iodept 32":          "unknown flag: --iodept: did you mean --iodepth?",
		"run -bs 4k":               "unknown shorthand flag: 'b' in -bs: did you mean --bs?",
		"run --repetition 3":       "unknown flag: --repetition: did you mean --repetitions?",
		"run --xy":                 "unknown flag: --xy",
		"run --max-regression 20%": `unknown flag: --max-regression: it is a flag of "compare", as in: kubectl cephtune compare before after -n cephtune-bench --max-regression 20% --this-hour`,
		"watch --objective p99": `unknown flag: --objective: it is a flag of "sweep", as in: ` +
			`kubectl cephtune sweep osd_mclock_profile=balanced,high_client_ops -n cephtune-bench --block-size 4Ki --rate-iops 1000 --objective p99`,
		"sweep --mgr-caps x":         "unknown flag: --mgr-caps",
		"swep pg_num=8,16":           `unknown command "swep" for "kubectl cephtune": did you mean sweep?`,
		"benchmark":                  `unknown command "benchmark" for "kubectl cephtune"`,
		"sweep --storage-class fast": "one StorageClass is no comparison: name two, such as --storage-class fast,OTHER, or measure it with: kubectl cephtune run --storage-class fast",
	} {
		var stdout, stderr bytes.Buffer
		code := Run(append([]string{"kubectl-cephtune"}, strings.Fields(line)...), &stdout, &stderr)
		got, _, _ := strings.Cut(stderr.String(), "\n")
		if code != 2 || got != "error: "+want {
			t.Errorf("%s: exit code %d:\n%s\nwant:\nerror: %s", line, code, got, want)
		}
	}
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	name = strings.NewReplacer(" ", "-", ",", "", ":", "", "%", "").Replace(name)
	compareFile(t, filepath.Join("testdata", "golden", name+".golden"), got)
}

func compareFile(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(readFile(t, file), got); diff != "" {
		t.Errorf("%s (-want +got), -update accepts it:\n%s", file, diff)
	}
}

func readFile(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// For any input, the output is JSON of the documented form: numbers are numbers, and p-values and
// ratios are within their ranges.
func TestJSONIsAlwaysOfTheDocumentedForm(t *testing.T) {
	for name, line := range goldenCases {
		if strings.HasPrefix(name, "usage") || strings.HasPrefix(name, "error") || strings.HasPrefix(name, "one file") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			Run(append([]string{"kubectl-cephtune", "analyze"}, append(strings.Fields(line), "-o", "json")...), &stdout, &stderr)
			checkDocument(t, stdout.Bytes())
		})
	}
}

// Tables of every shape: sides of one run, identical values, blocks without overlap, and ratios at
// the limits of numbers.
func TestJSONOfRandomTablesIsOfTheDocumentedForm(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	file := filepath.Join(t.TempDir(), "table.csv")
	for range 500 {
		table := randomTable(random)
		if err := os.WriteFile(file, []byte(table), 0o600); err != nil {
			t.Fatal(err)
		}
		args := []string{"kubectl-cephtune", "analyze", "--table", file, "--configuration", "c", "--value", "v", "--baseline", "c0", "-o", "json"}
		if random.IntN(2) == 0 {
			args = append(args, "--block", "b")
		}
		if random.IntN(2) == 0 {
			args = append(args, "--higher-is-better=false")
		}
		var stdout, stderr bytes.Buffer
		// Exit code 3: by chance, the column b goes with the configuration.
		if code := Run(args, &stdout, &stderr); code != 0 && code != 3 {
			t.Fatalf("exit code %d, %s, of\n%s", code, &stderr, table)
		}
		checkDocument(t, stdout.Bytes())
		if t.Failed() {
			t.Fatalf("table:\n%s", table)
		}
	}
}

func randomTable(random *rand.Rand) string {
	table := "c,b,v\n"
	spread := []float64{0, 0.01, 0.5, 50}[random.IntN(4)]
	for c := range 2 + random.IntN(4) {
		for range 1 + random.IntN(5) {
			value := math.Exp(2*spread*random.Float64() - spread)
			table += fmt.Sprintf("c%d,%d,%g\n", c, random.IntN(5), value)
		}
	}
	return table
}

func checkDocument(t *testing.T, document []byte) {
	t.Helper()
	var got map[string]any
	if err := json.Unmarshal(document, &got); err != nil {
		t.Fatalf("%v in %s", err, document)
	}
	requireFields(t, "report", got, "schemaVersion", "source", "metric", "higherIsBetter", "confidence", "minimumEffect",
		"equivalence", "method", "baseline", "candidates", "warnings")
	baseline, _ := got["baseline"].(map[string]any)
	requireFields(t, "baseline", baseline, "name", "runs", "steadyRuns", "mean", "geometricMean", "min", "max", "runValues")
	candidates, _ := got["candidates"].([]any)
	if len(candidates) == 0 {
		t.Fatal("there are no candidates")
	}
	for _, c := range candidates {
		candidate, _ := c.(map[string]any)
		checkCandidate(t, candidate)
	}
}

func checkCandidate(t *testing.T, c map[string]any) {
	t.Helper()
	requireFields(t, "candidate", c, "name", "runs", "mean", "runValues", "comparedRuns", "verdict", "reason", "reasons")
	for key, value := range c {
		x, isNumber := value.(float64)
		if strings.HasPrefix(key, "pValue") && (!isNumber || x < 0 || x > 1) {
			t.Errorf("%s is %v, want a probability", key, value)
		}
		if strings.HasPrefix(key, "ratio") && (!isNumber || x <= 0 || math.IsInf(x, 0)) {
			t.Errorf("%s is %v, want a ratio", key, value)
		}
	}
	_, low := c["ratioLow"]
	_, p := c["pValueSuperior"]
	if low != p || (c["runs"] == 1.0 && low) {
		t.Errorf("interval %v and p-value %v of %v runs: want both or neither, and neither for one run", low, p, c["runs"])
	}
	if _, holm := c["pValueHolm"]; holm == (c["verdict"] == "Invalid") {
		t.Errorf("pValueHolm there: %v, verdict %v", holm, c["verdict"])
	}
}

func requireFields(t *testing.T, subject string, object map[string]any, names ...string) {
	t.Helper()
	for _, name := range names {
		if _, ok := object[name]; !ok {
			t.Errorf("%s has no field %s", subject, name)
		}
	}
}

// figures has the command line for each figure in the documentation.
var figures = map[string]string{
	"seconds": "--baseline-name 1osd --baseline " + osds + "1osd-seq.txt --candidate-name 2osd --candidate " + osds + "2osd-seq.txt --candidate-name 3osd --candidate " + osds + "3osd-seq.txt",
	"sessions": "--table " + tables + "fio-rbd.csv --configuration config --value iops --block session --baseline default " +
		"--where block_size=4k --where pattern=randread --where background_io=no",
}

func TestFiguresOfTheDocumentationAreWhatTheToolDraws(t *testing.T) {
	for name, line := range figures {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "figure.svg")
			var stdout, stderr bytes.Buffer
			if code := Run(append([]string{"kubectl-cephtune", "analyze", "--plot", file}, strings.Fields(line)...), &stdout, &stderr); code != 0 {
				t.Fatalf("exit code %d: %s", code, &stderr)
			}
			compareFile(t, filepath.Join("..", "..", "docs", "images", name+".svg"), readFile(t, file))
		})
	}
}

func TestFigureNeedsACourse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "figure.svg")
	var stdout, stderr bytes.Buffer
	line := "analyze --baseline " + pvc + "fio-1m-write.txt --candidate " + pvc + "fio-1m-write.txt --plot " + file
	if code := Run(append([]string{"kubectl-cephtune"}, strings.Fields(line)...), &stdout, &stderr); code != 1 || !strings.Contains(stderr.String(), "no run has values over time") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("there is a figure nevertheless")
	}
}

func TestHelpNamesTheProgramAsItWasCalled(t *testing.T) {
	for program, want := range map[string]string{
		"/usr/local/bin/kubectl-cephtune": "kubectl cephtune analyze",
		`kubectl-cephtune.exe`:            "kubectl cephtune analyze",
		"./cephtune":                      "cephtune analyze",
	} {
		var stdout, stderr bytes.Buffer
		code := Run([]string{program, "analyze", "--help"}, &stdout, &stderr)
		if code != 0 || !strings.Contains(stdout.String(), "\nUsage:\n  "+want+" ") || !strings.Contains(stdout.String(), "\n  "+want+" --baseline old") {
			t.Errorf("%s: exit code %d, help:\n%s", program, code, &stdout)
		}
	}
}

func TestVerdictsAndMetricsAreCompleted(t *testing.T) {
	for flagName, want := range map[string]string{"--metric": "latencyP99", "--output": "markdown", "--expect": "Superior", "--direction": "trim"} {
		var stdout, stderr bytes.Buffer
		if code := Run([]string{"kubectl-cephtune", "__complete", "analyze", flagName, ""}, &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), want) {
			t.Errorf("%s: exit code %d, completions %q, want %s among them", flagName, code, &stdout, want)
		}
	}
}

// Only analyze has lists. In other commands, an argument after --baseline stays an argument.
func TestOnlyAnalyzeSpreadsLists(t *testing.T) {
	root := NewRoot("kubectl cephtune")
	for line, want := range map[string]string{
		"analyze --candidate a b":                       "analyze --candidate a --candidate=b",
		"__complete analyze --baseline a b":             "__complete analyze --baseline a b",
		"__completeNoDesc analyze --baseline a b":       "__completeNoDesc analyze --baseline a b",
		"-n x analyze --baseline a b":                   "-n x analyze --baseline a --baseline=b",
		"sweep --baseline pg_num=32 pg_num=32,64":       "sweep --baseline pg_num=32 pg_num=32,64",
		"sweep pg-num --baseline pg_num=32 size=2,3 -w": "sweep pg-num --baseline pg_num=32 size=2,3 -w",
	} {
		if got := strings.Join(argsOf(root, strings.Fields(line)), " "); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

func TestUnknownCommandIsAUsageError(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Run([]string{"kubectl-cephtune", "analyse"}, &stdout, &stderr); code != 2 || !strings.Contains(stderr.String(), "analyse") {
		t.Errorf("exit code %d, stderr %q", code, &stderr)
	}
}

func TestVersionIsPrinted(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := Run([]string{"/usr/bin/kubectl-cephtune", "--version"}, &stdout, &stderr); code != 0 {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if want := "kubectl cephtune version " + version.Version() + "\n"; stdout.String() != want {
		t.Errorf("got %q, want %q", stdout.String(), want)
	}
}
