package session

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
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

// Collector collects the clients' rows during a session. Fold adds up the histograms of a client's seconds to histograms
// of windows. It then drops the histograms of seconds, which need much more memory than the rest of a row. A Collector
// is not safe for concurrent use.
type Collector struct {
	plan      Plan
	clients   []gathered
	latencies []Latencies

	held *limits.Holding
	size int64 // of all rows and histograms in bytes
}

// gathered has the rows of one client. A row keeps its histograms until Fold has added them up.
type gathered struct {
	seconds   []result.Second // all rows so far
	plain     int             // number of the oldest rows, whose histograms were dropped
	folded    int             // number of windows that have the client's histograms
	fixed     bool            // Fold was called, so the clock offset is final
	notBefore time.Time       // notBefore and notAfter bound the start of the client's engine
	notAfter  time.Time
	usage     task.Usage
	lost      error
}

// ErrUnusable says that a session cannot continue with the rows of its clients.
var ErrUnusable = errors.New("the figures of a client cannot be used")

// NewCollector returns a collector for the given number of clients. It charges the account memory, which may be nil, for
// what it keeps.
func NewCollector(p Plan, clients int, memory *limits.Account) *Collector {
	return &Collector{plan: p, clients: make([]gathered, clients), held: memory.Hold()}
}

// Next returns the index of the next row to request from a client.
func (c *Collector) Next(client int) int { return len(c.clients[client].seconds) }

// Add adds the requested rows of a client. The two times bound the start of the client's engine. If a row is unusable, if
// the client's clock runs faster or slower than the operator's, or if the rows take too much memory, the error wraps
// [ErrUnusable]. Add then keeps none of the rows, and fails at each later call, as do Fold and Evidence.
func (c *Collector) Add(client int, rows []result.Second, notBefore, notAfter time.Time) error {
	g := &c.clients[client]
	if g.lost == nil {
		g.lost = unusable(client, c.add(g, rows, notBefore, notAfter))
	}
	return g.lost
}

func unusable(client int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: client %d: %w", ErrUnusable, client, err)
}

func (c *Collector) add(g *gathered, rows []result.Second, notBefore, notAfter time.Time) error {
	if err := c.validate(g, rows); err != nil {
		return err
	}
	if err := g.bound(notBefore, notAfter, c.plan.Timing.ClockError); err != nil {
		return err
	}
	if err := c.charge(bytesOf(rows)); err != nil {
		return err
	}
	g.seconds = append(g.seconds, rows...)
	return nil
}

// validate returns an error for an impossible row, and for a row that does not follow the previous row.
func (c *Collector) validate(g *gathered, rows []result.Second) error {
	ended := int64(0)
	if n := len(g.seconds); n > 0 {
		ended = g.seconds[n-1].ToNanoseconds
	}
	for i := range rows {
		if err := rows[i].Validate(); err != nil {
			return err
		}
		if rows[i].FromNanoseconds < ended {
			return fmt.Errorf("row %d begins before the end of the previous row", len(g.seconds)+i)
		}
		ended = rows[i].ToNanoseconds
	}
	return nil
}

// bound narrows the time at which the client's engine may have started. After Fold it only checks that time.
func (g *gathered) bound(notBefore, notAfter time.Time, clockError time.Duration) error {
	switch {
	case g.notBefore.IsZero():
		g.notBefore, g.notAfter = notBefore, notAfter
	case notAfter.Before(g.notBefore.Add(-clockError)), notBefore.After(g.notAfter.Add(clockError)):
		return errors.New("its clock runs faster or slower than the operator's")
	case !g.fixed && !notAfter.Before(g.notBefore) && !notBefore.After(g.notAfter):
		if notBefore.After(g.notBefore) {
			g.notBefore = notBefore
		}
		if notAfter.Before(g.notAfter) {
			g.notAfter = notAfter
		}
	}
	return nil
}

// Used replaces the CPU time of a client and of its host since the start of the load.
func (c *Collector) Used(client int, usage task.Usage) { c.clients[client].usage = usage }

// Fold adds the histograms of a client to those of the windows in the record that have none of them yet. Before each
// call, add all rows that the client has, and check with Reaches that they suffice. The first call fixes the offset of the client's clock for all later calls. An
// error wraps [ErrUnusable].
func (c *Collector) Fold(client int, record Record) error {
	g := &c.clients[client]
	g.fixed = true
	if g.lost == nil && len(record.Switches) > 0 {
		g.lost = unusable(client, c.fold(g, record))
	}
	return g.lost
}

