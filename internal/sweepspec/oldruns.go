package sweepspec

// Until release 0.1.0, status.runs had texts instead of status.trials. This file is all that reads them. Delete it one
// release after 0.1.0, together with status.runs in the API: no sweep in progress has them then, and exports of older
// versions can be read by the version that wrote them.

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/session"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/design/switchback"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/figure/fitness"
)

// Trials returns the trials of a sweep, also those that an earlier version wrote as status.runs. For texts that no
// version wrote, the error wraps sweep.ErrLedger.
func Trials(s *v1alpha1.CephTuningSweepStatus) ([]v1alpha1.Trial, error) {
	if len(s.Runs) == 0 || len(s.Trials) > 0 {
		return s.Trials, nil
	}
	read := oldRun
	if HasWindows(s.Plan) {
		read = oldSession
	}
	var trials []v1alpha1.Trial
	for i, line := range s.Runs {
		if err := read(line, &trials); err != nil {
			return nil, fmt.Errorf("%w: status.runs, line %d, %.100q: %w", sweep.ErrLedger, i+1, line, err)
		}
	}
	return trials, nil
}

// ReplaceRuns writes the texts in status.runs as trials. It leaves texts that cannot be read.
func ReplaceRuns(s *v1alpha1.CephTuningSweepStatus) {
	if trials, err := Trials(s); err == nil {
		s.Trials, s.Runs = trials, nil
	}
}

// oldRun reads a run, such as "17 3.1.4 2 412345e3,0.0081 75s 4096Mi Valid": number, block.attempt.position,
// configuration, figures or a dash, duration, MiB written, and validity.
func oldRun(line string, trials *[]v1alpha1.Trial) error {
	var e Entry
	var number int
	var values, validity string
	if err := scan(line, "%d %d.%d.%d %d %s %ds %dMi %s", 7, &number, &e.Block, &e.Attempt, &e.Position, &e.Configuration, &values, &e.Seconds, &e.MiB, &validity); err != nil {
		return err
	}
	if e.Reason, e.Mark = oldValidity(validity); values != "-" {
		for word := range strings.SplitSeq(values, ",") {
			v, err := figure.ParseDecimal(v1alpha1.Decimal(word))
			if err != nil {
				return err
			}
			e.Values = append(e.Values, v)
		}
	}
	t := e.Trial(number)
	*trials = append(*trials, t)
	_, err := entryOf(&t, len(*trials))
	return err
}

// oldSession reads a line of a session, such as
// "3 1 4 0.693147 0.012345 8,2,10000,9999 -0.51 1.22 260s 4096Mi 20261129T1719Z Valid": number, candidate, blocks,
// ln(ratio) and its deviation, p-values in units of 1/10000, late and lag scores, duration, MiB written, end, and
// validity. Further candidates and constraints of the session have lines of their own.
func oldSession(line string, trials *[]v1alpha1.Trial) error {
	var e switchback.Entry
	var number int
	var cost SessionCost
	var p [4]float64
	var ended, validity string
	if err := scan(line, "%d %d %d %g %g %g,%g,%g,%g %g %g %ds %dMi %s %s", 12, &number, &e.Candidate, &e.Blocks, &e.Mean, &e.StdDev,
		&p[0], &p[1], &p[2], &p[3], &e.Late, &e.Lag, &cost.Seconds, &cost.MiB, &ended, &validity); err != nil {
		return err
	}
	var err error
	if cost.Ended, err = time.Parse("20060102T1504Z", ended); err != nil {
		return err
	}
	e.P.Superior, e.P.AnyGain, e.P.Loss, e.P.Small = p[0]/1e4, p[1]/1e4, p[2]/1e4, p[3]/1e4
	kind, long := strings.CutSuffix(validity, "Long")
	constraint := validity == "Constraint"
	reason, mark := oldValidity(kind)
	t := InvalidSession(number, reason, cost)
	if reason == "" || constraint {
		t, _ = NewSessionTrial(nounSetting, number, long || constraint, session.Summary{Objective: []switchback.Entry{e}, Mark: mark}, true, nil, cost)
	}
	last := len(*trials) - 1
	switch again := last >= 0 && int((*trials)[last].Number) == number; {
	case constraint && (!again || len((*trials)[last].Comparisons) == 0 || len(t.Comparisons) == 0):
		return errors.New("it follows no objective")
	case constraint:
		comparisons := (*trials)[last].Comparisons
		before := &comparisons[len(comparisons)-1]
		before.Constraints = append(before.Constraints, v1alpha1.TrialConstraint{Value: t.Comparisons[0].Ratio, Deviation: t.Comparisons[0].Deviation})
	case again:
		(*trials)[last].Comparisons = append((*trials)[last].Comparisons, t.Comparisons...)
	default:
		*trials = append(*trials, t)
		return checkTrial(&t, last+2)
	}
	return nil
}

func scan(line, form string, words int, fields ...any) error {
	if n := len(strings.Split(line, " ")); n != words {
		return fmt.Errorf("%d words, want %d", n, words)
	}
	_, err := fmt.Sscanf(line, form, fields...)
	return err
}

// oldValidity returns the reason or the mark for the last word of a text. An unknown word is the reason, which no trial
// may have.
func oldValidity(word string) (v1alpha1.TrialReason, fitness.Mark) {
	switch word {
	case "", "Valid":
		return "", ""
	case "Discarded":
		return v1alpha1.TrialInterrupted, ""
	}
	if mark := fitness.Mark(word); slices.Contains([]fitness.Mark{fitness.Starved, fitness.Throttled, fitness.BelowRate, fitness.Mark(v1alpha1.TrialSaturated)}, mark) {
		return "", mark
	}
	return v1alpha1.TrialReason(word), ""
}
