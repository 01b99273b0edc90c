// Package compare is the subcommand that compares two benchmarks, or two runs of one benchmark. It says
// whether they are comparable and what differs.
package compare

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
)

const longHelp = `Compare two CephBenchmarks, or two runs of one. It shows whether they can be compared, and by
how much each figure of each phase differs.

Each side is NAME, NAME@RUN-ID for an earlier run ID whose results are kept, and
NAME:NUMBER or NAME@RUN-ID:NUMBER for one repetition, even an invalid one. Otherwise only valid
runs count. Instead of NAME, each side may be the file of an export (.yaml, .yml, .json, or - for
standard input). Two files are compared without a cluster.

They can be compared where their environments are the same (versions, OSDs, settings of
the pools and of Ceph, images, nodes, initial states) and their phases were specified
alike. --expect-difference ignores the kinds of differences that you list; any other is
reported, and makes the exit code 3. A missing expected difference also makes it 3, because the
change that you want to compare did not happen. --expect names differences by the beginning
of their lines.

%s

A and B are geometric means of the runs, also for percentiles. RATIO is B over A. Its interval
is Welch's, at 95 %%, on the logarithms of the runs' values, and needs three valid runs of each
side; the rate that one curve sustains has an interval of its own. Without an interval, the ratio
may be chance. The ratio includes everything that changed in
the cluster between the two: to find out whether a setting is the cause, use a CephTuningSweep.

With --max-regression the comparison is a gate, with A as the reference. A figure is Kept if its
whole interval is within the limit, Broken if all of it is beyond the limit, and otherwise
Unknown. The gate uses the same rules as maximumRegression of a CephBenchmark. An execution is all runs
with one run ID. The gate uses all complete executions of A that are kept and measured the same
workload, at most 60 runs. With executions on 3 days or more, the interval contains the differences
between days, and grows with the age of A. With fewer days, figures are Unknown. With --this-hour, the
gate then uses the latest execution alone, and holds for this hour only. If you write A as NAME@RUN-ID,
the gate uses only that execution. Without --closed-loop, a percentile of a phase without a rate is
Unknown, because it hides stalls.

Exit codes: 0 they can be compared, and every figure of --max-regression is Kept; 1 error; 2 wrong
usage; 3 an unexpected difference, an expected one that is missing, or a figure of
--max-regression that is Broken; 4 the answer is unknown: a difference that cannot be determined,
or a figure of --max-regression that is Unknown or that B lacks, and none that is Broken.`

const examples = `  # Before and after an upgrade of Ceph
  %[1]s nightly@before nightly@after -n cephtune-bench --expect-difference=ceph-version,images

  # Before and after disks were replaced, with one option that was changed with them
  %[1]s nightly@before nightly@after -n cephtune-bench --expect-difference=osds --expect "config osd osd_memory_target"

  # A gate: no slower than the reference
  %[1]s reference nightly -n cephtune-bench --max-regression 10% --metric bandwidth,p99

  # A gate on an exported reference, for example of another cluster
  %[1]s reference.yaml nightly -n cephtune-bench --max-regression 10% --expect-difference=cluster

  # Two files, without a cluster
  %[1]s reference.yaml nightly.yaml --max-regression 10%

  # Two benchmarks
  %[1]s on-ssd on-hdd -n cephtune-bench --expect-difference=osds

  # Two repetitions of one benchmark, for a script
  %[1]s nightly:1 nightly:3 -n cephtune-bench -o json`

type options struct {
	sides [2]argument
	// kinds and beginnings hold the values of --expect-difference and --expect. expect holds the parsed
	// form of both lists.
	kinds, beginnings []string
	expect            []expectation
	output            string
	maxRegression     string
	thisHour          bool
	closedLoop        bool
	metrics           []string
	regression        *regression
}

// argument is the parsed argument for one side.
type argument struct {
	typed string
	// name is the name of a benchmark, or the path of a file.
	name   string
	file   bool
	runID  string
	number int32 // of a run; 0 for all valid runs
}

