package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fioRun is one run of fio for a test, in the shape of its JSON.
type fioRun struct {
	global, job    map[string]any
	direction      string
	operations     int
	latencySeconds float64
	longestSeconds float64
	syncs          bool
	clients        []string // the hosts of client/server mode
}

func (f fioRun) document() map[string]any {
	latency := func(factor float64) map[string]any {
		ns := func(s float64) int64 { return int64(s * factor * 1e9) }
		return map[string]any{
			"min": ns(f.latencySeconds / 2), "max": ns(f.longestSeconds), "mean": ns(f.latencySeconds), "stddev": 0.0, "N": f.operations,
			"percentile": map[string]any{"50.000000": ns(f.latencySeconds), "99.000000": ns(2 * f.latencySeconds), "99.900000": ns(3 * f.latencySeconds)},
		}
	}
	job := func() map[string]any {
		j := map[string]any{"jobname": "j", "groupid": 0, "error": 0, "job options": f.job, f.direction: map[string]any{
			"io_bytes": f.operations * 4096, "total_ios": f.operations, "runtime": 30000, "clat_ns": latency(1), "lat_ns": latency(1),
		}}
		if f.syncs {
			j["sync"] = map[string]any{"total_ios": f.operations, "lat_ns": latency(10)}
		}
		return j
	}
	document := map[string]any{"fio version": "fio-3.36", "global options": f.global}
	if f.clients == nil {
		document["jobs"] = []any{job()}
		return document
	}
	var entries, globals []any
	for _, host := range f.clients {
		entry := job()
		entry["hostname"], entry["port"] = host, 8765
		options := map[string]any{"hostname": host, "port": 8765}
		maps.Copy(options, f.global)
		entries, globals = append(entries, entry), append(globals, options)
	}
	sum := job()
	sum["jobname"] = "All clients"
	document["client_stats"], document["global options"] = append(entries, sum), globals
	return document
}

