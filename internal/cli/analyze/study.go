package analyze

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/cli/difference"
	"github.com/cephtune/cephtune/internal/stats"
)

// configuration is the baseline or a candidate, with its runs.
type configuration struct {
	Name string
	Runs []run
}

// study holds the configurations to compare. Their runs come from files or from a table.
type study struct {
	source         string // "files" or "table"
	metric         string
	unit           unit
	higherIsBetter bool
	paired         bool // compare within blocks
	baseline       configuration
	candidates     []configuration
	warnings       []string

	// columnDifferences has the columns of a table in which a candidate differs from the baseline, by candidate.
	columnDifferences map[string][]string

	differences []difference.Difference
	missing     []string                  // the expected differences that no candidate has
	faults      map[string][]stats.Reason // by candidate, if its load or its figure decides nothing
	waits       []waitEntry
}

// warn adds a warning once, even if a file is on both sides.
func (s *study) warn(format string, args ...any) {
	warning := fmt.Sprintf(format, args...)
	if !slices.Contains(s.warnings, warning) {
		s.warnings = append(s.warnings, warning)
	}
}

func (s *study) all() []configuration {
	return append([]configuration{s.baseline}, s.candidates...)
}

func (c configuration) steadyRuns() []run {
	var out []run
	for _, r := range c.Runs {
		if r.Steady {
			out = append(out, r)
		}
	}
	return out
}

// evidence returns the configuration with its steady runs only. If no run is steady, it keeps all runs:
// their figures are shown, and the verdict is Invalid.
func (c configuration) evidence() configuration {
	if steady := c.steadyRuns(); len(steady) > 0 {
		c.Runs = steady
	}
	return c
}

func (c configuration) values() []float64 {
	values := make([]float64, len(c.Runs))
	for i, r := range c.Runs {
		values[i] = r.Value
	}
	return values
}

func (s *study) judge(criteria stats.Criteria) ([]stats.Assessment, error) {
	comparisons := make([]stats.Comparison, len(s.candidates))
	for i, c := range s.candidates {
		comparison, err := s.compare(c)
		if err != nil {
			return nil, fmt.Errorf("compare %s with %s: %w", c.Name, s.baseline.Name, err)
		}
		comparisons[i] = comparison
	}
	return stats.Judge(criteria, comparisons)
}

// compare leaves out runs that are not steady, unless one side has no steady run: then it compares all runs.
// If it left out runs and too few remain, or if it compares all, the figures are still shown, but a fault
// makes the candidate Invalid.
func (s *study) compare(candidate configuration) (stats.Comparison, error) {
	out := stats.Comparison{Name: candidate.Name, Faults: slices.Clone(s.faults[candidate.Name])}
	base, cand := s.baseline.steadyRuns(), candidate.steadyRuns()
	unsteady := len(s.baseline.Runs) + len(candidate.Runs) - len(base) - len(cand)
	if unsteady > 0 && min(len(base), len(cand)) < stats.MinRuns {
		out.Faults = append(out.Faults, stats.Reason{Code: stats.NotSteady, Count: unsteady})
		if len(base) == 0 || len(cand) == 0 {
			base, cand = s.baseline.Runs, candidate.Runs
		}
	}
	contrast, err := s.contrast(base, cand)
	if errors.Is(err, stats.ErrTooFew) {
		return out, nil // Without runs to compare, the contrast is zero, and the verdict Invalid.
	}
	out.Contrast = contrast
	return out, err
}

func (s *study) contrast(base, cand []run) (stats.Contrast, error) {
	if !s.paired {
		return stats.WelchLogRatio(configuration{Runs: base}.values(), configuration{Runs: cand}.values())
	}
	pairs, _, err := stats.MakePairs(observations(base), observations(cand))
	if err != nil {
		return stats.Contrast{}, err
	}
	return stats.PairedLogRatio(pairs)
}

func observations(runs []run) []stats.Observation {
	out := make([]stats.Observation, len(runs))
	for i, r := range runs {
		out[i] = stats.Observation{Block: r.Block, Value: r.Value}
	}
	return out
}

// warnAboutRuns adds warnings about runs that are not steady. In a paired study, it also warns of
// runs that are left out or combined because of their block.
func (s *study) warnAboutRuns() {
	for _, c := range s.all() {
		for _, r := range c.Runs {
			if !r.Steady {
				s.warn("%s stalled or never became steady, so it is left out; repeat it at twice the length", r.Source)
			}
		}
	}
	if !s.paired {
		return
	}
	base := blockCounts(s.baseline)
	for _, c := range s.candidates {
		s.warnAboutBlocks(c, base)
	}
}

func (s *study) warnAboutBlocks(c configuration, base map[string]int) {
	var alone []string
	repeated := 0
	counts := blockCounts(c)
	for _, block := range blocksOf(c) {
		if base[block] == 0 {
			alone = append(alone, block)
		} else if counts[block] > 1 || base[block] > 1 {
			repeated++
		}
	}
	switch {
	case len(alone) == len(counts):
		s.warn("%s shares no block with %s, so they cannot be compared", c.Name, s.baseline.Name)
	case len(alone) > 0:
		s.warn("%[1]s: runs left out, because %[3]s has no run in their block: %[2]s", c.Name, strings.Join(alone, ", "), s.baseline.Name)
	}
	if repeated > 0 {
		s.warn("%s: several runs of one configuration in a block count once, by their geometric mean (%d of %d blocks)",
			c.Name, repeated, len(counts)-len(alone))
	}
}

func blockCounts(c configuration) map[string]int {
	counts := map[string]int{}
	for _, r := range c.steadyRuns() {
		counts[r.Block]++
	}
	return counts
}

// blocksOf returns the blocks of steady runs, in the order of the runs.
func blocksOf(c configuration) (blocks []string) {
	for _, r := range c.steadyRuns() {
		if !slices.Contains(blocks, r.Block) {
			blocks = append(blocks, r.Block)
		}
	}
	return blocks
}
