package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/switchback"
)

// Client has the work of one client, second by second.
type Client struct {
	// Seconds has the client's rows. Rows that may have begun before the end of the latest window have no
	// histograms: [Evidence.Latencies] has the histograms of the windows.
	Seconds []result.Second `json:"seconds"`
	// Offset is the client's time, since its engine started, minus the operator's time, since the session
	// began. Error is the maximum error of Offset.
	Offset time.Duration `json:"offsetNanoseconds"`
	Error  time.Duration `json:"errorNanoseconds"`
}

// Collector collects the clients' rows during a session. Each call of Evidence adds up the histograms of
// seconds to histograms of windows. It then drops the histograms of seconds, which need much more memory than
// the rest of a row. A Collector is not safe for concurrent use.
type Collector struct {
	plan      Plan
	clients   []gathered
	latencies []Latencies
	fixed     bool // Evidence was called, so the clock offsets are final
}

// gathered has the rows of one client. A row keeps its histograms until Evidence has added them up.
type gathered struct {
	seconds   []result.Second // all rows so far
	plain     int             // number of the oldest rows, whose histograms were dropped
	notBefore time.Time       // notBefore and notAfter bound the start of the client's engine
	notAfter  time.Time
	lost      error
}

// NewCollector returns a collector for the given number of clients.
func NewCollector(p Plan, clients int) *Collector {
	return &Collector{plan: p, clients: make([]gathered, clients)}
}

// Next returns the index of the next row to request from a client.
func (c *Collector) Next(client int) int { return len(c.clients[client].seconds) }

// Add adds the requested rows of a client. The two times bound the start of the client's engine. All later
// calls of Evidence fail if a row is unusable, or if the client's clock runs faster or slower than the
// operator's.
func (c *Collector) Add(client int, rows []result.Second, notBefore, notAfter time.Time) {
	g := &c.clients[client]
	for i := range rows {
		if err := rows[i].Validate(); err != nil && g.lost == nil {
			g.lost = fmt.Errorf("client %d: %w", client, err)
		}
	}
	g.seconds = append(g.seconds, rows...)
	switch {
	case g.notBefore.IsZero():
		g.notBefore, g.notAfter = notBefore, notAfter
	case notAfter.Before(g.notBefore.Add(-c.plan.Timing.ClockError)), notBefore.After(g.notAfter.Add(c.plan.Timing.ClockError)):
		if g.lost == nil {
			g.lost = fmt.Errorf("client %d: its clock runs faster or slower than the operator's", client)
		}
	case !c.fixed && !notAfter.Before(g.notBefore) && !notBefore.After(g.notAfter):
		if notBefore.After(g.notBefore) {
			g.notBefore = notBefore
		}
		if notAfter.Before(g.notAfter) {
			g.notAfter = notAfter
		}
	}
}

// Evidence returns the data of the session so far. Before each call, add the clients' latest rows. The first
// call fixes the clock offsets for all later calls.
func (c *Collector) Evidence(so Record, disturbed []switchback.Span) (Evidence, error) {
	c.fixed = true
	e := Evidence{Plan: c.plan, Record: so, Disturbed: disturbed}
	for i := range c.clients {
		g := &c.clients[i]
		if g.lost != nil {
			return Evidence{}, g.lost
		}
		between := g.notAfter.Sub(g.notBefore)
		e.Clients = append(e.Clients, Client{
			Seconds: g.seconds, Error: between / 2, Offset: so.Began.Sub(g.notBefore.Add(between / 2)),
		})
	}
	if len(so.Switches) > 0 {
		if err := c.fold(e); err != nil {
			return Evidence{}, err
		}
	}
	for i := range c.clients {
		g := &c.clients[i]
		for ; g.plain < len(g.seconds) && e.before(i, g.plain, so); g.plain++ {
			g.seconds[g.plain] = g.seconds[g.plain].WithoutLatencies()
		}
		e.Clients[i].Seconds = slices.Clip(g.seconds)
	}
	e.Latencies = c.latencies
	return e, nil
}

// before reports whether a row may have begun before the end of the latest window in the record. No later
// window contains such a row.
func (e Evidence) before(client, row int, so Record) bool {
	c := e.Clients[client]
	return len(so.Switches) > 0 && time.Duration(c.Seconds[row].FromNanoseconds)-c.Offset-c.Error < so.Switches[len(so.Switches)-1].Ended
}

// fold adds up the histograms of the windows that earlier calls have not handled.
func (c *Collector) fold(e Evidence) error {
	switches, timing := c.plan.windows(e.Record.Switches)
	pieces, _, err := switchback.Pieces(switches, e.rows(), timing)
	if err != nil {
		return err
	}
	for at := len(c.latencies); at < len(pieces); at++ {
		l, err := e.latencies(pieces[at])
		if err != nil {
			return fmt.Errorf("window %d: %w", at, err)
		}
		c.latencies = append(c.latencies, l)
	}
	return nil
}
