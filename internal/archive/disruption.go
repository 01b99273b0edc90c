package archive

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Disruption is what came of the disruption in one run.
type Disruption struct {
	// StopTime is when the OSDs were marked down.
	StopTime *metav1.Time `json:"stopTime,omitempty"`

	// LetBackTime is when they were let up again, from which times count that say nothing else.
	LetBackTime *metav1.Time `json:"letBackTime,omitempty"`

	// SecondsToOut is from the stop until Ceph was seen to take the OSDs for lost, and
	// SecondsToBackfilled from then until all placement groups had all their copies without
	// them; "" where the first was not meant to be, or the second did not come before the
	// OSDs were let up.
	SecondsToOut        v1alpha1.Decimal `json:"secondsToOut,omitempty"`
	SecondsToBackfilled v1alpha1.Decimal `json:"secondsToBackfilled,omitempty"`

	// SecondsToUp is until all of them were up.
	SecondsToUp v1alpha1.Decimal `json:"secondsToUp,omitempty"`

	// SecondsToActive is until all placement groups served clients, as far as Ceph told:
	// it tells every five seconds.
	SecondsToActive v1alpha1.Decimal `json:"secondsToActive,omitempty"`

	// SecondsToClean is until all placement groups had all their copies again.
	SecondsToClean v1alpha1.Decimal `json:"secondsToClean,omitempty"`

	// DegradedObjectSeconds is the number of copies of objects that were missing, summed
	// over the time from the stop until there was none.
	DegradedObjectSeconds v1alpha1.Decimal `json:"degradedObjectSeconds,omitempty"`

	// RecoveredObjects is how many copies were recovered.
	RecoveredObjects *int64 `json:"recoveredObjects,omitempty"`

	// RecoveredObjectsPerSecond is their rate, from when the OSDs were let up again.
	RecoveredObjectsPerSecond v1alpha1.Decimal `json:"recoveredObjectsPerSecond,omitempty"`

	// Windows are what clients got, in order: Before, Outage, Recovery and After.
	Windows []DisruptionWindow `json:"windows,omitempty"`
}

// WindowName names a part of a phase with a disruption.
type WindowName string

// The windows.
const (
	// WindowBefore is until the OSDs are marked down.
	WindowBefore WindowName = "Before"
	// WindowOutage is while they are down.
	WindowOutage WindowName = "Outage"
	// WindowRecovery is from when they are let up again until the cluster is whole.
	WindowRecovery WindowName = "Recovery"
	// WindowAfter is from then on.
	WindowAfter WindowName = "After"
)

// DisruptionWindow is what clients got in a part of the phase.
type DisruptionWindow struct {
	// Name is Before, Outage, Recovery or After.
	Name WindowName `json:"name"`

	// Seconds is how many whole seconds it has that the clients told of.
	Seconds int32 `json:"seconds,omitempty"`

	// Bandwidth is bytes per second, the mean.
	Bandwidth v1alpha1.Decimal `json:"bandwidth,omitempty"`

	// IOPS is operations per second, the mean.
	IOPS v1alpha1.Decimal `json:"iops,omitempty"`

	// LatencyP50 and LatencyP99 are the times within which half and 99 % of the window's
	// operations completed, in seconds. They are of the spans of five seconds that end in the window, and absent where
	// a client does more than two million operations, or for longer than 30m.
	LatencyP50 v1alpha1.Decimal `json:"latencyP50,omitempty"`
	LatencyP99 v1alpha1.Decimal `json:"latencyP99,omitempty"`

	// StalledSeconds is the number of seconds in which nothing completed.
	StalledSeconds int32 `json:"stalledSeconds,omitempty"`
}
