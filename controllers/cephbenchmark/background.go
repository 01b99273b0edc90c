package cephbenchmark

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
)

// A background load has a Job, a pod and a runner of its own: a runner does one thing at a time,
// and in a client's pod the load would take CPU from the measurement. Its Job belongs to that of
// the clients and goes with it, which costs one API write and not two.

// background is the script's background load.
type background struct {
	load  engine.Load
	place place.Place
	ramp  time.Duration
}

// background are the observations of the background load; empty without one.
type backgroundFacts struct {
	job  *batchv1.Job
	lost bool // it was made, and something other than the manager deleted it
	pods []corev1.Pod
	// runners has one, 0.
	runners map[int]runnerView
	tasks   clientTasks // nil if the runner has not answered yet
}

// backgroundIndex is the background load's index among the runners that are followed.
const backgroundIndex = -1

// background is the session of the background load: a name for its Job, and the first part
// of the names of everything that it makes, by which it is removed with the rest.
func (s session) background() session { return session{name: s.name + "-bg"} }

// backgroundPlace is the background load's place: the target that the clients share, with data
// of its own.
func (s session) backgroundPlace(places []place.Place) place.Place {
	p := places[0]
	p.Owner, p.Namespace = s.background().name, s.background().name
	p.Client, p.Clients, p.Image.Shared = 0, 1, false
	p.Image.RolledBack = false // Rollback concerns only the measured images.
	return p
}

// newBackground is nil without a background load in the template.
func newBackground(spec *v1alpha1.BackgroundLoad, p place.Place) (*background, error) {
	if spec == nil {
		return nil, nil //nolint:nilnil // Documented: there is none.
	}
	load, err := engine.BackgroundOf(*spec)
	if err != nil {
		return nil, err
	}
	b := &background{load: load, place: p}
	if spec.Ramp != nil {
		b.ramp = spec.Ramp.Duration
	}
	return b, nil
}

// backgroundID names its task in a run.
func backgroundID(run int32) string { return fmt.Sprintf("background-r%d", run) }

// prepareBackground writes its dataset, once in a session.
func (s *script) prepareBackground(background clientTasks) (move, bool) {
	if s.background == nil {
		return move{}, true
	}
	for _, dataset := range s.background.load.Datasets(s.background.place) {
		id := "data-" + dataset.Key
		todo := s.background.only(func(c place.Place) (task.Task, error) {
			return prefillTask(id, s.background.load, c, dataset.Key), nil
		})
		if mv, done := carryOut(id, "prefilling "+dataset.Key+" of the background load", todo, background); !done {
			return mv.aside(), false
		}
	}
	return move{}, true
}

// beginBackground has the background load at work before the first phase of a run is handed
// over, for as long as its ramp; from then on it only makes sure that it still is. One
// that was stopped is fine where the phases are done, or where one has failed: then that
// is the cause.
func (s *script) beginBackground(run int32, tasks, background clientTasks, m *memory, now time.Time) (move, bool) {
	if s.background == nil {
		return move{}, true
	}
	id, step := backgroundID(run), fmt.Sprintf("run %d, background", run)
	status, there := background[0][id]
	switch {
	case status.State == task.Done && (s.allDone(run, tasks) || s.anyFailed(run, tasks)):
		return move{}, true
	case there && status.State.Ended():
		return failBackground(id, step, status), false
	case tasks.begun(run) && status.State != task.Measuring:
		// A new runner took the place of the one that the run began with.
		return failBackground(id, step, task.Status{State: task.Failed, Failure: &task.Failure{
			Reason: reportLost, Message: "the runner no longer knows it, though the run has begun",
		}}), false
	case tasks.begun(run):
		return move{}, true
	case status.State == task.Measuring:
		since := cmp.Or(m.startedAt[id], background.startTime(id))
		if until := since.Add(s.background.ramp); now.Before(until) {
			return move{kind: moveRest, id: id, until: until, step: step}, false
		}
		return move{}, true
	case !there:
		if mv, done := s.tidyBackground(run, background); !done {
			return mv, false
		}
	}
	todo := s.background.only(func(c place.Place) (task.Task, error) { return s.background.load.Task(c, engine.Run{ID: id}) })
	mv, _ := measure(id, step, todo, background, m)
	return mv.aside(), false
}

// tidyBackground removes what it has written in earlier runs of this session.
func (s *script) tidyBackground(run int32, background clientTasks) (move, bool) {
	for earlier := int32(1); earlier < run; earlier++ {
		id := backgroundID(earlier)
		steps := s.background.load.Tidy(s.background.place, engine.Run{ID: id})
		if !background.has(id) || len(steps) == 0 {
			continue
		}
		todo := s.background.only(func(place.Place) (task.Task, error) {
			return task.Task{ID: tidyID(id), Steps: steps, StepsTimeoutSeconds: tidyTimeout.Seconds()}, nil
		})
		if mv, done := carryOut(tidyID(id), "tidying up after the background load", todo, background); !done {
			return mv.aside(), false
		}
	}
	return move{}, true
}

