package engine

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/parse"
)

// backgroundOf returns a template with a phase that is its background load.
func backgroundOf(p v1alpha1.Phase) *v1alpha1.BenchmarkTemplate {
	p.Name = "aside"
	return &v1alpha1.BenchmarkTemplate{
		Phases:         []v1alpha1.Phase{{Name: "measured"}, p},
		BackgroundLoad: &v1alpha1.BackgroundLoad{Phase: "aside"},
	}
}

// A background load runs longer than any run. Its run time is not checked.
func TestABackgroundHasNoEndOfItsOwn(t *testing.T) {
	cases := map[string]struct {
		phase     v1alpha1.Phase
		want      []string // among the arguments
		wantBytes int64
	}{
		"rados bench": {phase: radosPhase(v1alpha1.RadosBenchRand), want: []string{"604800", "rand"}, wantBytes: 4 << 20},
		"rbd bench":   {phase: rbdPhase(v1alpha1.RBDBenchWrite), want: []string{"--io-total=112589990684262400B"}},
		"fio":         {phase: fioPhase("", v1alpha1.FioRandWrite), want: []string{"--runtime=604800s", "--name=job-background-0"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			given := backgroundOf(tc.phase)
			before := given.DeepCopy()
			defer func() {
				if diff := cmp.Diff(before, given); diff != "" {
					t.Errorf("what was given was changed (-before +after):\n%s", diff)
				}
			}()
			l, err := BackgroundOf(given)
			if err != nil {
				t.Fatal(err)
			}
			got, err := l.Task(pool(), Run{ID: "background-r1"})
			if err != nil {
				t.Fatal(err)
			}
			m := got.Measure
			for _, want := range tc.want {
				if !slices.Contains(m.Argv, want) {
					t.Errorf("%q lacks %s", m.Argv, want)
				}
			}
			if strings.Contains(strings.Join(m.Argv, " "), "--ramp_time") {
				t.Errorf("it has a ramp: %q", m.Argv)
			}
			if !m.UntilCancelled || m.OperationBytes != tc.wantBytes || m.RequestedSeconds+m.MinimumSeconds != 0 || m.RequestedBytes != 0 {
				t.Errorf("the measurement is %+v", m)
			}
			if got.MeasureTimeoutSeconds != 7*24*3600 || l.Timing() != (Timing{}) {
				t.Errorf("its deadline is %v s, its timing %+v", got.MeasureTimeoutSeconds, l.Timing())
			}
			if _, piloted := l.(Piloted); piloted {
				t.Error("it needs pilots")
			}
		})
	}
}

func TestABackgroundWithoutALoadIsRefused(t *testing.T) {
	for name, p := range map[string]v1alpha1.Phase{"none": {}, "no pattern": {Fio: &v1alpha1.Fio{}}} {
		if l, err := BackgroundOf(backgroundOf(p)); l != nil || err == nil || !strings.HasPrefix(err.Error(), "background: ") {
			t.Errorf("%s: got %v, %v", name, l, err)
		}
	}
}

// The API server drops the load of an object that an older version stored, which was within backgroundLoad.
func TestABackgroundOfAnOlderVersionIsRefused(t *testing.T) {
	old := backgroundOf(v1alpha1.Phase{})
	old.BackgroundLoad.Phase = ""
	if l, err := BackgroundOf(old); l != nil || err == nil || !strings.Contains(err.Error(), "write the background load as an entry of phases") {
		t.Errorf("got %v, %v", l, err)
	}
	if l, err := BackgroundOf(&v1alpha1.BenchmarkTemplate{}); l != nil || err != nil {
		t.Errorf("got %v, %v without a background load", l, err)
	}
}

// rados bench ends without a summary when it is stopped. Its rows contain nearly as much if the
// size of an operation is known.
func TestStoppedRadosBenchHasAResultFromRows(t *testing.T) {
	whole, err := os.ReadFile("radosbench/testdata/lab-ceph-18.2.7/write-4m.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows, _, _ := strings.Cut(string(whole), "Total time run")
	partial := func(operationBytes int64) *parse.IncompleteError {
		t.Helper()
		_, err := parseOutput(strings.NewReader(rows), Options{OperationBytes: operationBytes})
		incomplete, ok := errors.AsType[*parse.IncompleteError](err)
		if !ok || incomplete.Reason != parse.Truncated {
			t.Fatalf("got %v", err)
		}
		return incomplete
	}
	got := partial(4 << 20).Partial
	full, err := parseOutput(strings.NewReader(string(whole)), Options{})
	if err != nil || got == nil || got.Write == nil {
		t.Fatalf("got %+v, %v", got, err)
	}
	if ratio := got.Write.BytesPerSecond() / full.Write.BytesPerSecond(); ratio < 0.9 || ratio > 1.1 {
		t.Errorf("the rows tell %v bytes per second, the summary %v", got.Write.BytesPerSecond(), full.Write.BytesPerSecond())
	}
	if got.Write.Series == nil || got.Write.Latency == nil || got.Write.Operations > full.Write.Operations {
		t.Errorf("the rows tell %+v", got.Write)
	}
	if partial(0).Partial != nil {
		t.Error("there is a result though nobody knows how large an operation is")
	}
}
