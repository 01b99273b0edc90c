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

const exportHelp = `Write a CephTuningSweep or a CephBenchmark into a file. The file also has the benchmarks of a
sweep's runs or the windows of its sessions. For a benchmark, it has the full results of all run IDs
that historyLimit keeps. Use it to keep results beyond a deletion, to send them to others, to make a
report without the cluster, or as the reference of "compare".

The file is YAML in the format of kubectl. It has the results as compressed ConfigMaps.

Exit codes: 0 it is written; 1 error; 2 wrong usage.`

const exportExamples = `  # A benchmark, and a report of it later
  %[1]s cephbenchmark/nightly -n cephtune-bench --to nightly.yaml
  kubectl cephtune report -f nightly.yaml --to nightly.html

  # A reference for later benchmarks, also of another cluster
  %[1]s cephbenchmark/reference -n cephtune-bench --to reference.yaml
  kubectl cephtune compare reference.yaml nightly -n cephtune-bench --max-regression 10%

  # A sweep, with the figures of all its runs
  %[1]s pg-num -n cephtune-bench > pg-num.yaml`

// NewExportCommand returns the subcommand that writes a CephTuningSweep or a CephBenchmark into a file.
// "report" reads such a file without the cluster. "compare" does so too, but only for a CephBenchmark.
func NewExportCommand(connect object.Connect) *cobra.Command {
	path := ""
	cmd := &cobra.Command{
		Use:               "export ([cephtuningsweep/]NAME | cephbenchmark/NAME)",
		Short:             "Write a sweep, or a benchmark with its results, into a file",
		Long:              exportHelp,
		Example:           exportExamples,
		ValidArgsFunction: object.Complete(connect, 1),
		RunE: kube.Briefly(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			kind, name, err := object.Parse(args)
			if err != nil {
				return err
			}
			text, err := documents(ctx, connect, kind, name)
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
func documents(ctx context.Context, connect object.Connect, kind object.Kind, name string) ([]byte, error) {
	c, found, err := object.Open(ctx, connect, kind, name)
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

// partsOf returns the full results of a benchmark's kept executions, or the benchmarks and sessions of a
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
	}
	return parts, nil
}
