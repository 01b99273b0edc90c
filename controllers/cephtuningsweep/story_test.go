package cephtuningsweep

import (
	"testing"

	"k8s.io/client-go/rest"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/testing/memmanager"
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
		"schedule": scheduleStories(),
	}, onRealServer)
}

// Sessions have windows of real time, and a busy machine would disturb them. So their stories do
// not run in parallel with all others. They need a real API server: with a fake clock, some of them differ from run to run.
func TestSessionStories(t *testing.T) {
	tell(t, "session", map[string]map[string]story{
		"session": sessionStories(), "pool": sessionPoolStories(), "load": sessionLoadStories(), "target": sessionTargetStories(), "curve": sessionCurveStories(),
		"trial": sessionTrialStories(), "oldruns": oldSessionStories(),
	}, []string{"session", "pool", "load", "target", "curve", "trial", "oldruns"})
}

// onRealServer has the stories that need a real API server, with its namespaces and rights. For most topics, it also has one that
// shows that a real manager with its caches behaves as the one in memory.
var onRealServer = []string{
	"life/in a namespace that is none of benchmarks", "life/in a namespace whose check fails at first",
	"restore/the namespace is deleted", "restore/the namespace is deleted while no manager is there",

	"life/conditions and events on the way", "keep/a winner stays, and the rest is restored", "restore/deleted in the middle of a run",
	"pool/kept over a block, and fresh in the next", "queue/one after the other", "osds/more OSDs help",
	"restorer/the finalizer is taken off", "crash/killed while a deleted sweep is restored",
}

// tell tells stories, those with the given names or topics on a real API server and all others on one in memory.
func tell(t *testing.T, prefix string, topics map[string]map[string]story, onRealServer []string) {
	t.Helper()
	memmanager.Stories[story, *world]{
		Topics: topics, OnRealServer: onRealServer, InMemory: newWorldInMemory,
		Real: func(t *testing.T, server *rest.Config, namespace string) *world {
			return newWorld(t, server, namespace)
		},
	}.Tell(t, prefix)
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
