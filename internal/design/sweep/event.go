package sweep

import (
	"fmt"
	"math"
)

// EventCode names a kind of event.
type EventCode string

// The events.
const (
	RunRepeated         EventCode = "RunRepeated"         // an invalid run is made again, unless the sweep ends; Outcome is that of the first try
	RunMissing          EventCode = "RunMissing"          // an invalid run is not made again; Outcome is that of the last try
	CandidateWithdrawn  EventCode = "CandidateWithdrawn"  // its runs are invalid; Outcome says why
	BlockInterrupted    EventCode = "BlockInterrupted"    // the block's runs are discarded; the block starts again, or the sweep ends
	BlockRejected       EventCode = "BlockRejected"       // Value is ln(last/first baseline run), Limit the maximum of |Value|; the block is measured again, or the sweep ends
	BlockLostControl    EventCode = "BlockLostControl"    // a needed baseline run is invalid; the block is measured again, or the sweep ends
	BlockAccepted       EventCode = "BlockAccepted"       // Count is the number of baseline runs; if Count is above 1, Value is ln(last/first baseline run)
	CandidateDecided    EventCode = "CandidateDecided"    // it left the race, because its verdict is known
	CandidateBeaten     EventCode = "CandidateBeaten"     // it left the race; Value is its gain minus the leader's gain, in logs
	ConstraintBroken    EventCode = "ConstraintBroken"    // it left the race, because it cannot win
	ConfirmationStarted EventCode = "ConfirmationStarted" // Count is the maximum number of blocks; Value is the gain over the baseline in the race, in logs
	ConfirmationIsShort EventCode = "ConfirmationIsShort" // the budget or the ledger limits the confirmation to Count blocks
	SweepStopped        EventCode = "SweepStopped"        // Stop gives the reason
)

// Event is a consequence of the last ledger entry or, before the first entry, of the plan. It has the data
// for Kubernetes Events and transcripts. Fields that a code does not use are zero.
type Event struct {
	Code         EventCode
	Block        int
	Candidate    string // name of the configuration
	Outcome      Outcome
	Value, Limit float64
	Count        int
	Stop         StopCode
}

// String states the event in one line of plain English.
func (e Event) String() string {
	switch e.Code {
	case RunRepeated:
		return fmt.Sprintf("%s in block %d %s: it is repeated", e.Candidate, e.Block, e.Outcome.clause())
	case RunMissing:
		return fmt.Sprintf("%s in block %d %s on the second try: the run is left out", e.Candidate, e.Block, e.Outcome.clause())
	case CandidateWithdrawn:
		return fmt.Sprintf("%s is withdrawn: it %s", e.Candidate, e.Outcome.clause())
	case BlockInterrupted:
		return fmt.Sprintf("block %d was interrupted and starts again", e.Block)
	case BlockRejected:
		return fmt.Sprintf("block %d is rejected: the baseline changed by %s in it, more than %s", e.Block, percent(e.Value), percent(e.Limit))
	case BlockLostControl:
		return fmt.Sprintf("block %d is rejected: a run of the baseline is missing", e.Block)
	case BlockAccepted:
		if e.Count < 2 {
			return fmt.Sprintf("block %d is complete", e.Block)
		}
		return fmt.Sprintf("block %d is complete: the baseline changed by %s in it", e.Block, percent(e.Value))
	case CandidateDecided:
		return fmt.Sprintf("%s leaves the race after block %d: its verdict is known", e.Candidate, e.Block)
	case CandidateBeaten:
		return fmt.Sprintf("%s leaves the race after block %d: %s against the leader", e.Candidate, e.Block, percent(e.Value))
	case ConstraintBroken:
		return fmt.Sprintf("%s leaves the race after block %d: it breaks a constraint", e.Candidate, e.Block)
	case ConfirmationStarted:
		return fmt.Sprintf("%s won the race with a gain of %s over the baseline, and is measured again in at most %d fresh blocks", e.Candidate, percent(e.Value), e.Count)
	case ConfirmationIsShort:
		return fmt.Sprintf("the budget, or the limit of %d runs, has room for only %d blocks of confirmation", MaxLedger, e.Count)
	case SweepStopped:
		return "the sweep ends: " + e.Stop.clause()
	}
	return string(e.Code)
}

func (o Outcome) clause() string {
	switch o {
	case NotSteady:
		return "did not become steady"
	case Failed:
		return "failed"
	case Inert:
		return "had no effect on the cluster"
	case Interrupted:
		return "was interrupted"
	case Valid:
	}
	return "was measured"
}

// percent shows a difference of logarithms as a signed percentage.
func percent(logRatio float64) string { return fmt.Sprintf("%+.1f%%", 100*math.Expm1(logRatio)) }

// StopCode says why a sweep ended.
type StopCode string

// The reasons why a sweep ends.
const (
	Confirmed             StopCode = "Confirmed"             // the confirmation led to a verdict, showed a broken constraint, or has all its blocks
	Decided               StopCode = "Decided"               // no candidate is left in the race or the confirmation; a single candidate that wins leaves the race too
	MaxBlocksReached      StopCode = "MaxBlocksReached"      // the race has all its blocks, and no candidate is worth confirming; without racing, a single candidate may have won
	BudgetSpent           StopCode = "BudgetSpent"           // the next runs would not fit into the time, the bytes or the ledger
	TooManyFailedRuns     StopCode = "TooManyFailedRuns"     // more runs failed than Settings.MaxFailedRuns
	TooManyRejectedBlocks StopCode = "TooManyRejectedBlocks" // the cluster drifts, or runs of the baseline are missing
)

func (s StopCode) clause() string {
	switch s {
	case Confirmed:
		return "the confirmation is complete"
	case Decided:
		return "nothing is left to decide in the race"
	case MaxBlocksReached:
		return "all blocks of the race are done"
	case BudgetSpent:
		return fmt.Sprintf("the budget, or the limit of %d runs, has no room for another step", MaxLedger)
	case TooManyFailedRuns:
		return "too many runs failed"
	case TooManyRejectedBlocks:
		return "too many blocks had to be rejected"
	}
	return string(s)
}
