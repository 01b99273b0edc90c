package cephtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
)

// SetNoUp implements ceph.Tuner. If the flag is unset while the OSD is down, the OSD comes up, unless
// StayDown contains it.
func (c *Cluster) SetNoUp(ctx context.Context, connection ceph.Connection, fence ceph.Fence, osd int, on bool) error {
	if err := ceph.ValidOSDs([]int{osd}); err != nil {
		return err
	}
	return c.change(ctx, "SetNoUp", connection, fence, func() error {
		state, err := c.osd(osd)
		if err != nil {
			return nil //nolint:nilerr // Ceph reports success here, too.
		}
		state.Flags = slices.DeleteFunc(slices.Clone(state.Flags), func(flag string) bool { return flag == ceph.FlagNoUp })
		if on {
			state.Flags = append(state.Flags, ceph.FlagNoUp)
		}
		c.comeUp(state)
		return nil
	}, osd, on)
}

// MarkOSDsDown implements ceph.Tuner. OSDs without the flag noup come up again immediately, unless StayDown
// contains them.
func (c *Cluster) MarkOSDsDown(ctx context.Context, connection ceph.Connection, fence ceph.Fence, osds []int) error {
	if err := ceph.ValidOSDs(osds); err != nil {
		return err
	}
	return c.change(ctx, "MarkOSDsDown", connection, fence, func() error {
		for _, osd := range osds {
			state, err := c.osd(osd)
			if err != nil {
				continue // Ceph reports success for an OSD that does not exist.
			}
			c.goDown(state)
			c.comeUp(state)
		}
		return nil
	}, osds)
}

// LoseOSD takes an OSD down. The OSD stays down until BringUp is called.
func (c *Cluster) LoseOSD(osd int) {
	c.Act(func(c *Cluster) {
		if c.StayDown == nil {
			c.StayDown = map[int]bool{}
		}
		c.StayDown[osd] = true
		if state, err := c.osd(osd); err == nil {
			c.goDown(state)
		}
	})
}

// BringUp brings up an OSD that stayed down, unless it has the flag noup.
func (c *Cluster) BringUp(osd int) {
	c.Act(func(c *Cluster) {
		delete(c.StayDown, osd)
		if state, err := c.osd(osd); err == nil {
			c.comeUp(state)
		}
	})
}

func (c *Cluster) osd(id int) (*ceph.OSDState, error) {
	index := slices.IndexFunc(c.Answers.OSDMap.OSDs, func(o ceph.OSDState) bool { return o.ID == id })
	if index < 0 {
		return nil, &ceph.Error{Verb: "osd", Errno: 2, Message: fmt.Sprintf("Error ENOENT: osd.%d does not exist", id)}
	}
	return &c.Answers.OSDMap.OSDs[index], nil
}

func (c *Cluster) goDown(state *ceph.OSDState) {
	if state.Up {
		now := time.Now
		if c.Now != nil {
			now = c.Now
		}
		state.Up, state.DownSince = false, now().UTC()
		c.Answers.OSDMap.Epoch++
		c.Answers.Status.OSDsUpSince++
	}
}

func (c *Cluster) comeUp(state *ceph.OSDState) {
	if state.Up || c.StayDown[state.ID] || slices.Contains(state.Flags, ceph.FlagNoUp) {
		return
	}
	c.Answers.OSDMap.Epoch++
	c.Answers.Status.OSDsUpSince++
	state.Up, state.UpFrom = true, c.Answers.OSDMap.Epoch
	c.recovering = c.RecoveryLooks
}

// Status implements ceph.Client. It includes OSDs that are down or have flags, and the recovery after an OSD
// came up. It includes the PGs of Inactive, unless an OSD is down or recovery is under way.
func (c *Cluster) Status(ctx context.Context, connection ceph.Connection) (s *ceph.Status, err error) {
	err = c.verb(ctx, "Status", connection, func() error {
		seen := c.Answers.Status
		seen.PGsByState = maps.Clone(seen.PGsByState)
		seen.Health.Checks = slices.Clone(seen.Health.Checks)
		for _, state := range c.Inactive {
			seen.PGsByState["active+clean"]--
			seen.PGsByState[state]++
		}
		c.degrade(&seen)
		s = &seen
		return nil
	})
	return s, err
}

// PGs implements ceph.Client. It returns the PGs of Answers and those of Inactive.
func (c *Cluster) PGs(ctx context.Context, connection ceph.Connection) (pgs []ceph.PG, err error) {
	err = c.verb(ctx, "PGs", connection, func() error {
		pgs = slices.Clone(c.Answers.PGs)
		for _, id := range slices.Sorted(maps.Keys(c.Inactive)) {
			pgs = append(pgs, ceph.PG{ID: id, State: c.Inactive[id]})
		}
		return nil
	})
	return pgs, err
}

// These are the numbers of degraded objects while an OSD is down, and during recovery.
const (
	objectsWithout    = 1000
	objectsRecovering = 100
)

func (c *Cluster) degrade(s *ceph.Status) {
	down, flagged := 0, 0
	for _, osd := range c.Answers.OSDMap.OSDs {
		if !osd.Up {
			down++
		}
		if len(osd.Flags) > 0 {
			flagged++
		}
	}
	s.UpOSDs -= down
	if flagged > 0 {
		warn(s, "OSD_FLAGS", fmt.Sprintf("%d OSDs or CRUSH {nodes, device-classes} have {NOUP,NODOWN,NOIN,NOOUT} flags set", flagged))
	}
	switch {
	case down > 0:
		warn(s, "OSD_DOWN", fmt.Sprintf("%d osds down", down))
		warn(s, "PG_DEGRADED", "Degraded data redundancy")
		s.DegradedObjects = objectsWithout
		s.PGsByState = map[string]int{"active+undersized+degraded": s.PGs}
	case c.recovering > 0:
		c.recovering--
		warn(s, "PG_DEGRADED", "Degraded data redundancy")
		s.DegradedObjects = objectsRecovering
		s.PGsByState = map[string]int{"active+recovering+degraded": 1, "active+clean": s.PGs - 1}
		c.Answers.Recovered.Objects += objectsRecovering
	}
}

func warn(s *ceph.Status, code, summary string) {
	if s.Health.Status == "HEALTH_OK" {
		s.Health.Status = "HEALTH_WARN"
	}
	s.Health.Checks = append(s.Health.Checks, ceph.HealthCheck{Code: code, Severity: "HEALTH_WARN", Summary: summary})
}
