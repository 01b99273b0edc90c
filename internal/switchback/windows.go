package switchback

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/stats"
)

// Switch is one change of setting, in the operator's clock since the session began.
type Switch struct {
	Setting      int           `json:"setting"`
	Told         time.Duration `json:"told"`         // when Ceph was told
	Acknowledged time.Duration `json:"acknowledged"` // when it had answered
	Proven       bool          `json:"proven"`       // OSDs were seen to run with it
}

// Row is what one client moved between two moments of its own clock.
type Row struct {
	From, To time.Duration
	Amount   float64 // 0 is a stall, which is data
}

// Client is one client's rows and what is known of its clock.
type Client struct {
	Rows []Row
	// Offset is the client's clock less the operator's; it may be wrong by Error.
	Offset, Error time.Duration
}

// Span is a time during which something disturbed the cluster, in the operator's clock.
type Span struct{ From, To time.Duration }

// Timing is what a session fixes beforehand.
type Timing struct {
	WashOut     time.Duration // from the acknowledgement
	SlowestTell time.Duration // a switch that takes longer voids its group
	ClockError  time.Duration // a clock that is known less well is an error
	Coverage    float64       // the part of a window that rows have to cover, such as 0.8
}

// Window is what clients got while one setting held.
type Window struct {
	Setting int     `json:"setting"`
	Figure  float64 `json:"figure"` // per second, all clients together
	Early   float64 `json:"early"`  // of the first half
	Late    float64 `json:"late"`   // of the second half
}

// Cut gives each switch its window, which begins when wash-out is over and ends when the next
// switch is told, the last one at end. Rows count that lie inside it wholly, however
// wrong the client's clock is within its bound. covered tells which windows
// have rows enough; it depends on times only, never on amounts.
func Cut(switches []Switch, end time.Duration, clients []Client, timing Timing) (windows []Window, covered []bool, err error) {
	if err := checkInput(switches, end, clients, timing); err != nil {
		return nil, nil, err
	}
	for i, s := range switches {
		span := Span{From: s.Acknowledged + timing.WashOut, To: end}
		if i+1 < len(switches) {
			span.To = switches[i+1].Told
		}
		middle := (span.From + span.To) / 2
		figure, ok := rate(span, clients, timing.Coverage)
		early, okEarly := rate(Span{span.From, middle}, clients, 0)
		late, okLate := rate(Span{middle, span.To}, clients, 0)
		windows = append(windows, Window{Setting: s.Setting, Figure: figure, Early: early, Late: late})
		covered = append(covered, ok && okEarly && okLate)
	}
	return windows, covered, nil
}

func checkInput(switches []Switch, end time.Duration, clients []Client, timing Timing) error {
	if len(switches) == 0 || len(clients) == 0 {
		return fmt.Errorf("%w: %d switches, %d clients", stats.ErrTooFew, len(switches), len(clients))
	}
	for i, s := range switches {
		next := end
		if i+1 < len(switches) {
			next = switches[i+1].Told
		}
		if s.Acknowledged < s.Told || next < s.Acknowledged {
			return fmt.Errorf("%w: switch %d is out of order", stats.ErrParameter, i)
		}
	}
	for i, c := range clients {
		if c.Error < 0 || c.Error > timing.ClockError {
			return fmt.Errorf("%w: the clock of client %d is known within %v, not %v", stats.ErrParameter, i, c.Error, timing.ClockError)
		}
		for j, row := range c.Rows {
			if !(row.Amount >= 0) || math.IsInf(row.Amount, 1) || row.To <= row.From {
				return &stats.ValueError{What: "row of a client", Index: j, Value: row.Amount, Want: "at least 0, finite, and takes time"}
			}
		}
	}
	return nil
}

// rate adds up what clients moved in a second of a span. A client without rows makes it unknown.
func rate(span Span, clients []Client, coverage float64) (float64, bool) {
	sum, known := 0.0, span.To > span.From
	for _, c := range clients {
		amount, lasted := 0.0, time.Duration(0)
		for _, row := range c.Rows {
			if row.From-c.Offset-c.Error >= span.From && row.To-c.Offset+c.Error <= span.To {
				amount, lasted = amount+row.Amount, lasted+row.To-row.From
			}
		}
		if lasted == 0 || float64(lasted) < coverage*float64(span.To-span.From) {
			known = false
			continue
		}
		sum += amount / lasted.Seconds()
	}
	return sum, known
}

// Faults tells which windows are no evidence: not proven, told slowly, not covered, or
// disturbed. It is not given their figures, so it cannot prefer any. One faulty
// window voids its whole group.
func Faults(switches []Switch, end time.Duration, covered []bool, disturbed []Span, timing Timing) []bool {
	faults := make([]bool, len(switches))
	for i, s := range switches {
		to := end
		if i+1 < len(switches) {
			to = switches[i+1].Told
		}
		touched := slices.ContainsFunc(disturbed, func(d Span) bool { return d.From < to && d.To > s.Told })
		faults[i] = !s.Proven || s.Acknowledged-s.Told > timing.SlowestTell || !covered[i] || touched
	}
	return faults
}
