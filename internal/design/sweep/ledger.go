package sweep

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/cephtune/cephtune/internal/stats"
)

// ErrLedger is wrapped by errors about a ledger that this plan cannot have produced. Do not continue such a
// ledger: its runs belong to another plan.
var ErrLedger = errors.New("ledger does not belong to this plan")

// Outcome says how a run ended. The zero value means a valid run.
type Outcome string

const (
	// Valid means that the run counts.
	Valid Outcome = ""
	// NotSteady means that the run never became steady. The run is repeated once at double length.
	NotSteady Outcome = "N"
	// Failed means that the run has no usable result. For example, the engine, the cluster or a guardrail
	// ended it, or it was disturbed. The run is repeated once. It counts against MaxFailedRuns, unless its
	// candidate is withdrawn.
	Failed Outcome = "F"
	// Inert means that the setting did not reach the running daemons. Repeating the run would
	// not help, so the candidate is withdrawn. An inert run of the baseline is repeated.
	Inert Outcome = "I"
	// Interrupted means that the sweep was suspended, or its settings restored, before this trial's run was
	// complete. The block's earlier runs come from another time than its later runs would, so the block
	// starts again.
	Interrupted Outcome = "X"
)

// Run is one ledger entry: the outcome of one try to run a trial. As JSON it takes at most 96 bytes.
type Run struct {
	Block         int     `json:"b"`           // from 1; the confirmation continues the numbers of the race
	Attempt       int     `json:"a"`           // at the block, from 1
	Position      int     `json:"s"`           // from 0, in the block's order
	Configuration int     `json:"c"`           // 0 is the baseline
	Outcome       Outcome `json:"o,omitempty"` // absent for a valid run
	// Values are the objective, then the constraints in their order, to six significant digits. An invalid
	// run has no values.
	Values  []float64 `json:"v,omitempty"`
	Seconds int       `json:"t,omitempty"` // from the change of settings to this entry; earlier waits do not count. Less if the manager was restarted in between
	MiB     int64     `json:"w,omitempty"` // written by the run
	Starved bool      `json:"u,omitempty"` // a client or its host lacked CPU, in a valid run
}

// Rounded returns the run with the precision of the ledger. The planner always uses rounded runs, so it
// decides the same before and after a restart of the manager.
func (r Run) Rounded() Run {
	values := r.Values
	r.Values = nil
	for _, v := range values {
		short, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
		if err != nil { // This cannot happen: infinities and NaN parse too. The method check refuses them.
			short = v
		}
		r.Values = append(r.Values, short)
	}
	return r
}

// check returns an error for an entry that does not belong to the wanted trial, or whose outcome, cost or
// values are impossible.
func (r Run) check(want Trial, values int) error {
	got := Trial{Block: r.Block, Attempt: r.Attempt, Position: r.Position, Configuration: r.Configuration}
	if got != want.identity() {
		return fmt.Errorf("%w: block %d attempt %d position %d configuration %d, want block %d attempt %d position %d configuration %d", ErrLedger,
			r.Block, r.Attempt, r.Position, r.Configuration, want.Block, want.Attempt, want.Position, want.Configuration)
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