func (c *Collector) fold(g *gathered, record Record) error {
	one := g.client(record)
	if one.Error > c.plan.Timing.ClockError {
		return fmt.Errorf("its clock is known within %v, not %v", one.Error, c.plan.Timing.ClockError)
	}
	before := bytesOf(g.seconds[g.plain:])
	e := Evidence{Plan: c.plan, Clients: []Client{one}}
	pieces, _, err := switchback.Pieces(record.Switches, e.rows(), c.plan.Timing)
	if err != nil {
		return err
	}
	for ; g.folded < len(pieces); g.folded++ {
		if g.folded == len(c.latencies) {
			c.latencies = append(c.latencies, Latencies{})
		}
		latencies := &c.latencies[g.folded]
		before += latencies.bytes()
		if err := latencies.add(e, pieces[g.folded]); err != nil {
			return fmt.Errorf("window %d: %w", g.folded, err)
		}
		before -= latencies.bytes()
	}
	first := g.plain
	for ; g.plain < len(g.seconds) && one.mayPrecede(g.plain, record); g.plain++ {
		g.seconds[g.plain] = g.seconds[g.plain].WithoutLatencies()
	}
	return c.charge(bytesOf(g.seconds[first:]) - before)
}

// Reaches reports whether a client has sent all rows that lie in the latest window of the record. A load generator with a
// schedule holds rows back while the storage stalls, and a window without them would not show the stall. Other
// engines hold no rows back, so a window may lack their latest one.
func (c *Collector) Reaches(client int, record Record) bool {
	g := &c.clients[client]
	if len(record.Switches) == 0 {
		return true
	}
	if len(g.seconds) == 0 || g.seconds[len(g.seconds)-1].Due == nil {
		return true
	}
	latest := time.Duration(g.seconds[len(g.seconds)-1].ToNanoseconds) - g.client(record).Offset
	return latest > record.Switches[len(record.Switches)-1].Ended-time.Second // The next row ends after the window.
}

// client returns the rows of a client and the offset of its clock.
func (g *gathered) client(record Record) Client {
	between := g.notAfter.Sub(g.notBefore)
	return Client{Seconds: slices.Clip(g.seconds), Error: between / 2, Offset: record.Began.Sub(g.notBefore.Add(between / 2))}
}

// mayPrecede reports whether a row may have begun before the end of the latest window in the record. No later window
// contains such a row.
func (c Client) mayPrecede(row int, record Record) bool {
	return time.Duration(c.Seconds[row].FromNanoseconds)-c.Offset-c.Error < record.Switches[len(record.Switches)-1].Ended
}

// Evidence returns the data of the session so far. Before each call, add the clients' latest rows. It folds the rows of
// all clients.
func (c *Collector) Evidence(record Record, disturbed []switchback.Span) (Evidence, error) {
	e := Evidence{Plan: c.plan, Record: record, Disturbed: disturbed}
	for i := range c.clients {
		if err := c.Fold(i, record); err != nil {
			return Evidence{}, err
		}
		e.Clients = append(e.Clients, c.clients[i].client(record))
		e.Usage = append(e.Usage, c.clients[i].usage)
	}
	e.Latencies = c.latencies
	return e, nil
}

// charge changes the memory that the collector holds.
func (c *Collector) charge(more int64) error {
	if err := c.held.Resize(c.size + more); err != nil {
		return err
	}
	c.size += more
	return nil
}

// bytesOf returns the memory of rows in bytes, with the unused capacity of a slice that grows by a quarter.
func bytesOf(rows []result.Second) (n int64) {
	const second, done = 88, 40 // The sizes of the types; a test compares them.
	for i := range rows {
		n += second * 5 / 4
		for _, d := range []*result.Done{rows[i].Read, rows[i].Write} {
			if d != nil {
				n += done + bytesOfHistogram(d.Latencies)
			}
		}
		n += bytesOfHistogram(rows[i].Latencies) + bytesOfHistogram(rows[i].Lateness)
	}
	return n
}

func bytesOfHistogram(h *result.Histogram) int64 {
	if h == nil {
		return 0
	}
	const slice, bin = 24, 16
	return slice + bin*int64(cap(h.Bins))
}
