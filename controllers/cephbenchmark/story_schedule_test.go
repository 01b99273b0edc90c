package cephbenchmark

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/history"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/schedule"
	"github.com/cephtune/cephtune/internal/task"
)

func scheduleStories() map[string]story {
	return map[string]story{
		"waits for its time, runs, and runs again": waitsAndRunsAgain,
		"a time during a run is skipped":           aTimeDuringARun,
		"suspended, and resumed after its time":    resumedAfterItsTime,
		"a schedule that names no time":            aScheduleWithoutTimes,
		"a quota refuses the history":              aQuotaRefusesTheHistory,
		"somebody acknowledges a change":           somebodyAcknowledges,
	}
}

// inTwelveHours sets the manager's clock back by four days, so that it need not be ahead of the API server's later. It returns a
// time, and a schedule of which it is the next one. No story takes so long.
func (w *world) inTwelveHours() (time.Time, func(*v1alpha1.CephBenchmark)) {
	w.ahead.Store(-int64(4 * 24 * time.Hour))
	due := w.now().UTC().Add(12 * time.Hour).Truncate(time.Minute)
	return due, func(b *v1alpha1.CephBenchmark) { b.Spec.Schedule = &v1alpha1.Schedule{Cron: due.Format("4 15 * * *")} }
}

func waitsAndRunsAgain(w *world) {
	due, daily := w.inTwelveHours()
	b := w.benchmark("b", oneWrite, daily, func(b *v1alpha1.CephBenchmark) { b.Spec.HistoryLimit = 1 })
	w.untilReason(b, v1alpha1.ReasonScheduled, schedule.Clock(due))
	if !isTrue(b, v1alpha1.ConditionReady) || isTrue(b, v1alpha1.ConditionReconciling) || controllerutil.ContainsFinalizer(b, Finalizer) || w.rook.made > 0 {
		w.t.Errorf("it has begun: %+v", b)
	}
	const days = 2
	for day := range days {
		w.wait(24*time.Hour - time.Duration(1-day)*12*time.Hour)
		id := schedule.IDOf(due.AddDate(0, 0, day))
		w.until(b, "about run "+string(id), func() bool { return b.Status.ObservedRunID == id })
		w.untilComplete(b)
		w.until(b, "at rest until tomorrow", func() bool {
			next := schedule.NextOf(b)
			return next != nil && next.Time.Equal(due.AddDate(0, 0, day+1)) && b.Spec.RunID == "1"
		})
	}
	if n := len(w.results()); n != 1 {
		w.t.Errorf("%d results, want that of the last day", n)
	}
	if nights := w.nights(b); len(nights) != days || nights[0].RunID != schedule.IDOf(due) {
		w.t.Errorf("the history has %+v, want %d nights", nights, days)
	}
	regressed := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionRegressed)
	if regressed == nil || regressed.Status != metav1.ConditionUnknown || !strings.Contains(regressed.Message, "write IOPS has too few nights: 2 of 12") {
		w.t.Errorf("it is judged by two nights: %+v", regressed)
	}
	w.wantClean()
}

// A quota may not keep the lock of the cluster. An event says that it refuses the history, and an edit or the next run makes up for the night.
func aQuotaRefusesTheHistory(w *world) {
	due, daily := w.inTwelveHours()
	b := w.benchmark("b", oneWrite, daily)
	w.untilReason(b, v1alpha1.ReasonScheduled, schedule.Clock(due))
	w.wait(12 * time.Hour)
	day := 0
	run := func() {
		id := schedule.IDOf(due.AddDate(0, 0, day))
		w.until(b, "about run "+string(id), func() bool { return b.Status.ObservedRunID == id })
		w.untilComplete(b)
		w.until(b, "at rest until tomorrow", func() bool { return isTrue(b, v1alpha1.ConditionReady) })
		day++
	}
	run()

	w.refuseHistories()
	w.wait(24 * time.Hour)
	run()
	w.wantClean()
	if b.Status.History != nil {
		w.t.Errorf("history %+v, want one that was refused", b.Status.History)
	}
	w.eventually(func() string {
		if got := w.eventsOf("HistoryNotKept"); len(got) != 1 || !strings.Contains(got[0], "write the history") || !strings.Contains(got[0], "exceeded quota: maps") {
			return fmt.Sprintf("events %q, want one about the quota", got)
		}
		return ""
	})
	w.writes.refuseIf(nil)
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.HistoryLimit++ })
	w.until(b, "with a history", func() bool { return b.Status.History != nil })
	if nights := w.nights(b); len(nights) != day {
		w.t.Errorf("after the edit, nights %+v, want %d", nights, day)
	}

	w.refuseHistories()
	w.wait(24 * time.Hour)
	run()
	if nights := w.nights(b); len(nights) != day-1 {
		w.t.Errorf("nights %+v, want %d", nights, day-1)
	}
	w.writes.refuseIf(nil)
	w.wait(24 * time.Hour)
	run()
	if nights := w.nights(b); len(nights) != day {
		w.t.Errorf("after the next run, nights %+v, want %d", nights, day)
	}
}

// refuseHistories refuses all ConfigMaps but the next one, which has the results of a run.
func (w *world) refuseHistories() {
	var created atomic.Int32
	w.writes.refuseIf(func(request string) error {
		if request != "create ConfigMap" || created.Add(1) == 1 {
			return nil
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "", errors.New("exceeded quota: maps"))
	})
}

