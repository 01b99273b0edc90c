// Package schedule computes which execution the schedule of a benchmark or sweep requests. An execution has a run ID; the
// clock gives it instead of the user. So everything that starts, queues and replaces executions by their run ID works
// the same with and without a schedule.
package schedule

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	_ "time/tzdata" // Neither the manager's image nor Windows has time zones.

	"github.com/robfig/cron/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Request is what the schedule of an object requests now.
type Request struct {
	// RunID is the run ID that the object should have in status; "" if nothing is due yet.
	RunID v1alpha1.RunID
	// Problem says why the schedule cannot be followed, and what to do; "" if it can.
	Problem string
	// Skipped says which due time is skipped now, and why; "" if none is.
	Skipped string
	// Waits says when the next execution is due; "" without a next one.
	Waits string
	// Again is the longest time until the next pass; 0 if only an event starts one.
	Again time.Duration

	status, begun *v1alpha1.ScheduleStatus // status.schedule, and what it becomes once the execution of RunID has begun
}

// lookEvery is the longest interval between looks at the clock, which may be set.
const lookEvery = 10 * time.Minute

// aheadAtMost is how far status may be ahead of the clock. Then the clock was set back by less than that, and due times
// that it shows again are not due again. If status is further ahead, the clock was wrong before.
const aheadAtMost = 24 * time.Hour

// defaultRunID is the default of spec.runID.
const defaultRunID v1alpha1.RunID = "1"

// IDOf returns the run ID of a due time.
func IDOf(due time.Time) v1alpha1.RunID {
	return v1alpha1.RunID(due.UTC().Format("2006-01-02T1504Z"))
}

// RunID returns the run ID that an object should have in status, unless an execution has become due. With a schedule,
// that is the run ID in status. Removing the schedule begins no execution either.
func RunID(o metav1.Object) v1alpha1.RunID {
	if p := partsOf(o); p.spec == nil && !p.wasScheduled() {
		return *p.runID
	}
	return partsOf(o).observed
}

// Enter sets spec.runID of an object in memory to the run ID that its schedule requests at the given time. Nothing writes a
// spec, so the object in the cluster keeps its own.
func Enter(o metav1.Object, now time.Time) Request {
	p := partsOf(o)
	r := p.request(RunID(o), now)
	*p.runID = r.RunID
	return r
}

// Record sets status.schedule of the object as it is after a pass.
func (r Request) Record(after metav1.Object) {
	p := partsOf(after)
	if *p.status = r.status; r.begun != nil && p.observed == r.RunID {
		*p.status = r.begun
		r.begun.Generation = after.GetGeneration()
	}
}

// Edited reports whether the spec was edited since the latest scheduled execution began. It may then differ from what was
// measured. Without a schedule, such an edit also needs a new run ID.
func Edited(o metav1.Object) bool {
	status := *partsOf(o).status
	return status != nil && status.Generation != 0 && status.Generation != o.GetGeneration()
}

// Changes reports whether a request changes status.schedule of an object in which no execution begins.
func (r Request) Changes(o metav1.Object) bool {
	was := *partsOf(o).status
	if was == nil || r.status == nil {
		return was != r.status
	}
	return !was.NextTime.Equal(r.status.NextTime) || !was.Since.Equal(r.status.Since)
}

// NextOf returns when the next execution of an object is due, or nil.
func NextOf(o metav1.Object) *metav1.Time {
	if status := *partsOf(o).status; status != nil {
		return status.NextTime
	}
	return nil
}

// Upcoming returns the first due times of a schedule after a point in time, in its time zone.
func Upcoming(spec *v1alpha1.Schedule, after time.Time, count int) ([]time.Time, error) {
	due, problem := parse(spec)
	if problem != "" {
		return nil, errors.New(problem)
	}
	all := make([]time.Time, count)
	for i := range all {
		after = due.Next(after)
		all[i] = after.In(due.zone)
	}
	return all, nil
}

// parts are the parts of an object that its schedule needs.
type parts struct {
	spec       *v1alpha1.Schedule
	runID      *v1alpha1.RunID
	suspend    bool
	status     **v1alpha1.ScheduleStatus
	observed   v1alpha1.RunID
	seen       bool // the operator has written its status
	inProgress bool // also while it waits for the lock, or is suspended
	created    time.Time
}

func partsOf(o metav1.Object) parts {
	p := parts{runID: new(v1alpha1.RunID), status: new(*v1alpha1.ScheduleStatus), created: o.GetCreationTimestamp().Time}
	switch o := o.(type) {
	case *v1alpha1.CephBenchmark:
		p.spec, p.runID, p.suspend = o.Spec.Schedule, &o.Spec.RunID, o.Spec.Suspend
		p.status, p.observed, p.seen = &o.Status.Schedule, o.Status.ObservedRunID, o.Status.ObservedGeneration > 0
		p.inProgress = inProgress(o.Status.StartTime, o.Status.Conditions)
	case *v1alpha1.CephTuningSweep:
		p.spec, p.runID, p.suspend = o.Spec.Schedule, &o.Spec.RunID, o.Spec.Suspend
		p.status, p.observed, p.seen = &o.Status.Schedule, o.Status.ObservedRunID, o.Status.ObservedGeneration > 0
		p.inProgress = inProgress(o.Status.StartTime, o.Status.Conditions)
	}
	return p
}

func inProgress(start *metav1.Time, conditions []metav1.Condition) bool {
	return start != nil && !meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionComplete) && !meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionFailed)
}

