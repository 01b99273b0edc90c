package cephbenchmark

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/archive"
	"github.com/cephtune/cephtune/internal/ellipsis"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/kstatus"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/slowosd"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// maxSpread is the longest allowed time between the clients' starts of a phase.
const maxSpread = 250 * time.Millisecond

// concludeRun turns the reports of a run into its outcome, valid or invalid with the reason, and
// archives it. After the last run the benchmark has its result.
func (r *Reconciler) concludeRun(ctx context.Context, seen facts, p plan) (effect, error) {
	if p.wrong != "" {
		if err := r.cancelAll(ctx, seen); err != nil {
			return effect{}, err
		}
	}
	if p.wrong == "" {
		var err error
		if p.wrong, err = r.stillPlaced(ctx, seen); err != nil {
			return effect{}, err
		}
	}
	evidence, err := r.evidence(ctx, seen, p)
	if err != nil {
		return effect{}, err
	}
	name, evidence, err := r.archiveRun(ctx, seen, evidence)
	if err != nil {
		return effect{}, err
	}
	invalid := evidence.whyInvalid() // This must precede conclude, which drops the reports.
	seen.memory.conclude(evidence)
	came := effect{again: reconcile.AtOnce, event: evidence.event(), invalid: invalid, outage: seen.outageEnd(evidence)}
	note := func(s *v1alpha1.CephBenchmarkStatus) { setRun(s, evidence.entry(name)) }
	switch {
	case p.fatal:
		came.edit = func(s *v1alpha1.CephBenchmarkStatus) {
			note(s)
			failStatus(s, seen, p.outcome)
		}
		return came, nil
	case p.run < seen.spec.Repetitions:
		came.edit = note
		return came, nil
	}
	conclusion, err := r.conclusion(ctx, seen, evidence)
	if err != nil {
		return effect{}, err
	}
	came.outcome = cleaningUp()
	came.edit = func(s *v1alpha1.CephBenchmarkStatus) {
		note(s)
		conclusion.write(s, seen)
	}
	return came, nil
}

// conclude keeps only the parts of a run that the conclusion needs. The reports are large, and
// archived by now.
func (m *memory) conclude(e runEvidence) {
	e.phases = slices.Clone(e.phases)
	for i := range e.phases {
		p := &e.phases[i]
		p.reports = nil
		if p.observation != nil && p.observation.Result != nil {
			observation := *p.observation
			observation.Result = observation.Result.WithoutCourse()
			p.observation = &observation
		}
	}
	m.gathering, m.background = gathering{}, nil
	e.background = nil
	m.evidence[e.number] = e
}

// cancelAll cancels all running tasks of the clients.
func (r *Reconciler) cancelAll(ctx context.Context, seen facts) error {
	cancel := func(tasks workload.Tasks) func(context.Context, int, runner.Client) error {
		return func(ctx context.Context, i int, c runner.Client) error {
			for id, status := range tasks[i] {
				if !status.State.Ended() {
					return c.Cancel(ctx, id)
				}
			}
			return nil
		}
	}
	return errors.Join(r.onAll(ctx, seen, cancel(seen.tasks)), r.onEach(ctx, seen.background.runners, cancel(seen.background.tasks)))
}

// runEvidence is the outcome of one run.
type runEvidence struct {
	number int32
	state  v1alpha1.RunState
	// wrong is the reason why the run is invalid; "" if it is valid.
	wrong  string
	start  time.Time
	spread time.Duration
	phases []phaseEvidence
	// background is the outcome of the background load; nil if there is no load, or no report
	// about it.
	background *backgroundOutcome
	// dropped lists the parts of the reports that did not fit.
	dropped []archive.Part
	// initialState is the state in which the run found its prefilled data.
	initialState v1alpha1.DataState
	// standalone says that a standalone client made the run. Its start enters status only with
	// the outcome.
	standalone bool
}

// phaseEvidence is the outcome of one phase of a run.
type phaseEvidence struct {
	name         v1alpha1.PhaseName
	digest       string // digest of the specification
	observation  *figure.Observation
	background   []figure.Figure // figures of the background load during this phase
	reports      []task.Report   // without parts that do not fit into the archive
	spread       time.Duration
	disturbances []quiescence.Disturbance
	outage       *archive.Outage // set in the phase with the outage
	start, end   time.Time
	// io is the client I/O of the OSDs.
	io []archive.OSDIO
	// slow lists the OSDs that were slower than their peers.
	slow []archive.SlowOSD
}

