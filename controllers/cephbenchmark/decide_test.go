package cephbenchmark

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/clients/clientjob"
	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/clusterwatch"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/task"
)

// today is the time of the facts in tests.
func today() time.Time { return time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC) }

// atWork returns the facts of a benchmark with one client and two repetitions. The client runs and
// has no task yet.
func atWork(change ...func(*facts)) facts {
	ref := v1alpha1.ClusterReference{Namespace: "rook-ceph", Name: "my-cluster"}
	b := &v1alpha1.CephBenchmark{
		ObjectMeta: metav1.ObjectMeta{Namespace: "bench", Name: "b", UID: "1", Finalizers: []string{Finalizer}},
		Spec: v1alpha1.CephBenchmarkSpec{
			ClusterRef: ref, RunID: "1", Repetitions: 2,
			Template:   v1alpha1.BenchmarkTemplate{Clients: v1alpha1.Clients{Count: 1}},
			Quiescence: v1alpha1.Quiescence{Timeout: metav1.Duration{Duration: 30 * time.Minute}},
		},
		Status: v1alpha1.CephBenchmarkStatus{
			ObservedRunID: "1",
			StartTime:     &metav1.Time{Time: today().Add(-time.Minute)},
			Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue},
				{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse},
			},
		},
	}
	cluster := settings.Cluster{Namespace: ref.Namespace, Name: ref.Name}
	m := newMemory()
	m.secretMade = true
	f := facts{
		now: today(), benchmark: b, spec: b.Spec, execution: clientjob.Execution{Name: "cephtune-0123456789"},
		settings: &settings.Settings{
			Clusters: []settings.Cluster{cluster},
			Pods:     settings.Pods{StartTimeout: metav1.Duration{Duration: 5 * time.Minute}},
		},
		cluster: cluster, known: true,
		rook: &rook.ClusterInfo{FSID: "f"}, locked: true,
		View: clusterwatch.View{Survey: &clusterwatch.Survey{OSDMap: &ceph.OSDMap{FSID: "f"}}},
		job:  &batchv1.Job{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Time{Time: today().Add(-time.Minute)}}},
		pods: []corev1.Pod{{
			ObjectMeta: metav1.ObjectMeta{Name: "b-0", Labels: map[string]string{batchv1.JobCompletionIndexAnnotation: "0"}},
			Status:     corev1.PodStatus{Phase: corev1.PodRunning, PodIP: "10.0.0.1"},
		}},
		memory: m,
		script: scriptOf(fakeLoad{}),
		tasks:  newTasks(),
	}
	for _, c := range change {
		c(&f)
	}
	if f.heard() && f.script != nil && !f.allRunsEnded() {
		f.next = f.script.Next(f.currentRun(), f.tasks, f.background.tasks, &f.memory.noted, f.now)
	}
	return f
}

// working returns what a step works with.
func working(seen facts) pass {
	after := seen.memory
	return pass{facts: seen, memory: &after}
}

func condition(f *facts, kind string) {
	f.benchmark.Status.Conditions = append(f.benchmark.Status.Conditions, metav1.Condition{Type: kind, Status: metav1.ConditionTrue, Reason: "X"})
}

func idle(f *facts) { f.benchmark.Status.Conditions = nil }

// onLostNode is an execution with a client on a node with which Kubernetes has lost contact.
func onLostNode(f *facts) {
	f.tasks, f.pods = nil, slices.Clone(f.pods)
	f.pods[0].Spec.NodeName = "node3"
	f.pods[0].Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionFalse}, {Type: corev1.ContainersReady, Status: corev1.ConditionTrue},
	}
}

func deleted(f *facts) { f.benchmark.DeletionTimestamp = &metav1.Time{Time: today()} }

func withTask(state task.State, reason task.FailureReason) func(*facts) {
	return func(f *facts) {
		status := task.Status{ID: "r1-p1", State: state}
		if reason != "" {
			status.Failure = &task.Failure{Reason: reason, Message: "it went wrong"}
		}
		f.tasks[0]["r1-p1"] = status
	}
}

