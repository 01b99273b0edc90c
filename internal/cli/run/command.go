// Package run is the subcommand that runs a benchmark or a sweep, from a file or from
// flags, and says what it came to.
package run

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/live"
	"github.com/cephtune/cephtune/internal/cli/manifest"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/watch"
)

const longHelp = `Run a benchmark or a sweep, follow it to its end as "watch" does, and say what it came to.

While it measures, the line says how fast its clients are.

With -f it is the one of a file, or of standard input. Otherwise it is a benchmark of one
phase that the flags describe, on a scratch pool that is made for it and removed after,
or with --pool on one that the administrator has opened for benchmarks. What no flag says
is as the kind has it by default; --dry-run=client -o yaml shows what would be created.

The object stays, with its results, until it is deleted. An interrupt leaves it at work:
"cancel" ends it, "watch" follows it again.

Exit codes: 0 it has ended, and its expectations, if it has any, are met; 1 it has failed
or there was another error; 2 wrong usage; 3 it has ended and its expectations are not
met, the verdict is one on which spec.failOn has it fail or not what --expect names, or it
has not ended within --timeout. With --wait=false, 0 means that it was created.`

const examples = `  # Three minutes of 4 MiB writes to a scratch pool
  %[1]s -n cephtune-bench --ceph-cluster rook-ceph/my-cluster --block-size 4Mi

  # The same on a single host
  %[1]s -n cephtune-bench --block-size 4Mi --failure-domain osd

  # Random reads by fio, from a pool of one's own
  %[1]s -n cephtune-bench --pool replicapool --engine fio --mode randread --block-size 4Ki --concurrency 32

  # A gate: fail where the file's expectations are not met
  %[1]s -f nightly.yaml -n cephtune-bench || echo "exit code $?"

  # A sweep, for a pipeline that wants a winner
  %[1]s -f pg-num.yaml --expect Superior,Better`

// options are the flags.
type options struct {
	file    string
	name    string
	wait    bool
	timeout time.Duration
	expect  []string
	dryRun  string
	output  string
	live    bool
	load    load
	logs    live.Logs
}

// NewCommand returns the subcommand; program is the name under which the root was
// called.
func NewCommand(program string) *cobra.Command {
	return kube.Connected(func(connection *kube.Connection) *cobra.Command {
		return newCommand(program, connection.Connect, connection.FollowLog)
	})
}

func newCommand(program string, connect object.Connect, logs live.Logs) *cobra.Command {
	o := &options{logs: logs}
	cmd := &cobra.Command{
		Use:     "run (-f FILE | flags of a benchmark)",
		Short:   "Run a benchmark or a sweep, and say what it came to",
		Long:    longHelp,
		Example: fmt.Sprintf(examples, program+" run"),
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd, args); err != nil {
				return err
			}
			return o.run(cmd, connect)
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *options) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&o.file, "filename", "f", "", "file with a CephBenchmark or a CephTuningSweep; - is standard input")
	flags.StringVar(&o.name, "name", "", "name of the object, instead of the one that the file has or that is made up")
	o.load.addFlags(flags)
	flags.BoolVar(&o.wait, "wait", true, "follow it to its end")
	flags.DurationVar(&o.timeout, "timeout", 0, "how long to follow it, such as 2h; 0 is to its end")
	watch.AddLive(cmd, &o.live)
	flags.StringSliceVar(&o.expect, "expect", nil, "verdicts of which one has to come out, such as Superior,Better")
	flags.StringVar(&o.dryRun, "dry-run", "none", "none, client (print what would be created) or server (have it checked, too)")
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml")
	for name, values := range map[string][]string{
		"dry-run": dryRuns(), "engine": engines(), "mode": modes(), "expect": verdicts(),
	} {
		// It fails only for a flag that does not exist, which a test would show.
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	}
}

func dryRuns() []string { return []string{"none", "client", "server"} }

// verdicts are those of both kinds.
func verdicts() []string {
	return []string{
		string(v1alpha1.BenchmarkPassed), string(v1alpha1.BenchmarkFailed),
		string(v1alpha1.VerdictSuperior), string(v1alpha1.VerdictBetter), string(v1alpha1.VerdictEquivalent),
		string(v1alpha1.VerdictInferior), string(v1alpha1.VerdictInconclusive), string(v1alpha1.VerdictInvalid),
	}
}

func (o *options) check(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 0:
		return exit.UsageErrorf("unexpected argument %q: name a file with -f", args[0])
	case !slices.Contains(dryRuns(), o.dryRun):
		return exit.UsageErrorf("--dry-run %q: want one of %s", o.dryRun, strings.Join(dryRuns(), ", "))
	case o.timeout < 0:
		return exit.UsageErrorf("--timeout %v: want a time such as 2h, or 0 for none", o.timeout)
	case len(o.expect) > 0 && !o.wait:
		return exit.UsageErrorf("--expect is about the end, and --wait=false does not wait for it")
	}
	for _, verdict := range o.expect {
		if !slices.Contains(verdicts(), verdict) {
			return exit.UsageErrorf("--expect %q: want some of %s", verdict, strings.Join(verdicts(), ", "))
		}
	}
	if o.file == "" {
		return o.load.check()
	}
	if given := o.load.given(cmd.Flags()); len(given) > 0 {
		return exit.UsageErrorf("--%s is for a benchmark from flags, and -f names a file: say it there", given[0])
	}
	return nil
}

