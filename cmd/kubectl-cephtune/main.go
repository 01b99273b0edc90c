// Command kubectl-cephtune is the command line of cephtune. On the PATH it is also
// "kubectl cephtune".
package main

import (
	"os"

	"github.com/cephtune/cephtune/internal/cli"
)

func main() { os.Exit(cli.Run(os.Args, os.Stdout, os.Stderr)) }
