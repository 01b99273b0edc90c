package sweep

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/cephtune/cephtune/internal/stats"
)

// ErrLedger is wrapped by errors about a ledger that this plan cannot have led
// to. It must not be continued: its runs answer other questions.
var ErrLedger = errors.New("ledger does not belong to this plan")

// Outcome is how a run ended. The zero value is a valid run.
type Outcome string

const (
	// Valid means: the run is evidence.
	Valid Outcome = ""
	// NotSteady means: the run never settled; it is repeated once at double length.
	NotSteady Outcome = "N"
	// Failed means: the tool, the cluster or a guardrail ended it; repeated once, and
	// counted against MaxFailedRuns.
	Failed Outcome = "F"
	// Inert means: the setting had no effect on the running daemons. Repeating it
	// would not help, so the candidate is withdrawn.
	Inert Outcome = "I"
	// Interrupted means: the sweep was suspended or restarted around this slot. The block's
	// runs were measured at another time, so the block starts again.
	Interrupted Outcome = "X"
)

// Run is one entry of the ledger: what became of one slot. As JSON it takes at
// most 96 bytes.
type Run struct {
	Block         int     `json:"b"`           // from 1, through both stages
	Attempt       int     `json:"a"`           // from 1, at the block
	Slot          int     `json:"s"`           // from 0, in the block's order
	Configuration int     `json:"c"`           // 0 is the baseline
	Outcome       Outcome `json:"o,omitempty"` // absent for a valid run
	// Values are the objective, then the constraints in their order. Six
	// significant digits count. Absent unless Valid.
	Values  []float64 `json:"v,omitempty"`
	Seconds int       `json:"t,omitempty"` // since the previous entry or the start, waiting aside
	MiB     int64     `json:"w,omitempty"` // written by the run
}

// Rounded is the run as the ledger keeps it. The planner sees every run this
// way, so that a decision taken before a restart is taken again after it.
func (r Run) Rounded() Run {
	values := r.Values
	r.Values = nil
	for _, v := range values {
		short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
		if err != nil { // only infinities fail to parse back; keep them to be refused
			short = v
		}
		r.Values = append(r.Values, short)
	}
	return r
}

// check refuses an entry that cannot be the answer to a slot.
func (r Run) check(want Slot, values int) error {
	got := Slot{Block: r.Block, Attempt: r.Attempt, Position: r.Slot, Configuration: r.Configuration}
	if got != want.identity() {
		return fmt.Errorf("%w: block %d attempt %d slot %d configuration %d, want block %d attempt %d slot %d configuration %d", ErrLedger,
			r.Block, r.Attempt, r.Slot, r.Configuration, want.Block, want.Attempt, want.Position, want.Configuration)
	}
	if r.Seconds < 0 || r.MiB < 0 {
		return fmt.Errorf("%w: negative cost", ErrLedger)
	}
	switch r.Outcome {
	case Valid:
		if len(r.Values) != values {
			return fmt.Errorf("%w: %d values, want %d", ErrLedger, len(r.Values), values)
		}
		for i, v := range r.Values {
			if !(v > 0) || math.IsInf(v, 1) {
				return fmt.Errorf("%w: %w", ErrLedger, &stats.ValueError{What: "value", Index: i, Value: v, Want: "positive and finite"})
			}
		}
	case NotSteady, Failed, Inert, Interrupted:
		if len(r.Values) != 0 {
			return fmt.Errorf("%w: values of a run that is not valid", ErrLedger)
		}
	default:
		return fmt.Errorf("%w: outcome %q", ErrLedger, r.Outcome)
	}
	return nil
}