// write writes three runs that differ by 1 %, and returns their files.
func (f fioRun) write(t *testing.T, name string) string {
	t.Helper()
	dir := t.TempDir()
	var files []string
	usual := f.operations
	for i := range 3 {
		f.operations = usual + usual*i/100
		data, err := json.MarshalIndent(f.document(), "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, fmt.Sprintf("%s-%d.json", name, i+1)))
		if err := os.WriteFile(files[i], data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(files, ",")
}

func randomReads(change func(*fioRun)) fioRun {
	f := fioRun{
		global: map[string]any{"ioengine": "libaio", "direct": "1"}, job: map[string]any{"rw": "randread", "bs": "4k", "iodepth": "16"},
		direction: "read", operations: 60000, latencySeconds: 1e-3, longestSeconds: 2e-3,
	}
	change(&f)
	return f
}

// judged is what a test reads of the JSON form.
type judged struct {
	Candidates []struct {
		Verdict, Reason string
		Reasons         []struct{ Code string }
	}
	Differences []struct {
		Text     string
		Expected bool
	}
	MissingDifferences []string
	HiddenWaits        []struct {
		Configuration    string
		HiddenOperations float64
		Bounds           []struct {
			Metric       string
			BoundSeconds float64
			Spoiled      bool
		}
	}
	Warnings []string
}

func analyzeJSON(t *testing.T, args ...string) (judged, int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(append([]string{"kubectl-cephtune", "analyze", "-o", "json"}, args...), &stdout, &stderr)
	var got judged
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s%s", err, &stdout, &stderr)
	}
	return got, code
}

// loadCase is a comparison of two sides with a verdict, or with the code of the reason why there is none.
type loadCase struct {
	a, b    func(*fioRun)
	args    []string
	reason  string
	verdict string
	code    int
	text    string // in the reasons, the differences or the warnings
}

func loadCases() map[string]loadCase {
	same := func(*fioRun) {}
	job := func(name, value string) func(*fioRun) { return func(f *fioRun) { f.job[name] = value } }
	limited := func(longest float64) func(*fioRun) {
		return func(f *fioRun) {
			f.job["rate_iops"], f.operations, f.longestSeconds = "500", 15000, longest
		}
	}
	writes := func(options ...string) func(*fioRun) {
		return func(f *fioRun) {
			f.direction, f.job["rw"] = "write", "randwrite"
			for i := 0; i < len(options); i += 2 {
				f.job[options[i]] = options[i+1]
			}
			f.syncs = f.job["fdatasync"] != nil
		}
	}
	clients := func(hosts ...string) func(*fioRun) { return func(f *fioRun) { f.clients = hosts } }
	return map[string]loadCase{
		"alike":                      {a: same, b: job("name", "x"), verdict: "Equivalent"},
		"iodepth":                    {a: same, b: job("iodepth", "1"), reason: "OtherLoad", code: 3, text: "iodepth: 16 in baseline, 1 in candidate"},
		"iodepth is expected":        {a: same, b: job("iodepth", "1"), args: []string{"--expect-difference", "iodepth"}, verdict: "Equivalent"},
		"another is expected":        {a: same, b: job("iodepth", "1"), args: []string{"--expect-difference", "bs"}, reason: "OtherLoad", code: 3, text: "[bs]"},
		"an expected one is missing": {a: same, b: same, args: []string{"--expect-difference", "iodepth"}, reason: "OtherLoad", code: 3, text: "missing: iodepth"},
		"one of two is expected": {
			a: same, b: func(f *fioRun) { f.job["iodepth"], f.job["bs"] = "1", "8k" }, args: []string{"--expect-difference=iodepth"}, reason: "OtherLoad", code: 3,
			text: "bs: 4k in baseline, 8k in candidate",
		},
		"both are expected by synonym": {a: same, b: func(f *fioRun) { f.job["iodepth"], f.job["bs"] = "1", "8k" }, args: []string{"--expect-difference=iodepth,blocksize"}, verdict: "Equivalent"},
		"libaio and rbd": {a: same, b: func(f *fioRun) {
			f.global["ioengine"], f.job["rw"], f.job["numjobs"] = "rbd", "read", "8"
		}, reason: "OtherLoad", code: 3, text: "ioengine: libaio in baseline, rbd in candidate"},
		"a global option in the job": {a: same, b: func(f *fioRun) {
			f.job["direct"], f.global = "1", map[string]any{"ioengine": "libaio", "iodepth": "2"}
		}, verdict: "Equivalent"},
		"a flag that fio prints as null": {a: job("time_based", "1"), b: func(f *fioRun) { f.job["time_based"] = nil }, verdict: "Equivalent"},
		"clients and server":             {a: clients("u", "v"), b: clients("u", "v"), verdict: "Equivalent"},
		"another number of hosts":        {a: clients("u", "v"), b: clients("u"), reason: "OtherLoad", code: 3, text: "hosts: 2 in baseline, 1 in candidate"},
		"clients with other options": {
			a: clients("u"), b: func(f *fioRun) { f.clients, f.global["direct"] = []string{"u"}, "0" }, reason: "OtherLoad", code: 3,
			text: "direct: 1 in baseline, 0 in candidate",
		},
		"no job options": {
			a: same, b: func(f *fioRun) { f.job, f.global = map[string]any{}, map[string]any{} },
			verdict: "Equivalent", text: "without job options: whether the runs had the same ones",
		},

		"throughput at a rate":      {a: limited(2e-3), b: limited(3e-3), reason: "NotStorage", text: "--metric latencyP99"},
		"IOPS at a rate":            {a: limited(2e-3), b: limited(3e-3), args: []string{"--metric", "iops"}, reason: "NotStorage", text: "rate_iops"},
		"one side reaches the rate": {a: limited(2e-3), b: func(f *fioRun) { f.job["rate_iops"], f.operations = "500", 9000 }, reason: "NotStorage", text: "rate_iops"},
		"no side reaches the rate":  {a: job("rate_iops", "9000"), b: job("rate_iops", "9000"), verdict: "Equivalent"},
		"latency at a rate":         {a: limited(2e-3), b: limited(2e-3), args: []string{"--metric", "p99"}, verdict: "Equivalent"},
		"a stall at a rate":         {a: limited(2e-3), b: limited(2), args: []string{"--metric", "p99"}, reason: "HiddenWaits", text: "latencyP99 may be"},
		"a stall leaves the median": {a: limited(2e-3), b: limited(2), args: []string{"--metric", "p50"}, verdict: "Inconclusive", text: "hides the waits of up to"},
		"a missed rate": {
			a: limited(2e-3), b: func(f *fioRun) { f.job["rate_iops"], f.operations = "500", 9000 },
			args: []string{"--metric", "latencyMax"}, reason: "HiddenWaits", text: "operations were 12 s late",
		},
		"buffered writes":                {a: writes("direct", "0"), b: writes("direct", "0"), reason: "NotStorage", text: "page cache"},
		"buffered writes with end_fsync": {a: writes("buffered", "1", "end_fsync", "1"), b: writes("direct", "0", "end_fsync", "1"), verdict: "Equivalent"},
		"buffered reads":                 {a: job("direct", "0"), b: job("direct", "0"), reason: "NotStorage", text: "page cache"},
		"P99 of writes with fdatasync":   {a: writes("fdatasync", "1"), b: writes("fdatasync", "1"), args: []string{"--metric", "p99"}, reason: "NotStorage", text: "--metric syncLatencyP99"},
		"syncs": {
			a: writes("fdatasync", "1"), b: writes("fdatasync", "1"), args: []string{"--metric", "syncLatencyP99", "--closed-loop"}, verdict: "Equivalent",
			text: "closed loop: syncLatencyP99 hides stalls",
		},
		"P99 of a closed loop":      {a: same, b: same, args: []string{"--metric", "p99"}, reason: "ClosedLoop", text: "measure at a rate, or accept that with --closed-loop"},
		"that by name":              {a: same, b: same, args: []string{"--metric", "p99", "--closed-loop"}, verdict: "Equivalent"},
		"the mean of a closed loop": {a: same, b: same, args: []string{"--metric", "latencyMean"}, verdict: "Equivalent"},
	}
}

func TestAVerdictNeedsAlikeLoadsAndAFigureOfTheStorage(t *testing.T) {
	for name, tc := range loadCases() {
		t.Run(name, func(t *testing.T) {
			args := append([]string{
				"--baseline", randomReads(tc.a).write(t, "a"), "--candidate", randomReads(tc.b).write(t, "b"), "--equivalence", "8%",
			}, tc.args...)
			got, code := analyzeJSON(t, args...)
			c := got.Candidates[0]
			text := fmt.Sprint(c.Reason, got.Differences, got.MissingDifferences, got.Warnings)
			switch {
			case tc.reason != "" && (c.Verdict != "Invalid" || c.Reasons[0].Code != tc.reason):
				t.Errorf("%s: %s %v, want no verdict because of %s", c.Verdict, c.Reason, c.Reasons, tc.reason)
			case tc.reason == "" && c.Verdict == "Invalid":
				t.Errorf("%s, want %s", c.Reason, tc.verdict)
			case tc.verdict == "Equivalent" && c.Verdict != tc.verdict:
				t.Errorf("%s: %s, want %s", c.Verdict, c.Reason, tc.verdict)
			}
			if code != tc.code || !strings.Contains(text, tc.text) {
				t.Errorf("exit code %d, want %d; %q must be in\n%s", code, tc.code, tc.text, text)
			}
		})
	}
}

// The field case of 2 s: 1,000 operations were due, and fio shows the waits of one.
func TestHiddenWaitsAreMarkedInOneFileAndInTwoSides(t *testing.T) {
	stalled := randomReads(func(f *fioRun) {
		f.job["rate_iops"], f.operations, f.longestSeconds = "500", 15000, 2
	}).write(t, "b")
	calm := randomReads(func(f *fioRun) { f.job["rate_iops"], f.operations = "500", 15000 }).write(t, "a")
	one, _ := analyzeJSON(t, strings.Split(stalled, ",")[0])
	two, _ := analyzeJSON(t, "--metric", "p99", "--baseline", calm, "--candidate", stalled)
	if len(one.HiddenWaits) != 1 || len(two.HiddenWaits) != 3 || two.HiddenWaits[0].Configuration != "candidate" {
		t.Fatalf("marks: %+v and %+v", one.HiddenWaits, two.HiddenWaits)
	}
	for _, b := range one.HiddenWaits[0].Bounds {
		if b.Metric == "latencyP99" && (b.BoundSeconds < 1.68 || b.BoundSeconds > 1.72 || !b.Spoiled) {
			t.Errorf("P99 may be %.3f s, want 2 s − 1 %% of 30 s", b.BoundSeconds)
		}
	}
	if hidden := one.HiddenWaits[0].HiddenOperations; hidden < 998 || hidden > 1000 {
		t.Errorf("hidden: %.0f operations", hidden)
	}
	var stdout, stderr bytes.Buffer
	Run([]string{"kubectl-cephtune", "analyze", strings.Split(stalled, ",")[0]}, &stdout, &stderr)
	if !strings.Contains(strings.Join(strings.Fields(stdout.String()), " "), "counted from when they were due, latencyP99 may be 1703 ms instead of 2 ms") {
		t.Errorf("the text lacks the bound:\n%s", &stdout)
	}
}

// replaced writes three copies of an output with some words replaced. Each copy ends in another number of blank
// lines, because equal files count once.
func replaced(t *testing.T, file string, words ...string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var files []string
	text := strings.NewReplacer(words...).Replace(string(data))
	for i := range 3 {
		files = append(files, filepath.Join(dir, fmt.Sprintf("%d.txt", i+1)))
		if err := os.WriteFile(files[i], []byte(text+strings.Repeat("\n", i+1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return strings.Join(files, ",")
}

func TestHeadsOfOtherToolsAreCompared(t *testing.T) {
	write, read, bench := osds+"1osd-write.txt", "../engine/rbdbench/testdata/lab-ceph-18.2.7/read-4k-rand.txt", "../engine/rbdbench/testdata/lab-ceph-18.2.7/write-4k-rand.txt"
	for name, tc := range map[string]struct {
		file  string
		words []string
		want  string
	}{
		"rados bench -t":        {write, []string{"Maintaining 16 concurrent", "Maintaining 64 concurrent"}, "concurrent_ios: 16 in baseline, 64 in candidate"},
		"threads of rbd bench":  {bench, []string{"io_threads 16", "io_threads 1"}, "io_threads: 16 in baseline, 1 in candidate"},
		"pattern of rbd bench":  {read, []string{"pattern random", "pattern sequential"}, "pattern: random in baseline, sequential in candidate"},
		"nothing but the blank": {write, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, code := analyzeJSON(t, "--baseline", replaced(t, tc.file), "--candidate", replaced(t, tc.file, append(tc.words, "\n\n", "\n\n\n")...))
			text := fmt.Sprint(got.Differences)
			if !strings.Contains(text, tc.want) || (code == 3) != (tc.want != "") {
				t.Errorf("exit code %d, differences %s, want %q", code, text, tc.want)
			}
		})
	}
}

func TestColumnsOfATableThatGoWithTheConfigurationAreDifferences(t *testing.T) {
	table := func(depth string) string {
		file := filepath.Join(t.TempDir(), "t.csv")
		text := "config,iodepth,bs,run,iops\n"
		for i := range 4 {
			text += fmt.Sprintf("old,1,4k,%d,%d\nnew,%s,4096,%d,%d\n", i, 1000+i, depth, 10+i, 7000+i)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	flags := []string{"--configuration", "config", "--value", "iops", "--baseline", "old"}
	same, code := analyzeJSON(t, append(flags, "--table", table("1"))...)
	if len(same.Differences) > 0 || code != 0 || same.Candidates[0].Verdict != "Superior" {
		t.Errorf("exit code %d: %+v", code, same)
	}
	other, code := analyzeJSON(t, append(flags, "--table", table("32"))...)
	if len(other.Differences) != 1 || code != 3 || other.Candidates[0].Verdict != "Invalid" {
		t.Errorf("exit code %d: %+v", code, other)
	}
	expected, code := analyzeJSON(t, append(flags, "--table", table("32"), "--expect-difference", "iodepth")...)
	if code != 0 || expected.Candidates[0].Verdict != "Superior" {
		t.Errorf("exit code %d: %+v", code, expected)
	}
}