func TestDecide(t *testing.T) {
	cases := map[string]struct {
		seen        facts
		want        step
		wantReason  string
		wantMessage string // a part of it
	}{
		"a new benchmark begins": {
			seen: atWork(idle, func(f *facts) { f.benchmark.Status = v1alpha1.CephBenchmarkStatus{} }),
			want: reconcile.StepBegin, wantReason: v1alpha1.ReasonPreparing,
		},
		"a new benchmark that is suspended waits": {
			seen: atWork(idle, func(f *facts) {
				f.benchmark.Status = v1alpha1.CephBenchmarkStatus{}
				f.benchmark.Spec.Suspend = true
			}),
			want: reconcile.StepIdle, wantReason: v1alpha1.ReasonSuspended,
		},
		"one of a cluster that is not allowed stalls": {
			seen: atWork(idle, func(f *facts) { f.settings.Clusters = nil }),
			want: reconcile.StepStall, wantReason: v1alpha1.ReasonNotAllowed, wantMessage: "add it to clusters",
		},
		"one that lost that at work fails": {
			seen: atWork(func(f *facts) { f.settings.Clusters = nil }),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonNotAllowed,
		},
		"a pool that is not open stalls": {
			seen: atWork(idle, func(f *facts) {
				f.spec.Template.Target.ExistingPool = &v1alpha1.ExistingPool{Name: "prod"}
			}),
			want: reconcile.StepStall, wantReason: v1alpha1.ReasonNotAllowed, wantMessage: "pool prod",
		},
		"caches without the power to drop them stall": {
			seen: atWork(idle, func(f *facts) { f.spec.Template.OSDCaches = v1alpha1.OSDCachesDropBeforePhase }),
			want: reconcile.StepStall, wantReason: v1alpha1.ReasonNotAllowed, wantMessage: "caches",
		},
		"one in a namespace where benchmarks may not run stalls, and looks again": {
			seen: atWork(idle, func(f *facts) { f.refused = "Not here." }),
			want: reconcile.StepStall, wantReason: v1alpha1.ReasonNotAllowed, wantMessage: "Not here.",
		},
		"one under a sweep that did not create it stalls": {
			seen: atWork(idle, func(f *facts) { f.admission.Refusal = "Not yours." }),
			want: reconcile.StepStall, wantReason: v1alpha1.ReasonNotAllowed, wantMessage: "Not yours.",
		},
		"a Job that is not as the manager made it": {
			seen: atWork(func(f *facts) { f.jobMismatch = "It was changed." }),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonClientsLost, wantMessage: "It was changed.",
		},
		"nothing is made before the finalizer": {
			seen: atWork(func(f *facts) { f.benchmark.Finalizers = nil }), want: reconcile.StepProtect,
		},
		"a deleted one is cleaned up": {seen: atWork(deleted), want: stepTearDown, wantReason: v1alpha1.ReasonTearingDown},
		"a deleted one that has ended and cleaned up goes at once": {
			seen: atWork(idle, deleted, func(f *facts) { condition(f, v1alpha1.ConditionFailed) }), want: stepRemoveFinalizer,
		},
		"and one that is at its cleaning up goes on with it": {
			seen: atWork(deleted, func(f *facts) { condition(f, v1alpha1.ConditionFailed) }),
			want: stepTearDown, wantReason: v1alpha1.ReasonTearingDown,
		},
		"an unknown CephCluster is waited for": {
			seen: atWork(func(f *facts) { f.rookErr = errors.New("no CephCluster") }),
			want: reconcile.StepWait, wantReason: v1alpha1.ReasonClusterUnreachable, wantMessage: "no CephCluster",
		},
		"and not for ever": {
			seen: atWork(func(f *facts) {
				f.rookErr = errors.New("no CephCluster")
				f.headway.Waiting = reconcile.Waiting{For: "cluster", Since: today().Add(-time.Hour)}
			}),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonClusterUnreachable,
		},
		"it may take half an hour before anything is made": {
			seen: atWork(func(f *facts) {
				f.job, f.rookErr = nil, errors.New("no CephCluster")
				f.headway.Waiting = reconcile.Waiting{For: "cluster", Since: today().Add(-29 * time.Minute)}
			}),
			want: reconcile.StepWait, wantReason: v1alpha1.ReasonClusterUnreachable,
		},
		"clients end before the lock, which nothing renews": {
			seen: atWork(func(f *facts) {
				f.rookErr = errors.New("no CephCluster")
				f.headway.Waiting = reconcile.Waiting{For: "cluster", Since: today().Add(-7 * time.Minute)}
			}),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonClusterUnreachable,
		},
		"the lock is taken while Ceph is surveyed": {
			seen: atWork(func(f *facts) { f.Survey, f.locked, f.rook = nil, false, &rook.ClusterInfo{FSID: "f"} }),
			want: reconcile.StepLock, wantReason: v1alpha1.ReasonPreparing,
		},
		"others need not wait for a claim that may not be there": {
			seen: atWork(func(f *facts) {
				f.Survey, f.locked, f.rook = nil, false, &rook.ClusterInfo{FSID: "f"}
				f.spec.Template.Target = v1alpha1.Target{PersistentVolumeClaim: &v1alpha1.PersistentVolumeClaimTarget{ClaimName: "data"}}
			}),
			want: reconcile.StepWait, wantReason: v1alpha1.ReasonPreparing,
		},
		"Ceph is surveyed first": {
			seen: atWork(func(f *facts) { f.Survey = nil }), want: reconcile.StepWait, wantReason: v1alpha1.ReasonPreparing,
		},
		"Ceph does not answer": {
			seen: atWork(func(f *facts) { f.Survey, f.Err = nil, errors.New("timed out") }),
			want: reconcile.StepWait, wantReason: v1alpha1.ReasonClusterUnreachable, wantMessage: "timed out",
		},
		"a claim that is missing is waited for": {
			seen: atWork(func(f *facts) { f.claimErr = errors.New("no claim") }),
			want: reconcile.StepWait, wantReason: v1alpha1.ReasonClaimNotFound,
		},
		"one at a time": {seen: atWork(func(f *facts) { f.locked = false }), want: reconcile.StepLock},
		"a run does not begin while Ceph is silent": {
			seen: atWork(), want: reconcile.StepWait, wantReason: v1alpha1.ReasonWaitingForQuiescence,
		},
		"a Job that was deleted is the end": {
			seen: atWork(withTask(task.Measuring, ""), func(f *facts) { f.job.DeletionTimestamp = &metav1.Time{Time: today()} }),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonClientsLost,
		},
		"so is a pod that was killed": {
			seen: atWork(withTask(task.Measuring, ""), func(f *facts) {
				f.pods[0].Status = corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{{
					Name: "client", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "OOMKilled", ExitCode: 137}},
				}}}
			}),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonClientsLost, wantMessage: "resources.memory",
		},
		"an evicted pod says who did it": {
			seen: atWork(withTask(task.Measuring, ""), func(f *facts) {
				f.pods[0].Status = corev1.PodStatus{Phase: corev1.PodFailed, Conditions: []corev1.PodCondition{{
					Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "EvictionByEvictionAPI", Message: "drain",
				}}}
			}),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonClientsLost, wantMessage: "EvictionByEvictionAPI",
		},
		"a pod that no node takes": {
			seen: atWork(withTask(task.Ready, ""), func(f *facts) {
				f.pods[0].Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available",
				}}}
			}),
			want: reconcile.StepWait, wantReason: v1alpha1.ReasonUnschedulable, wantMessage: "0/3 nodes",
		},
		"a new pod that has no node yet": {
			seen: atWork(withTask(task.Ready, ""), func(f *facts) {
				f.pods[0].CreationTimestamp.Time = today().Add(-9 * time.Second)
				f.pods[0].Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.",
				}}}
			}),
			want: reconcile.StepWait, wantReason: v1alpha1.ReasonPreparing, wantMessage: "New pods are waiting for a node and their volumes.",
		},
		"and that none takes within the time for it": {
			seen: atWork(withTask(task.Ready, ""), func(f *facts) {
				f.job.CreationTimestamp.Time = today().Add(-6 * time.Minute)
				f.pods[0].Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
					Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available",
				}}}
			}),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonUnschedulable,
		},
		"an image that cannot be had": {
			seen: atWork(withTask(task.Ready, ""), func(f *facts) {
				f.pods[0].Status = corev1.PodStatus{Phase: corev1.PodPending, InitContainerStatuses: []corev1.ContainerStatus{{
					Image: "typo:1", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull", Message: "not found"}},
				}}}
			}),
			want: reconcile.StepWait, wantReason: v1alpha1.ReasonImagePullFailed, wantMessage: "typo:1",
		},
		"a quota that is too small": {
			seen: atWork(withTask(task.Ready, ""), func(f *facts) { f.pods, f.hint = nil, "exceeded quota: small" }),
			want: reconcile.StepWait, wantReason: v1alpha1.ReasonClientsRefused, wantMessage: "exceeded quota",
		},
		"a runner that is slow to answer": {
			seen: atWork(func(f *facts) { f.tasks = nil }), want: reconcile.StepWait, wantReason: v1alpha1.ReasonPreparing,
		},
		"a network without a way in": {
			seen: atWork(func(f *facts) {
				f.tasks = nil
				f.runners = map[int]clientview.View{0: {Err: errors.New("timeout"), Since: today().Add(-20 * time.Second)}}
			}),
			want: reconcile.StepWait, wantReason: v1alpha1.ReasonClientsUnreachable, wantMessage: "kubectl get networkpolicy -n bench",
		},
		"for too long": {
			seen: atWork(func(f *facts) {
				f.tasks = nil
				f.runners = map[int]clientview.View{0: {Err: errors.New("timeout"), Since: today().Add(-3 * time.Minute)}}
			}),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonClientsUnreachable,
		},
		"because its node is lost": {
			seen: atWork(onLostNode, func(f *facts) {
				f.runners = map[int]clientview.View{0: {Err: errors.New("timeout"), Since: today().Add(-20 * time.Second)}}
			}),
			want: reconcile.StepWait, wantReason: v1alpha1.ReasonNodeLost, wantMessage: "node node3",
		},
		"which is lost for too long": {
			seen: atWork(onLostNode, func(f *facts) {
				f.runners = map[int]clientview.View{0: {Err: errors.New("timeout"), Since: today().Add(-3 * time.Minute)}}
			}),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonNodeLost, wantMessage: "node node3",
		},
		"Kubernetes evicts the pod of a lost node": {
			seen: atWork(onLostNode, func(f *facts) { f.pods[0].DeletionTimestamp = &metav1.Time{Time: today()} }),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonNodeLost, wantMessage: "node node3",
		},
		"a lost kubelet does not matter while the client answers": {
			seen: atWork(onLostNode, func(f *facts) { f.tasks = newTasks() }, withTask(task.Measuring, "")), want: reconcile.StepWait, wantReason: v1alpha1.ReasonRunning,
		},
		"a phase is measured": {seen: atWork(withTask(task.Measuring, "")), want: reconcile.StepWait, wantReason: v1alpha1.ReasonRunning},
		"a phase is measured, and the benchmark suspended": {
			seen: atWork(withTask(task.Measuring, ""), func(f *facts) { f.benchmark.Spec.Suspend = true }),
			want: reconcile.StepWait, wantReason: v1alpha1.ReasonRunning,
		},
		"a suspended one pauses between phases": {
			seen: atWork(withTask(task.Done, ""), func(f *facts) {
				f.script = scriptOf(fakeLoad{}, fakeLoad{})
				f.benchmark.Spec.Suspend = true
			}),
			want: stepTearDown, wantReason: v1alpha1.ReasonSuspended,
		},
		"one whose run has been measured concludes it first": {
			seen: atWork(withTask(task.Done, ""), func(f *facts) { f.benchmark.Spec.Suspend = true }),
			want: stepConcludeRun,
		},
		"one that is pausing pauses, resumed or not": {
			seen: atWork(withTask(task.Done, ""), func(f *facts) { f.benchmark.Status.Conditions[1].Reason = v1alpha1.ReasonSuspended }),
			want: stepTearDown, wantReason: v1alpha1.ReasonSuspended,
		},
		"a tool that failed fails the benchmark": {
			seen: atWork(withTask(task.Failed, task.ToolFailed)),
			want: stepConcludeRun, wantReason: v1alpha1.ReasonPhaseFailed, wantMessage: "it went wrong",
		},
		"a Job that somebody has deleted": {
			seen: atWork(func(f *facts) { f.job, f.jobLost = nil, true }),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonClientsLost,
		},
		"the preparation takes too long": {
			seen: atWork(withTask(task.Ready, ""), func(f *facts) {
				f.job, f.headway.Message = nil, "Rook is slow"
				f.headway.Waiting = reconcile.Waiting{For: forPreparation, Since: today().Add(-time.Hour)}
			}),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonNotPrepared, wantMessage: "Rook is slow",
		},
		"clients without progress": {
			seen: atWork(withTask(task.Ready, ""), func(f *facts) {
				f.headway.Waiting = reconcile.Waiting{For: "Start r1-p1", Since: today().Add(-time.Hour)}
			}),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonPhaseFailed, wantMessage: "made no progress",
		},
		"a spec that is impossible here": {
			seen: atWork(func(f *facts) { f.scriptErr = errors.New("no cache is known") }),
			want: reconcile.StepFail, wantReason: v1alpha1.ReasonNotPossible, wantMessage: "no cache",
		},
		"a change after the end is noted": {
			seen: atWork(idle, func(f *facts) {
				condition(f, v1alpha1.ConditionComplete)
				f.benchmark.Generation = 5
			}),
			want: reconcile.StepAcknowledge,
		},
		"a run ID that is new replaces one without clients": {
			seen: atWork(func(f *facts) { f.job, f.benchmark.Spec.RunID = nil, "2" }),
			want: reconcile.StepBegin, wantReason: v1alpha1.ReasonPreparing,
		},
		"unless that has left something, which goes first": {
			seen: atWork(func(f *facts) { f.job, f.benchmark.Spec.RunID, f.inCeph = nil, "2", true }),
			want: stepTearDown, wantReason: v1alpha1.ReasonTearingDown, wantMessage: "the previous run",
		},
		"a read that ran out of objects spoils its run": {
			seen: atWork(withTask(task.Failed, "EndedEarly")), want: stepConcludeRun,
		},
		"a run whose phases are done is concluded": {seen: atWork(withTask(task.Done, "")), want: stepConcludeRun},
		"a run ID that is new waits for the one at work": {
			seen: atWork(withTask(task.Measuring, ""), func(f *facts) { f.benchmark.Spec.RunID = "2" }),
			want: reconcile.StepWait, wantReason: v1alpha1.ReasonRunning,
		},
		"results are in status, the rest goes": {
			seen: atWork(func(f *facts) { condition(f, v1alpha1.ConditionComplete) }),
			want: stepTearDown, wantReason: v1alpha1.ReasonTearingDown,
		},
		"a benchmark that has ended is left alone": {
			seen: atWork(idle, func(f *facts) { condition(f, v1alpha1.ConditionFailed) }),
			want: reconcile.StepNone,
		},
		"unless its run ID is new": {
			seen: atWork(idle, func(f *facts) {
				condition(f, v1alpha1.ConditionComplete)
				f.benchmark.Spec.RunID = "2"
			}),
			want: reconcile.StepBegin, wantReason: v1alpha1.ReasonPreparing,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := decide(tc.seen)
			if got.Step != tc.want || got.Outcome.Reason != tc.wantReason {
				t.Errorf("decided %s (%s: %s), want %s (%s)", got.Step, got.Outcome.Reason, got.Outcome.Message, tc.want, tc.wantReason)
			}
			if !strings.Contains(got.Outcome.Message, tc.wantMessage) {
				t.Errorf("message %q does not tell %q", got.Outcome.Message, tc.wantMessage)
			}
		})
	}
}
