package live

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

func TestAimIsThatOfAllClients(t *testing.T) {
	key := types.NamespacedName{Namespace: "bench", Name: "b"}
	runners := map[string]*runnertest.Runner{"one:1": runnertest.New(0), "two:1": runnertest.New(1)}
	dial := func(address string, _ []byte, _ *limits.Account) (runner.Client, error) { return runners[address], nil }
	l := New(dial, nil, time.Now, func(types.NamespacedName) {})
	load := &v1alpha1.Fio{
		Engine: v1alpha1.FioEngineRADOS, Pattern: v1alpha1.FioRandRead, NumJobs: 1, IODepth: 7, BlockSize: resource.MustParse("4Ki"),
		Duration: metav1.Duration{Duration: time.Minute}, Ramp: &metav1.Duration{Duration: time.Hour},
	}
	w := Window{Target: 2, Phase: v1alpha1.Phase{Name: "write", Fio: load}, Again: 3}
	aims := func(want error) {
		t.Helper()
		if err := l.Aim(t.Context(), key, 2, w); !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
	}
	aims(ErrNotMeasuring) // The manager follows no client.
	s := l.Of(key, "1")
	t.Cleanup(func() { l.Forget(key) })
	s.Runners.Follow(map[int]string{0: "one:1", 1: "two:1"}, nil)
	aims(ErrNotMeasuring) // Another process has started the phase.
	places := []place.Place{{Owner: "o", Pool: "p", CephUser: "io", Client: 0, Clients: 2, DatasetBytes: 1 << 30}, {Owner: "o", Pool: "p", CephUser: "io", Client: 1, Clients: 2, DatasetBytes: 1 << 30}}
	s.NoteScript(&workload.Script{Places: places})
	for _, c := range runners {
		if _, err := c.Put(t.Context(), task.Task{ID: "r1-write", Measure: &task.Measurement{UntilCancelled: true}, MeasureTimeoutSeconds: 60}); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Aim(t.Context(), key, 2, w); !runner.HasCode(err, runner.NotReady) {
		t.Fatalf("before the start: %v", err)
	}
	for _, c := range runners {
		await(t, c)
	}
	aims(nil)
	seeds := map[string]bool{}
	for address, c := range runners {
		all := c.Aims("r1-write")
		if len(all) != 1 || all[0].Target != 2 {
			t.Fatalf("%s is aimed %+v", address, all)
		}
		argv := all[0].Command.Argv
		if argv[0] != "fio" || !slices.Contains(argv, "--iodepth=7") || slices.ContainsFunc(argv, func(a string) bool { return strings.HasPrefix(a, "--ramp_time") }) {
			t.Errorf("%s runs %q, want fio with depth 7 and without a ramp", address, argv)
		}
		seeds[argv[slices.IndexFunc(argv, func(a string) bool { return strings.HasPrefix(a, "--randseed=") })]] = true
	}
	w.Again = 4
	aims(nil)
	for _, c := range runners {
		argv := c.Aims("r1-write")[1].Command.Argv
		seeds[argv[slices.IndexFunc(argv, func(a string) bool { return strings.HasPrefix(a, "--randseed=") })]] = true
	}
	if len(seeds) != 4 || load.Ramp == nil {
		t.Errorf("%d seeds, want one for each client and window; ramp %v", len(seeds), load.Ramp)
	}
}
