package tuning

import (
	"slices"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/settings"
)

// TakenAtStart returns the changes of options that OSDs read only when they start.
func TakenAtStart(changes []Change, known Known) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		return !IsTakenAtStart(c.Setting, known)
	})
}

// IsTakenAtStart reports whether a setting is an option that OSDs read only when they start. It returns false
// for an option that this Ceph does not know.
func IsTakenAtStart(setting Setting, known Known) bool {
	return setting.Kind == KindConfig && known.Help[setting.Option].Known && takenAtStart(setting, known)
}

// takenAtStart reports whether OSDs read an option only when they start. Ceph wrongly reports some of these
// options as changeable at run time; settings.ConfigRisk knows them. takenAtStart also returns true for an
// option without help.
func takenAtStart(setting Setting, known Known) bool {
	risk, _ := settings.ConfigRisk(setting.Option)
	return risk == settings.RiskRestart || !known.Help[setting.Option].Runtime
}

// Restarts is the progress of restarting all OSDs.
//
// An OSD counts as restarted if it came up in an epoch of the OSD map after Since. The OSD's reported values
// do not prove a restart. If an option that OSDs read only when they start is removed from the central
// configuration, an OSD reports the default immediately, but uses the old value until it restarts.
type Restarts struct {
	// Since is the epoch of the OSD map before the first restart.
	Since int64
	// Last is the OSD whose restart began last, and Started is the number of restarts that have begun.
	Last, Started int
}

// Due returns the OSDs that are up but have not restarted yet, and the OSDs that are down.
func (r Restarts) Due(m *ceph.OSDMap) (due, down []int) {
	for _, osd := range m.OSDs {
		switch {
		case !osd.Up:
			down = append(down, osd.ID)
		case osd.UpFrom <= r.Since:
			due = append(due, osd.ID)
		}
	}
	return due, down
}

// Next returns the OSD to stop now, or -1 if all OSDs have restarted. It also returns -1 while an OSD is down
// or while Last has not stopped yet, because only one OSD may be down.
func (r Restarts) Next(m *ceph.OSDMap) int {
	due, down := r.Due(m)
	if len(down) > 0 || len(due) == 0 || r.Started > 0 && slices.Contains(due, r.Last) {
		return -1
	}
	return due[0]
}