// entry returns the entry of the run in status.
func (e runEvidence) entry(results string) v1alpha1.BenchmarkRun {
	run := v1alpha1.BenchmarkRun{
		Number: e.number, State: e.state, Reason: ellipsis.Cut(e.wrong, 128), InitialState: e.initialState, Results: results,
	}
	if e.standalone && !e.start.IsZero() {
		start := metav1.NewTime(e.start)
		run.StartTime = &start
	}
	if e.spread > 0 {
		run.StartSpread = figure.Decimal(e.spread.Seconds())
	}
	return run
}

func (e runEvidence) event() *kstatus.Outcome {
	if e.wrong != "" {
		return &kstatus.Outcome{Reason: "RunInvalid", Message: fmt.Sprintf("Run %d is invalid and excluded. %s", e.number, e.wrong)}
	}
	return &kstatus.Outcome{Reason: "RunValid", Message: fmt.Sprintf("Run %d has ended.", e.number)}
}

// whyInvalid returns the reason in wrong as one word, for metrics; "" for a valid run.
func (e runEvidence) whyInvalid() string {
	if e.wrong == "" {
		return ""
	}
	if reason := workload.BackgroundReason(e.wrong); reason != "" {
		return reason
	}
	for _, p := range e.phases {
		switch {
		case p.observation == nil:
			return "NoFigures"
		case p.start.IsZero() && len(p.reports) > 1:
			return "StartUnknown"
		case p.spread > maxSpread:
			return "StartSpread"
		}
		for _, d := range p.disturbances {
			if d.Action != v1alpha1.DisturbanceRecord {
				return string(d.Kind)
			}
		}
	}
	return "Other"
}

// evidence gathers the outcome of a run. The last phase may be one that failed or was aborted:
// its reports may say why.
func (r *Reconciler) evidence(ctx context.Context, seen facts, p plan) (runEvidence, error) {
	e := runEvidence{
		number: p.run, wrong: p.wrong, standalone: seen.standalone(),
		start:        seen.memory.noted.StartedAt[workload.TaskID(p.run, seen.script.Phases[0].Name)],
		initialState: seen.script.Found(p.run, seen.tasks),
	}
	for i, phase := range seen.script.Phases {
		id := workload.TaskID(p.run, phase.Name)
		if !seen.tasks.All(id, task.State.Ended) {
			break
		}
		told, err := seen.memory.gathering.fetch(ctx, seen.runners, p.run, id, phase.Load.Timing())
		if seen.tasks.Failed(id) != nil && runner.HasCode(err, runner.NotFound) {
			break // The log has lost the report.
		}
		if err != nil {
			return runEvidence{}, err
		}
		evidence, wrong := phaseOf(seen, p.run, i, told)
		e.wrong = cmp.Or(e.wrong, wrong)
		e.spread = max(e.spread, evidence.spread)
		e.phases = append(e.phases, evidence)
		if seen.tasks.Failed(id) != nil {
			break
		}
	}
	e.dropped = seen.memory.gathering.dropped
	background, wrong, err := r.observeBackground(ctx, seen, p.run, e.phases)
	if err != nil {
		return runEvidence{}, err
	}
	e.background, e.wrong = background, cmp.Or(e.wrong, wrong)
	switch {
	case p.fatal:
		e.state = v1alpha1.RunFailed
	case e.wrong != "":
		e.state = v1alpha1.RunInvalid
	default:
		e.state = v1alpha1.RunValid
	}
	return e, nil
}

