package archive

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Outage shows what the outage of one run cost: how long the cluster took to recover, and what the
// clients measured meanwhile.
type Outage struct {
	// StopTime is when the OSDs were marked down.
	StopTime *metav1.Time `json:"stopTime,omitempty"`

	// NoupUnsetTime is when noup was unset. The durations below count from then unless they say
	// otherwise.
	NoupUnsetTime *metav1.Time `json:"noupUnsetTime,omitempty"`

	// SecondsToOut is the time from the stop until Ceph had marked the OSDs out; "" if the
	// outage was not meant to last so long. SecondsToBackfilled is the time after that until all
	// placement groups had all their copies on other OSDs; "" if noup was unset earlier.
	SecondsToOut        v1alpha1.Decimal `json:"secondsToOut,omitempty"`
	SecondsToBackfilled v1alpha1.Decimal `json:"secondsToBackfilled,omitempty"`

	// SecondsToUp is the time until all stopped OSDs were up.
	SecondsToUp v1alpha1.Decimal `json:"secondsToUp,omitempty"`

	// SecondsToActive is the time until all placement groups served clients. It is accurate to
	// about five seconds, because Ceph reports the states that often.
	SecondsToActive v1alpha1.Decimal `json:"secondsToActive,omitempty"`

	// SecondsToClean is the time until all placement groups had all their copies again.
	SecondsToClean v1alpha1.Decimal `json:"secondsToClean,omitempty"`

	// DegradedObjectSeconds is the number of missing copies of objects, integrated over the time
	// from the stop until no copy was missing.
	DegradedObjectSeconds v1alpha1.Decimal `json:"degradedObjectSeconds,omitempty"`

	// RecoveredObjects is the number of copies of objects that were recovered in all pools, from
	// the stop until all placement groups were clean.
	RecoveredObjects *int64 `json:"recoveredObjects,omitempty"`

	// RecoveredObjectsPerSecond is RecoveredObjects divided by SecondsToClean.
	RecoveredObjectsPerSecond v1alpha1.Decimal `json:"recoveredObjectsPerSecond,omitempty"`

	// Windows holds the clients' figures, in this order: Before, Outage, Recovery and After. A
	// window without a complete second is missing.
	Windows []OutageWindow `json:"windows,omitempty"`
}

// WindowName names a part of a phase with an outage.
type WindowName string

// These are the windows, in the order of time. The clients' figures are divided two seconds before
// each of the moments, so that the first second of an outage never counts for the window before.
const (
	// WindowBefore lasts until the OSDs are marked down.
	WindowBefore WindowName = "Before"
	// WindowOutage lasts from then until noup is unset.
	WindowOutage WindowName = "Outage"
	// WindowRecovery lasts from unsetting noup until all placement groups are clean.
	WindowRecovery WindowName = "Recovery"
	// WindowAfter lasts from then to the end of the phase.
	WindowAfter WindowName = "After"
)

// OutageWindow holds the clients' figures in a part of the phase.
type OutageWindow struct {
	// Name is Before, Outage, Recovery or After.
	Name WindowName `json:"name"`

	// Seconds is the number of whole seconds of the window that clients reported.
	Seconds int32 `json:"seconds,omitempty"`

	// Bandwidth is the mean in bytes per second.
	Bandwidth v1alpha1.Decimal `json:"bandwidth,omitempty"`

	// IOPS is the mean in operations per second.
	IOPS v1alpha1.Decimal `json:"iops,omitempty"`

	// LatencyP50 and LatencyP99 are the times within which half and 99 % of the window's operations
	// completed, in seconds. They are computed from spans of five seconds, and cover those that end
	// in the window. They are absent if the phase has no rate limit, if its rate allows a client more
	// than two million operations in a direction, or if it measures for longer than 30m.
	LatencyP50 v1alpha1.Decimal `json:"latencyP50,omitempty"`
	LatencyP99 v1alpha1.Decimal `json:"latencyP99,omitempty"`

	// StalledSeconds is the number of seconds in which nothing completed.
	StalledSeconds int32 `json:"stalledSeconds,omitempty"`
}
