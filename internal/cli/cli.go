// Package cli has the root command of cephtune. Subcommands that do the same have one package.
package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/cephtune/cephtune/internal/cli/analyze"
	"github.com/cephtune/cephtune/internal/cli/compare"
	"github.com/cephtune/cephtune/internal/cli/control"
	"github.com/cephtune/cephtune/internal/cli/doctor"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/help"
	"github.com/cephtune/cephtune/internal/cli/history"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/list"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/cli/results"
	"github.com/cephtune/cephtune/internal/cli/sentinel"
	"github.com/cephtune/cephtune/internal/cli/start"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/cli/watch"
	"github.com/cephtune/cephtune/internal/cli/words"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/version"
)

// Run executes a command line and returns the exit code. args[0] is the name under which the
// program was called.
func Run(args []string, stdout, stderr io.Writer) int {
	log.SetLogger(logr.Discard()) // Without a logger, controller-runtime prints a stack after 30 seconds.
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

// NewRoot returns the root command with the given name. It is the name in the examples of the subcommands, too.
func NewRoot(name string) *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-cephtune",
		Short:         "Test honestly whether a setting makes a Ceph cluster faster",
		Long:          help.Of("cephtune").Long,
		Version:       version.Version(),
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: name},
		SilenceErrors: true, // Run prints errors, once and on stderr.
		SilenceUsage:  true, // A page of flags would hide the error above it.
		Args:          refuseUnknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return exit.UsageErrorf("%w%s", err, flagHint(cmd, err)) })
	pace := object.DefaultPace()
	for _, newCommand := range []func(*kube.Connection) *cobra.Command{
		func(c *kube.Connection) *cobra.Command { return start.NewRunCommand(c.Connect, c.FollowLog) },
		func(c *kube.Connection) *cobra.Command { return start.NewCurveCommand(c.Connect, c.FollowLog) },
		func(c *kube.Connection) *cobra.Command { return start.NewDiagnoseCommand(c.Connect) },
		func(c *kube.Connection) *cobra.Command {
			return start.NewSweepCommand(c.Connect, c.FollowLog, start.IsTerminal)
		},
		func(c *kube.Connection) *cobra.Command { return start.NewPlanCommand(c.Connect) },
		func(c *kube.Connection) *cobra.Command { return watch.NewCommand(c.Connect, c.FollowLog) },
		func(c *kube.Connection) *cobra.Command { return list.NewCommand(c.Connect, time.Now) },
		func(c *kube.Connection) *cobra.Command { return results.NewCommand(c.Connect) },
		func(c *kube.Connection) *cobra.Command { return results.NewReportCommand(c.Connect) },
		func(c *kube.Connection) *cobra.Command { return results.NewExportCommand(c.Connect) },
		func(c *kube.Connection) *cobra.Command { return compare.NewCommand(c.Connect) },
		func(c *kube.Connection) *cobra.Command { return history.NewCommand(c.Connect) },
		func(c *kube.Connection) *cobra.Command { return sentinel.NewCommand(c.Connect, pace, time.Now) },
		func(c *kube.Connection) *cobra.Command { return control.NewCancelCommand(c.Connect, pace) },
		func(c *kube.Connection) *cobra.Command { return control.NewSuspendCommand(c.Connect, pace) },
		func(c *kube.Connection) *cobra.Command { return control.NewResumeCommand(c.Connect) },
		func(c *kube.Connection) *cobra.Command { return control.NewRestoreCommand(c.Connect) },
		func(c *kube.Connection) *cobra.Command { return doctor.NewCommand(c.Connect, time.Now) },
		func(c *kube.Connection) *cobra.Command { return doctor.NewVersionCommand(c) },
	} {
		root.AddCommand(kube.Connected(newCommand))
	}
	root.AddCommand(analyze.NewCommand())
	for _, cmd := range root.Commands() {
		text := help.Of(cmd.Name())
		cmd.Long, cmd.Example = text.Long, strings.ReplaceAll(text.Examples, "kubectl cephtune", name)
	}
	return root
}

func refuseUnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		return exit.UsageErrorf("unknown command %q for %q%s", args[0], cmd.CommandPath(), didYouMean("", tuning.Similar(args[0], names)))
	}
	return nil
}

func didYouMean(prefix, name string) string {
	if name == "" {
		return ""
	}
	return ": did you mean " + prefix + name + "?"
}

// flagHint says, for an error about an unknown flag, which flag of the command the user may have meant or, if other commands
// have the flag, which ones, with an example of the first; "" for any other error.
func flagHint(cmd *cobra.Command, err error) string {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return ""
	}
	name := cmp.Or(unknown.GetSpecifiedShortnames(), unknown.GetSpecifiedName()) // pflag reads -bs as -b and -s.
	if cmd.Flags().Lookup(name) != nil {
		return didYouMean("--", name)
	}
	var names, have []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	for name := range words.Flags() {
		if cmd.Flags().Lookup(name) != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if similar := tuning.Similar(name, names); similar != "" {
		return didYouMean("--", similar)
	}
	example := ""
	for _, other := range cmd.Root().Commands() {
		if other.Flags().Lookup(name) == nil {
			continue
		}
		have = append(have, strconv.Quote(other.Name()))
		for line := range strings.Lines(other.Example) {
			if example == "" && strings.Contains(line, "--"+name+" ") {
				example = ", as in: " + strings.TrimSpace(line)
			}
		}
	}
	if len(have) == 0 {
		return ""
	}
	return ": it is a flag of " + strings.Join(have, ", ") + example
}
