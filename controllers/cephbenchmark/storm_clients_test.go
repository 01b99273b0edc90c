package cephbenchmark

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephtest"
	"github.com/cephtune/cephtune/internal/reconcile/objectref"
	"github.com/cephtune/cephtune/internal/rook"
	"github.com/cephtune/cephtune/internal/runner"
	"github.com/cephtune/cephtune/internal/runner/runnertest"
	"github.com/cephtune/cephtune/internal/schedule"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/testing/storm"
)

var errAway = errors.New("no answer")

// stormRook is Rook as managers reach it.
type stormRook struct {
	*fakeRook

	tempest *tempest
}

func (r *stormRook) EnsureScratchPools(ctx context.Context, cluster settings.Cluster, specs []v1alpha1.ScratchPool, use rook.ScratchUse, osdMap *ceph.OSDMap) (ready bool, reason string, err error) {
	err = r.tempest.story.Carry(ctx, "create CephBlockPool", "", storm.Kubernetes, true, func() (err error) {
		ready, reason, err = r.fakeRook.EnsureScratchPools(ctx, cluster, specs, use, osdMap)
		return err
	})
	return ready && err == nil, reason, err
}

func (r *stormRook) DeleteScratchPools(ctx context.Context, cluster settings.Cluster, owner objectref.Ref, osdMap *ceph.OSDMap) (gone bool, reason string, err error) {
	if r.tempest.forgotten == "DeleteScratchPools" {
		return true, "", nil
	}
	err = r.tempest.story.Carry(ctx, "delete CephBlockPool", "", storm.Kubernetes, true, func() (err error) {
		gone, reason, err = r.fakeRook.DeleteScratchPools(ctx, cluster, owner, osdMap)
		return err
	})
	return gone && err == nil, reason, err
}

func (r *stormRook) ScratchPoolsOf(ctx context.Context, cluster settings.Cluster, owner objectref.Ref) (owned []string, err error) {
	err = r.tempest.story.Carry(ctx, "get CephBlockPool", "", storm.Kubernetes, false, func() (err error) {
		owned, err = r.fakeRook.ScratchPoolsOf(ctx, cluster, owner)
		return err
	})
	return owned, err
}

// dial connects a manager to a runner.
func (e *tempest) dial(address string, key []byte, account *limits.Account) (runner.Client, error) {
	c, err := e.kubelet.dial(address, key, account)
	if err != nil {
		return nil, err
	}
	connected, _ := c.(way)
	e.kubelet.mu.Lock()
	defer e.kubelet.mu.Unlock()
	return stormClient{Client: c, tempest: e, runner: connected.Runner, number: slices.Index(e.kubelet.all, connected.Runner)}, nil
}

// stormClient is a runner as managers reach it. Its commands create and remove data in Ceph.
type stormClient struct {
	runner.Client

	tempest *tempest
	runner  *runnertest.Runner
	number  int
}

// carry carries a request out. Requests to several runners begin at the same time, so each waits for its turn.
func (c stormClient) carry(ctx context.Context, request string, do func() error) error {
	time.Sleep(time.Duration(c.number) * time.Microsecond)
	return c.tempest.story.Carry(ctx, request+" of client "+string(rune('a'+c.number%26)), "", storm.Client, request != "report", do)
}

// Snapshot implements runner.Client.
func (c stormClient) Snapshot(ctx context.Context, after int64, wait time.Duration) (runner.Snapshot, error) {
	snapshot, err := c.Client.Snapshot(ctx, after, wait)
	time.Sleep(time.Duration(1+c.number)*time.Microsecond + time.Millisecond) // News come one after the other.
	return snapshot, err
}

// Put implements runner.Client.
func (c stormClient) Put(ctx context.Context, t task.Task) (status task.Status, err error) {
	err = c.carry(ctx, "put", func() (err error) {
		script := runnertest.Script{Preparing: 3 * time.Second}
		if m := t.Measure; m != nil && !m.UntilCancelled {
			script.Measuring = max(10*time.Second, time.Duration(m.RequestedSeconds*float64(time.Second)))
		}
		if t.Measure != nil && offeredBy(t) > 0 && strings.Contains(t.ID, "--") { // a step of a curve
			script.ResultOf = server{1000}.serve
		}
		c.runner.Script(t.ID, script)
		if status, err = c.Client.Put(ctx, t); err == nil {
			c.tempest.writeData(t)
		}
		return err
	})
	return status, err
}

