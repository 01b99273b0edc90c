package cephbenchmark

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/engine"
	"github.com/cephtune/cephtune/internal/engine/place"
	"github.com/cephtune/cephtune/internal/figure"
	"github.com/cephtune/cephtune/internal/result"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
)

// withBackground is a script of one client and two phases, and a load beside them.
func withBackground(load engine.Load) *script {
	s := scriptOf(1, fakeLoad{}, fakeLoad{})
	s.background = &background{load: load, ramp: 10 * time.Second, place: place.Place{Clients: 1}}
	return s
}

// playBackground is play with a background load, which runs until it is stopped. Moves of the
// background are marked with a plus.
func playBackground(t *testing.T, s *script, run int32, tasks, background clientTasks, m *memory, clock *time.Time) []string {
	t.Helper()
	var moves []string
	for range 100 {
		m.noteEnds(tasks, *clock)
		m.noteEnds(background, *clock)
		mv := s.next(run, tasks, background, m, *clock)
		whose, mark := tasks, ""
		if mv.background {
			whose, mark = background, "+"
		}
		moves = append(moves, mark+string(mv.kind)+" "+mv.id)
		switch mv.kind {
		case moveAssign:
			state := task.Done
			if mv.tasks[0].Measure != nil {
				state = task.Ready
			}
			whose[0][mv.id] = task.Status{ID: mv.id, State: state}
		case moveStart:
			m.startedAt[mv.id] = *clock
			state := task.Done
			if mv.background {
				state = task.Measuring
			}
			whose[0][mv.id] = task.Status{ID: mv.id, State: state}
		case moveCancel:
			whose[0][mv.id] = task.Status{ID: mv.id, State: task.Done}
		case moveRest:
			*clock = mv.until
		case moveEnd, moveFail:
			return moves
		default:
			t.Fatalf("nobody does anything any more after %v", moves)
		}
	}
	t.Fatalf("it does not end: %v", moves)
	return nil
}

func TestTheBackgroundIsAroundThePhases(t *testing.T) {
	s := withBackground(fakeLoad{dataset: "b", writes: true})
	tasks, background, m, clock := newTasks(1), newTasks(1), newMemory(time.Time{}), time.Unix(1000, 0)
	first := playBackground(t, s, 1, tasks, background, m, &clock)
	if diff := cmp.Diff([]string{
		"+Put data-b",
		"+Put background-r1", "+Start background-r1", "Rest background-r1",
		"Put r1-p1", "Start r1-p1", "Put r1-p2", "Start r1-p2",
		"+Cancel background-r1", "End ",
	}, first); diff != "" {
		t.Errorf("first run (-want +got):\n%s", diff)
	}
	second := playBackground(t, s, 2, tasks, background, m, &clock)
	if diff := cmp.Diff([]string{
		"+Put tidy-background-r1", "+Put background-r2", "+Start background-r2", "Rest background-r2",
		"Put r2-p1", "Start r2-p1", "Put r2-p2", "Start r2-p2",
		"+Cancel background-r2", "End ",
	}, second); diff != "" {
		t.Errorf("second run (-want +got):\n%s", diff)
	}
}

