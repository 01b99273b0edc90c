package wallclock

import (
	"testing"
	"time"
)

func TestBefore(t *testing.T) {
	for _, step := range []time.Duration{5 * time.Minute, -5 * time.Minute, time.Second, -time.Hour, 0} {
		now := time.Now()
		then := Before(now, step)
		if apart := now.Sub(then); apart != 0 {
			t.Errorf("%v: the two are %v apart on the monotonic clock", step, apart)
		}
		if apart := now.Round(0).Sub(then.Round(0)); apart != step {
			t.Errorf("%v: the two are %v apart on the system clock", step, apart)
		}
	}
}
