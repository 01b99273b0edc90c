package results

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/cli/terminal"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/report"
	"github.com/cephtune/cephtune/internal/report/medium"
	"github.com/cephtune/cephtune/internal/schedule"
	"github.com/cephtune/cephtune/internal/signature/trial"
	"github.com/cephtune/cephtune/internal/sweepspec"
)

// WriteSweep writes the outcome of a sweep, section by section. It leaves out empty sections.
func WriteSweep(w io.Writer, s *v1alpha1.CephTuningSweep) error {
	ledger, err := sweepspec.LedgerOf(s)
	if err != nil {
		ledger = nil // Another version wrote the ledger, but the rest can be read.
	}
	page := terminal.NewPage(w)
	writeGoing(page, s)
	writeSweepHead(page, s, ledger)
	if hasPlan(s) {
		page.WriteString("\n")
	}
	writePlan(page, s)
	writeConfigurations(page, s)
	writeSessions(page, s)
	if text := report.NoiseText(s.Status.Noise); text != "" {
		page.Printf("\n%s\n", text)
	}
	writeConstraints(page, s)
	page.Printf("\n%s\n", report.Restored(s))
	writePatches(page, s)
	writeNext(page, s, ledger)
	return page.Print()
}

// WritePlan writes the plan of a sweep with mode Plan. It writes nothing if status has no plan.
func WritePlan(o client.Object, w io.Writer) error {
	s, ok := o.(*v1alpha1.CephTuningSweep)
	if !ok {
		return fmt.Errorf("got a %T", o)
	}
	page := terminal.NewPage(w)
	writePlan(page, s)
	return page.Print()
}

func writeSweepHead(page *terminal.Page, s *v1alpha1.CephTuningSweep, ledger []sweepspec.Entry) {
	status, verdict := s.Status, string(s.Status.Verdict)
	if stalled := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionStalled); stalled != nil && isTrue(s, v1alpha1.ConditionStalled) {
		page.Printf("%s: %s\n", stalled.Reason, stalled.Message)
		verdict = ""
	}
	answer, why, _ := strings.Cut(status.Summary, "\n")
	if answer = strings.Trim(verdict+": "+answer, ": "); answer != "" {
		page.Printf("%s\n", answer)
	}
	page.Printf("%s/%s, run ID %s", s.Namespace, s.Name, schedule.RunID(s))
	if status.StartTime != nil && status.CompletionTime != nil {
		page.Printf(", after %s", figure.Time(status.CompletionTime.Sub(status.StartTime.Time)))
	}
	page.WriteString(prefixed(", ", report.Census(ledger)) + "\n")
	if why != "" {
		page.WriteString(medium.Lines(why) + "\n")
	}
}

