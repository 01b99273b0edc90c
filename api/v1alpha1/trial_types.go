package v1alpha1

import (
	"cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Trial is the unit of evidence of a sweep. In the design Blocks, it is one run of the phases with one
// configuration: configuration, block and objective are set. In the design Interleaved, it is one load under which
// configurations alternate: windows and comparisons are set. Fields of the other design are absent, as are the
// results of an invalid trial.
type Trial struct {
	// number is the number of the trial, from 1. It is part of the name of the trial's CephBenchmark.
	// +required
	// +kubebuilder:validation:Minimum=1
	Number int32 `json:"number"`

	// state says whether the trial counts: Valid or Invalid.
	// +required
	State TrialState `json:"state"`

	// reason says why the trial is Invalid.
	// +optional
	Reason TrialReason `json:"reason,omitempty"`

	// mark qualifies a Valid trial.
	// +optional
	Mark TrialMark `json:"mark,omitempty"`

	// durationSeconds is how long the trial took, from the change of settings to its entry in status.
	// +required
	// +kubebuilder:validation:Minimum=0
	DurationSeconds int32 `json:"durationSeconds"`

	// writtenMebibytes is how many MiB the trial wrote, including prefills.
	// +required
	// +kubebuilder:validation:Minimum=0
	WrittenMebibytes int64 `json:"writtenMebibytes"`

	// configuration is the index of the configuration; 0 is the baseline.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=64
	Configuration *int32 `json:"configuration,omitempty"`

	// block says where the trial stands in its block.
	// +optional
	Block *TrialBlock `json:"block,omitempty"`

	// objective is the figure of the objective, in operations or bytes per second, or in seconds. It has six
	// significant digits.
	// +optional
	Objective Decimal `json:"objective,omitempty"`

	// constraints are the figures of spec.constraints, in the same order, units and precision.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	Constraints []Decimal `json:"constraints,omitempty"`

	// endTime is when the trial ended.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`

	// windows is Short if settings alternated every few seconds, and Long if the baseline and one configuration
	// stayed applied for a long window each. If long windows follow, the verdict rests on them alone.
	// +optional
	Windows TrialWindows `json:"windows,omitempty"`

	// baselineObjective is the typical figure of the objective with the baseline, in the units of objective: the mean
	// of its valid windows or, for a percentile, that of its median window, because percentiles cannot be averaged.
	// Trials of earlier versions of the operator lack it.
	// +optional
	BaselineObjective Decimal `json:"baselineObjective,omitempty"`

	// comparisons compare each configuration of the trial with the baseline. Curves that give no ratio have none.
	// +optional
	// +listType=map
	// +listMapKey=configuration
	// +kubebuilder:validation:MaxItems=6
	Comparisons []TrialComparison `json:"comparisons,omitempty"`
}

// TrialBlock is the place of a trial in a block: a group of trials, or attempts at them, that are compared with each
// other.
type TrialBlock struct {
	// number is the number of the block, from 1. Blocks of the confirmation continue the numbers.
	// +required
	// +kubebuilder:validation:Minimum=1
	Number int32 `json:"number"`

	// attempt is the number of the attempt at the block, from 1. The last attempt counts.
	// +required
	// +kubebuilder:validation:Minimum=1
	Attempt int32 `json:"attempt"`

	// position is the position in the block, from 0.
	// +required
	// +kubebuilder:validation:Minimum=0
	Position int32 `json:"position"`
}

// TrialComparison compares a configuration with the baseline, by windows of one trial.
type TrialComparison struct {
	// configuration is the index of the configuration.
	// +required
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=64
	Configuration int32 `json:"configuration"`

	// blocks is the number of valid blocks of windows. Each block has windows of the baseline and of every
	// configuration of the trial.
	// +required
	// +kubebuilder:validation:Minimum=1
	Blocks int32 `json:"blocks"`

	// objective is the typical figure of the objective with the configuration, as baselineObjective is with the
	// baseline. For a percentile, the two do not give ratio, which compares means.
	// +optional
	Objective Decimal `json:"objective,omitempty"`

	// ratio is the mean figure of the objective, divided by that of the baseline.
	// +required
	Ratio Decimal `json:"ratio"`

	// deviation is the standard deviation, between blocks, of the logarithm of ratio. It is 0 if there is only one
	// block, and if no operation finished with one of the two settings.
	// +required
	Deviation Decimal `json:"deviation"`

	// deviationAbove is set if windows are steps of two curves. Then deviation is that towards smaller ratios, and
	// deviationAbove that towards greater ones.
	// +optional
	DeviationAbove Decimal `json:"deviationAbove,omitempty"`

	// randomization has the results of tests that need many windows. It is absent for long windows and for curves.
	// +optional
	Randomization *TrialRandomization `json:"randomization,omitempty"`

	// constraints are the figures of spec.constraints, in the same order.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=3
	Constraints []TrialConstraint `json:"constraints,omitempty"`
}

// TrialRandomization has the results of tests that compare the order of the windows with other possible orders. The
// p-values have four decimals.
type TrialRandomization struct {
	// pSuperior is the p-value for a gain of more than the minimum effect.
	// +required
	PSuperior Decimal `json:"pSuperior"`

	// pGain is the p-value for a gain.
	// +required
	PGain Decimal `json:"pGain"`

	// pLoss is the p-value for a loss.
	// +required
	PLoss Decimal `json:"pLoss"`

	// pSmall is the p-value for a gain of less than the minimum effect.
	// +required
	PSmall Decimal `json:"pSmall"`

	// lateScore tests for carry-over, which is an effect of the previous setting in the next window. It is the normal
	// score of the difference between late and early halves of windows.
	// +required
	LateScore Decimal `json:"lateScore"`

	// lagScore tests for carry-over, too. It is the normal score of the difference between windows after different
	// settings.
	// +required
	LagScore Decimal `json:"lagScore"`
}

// TrialConstraint is a figure of a constraint, by windows of one trial.
type TrialConstraint struct {
	// value is the mean figure of the configuration, divided by that of the baseline, for a constraint with
	// maximumRegression. With atMost or atLeast, it is the mean figure itself, in operations or bytes per second, or
	// in seconds.
	// +required
	Value Decimal `json:"value"`

	// deviation is the standard deviation, between blocks, of the logarithm of value.
	// +required
	Deviation Decimal `json:"deviation"`
}

// TrialState says whether a trial counts.
// +kubebuilder:validation:Enum=Valid;Invalid
type TrialState string

// The states.
const (
	TrialValid   TrialState = "Valid"
	TrialInvalid TrialState = "Invalid"
)

// TrialMark qualifies a valid trial. Trials that are Starved or Throttled alone do not make the verdicts Superior and
// Better.
// +kubebuilder:validation:Enum=Starved;Throttled;BelowRate;Saturated
type TrialMark string

// The marks.
const (
	// TrialStarved means that a client or its host lacked CPU.
	TrialStarved TrialMark = "Starved"
	// TrialThrottled means that the CPU limit stopped a client.
	TrialThrottled TrialMark = "Throttled"
	// TrialBelowRate means that the clients missed the offered rate: in the design Interleaved, also under the
	// baseline.
	TrialBelowRate TrialMark = "BelowRate"
	// TrialSaturated means that the storage could not take the rate: the number of waiting operations grew until the
	// end. Each latency of the trial counts as the longest that an operation of the phase can wait, so it is worse
	// than any other.
	TrialSaturated TrialMark = "Saturated"
)

// TrialReason says why a trial is invalid.
// +kubebuilder:validation:Enum=NotSteady;Drifted;Inert;Disturbed;Changed;Failed;Interrupted;TooShort;Uneven
type TrialReason string

// The reasons. NotSteady, Drifted, Inert, Disturbed and Changed belong to the design Blocks, TooShort and Uneven to the
// design Interleaved.
const (
	// TrialNotSteady means that the phase of the objective or of a constraint has the mark NotSteady: its rate did
	// not become steady in the first half of the measured time.
	TrialNotSteady TrialReason = "NotSteady"
	// TrialDrifted means that the first and last trials of the baseline in the block differ too much, or that a
	// trial of the baseline is missing.
	TrialDrifted TrialReason = "Drifted"
	// TrialInert means that the daemons did not run with the setting, or did not report whether they did.
	TrialInert TrialReason = "Inert"
	// TrialDisturbed means that the trial's benchmark calls its run Invalid, for example because of a disturbance.
	TrialDisturbed TrialReason = "Disturbed"
	// TrialChanged means that another client changed a setting of the sweep.
	TrialChanged TrialReason = "Changed"
	// TrialFailed means that the benchmark failed or could not begin, that a figure of the objective or of a
	// constraint is missing or 0, that the cluster did not settle, or that a switch of settings had no answer.
	TrialFailed TrialReason = "Failed"
	// TrialInterrupted means that the trial or its block was not completed: the manager was restarted, the sweep
	// restored its settings, or it ended.
	TrialInterrupted TrialReason = "Interrupted"
	// TrialTooShort means that too few blocks of windows are valid.
	TrialTooShort TrialReason = "TooShort"
	// TrialUneven means that windows of one setting were invalid more often than chance allows.
	TrialUneven TrialReason = "Uneven"
)

// TrialReasons returns all reasons.
func TrialReasons() []TrialReason {
	return []TrialReason{
		TrialNotSteady, TrialDrifted, TrialInert, TrialDisturbed, TrialChanged, TrialFailed, TrialInterrupted, TrialTooShort, TrialUneven,
	}
}

// TrialWindows is the kind of windows of a trial.
// +kubebuilder:validation:Enum=Short;Long
type TrialWindows string

// The kinds of windows.
const (
	WindowsShort TrialWindows = "Short"
	WindowsLong  TrialWindows = "Long"
)

// Validity says in one word whether a trial counts: Valid, its mark, or why it is invalid.
func (t *Trial) Validity() string {
	return cmp.Or(string(t.Reason), string(t.Mark), string(t.State))
}
