// Package live reports how fast the clients of a benchmark are while they measure. It reads their
// figures from the logs of their pods.
//
// The package does not need the manager, and writes nothing into the API. It needs only the permissions
// to list pods and to read their logs.
package live

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/workload/progress"
)

// stale is the age at which the last rate of a client no longer counts as current.
const stale = 4 * time.Second

// Figure is the present rate of all clients together.
type Figure struct {
	// Task is the name of the clients' task: a phase of a run, such as r1-write-4m. Elapsed is how long
	// the engine has run in this task, including the ramp.
	Task    string
	Elapsed time.Duration
	// Rate has the sums of the clients' rates, and the mean latency of all their operations. The mean
	// is 0 without operations, or if a client with operations reports no mean.
	Rate parse.Rate
	// Clients is the number of clients that the figure includes. The field Of is the number of all clients.
	Clients, Of int
	// Unknown says why the figure is missing. It is empty if the figure is known, or if the clients are
	// silent, as between two phases.
	Unknown string
}

// Text returns text for a line of a terminal, with the figure that is closest to the given metric first; empty if no
// client measures at present. While clients measure, only the mean of latencies is known.
func (f Figure) Text(first v1alpha1.Metric) string {
	switch {
	case f.Unknown != "":
		return "The present speed is unknown: " + f.Unknown
	case f.Clients == 0:
		return ""
	}
	bandwidth, operations := figure.Human(v1alpha1.MetricBandwidth, f.Rate.BytesPerSecond), figure.Human(v1alpha1.MetricIOPS, f.Rate.OperationsPerSecond)
	parts := []string{bandwidth, operations}
	if first == v1alpha1.MetricIOPS {
		parts = []string{operations, bandwidth}
	}
	if f.Rate.MeanLatencySeconds > 0 {
		parts = append(parts, figure.Human(v1alpha1.MetricLatencyMean, f.Rate.MeanLatencySeconds)+" mean")
		if first != "" && figure.IsLatency(first) {
			slices.Reverse(parts)
		}
	}
	text := fmt.Sprintf("%s, %s at %.0fs", strings.Join(parts, ", "), phaseOf(f.Task), f.Elapsed.Seconds())
	switch {
	case f.Clients < f.Of:
		text += fmt.Sprintf(" (of %d of %d clients)", f.Clients, f.Of)
	case f.Of > 1:
		text += fmt.Sprintf(" (%d clients)", f.Of)
	}
	return text
}

// phaseOf returns the name of a task's phase: the task's name without the numbers of its run and of a step of a curve.
func phaseOf(task string) string {
	return regexp.MustCompile(`^r[0-9]+-(-[0-9]+-)?`).ReplaceAllString(task, "")
}

// heard is the last rate that a client reported, and when it arrived.
type heard struct {
	line    progress.Line
	arrived time.Time
}

// merge adds up the rates of the clients whose task is that of the most recent report. It returns false
// if all reports are older than the constant stale. It is a pure function.
func merge(clients []heard, expected int, now time.Time) (Figure, bool) {
	clients = slices.DeleteFunc(slices.Clone(clients), func(h heard) bool { return now.Sub(h.arrived) > stale })
	if len(clients) == 0 {
		return Figure{}, false
	}
	latest := slices.MaxFunc(clients, func(a, b heard) int { return a.arrived.Compare(b.arrived) })
	sum := Figure{Task: latest.line.Task, Of: max(expected, len(clients))}
	waited, silent := 0.0, false
	for _, h := range clients {
		if h.line.Task != sum.Task {
			continue
		}
		sum.Clients++
		sum.Elapsed = max(sum.Elapsed, h.line.Elapsed)
		sum.Rate.BytesPerSecond += h.line.Rate.BytesPerSecond
		sum.Rate.OperationsPerSecond += h.line.Rate.OperationsPerSecond
		waited += h.line.Rate.MeanLatencySeconds * h.line.Rate.OperationsPerSecond
		silent = silent || (h.line.Rate.MeanLatencySeconds == 0 && h.line.Rate.OperationsPerSecond > 0)
	}
	if !silent && sum.Rate.OperationsPerSecond > 0 {
		sum.Rate.MeanLatencySeconds = waited / sum.Rate.OperationsPerSecond
	}
	return sum, true
}
