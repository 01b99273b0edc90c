package tuning

import (
	"slices"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/settings"
)

// TakenAtStart are the changes that OSDs take only when they start.
func TakenAtStart(changes []Change, about Known) []Change {
	return slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		return c.Setting.Kind != KindConfig || !about.Help[c.Setting.Option].Known || !takenAtStart(c.Setting, about)
	})
}

// takenAtStart goes by what is known of an option here, too: some that Ceph calls changeable at
// run time are only read when an OSD starts.
func takenAtStart(of Setting, about Known) bool {
	risk, _ := settings.ConfigRisk(of.Option)
	return risk == settings.RiskRestart || !about.Help[of.Option].Runtime
}

// Restarts is how far the restarts of all OSDs are. The zero value is for before.
//
// It goes by when OSDs came up, and not by what they say they run with: of an option that
// was removed from the central configuration an OSD shows the default at once, and runs
// with what it had until it starts again.
type Restarts struct {
	// Since is the epoch of the OSD map before the first restart.
	Since int64
	// Last is the most recently stopped OSD, and Told the number of stopped OSDs so far.
	Last, Started int
}

// Due are the OSDs that have not started since, and those that are down at present.
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

// Next returns the OSD to stop now, or -1: while one is down, or the last one has not ended
// yet, the cluster cannot spare another.
func (r Restarts) Next(m *ceph.OSDMap) int {
	due, down := r.Due(m)
	if len(down) > 0 || len(due) == 0 || r.Started > 0 && slices.Contains(due, r.Last) {
		return -1
	}
	return due[0]
}
