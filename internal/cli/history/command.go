// Package history is the subcommand that says since which night a benchmark is slower or faster.
package history

import (
	"context"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/pipeline"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/cli/words"
	"github.com/cephtune/cephtune/internal/history"
)

type options struct {
	files  []string
	metric string
	output string
	to     string
}

// NewCommand returns the subcommand.
func NewCommand(connect object.Connect) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:               "history [cephbenchmark/]NAME",
		Short:             "Say since when a benchmark is slower, and what changed",
		ValidArgsFunction: object.CompleteBenchmarks(connect, 1),
		RunE: kube.Briefly(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			name, err := NameOf(args)
			if err != nil {
				return err
			}
			return o.show(ctx, connect, name, cmd.OutOrStdout())
		}),
	}
	flags := cmd.Flags()
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml", "jsonl", "benchstat", "junit")
	flags.StringArrayVarP(&o.files, "filename", "f", nil, "file with earlier nights, which -o jsonl or \"export\" wrote; may be repeated")
	flags.StringVar(&o.metric, "metric", "", "bandwidth, iops, mean, p50, p95, p99 or p999, instead of each phase's main figure")
	flags.StringVar(&o.to, "to", "", "file to write with -o jsonl, instead of standard output")
	return cmd
}

// NameOf returns the name of the benchmark in arguments.
func NameOf(args []string) (string, error) {
	kind, name, err := object.Parse(args)
	if err == nil && kind.Name == object.Sweep().Name {
		return "", exit.UsageErrorf("a sweep has no history: name a CephBenchmark")
	}
	return name, err
}

func (o *options) show(ctx context.Context, connect object.Connect, name string, w io.Writer) error {
	metric, known := words.Metric(o.metric)
	switch {
	case o.metric != "" && (!known || metric == v1alpha1.MetricLatencyMax):
		return exit.UsageErrorf("--metric %q: want one of bandwidth, iops, mean, p50, p95, p99, p999", o.metric)
	case o.to != "" && o.output != "jsonl":
		return exit.UsageErrorf("--to is for -o jsonl")
	}
	nights, err := read(ctx, o.files)
	if err != nil {
		return err
	}
	benchmark, kept, err := Open(ctx, connect, name)
	if err != nil {
		return err
	}
	if nights, err = history.Merge(nights, kept); err != nil {
		return exit.UsageErrorf("-f: %w", err)
	}
	if o.output == "jsonl" {
		return writeNights(w, o.to, nights)
	}
	return o.write(w, benchmark, nights, metric)
}

// write judges the nights, and returns an error with the exit code.
func (o *options) write(w io.Writer, b *v1alpha1.CephBenchmark, nights []history.Night, metric v1alpha1.Metric) error {
	all, err := history.Judge(b.Spec.Template.Phases, nights, metric, history.AcknowledgedBefore(b.Spec, time.Now()))
	if err != nil {
		return err
	}
	switch o.output {
	case "benchstat": // It judges by itself.
		return pipeline.Benchstat(terminal.ForFile(w), measurements(b.Spec.Template.Phases, nights, metric))
	case "junit":
		err = pipeline.JUnit(terminal.ForFile(w), b.Namespace+"/"+b.Name, cases(all))
	default:
		err = terminal.Write(w, o.output, all, func(page *terminal.Page) { addTable(page, all) })
	}
	if err != nil {
		return err
	}
	return outcome(all)
}

// outcome returns the error with the exit code.
func outcome(all []history.Series) error {
	worse, short := 0, true
	for _, s := range all {
		if s.Regressed {
			worse++
		}
		short = short && s.TooFew != ""
	}
	switch {
	case worse > 0:
		return exit.UnexpectedErrorf("figures that got worse: %d of %d", worse, len(all))
	case short:
		return exit.UndecidedErrorf("there are too few nights for an answer")
	}
	return nil
}
