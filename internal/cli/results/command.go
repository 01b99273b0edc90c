// Package results has the subcommands about what was measured: results shows the measurements of a CephBenchmark,
// from the ConfigMaps of its results, and those of a CephTuningSweep, from its status; report makes a report of
// either, and export writes it into a file. They share one reader, of a cluster or of such a file.
package results

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/pipeline"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
	"github.com/cephtune/cephtune/internal/report"
)

type options struct {
	runID  string
	run    int32
	series string
	output string
}

// NewCommand returns the subcommand.
func NewCommand(connect object.Connect) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:   "results [cephbenchmark/ | cephsweep/]NAME",
		Short: "Show what a benchmark or a sweep measured",

		ValidArgsFunction: object.Complete(connect, 1),
		RunE: kube.Briefly(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := o.check(cmd.Flags().Changed("run"), cmd.Flags().Changed("output")); err != nil {
				return err
			}
			return o.show(ctx, connect, args, cmd.OutOrStdout())
		}),
	}
	flags := cmd.Flags()
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml", "csv", "benchstat", "junit")
	flags.Int32Var(&o.run, "run", 0, "show only the run with this number")
	flags.StringVar(&o.runID, "run-id", "", "show results of an earlier runID, instead of the one in status")
	flags.StringVar(&o.series, "series", "", "show a phase over time, as CSV")
	return cmd
}

func (o *options) check(hasRun, hasOutput bool) error {
	switch {
	case hasRun && o.run < 1:
		return exit.UsageErrorf("--run %d: runs are counted from 1", o.run)
	case o.series != "" && hasOutput && o.output != "csv":
		return exit.UsageErrorf("--series is written as CSV: use -o csv")
	case o.output == "junit" && (hasRun || o.runID != ""):
		return exit.UsageErrorf("-o junit has the expectations, which all runs of the latest run ID together meet or miss: leave out --run and --run-id")
	}
	return nil
}

func (o *options) show(ctx context.Context, connect object.Connect, args []string, w io.Writer) error {
	reader, found, err := object.Open(ctx, connect, args)
	if err != nil {
		return err
	}
	if sweep, ok := found.(*v1alpha1.CephTuningSweep); ok {
		return o.showSweep(sweep, w)
	}
	benchmark, ok := found.(*v1alpha1.CephBenchmark)
	if !ok {
		return fmt.Errorf("got a %T", found)
	}
	if benchmark.Spec.Diagnosis != nil {
		return o.showDiagnosis(ctx, reader, benchmark, w)
	}
	if o.output == "junit" {
		return writeGate(w, benchmark)
	}
	f, err := o.find(ctx, reader, benchmark)
	if err != nil {
		return err
	}
	switch {
	case o.series != "":
		return writeSeries(w, f, v1alpha1.PhaseName(o.series))
	case o.output == "benchstat":
		return pipeline.Benchstat(terminal.ForFile(w), measurements(f.runs))
	case o.output == "json" || o.output == "yaml":
		return terminal.WriteData(w, o.output, f.runs)
	case o.output == "csv":
		return writeFigures(w, f)
	}
	return writeTable(w, f)
}

// showDiagnosis shows the findings of a diagnosis.
func (o *options) showDiagnosis(ctx context.Context, reader client.Reader, b *v1alpha1.CephBenchmark, w io.Writer) error {
	if o.run > 0 || o.series != "" || slices.Contains([]string{"csv", "benchstat", "junit"}, o.output) {
		return exit.UsageErrorf("--run, --series and -o csv, benchstat or junit are for figures, but %s is a diagnosis", b.Name)
	}
	if o.runID != "" {
		f, err := o.find(ctx, reader, b)
		if err != nil {
			return err
		}
		if b = b.DeepCopy(); f.runs[0].Diagnosis != nil {
			b.Status.Diagnosis, b.Status.Summary = &f.runs[0].Diagnosis.Result, diagnosis.Summary(f.runs[0].Diagnosis.Result)
		}
	}
	switch {
	case b.Status.Diagnosis == nil:
		return fmt.Errorf("diagnosis %s has no findings yet: %s", b.Name, object.StateOf(b).Now())
	case o.output == "json" || o.output == "yaml":
		return terminal.WriteData(w, o.output, b.Status.Diagnosis)
	}
	return WriteDiagnosis(w, b)
}

// showSweep shows the results of a sweep: for all its trials together, and for each.
func (o *options) showSweep(s *v1alpha1.CephTuningSweep, w io.Writer) error {
	if o.run > 0 || o.runID != "" || o.series != "" || o.output == "benchstat" || o.output == "junit" {
		return exit.UsageErrorf("--run, --run-id, --series and -o benchstat or junit are for a benchmark, but %s is a sweep: \"kubectl cephtune list -n %s\" shows its benchmarks", s.Name, s.Namespace)
	}
	if state := object.StateOf(s); len(s.Status.Configurations) == 0 && state.Ready().Reason != v1alpha1.ReasonPlanned {
		return fmt.Errorf("sweep %s has no results yet: %s", s.Name, state.Now())
	}
	switch o.output {
	case "json", "yaml":
		return terminal.WriteData(w, o.output, s.Status)
	case "csv":
		document, err := report.Sweep(s, report.RunsOf(s, nil))
		if err != nil {
			return err
		}
		return writeCSV(w, document.Figures)
	}
	return WriteSweep(w, s)
}

// Write shows the measurements of a CephBenchmark's latest run ID, as the subcommand does without
// flags.
func Write(ctx context.Context, reader client.Reader, b *v1alpha1.CephBenchmark, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, kube.Timeout)
	defer cancel()
	f, err := (&options{}).find(ctx, reader, b)
	if err != nil {
		return err
	}
	return writeTable(w, f)
}