// Start implements runner.Client.
func (c stormClient) Start(ctx context.Context, id string) (started runner.Started, err error) {
	err = c.carry(ctx, "start", func() (err error) {
		started, err = c.Client.Start(ctx, id)
		return err
	})
	return started, err
}

// Cancel implements runner.Client.
func (c stormClient) Cancel(ctx context.Context, id string) error {
	return c.carry(ctx, "cancel", func() error { return c.Client.Cancel(ctx, id) })
}

// Finish implements runner.Client.
func (c stormClient) Finish(ctx context.Context) error {
	return c.carry(ctx, "finish", func() error { return c.Client.Finish(ctx) })
}

// Report implements runner.Client. The figures of a disturbed measurement are wrong.
func (c stormClient) Report(ctx context.Context, id string) (report *task.Report, err error) {
	err = c.carry(ctx, "report", func() (err error) {
		if report, err = c.Client.Report(ctx, id); err != nil || report.Result == nil || !c.tempest.isDisturbed(report.Status) {
			return err
		}
		wrong, write := *report.Result, *report.Result.Write
		write.Operations, write.Bytes, wrong.Write = 1000*write.Operations, 1000*write.Bytes, &write
		report.Result = &wrong
		return nil
	})
	return report, err
}

// writeData creates and removes the data in Ceph that the commands of a task create and remove.
func (e *tempest) writeData(t task.Task) {
	commands := slices.Clone(t.Steps)
	if t.Measure != nil {
		commands = append(commands, t.Measure.Command)
	}
	e.ceph.Act(func(c *cephtest.Cluster) {
		for _, command := range commands {
			carryOutCommand(&c.Answers, command.Argv)
		}
	})
}

func carryOutCommand(a *cephtest.Answers, argv []string) {
	option := func(name string) string { return optionIn(argv, name) }
	includes := func(words ...string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !slices.Contains(argv, word) })
	}
	pool, objects := option("pool"), option("pool")+"/"+option("namespace")
	switch {
	case argv[0] == "rbd" && includes("snap"):
	case argv[0] == "rbd" && includes("create"):
		store(a.Images, pool, option("image"))
	case argv[0] == "rbd" && includes("rm"):
		a.Images[pool] = slices.DeleteFunc(a.Images[pool], func(name string) bool { return name == option("image") })
	case argv[0] == "fio" && option("ioengine") == "rados" && option("filename_format") != "":
		store(a.Objects, objects, strings.TrimSuffix(option("filename_format"), "$filenum")+"0")
	case argv[0] == "rados" && includes("bench", "write"):
		store(a.Objects, objects, "benchmark_data_host_1_object0")
	case argv[0] == "rados" && includes("cleanup"):
		a.Objects[objects] = slices.DeleteFunc(a.Objects[objects], func(name string) bool { return strings.HasPrefix(name, option("prefix")) })
	}
}

// optionIn returns the value of an option NAME in --NAME=VALUE; "" without it.
func optionIn(argv []string, name string) string {
	for _, arg := range argv {
		if value, found := strings.CutPrefix(arg, "--"+name+"="); found {
			return value
		}
	}
	return ""
}

// store adds an image or an object to those of a pool, unless it is there.
func store(in map[string][]string, pool, name string) {
	if !slices.Contains(in[pool], name) {
		in[pool] = append(in[pool], name)
	}
}

// failClient ends the unfinished task of a client, as if its tool had died.
func (e *tempest) failClient(random *rand.Rand) {
	e.kubelet.mu.Lock()
	defer e.kubelet.mu.Unlock()
	if len(e.kubelet.all) == 0 {
		return
	}
	r := e.kubelet.all[max(0, len(e.kubelet.all)-1-random.IntN(3))]
	for _, t := range r.Tasks() {
		r.Fail(t.ID, &task.Failure{Reason: task.ToolFailed, Message: "it died"})
	}
}