// eventsOf returns the messages of the events with a reason.
func (w *world) eventsOf(reason string) []string {
	w.t.Helper()
	var events eventsv1.EventList
	if err := w.List(w.t.Context(), &events, client.InNamespace(w.namespace)); err != nil {
		w.t.Fatal(err)
	}
	var notes []string
	for _, e := range events.Items {
		if e.Reason == reason {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// An edit after the end counts at once, and begins no run.
func somebodyAcknowledges(w *world) {
	b := w.benchmark("b", oneWrite)
	w.untilComplete(b)
	w.until(b, "at rest", func() bool { return isTrue(b, v1alpha1.ConditionReady) })
	cm, err := history.ConfigMap(b, nightsUntil(b.Status.StartTime.UTC(), 20, 0.8))
	if err != nil {
		w.t.Fatal(err)
	}
	if err := errors.Join(archive.Sign(w.masterKey, b.UID, cm), w.Create(w.t.Context(), cm)); err != nil {
		w.t.Fatal(err)
	}
	w.editStatus(b, func(s *v1alpha1.CephBenchmarkStatus) {
		s.History = &v1alpha1.BenchmarkHistory{Results: cm.Name, ResultsDigest: archive.Digest(cm)}
	})
	for want, date := range map[string]string{v1alpha1.ReasonGotWorse: "2020-01-01", v1alpha1.ReasonAcknowledged: b.Status.StartTime.UTC().Format(time.DateOnly)} {
		begun := b.Status.StartTime
		w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.AcknowledgedUntil = date })
		w.until(b, "about the change: "+want, func() bool {
			c := meta.FindStatusCondition(b.Status.Conditions, v1alpha1.ConditionRegressed)
			return c != nil && c.Reason == want && c.ObservedGeneration == b.Generation
		})
		if !b.Status.StartTime.Equal(begun) || !isTrue(b, v1alpha1.ConditionComplete) || !isTrue(b, v1alpha1.ConditionReady) {
			w.t.Errorf("the edit has begun a run: %+v", b.Status)
		}
	}
	w.wantClean()
}

// nights returns the nights of a benchmark. It fails the test if there is another history than the one in status.
func (w *world) nights(b *v1alpha1.CephBenchmark) []history.Night {
	w.t.Helper()
	var maps corev1.ConfigMapList
	if err := w.List(w.t.Context(), &maps, client.InNamespace(w.namespace), client.MatchingLabels(archive.HistoryLabels(b.Name))); err != nil || len(maps.Items) != 1 {
		w.t.Fatalf("%d histories, %v", len(maps.Items), err)
	}
	nights, err := history.FromConfigMap(b, &maps.Items[0])
	if err != nil {
		w.t.Fatal(err)
	}
	return nights
}

func aTimeDuringARun(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: held})
	b := w.benchmark("b", oneWrite, func(b *v1alpha1.CephBenchmark) { b.Spec.Schedule = &v1alpha1.Schedule{Cron: "* * * * *"} })
	w.untilReason(b, v1alpha1.ReasonScheduled, "is due at")
	w.wait(time.Minute)
	w.untilTask(0, "r1-write", task.Measuring)
	w.wait(time.Minute)
	w.until(b, "skipping a time", func() bool {
		s := b.Status.Schedule
		return s != nil && s.SkippedReason == v1alpha1.SkipStillRunning && s.SkippedTime.After(s.LastTime.Time)
	})
	id := b.Status.ObservedRunID
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Schedule = nil }) // Otherwise the next run would begin within a minute.
	w.kubelet.proceed("r1-")
	w.untilComplete(b)
	w.wait(time.Hour)
	w.untilObserved(b)
	if b.Status.ObservedRunID != id || schedule.NextOf(b) != nil {
		w.t.Errorf("run %s, and the next one at %v, after run %s without a schedule", b.Status.ObservedRunID, schedule.NextOf(b), id)
	}
	w.wantClean()
}

func resumedAfterItsTime(w *world) {
	due, daily := w.inTwelveHours()
	b := w.benchmark("b", oneWrite, daily, func(b *v1alpha1.CephBenchmark) { b.Spec.Suspend = true })
	w.untilReason(b, v1alpha1.ReasonSuspended, "spec.suspend")
	w.wait(13 * time.Hour)
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = false })
	w.untilReason(b, v1alpha1.ReasonScheduled, schedule.Clock(due.AddDate(0, 0, 1)))
	w.wait(23 * time.Hour)
	w.until(b, "at work", func() bool { return b.Status.ObservedRunID == schedule.IDOf(due.AddDate(0, 0, 1)) })
	w.untilComplete(b)
	w.wantClean()
}

func aScheduleWithoutTimes(w *world) {
	b := w.benchmark("b", oneWrite, func(b *v1alpha1.CephBenchmark) { b.Spec.Schedule = &v1alpha1.Schedule{Cron: "0 0 30 2 *"} })
	w.untilReason(b, v1alpha1.ReasonNotPossible, "Correct it.")
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Schedule.Cron = "0 0 29 2 *" })
	w.untilReason(b, v1alpha1.ReasonScheduled, "is due at")
}
