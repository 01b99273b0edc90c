// Command kubectl-cephtune is the command line of cephtune. If it is on the PATH, "kubectl cephtune" also
// runs it.
package main

import (
	"os"

	"github.com/cephtune/cephtune/internal/cli"
)

func main() { os.Exit(cli.Run(os.Args, os.Stdout, os.Stderr)) }