// cutClients makes all clients unreachable for a time.
func (e *tempest) cutClients(c *storm.Call) {
	cut := func(err error) {
		e.kubelet.set(func(k *kubelet) {
			k.wall = err
			for _, r := range k.all {
				r.Break(err)
			}
		})
	}
	cut(errAway)
	c.Later(5*time.Minute, func() { cut(nil) })
}

// deletePod deletes a client's pod, as an eviction does. Its Job fails, because it has no backoff.
func (e *tempest) deletePod() {
	pods := e.pods()
	if len(pods) == 0 {
		return
	}
	pod := &pods[e.random.IntN(len(pods))]
	_ = e.Delete(e.t.Context(), pod, client.GracePeriodSeconds(0))
	var jobs batchv1.JobList
	e.list(&jobs)
	for i := range jobs.Items {
		if job := &jobs.Items[i]; metav1.IsControlledBy(pod, job) {
			now := metav1.Now()
			job.Status.StartTime, job.Status.Failed = &now, 1
			for _, kind := range []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed} {
				job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{Type: kind, Status: corev1.ConditionTrue, Reason: batchv1.JobReasonBackoffLimitExceeded})
			}
			e.edited("fail a Job", e.Status().Update(e.t.Context(), job))
		}
	}
}

// forgePod creates a pod with the labels and the owner of a client. Nobody may connect to it.
func (e *tempest) forgePod() {
	pods := e.pods()
	if len(pods) == 0 {
		return
	}
	theirs := pods[e.random.IntN(len(pods))].DeepCopy()
	status := theirs.Status
	theirs.ObjectMeta = metav1.ObjectMeta{
		Namespace: theirs.Namespace, Name: theirs.Name + "-forged", Labels: theirs.Labels, Annotations: theirs.Annotations, OwnerReferences: theirs.OwnerReferences,
	}
	theirs.Spec.NodeName = ""
	if err := e.Create(e.t.Context(), theirs); err != nil {
		return
	}
	status.PodIP = "10.2.0.1"
	theirs.Status = status
	_ = e.Status().Update(e.t.Context(), theirs)
	e.kubelet.set(func(k *kubelet) {
		r := runnertest.New(0)
		result := runnertest.DefaultResult(task.Task{})
		result.Write.Operations *= 1000000
		r.Script("", runnertest.Script{Result: result})
		k.runners[addressOf(theirs)], k.keys[addressOf(theirs)] = r, []byte("not the execution's")
	})
}

// deleteJob deletes a Job of an execution, as a user does.
func (e *tempest) deleteJob() {
	var jobs batchv1.JobList
	e.list(&jobs)
	if len(jobs.Items) == 0 {
		return
	}
	job := &jobs.Items[e.random.IntN(len(jobs.Items))]
	e.locked(func() bool { delete(e.foreign, job.UID); return true })
	policy := []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground}
	_ = e.Delete(e.t.Context(), job, client.PropagationPolicy(policy[e.random.IntN(2)]))
}

// strange puts a stranger's object in the place of one that a benchmark needs.
func (e *tempest) strange() {
	b, there := e.current()
	if !there || b.Status.Clients == nil || b.Status.ObservedRunID != schedule.RunID(b) {
		return
	}
	objects := strangersObjects()
	name := anyOf(e, []string{"Job of the clients", "Job of the background load", "Secret", "results", "claim"})
	theirs := objects[name](e.world, b)
	theirs.SetNamespace(e.namespace)
	e.story.Note("a stranger puts %s in the place of %s", theirs.GetName(), name)
	before, ok := theirs.DeepCopyObject().(client.Object)
	if !ok {
		return
	}
	if err := e.Get(e.t.Context(), client.ObjectKeyFromObject(theirs), before); err == nil {
		e.locked(func() bool { delete(e.foreign, before.GetUID()); return true })
		_ = e.Delete(e.t.Context(), before, client.PropagationPolicy(metav1.DeletePropagationBackground))
	}
	if err := e.Create(e.t.Context(), theirs); err != nil {
		e.story.Note("it is not possible: %v", err)
		return
	}
	e.locked(func() bool { e.foreign[theirs.GetUID()] = theirs; return true })
}
