package report

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/design/sweep"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// Sweep returns the report of a sweep that has ended or is running. The argument runs has the sweep's
// benchmarks, from which the report compares figures beyond the objective. The argument sessions has the
// archived sessions of the design Interleaved.
func Sweep(s *v1alpha1.CephTuningSweep, runs Runs, sessions ...*archive.SwitchedSession) (*Document, error) {
	ledger, err := sweepspec.LedgerOf(s)
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	yaml, err := manifest("CephTuningSweep", s.ObjectMeta, s.Spec)
	if err != nil {
		return nil, err
	}
	d := sweepHead(s, ledger)
	d.fact("In figures", inFigures(s))
	objective := s.Spec.Objective
	d.add("Configurations",
		text("Ratios of %s to the baseline, with %s. %s", FigureName(objective.MetricReference), intervals(s), better(objective.Metric)),
		Part{Plot: ratioPlot(s)}, Part{Table: Configurations(s)})
	d.add("Every phase and figure", everyPhase(s, ledger, runs)...)
	d.add("Every trial, in the order of time", Part{Text: NoiseText(s.Status.Noise)}, Part{Plot: runPlot(s, ledger)}, Part{Table: runTable(s, ledger)})
	d.add("Trials", append(sessionPlots(sessions), Part{Table: Comparisons(s)})...)
	d.add("Constraints", constraintText(s), Part{Table: Constraints(s)})
	d.add("CPU of the clients' hosts", Part{Table: hostTable(sessions)})
	d.add("What else was changed", Part{Table: effectTable(s)})
	d.add("Restore", Part{Text: Restored(s)})
	d.add("The winner, for Git", patches(s.Status.Patches)...)
	d.add("To go back", rollback(s)...)
	d.add("The plan", Part{Table: planTable(s)})
	d.add("Environment", Part{Table: environmentTable(s.Status.Environment)})
	d.add("Method", Part{Text: sweepspec.WordsOf(&s.Spec, s.Status.Plan).Method})
	d.add("To do it again", Part{Code: yaml})
	d.Figures = sweepFigures(s, ledger)
	if trials, err := sweepspec.Trials(&s.Status); err == nil && sweepspec.HasWindows(s.Status.Plan) {
		d.Figures = sessionFigures(s, trials)
	}
	return d, nil
}

// intervals explains the intervals of the configurations. A sweep normally evaluates its data several times
// (looks), also during the confirmation, and its intervals have to hold over all looks together. The design
// Blocks with racing: false has a single look in each stage.
func intervals(s *v1alpha1.CephTuningSweep) string {
	racing := s.Spec.Strategy.Racing
	if racing != nil && !*racing && sweepspec.WordsOf(&s.Spec, s.Status.Plan).Races {
		return Percent(confidenceOf(s)) + " intervals"
	}
	return "intervals at the level of each look, which is stricter than " + Percent(confidenceOf(s))
}

func sweepHead(s *v1alpha1.CephTuningSweep, ledger []sweepspec.Entry) *Document {
	status := s.Status
	d := &Document{
		Kind: "CephTuningSweep", Namespace: s.Namespace, Name: s.Name,
		Verdict: string(status.Verdict), Tone: sweepTone(status.Verdict),
	}
	line, explained, _ := strings.Cut(status.Summary, "\n")
	d.Sentence = line
	d.fact("Why", explained)
	for _, kind := range []string{v1alpha1.ConditionStalled, v1alpha1.ConditionFailed} {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil && c.Status == "True" && len(d.Warnings) == 0 {
			d.Warnings = append(d.Warnings, fmt.Sprintf("%s: %s", c.Reason, c.Message))
		}
	}
	if status.CompletionTime == nil && len(d.Warnings) == 0 {
		d.Warnings = append(d.Warnings, "The sweep has not ended: everything below may still change.")
	}
	d.warnEdited(s)
	d.Warnings = append(d.Warnings, sweepspec.Notes(&s.Spec)...)
	d.fact("Object", s.Namespace+"/"+s.Name+", run ID "+string(status.ObservedRunID))
	d.fact("Ceph cluster", s.Spec.ClusterRef.Namespace+"/"+s.Spec.ClusterRef.Name)
	d.fact("Software", software(status.Environment))
	d.fact("Load", Workload(s.Spec.Template))
	d.fact("Best", strings.TrimSpace(status.Best+" "+string(status.Effect)))
	d.fact("Objective", fmt.Sprintf("%s, better by at least %s", FigureName(s.Spec.Objective.MetricReference), minimumEffect(s)))
	d.fact("Began", formatTime(status.StartTime))
	d.fact("Took", took(status.StartTime, status.CompletionTime))
	d.fact("Trials", Census(ledger))
	d.fact("Verdict holds for", ScopeOf(s))
	return d
}

