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
	// Stage holds the blocks that the assessment rests on.
	Stage Stage
	// Left says how it left the race: CandidateDecided, CandidateBeaten,
	// CandidateWithdrawn, ConstraintBroken, or nothing if it stayed to the end.
	Left EventCode
	// PerBlock is what another block takes: of the configurations that still race, or of this
	// one alone.
	PerBlock stats.Effort
	// Lag of a beaten candidate behind the race's leader, in logs, below 0.
	Lag float64
}

// Sentence is the row in one line of plain English. A candidate that was beaten
// was not followed further, which says more than that it is undecided.
func (r Row) Sentence() string {
	a := r.Assessment
	if r.Left == CandidateBeaten && (a.Verdict == stats.Inconclusive || a.Verdict == stats.Invalid) {
		return fmt.Sprintf("%s was beaten in the race, %s against its leader, and not followed further: ratio %.3f to the baseline after %d blocks.",
			a.Name, percent(r.Lag), a.Ratio, a.Runs)
	}
	if r.Left == ConstraintBroken {
		return fmt.Sprintf("%s cannot win, since %s: ratio %.3f to the baseline after %d blocks.", a.Name, notKept(r.Constraints), a.Ratio, a.Runs)
	}
	return a.SentenceFor(r.PerBlock)
}

// ControlHistory is what the controls say about the cluster over the sweep.
type ControlHistory struct {
	Drift          float64 // ln(baseline in the last block ÷ in the first)
	RejectedBlocks int
}

// Standing is the table of configurations.
type Standing struct {
	Rows []Row // one for each candidate, in the order of configurations
	// Best is the candidate that the sweep is about: the winner, or else the one that
	// comes nearest to it; 0 if none has a valid run.
	Best int
	// BaselineRuns is the number of the baseline's runs in the blocks that count.
	BaselineRuns int
}

// Conclusion is the result of a sweep. Its sentence is about the best.
type Conclusion struct {
	Standing
	Stop StopCode
	// Unfinished says that the last block was begun and not completed, so that its runs do not
	// count.
	Unfinished bool
	// ConfirmationBlocks is how many fresh blocks the confirmation was to have at most; 0
	// where there was none.
	ConfirmationBlocks int
	// Winner is the configuration that is Superior with every constraint Kept,
	// by its confirmation if it has one; 0 without a winner.
	Winner    int
	Noise     stats.Noise
	Controls  ControlHistory
	WeakOrder bool // values were visited in turn, not at random
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
		Noise: noise, Controls: r.controlHistory(), WeakOrder: r.inTurn,
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

// rows judges every candidate: one that left the race as it was when it left,
// the winner by its confirmation, the rest by the whole race.
func (r *replay) rows() ([]Row, error) {
	race, err := r.finalRace()
	if err != nil {
		return nil, err
	}
	var rows []Row
	for c := 1; c < len(r.configurations); c++ {
		row := Row{Configuration: c, Stage: Race, Left: r.left[c].why, Lag: r.left[c].lag}
		j := race[c]
		if d, ok := r.left[c]; ok && d.why != CandidateWithdrawn {
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

// perBlock is what another block takes to decide about a candidate. One that is out of the race
// would be measured alone, and so would one that is to be confirmed.
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

// confirmation judges the winner by its fresh blocks alone. They carry a
// verdict if there are enough of them, or if what went wrong in them is one; a
// confirmation that the budget cut short before that says nothing, and what the
// race showed then stands, unconfirmed.
func (r *replay) confirmation() (j judgement, rests bool, err error) {
	faults := append(r.rejection(), r.left[r.winner].faults...)
	if countBlocks(r.blocks, Confirmation) < stats.MinRuns && len(faults) == 0 {
		return judgement{}, false, nil
	}
	js, err := r.judge(Confirmation, []int{r.winner}, map[int][]stats.Reason{r.winner: faults})
	return js[r.winner], true, err
}

// rejection is the fault of a stage that ended with too many rejected blocks.
func (r *replay) rejection() []stats.Reason {
	switch {
	case r.stop != TooManyRejectedBlocks:
		return nil
	case r.drifted > 0:
		return []stats.Reason{{Code: stats.Drifted, Value: r.lastDrift.LogRatio, Limit: r.lastDrift.Limit, Count: r.drifted}}
	}
	return []stats.Reason{{Code: stats.NoControls, Count: r.rejected}}
}

// bestRow is the row that the sweep is about: the winner of the race, or else
// the best candidate that is Superior with its constraints kept, or else the best with any runs
// that breaks no constraint, or else the best; nil without any.
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
		parts = append(parts, "No candidate has runs enough for a verdict: "+c.Stop.clause()+".")
	case best.Assessment.Verdict == stats.Superior:
		parts = append(parts, best.Sentence(), "It is no winner: "+notKept(best.Constraints)+".")
	default:
		parts = append(parts, fmt.Sprintf("No candidate is shown to be better than the baseline by more than %.3g%%: %s.", 100*minimumEffect, c.Stop.clause()),
			best.Sentence())
	}
	if c.WeakOrder {
		parts = append(parts, "Values were visited up and down in turn, which is weaker than a random order.")
	}
	return strings.Join(parts, " ")
}

func notKept(ks []stats.ConstraintResult) string {
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
