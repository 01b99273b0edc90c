// Package control has the subcommands that act on a CephTuningSweep or a CephBenchmark: cancel, suspend and
// resume, and restore, which shows or abandons what is still to be restored in Ceph.
package control

import (
	"io"

	"github.com/cephtune/cephtune/internal/cli/terminal"
)

// news prints a line whenever the operator's message changes.
type news struct {
	out  io.Writer
	last string
}

func (n *news) tell(text string) error {
	if text == "" || text == n.last {
		return nil
	}
	n.last = text
	_, err := terminal.Printf(n.out, "%s\n", text)
	return err
}
