package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf16"
)

// summed is a summary, of one workload or of several.
type summed struct {
	Name, Operations string
	Runs, Clients    int
	Metrics          []struct {
		Metric         string
		Mean, Min, Max float64
		Windows        []struct{ FromSeconds, ToSeconds, RunSeconds float64 }
	}
	Warnings  []string
	Workloads []summed
}

func (s summed) metric(name string) float64 {
	for _, m := range s.Metrics {
		if m.Metric == name {
			return m.Mean
		}
	}
	return math.NaN()
}

// figures describes all workloads in one line each.
func (s summed) figures() string {
	all := s.Workloads
	if len(all) == 0 {
		all = []summed{s}
	}
	var lines []string
	for _, w := range all {
		_, part, _ := strings.Cut(w.Name, ", ")
		line := fmt.Sprintf("%s: %d of %s, %.4g MiB/s", part, w.Runs, w.Operations, w.metric("bandwidth")/(1<<20))
		if p99 := w.metric("latencyP99"); !math.IsNaN(p99) {
			line += fmt.Sprintf(", P99 %.4g ms", 1e3*p99)
		}
		lines = append(lines, strings.TrimPrefix(line, ": "))
	}
	return strings.Join(lines, "\n")
}

func (s summed) warnings() string {
	all := s.Warnings
	for _, w := range s.Workloads {
		all = append(all, w.Warnings...)
	}
	return strings.Join(all, "\n")
}

func summary(t *testing.T, text string, args ...string) (got summed, failure string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := Run(append([]string{"kubectl-cephtune", "analyze", "-o", "json", file}, args...), &stdout, &stderr); code != 0 {
		return got, stderr.String()
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, &stdout)
	}
	return got, ""
}

// each puts a text before each line.
func each(prefix, text string) string {
	return prefix + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+prefix) + "\n"
}