// What follows from how far phases and background are, in the second of two phases.
func TestScriptMovesOfTheBackground(t *testing.T) {
	failed := task.Status{State: task.Failed, Failure: &task.Failure{Reason: task.ToolKilled, Message: "by a signal"}}
	cases := map[string]struct {
		second         task.State
		background     task.Status
		run            int32
		want           moveKind
		wantBackground bool
		wantReason     string // of the run
	}{
		"both are at work":                          {second: task.Measuring, background: task.Status{State: task.Measuring}, want: moveWait},
		"the background load has failed":            {second: task.Measuring, background: failed, want: moveFail, wantBackground: true, wantReason: "BackgroundLoadFailed: "},
		"the background load did nothing":           {second: task.Measuring, background: task.Status{State: task.Failed, Failure: &task.Failure{Reason: "NoIO"}}, want: moveFail, wantBackground: true, wantReason: "BackgroundLoadNoIO: "},
		"the background load has ended by itself":   {second: task.Measuring, background: task.Status{State: task.Failed, Failure: &task.Failure{Reason: "EndedEarly"}}, want: moveFail, wantBackground: true, wantReason: "BackgroundLoadEndedEarly: "},
		"somebody has stopped the background load":  {second: task.Measuring, background: task.Status{State: task.Done}, want: moveFail, wantBackground: true, wantReason: "BackgroundLoadEndedEarly: "},
		"its runner has never heard of it":          {second: task.Measuring, want: moveFail, wantBackground: true, wantReason: "BackgroundLoadEndedEarly: "},
		"the phases are done":                       {second: task.Done, background: task.Status{State: task.Measuring}, want: moveCancel, wantBackground: true},
		"all is done":                               {second: task.Done, background: task.Status{State: task.Done}, want: moveEnd},
		"it fails when it is stopped":               {second: task.Done, background: failed, want: moveFail, wantBackground: true, wantReason: "BackgroundLoadFailed: "},
		"a phase has failed, and both were stopped": {second: task.Failed, background: task.Status{State: task.Done}, want: moveFail},
		"that of an earlier run is still at work":   {second: task.Done, background: task.Status{State: task.Measuring}, run: 2, want: moveCancel, wantBackground: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tasks, background, m := newTasks(1), newTasks(1), newMemory(time.Time{})
			tasks[0]["r1-p1"] = task.Status{ID: "r1-p1", State: task.Done}
			tasks[0]["r1-p2"] = task.Status{ID: "r1-p2", State: tc.second, Failure: failureOf(tc.second)}
			if tc.background.State != "" {
				tc.background.ID = "background-r1"
				background[0]["background-r1"] = tc.background
			}
			got := withBackground(fakeLoad{}).next(max(tc.run, 1), tasks, background, m, time.Unix(1000, 0))
			if got.kind != tc.want || got.background != tc.wantBackground {
				t.Fatalf("got %s %s, beside %v: want %s, %v", got.kind, got.id, got.background, tc.want, tc.wantBackground)
			}
			if tc.wantReason == "" {
				return
			}
			wrong := spoiltByBackground(*got.failure)
			if !strings.HasPrefix(wrong, tc.wantReason) || backgroundReason(wrong) != strings.TrimSuffix(tc.wantReason, ": ") {
				t.Errorf("the run is spoilt by %q, want %q", wrong, tc.wantReason)
			}
		})
	}
}

// A manager that was restarted does not know when the background load began, but its runner
// does.
func TestTheRampIsThatOfTheRunner(t *testing.T) {
	began := time.Unix(1000, 0)
	background := newTasks(1)
	background[0]["background-r1"] = task.Status{ID: "background-r1", State: task.Measuring, StartTime: &began}
	got := withBackground(fakeLoad{}).next(1, newTasks(1), background, newMemory(time.Time{}), began.Add(4*time.Second))
	if got.kind != moveRest || !got.until.Equal(began.Add(10*time.Second)) {
		t.Errorf("got %s until %v", got.kind, got.until)
	}
}

func aBackground() *v1alpha1.BackgroundLoad {
	return &v1alpha1.BackgroundLoad{
		Fio: &v1alpha1.Fio{
			Pattern: v1alpha1.FioRandWrite, BlockSize: resource.MustParse("4Ki"), IODepth: 1, NumJobs: 1, RateIOPS: new(int64(100)),
			Duration: metav1.Duration{Duration: time.Minute},
		},
		Ramp:      &metav1.Duration{},
		Resources: v1alpha1.ClientResources{CPU: resource.MustParse("250m"), Memory: resource.MustParse("256Mi")},
		Nodes:     []v1alpha1.NodeName{"b"},
	}
}

