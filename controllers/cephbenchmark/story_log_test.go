package cephbenchmark

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clientjob"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/task"
)

// podPrinter has the logs of a world. A standalone client prints the reports of the tasks in its
// Secret: those of the first run while it runs, and all of them at the end.
type podPrinter struct {
	world *world

	mu    sync.Mutex
	lost  string            // a task whose report is missing in the log
	texts map[string]string // of other pods
}

func (p *podPrinter) Read(ctx context.Context, namespace, name, _ string) (io.ReadCloser, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if text, ok := p.texts[name]; ok {
		return io.NopCloser(strings.NewReader(text)), nil
	}
	var pod corev1.Pod
	if err := p.world.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, &pod); err != nil {
		return nil, err
	}
	if _, alone := aloneOf(&pod); !alone {
		return io.NopCloser(strings.NewReader("")), nil
	}
	planned, err := p.world.plannedFor(ctx, &pod)
	if err != nil {
		return nil, err
	}
	var log bytes.Buffer
	for _, todo := range planned {
		if pod.Status.Phase == corev1.PodRunning && strings.HasPrefix(todo.ID, "r2-") {
			break
		}
		report := reportOf(todo)
		if todo.ID == p.lost {
			continue
		}
		if err := runner.WriteFrame(&log, report); err != nil {
			return nil, err
		}
	}
	return io.NopCloser(&log), nil
}

// aloneOf returns the command of a pod's client, and whether the client is standalone.
func aloneOf(pod *corev1.Pod) (command string, alone bool) {
	command = strings.Join(pod.Spec.Containers[0].Command, " ")
	return command, strings.Contains(command, "--tasks="+clientjob.TasksPath)
}

// plannedFor returns the tasks in the Secret of a pod.
func (w *world) plannedFor(ctx context.Context, pod *corev1.Pod) ([]task.Task, error) {
	var secret corev1.Secret
	for _, volume := range pod.Spec.Volumes {
		if volume.Secret == nil {
			continue
		}
		if err := w.Get(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: volume.Secret.SecretName}, &secret); err != nil {
			return nil, err
		}
	}
	if len(secret.Data["session.key"]) > 0 || len(secret.Data["keyring"]) == 0 {
		return nil, fmt.Errorf("the Secret has %d entries, among them the key of a session or no keyring", len(secret.Data))
	}
	var planned []task.Task
	return planned, json.Unmarshal(secret.Data[clientjob.TasksFile], &planned)
}

// reportOf returns the report of a task that succeeded.
func reportOf(todo task.Task) *task.Report {
	now := time.Now()
	report := &task.Report{Status: task.Status{ID: todo.ID, State: task.Done}}
	if todo.Measure != nil {
		report.StartTime, report.EndTime, report.Result = &now, &now, runnertest.DefaultResult(todo)
	}
	return report
}

// passTime waits until a runner is unreachable, and then advances the clock by the time after which
// the client becomes standalone.
func (w *world) passTime(b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	w.eventually(func() string {
		s, is := w.reconciler.live.Followed(client.ObjectKeyFromObject(b))
		if !is {
			return "there is no session"
		}
		for _, f := range s.Runners.Views() {
			if f.Err != nil {
				return ""
			}
		}
		return "no runner is out of reach"
	})
	w.wait(aloneAfter)
}

// pod waits for the pod of the Job with an annotation.
func (w *world) pod(annotation string) *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{}
	w.eventually(func() string {
		var jobs batchv1.JobList
		var pods corev1.PodList
		if err := errors.Join(w.List(w.t.Context(), &jobs, client.InNamespace(w.namespace)), w.List(w.t.Context(), &pods, client.InNamespace(w.namespace))); err != nil {
			return err.Error()
		}
		if len(jobs.Items) != 1 || jobs.Items[0].Annotations[annotation] == "" || len(pods.Items) != 1 || pods.Items[0].Status.Phase != corev1.PodRunning {
			return fmt.Sprintf("%d Jobs and %d pods, not those with %s", len(jobs.Items), len(pods.Items), annotation)
		}
		*pod = pods.Items[0]
		return ""
	})
	return pod
}

// end sets the final phase of a pod.
func (w *world) end(pod *corev1.Pod, phase corev1.PodPhase) {
	w.t.Helper()
	w.eventually(func() string {
		if err := w.Get(w.t.Context(), client.ObjectKeyFromObject(pod), pod); err != nil {
			return err.Error()
		}
		pod.Status.Phase = phase
		if err := w.Status().Update(w.t.Context(), pod); err != nil {
			return err.Error()
		}
		return ""
	})
}

func (w *world) wantWarning(reason string) {
	w.t.Helper()
	w.eventually(func() string {
		var events eventsv1.EventList
		if err := w.List(w.t.Context(), &events, client.InNamespace(w.namespace)); err != nil {
			return err.Error()
		}
		if !slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool { return e.Type == corev1.EventTypeWarning && e.Reason == reason }) {
			return fmt.Sprintf("no warning %s among %d events", reason, len(events.Items))
		}
		return ""
	})
}

var twoWrites = strings.Replace(oneWrite, "repetitions: 1", "repetitions: 2", 1)

