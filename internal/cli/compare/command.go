// Package compare is the subcommand that compares two benchmarks, or two runs of one. It says
// whether they are comparable and what differs.
package compare

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/results"
)

// timeout bounds all requests together; --request-timeout bounds each.
const timeout = 2 * time.Minute

const longHelp = `Compare two CephBenchmarks, or two runs of one. It shows whether they can be compared, and by
how much each figure of each phase differs.

Each side is NAME, NAME@RUN-ID for an earlier run ID whose results are kept, and
NAME:NUMBER or NAME@RUN-ID:NUMBER for one repetition. Only valid runs count, unless one is
named.

They can be compared where their environments are the same (versions, OSDs, settings of
the pools and of Ceph, images, nodes, initial states) and their phases were specified
alike. --expect-difference ignores the kinds of differences that you list; any other is
reported, and makes the exit code 3. So does an expected difference that is missing: then the
change that you want to compare did not happen. --expect names a single difference, by the
beginning of its line.

%s

A and B are geometric means of the runs, also for percentiles. RATIO is B over A. Its interval
is Welch's, at 95 %%, on the logarithms of the runs' values, and needs three valid runs of each
side. Without an interval, the ratio may be chance. The ratio includes everything that changed in
the cluster between the two: to find out whether a setting is the cause, use a CephTuningSweep.

With --max-regression the comparison is a gate. A is the reference. A figure is Kept if its
interval shows that B is not worse by more than that, Broken if it shows that B is, and
otherwise Unknown. If the runs of A cover fewer than 3 days, the result holds for this hour only.

Exit codes: 0 they can be compared, and every figure of --max-regression is Kept; 1 error; 2 wrong
usage; 3 an unexpected difference, an expected one that is missing, a difference that cannot be
determined, or a figure of --max-regression that is Broken or Unknown.`

const examples = `  # Before and after an upgrade of Ceph
  %[1]s nightly@before nightly@after -n cephtune-bench --expect-difference=ceph-version,images

  # Before and after disks were replaced, with one option that was changed with them
  %[1]s nightly@before nightly@after -n cephtune-bench --expect-difference=osds --expect "config osd osd_memory_target"

  # A gate: no slower than the reference
  %[1]s reference nightly -n cephtune-bench --max-regression 10%% --metric bandwidth,p99

  # Two benchmarks
  %[1]s on-ssd on-hdd -n cephtune-bench --expect-difference=osds

  # Two repetitions of one, for a script
  %[1]s nightly:1 nightly:3 -n cephtune-bench -o json`

type options struct {
	sides [2]reference
	// kinds and beginnings hold the flags about expected differences, expect their parsed form.
	kinds, beginnings []string
	expect            []expectation
	output            string
	maxRegression     string
	metrics           []string
	regression        *regression
}

// reference is the parsed argument for one side.
type reference struct {
	typed, name, runID string
	number             int32 // 0 for all
}

// NewCommand returns the subcommand; program is the name under which the root was
// called.
func NewCommand(program string) *cobra.Command {
	return kube.Connected(func(connection *kube.Connection) *cobra.Command { return newCommand(program, connection.Connect) })
}

