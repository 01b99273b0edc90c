package clientview

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
)

// fakeLogs has the log of each pod by name, or an error if the log cannot be read.
type fakeLogs map[string]any

func (f fakeLogs) Read(_ context.Context, _, pod, container string) (io.ReadCloser, error) {
	switch log := f[pod].(type) {
	case string:
		return io.NopCloser(strings.NewReader(log)), nil
	case error:
		return nil, log
	}
	return nil, errors.New("there is no container " + container)
}

func framesOf(t *testing.T, reports ...*task.Report) string {
	t.Helper()
	var log bytes.Buffer
	for _, report := range reports {
		if err := runner.WriteFrame(&log, report); err != nil {
			t.Fatal(err)
		}
	}
	return log.String()
}

func TestALogIsReadUntilItsReportsAreKnown(t *testing.T) {
	a := &task.Report{Status: task.Status{ID: "a", State: task.Cancelled}}
	b := &task.Report{Status: task.Status{ID: "b", State: task.Cancelled}}
	whole := framesOf(t, a, b)
	for name, c := range map[string]struct {
		log   any
		want  int
		final bool
	}{
		"whole":             {"text\n" + whole, 2, true},
		"damaged":           {whole[:len(whole)-20], 1, true}, // Another read would find the same.
		"no answer":         {errors.New("connection refused"), 0, false},
		"of another client": {"text\n", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			logs, pod, log := fakeLogs{"b-0": c.log}, &corev1.Pod{}, NewLog(nil)
			pod.Name = "b-0"
			log.Read(t.Context(), logs, pod, time.Unix(1000, 0))
			if len(log.Reports) != c.want || log.Final != c.final {
				t.Errorf("%d reports, final %t, want %d, %t", len(log.Reports), log.Final, c.want, c.final)
			}
		})
	}
}

func TestALogThatCannotBeReadIsTriedForHalfAMinute(t *testing.T) {
	logs, pod, log, now := fakeLogs{}, &corev1.Pod{}, NewLog(nil), time.Unix(1000, 0)
	pod.Name = "b-0"
	read := func(after time.Duration) {
		now = now.Add(after)
		log.Read(t.Context(), logs, pod, now)
	}
	logs["b-0"] = errors.New("connection refused")
	read(0)
	logs["b-0"] = framesOf(t, &task.Report{Status: task.Status{ID: "a", State: task.Cancelled}})
	if read(LogAgain - time.Millisecond); len(log.Reports) != 0 {
		t.Error("it is read all the time")
	}
	logs["b-0"] = errors.New("connection refused")
	if read(LogAgain); log.Final {
		t.Error("it is final after two attempts")
	}
	if read(logDeadline); !log.Final {
		t.Error("it is tried for ever")
	}
	if log.Speaks() {
		t.Error("it speaks, although nothing was read")
	}
}

// The manager keeps only as many reports as its memory allows.
func TestALogHasABudget(t *testing.T) {
	long := &task.Report{Status: task.Status{ID: "long", State: task.Cancelled}, Output: strings.Repeat("x", 60_000)}
	longer := &task.Report{Status: task.Status{ID: "longer", State: task.Cancelled}, Output: long.Output}
	budget := limits.NewBudget(110_000)
	account := budget.Open()
	log := NewLog(account)
	for _, report := range []*task.Report{{Status: task.Status{ID: "short", State: task.Cancelled}}, long, long, longer} {
		log.keep(report)
	}
	if log.Reports["short"] == nil || log.Reports["long"] == nil || log.Reports["longer"] != nil {
		t.Errorf("%d reports", len(log.Reports))
	}
	account.Close()
	if budget.Free() != 110_000 {
		t.Errorf("%d bytes are free afterwards", budget.Free())
	}
}
