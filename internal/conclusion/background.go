package conclusion

import (
	"cmp"
	"fmt"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// judgeBackground adds the background load to a run, and the load's figures to each phase. It returns the
// reason if the background load makes the run invalid, and "" otherwise.
func (s Execution) judgeBackground(run *archive.Run, report *task.Report) string {
	id := workload.BackgroundID(run.Number)
	run.Background = &archive.Background{
		SpecDigest: digestOf([]any{s.Spec.Template.BackgroundLoad, s.Spec.Template.Background()}), Report: report,
		StartTime: orNil(cmp.Or(s.Notes.StartedAt[id], s.Background.StartTime(id))),
		EndTime:   orNil(cmp.Or(s.Notes.EndedAt[id], s.Background.EndTime(id))),
	}
	if report.Result == nil {
		return "" // The load failed or was cancelled. The caller of Judge passes the reason.
	}
	observation, err := figure.Observe([]task.Report{*report}, engine.Timing{})
	if err != nil {
		return fmt.Sprintf("%s: %v", v1alpha1.ReasonBackgroundLoadFailed, err)
	}
	run.Background.Observation = &observation
	return s.duringPhases(run, id)
}

// duringPhases adds the background load's figures during each phase to that phase. If the figures cannot be
// separated by time, it adds those of the whole run. If the background load did nothing during a phase,
// duringPhases returns that as the reason why the run is invalid, and "" otherwise.
func (s Execution) duringPhases(run *archive.Run, id string) (wrong string) {
	whole := run.Background.Observation
	for i := range run.Phases {
		p := &run.Phases[i]
		from, to := s.whileMeasured(id, workload.TaskID(run.Number, p.Name), s.Script.Phases[i].Load.Timing())
		figures, err := figure.During(whole.Result, from, to)
		switch {
		case err != nil:
			run.Background.WholeRun = true
			p.Background = whole.Figures
		case len(figures) == 0:
			wrong = cmp.Or(wrong, fmt.Sprintf("%s: the background load did nothing while phase %s was measured", v1alpha1.ReasonBackgroundLoadNoIO, p.Name))
		default:
			p.Background = figures
		}
	}
	return wrong
}

// whileMeasured returns the start and end of a phase's measurement, in seconds since the background load
// began. If the manager did not see the start of both, for example because it restarted, it uses what their runners say.
func (s Execution) whileMeasured(background, phase string, timing engine.Timing) (from, to float64) {
	began, start, end := s.Notes.StartedAt[background], s.Notes.StartedAt[phase], s.Notes.EndedAt[phase]
	if began.IsZero() || start.IsZero() {
		began, start, end = s.Background.StartTime(background), s.Tasks.StartTime(phase), s.Tasks.EndTime(phase)
	}
	from = max(start.Sub(began).Seconds()+timing.RampSeconds, 0)
	return from, max(end.Sub(began).Seconds(), from)
}
