// Package dependencies has what every controller needs of Kubernetes, of Ceph and of this process.
package dependencies

import (
	"time"

	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cephtune/cephtune/internal/lock"
	"github.com/cephtune/cephtune/internal/metrics/exporter"
	"github.com/cephtune/cephtune/internal/settings"
	"github.com/cephtune/cephtune/internal/settings/limits"
	"github.com/cephtune/cephtune/internal/tuning"
)

// Shared holds the dependencies of a controller that do not depend on its kind.
type Shared struct {
	// Client writes, and reads from a cache. Reader reads from the API server: objects that must be current, and
	// objects that the cache does not have.
	Client   client.Client
	Reader   client.Reader
	Recorder events.EventRecorder
	Settings *settings.Settings
	Ceph     tuning.Ceph
	Lock     lock.Locker
	// Journals stores the settings that sweeps still have to restore. Copies are in Ceph.
	Journals tuning.Store
	// Outages stores the journals of outages, which name the OSDs that are kept down.
	Outages tuning.Store
	// Writer names this process in journals. No earlier or later process has the same name.
	Writer string
	// Doubts records changes of Ceph whose outcome this process does not know. The controllers share it.
	Doubts *tuning.Doubts
	// KeepEvery is the interval between checks for orphaned journals; 0 means no checks.
	KeepEvery time.Duration
	// Reached is called at each step of a change. An error from it ends the current operation. Tests use it
	// to simulate a killed process. It may be nil.
	Reached func(tuning.Step) error
	// MasterKey is the secret from which the keys of sessions and of signatures are derived.
	MasterKey []byte
	// Budget is the memory for what all clients report. The controllers share it. It may be nil.
	Budget *limits.Budget
	// Counts counts events for metrics; nil counts nothing.
	Counts *exporter.Events
	// Now is the clock.
	Now func() time.Time
}