// phaseOf judges one phase of a run. It is a pure function.
func phaseOf(seen facts, run int32, i int, told *gathered) (phaseEvidence, string) {
	p := seen.script.Phases[i]
	id := workload.TaskID(run, p.Name)
	e := phaseEvidence{
		name: p.Name, reports: told.reports, digest: phaseDigest(p.Spec, &seen.spec.Template),
		spread: seen.memory.noted.Spread[id], start: seen.memory.noted.StartedAt[id], end: seen.memory.noted.EndedAt[id],
	}
	observation, err := told.observer.Observation()
	if err != nil {
		return e, fmt.Sprintf("Phase %s: %v", p.Name, err)
	}
	observation.Mark(figure.MarksOfSpec(&seen.spec.Template, &p.Spec)...)
	if figure.BelowRate(&seen.spec.Template, &p.Spec, observation.Result) {
		observation.Mark(v1alpha1.MarkBelowRate)
	}
	if seen.isCached(p.Spec) {
		observation.Mark(v1alpha1.MarkCached)
	}
	if seen.script.Warms(p) && engine.TraitsOf(&p.Spec).Reads {
		observation.Mark(v1alpha1.MarkWarmed)
	}
	e.io = slowosd.Typical(seen.OSDIO(), e.start, e.end)
	e.slow = slowosd.Find(slowosd.Phase{
		Start: e.start, End: e.end, Samples: seen.OSDLatencies(e.start, e.end),
		OSDs: seen.Survey.OSDs, Placement: placementOf(seen.pools(), seen.pgs()), IO: e.io,
	})
	e.disturbances = seen.disturbancesOf(run, id)
	if len(e.disturbances) > 0 {
		observation.Mark(v1alpha1.MarkDisturbed)
	}
	e.observation = &observation
	failed := seen.outageOf(run, p.Name, &e)
	return e, cmp.Or(failed, e.wrong(len(told.reports)))
}

// wrong returns the reason why a phase makes its run invalid; "" if it does not.
func (e phaseEvidence) wrong(clients int) string {
	switch {
	case e.start.IsZero() && clients > 1:
		return fmt.Sprintf("Phase %s: unknown whether the clients started together, because the manager restarted or lost contact with them", e.name)
	case e.spread > maxSpread:
		return fmt.Sprintf("Phase %s: the clients started up to %d ms apart; %d ms are allowed", e.name, e.spread.Milliseconds(), maxSpread.Milliseconds())
	}
	for _, d := range e.disturbances {
		if d.Action != v1alpha1.DisturbanceRecord {
			return fmt.Sprintf("Phase %s: %s: %s", e.name, d.Kind, d.Message)
		}
	}
	return ""
}

// phaseDigest returns a digest that is equal for phases with the same specification, number of
// clients, data and outage. Pools, OSDs, nodes and the background load belong to the
// environment.
func phaseDigest(spec v1alpha1.Phase, t *v1alpha1.BenchmarkTemplate) string {
	asked := struct {
		Phase     v1alpha1.Phase
		Clients   int32
		Resources v1alpha1.ClientResources
		Dataset   v1alpha1.Dataset
		Image     v1alpha1.Image
		Claim     *v1alpha1.PersistentVolumeClaimTarget
		Outage    *v1alpha1.Outage `json:"Disruption"` // The old name keeps digests equal to those in status.
	}{
		Phase: spec, Clients: t.Clients.Count, Resources: t.Clients.Resources, Dataset: t.Dataset,
		Claim: t.Target.PersistentVolumeClaim, Outage: t.Outage,
	}
	switch {
	case t.Target.ScratchPool != nil:
		asked.Image = t.Target.ScratchPool.Image
	case t.Target.ExistingPool != nil:
		asked.Image = t.Target.ExistingPool.Image
	}
	return digestOf(asked)
}

// digestOf returns a digest of the JSON form of a value.
func digestOf(spec any) string {
	text, err := json.Marshal(spec)
	if err != nil {
		return "" // It was decoded from JSON, so encoding cannot fail.
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:16]
}

type conclusion struct {
	phases   []v1alpha1.PhaseResult
	gate     figure.Gate
	headline string
	summary  string
	valid    int
	space    *v1alpha1.SpaceEfficiency
	slow     []v1alpha1.SlowOSD

	environment v1alpha1.Environment
}

