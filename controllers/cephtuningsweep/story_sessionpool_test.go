package cephtuningsweep

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/settings"
)

// Stories of sessions that switch an option of their own pool.
func sessionPoolStories() map[string]story {
	return map[string]story{
		"an option is switched in the session's pool": switchedInThePool,
		"somebody changes the option of the pool":     foreignChangeInThePool,
		"killed while the pool's option is switched":  killedInThePool,
		"the answer to a value of the pool is lost":   lostAnswerInThePool,
		"the tuner's key lacks the caps":              noCapsForThePool,
	}
}

// fastReadSpec leaves the design to Auto.
const fastReadSpec = `
template:
  target: {scratchPool: {erasureCoded: {dataChunks: 2, codingChunks: 1}, image: {size: 1Gi}}}
  phases:
  - {name: read, radosBench: {mode: Rand, concurrency: 16, ramp: 0s, duration: 30s}}
parameters:
- {name: fast, poolOption: {option: fast_read}, values: ["1"]}
objective: {phase: read, metric: IOPS}
strategy: {interleaved: {sessions: 1}, seed: 11}
`

// withDataPool gives each session a pool of its own when its load starts. Reads are slow with fast_read.
func (w *world) withDataPool() {
	id := int64(100)
	w.load.set(func(l *load) {
		l.starts = func() { id++; w.setDataPool(id) }
		l.value = func() string { return w.ceph.Pool(settings.ScratchDataPool).Options["fast_read"] }
		l.rate = func(value string) float64 { return map[string]float64{"": 1000, "1": 300}[value] }
	})
}

// setDataPool replaces the pool of a session; 0 only removes it.
func (w *world) setDataPool(id int64) {
	w.ceph.Act(func(c *cephtest.Cluster) {
		others := slices.DeleteFunc(c.Answers.OSDMap.Pools, func(p ceph.Pool) bool { return p.Name == settings.ScratchDataPool })
		if id != 0 {
			others = append(others, ceph.Pool{ID: id, Name: settings.ScratchDataPool, Type: "erasure", Size: 3, DataChunks: 2, AutoscaleMode: "off"})
		}
		c.Answers.OSDMap.Pools = others
	})
}

// inSessionOfThePool returns a sweep that has switched the option of its pool.
func (w *world) inSessionOfThePool() *v1alpha1.CephTuningSweep {
	w.t.Helper()
	w.withDataPool()
	s := w.create("fast", fastReadSpec)
	w.await(s, "switched in the pool", func(*v1alpha1.CephTuningSweep) bool {
		return len(w.ceph.Calls("SetPoolOption"))+len(w.ceph.Calls("UnsetPoolOption")) > 4
	})
	return s
}

func switchedInThePool(w *world) {
	before := w.state()
	s := w.inSessionOfThePool()
	for _, child := range w.childrenOfSessions() {
		if given := child.Spec.Template.Target.ScratchPool.Parameters; given["fast_read"] != "" {
			w.t.Errorf("Rook would set %v again", given)
		}
	}
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.setDataPool(0) // The benchmark has removed it.
	w.wantState(before)
	if p := s.Status.Plan; p.Design != v1alpha1.DesignInterleaved || s.Status.Verdict != v1alpha1.VerdictInferior || s.Status.Scope != v1alpha1.ScopeWindows || w.sessions(s).Short != 1 {
		w.t.Errorf("design %s, verdict %s, %s, sessions %q: %s", p.Design, s.Status.Verdict, s.Status.Scope, validities(s), s.Status.Summary)
	}
	w.wantReplayed(s, 1)
}

func foreignChangeInThePool(w *world) {
	s := w.inSessionOfThePool()
	w.await(s, "failed", func(s *v1alpha1.CephTuningSweep) bool {
		w.ceph.Act(func(c *cephtest.Cluster) {
			for i, p := range c.Answers.OSDMap.Pools {
				if p.Name == settings.ScratchDataPool {
					c.Answers.OSDMap.Pools[i].Options = map[string]string{"fast_read": map[string]string{"": "1"}[p.Options["fast_read"]]}
				}
			}
		})
		return conditionTrue(v1alpha1.ConditionFailed)(s)
	})
	w.wantSays(s, v1alpha1.ConditionFailed, metav1.ConditionTrue, v1alpha1.ReasonChangedByOthers, "fast_read of pool "+settings.ScratchDataPool)
	w.wantNoMoreSwitches(s)
}

// killedInThePool has a session on a second pool, which starts with the default.
func killedInThePool(w *world) {
	before := w.state()
	s := w.inSessionOfThePool()
	w.restart()
	w.wantDrawnAgainInThePool(s, before, v1alpha1.TrialInterrupted)
}

// lostAnswerInThePool loses the answer when a value is tried. The next pool has the same name, so the next session
// waits until the command has ended.
func lostAnswerInThePool(w *world) {
	before := w.state()
	w.ceph.Act(func(c *cephtest.Cluster) { c.Lose = "SetPoolOption" })
	w.withDataPool()
	s := w.create("fast", fastReadSpec)
	w.await(s, "invalid", func(s *v1alpha1.CephTuningSweep) bool { return trialsThatAre(s, v1alpha1.TrialFailed) == 1 })
	w.ceph.Land() // Ceph carries the change out after all.
	w.wantDrawnAgainInThePool(s, before, v1alpha1.TrialFailed)
}

// wantDrawnAgainInThePool checks that one session was invalid, and that its replacement is valid. As in
// wantDrawnAgain, only a gain would be wrong.
func (w *world) wantDrawnAgainInThePool(s *v1alpha1.CephTuningSweep, before string, invalid v1alpha1.TrialReason) {
	w.t.Helper()
	w.awaitAfterCrash(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.setDataPool(0)
	w.wantState(before)
	if trialsThatAre(s, invalid) != 1 || w.sessions(s).Short != 1 ||
		(s.Status.Verdict != v1alpha1.VerdictInferior && s.Status.Verdict != v1alpha1.VerdictInconclusive) {
		w.t.Errorf("verdict %s, sessions %q: %s", s.Status.Verdict, validities(s), s.Status.Summary)
	}
}

func noCapsForThePool(w *world) {
	w.rook.set(func(f *fakeRook) { f.monCaps = `allow r` })
	w.wantBlocks(w.create("fast", fastReadSpec), "The tuner may not set fast_read of scratch pools.")
}