func indented(t *testing.T, value any) string {
	t.Helper()
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// threeRuns returns the JSON of three runs of fio with 10, 10.33 and 9.667 MiB/s.
func threeRuns(t *testing.T) []any {
	t.Helper()
	var runs []any
	for _, mebibytes := range []float64{300, 310, 290} {
		var report map[string]any
		if err := json.Unmarshal([]byte(readFile(t, field+"k08-tabs.json")), &report); err != nil {
			t.Fatal(err)
		}
		jobs, _ := report["jobs"].([]any)
		job, _ := jobs[0].(map[string]any)
		read, isMap := job["read"].(map[string]any)
		if !isMap {
			t.Fatalf("no reads in %v", report)
		}
		read["io_bytes"], read["total_ios"] = mebibytes*(1<<20), mebibytes*256
		runs = append(runs, report)
	}
	return runs
}

func utf16Text(text string) string {
	var out []byte
	for _, unit := range utf16.Encode([]rune("\ufeff" + text)) {
		out = binary.LittleEndian.AppendUint16(out, unit)
	}
	return string(out)
}

const (
	oneJSON   = "1 of read, 10 MiB/s, P99 23.97 ms"
	threeJSON = "3 of read, 10 MiB/s, P99 23.97 ms"
	onePlain  = "1 of read, 10 MiB/s, P99 21.36 ms"
)

// The wrappers in which people keep outputs. Each has the same one or three runs.
func TestOutputsAreFoundInWrappers(t *testing.T) {
	report, three := readFile(t, field+"k08-tabs.json"), readFile(t, field+"k02-three-runs.txt")
	plain, _, _ := strings.Cut(three, "\nrr: (g=0)")
	runs := threeRuns(t)
	var appended, compact, docker string
	for _, run := range runs {
		appended += indented(t, run)
		line, _ := json.Marshal(run) // It was JSON before.
		compact += string(line)
	}
	for _, line := range strings.SplitAfter(plain, "\n") {
		entry, _ := json.Marshal(map[string]string{"log": line, "stream": "stdout"})
		docker += string(entry) + "\n"
	}
	configMap := func(data string) string {
		return "apiVersion: v1\nkind: ConfigMap\ndata:\n  out: |\n" + each("    ", data)
	}
	for name, tc := range map[string]struct{ text, want string }{
		"kubectl logs --timestamps":     {each("2026-03-01T10:00:00.123456789Z ", report), oneJSON},
		"kubectl logs --prefix":         {each("[pod/bench-x7/fio] ", plain), onePlain},
		"both":                          {each("[pod/bench-x7/fio] 2026-03-01T10:00:00.123456789Z ", plain), onePlain},
		"a log of CRI":                  {each("2026-03-01T10:00:00.123456789+01:00 stdout F ", report), oneJSON},
		"a log of Docker":               {docker, onePlain},
		"Docker Compose":                {each("bench-1  | ", plain), onePlain},
		"stern":                         {each("bench-x7 fio ", plain), onePlain},
		"a journal":                     {each("Mar 01 10:00:00 node1 fio[123]: ", plain), onePlain},
		"two pods":                      {each("[pod/a/fio] ", plain) + each("[pod/b/fio] ", plain+"\n"), "2 of read, 10 MiB/s, P99 21.36 ms"},
		"a ConfigMap":                   {configMap(report), oneJSON},
		"a ConfigMap with plain output": {configMap(three), "3 of read, 10 MiB/s, P99 21.36 ms"},
		"a ConfigMap as JSON":           {indented(t, map[string]any{"kind": "ConfigMap", "data": map[string]string{"a": report, "job.fio": "[global]\nrw=read\n"}}), oneJSON},
		"kubestr -o json":               {indented(t, []any{map[string]any{"StatusCode": "OK", "Raw": map[string]any{"fioConfig": "[a]\n", "result": runs[0]}}}), oneJSON},
		"jq -s":                         {indented(t, runs), threeJSON},
		"appended JSON":                 {appended, threeJSON},
		"appended JSON on one line":     {compact, threeJSON},
		"text before the brace":         {"--- fio ---" + report, oneJSON},
		"a byte order mark":             {"\ufeff" + report, oneJSON},
		"UTF-16":                        {utf16Text(strings.ReplaceAll(report, "\n", "\r\n")), oneJSON},
		"CRLF":                          {strings.ReplaceAll(three, "\n", "\r\n"), "3 of read, 10 MiB/s, P99 21.36 ms"},
		"colours":                       {strings.ReplaceAll(each("\x1b[32m", plain), "\n", "\x1b[0m\n"), onePlain},
		"an indented block":             {each("    ", plain), onePlain},
		"a quotation":                   {each("> ", plain), onePlain},
		"Markdown":                      {"It is slow:\n```\n" + plain + "```\n", onePlain},
		"a shell loop":                  {"Bandwidth (MB/sec):     9\nBandwidth (MB/sec):     11\nBandwidth (MB/sec):     11\n", "3 of unknown operations, 10.33 MiB/s"},
		"grep in several files":         {"1.txt:Bandwidth (MB/sec):     9\n2.txt:Bandwidth (MB/sec):     11\n", "2 of unknown operations, 10 MiB/s"},
		"a shell loop with more lines":  {strings.Repeat("run\nBandwidth (MB/sec):     9\nStddev Bandwidth:       1\nAverage IOPS:           2\n", 3), "3 of unknown operations, 9 MiB/s"},
		"lines of fio": {
			"  read: IOPS=2560, BW=10.0MiB/s (10.5MB/s)(300MiB/30000msec)\n  write: IOPS=2560, BW=20.0MiB/s (10.5MB/s)(600MiB/30000msec)\n",
			"1 of read, 10 MiB/s\n1 of write, 20 MiB/s",
		},
		"rados bench after a job of fio": {plain + readFile(t, field+"k12-slow-start.txt"), "rr: " + onePlain + "\n1 of write, 37.5 MiB/s"},
		"a file of gzip":                 {zipped(t, report), oneJSON},
		"UTF-16 without a mark":          {strings.TrimPrefix(utf16Text(plain), "\xff\xfe"), onePlain},
		"line ends of old Macs":          {strings.ReplaceAll(plain, "\n", "\r"), onePlain},
		"cat -n":                         {numbered(plain), onePlain},
		"a diff":                         {each("+", plain), onePlain},
		"a web page":                     {"<pre>\n" + html.EscapeString(report) + "</pre>\n", oneJSON},
		"a terminal's typescript": {"Script started on 2026-01-01\r\n\x1b[?2004h\x1b]0;root@a: ~\aroot@a:~# fio a\r\n\x1b[?2004l\r" + strings.ReplaceAll(plain, "\n", "\r\n") +
			"\x1b[?2004h", onePlain},
		"Python's print of a report":     {pythonic(t, runs[0], false), oneJSON},
		"Python's pprint of reports":     {pythonic(t, runs[0], true) + pythonic(t, runs[1], true), "2 of read, 10.17 MiB/s, P99 23.97 ms"},
		"Python's logging":               {each("2026-01-01 10:00:00,123 - bench.fio - INFO - ", plain), onePlain},
		"Python's logging without dates": {each("10:00:00 - Thread-1 - bench.fio - INFO - ", plain), onePlain},
		"a log of Python":                {"2026-01-01 10:00:00,123 - INFO - it's done: " + pythonic(t, runs[0], false), oneJSON},
		"bytes that Python printed":      {"b'" + strings.ReplaceAll(report, "\n", `\n`) + "'\n", oneJSON},
		"a string of JSON":               {fmt.Sprintf("%q\n", compact), threeJSON},
		"a string of plain output":       {fmt.Sprintf("%q\n", plain), onePlain},
		"stdout_lines of Ansible":        {indented(t, map[string]any{"rc": 0, "stdout_lines": strings.Split(plain, "\n")}), onePlain},
		"a report as YAML": {"fio version: fio-3.36\njobs:\n- jobname: rr\n  groupid: 0\n  error: 0\n  job options: {rw: randread}\n  read: {io_bytes: 314572800, " +
			"total_ios: 76800, runtime: 30000}\n", "1 of read, 10 MiB/s"},
		"without indentation":   {unindented(plain), onePlain},
		"a group's line of fio": {"   READ: bw=10.0MiB/s (10.5MB/s), 10.0MiB/s-10.0MiB/s (10.5MB/s-10.5MB/s), io=300MiB (315MB), run=30000-30000msec\n", "1 of read, 10 MiB/s"},
		"groups' lines of fio": {"Run status group 0 (all jobs):\n   READ: bw=10.0MiB/s, 4.0MiB/s-6.0MiB/s, io=300MiB (315MB), run=29000-30000msec\n  WRITE: bw=20.0MiB/s, " +
			"io=600MiB (629MB), run=30000-30000msec\n", "1 of read, 10 MiB/s\n1 of write, 20 MiB/s"},
		"a group's line of fio 2":         {"READ: io=307200KB, aggrb=10240KB/s, minb=10240KB/s, maxb=10240KB/s, mint=30000msec, maxt=30000msec\n", "1 of read, 10 MiB/s"},
		"a job's line of fio 2":           {"read : io=307200KB, bw=10240KB/s, iops=2560, runt= 30000msec\n", "1 of read, 10 MiB/s"},
		"a job's and a group's line":      {"read: IOPS=2560, BW=10.0MiB/s (10.5MB/s)(300MiB/30000msec)\nREAD: bw=10.0MiB/s, io=300MiB (315MB), run=30000-30000msec\n", "1 of read, 10 MiB/s"},
		"a job's line that was cut":       {"write: IOPS=2560, BW=10.0MiB/s\n", "1 of write, 10 MiB/s"},
		"the end of a summary":            {"Object size:            4096\nBandwidth (MB/sec):     9\nAverage IOPS:           2304\nMin latency(s):         0.001\n", "1 of unknown operations, 9 MiB/s"},
		"a line of a summary again":       {readFile(t, osds+"1osd-rand.txt") + bandwidthOf(readFile(t, osds+"1osd-rand.txt")), "1 of read, 123.2 MiB/s"},
		"writes and reads of rados bench": {readFile(t, field+"k12-slow-start.txt") + readFile(t, osds+"1osd-rand.txt"), "1 of write, 37.5 MiB/s\n1 of read, 123.2 MiB/s"},
	} {
		t.Run(name, func(t *testing.T) {
			got, failure := summary(t, tc.text)
			if failure != "" || got.figures() != tc.want {
				t.Errorf("got %q, %s, want %q", got.figures(), failure, tc.want)
			}
		})
	}
}

func zipped(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func numbered(text string) string {
	var out strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		fmt.Fprintf(&out, "%6d\t%s\n", i+1, line)
	}
	return out.String()
}

func unindented(text string) string { return regexp.MustCompile(`(?m)^ +`).ReplaceAllString(text, "") }

// pythonic returns a value as Python prints it.
func pythonic(t *testing.T, value any, pretty bool) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	printed := strings.NewReplacer(`"`, "'", ":true", ": True", ":null", ": None").Replace(string(text))
	if pretty {
		printed = strings.ReplaceAll(printed, ",'", ",\n '")
	}
	return printed + "\n"
}

