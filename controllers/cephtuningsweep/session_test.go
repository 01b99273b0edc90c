package cephtuningsweep

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/tuning"
)

// interleaved says that the sweep switches settings, with its first session to come.
func interleaved(f *facts) {
	f.sweep.Spec.Strategy.Interleaved.Sessions = 1
	plan := f.sweep.Status.Plan
	plan.Design, plan.Sessions, plan.Pairs, plan.Window = v1alpha1.DesignInterleaved, 1, 8, &metav1.Duration{Duration: 10 * time.Second}
	f.observePlan()
}

// Only the engine that has proven all values may switch them. Deciding must not change the memory.
func TestProofBeforeLoad(t *testing.T) {
	now, before := &tuning.Engine{}, &tuning.Engine{}
	for name, c := range map[string]struct {
		switching sessionMemory
		want      step
		proves    int // the configuration; 0 is the baseline
		proven    int // number of proven configurations, as act then notes it
	}{
		"nothing is proven":               {sessionMemory{}, stepApply, 1, 0},
		"the candidate is proven":         {sessionMemory{number: 1, proven: 1, engine: now}, stepApply, 0, 1},
		"everything is proven":            {sessionMemory{number: 1, proven: 2, engine: now}, stepBeginSession, 0, 2},
		"the candidate by another engine": {sessionMemory{number: 1, proven: 1, engine: before}, stepApply, 1, 0},
		"by another engine":               {sessionMemory{number: 1, proven: 2, engine: before}, stepApply, 1, 0},
		"for the session before":          {sessionMemory{number: 7, proven: 2, engine: now}, stepApply, 0, 1},
		"for that one, by another engine": {sessionMemory{number: 7, proven: 2, engine: before}, stepApply, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			facts := func() facts {
				return atWork(t, func(f *facts) { f.memory.engine, f.memory.switching = now, c.switching }, interleaved)
			}
			seen := facts()
			if seen.planErr != nil {
				t.Fatal(seen.planErr)
			}
			if p := decide(seen); p.Step != c.want || seen.next.Trial.Configuration != c.proves {
				t.Errorf("%s of configuration %d by rule %s, want %s of %d", p.Step, seen.next.Trial.Configuration, p.Rule, c.want, c.proves)
			}
			wantMemory(t, seen, facts())
			step := working(seen)
			step.noteSession(stepRemoveBenchmarks)
			if s := step.memory.switching; s.number != c.switching.number || s.proven != c.switching.proven || s.engine != c.switching.engine {
				t.Errorf("the memory of the session begins too early: %+v", step.memory.switching)
			}
			step.noteSession(c.want)
			if s := step.memory.switching; s.number != 1 || s.proven != c.proven || s.since.IsZero() != (c.switching.number == 1) {
				t.Errorf("the memory is %+v, want %d configurations", s, c.proven)
			}
		})
	}
}

// After a failed write of status, the session is entered again: it is neither measured twice nor invalid.
func TestSessionIsEnteredAgainAfterAFailedWrite(t *testing.T) {
	engine := &tuning.Engine{}
	seen := atWork(t, func(f *facts) {
		f.memory.engine, f.memory.pauses = engine, endsInvalid
		f.memory.switching = sessionMemory{number: 1, proven: 2, engine: engine, trial: &v1alpha1.Trial{}}
	}, interleaved)
	if p := decide(seen); p.Step != stepEnterSession {
		t.Errorf("%s by rule %s, want it to enter the session", p.Step, p.Rule)
	}
	seen.memory.switching.trial = nil
	if p := decide(seen); p.Step != stepRestore || p.Detail.then != endsInvalid {
		t.Errorf("%s by rule %s once the session is in the ledger, want a restore", p.Step, p.Rule)
	}
}

// A switch that keeps its deadline does not invalidate long windows.
func TestLongWindowsTolerateEverySwitchWithinItsDeadline(t *testing.T) {
	p, err := session.Long(1, 1, 1, 1, time.Minute)
	if err != nil || p.Timing.MaxSwitch < tuning.SwitchDeadline {
		t.Errorf("a switch before a long window may take %v, %v; its deadline is %v", p.Timing.MaxSwitch, err, tuning.SwitchDeadline)
	}
}
