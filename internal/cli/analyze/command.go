// Package analyze is the subcommand that compares outputs of engines, or the rows of a table, and gives
// each candidate a verdict. It also summarises a single argument, and judges an exported sweep again.
// It works offline.
package analyze

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/internal/cli/difference"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/cli/words"
	"github.com/cephtune/cephtune/internal/loadfacts"
	"github.com/cephtune/cephtune/internal/report/medium"
	"github.com/cephtune/cephtune/internal/stats"
)

type options struct {
	baseline      []string
	candidates    groups
	baselineName  string
	metric        string
	direction     string
	job           string
	paired        bool
	table         string
	configuration string
	value         string
	block         []string
	where         []string

	higherIsBetter bool
	minimumEffect  fraction
	equivalence    fraction
	confidence     fraction

	closedLoop  bool
	metricGiven bool
	// summarised says that the command line has a single argument. That argument is judged again if
	// exported is true, and summarised otherwise.
	summarised bool
	// exported says that the argument looks like a file that `kubectl cephtune export` wrote for a sweep.
	exported bool

	output string
	plot   string
	expect []string
	// expectDifference names the options in which the loads may differ.
	expectDifference []string
}

// NewCommand returns the subcommand.
func NewCommand() *cobra.Command {
	o := &options{minimumEffect: 0.20, equivalence: 0.05, confidence: 0.95}
	cmd := &cobra.Command{
		Use:   "analyze (FILE [FILE…] | --baseline FILE… --candidate FILE… | --table FILE --configuration COLUMN --value COLUMN --baseline VALUE)",
		Short: "Compare benchmark outputs or a table of results, offline",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.metricGiven = cmd.Flags().Changed("metric")
			if err := o.take(args); err != nil {
				return err
			}
			if err := o.checkMisplaced(cmd.Flags().Changed); err != nil {
				return err
			}
			return o.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	o.addFlags(cmd)
	return cmd
}

func (o *options) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&o.baseline, "baseline", nil, "outputs of the baseline's runs; with --table its value in the configuration column")
	flags.Var(filesValue{&o.candidates}, "candidate", "outputs of a candidate's runs")
	flags.Var(nameValue{&o.candidates}, "candidate-name", "name of a candidate (default candidate)")
	flags.StringVar(&o.baselineName, "baseline-name", "", "name of the baseline (default baseline, or the name of its file)")
	flags.StringVar(&o.metric, "metric", "bandwidth", "what to compare: "+strings.Join(metricNames(), ", "))
	flags.StringVar(&o.direction, "direction", total, "operations to compare: total, read, write, trim or mixed")
	flags.StringVar(&o.job, "job", "", "job of fio, or group of jobs such as \"group 1\", to compare or to summarise")
	flags.BoolVar(&o.paired, "paired", false, "compare runs pairwise: the n-th runs of both sides were made one after the other")
	flags.StringVar(&o.table, "table", "", "a CSV file with a line of column names; one row is one run")
	flags.StringVar(&o.configuration, "configuration", "", "column that names the configuration")
	flags.StringVar(&o.value, "value", "", "column with the number to compare")
	flags.StringSliceVar(&o.block, "block", nil, "column that groups rows measured close in time; several columns form a block for each combination")
	flags.StringArrayVar(&o.where, "where", nil, "use only rows with COLUMN=VALUE; repeat for more conditions")
	flags.BoolVar(&o.higherIsBetter, "higher-is-better", true, "whether more is better in --value; for outputs, --metric implies it")
	flags.Var(&o.minimumEffect, "minimum-effect", "gain that a candidate must exceed to be Superior")
	flags.Var(&o.equivalence, "equivalence", "difference that does not matter")
	flags.Var(&o.confidence, "confidence", "one minus the chance of a false gain")
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml", "markdown")
	flags.StringVar(&o.plot, "plot", "", "SVG file for a plot of the runs; with --table, of the ratios")
	flags.StringSliceVar(&o.expect, "expect", nil, "accepted verdicts; any other exits with 3")
	flags.StringSliceVar(&o.expectDifference, "expect-difference", nil, "options in which the loads are meant to differ, such as iodepth; any other exits with 3")
	flags.BoolVar(&o.closedLoop, "closed-loop", false, "judge percentiles of fio without a rate: they hide stalls")
	kube.CompleteFlag(cmd, "metric", metricNames())
	kube.CompleteFlag(cmd, "direction", directions())
	kube.CompleteFlag(cmd, "expect", words.SweepVerdicts())
}

