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
	// the verdict: a benchmark that failed its expectations is complete.
	ConditionComplete = "Complete"

	// ConditionFailed is True when the run has ended without results.
	ConditionFailed = "Failed"
)

// Condition types of CephTuningSweep alone.
const (
	// ConditionRestored is False while the Ceph cluster differs from how the
	// sweep found it, with the reason and what is still to be put back, and True
	// once everything was read back as it was.
	ConditionRestored = "Restored"
)

// Reasons of both kinds.
const (
	// ReasonNotImplemented says that this build of the operator lacks something
	// that the spec asks for. Another build is needed, or another spec.
	ReasonNotImplemented = "NotImplemented"

	// ReasonSuspended says that spec.suspend is true.
	ReasonSuspended = "Suspended"
)