// wasScheduled reports whether the object has lost its schedule, and nobody has requested an execution since.
func (p parts) wasScheduled() bool {
	return p.spec == nil && *p.status != nil && p.observed != "" && *p.runID == defaultRunID
}

// request is a pure function of the object's parts, the run ID that it has anyway, and the clock.
func (p parts) request(id v1alpha1.RunID, now time.Time) Request {
	r := Request{RunID: id}
	if p.spec == nil && !p.wasScheduled() {
		return r
	}
	if r.status = (*p.status).DeepCopy(); r.status == nil {
		r.status = &v1alpha1.ScheduleStatus{}
	}
	if p.spec == nil || p.suspend {
		r.status.NextTime = nil
		return r
	}
	due, problem := parse(p.spec)
	if problem != "" {
		r.Problem, r.status.NextTime = problem, nil
		return r
	}
	since := p.since(due, now)
	latest := due.latest(since, now)
	switch {
	case latest.IsZero():
	case p.inProgress:
		since = latest
		r.skip(latest, v1alpha1.SkipStillRunning, "its previous run, "+string(p.observed)+", is still in progress")
	case p.spec.StartingDeadlineSeconds != nil && now.Sub(latest) > time.Duration(*p.spec.StartingDeadlineSeconds)*time.Second:
		since = latest
		r.skip(latest, v1alpha1.SkipTooLate, "it could not begin within startingDeadlineSeconds")
	default:
		r.begin(due, since, latest)
	}
	r.status.Since, r.status.NextTime = seconds(since), seconds(due.Next(since))
	r.Waits = fmt.Sprintf("The next run is due at %s.", Clock(r.status.NextTime.In(due.zone)))
	r.Again = min(due.Next(now).Sub(now), lookEvery)
	return r
}

// since returns the time after which times are due. It is now if the schedule was changed or resumed: the new schedule
// then says nothing about the past.
func (p parts) since(due times, now time.Time) time.Time {
	was := *p.status
	switch {
	case was == nil && !p.seen && p.created.Before(now): // The API server's clock may be ahead.
		return p.created
	case was == nil || was.Since == nil || was.NextTime == nil, !was.NextTime.Time.Equal(due.Next(was.Since.Time)), was.Since.Sub(now) > aheadAtMost:
		return now.Truncate(time.Second)
	}
	return was.Since.Time
}

// begin requests the execution of a due time.
func (r *Request) begin(due times, since, latest time.Time) {
	r.RunID = IDOf(latest)
	r.begun = r.status.DeepCopy()
	if earlier := due.latest(since, latest.Add(-time.Second)); !earlier.IsZero() {
		r.begun.SkippedTime, r.begun.SkippedReason = seconds(earlier), v1alpha1.SkipSuperseded
	}
	r.begun.LastTime, r.begun.Since, r.begun.NextTime = seconds(latest), seconds(latest), seconds(due.Next(latest))
}

// skip records why no execution begins at a due time.
func (r *Request) skip(due time.Time, reason v1alpha1.SkipReason, why string) {
	r.status.SkippedTime, r.status.SkippedReason = seconds(due), reason
	r.Skipped = fmt.Sprintf("The run that was due at %s is skipped: %s.", Clock(due), why)
}

func seconds(t time.Time) *metav1.Time { return new(metav1.NewTime(t)) }

// Clock returns a due time for people.
func Clock(t time.Time) string { return t.Format("2006-01-02 15:04 MST") }

// times are the times that are due by a schedule.
type times struct {
	*cron.SpecSchedule

	zone *time.Location
}

// parse reads a schedule. Admission has checked it, but not everything. The problem says why it names no times, and what
// to do; "" if it names some.
func parse(spec *v1alpha1.Schedule) (due times, problem string) {
	name := cmp.Or(spec.TimeZone, "Etc/UTC")
	zone, err := time.LoadLocation(name)
	if zone == time.Local { // Admission refuses it, but plan also reads files.
		err = errors.New("it is a different zone on each host")
	}
	if err != nil {
		return times{}, fmt.Sprintf("The operator does not know spec.schedule.timeZone %s: %v. Name another zone.", name, err)
	}
	if strings.Contains(spec.Cron, "=") { // Without a space after TZ=, ParseStandard panics.
		return times{}, fmt.Sprintf("The expression spec.schedule.cron `%s` must not have a time zone. Correct it.", spec.Cron)
	}
	parsed, err := cron.ParseStandard(spec.Cron)
	fields, ok := parsed.(*cron.SpecSchedule)
	switch {
	case err != nil:
		return times{}, fmt.Sprintf("The operator cannot read spec.schedule.cron `%s`: %v. Correct it.", spec.Cron, err)
	case !ok:
		return times{}, fmt.Sprintf("The times of spec.schedule.cron `%s` depend on when the operator was started. Write five fields.", spec.Cron)
	}
	if fields.Location = zone; fields.Next(time.Unix(0, 0)).IsZero() {
		return times{}, fmt.Sprintf("No time is due by spec.schedule.cron `%s`. Correct it.", spec.Cron)
	}
	return times{SpecSchedule: fields, zone: zone}, ""
}

// latest returns the latest due time after since, until now; zero without one. It looks back in steps that double, so
// that a long time without a manager costs little.
func (s times) latest(since, now time.Time) time.Time {
	for back := time.Minute; ; back *= 2 {
		from := now.Add(-back)
		if from.Before(since) {
			from = since
		}
		found := time.Time{}
		for t := s.Next(from); !t.IsZero() && !t.After(now); t = s.Next(t) {
			found = t
		}
		if !found.IsZero() || !from.After(since) {
			return found.In(s.zone)
		}
	}
}
