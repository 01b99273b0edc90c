package quiescence

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/ceph"
)

// Danger is a state of a cluster in which a sweep must stop. A spec cannot allow it. A sweep that restarts OSDs
// after its restore waits instead, until the danger is over.
type Danger struct {
	// Message describes the danger.
	Message string
	// AtOnce reports that the sweep must stop after one check. Any other danger may have passed by the next
	// check.
	AtOnce bool
}

// full returns the health codes for OSDs and pools that run out of room.
func full() []string {
	return []string{"OSD_FULL", "OSD_BACKFILLFULL", "OSD_NEARFULL", "POOL_FULL", "POOL_BACKFILLFULL", "POOL_NEARFULL"}
}

// DangerDuringRestart returns a danger that forbids further changes and load; nil without a danger. The
// parameter stopped is the number of OSDs that are down on purpose. Check and Judge handle milder
// conditions.
func DangerDuringRestart(s *ceph.Status, stopped int) *Danger {
	if s.Health.Status == healthError {
		return &Danger{AtOnce: true, Message: "Ceph reports HEALTH_ERR: " + describe(slices.DeleteFunc(slices.Clone(s.Health.Checks), func(c ceph.HealthCheck) bool {
			return c.Severity != healthError
		}))}
	}
	if down := s.DownInOSDs(); down > stopped {
		return &Danger{Message: fmt.Sprintf("%d of %d OSDs that are in are not up", down, s.InOSDs)}
	}
	var found []string
	for _, check := range s.Health.Checks {
		// Muting OSD_FULL hides the error from the health status, but the OSD is still full.
		if muted := check.Muted && check.Severity != healthError; !muted && matches(check.Code, full()) {
			found = append(found, fmt.Sprintf("%s (%s)", check.Code, check.Summary))
		}
	}
	if len(found) > 0 {
		return &Danger{Message: "OSDs or pools are running out of space: " + strings.Join(found, ", ")}
	}
	return nil
}
