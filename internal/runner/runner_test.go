package runner

import (
	"bytes"
	"context"
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/internal/task"
)

// live is a runner that serves on loopback.
type live struct {
	Client
	key            []byte
	address        string
	options        Options
	stdout, stderr *buffer
	cancel         context.CancelFunc
	ended          chan error
}

// buffer is a bytes.Buffer for several goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func options(t testing.TB) Options {
	t.Helper()
	return Options{
		Key: newKey(t), Client: 3, Programs: []string{"rados", "rbd", "fio"}, WorkDir: t.TempDir(), CgroupDir: t.TempDir(),
		IdleTimeout: time.Minute, Stdout: &buffer{}, Stderr: &buffer{}, grace: 200 * time.Millisecond,
	}
}

func newKey(t testing.TB) []byte {
	t.Helper()
	key := make([]byte, KeyBytes)
	if _, err := rand.Read(key); err != nil {
		t.Fatal(err)
	}
	return key
}

// run starts a runner. It ends with the test at the latest.
func run(t testing.TB, o Options) *live {
	t.Helper()
	installTools(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stdout, _ := o.Stdout.(*buffer)
	stderr, _ := o.Stderr.(*buffer)
	r := &live{key: o.Key, address: listener.Addr().String(), options: o, stdout: stdout, stderr: stderr, cancel: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- Run(ctx, o, listener); close(r.ended) }()
	t.Cleanup(func() {
		cancel()
		for range r.ended {
		}
	})
	if r.Client, err = Dial(r.address, o.Key, nil); err != nil {
		t.Fatal(err)
	}
	return r
}

// rados returns a measurement by a tool that does what its arguments say.
func rados(id string, argv ...string) task.Task {
	return task.Task{
		ID: id,
		Measure: &task.Measurement{
			Command: task.Command{Argv: append([]string{"rados"}, argv...)},
			Format:  "rados-bench-text", RequestedSeconds: 12,
		},
		MeasureTimeoutSeconds: 20,
	}
}

func steps(id string, commands ...task.Command) task.Task {
	return task.Task{ID: id, Steps: commands, StepsTimeoutSeconds: 20}
}

func command(argv ...string) task.Command { return task.Command{Argv: argv} }

// until waits for a state of the last task.
func (r *live) until(t testing.TB, reached func(task.State) bool) task.Status {
	t.Helper()
	version := int64(-1)
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); {
		snapshot, err := r.Snapshot(t.Context(), version, 10*time.Second)
		if err != nil {
			t.Fatal(err)
		}
		version = snapshot.Version
		if n := len(snapshot.Tasks); n > 0 && reached(snapshot.Tasks[n-1].State) {
			return snapshot.Tasks[n-1]
		}
	}
	t.Fatalf("the state was not reached:\n%s", r.stderr)
	return task.Status{}
}

func (r *live) put(t testing.TB, tk task.Task) {
	t.Helper()
	if _, err := r.Put(t.Context(), tk); err != nil {
		t.Fatal(err)
	}
}

func equals(want task.State) func(task.State) bool {
	return func(s task.State) bool { return s == want }
}

