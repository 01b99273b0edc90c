package curve

import "testing"

func TestARateWithoutAnUpperEndIsNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		course *Course
		want   bool
	}{
		"found":                        {&Course{Knee: Knee{State: Found, PerSecond: 100, LowPerSecond: 90, HighPerSecond: 110}}, true},
		"saturates":                    {&Course{Knee: Knee{State: NeverExceeded, PerSecond: 100, LowPerSecond: 90, HighPerSecond: 110}}, true},
		"kept, and nothing was higher": {&Course{Knee: Knee{State: NeverExceeded, PerSecond: 100, LowPerSecond: 100}}, false},
		"inconclusive":                 {&Course{Knee: Knee{State: Inconclusive, PerSecond: 100, LowPerSecond: 90, HighPerSecond: 110}}, false},
		"below idle":                   {&Course{Knee: Knee{State: BelowIdle, HighPerSecond: 2}}, false},
		"no curve":                     {nil, false},
	} {
		if _, got := c.course.Sustainable(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
