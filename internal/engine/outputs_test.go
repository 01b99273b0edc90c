package engine

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
)

const loopLine = "Bandwidth (MB/sec):     110.2\n"

// FuzzOutputs checks that any file gives outputs, each of which has valid parts or an error.
func FuzzOutputs(f *testing.F) {
	for _, file := range []string{
		"fio/testdata/fio-3.33/stonewall-groups.txt", "radosbench/testdata/synthetic/write.json", "rbdbench/testdata/pvc-and-rbd/rbd-bench-4k-randread.txt",
	} {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(bytes.ReplaceAll(append([]byte("2026-03-01T10:00:00Z "), data...), []byte("\n"), []byte("\n2026-03-01T10:00:00Z ")))
	}
	report := `{"fio version":"fio-3.1","jobs":[{"jobname":"a","groupid":0,"error":0,"read":{"io_bytes":4096,"total_ios":1,"runtime":9}}]}`
	for _, seed := range []string{
		loopLine, report + report, "[" + report + ",\n" + report + "]", `{"data":{"a":"{\n  \"b\": [ [" }}`, "\xff\xfe{\x00\n\x00",
		fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\ndata:\n  a: '%s'\n  b: |\n    %s", report, loopLine),
		"[pod/a/x] {\n[pod/b/x] " + report + "\n[pod/a/x] }\n", `{"log":"a\n"}` + "\n", "3;fio-3.1;a;0;0;" + strings.Repeat("1;", 82),
		"elapsed: 1 ops: 2 ops/sec: 3 bytes/sec: 4\n", "  read: IOPS=1, BW=1B/s (1B/s)(1B/1msec)\n", "> ```\n>     x\n",
		"fio-2.1\na: (groupid=0, jobs=1): err= 0: pid=1: x\n  read : io=4KB, bw=4KB/s, iops=1, runt= 1000msec\n    issued    : total=r=1/w=0/d=0, short=r=0/w=0/d=0\nRun status group 0 (all jobs):\n",
		"x {'fio version': 'fio-3.1', 'jobs': [{'jobname': 'it\\'s', 'groupid': 0, 'read': {'io_bytes': 4096, 'total_ios': 1, 'runtime': 9}, 'a': (True, None, nan)}]}",
		`b'{\n \"fio version\": 1\n\n\n\n\n'`, "\x1f\x8b\x08\x00", "{\x00\"\x00a\x00\"\x00:\x001\x00", "&quot;&lt;", "fio version: fio-3.1\njobs: [{}]\n",
		`{"stdout_lines": ["a: (g=0): rw=read", "a: (groupid=0, jobs=1): err= 0: pid=1: x"]}`, "READ: bw=1B/s, io=1B (1B), run=1-2msec\n", "read: IOPS=1, BW=1B/s\n",
		"rados bench -p a 1 seq\nTotal time run: 1\nTotal reads made: 1\nRead size: 1\nMin latency(s): 1\n", "Bandwidth (MB/sec): 1\nMin latency(s): 1\n",
		"hostname=a, be=0\n<a> All clients: (g=0): rw=read\nAll clients: (groupid=0, jobs=1): err= 0: pid=0: x\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		outputs := Outputs(file)
		if len(outputs) == 0 || len(outputs) > maxOutputs {
			t.Fatalf("%d outputs", len(outputs))
		}
		for _, o := range outputs {
			parts, err := o.Parts(Options{})
			if err == nil && len(parts) == 0 {
				t.Error("neither parts nor an error")
			}
			for _, p := range parts {
				if p.Err == nil && p.Figures == nil && p.Result.Validate() != nil {
					t.Errorf("an invalid result: %v", p.Result.Validate())
				}
			}
		}
	})
}

// A hostile file must not take more than linear time or memory for what it has.
func TestOutputsAreBounded(t *testing.T) {
	for name, file := range map[string]string{
		"levels":  strings.Repeat(`{"a":[`, 100_000),
		"strings": strings.Repeat(`["`, 100_000),
		"lines":   strings.Repeat(loopLine, 100_000),
		"pods":    pods(10_000),
	} {
		t.Run(name, func(t *testing.T) {
			outputs := Outputs([]byte(file))
			if len(outputs) == 0 || len(outputs) > maxOutputs {
				t.Errorf("%d outputs", len(outputs))
			}
		})
	}
}

func pods(n int) string {
	var out strings.Builder
	for i := range n {
		fmt.Fprintf(&out, "[pod/p%d/x] %s", i, loopLine)
	}
	return out.String()
}

// A file of spaces must not take quadratic time: this one would take minutes.
func TestDecodingTakesLinearTime(t *testing.T) {
	text := append([]byte("{'fio version': 'fio-3.36'}\n"), bytes.Repeat([]byte(" "), 2<<20)...)
	if got := decoded(text); !bytes.HasPrefix(got, []byte(`{"fio version": "fio-3.36"}`)) || len(got) != len(text) {
		t.Errorf("got %.40q of %d bytes", got, len(got))
	}
}
