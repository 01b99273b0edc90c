package start

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/live"
	"github.com/cephtune/cephtune/internal/cli/load"
	"github.com/cephtune/cephtune/internal/cli/manifest"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/words"
)

// running has the flags of the subcommand run.
type running struct {
	starter
	file string
	// from is the name of an object to copy.
	from string
	load load.Flags
	gate limits
	// repetitions applies only to benchmarks from flags.
	repetitions int32
	// quick applies only to several StorageClasses.
	quick bool
}

// NewRunCommand returns the subcommand that runs a benchmark or a sweep from a file or from flags.
func NewRunCommand(connect object.Connect, logs live.Logs) *cobra.Command {
	o := &running{starter: starter{logs: logs}}
	cmd := &cobra.Command{
		Use:   "run (-f FILE | --from NAME | flags of a benchmark)",
		Short: "Run a benchmark or a sweep, and print its outcome",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args); err != nil {
				return err
			}
			switch {
			case o.from != "":
				o.build = func(ctx context.Context, _ client.Client, _ io.Writer) (client.Object, error) {
					_, original, err := object.Open(ctx, connect, []string{o.from})
					if err != nil {
						return nil, err
					}
					return once(original), nil
				}
				return o.start(cmd, connect)
			case o.file == "":
				o.build = o.fromFlags
				return inFlags(o.start(cmd, connect))
			}
			o.build = func(ctx context.Context, c client.Client, _ io.Writer) (client.Object, error) {
				read, err := manifest.One(o.file, cmd.InOrStdin())
				if err != nil {
					return nil, err
				}
				return read, load.FillCluster(ctx, c, read)
			}
			return o.start(cmd, connect)
		},
	}
	o.addFlags(cmd)
	_ = cmd.RegisterFlagCompletionFunc("from", object.Complete(connect, 1)) // It fails only for flags that do not exist.
	return cmd
}

// usualDuration makes three runs, with their ramps and a scratch pool, end within four minutes.
const usualDuration = 45 * time.Second

func (o *running) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVarP(&o.file, "filename", "f", "", "file with a CephBenchmark or a CephTuningSweep; - is standard input")
	flags.StringVar(&o.from, "from", "", "benchmark or sweep to run once more, now, as a copy without its schedule")
	o.load.Add(cmd, usualDuration)
	flags.Int32Var(&o.repetitions, "repetitions", 3, "number of runs; intervals need three")
	flags.BoolVar(&o.quick, "quick", false, "compare several classes of --storage-class in minutes: one load goes to volumes of each in turn, and the verdict holds only for these volumes, in this "+
		"hour; or, if the load cannot, as few runs as possible, which prove only large differences")
	o.gate.addFlags(flags)
	o.addStart(cmd, verdicts())
}

// verdicts returns those of benchmarks and of sweeps.
func verdicts() []string {
	return append([]string{string(v1alpha1.BenchmarkPassed), string(v1alpha1.BenchmarkFailed)}, words.SweepVerdicts()...)
}

func (o *running) check(cmd *cobra.Command, args []string) error {
	args, err := o.checkStart(args, verdicts())
	switch {
	case err != nil:
		return err
	case len(args) > 0:
		return exit.UsageErrorf("unexpected argument %q: name a file with -f", args[0])
	}
	if o.file != "" && o.from != "" {
		return exit.UsageErrorf("-f and --from both name what to run: use one of them")
	}
	if o.file == "" && o.from == "" {
		if err := o.load.Check(o.gate.p99 != ""); err != nil {
			return err
		}
		return o.checkClasses(cmd)
	}
	given := append(o.load.Given(), o.gate.given(cmd.Flags())...)
	if cmd.Flags().Changed("repetitions") {
		given = append(given, "repetitions")
	}
	if o.quick {
		given = append(given, "quick")
	}
	if len(given) > 0 {
		if o.from != "" {
			return exit.UsageErrorf("--%s is for a benchmark from flags, but --from copies %s: remove it", given[0], o.from)
		}
		return exit.UsageErrorf("--%s is for a benchmark from flags, but -f names a file: set it in the file", given[0])
	}
	return nil
}

