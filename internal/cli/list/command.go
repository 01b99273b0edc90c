// Package list is the subcommand that lists CephBenchmarks and CephTuningSweeps in one table.
package list

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/terminal"
)

// pageSize is the number of objects in one answer, as in kubectl get. An API server must answer within a minute, and a busy one
// takes longer for 10,000.
const pageSize = 500

type options struct {
	kinds    []object.Kind
	all      bool
	selector string
	output   string
}

// NewCommand returns the subcommand.
func NewCommand(connect object.Connect, now func() time.Time) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:       "list [benchmarks | sweeps]",
		Aliases:   []string{"ls"},
		Short:     "List benchmarks and sweeps, and their outcomes",
		ValidArgs: []string{"benchmarks", "sweeps"},
		RunE: kube.Briefly(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := o.read(args); err != nil {
				return err
			}
			return o.run(ctx, connect, now(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		}),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.all, "all-namespaces", "A", false, "list those of all namespaces")
	flags.StringVarP(&o.selector, "selector", "l", "", "list only those with these labels, such as team=storage")
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml")
	return cmd
}

func (o *options) read(args []string) error {
	if _, err := labels.Parse(o.selector); err != nil {
		return exit.UsageErrorf("--selector: %w", err)
	}
	switch {
	case len(args) == 0:
		o.kinds = object.Kinds()
	case len(args) > 1:
		return exit.UsageErrorf("want benchmarks, sweeps or nothing, got %d arguments", len(args))
	case args[0] == "benchmarks":
		o.kinds = []object.Kind{object.Benchmark()}
	case args[0] == "sweeps":
		o.kinds = []object.Kind{object.Sweep()}
	default:
		kind, known := object.KindOf(args[0])
		if !known {
			return exit.UsageErrorf("%q: want benchmarks, sweeps or nothing", args[0])
		}
		o.kinds = []object.Kind{kind}
	}
	return nil
}

func (o *options) run(ctx context.Context, connect object.Connect, now time.Time, out, errOut io.Writer) error {
	c, namespace, err := connect()
	if err != nil {
		return err
	}
	where := "namespace " + namespace
	if o.all {
		namespace, where = "", "any namespace"
	}
	objects, err := o.find(ctx, c, namespace)
	if err != nil {
		return err
	}
	if o.output != "table" {
		return o.print(c, objects, out)
	}
	if len(objects) == 0 {
		// The message goes to standard error, as in kubectl, so that standard output stays empty.
		_, err = fmt.Fprintf(errOut, "Nothing was found in %s.\n", where)
		return err
	}
	page := terminal.NewPage(out)
	header, rows := withoutIdle(o.header(), o.rows(objects, now))
	page.Table(header, rows)
	return page.Print()
}

// find returns the objects, sorted by namespace, kind and name.
func (o *options) find(ctx context.Context, c client.Client, namespace string) ([]client.Object, error) {
	selector, err := labels.Parse(o.selector)
	if err != nil {
		return nil, err
	}
	found, errs := make([][]client.Object, len(o.kinds)), make([]error, len(o.kinds))
	var group sync.WaitGroup
	for i, kind := range o.kinds {
		group.Go(func() {
			found[i], errs[i] = o.findKind(ctx, c, kind, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector})
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err // Of the first kind, so that the message does not depend on who is faster.
		}
	}
	all := slices.Concat(found...)
	slices.SortStableFunc(all, func(a, b client.Object) int {
		return cmp.Or(
			cmp.Compare(a.GetNamespace(), b.GetNamespace()),
			cmp.Compare(object.StateOf(a).Kind.Name, object.StateOf(b).Kind.Name),
			cmp.Compare(a.GetName(), b.GetName()),
		)
	})
	return all, nil
}

