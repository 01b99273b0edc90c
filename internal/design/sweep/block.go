package sweep

import (
	"math"
	"slices"

	"github.com/cephtune/cephtune/internal/stats"
)

// measurement is a valid run with its trial and its values.
type measurement struct {
	trial   Trial
	values  []float64 // objective, then constraints
	starved bool
}

// block has the results of a block, from the attempt that was accepted. Earlier attempts, if any, do not count,
// for example because the baseline drifted too much.
type block struct {
	stage     Stage
	baselines []float64 // objective of each run of the baseline, controls included, in run order
	// logRatios hold ln(candidate ÷ interpolated baseline) for each candidate that has a valid run: of the
	// objective, then of each constraint.
	logRatios map[int][]float64
	// logs hold ln(value) of each such candidate: of the objective, then of each constraint. They serve
	// constraints that limit the metric itself.
	logs map[int][]float64
	// starved reports that a run of the block was starved. Which configuration it has does not matter: a setting
	// that uses more CPU must not lose the blocks in which it does.
	starved bool
}

// makeBlock compares each candidate of an attempt with the baseline. It interpolates the baseline to the
// candidate's position.
func makeBlock(stage Stage, measured []measurement) (block, error) {
	out := block{stage: stage, logRatios: map[int][]float64{}, logs: map[int][]float64{}}
	metrics := len(measured[0].values)
	out.starved = slices.ContainsFunc(measured, func(m measurement) bool { return m.starved })
	for metric := range metrics {
		controls := controlsOf(measured, metric)
		if metric == 0 {
			for _, c := range controls {
				out.baselines = append(out.baselines, c.Value)
			}
		}
		for _, m := range measured {
			if m.trial.Role != Candidate {
				continue
			}
			base, err := stats.BaselineAt(controls, float64(m.trial.Position))
			if err != nil {
				return block{}, err
			}
			c := m.trial.Configuration
			out.logRatios[c] = append(out.logRatios[c], math.Log(m.values[metric])-base)
			out.logs[c] = append(out.logs[c], math.Log(m.values[metric]))
		}
	}
	return out, nil
}

// controlsOf returns one metric of all baseline runs, controls included, in run order.
func controlsOf(measured []measurement, metric int) []stats.Control {
	var out []stats.Control
	for _, m := range measured {
		if m.trial.Configuration == 0 {
			out = append(out, stats.Control{At: float64(m.trial.Position), Value: m.values[metric]})
		}
	}
	return out
}

// contrast returns a candidate's effect on one metric over the blocks of a stage. Without blocks that have
// the candidate, the contrast has no runs.
func contrast(blocks []block, stage Stage, candidate, metric int) (stats.Contrast, error) {
	return meanOver(blocks, stage, metric, func(b block) []float64 { return b.logRatios[candidate] })
}

// level returns the mean logarithm of a candidate's own metric over the blocks of a stage.
func level(blocks []block, stage Stage, candidate, metric int) (stats.Contrast, error) {
	return meanOver(blocks, stage, metric, func(b block) []float64 { return b.logs[candidate] })
}

func meanOver(blocks []block, stage Stage, metric int, get func(block) []float64) (stats.Contrast, error) {
	var logs []float64
	for _, b := range blocks {
		if values := get(b); values != nil && b.stage == stage {
			logs = append(logs, values[metric])
		}
	}
	if len(logs) == 0 {
		return stats.Contrast{}, nil
	}
	return stats.PairedDifferences(logs)
}

// noiseOf returns the variation of the objective between runs of the same configuration. It pools the spread
// of the baseline's runs within blocks with that of candidates. A candidate contributes half the variance of
// its log-ratios, because a log-ratio has the noise of two runs.
func noiseOf(blocks []block, candidates int) (stats.Noise, error) {
	values := make([][]float64, len(blocks))
	for i, b := range blocks {
		values[i] = b.baselines
	}
	noise, err := stats.NoiseFloor(values)
	if err != nil {
		return noise, err
	}
	df := float64(noise.DF)
	squares := noise.StdDev * noise.StdDev * df
	for _, stage := range []Stage{Race, Confirmation} {
		for c := 1; c <= candidates; c++ {
			k, err := contrast(blocks, stage, c, 0)
			if err != nil {
				return noise, err
			}
			squares += k.StdDev * k.StdDev / 2 * k.DF
			df += k.DF
		}
	}
	if df == 0 {
		return stats.Noise{}, nil
	}
	return stats.Noise{StdDev: math.Sqrt(squares / df), DF: int(df)}, nil
}

func countBlocks(blocks []block, stage Stage) (n int) {
	for _, b := range blocks {
		if b.stage == stage {
			n++
		}
	}
	return n
}
