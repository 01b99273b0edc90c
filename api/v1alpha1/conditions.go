package v1alpha1

// Condition types of both kinds. Ready, Reconciling and Stalled follow kstatus,
// so that kubectl wait, Flux and Argo CD understand them; Complete and Failed
// follow batch/v1 Job, so that a script can wait for either end.
const (
	// ConditionReady is True once the run that spec.runID asks for has come to
	// its end and status holds its results. Its reason is the printer column
	// Phase, so reasons are words that make sense there.
	ConditionReady = "Ready"

	// ConditionReconciling is True while the operator works towards the spec or
	// waits for something that it expects to happen without the user. It is
	// absent otherwise.
	ConditionReconciling = "Reconciling"

	// ConditionStalled is True when nothing more will happen until someone
	// changes something; the message says what. It is absent otherwise.
	ConditionStalled = "Stalled"

	// ConditionComplete is True when the run has ended with results, whatever
	// the verdict: a benchmark that failed its expectations is complete. Only a
	// verdict that spec.failOn lists makes it Failed.
	ConditionComplete = "Complete"

	// ConditionFailed is True when the run has ended without results, or with a
	// verdict that spec.failOn lists.
	ConditionFailed = "Failed"
)

// Condition types of CephTuningSweep alone.
const (
	// ConditionRestored is False while the Ceph cluster differs from how the
	// sweep found it, with the reason and the settings still to be restored, and True once all
	// originals were read back.
	ConditionRestored = "Restored"
)

// Reasons of both kinds.
const (
	// ReasonSuspended says that spec.suspend is true.
	ReasonSuspended = "Suspended"
	// ReasonFailedOnVerdict says that the run has ended with a verdict that spec.failOn
	// lists. All its results are in status.
	ReasonFailedOnVerdict = "FailedOnVerdict"
)

// Reasons of CephTuningSweep, in addition to those that it shares with CephBenchmark.
const (
	// ReasonWaitingForWindow says that changes may not start at this time of day.
	ReasonWaitingForWindow = "WaitingForWindow"
	// ReasonSettling says that the cluster is being brought into a configuration.
	ReasonSettling = "Settling"
	// ReasonRestoring says that changed settings are being restored.
	ReasonRestoring = "Restoring"
	// ReasonPlanned says that the plan is in status, which is all that was asked for.
	ReasonPlanned = "Planned"

	// ReasonPlannerChanged says that another version of the operator has begun the run,
	// and that this one would read its ledger otherwise.
	ReasonPlannerChanged = "PlannerChanged"
	// ReasonSpecChanged says that the spec is another than the one that was planned, under
	// the same runID.
	ReasonSpecChanged = "SpecChanged"
	// ReasonChangedByOthers says that others have changed a setting that the sweep varies.
	ReasonChangedByOthers = "ChangedByOthers"
	// ReasonClusterUnhealthy says that the Ceph cluster has errors since a change.
	ReasonClusterUnhealthy = "ClusterUnhealthy"
	// ReasonClusterChanged says that Rook or Ceph was upgraded in mid-sweep.
	ReasonClusterChanged = "ClusterChanged"
	// ReasonGuardrailBroken says that other users of the cluster suffered.
	ReasonGuardrailBroken = "GuardrailBroken"

	// ReasonRestored says that everything is as it was.
	ReasonRestored = "Restored"
	// ReasonNotRestored says that settings are still to be restored.
	ReasonNotRestored = "NotRestored"
	// ReasonLeftAlone says that everything was restored except settings that others have
	// changed meanwhile.
	ReasonLeftAlone = "LeftAlone"
	// ReasonOSDsNotRestarted says that restored settings take effect only when OSDs start, and
	// that some OSDs have not restarted since: they may run with a value of the sweep's.
	ReasonOSDsNotRestarted = "OSDsNotRestarted"
	// ReasonAbandoned says that the restore was abandoned.
	ReasonAbandoned = "Abandoned"
)

