package switchback

import (
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/cephtune/cephtune/internal/stats"
)

// Switch is one change of treatment and the window after it. Times are by the operator's clock, since
// the session began.
type Switch struct {
	Treatment    int           `json:"setting"`
	Sent         time.Duration `json:"sentNanoseconds"`         // when the command was sent to Ceph
	Acknowledged time.Duration `json:"acknowledgedNanoseconds"` // when Ceph answered
	Ended        time.Duration `json:"endedNanoseconds"`        // when the window ended
	Proven       bool          `json:"proven"`                  // the treatment has a proof in a window of this block
}

// Client has the time spans of one client's rows, in order, and the offset of its clock. A row is the
// client's work in about a second.
type Client struct {
	Rows []Span
	// Engines has the number of the load tool's start that each row belongs to, if each window has its own; otherwise nil.
	Engines []int
	// Offset is the client's clock minus the operator's clock. Error is the maximum error of Offset.
	Offset, Error time.Duration
}

// Span is an interval of time.
type Span struct {
	From time.Duration `json:"fromNanoseconds"`
	To   time.Duration `json:"toNanoseconds"`
}

// Timing has the limits for windows of a session, fixed before the session begins.
type Timing struct {
	WashOut    time.Duration `json:"washOutNanoseconds"`    // from the acknowledgement of the switch
	MaxSwitch  time.Duration `json:"maxSwitchNanoseconds"`  // if a switch takes longer, its window does not count
	ClockError time.Duration `json:"clockErrorNanoseconds"` // maximum of Client.Error
	Coverage   float64       `json:"coverage"`              // the share of a window that rows have to cover, such as 0.7
}

// Window has the clients' figures during one window.
type Window struct {
	Treatment int     `json:"setting"`
	Figure    float64 `json:"figure"` // of all clients together, such as operations per second
	Early     float64 `json:"early"`  // of the first half
	Late      float64 `json:"late"`   // of the second half
}

// Part selects the rows of a client in a span: from First up to but excluding End. Lasted is the total
// duration of these rows.
type Part struct {
	First, End int
	Lasted     time.Duration
}

// Contains reports whether a row is one of the part.
func (p Part) Contains(row int) bool { return row >= p.First && row < p.End }

// Piece is a whole window or a half of it, with one Part for each client.
type Piece struct {
	Window int
	Half   Half
	Parts  []Part
}

// Half selects the whole window or one of its halves.
type Half int

// The pieces of a window.
const (
	Whole Half = iota
	Early
	Late
)

// Figure computes the figure of a piece. It returns 0 if no operation finished.
type Figure func(Piece) (float64, error)

// Cut returns the window of each switch. A row counts if it lies in the window, after the wash-out. It must lie
// there for each clock error that Client.Error allows. covered says which windows are covered by enough rows of each
// client; it depends only on times. Windows that are not covered have no figures.
func Cut(switches []Switch, clients []Client, timing Timing, figure Figure) (windows []Window, covered []bool, err error) {
	pieces, covered, err := Pieces(switches, clients, timing)
	if err != nil {
		return nil, nil, err
	}
	for i, s := range switches {
		w := Window{Treatment: s.Treatment}
		if covered[i] {
			for half, value := range []*float64{&w.Figure, &w.Early, &w.Late} {
				if *value, err = figure(pieces[i][half]); err != nil {
					return nil, nil, fmt.Errorf("window %d: %w", i, err)
				}
			}
		}
		windows = append(windows, w)
	}
	return windows, covered, nil
}

// Pieces returns the whole and the halves of each window, without its wash-out. covered says whether enough
// rows of each client cover the window, and both halves have rows.
//
// If each window has its own engine, the window ends for each client where its engine has ended: a tool first finishes
// what is in flight. If the storage stalls at the end of a window, the window without that time would have too few rows,
// or look as if there had been no stall.
func Pieces(switches []Switch, clients []Client, timing Timing) (pieces [][3]Piece, covered []bool, err error) {
	if err := checkInput(switches, clients, timing); err != nil {
		return nil, nil, err
	}
	for i, s := range switches {
		span := Span{From: s.Acknowledged + timing.WashOut, To: s.Ended}
		triple := [3]Piece{{Window: i, Half: Whole}, {Window: i, Half: Early}, {Window: i, Half: Late}}
		known := span.To > span.From
		for _, c := range clients {
			parts, lasts := c.pieces(span)
			for half, part := range parts {
				triple[half].Parts = append(triple[half].Parts, part)
				known = known && part.Lasted > 0
			}
			known = known && float64(parts[Whole].Lasted) >= timing.Coverage*float64(lasts)
		}
		pieces, covered = append(pieces, triple), append(covered, known)
	}
	return pieces, covered, nil
}