// Stories of results in logs.
func logStories() map[string]story {
	return map[string]story{
		"a standalone client":                         aClientWorksAlone,
		"a report is lost":                            aReportIsLost,
		"a manager comes back to a standalone client": aManagerComesBackToAClientAlone,
		"a pod ends without a manager":                aPodEndsWithoutAManager,
		"a standalone client is paused":               aClientAloneIsPaused,
	}
}

func (w *world) buildWall() {
	w.kubelet.set(func(k *kubelet) { k.wall = errors.New("i/o timeout") })
}

// firstRunDone waits until the first run is valid. A standalone client reports that while it
// continues.
func (w *world) firstRunDone(b *v1alpha1.CephBenchmark) {
	w.t.Helper()
	w.until(b, "done with one run", func() bool { return len(b.Status.Runs) == 1 && b.Status.Runs[0].State == v1alpha1.RunValid })
}

func aClientWorksAlone(w *world) {
	w.buildWall()
	b := w.benchmark("b", twoWrites)
	w.passTime(b)
	pod := w.pod(clientjob.AnnotationStandalone)
	if command, alone := aloneOf(pod); !alone || strings.Contains(command, "--key-file") {
		w.t.Errorf("the client runs %q", command)
	}
	w.wantWarning(v1alpha1.ReasonClientsUnreachable)
	w.firstRunDone(b)
	w.until(b, "waiting for the second run", func() bool {
		return reasonOf(b) == v1alpha1.ReasonRunning && strings.Contains(messageOf(b), "Run 2 of 2") && strings.Contains(messageOf(b), "no disturbance aborts a run")
	})
	w.end(pod, corev1.PodSucceeded)
	w.untilReason(b, v1alpha1.ReasonComplete)
	w.wantSummary(b, "2 of 2 runs are valid.", "the results are from its log")
	if b.Status.Headline != "write 1k IOPS" || b.Status.Runs[1].StartTime == nil {
		w.t.Errorf("headline %q, runs %+v", b.Status.Headline, b.Status.Runs)
	}
}

func (w *world) wantSummary(b *v1alpha1.CephBenchmark, parts ...string) {
	w.t.Helper()
	for _, part := range parts {
		if !strings.Contains(b.Status.Summary, part) {
			w.t.Errorf("the summary is %q, without %q", b.Status.Summary, part)
		}
	}
}

func aReportIsLost(w *world) {
	w.buildWall()
	w.logs.lost = "r1-write"
	b := w.benchmark("b", twoWrites)
	w.passTime(b)
	w.end(w.pod(clientjob.AnnotationStandalone), corev1.PodSucceeded)
	w.untilReason(b, v1alpha1.ReasonComplete)
	if b.Status.Runs[0].State != v1alpha1.RunInvalid || !strings.Contains(b.Status.Runs[0].Reason, "ReportLost") || b.Status.Runs[1].State != v1alpha1.RunValid {
		w.t.Errorf("runs %+v, want the first one invalid", b.Status.Runs)
	}
}

func aManagerComesBackToAClientAlone(w *world) {
	w.buildWall()
	b := w.benchmark("b", twoWrites)
	w.passTime(b)
	pod := w.pod(clientjob.AnnotationStandalone)
	w.firstRunDone(b)
	w.stop()
	w.end(pod, corev1.PodSucceeded)
	w.start()
	w.untilReason(b, v1alpha1.ReasonComplete)
	w.wantSummary(b, "2 of 2 runs are valid.")
}

// A pause ends a standalone client at once. Later another client does the remaining runs.
func aClientAloneIsPaused(w *world) {
	w.buildWall()
	b := w.benchmark("b", twoWrites)
	w.passTime(b)
	w.pod(clientjob.AnnotationStandalone)
	w.firstRunDone(b)
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = true })
	w.untilReason(b, v1alpha1.ReasonSuspended)
	w.wantClean()
	w.edit(b, func(s *v1alpha1.CephBenchmarkSpec) { s.Suspend = false })
	w.passTime(b)
	w.end(w.pod(clientjob.AnnotationStandalone), corev1.PodSucceeded)
	w.untilReason(b, v1alpha1.ReasonComplete)
	w.wantSummary(b, "2 of 2 runs are valid.")
}

// A runner's measurement must not be lost if its pod ends while no manager runs.
func aPodEndsWithoutAManager(w *world) {
	w.kubelet.script("r1-", runnertest.Script{Measuring: time.Second})
	b := w.benchmark("b", oneWrite)
	w.until(b, "at work", func() bool { return len(b.Status.Runs) == 1 })
	pod := w.pod(clientjob.AnnotationSpec)
	w.stop()
	var log bytes.Buffer
	w.eventually(func() string {
		report, err := w.kubelet.client(0).Report(w.t.Context(), "r1-write")
		if err == nil {
			err = runner.WriteFrame(&log, report)
		}
		if err != nil {
			return err.Error()
		}
		return ""
	})
	w.logs.texts = map[string]string{pod.Name: log.String()}
	w.end(pod, corev1.PodFailed)
	w.start()
	w.untilReason(b, v1alpha1.ReasonComplete)
	w.wantSummary(b, "from the logs of pods that had ended")
}
