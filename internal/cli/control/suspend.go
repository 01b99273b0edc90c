package control

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/start"
)

// change sets spec.suspend of an object.
type change struct {
	pace    object.Pace
	suspend bool

	wait    bool
	timeout time.Duration
	dryRun  string
	output  string
}

// NewResumeCommand returns the subcommand that resumes an object.
func NewResumeCommand(connect object.Connect) *cobra.Command {
	o := &change{}
	return o.command(connect, &cobra.Command{
		Use: "resume ([cephtuningsweep/]NAME | cephbenchmark/NAME)", Short: "Resume a sweep or a benchmark that is suspended",
	})
}

// NewSuspendCommand returns the subcommand that suspends an object.
func NewSuspendCommand(connect object.Connect, pace object.Pace) *cobra.Command {
	o := &change{pace: pace, suspend: true}
	cmd := &cobra.Command{
		Use: "suspend ([cephtuningsweep/]NAME | cephbenchmark/NAME)", Short: "Suspend a sweep or a benchmark; a sweep restores everything",
	}
	cmd.Flags().BoolVar(&o.wait, "wait", false, "wait until it is suspended, and everything is restored")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 0, "how long to wait, such as 1h; 0 is without limit")
	return o.command(connect, cmd)
}

// command adds what both subcommands share.
func (o *change) command(connect object.Connect, cmd *cobra.Command) *cobra.Command {
	cmd.ValidArgsFunction = object.Complete(connect, 1)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		args, err := start.TakeDryRun(&o.dryRun, args)
		if err != nil {
			return err
		}
		switch {
		case o.timeout < 0:
			return exit.UsageErrorf("--timeout %v: want a time such as 2h, or 0 for none", o.timeout)
		case o.wait && (o.dryRun != start.NoDryRun || o.output != "table"):
			return exit.UsageErrorf("--wait prints progress, and --dry-run and -o print the object: remove one of them")
		}
		ctx, stop := object.Bounded(cmd.Context(), o.timeout)
		defer stop()
		c, found, err := object.Open(ctx, connect, args)
		if err != nil {
			return err
		}
		if err := o.make(ctx, c, found, cmd.OutOrStdout()); err != nil || !o.wait {
			return err
		}
		return o.await(ctx, c, found, cmd.OutOrStdout())
	}
	start.AddDryRun(cmd.Flags(), &o.dryRun)
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml")
	return cmd
}

// make changes the object, and prints it or a sentence.
func (o *change) make(ctx context.Context, c client.Client, found client.Object, out io.Writer) error {
	state, subject := object.StateOf(found), object.Subject(found)
	word := "to resume"
	if o.suspend {
		word = "to suspend"
	}
	if o.suspend && state.Ended() && !state.Scheduled {
		return fmt.Errorf("%s has ended already: there is nothing to suspend", subject)
	}
	sentence := fmt.Sprintf("%s is asked %s.", subject, word)
	if state.Suspend == o.suspend {
		sentence = fmt.Sprintf("%s was asked %s before.", subject, word)
	} else if err := o.patch(ctx, c, found); err != nil {
		return fmt.Errorf("changing spec.suspend of %s: %w", subject, err)
	}
	switch {
	case o.output != "table":
		return object.Print(c, found, o.output, out)
	case o.dryRun != start.NoDryRun:
		return object.Print(c, found, "yaml", out)
	}
	_, err := fmt.Fprintln(out, sentence)
	return err
}

// patch sets spec.suspend: with --dry-run=client only in memory, and with --dry-run=server only in the
// answer of the API server.
func (o *change) patch(ctx context.Context, c client.Client, found client.Object) error {
	before, ok := found.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("got a %T", found)
	}
	switch f := found.(type) {
	case *v1alpha1.CephTuningSweep:
		f.Spec.Suspend = o.suspend
	case *v1alpha1.CephBenchmark:
		f.Spec.Suspend = o.suspend
	}
	switch o.dryRun {
	case start.NoDryRun:
		return c.Patch(ctx, found, client.MergeFrom(before))
	case "server":
		return client.NewDryRunClient(c).Patch(ctx, found, client.MergeFrom(before))
	}
	return nil
}

// await prints the operator's messages until the object is suspended and restored, or has ended.
func (o *change) await(ctx context.Context, c client.Client, found client.Object, out io.Writer) error {
	subject, said := object.Subject(found), &news{out: out, last: "the operator has not seen it yet"}
	err := object.Await(ctx, c, found, o.pace, func(now client.Object) (bool, error) {
		if now == nil {
			return true, fmt.Errorf("%s was deleted", subject)
		}
		state := object.StateOf(now)
		ready := state.Ready()
		seen := state.ObservedGeneration == now.GetGeneration()
		switch {
		case seen && ready.Reason == v1alpha1.ReasonSuspended && state.Idle() || state.Ended():
			err := said.tell(cmp.Or(state.Restored().Message, ready.Message))
			if err == nil && state.Ended() && state.Failed() {
				err = fmt.Errorf("%s has failed meanwhile: %s", subject, ready.Message)
			}
			return true, err
		case seen:
			return false, said.tell(ready.Reason + ": " + ready.Message)
		}
		return false, nil
	})
	if err != nil && ctx.Err() != nil {
		return object.Unfinishedf(err, "%s is not suspended yet: %w; the operator continues; its last message: %s", subject, err, said.last)
	}
	return err
}
