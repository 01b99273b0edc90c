package sweepspec

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/figure/fitness"
)

const (
	maxSeconds   = 999_999   // of a trial, in status
	maxMebibytes = 9_999_999 // of a trial, in status
)

// Entry is a trial of the design Blocks, with the reason and the mark that status shows. The planner distinguishes
// fewer outcomes: for the planner, a disturbed trial and a trial with a foreign change have failed.
type Entry struct {
	sweep.Run
	Reason v1alpha1.TrialReason // "" for a valid trial
	Mark   fitness.Mark
}

// Counts reports whether the trial counts, be it marked or not.
func (e Entry) Counts() bool { return e.Reason == "" }

// Validity says in one word whether the trial counts: Valid, its mark, or why it is invalid.
func (e Entry) Validity() string {
	return cmp.Or(string(e.Reason), string(e.Mark), string(v1alpha1.TrialValid))
}

// NewEntry returns the entry for a trial. It rounds numbers to the digits that status stores, so that the
// planner decides alike before and after a restart.
func NewEntry(trial sweep.Trial, reason v1alpha1.TrialReason, mark fitness.Mark, values []float64, seconds int, mib int64) Entry {
	run := sweep.Run{
		Block: trial.Block, Attempt: trial.Attempt, Position: trial.Position, Configuration: trial.Configuration,
		Outcome: outcomeOf(reason), Starved: mark.Starves(), Seconds: clamp(seconds, maxSeconds), MiB: clamp(mib, maxMebibytes),
	}
	if run.Outcome == sweep.Valid {
		run.Values = values
	}
	return Entry{Run: run.Rounded(), Reason: reason, Mark: mark}
}

func clamp[T int | int64](v, most T) T { return min(max(v, 0), most) }

// outcomeOf returns the planner's outcome for a reason. An entry with a value has the outcome Valid in any case.
func outcomeOf(reason v1alpha1.TrialReason) sweep.Outcome {
	switch reason {
	case "", v1alpha1.TrialDrifted:
		return sweep.Valid
	case v1alpha1.TrialNotSteady:
		return sweep.NotSteady
	case v1alpha1.TrialInert:
		return sweep.Inert
	case v1alpha1.TrialInterrupted:
		return sweep.Interrupted
	default:
		return sweep.Failed
	}
}

// Runs converts entries to the planner's runs.
func Runs(ledger []Entry) []sweep.Run {
	runs := make([]sweep.Run, len(ledger))
	for i, e := range ledger {
		runs[i] = e.Run
	}
	return runs
}

// Interrupt returns an entry that discards the runs of the current attempt at a block. A sweep needs this entry
// when it continues after a suspension or a restore, since the pause separates later runs of the block from
// earlier ones. Interrupt returns false if the attempt has no run yet, or if the sweep has ended.
func Interrupt(next sweep.Decision) (Entry, bool) {
	if next.Action != sweep.RunTrial || next.Trial.Position == 0 && next.Trial.Repeat == 0 {
		return Entry{}, false
	}
	return NewEntry(next.Trial, v1alpha1.TrialInterrupted, "", nil, 0, 0), true
}

// WriteLedger returns the ledger in the form of status. If an attempt at a block does not count, the valid trials of
// this attempt become invalid. They are Interrupted if the attempt was interrupted, or if the sweep ended before
// the attempt was complete. Otherwise, they are Drifted. The argument named now is the planner's decision after
// these entries.
func WriteLedger(ledger []Entry, now sweep.Decision) []v1alpha1.Trial {
	type attempt struct{ block, attempt int }
	discarded := map[attempt]bool{}
	latest := map[int]int{now.Progress.Block: now.Progress.Attempt}
	switch end := now.Conclusion; {
	case end != nil && end.Stop == sweep.TooManyRejectedBlocks:
		latest[now.Progress.Block]++ // The latest attempt at the block was rejected too.
	case end != nil && end.Unfinished:
		discarded[attempt{now.Progress.Block, now.Progress.Attempt}] = true
	}
	for _, e := range ledger {
		latest[e.Block] = max(latest[e.Block], e.Attempt)
		if e.Outcome == sweep.Interrupted {
			discarded[attempt{e.Block, e.Attempt}] = true
		}
	}
	out := make([]v1alpha1.Trial, len(ledger))
	for i, e := range ledger {
		if e.Outcome == sweep.Valid {
			switch {
			case discarded[attempt{e.Block, e.Attempt}]:
				e.Reason = v1alpha1.TrialInterrupted
			case e.Attempt < latest[e.Block]:
				e.Reason = v1alpha1.TrialDrifted
			default:
				e.Reason = ""
			}
		}
		out[i] = e.Trial(i + 1)
	}
	return out
}

