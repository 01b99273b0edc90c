package cephtuningsweep

import (
	"fmt"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/schedule"
)

func scheduleStories() map[string]story {
	return map[string]story{
		"waits for its time, runs, and runs again": waitsAndRunsAgain,
		"a time while it waits for the window":     aTimeBeforeTheWindow,
		"a schedule that names no time":            aScheduleWithoutTimes,
	}
}

// inTwelveHours returns a time, and a spec with a schedule of which it is the next one. No story takes so long.
func (w *world) inTwelveHours(spec string) (time.Time, string) {
	due := w.now().UTC().Add(12 * time.Hour).Truncate(time.Minute)
	return due, fmt.Sprintf("schedule: {cron: %q}\n%s", due.Format("4 15 * * *"), spec)
}

// runsAt waits for the end of the run that is due at a time.
func runsAt(due time.Time) func(*v1alpha1.CephTuningSweep) bool {
	return func(s *v1alpha1.CephTuningSweep) bool {
		return s.Status.ObservedRunID == schedule.IDOf(due) && conditionTrue(v1alpha1.ConditionComplete)(s)
	}
}

func waitsAndRunsAgain(w *world) {
	before := w.state()
	w.bench.set(func(b *bench) { b.speed = w.faster() })
	due, spec := w.inTwelveHours(profile)
	s := w.create("s", spec)
	w.await(s, "waiting", hasReason(v1alpha1.ReasonScheduled))
	w.wantSays(s, v1alpha1.ConditionReady, "True", v1alpha1.ReasonScheduled, schedule.Clock(due))
	if len(w.children()) > 0 || s.Status.Plan != nil || len(s.Finalizers) > 0 {
		w.t.Errorf("it has begun: %+v", s)
	}
	w.advance(s, 12*time.Hour)
	w.await(s, "complete", runsAt(due))
	first := w.children()
	w.advance(s, 24*time.Hour)
	w.await(s, "complete again", runsAt(due.AddDate(0, 0, 1)))
	if s.Status.Verdict != v1alpha1.VerdictSuperior || !schedule.NextOf(s).Time.Equal(due.AddDate(0, 0, 2)) || s.Spec.RunID != "1" {
		w.t.Errorf("verdict %s, next at %v, runID %s", s.Status.Verdict, schedule.NextOf(s), s.Spec.RunID)
	}
	for _, child := range w.children() {
		for _, old := range first {
			if child.UID == old.UID {
				w.t.Errorf("benchmark %s of the first run is still there", child.Name)
			}
		}
	}
	w.wantState(before)
}

// aTimeBeforeTheWindow checks that a run which is due waits for the window, and that the next time is skipped then.
func aTimeBeforeTheWindow(w *world) {
	before := w.state()
	due, spec := w.inTwelveHours(w.inWindow(profile, 36*time.Hour+time.Minute, 46*time.Hour))
	s := w.create("s", spec)
	w.change(s, func(s *v1alpha1.CephTuningSweep) {
		s.Spec.MaintenanceWindow.Days = []v1alpha1.Weekday{v1alpha1.Weekday(due.AddDate(0, 0, 1).Weekday().String())}
	})
	w.await(s, "waiting", hasReason(v1alpha1.ReasonScheduled))
	w.advance(s, 12*time.Hour)
	w.await(s, "waiting for the window", hasReason(v1alpha1.ReasonWaitingForWindow))
	w.advance(s, 24*time.Hour)
	w.await(s, "skipping a time", func(s *v1alpha1.CephTuningSweep) bool {
		return s.Status.Schedule.SkippedReason == v1alpha1.SkipStillRunning
	})
	w.advance(s, time.Hour)
	w.await(s, "complete", runsAt(due))
	w.wantState(before)
}

func aScheduleWithoutTimes(w *world) {
	s := w.create("s", "schedule: {cron: \"0 0 30 2 *\"}\n"+profile)
	w.await(s, "stalled", conditionTrue(v1alpha1.ConditionStalled))
	w.wantSays(s, v1alpha1.ConditionStalled, "True", v1alpha1.ReasonNotPossible, "Correct it.")
	w.change(s, func(s *v1alpha1.CephTuningSweep) { s.Spec.Schedule.Cron = "0 0 29 2 *" })
	w.await(s, "waiting", hasReason(v1alpha1.ReasonScheduled))
}
