package schedule

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
)

// night is a run that the operator has begun.
type night struct {
	id v1alpha1.RunID
	at time.Time // by the operator's clock
}

// world is an object, and an operator that looks at it as the controllers do.
type world struct {
	object v1alpha1.CephBenchmark
	takes  time.Duration // a run
	ends   time.Time
	begun  []night
	skips  []string
}

func newWorld(spec v1alpha1.Schedule, created time.Time) *world {
	w := &world{takes: time.Hour}
	w.object.CreationTimestamp = metav1.NewTime(created)
	w.object.Spec.RunID, w.object.Spec.Schedule = defaultRunID, &spec
	return w
}

// pass looks at the object, and returns when the next run is due. The operator also looks in between.
func (w *world) pass(now time.Time) time.Duration {
	status := &w.object.Status
	if !w.ends.IsZero() && !now.Before(w.ends) {
		_, o := kstatus.Judge(v1alpha1.BenchmarkVerdict(""), nil, "")
		status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionComplete, Status: metav1.ConditionTrue, Reason: o.Reason}}
		w.ends = time.Time{}
	}
	seen := w.object.DeepCopy()
	r := Enter(seen, now)
	if seen.Spec.RunID != r.RunID {
		panic("the copy has another run ID")
	}
	after := seen.DeepCopy()
	if !seen.Spec.Suspend && r.Problem == "" && r.RunID != "" && r.RunID != seen.Status.ObservedRunID && w.ends.IsZero() {
		after.Status = v1alpha1.CephBenchmarkStatus{ObservedRunID: r.RunID, StartTime: seconds(now)}
		w.ends = now.Add(w.takes)
		w.begun = append(w.begun, night{id: r.RunID, at: now})
	}
	r.Record(after)
	if r.Skipped != "" {
		w.skips = append(w.skips, r.Skipped)
	}
	w.object.Status = after.Status
	next := NextOf(&w.object)
	if next == nil || !next.After(now) {
		return lookEvery
	}
	if r.Again <= 0 || r.Again > min(next.Sub(now), lookEvery) {
		panic("the operator looks too late")
	}
	return next.Sub(now)
}

func (w *world) until(from, to time.Time) {
	for now := from; now.Before(to); {
		now = now.Add(w.pass(now))
	}
}

// minutes returns all minutes at which the clocks of a zone show a time of day. It knows nothing of cron.
func minutes(t *testing.T, zone string, hour, minute int, from, to time.Time) (due []time.Time) {
	t.Helper()
	in, err := time.LoadLocation(zone)
	if err != nil {
		t.Fatal(err)
	}
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		if local := at.In(in); local.Minute() == minute && local.Hour() == hour {
			due = append(due, at)
		}
	}
	return due
}

var begin = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// TestTwoYears compares two years of nights with the clocks of time zones. The night at 02:30 is missing or comes twice where
// the clocks change then.
func TestTwoYears(t *testing.T) {
	end := begin.AddDate(2, 0, 0)
	for zone, want := range map[string]int{"Etc/UTC": 730, "Europe/Berlin": 730, "Asia/Kolkata": 730, "Australia/Lord_Howe": 730, "America/New_York": 730} {
		w := newWorld(v1alpha1.Schedule{Cron: "30 2 * * *", TimeZone: zone}, begin)
		w.until(begin, end)
		due := minutes(t, zone, 2, 30, begin, end)
		if len(w.begun) != len(due) || len(w.skips) > 0 {
			t.Fatalf("%s: %d nights, want %d; %d skipped", zone, len(w.begun), len(due), len(w.skips))
		}
		for i, n := range w.begun {
			if n.id != IDOf(due[i]) || !n.at.Equal(due[i]) {
				t.Errorf("%s: %s at %v, want %v", zone, n.id, n.at, due[i])
			}
		}
		if len(due) < want-2 || len(due) > want+2 {
			t.Errorf("%s: %d nights in two years", zone, len(due))
		}
	}
}

