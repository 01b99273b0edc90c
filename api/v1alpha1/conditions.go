package v1alpha1

// These are condition types of CephBenchmark and CephTuningSweep. Ready, Reconciling and Stalled follow
// kstatus, so that kubectl wait, Flux and Argo CD understand them. Complete and Failed follow batch/v1 Job,
// so that scripts can wait for them as for a Job.
const (
	// ConditionReady is True once the execution that spec.runID or spec.schedule requests is Complete, and its
	// teardown or restore is done. The printer column Phase shows the reason of this condition, so each reason names an
	// activity or a state.
	ConditionReady = "Ready"

	// ConditionReconciling is True while the operator works towards the spec, or waits for
	// something that should happen without the user. It is absent otherwise.
	ConditionReconciling = "Reconciling"

	// ConditionStalled is True while the operator can do nothing more until a person changes something. The
	// message says what to change or, after a failure, why the benchmark or sweep failed. Otherwise the
	// condition is absent.
	ConditionStalled = "Stalled"

	// ConditionComplete is True when the benchmark or sweep has ended with results, or, in mode Plan, with a
	// plan. A benchmark that missed its expectations is Complete too, unless spec.failOn lists its verdict.
	ConditionComplete = "Complete"

	// ConditionFailed is True when the benchmark or sweep has ended without results, or with a verdict that
	// spec.failOn lists.
	ConditionFailed = "Failed"
)

// These are condition types of CephBenchmark only.
const (
	// ConditionRegressed is True if a figure is worse since a certain run ID, False if no figure is known to be, and
	// Unknown with too few run IDs. The message has the run IDs' dates and the size of the change. The operator judges it
	// anew after each run ID and each change of the spec, and only among run IDs with the same workload. It is absent before
	// the second one.
	ConditionRegressed = "Regressed"
)

// These are reasons of condition Regressed.
const (
	// ReasonGotWorse says that the latest change of a figure is for the worse, and that its interval excludes no change.
	ReasonGotWorse = "GotWorse"
	// ReasonNoChangeFound says that no figure is known to have got worse.
	ReasonNoChangeFound = "NoChangeFound"
	// ReasonAcknowledged says that spec.acknowledgedUntil acknowledges the only figures that are known to have got worse.
	ReasonAcknowledged = "Acknowledged"
	// ReasonNotJudged says why there is no answer, such as too few run IDs with the same workload.
	ReasonNotJudged = "NotJudged"
)

// These are condition types of CephTuningSweep only.
const (
	// ConditionRestored is False while Ceph may still have values of the sweep. The message then says why,
	// and names the settings that are not restored, or the OSDs that have not restarted, if they are known.
	// The condition is True once all original values were read back, the cluster has settled, and no OSD
	// still runs with the sweep's values. Settings of a winner that is kept, settings that
	// another client has changed, and settings whose pool or OSD no longer exists do not count.
	ConditionRestored = "Restored"
)

// These are reasons of CephBenchmark and CephTuningSweep.
const (
	// ReasonScheduled says that the first time of spec.schedule is still to come. Then Ready is True, because nothing
	// that was requested is left to do.
	ReasonScheduled = "Scheduled"
	// ReasonSuspended says that spec.suspend is true.
	ReasonSuspended = "Suspended"
	// ReasonFailedOnVerdict says that the benchmark or sweep has ended with a verdict that spec.failOn
	// lists. All its results are in status.
	ReasonFailedOnVerdict = "FailedOnVerdict"
)

