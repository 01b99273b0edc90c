package tuning

import (
	"slices"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/settings"
)

// TakenAtStart returns the changes of options that OSDs read only when they start.
func TakenAtStart(changes []Change, about Known) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		return c.Setting.Kind != KindConfig || !about.Help[c.Setting.Option].Known || !takenAtStart(c.Setting, about)
	})
}

// takenAtStart reports whether OSDs read an option only when they start. It also uses the list of
// package settings, because Ceph reports some such options as changeable at run time.
func takenAtStart(of Setting, about Known) bool {
	risk, _ := settings.ConfigRisk(of.Option)
	return risk == settings.RiskRestart || !about.Help[of.Option].Runtime
}

// Restarts is the progress of restarting all OSDs. The zero value means that restarts have not
// begun.
//
// An OSD counts as restarted if it came up in a later epoch of the OSD map than Since. The values
// that it reports prove nothing: if an option is removed from the central configuration, an OSD
// immediately reports the default, but keeps its old value until it restarts.
type Restarts struct {
	// Since is the epoch of the OSD map before the first restart.
	Since int64
	// Last is the most recently stopped OSD, and Started the number of OSDs stopped so far.
	Last, Started int
}

// Due returns the OSDs that are up but have not restarted yet, and those that are down.
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

// Next returns the OSD to stop now, or -1 if all have restarted. It also returns -1 while an OSD is
// down, or while the last one has not stopped yet, since the cluster cannot spare another.
func (r Restarts) Next(m *ceph.OSDMap) int {
	due, down := r.Due(m)
	if len(down) > 0 || len(due) == 0 || r.Started > 0 && slices.Contains(due, r.Last) {
		return -1
	}
	return due[0]
}
