// Package teardown ends the execution of a benchmark, and removes everything that the execution has made,
// except its results. [Rules] decide on the next part, and a [Remover] carries it out.
package teardown

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/clients/leftovers"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/workload"
)

// Part is one part of a teardown.
type Part string

const (
	// PartNone means that nothing is left to tear down.
	PartNone Part = ""
	// PartWait waits for something that should happen by itself.
	PartWait Part = "Wait"
	// PartRestoreOSDs brings back OSDs that the execution has stopped.
	PartRestoreOSDs Part = "RestoreOSDs"
	// PartCancelBackground cancels the background load.
	PartCancelBackground Part = "CancelBackgroundLoad"
	// PartCancelClients cancels the running tasks of the clients.
	PartCancelClients Part = "CancelClients"
	// PartCleanBackground makes the runner of the background load remove its data.
	PartCleanBackground Part = "CleanUpByBackgroundLoad"
	// PartCleanClients makes the runners of the clients remove their data.
	PartCleanClients Part = "CleanUpByClients"
	// PartFinish asks the runners to end.
	PartFinish Part = "FinishClients"
	// PartSuspend makes Kubernetes end the pods that have not ended.
	PartSuspend Part = "SuspendJobs"
	// PartBlock makes Ceph refuse the clients of pods that are stuck: no kubelet confirms their end.
	PartBlock Part = "BlockClients"
	// PartLeftovers removes images and objects that clients have left in pools that outlast the execution.
	PartLeftovers Part = "RemoveLeftovers"
	// PartPool removes the scratch pool.
	PartPool Part = "RemoveScratchPool"
	// PartJob removes the Job after the execution's data and pools, because the Job stores the execution's
	// spec.
	PartJob Part = "RemoveJob"
	// PartPrune deletes results beyond the history limit.
	PartPrune Part = "PruneResults"
	// PartLock releases the lock of the Ceph cluster.
	PartLock Part = "ReleaseLock"
)

// Next is the next part of a teardown.
type Next struct {
	Part Part
	// Waits says what the teardown waits for after the part; Done if [Remover.Do] determines the wait.
	Waits reconcile.Wait
}

// Party is a Job of the execution with its pods: the clients, or the background load.
type Party struct {
	Job     *batchv1.Job
	Pods    []corev1.Pod
	Runners map[int]clientview.View
	// Tasks has the tasks of each runner; nil if not all runners have answered.
	Tasks workload.Tasks
	// Cleanup returns the commands with which a client removes its data; nil if they are unknown.
	Cleanup func(client int) []task.Command
}

// View has the observations of an execution that is torn down.
type View struct {
	Now time.Time
	// InCeph says that Ceph may have pools, images, objects or the lock of the execution.
	InCeph bool
	// Clients and Background are the execution's Jobs with their pods. Orphans are pods of the execution whose Job is gone.
	Clients, Background Party
	Orphans             []corev1.Pod
	// StopsOSDs says that the execution may have stopped OSDs, and OwnsPool that it may have its own scratch
	// pool. OwnsLock says that the benchmark itself, not its sweep, holds the lock.
	StopsOSDs, OwnsPool, OwnsLock bool
	// Leftovers says where the execution may have left something.
	Leftovers leftovers.Leftovers
}

// Facts has what the rules of a teardown depend on.
type Facts struct {
	Progress
	View
}

// Rules returns the rules of a teardown in order. Once the OSDs are up, the clients, not the manager, remove
// the data, because clients work in parallel and can reach the files on a claim. Then the manager checks for
// leftovers and removes them. If no rule applies, the teardown is complete. Every part can be repeated.
func Rules() []reconcile.Rule[Facts, Next] {
	return []reconcile.Rule[Facts, Next]{
		{Name: "restoreOSDs", Func: restoreOSDs},                   // OSDs must be up before anything is removed
		{Name: "cleanUpByBackground", Func: cleanUpByBackground},   // if its runner still answers
		{Name: "cleanUpByClients", Func: cleanUpByClients},         // if all runners still answer
		{Name: "waitForOrphans", Func: waitForOrphans},             // pods of a deleted Job may still write
		{Name: "finishClients", Func: finishClients},               // each runner ends, and with it its pod
		{Name: "suspendJobs", Func: suspendJobs},                   // Kubernetes ends the pods that have not ended
		{Name: "blockStuckClients", Func: blockStuckClients},       // of a node that is down or hangs: they may still write
		{Name: "removeLeftovers", Func: removeLeftovers},           // data that clients did not remove
		{Name: "removeOwnScratchPool", Func: removeOwnScratchPool}, // a shared pool belongs to the sweep
		{Name: "removeClients", Func: removeClients},               // the Job, with its pods and Secret
		{Name: "pruneResults", Func: pruneResults},                 // deletes results beyond the history limit
		{Name: "releaseForNextHolder", Func: releaseForNextHolder}, // everything is gone from Ceph
	}
}

// needs reports whether a part that changes Ceph must still be carried out.
func (f Facts) needs(p Part) bool { return f.InCeph && !f.done[p] }

func restoreOSDs(f Facts) (Next, bool) {
	return Next{Part: PartRestoreOSDs}, f.StopsOSDs && f.needs(PartRestoreOSDs)
}

func cleanUpByBackground(f Facts) (Next, bool) {
	return f.Background.cleanUp(f.backgroundFailed,
		Next{PartCancelBackground, "The background load is being stopped."},
		Next{PartCleanBackground, "The background load is removing its data."})
}

func cleanUpByClients(f Facts) (Next, bool) {
	if f.isLost() {
		return Next{}, false
	}
	return f.Clients.cleanUp(f.clientsFailed,
		Next{PartCancelClients, "The clients are being stopped."},
		Next{PartCleanClients, "The clients are removing their data."})
}

