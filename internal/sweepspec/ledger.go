package sweepspec

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/fitness"
	"github.com/cephtune/cephtune/internal/sweep"
)

const (
	maxSeconds = 999_999   // of a run, in status
	maxMiB     = 9_999_999 // of a run, in status
)

// Entry is a run of the ledger, with the validity that status shows. The planner distinguishes fewer
// outcomes: for the planner, a disturbed run and a run with a foreign change have failed.
type Entry struct {
	sweep.Run
	Validity v1alpha1.SweepRunValidity
}

// Counts reports whether the run counts, be it marked or not.
func (e Entry) Counts() bool {
	return e.Validity == v1alpha1.SweepRunValid || e.Mark() != ""
}

// Mark returns the mark of a run that counts.
func (e Entry) Mark() fitness.Mark {
	switch e.Validity {
	case v1alpha1.SweepRunStarved, v1alpha1.SweepRunThrottled, v1alpha1.SweepRunBelowRate:
		return fitness.Mark(e.Validity)
	default:
		return ""
	}
}

// NewEntry returns the entry for a slot. It rounds numbers to the digits that status stores, so that the
// planner decides alike before and after a restart.
func NewEntry(slot sweep.Slot, validity v1alpha1.SweepRunValidity, values []float64, seconds int, mib int64) Entry {
	run := sweep.Run{
		Block: slot.Block, Attempt: slot.Attempt, Slot: slot.Position, Configuration: slot.Configuration,
		Outcome: outcomeOf(validity), Starved: fitness.Mark(validity).Starves(),
		Seconds: min(max(seconds, 0), maxSeconds), MiB: min(max(mib, 0), maxMiB),
	}
	for _, v := range values {
		if kept, err := strconv.ParseFloat(shortest(v), 64); err == nil && run.Outcome == sweep.Valid {
			run.Values = append(run.Values, kept)
		}
	}
	return Entry{Run: run.Rounded(), Validity: validity}
}

// outcomeOf returns the planner's outcome for a validity. For a discarded run it returns Interrupted, but
// readValues makes the outcome Valid if the run has values.
func outcomeOf(v v1alpha1.SweepRunValidity) sweep.Outcome {
	switch v {
	case v1alpha1.SweepRunValid, v1alpha1.SweepRunStarved, v1alpha1.SweepRunThrottled, v1alpha1.SweepRunBelowRate, v1alpha1.SweepRunDrifted:
		return sweep.Valid
	case v1alpha1.SweepRunNotSteady:
		return sweep.NotSteady
	case v1alpha1.SweepRunInert:
		return sweep.Inert
	case v1alpha1.SweepRunDiscarded:
		return sweep.Interrupted
	case v1alpha1.SweepRunDisturbed, v1alpha1.SweepRunChanged, v1alpha1.SweepRunFailed:
	}
	return sweep.Failed
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
	if next.Action != sweep.RunSlot || next.Slot.Position == 0 && next.Slot.Repeat == 0 {
		return Entry{}, false
	}
	return NewEntry(next.Slot, v1alpha1.SweepRunDiscarded, nil, 0, 0), true
}

// WriteLedger encodes the ledger for status. If an attempt at a block does not count, WriteLedger marks the
// valid runs of this attempt. They are Discarded if the attempt was interrupted, or if the sweep ended before
// the attempt was complete. Otherwise, they are Drifted. The argument named now is the planner's decision after
// these entries.
func WriteLedger(ledger []Entry, now sweep.Decision) []v1alpha1.SweepRun {
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
	out := make([]v1alpha1.SweepRun, len(ledger))
	for i, e := range ledger {
		if e.Outcome == sweep.Valid {
			switch {
			case discarded[attempt{e.Block, e.Attempt}]:
				e.Validity = v1alpha1.SweepRunDiscarded
			case e.Attempt < latest[e.Block]:
				e.Validity = v1alpha1.SweepRunDrifted
			case e.Validity == v1alpha1.SweepRunDrifted, e.Validity == v1alpha1.SweepRunDiscarded:
				e.Validity = v1alpha1.SweepRunValid
			}
		}
		out[i] = e.line(i + 1)
	}
	return out
}

