package conclusion

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/clusterwatch/slowosd"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile/kstatus"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/workload"
)

// MaxSpread is the maximum time between the starts of the first and the last client in a phase.
const MaxSpread = 250 * time.Millisecond

// Run is the outcome of one run. Its Reason is empty if the run is valid.
type Run struct {
	archive.Run
	// Invalid is the reason in one word, for metrics; "" for a valid run.
	Invalid string
}

// Judge returns the outcome of a run. The run is invalid for the reason in wrong or, if wrong is empty, for
// the first reason that Judge finds. If fatal is true, the run is failed instead of invalid, because no other
// run can be valid.
func (s Execution) Judge(number int32, wrong string, fatal bool, gathered Reports) (Run, error) {
	run := Run{Run: archive.Run{
		SchemaVersion: archive.SchemaVersion, Number: number,
		StartTime: s.Notes.StartedAt[workload.TaskID(number, s.Script.Phases[0].Name)], EndTime: s.Now,
		InitialState: s.Script.Found(number, s.Tasks), RawOutput: s.Spec.RawOutput,
		Placement: placementOf(s.Pools, s.PGs), Dropped: gathered.Dropped,
	}}
	for i := range gathered.Phases {
		phase, cause, err := s.phase(number, i, gathered.Phases[i])
		if err != nil {
			return Run{}, err
		}
		wrong = cmp.Or(wrong, cause)
		run.Phases = append(run.Phases, phase)
	}
	if gathered.Background != nil {
		wrong = cmp.Or(wrong, s.judgeBackground(&run.Run, gathered.Background))
	}
	var err error
	if run.Environment, err = json.Marshal(s.Detail); err != nil {
		return Run{}, fmt.Errorf("write the environment: %w", err)
	}
	run.Reason, run.State = wrong, v1alpha1.RunValid
	switch {
	case fatal:
		run.State = v1alpha1.RunFailed
	case wrong != "":
		run.State = v1alpha1.RunInvalid
	}
	run.Invalid = invalid(&run.Run)
	return run, nil
}

// OfArchive returns a run that was archived before, for example by the manager before it restarted.
func OfArchive(run *archive.Run) Run { return Run{Run: *run, Invalid: invalid(run)}.Kept() }

// phase judges one phase of a run. It returns the reason if the phase makes the run invalid, and ""
// otherwise.
func (s Execution) phase(run int32, i int, gathered *Gathered) (archive.Phase, string, error) {
	p, id := s.Script.Phases[i], workload.TaskID(run, s.Script.Phases[i].Name)
	start, end := s.Notes.StartedAt[id], s.Notes.EndedAt[id]
	phase := archive.Phase{
		Name: p.Name, SpecDigest: phaseDigest(p.Spec, &s.Spec.Template), StartTime: orNil(start), EndTime: orNil(end),
		Clients: gathered.reports, OSDLatencies: s.OSDLatencies(start, end), Space: s.Space(s.TargetPools, start, end),
	}
	if !start.IsZero() {
		phase.StartSpreadSeconds = new(s.Notes.Spread[id].Seconds())
	}
	observation, err := gathered.observer.Observation()
	if err != nil {
		return phase, fmt.Sprintf("Phase %s: %v", p.Name, err), nil
	}
	disturbances := s.Disturbances[id]
	observation.Mark(s.marks(p, observation.Result, disturbances)...)
	s.addCurve(&observation, id)
	phase.OSDIO = slowosd.Typical(s.OSDIO(), start, end)
	phase.SlowOSDs = slowosd.Find(slowosd.Phase{
		Start: start, End: end, Samples: phase.OSDLatencies,
		OSDs: s.Survey.OSDs, Placement: placementOf(s.Pools, s.PGs), IO: phase.OSDIO,
	})
	failed := ""
	if d := s.Spec.Template.Outage; d != nil && d.Phase == p.Name {
		failed = s.judgeOutage(run, &phase, &observation)
	}
	phase.Observation = observation.WithoutLatencyWindows()
	if len(disturbances) > 0 {
		if phase.Disturbances, err = json.Marshal(disturbances); err != nil {
			return archive.Phase{}, "", fmt.Errorf("write the disturbances: %w", err)
		}
	}
	return phase, cmp.Or(failed, s.wrong(id, phase, disturbances)), nil
}

// marks returns the marks of a phase that [figure.Observe] does not add. A mark warns readers of the figures.
func (s Execution) marks(p workload.Phase, measured *result.Result, disturbances []quiescence.Disturbance) []v1alpha1.ResultMark {
	marks := figure.MarksOfSpec(&s.Spec.Template, &p.Spec)
	reads := engine.TraitsOf(&p.Spec).Reads
	if figure.BelowRate(&s.Spec.Template, &p.Spec, measured) {
		marks = append(marks, v1alpha1.MarkBelowRate)
	}
	marks = append(marks, figure.MarksOfResult(measured)...)
	if s.Cached && reads {
		marks = append(marks, v1alpha1.MarkCached)
	}
	if s.Script.Warms(p) && reads {
		marks = append(marks, v1alpha1.MarkWarmed)
	}
	if len(disturbances) > 0 {
		marks = append(marks, v1alpha1.MarkDisturbed)
	}
	return marks
}

