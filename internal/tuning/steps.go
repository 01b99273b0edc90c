package tuning

// Step is a point in the life of a change at which the process may be killed.
type Step string

// The steps, in the order in which a change and its restore pass them.
const (
	// StepIntentWritten: the journal has the intended changes and the original values.
	StepIntentWritten Step = "IntentWritten"
	// StepIntentReadBack: the journal was read back.
	StepIntentReadBack Step = "IntentReadBack"
	// StepChanged: one value was sent to Ceph. The step is passed once for each value.
	StepChanged Step = "Changed"
	// StepStoredSeen: the forms in which Ceph stored the values were read.
	StepStoredSeen Step = "StoredSeen"
	// StepStoredWritten: the journal has these forms.
	StepStoredWritten Step = "StoredWritten"
	// StepCompared: a setting was compared with the journal, before its restore.
	StepCompared Step = "Compared"
	// StepOriginalSent: the original value was sent to Ceph.
	StepOriginalSent Step = "OriginalSent"
	// StepOriginalSeen: the original value was read back from Ceph.
	StepOriginalSeen Step = "OriginalSeen"
	// StepRestoredWritten: the journal says that the entry is closed.
	StepRestoredWritten Step = "RestoredWritten"
	// StepCopyRemoved: one copy of the done journal was removed. The step is passed once
	// for each copy.
	StepCopyRemoved Step = "CopyRemoved"
	// StepClosed: all copies of the done journal were removed.
	StepClosed Step = "Closed"
)

// Steps returns all steps. A test simulates a crash at each, and fails if a step is
// missing from this list.
func Steps() []Step {
	return []Step{
		StepIntentWritten, StepIntentReadBack, StepChanged, StepStoredSeen, StepStoredWritten,
		StepCompared, StepOriginalSent, StepOriginalSeen, StepRestoredWritten, StepCopyRemoved, StepClosed,
	}
}