// Reasons of CephBenchmark. Where Ready is True its reason is Complete, and where a
// run has failed the reason of Stalled and Failed is what went wrong.
const (
	// ReasonPreparing says that what the run needs is being made.
	ReasonPreparing = "Preparing"
	// ReasonQueued says that another run has the lock of the Ceph cluster.
	ReasonQueued = "Queued"
	// ReasonWaitingForQuiescence says that the Ceph cluster is not healthy or quiet enough.
	ReasonWaitingForQuiescence = "WaitingForQuiescence"
	// ReasonRunning says that phases are being run.
	ReasonRunning = "Running"
	// ReasonTearingDown says that everything that was made is being removed.
	ReasonTearingDown = "TearingDown"
	// ReasonComplete says that the run has ended with results.
	ReasonComplete = "Complete"

	// ReasonNotAllowed says that the administrator's settings do not allow the spec, or that
	// nothing may run in its namespace.
	ReasonNotAllowed = "NotAllowed"
	// ReasonNotPossible says that the spec cannot be carried out on this Ceph cluster.
	ReasonNotPossible = "NotPossible"
	// ReasonOutOfRoom says that OSDs were nearfull or full while the benchmark was at work.
	ReasonOutOfRoom = "OutOfRoom"
	// ReasonScratchPoolGone says that the scratch pool, on which earlier runs of a block of the
	// sweep have measured, does not exist any more.
	ReasonScratchPoolGone = "ScratchPoolGone"
	// ReasonClusterUnreachable says that the CephCluster or Ceph cannot be asked.
	ReasonClusterUnreachable = "ClusterUnreachable"
	// ReasonClaimNotFound says that the claim that is the target is not there.
	ReasonClaimNotFound = "ClaimNotFound"
	// ReasonNotPrepared says that what the clients need could not be made in time,
	// such as the scratch pool.
	ReasonNotPrepared = "NotPrepared"
	// ReasonUnschedulable says that no node takes a client.
	ReasonUnschedulable = "Unschedulable"
	// ReasonImagePullFailed says that an image of the clients cannot be had.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonClientsRefused says that Kubernetes does not accept the clients' pods, as
	// with a quota or pod security.
	ReasonClientsRefused = "ClientsRefused"
	// ReasonClientsNotStarted says that a client's pod is on a node and did not start
	// in time.
	ReasonClientsNotStarted = "ClientsNotStarted"
	// ReasonClientsUnreachable says that a network policy or the like keeps the
	// manager from a client.
	ReasonClientsUnreachable = "ClientsUnreachable"
	// ReasonClientsLost says that a client's pod has ended too early, or that their Job is
	// not as the operator made it.
	ReasonClientsLost = "ClientsLost"
	// ReasonBackgroundLoadLost says that the pod of the background load has ended too
	// early.
	ReasonBackgroundLoadLost = "BackgroundLoadLost"
	// ReasonPhaseFailed says that a tool has failed.
	ReasonPhaseFailed = "PhaseFailed"
	// ReasonResultsNotKept says that the results of a run could not be fetched or
	// written in time.
	ReasonResultsNotKept = "ResultsNotKept"
	// ReasonLockLost says that another object has taken the lock of the Ceph cluster.
	ReasonLockLost = "LockLost"
	// ReasonOutageRefused says that OSDs cannot be stopped on this cluster as the
	// template asks for.
	ReasonOutageRefused = "OutageRefused"
	// ReasonRestoringOSDs says that OSDs which the benchmark has stopped are not up yet.
	ReasonRestoringOSDs = "RestoringOSDs"
	// ReasonNoValidRun says that no run is evidence.
	ReasonNoValidRun = "NoValidRun"
)

// Reasons why a run with a background load is Invalid, with which the run's reason
// begins.
const (
	// ReasonBackgroundLoadFailed says that its tool has failed, or could not be started.
	ReasonBackgroundLoadFailed = "BackgroundLoadFailed"
	// ReasonBackgroundLoadEndedEarly says that it ended before the last phase.
	ReasonBackgroundLoadEndedEarly = "BackgroundLoadEndedEarly"
	// ReasonBackgroundLoadNoIO says that it did no I/O, in the whole run or in the time of
	// a phase.
	ReasonBackgroundLoadNoIO = "BackgroundLoadNoIO"
)

// AnnotationAbandonRestore on a CephTuningSweep abandons the restore of settings that cannot be
// restored at once, for a Ceph cluster that is gone for good. Its value is "true".
const AnnotationAbandonRestore = "cephtune.dev/abandon-restore"
