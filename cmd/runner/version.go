package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/internal/version"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version.Version(), runtime.Version())
			return err
		},
	}
}
