package exporter

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/metrics"
	"github.com/cephtune/cephtune/internal/signature/trial"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// SweepSamples returns the series of a sweep: at most metrics.MaxSweepSeries, plus
// metrics.MaxConfigurationSeries for each configuration. It leaves out values that status lacks. The argument
// child is the benchmark of the run in progress, or nil.
func SweepSamples(s *v1alpha1.CephTuningSweep, child *v1alpha1.CephBenchmark) []Sample {
	status := &s.Status
	all := []Sample{sample(metrics.SweepInfo, 1, s.Namespace, s.Name, clusterName(s.Spec.ClusterRef),
		string(status.ObservedRunID), stateOf(status.Conditions), reasonOf(status.Conditions), string(status.Verdict),
		summaryOf(status.Summary, status.Conditions), status.Best, string(s.Spec.Objective.Metric), betterOf(s.Spec.Objective.Metric), constraintsOf(status.Constraints), digestOf(status.Environment))}
	all = progress(all, metrics.SweepProgressRatio, status.Progress, s.Namespace, s.Name)
	if p := status.Progress; p != nil && p.EstimatedCompletionTime != nil && atWork(status.Conditions) {
		all = append(all, sample(metrics.SweepEstimatedCompletion, seconds(*p.EstimatedCompletionTime), s.Namespace, s.Name))
	}
	if configuration, run, measures := measuring(s, child); measures {
		all = append(all, sample(metrics.SweepRunning, 1, s.Namespace, s.Name, configuration, strconv.Itoa(run)))
	}
	all = truth(all, metrics.SweepRestored, meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionRestored), s.Namespace, s.Name)
	if !atWork(status.Conditions) {
		all = noiseSamples(all, s)
	}
	all = percents(all, metrics.SweepMinimumEffect, s.Spec.Objective.MinimumEffect, s.Namespace, s.Name)
	return append(all, configurationSamples(s)...)
}

// betterOf returns the direction in which a metric improves.
func betterOf(m v1alpha1.Metric) string {
	if m.LowerIsBetter() {
		return metrics.BetterLower
	}
	return metrics.BetterHigher
}

// constraintsOf returns the worst outcome of the constraints.
func constraintsOf(results []v1alpha1.ConstraintResult) string {
	for _, outcome := range []v1alpha1.ConstraintOutcome{v1alpha1.ConstraintBroken, v1alpha1.ConstraintUnknown, v1alpha1.ConstraintKept} {
		if slices.ContainsFunc(results, func(r v1alpha1.ConstraintResult) bool { return r.Outcome == outcome }) {
			return string(outcome)
		}
	}
	return ""
}

// noiseSamples adds the noise of a sweep. Call it only for a sweep that is not in progress.
func noiseSamples(all []Sample, s *v1alpha1.CephTuningSweep) []Sample {
	noise := s.Status.Noise
	if noise == nil {
		return all
	}
	all = percents(all, metrics.SweepNoiseFloor, noise.Floor, s.Namespace, s.Name)
	return percents(all, metrics.SweepSmallestEffect, noise.SmallestEffect, s.Namespace, s.Name)
}

func configurationSamples(s *v1alpha1.CephTuningSweep) []Sample {
	names := configurationNames(s)
	latest, typical := latestRuns(s), sweepspec.TypicalFigures(s)
	var all []Sample
	for _, c := range s.Status.Configurations {
		name := names[c.Index]
		all = decimals(all, metrics.SweepConfigurationRatio, c.Ratio, s.Namespace, s.Name, name, string(c.Verdict))
		all = decimals(all, metrics.SweepConfigurationRatioLow, c.Low, s.Namespace, s.Name, name)
		all = decimals(all, metrics.SweepConfigurationRatioHigh, c.High, s.Namespace, s.Name, name)
		if value, ok := latest[c.Index]; ok {
			all = append(all, sample(metrics.SweepConfigurationLatest, value, s.Namespace, s.Name, name))
		}
		if value, ok := typical[int(c.Index)]; ok {
			all = append(all, sample(metrics.SweepConfigurationTypical, value, s.Namespace, s.Name, name))
		}
	}
	return all
}

// configurationNames returns the names of the configurations by index. Equal names would give duplicate
// series, and the Collector leaves out duplicates. So all except the first of equal names get their index
// appended.
func configurationNames(s *v1alpha1.CephTuningSweep) map[int32]string {
	names, taken := map[int32]string{}, map[string]bool{}
	for _, c := range s.Status.Configurations {
		name := c.Name
		if taken[name] {
			name = fmt.Sprintf("%s #%d", c.Name, c.Index)
		}
		names[c.Index], taken[name] = name, true
	}
	return names
}

// latestRuns returns the objective in the latest valid trial of each configuration. It returns nothing for a
// ledger of another version, and for the design Interleaved, whose trials have ratios instead of figures.
func latestRuns(s *v1alpha1.CephTuningSweep) map[int32]float64 {
	ledger, err := sweepspec.LedgerOf(s)
	if err != nil {
		return nil
	}
	latest := map[int32]float64{}
	for _, e := range ledger {
		if e.Validity() == string(v1alpha1.TrialValid) && len(e.Values) > 0 {
			latest[int32(e.Configuration)] = e.Values[0] //nolint:gosec // There are at most 64 configurations.
		}
	}
	return latest
}

// runningChild returns the benchmark of the run in progress, or nil.
func runningChild(s *v1alpha1.CephTuningSweep, children map[string]*v1alpha1.CephBenchmark) *v1alpha1.CephBenchmark {
	if !atWork(s.Status.Conditions) {
		return nil
	}
	return children[s.Namespace+"/"+trial.NameOf(s, sweepspec.NextTrial(s))]
}

// measuring returns the configuration that is being measured, and the number of its run. For the design Interleaved, it
// returns [metrics.Switched] instead of a configuration.
func measuring(s *v1alpha1.CephTuningSweep, child *v1alpha1.CephBenchmark) (configuration string, run int, measures bool) {
	if child == nil || !trial.IsOf(child, s) || !atWork(child.Status.Conditions) || reasonOf(child.Status.Conditions) != v1alpha1.ReasonRunning {
		return "", 0, false
	}
	if sweepspec.HasWindows(s.Status.Plan) {
		return metrics.Switched, sweepspec.NextTrial(s), true
	}
	index, known := configurationOf(s.Status.Plan, child.Spec.RunID)
	if !known {
		return "", 0, false
	}
	name, ok := configurationNames(s)[index]
	switch {
	case ok:
	case index == 0:
		name = sweep.BaselineName
	default:
		name = fmt.Sprintf("#%d", index)
	}
	return name, sweepspec.NextTrial(s), true
}

// configurationOf returns the index of the configuration that a child measures. The child's run ID has the form
// block.attempt.position.try. configurationOf returns false for a child of another block, and for a session, whose run ID
// has another form.
func configurationOf(plan *v1alpha1.SweepPlan, id v1alpha1.RunID) (int32, bool) {
	words := strings.Split(string(id), ".")
	if plan == nil || len(words) != 4 || words[0] != strconv.Itoa(int(plan.Block)) {
		return 0, false
	}
	position, err := strconv.Atoi(words[2])
	if err != nil || position < 0 || position >= len(plan.Order) {
		return 0, false
	}
	return plan.Order[position], true
}
