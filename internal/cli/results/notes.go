package results

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/report"
)

// notes returns caveats for readers of the figures, one sentence each.
func notes(runs []*archive.Run) ([]string, error) {
	var lines []string
	for _, name := range archive.PhaseNames(runs) {
		lines = append(lines, phaseNotes(name, runs)...)
		if note := backgroundNote(name, runs); note != "" {
			lines = append(lines, note)
		}
	}
	if note := dataNote(runs); note != "" {
		lines = append(lines, note)
	}
	if slices.ContainsFunc(runs, func(run *archive.Run) bool { return run.Unsigned }) {
		lines = append(lines, "unsigned: an earlier version of the operator wrote these results, so nothing proves that no other user has changed them")
	}
	differences, err := environmentNotes(runs)
	if err != nil {
		return nil, err
	}
	lines = append(lines, differences...)
	for _, run := range runs {
		if len(run.Dropped) > 0 {
			parts := make([]string, len(run.Dropped))
			for i, part := range run.Dropped {
				parts[i] = string(part)
			}
			lines = append(lines, fmt.Sprintf("run %d: left out because of its size: %s", run.Number, strings.Join(parts, ", ")))
		}
	}
	return lines, nil
}

// phaseNotes names each mark (a caveat about figures), each slow OSD and each warning of a phase once,
// with the affected runs.
func phaseNotes(name v1alpha1.PhaseName, runs []*archive.Run) []string {
	var order []string
	numbers := map[string][]string{}
	note := func(run *archive.Run, text string) {
		number := strconv.Itoa(int(run.Number))
		if numbers[text] == nil {
			order = append(order, text)
		}
		if !slices.Contains(numbers[text], number) {
			numbers[text] = append(numbers[text], number)
		}
	}
	for _, run := range runs {
		for _, phase := range run.Phases {
			if phase.Name != name || phase.Observation == nil {
				continue
			}
			for _, mark := range phase.Observation.Marks {
				for _, text := range markNotes(mark, phase.Disturbances) {
					note(run, text+onHosts(mark, run))
				}
			}
			for _, osd := range phase.SlowOSDs {
				note(run, fmt.Sprintf("osd.%d was slower to commit than its peers%s", osd.ID, atWork(osd.ID, name, runs)))
			}
			if phase.Observation.Result != nil {
				for _, warning := range phase.Observation.Result.Warnings {
					note(run, string(warning.Code)+": "+warning.Message)
				}
			}
		}
	}
	lines := make([]string, len(order))
	for i, text := range order {
		lines[i] = fmt.Sprintf("%s, %s: %s", name, runWord(numbers[text]), text)
	}
	return lines
}

// markNotes explains a mark. For Disturbed, it names each disturbance of the phase, if the archive has them.
func markNotes(mark v1alpha1.ResultMark, disturbances json.RawMessage) (notes []string) {
	var all []quiescence.Disturbance
	if mark == v1alpha1.MarkDisturbed && json.Unmarshal(disturbances, &all) == nil {
		for _, d := range all {
			notes = append(notes, fmt.Sprintf("%s by %s: %s", mark, d.Kind, d.Message))
		}
	}
	if len(notes) == 0 {
		notes = append(notes, string(mark)+": "+report.Meaning(mark))
	}
	return notes
}

// onHosts names the hosts of a run's clients, for the mark Starved.
func onHosts(mark v1alpha1.ResultMark, run *archive.Run) string {
	var environment quiescence.Detail
	if mark != v1alpha1.MarkStarved || json.Unmarshal(run.Environment, &environment) != nil {
		return ""
	}
	var names []string
	for _, node := range environment.Nodes {
		names = append(names, node.Name)
	}
	return prefixed("; clients ran on ", strings.Join(names, ", "))
}

// atWork compares the operations that a slow OSD served with those of its peers. It covers the runs in
// which the OSD was slow, and returns "" if the comparison is unknown.
func atWork(id int, name v1alpha1.PhaseName, runs []*archive.Run) string {
	var all []float64
	for _, run := range runs {
		for _, phase := range run.Phases {
			for _, osd := range phase.SlowOSDs {
				if relative, known := osd.Work.Relative(); known && phase.Name == name && osd.ID == id {
					all = append(all, relative)
				}
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	least, most := fmt.Sprintf("%.2f", slices.Min(all)), fmt.Sprintf("%.2f", slices.Max(all))
	if least == most {
		return fmt.Sprintf(", while it served %s times their operations", least)
	}
	return fmt.Sprintf(", while it served %s to %s times their operations", least, most)
}

// dataNote says in which state each run found the data of the phases; "" if no run has recorded that.
func dataNote(runs []*archive.Run) string {
	var order []v1alpha1.DataState
	numbers := map[v1alpha1.DataState][]string{}
	for _, run := range runs {
		if run.InitialState == "" {
			continue
		}
		if numbers[run.InitialState] == nil {
			order = append(order, run.InitialState)
		}
		numbers[run.InitialState] = append(numbers[run.InitialState], strconv.Itoa(int(run.Number)))
	}
	var found []string
	for _, state := range order {
		found = append(found, fmt.Sprintf("in %s they %s (%s)", runWord(numbers[state]), report.Found(state), state))
	}
	if len(found) == 0 {
		return ""
	}
	return "the data when a run began: " + strings.Join(found, ", ")
}

// runWord returns text such as "run 2" or "runs 1, 3".
func runWord(numbers []string) string {
	if len(numbers) > 1 {
		return "runs " + strings.Join(numbers, ", ")
	}
	return "run " + numbers[0]
}

// backgroundNote describes the background load during the measurement of a phase; "" without a
// background load.
func backgroundNote(name v1alpha1.PhaseName, runs []*archive.Run) string {
	var did []string
	for _, run := range runs {
		for _, phase := range run.Phases {
			f, ok := figure.Find(phase.Background, v1alpha1.MetricIOPS, v1alpha1.DirectionTotal)
			if ok && phase.Name == name {
				did = append(did, fmt.Sprintf("%s in run %d", figure.Human(v1alpha1.MetricIOPS, f.Value), run.Number))
			}
		}
	}
	if len(did) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: meanwhile, the background load did %s", name, strings.Join(did, ", "))
}

// environmentNotes names the differences between the environment of the first run and those of later
// runs.
func environmentNotes(runs []*archive.Run) ([]string, error) {
	var lines []string
	_, err := report.CompareEnvironments(runs, func(first, run *archive.Run, difference string) {
		lines = append(lines, fmt.Sprintf("run %d: environment differs from that of run %d: %s", run.Number, first.Number, difference))
	})
	return lines, err
}
