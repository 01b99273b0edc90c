package sweepspec

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/stats"
)

// maxSeed is the largest integer up to which all JSON readers represent integers exactly.
const maxSeed = 1<<53 - 1

// Seed returns the seed of the spec. Without one, it returns the lowest 53 bits of the random number drawn, so
// that the seed is at most maxSeed.
func Seed(spec *Spec, drawn uint64) int64 {
	if spec.Strategy.Seed != nil {
		return *spec.Strategy.Seed
	}
	return int64(drawn & maxSeed)
}

// PlanOf returns the planner's plan of a sweep, from the spec and the choices that status.plan has fixed. The
// same arguments give the same plan, so another manager can continue the sweep.
//
// Errors wrap ErrSpec. PlanOf accepts a plan from another version of the planner; sweep.New refuses such a
// plan with sweep.ErrPlan.
func PlanOf(spec *Spec, fixed *v1alpha1.SweepPlan) (sweep.Plan, error) {
	if fixed == nil || fixed.Seed == nil || len(fixed.Baseline) != len(spec.Parameters) {
		return sweep.Plan{}, refuse("status.plan lacks the seed or the baseline of the run")
	}
	space, err := SpaceOf(spec, fixed.Baseline, uint64(*fixed.Seed)) //nolint:gosec // The schema requires at least 0.
	if err != nil {
		return sweep.Plan{}, err
	}
	values, err := settingsOf(spec, fixed)
	if err != nil {
		return sweep.Plan{}, err
	}
	return sweep.Plan{Version: int(fixed.PlannerVersion), Space: space, Settings: values}, nil
}

// PlannerOf returns the planner for the plan from [PlanOf].
func PlannerOf(spec *Spec, fixed *v1alpha1.SweepPlan) (*sweep.Planner, error) {
	plan, err := PlanOf(spec, fixed)
	if err != nil {
		return nil, err
	}
	return sweep.New(plan)
}

func settingsOf(spec *Spec, fixed *v1alpha1.SweepPlan) (sweep.Settings, error) {
	blocks := spec.Strategy.Blocks
	out := sweep.Settings{
		Direction: directionOf(spec.Objective.Metric),
		MinBlocks: int(blocks.Min), MaxBlocks: int(blocks.Max),
		Racing:             spec.Strategy.Racing == nil || *spec.Strategy.Racing,
		ControlInterval:    int(spec.Strategy.ControlInterval),
		ConfirmationBlocks: int(spec.Strategy.ConfirmationBlocks),
		Seed:               uint64(*fixed.Seed), //nolint:gosec // The schema requires at least 0.
		Budget:             budgetOf(spec, fixed),
		Expected:           expectedOf(fixed),
	}
	// Even in a steady cluster, the check for drift rejects up to 4 % of the blocks that it checks. So a few
	// rejected blocks must not end the sweep.
	out.MaxRejectedBlocks = max(3, (out.MaxBlocks+out.ConfirmationBlocks)/4)
	if limit := spec.Guardrails.MaxFailedRuns; limit != nil {
		out.MaxFailedRuns = int(*limit)
	}
	var err error
	if out.Confidence, err = Confidence(spec); err != nil {
		return out, err
	}
	if out.MinimumEffect, err = fraction(spec.Objective.MinimumEffect); err != nil {
		return out, err
	}
	if out.Equivalence, err = fraction(spec.Objective.Equivalence); err != nil {
		return out, err
	}
	for _, c := range spec.Constraints {
		constraint, err := constraintOf(c)
		if err != nil {
			return out, err
		}
		out.Constraints = append(out.Constraints, constraint)
	}
	return out, nil
}

func budgetOf(spec *Spec, fixed *v1alpha1.SweepPlan) sweep.Budget {
	budget := sweep.Budget{Bytes: spec.Budget.BytesWritten.Value()}
	if spec.Budget.Duration != nil {
		budget.Time = spec.Budget.Duration.Duration
	}
	budget.Reserve = restoreOf(fixed)
	return budget
}

func expectedOf(fixed *v1alpha1.SweepPlan) sweep.Cost {
	cost := sweep.Cost{Time: time.Minute}
	if fixed.RunDuration != nil {
		cost.Time = fixed.RunDuration.Duration
	}
	if fixed.RunBytesWritten != nil {
		cost.Bytes = fixed.RunBytesWritten.Value()
	}
	return cost
}

// directionOf returns the direction in which a metric improves.
func directionOf(m v1alpha1.Metric) stats.Direction {
	if m.LowerIsBetter() {
		return stats.LowerIsBetter
	}
	return stats.HigherIsBetter
}

// fraction converts a percentage to a fraction, for example 2.5% to 0.025.
func fraction(p v1alpha1.Percent) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(string(p), "%"), 64)
	if err != nil {
		return 0, refuse("%q is not a percentage such as 10%%", p)
	}
	return v / 100, nil
}

// Confidence returns spec.confidence as a fraction, such as 0.95.
func Confidence(spec *Spec) (float64, error) {
	v, err := strconv.ParseFloat(confidenceText(spec.Confidence), 64)
	if err != nil || !(v > 0 && v < 1) {
		return 0, refuse("confidence %q is not a percentage such as 95%%", spec.Confidence)
	}
	return v, nil
}

// confidenceText returns a confidence as a decimal fraction, such as 0.95 for 95%. Objects of an earlier version have
// the fraction itself.
func confidenceText(p v1alpha1.Percent) string {
	percent, found := strings.CutSuffix(string(p), "%")
	v, err := strconv.ParseFloat(percent, 64)
	if !found || err != nil {
		return string(p)
	}
	return strconv.FormatFloat(math.Round(v*100)/10000, 'f', -1, 64) // A percentage has at most two decimals.
}

// constraintOf converts a constraint, and names it after its phase and metric. If the constraint is only about
// reads or only about writes, the name says so. For the limit atMost, lower is better whatever the metric. For
// atLeast, higher is better.
func constraintOf(c v1alpha1.Constraint) (stats.Constraint, error) {
	out := stats.Constraint{Name: referenceName(c.MetricReference), Direction: directionOf(c.Metric)}
	var err error
	switch threshold := c.AtMost + c.AtLeast; { // At most one of them is set.
	case c.MaximumRegression != "":
		out.MaximumRegression, err = fraction(c.MaximumRegression)
		if err == nil && out.MaximumRegression >= 1 {
			err = refuse("the constraint on %s allows a regression of %s, but less than 100%% is required", out.Name, c.MaximumRegression)
		}
	default:
		out.Direction = stats.HigherIsBetter
		if c.AtMost != "" {
			out.Direction = stats.LowerIsBetter
		}
		if out.Limit, err = figure.ParseThreshold(c.Metric, threshold); err != nil {
			return out, refuse("the limit of %s: %v", out.Name, err)
		}
		if !(out.Limit > 0) {
			return out, refuse("the limit of %s, %s, must be above 0", out.Name, threshold)
		}
	}
	return out, err
}

// References lists the figures that a sweep compares, the objective's figure first.
func References(spec *Spec) []v1alpha1.MetricReference {
	all := []v1alpha1.MetricReference{spec.Objective.MetricReference}
	for _, c := range spec.Constraints {
		all = append(all, c.MetricReference)
	}
	return all
}

func referenceName(r v1alpha1.MetricReference) string {
	text := string(r.Phase) + " " + string(r.Metric)
	if r.Direction != "" && r.Direction != v1alpha1.DirectionTotal {
		text += " (" + string(r.Direction) + ")"
	}
	return text
}