// endBackground stops it when the last phase of a run has ended.
func (s *script) endBackground(run int32, background clientTasks) (move, bool) {
	id := backgroundID(run)
	if s.background == nil || background[0][id].State.Ended() { // Done: beginBackground has seen to that.
		return move{}, true
	}
	return move{kind: moveCancel, id: id, step: "stopping the background load", background: true, measured: true}, false
}

// allDone reports whether all phases of a run are.
func (s *script) allDone(run int32, tasks clientTasks) bool {
	return !slices.ContainsFunc(s.phases, func(p phase) bool {
		return !tasks.all(taskID(run, p.name), func(state task.State) bool { return state == task.Done })
	})
}

// anyFailed reports whether a phase of a run has failed.
func (s *script) anyFailed(run int32, tasks clientTasks) bool {
	return slices.ContainsFunc(s.phases, func(p phase) bool { return tasks.failed(taskID(run, p.name)) != nil })
}

// only makes the task of the background load, which is a single client.
func (b *background) only(of func(place.Place) (task.Task, error)) func() ([]task.Task, error) {
	return func() ([]task.Task, error) {
		made, err := of(b.place)
		return []task.Task{made}, err
	}
}

// aside marks a move as the background load's.
func (mv move) aside() move {
	mv.background = true
	if mv.failure != nil {
		mv.failure.background = true
	}
	return mv
}

// failBackground ends a run without its background load. A cancelled one has ended too: only
// endBackground may cancel it.
func failBackground(id, step string, status task.Status) move {
	failure := task.Failure{Reason: cancelledReason, Message: "it was stopped before the last phase"}
	switch {
	case status.Failure != nil:
		failure = *status.Failure
	case status.State == task.Done:
		failure.Reason = task.FailureReason(engine.EndedEarly)
	}
	return move{kind: moveFail, id: id, step: step, background: true, failure: &failedTask{id: id, background: true, failure: failure}}
}

// spoiltByBackground is why a run whose background load has failed is invalid. It begins with the
// reason.
func spoiltByBackground(f failedTask) string {
	reason := v1alpha1.ReasonBackgroundLoadFailed
	switch why := f.failure.Reason; {
	case slices.Contains([]task.FailureReason{cancelledReason, reportLost, task.FailureReason(engine.EndedEarly)}, why):
		reason = v1alpha1.ReasonBackgroundLoadEndedEarly
	case why == task.FailureReason(parse.NoIO):
		reason = v1alpha1.ReasonBackgroundLoadNoIO
	}
	return reason + ": " + describeFailure(f)
}

// backgroundReason is the reason that such a text begins with; "" if it is about
// something else.
func backgroundReason(wrong string) string {
	reason, _, _ := strings.Cut(wrong, ":")
	if slices.Contains([]string{v1alpha1.ReasonBackgroundLoadFailed, v1alpha1.ReasonBackgroundLoadEndedEarly, v1alpha1.ReasonBackgroundLoadNoIO}, reason) {
		return reason
	}
	return ""
}

func (f facts) hasBackground() bool { return f.spec.Template.BackgroundLoad != nil }

// heard reports whether all runners have answered.
func (f facts) heard() bool {
	return f.tasks != nil && (!f.hasBackground() || f.background.tasks != nil)
}

// begun reports whether any task of a run was handed over, which begins the run.
func (f facts) begun(run int32) bool {
	return f.tasks.begun(run) || f.background.tasks.has(backgroundID(run))
}

// everyone are the clients and the background load.
func (f facts) everyone() []runnerView {
	all := make([]runnerView, 0, len(f.runners)+1)
	for i := range int(f.spec.Template.Clients.Count) {
		if view, ok := f.runners[i]; ok {
			all = append(all, view)
		}
	}
	if view, ok := f.background.runners[0]; ok {
		all = append(all, view)
	}
	return all
}

// party are the runners that a move is about, and how far they are.
func (f facts) party(mv move) (map[int]runnerView, clientTasks) {
	if mv.background {
		return f.background.runners, f.background.tasks
	}
	return f.runners, f.tasks
}