func TestTheJobOfTheBackground(t *testing.T) {
	s := session{name: "cephtune-0123456789"}
	spec := v1alpha1.CephBenchmarkSpec{Template: v1alpha1.BenchmarkTemplate{
		BackgroundLoad: aBackground(),
		Clients: v1alpha1.Clients{
			Count: 3, Spread: v1alpha1.SpreadRequired, Nodes: []v1alpha1.NodeName{"a"}, NodeSelector: map[string]v1alpha1.LabelValue{"disk": "fast"},
			Resources: v1alpha1.ClientResources{CPU: resource.MustParse("2"), Memory: resource.MustParse("1Gi")},
		},
	}}
	j := jobSpec{
		benchmark: &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "n"}}, spec: spec, session: s,
		script: withBackground(fakeLoad{}), secret: s.name,
	}
	clients, job := jobOf(j), backgroundJobOf(j)
	if job.Name == clients.Name || len(job.Name) > 22 || *job.Spec.Completions != 1 || *clients.Spec.Completions != 3 {
		t.Errorf("Job %s of %d pods, beside Job %s of %d", job.Name, *job.Spec.Completions, clients.Name, *clients.Spec.Completions)
	}
	if job.Spec.Template.Labels[labelSession] != job.Name || job.Spec.Template.Labels[settings.LabelRole] != settings.RoleBackground ||
		clients.Spec.Template.Labels[settings.LabelRole] != "" {
		t.Errorf("labels %v, and of clients %v", job.Spec.Template.Labels, clients.Spec.Template.Labels)
	}
	pod, other := job.Spec.Template.Spec, clients.Spec.Template.Spec
	if cpu := pod.Containers[0].Resources.Limits[corev1.ResourceCPU]; cpu.String() != "250m" {
		t.Errorf("it has %s CPUs", cpu.String())
	}
	if diff := cmp.Diff(other.Volumes, pod.Volumes); diff != "" {
		t.Errorf("volumes (-clients +background):\n%s", diff)
	}
	if diff := cmp.Diff(other.NodeSelector, pod.NodeSelector); diff != "" {
		t.Errorf("node selector (-clients +background):\n%s", diff)
	}
	terms := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	if len(terms) != 1 || terms[0].MatchFields[0].Values[0] != "b" {
		t.Errorf("nodes %+v", terms)
	}
	apart := pod.Affinity.PodAntiAffinity
	if len(apart.RequiredDuringSchedulingIgnoredDuringExecution) > 0 ||
		apart.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector.MatchLabels[labelSession] != s.name {
		t.Errorf("apart %+v", apart)
	}
}

// Nothing that the background load makes has the name of something of a client's, and all of
// it begins with that of the session, by which it is found.
func TestThePlaceOfTheBackground(t *testing.T) {
	s := session{name: "cephtune-0123456789"}
	clients := []place.Place{{Owner: s.name, Namespace: s.name, Client: 0, Clients: 2, Pool: "p", CephUser: "io", DatasetBytes: 1, Image: place.Image{Shared: true}}}
	p := s.backgroundPlace(clients)
	if err := p.Validate(); err != nil || p.Image.Shared || p.Clients != 1 {
		t.Errorf("%v: %+v", err, p)
	}
	for _, name := range []string{p.Name("x"), p.ObjectNamespace("x")} {
		if !strings.HasPrefix(name, s.name) || name == clients[0].Name("x") {
			t.Errorf("name %s", name)
		}
	}
}

