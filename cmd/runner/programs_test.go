package main

import (
	"slices"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
)

// The runner must accept every program that engines request of clients, for prefill and removal
// too.
func TestRunnerAcceptsProgramsOfAllEngines(t *testing.T) {
	const phases = `
- {name: rados, radosBench: {mode: Seq, blockSize: 4Ki, concurrency: 2, duration: 60s}}
- {name: rbd, rbdBench: {ioType: Write, ioPattern: Rand, ioSize: 4Ki, ioThreads: 2, ioTotal: 1Gi, duration: 60s}}
- {name: fio, fio: {pattern: RandReadWrite, blockSize: 4Ki, ioDepth: 1, numJobs: 1, duration: 60s}}
- {name: rate, fio: {pattern: RandReadWrite, blockSize: 4Ki, ioDepth: 1, numJobs: 1, duration: 60s, rateIOPS: 10}}
`
	var all []v1alpha1.Phase
	if err := yaml.UnmarshalStrict([]byte(phases), &all); err != nil {
		t.Fatal(err)
	}
	somewhere := place.Place{CephUser: "io", Owner: "cephtune-1", Clients: 1, DatasetBytes: 1 << 30}
	pool, folder, device := somewhere, somewhere, somewhere
	pool.Pool, folder.Directory, device.Device = "p", "/data", "/dev/cephtune"
	found := map[string]bool{}
	for _, phase := range all {
		load, err := engine.LoadOf(phase)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []place.Place{pool, folder, device} {
			commands := engine.Cleanup(p, []engine.Load{load})
			for _, dataset := range load.Datasets(p) {
				commands = append(commands, dataset.Commands...)
			}
			if todo, err := load.Task(p, engine.Run{ID: "r1"}); err == nil {
				commands = append(append(commands, todo.Steps...), todo.Measure.Command)
			}
			for _, c := range commands {
				found[c.Argv[0]] = true
				if !slices.Contains(programs(), c.Argv[0]) {
					t.Errorf("the runner refuses %q", c.Argv)
				}
			}
		}
	}
	for _, program := range programs() {
		if !found[program] {
			t.Errorf("no engine has a use for %s", program)
		}
	}
}