// measure runs a task and returns its report.
func (r *live) measure(t testing.TB, tk task.Task) *task.Report {
	t.Helper()
	r.put(t, tk)
	if status := r.until(t, func(s task.State) bool { return s == task.Ready || s.Ended() }); status.State == task.Ready {
		if _, err := r.Start(t.Context(), tk.ID); err != nil && !HasCode(err, NotStarted) {
			t.Fatal(err)
		}
	}
	r.until(t, task.State.Ended)
	report, err := r.Report(t.Context(), tk.ID)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func TestAMeasurementHasAResult(t *testing.T) {
	r := run(t, options(t))
	tk := rados("write", "print="+captured(t, "radosbench/testdata/lab-ceph-18.2.7/write-4m.txt"), "burn=50ms")
	tk.Steps, tk.StepsTimeoutSeconds = []task.Command{command("rbd", "say=hello")}, 5
	tk.Measure.MinimumSeconds = 11
	tk.Measure.Peers = []task.Peer{{OSD: 5, Address: "127.0.0.1:1"}}

	report := r.measure(t, tk)

	if report.State != task.Done || report.Failure != nil || report.Client != 3 || report.Result.Write.Operations != 908 {
		t.Errorf("got %+v, want 908 writes of client 3", report)
	}
	if report.StartTime == nil || report.EndTime.Sub(*report.StartTime) < 50*time.Millisecond {
		t.Errorf("measured from %v to %v", report.StartTime, report.EndTime)
	}
	if report.Usage.CPUSeconds < 0.01 || report.Usage.MaxResidentBytes < 1<<20 || report.Usage.Periods != nil {
		t.Errorf("usage is %+v", report.Usage)
	}
	if diff := cmp.Diff([]task.RoundTrip{{OSD: 5}}, report.Usage.RoundTrips); diff != "" { // It ends before the first connect.
		t.Error(diff)
	}
	if !strings.Contains(report.Output, "Total writes made:      908") {
		t.Errorf("output is %q", report.Output)
	}
	eventually(t, "the working directory to be gone", func() bool {
		left, err := os.ReadDir(r.options.WorkDir)
		return err == nil && len(left) == 0
	})
	again, err := r.Report(t.Context(), "write")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(report, again); diff != "" {
		t.Errorf("read again (-once +again):\n%s", diff)
	}
}

func TestFioIsReadFromItsFiles(t *testing.T) {
	r := run(t, options(t))
	argv := []string{"fio", "complain=fio: a warning", "write=out.json:" + captured(t, "fio/testdata/fio-3.33/jobs-with-logs.plus.json")}
	for _, name := range []string{"bw.1", "bw.2", "iops.1", "iops.2", "lat.1", "lat.2"} {
		argv = append(argv, "write=course_"+name+".log:"+captured(t, "fio/testdata/fio-3.33-logs/jobs_"+name+".log"))
	}
	report := r.measure(t, task.Task{
		ID: "fio", MeasureTimeoutSeconds: 20,
		Measure: &task.Measurement{Command: command(argv...), Format: "fio-json", OutputFile: "out.json", LogPrefix: "course", RequestedSeconds: 4},
	})
	if report.State != task.Done || report.Result.Read.Series.Len() != 3 || len(report.Result.Warnings) > 0 {
		t.Errorf("got %+v, want a course of 3 s and no warning", report)
	}
	if report.Output != "fio: a warning\n" {
		t.Errorf("output is %q", report.Output)
	}
}

// startsWithin is a deadline, in seconds, before which a tool does something even on a busy machine.
const startsWithin = 3

func TestErrorsBecomeFailures(t *testing.T) {
	good := "print=" + captured(t, "radosbench/testdata/lab-ceph-18.2.7/write-4m.txt")
	synthetic := func(name string) string {
		return "print=" + captured(t, "radosbench/testdata/synthetic/"+name)
	}
	with := func(tk task.Task, change func(*task.Task)) task.Task { change(&tk); return tk }
	cases := map[string]struct {
		task     task.Task
		want     task.FailureReason
		wantTail string
	}{
		"a step's exit code":  {steps("t", command("rbd", "say=out", "complain=err", "exit=2"), command("rbd", "say=never")), task.StepFailed, "out\nerr"},
		"a step's deadline":   {with(steps("t", command("rbd", "sleep=1m")), func(tk *task.Task) { tk.StepsTimeoutSeconds = 0.2 }), task.DeadlineExceeded, ""},
		"a killed step":       {steps("t", command("rbd", "say=out", "kill=9")), task.ToolKilled, "out"},
		"exit code":           {rados("t", good, "complain=the end", "exit=3"), task.ToolFailed, "the end"},
		"killed":              {rados("t", good, "kill=9"), task.ToolKilled, "Min latency(s):         0.0789955"},
		"deadline":            {with(rados("t", "say=out", "sleep=1m"), func(tk *task.Task) { tk.MeasureTimeoutSeconds = startsWithin }), task.DeadlineExceeded, "out"},
		"deadline, then fine": {with(rados("t", "term-exit="+good[6:]), func(tk *task.Task) { tk.MeasureTimeoutSeconds = 0.2 }), task.DeadlineExceeded, ""},
		"deadline, ignored":   {with(rados("t", "ignore-term", "sleep=1m"), func(tk *task.Task) { tk.MeasureTimeoutSeconds = 0.2 }), task.DeadlineExceeded, ""},
		"garbage":             {with(rados("t", "say=garbage"), func(tk *task.Task) { tk.Measure.Format = "fio-json" }), task.BadOutput, "garbage"},
		"nothing":             {rados("t"), "Truncated", ""},
		"truncated":           {rados("t", synthetic("truncated-in-summary.txt")), "Truncated", ""},
		"no operations":       {rados("t", synthetic("no-operations.txt")), "NoIO", ""},
		"ended early":         {rados("t", synthetic("ended-early.txt")), "EndedEarly", ""},
		"too short":           {with(rados("t", good), func(tk *task.Task) { tk.Measure.MinimumSeconds = 13 }), "EndedEarly", ""},
		"no file":             {with(rados("t", good), func(tk *task.Task) { tk.Measure.OutputFile = "none" }), task.BadOutput, ""},
		"another file":        {with(rados("t", good), func(tk *task.Task) { tk.Measure.OutputFile = "." }), task.BadOutput, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			report := run(t, options(t)).measure(t, tc.task)
			if report.State != task.Failed || report.Failure == nil || report.Failure.Reason != tc.want || report.Result != nil {
				t.Fatalf("got %+v (%+v), want %s and no result", report, report.Failure, tc.want)
			}
			if !strings.HasSuffix(report.Failure.Tail, tc.wantTail) || len(report.Failure.Command) == 0 || report.Failure.Message == "" {
				t.Errorf("the failure is %+v, want the tail %q", report.Failure, tc.wantTail)
			}
		})
	}
}

