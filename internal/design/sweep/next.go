package sweep

import "time"

// Action is the kind of a decision.
type Action string

// The actions.
const (
	RunTrial Action = "RunTrial"
	Conclude Action = "Conclude"
)

// Decision is the next step of a sweep.
type Decision struct {
	Action     Action
	Trial      Trial       // for RunTrial: its outcome is the next entry of the ledger
	Conclusion *Conclusion // for Conclude
	Events     []Event     // the consequences of the last ledger entry
	Progress   Progress
}

// Progress says how far a sweep has come.
type Progress struct {
	Stage   Stage
	Block   int
	Attempt int
	// Order lists the configurations of the current attempt, trial by trial.
	Order              []int
	Live               []int // candidates still in the race; in the confirmation, the winner
	ConfirmationBlocks int   // maximum number, fixed when the confirmation starts; 0 before
	Runs               int   // entries of the ledger
	// RunsLeft is an upper bound if no run and no block has to be repeated. The sweep takes fewer runs if
	// candidates leave the race, or if the race has no winner.
	RunsLeft int
	TimeLeft time.Duration
}

// Next returns the next step of a sweep after the runs in the ledger, which are ordered from the oldest. It
// is a pure function: the same plan and ledger give the same decision.
//
// For a ledger that the plan cannot have produced, the error wraps ErrLedger.
func (p *Planner) Next(ledger []Run) (Decision, error) {
	r, err := p.read(ledger)
	if err != nil {
		return Decision{}, err
	}
	return r.decision()
}

// Standing returns the table of configurations as if the sweep ended after the runs so far. It is only for
// display, because the current leader may still lose. The events of [Planner.Next] show what is final, for
// example that a candidate has left the race.
func (p *Planner) Standing(ledger []Run) (Standing, error) {
	r, err := p.read(ledger)
	if err != nil {
		return Standing{}, err
	}
	return r.standing()
}

func (r *replay) decision() (Decision, error) {
	d := Decision{Action: RunTrial, Events: r.events, Progress: r.progress()}
	if r.stop == "" {
		d.Trial = r.trial()
		return d, nil
	}
	conclusion, err := r.conclude()
	if err != nil {
		return Decision{}, err
	}
	d.Action, d.Conclusion = Conclude, conclusion
	return d, nil
}

func (r *replay) progress() Progress {
	out := Progress{
		Stage: r.stage, Block: r.block, Attempt: r.attempt, Live: append([]int(nil), r.candidates()...),
		ConfirmationBlocks: r.confirm, Runs: r.spent.runs, RunsLeft: r.runsLeft(),
	}
	for _, s := range r.order {
		out.Order = append(out.Order, s.Configuration)
	}
	out.TimeLeft = (time.Duration(out.RunsLeft) * r.spent.perRun(r.settings.Expected).Time).Round(time.Second)
	return out
}

func (r *replay) runsLeft() int {
	if r.stop != "" {
		return 0
	}
	left := len(r.order) - r.next
	if r.stage == Confirmation {
		return left + (r.confirm-countBlocks(r.blocks, Confirmation)-1)*r.runsPerBlock(1)
	}
	race, confirmation := r.MaxBlocks()
	blocks := race - countBlocks(r.blocks, Race) - 1
	return left + blocks*r.runsPerBlock(len(r.live)) + confirmation*r.runsPerBlock(1)
}
