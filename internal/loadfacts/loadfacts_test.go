package loadfacts

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/result"
)

// words makes options from words such as "rw=randread direct"; "|" separates jobs.
func words(text string) []result.Job {
	var jobs []result.Job
	for job := range strings.SplitSeq(text, "|") {
		j := result.Job{Name: "job", Options: map[string]string{}}
		for word := range strings.FieldsSeq(job) {
			name, value, _ := strings.Cut(word, "=")
			if name == "job" {
				j.Name = value
				continue
			}
			j.Options[name] = value
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// output returns an output with 4 KiB operations of one direction.
func output(tool result.Tool, direction result.DirectionName, jobs []result.Job) *result.Result {
	res := &result.Result{Source: result.Source{Tool: tool, ToolVersion: "fio-3.36", Format: "fio-json"}, Clients: 1, Jobs: jobs}
	res.SetDirection(direction, &result.Direction{Operations: 15000, Bytes: 15000 * 4096, Seconds: 30, ShortestSeconds: 30})
	return res
}

func side(name string, runs ...*result.Result) Side {
	s := Side{Name: name}
	for i, res := range runs {
		s.Loads = append(s.Loads, New(name+string(rune('1'+i)), res))
	}
	return s
}

func TestOptionsThatDifferAreNamed(t *testing.T) {
	cases := map[string]struct {
		a, b string
		want []string
	}{
		"iodepth":                          {"rw=randread iodepth=1", "rw=randread iodepth=32", []string{"iodepth: 1 in a, 32 in b"}},
		"an absent option has its default": {"rw=randread", "rw=randread iodepth=1 numjobs=1 direct=0 bs=4k rwmixread=50", nil},
		"an absent option against another": {"rw=randread", "iodepth=8 rw=randread", []string{"iodepth: 1 (default) in a, 8 in b"}},
		"an unknown option on one side":    {"rw=read", "rw=read new_option=7", []string{"new_option: absent in a, 7 in b"}},
		"the engine and jobs": {
			"rw=randread ioengine=libaio", "rw=read ioengine=rbd numjobs=8",
			[]string{"ioengine: libaio in a, rbd in b", "numjobs: 1 (default) in a, 8 in b", "rw: randread in a, read in b"},
		},
		"sizes in other units":                   {"bs=4k size=1g io_size=10m", "blocksize=4096 size=1024m io_limit=10485760", nil},
		"capital units and kib":                  {"bs=4K size=1GiB", "bs=4kib size=1073741824", nil},
		"block sizes of unused directions":       {"rw=randread bs=4k,64k", "rw=randread bs=4k", nil},
		"block sizes of writes":                  {"rw=randwrite bs=4k,64k", "rw=randwrite bs=4k", []string{"bs: 65536 in a, 4k in b"}},
		"an empty part is the default":           {"rw=write bs=8k,", "rw=write bs=4k", nil},
		"splits":                                 {"bssplit=4k/60:64k/40", "bssplit=4096/60:65536/40", nil},
		"other splits":                           {"bssplit=4k/60:64k/40", "bssplit=4k/50:64k/50", []string{"bssplit: 4k/60:64k/40 in a, 4k/50:64k/50 in b"}},
		"rw has two names":                       {"rw=randread", "readwrite=randread", nil},
		"rw has two values":                      {"rw=rw", "rw=readwrite", nil},
		"the mix":                                {"rw=randrw rwmixread=70", "rw=randrw rwmixwrite=30", nil},
		"another mix":                            {"rw=randrw rwmixread=70", "rw=randrw", []string{"rwmixread: 70 in a, 50 (default) in b"}},
		"a mix without a meaning":                {"rw=randread rwmixread=70", "rw=randread", nil},
		"direct and buffered":                    {"direct=1", "buffered=0", nil},
		"direct":                                 {"direct=1 rw=read", "rw=read", []string{"direct: 1 in a, 0 (default) in b"}},
		"flags without a value":                  {"time_based thread", "time_based=1 thread=1", nil},
		"times":                                  {"runtime=60 thinktime=1ms", "timeout=1m thinktime=1000us", nil},
		"another runtime":                        {"runtime=60", "runtime=600", []string{"runtime: 60 in a, 600 in b"}},
		"m is a minute for times, not for sizes": {"runtime=1m size=1m", "runtime=60 size=1048576", nil},
		"fsync":                                  {"fsync=1", "fsync=32", []string{"fsync: 1 in a, 32 in b"}},
		"O_SYNC":                                 {"sync=1", "sync=sync", nil},
		"names of the engine":                    {"ioengine=aio", "ioengine=libaio", nil},
		"rates":                                  {"rw=randrw rate_iops=500,100", "rw=randrw rate_iops=500,500", []string{"rate_iops: 500,100 in a, 500 in b"}},
		"names, logs and seeds":                  {"name=x description=y randseed=7 write_bw_log=/tmp/a percentile_list=99 group_reporting", "name=z randseed=8 write_bw_log=/tmp/b log_avg_msec=1000", nil},
		"the seed of each run":                   {"randrepeat=0", "randrepeat=1", []string{"randrepeat: 0 in a, 1 in b"}},
		"another pool":                           {"ioengine=rbd pool=ssd1 rbdname=x", "ioengine=rbd pool=ssd2 rbdname=x", []string{"pool: ssd1 in a, ssd2 in b"}},
		"a file of the run":                      {"filename=/mnt/run-1.dat", "filename=/mnt/run-2.dat", nil},
		"another folder":                         {"directory=/mnt/ssd", "directory=/mnt/hdd", []string{"directory: /mnt/ssd in a, /mnt/hdd in b"}},
		"another device":                         {"filename=/dev/rbd0", "filename=/dev/rbd1", []string{"filename: /dev/rbd0 in a, /dev/rbd1 in b"}},
		"the number of jobs":                     {"rw=read", "job=a rw=read|job=b rw=write", []string{"jobs: 1 in a, 2 in b"}},
		"jobs by name":                           {"job=r rw=read iodepth=4|job=w rw=write", "job=w rw=write iodepth=2|job=r rw=read iodepth=4", []string{"iodepth of job w: 1 (default) in a, 2 in b"}},
		"jobs by position":                       {"job=r rw=read|job=w rw=write", "job=x rw=read|job=y rw=write bs=8k", []string{"bs of job w: 4096 (default) in a, 8k in b"}},
		"processes of one job are one job":       {"rw=read numjobs=2|rw=read numjobs=2", "rw=read numjobs=2 group_reporting", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := side("a", output(result.ToolFIO, result.Read, words(tc.a)))
			b := side("b", output(result.ToolFIO, result.Read, words(tc.b)))
			if diff := cmp.Diff(tc.want, Differences(a, b)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, line := range tc.want {
				option, _, _ := strings.Cut(strings.Split(line, ":")[0], " of job ")
				if !Matches(option, line) || Matches(option[:1], line) {
					t.Errorf("%q must be expected by %s, and by nothing shorter", line, option)
				}
			}
		})
	}
}

func TestOtherToolsAreCompared(t *testing.T) {
	rados := func(text string) *result.Result {
		jobs := words(text)
		jobs[0].Partial = true
		return output(result.ToolRadosBench, result.Write, jobs)
	}
	rbd := func(text string) *result.Result {
		jobs := words(text)
		jobs[0].Partial = true
		return output(result.ToolRBDBench, result.Write, jobs)
	}
	cases := map[string]struct {
		a, b *result.Result
		want []string
	}{
		"-t":                     {rados("concurrent_ios=16 op_size=4096"), rados("concurrent_ios=64 op_size=4096"), []string{"concurrent_ios: 16 in a, 64 in b"}},
		"-o":                     {rados("object_size=4194304"), rados("object_size=65536"), []string{"object_size: 4194304 in a, 65536 in b"}},
		"the time":               {rados("seconds_to_run=10"), rados("seconds_to_run=60"), []string{"seconds_to_run: 10 in a, 60 in b"}},
		"-t of reads":            {rados("cur_ops=16"), rados("cur_ops=64"), []string{"cur_ops: 16 in a, 64 in b"}},
		"a busy second of reads": {rados("cur_ops=16"), rados("cur_ops=15"), nil},
		"what one head lacks":    {rados("cur_ops=16"), rados("concurrent_ios=16"), nil},
		"threads":                {rbd("io_threads=16 io_size=4096"), rbd("io_threads=1 io_size=4096"), []string{"io_threads: 16 in a, 1 in b"}},
		"pattern":                {rbd("pattern=random"), rbd("pattern=sequential"), []string{"pattern: random in a, sequential in b"}},
		"pattern, older words":   {rbd("pattern=rand"), rbd("pattern=random"), nil},
		"bytes":                  {rbd("bytes=1"), rbd("bytes=2"), []string{"bytes: 1 in a, 2 in b"}},
		"tools":                  {rbd("io_threads=16"), output(result.ToolFIO, result.Write, words("rw=write")), []string{"tool: rbd bench in a, fio in b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Differences(side("a", tc.a), side("b", tc.b))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunsOfOneSideAreCompared(t *testing.T) {
	run := func(text string) *result.Result { return output(result.ToolFIO, result.Read, words(text)) }
	a := side("a", run("iodepth=1"), run("iodepth=4"), run("iodepth=4"))
	want := []string{"iodepth: 1 in a1, 4 in a2 (within a)", "iodepth: 1 in a, 8 in b"}
	if diff := cmp.Diff(want, Differences(a, side("b", run("iodepth=8")))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestPlacesThatDifferByRunAreNotADifference(t *testing.T) {
	runs := func(names ...string) Side {
		var all []*result.Result
		for _, name := range names {
			all = append(all, output(result.ToolFIO, result.Read, words("filename="+name)))
		}
		return side("x", all...)
	}
	cases := map[string]struct {
		a, b  Side
		alike bool
	}{
		"a file for each run":         {runs("/mnt/1", "/mnt/2"), runs("/mnt/3", "/mnt/4"), true},
		"a random name":               {runs("/tmp/xk", "/tmp/pq"), runs("/tmp/zz", "/tmp/ay"), true},
		"a shared file":               {runs("/tmp/xk", "/tmp/pq"), runs("/tmp/xk"), true},
		"one numbered file a side":    {runs("/osd1/f", "/osd1/f"), runs("/osd2/f", "/osd2/f"), false},
		"one named file a side":       {runs("/ssd/f", "/ssd/f"), runs("/hdd/f", "/hdd/f"), false},
		"folders with numbered files": {runs("/ssd/1", "/ssd/1", "/ssd/2"), runs("/hdd/1", "/hdd/1", "/hdd/2"), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if lines := Differences(tc.a, tc.b); (lines == nil) != tc.alike {
				t.Errorf("differences: %q, want alike %v", lines, tc.alike)
			}
		})
	}
}

func TestWhatAnOutputDoesNotCarryIsSaid(t *testing.T) {
	plain := words("rw=randread iodepth=8")
	plain[0].Partial = true
	none := []result.Job{{Partial: true}}
	full := side("a", output(result.ToolFIO, result.Read, words("rw=randread iodepth=8 direct=1 bs=8k")))
	for name, tc := range map[string]struct {
		jobs []result.Job
		note string
	}{
		"plain output":   {plain, "carries no job options except iodepth, numjobs, rw"},
		"no job options": {none, "without job options"},
	} {
		t.Run(name, func(t *testing.T) {
			other := side("b", output(result.ToolFIO, result.Read, tc.jobs))
			if lines := Differences(full, other); lines != nil {
				t.Errorf("unknown options differ: %q", lines)
			}
			if notes := strings.Join(Notes(full, other), "\n"); !strings.Contains(notes, tc.note) {
				t.Errorf("notes %q lack %q", notes, tc.note)
			}
		})
	}
	newer := output(result.ToolFIO, result.Read, words("rw=randread iodepth=8 direct=1 bs=8k"))
	newer.Source.ToolVersion = "fio-3.40"
	if notes := Notes(full, side("b", newer)); len(notes) != 1 || !strings.Contains(notes[0], "fio-3.40") {
		t.Errorf("another version is a note: %q", notes)
	}
	newer.Source.ToolVersion = "fio-3.36"
	if notes := Notes(full, side("b", newer)); notes != nil {
		t.Errorf("nothing is unknown: %q", notes)
	}
}

func TestMeasuredSizesCountWhereOptionsNameNone(t *testing.T) {
	small := output(result.ToolFIO, result.Read, []result.Job{{Partial: true}})
	large := output(result.ToolFIO, result.Read, []result.Job{{Partial: true}})
	large.Read.Bytes *= 2
	want := []string{"operation-size: 4096 bytes in a, 8192 bytes in b"}
	if diff := cmp.Diff(want, Differences(side("a", small), side("b", large))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestIgnoredOptionsHaveAReasonAndAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/analyze-loads.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, reason := range Ignored() {
		if reason == "" || defaults()[name] != "" {
			t.Errorf("%s has no reason to be ignored, or a default, which nothing reads", name)
		}
		family := name
		for _, prefix := range []string{"log_", "write_"} {
			if strings.HasPrefix(name, prefix) {
				family = prefix
			}
		}
		if strings.HasSuffix(name, "_percentiles") {
			family = "_percentiles"
		}
		if !strings.Contains(string(page), family) {
			t.Errorf("docs/analyze-loads.md does not name %s", name)
		}
	}
}

func TestFiguresThatCannotShowTheStorage(t *testing.T) {
	cases := map[string]struct {
		options   string
		figure    Figure
		direction result.DirectionName
		want      string // a part of the doubt; "" for none
	}{
		"rate_iops is reached":                {"rw=randread direct=1 rate_iops=500", Throughput, result.Read, "rate_iops limits reads"},
		"rate_iops of several jobs":           {"rw=randread direct=1 rate_iops=250 numjobs=2", Throughput, result.Read, "--metric latencyP99"},
		"rate is reached":                     {"rw=read direct=1 rate=2000k", Throughput, result.Read, "rate limits reads"},
		"rate is far":                         {"rw=read direct=1 rate=1g", Throughput, result.Read, ""},
		"the rate of writes":                  {"rw=rw direct=1 rate_iops=9000,500", Throughput, result.Write, "rate_iops limits writes"},
		"the rate of writes leaves reads":     {"rw=rw direct=1 rate_iops=9000,500", Throughput, result.Read, ""},
		"rate_min is no limit":                {"rw=read direct=1 rate_min=1m", Throughput, result.Read, ""},
		"one job without a rate":              {"job=a rw=read direct=1 rate_iops=500|job=b rw=read direct=1", Throughput, result.Read, ""},
		"a rate leaves latencies":             {"rw=randread direct=1 rate_iops=500", Latency, result.Read, ""},
		"thinktime":                           {"rw=read direct=1 thinktime=1000", Throughput, result.Read, "paused for 50%"},
		"a short thinktime":                   {"rw=read direct=1 thinktime=10", Throughput, result.Read, ""},
		"thinktime after many blocks":         {"rw=read direct=1 thinktime=1000 thinktime_blocks=100", Throughput, result.Read, ""},
		"buffered writes":                     {"rw=write ioengine=libaio", Throughput, result.Write, "page cache"},
		"buffered writes, the default engine": {"rw=write", Latency, result.Write, "page cache"},
		"buffered=1":                          {"rw=write buffered=1", Throughput, result.Write, "page cache"},
		"direct writes":                       {"rw=write direct=1 ioengine=libaio", Throughput, result.Write, ""},
		"writes of librbd":                    {"rw=write ioengine=rbd", Throughput, result.Write, ""},
		"writes with end_fsync":               {"rw=write end_fsync=1", Throughput, result.Write, ""},
		"latencies with end_fsync":            {"rw=write end_fsync=1", Latency, result.Write, "page cache"},
		"writes with O_SYNC":                  {"rw=write sync=1", Latency, result.Write, ""},
		"writes with O_DSYNC":                 {"rw=write sync=dsync", Throughput, result.Write, ""},
		"writes with fdatasync":               {"rw=write fdatasync=1", Throughput, result.Write, ""},
		"latencies with fdatasync":            {"rw=write fdatasync=1", Latency, result.Write, "this output lacks their latency"},
		"direct writes with fsync":            {"rw=write direct=1 fsync=32", Latency, result.Write, "fsync"},
		"syncs themselves":                    {"rw=write fdatasync=1", SyncLatency, result.Write, ""},
		"fsync=0":                             {"rw=write direct=1 fsync=0", Latency, result.Write, ""},
		"buffered reads":                      {"rw=read", Throughput, result.Read, "page cache"},
		"latencies of buffered reads":         {"rw=randread ioengine=io_uring", Latency, result.Read, "page cache"},
		"mmap has no direct":                  {"rw=randread ioengine=mmap direct=1", Latency, result.Read, "page cache"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			res := output(result.ToolFIO, tc.direction, words(tc.options))
			got := New("a", res).Doubt(tc.figure, res.Directions()[0])
			if tc.want == "" && got != "" || !strings.Contains(got, tc.want) {
				t.Errorf("doubt %q, want %q", got, tc.want)
			}
		})
	}
	res := output(result.ToolFIO, result.Write, words("rw=write fdatasync=1"))
	res.SyncLatency = &result.Latency{}
	if got := New("a", res).Doubt(Latency, res.Directions()[0]); !strings.Contains(got, "--metric syncLatencyP99") {
		t.Errorf("the doubt %q must point to the syncs", got)
	}
}

// stalled returns an output of a run of 20 s at a fixed rate with one stall, as fio reports it.
func stalled(options string, rate, mean, longest float64) (Load, result.NamedDirection) {
	res := output(result.ToolFIO, result.Read, words("rw=randread direct=1 "+options))
	res.Read.Seconds, res.Read.Operations = 20, int64(20*rate)
	res.Read.Bytes = 4096 * res.Read.Operations
	res.Read.CompletionLatency = &result.Latency{
		Moments: result.Moments{Count: res.Read.Operations, MeanSeconds: mean, MaxSeconds: &longest},
	}
	return New("a", res), res.Directions()[0]
}

// The truth of these runs is that of docs/analyze-loads.md: fio 3.33 with one stall of 2 s, counted from the arrivals.
func TestBoundsAreTheTruthOfAPlantedStall(t *testing.T) {
	for name, tc := range map[string]struct {
		options        string
		rate, mean     float64
		hidden         float64
		p95, p99, p999 float64
	}{
		"libaio, depth 32":          {"ioengine=libaio iodepth=32 rate_iops=2000", 2000, 100e-6, 3999, 0.960, 1.811, 1.983},
		"libaio, depth 8192":        {"ioengine=libaio iodepth=8192 rate_iops=2000", 2000, 100e-6, 3999, 0.960, 1.811, 1.983},
		"psync, 1 job":              {"rate_iops=200", 200, 1e-3, 399, 1.201, 1.819, 1.973},
		"psync, 8 jobs in all":      {"numjobs=8 rate_iops=25", 200, 1e-3, 392, 1.201, 1.819, 1.973},
		"rate instead of rate_iops": {"rate=800k", 200, 1e-3, 399, 1.201, 1.819, 1.973},
	} {
		t.Run(name, func(t *testing.T) {
			l, d := stalled(tc.options, tc.rate, tc.mean, 2)
			w, ok := l.HiddenWaits(d)
			if !ok || math.Abs(w.Hidden-tc.hidden) > 1 {
				t.Fatalf("%v, hidden %.1f, want %.0f", ok, w.Hidden, tc.hidden)
			}
			// Arrivals are random, so the truth of one run is near the bound.
			for percent, truth := range map[float64]float64{95: tc.p95, 99: tc.p99, 99.9: tc.p999} {
				if got := w.Percentile(percent, 0.001); math.Abs(got-truth) > 0.25 || percent > 95 && math.Abs(got-truth) > 0.05 {
					t.Errorf("P%v: %.3f s, truth %.3f s", percent, got, truth)
				}
			}
		})
	}
}

func TestRunsWithoutHiddenWaitsAreNotMarked(t *testing.T) {
	for name, tc := range map[string]struct {
		options             string
		rate, mean, longest float64
		want                bool
	}{
		"no rate":                        {"iodepth=32", 2000, 1e-3, 2, false},
		"short latencies":                {"rate_iops=500", 500, 1e-3, 1.5e-3, false},
		"a rate of which half were done": {"rate_iops=1000", 500, 1e-3, 1.5e-3, true},
		"as many in flight as were due":  {"ioengine=libaio iodepth=64 rate_iops=2000", 2000, 10e-3, 9e-3, false},
		"one stall":                      {"rate_iops=500", 500, 1e-3, 0.1, true},
	} {
		t.Run(name, func(t *testing.T) {
			l, d := stalled(tc.options, tc.rate, tc.mean, tc.longest)
			if _, ok := l.HiddenWaits(d); ok != tc.want {
				t.Errorf("marked: %v, want %v", ok, tc.want)
			}
		})
	}
}

func TestARunThatMissesItsRateIsLate(t *testing.T) {
	l, d := stalled("rate_iops=1000", 500, 1e-3, 2e-3)
	w, _ := l.HiddenWaits(d)
	if w.Behind != 10 || math.Abs(w.Percentile(99, 2e-3)-9.9) > 1e-9 || w.Mean(1e-3) != 5 {
		t.Errorf("behind %v s, P99 %v s, mean %v s", w.Behind, w.Percentile(99, 2e-3), w.Mean(1e-3))
	}
}

// B stalls for 200 ms in every 2 s of 30 s, at 1,000 operations a second: its true 99th percentile is 180 ms.
func TestAHistogramShowsManyStalls(t *testing.T) {
	res := output(result.ToolFIO, result.Read, words("rw=randread direct=1 ioengine=libaio iodepth=32 rate_iops=1000"))
	res.Read.Operations, res.Read.Bytes = 30000, 30000*4096
	longest := 0.2
	h, err := result.NewHistogram([]result.Bin{
		{Nanoseconds: result.BinNanoseconds(result.BinIndex(100_000)), Count: 30000 - 15},
		{Nanoseconds: result.BinNanoseconds(result.BinIndex(200_000_000)), Count: 15},
	})
	if err != nil {
		t.Fatal(err)
	}
	res.Read.Latency = &result.Latency{Histogram: h, Moments: result.Moments{Count: 30000, MeanSeconds: 200e-6, MaxSeconds: &longest}}
	w, ok := New("a", res).HiddenWaits(res.Directions()[0])
	if got := w.Percentile(99, 260e-6); !ok || math.Abs(got-0.18) > 0.003 || !Spoils(got, 260e-6) {
		t.Errorf("%v, P99 %.3f s, want 0.180 s", ok, got)
	}
}
