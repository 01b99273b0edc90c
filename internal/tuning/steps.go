package tuning

// Step is a point of a change or a restore. Tests simulate a crash at each step.
type Step string

// The steps, in the order in which a change and its restore pass them.
const (
	// StepIntentWritten: the journal has the intended changes and the original values.
	StepIntentWritten Step = "IntentWritten"
	// StepIntentReadBack: the journal was read back.
	StepIntentReadBack Step = "IntentReadBack"
	// StepChanged: a value was sent to Ceph. Each value passes this step.
	StepChanged Step = "Changed"
	// StepStoredSeen: the values were read back in Ceph's notation.
	StepStoredSeen Step = "StoredSeen"
	// StepStoredWritten: the journal has the values in Ceph's notation.
	StepStoredWritten Step = "StoredWritten"
	// StepCompared: a setting was compared with the journal, before its restore.
	StepCompared Step = "Compared"
	// StepOriginalSent: the original value was sent to Ceph.
	StepOriginalSent Step = "OriginalSent"
	// StepOriginalSeen: the original value was read back from Ceph.
	StepOriginalSeen Step = "OriginalSeen"
	// StepRestoredWritten: the journal has the outcome of a setting, or of all settings that Keep closes.
	StepRestoredWritten Step = "RestoredWritten"
	// StepCopyRemoved: a copy of the done journal was removed. Each copy passes this step.
	StepCopyRemoved Step = "CopyRemoved"
	// StepClosed: all copies of the done journal were removed.
	StepClosed Step = "Closed"
)

// Steps returns all steps. A test fails if a step is missing from this list.
func Steps() []Step {
	return []Step{
		StepIntentWritten, StepIntentReadBack, StepChanged, StepStoredSeen, StepStoredWritten,
		StepCompared, StepOriginalSent, StepOriginalSeen, StepRestoredWritten, StepCopyRemoved, StepClosed,
	}
}
