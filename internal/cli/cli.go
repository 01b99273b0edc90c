// Package cli has the root command of cephtune. Each subcommand has a package, except that suspend and
// resume share one.
package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/internal/cli/analyze"
	"github.com/cephtune/cephtune/internal/cli/cancel"
	"github.com/cephtune/cephtune/internal/cli/compare"
	"github.com/cephtune/cephtune/internal/cli/doctor"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/export"
	"github.com/cephtune/cephtune/internal/cli/history"
	"github.com/cephtune/cephtune/internal/cli/list"
	"github.com/cephtune/cephtune/internal/cli/plan"
	"github.com/cephtune/cephtune/internal/cli/report"
	"github.com/cephtune/cephtune/internal/cli/restore"
	"github.com/cephtune/cephtune/internal/cli/results"
	"github.com/cephtune/cephtune/internal/cli/run"
	"github.com/cephtune/cephtune/internal/cli/suspend"
	"github.com/cephtune/cephtune/internal/cli/sweep"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/cli/versions"
	"github.com/cephtune/cephtune/internal/cli/watch"
	"github.com/cephtune/cephtune/internal/version"
)

// Run executes a command line and returns the exit code. args[0] is the name under which the
// program was called.
func Run(args []string, stdout, stderr io.Writer) int {
	stdout, stderr = terminal.NewOutput(stdout), terminal.NewOutput(stderr)
	root := NewRoot(displayName(args[0]))
	root.SetArgs(argsOf(root, args[1:]))
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteC()
	code := exit.Code(err)
	if err != nil {
		// Further lines of an error are indented, so that no text in it looks like another error. A failure to
		// write cannot be reported.
		_, _ = fmt.Fprintf(stderr, "error: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	if code == exit.Usage {
		_, _ = fmt.Fprintf(stderr, "See '%s --help'.\n", cmd.CommandPath())
	}
	return code
}

// argsOf returns the arguments of a command line. Only "analyze" has lists that a shell expands: other
// commands have a flag --baseline, too, and may have arguments after it. During shell completion, Find fails, so
// the last word, which is completed, stays unchanged.
func argsOf(root *cobra.Command, args []string) []string {
	if cmd, _, err := root.Find(args); err == nil && cmd.Name() == "analyze" {
		return analyze.SpreadLists(args)
	}
	return args
}

// displayName returns the command that the user typed: kubectl runs "kubectl cephtune" as a
// program named kubectl-cephtune.
func displayName(program string) string {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	if plugin, ok := strings.CutPrefix(name, "kubectl-"); ok {
		return "kubectl " + plugin
	}
	return name
}

// NewRoot returns the root command with the given name.
func NewRoot(name string) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-cephtune",
		Short: "Test honestly whether a setting makes a Ceph cluster faster",
		Long: `cephtune tests honestly whether a setting makes a Ceph cluster faster.

"run" runs a benchmark or a sweep and prints the outcome, "sweep" makes a sweep from flags,
"diagnose" finds out why Ceph is slow, and "plan" shows what a sweep or a benchmark would do. "list",
"watch" and "results" show progress and results, "report" writes a page, "export" a file that can be
read without the cluster, "compare" compares two benchmarks, and "history" says since when one is
slower. "suspend", "resume" and "cancel" act on a benchmark or a sweep.
"restore" shows the settings that are still to be restored in Ceph, "doctor" problems of an
installation, and "version" the installed versions.

"analyze" works offline: it compares the outputs of rados bench, rbd bench and fio, or a
table of results, and needs no cluster.`,
		Version:       version.Version(),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: name},
		SilenceErrors: true, // Run prints errors, once and on stderr.
		SilenceUsage:  true, // A page of flags would hide the error above it.
		Args:          refuseUnknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.UsageErrorf("%w", err) })
	root.AddCommand(
		run.NewCommand(name), run.NewCurveCommand(name), run.NewDiagnoseCommand(name), sweep.NewCommand(name), plan.NewCommand(name), watch.NewCommand(name), list.NewCommand(name),
		results.NewCommand(name), report.NewCommand(name), export.NewCommand(name), compare.NewCommand(name), history.NewCommand(name), analyze.NewCommand(name),
		cancel.NewCommand(name), restore.NewCommand(name), doctor.NewCommand(name), versions.NewCommand(name),
	)
	root.AddCommand(suspend.NewCommands(name)...)
	return root
}

func refuseUnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.UsageErrorf("unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return nil
}