func checkInput(switches []Switch, clients []Client, timing Timing) error {
	if len(switches) == 0 || len(clients) == 0 {
		return fmt.Errorf("%w: %d switches, %d clients", stats.ErrTooFew, len(switches), len(clients))
	}
	last := time.Duration(0)
	for i, s := range switches {
		if s.Sent < last || s.Acknowledged < s.Sent || s.Ended < s.Acknowledged {
			return fmt.Errorf("%w: switch %d is out of order", stats.ErrParameter, i)
		}
		last = s.Ended
	}
	for i, c := range clients {
		if c.Error < 0 || c.Error > timing.ClockError {
			return fmt.Errorf("%w: the clock of client %d is known within %v, not %v", stats.ErrParameter, i, c.Error, timing.ClockError)
		}
		for j, row := range c.Rows {
			if row.To <= row.From || (j > 0 && row.From < c.Rows[j-1].To) {
				return fmt.Errorf("%w: row %d of client %d is out of order", stats.ErrParameter, j, i)
			}
		}
	}
	return nil
}

// pieces selects the rows of a client in a window and in its halves, and returns how long the window lasts for this
// client.
func (c *Client) pieces(span Span) (parts [3]Part, lasts time.Duration) {
	middle := (span.From + span.To) / 2
	whole, early, late := c.within(span), c.within(Span{span.From, middle}), c.within(Span{middle, span.To})
	if end := c.engineEnd(middle, span.To); end > 0 {
		whole = Part{First: min(whole.First, end-1), End: max(whole.End, end)} // The last row may begin in the wash-out.
		span.To = max(span.To, c.Rows[end-1].To-c.Offset)
		early, late = c.halves(whole, middle)
	}
	for i, p := range []Part{whole, early, late} {
		for _, row := range c.Rows[p.First:p.End] {
			p.Lasted += row.To - row.From
		}
		parts[i] = p
	}
	return parts, span.To - span.From
}

// halves divides the rows of a window. A row belongs to the half in which its middle lies: in a short window, or after a
// stall, no row may lie in one of them entirely. If all rows are of one half, both halves have them.
func (c *Client) halves(whole Part, middle time.Duration) (early, late Part) {
	second := whole.First
	for second < whole.End && (c.Rows[second].From+c.Rows[second].To)/2-c.Offset < middle {
		second++
	}
	if second == whole.First || second == whole.End {
		return whole, whole
	}
	return Part{First: whole.First, End: second}, Part{First: second, End: whole.End}
}

// within selects the rows that lie in a span.
func (c *Client) within(span Span) Part {
	// Rows are in order, so their starts and ends are sorted.
	first := sort.Search(len(c.Rows), func(i int) bool { return c.Rows[i].From-c.Offset-c.Error >= span.From })
	end := sort.Search(len(c.Rows), func(i int) bool { return c.Rows[i].To-c.Offset+c.Error > span.To })
	return Part{First: first, End: max(first, end)}
}

// engineEnd returns the end of the rows of the engine that worked in the middle of a window; 0 if that is unknown, or
// if all windows have the same engine.
func (c *Client) engineEnd(middle, to time.Duration) int {
	if c.Engines == nil {
		return 0
	}
	end := sort.Search(len(c.Rows), func(i int) bool { return c.Rows[i].To-c.Offset > middle })
	if end == len(c.Rows) || c.Rows[end].From-c.Offset >= to {
		return 0
	}
	for engine := c.Engines[end]; end < len(c.Rows) && c.Engines[end] == engine; end++ {
	}
	return end
}

// Faults reports which windows are invalid: not proven, switched slowly, not covered, or disturbed. It does
// not use figures, so it cannot select windows by their results. If one window of a block is
// invalid, no window of the block counts.
func Faults(switches []Switch, covered []bool, disturbed []Span, timing Timing) []bool {
	faults := make([]bool, len(switches))
	for i, s := range switches {
		touched := slices.ContainsFunc(disturbed, func(d Span) bool { return d.From < s.Ended && d.To > s.Sent })
		faults[i] = !s.Proven || s.Acknowledged-s.Sent > timing.MaxSwitch || !covered[i] || touched
	}
	return faults
}