// inFigures states the objective, in its unit, of the baseline and of the best configuration or the only
// candidate. It returns "" if either value is missing. With several candidates, it also returns "" if the best
// configuration is the baseline or is not known yet. The ratio of these two values differs from the verdict's
// ratio, which compares runs or windows within blocks.
func inFigures(s *v1alpha1.CephTuningSweep) string {
	objective := s.Spec.Objective
	typical := sweepspec.Typical(s)
	compared := s.Status.Best
	if all := s.Status.Configurations; len(all) == 2 {
		compared = all[1].Name // Best may be the baseline.
	}
	for _, c := range s.Status.Configurations {
		if c.Index == 0 || c.Name != compared {
			continue
		}
		if before, after := typical[0], typical[int(c.Index)]; before != "" && after != "" {
			return fmt.Sprintf("%s: %s with the baseline, %s with %s; %s is better", FigureName(objective.MetricReference), before, after, c.Name, sweepspec.BetterWord(objective.Metric))
		}
	}
	return ""
}

// rollback shows the values that the settings had before the patches: the baseline of the plan.
func rollback(s *v1alpha1.CephTuningSweep) []Part {
	if len(s.Status.Patches) == 0 || s.Status.Plan == nil {
		return nil
	}
	table := &Table{Header: []string{"Setting", "Before"}}
	for _, change := range sweepspec.AllChanges(&s.Spec, nil) {
		for _, b := range s.Status.Plan.Baseline {
			if b.Name == change.Parameter {
				table.Rows = append(table.Rows, []string{change.Place(), string(b.Value)})
			}
		}
	}
	if len(table.Rows) == 0 {
		return nil
	}
	return []Part{
		text("Revert the commit of the patch, or set these values in the same place. Unset means that the setting is left out, so that Ceph's default holds."),
		{Table: table},
	}
}

func sweepTone(v v1alpha1.SweepVerdict) Tone {
	switch v {
	case v1alpha1.VerdictSuperior, v1alpha1.VerdictBetter:
		return ToneGood
	case v1alpha1.VerdictInferior, v1alpha1.VerdictInvalid:
		return ToneBad
	default:
		return ToneNeutral
	}
}

func better(metric v1alpha1.Metric) string {
	if metric.LowerIsBetter() {
		return "Less than 1 is better."
	}
	return "More than 1 is better."
}

// Percent formats a fraction such as 0.95 as a percentage.
func Percent(fraction float64) string { return strconv.FormatFloat(100*fraction, 'g', 4, 64) + "%" }

// Configurations returns the table of configurations. The ratio in a row compares runs within blocks, or
// windows within blocks. So it differs from the ratio of the figures in the table.
func Configurations(s *v1alpha1.CephTuningSweep) *Table {
	objective := s.Spec.Objective
	typical := sweepspec.Typical(s)
	table := &Table{Header: []string{"Configuration", "Trials", FigureName(objective.MetricReference), "Ratio", "Interval", "Verdict", "Reason"}}
	for _, c := range s.Status.Configurations {
		table.Rows = append(table.Rows, []string{
			c.Name, strconv.Itoa(int(c.Runs)), typical[int(c.Index)],
			Ratio(c.Ratio), Interval(c.Low, c.High, Ratio), string(c.Verdict), c.Reason,
		})
	}
	return table
}

