package v1alpha1

// These are condition types of both kinds. Ready, Reconciling and Stalled follow kstatus, so that
// kubectl wait, Flux and Argo CD understand them. Complete and Failed follow batch/v1 Job, so
// that a script can wait for either of them.
const (
	// ConditionReady is True once the run that spec.runID names has ended and status has its
	// results. The printer column Phase shows its reason, so reasons are words that make sense
	// there.
	ConditionReady = "Ready"

	// ConditionReconciling is True while the operator works towards the spec, or waits for
	// something that should happen without the user. It is absent otherwise.
	ConditionReconciling = "Reconciling"

	// ConditionStalled is True while nothing will happen until a person changes something. The
	// message says what to change. It is absent otherwise.
	ConditionStalled = "Stalled"

	// ConditionComplete is True when the run has ended with results. The verdict does not matter:
	// a benchmark that missed its expectations is complete too. Only a verdict that spec.failOn
	// lists makes the run Failed.
	ConditionComplete = "Complete"

	// ConditionFailed is True when the run has ended without results, or with a
	// verdict that spec.failOn lists.
	ConditionFailed = "Failed"
)

// These are condition types of CephTuningSweep only.
const (
	// ConditionRestored is False while Ceph may still have values of the sweep; its message says
	// why, and names the settings that are not restored. It is True once all original values were
	// read back.
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
	// ReasonSettling says that the settings of a configuration are being applied, and that the
	// cluster is not quiet yet.
	ReasonSettling = "Settling"
	// ReasonRestoring says that changed settings are being restored.
	ReasonRestoring = "Restoring"
	// ReasonPlanned says that the plan is in status. Mode Plan requests nothing else.
	ReasonPlanned = "Planned"

	// ReasonPlannerChanged says that another version of the operator has begun the run, and that
	// this version would interpret its ledger differently.
	ReasonPlannerChanged = "PlannerChanged"
	// ReasonSpecChanged says that the spec differs from the planned one, although runID is the
	// same.
	ReasonSpecChanged = "SpecChanged"
	// ReasonChangedByOthers says that another client has changed a setting that the sweep varies.
	ReasonChangedByOthers = "ChangedByOthers"
	// ReasonClusterUnhealthy says that the Ceph cluster is in danger since a change, for example
	// in HEALTH_ERR.
	ReasonClusterUnhealthy = "ClusterUnhealthy"
	// ReasonClusterChanged says that Rook or Ceph was upgraded during the sweep.
	ReasonClusterChanged = "ClusterChanged"
	// ReasonGuardrailBroken says that a limit that protects other users of the cluster was
	// exceeded.
	ReasonGuardrailBroken = "GuardrailBroken"

	// ReasonRestored says that all settings have their original values.
	ReasonRestored = "Restored"
	// ReasonNotRestored says that some settings are not restored yet.
	ReasonNotRestored = "NotRestored"
	// ReasonLeftAlone says that everything was restored except settings that another client has
	// changed meanwhile.
	ReasonLeftAlone = "LeftAlone"
	// ReasonOSDsNotRestarted says that some OSDs may still run with the sweep's values: OSDs take
	// some restored settings only when they start, and these OSDs have not restarted since.
	ReasonOSDsNotRestarted = "OSDsNotRestarted"
	// ReasonAbandoned says that the restore was abandoned.
	ReasonAbandoned = "Abandoned"
)

