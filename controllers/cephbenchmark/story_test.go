package cephbenchmark

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/cephtune/cephtune/internal/testing/memmanager"
)

// oneWrite is the shortest benchmark.
const oneWrite = `
repetitions: 1
template:
  target: {scratchPool: {replicated: {size: 3}, parameters: {pg_num: "8"}}}
  dataset: {size: 64Mi}
  phases:
  - {name: write, fio: {engine: RADOS, pattern: RandWrite, ramp: 0s, duration: 30s}}
`

// TestMain runs more stories at once than there are processors, because stories wait most of the
// time.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(max(16, runtime.GOMAXPROCS(0)))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// Each story has its own world.
type story func(*world)

// onRealServer has the topics that need a real API server, with its namespaces, rights and pods that end late, and for other
// topics one that shows that a real manager with its caches behaves as the one in memory.
var onRealServer = []string{
	"namespace", "nodes", "shared", "trial", "cluster/a namespace that is none of benchmarks",

	"results/results of two clients outlive a restart", // In memory, both clients start at one moment.
	"life/a new run ID runs again", "results/expectations that are met", "reference/as fast as on three days", "deletion/after the end",
	"data/deleted in the midst of it", "restarts/between runs", "beside/deleted in mid-run", "outages/Ceph says that it is not ok",
	"logs/a pod ends without a manager", "strangers/3 while clients measure",
}

// Stories of benchmarks, from creation to a clean cluster, by topic: those of onRealServer on a real API server, and all others
// on one in memory.
func TestStories(t *testing.T) {
	memmanager.Stories[story, *world]{
		OnRealServer: onRealServer, Real: newWorld, InMemory: newWorldInMemory,
		Topics: map[string]map[string]story{
			"life":      lifeStories(),
			"results":   resultStories(),
			"failures":  failureStories(),
			"restarts":  restartStories(),
			"cluster":   clusterStories(),
			"deletion":  deletionStories(),
			"namespace": namespaceStories(),
			"logs":      logStories(),
			"nodes":     nodeStories(),
			"beside":    backgroundStories(),
			"osds":      osdStories(),
			"outages":   outageStories(),
			"data":      dataStories(),
			"room":      roomStories(),
			"shared":    sharedStories(),
			"targets":   targetStories(),
			"trial":     trialStories(),
			"reference": referenceStories(),
			"strangers": strangerStories(),
		},
	}.Tell(t, "story")
}
