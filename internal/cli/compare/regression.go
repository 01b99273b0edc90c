package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/words"
	"github.com/cephtune/cephtune/internal/figure"
)

// regression is the parsed form of --max-regression.
type regression struct {
	share   string // as it was typed, such as 10%
	limit   float64
	metrics []v1alpha1.Metric
}

// Judgement is the outcome of comparing the interval of a figure with the largest allowed
// regression.
type Judgement struct {
	Phase     v1alpha1.PhaseName         `json:"phase"`
	Direction v1alpha1.Direction         `json:"direction"`
	Metric    v1alpha1.Metric            `json:"metric"`
	Outcome   v1alpha1.ConstraintOutcome `json:"outcome"`
}

// parseRegression reads the flags. It returns nil if they are not set.
func parseRegression(share string, names []string) (*regression, error) {
	if share == "" {
		if len(names) > 0 {
			return nil, exit.UsageErrorf("--metric needs --max-regression")
		}
		return nil, nil //nolint:nilnil // The docstring documents nil.
	}
	number, percent := strings.CutSuffix(share, "%")
	limit, err := strconv.ParseFloat(number, 64)
	if err != nil || !percent || math.IsNaN(limit) || limit <= 0 || limit >= 100 {
		return nil, exit.UsageErrorf("--max-regression %q: want a share between 0%% and 100%%, such as 10%%", share)
	}
	r := &regression{share: share, limit: limit / 100, metrics: []v1alpha1.Metric{v1alpha1.MetricBandwidth, v1alpha1.MetricLatencyP99}}
	for i, name := range names {
		metric, known := words.Metric(name)
		if !known || metric == v1alpha1.MetricLatencyMax {
			return nil, exit.UsageErrorf("--metric %q: want some of bandwidth, iops, mean, p50, p95, p99, p999", name)
		}
		if i == 0 {
			r.metrics = nil
		}
		r.metrics = append(r.metrics, metric)
	}
	return r, nil
}

// judge compares the interval of a figure with the limit. Without an interval the outcome is
// unknown.
func (r *regression) judge(f Ratio) (v1alpha1.ConstraintOutcome, error) {
	found, err := figure.Worse(f.Metric, r.limit).Check(f.contrast, figure.Confidence)
	if err != nil {
		return "", fmt.Errorf("judge %s %s: %w", f.Phase, f.Metric, err)
	}
	return v1alpha1.ConstraintOutcome(found.State), nil
}

// judgeRegressions judges all requested figures.
func (c *comparison) judgeRegressions(r *regression, reference side) error {
	if r == nil {
		return nil
	}
	c.limit, c.Regressions = r.share, []Judgement{}
	for _, f := range c.Figures {
		if !slices.Contains(r.metrics, f.Metric) {
			continue
		}
		outcome, err := r.judge(f)
		if err != nil {
			return err
		}
		c.Regressions = append(c.Regressions, Judgement{f.Phase, f.Direction, f.Metric, outcome})
	}
	if days := figure.Days(startsOf(reference.runs)); days < figure.ReferenceDays {
		c.Notes = append(c.Notes, fmt.Sprintf("The runs of %s cover %d day(s), so the verdict holds for this hour only. A reference needs %d days or more.",
			reference.name, days, figure.ReferenceDays))
	}
	return nil
}

func startsOf(runs []*archive.Run) []time.Time {
	starts := make([]time.Time, len(runs))
	for i, run := range runs {
		starts[i] = run.StartTime
	}
	return starts
}

// regressionLines returns a line with the outcome for each figure.
func (c *comparison) regressionLines() []string {
	lines := make([]string, 0, len(c.Regressions))
	for _, j := range c.Regressions {
		lines = append(lines, fmt.Sprintf("%s: %s %s %s is at most %s worse in B", j.Outcome, j.Phase, j.Direction, j.Metric, c.limit))
	}
	return lines
}

// regressed returns an error that sets the exit code for a pipeline.
func (c *comparison) regressed() error {
	if c.Regressions == nil {
		return nil
	}
	if len(c.Regressions) == 0 {
		return exit.UnexpectedErrorf("--max-regression has no figure to check: name one that both sides have with --metric")
	}
	var broken, open []string
	for _, j := range c.Regressions {
		name := fmt.Sprintf("%s %s", j.Phase, j.Metric)
		switch j.Outcome {
		case v1alpha1.ConstraintKept:
		case v1alpha1.ConstraintBroken:
			broken = append(broken, name)
		default:
			open = append(open, name)
		}
	}
	switch {
	case len(broken) > 0:
		return exit.UnexpectedErrorf("worse by more than %s: %s", c.limit, strings.Join(broken, ", "))
	case len(open) > 0:
		return exit.UnexpectedErrorf("unknown whether it is worse by more than %s: %s; make more runs", c.limit, strings.Join(open, ", "))
	}
	return nil
}
