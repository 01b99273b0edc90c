package cephbenchmark

import (
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/leftovers"
	"github.com/cephtune/cephtune/internal/settings"
)

// Stories of benchmarks with the scratch pools of several targets.
func targetStories() map[string]story {
	return map[string]story{
		"several pools of a sweep":                       severalPools,
		"several pools lose their images one by one":     imagesInSeveralPools,
		"several pools without a sweep":                  severalPoolsOfAUser,
		"a target that is no pool beside a scratch pool": noPoolBesideAPool,
	}
}

// oneRandRead has two targets.
const oneRandRead = `
repetitions: 1
template:
  target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}
  dataset: {size: 64Mi}
  phases:
  - {name: read, fio: {pattern: RandRead, ramp: 0s, duration: 30s}}
otherTargets:
- {scratchPool: {replicated: {size: 2}, parameters: {pg_num: "8"}}}
`

// withSecondPool lets Ceph have the pool of target 1.
func (w *world) withSecondPool() {
	w.ceph.Change(func(a *cephtest.Answers) {
		second := poolInCeph(100, settings.ScratchNamesOf(1).Pool)
		second.Size = 2
		a.OSDMap.Pools = append(a.OSDMap.Pools, second)
	})
}

func severalPools(w *world) {
	w.withSecondPool()
	b := w.run("b", oneRandRead, nil)
	w.untilMeasured(b)
	w.rook.set(func(f *fakeRook) {
		if len(f.asked) != 2 || f.asked[1].Replicated.Size != 2 || f.owner.UID != "" {
			w.t.Errorf("pools %+v of %q: want two, which are gone", f.asked, f.owner)
		}
	})
	execution := clientjob.ExecutionOf(b.UID, "1").Name
	for pool, name := range map[string]string{settings.ScratchPool: execution + "-0-r1x64m-0", settings.ScratchNamesOf(1).Pool: execution + "t1-0-r1x64m-0"} {
		for _, id := range []string{"data-image-r1x64m", leftovers.TaskID} {
			if steps := strings.Join(w.stepsOf(0, id), "\n"); !strings.Contains(steps, "--pool="+pool+" ") && !strings.Contains(steps, "--pool="+pool+"\n") || !strings.Contains(steps, name) {
				w.t.Errorf("task %s does not work in pool %s: %s", id, pool, steps)
			}
		}
	}
	if steps := strings.Join(w.stepsOf(0, "r1-read"), "\n"); strings.Contains(steps, settings.ScratchNamesOf(1).Pool) {
		w.t.Errorf("the run begins elsewhere than at target 0: %s", steps)
	}
	if b.Status.SpaceEfficiency != nil {
		w.t.Errorf("%+v is the efficiency of two pools", b.Status.SpaceEfficiency)
	}
}

// imagesInSeveralPools has images that the clients could not remove.
func imagesInSeveralPools(w *world) {
	w.withSecondPool()
	w.ceph.Change(func(a *cephtest.Answers) {
		a.Images[settings.ScratchPool] = []string{"cephtune-0123456789-0-w1x64m-0"}
		a.Images[settings.ScratchNamesOf(1).Pool] = []string{"cephtune-0123456789-0-w1x64m-0", "cephtune-0123456789-1-w1x64m-0"}
	})
	w.untilMeasured(w.run("b", oneRandRead, nil))
	w.ceph.Change(func(a *cephtest.Answers) {
		for pool, images := range a.Images {
			if len(images) > 0 {
				w.t.Errorf("images %q are left in pool %s", images, pool)
			}
		}
	})
}

func severalPoolsOfAUser(w *world) {
	b := w.benchmark("b", oneRandRead)
	w.until(b, "Stalled", func() bool { return isTrue(b, v1alpha1.ConditionStalled) })
	if message := messageOf(b); !strings.Contains(message, "Only a CephTuningSweep sets otherTargets") || len(b.Finalizers) > 0 {
		w.t.Errorf("finalizers %q: %s", b.Finalizers, message)
	}
}

func noPoolBesideAPool(w *world) {
	b := w.parse("b", strings.Replace(oneRandRead, "- {scratchPool: {replicated: {size: 2}, parameters: {pg_num: \"8\"}}}", "- {existingPool: {name: open}}", 1))
	if err := w.Create(w.t.Context(), b); err == nil || !strings.Contains(err.Error(), "otherTargets and template.target must be scratch pools, or templates of claims") {
		w.t.Errorf("%v: want a refusal", err)
	}
}
