// Package watch is the subcommand that follows a CephTuningSweep or a CephBenchmark to its end, and
// then prints the outcome.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/live"
	cli "github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/figure"
)

type options struct {
	kind    cli.Kind // may be empty, see [cli.Get]
	name    string
	timeout time.Duration
	output  string
	quiet   bool
	live    bool
	// report prints the outcome; nil for that of a sweep or a benchmark.
	report func(client.Object, io.Writer) error
}

// surroundings holds the dependencies of the command.
type surroundings struct {
	// connect makes a client and returns the chosen namespace.
	connect cli.Connect
	// logs follows the logs of pods. If it is nil, no live figures are shown.
	logs live.Logs
	now  func() time.Time
	pace pace
}

// NewCommand returns the subcommand.
func NewCommand(connect cli.Connect, logs live.Logs) *cobra.Command {
	return newCommand(surroundings{connect: connect, logs: logs, now: time.Now, pace: defaultPace()})
}

func newCommand(with surroundings) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "watch ([cephtuningsweep/]NAME | cephbenchmark/NAME)",
		Short: "Follow a sweep or a benchmark to its end, and print its outcome",

		ValidArgsFunction: cli.Complete(with.connect, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.read(args); err != nil {
				return err
			}
			c, namespace, err := with.connect()
			if err != nil {
				return err
			}
			if !o.live {
				with.logs = nil
			}
			_, err = o.run(cmd.Context(), c, namespace, with, cmd.OutOrStdout(), cmd.ErrOrStderr())
			return err
		},
	}
	flags := cmd.Flags()
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml")
	flags.DurationVar(&o.timeout, "timeout", 0, "how long to follow it, such as 2h; 0 is without limit")
	AddLive(cmd, &o.live)
	return cmd
}

// AddLive adds the flag --live to a command.
func AddLive(cmd *cobra.Command, enabled *bool) {
	cmd.Flags().BoolVar(enabled, "live", true, "show how fast the clients are while they measure, from the logs of their pods")
}

// read parses the arguments.
func (o *options) read(args []string) (err error) {
	if o.timeout < 0 {
		return exit.UsageErrorf("--timeout %v: want a time such as 2h, or 0 for none", o.timeout)
	}
	o.kind, o.name, err = cli.Parse(args)
	return err
}

// Request names the object to follow, and how to follow it.
type Request struct {
	Object client.Object
	// Timeout limits how long the object is followed; 0 is without limit.
	Timeout time.Duration
	// Output is table, json or yaml.
	Output string
	// Quiet suppresses the progress lines.
	Quiet bool
	// Logs follows the logs of pods, to show the clients' rates. If it is nil, no rates are shown.
	Logs live.Logs
	// Report prints the outcome if Output is table. If Report is nil, the outcome has the form of the
	// subcommand watch.
	Report func(client.Object, io.Writer) error
}

// Follow follows an object as the subcommand does, and returns the final state of the object.
func Follow(ctx context.Context, c client.WithWatch, r Request, out, errOut io.Writer) (client.Object, error) {
	o := &options{kind: cli.StateOf(r.Object).Kind, name: r.Object.GetName(), timeout: r.Timeout, output: r.Output, quiet: r.Quiet, report: r.Report}
	return o.run(ctx, c, r.Object.GetNamespace(), surroundings{logs: r.Logs, now: time.Now, pace: defaultPace()}, out, errOut)
}

func (o *options) run(parent context.Context, c client.WithWatch, namespace string, with surroundings, out, errOut io.Writer) (client.Object, error) {
	ctx, stop := cli.Bounded(parent, o.timeout)
	defer stop()
	lines := out
	if o.output != "table" {
		lines = errOut
	}
	if o.quiet {
		lines, with.logs = io.Discard, nil
	}
	key := client.ObjectKey{Namespace: namespace, Name: o.name}
	shown := &screen{out: newOutput(lines), now: with.now}
	quiet := shown.follow(ctx, c, with.logs)
	object, err := follow(ctx, c, o.kind, key, with.pace, func(v view) (bool, error) {
		if v.asks && o.quiet {
			return false, errors.New(v.message) // A working operator plans within seconds.
		}
		return shown.show(v)
	})
	quiet()
	shown.finish()
	if object != nil {
		o.kind = cli.StateOf(object).Kind
	}
	if err != nil {
		return nil, o.unfinished(err, key, shown.last)
	}
	if err := o.print(ctx, c, object, out); err != nil {
		return nil, err
	}
	if end := shown.last.end; end == endFailed {
		outcome := "has no result"
		if shown.last.phase == v1alpha1.ReasonFailedOnVerdict {
			outcome = "has failed"
		}
		return object, fmt.Errorf("%s %s %s: %s: %s", o.kind.Name, key, outcome, shown.last.phase, shown.last.message)
	}
	return object, nil
}

// unfinished makes an interrupt or a timeout an error with an exit code of its own, which says that the object goes
// on. It returns other errors unchanged.
func (o *options) unfinished(err error, key client.ObjectKey, last view) error {
	detail := prefixed(" Its last message: ", strings.TrimSuffix(strings.Join(words(last.phase, last.progress, last.detail()), ", "), "."))
	if detail != "" {
		detail += "."
	}
	switch {
	case (errors.Is(err, cli.ErrInterrupted) || errors.Is(err, cli.ErrTimeout)) && !o.quiet:
		object := strings.TrimPrefix(strings.ToLower(o.kind.Name)+"/"+key.Name, "/") // An early interrupt leaves the kind unknown.
		return cli.Unfinishedf(err, "%w, but %s goes on.%[4]s To follow it again: kubectl cephtune watch %[2]s -n %[3]s. To end it: kubectl cephtune cancel %[2]s -n %[3]s",
			err, object, key.Namespace, detail)
	case errors.Is(err, cli.ErrTimeout):
		return cli.Unfinishedf(err, "the operator has made no plan within %s, and nothing was run.%s", figure.Time(o.timeout), detail)
	case errors.Is(err, cli.ErrInterrupted):
		return cli.Unfinishedf(err, "%w before there was a plan: nothing was run", err)
	}
	return err
}

// print writes the outcome of the object.
func (o *options) print(ctx context.Context, c client.Client, object client.Object, out io.Writer) error {
	switch {
	case o.output != "table":
		return cli.Print(c, object, o.output, out)
	case o.report != nil:
		return o.report(object, out)
	}
	return writeOutcome(ctx, c, out, object)
}
