// Package live reports how fast the clients of a benchmark are while they measure, from the logs
// of their pods.
//
// It needs neither the manager nor the token of the run, writes nothing into the API, and
// asks for no right but to list pods and to read their logs.
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
	"github.com/cephtune/cephtune/internal/progress"
)

// stale is how old the word of a client may be to be about the present.
const stale = 4 * time.Second

// Figure is how fast the clients are at present, all together.
type Figure struct {
	// Task is what they do, such as r1-write-4m, and Elapsed for how long.
	Task    string
	Elapsed time.Duration
	// Rate is their sum, and the mean latency of all their operations; 0 where one of
	// them does not say.
	Rate parse.Rate
	// Clients are those that it is of, and Of is how many there are.
	Clients, Of int
	// Unknown is why the figure is missing; empty if it is known, or if no client measures just
	// now.
	Unknown string
}

// String is for a line of a terminal; empty if no client measures just now.
func (f Figure) String() string {
	switch {
	case f.Unknown != "":
		return "How fast it is at present is not known: " + f.Unknown
	case f.Clients == 0:
		return ""
	}
	parts := []string{
		figure.Human(v1alpha1.MetricBandwidth, f.Rate.BytesPerSecond),
		figure.Human(v1alpha1.MetricIOPS, f.Rate.OperationsPerSecond),
	}
	if f.Rate.MeanLatencySeconds > 0 {
		parts = append(parts, figure.Human(v1alpha1.MetricLatencyMean, f.Rate.MeanLatencySeconds)+" mean")
	}
	text := fmt.Sprintf("%s at %.0fs: %s", phaseOf(f.Task), f.Elapsed.Seconds(), strings.Join(parts, ", "))
	switch {
	case f.Clients < f.Of:
		text += fmt.Sprintf(" (of %d of %d clients)", f.Clients, f.Of)
	case f.Of > 1:
		text += fmt.Sprintf(" (%d clients)", f.Of)
	}
	return text
}

// phaseOf is the phase of a task that measures one; others are called what they are.
func phaseOf(task string) string {
	return regexp.MustCompile(`^r[0-9]+-`).ReplaceAllString(task, "")
}

// heard is the last word of a client, and when it came.
type heard struct {
	line progress.Line
	at   time.Time
}

// merge adds up the clients' speeds in the same task, the latest one. It returns false if no
// client has reported lately. It is pure.
func merge(clients []heard, of int, now time.Time) (Figure, bool) {
	clients = slices.DeleteFunc(slices.Clone(clients), func(h heard) bool { return now.Sub(h.at) > stale })
	if len(clients) == 0 {
		return Figure{}, false
	}
	latest := slices.MaxFunc(clients, func(a, b heard) int { return a.at.Compare(b.at) })
	sum := Figure{Task: latest.line.Task, Of: max(of, len(clients))}
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
