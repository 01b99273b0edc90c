package cephbenchmark

import (
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/loadtarget"
	"github.com/cephtune/cephtune/internal/quiescence"
)

// target returns the target of the execution, as far as it is known.
func (f facts) target() loadtarget.Target {
	return loadtarget.Target{
		Template: &f.spec.Template, Elsewhere: f.spec.OtherTargets, Quiescence: f.spec.Quiescence, Now: f.now, Rook: f.rook, Kubernetes: f.kubernetes, View: f.View,
		OSDMap: f.memory.pool.OSDMap, MadePGs: f.memory.pool.PGs, ConfinedTo: f.osds(), Shared: f.sharesPool(),
		Exists: f.job != nil, Script: f.script,
		Pods: f.pods, BackgroundPods: f.background.pods,
	}
}

// obstacles returns the reasons why a run may not begin now.
func (f facts) obstacles() []quiescence.Obstacle {
	found, fresh := f.target().Obstacles()
	if !fresh {
		return found
	}
	return append(found, f.unrested()...)
}

// disturbances returns the disturbances in those phases of a run, and steps of curves, that have begun.
func (f facts) disturbances(run int32) []quiescence.Disturbance {
	var all []quiescence.Disturbance
	for _, id := range f.script.Begun(run, f.tasks) {
		all = append(all, f.disturbancesOf(run, id)...)
	}
	return all
}

// abortingDisturbance returns the first disturbance that aborts the current run, or false.
func (f facts) abortingDisturbance() (quiescence.Disturbance, bool) {
	if f.script == nil || f.tasks == nil || f.allRunsEnded() {
		return quiescence.Disturbance{}, false
	}
	all := f.disturbances(f.currentRun())
	if i := slices.IndexFunc(all, func(d quiescence.Disturbance) bool { return d.Action == v1alpha1.DisturbanceAbort }); i >= 0 {
		return all[i], true
	}
	return quiescence.Disturbance{}, false
}

// disturbancesOf returns the disturbances during one task of a run; nil before the task begins.
func (f facts) disturbancesOf(run int32, id string) []quiescence.Disturbance {
	start := f.memory.noted.StartedAt[id]
	if start.IsZero() {
		start = f.tasks.StartTime(id) // After a restart of the manager, only the runner knows the start.
	}
	if start.IsZero() {
		return nil
	}
	end, ended := f.memory.noted.EndedAt[id]
	if !ended {
		end = f.now
	}
	return f.target().Disturbances(start, end, f.expectedOutage(run))
}

// wantsQuiet reports whether the cluster must be quiescent now: before the preparation of the pool and
// clients, and before each run. During the preparation, the new pool itself disturbs the cluster.
func (f facts) wantsQuiet() bool {
	switch {
	case f.job == nil:
		return f.headway.Waiting.For != forPreparation
	case !f.heard():
		return false
	}
	return !f.runAtWork()
}

// asks says what is read of Ceph besides what is always read. A diagnosis counts as a run while it watches Ceph.
func (f facts) asks() clusterwatch.Asks {
	return clusterwatch.Asks{
		BetweenRuns: !f.runAtWork() && !f.tearingDown() && !f.watching(), Strays: quiescence.WaitsForRemoval(f.spec.Quiescence),
		Counters: f.watching() && f.Survey != nil && f.whyUncounted() == "",
	}
}

// mayLoseNodes reports whether clients are at work, and Ceph outlives the node of one of them.
func (f facts) mayLoseNodes() bool {
	if !f.runAtWork() || f.tearingDown() || f.Survey == nil {
		return false
	}
	hosts := map[string]bool{}
	for _, osd := range f.Survey.Tree {
		hosts[osd.Buckets["host"]] = true
	}
	return len(hosts) > 1
}

// runAtWork reports whether the wait for quiescence before the current run is over: that is so if the run has
// begun, all runs have ended, or a client's pod has ended.
func (f facts) runAtWork() bool {
	return f.job != nil && (f.begun(f.currentRun()) || f.allRunsEnded() || len(f.logs) > 0)
}
