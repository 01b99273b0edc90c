package kube

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/internal/cli/exit"
)

// Connected returns a command with the flags that choose the cluster. The command connects
// according to these flags.
func Connected(newCommand func(*Connection) *cobra.Command) *cobra.Command {
	connection := NewConnection()
	cmd := newCommand(connection)
	cmd.Flags().SortFlags = false // The help has the flags in the order in which the command adds them.
	connection.AddFlags(cmd)
	return cmd
}

// Timeout bounds all requests of a command that does not wait for the operator; --request-timeout bounds each request.
const Timeout = 2 * time.Minute

// Briefly returns the RunE of a command whose requests together take at most Timeout.
func Briefly(run func(ctx context.Context, cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), Timeout)
		defer cancel()
		return run(ctx, cmd, args)
	}
}

// CompleteFlag gives a flag of a command its completions.
func CompleteFlag(cmd *cobra.Command, flag string, choices []string) {
	// The call fails only if the flag does not exist or already has completions.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
}

// AddOutput gives a command the flag --output, with completion. The flag accepts one of the
// given formats, by default the first. Any other value ends the command with a usage error before it runs.
func AddOutput(cmd *cobra.Command, format *string, formats ...string) {
	list := strings.Join(formats, ", ")
	cmd.Flags().StringVarP(format, "output", "o", formats[0], list)
	CompleteFlag(cmd, "output", formats)
	cmd.PreRunE = func(*cobra.Command, []string) error {
		if !slices.Contains(formats, *format) {
			return exit.UsageErrorf("--output %q: want one of %s", *format, list)
		}
		return nil
	}
}
