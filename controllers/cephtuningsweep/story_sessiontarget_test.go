package cephtuningsweep

import (
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clients/live"
	"github.com/cephtune/cephtune/internal/settings"
)

// Stories of sessions that load the pools of all configurations in turn.
func sessionTargetStories() map[string]story {
	return map[string]story{
		"pools of several values are compared":   comparedPools,
		"each session draws fresh pools":         drawnPools,
		"killed while several pools stand":       killedWhilePoolsStand,
		"one of several pools is replaced":       replacedPool,
		"several pools do not fit":               poolsThatDoNotFit,
		"the clients' caps name only one target": capsOfOnePool,
	}
}

const poolsSpec = `
template:
  target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}, image: {size: 1Gi}}}
  phases:
  - {name: read, fio: {engine: RBD, pattern: RandRead, blockSize: 4Ki, ioDepth: 16, ramp: 0s, duration: 30s}}
parameters:
- {name: pgs, poolOption: {option: pg_num}, values: ["16", "32"]}
objective: {phase: read, metric: IOPS}
strategy: {interleaved: {sessions: 1}, seed: 11}
`

// withPools gives each session the pools of its benchmark when its load starts. Reads of target 1 are slow.
func (w *world) withPools() {
	first := int64(100)
	w.load.set(func(l *load) {
		l.starts = func() { first += 10; w.setScratchPools(first, 3) }
		l.aimed = func(window live.Window) string { return strconv.Itoa(window.Target) }
		l.rate = func(target string) float64 { return map[bool]float64{true: 300, false: 1000}[target == "1"] }
	})
}

// setScratchPools replaces the scratch pools of a session by as many new ones.
func (w *world) setScratchPools(first int64, targets int) {
	w.ceph.Act(func(c *cephtest.Cluster) {
		all := slices.DeleteFunc(c.Answers.OSDMap.Pools, func(p ceph.Pool) bool { return settings.IsScratchPool(p.Name) })
		for target := range targets {
			pgs := 8 << target
			all = append(all, ceph.Pool{
				ID: first + int64(target), Name: settings.ScratchNamesOf(target).Pool, Type: "replicated", Size: 3, AutoscaleMode: "off",
				PGNum: pgs, PGNumTarget: pgs, PGNumPending: pgs, PGPlacementNum: pgs, PGPlacementTarget: pgs,
			})
		}
		c.Answers.OSDMap.Pools = all
	})
}

// inSessionOfPools returns a sweep that has loaded its pools in some windows.
func (w *world) inSessionOfPools() *v1alpha1.CephTuningSweep {
	w.t.Helper()
	w.withPools()
	s := w.create("pools", poolsSpec)
	w.await(s, "aimed", func(*v1alpha1.CephTuningSweep) bool {
		w.load.mu.Lock()
		defer w.load.mu.Unlock()
		return len(w.load.aims) > 5
	})
	return s
}

func comparedPools(w *world) {
	before := w.state()
	s := w.inSessionOfPools()
	for _, child := range w.childrenOfSessions() {
		var pgs []v1alpha1.ParameterValue
		for _, target := range child.Spec.Targets() {
			pgs = append(pgs, target.ScratchPool.Parameters["pg_num"])
		}
		if !slices.Equal(pgs, []v1alpha1.ParameterValue{"8", "16", "32"}) {
			w.t.Errorf("the targets of benchmark %s have pg_num %q", child.Name, pgs)
		}
	}
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.setScratchPools(0, 0) // The benchmark has removed them.
	w.wantState(before)
	if p := s.Status.Plan; p.Design != v1alpha1.DesignInterleaved || s.Status.Scope != v1alpha1.ScopeWindows || w.sessions(s).Short != 1 || !strings.Contains(s.Status.Summary, "16: 70 % slower") {
		w.t.Errorf("design %s, verdict %s, %s, sessions %q: %s", p.Design, s.Status.Verdict, s.Status.Scope, validities(s), s.Status.Summary)
	}
	w.wantReplayed(s, 1)
	if calls := len(w.ceph.Calls("SetPoolOption")); calls > 0 {
		w.t.Errorf("%d options of pools were set", calls)
	}
	w.load.mu.Lock()
	defer w.load.mu.Unlock()
	var windows [3]int
	for _, aim := range w.load.aims {
		windows[aim.Target] += aim.Again % 2 // Between blocks, clients work for no window.
	}
	if windows[1] == windows[2] || max(windows[1], windows[2]) != windows[0] || min(windows[1], windows[2]) < 8 {
		w.t.Errorf("%v windows: want the candidate that is decided first to leave", windows)
	}
}

