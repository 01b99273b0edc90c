package control

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
	"github.com/cephtune/cephtune/internal/cli/object"
)

// NewCancelCommand returns the subcommand that ends an object, and waits until everything is restored.
func NewCancelCommand(connect object.Connect, pace object.Pace) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:               "cancel ([cephtuningsweep/]NAME | cephbenchmark/NAME)",
		Short:             "End a sweep or a benchmark, and wait until everything is restored",
		ValidArgsFunction: object.Complete(connect, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if timeout < 0 {
				return exit.UsageErrorf("--timeout %v: want a time such as 2h, or 0 for none", timeout)
			}
			ctx, stop := object.Bounded(cmd.Context(), timeout)
			defer stop()
			c, found, err := object.Open(ctx, connect, args)
			if err != nil {
				return err
			}
			return cancel(ctx, c, found, pace, cmd.OutOrStdout())
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 2*time.Hour, "how long to wait for its removal, such as 10m; 0 is without limit")
	return cmd
}

// cancel deletes an object, unless it has ended, and waits for its removal.
func cancel(ctx context.Context, c client.Client, found client.Object, pace object.Pace, out io.Writer) error {
	w := &cancelling{news: news{out: out}, subject: object.Subject(found), abandoned: isAbandoned(found)}
	if err := w.end(ctx, c, found); err != nil {
		return err
	}
	err := object.Await(ctx, c, found, pace, w.look)
	switch {
	case err != nil && ctx.Err() != nil:
		return object.Unfinishedf(err, "%s still exists: %w; the operator continues; its last message: %s", w.subject, err, w.last)
	case err == nil && w.left != "":
		return exit.UnexpectedErrorf("not everything in Ceph is restored: %s", w.left)
	}
	return err
}

// cancelling follows the deletion of an object.
type cancelling struct {
	news

	subject string
	// abandoned says that a user has abandoned the restore, with an annotation.
	abandoned bool
	// left describes the changes to Ceph that the operator will not restore; "" without such changes.
	left string
}

func isAbandoned(o client.Object) bool {
	return o.GetAnnotations()[v1alpha1.AnnotationAbandonRestore] == "true"
}

// end deletes the object, unless it is being deleted already. It refuses to delete an object that has
// ended and has nothing to restore, because that would only lose results.
func (w *cancelling) end(ctx context.Context, c client.Client, found client.Object) error {
	state := object.StateOf(found)
	if !found.GetDeletionTimestamp().IsZero() {
		return w.tell("It is being deleted already.")
	}
	if state.Ended() && state.Restored().Status != metav1.ConditionFalse {
		return fmt.Errorf("%s has ended, so there is nothing to cancel: \"kubectl delete -n %s %s/%s\" removes it with its results",
			w.subject, found.GetNamespace(), strings.ToLower(state.Kind.Name), found.GetName())
	}
	uid := found.GetUID()
	if err := c.Delete(ctx, found, client.Preconditions{UID: &uid}); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("deleting %s: %w", w.subject, err)
	}
	return w.tell(w.subject + " is being deleted.")
}

func (w *cancelling) look(now client.Object) (deleted bool, err error) {
	if now == nil {
		if w.abandoned {
			w.left = "the restore was abandoned: the events in its namespace name what was not restored"
		}
		text := w.subject + " is deleted."
		if w.left == "" {
			text = w.subject + " is deleted, with everything that it created. The operator has restored all settings."
		}
		return true, w.tell(text)
	}
	w.abandoned = isAbandoned(now)
	state := object.StateOf(now)
	ready, restored := state.Ready(), state.Restored()
	switch restored.Reason {
	case v1alpha1.ReasonLeftAlone, v1alpha1.ReasonOSDsNotRestarted, v1alpha1.ReasonAbandoned:
		w.left = restored.Message
	default:
		w.left = ""
	}
	text := "Waiting for the operator: is it running?"
	if ready.Reason != "" {
		text = ready.Reason + ": " + ready.Message
	}
	if restored.Status == metav1.ConditionFalse && !strings.Contains(text, restored.Message) {
		text += " Still to be restored: " + restored.Message
	}
	return false, w.tell(text)
}
