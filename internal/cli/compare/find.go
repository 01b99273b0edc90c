package compare

import (
	"context"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/archive/reference"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/manifest"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/results"
	"github.com/cephtune/cephtune/internal/figure"
)

// side is one side of a comparison, A or B. It has the valid runs, or only the run that the command
// line names.
type side struct {
	name string
	file bool // a user's file, not results in a cluster
	runs []*archive.Run

	benchmark *v1alpha1.CephBenchmark
	// executions holds the results of all executions that are kept. Only the reference of a gate has them;
	// a gate is a comparison with --max-regression.
	executions []corev1.ConfigMap
}

// reader reads benchmarks and their results from a cluster or from files. It connects to a cluster only
// if a side is not a file.
type reader struct {
	connect object.Connect
	stdin   io.Reader
}

// find reads a side. If all is true, it also reads all executions that are kept.
func (r reader) find(ctx context.Context, arg argument, all bool) (side, error) {
	source, b, err := r.open(ctx, arg)
	if err != nil {
		return side{}, err
	}
	s := side{name: arg.typed, file: arg.file, benchmark: b}
	var maps []corev1.ConfigMap
	if all || arg.file {
		s.executions, err = results.KeptExecutions(ctx, source, b)
	}
	switch {
	case err != nil:
		return side{}, err
	case arg.file && len(s.executions) == 0:
		return side{}, fmt.Errorf("%s has no results: write it with \"kubectl cephtune export cephbenchmark/%s\"", arg.name, b.Name)
	case all:
		maps = latestComplete(b, s.executions)
	default:
		s.executions = nil
		if maps, err = results.Kept(ctx, source, b, arg.runID); err != nil {
			return side{}, err
		}
	}
	if s.runs, err = results.Read(b, maps); err != nil {
		return side{}, err
	}
	return s, s.choose(arg)
}

// open reads a benchmark, and returns a reader of its results.
func (r reader) open(ctx context.Context, arg argument) (source client.Reader, b *v1alpha1.CephBenchmark, err error) {
	var found client.Object
	if arg.file {
		source, found, err = manifest.Open(arg.name, r.stdin)
	} else {
		source, found, err = object.OpenKind(ctx, r.connect, object.Benchmark(), arg.name)
	}
	if err != nil {
		return nil, nil, err
	}
	b, ok := found.(*v1alpha1.CephBenchmark)
	if !ok {
		return nil, nil, exit.UsageErrorf("%q: only CephBenchmarks can be compared; the configurations of a sweep are in its report", arg.typed)
	}
	return source, b, nil
}

// latestComplete returns the results of one execution. It prefers the execution in status if that is
// complete and kept, and then the latest other execution. If no other execution is kept, it returns the
// results of the execution in status.
func latestComplete(b *v1alpha1.CephBenchmark, maps []corev1.ConfigMap) []corev1.ConfigMap {
	isCurrent := func(cm corev1.ConfigMap) bool { return cm.Labels[archive.LabelExecution] == archive.Execution(b) }
	others := slices.DeleteFunc(slices.Clone(maps), isCurrent)
	current := slices.DeleteFunc(slices.Clone(maps), func(cm corev1.ConfigMap) bool { return !isCurrent(cm) })
	if reference.Complete(b) && len(current) > 0 || len(others) == 0 {
		return current
	}
	return results.LatestExecution(others)
}

// choose removes the runs that are not compared: all others if the command line names one run, and
// invalid runs otherwise.
func (s *side) choose(arg argument) error {
	all := len(s.runs)
	if all == 0 {
		return fmt.Errorf("there are no results of %s: historyLimit keeps those of the latest %d run IDs, and an unfinished run has no results yet", arg.typed, s.benchmark.Spec.HistoryLimit)
	}
	counts := func(run *archive.Run) bool { return run.State == v1alpha1.RunValid }
	if arg.number > 0 {
		counts = func(run *archive.Run) bool { return run.Number == arg.number }
	}
	s.runs = slices.DeleteFunc(s.runs, func(run *archive.Run) bool { return !counts(run) })
	switch {
	case len(s.runs) == 0 && arg.number > 0:
		return fmt.Errorf("%[2]s has no run %[1]d (number of its runs: %[3]d)", arg.number, arg.name, all)
	case len(s.runs) == 0 && arg.file:
		return fmt.Errorf("no run of %s is valid: \"kubectl cephtune report -f %s\" says why", arg.typed, arg.name)
	case len(s.runs) == 0:
		return fmt.Errorf("no run of %s is valid: \"kubectl cephtune results %s\" says why", arg.typed, arg.name)
	}
	return nil
}

// reference returns the runs of A with which a gate compares: the valid runs that measured the workload w. If
// the command line names an execution or a run, they come only from that. Otherwise they are among the latest
// reference.MaxRuns runs of all executions that are kept, without the execution in status if it is not complete.
func (s side) reference(w reference.Workload) figure.Reference {
	m := reference.NewMatch(s.benchmark, s.name, w)
	if s.executions == nil {
		for _, run := range s.runs {
			m.Add("", run)
		}
		return m.Reference()
	}
	items := make([]metav1.PartialObjectMetadata, len(s.executions))
	for i, cm := range s.executions {
		items[i].ObjectMeta = cm.ObjectMeta
	}
	for _, name := range m.RunsToRead(items) {
		i := slices.IndexFunc(s.executions, func(cm corev1.ConfigMap) bool { return cm.Name == name })
		m.Read(&s.executions[i])
	}
	return m.Reference()
}
