// Package versions is the subcommand that shows the versions of this program, of the operator, of
// Kubernetes, and of the Ceph clusters.
package versions

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/kube"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/version"
)

// timeout bounds all requests together, except the one for the version of Kubernetes; --request-timeout bounds
// each request.
const timeout = 30 * time.Second

const longHelp = `Show the versions of this program, of Kubernetes, of the operator and of the Ceph clusters, for a
bug report. It leaves out versions that you may not read, and says why.

Exit codes: 0 the versions are shown; 1 the cluster does not answer; 2 wrong usage.`

const examples = `  # Everything
  %[1]s

  # Only this program, without a cluster
  %[1]s --client

  # For a script
  %[1]s -o json | jq -r .client`

// options holds the values of the flags.
type options struct {
	client   bool
	operator string
	output   string
}

// NewCommand returns the subcommand; program is the name under which the root command was called.
func NewCommand(program string) *cobra.Command {
	return kube.Connected(func(connection *kube.Connection) *cobra.Command { return newCommand(program, connection) })
}

// cluster is the source of the versions.
type cluster interface {
	source
	kubernetes
}

func newCommand(program string, connection cluster) *cobra.Command {
	o := &options{}
	cmd := &cobra.Command{
		Use:               "version",
		Short:             "Show the versions of program, operator, Kubernetes and Ceph",
		Long:              longHelp,
		Example:           fmt.Sprintf(examples, program+" version"),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return exit.UsageErrorf("unexpected argument %q", args[0])
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
			defer cancel()
			return o.run(ctx, connection, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.client, "client", false, "only the version of this program")
	flags.StringVar(&o.operator, "operator-namespace", kube.OperatorNamespace, "namespace of the operator")
	kube.AddOutput(cmd, &o.output, "table", "json", "yaml")
	return cmd
}

func (o *options) run(ctx context.Context, connection cluster, out io.Writer) error {
	found := &versions{Client: version.Version()}
	if !o.client {
		if err := found.read(ctx, connection, o.operator); err != nil {
			return err
		}
	}
	return found.write(out, o.output)
}

func (v *versions) write(out io.Writer, form string) error {
	if form != "table" {
		return terminal.WriteData(out, form, v)
	}
	_, err := io.WriteString(out, v.table())
	return err
}

func (v *versions) table() string {
	rows := [][]string{{"kubectl-cephtune", v.Client}}
	if v.Kubernetes != "" {
		rows = append(rows, []string{"Kubernetes", v.Kubernetes})
	}
	if v.API != "" {
		rows = append(rows, []string{"API", v.API})
	}
	for _, image := range v.Operator {
		rows = append(rows, []string{"operator", image})
	}
	for _, c := range v.CephClusters {
		rows = append(rows, []string{"Ceph of " + c.Namespace + "/" + c.Name, c.Version})
	}
	var out strings.Builder
	terminal.WriteTable(&out, terminal.Narrow, []string{"PART", "VERSION"}, rows)
	for _, gap := range v.Unknown {
		terminal.Append(&out, "%s\n", gap)
	}
	return out.String()
}
