package sweepspec

import (
	"errors"
	"testing"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

func TestWindows(t *testing.T) {
	night := &v1alpha1.MaintenanceWindow{
		Start: "22:00", End: "05:30", TimeZone: "Europe/Berlin",
		Days: []v1alpha1.Weekday{"Monday", "Tuesday", "Wednesday", "Thursday"},
	}
	early := &v1alpha1.MaintenanceWindow{Start: "02:00", End: "04:00", TimeZone: "Europe/Berlin"}
	skipped := &v1alpha1.MaintenanceWindow{Start: "02:00", End: "03:00", TimeZone: "Europe/Berlin"}
	west := &v1alpha1.MaintenanceWindow{Start: "02:30", End: "04:00", TimeZone: "America/New_York"}
	midnight := &v1alpha1.MaintenanceWindow{Start: "00:30", End: "04:00", TimeZone: "America/Santiago"}
	utc := &v1alpha1.MaintenanceWindow{Start: "08:00", End: "18:00", TimeZone: "Etc/UTC"}
	for name, tc := range map[string]struct {
		window   *v1alpha1.MaintenanceWindow
		now      string
		wantOpen bool
		wantNext string
	}{
		"no window":                        {nil, "2026-03-02T12:00:00Z", true, "0001-01-01T00:00:00Z"},
		"by day":                           {utc, "2026-03-02T12:00:00Z", true, "2026-03-02T18:00:00Z"},
		"its first minute":                 {utc, "2026-03-02T08:00:00Z", true, "2026-03-02T18:00:00Z"},
		"its end is outside":               {utc, "2026-03-02T18:00:00Z", false, "2026-03-03T08:00:00Z"},
		"before midnight, a Monday":        {night, "2026-03-02T22:00:00+01:00", true, "2026-03-03T05:30:00+01:00"},
		"after midnight":                   {night, "2026-03-03T05:29:59+01:00", true, "2026-03-03T05:30:00+01:00"},
		"the morning after":                {night, "2026-03-03T05:30:00+01:00", false, "2026-03-03T22:00:00+01:00"},
		"Thursday's window ends on Friday": {night, "2026-03-06T03:00:00+01:00", true, "2026-03-06T05:30:00+01:00"},
		"none begins on Friday":            {night, "2026-03-06T23:00:00+01:00", false, "2026-03-09T22:00:00+01:00"},
		"none began on Sunday":             {night, "2026-03-09T01:00:00+01:00", false, "2026-03-09T22:00:00+01:00"},
		"another zone's clock":             {night, "2026-03-02T21:00:00Z", true, "2026-03-03T04:30:00Z"},
		"an hour that the clock skips":     {early, "2026-03-29T00:30:00Z", false, "2026-03-29T01:00:00Z"},
		"the night on which it is skipped": {early, "2026-03-29T01:30:00Z", true, "2026-03-29T02:00:00Z"},
		"a window that the clock skips":    {skipped, "2026-03-29T06:00:00Z", false, "2026-03-30T00:00:00Z"},
		"an hour skipped west of UTC":      {west, "2026-03-08T06:45:00Z", false, "2026-03-08T07:30:00Z"},
		"a midnight skipped west of UTC":   {midnight, "2026-09-06T03:45:00Z", false, "2026-09-06T04:30:00Z"},
		"the night that is an hour longer": {early, "2026-10-25T02:30:00Z", true, "2026-10-25T03:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			now, err := time.Parse(time.RFC3339, tc.now)
			if err != nil {
				t.Fatal(err)
			}
			want, err := time.Parse(time.RFC3339, tc.wantNext)
			if err != nil {
				t.Fatal(err)
			}
			open, next, err := WindowAt(tc.window, now)
			if err != nil {
				t.Fatal(err)
			}
			if open != tc.wantOpen || !next.Equal(want) {
				t.Errorf("open %v until %v, want %v until %v", open, next, tc.wantOpen, want)
			}
		})
	}
	noon := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	for name, spec := range map[string]*Spec{"of today": {MaintenanceWindow: night}, "of the version before": {Window: night}} {
		if open, _, err := OpenAt(spec, noon); err != nil || open {
			t.Errorf("the window %s: open %v, %v; want it closed at noon", name, open, err)
		}
	}
	if _, _, err := WindowAt(&v1alpha1.MaintenanceWindow{Start: "22:00", End: "05:00", TimeZone: "Mars/Base"}, time.Unix(0, 0)); !errors.Is(err, ErrSpec) {
		t.Errorf("a zone on Mars: %v, want ErrSpec", err)
	}
}