// rbd bench reports only on standard error that its last flush has failed.
func TestMessagesOnStandardErrorAreReadToo(t *testing.T) {
	tk := rados("flush", "complain=rbd: failed to flush at the end: (108) x", "print="+captured(t, "rbdbench/testdata/lab-ceph-18.2.7/write-4k-rand.txt"))
	tk.Measure.Argv[0], tk.Measure.Format, tk.Measure.RequestedSeconds = "rbd", "rbd-bench-text", 0
	report := run(t, options(t)).measure(t, tk)
	if report.State != task.Failed || report.Failure.Reason != "ToolError" {
		t.Errorf("got %+v (%+v), want a ToolError", report, report.Failure)
	}
}

func TestAMissingToolIsNotStarted(t *testing.T) {
	r := run(t, options(t))
	t.Setenv("PATH", t.TempDir())
	r.put(t, rados("none"))
	r.until(t, equals(task.Ready))
	if _, err := r.Start(t.Context(), "none"); !HasCode(err, NotStarted) {
		t.Errorf("error is %v, want NotStarted", err)
	}
	report, err := r.Report(t.Context(), "none")
	if err != nil || report.Failure == nil || report.Failure.Reason != task.NotStarted {
		t.Errorf("got %+v, %v, want NotStarted", report, err)
	}
}

func TestAcceptedExitCodesAreFine(t *testing.T) {
	report := run(t, options(t)).measure(t, steps("create", task.Command{Argv: []string{"rbd", "exit=17"}, Accept: []int{17}}))
	if report.State != task.Done {
		t.Errorf("got %+v (%+v), want Done", report, report.Failure)
	}
}

