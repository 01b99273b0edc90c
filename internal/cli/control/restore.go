package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/report/medium"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/tuning/journals"
)

// restoring has the flags of the subcommand restore.
type restoring struct {
	name     string      // empty for every journal
	kind     object.Kind // the kind of the journal's owner; empty without a name
	operator string
	abandon  bool
	yes      bool
	output   string
}

// NewRestoreCommand returns the subcommand that shows which settings are still to be restored in Ceph. These
// are settings that sweeps have changed, and the flag noup of OSDs that benchmarks keep down on purpose. The
// subcommand can also abandon the restore of a sweep.
func NewRestoreCommand(connect object.Connect) *cobra.Command {
	o := &restoring{}
	cmd := &cobra.Command{
		Use:               "restore [[cephtuningsweep/|cephbenchmark/]NAME]",
		Short:             "Show what a sweep has not restored in Ceph, or abandon the restore",
		ValidArgsFunction: object.Complete(connect, 1),
		RunE: kube.Briefly(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := o.read(args); err != nil {
				return err
			}
			return o.run(ctx, connect, cmd.OutOrStdout())
		}),
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.abandon, "abandon", false, "abandon the restore; needs --yes")
	flags.BoolVar(&o.yes, "yes", false, "confirm --abandon")
	flags.StringVar(&o.operator, "operator-namespace", kube.OperatorNamespace, "namespace of the operator, where journals are")
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml")
	return cmd
}

func (o *restoring) read(args []string) error {
	switch {
	case o.abandon && len(args) == 0:
		return exit.UsageErrorf("--abandon needs the name of a sweep")
	case o.yes && !o.abandon:
		return exit.UsageErrorf("--yes needs --abandon")
	case o.abandon && o.output != "table":
		return exit.UsageErrorf("--abandon does not support --output")
	case len(args) == 0:
		return nil
	}
	kind, name, err := object.Parse(args)
	if err != nil {
		return err
	}
	if kind.Name == "" {
		kind = object.Sweep() // Only sweeps can abandon a restore, so a name alone means a sweep.
	}
	if o.abandon && kind.Name != object.Sweep().Name {
		return exit.UsageErrorf("--abandon is only for sweeps, not for a %s: without --abandon, this command shows how to bring its OSDs up", kind.Name)
	}
	o.name, o.kind = name, kind
	return nil
}

func (o *restoring) run(ctx context.Context, connect object.Connect, out io.Writer) error {
	c, namespace, err := connect()
	if err != nil {
		return err
	}
	found, none, err := o.find(ctx, c, namespace)
	known := err == nil
	if err != nil && (!o.yes || !apierrors.IsForbidden(err)) {
		return err // Only --abandon --yes works without the permission to read journals.
	}
	if o.abandon {
		return o.giveUp(ctx, c, namespace, found, known, out)
	}
	if err := o.confirm(ctx, c, namespace, found, none); err != nil {
		return err
	}
	if err := o.write(ctx, c, found, out); err != nil {
		return err
	}
	open := 0
	for _, j := range found {
		open += len(j.ToRestore())
	}
	if open > 0 {
		return exit.UnexpectedErrorf("settings still to be restored: %d", open)
	}
	return nil
}

// find reads the open journals of all objects, or of the named one. Its second result says that the
// operator's namespace has no journal at all, open or closed.
func (o *restoring) find(ctx context.Context, c client.Client, namespace string) ([]*tuning.Journal, bool, error) {
	all, err := journals.In(ctx, c, o.operator)
	switch {
	case apierrors.IsForbidden(err):
		return nil, false, fmt.Errorf("reading the journals needs the right to list ConfigMaps in namespace %s; without it, see the sweep's condition Restored: %w", o.operator, err)
	case err != nil:
		return nil, false, fmt.Errorf("listing the ConfigMaps of namespace %s: %w", o.operator, err)
	}
	var open []*tuning.Journal
	var damaged []error
	for _, found := range all {
		switch j := found.Journal; {
		case found.Err != nil:
			damaged = append(damaged, found.Err)
		case !j.Done() && (o.name == "" || o.isOf(j, namespace)):
			open = append(open, j)
		}
	}
	// A journal that cannot be read may be the requested one.
	return open, len(all) == 0, errors.Join(damaged...)
}

// confirm checks that an empty result means that nothing is open. It returns an error if the operator's
// namespace is wrong, if the named object does not exist, or if its status contradicts the result.
func (o *restoring) confirm(ctx context.Context, c client.Client, namespace string, found []*tuning.Journal, none bool) error {
	if len(found) > 0 {
		return nil
	}
	if none {
		operators, err := kube.Operators(ctx, c, o.operator)
		if err == nil && len(operators) == 0 {
			return fmt.Errorf("namespace %s has no operator and no journal: name the operator's namespace with --operator-namespace", o.operator)
		}
	}
	if o.name == "" {
		return nil
	}
	named, err := object.Get(ctx, c, o.kind, client.ObjectKey{Namespace: namespace, Name: o.name})
	if err != nil {
		return err
	}
	if restored := object.StateOf(named).Restored(); restored.Status == metav1.ConditionFalse {
		return exit.UnexpectedErrorf("namespace %s has no journal of %s %s/%s, although its status is %s: %s", o.operator, o.kind.Name, namespace, o.name, restored.Reason, restored.Message)
	}
	return nil
}

