package cephbenchmark

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/placement"
	"github.com/cephtune/cephtune/internal/reconcile"
	"github.com/cephtune/cephtune/internal/task"
	"github.com/cephtune/cephtune/internal/tuning"
	"github.com/cephtune/cephtune/internal/workload"
)

// memory is the manager's own knowledge of a session, apart from the runners' answers. It is
// lost when the manager ends, and with it the evidence that clients started together: the
// current run is then invalid.
type memory struct {
	// noted is what clients did, and when.
	noted workload.Notes
	// gathering has the clients' reports of the run that is being concluded; background is its
	// background load's report.
	gathering  gathering
	background *task.Report
	// evidence has the outcomes of this session's runs.
	evidence map[int32]runEvidence
	// waits is what the last pass could not do or was waiting for, and trouble what went
	// wrong with it last.
	waits   reconcile.Waiting
	trouble string
	// removal is the latest wait for PGs that OSDs remove.
	removal removalWait
	// fromBeginning: this process has followed the session from before its first object, and so
	// knows all of them.
	fromBeginning bool
	// lock is the grant of the cluster's lock, while this session has it; hadLock says that it
	// has, or had.
	lock     *lock.Grant
	lockedAt time.Time // when it was asked for last
	hadLock  bool
	// unrestoredInCeph is what a sweep has left in Ceph alone, and unrestoredInCephAt when it was
	// found.
	unrestoredInCeph   *tuning.Journal
	unrestoredInCephAt time.Time
	// OSDMap was read when the scratch pool was found to be as specified.
	osdMap *ceph.OSDMap
	pgs    []ceph.PG
	// cleanSince is the time since which all PGs of the scratch pool have been clean, in their
	// final number; zero while they are not.
	cleanSince time.Time
	// chosen and osds are the OSDs that the scratch pool is confined to; placed has the
	// placements that were sent to Ceph, by placement group.
	chosen *placement.Chosen
	osds   []int
	placed map[string][]int
	// poolsRemade counts the scratch pools that were given up and made again.
	poolsRemade int
	// statusWrittenAt is when status was written last.
	statusWrittenAt time.Time
	// madeJob is the last Job that was made, or found; replacedJob is one that the operator
	// itself has deleted since; jobRemoved says that it has deleted the last one, after
	// everything else. secretMade says that the Job's Secret exists. usedBefore is what the
	// OSDs used before anything was made, in bytes.
	madeJob, replacedJob types.UID
	jobRemoved           bool
	secretMade           bool
	usedBefore           int64
	// backgroundJob is the Job of the background load; backgroundCleanupFailed says that it could not remove
	// its data.
	backgroundJob           types.UID
	backgroundCleanupFailed bool
	// reached says that a runner has answered.
	reached bool
	// standalone says that the client is standalone; planned are its tasks; logs are the logs read
	// so far, by pod.
	standalone bool
	planned    []task.Task
	logs       map[types.UID]*podLog
	// clientCleanupFailed says that the clients could not remove their data.
	clientCleanupFailed bool
	// outage is that of the current run.
	outage outageState
	// finished says that the clients were sent Finish, and when.
	finished   bool
	finishedAt time.Time
	// orphansSince is when the wait for pods of a deleted Job began.
	orphansSince time.Time
}

// newMemory returns the memory of a session that this process has not seen before.
func newMemory(now time.Time) *memory {
	return &memory{
		noted:           *workload.NewNotes(),
		statusWrittenAt: now,
		evidence:        map[int32]runEvidence{},
		placed:          map[string][]int{},
		logs:            map[types.UID]*podLog{},
	}
}
