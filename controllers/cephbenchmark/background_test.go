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
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
)

// asidePhase is the phase that aBackground names.
func asidePhase() v1alpha1.Phase {
	return v1alpha1.Phase{Name: "aside", Fio: &v1alpha1.Fio{
		Pattern: v1alpha1.FioRandWrite, BlockSize: resource.MustParse("4Ki"), IODepth: 1, NumJobs: 1, RateIOPS: new(int64(100)),
		Duration: metav1.Duration{Duration: time.Minute},
	}}
}

func aBackground() *v1alpha1.BackgroundLoad {
	return &v1alpha1.BackgroundLoad{
		Phase:     "aside",
		Ramp:      &metav1.Duration{},
		Resources: v1alpha1.ClientResources{CPU: resource.MustParse("250m"), Memory: resource.MustParse("256Mi")},
		Nodes:     []v1alpha1.NodeName{"b"},
	}
}

func TestTheJobOfTheBackground(t *testing.T) {
	s := clientjob.Execution{Name: "cephtune-0123456789"}
	spec := v1alpha1.CephBenchmarkSpec{Template: v1alpha1.BenchmarkTemplate{
		BackgroundLoad: aBackground(),
		Clients: v1alpha1.Clients{
			Count: 3, Spread: v1alpha1.SpreadRequired, Nodes: []v1alpha1.NodeName{"a"}, NodeSelector: map[string]v1alpha1.LabelValue{"disk": "fast"},
			Resources: v1alpha1.ClientResources{CPU: resource.MustParse("2"), Memory: resource.MustParse("1Gi")},
		},
	}}
	j := clientjob.Spec{
		Benchmark: &v1alpha1.CephBenchmark{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "n"}}, Spec: spec, Execution: s,
		Script: withBackground(fakeLoad{}), Secret: s.Name,
	}
	clients, job := clientjob.JobOf(j), clientjob.BackgroundJobOf(j)
	if job.Name == clients.Name || len(job.Name) > 22 || *job.Spec.Completions != 1 || *clients.Spec.Completions != 3 {
		t.Errorf("Job %s of %d pods, beside Job %s of %d", job.Name, *job.Spec.Completions, clients.Name, *clients.Spec.Completions)
	}
	if job.Spec.Template.Labels[clientjob.LabelExecution] != job.Name || job.Spec.Template.Labels[settings.LabelRole] != settings.RoleBackground ||
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
		apart.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm.LabelSelector.MatchLabels[clientjob.LabelExecution] != s.Name {
		t.Errorf("apart %+v", apart)
	}
}

func TestDecideAboutTheBackground(t *testing.T) {
	background := func(f *facts) {
		f.spec.Template.BackgroundLoad = aBackground()
		f.script = withBackground(fakeLoad{})
		f.background = backgroundFacts{job: &batchv1.Job{}, tasks: newTasks(), pods: []corev1.Pod{*f.pods[0].DeepCopy()}}
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
			want:   reconcile.StepFail, wantReason: v1alpha1.ReasonBackgroundLoadLost, wantMessage: "not by the operator",
		},
		"its pod was killed": {
			change: []func(*facts){withTask(task.Measuring, ""), func(f *facts) {
				f.background.pods[0].Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
					Name: "client", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}},
				}}}
			}},
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonBackgroundLoadLost, wantMessage: "OOMKilled",
		},
		"its pod has no node": {
			change: []func(*facts){withTask(task.Ready, ""), func(f *facts) {
				f.background.pods[0].Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available",
				}}}
			}},
			want: reconcile.StepWait, wantReason: v1alpha1.ReasonUnschedulable, wantMessage: "of the background load: 0/3 nodes",
		},
		"it has not answered yet": {
			change: []func(*facts){func(f *facts) { f.background.tasks = nil }},
			want:   reconcile.StepWait, wantReason: v1alpha1.ReasonPreparing, wantMessage: "to answer",
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
			if got.Step != tc.want || got.Outcome.Reason != tc.wantReason || !strings.Contains(got.Outcome.Message, tc.wantMessage) {
				t.Errorf("got %s, %+v: want %s, %s, %q", got.Step, got.Outcome, tc.want, tc.wantReason, tc.wantMessage)
			}
		})
	}
}
