// Command reference prints the documentation page about all metrics.
package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"text/template"

	"github.com/cephtune/cephtune/internal/metrics"
)

//go:embed page.md.tmpl
var page string

func main() {
	if err := write(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func write(out io.Writer) error {
	made, err := template.New("page").Parse(page)
	if err != nil {
		return err
	}
	return made.Execute(out, metrics.Table())
}
