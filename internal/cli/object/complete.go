package object

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// completionTimeout limits each request after a press of the tab key.
const completionTimeout = 5 * time.Second

// Connect makes a client and returns the chosen namespace.
type Connect func() (client.WithWatch, string, error)

// Complete completes the names of sweeps and benchmarks. It offers a sweep as NAME, and a benchmark as
// cephbenchmark/NAME. It does not offer a name again that is already an argument. The parameter most is the
// number of names that the command accepts.
func Complete(connect Connect, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		all := names(cmd, connect, Sweep(), "")
		all = append(all, names(cmd, connect, Benchmark(), "cephbenchmark/")...)
		return offer(all, args, typed, most)
	}
}

// CompleteBenchmarks completes the names of benchmarks alone.
func CompleteBenchmarks(connect Connect, most int) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		return offer(names(cmd, connect, Benchmark(), ""), args, typed, most)
	}
}

func offer(all, args []string, typed string, most int) ([]string, cobra.ShellCompDirective) {
	if len(args) >= most {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all = slices.DeleteFunc(all, func(name string) bool {
		return !strings.HasPrefix(name, typed) || slices.Contains(args, name)
	})
	return all, cobra.ShellCompDirectiveNoFileComp
}

// names returns the names of the objects of a kind. If the request fails, it returns no names, because
// completion cannot show an error.
func names(cmd *cobra.Command, connect Connect, kind Kind, prefix string) []string {
	c, namespace, err := connect()
	if err != nil {
		return nil
	}
	parent := cmd.Context()
	if parent == nil {
		parent = context.Background()
	}
	ctx, cancel := context.WithTimeout(parent, completionTimeout)
	defer cancel()
	list := kind.NewList()
	if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil
	}
	objects, err := meta.ExtractList(list)
	if err != nil {
		return nil
	}
	all := make([]string, 0, len(objects))
	for _, o := range objects {
		if named, ok := o.(client.Object); ok {
			all = append(all, prefix+named.GetName())
		}
	}
	slices.Sort(all)
	return all
}