// NewCommand returns the subcommand.
func NewCommand(connect object.Connect) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:               "compare A B",
		Short:             "Compare two benchmarks, or two runs of one",
		Long:              fmt.Sprintf(longHelp, kindsHelp()),
		Example:           examples,
		ValidArgsFunction: completion(connect),
		RunE: kube.Briefly(func(ctx context.Context, cmd *cobra.Command, args []string) error {
			if err := o.read(args); err != nil {
				return err
			}
			return o.run(ctx, reader{connect: connect, stdin: cmd.InOrStdin()}, cmd.OutOrStdout())
		}),
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&o.kinds, "expect-difference", nil, "kinds of expected differences, separated by commas: "+strings.Join(kindNames(), ", "))
	flags.StringArrayVar(&o.beginnings, "expect", nil, `beginning of an expected difference, such as "Ceph version" (repeatable)`)
	flags.StringVar(&o.maxRegression, "max-regression", "", "how much worse figures of B may be than those of A, such as 10%; makes the comparison a gate")
	flags.BoolVar(&o.thisHour, "this-hour", false, "accept a reference of fewer than three days: the gate then holds for this hour only")
	flags.StringSliceVar(&o.metrics, "metric", nil, "figures that --max-regression checks, such as iops,p99 (default bandwidth, and p99 of phases at a rate)")
	flags.BoolVar(&o.closedLoop, "closed-loop", false, "let --max-regression judge percentiles of phases without a rate: they hide stalls")
	kube.CompleteFlag(cmd, "expect-difference", kindNames())
	kube.AddOutput(cmd, &o.output, "table", "markdown", "html", "json", "yaml")
	return cmd
}

// kindsHelp describes the kinds of differences for the help.
func kindsHelp() string {
	var lines []string
	for _, k := range kinds() {
		lines = append(lines, fmt.Sprintf("  %-13s %s", k.name, k.description))
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
	if o.regression, err = parseRegression(o.maxRegression, o.metrics, o.thisHour, o.closedLoop); err != nil {
		return err
	}
	for i, arg := range args {
		if o.sides[i], err = parse(arg); err != nil {
			return err
		}
	}
	return nil
}

// completion completes the names of benchmarks, or of files if the typed word begins like a path.
func completion(connect object.Connect) cobra.CompletionFunc {
	benchmarks := object.CompleteBenchmarks(connect, 2)
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		if len(args) < 2 && (strings.HasPrefix(typed, ".") || strings.HasPrefix(typed, "/")) {
			return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
		}
		return benchmarks(cmd, args, typed)
	}
}

// parse reads NAME[@RUN-ID][:NUMBER]. NAME may follow a type and a slash, or be the path of a file. The
// name - is standard input.
func parse(arg string) (argument, error) {
	r := argument{typed: arg}
	rest := arg
	if parts := regexp.MustCompile(`^(-|.+\.(?:yaml|yml|json))(@[^@:/]+)?(:[^@:/]+)?$`).FindStringSubmatch(arg); parts != nil {
		if word, _, typed := strings.Cut(arg, "/"); !typed || !isKind(word) {
			r.file, r.name, rest = true, parts[1], "file"+parts[2]+parts[3]
		}
	}
	if word, after, typed := strings.Cut(rest, "/"); typed && !r.file {
		if kind, known := object.KindOf(word); !known || kind.Name != object.Benchmark().Name {
			return argument{}, exit.UsageErrorf("%q: only CephBenchmarks can be compared; the configurations of a sweep are in its report", arg)
		}
		rest = after
	}
	rest, number, numbered := strings.Cut(rest, ":")
	if numbered {
		n, err := strconv.ParseInt(number, 10, 32)
		if err != nil || n < 1 {
			return argument{}, exit.UsageErrorf("%q: want the number of a run after the colon, from 1", arg)
		}
		r.number = int32(n)
	}
	name, runID, identified := strings.Cut(rest, "@")
	if name == "" || identified && runID == "" {
		return argument{}, exit.UsageErrorf("%q: want NAME[@RUN-ID][:NUMBER]", arg)
	}
	r.runID = runID
	if !r.file {
		r.name = name
	}
	return r, nil
}

func isKind(word string) bool {
	_, known := object.KindOf(word)
	return known
}

func (o *options) run(ctx context.Context, source reader, out io.Writer) error {
	var sides [2]side
	var err error
	for i, arg := range o.sides {
		// A gate needs all executions of its reference, the first side, unless the argument names an execution or a run.
		all := i == 0 && o.regression != nil && arg.runID == "" && arg.number == 0
		if sides[i], err = source.find(ctx, arg, all); err != nil {
			return err
		}
	}
	found, err := compare(sides[0], sides[1], o.expect)
	if err != nil {
		return err
	}
	if err := found.judgeRegressions(o.regression, sides[0], sides[1], o.expect); err != nil {
		return err
	}
	if err := found.write(out, o.output); err != nil {
		return err
	}
	// The exit code of a proven regression takes precedence over that of an unknown comparability.
	differ, worse := found.verdict(), found.regressed()
	if exit.Code(worse) == exit.Unexpected && exit.Code(differ) != exit.Unexpected {
		return worse
	}
	return cmp.Or(differ, worse)
}