// observeBackgroundJob looks at the Job of the background load and its pod.
func (r *Reconciler) observeBackgroundJob(ctx context.Context, seen *facts) error {
	if !seen.hasBackground() {
		return nil
	}
	key := types.NamespacedName{Namespace: seen.benchmark.Namespace, Name: seen.session.background().name}
	job := &batchv1.Job{}
	err := r.client.Get(ctx, key, job)
	if apierrors.IsNotFound(err) && seen.memory.backgroundJob != "" {
		err = r.reader.Get(ctx, key, job) // The cache may be late.
	}
	if apierrors.IsNotFound(err) {
		seen.background.lost = seen.memory.backgroundJob != ""
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the Job of the background load: %w", err)
	}
	if !metav1.IsControlledBy(job, seen.job) {
		return nil // Of an earlier session, and about to go; or a foreign one, which prepare reports.
	}
	seen.background.job, seen.memory.backgroundJob = job, job.UID
	var pods corev1.PodList
	if err := r.client.List(ctx, &pods, client.InNamespace(job.Namespace), client.MatchingLabels{labelSession: job.Name}); err != nil {
		return fmt.Errorf("list the pods of the background load: %w", err)
	}
	seen.background.pods = slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !metav1.IsControlledBy(&pod, job) })
	if stuck := stuckObject(job, seen.background.pods); stuck != nil && seen.hint == "" && seen.now.Sub(job.CreationTimestamp.Time) > hintAfter {
		seen.hint, err = r.lastWarning(ctx, stuck)
	}
	return err
}

// makeBackground makes its Job, which the Job of the clients owns. It may be there
// already, from before the manager was restarted.
func (r *Reconciler) makeBackground(ctx context.Context, seen facts, clients *batchv1.Job, spec jobSpec) error {
	if !seen.hasBackground() || seen.memory.backgroundJob != "" {
		return nil
	}
	job := backgroundJobOf(spec)
	if err := controllerutil.SetControllerReference(clients, job, r.client.Scheme()); err != nil {
		return fmt.Errorf("own the Job of the background load: %w", err)
	}
	err := r.client.Create(ctx, job)
	if apierrors.IsAlreadyExists(err) {
		there := &batchv1.Job{}
		if err := r.reader.Get(ctx, client.ObjectKeyFromObject(job), there); err != nil {
			return fmt.Errorf("read the Job of the background load: %w", err)
		}
		if !metav1.IsControlledBy(there, clients) {
			return fmt.Errorf("the Job %s is in the way of the background load: delete it, or wait until it is gone", job.Name)
		}
		job, err = there, nil
	}
	if err != nil {
		return fmt.Errorf("make the Job of the background load: %w", err)
	}
	seen.memory.backgroundJob = job.UID
	return nil
}

// backgroundJobOf returns its Job: that of one client, under another name, with its own
// resources and nodes, and by preference where no client is.
func backgroundJobOf(j jobSpec) *batchv1.Job {
	spec := j.spec.Template.BackgroundLoad
	j.spec = *j.spec.DeepCopy()
	clients := &j.spec.Template.Clients
	clients.Count, clients.Spread, clients.Nodes, clients.Resources = 1, v1alpha1.SpreadNone, spec.Nodes, spec.Resources
	j.secret, j.session = secretName(j.session, false), j.session.background()
	job := jobOf(j)
	pod := &job.Spec.Template
	for _, labels := range []map[string]string{job.Labels, pod.Labels} {
		labels[settings.LabelRole] = settings.RoleBackground
	}
	if pod.Spec.Affinity == nil {
		pod.Spec.Affinity = &corev1.Affinity{}
	}
	pod.Spec.Affinity.PodAntiAffinity = &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{{
			Weight: 100,
			PodAffinityTerm: corev1.PodAffinityTerm{
				TopologyKey:   corev1.LabelHostname,
				LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{labelSession: j.secret}},
			},
		}},
	}
	return job
}

// backgroundWaiting says why the background load does not run yet; "" if it does.
func (f facts) backgroundWaiting() (reason, message string) {
	for i := range f.background.pods {
		if reason, message := podWaiting(&f.background.pods[i]); reason != "" {
			return reason, fmt.Sprintf("Pod %s, of the background load: %s", f.background.pods[i].Name, message)
		}
	}
	switch {
	case len(addressesOf(f.background.pods)) > 0:
		return "", ""
	case f.hint != "":
		return v1alpha1.ReasonClientsNotStarted, "The pod of the background load does not run. Kubernetes warns: " + f.hint
	}
	return v1alpha1.ReasonPreparing, "The pod of the background load is being started."
}

// backgroundOutcome is what the background load of a run has come to.
type backgroundOutcome struct {
	digest     string
	start, end time.Time
	report     *task.Report
	// observation is of the whole time; nil if nothing was measured.
	observation *figure.Observation
	// wholeRun says that the engine reported no course, so that phases have the figures of the
	// whole time.
	wholeRun bool
}

