package sweepspec

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// WindowAt reports whether changes to Ceph may start at the given time, and when the window next opens or
// closes. Without a window, changes may start at any time, and the second result is zero.
//
// Windows are times of day in the user's time zone. When daylight saving time begins or ends, a window around
// that moment is shorter or longer, usually by an hour. A time of day that the clock skips counts as the time
// that is later by the skipped time, usually an hour. A window that the clock
// skips entirely does not open on that day. A time of day that comes twice counts once, as [time.Date] chooses.
//
// Errors wrap ErrSpec, for example for an unknown time zone.
func WindowAt(w *v1alpha1.MaintenanceWindow, now time.Time) (open bool, next time.Time, err error) {
	if w == nil {
		return true, time.Time{}, nil
	}
	zone, err := time.LoadLocation(w.TimeZone)
	if err != nil {
		return false, time.Time{}, refuse("maintenanceWindow.timeZone %q is unknown to the operator: %v", w.TimeZone, err)
	}
	start, err := time.Parse("15:04", w.Start)
	if err != nil {
		return false, time.Time{}, refuse("maintenanceWindow.start: %v", err)
	}
	end, err := time.Parse("15:04", w.End)
	if err != nil {
		return false, time.Time{}, refuse("maintenanceWindow.end: %v", err)
	}
	today := now.In(zone)
	// Begin with yesterday, whose window may still be open. End in the next week, because the window may
	// exist on only one day of the week.
	for day := -1; day <= 8; day++ {
		moment := func(clock time.Time, offset int) time.Time {
			return onClock(today.Year(), today.Month(), today.Day()+day+offset, clock, zone)
		}
		opens, closes := moment(start, 0), moment(end, 0)
		if !start.Before(end) {
			closes = moment(end, 1)
		}
		noon := time.Date(today.Year(), today.Month(), today.Day()+day, 12, 0, 0, 0, zone)
		switch {
		case !opens.Before(closes): // The clock skips the whole window.
		case len(w.Days) > 0 && !slices.Contains(w.Days, v1alpha1.Weekday(noon.Weekday().String())):
		case now.Before(opens):
			return false, opens, nil
		case now.Before(closes):
			return true, closes, nil
		}
	}
	return false, time.Time{}, fmt.Errorf("%w: the window opens on no day", ErrSpec)
}

// OpenAt is [WindowAt] for the window of a sweep. Objects of the version before have it in spec.window.
func OpenAt(spec *Spec, now time.Time) (open bool, next time.Time, err error) {
	return WindowAt(cmp.Or(spec.MaintenanceWindow, spec.Window), now)
}

// onClock returns the moment at which the clocks of a zone show a time of day. If they skip that time, it
// returns the moment that is later on the clock by the skipped time, usually an hour. West of UTC, [time.Date]
// alone would return an earlier moment.
func onClock(year int, month time.Month, day int, clock time.Time, zone *time.Location) time.Time {
	shown := func(in *time.Location) time.Time {
		return time.Date(year, month, day, clock.Hour(), clock.Minute(), 0, 0, in)
	}
	t := shown(zone)
	_, offset := t.Zone()
	early := shown(time.UTC).Sub(t.Add(time.Duration(offset) * time.Second))
	return t.Add(max(0, early))
}