func TestAToolGetsLittleOfTheEnvironment(t *testing.T) {
	t.Setenv("CEPH_CONF", "/etc/ceph/ceph.conf")
	t.Setenv("CEPH_ARGS", "--id=admin")
	report := run(t, options(t)).measure(t, steps("show", command("rados", "show", "exit=1")))
	var names []string
	for line := range strings.Lines(report.Output) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		names = append(names, name)
		if name == "HOME" && value != "/tmp" || name == "LC_ALL" && value != "C" {
			t.Errorf("%s is %q", name, value)
		}
	}
	if diff := cmp.Diff([]string{"PATH", "HOME", "LC_ALL", "CEPH_CONF", "DIR"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheWholeGroupIsKilled(t *testing.T) {
	for name, argv := range map[string][]string{
		"at the deadline":   {"child=", "ignore-term", "sleep=1m"},
		"left behind by it": {"child="},
	} {
		t.Run(name, func(t *testing.T) {
			pidFile := filepath.Join(t.TempDir(), "pid")
			argv[0] += pidFile
			tk := rados("group", argv...)
			tk.MeasureTimeoutSeconds = startsWithin
			before := time.Now()
			run(t, options(t)).measure(t, tk)
			if took := time.Since(before); took > 30*time.Second {
				t.Errorf("it took %v, as if it waited for the child's pipe", took)
			}
			pid, err := os.ReadFile(pidFile)
			if err != nil {
				t.Fatal(err)
			}
			eventually(t, "the child to be gone", func() bool { return !runs(string(pid)) })
		})
	}
}

// runs reports whether a process is alive; a zombie is not.
func runs(pid string) bool {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

func eventually(t testing.TB, event string, happened func() bool) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); !happened(); {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", event)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func TestCancel(t *testing.T) {
	cases := map[string]struct {
		task task.Task
		when task.State
	}{
		"a step":          {steps("t", command("rbd", "ignore-term", "sleep=1m")), task.Preparing},
		"ready":           {rados("t"), task.Ready},
		"the measurement": {rados("t", "say=so far", "sleep=1m"), task.Measuring},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := run(t, options(t))
			r.put(t, tc.task)
			if tc.when == task.Measuring {
				r.until(t, equals(task.Ready))
				if _, err := r.Start(t.Context(), "t"); err != nil {
					t.Fatal(err)
				}
			}
			r.until(t, equals(tc.when))
			for range 2 { // A second call changes nothing.
				if err := r.Cancel(t.Context(), "t"); err != nil {
					t.Fatal(err)
				}
				if status := r.until(t, task.State.Ended); status.State != task.Cancelled {
					t.Errorf("it is %v, want Cancelled", status)
				}
			}
			if _, err := r.Start(t.Context(), "t"); !HasCode(err, NotReady) && !HasCode(err, AlreadyStarted) {
				t.Errorf("a start gives %v, want an error", err)
			}
			report, err := r.Report(t.Context(), "t")
			if err != nil || report.State != task.Cancelled || report.Result != nil {
				t.Errorf("got %+v, %v", report, err)
			}
		})
	}
}

