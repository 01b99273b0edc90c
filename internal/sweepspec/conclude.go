package sweepspec

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/stats"
)

const (
	maxSummary = 1000 // bytes
	maxReason  = 24   // bytes
)

// Outcome has the results that status shows, during a sweep or at its end.
type Outcome struct {
	Best           string
	Headline       string
	Effect         v1alpha1.Effect
	Verdict        v1alpha1.SweepVerdict
	Scope          v1alpha1.SweepScope
	Summary        string
	Configurations []v1alpha1.ConfigurationResult
	Noise          *v1alpha1.Noise
	Constraints    []v1alpha1.ConstraintResult
	Patches        []v1alpha1.WinnerPatch
}

// Write copies an outcome into status.
func (o Outcome) Write(s *v1alpha1.CephTuningSweepStatus) {
	s.Best, s.Headline, s.Effect, s.Verdict, s.Scope, s.Summary = o.Best, o.Headline, o.Effect, o.Verdict, o.Scope, o.Summary
	s.Configurations, s.Noise, s.Constraints, s.Patches = o.Configurations, o.Noise, o.Constraints, o.Patches
}

// Standing returns the outcome during a sweep, with the current ratios of all configurations. Only a
// configuration that has left the race has a verdict, because a configuration in the race may still gain or
// lose the lead. The race is the stage before the confirmation.
func Standing(spec *Spec, planner *sweep.Planner, ledger []Entry) (Outcome, error) {
	standing, err := planner.Standing(Runs(ledger))
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Configurations: table(planner, standing)}
	for i, row := range standing.Rows {
		if row.Left == "" {
			out.Configurations[i+1].Verdict, out.Configurations[i+1].Reason = "", ""
		}
		if row.Configuration == standing.Best && row.Assessment.Ratio > 0 {
			out.lead(i+1, row.Assessment, row.Constraints)
		}
	}
	out.saturate(saturationOf(spec, ledger))
	out.figures(spec, trialsOf(ledger), standing.Best)
	return out, nil
}

// saturate removes the numbers that Saturated runs have.
func (o *Outcome) saturate(s *saturation) {
	s.mark(o.Configurations)
	if s != nil && s.saturated[0] > 0 {
		o.Effect = ""
	}
}

// lead makes a candidate the best configuration, with its effect, if it is proven to be better than the baseline
// and keeps all constraints. Otherwise the baseline is the best configuration, without an effect.
func (o *Outcome) lead(candidate int, a stats.Assessment, constraints []stats.ConstraintResult) {
	o.Best = o.Configurations[0].Name
	kept := !slices.ContainsFunc(constraints, func(k stats.ConstraintResult) bool { return k.State != stats.Kept })
	if kept && (a.Verdict == stats.Superior || a.Verdict == stats.Better) {
		o.Best, o.Effect = o.Configurations[candidate].Name, effectOf(math.Log(a.Ratio))
	}
}

// Conclude returns the outcome of an ended sweep of the design Blocks. The argument named pools maps existing pools to the names of
// their CephBlockPools. A pool without an entry has a CephBlockPool of the same name.
func Conclude(spec *Spec, planner *sweep.Planner, ledger []Entry, c *sweep.Conclusion, pools map[v1alpha1.PoolName]string) (Outcome, error) {
	out := Outcome{
		Verdict:        v1alpha1.VerdictInvalid,
		Scope:          blocksScope(spec, c),
		Configurations: table(planner, c.Standing),
	}
	noise, err := noiseOf(planner, c)
	if err != nil {
		return Outcome{}, err
	}
	out.Noise = noise
	for i, row := range c.Rows {
		if row.Configuration != c.Best {
			continue
		}
		out.Verdict = v1alpha1.SweepVerdict(row.Assessment.Verdict)
		out.lead(i+1, row.Assessment, row.Constraints)
		if row.Assessment.Verdict != stats.Inferior {
			out.Constraints = constraintResults(spec, row.Constraints)
		}
	}
	saturated, sentence := saturationOf(spec, ledger), c.Sentence
	out.saturate(saturated)
	out.figures(spec, trialsOf(ledger), c.Best)
	if c.Best > 0 && saturated != nil {
		if out.Configurations[c.Best].Reason == string(stats.Saturated) {
			out.Verdict = out.Configurations[c.Best].Verdict
		}
		sentence = cmp.Or(saturated.sentence(c.Best, out.Configurations[c.Best]), sentence)
	}
	line := recommendation{spec: spec, configurations: planner.Configurations(), rows: out.Configurations, leader: c.Best, winner: c.Winner, scope: out.Scope}
	err = out.advise(line, sentence, fmt.Sprintf(" Measured %s.", ScopeNote(spec, nil, out.Scope)), notesOf(ledger, out.Configurations), pools)
	return out, err
}

// advise writes the summary, and the patches of a winner. The summary consists of a line, the sentence and the notes;
// that of a winner also says what was measured, and what becomes of the settings.
func (o *Outcome) advise(line recommendation, sentence, measured, notes string, pools map[v1alpha1.PoolName]string) (err error) {
	notes += closedLoopOf(line.spec)
	if line.winner > 0 {
		notes = measured + notKept(line.spec, o.Scope) + notes + withoutPatch(line.spec)
		if HasPatch(line.spec, o.Scope) {
			o.Patches, err = Patches(line.spec, line.configurations[line.winner].Values, pools, ScopeNote(line.spec, line.plan, o.Scope))
		}
	}
	o.Summary = summaryOf(line, sentence, notes)
	return err
}

