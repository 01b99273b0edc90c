// Package cancel is the subcommand that ends a CephTuningSweep or a CephBenchmark, and waits
// until everything is restored.
package cancel

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/terminal"
)

const longHelp = `End a CephTuningSweep or a CephBenchmark: delete it, and wait until its objects are removed
and its changes to Ceph are restored. Its results are deleted with it.

Meanwhile, lines say what the operator waits for. Merging PGs takes time, and so does a Ceph cluster
that does not answer. After an interrupt or the end of --timeout, the operator continues the restore.

It does not delete a sweep or benchmark that has ended, because that has results and no longer
changes anything. But it deletes a sweep that has ended and still has settings to restore.

Exit codes: 0 it is deleted, and Ceph is restored; 1 error; 2 wrong usage; 3 it was not deleted
within --timeout, or something in Ceph is not restored: settings that something else changed,
settings whose restore was abandoned, or OSDs that were not restarted; 130 you have interrupted
this command.`

const examples = `  # A sweep
  %[1]s pg-num -n cephtune-bench

  # A benchmark, for ten minutes at most
  %[1]s cephbenchmark/nightly -n cephtune-bench --timeout 10m`

type options struct {
	timeout time.Duration
}

// NewCommand returns the subcommand; program is the name under which the root command was called.
func NewCommand(program string) *cobra.Command {
	return kube.Connected(func(connection *kube.Connection) *cobra.Command {
		return newCommand(program, connection.Connect, object.DefaultPace())
	})
}

func newCommand(program string, connect object.Connect, pace object.Pace) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:               "cancel ([cephtuningsweep/]NAME | cephbenchmark/NAME)",
		Short:             "End a sweep or a benchmark, and wait until everything is restored",
		Long:              longHelp,
		Example:           fmt.Sprintf(examples, program+" cancel"),
		ValidArgsFunction: object.Complete(connect, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			kind, name, err := object.Parse(args)
			if err != nil {
				return err
			}
			if o.timeout < 0 {
				return exit.UsageErrorf("--timeout %v: want a time such as 2h, or 0 for none", o.timeout)
			}
			return o.run(cmd.Context(), connect, pace, kind, name, cmd.OutOrStdout())
		},
	}
	cmd.Flags().DurationVar(&o.timeout, "timeout", 2*time.Hour, "how long to wait for its removal, such as 10m; 0 is without limit")
	return cmd
}

func (o *options) run(parent context.Context, connect object.Connect, pace object.Pace, kind object.Kind, name string, out io.Writer) error {
	ctx, stop := object.Bounded(parent, o.timeout)
	defer stop()
	c, found, err := object.Open(ctx, connect, kind, name)
	if err != nil {
		return err
	}
	w := &waiting{
		out: out, subject: object.StateOf(found).Kind.Name + " " + client.ObjectKeyFromObject(found).String(),
		abandoned: found.GetAnnotations()[v1alpha1.AnnotationAbandonRestore] == "true",
	}
	if err := end(ctx, c, found, w); err != nil {
		return err
	}
	err = object.Await(ctx, c, found, pace, w.look)
	switch {
	case w.failed != nil:
		return w.failed
	case err != nil && ctx.Err() != nil:
		return object.Unfinishedf(err, "%s still exists: %w; the operator continues; its last message: %s", w.subject, err, w.last)
	case err == nil && w.left != "":
		return exit.UnexpectedErrorf("not everything in Ceph is restored: %s", w.left)
	}
	return err
}

// notAsItWas describes the changes to Ceph that the operator will not restore; "" without such changes.
func notAsItWas(restored metav1.Condition) string {
	switch restored.Reason {
	case v1alpha1.ReasonLeftAlone, v1alpha1.ReasonOSDsNotRestarted, v1alpha1.ReasonAbandoned:
		return restored.Message
	}
	return ""
}

// end deletes the object, unless it is being deleted already. It refuses to delete an object that has
// ended and has nothing to restore, because that would only lose results.
func end(ctx context.Context, c client.Client, found client.Object, w *waiting) error {
	state := object.StateOf(found)
	if !found.GetDeletionTimestamp().IsZero() {
		w.tell("It is being deleted already.")
		return w.failed
	}
	if state.Ended() && state.Restored().Status != metav1.ConditionFalse {
		return fmt.Errorf("%s has ended, so there is nothing to cancel: \"kubectl delete -n %s %s/%s\" removes it with its results",
			w.subject, found.GetNamespace(), strings.ToLower(state.Kind.Name), found.GetName())
	}
	uid := found.GetUID()
	if err := c.Delete(ctx, found, client.Preconditions{UID: &uid}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", w.subject, err)
	}
	w.tell(w.subject + " is being deleted.")
	return w.failed
}

// waiting follows the deletion, and prints a line whenever the operator's message changes.
type waiting struct {
	out     io.Writer
	subject string
	last    string
	failed  error
	// abandoned says that a user has abandoned the restore, with an annotation.
	abandoned bool
	// left describes the changes to Ceph that the operator will not restore; "" without such changes.
	left string
}

func (w *waiting) tell(text string) {
	if text == "" || text == w.last || w.failed != nil {
		return
	}
	w.last = text
	_, w.failed = terminal.Printf(w.out, "%s\n", text)
}

func (w *waiting) look(now client.Object) bool {
	if now == nil {
		text := w.subject + " is deleted, with everything that it created. The operator has restored all settings."
		if w.abandoned {
			w.left = "the restore was abandoned: the events in its namespace name what was not restored"
		}
		if w.left != "" {
			text = w.subject + " is deleted."
		}
		w.tell(text)
		return true
	}
	w.abandoned = now.GetAnnotations()[v1alpha1.AnnotationAbandonRestore] == "true"
	state := object.StateOf(now)
	ready, restored := state.Ready(), state.Restored()
	w.left = notAsItWas(restored)
	text := "Waiting for the operator: is it running?"
	if ready.Reason != "" {
		text = ready.Reason + ": " + ready.Message
	}
	if restored.Status == metav1.ConditionFalse && !strings.Contains(text, restored.Message) {
		text += " Still to be restored: " + restored.Message
	}
	w.tell(text)
	return w.failed != nil
}
