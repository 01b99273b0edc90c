// Package report is the subcommand that makes a report of a CephTuningSweep or a CephBenchmark.
package report

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/manifest"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/results"
	"github.com/cephtune/cephtune/internal/cli/wholefile"
	document "github.com/cephtune/cephtune/internal/report"
)

// timeout bounds all requests together; --request-timeout bounds each request.
const timeout = 2 * time.Minute

const longHelp = `Make a report of a CephTuningSweep or a CephBenchmark: the verdict in a sentence, every
configuration or phase with its interval, every run in order of time, the environment, what was
restored, and the object to repeat it.

html is one self-contained file with plots, to mail, keep or print. markdown is for a pull
request, without plots. csv has the raw figures, one line for each figure of each run, and for a
benchmark also of all runs together. Without -o, the name after --to chooses the format: .html,
.md or .csv.

With -f it reads a file instead of the cluster: an export, or the output of
"kubectl get -o yaml".

Exit codes: 0 the report is written, whatever the verdict; 1 error; 2 wrong usage.`

const examples = `  # A sweep, to look at in a browser
  %[1]s pg-num -n cephtune-bench --to pg-num.html

  # A benchmark, for a pull request
  %[1]s cephbenchmark/nightly -n cephtune-bench -o markdown

  # Without the cluster, later
  kubectl cephtune export cephbenchmark/nightly -n cephtune-bench --to nightly.yaml
  %[1]s -f nightly.yaml --to nightly.html`

type options struct {
	file   string
	path   string
	output string
}

// NewCommand returns the subcommand; program is the name under which the root command was called.
func NewCommand(program string) *cobra.Command {
	return kube.Connected(func(connection *kube.Connection) *cobra.Command { return newCommand(program, connection.Connect) })
}

func newCommand(program string, connect object.Connect) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:               "report ([cephtuningsweep/]NAME | cephbenchmark/NAME | -f FILE)",
		Short:             "Make a report of a sweep or a benchmark: HTML, Markdown or CSV",
		Long:              longHelp,
		Example:           fmt.Sprintf(examples, program+" report"),
		ValidArgsFunction: object.Complete(connect, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(args); err != nil {
				return err
			}
			if err := o.choose(cmd.Flags().Changed("output")); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			text, err := o.make(ctx, connect, args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			return o.write(text, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&o.file, "filename", "f", "", "file to read, instead of the cluster; - is standard input")
	flags.StringVar(&o.path, "to", "", "file to write, instead of standard output; its ending chooses the format")
	kube.AddOutput(cmd, &o.output, outputs()...)
	return cmd
}

func outputs() []string { return []string{"html", "markdown", "csv"} }

func (o *options) check(args []string) error {
	switch {
	case o.file != "" && len(args) > 0:
		return exit.UsageErrorf("-f names a file and %q an object: remove one of them", args[0])
	case o.file != "":
		return nil
	}
	_, _, err := object.Parse(args)
	return err
}

// choose sets the format to that of the name after --to, unless -o names one. It refuses two formats.
func (o *options) choose(named bool) error {
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
func (o *options) make(ctx context.Context, connect object.Connect, args []string, stdin io.Reader) ([]byte, error) {
	input, err := o.find(ctx, connect, args, stdin)
	if err != nil {
		return nil, err
	}
	var made *document.Document
	switch found := input.object.(type) {
	case *v1alpha1.CephTuningSweep:
		made, err = document.Sweep(found, document.RunsOf(found, input.benchmarks), input.sessions...)
	case *v1alpha1.CephBenchmark:
		made, err = document.Benchmark(found, input.runs)
	default:
		err = fmt.Errorf("got a %T", found)
	}
	if err != nil {
		return nil, err
	}
	switch o.output {
	case "markdown":
		return made.Markdown(), nil
	case "csv":
		return made.CSV()
	}
	return made.HTML()
}

// source holds the input of a report: for a benchmark, the full results of its runs; for a sweep, its
// benchmarks and archived sessions.
type source struct {
	object     client.Object
	runs       []*archive.Run
	benchmarks []*v1alpha1.CephBenchmark
	sessions   []*archive.SwitchedSession
}

func (o *options) find(ctx context.Context, connect object.Connect, args []string, stdin io.Reader) (source, error) {
	if o.file != "" {
		return fromFile(o.file, stdin)
	}
	kind, name, err := object.Parse(args)
	if err != nil {
		return source{}, err
	}
	c, opened, err := object.Open(ctx, connect, kind, name)
	if err != nil {
		return source{}, err
	}
	input := source{object: opened}
	switch found := input.object.(type) {
	case *v1alpha1.CephTuningSweep:
		if input.benchmarks, err = results.OfSweep(ctx, c, found); err != nil {
			return source{}, err
		}
		var kept []corev1.ConfigMap
		if kept, err = results.SessionsOf(ctx, c, found); err == nil {
			input.sessions, err = archive.SessionsIn(found, kept)
		}
	case *v1alpha1.CephBenchmark:
		if found.Status.StartTime != nil && found.Spec.Diagnosis == nil {
			input.runs, err = results.Runs(ctx, c, found, "")
		}
	}
	return input, err
}

// fromFile reads an object and its results from a file.
func fromFile(path string, stdin io.Reader) (source, error) {
	all, err := manifest.All(path, stdin)
	if err != nil {
		return source{}, err
	}
	input := source{}
	if input.object, err = manifest.Main(path, all); err != nil {
		return source{}, err
	}
	var kept, maps []corev1.ConfigMap
	for _, item := range all {
		switch item := item.(type) {
		case *v1alpha1.CephBenchmark:
			input.benchmarks = append(input.benchmarks, item)
		case *corev1.ConfigMap:
			maps = append(maps, *item)
			if b, ok := input.object.(*v1alpha1.CephBenchmark); ok && item.Labels[archive.LabelExecution] == archive.Execution(b) {
				kept = append(kept, *item)
			}
		}
	}
	if s, ok := input.object.(*v1alpha1.CephTuningSweep); ok {
		input.sessions, err = archive.SessionsIn(s, maps)
		return input, err
	}
	if b, ok := input.object.(*v1alpha1.CephBenchmark); ok {
		input.runs, err = results.Read(b, kept)
	}
	return input, err
}

func (o *options) write(text []byte, out io.Writer) error {
	if o.path == "" {
		_, err := out.Write(text)
		return err
	}
	if err := wholefile.Write(o.path, text); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}
