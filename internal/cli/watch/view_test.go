package watch

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/clitest"
)

// atWork returns a sweep in its fourth run.
func atWork(t testing.TB) *v1alpha1.CephTuningSweep {
	s := sample(t, "lab")
	goOn(s, v1alpha1.ReasonRunning, "Run 4: pg_num=4.")
	s.Status.Progress = &v1alpha1.Progress{
		Summary: "3/24 runs", Step: "run 4, pg_num=4: measuring", EstimatedCompletionTime: new(metav1.NewTime(clitest.Morning(150))),
	}
	s.Status.Best, s.Status.Effect = "pg_num=4", "+12.3%"
	return s
}

func TestLines(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.CephTuningSweep)
		want   string
	}{
		"a run is made": {
			func(*v1alpha1.CephTuningSweep) {},
			"08:00:00  Running    3/24 runs  best so far pg_num=4 +12.3%  until about 08:30  run 4, pg_num=4: measuring",
		},
		"a session may end at its next look": {func(s *v1alpha1.CephTuningSweep) {
			s.Status.Progress.Summary = "pair 1 of 8, about 4 min"
			s.Status.Plan = &v1alpha1.SweepPlan{Design: v1alpha1.DesignInterleaved}
		}, "08:00:00  Running    pair 1 of 8, about 4 min  best so far pg_num=4 +12.3%  at the latest 08:30  run 4, pg_num=4: measuring"},
		"the cluster settles": {func(s *v1alpha1.CephTuningSweep) {
			s.Status.Progress.Step = "run 4, pg_num=4: settling"
			goOn(s, v1alpha1.ReasonSettling, "Run 4: pg_num=4. At rest for 4s, in 3 looks.")
		}, "08:00:00  Settling   3/24 runs  best so far pg_num=4 +12.3%  until about 08:30  run 4, pg_num=4: settling. At rest for 4s, in 3 looks."},
		"the message repeats the step": {func(s *v1alpha1.CephTuningSweep) {
			s.Status.Progress.Step = "run 4, pg_num=4: changing settings"
			goOn(s, v1alpha1.ReasonSettling, "Run 4: pg_num=4. Changing settings.")
		}, "08:00:00  Settling   3/24 runs  best so far pg_num=4 +12.3%  until about 08:30  run 4, pg_num=4: changing settings"},
		"a session tries the settings": {func(s *v1alpha1.CephTuningSweep) {
			s.Status.Progress.Step = "session 1: proving cap=1"
			goOn(s, v1alpha1.ReasonRunning, "Session 1. Trying the settings without load.")
		}, "08:00:00  Running    3/24 runs  best so far pg_num=4 +12.3%  until about 08:30  session 1: proving cap=1. Trying the settings without load."},
		"a step fails and is tried again": {func(s *v1alpha1.CephTuningSweep) {
			goOn(s, v1alpha1.ReasonRunning, "prove: no monitor answers")
		}, "08:00:00  Running    3/24 runs  best so far pg_num=4 +12.3%  until about 08:30  run 4, pg_num=4: measuring. prove: no monitor answers"},
		"it ends tomorrow": {func(s *v1alpha1.CephTuningSweep) {
			s.Status.Progress.EstimatedCompletionTime = new(metav1.NewTime(clitest.Morning(24 * 60)))
		}, "08:00:00  Running    3/24 runs  best so far pg_num=4 +12.3%  until about Mon Mar  2 06:00  run 4, pg_num=4: measuring"},
		"it is queued": {func(s *v1alpha1.CephTuningSweep) {
			s.Status.Progress, s.Status.Best = nil, ""
			goOn(s, v1alpha1.ReasonQueued, "CephBenchmark other/one has the lock of the Ceph cluster.")
		}, "08:00:00  Queued     CephBenchmark other/one has the lock of the Ceph cluster."},
		"nobody has looked": {
			func(s *v1alpha1.CephTuningSweep) { s.Status = v1alpha1.CephTuningSweepStatus{} },
			"08:00:00  -          The operator has not seen it yet.",
		},
		"it has ended, and another run is asked for": {func(s *v1alpha1.CephTuningSweep) {
			conclude(s, v1alpha1.ConditionComplete, v1alpha1.ReasonComplete, "So it is.")
			s.Spec.RunID, s.Generation = "2", 2
		}, "08:00:00  Complete   3/24 runs  best so far pg_num=4 +12.3%  until about 08:30  The operator has not seen it yet."},
		"it is being deleted": {func(s *v1alpha1.CephTuningSweep) {
			s.DeletionTimestamp = new(metav1.NewTime(clitest.Morning(100)))
			goOn(s, v1alpha1.ReasonRestoring, "Restoring everything, because the sweep is deleted.")
		}, "08:00:00  Restoring  3/24 runs  best so far pg_num=4 +12.3%  until about 08:30  being deleted: Restoring everything, because the sweep is deleted."},
		"it has ended": {func(s *v1alpha1.CephTuningSweep) {
			conclude(s, v1alpha1.ConditionComplete, v1alpha1.ReasonComplete, "So it is.")
		}, "08:00:00  Complete   3/24 runs"},
		"it has ended, and runs again by its schedule": {func(s *v1alpha1.CephTuningSweep) {
			conclude(s, v1alpha1.ConditionComplete, v1alpha1.ReasonComplete, "So it is.")
			onSchedule(s)
			s.Status.ObservedRunID = "2026-03-01T0200Z"
		}, "08:00:00  Complete   3/24 runs  next run on Mon Mar  2 02:00"},
		"it waits for its first time": {func(s *v1alpha1.CephTuningSweep) {
			s.Status = v1alpha1.CephTuningSweepStatus{ObservedGeneration: s.Generation}
			onSchedule(s)
			setCondition(s, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonScheduled, "The next run is due at 2026-03-02 02:00 UTC.")
		}, "08:00:00  Scheduled  The next run is due at 2026-03-02 02:00 UTC."},
	} {
		t.Run(name, func(t *testing.T) {
			s := atWork(t)
			c.change(s)
			if diff := cmp.Diff(c.want, viewOf(s).line(clitest.Morning(120))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// onSchedule gives a sweep a schedule.
func onSchedule(s *v1alpha1.CephTuningSweep) {
	s.Spec.Schedule = &v1alpha1.Schedule{Cron: "0 2 * * *"}
	s.Status.Schedule = &v1alpha1.ScheduleStatus{NextTime: new(metav1.NewTime(time.Date(2026, 3, 2, 2, 0, 0, 0, time.UTC)))}
}

func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*v1alpha1.CephTuningSweep)
		want   ending
	}{
		"at work":  {func(*v1alpha1.CephTuningSweep) {}, endNone},
		"complete": {func(s *v1alpha1.CephTuningSweep) { conclude(s, v1alpha1.ConditionComplete, "Complete", "") }, endResult},
		"failed":   {func(s *v1alpha1.CephTuningSweep) { conclude(s, v1alpha1.ConditionFailed, "NoValidRun", "") }, endFailed},
		"with a verdict, and still putting back": {func(s *v1alpha1.CephTuningSweep) {
			setCondition(s, v1alpha1.ConditionComplete, metav1.ConditionTrue, "Complete", "")
		}, endNone},
		"about to fail, and still putting back": {func(s *v1alpha1.CephTuningSweep) {
			setCondition(s, v1alpha1.ConditionFailed, metav1.ConditionFalse, "LockLost", "")
		}, endNone},
		"complete, of an earlier run ID": {func(s *v1alpha1.CephTuningSweep) {
			conclude(s, v1alpha1.ConditionComplete, "Complete", "")
			s.Spec.RunID = "2"
		}, endNone},
		"complete, of an earlier spec": {func(s *v1alpha1.CephTuningSweep) {
			conclude(s, v1alpha1.ConditionComplete, "Complete", "")
			s.Generation++
		}, endNone},
		"suspended": {func(s *v1alpha1.CephTuningSweep) {
			goOn(s, v1alpha1.ReasonSuspended, "")
			s.Status.Conditions = s.Status.Conditions[:1]
		}, endNone},
		"complete, and being deleted": {func(s *v1alpha1.CephTuningSweep) {
			conclude(s, v1alpha1.ConditionComplete, "Complete", "")
			s.DeletionTimestamp = new(metav1.NewTime(clitest.Morning(100)))
		}, endNone},
	} {
		t.Run(name, func(t *testing.T) {
			s := atWork(t)
			c.change(s)
			if got := viewOf(s).end; got != c.want {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

// course returns views of a sweep with more and more information.
func course() []view {
	running := view{phase: "Running", message: "Run 4: pg_num=4.", progress: "3/24 runs", step: "run 4, pg_num=4: measuring", ends: clitest.Morning(150)}
	later, proving, next, settling, settled := running, running, running, running, running
	later.ends = clitest.Morning(151)
	proving.step = "run 4, pg_num=4: proving"
	next.progress, next.step = "4/24 runs", "run 5, pg_num=16: changing settings"
	settling.phase, settling.message = "Settling", "Run 5: pg_num=16. At rest for 2s, in 2 looks."
	settled.phase, settled.message = "Settling", "Run 5: pg_num=16. At rest for 1m4s, in 3 looks."
	return []view{running, running, later, proving, next, settling, settled}
}

func TestALogHasALineForEachPieceOfNews(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: newOutput(&out), now: func() time.Time { return clitest.Morning(120) }}
	for _, v := range course() {
		if done, err := s.show(v); done || err != nil {
			t.Fatal(done, err)
		}
	}
	s.finish()
	want := `08:00:00  Running    3/24 runs  until about 08:30  run 4, pg_num=4: measuring
08:00:00  Running    3/24 runs  until about 08:30  run 4, pg_num=4: proving
08:00:00  Running    4/24 runs  until about 08:30  run 5, pg_num=16: changing settings
08:00:00  Settling   3/24 runs  until about 08:30  run 4, pg_num=4: measuring. At rest for 2s, in 2 looks.
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestATerminalDrawsTheLastLineAgain(t *testing.T) {
	var out bytes.Buffer
	s := &screen{out: output{w: &out, width: func() int { return 45 }}, now: func() time.Time { return clitest.Morning(120) }}
	for _, v := range course() {
		if _, err := s.show(v); err != nil {
			t.Fatal(err)
		}
	}
	s.finish()
	const again = "\r\x1b[K"
	want := again + "08:00:00  Running    3/24 runs  until about…" + // The changed part is cut off here,
		again + "08:00:00  Running    3/24 runs  until about…" + // and the line is drawn again anyway.
		again + "08:00:00  Running    3/24 runs  until about…" +
		"\n08:00:00  Running    4/24 runs  until about…" +
		"\n08:00:00  Settling   3/24 runs  until about…" +
		again + "08:00:00  Settling   3/24 runs  until about…\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// closedPipe is a pipe without a reader.
type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestShowFailsOnAClosedPipe(t *testing.T) {
	s := &screen{out: newOutput(closedPipe{}), now: time.Now}
	if _, err := s.show(view{phase: "Running"}); err == nil {
		t.Error("got no error: it would go on for hours")
	}
}