// withoutCommand returns an output without the command in its first line.
func withoutCommand(output string) string { return output[strings.Index(output, "\n")+1:] }

func bandwidthOf(output string) string {
	return regexp.MustCompile(`Bandwidth \(MB/sec\):.*\n`).FindString(output)
}

// What ran one after the other is not added up.
func TestRunsAndPartsAreApart(t *testing.T) {
	three, stonewall := readFile(t, field+"k02-three-runs.txt"), readFile(t, field+"k05-stonewall.json")
	head := "rr: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=16\nfio-3.36\nStarting 1 process\n"
	oneGroup := strings.NewReplacer(`"groupid" : 1`, `"groupid" : 0`, `"stonewall" : ""`, `"x" : ""`)
	const groups = "group 0 (seq-write): 1 of write, 200 MiB/s, P99 15 ms\ngroup 1 (rand-read): 1 of read, 10 MiB/s, P99 23.97 ms"
	for name, tc := range map[string]struct {
		text, want string
		args       []string
	}{
		"three runs":                      {three, "3 of read, 10 MiB/s, P99 21.36 ms", nil},
		"of processes with one number":    {strings.NewReplacer("4177", "4101", "4250", "4101").Replace(three), "3 of read, 10 MiB/s, P99 21.36 ms", nil},
		"without heads":                   {strings.ReplaceAll(three, head, ""), "3 of read, 10 MiB/s, P99 21.36 ms", nil},
		"without heads and of one number": {strings.NewReplacer("4177", "4101", "4250", "4101", head, "").Replace(three), "3 of read, 10 MiB/s, P99 21.36 ms", nil},
		"later reports of one run":        {readFile(t, fio+"status-interval.txt"), "1 of read, 82.04 MiB/s, P99 0.088 ms", nil},
		"later reports as JSON":           {readFile(t, fio+"status-interval.json"), "1 of read, 75.82 MiB/s, P99 0.08346 ms", nil},
		"a verification":                  {readFile(t, field+"k03-verify.json"), "group 0 (v): 1 of write, 102.4 MiB/s, P99 27 ms\ngroup 0 (v), verification: 1 of read, 256 MiB/s, P99 9 ms", nil},
		"the writes before it":            {readFile(t, field+"k03-verify.json"), "group 0 (v): 1 of write, 102.4 MiB/s, P99 27 ms", []string{"--direction", "write"}},
		"groups":                          {stonewall, groups, nil},
		"groups in plain output":          {readFile(t, fio+"stonewall-groups.txt"), "group 0 (first): 1 of read, 79.52 MiB/s, P99 0.074 ms\ngroup 1 (second): 1 of write, 146.5 MiB/s, P99 0.088 ms", nil},
		"one job of them":                 {stonewall, "1 of read, 10 MiB/s, P99 23.97 ms", []string{"--job", "rand-read"}},
		"one group of them":               {stonewall, "1 of write, 200 MiB/s, P99 15 ms", []string{"--job", "group 0"}},
		"groups of two runs":              {stonewall + strings.ReplaceAll(stonewall, "1760000000", "1760000090"), strings.ReplaceAll(groups, ": 1", ": 2"), nil},
		"a job that starts later":         {strings.Replace(oneGroup.Replace(stonewall), `"bs" : "4k"`, `"bs" : "4k", "startdelay" : "30"`, 1), strings.ReplaceAll(groups, "group 1", "group 0"), nil},
		"a job that waits for another":    {strings.Replace(oneGroup.Replace(stonewall), `"bs" : "4k"`, `"bs" : "4k", "wait_for" : "seq-write"`, 1), strings.ReplaceAll(groups, "group 1", "group 0"), nil},
		"clients in JSON":                 {readFile(t, field+"k07-clients.json"), "1 of read, 19.38 MiB/s, P99 24.12 ms", nil},
	} {
		t.Run(name, func(t *testing.T) {
			got, failure := summary(t, tc.text, tc.args...)
			if failure != "" || got.figures() != tc.want {
				t.Errorf("got %q, %s, want %q", got.figures(), failure, tc.want)
			}
		})
	}
}