// NoiseText describes the noise of the runs; "" if it is unknown.
func NoiseText(n *v1alpha1.Noise) string {
	if n == nil {
		return ""
	}
	return fmt.Sprintf("Runs of the same configuration in a block have a coefficient of variation of %s (noise floor). The baseline changed by %s from the first block to the last (drift). "+
		"The smallest improvement that this sweep could prove, four times out of five, is %s.",
		n.Floor, n.Drift, n.SmallestEffect)
}

func nameOf(s *v1alpha1.CephTuningSweep, index int) string {
	return ConfigurationName(s.Status.Configurations, index)
}

// ConfigurationName returns the name of the configuration with the given index.
func ConfigurationName(all []v1alpha1.ConfigurationResult, index int) string {
	for _, c := range all {
		if int(c.Index) == index {
			return c.Name
		}
	}
	if index == 0 {
		return "baseline"
	}
	return "configuration " + strconv.Itoa(index)
}

func runTable(s *v1alpha1.CephTuningSweep, ledger []sweepspec.Entry) *Table {
	table := &Table{Header: []string{"Trial", "Block", "Position", "Configuration"}, Folded: "All trials"}
	for _, r := range sweepspec.References(&s.Spec) {
		table.Header = append(table.Header, FigureName(r))
	}
	table.Header = append(table.Header, "Took", "Wrote", "Counts")
	for i, e := range ledger {
		block := strconv.Itoa(e.Block)
		if e.Attempt > 1 {
			block += fmt.Sprintf(" (attempt %d)", e.Attempt)
		}
		row := []string{strconv.Itoa(i + 1), block, strconv.Itoa(e.Position + 1), nameOf(s, e.Configuration)}
		for j, r := range sweepspec.References(&s.Spec) {
			value := ""
			if j < len(e.Values) {
				value = figure.Human(r.Metric, e.Values[j])
			}
			row = append(row, value)
		}
		table.Rows = append(table.Rows, append(row, fmt.Sprintf("%ds", e.Seconds), fmt.Sprintf("%d MiB", e.MiB), e.Validity()))
	}
	return table
}

func constraintText(s *v1alpha1.CephTuningSweep) Part {
	if len(s.Status.Constraints) == 0 {
		return Part{}
	}
	return text("For %s. A constraint is Kept where its whole interval keeps the limit, Broken where none of it does, and Unknown otherwise. Only a configuration that keeps all of them wins.", Leader(s))
}

// Leader names the configuration of status.constraints: the best one or, as long as none is proven to be better
// than the baseline, the leading one.
func Leader(s *v1alpha1.CephTuningSweep) string {
	if s.Status.Best == sweep.BaselineName {
		return "the leading configuration"
	}
	return s.Status.Best
}

// Constraints returns the table of constraints.
func Constraints(s *v1alpha1.CephTuningSweep) *Table {
	table := &Table{Header: []string{"Figure", "Limit", "Interval", "Outcome"}}
	for i, r := range s.Status.Constraints {
		limit, write := "", Ratio
		if i < len(s.Spec.Constraints) {
			limit, write = LimitOf(s.Spec.Constraints[i])
		}
		table.Rows = append(table.Rows, []string{FigureName(r.MetricReference), limit, Interval(r.Low, r.High, write), string(r.Outcome)})
	}
	return table
}

// Restored says whether Ceph has its original settings. A sweep without the condition Restored has changed no
// setting, for example because it varies only the load.
func Restored(s *v1alpha1.CephTuningSweep) string {
	c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionRestored)
	if c == nil {
		return "No setting of the Ceph cluster was changed."
	}
	return fmt.Sprintf("%s: %s", c.Reason, c.Message)
}

// effectTable lists what the sweep did to the cluster besides the load, so that a reviewer knows it.
func effectTable(s *v1alpha1.CephTuningSweep) *Table {
	if s.Status.Plan == nil || s.Status.StartTime == nil {
		return nil
	}
	table := &Table{Header: []string{"The sweep had to"}}
	for _, effect := range sweepspec.Effects(&s.Spec, s.Status.Plan) {
		table.Rows = append(table.Rows, []string{effect})
	}
	return table
}

func patches(all []v1alpha1.WinnerPatch) []Part {
	var parts []Part
	for _, p := range all {
		parts = append(parts, text("Merge this into %s.", Patched(p)), Part{Code: p.Merge})
	}
	return parts
}