func TestDecideAboutTheBackground(t *testing.T) {
	background := func(f *facts) {
		f.spec.Template.BackgroundLoad = aBackground()
		f.script = withBackground(fakeLoad{})
		f.background = backgroundFacts{job: &batchv1.Job{}, tasks: newTasks(1), pods: []corev1.Pod{*f.pods[0].DeepCopy()}}
		f.memory.backgroundJob = "2"
	}
	cases := map[string]struct {
		change      []func(*facts)
		want        step
		wantReason  string
		wantMessage string
	}{
		"its Job is still to be made": {
			change: []func(*facts){func(f *facts) { f.background, f.memory.backgroundJob = backgroundFacts{}, "" }},
			want:   stepPrepare, wantReason: v1alpha1.ReasonPreparing,
		},
		"its Job was deleted": {
			change: []func(*facts){func(f *facts) { f.background = backgroundFacts{lost: true} }},
			want:   stepFail, wantReason: v1alpha1.ReasonBackgroundLoadLost, wantMessage: "not by the operator",
		},
		"its pod was killed": {
			change: []func(*facts){withTask(task.Measuring, ""), func(f *facts) {
				f.background.pods[0].Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
					Name: "client", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}},
				}}}
			}},
			want: stepFail, wantReason: v1alpha1.ReasonBackgroundLoadLost, wantMessage: "OOMKilled",
		},
		"its pod has no node": {
			change: []func(*facts){withTask(task.Ready, ""), func(f *facts) {
				f.background.pods[0].Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available",
				}}}
			}},
			want: stepWait, wantReason: v1alpha1.ReasonUnschedulable, wantMessage: "of the background load: 0/3 nodes",
		},
		"it has not answered yet": {
			change: []func(*facts){func(f *facts) { f.background.tasks = nil }},
			want:   stepWait, wantReason: v1alpha1.ReasonPreparing, wantMessage: "to answer",
		},
		"it fails in mid-run": {
			change: []func(*facts){withTask(task.Measuring, ""), func(f *facts) {
				f.background.tasks[0]["background-r1"] = task.Status{ID: "background-r1", State: task.Failed, Failure: &task.Failure{Reason: task.ToolKilled}}
			}},
			want: stepConcludeRun,
		},
		"suspended, and the phases are done": {
			change: []func(*facts){withTask(task.Done, ""), func(f *facts) {
				f.tasks[0]["r1-p2"] = task.Status{ID: "r1-p2", State: task.Done}
				f.background.tasks[0]["background-r1"] = task.Status{ID: "background-r1", State: task.Measuring}
				f.benchmark.Spec.Suspend = true
			}},
			want: stepMove, wantReason: v1alpha1.ReasonRunning,
		},
		"suspended in its ramp": {
			change: []func(*facts){func(f *facts) {
				f.background.tasks[0]["background-r1"] = task.Status{ID: "background-r1", State: task.Measuring}
				f.benchmark.Spec.Suspend = true
			}},
			want: stepTearDown, wantReason: v1alpha1.ReasonSuspended,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := decide(atWork(append([]func(*facts){background}, tc.change...)...))
			if got.step != tc.want || got.outcome.Reason != tc.wantReason || !strings.Contains(got.outcome.Message, tc.wantMessage) {
				t.Errorf("got %s, %+v: want %s, %s, %q", got.step, got.outcome, tc.want, tc.wantReason, tc.wantMessage)
			}
		})
	}
}

// The figures of a phase are those of its own time.
func TestTheBackgroundDuringAPhase(t *testing.T) {
	began := today()
	course := &result.Series{
		Boundaries: result.NominalBoundaries, StartSeconds: []float64{0, 50, 100}, EndSeconds: []float64{50, 100, 150},
		OperationsPerSecond: []float64{100, 20, 0}, BytesPerSecond: []float64{100 << 12, 20 << 12, 0},
	}
	measured := &result.Result{
		SchemaVersion: result.SchemaVersion, Clients: 1, Source: result.Source{Tool: result.ToolFIO, Format: "fio-json"},
		Write: &result.Direction{Operations: 6000, Bytes: 6000 << 12, Seconds: 150, ShortestSeconds: 150, Series: course},
	}
	f := atWork(func(f *facts) {
		f.script = withBackground(fakeLoad{})
		f.memory.startedAt["background-r1"] = began
		for id, from := range map[string]time.Duration{"r1-p1": time.Minute, "r1-p2": 110 * time.Second} {
			f.memory.startedAt[id], f.memory.endedAt[id] = began.Add(from), began.Add(from+30*time.Second)
		}
		f.spec.Template.BackgroundLoad, f.background.tasks = aBackground(), newTasks(1)
	})
	observation, err := figure.Observe([]task.Report{{Status: task.Status{ID: "b", State: task.Done}, Result: measured}}, engine.Timing{})
	if err != nil {
		t.Fatal(err)
	}
	iopsOf := func(figures []figure.Figure) float64 {
		f, _ := figure.Find(figures, v1alpha1.MetricIOPS, v1alpha1.DirectionTotal)
		return f.Value
	}
	e := backgroundOutcome{observation: &observation}
	phases := []phaseEvidence{{name: "p1"}, {name: "p2"}}
	wrong := e.duringPhases(f, "background-r1", 1, phases)
	if !strings.HasPrefix(wrong, "BackgroundLoadNoIO: ") || !strings.Contains(wrong, "phase p2") {
		t.Errorf("what is wrong is %q", wrong)
	}
	if got := iopsOf(phases[0].background); got != 20 || len(phases[1].background) != 0 {
		t.Errorf("%v operations per second beside the first phase, and %+v beside the second", got, phases[1].background)
	}

	observation.Result.Write.Series = nil
	if wrong := e.duringPhases(f, "background-r1", 1, phases); wrong != "" || !e.wholeRun || iopsOf(phases[1].background) != 40 {
		t.Errorf("without a course: %q, %+v", wrong, phases)
	}
}
