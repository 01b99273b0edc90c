// Command runner executes Ceph's benchmark tools inside a benchmark pod. It is
// one static binary, and an init container installs it beside the tools, so that
// the tools' image needs nothing of cephtune's.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := newCommand(os.Executable).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "runner:", err)
		os.Exit(1)
	}
}

// newCommand returns the command line; self tells the path of this binary.
func newCommand(self func() (string, error)) *cobra.Command {
	root := &cobra.Command{
		Use:           "runner",
		Short:         "Runs Ceph's benchmark tools inside a benchmark pod",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newInstallCommand(self), newVersionCommand())
	return root
}
