package sweep

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/cephtune/cephtune/internal/stats"
)

// judgement is the result of one stage for one candidate.
type judgement struct {
	assessment  stats.Assessment
	constraints []stats.ConstraintResult
}

func (j judgement) breaksConstraint() bool {
	for _, k := range j.constraints {
		if k.State == stats.Broken {
			return true
		}
	}
	return false
}

func (j judgement) keepsConstraints() bool {
	for _, k := range j.constraints {
		if k.State != stats.Kept {
			return false
		}
	}
	return true
}

// judge assesses candidates on the blocks of one stage. The faults are reasons why a candidate's runs do not
// count. Too few runs need no entry in faults, because stats.Judge counts the runs itself. A gain has to be
// shown by the blocks without starved runs, too.
func (r *replay) judge(stage Stage, candidates []int, faults map[int][]stats.Reason) (map[int]judgement, error) {
	criteria := r.raceCriteria()
	if stage == Confirmation {
		criteria = r.confirmationCriteria(r.confirm)
	}
	assessments, err := r.assess(criteria, r.blocks, stage, candidates, faults)
	if err != nil {
		return nil, err
	}
	fed := slices.DeleteFunc(slices.Clone(r.blocks), func(b block) bool { return b.starved })
	if len(fed) < len(r.blocks) {
		without, err := r.assess(criteria, fed, stage, candidates, faults)
		if err != nil {
			return nil, err
		}
		for i := range assessments {
			assessments[i] = assessments[i].Withheld(without[i])
		}
	}
	out := make(map[int]judgement, len(candidates))
	for i, c := range candidates {
		j := judgement{assessment: assessments[i]}
		for metric, constraint := range r.settings.Constraints {
			compare := contrast
			if constraint.Absolute() {
				compare = level
			}
			k, err := compare(r.blocks, stage, c, metric+1)
			if err != nil {
				return nil, err
			}
			result, err := constraint.Check(k, 1-assessments[i].Level)
			if err != nil {
				return nil, err
			}
			j.constraints = append(j.constraints, result)
		}
		out[c] = j
	}
	return out, nil
}

// assess returns the verdicts of one stage from some blocks, without regard to constraints.
func (r *replay) assess(criteria stats.Criteria, blocks []block, stage Stage, candidates []int, faults map[int][]stats.Reason) ([]stats.Assessment, error) {
	comparisons := make([]stats.Comparison, len(candidates))
	for i, c := range candidates {
		k, err := contrast(blocks, stage, c, 0)
		if err != nil {
			return nil, err
		}
		comparisons[i] = stats.Comparison{
			Name: r.configurations[c].Name, Contrast: k, Faults: faults[c], Beaten: r.left[c].reason == CandidateBeaten,
		}
	}
	return stats.Judge(criteria, comparisons)
}

// gain returns a candidate's mean gain in the race on the log scale, with its noise. A positive
// gain is an improvement.
func (p *Planner) gain(blocks []block, candidate int) (stats.Contrast, error) {
	k, err := contrast(blocks, Race, candidate, 0)
	return p.settings.criteria(stats.Looks{}).Gain(k), err
}

// leader returns the live candidate with the largest gain, and that gain. It ignores candidates with fewer
// than firstCut runs, and returns 0 if no candidate is left.
func (p *Planner) leader(blocks []block, live []int) (best int, gain stats.Contrast, err error) {
	for _, c := range live {
		k, err := p.gain(blocks, c)
		if err != nil {
			return 0, stats.Contrast{}, err
		}
		if k.Runs >= firstCut && (best == 0 || k.LogRatio > gain.LogRatio) {
			best, gain = c, k
		}
	}
	return best, gain, nil
}

// defeat is a candidate's lag behind the leader, with the interval of the candidate's ratio to the baseline.
// The interval uses the noise of all live candidates together, because one candidate's few blocks would give
// a very wide interval.
type defeat struct {
	lag      float64 // in logs, below 0
	interval func(confidence float64) stats.Bounds
}

// beaten lists the live candidates that lag behind the leader by more than noise explains. It compares
// candidates in blocks that contain all of them, and pools their noise with the baseline's. With few blocks,
// pooled noise is steadier, and it suffices to drop candidates. Verdicts never use pooled noise.
func (p *Planner) beaten(blocks []block, live []int) map[int]defeat {
	table := p.completeBlocks(blocks, live)
	judged, n := len(table), len(live)
	if judged < 2 || n < 2 {
		return nil
	}
	means, sd := additiveFit(table)
	best := slices.Max(means[:n])
	df := float64((judged - 1) * n)
	t := -distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(1 - p.settings.Confidence)
	limit := t * sd * math.Sqrt(2/float64(judged))
	defeats := map[int]defeat{}
	for i, c := range live {
		if lag := means[i] - best; -lag > limit && lag < -1e-12 {
			gain := stats.Contrast{LogRatio: means[i], StdErr: sd * math.Sqrt(2/float64(judged)), DF: df, Runs: judged, Paired: true}
			defeats[c] = defeat{lag: lag, interval: p.settings.criteria(stats.Looks{}).Gain(gain).RatioInterval}
		}
	}
	return defeats
}

// completeBlocks returns one row for each race block that contains all live candidates. A row has the
// candidates' gains, and then 0 for the baseline.
func (p *Planner) completeBlocks(blocks []block, live []int) [][]float64 {
	sign := p.settings.criteria(stats.Looks{}).Gain(stats.Contrast{LogRatio: 1}).LogRatio
	var table [][]float64
	for _, b := range blocks {
		row := make([]float64, 0, len(live)+1)
		for _, c := range live {
			if ratios, ok := b.logRatios[c]; ok {
				row = append(row, sign*ratios[0])
			}
		}
		if b.stage == Race && len(row) == len(live) {
			table = append(table, append(row, 0))
		}
	}
	return table
}

// additiveFit fits the model row effect + column effect. It returns the mean of each column, and the residual
// standard deviation, which has (rows−1)·(columns−1) degrees of freedom.
func additiveFit(table [][]float64) (columns []float64, sd float64) {
	blocks, n := float64(len(table)), float64(len(table[0]))
	columns, rows, grand := make([]float64, len(table[0])), make([]float64, len(table)), 0.0
	for r, row := range table {
		for c, x := range row {
			columns[c] += x / blocks
			rows[r] += x / n
			grand += x / (blocks * n)
		}
	}
	squares := 0.0
	for r, row := range table {
		for c, x := range row {
			e := x - rows[r] - columns[c] + grand
			squares += e * e
		}
	}
	return columns, math.Sqrt(squares / ((blocks - 1) * (n - 1)))
}
