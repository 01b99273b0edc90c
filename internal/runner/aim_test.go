package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/task"
)

// aimable returns a task that runs until it is cancelled, whose tool does what its arguments say.
func aimable(argv ...string) task.Task {
	tk := rados("t", argv...)
	tk.Measure.UntilCancelled, tk.Measure.RequestedSeconds, tk.Measure.OperationBytes = true, 0, 4<<20
	return tk
}

// begin starts a task, and waits until its tool has written the file "said".
func (r *live) begin(t *testing.T, tk task.Task) {
	t.Helper()
	r.put(t, tk)
	r.until(t, equals(task.Ready))
	if _, err := r.Start(t.Context(), tk.ID); err != nil {
		t.Fatal(err)
	}
	r.awaitFile(t, "said")
}

func (r *live) awaitFile(t *testing.T, name string) {
	t.Helper()
	eventually(t, "the tool to have written "+name, func() bool {
		_, err := os.Stat(filepath.Join(r.options.WorkDir, "t", "work", name))
		return err == nil
	})
}

// A measurement that is aimed at another target goes on with that one's engine. Its result is that of the last engine.
func TestAim(t *testing.T) {
	rows := captured(t, "radosbench/testdata/lab-ceph-18.2.7/write-4m.txt")
	o := options(t)
	o.grace = 0 // the default, which is long enough for any machine
	r := run(t, o)
	r.begin(t, aimable("say=of the first target", "write=said:"+rows, "sleep=1m"))
	before := r.until(t, equals(task.Measuring))
	if err := r.Aim(t.Context(), "t", Aim{Target: 1, Command: command("rados", "print="+rows, "write=second:"+rows, "sleep=1m")}); err != nil {
		t.Fatal(err)
	}
	// What a runner says of times is early or late by the time that its answer takes.
	answered := cmpopts.EquateApproxTime(10 * time.Second)
	if diff := cmp.Diff(before, r.until(t, equals(task.Measuring)), answered); diff != "" {
		t.Errorf("the status has changed, -want +got:\n%s", diff)
	}
	r.awaitFile(t, "second")
	if err := r.Cancel(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	r.until(t, task.State.Ended)
	report, err := r.Report(t.Context(), "t")
	if err != nil || report.State != task.Done || report.Result == nil || !cmp.Equal(report.StartTime, before.StartTime, answered) {
		t.Errorf("got %+v, %v: want the result of the second engine, and the start of the first", report, err)
	}
}

func TestAimIsRefused(t *testing.T) {
	rows := captured(t, "radosbench/testdata/lab-ceph-18.2.7/write-4m.txt")
	good := command("rados", "sleep=1m")
	for name, tc := range map[string]struct {
		task task.Task
		at   Aim
		want Code
		ends task.FailureReason // of the task; "" if it goes on
	}{
		"a program that may not run":       {aimable("write=said:"+rows, "sleep=1m"), Aim{Command: command("sh")}, Invalid, ""},
		"no target":                        {aimable("write=said:"+rows, "sleep=1m"), Aim{Target: -1, Command: good}, Invalid, ""},
		"an engine that had to be killed":  {aimable("ignore-term", "write=said:"+rows, "sleep=1m"), Aim{Command: good}, NotStarted, task.ToolKilled},
		"a program that cannot be started": {aimable("write=said:"+rows, "sleep=1m"), Aim{Command: command("missing")}, NotStarted, task.NotStarted},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(t)
			o.Programs = append(o.Programs, "missing")
			if tc.ends != task.ToolKilled {
				o.grace = 0
			}
			r := run(t, o)
			r.begin(t, tc.task)
			if err := r.Aim(t.Context(), "t", tc.at); !HasCode(err, tc.want) {
				t.Errorf("got %v, want %s", err, tc.want)
			}
			if tc.ends == "" {
				r.until(t, equals(task.Measuring))
				return
			}
			if status := r.until(t, task.State.Ended); status.State != task.Failed || status.Failure.Reason != tc.ends {
				t.Errorf("the task is %+v, want %s", status, tc.ends)
			}
		})
	}
}

// Rows of the next engine have its target, and do not reach back to the rows of the engine before. The time between
// them has no row.
func TestRowsHaveTheTargetOfTheirEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newExecution(t.TempDir())
		r := &running{execution: s, entry: &entry{}}
		r.noteStart()
		r.entry.since = time.Now()
		time.Sleep(time.Second)
		r.addSecond(&parse.Counted{Done: result.Done{Operations: 4}, Seconds: 1})
		time.Sleep(500 * time.Millisecond)
		r.entry.aiming = &aiming{Aim: Aim{Target: 2}}
		r.noteStart()
		time.Sleep(time.Second)
		r.addSecond(&parse.Counted{Done: result.Done{Operations: 5}, Seconds: 1})
		time.Sleep(time.Second)
		r.addSecond(&parse.Counted{Done: result.Done{Operations: 6}, Seconds: 1.2, Taken: time.Now()})
		want := []result.Second{
			{ToNanoseconds: 1e9, Done: result.Done{Operations: 4}},
			{FromNanoseconds: 15e8, ToNanoseconds: 25e8, Done: result.Done{Operations: 5}, Target: 2, Engine: 1},
			{FromNanoseconds: 25e8, ToNanoseconds: 35e8, Done: result.Done{Operations: 6}, Target: 2, Engine: 1},
		}
		if diff := cmp.Diff(want, r.entry.course); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

// What an engine reports after it was asked to end is a row of its own target, also if the storage stalled until then.
func TestTheLastReportOfAnEngineIsARowOfItsTarget(t *testing.T) {
	output, err := os.ReadFile(captured(t, "fio/testdata/snapshots-3.33/stalled.out"))
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := bytes.Cut(output, []byte("\n}\n"))
	folder := t.TempDir()
	file := func(name string, parts ...[]byte) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, bytes.Join(parts, nil), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	firstFile, restFile := file("first", first, []byte("\n}\n")), file("rest", rest)
	o := options(t)
	o.grace = 0 // the default, which is long enough for any machine
	r := run(t, o)
	tk := aimable("write=said:"+restFile, "sleep=1m")
	tk.Measure.Argv[0], tk.Measure.Format, tk.Measure.Snapshots = "fio", "fio-json", true
	r.begin(t, tk)
	if err := os.Remove(filepath.Join(o.WorkDir, "t", "work", "said")); err != nil {
		t.Fatal(err)
	}
	if err := r.Aim(t.Context(), "t", Aim{Target: 1, Command: command("fio", "print="+firstFile, "term-exit="+restFile)}); err != nil {
		t.Fatal(err)
	}
	r.awaitFile(t, "said")
	if err := r.Aim(t.Context(), "t", Aim{Target: 2, Command: command("fio", "print="+firstFile, "sleep=1m")}); err != nil {
		t.Fatal(err)
	}
	course, err := r.Course(t.Context(), "t", 0)
	if err != nil {
		t.Fatal(err)
	}
	done := 0.0
	for _, row := range course.Rows {
		if row.Target != row.Engine {
			t.Errorf("a row of target %d and engine %d", row.Target, row.Engine)
		}
		if row.Engine == 1 {
			done += row.Operations
		}
	}
	if done != 1070 {
		t.Errorf("the engine made %v operations in %d rows, want all 1070", done, len(course.Rows))
	}
}
