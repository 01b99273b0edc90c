package cephtuningsweep

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/tuning"
)

// interleaved says that the sweep switches settings, with its first session to come.
func interleaved(f *facts) {
	f.sweep.Spec.Strategy.Interleaved.Sessions = 1
	plan := f.sweep.Status.Plan
	plan.Design, plan.Sessions, plan.Pairs, plan.Window = v1alpha1.DesignInterleaved, 1, 8, &metav1.Duration{Duration: 10 * time.Second}
	f.observePlan()
}

// Only the engine that has rehearsed all values may switch them. Deciding must not change the memory.
func TestRehearsal(t *testing.T) {
	now, before := &tuning.Engine{}, &tuning.Engine{}
	for name, c := range map[string]struct {
		switching sessionMemory
		want      step
		rehearses int // the configuration; 0 is the baseline
		at        int // number of rehearsed configurations, as act then notes it
	}{
		"nothing is rehearsed":            {sessionMemory{}, stepApply, 1, 0},
		"the candidate is rehearsed":      {sessionMemory{number: 1, at: 1, engine: now}, stepApply, 0, 1},
		"everything is rehearsed":         {sessionMemory{number: 1, at: 2, engine: now}, stepBeginSession, 0, 2},
		"by another engine":               {sessionMemory{number: 1, at: 2, engine: before}, stepApply, 1, 0},
		"for the session before":          {sessionMemory{number: 7, at: 2, engine: now}, stepApply, 0, 1},
		"for that one, by another engine": {sessionMemory{number: 7, at: 2, engine: before}, stepApply, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			facts := func() facts {
				return atWork(t, func(f *facts) { f.memory.engine, f.memory.switching = now, c.switching }, interleaved)
			}
			seen := facts()
			if seen.planErr != nil {
				t.Fatal(seen.planErr)
			}
			if p := decide(seen); p.step != c.want || seen.next.Slot.Configuration != c.rehearses {
				t.Errorf("%s of configuration %d by rule %s, want %s of %d", p.step, seen.next.Slot.Configuration, p.rule, c.want, c.rehearses)
			}
			wantMemory(t, seen, facts())
			if seen.noteSession(stepRemoveSession); seen.memory.switching.number != c.switching.number || seen.memory.switching.at != c.switching.at || seen.memory.switching.engine != c.switching.engine {
				t.Errorf("the memory of the session begins too early: %+v", seen.memory.switching)
			}
			seen.noteSession(c.want)
			if s := seen.memory.switching; s.number != 1 || s.at != c.at || s.since.IsZero() != (c.switching.number == 1) {
				t.Errorf("the memory is %+v, want %d configurations", s, c.at)
			}
		})
	}
}
