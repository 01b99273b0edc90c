// Package watch is the subcommand that follows a CephTuningSweep or a CephBenchmark to
// its end, and then says what it came to.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
)

const longHelp = `Follow a CephTuningSweep or a CephBenchmark until it has ended, and say what it came to.

While it is at work there is a line for each thing that changes: the phase, the runs
that are done, the best configuration so far, what goes on, and when it is expected to
end. On a terminal the last line is kept up to date. With -o json and -o yaml, these
lines are on standard error, and the object is printed once it has ended.

What is so far the best may well not win: that is for the verdict to say.

A connection that breaks is made again, for up to two minutes without an answer. An
object that is suspended is followed until it is resumed. Interrupting this command
leaves the object as it is: to end a sweep, set spec.suspend or delete it.

Exit codes: 0 it has ended with a result, whatever the verdict; 1 it has failed, is
stalled or was deleted, or there was another error; 2 wrong usage; 3 it has not ended:
--timeout is over, or this command was interrupted.`

const examples = `  # A sweep, to its verdict
  %[1]s pg-num -n cephtune-bench

  # A benchmark, for an hour at most
  %[1]s cephbenchmark/nightly -n cephtune-bench --timeout 1h

  # What came out, for a script
  %[1]s cephsweep/pg-num -n cephtune-bench -o json | jq -r .status.verdict`

// options are the flags.
type options struct {
	kind    kind
	name    string
	timeout time.Duration
	output  string
}

// surroundings are what the command works with.
type surroundings struct {
	// connect makes a client and tells the namespace that was chosen.
	connect func() (client.WithWatch, string, error)
	now     func() time.Time
	pace    pace
}

// The ways in which following can end early.
var (
	errTimeout     = errors.New("--timeout is over")
	errInterrupted = errors.New("this command was interrupted")
)

// NewCommand returns the subcommand; program is the name under which the root was
// called.
func NewCommand(program string) *cobra.Command {
	flags := genericclioptions.NewConfigFlags(true)
	cmd := newCommand(program, surroundings{
		connect: func() (client.WithWatch, string, error) { return kube.Connect(flags) },
		now:     time.Now,
		pace:    defaultPace(),
	})
	flags.AddFlags(cmd.Flags())
	return cmd
}

func newCommand(program string, with surroundings) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:     "watch ([cephtuningsweep/]NAME | cephbenchmark/NAME)",
		Short:   "Follow a sweep or a benchmark to its end, and say what it came to",
		Long:    longHelp,
		Example: fmt.Sprintf(examples, program+" watch"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.read(args); err != nil {
				return err
			}
			ctx, stop := o.bounded(cmd.Context())
			defer stop()
			return o.run(ctx, with, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVarP(&o.output, "output", "o", "table", strings.Join(outputs(), ", "))
	flags.DurationVar(&o.timeout, "timeout", 0, "how long to follow it, such as 2h; 0 is to its end")
	// It fails only for a flag that does not exist, which a test would show.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func outputs() []string { return []string{"table", "json", "yaml"} }

// read takes what was typed: TYPE/NAME, TYPE NAME, or the NAME of a sweep.
func (o *options) read(args []string) error {
	switch {
	case !slices.Contains(outputs(), o.output):
		return exit.UsageErrorf("--output %q: want one of %s", o.output, strings.Join(outputs(), ", "))
	case o.timeout < 0:
		return exit.UsageErrorf("--timeout %v: want a time such as 2h, or 0 for none", o.timeout)
	case len(args) == 1:
		word, name, typed := strings.Cut(args[0], "/")
		if !typed {
			word, name = sweepKind().name, args[0]
		}
		return o.choose(word, name)
	case len(args) == 2 && !strings.Contains(args[0]+args[1], "/"):
		return o.choose(args[0], args[1])
	}
	return exit.UsageErrorf("want one object, such as NAME or cephbenchmark/NAME, got %d arguments", len(args))
}

func (o *options) choose(word, name string) error {
	of, known := kindOf(word)
	switch {
	case !known:
		return exit.UsageErrorf("%q is nothing that can be followed: want cephtuningsweep or cephbenchmark", word)
	case name == "" || strings.Contains(name, "/"):
		return exit.UsageErrorf("%q is no name of a %s", name, of.name)
	}
	o.kind, o.name = of, name
	return nil
}

// bounded is a context that ends with the timeout, or when the user interrupts.
func (o *options) bounded(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(parent, os.Interrupt, syscall.SIGTERM)
	if o.timeout == 0 {
		return ctx, stop
	}
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	return ctx, func() {
		cancel()
		stop()
	}
}

// early is why a context has ended.
func early(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errTimeout
	}
	return errInterrupted
}

func (o *options) run(ctx context.Context, with surroundings, out, errOut io.Writer) error {
	c, namespace, err := with.connect()
	if err != nil {
		return err
	}
	lines := out
	if o.output != "table" {
		lines = errOut
	}
	key := client.ObjectKey{Namespace: namespace, Name: o.name}
	shown := &screen{to: newTerminal(lines), now: with.now}
	f := follower{client: c, kind: o.kind, key: key, pace: with.pace}
	object, err := f.follow(ctx, shown.show)
	shown.finish()
	if err != nil {
		return o.unfinished(err, key, shown.last)
	}
	if err := o.print(ctx, c, object, out); err != nil {
		return err
	}
	if end := shown.last.end; end == endFailed {
		return fmt.Errorf("%s %s has not come to a result: %s: %s", o.kind.name, key, shown.last.phase, shown.last.message)
	}
	return nil
}

// unfinished tells an end that was asked for from an error.
func (o *options) unfinished(err error, key client.ObjectKey, last view) error {
	if !errors.Is(err, errTimeout) && !errors.Is(err, errInterrupted) {
		return err
	}
	at := prefixed("; it was at: ", strings.Join(words(last.phase, last.progress, last.detail()), ", "))
	return exit.UnexpectedErrorf("%s %s has not ended: %w%s", o.kind.name, key, err, at)
}

// print writes what the object came to.
func (o *options) print(ctx context.Context, c client.Client, object client.Object, out io.Writer) error {
	var printer printers.ResourcePrinter
	switch o.output {
	case "json":
		printer = &printers.JSONPrinter{}
	case "yaml":
		printer = &printers.YAMLPrinter{}
	default:
		return o.kind.report(ctx, c, object, out)
	}
	of, err := c.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	object.GetObjectKind().SetGroupVersionKind(of)
	return (&printers.OmitManagedFieldsPrinter{Delegate: printer}).PrintObj(object, out)
}
