package cephbenchmark

import (
	"regexp"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

const phasesOnPools = `
- {name: rados, radosBench: {mode: Seq, blockSize: 4Ki, concurrency: 2, duration: 60s}}
- {name: fio, fio: {engine: RBD, pattern: RandReadWrite, blockSize: 4Ki, ioDepth: 1, numJobs: 1, duration: 60s}}
- {name: objects, fio: {engine: RADOS, pattern: RandRead, blockSize: 4Ki, ioDepth: 1, numJobs: 1, duration: 60s}}
`

// FuzzTarget sets a text in each field of a target that gets into commands, and in the run ID, as
// if the API server had admitted it. Then the clients must get either no commands, or commands of
// single words that begin with one of our options.
func FuzzTarget(f *testing.F) {
	for _, text := range []string{
		"open", "", "-", "--yes", "a b", "a\nb", "a\n--yes", "a=b", "a,b", "a:b", "a/b", "../a", "$(id)", "`id`", "a;b", "a\x00b", ".mgr", "global", "Layering", "Clients",
	} {
		f.Add(text)
	}
	word := regexp.MustCompile(`^(--[a-z]+([_-][a-z]+)*(=[A-Za-z0-9_./:$+-]+)?|--load=\{[][A-Za-z0-9_."{}:,/-]+\}|[A-Za-z0-9_/][A-Za-z0-9_./-]*|-f)$`)
	f.Fuzz(func(t *testing.T, text string) {
		for kind, target := range map[string]v1alpha1.Target{
			"pool":      {ExistingPool: &v1alpha1.ExistingPool{Name: v1alpha1.PoolName(text)}},
			"data pool": {ExistingPool: &v1alpha1.ExistingPool{Name: "open", DataPool: v1alpha1.PoolName(text)}},
			"sharing":   {ScratchPool: &v1alpha1.ScratchPool{Image: v1alpha1.Image{Sharing: v1alpha1.ImageSharing(text)}}},
			"claim":     {PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: text}},
		} {
			template := v1alpha1.BenchmarkTemplate{Target: target, Clients: v1alpha1.Clients{Count: 2}, BackgroundLoad: aBackground()}
			if err := yaml.UnmarshalStrict([]byte(phasesOnPools), &template.Phases); err != nil {
				t.Fatal(err)
			}
			template.Phases = append(template.Phases, asidePhase())
			cluster := settings.Cluster{Identities: settings.Identities{IO: "cephtune-io"}}
			s := clientjob.ExecutionOf("u", v1alpha1.RunID(text))
			places := workload.Places(s.Name, cluster.Identities.IO, template, []v1alpha1.Target{template.Target}, 0, 18, 1<<30, false)
			made, err := workload.New(template, places, workload.PlaceOfBackground(s.Background().Name, places))
			if err != nil {
				continue
			}
			planned := backgroundTasks(made.Background)
			made.Background = nil
			planned = append(planned, tasksOfRun(made)...)
			for _, todo := range planned {
				commands := todo.Steps
				if todo.Measure != nil {
					commands = append(commands, todo.Measure.Command)
				}
				for _, c := range commands {
					for _, argument := range c.Argv {
						if !word.MatchString(argument) {
							t.Fatalf("%s %q: argument %q of %q", kind, text, argument, c.Argv)
						}
					}
				}
			}
		}
	})
}

// tasksOfRun returns the tasks of the first run of a script without a background load, if each task succeeds. It ends
// at a pilot, whose result the fuzzer does not have.
func tasksOfRun(s *workload.Script) []task.Task {
	var all []task.Task
	done, notes, now := make(workload.Tasks, len(s.Places)), workload.NewNotes(), time.Unix(0, 0)
	for i := range done {
		done[i] = map[string]task.Status{}
	}
	for {
		notes.NoteEnds(done, now)
		switch move := s.Next(1, done, nil, notes, now); move.Kind {
		case workload.MoveAssign:
			all = append(all, move.Tasks...)
			for i := range done {
				done[i][move.ID] = task.Status{ID: move.ID, State: task.Done}
			}
		case workload.MoveRest:
			now = move.Until
		default:
			return all
		}
	}
}

// backgroundTasks returns the tasks of the background load, if there is one.
func backgroundTasks(b *workload.Background) []task.Task {
	var all []task.Task
	for _, dataset := range b.Load.Datasets(b.Place) {
		all = append(all, task.Task{Steps: append(dataset.Commands, dataset.Remove...)})
	}
	if run, err := b.Load.Task(b.Place, engine.Run{ID: workload.BackgroundID(1)}); err == nil {
		all = append(all, run)
	}
	return all
}