func (e Entry) line(id int) v1alpha1.SweepRun {
	values := "-"
	if e.Outcome == sweep.Valid {
		texts := make([]string, len(e.Values))
		for i, v := range e.Values {
			texts[i] = shortest(v)
		}
		values = strings.Join(texts, ",")
	}
	return v1alpha1.SweepRun(fmt.Sprintf("%d %d.%d.%d %d %s %ds %dMi %s",
		id, e.Block, e.Attempt, e.Slot, e.Configuration, values, e.Seconds, e.MiB, e.Validity))
}

// shortest formats a number above 0 in at most nine bytes. It keeps six significant digits, or five of a
// number below 0.0001. Examples: 0.0123457, 412.345, 412345e3, 123457e-9.
func shortest(v float64) string {
	const room = 9
	text := ""
	for digits := 6; digits > 0; digits-- {
		rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
		if err != nil || rounded == 0 {
			return strconv.FormatFloat(v, 'g', -1, 64) // The planner refuses such a value.
		}
		if text = strconv.FormatFloat(rounded, 'f', -1, 64); len(text) <= room {
			return text
		}
		mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(rounded, 'e', -1, 64), "e")
		whole := strings.Replace(mantissa, ".", "", 1)
		power, err := strconv.Atoi(exponent)
		if text = whole + "e" + strconv.Itoa(power-len(whole)+1); err == nil && len(text) <= room {
			return text
		}
	}
	return text
}

// ReadLedger decodes the lines of WriteLedger. For any other line, the error wraps sweep.ErrLedger.
func ReadLedger(lines []v1alpha1.SweepRun) ([]Entry, error) {
	ledger := make([]Entry, len(lines))
	for i, line := range lines {
		e, err := readLine(string(line), i+1)
		if err != nil {
			return nil, fmt.Errorf("%w: status.runs, line %d, %.100q: %w", sweep.ErrLedger, i+1, line, err)
		}
		ledger[i] = e
	}
	return ledger, nil
}

func readLine(line string, id int) (Entry, error) {
	words := strings.Split(line, " ")
	if len(words) != 7 {
		return Entry{}, fmt.Errorf("%d words, want 7", len(words))
	}
	place := strings.Split(words[1], ".")
	if len(place) != 3 {
		return Entry{}, fmt.Errorf("the place %q has no block, attempt and slot", words[1])
	}
	var e Entry
	var number int
	var err error
	ints := []struct {
		text string
		into *int
	}{
		{words[0], &number},
		{place[0], &e.Block},
		{place[1], &e.Attempt},
		{place[2], &e.Slot},
		{words[2], &e.Configuration},
		{strings.TrimSuffix(words[4], "s"), &e.Seconds},
	}
	for _, n := range ints {
		if *n.into, err = strconv.Atoi(n.text); err != nil {
			return Entry{}, err
		}
	}
	if number != id {
		return Entry{}, fmt.Errorf("it is number %d", number)
	}
	if e.MiB, err = strconv.ParseInt(strings.TrimSuffix(words[5], "Mi"), 10, 64); err != nil {
		return Entry{}, err
	}
	e.Validity = v1alpha1.SweepRunValidity(words[6])
	return e, e.readValues(words[3])
}

func (e *Entry) readValues(text string) error {
	if !slices.Contains(validities(), e.Validity) {
		return fmt.Errorf("%q is not the validity of a run", e.Validity)
	}
	e.Outcome, e.Starved = outcomeOf(e.Validity), fitness.Mark(e.Validity).Starves()
	if text == "-" {
		if e.Outcome == sweep.Valid {
			return fmt.Errorf("it is %s and has no values", e.Validity)
		}
		return nil
	}
	if e.Outcome != sweep.Valid && e.Validity != v1alpha1.SweepRunDiscarded {
		return fmt.Errorf("it is %s and has values", e.Validity)
	}
	e.Outcome = sweep.Valid // A run with values is valid, even if its attempt at the block does not count.
	for word := range strings.SplitSeq(text, ",") {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("the value %q is not a number", word)
		}
		e.Values = append(e.Values, v)
	}
	return nil
}

func validities() []v1alpha1.SweepRunValidity {
	return []v1alpha1.SweepRunValidity{
		v1alpha1.SweepRunValid, v1alpha1.SweepRunStarved, v1alpha1.SweepRunThrottled, v1alpha1.SweepRunBelowRate, v1alpha1.SweepRunNotSteady, v1alpha1.SweepRunDrifted, v1alpha1.SweepRunInert,
		v1alpha1.SweepRunDisturbed, v1alpha1.SweepRunChanged, v1alpha1.SweepRunFailed, v1alpha1.SweepRunDiscarded,
	}
}
