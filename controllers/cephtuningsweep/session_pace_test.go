package cephtuningsweep

import (
	"math"
	"testing"
	"time"

	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/stats"
)

func TestPace(t *testing.T) {
	for want, p := range map[string]sessionPace{
		"0.71–0.94 × baseline so far, pair 5 of 8, about 2 min": {pairs: 4, goal: 8, ratio: stats.Bounds{Low: 0.709, High: 0.943}, left: 90 * time.Second},
		"pair 1 of 8, about 6 min":                              {goal: 8, left: 6 * time.Minute},
		"pair 8 of 8":                                           {pairs: 8, goal: 8},
		"pair 3 of 8, about 1 min":                              {pairs: 2, goal: 8, ratio: stats.Bounds{Low: 0.5, High: math.Inf(1)}, left: time.Second},
		"long windows, about 3 min":                             {goal: 1, left: 3 * time.Minute, long: true},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestPaceOfASession(t *testing.T) {
	quick, err := session.Quick(1, 1, 1, switchback.LastLook, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	long, err := session.Long(1, 2, 1, 1, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	looks := session.Question{Question: switchback.Question{Quick: true, LastLook: switchback.LastLook, Candidates: 1}}
	for name, c := range map[string]struct {
		plan  loopPlan
		pairs int
		ended time.Duration
		want  string
	}{
		"before the first pair":  {loopPlan{plan: quick, question: looks}, 0, 0, "pair 1 of 8, about 4 min"},
		"half of the first look": {loopPlan{plan: quick, question: looks}, 4, 2 * time.Minute, "pair 5 of 8, about 2 min"},
		"after the first look":   {loopPlan{plan: quick, question: looks}, 8, 4 * time.Minute, "pair 9 of 12, about 2 min"},
		"after the last look":    {loopPlan{plan: quick, question: looks}, 60, 30 * time.Minute, "pair 60 of 60"},
		"without looks":          {loopPlan{plan: quick, pairs: 6}, 2, time.Minute, "pair 3 of 6, about 2 min"},
		"long windows":           {loopPlan{plan: long, pairs: 6}, 0, 0, "long windows, about 3 min"},
	} {
		if got := c.plan.paceAt(c.pairs, c.ended).String(); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
