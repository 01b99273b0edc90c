package results

import (
	"bytes"
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/cli/wholefile"
)

// NewExportCommand returns the subcommand that writes a CephTuningSweep or a CephBenchmark into a file.
// "report" reads such a file without the cluster. "compare" does so too, but only for a CephBenchmark.
func NewExportCommand(connect object.Connect) *cobra.Command {
	path := ""
	cmd := &cobra.Command{
		Use:               "export ([cephtuningsweep/]NAME | cephbenchmark/NAME)",
		Short:             "Write a sweep, or a benchmark with its results, into a file",
		ValidArgsFunction: object.Complete(connect, 1),
		RunE: kube.Briefly(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			text, err := documents(ctx, connect, args)
			if err != nil {
				return err
			}
			if err := wholefile.Save(path, terminal.ForFile(cmd.OutOrStdout()), text); err != nil {
				return fmt.Errorf("writing the export: %w", err)
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&path, "to", "", "file to write, instead of standard output")
	return cmd
}

// documents returns the object, and the objects with its results, as YAML documents.
func documents(ctx context.Context, connect object.Connect, args []string) ([]byte, error) {
	c, found, err := object.Open(ctx, connect, args)
	if err != nil {
		return nil, err
	}
	parts, err := partsOf(ctx, c, found)
	if err != nil {
		return nil, err
	}
	all := append([]client.Object{found}, parts...)
	var text bytes.Buffer
	for _, o := range all {
		text.WriteString("---\n")
		if err := object.Print(c, o, "yaml", &text); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// partsOf returns the full results of a benchmark's kept executions and its history, or the benchmarks and sessions of a
// sweep.
func partsOf(ctx context.Context, c client.Client, found client.Object) ([]client.Object, error) {
	var parts []client.Object
	switch found := found.(type) {
	case *v1alpha1.CephTuningSweep:
		benchmarks, err := OfSweep(ctx, c, found)
		if err != nil {
			return nil, err
		}
		for _, b := range benchmarks {
			parts = append(parts, b)
		}
		sessions, err := SessionsOf(ctx, c, found)
		if err != nil {
			return nil, err
		}
		for i := range sessions {
			parts = append(parts, &sessions[i])
		}
	case *v1alpha1.CephBenchmark:
		kept, err := KeptExecutions(ctx, c, found)
		if err != nil {
			return nil, err
		}
		for i := range kept {
			parts = append(parts, &kept[i])
		}
		nights, err := HistoryOf(ctx, c, found)
		if err != nil {
			return nil, err
		}
		if nights != nil {
			parts = append(parts, nights)
		}
	}
	return parts, nil
}