// observeBackground fetches the background load's report of a run, and gives each phase its
// figures. The string is why the run is invalid. A load that has not ended, because the run was
// given up before, has no report.
func (r *Reconciler) observeBackground(ctx context.Context, seen facts, run int32, phases []phaseEvidence) (*backgroundOutcome, string, error) {
	id := backgroundID(run)
	if !seen.hasBackground() || !seen.background.tasks.all(id, task.State.Ended) {
		return nil, "", nil
	}
	report, err := r.backgroundReport(ctx, seen, id)
	if err != nil {
		return nil, "", err
	}
	e := &backgroundOutcome{
		digest: digestOf(seen.spec.Template.BackgroundLoad),
		start:  cmp.Or(seen.memory.startedAt[id], seen.background.tasks.startTime(id)),
		end:    cmp.Or(seen.memory.endedAt[id], seen.background.tasks.endTime(id)),
		report: report,
	}
	if e.report.Result == nil {
		return e, "", nil // The task has failed, which the script has seen.
	}
	observation, err := figure.Observe([]task.Report{*report}, engine.Timing{})
	if err != nil {
		return e, fmt.Sprintf("%s: %v", v1alpha1.ReasonBackgroundLoadFailed, err), nil
	}
	e.observation = &observation
	return e, e.duringPhases(seen, id, run, phases), nil
}

// duringPhases gives each phase the figures of the background load in its time, and returns
// why the run is invalid.
func (e *backgroundOutcome) duringPhases(seen facts, id string, run int32, phases []phaseEvidence) (wrong string) {
	for i := range phases {
		p := &phases[i]
		from, to := seen.whileMeasured(id, taskID(run, p.name), seen.script.phases[i].load.Timing())
		figures, err := figure.During(e.observation.Result, from, to)
		switch {
		case err != nil:
			e.wholeRun = true
			p.background = e.observation.Figures
		case len(figures) == 0:
			wrong = cmp.Or(wrong, fmt.Sprintf("%s: the background load did nothing while phase %s was measured", v1alpha1.ReasonBackgroundLoadNoIO, p.name))
		default:
			p.background = figures
		}
	}
	return wrong
}

// whileMeasured is the time in which a phase was measured, in seconds since the
// background began. The manager's clock knows both, unless it was restarted: then the
// nodes' clocks are used, which may differ.
func (f facts) whileMeasured(background, phase string, timing engine.Timing) (from, to float64) {
	began, start, end := f.memory.startedAt[background], f.memory.startedAt[phase], f.memory.endedAt[phase]
	if began.IsZero() || start.IsZero() {
		began, start, end = f.background.tasks.startTime(background), f.tasks.startTime(phase), f.tasks.endTime(phase)
	}
	from = max(start.Sub(began).Seconds()+timing.RampSeconds, 0)
	return from, max(end.Sub(began).Seconds(), from)
}

// describeBackground describes the background load for comparisons of results. Its place is
// compared separately.
func describeBackground(spec *v1alpha1.BackgroundLoad) string {
	if spec == nil {
		return ""
	}
	load := spec.DeepCopy()
	load.Nodes = nil
	text, err := json.Marshal(load)
	if err != nil {
		return "" // It came as JSON, so it can be JSON again.
	}
	return string(text)
}

// cleanUpByBackground has the background load end what it does and remove what it has made,
// if it still answers.
func (r *Reconciler) cleanUpByBackground(ctx context.Context, seen facts) (string, error) {
	tasks, runners := seen.background.tasks, seen.background.runners
	answers := tasks != nil && runners[0].err == nil && len(addressesOf(seen.background.pods)) > 0
	if !answers || seen.script == nil || seen.script.background == nil {
		return "", nil
	}
	if seen.full() { // Its tools would wait for room.
		seen.memory.backgroundCleanupFailed = true
	}
	if id, busy := tasks.unfinished(); busy && (id != cleanupID || seen.memory.backgroundCleanupFailed) {
		return "The background load is being stopped.", r.onEach(ctx, runners, func(ctx context.Context, _ int, c runner.Client) error { return c.Cancel(ctx, id) })
	}
	steps := seen.leftoversOf(seen.script.background.place, []engine.Load{seen.script.background.load})
	if seen.memory.backgroundCleanupFailed || tasks.all(cleanupID, task.State.Ended) || len(steps) == 0 {
		return "", nil
	}
	if !tasks.has(cleanupID) {
		err := r.onEach(ctx, runners, func(ctx context.Context, _ int, c runner.Client) error {
			_, err := c.Put(ctx, task.Task{ID: cleanupID, Steps: steps, StepsTimeoutSeconds: cleanupTimeout.Seconds()})
			return err
		})
		seen.memory.backgroundCleanupFailed = err != nil // Then the manager does it.
	}
	return "The background load is removing its data.", nil
}