func (o *options) run(cmd *cobra.Command, connect object.Connect) error {
	ctx := cmd.Context()
	c, namespace, err := connect()
	if err != nil {
		return err
	}
	wanted, err := o.wanted(ctx, c, cmd.InOrStdin())
	if err != nil {
		return err
	}
	if err := Place(wanted, namespace, cmd.Flags().Changed("namespace")); err != nil {
		return err
	}
	if o.name != "" {
		wanted.SetName(o.name)
		wanted.SetGenerateName("")
	}
	if o.dryRun != "none" {
		return o.show(ctx, c, wanted, cmd.OutOrStdout())
	}
	if err := Create(ctx, c, wanted); err != nil {
		return err
	}
	what := strings.ToLower(object.StateOf(wanted).Kind.Name) + "/" + wanted.GetName()
	if _, err := fmt.Fprintf(cmd.ErrOrStderr(), "Created %s in namespace %s.\n", what, wanted.GetNamespace()); err != nil {
		return err
	}
	if !o.wait {
		if o.output != "table" {
			return object.Print(c, wanted, o.output, cmd.OutOrStdout())
		}
		return nil
	}
	request := watch.Request{Object: wanted, Timeout: o.timeout, Output: o.output}
	if o.live {
		request.Logs = o.logs
	}
	ended, err := watch.Follow(ctx, c, request, cmd.OutOrStdout(), cmd.ErrOrStderr())
	if err != nil && !failedOnVerdict(ended) {
		return err
	}
	return o.judge(ended)
}

// wanted is the object as it is to be created, its namespace aside.
func (o *options) wanted(ctx context.Context, c client.Client, stdin io.Reader) (client.Object, error) {
	if o.file != "" {
		return manifest.One(o.file, stdin)
	}
	return o.load.benchmark(ctx, c)
}

// show prints what would be created.
func (o *options) show(ctx context.Context, c client.Client, wanted client.Object, out io.Writer) error {
	if o.dryRun == "server" {
		if err := Create(ctx, client.NewDryRunClient(c), wanted); err != nil {
			return err
		}
	}
	format := o.output
	if format == "table" {
		format = "yaml"
	}
	return object.Print(c, wanted, format, out)
}

// judge tells a verdict that was not expected from an error. A benchmark with
// expectations is expected to meet them.
func (o *options) judge(ended client.Object) error {
	state := object.StateOf(ended)
	expected := o.expect
	if b, is := ended.(*v1alpha1.CephBenchmark); is && len(b.Spec.Expectations) > 0 && len(expected) == 0 {
		expected = []string{string(v1alpha1.BenchmarkPassed)}
	}
	if len(expected) == 0 && failedOnVerdict(ended) {
		return exit.UnexpectedErrorf("the verdict on %s %s is %s, on which spec.failOn has it fail", state.Kind.Name, client.ObjectKeyFromObject(ended), state.Verdict)
	}
	if len(expected) == 0 || slices.Contains(expected, state.Verdict) {
		return nil
	}
	verdict := state.Verdict
	if verdict == "" {
		verdict = "none"
	}
	return exit.UnexpectedErrorf("the verdict on %s %s is %s, and %s is expected", state.Kind.Name, client.ObjectKeyFromObject(ended), verdict, strings.Join(expected, " or "))
}

// failedOnVerdict reports whether a run has its results, and failed because of what they are.
func failedOnVerdict(ended client.Object) bool {
	return ended != nil && object.StateOf(ended).Ready().Reason == v1alpha1.ReasonFailedOnVerdict
}

// Place gives an object its namespace: the one that it names, unless the command line
// names another.
func Place(o client.Object, namespace string, named bool) error {
	if o.GetNamespace() != "" && named && o.GetNamespace() != namespace {
		return exit.UsageErrorf("--namespace %s: the file is for namespace %s", namespace, o.GetNamespace())
	}
	if o.GetNamespace() == "" {
		o.SetNamespace(namespace)
	}
	return nil
}

// Create creates an object, and says what to do where it cannot be.
func Create(ctx context.Context, c client.Client, o client.Object) error {
	kind := object.StateOf(o).Kind
	what := fmt.Sprintf("%s %s/%s", kind.Name, o.GetNamespace(), o.GetName())
	switch err := c.Create(ctx, o, client.FieldOwner("kubectl-cephtune"), client.FieldValidation("Strict")); {
	case meta.IsNoMatchError(err):
		return object.Unknown(kind)
	case apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%s exists: choose another --name, or change its spec.runID to run it again", what)
	case err != nil:
		return fmt.Errorf("creating %s: %w", what, err)
	}
	return nil
}
