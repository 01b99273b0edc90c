package cephbenchmark

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/clients/clientview"
	"github.com/cephtune/cephtune/internal/clients/teardown"
	"github.com/cephtune/cephtune/internal/conclusion"
	"github.com/cephtune/cephtune/internal/design/diagnosis"
	"github.com/cephtune/cephtune/internal/outage"
	"github.com/cephtune/cephtune/internal/quiescence"
	"github.com/cephtune/cephtune/internal/scratchpool"
	"github.com/cephtune/cephtune/internal/workload"
	"github.com/cephtune/cephtune/internal/workload/turn"
)

// memory holds knowledge of an execution that only this process has. A restart of the manager loses it, and
// with it the proof that clients started together. The current run is then invalid if one of its phases has
// started on several clients. remember, observeOutage and readLogs add observations to the facts' copy, and a
// step changes the copy of its pass. The loop owns the memory, and keeps that of the last pass.
type memory struct {
	// noted holds the manager's observations of the clients' tasks.
	noted workload.Notes
	// gathering holds the clients' reports of the run that is being concluded.
	gathering conclusion.Gathering
	// runs holds the outcomes of the runs that this process has concluded.
	runs map[int32]conclusion.Run
	// watchedSince is when a diagnosis began to watch Ceph, and symptoms are what it saw until it began to measure layers.
	watchedSince time.Time
	symptoms     *diagnosis.Facts
	// removal is the latest wait for OSDs to remove the PGs of deleted pools.
	removal quiescence.Removal
	// fromBeginning says that this process began the execution, and so knows all objects of the execution.
	fromBeginning bool
	// turn is the execution's place in the queue for the lock of the Ceph cluster, and the lock once the
	// execution holds it.
	turn turn.Turn
	// pool is how far the preparation of the scratch pool has come.
	pool scratchpool.Preparation
	// nonce is the nonce that this process has drawn for the next Job; "" once it has tried to create a Job
	// with it. taken says that another object had the name of a Job that this process tried to create.
	nonce string
	taken bool
	// clientsJob and backgroundJob are the UIDs of the execution's Jobs, which this process has created or whose
	// UIDs are recorded. madeJob is the UID of the last Job that was created or found, recorded or not.
	// replacedJob is the UID of the Job that another Job replaces. secretMade says that the Secret of the Jobs
	// exists. usedBefore is how many raw bytes of the OSDs were in use before the Job was created.
	clientsJob, backgroundJob, madeJob, replacedJob types.UID

	secretMade bool
	usedBefore int64
	// logs holds the logs that were read, by pod.
	logs map[types.UID]*clientview.Log
	// outage is the state of the current run's outage.
	outage outage.Execution
	// history says where this process has written the nights; nil before.
	history *v1alpha1.BenchmarkHistory
	// regressed is the condition Regressed after the execution; nil if it stays as it is.
	regressed *metav1.Condition
	// refused is why Kubernetes refused to write the history or to remove old results; nil if no event need say so.
	refused error
	// teardown is how far the teardown has come.
	teardown teardown.Progress
}

// remember adds the observations of a pass that later passes need.
func (m *memory) remember(f facts) {
	if f.job != nil {
		m.madeJob = f.job.UID
	}
	if f.job != nil && f.unrecorded != f.job {
		m.clientsJob = f.job.UID
	}
	if f.background.job != nil && f.unrecorded != f.background.job {
		m.backgroundJob = f.background.job.UID
	}
	if f.pool.OSDMap != nil {
		m.pool.Note(f.preparation())
	}
	m.pool.OSDs = f.osds()
	if f.tearingDown() && f.tasks != nil && f.target().Full() {
		m.teardown.OSDsAreFull()
	}
	if f.tearingDown() && !clientview.AllEnded(f.teardown().Ending()) {
		m.teardown.OrphansRun(f.now)
	}
	m.noted.NoteEnds(f.background.tasks, f.now)
	if len(f.logs) > 0 {
		m.noted.NoteTimes(f.tasks)
	}
	m.noted.NoteEnds(f.tasks, f.now)
}

// newMemory returns the memory of an execution that this process has not seen before.
func newMemory() memory {
	return memory{
		noted: *workload.NewNotes(),
		runs:  map[int32]conclusion.Run{},
		logs:  map[types.UID]*clientview.Log{},
	}
}
