package kube

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/internal/cli/exit"
)

// Connected returns a command with the flags that choose the cluster. The command connects
// according to these flags.
func Connected(newCommand func(*Connection) *cobra.Command) *cobra.Command {
	connection := NewConnection()
	cmd := newCommand(connection)
	connection.AddFlags(cmd)
	return cmd
}

// AddOutput gives a command the flag --output for one of these formats, with completion. The
// first format is the default. Any other value is a usage error before the command runs.
func AddOutput(cmd *cobra.Command, into *string, formats ...string) {
	list := strings.Join(formats, ", ")
	cmd.Flags().StringVarP(into, "output", "o", formats[0], list)
	// This fails only for a missing flag.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp))
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(formats, *into) {
			return exit.UsageErrorf("--output %q: want one of %s", *into, list)
		}
		return nil
	}
}