func TestPartsOfARunAreNotComparedWithoutAChoice(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := Run([]string{"kubectl-cephtune", "analyze", "--baseline", field + "k05-stonewall.json", "--candidate", field + "k05-stonewall.json"}, &stdout, &stderr)
	if code != 2 || !strings.Contains(stderr.String(), "group 0 (seq-write); group 1 (rand-read); choose one with --job") {
		t.Errorf("exit code %d: %s", code, &stderr)
	}
	if _, failure := summary(t, readFile(t, field+"k05-stonewall.json"), "--job", "other"); !strings.Contains(failure, `found those named "seq-write"`) {
		t.Errorf("got %s, want the names of the jobs", failure)
	}
}

// Outputs that are normal, but were refused or lost figures.
func TestFormsOfOtherVersionsAreRead(t *testing.T) {
	benchWrite := "bench-write  io_size 4096 io_threads 16 bytes 40960000 pattern seq\n  SEC       OPS   OPS/SEC   BYTES/SEC\n    1      5021   5022.11  20570562.56\n" +
		"elapsed:     2  ops:    10000  ops/sec:  5000.00  bytes/sec: 20480000.00\n"
	hammer := strings.Replace(readFile(t, field+"k14-rados-hammer.txt"), "up to 10 seconds", "up to 5 seconds", 1)
	steady := strings.Replace(readFile(t, field+"k08-tabs.json"), `"elapsed": 31,`,
		"\"elapsed\": 31,\n\"steadystate\" : {\n  \"ss\" : \"iops_slope:0.1%\",\n  \"slope\" : -nan,\n  \"criterion\" : inf\n},", 1)
	terse := "3;fio-3.36;rr;0;0;307200;10240;2560;30000;2;90;5.1;1.2;200;90100;7990.5;4200.25;" + strings.Repeat("1.000000%=601;", 20) +
		"210;90110;7995.6;4200.3;0;0;0.0;0.0;0.0;" + strings.Repeat("0;", 41) + "1.0%;2.0%\n"
	for name, tc := range map[string]struct{ text, want, warning string }{
		"fio 3.7":                    {readFile(t, field+"k04-fio-3.7-1.json"), "1 of read, 7.812 MiB/s, P99 23.97 ms", ""},
		"fio 2":                      {readFile(t, field+"k14-fio2.txt"), "1 of write, 3.906 MiB/s", ""},
		"fio 2 as JSON":              {fio2JSON, "1 of write, 3.906 MiB/s, P99 21 ms", ""},
		"terse":                      {terse, "1 of read, 10 MiB/s", ""},
		"a group of two sizes":       {readFile(t, field+"k06-group-two-sizes.txt"), "1 of write, 49.47 MiB/s", "several block sizes, 19451 bytes on average"},
		"a steady state":             {steady, oneJSON, ""},
		"Hammer":                     {hammer, "1 of write, 108.8 MiB/s", ""},
		"Hammer and shorter than -t": {readFile(t, field+"k14-rados-hammer.txt"), "1 of write, 108.8 MiB/s", "it lasted 5.512 s of the 10 s requested"},
		"three runs of Hammer":       {hammer + strings.Replace(hammer, "5.512", "5.511", 1) + hammer + "\n", "3 of write, 108.9 MiB/s", ""},
		"bench-write":                {benchWrite, "1 of write, 19.53 MiB/s", ""},
		"a warm-up that is cut":      {readFile(t, field+"k12-slow-start.txt"), "1 of write, 37.5 MiB/s", "the first 7.0 of 20.0 s are left out as a warm-up: 18 MiB/s there, 30.67 over the whole run"},
		"runs in two formats": {
			strings.ReplaceAll(readFile(t, field+"k02-three-runs.txt"), "total=76800", "total=76801") + readFile(t, field+"k08-tabs.json"), oneJSON,
			"plain output of another run beside the JSON",
		},
		"lines of terse output": {terse + strings.Replace(terse, "307200", "307300", 1), "2 of read, 10 MiB/s", "lines of one run are processes whose figures add up"},
		"reads of rados bench": {
			withoutCommand(readFile(t, osds+"1osd-rand.txt")) + withoutCommand(readFile(t, osds+"3osd-seq.txt")), "2 of read, 123.2 MiB/s",
			"do not print whether they are sequential (seq) or random (rand)",
		},
		"reads with their commands":       {readFile(t, osds+"1osd-rand.txt") + readFile(t, osds+"3osd-seq.txt"), "2 of read, 123.2 MiB/s", "mode: rand in"},
		"percentiles beyond the last bin": {strings.Replace(readFile(t, field+"k04-fio-3.7-1.json"), "23969792", "17112760320", 1), "1 of read, 7.812 MiB/s", ""},
		"seconds without any read":        {readFile(t, osds+"3osd-seq.txt"), "1 of read, 49.88 MiB/s", "had no reads at all"},
	} {
		t.Run(name, func(t *testing.T) {
			got, failure := summary(t, tc.text)
			if failure != "" || got.figures() != tc.want || !strings.Contains(got.warnings(), tc.warning) {
				t.Errorf("got %q, %s, want %q\nwarnings:\n%s", got.figures(), failure, tc.want, got.warnings())
			}
		})
	}
}