func newCommand(program string, connect object.Connect) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:               "compare A B",
		Short:             "Compare two benchmarks, or two runs of one",
		Long:              fmt.Sprintf(longHelp, kindsHelp()),
		Example:           fmt.Sprintf(examples, program+" compare"),
		ValidArgsFunction: object.CompleteBenchmarks(connect, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.read(args); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return o.run(ctx, connect, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringSliceVar(&o.kinds, "expect-difference", nil, "kinds of expected differences, separated by commas: "+strings.Join(kindNames(), ", "))
	flags.StringArrayVar(&o.beginnings, "expect", nil, `beginning of an expected difference, such as "Ceph version" (repeatable)`)
	flags.StringVar(&o.maxRegression, "max-regression", "", "how much worse figures of B may be than those of A, such as 10%; makes the comparison a gate")
	flags.StringSliceVar(&o.metrics, "metric", nil, "figures that --max-regression checks, such as iops,p99 (default bandwidth, and p99 if there is one)")
	// This fails only for a missing flag, which a test would show.
	_ = cmd.RegisterFlagCompletionFunc("expect-difference", cobra.FixedCompletions(kindNames(), cobra.ShellCompDirectiveNoFileComp))
	kube.AddOutput(cmd, &o.output, "table", "markdown", "html", "json", "yaml")
	return cmd
}

// kindsHelp lists the kinds of differences.
func kindsHelp() string {
	var lines []string
	for _, k := range kinds() {
		lines = append(lines, fmt.Sprintf("  %-13s %s", k.name, k.what))
	}
	return strings.Join(lines, "\n")
}

func (o *options) read(args []string) error {
	switch {
	case len(args) != 2:
		return exit.UsageErrorf("want two benchmarks, such as nightly@1 nightly@2, got %d arguments", len(args))
	case args[0] == args[1]:
		return exit.UsageErrorf("both sides are %s", args[0])
	}
	var err error
	if o.expect, err = expectations(o.kinds, o.beginnings); err != nil {
		return err
	}
	if o.regression, err = parseRegression(o.maxRegression, o.metrics); err != nil {
		return err
	}
	for i, arg := range args {
		if o.sides[i], err = parse(arg); err != nil {
			return err
		}
	}
	return nil
}

// parse reads NAME[@RUN-ID][:NUMBER], optionally with a type before the name.
func parse(arg string) (reference, error) {
	r := reference{typed: arg}
	rest := arg
	if word, after, typed := strings.Cut(arg, "/"); typed {
		if kind, known := object.KindOf(word); !known || kind.Name != object.Benchmark().Name {
			return reference{}, exit.UsageErrorf("%q: only CephBenchmarks can be compared; the configurations of a sweep are in its report", arg)
		}
		rest = after
	}
	rest, number, numbered := strings.Cut(rest, ":")
	if numbered {
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || n < 1 {
			return reference{}, exit.UsageErrorf("%q: want the number of a run after the colon, from 1", arg)
		}
		r.number = int32(n)
	}
	var identified bool
	r.name, r.runID, identified = strings.Cut(rest, "@")
	if r.name == "" || identified && r.runID == "" {
		return reference{}, exit.UsageErrorf("%q: want NAME[@RUN-ID][:NUMBER]", arg)
	}
	return r, nil
}

func (o *options) run(ctx context.Context, connect object.Connect, out io.Writer) error {
	c, namespace, err := connect()
	if err != nil {
		return err
	}
	var sides [2]side
	for i, r := range o.sides {
		if sides[i], err = find(ctx, c, namespace, r); err != nil {
			return err
		}
	}
	found, err := compare(sides[0], sides[1], o.expect)
	if err != nil {
		return err
	}
	if err := found.judgeRegressions(o.regression, sides[0]); err != nil {
		return err
	}
	if err := found.write(out, o.output); err != nil {
		return err
	}
	if err := found.verdict(); err != nil {
		return err
	}
	return found.regressed()
}

// find reads the runs of a side.
func find(ctx context.Context, from client.Reader, namespace string, r reference) (side, error) {
	o, err := object.Get(ctx, from, object.Benchmark(), client.ObjectKey{Namespace: namespace, Name: r.name})
	if err != nil {
		return side{}, err
	}
	b, is := o.(*v1alpha1.CephBenchmark)
	if !is {
		return side{}, fmt.Errorf("got a %T", o)
	}
	runs, err := results.Runs(ctx, from, b, r.runID)
	if err != nil {
		return side{}, err
	}
	if len(runs) == 0 {
		return side{}, fmt.Errorf("there are no results of %s: historyLimit keeps those of %d run IDs, and an unfinished run has none yet", r.typed, b.Spec.HistoryLimit)
	}
	counts := func(run *archive.Run) bool { return run.State == v1alpha1.RunValid }
	if r.number > 0 {
		counts = func(run *archive.Run) bool { return run.Number == r.number }
	}
	all := len(runs)
	runs = slices.DeleteFunc(runs, func(run *archive.Run) bool { return !counts(run) })
	switch {
	case len(runs) == 0 && r.number > 0:
		return side{}, fmt.Errorf("%[2]s has no run %[1]d, only %[3]d others", r.number, r.name, all)
	case len(runs) == 0:
		return side{}, fmt.Errorf("no run of %s is valid: \"results %s\" says why", r.typed, r.name)
	}
	return side{name: r.typed, runs: runs}, nil
}
