package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/internal/ceph"
)

// probeTime is shorter than the timeouts of probes in the manifests, so that the kubelet shows the error of a probe.
const probeTime = 8 * time.Second

func newProbeCommand() *cobra.Command {
	var socket string
	probe := &cobra.Command{
		Use:       "probe live|ready",
		Short:     "Ask the sidecar whether it answers (live), and can start Ceph's programs (ready)",
		Example:   "  runner probe ready --socket /run/cephtune/ceph.sock",
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		ValidArgs: []string{string(ceph.Live), string(ceph.Ready)},
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), probeTime)
			defer cancel()
			return ceph.Probe(ctx, socket, ceph.Question(args[0]))
		},
	}
	probe.Flags().StringVar(&socket, "socket", "/run/cephtune/ceph.sock", "the sidecar's Unix socket")
	return probe
}