const fio2JSON = `{
  "fio version" : "fio-2.16",
  "jobs" : [
    {
      "jobname" : "j", "groupid" : 0, "error" : 0, "elapsed" : 31, "job options" : {"rw" : "randwrite", "bs" : "4k", "direct" : "1"},
      "write" : {
        "io_bytes" : 120000, "bw" : 4000, "iops" : 1000.0, "runtime" : 30000, "total_ios" : 30000,
        "slat" : {"min" : 2, "max" : 30, "mean" : 5.0, "stddev" : 1.0},
        "clat" : {"min" : 900, "max" : 90100, "mean" : 7990.5, "stddev" : 4200.25, "percentile" : {"50.000000" : 7000, "99.000000" : 21000, "0.00" : 0}},
        "lat" : {"min" : 905, "max" : 90110, "mean" : 7995.5, "stddev" : 4200.3}
      }
    }
  ]
}
`

// What cannot be read is refused by a true reason.
func TestRefusalsNameTheReason(t *testing.T) {
	report, three := readFile(t, field+"k08-tabs.json"), readFile(t, field+"k02-three-runs.txt")
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":                 {"\n", "the output is empty"},
		"prose":                   {"It is slow.\n", "want an output of rados bench, rbd bench or fio 2 or 3"},
		"jobs without a version":  {report[strings.Index(report, "[") : strings.LastIndex(report, "]")+1], `keep "fio version"`},
		"a cut report":            {report[:len(report)/2], "Truncated"},
		"a cut second run":        {three[:len(three)*3/5], "Truncated"},
		"a version of terse":      {"2;fio-2.0.8;a;0;0;1;2\n", "terse output of format 3, 4 or 5"},
		"a cut line of terse":     {"3;fio-3.36;a;0;0;1;2\n", "all fields of reads and writes"},
		"lost line breaks":        {strings.ReplaceAll(three, "\n", " "), "without line breaks"},
		"a part of a report":      {report[len(report)/3:], "a part of a report of fio in JSON"},
		"the end of plain output": {three[strings.Index(three, "issued"):strings.Index(three, "Run status")], "a part of fio's plain output"},
		"samples":                 {"   iops        : min=    8, max=  254, avg=64.38, stdev=38.42, samples=983\n", "samples of fio without totals"},
		"ceph tell osd.0 bench":   {"{\n    \"bytes_written\": 1073741824,\n    \"blocksize\": 4194304,\n    \"elapsed_sec\": 2.5\n}\n", "measures the disk of one OSD"},
		"kbench":                  {"FIO Benchmark Summary\nIOPS (Read/Write)\n  Random: 9,876 / 2,345\n", "keep the outputs of fio"},
		"a job file":              {"[global]\nrw=read\n", "a job file of fio"},
		"a table":                 {"config,iops\na,1\n", "(--table)"},
		"a file of xz":            {"\xfd7zXZ\x00\x00", "run unxz first"},
		"2^64-1 operations":       {regexp.MustCompile(`"total_ios" ?: ?\d+`).ReplaceAllString(report, `"total_ios" : 18446744073709551615`), "want a whole number, not negative, of at most 18 digits"},
		"2^64-1 ns":               {regexp.MustCompile(`"max" ?: ?\d+`).ReplaceAllString(report, `"max" : 18446744073709551615`), "want possible figures"},
		"2^64-1 plain operations": {regexp.MustCompile(`total=\d+`).ReplaceAllString(three, "total=18446744073709551615"), "want three whole numbers after total="},
		"2^64-1 objects": {
			regexp.MustCompile(`(Total writes made: +)\d+`).ReplaceAllString(readFile(t, field+"k12-slow-start.txt"), "${1}18446744073709551615"),
			"want a whole number of at most 18 digits",
		},
		"585 years": {regexp.MustCompile(`(Max latency\(s\): +)\S+`).ReplaceAllString(readFile(t, field+"k12-slow-start.txt"), "${1}1.84467e+10"), "want possible figures"},
	} {
		t.Run(name, func(t *testing.T) {
			if got, failure := summary(t, tc.text); !strings.Contains(failure, tc.want) {
				t.Errorf("got %q, %q, want an error with %q", got.figures(), failure, tc.want)
			}
		})
	}
}