// judgeOutage adds the outage to the phase in which it happened. It returns the reason if the outage makes
// the run invalid, and "" otherwise.
func (s Execution) judgeOutage(run int32, phase *archive.Phase, observation *figure.Observation) string {
	if !s.Outage.Known(run) {
		return fmt.Sprintf("Phase %s: the manager restarted during it, so the outage was not measured", phase.Name)
	}
	// The outage itself changes the rate, so an unsteady rate is no sign of a warm-up.
	observation.Marks = slices.DeleteFunc(observation.Marks, func(m v1alpha1.ResultMark) bool { return m == v1alpha1.MarkNotSteady })
	var total *result.Direction
	if observation.Result != nil {
		total, _ = observation.Result.Total() // Without a total, the outage has no windows.
	}
	plan, _ := outage.PlanFor(&s.Spec.Template)
	phase.Outage = s.Outage.Measure(plan, s.Samples, total)
	observation.Figures = append(observation.Figures, outage.Figures(s.Outage.Progress, phase.Outage)...)
	return s.Outage.Invalid(phase.Name)
}

// wrong returns the reason why a phase makes its run invalid; "" if it does not make it invalid.
func (s Execution) wrong(id string, phase archive.Phase, disturbances []quiescence.Disturbance) string {
	spread := s.Notes.Spread[id]
	switch {
	case phase.StartTime == nil && len(phase.Clients) > 1:
		return fmt.Sprintf("Phase %s: it is unknown whether the clients started together, because the manager restarted or lost contact with them", phase.Name)
	case spread > MaxSpread:
		return fmt.Sprintf("Phase %s: the clients started up to %d ms apart; %d ms are allowed", phase.Name, spread.Milliseconds(), MaxSpread.Milliseconds())
	}
	for _, d := range disturbances {
		if d.Action != v1alpha1.DisturbanceRecord {
			return fmt.Sprintf("Phase %s: %s: %s", phase.Name, d.Kind, d.Message)
		}
	}
	return ""
}

// invalid returns the reason why a run is invalid, in one word; "" for a valid run.
func invalid(run *archive.Run) string {
	if run.Reason == "" {
		return ""
	}
	if reason := workload.BackgroundReason(run.Reason); reason != "" {
		return reason
	}
	for _, p := range run.Phases {
		switch {
		case p.Observation == nil:
			return "NoFigures"
		case p.StartTime == nil && len(p.Clients) > 1:
			return "StartUnknown"
		case p.StartSpreadSeconds != nil && *p.StartSpreadSeconds > MaxSpread.Seconds():
			return "StartSpread"
		}
		if kind := disturbedBy(p); kind != "" {
			return string(kind)
		}
	}
	return "Other"
}

// disturbedBy returns the kind of the first disturbance in a phase that makes the run invalid; "" if no
// disturbance does. It reads the archived form, so a run that is read from the archive after a crash gets the
// same reason.
func disturbedBy(p archive.Phase) quiescence.Kind {
	var disturbances []quiescence.Disturbance
	if len(p.Disturbances) == 0 || json.Unmarshal(p.Disturbances, &disturbances) != nil {
		return ""
	}
	for _, d := range disturbances {
		if d.Action != v1alpha1.DisturbanceRecord {
			return d.Kind
		}
	}
	return ""
}

// Kept returns only the parts of a run that the conclusion needs. The other parts are large, and the archive
// has them.
func (r Run) Kept() Run {
	kept := Run{Invalid: r.Invalid, Run: archive.Run{
		Number: r.Number, State: r.State, Reason: r.Reason, StartTime: r.StartTime, InitialState: r.InitialState, Diagnosis: r.Diagnosis,
	}}
	for _, p := range r.Phases {
		phase := archive.Phase{
			Name: p.Name, Background: p.Background, SlowOSDs: p.SlowOSDs, Outage: p.Outage, StartSpreadSeconds: p.StartSpreadSeconds,
		}
		if p.Observation != nil {
			phase.Observation = new(*p.Observation)
		}
		if p.Observation != nil && p.Observation.Result != nil {
			phase.Observation.Result = p.Observation.Result.WithoutCourse()
		}
		kept.Phases = append(kept.Phases, phase)
	}
	return kept
}

// Entry returns the run's entry in status. The parameter results is the name of the ConfigMap with the
// archived results.
func (r Run) Entry(results string) v1alpha1.BenchmarkRun {
	run := v1alpha1.BenchmarkRun{
		Number: r.Number, State: r.State, Reason: ellipsis.Cut(r.Reason, 128), InitialState: r.InitialState, Results: results,
	}
	if seconds, _ := r.StartSpread(); seconds > 0 {
		run.StartSpread = figure.Decimal(seconds)
	}
	return run
}

// Event returns the event about the run's outcome.
func (r Run) Event() *kstatus.Outcome {
	if r.Reason != "" {
		return &kstatus.Outcome{Reason: "RunInvalid", Message: fmt.Sprintf("Run %d is invalid and excluded. %s", r.Number, r.Reason)}
	}
	return &kstatus.Outcome{Reason: "RunValid", Message: fmt.Sprintf("Run %d has ended.", r.Number)}
}

func orNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