// Trial returns the entry in the form of status.
func (e Entry) Trial(number int) v1alpha1.Trial {
	t := newTrial(number, e.Reason, e.Mark, e.Seconds, e.MiB)
	t.Configuration = new(int32(e.Configuration))                                                                  //nolint:gosec // At most 64.
	t.Block = &v1alpha1.TrialBlock{Number: int32(e.Block), Attempt: int32(e.Attempt), Position: int32(e.Position)} //nolint:gosec // At most MaxLedger.
	for i, v := range e.Values {
		if i == 0 {
			t.Objective = figure.Decimal(v)
			continue
		}
		t.Constraints = append(t.Constraints, figure.Decimal(v))
	}
	return t
}

// newTrial returns a trial without results. An invalid trial has no mark.
func newTrial(number int, reason v1alpha1.TrialReason, mark fitness.Mark, seconds int, mib int64) v1alpha1.Trial {
	t := v1alpha1.Trial{
		Number: int32(number), State: v1alpha1.TrialValid, Mark: v1alpha1.TrialMark(mark), //nolint:gosec // At most MaxLedger.
		DurationSeconds: int32(clamp(seconds, maxSeconds)), WrittenMebibytes: clamp(mib, maxMebibytes), //nolint:gosec // Bounded.
	}
	if reason != "" {
		t.State, t.Reason, t.Mark = v1alpha1.TrialInvalid, reason, ""
	}
	return t
}

// ReadLedger returns the ledger of a sweep of the design Blocks. For trials that WriteLedger cannot have returned, the
// error wraps sweep.ErrLedger.
func ReadLedger(s *v1alpha1.CephTuningSweepStatus) ([]Entry, error) {
	trials, err := Trials(s)
	if err != nil {
		return nil, err
	}
	ledger := make([]Entry, len(trials))
	for i := range trials {
		if ledger[i], err = entryOf(&trials[i], i+1); err != nil {
			return nil, fmt.Errorf("%w: status.trials, item %d: %w", sweep.ErrLedger, i+1, err)
		}
	}
	return ledger, nil
}

func entryOf(t *v1alpha1.Trial, number int) (Entry, error) {
	if err := checkTrial(t, number); err != nil {
		return Entry{}, err
	}
	if t.Block == nil || t.Configuration == nil {
		return Entry{}, fmt.Errorf("it has no block or no configuration")
	}
	e := Entry{Reason: t.Reason, Mark: fitness.Mark(t.Mark), Run: sweep.Run{
		Block: int(t.Block.Number), Attempt: int(t.Block.Attempt), Position: int(t.Block.Position), Configuration: int(*t.Configuration),
		Outcome: outcomeOf(t.Reason), Starved: fitness.Mark(t.Mark).Starves(), Seconds: int(t.DurationSeconds), MiB: t.WrittenMebibytes,
	}}
	if t.Objective == "" {
		if e.Outcome == sweep.Valid {
			return Entry{}, fmt.Errorf("it is %s and has no objective", e.Validity())
		}
		return e, nil
	}
	if e.Outcome != sweep.Valid && e.Outcome != sweep.Interrupted {
		return Entry{}, fmt.Errorf("it is %s and has an objective", e.Validity())
	}
	e.Outcome = sweep.Valid // A trial with values is valid, even if its attempt at the block does not count.
	for _, d := range slices.Concat([]v1alpha1.Decimal{t.Objective}, t.Constraints) {
		v, err := figure.ParseDecimal(d)
		if err != nil {
			return Entry{}, err
		}
		e.Values = append(e.Values, v)
	}
	return e, nil
}

// checkTrial returns an error for a trial with a wrong number or an unknown or contradictory validity.
func checkTrial(t *v1alpha1.Trial, number int) error {
	switch {
	case int(t.Number) != number:
		return fmt.Errorf("its number is %d, want %d", t.Number, number)
	case t.State == v1alpha1.TrialValid && t.Reason == "", t.State == v1alpha1.TrialInvalid && slices.Contains(v1alpha1.TrialReasons(), t.Reason):
		return nil
	}
	return fmt.Errorf("it is %q with reason %q", t.State, t.Reason)
}
