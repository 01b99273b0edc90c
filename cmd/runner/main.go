// Command runner executes the engines inside a client pod. In the manager's pod, the same program is the
// sidecar, and executes Ceph's commands. The runner is one static binary. An init container copies it to a
// volume that the container with the tools image also mounts. So the tools image, which contains the
// engines, needs no part of cephtune.
package main

import (
	"context"
	"errors"
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
		os.Exit(exitCode(err))
	}
}

// exitError is an error that determines the exit code.
type exitError struct {
	code int
	err  error
}

// Error implements error.
func (e *exitError) Error() string { return e.err.Error() }

// Unwrap returns the error without the exit code.
func (e *exitError) Unwrap() error { return e.err }

func exitCode(err error) int {
	if coded, ok := errors.AsType[*exitError](err); ok {
		return coded.code
	}
	return 1
}

// newCommand returns the command line. The argument self returns the path of this binary.
func newCommand(self func() (string, error)) *cobra.Command {
	root := &cobra.Command{
		Use:           "runner",
		Short:         "Runs the engines inside a client pod, or Ceph's commands in the manager's pod",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.AddCommand(newInstallCommand(self), newRunCommand(), newServeCommand(), newProbeCommand(), newVersionCommand())
	return root
}