// notesOf returns the notes on the marks of the runs that count.
func notesOf(ledger []Entry, rows []v1alpha1.ConfigurationResult) string {
	var m marked
	for _, e := range ledger {
		if e.Counts() {
			m.add(e.Mark, e.Configuration == 0)
		}
	}
	withheld := slices.ContainsFunc(rows, func(row v1alpha1.ConfigurationResult) bool { return row.Reason == string(stats.Starved) })
	return m.notes(withheld, "run")
}

// closedLoopOf returns closedLoopNoted if the objective or a constraint of a sweep is one of the percentiles that
// ClosedLoop lists, otherwise "".
func closedLoopOf(spec *Spec) string {
	if len(ClosedLoop(spec)) > 0 {
		return closedLoopNoted
	}
	return ""
}

// closedLoopNoted is appended to the summary of a sweep that compares a percentile without an offered rate.
const closedLoopNoted = " (ClosedLoop: without an offered rate, a percentile hides stalls.)"

// withoutPatch returns notes on the varied properties of a scratch pool or claim that have no patch; "" if
// there are no such properties. Parameters of the load have no patch either, but need no note.
func withoutPatch(spec *Spec) string {
	var text strings.Builder
	for _, p := range spec.Parameters {
		if note := kindOf(p).traits().noPatch; note != "" {
			text.WriteString(" " + note)
		}
	}
	return text.String()
}

// table returns one row for each configuration, the baseline first.
func table(planner *sweep.Planner, standing sweep.Standing) []v1alpha1.ConfigurationResult {
	configurations := planner.Configurations()
	out := []v1alpha1.ConfigurationResult{rowOf(0, configurations, standing.BaselineRuns)}
	for _, row := range standing.Rows {
		a := row.Assessment
		result := rowOf(row.Configuration, configurations, a.Runs)
		result.Verdict, result.Reason = v1alpha1.SweepVerdict(a.Verdict), ellipsis.Cut(reasonOf(row), maxReason)
		if a.Runs > 0 {
			result.Ratio = figure.Decimal(a.Ratio)
			result.Low, result.High = interval(a.Interval)
		}
		out = append(out, result)
	}
	return out
}

// rowOf returns a row of the table without a result.
func rowOf(c int, configurations []sweep.Configuration, runs int) v1alpha1.ConfigurationResult {
	return v1alpha1.ConfigurationResult{Index: int32(c), Name: NameOf(c, configurations[c]), Runs: int32(min(runs, sweep.MaxLedger))} //nolint:gosec // At most 64, and MaxLedger.
}

// interval returns the ends of an interval. It returns "" for both if the interval reaches to infinity,
// because the noise is unknown, or if both ends are at most 0.
func interval(b stats.Bounds) (low, high v1alpha1.Decimal) {
	if math.IsInf(b.High, 1) || b.Low <= 0 && b.High <= 0 {
		return "", ""
	}
	return figure.Decimal(b.Low), figure.Decimal(b.High)
}

// reasonOf returns one word, usually the verdict's first reason. If the configuration left the race because
// it broke a constraint, or was beaten while its verdict was Inconclusive or Invalid, the word says how it
// left the race. If the verdict has no reasons, the word also says how the configuration left; "" if it has
// not left.
func reasonOf(row sweep.Row) string {
	a := row.Assessment
	open := a.Verdict == stats.Inconclusive || a.Verdict == stats.Invalid
	if row.Left == sweep.ConstraintBroken || row.Left == sweep.CandidateBeaten && open || len(a.Reasons) == 0 {
		return string(row.Left)
	}
	return string(a.Reasons[0].Code)
}

func noiseOf(planner *sweep.Planner, c *sweep.Conclusion) (*v1alpha1.Noise, error) {
	if c.Noise.DF == 0 {
		return nil, nil //nolint:nilnil // The noise is unknown.
	}
	smallest, err := planner.SmallestProvableRatio(c.Noise, c.ConfirmationBlocks)
	if err != nil {
		return nil, err
	}
	return &v1alpha1.Noise{
		Floor: percentOf(c.Noise.CV()), Drift: effectOf(c.Controls.Drift), SmallestEffect: percentOf(math.Abs(smallest - 1)),
	}, nil
}

// effectOf formats a difference of logarithms as a signed percentage.
func effectOf(logRatio float64) v1alpha1.Effect {
	const most = 999_999 // per cent; the field has no room for more digits
	return v1alpha1.Effect(fmt.Sprintf("%+.1f%%", min(100*math.Expm1(logRatio), most)))
}

func constraintResults(spec *Spec, results []stats.ConstraintResult) []v1alpha1.ConstraintResult {
	var all []v1alpha1.ConstraintResult
	for i, r := range results {
		result := v1alpha1.ConstraintResult{
			MetricReference: spec.Constraints[i].MetricReference, Outcome: v1alpha1.ConstraintOutcome(r.State),
		}
		result.Low, result.High = interval(r.Interval)
		all = append(all, result)
	}
	return all
}

// ProgressOf returns the progress of a sweep without its estimated end.
func ProgressOf(d sweep.Decision) v1alpha1.Progress {
	done, total := d.Progress.Runs, d.Progress.Runs+d.Progress.RunsLeft
	summary := fmt.Sprintf("%d/%d runs", done, total)
	if d.Progress.Stage == sweep.Confirmation && d.Action == sweep.RunTrial {
		summary += ", confirming"
	}
	return v1alpha1.Progress{
		Summary: summary, CompletedRuns: int32(min(done, sweep.MaxLedger)), //nolint:gosec // Bounded.
		TotalRuns: int32(min(total, math.MaxInt32)), //nolint:gosec // Bounded.
	}
}
