package archive

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Outage is what came of the outage in one run.
type Outage struct {
	// StopTime is when the OSDs were marked down.
	StopTime *metav1.Time `json:"stopTime,omitempty"`

	// NoupUnsetTime is when noup was unset. Other times count from it unless they say otherwise.
	NoupUnsetTime *metav1.Time `json:"letBackTime,omitempty"`

	// SecondsToOut is from the stop until Ceph had marked the OSDs out, and
	// SecondsToBackfilled from then until all placement groups had all their copies without
	// them; "" if the first was not intended, or the second did not happen before noup was
	// unset.
	SecondsToOut        v1alpha1.Decimal `json:"secondsToOut,omitempty"`
	SecondsToBackfilled v1alpha1.Decimal `json:"secondsToBackfilled,omitempty"`

	// SecondsToUp is until all of them were up.
	SecondsToUp v1alpha1.Decimal `json:"secondsToUp,omitempty"`

	// SecondsToActive is until all placement groups served clients, as far as Ceph reports,
	// every five seconds.
	SecondsToActive v1alpha1.Decimal `json:"secondsToActive,omitempty"`

	// SecondsToClean is until all placement groups had all their copies again.
	SecondsToClean v1alpha1.Decimal `json:"secondsToClean,omitempty"`

	// DegradedObjectSeconds is the number of copies of objects that were missing, summed
	// over the time from the stop until there was none.
	DegradedObjectSeconds v1alpha1.Decimal `json:"degradedObjectSeconds,omitempty"`

	// RecoveredObjects is how many copies were recovered.
	RecoveredObjects *int64 `json:"recoveredObjects,omitempty"`

	// RecoveredObjectsPerSecond is their rate since noup was unset.
	RecoveredObjectsPerSecond v1alpha1.Decimal `json:"recoveredObjectsPerSecond,omitempty"`

	// Windows are what clients got, in order: Before, Outage, Recovery and After.
	Windows []OutageWindow `json:"windows,omitempty"`
}

// WindowName names a part of a phase with an outage.
type WindowName string

// The windows.
const (
	// WindowBefore is until the OSDs are marked down.
	WindowBefore WindowName = "Before"
	// WindowOutage is while they are down.
	WindowOutage WindowName = "Outage"
	// WindowRecovery is from unsetting noup until the cluster is whole.
	WindowRecovery WindowName = "Recovery"
	// WindowAfter is from then on.
	WindowAfter WindowName = "After"
)

// OutageWindow is what clients got in a part of the phase.
type OutageWindow struct {
	// Name is Before, Outage, Recovery or After.
	Name WindowName `json:"name"`

	// Seconds is the number of its whole seconds that clients reported.
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