// writeGoing says what a sweep that has not ended does, because all its figures may still change.
func writeGoing(page *terminal.Page, s *v1alpha1.CephTuningSweep) {
	ready := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
	if s.Status.Progress == nil || ready == nil || !isTrue(s, v1alpha1.ConditionReconciling) {
		return
	}
	page.Printf("Not ended: %s%s. Everything below may still change.\n", ready.Reason, prefixed(", ", s.Status.Progress.Summary))
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// verdictsPage says what the words of a verdict mean.
const verdictsPage = "https://github.com/cephtune/cephtune/blob/main/docs/reading-a-verdict.md"

func isTrue(s *v1alpha1.CephTuningSweep, kind string) bool {
	return meta.IsStatusConditionTrue(s.Status.Conditions, kind)
}

// hasPlan reports whether a sweep has mode Plan, and a plan.
func hasPlan(s *v1alpha1.CephTuningSweep) bool {
	return s.Status.Plan != nil && s.Spec.Mode == v1alpha1.SweepModePlan
}

// writePlan writes the plan of a sweep with mode Plan.
func writePlan(page *terminal.Page, s *v1alpha1.CephTuningSweep) {
	if !hasPlan(s) {
		return
	}
	page.Table([]string{"THE PLAN", ""}, report.PlanRows(s))
	for _, refusal := range s.Status.Plan.Refusals {
		page.Printf("Refused: %s\n", refusal)
	}
	writeNotes(page, s)
}

// writeNotes writes the warnings about the meaning of the sweep's figures, each on a line.
func writeNotes(page *terminal.Page, s *v1alpha1.CephTuningSweep) {
	for _, note := range sweepspec.Notes(&s.Spec) {
		page.WriteString(note + "\n")
	}
}

// writeConfigurations writes the table of configurations. The ratio is not the figure of its row divided by
// the baseline's figure: it compares runs or windows within blocks.
func writeConfigurations(page *terminal.Page, s *v1alpha1.CephTuningSweep) {
	if len(s.Status.Configurations) == 0 {
		return
	}
	table := report.Configurations(s)
	reason := len(table.Header) - 1
	table.Header = table.Header[:reason]
	for i, row := range table.Rows {
		row[reason-1] += prefixed(": ", row[reason])
		table.Rows[i] = row[:reason]
	}
	page.WriteString("\n")
	writeReported(page, table)
	if len(sweepspec.Typical(s)) > 0 {
		page.WriteString(sweepspec.TypicalNote(s) + "\n")
	}
	writeNotes(page, s)
}

// writeSessions writes the trials of a sweep that switches settings under a load.
func writeSessions(page *terminal.Page, s *v1alpha1.CephTuningSweep) {
	table := report.Comparisons(s)
	if table == nil {
		return
	}
	page.WriteString("\n")
	writeReported(page, table)
	if scope := report.ScopeOf(s); scope != "" {
		page.Printf("The verdict holds for %s.\n", scope)
	}
}

// writeReported writes a table of the report.
func writeReported(page *terminal.Page, t *report.Table) {
	header := make([]string, len(t.Header))
	for i, name := range t.Header {
		header[i] = strings.ToUpper(name)
	}
	page.Table(header, t.Rows)
}

func writeConstraints(page *terminal.Page, s *v1alpha1.CephTuningSweep) {
	if len(s.Status.Constraints) == 0 {
		return
	}
	page.Printf("\nConstraints, for %s:\n", report.Leader(s))
	writeReported(page, report.Constraints(s))
}

func writePatches(page *terminal.Page, s *v1alpha1.CephTuningSweep) {
	if len(s.Status.Patches) == 0 && s.Status.Verdict == v1alpha1.VerdictSuperior {
		writeRepetition(page, s)
	}
	for _, p := range s.Status.Patches {
		page.Printf("\nThe winner, for Git: merge this into %s.\n\n", report.Patched(p))
		for line := range strings.Lines(p.Merge) {
			page.Printf("    %s\n", strings.TrimRight(line, "\n"))
		}
	}
}

// writeRepetition says how to get a verdict of a scope that has a patch.
func writeRepetition(page *terminal.Page, s *v1alpha1.CephTuningSweep) {
	switch {
	case s.Status.Scope == v1alpha1.ScopeWindows && sweepspec.Aims(&s.Spec):
		page.WriteString("\nThe verdict speaks of one session. To see whether it holds for others, run the sweep again without --quick, or with a new runID,\n" +
			"strategy.interleaved.sessions 6 and strategy.design Auto.\n")
	case s.Status.Scope == v1alpha1.ScopeWindows && sweepspec.DrawsCurves(&s.Spec):
		page.Printf("\nThere is no patch for Git: the verdict speaks of steps of seconds. Draw whole curves, each in a run of its own:\n\n"+
			"    kubectl -n %s patch cephsweep %s --type merge -p '{\"spec\":{\"runID\":\"repeat\",\"strategy\":{\"design\":\"Blocks\"}}}'\n", s.Namespace, s.Name)
	case s.Status.Scope == v1alpha1.ScopeWindows:
		page.Printf("\nThere is no patch for Git: the verdict speaks of switched windows. Measure long windows on several pools:\n\n"+
			"    kubectl -n %s patch cephsweep %s --type merge -p '{\"spec\":{\"runID\":\"repeat\",\"strategy\":{\"interleaved\":{\"sessions\":6,\"pairs\":null}}}}'\n", s.Namespace, s.Name)
	case s.Status.Scope == v1alpha1.ScopePool && s.Spec.Template.Target.ScratchPool == nil:
		page.WriteString("\nThere is no patch for Git: the verdict speaks of one pool, in one hour. Repeat the sweep with target.scratchPool, or with strategy.interleaved.daily, and a new runID.\n")
	}
}

// writeNext names commands and pages with more details. A command has a line of its own, so that it can be copied.
func writeNext(page *terminal.Page, s *v1alpha1.CephTuningSweep, ledger []sweepspec.Entry) {
	next := func(purpose, format string, args ...any) {
		page.Printf("    %s\n        %s\n", fmt.Sprintf(format, args...), purpose)
	}
	page.WriteString("\nNext:\n")
	if run := runToShow(s, ledger); run > 0 {
		next(fmt.Sprintf("what trial %d measured", run), "kubectl cephtune results %s -n %s", trial.NameOf(s, run), s.Namespace)
	}
	if run := failedRunToShow(s, ledger); run > 0 {
		next(fmt.Sprintf("why trial %d failed", run), "kubectl -n %s describe cephbench %s", s.Namespace, trial.NameOf(s, run))
	}
	next("events: the outcome of each block, and why trials are invalid", "kubectl -n %s describe cephsweep %s", s.Namespace, s.Name)
	next("what the verdicts mean, and how often they are wrong", "%s", verdictsPage)
}

// runToShow returns the number of the last valid run whose results are kept. It prefers runs of the
// best configuration. It returns 0 if no such run exists.
func runToShow(s *v1alpha1.CephTuningSweep, ledger []sweepspec.Entry) int {
	best := slices.IndexFunc(s.Status.Configurations, func(c v1alpha1.ConfigurationResult) bool { return c.Name == s.Status.Best })
	last := 0
	for i, e := range slices.Backward(ledger) {
		if !e.Counts() || len(ledger)-i > int(s.Spec.HistoryLimit) {
			continue
		}
		if best >= 0 && e.Configuration == int(s.Status.Configurations[best].Index) {
			return i + 1
		}
		if last == 0 {
			last = i + 1
		}
	}
	return last
}

// failedRunToShow returns the number of the last failed run whose benchmark is kept; 0 if no such run
// exists.
func failedRunToShow(s *v1alpha1.CephTuningSweep, ledger []sweepspec.Entry) int {
	for i, e := range slices.Backward(ledger) {
		if e.Reason == v1alpha1.TrialFailed && len(ledger)-i <= int(s.Spec.HistoryLimit) {
			return i + 1
		}
	}
	return 0
}