// drawnPools has the default number of sessions. The verdict is about the pools of three of them.
func drawnPools(w *world) {
	before := w.state()
	w.withPools()
	s := w.create("pools", strings.Replace(poolsSpec, "interleaved: {sessions: 1}", "design: Interleaved", 1))
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.setScratchPools(0, 0) // The benchmark has removed them.
	w.wantState(before)
	if p := s.Status.Plan; p.Design != v1alpha1.DesignInterleaved || p.Sessions != 6 || p.Pairs != 4 || s.Status.Scope != v1alpha1.ScopePools || w.sessions(s).Valid != 3 ||
		!strings.Contains(s.Status.Summary, "16: 70 % slower") || !strings.Contains(s.Status.Summary, "on 3 pools of each value, in this hour, in switched windows") {
		w.t.Errorf("plan %+v, verdict %s, %s, sessions %q: %s", p, s.Status.Verdict, s.Status.Scope, validities(s), s.Status.Summary)
	}
	w.wantReplayed(s, 3)
}

func killedWhilePoolsStand(w *world) {
	before := w.state()
	s := w.inSessionOfPools()
	w.restart()
	w.awaitAfterCrash(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantDrawnAgainOnPools(s, before, v1alpha1.TrialInterrupted)
}

// replacedPool has a pool that gets another ID, as after its removal and creation: its data are gone.
func replacedPool(w *world) {
	before := w.state()
	s := w.inSessionOfPools()
	w.setScratchPools(500, 3)
	w.await(s, "complete", conditionTrue(v1alpha1.ConditionComplete))
	w.wantDrawnAgainOnPools(s, before, v1alpha1.TrialFailed)
}

// wantDrawnAgainOnPools checks that one session was invalid, and that its replacement is valid.
func (w *world) wantDrawnAgainOnPools(s *v1alpha1.CephTuningSweep, before string, invalid v1alpha1.TrialReason) {
	w.t.Helper()
	w.setScratchPools(0, 0) // The benchmark has removed them.
	w.wantState(before)
	if trialsThatAre(s, invalid) != 1 || w.sessions(s).Short != 1 {
		w.t.Errorf("verdict %s, sessions %q: %s", s.Status.Verdict, validities(s), s.Status.Summary)
	}
}

// poolsThatDoNotFit has pools of which each fits, but not all at once.
func poolsThatDoNotFit(w *world) {
	s := w.create("pools", strings.Replace(poolsSpec, `["16", "32"]`, `["128", "64"]`, 1))
	w.wantBlocks(s, "All at once do not fit: ")
}

func capsOfOnePool(w *world) {
	w.rook.set(func(f *fakeRook) {
		f.osdCaps = "profile rbd pool=cephtune-scratch, profile rbd pool=cephtune-scratch-data"
	})
	w.wantBlocks(w.create("pools", poolsSpec), "The osd caps of CephClient")
}

// wantBlocks checks that the plan has separate runs, and why.
func (w *world) wantBlocks(s *v1alpha1.CephTuningSweep, reason string) {
	w.t.Helper()
	w.await(s, "planned", func(s *v1alpha1.CephTuningSweep) bool { return s.Status.Plan != nil })
	if p := s.Status.Plan; p.Design != v1alpha1.DesignBlocks || !strings.Contains(p.DesignReason, reason) {
		w.t.Errorf("design %s: %q, want Blocks: %q", p.Design, p.DesignReason, reason)
	}
}
