package sweep

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/cephtune/cephtune/internal/stats"
)

// Row is the conclusion about one candidate.
type Row struct {
	Configuration int
	Assessment    stats.Assessment
	Constraints   []stats.ConstraintResult
	// Stage is the stage whose blocks the assessment uses.
	Stage Stage
	// Left says how the candidate left the race: CandidateDecided, CandidateBeaten, CandidateWithdrawn or
	// ConstraintBroken. It is empty if the candidate stayed to the end of the sweep.
	Left EventCode
	// PerBlock is the cost of another block with this candidate. The other candidates of the race are in that
	// block only if this candidate is still in the race, and the race has no winner.
	PerBlock stats.Effort
	// Lag is ln(ratio) of a beaten candidate minus ln(ratio) of the race's leader, both against the baseline. Its
	// sign is turned if lower values are better, so it is below 0.
	Lag float64
}

// Sentence states the row in one line of plain English. A beaten candidate is "beaten" instead of
// "undecided", because it was not measured to the end. A candidate that left the race because
// it broke a constraint "cannot win", whatever its verdict.
func (r Row) Sentence() string {
	a := r.Assessment
	if r.Left == CandidateBeaten && (a.Verdict == stats.Inconclusive || a.Verdict == stats.Invalid) {
		return fmt.Sprintf("%s was beaten in the race, %s against its leader, and not measured further: ratio %.3f to the baseline after %d blocks.",
			a.Name, percent(r.Lag), a.Ratio, a.Runs)
	}
	if r.Left == ConstraintBroken {
		return fmt.Sprintf("%s cannot win, since %s: ratio %.3f to the baseline after %d blocks.", a.Name, NotKept(r.Constraints), a.Ratio, a.Runs)
	}
	return a.SentenceFor(r.PerBlock)
}

// ControlHistory describes the drift of the cluster during the sweep, as the baseline's runs show it.
type ControlHistory struct {
	Drift          float64 // ln(baseline in the last accepted block ÷ baseline in the first)
	RejectedBlocks int     // number of attempts at blocks that were rejected for drift, or because a run of the baseline is missing
}

// Standing is the table of configurations with their results.
type Standing struct {
	Rows []Row // one for each candidate, in the order of configurations
	// Best is the winner of the race, even if the confirmation does not confirm it. If the race has no
	// winner, Best is the candidate closest to winning; 0 if all candidates are Invalid.
	Best int
	// BaselineRuns is the number of the baseline's runs in accepted blocks.
	BaselineRuns int
}

// Conclusion is the result of a sweep. Its sentence describes the best candidate.
type Conclusion struct {
	Standing
	Stop StopCode
	// Unfinished reports that the last block was not accepted. The runs of that block do not count.
	Unfinished bool
	// ConfirmationBlocks is the maximum number of fresh confirmation blocks; 0 without a
	// confirmation.
	ConfirmationBlocks int
	// Winner is the configuration that is Superior and keeps every constraint; 0 without such a
	// configuration. If the sweep had a confirmation, only the blocks of the confirmation count.
	Winner    int
	Noise     stats.Noise
	Controls  ControlHistory
	WeakOrder bool // values were visited in ascending and descending order, not at random
	Runs      int
	Time      time.Duration
	Bytes     int64
	Sentence  string
}

func (r *replay) conclude() (*Conclusion, error) {
	noise, err := r.noise()
	if err != nil {
		return nil, err
	}
	standing, err := r.standing()
	if err != nil {
		return nil, err
	}
	out := &Conclusion{
		Standing: standing,
		Stop:     r.stop, Unfinished: r.accepted != r.block, ConfirmationBlocks: r.confirm,
		Noise: noise, Controls: r.controlHistory(), WeakOrder: r.ordered,
		Runs: r.spent.runs, Time: r.spent.time(), Bytes: r.spent.bytes(),
	}
	best := r.bestRow(out.Rows)
	if best != nil && best.Assessment.Verdict == stats.Superior && constraintsKept(best.Constraints) {
		out.Winner = best.Configuration
	}
	out.Sentence = out.sentence(best, r.settings.MinimumEffect)
	return out, nil
}

func (r *replay) standing() (Standing, error) {
	rows, err := r.rows()
	if err != nil {
		return Standing{}, err
	}
	out := Standing{Rows: rows}
	if best := r.bestRow(rows); best != nil {
		out.Best = best.Configuration
	}
	for _, b := range r.blocks {
		out.BaselineRuns += len(b.baselines)
	}
	return out, nil
}

// rows judges every candidate. A candidate that left the race keeps the verdict from that moment, unless it
// was withdrawn. The winner of the race is judged by its confirmation if that yields a verdict. All other
// candidates are judged by the whole race. If several candidates raced, Superior requires a confirmation.
func (r *replay) rows() ([]Row, error) {
	race, err := r.finalRace()
	if err != nil {
		return nil, err
	}
	var rows []Row
	for c := 1; c < len(r.configurations); c++ {
		row := Row{Configuration: c, Stage: Race, Left: r.left[c].reason, Lag: r.left[c].lag}
		j := race[c]
		if d, ok := r.left[c]; ok && d.reason != CandidateWithdrawn {
			j = d.judgement
		}
		if !r.sole() {
			j.assessment = j.assessment.Unconfirmed()
		}
		if c == r.winner {
			if confirmed, rests, err := r.confirmation(); err != nil {
				return nil, err
			} else if rests {
				j, row.Stage = confirmed, Confirmation
			}
		}
		row.Assessment, row.Constraints, row.PerBlock = j.assessment, j.constraints, r.perBlock(row)
		rows = append(rows, row)
	}
	return rows, nil
}