// Patched names the object into which a patch is to be merged.
func Patched(p v1alpha1.WinnerPatch) string {
	if p.Name == "" {
		return fmt.Sprintf("the %s, in namespace %s, of the pool that serves such a load", p.Kind, p.Namespace)
	}
	return fmt.Sprintf("%s %s/%s", p.Kind, p.Namespace, p.Name)
}

func planTable(s *v1alpha1.CephTuningSweep) *Table {
	p := s.Status.Plan
	if p == nil {
		return nil
	}
	table := &Table{Header: []string{"What", "Value"}, Rows: PlanRows(s)}
	if p.Seed != nil {
		table.Rows = append(table.Rows, []string{"seed", strconv.FormatInt(*p.Seed, 10)})
	}
	for _, refusal := range p.Refusals {
		table.Rows = append(table.Rows, []string{"refused", refusal})
	}
	return table
}

// PlanRows says what a sweep's plan does and needs, without its refusals.
func PlanRows(s *v1alpha1.CephTuningSweep) [][]string {
	plan := s.Status.Plan
	words, baseline := sweepspec.WordsOf(&s.Spec, plan), make([]string, len(plan.Baseline))
	for i, b := range plan.Baseline {
		baseline[i] = fmt.Sprintf("%s=%s", b.Name, b.Value)
	}
	rows := [][]string{
		{"configurations", fmt.Sprintf("%d, against the baseline %s", plan.Configurations, strings.Join(baseline, " "))},
		{"design", words.Name},
		{"trials", words.Trials},
	}
	if words.Time != "" {
		rows = append(rows, []string{"time", words.Time})
	}
	if plan.EstimatedBytesWritten != nil && plan.RunBytesWritten != nil {
		rows = append(rows, []string{"written", fmt.Sprintf("at most about %s, %s by each trial, before replication", plan.EstimatedBytesWritten, plan.RunBytesWritten)})
	}
	if plan.ScratchPoolPer != "" {
		rows = append(rows, []string{"scratch pools", "one for each " + strings.ToLower(string(plan.ScratchPoolPer))})
	}
	if plan.DatasetPer != "" {
		text := "prefilled for each " + strings.ToLower(string(plan.DatasetPer))
		if plan.DatasetReason != "" {
			text += " (" + plan.DatasetReason + ")"
		}
		rows = append(rows, []string{"data", text})
	}
	rows = append(rows,
		[]string{"placement groups", fmt.Sprintf("%d created, split or merged", plan.PlacementGroupChanges)},
		[]string{"restarts of OSDs", strconv.Itoa(int(plan.OSDRestarts))},
		[]string{"smallest effect", fmt.Sprintf("%s: carried out in full, the plan proves it four times out of five at the assumed noise", plan.SmallestEffect)},
	)
	return rows
}

// sweepFigures returns a row for each figure of each trial. For a trial without figures, it returns one row in
// which the columns of figures are empty.
func sweepFigures(s *v1alpha1.CephTuningSweep, ledger []sweepspec.Entry) [][]string {
	rows := [][]string{{
		"trial", "block", "attempt", "position", "configuration_index", "configuration", "validity", "seconds", "written_mib",
		"phase", "metric", "direction", "unit", "value",
	}}
	for i, e := range ledger {
		run := []string{
			strconv.Itoa(i + 1), strconv.Itoa(e.Block), strconv.Itoa(e.Attempt), strconv.Itoa(e.Position), strconv.Itoa(e.Configuration),
			nameOf(s, e.Configuration), e.Validity(), strconv.Itoa(e.Seconds), strconv.FormatInt(e.MiB, 10),
		}
		if len(e.Values) == 0 {
			rows = append(rows, append(run, "", "", "", "", ""))
			continue
		}
		for j, r := range sweepspec.References(&s.Spec) {
			if j < len(e.Values) {
				direction := cmp.Or(string(r.Direction), string(v1alpha1.DirectionTotal))
				rows = append(rows, append(slices.Clip(run), string(r.Phase), string(r.Metric), direction, figure.Unit(r.Metric), figure.Exact(e.Values[j])))
			}
		}
	}
	return rows
}