// once returns a copy of an object that runs once, now, with a generated name. It has no labels and annotations: those of a tool
// such as Argo CD would let it remove the copy.
func once(original client.Object) client.Object {
	metadata := metav1.ObjectMeta{Namespace: original.GetNamespace(), GenerateName: prefixOf(original, "-")}
	if s, ok := original.(*v1alpha1.CephTuningSweep); ok {
		again := &v1alpha1.CephTuningSweep{ObjectMeta: metadata, Spec: *s.Spec.DeepCopy()}
		again.Spec.Schedule, again.Spec.RunID, again.Spec.Suspend = nil, "", false
		return again
	}
	again := &v1alpha1.CephBenchmark{ObjectMeta: metadata}
	if b, ok := original.(*v1alpha1.CephBenchmark); ok {
		again.Spec = *b.Spec.DeepCopy()
		again.Spec.Schedule, again.Spec.RunID, again.Spec.Suspend = nil, "", false
	}
	return again
}

// checkClasses refuses, for a comparison of several classes, the flags that it does not support, and, for
// anything else, the flag --quick. It also validates the limits of the gate.
func (o *running) checkClasses(cmd *cobra.Command) error {
	if given := o.gate.given(cmd.Flags()); o.load.Classes() != nil && len(given) > 0 {
		return exit.UsageErrorf("--%s is a limit for one StorageClass, but --storage-class names several: remove it, or run one class after the other", given[0])
	}
	if o.load.Classes() != nil && cmd.Flags().Changed("repetitions") {
		return exit.UsageErrorf("--repetitions is for one StorageClass: a comparison of several repeats itself until it can decide")
	}
	if o.repetitions < 1 {
		return exit.UsageErrorf("--repetitions %d: want at least 1", o.repetitions)
	}
	if o.load.Classes() == nil && o.quick {
		return exit.UsageErrorf("--quick compares several StorageClasses, such as --storage-class a,b: for one benchmark, use --repetitions 1")
	}
	if err := o.gate.check(); err != nil || o.gate.p99 == "" {
		return err
	}
	return o.load.CheckPercentile("--max-p99 " + o.gate.p99)
}

// fromFlags returns the object that the flags describe: a benchmark, or a sweep over StorageClasses.
func (o *running) fromFlags(ctx context.Context, c client.Client, errOut io.Writer) (client.Object, error) {
	ref, template, err := o.load.Resolve(ctx, c, o.isDry(), errOut)
	if err != nil {
		return nil, err
	}
	if classes := o.load.Classes(); classes != nil {
		s := &v1alpha1.CephTuningSweep{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "run-"},
			Spec: v1alpha1.CephTuningSweepSpec{
				ClusterRef: ref, Template: template, Parameters: []v1alpha1.Parameter{*classes},
				Objective: v1alpha1.Objective{MetricReference: v1alpha1.MetricReference{Phase: template.Phases[0].Name, Metric: o.load.Figure()}},
			},
		}
		if o.quick {
			load.Quick(&s.Spec)
		}
		return s, nil
	}
	return &v1alpha1.CephBenchmark{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "run-"},
		Spec: v1alpha1.CephBenchmarkSpec{
			ClusterRef: ref, Repetitions: o.repetitions, Template: template, Expectations: o.gate.expectations(template.Phases[0].Name, o.load.ClosedLoop()),
		},
	}, nil
}

// place sets the namespace of an object whose manifest names no namespace. If named is true, the user
// named the namespace, and a manifest with another namespace is an error.
func place(o client.Object, namespace string, named bool) error {
	if o.GetNamespace() != "" && named && o.GetNamespace() != namespace {
		return exit.UsageErrorf("--namespace %s: the file is for namespace %s", namespace, o.GetNamespace())
	}
	if o.GetNamespace() == "" {
		o.SetNamespace(namespace)
	}
	return nil
}

// create creates an object. The error says what to do if the operator does not watch the namespace, if the API server does not know the kind, if the name is
// taken, or if the manifest has a word of other tools: fio's name of a field, or a short name of a metric.
func create(ctx context.Context, c client.Client, o client.Object) error {
	if err := kube.CheckNamespace(ctx, c, o.GetNamespace()); err != nil {
		return err
	}
	kind := object.StateOf(o).Kind
	name := fmt.Sprintf("%s %s/%s", kind.Name, o.GetNamespace(), cmp.Or(o.GetName(), o.GetGenerateName()+"*"))
	switch err := c.Create(ctx, o, client.FieldOwner("kubectl-cephtune"), client.FieldValidation("Strict")); {
	case meta.IsNoMatchError(err):
		return object.Unknown(kind)
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%s exists: choose another --name, or change its spec.runID to run it again", name)
	case err != nil:
		if refused := invalid(name, err); refused != nil {
			return refused
		}
		return fmt.Errorf("creating %s: %w%s", name, err, words.Hint(err.Error()))
	}
	return nil
}