// A manager that has lost the answer repeats its request.
func TestNothingIsDoneTwice(t *testing.T) {
	r := run(t, options(t))
	tk := rados("once", "print="+captured(t, "radosbench/testdata/lab-ceph-18.2.7/write-4m.txt"), "sleep=200ms")
	for range 2 {
		r.put(t, tk)
	}
	r.until(t, equals(task.Ready))
	if _, err := r.Start(t.Context(), "once"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(t.Context(), "once"); !HasCode(err, AlreadyStarted) {
		t.Errorf("the second start gives %v, want AlreadyStarted", err)
	}
	if _, err := r.Report(t.Context(), "once"); !HasCode(err, NotEnded) {
		t.Errorf("a report of a measurement that is on gives %v, want NotEnded", err)
	}
	r.put(t, tk)
	if status := r.until(t, task.State.Ended); status.State != task.Done {
		t.Errorf("it is %+v, want Done", status)
	}
	status, err := r.Put(t.Context(), tk)
	if err != nil || status.State != task.Done {
		t.Errorf("once more gives %v, %v, want Done", status, err)
	}
	if n := strings.Count(r.stderr.String(), `task once: run`); n != 1 {
		t.Errorf("it was run %d times:\n%s", n, r.stderr)
	}
}

// One client fills an image that all clients share. The other clients get a task without commands.
func TestATaskWithoutAnythingIsDone(t *testing.T) {
	r := run(t, options(t))
	r.put(t, task.Task{ID: "nothing"})
	if status := r.until(t, task.State.Ended); status.State != task.Done {
		t.Errorf("%+v, want Done", status)
	}
}

func TestTasksThatAreRefused(t *testing.T) {
	r := run(t, options(t))
	r.put(t, rados("work"))
	other := rados("work", "say=something else")
	measured := func(change func(*task.Task)) task.Task {
		tk := rados("new")
		change(&tk)
		return tk
	}
	cases := map[string]struct {
		task task.Task
		want Code
	}{
		"another task at work": {rados("second"), Busy},
		"another one of an ID": {other, Different},
		"no ID":                {rados(""), NotFound},
		"an ID with a slash":   {rados("a/b"), Invalid},
		"another program":      {steps("new", command("sh", "-c", "true")), Invalid},
		"a program's path":     {steps("new", command("/usr/bin/rados")), Invalid},
		"no program":           {steps("new", command()), Invalid},
		"a NUL":                {steps("new", command("rados", "\x00")), Invalid},
		"no deadline":          {measured(func(tk *task.Task) { tk.MeasureTimeoutSeconds = 0 }), Invalid},
		"no deadline of steps": {task.Task{ID: "new", Steps: []task.Command{command("rbd")}}, Invalid},
		"a format":             {measured(func(tk *task.Task) { tk.Measure.Format = "iozone" }), Invalid},
		"a file elsewhere":     {measured(func(tk *task.Task) { tk.Measure.OutputFile = "../report" }), Invalid},
		"logs elsewhere":       {measured(func(tk *task.Task) { tk.Measure.LogPrefix = "/tmp/x" }), Invalid},
		"a name as address":    {measured(func(tk *task.Task) { tk.Measure.Peers = []task.Peer{{Address: "osd-0:6800"}} }), Invalid},
		"too many peers": {measured(func(tk *task.Task) {
			tk.Measure.Peers = slices.Repeat([]task.Peer{{Address: "[fd00::1]:6800"}}, task.MostPeers+1)
		}), Invalid},
		"negative seconds": {measured(func(tk *task.Task) { tk.Measure.MinimumSeconds = -1 }), Invalid},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if status, err := r.Put(t.Context(), tc.task); !HasCode(err, tc.want) {
				t.Errorf("got %v, %v, want %s", status, err, tc.want)
			}
		})
	}
	for verb, ask := range map[string]func() error{
		"start":  func() error { _, err := r.Start(t.Context(), "none"); return err },
		"cancel": func() error { return r.Cancel(t.Context(), "none") },
		"report": func() error { _, err := r.Report(t.Context(), "none"); return err },
	} {
		if err := ask(); !HasCode(err, NotFound) {
			t.Errorf("%s of a task that is not there: %v, want NotFound", verb, err)
		}
	}
}

// The start must lie within the time of the request.
func TestStartIsBounded(t *testing.T) {
	r := run(t, options(t))
	r.put(t, rados("start", "sleep=1s"))
	r.until(t, equals(task.Ready))
	before := time.Now()
	started, err := r.Start(t.Context(), "start")
	after := time.Now()
	if err != nil {
		t.Fatal(err)
	}
	actual := *r.until(t, equals(task.Measuring)).StartTime
	if started.NotBefore.Before(before) || started.NotAfter.After(after) || started.NotAfter.Before(started.NotBefore) {
		t.Errorf("got %v, want it within %v and %v", started, before, after)
	}
	if actual.Before(started.NotBefore) || actual.After(started.NotAfter.Add(10*time.Second)) { // late by the time that an answer takes
		t.Errorf("it began at %v, that is not within %v", actual, started)
	}
	t.Logf("known to %v", started.NotAfter.Sub(started.NotBefore))
}

