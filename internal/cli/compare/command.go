// Package compare is the subcommand that compares two benchmarks, or two runs of one benchmark. It says
// whether they are comparable and what differs.
package compare

import (
	"cmp"
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/object"
)

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
		Short:             "Compare two benchmarks, two runs of one, or two diagnoses",
		ValidArgsFunction: Complete(connect),
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

// Complete completes the names of benchmarks, or of files if the typed word begins like a path.
func Complete(connect object.Connect) cobra.CompletionFunc {
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
	if o.regression != nil && sides[0].diagnosis() != nil {
		return exit.UsageErrorf("--max-regression is for figures, but %s is a diagnosis", sides[0].name)
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