// findKind returns the objects of a kind.
func (o *options) findKind(ctx context.Context, c client.Client, kind object.Kind, where ...client.ListOption) (all []client.Object, err error) {
	for next, more := "", true; more; more = next != "" {
		var some []client.Object
		switch some, next, err = o.page(ctx, c, kind, append(where, client.Limit(pageSize), client.Continue(next))); {
		case meta.IsNoMatchError(err):
			return nil, object.Unknown(kind)
		case err != nil:
			return nil, fmt.Errorf("listing %s: %w", kind.Plural, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// page returns some objects, and where the next page begins. For a table, the objects have only what it shows.
func (o *options) page(ctx context.Context, c client.Client, kind object.Kind, where []client.ListOption) (some []client.Object, next string, err error) {
	if o.output == "table" {
		table := &kube.Table{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind.Name}}
		if err := c.List(ctx, table, where...); err != nil {
			return nil, "", err
		}
		return outlines(kind, table), table.Continue, nil
	}
	list := kind.NewList()
	if err := c.List(ctx, list, where...); err != nil {
		return nil, "", err
	}
	err = meta.EachListItem(list, func(item runtime.Object) error {
		found, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("got a %T", item)
		}
		some = append(some, found)
		return nil
	})
	return some, list.GetContinue(), err
}

// print writes the objects, of one kind or of both, as one List, as kubectl get does.
func (o *options) print(c client.Client, objects []client.Object, out io.Writer) error {
	list := &corev1.List{Items: make([]runtime.RawExtension, len(objects))}
	for i, item := range objects {
		gvk, err := c.GroupVersionKindFor(item)
		if err != nil {
			return err
		}
		item.GetObjectKind().SetGroupVersionKind(gvk)
		item.SetManagedFields(nil)
		list.Items[i] = runtime.RawExtension{Object: item}
	}
	return object.Print(c, list, o.output, out)
}

func (o *options) header() []string {
	header := []string{"NAME", "PHASE", "RESULT", "RESTORED", "NEXT", "CLUSTER", "AGE"}
	if o.all {
		return append([]string{"NAMESPACE"}, header...)
	}
	return header
}

func (o *options) rows(objects []client.Object, now time.Time) [][]string {
	rows := make([][]string, len(objects))
	for i, item := range objects {
		state := object.StateOf(item)
		rows[i] = []string{
			state.Kind.Short + "/" + item.GetName() + ofSweep(item), phase(item, state), state.Result,
			state.Restored().Reason, next(state, now), state.Cluster.Namespace + "/" + state.Cluster.Name,
			duration.HumanDuration(now.Sub(item.GetCreationTimestamp().Time)),
		}
		if o.all {
			rows[i] = append([]string{item.GetNamespace()}, rows[i]...)
		}
	}
	return rows
}

// next says when the next run is due: in the same units as the age, or that it is about to begin.
func next(state object.State, now time.Time) string {
	switch {
	case state.Next == nil:
		return ""
	case !now.Before(state.Next.Time):
		return "now"
	}
	return "in " + duration.HumanDuration(state.Next.Sub(now))
}

// ofSweep says that a benchmark is a trial of a sweep; "" for all other objects.
func ofSweep(item client.Object) string {
	if owner := metav1.GetControllerOf(item); owner != nil && owner.Kind == object.Sweep().Name {
		return " (trial of " + owner.Name + ")"
	}
	return ""
}

// withoutIdle removes columns without text, and the column CLUSTER if all objects are about one cluster.
func withoutIdle(header []string, rows [][]string) ([]string, [][]string) {
	for i := range slices.Backward(header) {
		idle := !slices.ContainsFunc(rows, func(row []string) bool { return row[i] != "" && (header[i] != "CLUSTER" || row[i] != rows[0][i]) })
		if idle {
			header = slices.Delete(slices.Clone(header), i, i+1)
			for j := range rows {
				rows[j] = slices.Delete(rows[j], i, i+1)
			}
		}
	}
	return header, rows
}

// phase returns the text of the column PHASE: Deleting, or the reason of the condition Ready; "-"
// without that condition.
func phase(item client.Object, state object.State) string {
	reason := state.Ready().Reason
	switch {
	case !item.GetDeletionTimestamp().IsZero():
		return "Deleting"
	case reason == "":
		return "-"
	}
	return reason
}
