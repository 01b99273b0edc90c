// Package results is the subcommand that shows the measurements of a CephBenchmark, from the
// ConfigMaps of its results.
package results

import (
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
)

// timeout bounds all requests together; --request-timeout bounds each request.
const timeout = 2 * time.Minute

const longHelp = `Show what a CephBenchmark measured: the figures of each phase, for all valid runs together and
for each run, with notes on how to read them.

For all runs together, rates and mean latencies are geometric means, percentiles cover all
operations, and LatencyMax is the longest latency. P50 and P99 of a window of an outage, such as
P99Outage, are medians of the runs. The interval is that of a typical run, and needs three valid
runs. SPREAD says how far the largest value of the valid runs is above the smallest, in percent.
Values of invalid runs are in parentheses and excluded.

Exit codes: 0 there are results, 1 error, 2 wrong usage.`

const examples = `  # All repetitions of the latest run ID
  %[1]s nightly -n cephtune-bench

  # One repetition, with all details
  %[1]s nightly -n cephtune-bench --run 2 -o yaml

  # One phase over time, for a spreadsheet
  %[1]s nightly -n cephtune-bench --series randread-4k -o csv`

type options struct {
	name   string
	runID  string
	run    int32
	series string
	output string
}

// connect makes a client and returns the chosen namespace.
type connect func() (client.Reader, string, error)

// NewCommand returns the subcommand; program is the name under which the root command was called.
func NewCommand(program string) *cobra.Command {
	return kube.Connected(func(connection *kube.Connection) *cobra.Command {
		cmd := newCommand(program, func() (client.Reader, string, error) { return connection.Connect() })
		cmd.ValidArgsFunction = object.CompleteBenchmarks(connection.Connect, 1)
		return cmd
	})
}

func newCommand(program string, connect connect) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:     "results NAME",
		Short:   "Show what a CephBenchmark measured",
		Long:    longHelp,
		Example: fmt.Sprintf(examples, program+" results"),
		Args:    wantName,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.name = args[0]
			if err := o.check(cmd.Flags().Changed("run"), cmd.Flags().Changed("output")); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return o.show(ctx, connect, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml", "csv")
	flags.Int32Var(&o.run, "run", 0, "show only the run with this number")
	flags.StringVar(&o.runID, "run-id", "", "show results of an earlier runID, instead of the one in status")
	flags.StringVar(&o.series, "series", "", "show a phase over time, as CSV")
	return cmd
}

func wantName(_ *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return exit.UsageErrorf("want the name of one CephBenchmark, got %d arguments", len(args))
	}
	return nil
}

func (o *options) check(hasRun, hasOutput bool) error {
	switch {
	case hasRun && o.run < 1:
		return exit.UsageErrorf("--run %d: runs are counted from 1", o.run)
	case o.series != "" && hasOutput && o.output != "csv":
		return exit.UsageErrorf("--series is written as CSV: use -o csv")
	}
	return nil
}

func (o *options) show(ctx context.Context, connect connect, w io.Writer) error {
	reader, namespace, err := connect()
	if err != nil {
		return err
	}
	f, err := o.find(ctx, reader, namespace)
	if err != nil {
		return err
	}
	switch {
	case o.series != "":
		return writeSeries(w, f, v1alpha1.PhaseName(o.series))
	case o.output == "json":
		return writeJSON(w, f)
	case o.output == "yaml":
		return writeYAML(w, f)
	case o.output == "csv":
		return writeFigures(w, f)
	}
	return writeTable(w, f)
}

// Write shows the measurements of a CephBenchmark's latest run ID, as the subcommand does without
// flags.
func Write(ctx context.Context, reader client.Reader, key client.ObjectKey, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	o := &options{name: key.Name, output: "table"}
	return o.show(ctx, func() (client.Reader, string, error) { return reader, key.Namespace, nil }, w)
}