// isOf reports whether a journal belongs to the named object.
func (o *restoring) isOf(j *tuning.Journal, namespace string) bool {
	return j.Sweep.KindOrSweep() == o.kind.Name && j.Sweep.Namespace == namespace && j.Sweep.Name == o.name
}

func (o *restoring) write(ctx context.Context, c client.Client, found []*tuning.Journal, out io.Writer) error {
	return terminal.Write(out, o.output, openJournals(found), func(page *terminal.Page) {
		if len(found) == 0 {
			page.WriteString("Nothing in Ceph is left to restore.\n")
			return
		}
		for _, j := range found {
			addJournal(page, j, operatorAction(ctx, c, j))
		}
		page.Printf("To restore by hand, run the commands from top to bottom in Rook's toolbox: %s\n", byHandPage)
	})
}

// addJournal adds what is to be restored of a journal, and how.
func addJournal(page *terminal.Page, j *tuning.Journal, next string) {
	page.Printf("%s %s has changed Ceph cluster %s. Still to be restored:\n\n", nameOf(j), j.Sweep, j.FSID)
	var rows [][]string
	var commands strings.Builder
	for _, e := range j.ToRestore() {
		rows = append(rows, []string{e.Setting.String(), e.Original.String(), ours(e)})
		commands.WriteString(medium.Format(medium.Line, "    %s\n", byHand(e))) // Each command stays on a line, so that it can be copied.
	}
	page.Table([]string{"SETTING", "WAS", "MAY BE NOW"}, rows)
	page.WriteString("\nBy hand:\n\n" + commands.String())
	page.Printf("\n%s\n\n", next)
}

// ours lists the values that the journal's owner may have set.
func ours(e tuning.Entry) string {
	var values []string
	for _, v := range e.Applied {
		if text := v.Intended.String(); !slices.Contains(values, text) {
			values = append(values, text)
		}
	}
	return strings.Join(values, ", ")
}

// operatorAction describes the operator's next action for a journal, or the status of the journal's
// owner.
func operatorAction(ctx context.Context, c client.Client, j *tuning.Journal) string {
	kind, known := object.KindOf(j.Sweep.KindOrSweep())
	if !known {
		return fmt.Sprintf("This version of cephtune does not know the kind %s: use a later one.", j.Sweep.Kind)
	}
	name := strings.ToLower(nameOf(j))
	changer, err := object.Same(ctx, c, kind, client.ObjectKey{Namespace: j.Sweep.Namespace, Name: j.Sweep.Name}, types.UID(j.Sweep.UID))
	switch {
	case err != nil:
		return fmt.Sprintf("The status of the %s cannot be read: %v", name, err)
	case changer == nil && j.IsOutage():
		return fmt.Sprintf("The %s was deleted. The operator unsets noup of its OSDs within a minute.", name)
	case changer == nil:
		return fmt.Sprintf("The %s was deleted. The operator restores its changes once the cluster's lock is free; its log says what it waits for.", name)
	}
	ready := object.StateOf(changer).Ready()
	if ready.Reason == "" {
		return fmt.Sprintf("The operator has not seen the %s: check that the operator is running.", name)
	}
	return fmt.Sprintf("Status of the %s: %s: %s", name, ready.Reason, ready.Message)
}

// nameOf returns the word by which messages call a journal's owner: Sweep or Benchmark.
func nameOf(j *tuning.Journal) string {
	if j.Sweep.KindOrSweep() == object.Sweep().Name {
		return "Sweep"
	}
	return "Benchmark"
}

// giveUp annotates the sweep to make the operator abandon the restore. If known is true and no journal of the
// sweep is open, giveUp only says so. Otherwise, without --yes, it only shows the open journals, and returns
// an error.
func (o *restoring) giveUp(ctx context.Context, c client.Client, namespace string, found []*tuning.Journal, known bool, out io.Writer) error {
	sweep := &v1alpha1.CephTuningSweep{}
	key := client.ObjectKey{Namespace: namespace, Name: o.name}
	switch err := c.Get(ctx, key, sweep); {
	case apierrors.IsNotFound(err) && len(found) > 0:
		return fmt.Errorf("sweep %s was deleted, so its restore cannot be abandoned: the operator restores its changes once the cluster's lock is free", key)
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no CephTuningSweep %s in namespace %s: choose another with -n", o.name, namespace)
	case err != nil:
		return fmt.Errorf("reading CephTuningSweep %s: %w", key, err)
	}
	found = slices.DeleteFunc(found, func(j *tuning.Journal) bool { return j.Sweep.UID != string(sweep.UID) })
	if known && len(found) == 0 {
		_, err := fmt.Fprintln(out, "Nothing is left to restore, so there is nothing to abandon.")
		return err
	}
	if !o.yes {
		if err := o.write(ctx, c, found, out); err != nil {
			return err
		}
		return exit.UsageErrorf("with --abandon, settings stay changed if one attempt cannot restore them, for example a balancer that is off: add --yes to confirm")
	}
	before := sweep.DeepCopy()
	if sweep.Annotations == nil {
		sweep.Annotations = map[string]string{}
	}
	sweep.Annotations[v1alpha1.AnnotationAbandonRestore] = "true"
	if err := c.Patch(ctx, sweep, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("annotating CephTuningSweep %s: %w", key, err)
	}
	_, err := fmt.Fprintf(out, "The operator abandons the restore of CephTuningSweep %s as soon as the sweep is deleted, suspended, fails or concludes.\n", key)
	return err
}
