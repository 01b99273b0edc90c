package cephtuningsweep

import (
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/tuning"
)

func TestUpWithin(t *testing.T) {
	for lostAfter, want := range map[time.Duration]time.Duration{
		10 * time.Minute: 5 * time.Minute, // Ceph's default
		0:                5 * time.Minute, // never
		time.Hour:        5 * time.Minute,
		4 * time.Minute:  2 * time.Minute,
	} {
		if got := upWithin(lostAfter); got != want {
			t.Errorf("with OSDs that are lost after %v it is %v, want %v", lostAfter, got, want)
		}
	}
}

func TestRestartsThatTakeTooLong(t *testing.T) {
	const limit = 3 * startWithin
	restarted := func(osd int, ago time.Duration) restartMemory {
		return restartMemory{
			began: today().Add(-2 * ago), startedAt: today().Add(-ago), within: 2 * time.Minute,
			progress: tuning.Restarts{Last: osd, Started: 1},
		}
	}
	began := func(ago time.Duration) restartMemory {
		return restartMemory{began: today().Add(-ago), within: 2 * time.Minute}
	}
	type answers struct {
		stopped             int
		overdue, late, vain bool
	}
	for name, tc := range map[string]struct {
		memory restartMemory
		look   restartLook
		want   answers
	}{
		"on its way":                       {restarted(1, 2*time.Minute), restartLook{down: []int{1}}, answers{stopped: 1}},
		"not up in time":                   {restarted(1, 3*time.Minute), restartLook{down: []int{1}}, answers{stopped: 1, overdue: true}},
		"not ended in time":                {restarted(1, 3*time.Minute), restartLook{due: []int{1, 2}}, answers{overdue: true}},
		"up in time, and the next waits":   {restarted(1, 3*time.Minute), restartLook{due: []int{2}, unrest: "x"}, answers{}},
		"another one is down":              {restarted(1, 3*time.Minute), restartLook{due: []int{2}, down: []int{0}}, answers{}},
		"another one is down for long":     {restarted(1, 11*time.Minute), restartLook{down: []int{0}}, answers{late: true, vain: true}},
		"one is down without an outage":    {began(9 * time.Minute), restartLook{due: []int{0}, down: []int{1}}, answers{}},
		"one stays down without an outage": {began(11 * time.Minute), restartLook{due: []int{0}, down: []int{1}}, answers{vain: true}},
		"all wait for rest":                {began(limit + time.Second), restartLook{due: []int{0, 1}, unrest: "x"}, answers{late: true}},
		"all wait for rest, and for long":  {began(limit + backOff + time.Second), restartLook{due: []int{0, 1}, unrest: "x"}, answers{late: true, vain: true}},
	} {
		t.Run(name, func(t *testing.T) {
			tc.look.osds = 3
			m := &tc.memory
			got := answers{m.stopped(tc.look), m.overdue(today(), tc.look), m.late(today(), tc.look), m.vain(today(), tc.look)}
			if got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}
