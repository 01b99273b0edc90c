package tuning

// Step is a point in the life of a change at which the process may be killed.
type Step string

// The steps, in the order in which a change and its restore pass them.
const (
	// StepIntentWritten: what is to be changed, and what there was before, is in the
	// journal.
	StepIntentWritten Step = "IntentWritten"
	// StepIntentReadBack: it was read back from there.
	StepIntentReadBack Step = "IntentReadBack"
	// StepChanged: one value was sent to Ceph. It is passed for each.
	StepChanged Step = "Changed"
	// StepStoredSeen: the forms in which Ceph stored the values were read.
	StepStoredSeen Step = "StoredSeen"
	// StepStoredWritten: they are in the journal.
	StepStoredWritten Step = "StoredWritten"
	// StepCompared: a setting was compared with the journal, before its restore.
	StepCompared Step = "Compared"
	// StepOriginalSent: its original value was sent to Ceph.
	StepOriginalSent Step = "OriginalSent"
	// StepOriginalSeen: that was read back from Ceph.
	StepOriginalSeen Step = "OriginalSeen"
	// StepRestoredWritten: the journal says that the entry is closed.
	StepRestoredWritten Step = "RestoredWritten"
	// StepCopyRemoved: one copy of the journal, all of whose entries are closed, was
	// removed. It is passed for each.
	StepCopyRemoved Step = "CopyRemoved"
	// StepClosed: the journal, all of whose entries are closed, was removed.
	StepClosed Step = "Closed"
)

// Steps are all of them. A test kills the process at each; a step that is passed and not
// in the list fails it.
func Steps() []Step {
	return []Step{
		StepIntentWritten, StepIntentReadBack, StepChanged, StepStoredSeen, StepStoredWritten,
		StepCompared, StepOriginalSent, StepOriginalSeen, StepRestoredWritten, StepCopyRemoved, StepClosed,
	}
}