func TestBound(t *testing.T) {
	sent := time.Now()
	received := sent.Add(10 * time.Millisecond)
	for name, tc := range map[string]struct{ running, want time.Duration }{
		"just now":           {0, 10 * time.Millisecond},
		"for a while":        {4 * time.Millisecond, 6 * time.Millisecond},
		"before the request": {time.Hour, 0},
		"in the future":      {-time.Hour, 10 * time.Millisecond},
	} {
		if got := bound(sent, received, tc.running).NotAfter.Sub(sent); got != tc.want {
			t.Errorf("%s: not after %v, want %v", name, got, tc.want)
		}
	}
}

func TestSnapshotWaitsForAChange(t *testing.T) {
	r := run(t, options(t))
	first, err := r.Snapshot(t.Context(), -1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	same, err := r.Snapshot(t.Context(), first.Version, 100*time.Millisecond)
	if err != nil || same.Version != first.Version || time.Since(before) < 100*time.Millisecond {
		t.Errorf("got %v, %v after %v, want the same after 100 ms", same, err, time.Since(before))
	}
	go func() {
		time.Sleep(50 * time.Millisecond)
		_, _ = r.Put(context.WithoutCancel(t.Context()), rados("later"))
	}()
	changed, err := r.Snapshot(t.Context(), first.Version, 10*time.Second)
	if err != nil || changed.Version <= first.Version || len(changed.Tasks) != 1 {
		t.Errorf("got %v, %v, want the new task", changed, err)
	}
}

func TestFinish(t *testing.T) {
	r := run(t, options(t))
	r.put(t, rados("at-work"))
	r.until(t, equals(task.Ready))
	if err := r.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-r.ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	reports, err := ReadFrames(strings.NewReader(r.stdout.String()), nil)
	if err != nil || len(reports) != 1 || reports[0].State != task.Cancelled {
		t.Errorf("the log has %+v, %v", reports, err)
	}
}

func TestSIGTERMReportsPartialOutput(t *testing.T) {
	r := run(t, options(t))
	r.put(t, rados("long", "say=so far", "sleep=1m"))
	r.until(t, equals(task.Ready))
	if _, err := r.Start(t.Context(), "long"); err != nil {
		t.Fatal(err)
	}
	r.until(t, equals(task.Measuring))
	eventually(t, "the tool to run", func() bool {
		out, err := os.ReadFile(filepath.Join(r.options.WorkDir, "long", "stdout"))
		return err == nil && len(out) > 0
	})
	r.cancel()
	if err := <-r.ended; err == nil || !strings.Contains(err.Error(), ErrTerminated.Error()) {
		t.Errorf("it ended with %v, want ErrTerminated", err)
	}
	reports, err := ReadFrames(strings.NewReader(r.stdout.String()), nil)
	if err != nil || len(reports) != 1 || reports[0].State != task.Cancelled || reports[0].Output != "so far\n" {
		t.Errorf("the log has %+v, %v", reports, err)
	}
}

func TestIdleRunnerEnds(t *testing.T) {
	o := options(t)
	o.IdleTimeout = 300 * time.Millisecond
	r := run(t, o)
	before := time.Now()
	r.put(t, steps("work", command("rbd", "sleep=600ms"))) // A runner with work is not idle.
	err := <-r.ended
	if err == nil || !strings.Contains(err.Error(), ErrIdle.Error()) || time.Since(before) < 800*time.Millisecond {
		t.Errorf("it ended with %v after %v, want ErrIdle after 900 ms", err, time.Since(before))
	}
}

// A tool that prints forever must not use unlimited memory or disk space.
func TestHugeOutputIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 100 MB")
	}
	r := run(t, options(t))
	flood := rados("flood", "say=first", "flood=100000000", "say=last")
	flood.MeasureTimeoutSeconds = 120 // It takes 20 s on a machine that also compiles.
	report := r.measure(t, flood)
	if report.Failure == nil || report.Failure.Reason != task.BadOutput {
		t.Errorf("got %+v (%+v), want BadOutput", report.Status, report.Failure)
	}
	if n := len(report.Output); n > task.MaxOutputBytes || !strings.HasPrefix(report.Output, "first\n") || !strings.HasSuffix(report.Output, "last\n") {
		t.Errorf("the output has %d bytes, from %.20q to %q", n, report.Output, report.Output[n-20:])
	}
}
