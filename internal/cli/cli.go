// Package cli is the command line of cephtune: the root of its subcommands, each
// of which is a package of its own.
package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/internal/cli/analyze"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/results"
	"github.com/cephtune/cephtune/internal/cli/watch"
)

// Run executes a command line, args[0] being the name under which the program was
// called, and returns the exit code.
func Run(args []string, stdout, stderr io.Writer) int {
	root := newRoot(displayName(args[0]))
	root.SetArgs(analyze.SpreadLists(args[1:]))
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteC()
	code := exit.Code(err)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "error: %v\n", err) // Nobody is left to tell if this fails.
	}
	if code == exit.Usage {
		_, _ = fmt.Fprintf(stderr, "See '%s --help'.\n", cmd.CommandPath())
	}
	return code
}

// displayName is what the user typed: kubectl finds the command "kubectl cephtune"
// as a program named kubectl-cephtune.
func displayName(program string) string {
	name := strings.TrimSuffix(filepath.Base(program), ".exe")
	if plugin, ok := strings.CutPrefix(name, "kubectl-"); ok {
		return "kubectl " + plugin
	}
	return name
}

func newRoot(name string) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-cephtune",
		Short: "Tell, honestly, whether a setting makes a Ceph cluster faster",
		Long: `cephtune tells, honestly, whether a setting makes a Ceph cluster faster.

"analyze" works offline: it compares the outputs of rados bench, rbd bench and
fio, or a table of results, and needs no cluster. "watch" follows a
CephTuningSweep or a CephBenchmark to its end and says what it came to, and "results"
shows what a CephBenchmark measured.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: name},
		SilenceErrors: true, // Run prints them, once and on stderr.
		SilenceUsage:  true, // A page of flags hides the error that it follows.
		Args:          refuseUnknownCommand,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return exit.UsageErrorf("%w", err) })
	root.AddCommand(analyze.NewCommand(name), watch.NewCommand(name), results.NewCommand(name))
	return root
}

func refuseUnknownCommand(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return exit.UsageErrorf("unknown command %q for %q", args[0], cmd.CommandPath())
	}
	return nil
}
