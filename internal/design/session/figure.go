package session

import (
	"fmt"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/result"
)

// Figure is the metric, and the direction of operations, by which windows are compared.
type Figure struct {
	Metric    v1alpha1.Metric    `json:"metric"`
	Direction v1alpha1.Direction `json:"direction,omitempty"` // "" means Total
}

// directionName returns the direction's name; "" for all operations.
func (f Figure) directionName() result.DirectionName {
	switch f.Direction {
	case v1alpha1.DirectionRead:
		return result.Read
	case v1alpha1.DirectionWrite:
		return result.Write
	default:
		return ""
	}
}

// done returns the operations of a row in the figure's direction. If the load does not mix reads and writes,
// those are all operations of the row.
func (f Figure) done(second *result.Second) *result.Done {
	parts := second.Parts()
	if d, ok := parts[f.directionName()]; ok {
		return d
	}
	return &second.Done
}

// rows returns the time spans of the clients' rows.
func (e Evidence) rows() []switchback.Client {
	clients := make([]switchback.Client, len(e.Clients))
	for i, c := range e.Clients {
		clients[i] = switchback.Client{Offset: c.Offset, Error: c.Error, Rows: make([]switchback.Span, len(c.Seconds))}
		for j := range c.Seconds {
			clients[i].Rows[j] = switchback.Span{From: time.Duration(c.Seconds[j].FromNanoseconds), To: time.Duration(c.Seconds[j].ToNanoseconds)}
			if e.Plan.Targets {
				clients[i].Engines = append(clients[i].Engines, int(c.Seconds[j].Engine))
			}
		}
	}
	return clients
}

// value returns a function that computes the figure of a piece: of a window or of a half of it. Rates are
// sums over the clients. A mean latency is the mean of the clients' mean latencies, weighted by their rates.
// Percentiles come from the sum of the clients' histograms. If no operation finished in a piece, its latency is
// the length of the piece: operations waited at least that long.
func (e Evidence) value(f Figure) (switchback.Figure, error) {
	if percent, ok := figure.Percent(f.Metric); ok {
		return func(p switchback.Piece) (float64, error) { return e.percentile(f, percent, p) }, nil
	}
	rate := func(amount func(*result.Done) float64) switchback.Figure {
		return func(p switchback.Piece) (float64, error) { return e.rate(f, amount, p), nil }
	}
	operations := rate(func(d *result.Done) float64 { return d.Operations })
	switch f.Metric {
	case v1alpha1.MetricIOPS:
		return operations, nil
	case v1alpha1.MetricBandwidth:
		return rate(func(d *result.Done) float64 { return d.Bytes }), nil
	case v1alpha1.MetricLatencyMean:
		waited := rate(func(d *result.Done) float64 { return d.LatencySeconds })
		timed := rate((*result.Done).Timed)
		return func(p switchback.Piece) (float64, error) {
			n, _ := timed(p)
			sum, _ := waited(p)
			if n == 0 {
				return lasted(p), nil
			}
			return sum / n, nil
		}, nil
	default:
		return nil, fmt.Errorf("a window has no %s: it has only IOPS, bandwidth, mean latency and percentiles", f.Metric)
	}
}

func (e Evidence) rate(f Figure, amount func(*result.Done) float64, p switchback.Piece) float64 {
	sum := 0.0
	for client, part := range p.Parts {
		for i := part.First; i < part.End; i++ {
			sum += amount(f.done(&e.Clients[client].Seconds[i])) / part.Lasted.Seconds()
		}
	}
	return sum
}

// lasted returns the length of a piece in seconds.
func lasted(p switchback.Piece) float64 {
	longest := time.Duration(0)
	for _, part := range p.Parts {
		longest = max(longest, part.Lasted)
	}
	return longest.Seconds()
}

func (e Evidence) percentile(f Figure, percent float64, p switchback.Piece) (float64, error) {
	if p.Window >= len(e.Latencies) {
		return 0, errNoHistogram
	}
	direction := f.directionName()
	if l := e.Latencies[p.Window]; l.Early.All != nil || l.Middle.All != nil || l.Late.All != nil {
		direction = "" // The load does not mix directions.
	}
	h, err := e.Latencies[p.Window].histogram(p.Half, direction)
	if err != nil {
		return 0, err
	}
	percentile, ok := h.Percentile(percent)
	if !ok {
		return lasted(p), nil
	}
	return percentile.Seconds, nil
}

// Windows returns the windows of a session with their figures, and whether enough rows cover each window.
func (e Evidence) Windows(f Figure) (windows []switchback.Window, covered []bool, err error) {
	if e.Plan.Curves {
		windows, covered = e.steps()
		return windows, covered, nil
	}
	value, err := e.value(f)
	if err != nil {
		return nil, nil, err
	}
	return switchback.Cut(e.Record.Switches, e.rows(), e.Plan.Timing, value)
}