// conclusion combines all valid runs.
func (r *Reconciler) conclusion(ctx context.Context, seen facts, last runEvidence) (conclusion, error) {
	valid, background := map[v1alpha1.PhaseName][]figure.Observation{}, map[v1alpha1.PhaseName][]figure.Observation{}
	count, why := 0, last.wrong
	var named []slowosd.Named
	for run := int32(1); run <= seen.spec.Repetitions; run++ {
		past, wrong, err := r.pastRun(ctx, seen, run)
		if err != nil {
			return conclusion{}, err
		}
		if wrong != "" {
			why = wrong
			continue
		}
		count++
		named = append(named, past.slowOSDs())
		measured := past.observations()
		for name, observation := range measured.phases {
			valid[name] = append(valid[name], observation)
		}
		for name, observation := range measured.background {
			background[name] = append(background[name], observation)
		}
	}
	environment, err := quiescence.Fingerprint(seen.detail())
	if err != nil {
		return conclusion{}, err
	}
	c := conclusion{valid: count, summary: why, space: spaceEfficiency(seen), slow: slowosd.InMost(named), environment: environment}
	if count == 0 {
		return c, nil
	}
	for _, p := range seen.script.Phases {
		combined, err := figure.Combine(p.Name, valid[p.Name])
		if err != nil {
			return conclusion{}, fmt.Errorf("phase %s: %w", p.Name, err)
		}
		if combined.BackgroundIOPS, err = figure.CombinedIOPS(background[p.Name]); err != nil {
			return conclusion{}, fmt.Errorf("phase %s: %w", p.Name, err)
		}
		c.phases = append(c.phases, combined)
	}
	gate, err := figure.Expect(seen.spec.Expectations, seen.spec.Repetitions, c.phases, r.comparison(ctx, seen, valid))
	if err != nil {
		return conclusion{}, err
	}
	c.gate = gate
	c.headline = figure.Headline(&seen.spec.Template.Phases[0], c.phases[0])
	c.summary = ellipsis.Cut(c.sentence(seen.spec), 512-len(seen.remark())) + seen.remark()
	return c, nil
}

// spaceEfficiency returns the space efficiency at the moment when the session stored the most
// data. It returns nil if used and stored bytes do not belong together: OSDs that are down do not
// report their usage, and a snapshot shares space with its image while Ceph counts both as
// stored.
func spaceEfficiency(seen facts) *v1alpha1.SpaceEfficiency {
	if t := &seen.spec.Template; t.Outage != nil || t.InitialState == v1alpha1.InitialStateRollback {
		return nil
	}
	space := seen.Space(seen.targetPools(), time.Time{}, seen.now)
	if space == nil {
		return nil
	}
	return &v1alpha1.SpaceEfficiency{
		StoredBytes: space.StoredBytes, UsedBytes: space.UsedBytes,
		TheoreticalBytes: int64(float64(space.StoredBytes) * seen.overhead()),
		ClusterUsedBytes: space.ClusterUsedBytes, ClusterUsedBytesBefore: seen.memory.usedBefore,
	}
}

func (c conclusion) sentence(spec v1alpha1.CephBenchmarkSpec) string {
	text := fmt.Sprintf("%d of %d runs are valid.", c.valid, spec.Repetitions)
	if c.gate.Sentence != "" {
		text = c.gate.Sentence + " " + text
	}
	var marks []string
	for _, p := range c.phases {
		for _, mark := range p.Marks {
			if !slices.Contains(marks, string(mark)) {
				marks = append(marks, string(mark))
			}
		}
	}
	if len(marks) > 0 {
		text += " Marked: " + strings.Join(marks, ", ") + "."
	}
	if len(c.slow) > 0 {
		text += " " + slowosd.Sentence(c.slow)
	}
	return ellipsis.Cut(text, 512)
}

// write puts the conclusion into status and ends the run ID.
func (c conclusion) write(s *v1alpha1.CephBenchmarkStatus, seen facts) {
	end := metav1.NewTime(seen.now)
	s.CompletionTime = &end
	s.Summary = ellipsis.Cut(c.summary, 512)
	s.Environment, s.SpaceEfficiency = &c.environment, c.space
	seen.noteOSDs(s)
	if c.valid == 0 {
		setEnd(s, v1alpha1.ConditionFailed, kstatus.Outcome{
			Reason:  v1alpha1.ReasonNoValidRun,
			Message: fmt.Sprintf("None of %d runs is valid. The last one: %s", seen.spec.Repetitions, c.summary),
		})
		if len(seen.spec.Expectations) > 0 {
			s.Verdict = v1alpha1.BenchmarkInvalid
		}
		return
	}
	s.Phases, s.Headline, s.SlowOSDs = c.phases, c.headline, c.slow
	s.Verdict, s.Expectations = c.gate.Verdict, c.gate.Results
	kind, o := kstatus.Judge(s.Verdict, seen.spec.FailOn, c.summary)
	setEnd(s, kind, o)
}