// TestDisturbedYears restarts the manager and sets its clock, for two years. No night comes twice, and a night is missing only if
// the operator did not look between it and the next one.
func TestDisturbedYears(t *testing.T) {
	for seed := range uint64(2) {
		for _, zone := range []string{"Europe/Berlin", "Australia/Lord_Howe"} {
			disturb(t, zone, rand.New(rand.NewPCG(seed, 54)))
		}
	}
}

func disturb(t *testing.T, zone string, random *rand.Rand) {
	t.Helper()
	end := begin.AddDate(2, 0, 0)
	w := newWorld(v1alpha1.Schedule{Cron: "30 2 * * *", TimeZone: zone}, begin)
	w.takes = 0 // Otherwise a run that begins late could be in progress at the next time.
	due := minutes(t, zone, 2, 30, begin, end)
	began, looked, down := map[v1alpha1.RunID]int{}, map[v1alpha1.RunID]bool{}, 0
	var ahead time.Duration // of the operator's clock
	for now := begin; now.Before(end); {
		clock := now.Add(ahead)
		wait := min(w.pass(clock), time.Duration(random.Int64N(int64(4*time.Hour))))
		if i, _ := slices.BinarySearchFunc(due, clock.Add(1), time.Time.Compare); i > 0 {
			looked[IDOf(due[i-1])] = true
		}
		switch random.IntN(70) {
		case 0: // The manager is down.
			wait = time.Duration(random.Int64N(int64(80 * time.Hour)))
			down++
		case 1: // The manager restarts.
			wait = 0
		case 2: // The clock is set.
			ahead = time.Duration(random.Int64N(int64(40*time.Minute))) - 20*time.Minute
		}
		now = now.Add(wait)
	}
	for _, n := range w.begun {
		began[n.id]++
	}
	for _, at := range due {
		id := IDOf(at)
		if want := map[bool]int{true: 1}[looked[id]]; began[id] != want {
			t.Errorf("%s: %s began %d times, want %d", zone, id, began[id], want)
		}
		delete(began, id)
	}
	if len(began) > 0 || len(w.begun) == len(due) {
		t.Errorf("%s: %d of %d nights began, and some at other times: %v; the manager was down %d times", zone, len(w.begun), len(due), began, down)
	}
}

// day returns a time of the first day.
func day(hour, minute int) time.Time { return time.Date(2026, 1, 1, hour, minute, 0, 0, time.UTC) }

func ids(w *world) string {
	all := make([]string, len(w.begun))
	for i, n := range w.begun {
		all[i] = strings.TrimSuffix(strings.TrimPrefix(string(n.id), "2026-01-0"), "Z") + " at " + n.at.Format("15:04")
	}
	return strings.Join(all, ", ")
}

