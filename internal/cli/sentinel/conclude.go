package sentinel

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cephtune/cephtune/internal/cli/compare"
	"github.com/cephtune/cephtune/internal/cli/difference"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/history"
	"github.com/cephtune/cephtune/internal/schedule"
)

// answer is the JSON form of the outcome.
type answer struct {
	Before  string          `json:"before"`
	After   string          `json:"after,omitempty"`
	Figures []history.Shift `json:"figures"`
	// Differences are those of the environments. Expected ones belong to the upgrade.
	Differences []difference.Difference `json:"differences,omitempty"`
	Advice      []string                `json:"advice,omitempty"`
}

// conclude judges the nights, writes the answer, and returns the error with the exit code.
func (o *options) conclude(ctx context.Context, out io.Writer) error {
	if err := o.missing(); err != nil {
		return err
	}
	shifts, err := o.split.Shifts(o.benchmark.Spec.Template.Phases)
	if err != nil {
		return err
	}
	if len(shifts) == 0 {
		return exit.UndecidedErrorf("no phase has a figure that can be compared: see \"kubectl cephtune results %s\"", o.name)
	}
	short := slices.ContainsFunc(shifts, func(s history.Shift) bool { return s.Days < figure.ReferenceDays && !s.Missing })
	a := answer{Before: describe(o.split.Before), Figures: shifts}
	switch {
	case o.moment == before:
		a.Advice = o.advice(short)
	case short:
		return o.compareHours(ctx, out)
	default:
		a.After = describe(o.split.After[:1])
		if a.Differences, _, err = compare.Sort(o.split.Differences(), o.expect); err != nil {
			return err
		}
	}
	if err := terminal.Write(out, o.output, a, a.show); err != nil || o.moment == before {
		return err
	}
	return a.outcome()
}

// missing says which nights are missing.
func (o *options) missing() error {
	next := "see \"kubectl cephtune results " + o.name + "\""
	if due := schedule.NextOf(o.benchmark); due != nil {
		next = "the next one is due at " + schedule.Clock(due.UTC())
	}
	switch {
	case o.moment == after && len(o.split.Before) == 0:
		return exit.UndecidedErrorf("no night is known to be before the upgrade: if neither Ceph nor Rook has another version, say when it began with --since")
	case len(o.split.Before) == 0:
		return exit.UndecidedErrorf("%s has no night yet: %s", o.name, next)
	case o.moment == after && len(o.split.After) == 0:
		return exit.UndecidedErrorf("there is no night after the upgrade: %s", next)
	}
	return nil
}

// advice says what to do after sentinel before.
func (o *options) advice(short bool) []string {
	text := "A night like those before will have these intervals. A difference within them will not be seen."
	if short {
		text = fmt.Sprintf("There are no nights of %d days yet, so the verdict will be of this hour only: it cannot tell the upgrade from the differences between days. "+
			"Run this again on other days, or accept that with --this-hour.", figure.ReferenceDays)
	}
	command := fmt.Sprintf("After the upgrade: kubectl cephtune sentinel after %s -n %s", o.name, o.benchmark.Namespace)
	if o.benchmark.Spec.Schedule != nil { // The run IDs of a schedule do not say what was before the upgrade.
		command += " --since " + o.now().UTC().Format(time.RFC3339)
	}
	return []string{text, command}
}

// compareHours lets the subcommand compare judge the nights next to the upgrade by the scatter of their runs.
func (o *options) compareHours(ctx context.Context, out io.Writer) error {
	args := []string{fmt.Sprint(o.name, "@", o.split.Before[len(o.split.Before)-1].RunID), fmt.Sprint(o.name, "@", o.split.After[0].RunID), "--max-regression", "5%", "-o", o.output}
	if o.thisHour {
		args = append(args, "--this-hour")
	}
	_, same, err := compare.Sort(o.split.Differences(), o.expect)
	if err != nil {
		return err
	}
	for _, kind := range o.expect {
		if !slices.Contains(same, kind) { // Otherwise compare would miss it.
			args = append(args, "--expect-difference", kind)
		}
	}
	cmd := compare.NewCommand(o.connect) //nolint:contextcheck // Only completion has no context, and completes nothing here.
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	cmd.SetOut(out)
	return cmd.ExecuteContext(ctx)
}

func describe(nights []history.Night) string {
	last := nights[len(nights)-1]
	text := fmt.Sprintf("%s, %s", schedule.Clock(last.Time.UTC()), last.Versions())
	if len(nights) > 1 {
		text = fmt.Sprintf("%d nights from %s to %s", len(nights), schedule.Clock(nights[0].Time.UTC()), text)
	}
	return text
}

func (a answer) show(page *terminal.Page) {
	page.Printf("Before: %s\n", a.Before)
	if a.After != "" {
		page.Printf("After:  %s\n", a.After)
	}
	rows := make([][]string, len(a.Figures))
	for i, s := range a.Figures {
		rows[i] = []string{string(s.Phase), string(s.Metric), fmt.Sprint(s.Days), "unknown", "no valid figure", string(s.Verdict)}
		if s.Ratio > 0 {
			rows[i][3], rows[i][4] = fmt.Sprintf("%.3f to %.3f", s.Low, s.High), fmt.Sprintf("%.3f", s.Ratio)
		}
		if a.After == "" {
			rows[i] = rows[i][:4]
		}
	}
	page.WriteString("\n")
	page.Table([]string{"PHASE", "METRIC", "DAYS BEFORE", "INTERVAL", "AFTER/BEFORE", "VERDICT"}[:len(rows[0])], rows)
	lines := a.Advice
	for _, d := range a.Differences {
		word := "The upgrade changed"
		if !d.Expected {
			word = "Differs, too, and may be the cause"
		}
		lines = append(lines, word+": "+d.Text)
	}
	if len(lines) == 0 {
		lines = append(lines, "Nothing that is recorded differs, not even a version.")
	}
	page.Lines(lines)
}

// outcome returns the error with the exit code.
func (a answer) outcome() error {
	figures := map[history.UpgradeVerdict][]string{}
	for _, s := range a.Figures {
		figures[s.Verdict] = append(figures[s.Verdict], fmt.Sprintf("%s %s", s.Phase, s.Metric))
	}
	switch slower, open := figures[history.Slower], figures[history.Inconclusive]; {
	case slower != nil:
		return exit.UnexpectedErrorf("slower since the upgrade: %s", strings.Join(slower, ", "))
	case open != nil:
		return exit.UndecidedErrorf("it is unknown whether the upgrade made it slower: %s", strings.Join(open, ", "))
	case difference.Any(a.Differences):
		return exit.UndecidedErrorf("not only the upgrade differs: see above, and --expect-difference")
	}
	return nil
}
