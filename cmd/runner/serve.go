package main

import (
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/tuning"
)

func newServeCommand() *cobra.Command {
	var socket, stateDir, config string
	serve := &cobra.Command{
		Use:     "serve",
		Short:   "Carry out the manager's Ceph commands, as the sidecar with Ceph's tools",
		Example: "  runner serve --socket /run/cephtune/ceph.sock --state-dir /run/cephtune-keys --config /etc/cephtune/config.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cli, err := ceph.NewCLI(stateDir)
			if err != nil {
				return err
			}
			if config != "" {
				allowed, err := settings.Load(config)
				if err != nil {
					return err
				}
				cli.Ask(tuning.Permit(allowed, cli))
			}
			log := slog.New(slog.NewJSONHandler(cmd.ErrOrStderr(), nil))
			return ceph.Serve(cmd.Context(), socket, cli, log)
		},
	}
	serve.Flags().StringVar(&socket, "socket", "/run/cephtune/ceph.sock", "Unix socket to listen on, in a directory that only the manager shares")
	serve.Flags().StringVar(&config, "config", "",
		"operator config of the manager; without it, every setting may be changed")
	serve.Flags().StringVar(&stateDir, "state-dir", "/run/cephtune-keys",
		"directory for keys while they are in use, in memory and not shared")
	return serve
}