// cleanUp makes the runners cancel their tasks and then remove their data, if all of them answer. If failed
// is true, they only cancel their tasks, and the manager removes the data.
func (p Party) cleanUp(failed bool, cancel, clean Next) (Next, bool) {
	if p.Tasks == nil || p.Cleanup == nil || isLost(p.Runners) || len(clientview.Addresses(p.Pods, len(p.Tasks))) < len(p.Tasks) {
		return Next{}, false
	}
	if id, busy := p.Tasks.Unfinished(); busy && (id != leftovers.TaskID || failed) {
		return cancel, true
	}
	if p.Tasks.Any(leftovers.TaskID, isUnfinished) {
		clean.Part = PartWait
	}
	return clean, !failed && !p.Tasks.All(leftovers.TaskID, task.State.Ended) && len(p.Cleanup(0)) > 0
}

func isUnfinished(s task.State) bool { return !s.Ended() }

// isLost reports whether a runner of the execution does not answer.
func (f Facts) isLost() bool { return isLost(f.Clients.Runners) || isLost(f.Background.Runners) }

func isLost(runners map[int]clientview.View) bool {
	for _, view := range runners {
		if view.Err != nil {
			return true
		}
	}
	return false
}

// OrphansWithin is how long the teardown waits for pods whose Job is gone. It exceeds the pods' grace
// period, so Kubernetes has then ended these pods, unless their node is lost or the Job was deleted without
// its pods.
const OrphansWithin = 2 * time.Minute

// waitForOrphans waits for the pods of a Job that is gone or being deleted. Otherwise, data that they still write
// would remain.
func waitForOrphans(f Facts) (Next, bool) {
	return Next{PartWait, "The Job is deleted, and its pods are ending."},
		!f.over(f.Ending()) && f.Now.Sub(f.orphansSince) <= OrphansWithin
}

// stuck returns the execution's pods that are stuck. Kubernetes keeps them until their node returns, or until somebody
// removes the node or the pods.
func (v View) stuck() []corev1.Pod {
	return clientview.Stuck(slices.Concat(v.Orphans, v.Clients.Pods, v.Background.Pods), v.Now)
}

// over reports whether all these pods have ended or are stuck. The teardown does not wait for stuck pods.
func (v View) over(pods []corev1.Pod) bool {
	return clientview.AllEnded(slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool { return clientview.IsStuck(&pod, v.Now) }))
}

// Loss says that the node of a pod that has not ended is lost, or that such a pod is stuck; "" otherwise.
func (v View) Loss() string {
	if loss := clientview.LossOf(slices.Concat(v.Orphans, v.Clients.Pods, v.Background.Pods)); loss != "" {
		return loss
	}
	if stuck := v.stuck(); len(stuck) > 0 {
		return fmt.Sprintf("Pod %s does not end: the kubelet of node %s does not confirm it.", stuck[0].Name, stuck[0].Spec.NodeName)
	}
	return ""
}

// Ending returns the execution's pods if its Job is gone or being deleted; nil if it has a Job.
func (v View) Ending() []corev1.Pod {
	if v.hasJob() {
		return nil
	}
	return slices.Concat(v.Orphans, v.Clients.Pods, v.Background.Pods)
}

// hasJob reports whether the execution has a Job that is not being deleted.
func (v View) hasJob() bool { return v.Clients.Job != nil && v.Clients.Job.DeletionTimestamp.IsZero() }

func finishClients(f Facts) (Next, bool) {
	return Next{PartFinish, "The clients are ending."},
		f.hasJob() && len(f.Clients.Runners) > 0 && !f.isLost() && f.finishedAt.IsZero()
}

// finishWithin is how long a client may take to finish.
const finishWithin = 20 * time.Second

func suspendJobs(f Facts) (Next, bool) {
	if !f.hasJob() || f.over(f.Clients.Pods) && f.over(f.Background.Pods) {
		return Next{}, false
	}
	if f.Now.Sub(f.finishedAt) < finishWithin {
		return Next{PartWait, "The clients are ending."}, true
	}
	return Next{PartSuspend, "Stopping the clients' pods."}, true
}

func blockStuckClients(f Facts) (Next, bool) {
	return Next{Part: PartBlock}, f.needs(PartBlock) && len(f.stuck()) > 0
}

func removeLeftovers(f Facts) (Next, bool) {
	return Next{Part: PartLeftovers}, f.needs(PartLeftovers) && len(f.Leftovers.ImagePools) > 0
}

func removeOwnScratchPool(f Facts) (Next, bool) {
	return Next{Part: PartPool}, f.OwnsPool && f.needs(PartPool)
}

// jobWithin is how long the teardown waits until a deleted Job is gone. Kubernetes deletes a Job without pods in less
// than a second.
const jobWithin = 2 * time.Minute

// removeClients waits until the Job is gone, because a resumed execution needs its name. The wait is limited: the Job
// stays while any object stays that names it as an owner, and a user can create such an object with a finalizer.
func removeClients(f Facts) (Next, bool) {
	job := f.Clients.Job
	if job == nil {
		return Next{}, false
	}
	since := job.DeletionTimestamp
	held := since != nil && f.Now.Sub(since.Time) > jobWithin && f.over(f.Ending())
	return Next{PartJob, "The Job of the clients is being removed."}, !held
}

func pruneResults(f Facts) (Next, bool) { return Next{Part: PartPrune}, !f.done[PartPrune] }

// releaseForNextHolder releases the lock, unless a sweep holds it.
func releaseForNextHolder(f Facts) (Next, bool) {
	return Next{Part: PartLock}, f.OwnsLock && f.needs(PartLock)
}