func directions() []string { return []string{total, "read", "write", "trim", "mixed"} }

func (o *options) run(ctx context.Context, stdout io.Writer) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.baselineName == "" {
		o.baselineName = "baseline"
	}
	if o.summarised {
		if o.exported {
			return o.replay(ctx, o.baseline[0], stdout)
		}
		return o.summarise(stdout)
	}
	s, err := o.study()
	if err != nil {
		return err
	}
	s.warnAboutRuns()
	if expect := o.expectations(); s.source == "files" {
		s.compareLoads(expect, o.closedLoop)
	} else {
		s.compareColumns(expect)
	}
	criteria := o.criteria(s)
	assessments, err := s.judge(criteria)
	if err != nil {
		return err
	}
	r := newReport(s, criteria, assessments)
	if o.plot != "" {
		if err := o.draw(s, r); err != nil {
			return err
		}
	}
	if err := terminal.Write(stdout, o.output, r, func(p *terminal.Page) { r.show(p, s.unit) }); err != nil {
		return err
	}
	return cmp.Or(difference.Check(s.differences, s.missing), checkVerdicts(o, r.Candidates, func(c candidateEntry) (string, string) { return c.Name, c.Verdict }))
}

// expectations returns the differences of --expect-difference.
func (o *options) expectations() []difference.Expectation {
	var all []difference.Expectation
	for _, name := range o.expectDifference {
		all = append(all, difference.Expectation{Name: name, Matches: func(line string) bool { return loadfacts.Matches(name, line) }})
	}
	return all
}

func (o *options) check() error {
	if !slices.Contains(directions(), o.direction) {
		return exit.UsageErrorf("--direction %q: want one of %s", o.direction, strings.Join(directions(), ", "))
	}
	for _, v := range o.expect {
		if !slices.Contains(words.SweepVerdicts(), v) {
			return exit.UsageErrorf("--expect %q: want some of %s", v, strings.Join(words.SweepVerdicts(), ", "))
		}
	}
	// The metric is not known yet, so Validate applies the limits for a rate. stats.Judge validates
	// again, with the stricter limits for a latency, which cannot fall by 100%.
	if err := o.criteria(&study{higherIsBetter: true}).Validate(); err != nil {
		return exit.UsageErrorf("%w", err)
	}
	if o.table != "" {
		return o.checkTableFlags()
	}
	return o.checkFileFlags()
}

func (o *options) study() (*study, error) {
	if o.table != "" {
		return studyOfTable(o)
	}
	return studyOfFiles(o)
}

func (o *options) criteria(s *study) stats.Criteria {
	c := stats.Criteria{
		MinimumEffect: float64(o.minimumEffect), Equivalence: float64(o.equivalence), Confidence: float64(o.confidence),
	}
	if !s.higherIsBetter {
		c.Direction = stats.LowerIsBetter
	}
	return c
}

func (o *options) draw(s *study, r *report) error {
	figure, err := drawFigure(s, r)
	if err != nil {
		return fmt.Errorf("--plot: %w", err)
	}
	return os.WriteFile(o.plot, []byte(medium.Lines(string(figure))), 0o644) //nolint:gosec // Other users may read the plot.
}

// checkVerdicts checks the verdicts of candidates against --expect.
func checkVerdicts[T any](o *options, candidates []T, of func(T) (name, verdict string)) error {
	var errs []error
	for _, c := range candidates {
		if name, verdict := of(c); len(o.expect) > 0 && !slices.Contains(o.expect, verdict) {
			errs = append(errs, fmt.Errorf("%s is %s, expected %s", name, verdict, strings.Join(o.expect, " or ")))
		}
	}
	if len(errs) > 0 {
		return exit.UnexpectedErrorf("%w", errors.Join(errs...))
	}
	return nil
}