func TestSemantics(t *testing.T) {
	hourly, deadline := v1alpha1.Schedule{Cron: "0 * * * *"}, int64(600)
	for name, c := range map[string]struct {
		spec  v1alpha1.Schedule
		story func(*world)
		want  string
		skips string // what the last one contains
		next  string
	}{
		"nothing runs before its time": {hourly, func(w *world) { w.until(day(12, 0), day(12, 50)) }, "", "", "13:00"},
		"each hour, after the one before": {hourly, func(w *world) {
			w.takes = time.Minute
			w.until(day(12, 0), day(14, 30))
		}, "1T1300 at 13:00, 1T1400 at 14:00", "", "15:00"},
		"of missed times, the latest runs":            {hourly, func(w *world) { w.pass(day(12, 0)); w.pass(day(16, 20)) }, "1T1600 at 16:20", "", "17:00"},
		"the manager first runs after the first time": {hourly, func(w *world) { w.pass(day(13, 5)) }, "1T1300 at 13:05", "", "14:00"},
		"a run in progress": {hourly, func(w *world) {
			w.takes = 90 * time.Minute
			w.until(day(12, 0), day(15, 30))
		}, "1T1300 at 13:00, 1T1500 at 15:00", "14:00 UTC is skipped: its previous run, 2026-01-01T1300Z, is still in progress", "16:00"},
		"too late": {v1alpha1.Schedule{Cron: "0 * * * *", StartingDeadlineSeconds: &deadline}, func(w *world) {
			w.pass(day(12, 0))
			w.until(day(13, 11), day(14, 30))
		}, "1T1400 at 14:00", "13:00 UTC is skipped: it could not begin within", "15:00"},
		"late, but not too late": {v1alpha1.Schedule{Cron: "0 * * * *", StartingDeadlineSeconds: &deadline}, func(w *world) {
			w.pass(day(12, 0))
			w.pass(day(13, 9))
		}, "1T1300 at 13:09", "", "14:00"},
		"suspended meanwhile": {hourly, func(w *world) {
			w.pass(day(12, 0))
			w.object.Spec.Suspend = true
			w.until(day(12, 30), day(14, 30))
			w.object.Spec.Suspend = false
			w.pass(day(14, 30))
		}, "", "", "15:00"},
		"suspended from the beginning": {hourly, func(w *world) {
			w.object.Spec.Suspend = true
			w.until(day(12, 0), day(14, 30))
			w.object.Spec.Suspend = false
			w.pass(day(14, 30))
		}, "", "", "15:00"},
		"another schedule says nothing about the past": {hourly, func(w *world) {
			w.takes = time.Minute
			w.until(day(12, 0), day(13, 20))
			w.object.Spec.Schedule.Cron = "10 * * * *"
			w.until(day(13, 20), day(14, 5))
		}, "1T1300 at 13:00", "", "14:10"},
		"a schedule for an object that has run": {hourly, func(w *world) {
			w.object.Status.ObservedRunID, w.object.Status.ObservedGeneration = "1", 1
			w.object.CreationTimestamp.Time = day(0, 0)
			w.until(day(12, 5), day(12, 50))
		}, "", "", "13:00"},
		"a schedule for an object that has never run": {hourly, func(w *world) {
			w.object.CreationTimestamp.Time = day(0, 0)
			w.object.Status.ObservedGeneration = 1 // It was suspended.
			w.until(day(12, 5), day(12, 50))
		}, "", "", "13:00"},
		"no schedule any more": {hourly, func(w *world) {
			w.takes = time.Minute
			w.until(day(12, 0), day(13, 20))
			w.object.Spec.Schedule = nil
			w.until(day(13, 20), day(15, 5))
		}, "1T1300 at 13:00", "", ""},
		"no schedule any more, before the first run": {hourly, func(w *world) {
			w.until(day(12, 0), day(12, 50))
			w.object.Spec.Schedule = nil
			w.until(day(12, 50), day(15, 5))
		}, "1 at 12:50", "", ""},
		"a run ID in place of the schedule": {hourly, func(w *world) {
			w.takes = time.Minute
			w.until(day(12, 0), day(13, 20))
			w.object.Spec.Schedule, w.object.Spec.RunID = nil, "2"
			w.until(day(13, 20), day(15, 5))
		}, "1T1300 at 13:00, 2 at 13:20", "", ""},
		"the clock is set back a little": {hourly, func(w *world) {
			w.takes = time.Minute
			w.until(day(12, 0), day(13, 5))
			w.until(day(12, 50), day(14, 5))
		}, "1T1300 at 13:00, 1T1400 at 14:00", "", "15:00"},
		"the clock was a year ahead": {hourly, func(w *world) {
			w.object.Status.ObservedRunID, w.object.Status.ObservedGeneration = "1", 1
			w.pass(day(12, 0).AddDate(1, 0, 0))
			w.until(day(12, 0), day(13, 5))
		}, "1T1300 at 13:00", "", "14:00"},
		"numbers out of order":     {v1alpha1.Schedule{Cron: "5-3 * * * *"}, func(w *world) { w.until(day(12, 0), day(15, 0)) }, "", "", ""},
		"a day that never comes":   {v1alpha1.Schedule{Cron: "0 0 30 2 *"}, func(w *world) { w.until(day(12, 0), day(15, 0)) }, "", "", ""},
		"a zone that is not there": {v1alpha1.Schedule{Cron: "0 * * * *", TimeZone: "Mars/Olympus"}, func(w *world) { w.until(day(12, 0), day(15, 0)) }, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(c.spec, day(12, 0))
			c.story(w)
			if got := ids(w); got != c.want {
				t.Errorf("began %q, want %q", got, c.want)
			}
			if c.skips == "" && len(w.skips) > 0 || c.skips != "" && !strings.Contains(strings.Join(w.skips[max(0, len(w.skips)-1):], ""), c.skips) {
				t.Errorf("skipped %q, want %q", w.skips, c.skips)
			}
			next := ""
			if at := NextOf(&w.object); at != nil {
				next = at.UTC().Format("15:04")
			}
			if next != c.next {
				t.Errorf("next at %q, want %q", next, c.next)
			}
		})
	}
}

