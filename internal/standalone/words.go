package standalone

import (
	"fmt"

	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings"
)

// NetworkAdvice says which connections of the manager the network must allow.
func NetworkAdvice() string {
	return fmt.Sprintf("Let the manager reach port %d of the pods labelled %s=%s.", runner.Port, settings.LabelComponent, settings.ComponentBenchmark)
}

// Misses describes what a benchmark with a standalone client lacks.
func Misses() string {
	return "The manager cannot reach the client, so a standalone client runs and reports through its log. " +
		"So the cluster is not checked before each run, no disturbance aborts a run, " +
		"and a node's clock decides which cluster events fall into a phase. " + NetworkAdvice()
}
