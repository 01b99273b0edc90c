package compare

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/cli/exit"
	"github.com/cephtune/cephtune/internal/cli/object"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
)

// This file compares two diagnoses. What differs between their environments explains findings, so it does not keep
// findings from being compared.

// Earlier is an earlier diagnosis, with which a later one will be compared.
type Earlier struct {
	source reader
	side   side
}

// ReadDiagnosis reads a diagnosis that an argument of compare names.
func ReadDiagnosis(ctx context.Context, connect object.Connect, stdin io.Reader, typed string) (*Earlier, error) {
	e := &Earlier{source: reader{connect: connect, stdin: stdin}}
	arg, err := parse(typed)
	if err == nil {
		e.side, err = e.source.find(ctx, arg, false)
	}
	switch {
	case err != nil:
		return nil, err
	case e.side.diagnosis() == nil:
		return nil, exit.UsageErrorf("%s is no diagnosis: name an earlier one, or a file of one", typed)
	}
	return e, nil
}

// Compare compares the diagnosis with a later one, which has ended, and writes the comparison.
func (e *Earlier) Compare(ctx context.Context, later string, out io.Writer, format string) error {
	side, err := e.source.find(ctx, argument{typed: later, name: later}, false)
	if err != nil {
		return err
	}
	c, err := compare(e.side, side, nil)
	if err != nil {
		return err
	}
	if err := c.write(out, format); err != nil {
		return err
	}
	return c.verdict()
}

// diagnosis returns the diagnosis of a side; nil if the side is a benchmark.
func (s side) diagnosis() *archive.Diagnosis { return s.runs[0].Diagnosis }

// outcome returns the diagnosis of a side in the form of package diagnosis.
func (s side) outcome() (diagnosis.Outcome, error) {
	d := s.diagnosis()
	o := diagnosis.Outcome{Asked: d.Asked, Result: d.Result}
	if len(d.Windows) > 0 {
		if err := json.Unmarshal(d.Windows, &o.Windows); err != nil {
			return o, fmt.Errorf("the windows of %s cannot be read: %w", s.name, err)
		}
	}
	return o, nil
}

// diagnose compares the findings of two diagnoses, and their layers if both have them.
func (c *comparison) diagnose(a, b side) error {
	ofA, err := a.outcome()
	if err != nil {
		return err
	}
	ofB, err := b.outcome()
	if err != nil {
		return err
	}
	c.Findings = diagnosis.Changes(ofA, ofB)
	c.noteUnknown(a, b)
	c.noteOrigins(a, b)
	obstacles := diagnosis.OtherLoad(ofA, ofB)
	for _, d := range c.Differences {
		if strings.HasPrefix(d.Text, "pool ") {
			obstacles = append(obstacles, d.Text)
		}
	}
	if len(unknown(a, b)) > 0 {
		obstacles = append(obstacles, "an environment was not recorded")
	}
	c.Comparable = len(obstacles) == 0 && len(c.Missing) == 0
	c.Notes = append(c.Notes, "A finding is of the hour of its diagnosis: one that is gone may come back.")
	layers, err := diagnosis.LayerChanges(ofA, ofB)
	switch {
	case err != nil:
		return err
	case ofA.Asked.Layers == nil || ofB.Asked.Layers == nil:
	case len(obstacles) > 0:
		c.Notes = append(c.Notes, "The times of their layers do not compare: "+strings.Join(obstacles, "; ")+".")
	case len(layers) == 0:
		c.Notes = append(c.Notes, "The times of their layers do not compare: too few rounds count.")
	default:
		c.Layers = layers
		c.noteLayers(ofA, ofB)
	}
	return nil
}

// noteLayers adds caveats for readers of differences of layers.
func (c *comparison) noteLayers(a, b diagnosis.Outcome) {
	for i, o := range []diagnosis.Outcome{a, b} {
		for _, t := range o.Result.Operations {
			if !t.Explained && t.Operation == v1alpha1.LayeredWrite { // Those of reads never are.
				c.Notes = append(c.Notes, fmt.Sprintf("The layers of a write are not confirmed in %s: %s", []string{"A", "B"}[i], t.Reason))
			}
		}
	}
	c.Notes = append(c.Notes, fmt.Sprintf("Intervals contain the scatter of the rounds, and not that between hours. Each of the %d is at 95 %%: even without a difference, "+
		"about one in twenty excludes 0.", len(c.Layers)))
}

// codes returns the codes of some findings.
func (c *comparison) codes(of func(diagnosis.Change) bool) (codes []string) {
	for _, f := range c.Findings {
		if of(f) {
			codes = append(codes, f.Code)
		}
	}
	return codes
}

// findingsHeadline counts the findings by state.
func (c *comparison) findingsHeadline() string {
	number := func(state diagnosis.State) int {
		return len(c.codes(func(f diagnosis.Change) bool { return f.State == state }))
	}
	return fmt.Sprintf("Findings: %d new, %d gone, %d still there, %d unknown.", number(diagnosis.New), number(diagnosis.Gone), number(diagnosis.Still), number(diagnosis.Unknown))
}

// findingsVerdict returns an error, which sets the exit code, if B has worse findings, or if that is unknown.
func (c *comparison) findingsVerdict() error {
	worse, unclear := c.codes(diagnosis.Change.Worse), c.codes(diagnosis.Change.Unclear)
	switch {
	case len(c.Missing) > 0:
		return exit.UnexpectedErrorf("expected differences are missing: %s", strings.Join(c.Missing, ", "))
	case len(worse) > 0:
		return exit.UnexpectedErrorf("only B calls these findings Certain or Likely: %s", strings.Join(worse, ", "))
	case len(unclear) > 0:
		return exit.UndecidedErrorf("only one of the two could look for these findings: %s", strings.Join(unclear, ", "))
	}
	return nil
}

func (c *comparison) findingRows() (header []string, rows [][]string) {
	for _, f := range c.Findings {
		row := []string{f.Code, string(f.State), "", "", f.Reason}
		if f.A != nil {
			row[2], row[4] = string(f.A.Confidence), row[4]+" "+f.A.Message
		}
		if f.B != nil {
			row[3], row[4] = string(f.B.Confidence), f.Reason+" "+f.B.Message
		}
		row[4] = strings.TrimSpace(row[4])
		rows = append(rows, row)
	}
	return []string{"FINDING", "STATE", "A", "B", "CAUSE"}, rows
}

func (c *comparison) layerRows() (header []string, rows [][]string) {
	ms := func(seconds float64) string { return fmt.Sprintf("%.3f", 1000*seconds) }
	for _, l := range c.Layers {
		rows = append(rows, []string{string(l.Operation), l.Layer, ms(l.A), ms(l.B), ms(l.Difference), ms(l.Low) + " to " + ms(l.High)})
	}
	return []string{"OPERATION", "LAYER", "A (ms)", "B (ms)", "B - A (ms)", "95% INTERVAL"}, rows
}
