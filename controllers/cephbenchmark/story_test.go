package cephbenchmark

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/cephtune/cephtune/internal/testing/apiserver"
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

// Stories of benchmarks, from creation to a clean cluster, by topic.
func TestStories(t *testing.T) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	config := apiserver.Start(t)
	number := 0
	for topic, stories := range map[string]map[string]story{
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
		"curves":    curveStories(),
		"diagnoses": diagnosisStories(),
		"layers":    layersStories(),
		"trial":     trialStories(),
		"reference": referenceStories(),
		"strangers": strangerStories(),
		"schedules": scheduleStories(),
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
