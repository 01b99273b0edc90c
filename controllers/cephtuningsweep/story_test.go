package cephtuningsweep

import (
	"fmt"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/testing/apiserver"
)

// profileTemplate is the template of a sweep over an option of OSDs.
const profileTemplate = `
template:
  target: {existingPool: {name: open}}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}
`

// profile is a sweep over an option of OSDs.
const profile = profileTemplate + `
parameters:
- {name: profile, config: {option: osd_mclock_profile}, values: [high_client_ops]}
objective: {phase: write, metric: IOPS}
strategy: {blocks: {min: 3, max: 3}, confirmationBlocks: 3, seed: 11}
`

// Each story has its own world.
type story func(*world)

// Stories of sweeps, by topic.
func TestStories(t *testing.T) {
	tell(t, "story", map[string]map[string]story{
		"keep":     keepStories(),
		"trial":    trialStories(),
		"oldruns":  oldRunStories(),
		"restart":  restartStories(),
		"pool":     poolStories(),
		"life":     lifeStories(),
		"queue":    queueStories(),
		"guard":    guardStories(),
		"outage":   outageStories(),
		"inert":    inertStories(),
		"crash":    crashStories(),
		"restore":  restoreStories(),
		"osds":     osdStories(),
		"restorer": restorerStories(),
	})
}

// Sessions have windows of real time, and a busy machine would disturb them. So their stories do
// not run in parallel with all others.
func TestSessionStories(t *testing.T) {
	tell(t, "session", map[string]map[string]story{
		"session": sessionStories(), "pool": sessionPoolStories(), "load": sessionLoadStories(), "target": sessionTargetStories(), "trial": sessionTrialStories(), "oldruns": oldSessionStories(),
	})
}

// tell runs stories in parallel, each in its own namespace.
func tell(t *testing.T, prefix string, topics map[string]map[string]story) {
	t.Helper()
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	config := apiserver.Start(t)
	number := 0
	for topic, stories := range topics {
		for name, tell := range stories {
			number++
			namespace := fmt.Sprintf("%s-%d", prefix, number)
			t.Run(topic+"/"+name, func(t *testing.T) {
				t.Parallel()
				tell(newWorld(t, config, namespace))
			})
		}
	}
}

// faster returns a cluster that is faster by 40 % with the candidate's profile.
func (w *world) faster() func(*v1alpha1.CephBenchmark) float64 {
	return func(*v1alpha1.CephBenchmark) float64 {
		if now, _ := w.ceph.Central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile"); now == "high_client_ops" {
			return 1400
		}
		return 1000
	}
}
