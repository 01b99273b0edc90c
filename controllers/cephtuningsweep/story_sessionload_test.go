package cephtuningsweep

import (
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Stories of sessions that aim their clients at different loads.
func sessionLoadStories() map[string]story {
	return map[string]story{
		"two depths are compared":        comparedDepths,
		"killed while clients are aimed": killedWhileAiming,
		"clients do not take their aim":  lostAim,
		"without a tuner":                comparedWithoutTuner,
	}
}

const depthSpec = `
template:
  target: {existingPool: {name: open}}
  phases:
  - {name: read, fio: {engine: RBD, pattern: RandRead, blockSize: 4Ki, ioDepth: 16, ramp: 0s, duration: 30s}}
parameters:
- {name: depth, workload: {phase: read, field: ioDepth}, values: ["1"]}
objective: {phase: read, metric: IOPS}
strategy: {interleaved: {sessions: 1}, seed: 11}
`

// withDepths makes the load slow with one operation in flight.
func (w *world) withDepths() {
	w.load.set(func(l *load) {
		l.rate = func(depth string) float64 { return map[string]float64{"16": 1000, "1": 300}[depth] }
	})
}

// aiming returns a sweep that has aimed its clients in some windows.
func (w *world) aiming() *v1alpha1.CephTuningSweep {
	w.t.Helper()
	w.withDepths()
	s := w.create("depth", depthSpec)
	w.await(s, "aimed", func(*v1alpha1.CephTuningSweep) bool {
		w.load.mu.Lock()
		defer w.load.mu.Unlock()
		return len(w.load.aims) > 4
	})
	return s
}

func comparedDepths(w *world) {
	before := w.state()
	s := w.aiming()
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantState(before)
	if p := s.Status.Plan; p.Design != v1alpha1.DesignInterleaved || s.Status.Verdict != v1alpha1.VerdictInferior || s.Status.Scope != v1alpha1.ScopeWindows || w.sessions(s).Short != 1 {
		w.t.Errorf("design %s, verdict %s, %s, sessions %q: %s", p.Design, s.Status.Verdict, s.Status.Scope, validities(s), s.Status.Summary)
	}
	if told := s.Status.Summary; strings.Contains(strings.ToLower(told), "setting") || !strings.Contains(told, "a depth") {
		w.t.Errorf("a session of loads speaks of settings: %s", told)
	}
	w.wantComparison(s, 4)
	w.wantReplayed(s, 1)
	if left := w.childrenOfSessions(); len(left) > 0 {
		w.t.Errorf("benchmark %s is left", left[0].Name)
	}
	w.load.mu.Lock()
	defer w.load.mu.Unlock()
	var again [2][]int // by target
	for _, aim := range w.load.aims {
		if aim.Again%2 == 1 { // Between blocks, clients work for no window.
			again[aim.Target] = append(again[aim.Target], aim.Again)
		}
		if depth := aim.Phase.Fio.IODepth; depth != []int32{16, 1}[aim.Target] {
			w.t.Errorf("target %d has depth %d", aim.Target, depth)
		}
	}
	if !slices.Equal(again[0], again[1]) || again[0][0] != 1 || again[0][len(again[0])-1] != 2*len(again[0])-1 {
		w.t.Errorf("windows %v of the baseline, and %v of the candidate: want the same random offsets for both, and others each time", again[0], again[1])
	}
}

func killedWhileAiming(w *world) {
	before := w.state()
	s := w.aiming()
	w.restart()
	w.wantDrawnAgain(s, before, v1alpha1.TrialInterrupted)
}

// lostAim is a session whose clients do not answer at first. Nobody knows then at which target they are.
func lostAim(w *world) {
	before := w.state()
	w.withDepths()
	w.load.set(func(l *load) { l.aimFails = 1 })
	s := w.create("depth", depthSpec)
	w.wantDrawnAgain(s, before, v1alpha1.TrialFailed)
}

func comparedWithoutTuner(w *world) {
	w.allowed.Clusters[0].Identities.Tuner = ""
	s := w.aiming()
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	if s.Status.Verdict != v1alpha1.VerdictInferior {
		w.t.Errorf("verdict %s, sessions %q: %s", s.Status.Verdict, validities(s), s.Status.Summary)
	}
}