// perBlock returns the cost of another block that includes the candidate. Such a block has no other candidate
// if the candidate has left the race, or if the race has a winner.
func (r *replay) perBlock(row Row) stats.Effort {
	racing := 1
	if row.Left == "" && row.Stage == Race && r.winner == 0 {
		racing = max(1, len(r.live))
	}
	runs := r.runsPerBlock(racing)
	return stats.Effort{Runs: runs, Time: time.Duration(runs) * r.spent.perRun(r.settings.Expected).Time}
}

func (r *replay) finalRace() (map[int]judgement, error) {
	var all []int
	faults := map[int][]stats.Reason{}
	for c := 1; c < len(r.configurations); c++ {
		all = append(all, c)
		if c != r.winner {
			faults[c] = r.left[c].faults
		}
		if _, left := r.left[c]; !left && r.stage == Race {
			faults[c] = append(faults[c], r.rejection()...)
		}
	}
	return r.judge(Race, all, faults)
}

// confirmation judges the winner by its fresh blocks alone. At least stats.MinRuns of these blocks must
// count, unless faults make the winner Invalid anyway. If they are fewer, for example because the budget
// ended the confirmation, confirmation returns false. Then the result of the race stands, unconfirmed.
func (r *replay) confirmation() (j judgement, rests bool, err error) {
	faults := append(r.rejection(), r.left[r.winner].faults...)
	if countBlocks(r.blocks, Confirmation) < stats.MinRuns && len(faults) == 0 {
		return judgement{}, false, nil
	}
	js, err := r.judge(Confirmation, []int{r.winner}, map[int][]stats.Reason{r.winner: faults})
	return js[r.winner], true, err
}

// rejection returns the fault of a stage that ended because too many blocks were rejected.
func (r *replay) rejection() []stats.Reason {
	switch {
	case r.stop != TooManyRejectedBlocks:
		return nil
	case r.drifted > 0:
		return []stats.Reason{{Code: stats.Drifted, Value: r.lastDrift.LogRatio, Limit: r.lastDrift.Limit, Count: r.drifted}}
	}
	return []stats.Reason{{Code: stats.NoControls, Count: r.rejected}}
}

// bestRow returns the row that the conclusion describes. That is the first of: the winner of the race, the
// best Superior candidate that keeps its constraints, the best candidate that breaks no constraint, the best
// candidate. It skips Invalid candidates except the winner of the race. If no candidate is left, it returns
// nil.
func (r *replay) bestRow(rows []Row) *Row {
	criteria := r.settings.criteria(stats.Looks{})
	rank := func(row Row) float64 {
		if row.Assessment.Ratio == 0 {
			return math.Inf(-1)
		}
		gain := criteria.Gain(stats.Contrast{LogRatio: math.Log(row.Assessment.Ratio)}).LogRatio
		switch j := (judgement{constraints: row.Constraints}); {
		case row.Assessment.Verdict == stats.Superior && j.keepsConstraints():
			gain += 1e6
		case j.breaksConstraint():
			gain -= 1e6
		}
		return gain
	}
	var best *Row
	for i := range rows {
		switch {
		case rows[i].Configuration == r.winner:
			return &rows[i]
		case rows[i].Assessment.Verdict == stats.Invalid:
		case best == nil || rank(rows[i]) > rank(*best):
			best = &rows[i]
		}
	}
	return best
}

func (r *replay) controlHistory() ControlHistory {
	out := ControlHistory{RejectedBlocks: r.rejected}
	var levels []float64
	for _, b := range r.blocks {
		levels = append(levels, math.Log(stats.GeometricMean(b.baselines)))
	}
	if len(levels) > 0 {
		out.Drift = levels[len(levels)-1] - levels[0]
	}
	return out
}

func constraintsKept(ks []stats.ConstraintResult) bool {
	return judgement{constraints: ks}.keepsConstraints()
}

func (c *Conclusion) sentence(best *Row, minimumEffect float64) string {
	var parts []string
	switch {
	case c.Winner != 0:
		parts = append(parts, best.Sentence())
		if best.Stage == Confirmation {
			parts = append(parts, "Confirmed in fresh blocks.")
		}
	case best == nil:
		parts = append(parts, "No candidate has a verdict: "+c.Stop.clause()+".")
	case best.Assessment.Verdict == stats.Superior:
		parts = append(parts, best.Sentence(), "It does not win: "+NotKept(best.Constraints)+".")
	default:
		parts = append(parts, fmt.Sprintf("No candidate is shown to be better than the baseline by more than %.3g%%: %s.", 100*minimumEffect, c.Stop.clause()),
			leads(best))
	}
	if c.WeakOrder {
		parts = append(parts, "Values were measured in ascending and descending order, which is weaker than a random order.")
	}
	return strings.Join(parts, " ")
}

// leads returns the sentence on the best candidate. If it is Inconclusive, the sentence calls it the leader, unless
// it was beaten by one that then turned out Invalid.
func leads(best *Row) string {
	if best.Assessment.Verdict == stats.Inconclusive && best.Left != CandidateBeaten {
		return "Leader, not proven: " + best.Sentence()
	}
	return best.Sentence()
}

// NotKept names the constraints whose state is Broken or Unknown.
func NotKept(ks []stats.ConstraintResult) string {
	var clauses []string
	for _, k := range ks {
		switch k.State {
		case stats.Broken:
			clauses = append(clauses, k.Name+" is broken")
		case stats.Unknown:
			clauses = append(clauses, k.Name+" is not known to be kept")
		case stats.Kept:
		}
	}
	return strings.Join(clauses, ", ")
}
