// Command reference prints the documentation page about all metrics.
package main

import (
	"fmt"

	"github.com/cephtune/cephtune/internal/metrics"
)

func main() { fmt.Print(metrics.Reference()) }