// Reasons of CephBenchmark. If Ready is True, its reason is Complete. If a run has failed, the
// reason of Stalled and Failed says why.
const (
	// ReasonPreparing says that the operator creates the objects that the run needs.
	ReasonPreparing = "Preparing"
	// ReasonQueued says that another run has the lock of the Ceph cluster.
	ReasonQueued = "Queued"
	// ReasonWaitingForQuiescence says that the Ceph cluster is not healthy or quiet enough.
	ReasonWaitingForQuiescence = "WaitingForQuiescence"
	// ReasonRunning says that phases are running.
	ReasonRunning = "Running"
	// ReasonTearingDown says that everything that was created is being removed.
	ReasonTearingDown = "TearingDown"
	// ReasonComplete says that the run has ended with results.
	ReasonComplete = "Complete"

	// ReasonNotAllowed says that the operator config does not allow the spec, or that nothing may
	// run in the object's namespace.
	ReasonNotAllowed = "NotAllowed"
	// ReasonNotPossible says that the spec cannot be carried out on this Ceph cluster.
	ReasonNotPossible = "NotPossible"
	// ReasonOutOfRoom says that OSDs ran out of space during the benchmark, or that a phase
	// reached its limit of bytes.
	ReasonOutOfRoom = "OutOfRoom"
	// ReasonScratchPoolGone says that the scratch pool of the sweep's block no longer exists,
	// although earlier runs of the block have used it.
	ReasonScratchPoolGone = "ScratchPoolGone"
	// ReasonClusterUnreachable says that the operator cannot read the CephCluster, or that Ceph
	// does not answer.
	ReasonClusterUnreachable = "ClusterUnreachable"
	// ReasonClaimNotFound says that the PersistentVolumeClaim that is the target does not exist.
	ReasonClaimNotFound = "ClaimNotFound"
	// ReasonNotPrepared says that something that the clients need, such as the scratch pool, was
	// not ready in time.
	ReasonNotPrepared = "NotPrepared"
	// ReasonUnschedulable says that Kubernetes finds no node for a client.
	ReasonUnschedulable = "Unschedulable"
	// ReasonImagePullFailed says that a node cannot pull an image of the clients.
	ReasonImagePullFailed = "ImagePullFailed"
	// ReasonClientsRefused says that Kubernetes does not accept the clients' pods, for example
	// because of a quota or pod security.
	ReasonClientsRefused = "ClientsRefused"
	// ReasonClientsNotStarted says that a client's pod was scheduled and did not start in time.
	ReasonClientsNotStarted = "ClientsNotStarted"
	// ReasonClientsUnreachable says that the manager cannot connect to a client, for example
	// because of a network policy.
	ReasonClientsUnreachable = "ClientsUnreachable"
	// ReasonClientsLost says that a client's pod has ended too early, or that the clients' Job
	// differs from the one that the operator created.
	ReasonClientsLost = "ClientsLost"
	// ReasonBackgroundLoadLost says that the pod of the background load has ended too early.
	ReasonBackgroundLoadLost = "BackgroundLoadLost"
	// ReasonPhaseFailed says that the engine of a phase has failed.
	ReasonPhaseFailed = "PhaseFailed"
	// ReasonResultsNotKept says that the results of a run could not be fetched or
	// written in time.
	ReasonResultsNotKept = "ResultsNotKept"
	// ReasonLockLost says that another object has taken the lock of the Ceph cluster.
	ReasonLockLost = "LockLost"
	// ReasonOutageRefused says that this cluster does not permit the outage that the template
	// requests.
	ReasonOutageRefused = "OutageRefused"
	// ReasonRestoringOSDs says that OSDs that the benchmark has stopped are not up yet.
	ReasonRestoringOSDs = "RestoringOSDs"
	// ReasonNoValidRun says that no run is valid.
	ReasonNoValidRun = "NoValidRun"
)

// These say why a run with a background load is Invalid. The run's reason begins with one of
// them.
const (
	// ReasonBackgroundLoadFailed says that the engine of the background load has failed, or could
	// not be started.
	ReasonBackgroundLoadFailed = "BackgroundLoadFailed"
	// ReasonBackgroundLoadEndedEarly says that the background load ended before the last phase.
	ReasonBackgroundLoadEndedEarly = "BackgroundLoadEndedEarly"
	// ReasonBackgroundLoadNoIO says that the background load did no I/O in the whole run, or
	// during a phase.
	ReasonBackgroundLoadNoIO = "BackgroundLoadNoIO"
)

// AnnotationAbandonRestore on a CephTuningSweep, with the value "true", abandons the restore
// after one last attempt. It is for a Ceph cluster that is gone for good.
const AnnotationAbandonRestore = "cephtune.dev/abandon-restore"
