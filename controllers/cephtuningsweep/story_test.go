package cephtuningsweep

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// profile is a sweep over an option of OSDs.
const profile = `
template:
  target: {existingPool: {name: open}}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}
parameters:
- {name: profile, config: {option: osd_mclock_profile}, values: [high_client_ops]}
objective: {phase: write, metric: IOPS}
strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3, seed: 1}
`

// A story is told in a world of its own.
type story func(*world)

// Stories of sweeps, by topic.
func TestStories(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	config := apiserver.Start(t)
	number := 0
	for topic, stories := range map[string]map[string]story{
		"keep":    keepStories(),
		"restart": restartStories(),
		"life":    lifeStories(),
	} {
		for name, tell := range stories {
			number++
			namespace := fmt.Sprintf("story-%d", number)
			t.Run(topic+"/"+name, func(t *testing.T) {
				t.Parallel()
				tell(newWorld(t, config, namespace))
			})
		}
	}
}

func lifeStories() map[string]story {
	return map[string]story{
		"an option that helps is found superior, and put back": func(w *world) {
			before := w.state()
			w.bench.set(func(b *bench) { b.speed = w.fasterWith("high_client_ops", 1.4) })
			s := w.create("s", profile)
			w.await(s, "complete", is(v1alpha1.ConditionComplete))
			if s.Status.Verdict != v1alpha1.VerdictSuperior || s.Status.Best != "profile=high_client_ops" {
				w.t.Errorf("verdict %s on %s, want Superior on profile=high_client_ops: %s", s.Status.Verdict, s.Status.Best, s.Status.Summary)
			}
			if !strings.HasPrefix(string(s.Status.Effect), "+4") && !strings.HasPrefix(string(s.Status.Effect), "+3") {
				w.t.Errorf("effect %s, want about +40%%", s.Status.Effect)
			}
			if len(s.Status.Patches) == 0 || !strings.Contains(s.Status.Patches[0].Merge, "high_client_ops") {
				w.t.Errorf("patches %+v, want one with the winner", s.Status.Patches)
			}
			w.wantState(before)
		},
		"an option that does nothing is found equivalent": func(w *world) {
			before := w.state()
			s := w.create("s", profile)
			w.await(s, "complete", is(v1alpha1.ConditionComplete))
			if s.Status.Verdict != v1alpha1.VerdictEquivalent {
				w.t.Errorf("verdict %s, want Equivalent: %s", s.Status.Verdict, s.Status.Summary)
			}
			w.wantState(before)
		},
	}
}

// fasterWith is a cluster that is faster with an mClock profile.
func (w *world) fasterWith(profile string, ratio float64) func(*v1alpha1.CephBenchmark) float64 {
	return func(*v1alpha1.CephBenchmark) float64 {
		if now, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile"); now == profile {
			return 1000 * ratio
		}
		return 1000
	}
}
