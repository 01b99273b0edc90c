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
func Pieces(switches []Switch, clients []Client, timing Timing) (pieces [][3]Piece, covered []bool, err error) {
	if err := checkInput(switches, clients, timing); err != nil {
		return nil, nil, err
	}
	for i, s := range switches {
		span := Span{From: s.Acknowledged + timing.WashOut, To: s.Ended}
		middle := (span.From + span.To) / 2
		var triple [3]Piece
		known := true
		for half, stretch := range []Span{span, {span.From, middle}, {middle, span.To}} {
			coverage := 0.0
			if Half(half) == Whole {
				coverage = timing.Coverage
			}
			parts, ok := within(stretch, clients, coverage)
			triple[half] = Piece{Window: i, Half: Half(half), Parts: parts}
			known = known && ok
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

// within selects the rows of each client that lie in a span. It returns false if the span is empty, if a
// client has no row in it, or if a client's rows cover less than the given share of it.
func within(span Span, clients []Client, coverage float64) (parts []Part, known bool) {
	known = span.To > span.From
	for _, c := range clients {
		// Rows are in order, so their starts and ends are sorted.
		first := sort.Search(len(c.Rows), func(i int) bool { return c.Rows[i].From-c.Offset-c.Error >= span.From })
		end := sort.Search(len(c.Rows), func(i int) bool { return c.Rows[i].To-c.Offset+c.Error > span.To })
		part := Part{First: first, End: max(first, end)}
		for _, row := range c.Rows[part.First:part.End] {
			part.Lasted += row.To - row.From
		}
		parts = append(parts, part)
		known = known && part.Lasted > 0 && float64(part.Lasted) >= coverage*float64(span.To-span.From)
	}
	return parts, known
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
