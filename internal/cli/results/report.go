package results

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/manifest"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/wholefile"
	"github.com/cephtune/cephtune/internal/report"
)

// reporting has the flags of the subcommand report.
type reporting struct {
	file   string
	path   string
	output string
}

// NewReportCommand returns the subcommand that makes a report of a CephTuningSweep or a CephBenchmark.
func NewReportCommand(connect object.Connect) *cobra.Command {
	o := &reporting{}
	cmd := &cobra.Command{
		Use:               "report ([cephtuningsweep/]NAME | cephbenchmark/NAME | -f FILE)",
		Short:             "Make a report of a sweep or a benchmark: HTML, Markdown or CSV",
		ValidArgsFunction: object.Complete(connect, 1),
		RunE: kube.Briefly(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := o.choose(cmd.Flags().Changed("output")); err != nil {
				return err
			}
			text, err := o.make(ctx, connect, args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			if err := wholefile.Save(o.path, cmd.OutOrStdout(), text); err != nil {
				return fmt.Errorf("writing the report: %w", err)
			}
			return nil
		}),
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.file, "filename", "f", "", "file to read, instead of the cluster; - is standard input")
	flags.StringVar(&o.path, "to", "", "file to write, instead of standard output; its ending chooses the format")
	kube.AddOutput(cmd, &o.output, reportOutputs()...)
	return cmd
}

func reportOutputs() []string { return []string{"html", "markdown", "csv"} }

// choose sets the format to that of the name after --to, unless -o names one. It refuses two formats.
func (o *reporting) choose(named bool) error {
	ending := strings.ToLower(filepath.Ext(o.path))
	if ending == "" {
		return nil
	}
	format, known := map[string]string{".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".csv": "csv"}[ending]
	switch {
	case !named && !known:
		return exit.UsageErrorf("--to %s: no format has the ending %s: end the name with .html, .md or .csv, or name the format with -o", o.path, ending)
	case !named:
		o.output = format
	case known && format != o.output, slices.Contains([]string{".json", ".yaml", ".yml", ".pdf"}, ending):
		return exit.UsageErrorf("--to %s and -o %s are two formats: remove -o, or change the ending %s", o.path, o.output, ending)
	}
	return nil
}

// make makes the report in memory, because an incomplete file would look like a complete one.
func (o *reporting) make(ctx context.Context, connect object.Connect, args []string, stdin io.Reader) ([]byte, error) {
	reader, found, err := o.open(ctx, connect, args, stdin)
	if err != nil {
		return nil, err
	}
	made, err := documentOf(ctx, reader, found)
	if err != nil {
		return nil, err
	}
	return made.In(o.output)
}

// open reads the object, and returns a reader of its results.
func (o *reporting) open(ctx context.Context, connect object.Connect, args []string, stdin io.Reader) (client.Reader, client.Object, error) {
	switch {
	case o.file != "" && len(args) > 0:
		return nil, nil, exit.UsageErrorf("-f names a file and %q an object: remove one of them", args[0])
	case o.file != "":
		return manifest.Open(o.file, stdin)
	}
	return object.Open(ctx, connect, args)
}

// documentOf makes a report, for a benchmark from the full results of its runs, and for a sweep from its benchmarks and
// archived sessions.
func documentOf(ctx context.Context, reader client.Reader, found client.Object) (*report.Document, error) {
	switch found := found.(type) {
	case *v1alpha1.CephTuningSweep:
		benchmarks, err := OfSweep(ctx, reader, found)
		if err != nil {
			return nil, err
		}
		sessions, err := Sessions(ctx, reader, found)
		if err != nil {
			return nil, err
		}
		return report.Sweep(found, report.RunsOf(found, benchmarks), sessions...)
	case *v1alpha1.CephBenchmark:
		if found.Status.StartTime == nil || found.Spec.Diagnosis != nil {
			return report.Benchmark(found, nil)
		}
		runs, err := Runs(ctx, reader, found)
		if err != nil {
			return nil, err
		}
		return report.Benchmark(found, runs)
	}
	return nil, fmt.Errorf("got a %T", found)
}
