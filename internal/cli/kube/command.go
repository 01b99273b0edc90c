package kube

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/internal/cli/exit"
)

// Connected returns a command that has the flags which choose the cluster, and connects
// by what they say.
func Connected(newCommand func(*Connection) *cobra.Command) *cobra.Command {
	connection := NewConnection()
	cmd := newCommand(connection)
	connection.AddFlags(cmd)
	return cmd
}

// AddOutput gives a command the flag --output for one of these formats, the first of them
// if it is not given, with its completion. Another one is wrong usage before the command
// is run.
func AddOutput(cmd *cobra.Command, into *string, formats ...string) {
	list := strings.Join(formats, ", ")
	cmd.Flags().StringVarP(into, "output", "o", formats[0], list)
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(formats, *into) {
			return exit.UsageErrorf("--output %q: want one of %s", *into, list)
		}
		return nil
	}
}