// These are further reasons of CephTuningSweep, which also uses most reasons of CephBenchmark.
const (
	// ReasonWaitingForWindow says that changes may not start at this time of day.
	ReasonWaitingForWindow = "WaitingForWindow"
	// ReasonSettling says that the settings of a configuration are being applied, or that they were applied,
	// but the cluster has not settled yet, or daemons have not reported yet the values that they run with.
	ReasonSettling = "Settling"
	// ReasonRestoring says that changed settings are being restored.
	ReasonRestoring = "Restoring"
	// ReasonPlanned says that the plan is in status. Mode Plan requests nothing else.
	ReasonPlanned = "Planned"

	// ReasonPlannerChanged says that another version of the operator began the sweep. The version that runs
	// now would interpret the sweep's ledger differently.
	ReasonPlannerChanged = "PlannerChanged"
	// ReasonSpecChanged says that the spec differs from the planned one, although runID is the same.
	ReasonSpecChanged = "SpecChanged"
	// ReasonChangedByOthers says that another client has changed a setting that the sweep changes too, or
	// has removed the pool or the journal.
	ReasonChangedByOthers = "ChangedByOthers"
	// ReasonClusterUnhealthy says that the Ceph cluster is in danger after a change or during a
	// run, for example in HEALTH_ERR.
	ReasonClusterUnhealthy = "ClusterUnhealthy"
	// ReasonClusterChanged says that the version of Rook or Ceph has changed since the sweep was planned,
	// that Ceph is being upgraded, or that another Ceph cluster now has the same name.
	ReasonClusterChanged = "ClusterChanged"
	// ReasonGuardrailBroken says that the cluster broke a limit of guardrails.foreignClients.
	ReasonGuardrailBroken = "GuardrailBroken"

	// ReasonRestored says that all settings have their original values, except those of a winner
	// that is kept.
	ReasonRestored = "Restored"
	// ReasonNotRestored says that some settings are not restored yet, or that the cluster has not
	// settled since the restore.
	ReasonNotRestored = "NotRestored"
	// ReasonLeftAlone says that some settings were not restored, because another client has changed them,
	// or because their pool or OSD no longer exists. All other settings were restored, except those of a
	// winner that is kept.
	ReasonLeftAlone = "LeftAlone"
	// ReasonOSDsNotRestarted says that some OSDs may still run with the sweep's values: OSDs take
	// some restored settings only when they start, and these OSDs have not restarted since.
	ReasonOSDsNotRestarted = "OSDsNotRestarted"
	// ReasonAbandoned says that the restore was abandoned, or that its journal was removed. It is also the
	// reason if the sweep does not begin or continue because the object still has AnnotationAbandonRestore.
	ReasonAbandoned = "Abandoned"
)