// TestSuperseded checks that status has the latest time that a later one has replaced.
func TestSuperseded(t *testing.T) {
	w := newWorld(v1alpha1.Schedule{Cron: "0 * * * *"}, day(12, 0))
	w.pass(day(12, 0))
	w.pass(day(16, 20))
	s := w.object.Status.Schedule
	if !s.LastTime.Equal(seconds(day(16, 0))) || !s.SkippedTime.Equal(seconds(day(15, 0))) || s.SkippedReason != v1alpha1.SkipSuperseded {
		t.Errorf("%+v", s)
	}
}

// TestEdited checks that an edit shows once an execution has begun, until the next one begins.
func TestEdited(t *testing.T) {
	w := newWorld(v1alpha1.Schedule{Cron: "0 * * * *"}, day(12, 0))
	w.takes = 10 * time.Minute
	for _, step := range []struct {
		at     time.Time
		edit   bool
		edited bool
	}{{day(12, 0), true, false}, {day(13, 0), false, false}, {day(13, 20), true, true}, {day(14, 0), false, false}} {
		if step.edit {
			w.object.Generation++
		}
		w.pass(step.at)
		if got := Edited(&w.object); got != step.edited {
			t.Errorf("at %v, edited is %t: %+v", step.at, got, w.object.Status.Schedule)
		}
	}
}

// TestProblems checks that each problem says what to do.
func TestProblems(t *testing.T) {
	for _, spec := range []v1alpha1.Schedule{
		{Cron: "5-3 * * * *"},
		{Cron: "0 0 30 2 *"},
		{Cron: "0 * * * foo"},
		{Cron: "@every 1m"},
		{Cron: "TZ=UTC"},
		{Cron: "0 * * * *", TimeZone: "Mars/Olympus"},
		{Cron: "0 * * * *", TimeZone: "Local"},
	} {
		w := newWorld(spec, day(12, 0))
		r := Enter(&w.object, day(12, 0))
		if !strings.HasSuffix(r.Problem, "Correct it.") && !strings.HasSuffix(r.Problem, "Name another zone.") && !strings.HasSuffix(r.Problem, "Write five fields.") || r.RunID != "" {
			t.Errorf("%+v: %q, run ID %q", spec, r.Problem, r.RunID)
		}
	}
}

// TestLatestIsCheap checks that a manager that was away for years does not count minutes.
func TestLatestIsCheap(t *testing.T) {
	since, now := begin.AddDate(-6, 0, 0), time.Date(2026, 1, 1, 12, 0, 30, 0, time.UTC)
	for cron, want := range map[string]time.Time{
		"* * * * *":   time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
		"0 2 * * *":   time.Date(2026, 1, 1, 2, 0, 0, 0, time.UTC),
		"0 0 29 2 *":  time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC),
		"*/7 3 2 1 *": time.Date(2025, 1, 2, 3, 56, 0, 0, time.UTC),
	} {
		due, problem := parse(&v1alpha1.Schedule{Cron: cron})
		if problem != "" {
			t.Fatal(problem)
		}
		if got := due.latest(since, now); !got.Equal(want) {
			t.Errorf("%s: latest is %v, want %v", cron, got, want)
		}
	}
}
