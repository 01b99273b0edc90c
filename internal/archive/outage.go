package archive

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/cephtune/cephtune/api/v1alpha1"
)

// Outage is the cost of the outage in one run. It says how long the cluster took to recover, and has the
// clients' figures before, during and after the outage. Figures of a part that the outage did not reach are
// absent.
type Outage struct {
	// StopTime is when the OSDs were marked down.
	StopTime *metav1.Time `json:"stopTime,omitempty"`

	// NoupUnsetTime is when noup was unset. The durations below begin at this time unless their comments name
	// another.
	NoupUnsetTime *metav1.Time `json:"noupUnsetTime,omitempty"`

	// SecondsToOut is the time from StopTime until Ceph had marked the OSDs out; "" if the outage did not
	// wait for that, or ended earlier. SecondsToBackfilled is the time from then until all placement groups
	// had all their copies on other OSDs; "" if noup was unset before that.
	SecondsToOut        v1alpha1.Decimal `json:"secondsToOut,omitempty"`
	SecondsToBackfilled v1alpha1.Decimal `json:"secondsToBackfilled,omitempty"`

	// SecondsToUp is the time until all stopped OSDs were up.
	SecondsToUp v1alpha1.Decimal `json:"secondsToUp,omitempty"`

	// SecondsToActive is the time until all placement groups served clients. It is accurate to about
	// five seconds, because Ceph reports the states of placement groups every five seconds.
	SecondsToActive v1alpha1.Decimal `json:"secondsToActive,omitempty"`

	// SecondsToClean is the time until all placement groups had all their copies again.
	SecondsToClean v1alpha1.Decimal `json:"secondsToClean,omitempty"`

	// DegradedObjectSeconds is the number of missing copies of objects, integrated over the time from
	// StopTime until all placement groups were clean.
	DegradedObjectSeconds v1alpha1.Decimal `json:"degradedObjectSeconds,omitempty"`

	// RecoveredObjects is the number of copies of objects that Ceph recovered in all pools, from
	// StopTime until all placement groups were clean.
	RecoveredObjects *int64 `json:"recoveredObjects,omitempty"`

	// RecoveredObjectsPerSecond is RecoveredObjects divided by SecondsToClean.
	RecoveredObjectsPerSecond v1alpha1.Decimal `json:"recoveredObjectsPerSecond,omitempty"`

	// Windows holds the clients' figures in the windows Before, Outage, Recovery and After, in this
	// order. A window without a complete second is missing.
	Windows []OutageWindow `json:"windows,omitempty"`
}

// WindowName names a part of a phase with an outage.
type WindowName string

// These are the windows, in chronological order. For the clients' figures, each window except WindowAfter ends
// two seconds early, because a client's time series may begin up to two seconds later than planned. So the
// first second of an outage never counts for WindowBefore. If the phase ends before a window does, the window
// lasts to the end of the phase.
const (
	// WindowBefore lasts until the OSDs are marked down.
	WindowBefore WindowName = "Before"
	// WindowOutage lasts from the end of WindowBefore until noup is unset.
	WindowOutage WindowName = "Outage"
	// WindowRecovery lasts from unsetting noup until all placement groups are clean.
	WindowRecovery WindowName = "Recovery"
	// WindowAfter lasts from the end of WindowRecovery to the end of the phase.
	WindowAfter WindowName = "After"
)

// OutageWindow holds the clients' figures in one window of the phase.
type OutageWindow struct {
	Name WindowName `json:"name"`

	// Seconds is the number of whole seconds in the window for which all clients reported figures.
	Seconds int32 `json:"seconds,omitempty"`

	// Bandwidth is the mean in bytes per second.
	Bandwidth v1alpha1.Decimal `json:"bandwidth,omitempty"`

	// IOPS is the mean in operations per second.
	IOPS v1alpha1.Decimal `json:"iops,omitempty"`

	// LatencyP50 and LatencyP99 are the median and the 99th percentile of the operations' latencies, in
	// seconds. They cover the spans of five seconds that end in the window. They are absent if the phase or
	// one of its jobs has no rate limit, if the phase measures for more than 30m, or if the rate allows a
	// client more than two million operations in a direction. They are also absent if a client could not
	// report them, and if no operation completed in these spans. A percentile with only a lower bound is
	// absent too.
	LatencyP50 v1alpha1.Decimal `json:"latencyP50,omitempty"`
	LatencyP99 v1alpha1.Decimal `json:"latencyP99,omitempty"`

	// StalledSeconds is the number of seconds in which no operation completed.
	StalledSeconds int32 `json:"stalledSeconds,omitempty"`
}