// These are reasons of CephBenchmark. If Ready is True, its reason is Complete. If the benchmark has
// failed, the reason of Stalled and Failed says why.
const (
	// ReasonPreparing says that the operator checks the cluster, creates the objects that the benchmark
	// needs, or prepares the data of the first run.
	ReasonPreparing = "Preparing"
	// ReasonQueued says that another benchmark or sweep has the lock of the Ceph cluster, is ahead in the
	// queue for the lock, or still has to restore settings.
	ReasonQueued = "Queued"
	// ReasonWaitingForQuiescence says that the Ceph cluster is not healthy or quiet enough.
	ReasonWaitingForQuiescence = "WaitingForQuiescence"
	// ReasonRunning says that phases are running, or that the data of a run after the first is being
	// prepared. In a sweep, it says that the benchmark of a run or session exists or is about to be created.
	ReasonRunning = "Running"
	// ReasonTearingDown says that the pods, pools, images and objects of the benchmark are being removed.
	ReasonTearingDown = "TearingDown"
	// ReasonComplete says that the benchmark or sweep has ended with results.
	ReasonComplete = "Complete"

	// ReasonNotAllowed says that the operator config does not allow the spec, or that nothing may
	// run in the object's namespace. In a sweep, Ceph may also have denied the tuner a change.
	ReasonNotAllowed = "NotAllowed"
	// ReasonNotPossible says that the spec cannot be carried out, on this Ceph cluster or on any.
	ReasonNotPossible = "NotPossible"
	// ReasonOutOfRoom says that OSDs became full or nearly full during the benchmark, or that a phase
	// reached its limit of bytes.
	ReasonOutOfRoom = "OutOfRoom"
	// ReasonScratchPoolGone says that the scratch pool of the sweep's block was removed or recreated,
	// although earlier runs of the block have used it.
	ReasonScratchPoolGone = "ScratchPoolGone"
	// ReasonClusterUnreachable says that the operator cannot read the CephCluster, or that Ceph does not
	// answer. In a sweep, it also says that the sweep's steps have failed for longer than
	// quiescence.timeout, or that the sweep could not be planned within that time.
	ReasonClusterUnreachable = "ClusterUnreachable"
	// ReasonClaimNotFound says that the PersistentVolumeClaim that is the target does not exist.
	ReasonClaimNotFound = "ClaimNotFound"
	// ReasonNotPrepared says that something that the clients need, such as the scratch pool, was not ready
	// within the time limit.
	ReasonNotPrepared = "NotPrepared"
	// ReasonUnschedulable says that Kubernetes finds no node for a client.
	ReasonUnschedulable = "Unschedulable"
	// ReasonImagePullFailed says that a node cannot pull an image of the clients.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonClientsRefused says that Kubernetes does not accept the clients' pods, for example
	// because of a quota or pod security, or cannot create their containers.
	ReasonClientsRefused = "ClientsRefused"
	// ReasonClientsNotStarted says that a client's pod did not start within the time limit, or that
	// Kubernetes warns about a pod that does not run yet.
	ReasonClientsNotStarted = "ClientsNotStarted"
	// ReasonClientsUnreachable says that the manager cannot connect to a client, for example
	// because of a network policy.
	ReasonClientsUnreachable = "ClientsUnreachable"
	// ReasonClientsLost says that a client's pod ended before its work was done, or that the clients' Job
	// was deleted or changed.
	ReasonClientsLost = "ClientsLost"
	// ReasonNodeLost says that Kubernetes has lost contact with the node of a client: the node is down, hangs, or is cut
	// off.
	ReasonNodeLost = "NodeLost"
	// ReasonBackgroundLoadLost says that the pod of the background load ended before the last run did, or
	// that its Job was deleted.
	ReasonBackgroundLoadLost = "BackgroundLoadLost"
	// ReasonPhaseFailed says that a task of the clients, such as a prefill or a phase, has failed
	// or made no progress.
	ReasonPhaseFailed = "PhaseFailed"
	// ReasonResultsNotKept says that the results of a run could not be fetched or written within the time
	// limit.
	ReasonResultsNotKept = "ResultsNotKept"
	// ReasonLockLost says that another object has taken the lock of the Ceph cluster, or that the lock
	// expired because it could not be renewed.
	ReasonLockLost = "LockLost"
	// ReasonOutageRefused says that this cluster does not permit the outage that the template requests.
	ReasonOutageRefused = "OutageRefused"
	// ReasonRestoringOSDs says that OSDs that this or an earlier benchmark took down are not up yet.
	ReasonRestoringOSDs = "RestoringOSDs"
	// ReasonNoValidRun says that no run is valid.
	ReasonNoValidRun = "NoValidRun"
)

// These reasons say how the background load made a run Invalid. The reason of such a run begins with one of
// these words.
const (
	// ReasonBackgroundLoadFailed says that the engine of the background load has failed, or could
	// not be started.
	ReasonBackgroundLoadFailed = "BackgroundLoadFailed"
	// ReasonBackgroundLoadEndedEarly says that the background load ended before the end of the last phase,
	// or that its report was lost.
	ReasonBackgroundLoadEndedEarly = "BackgroundLoadEndedEarly"
	// ReasonBackgroundLoadNoIO says that the background load did no I/O in the whole run, or
	// during a phase.
	ReasonBackgroundLoadNoIO = "BackgroundLoadNoIO"
)

// AnnotationAbandonRestore on a CephTuningSweep, with the value "true", abandons the restore after one last
// attempt. It is for a Ceph cluster that no longer exists.
const AnnotationAbandonRestore = "cephtune.dev/abandon-restore"
