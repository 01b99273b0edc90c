package cephtest

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// change checks the fence and carries out a change, between the hooks Before and After. If the field Lose holds
// the verb, change does not carry out the change, but stores it until the test calls Land.
func (c *Cluster) change(ctx context.Context, verb string, connection ceph.Connection, fence ceph.Fence, do func() error, args ...any) error {
	return c.verb(ctx, verb, connection, func() error {
		if fence.FSID != FSID || fence.Epoch < max(1, c.epoch) {
			return &ceph.FencedError{Message: fmt.Sprintf("epoch %d of %s is over", fence.Epoch, fence.FSID)}
		}
		c.epoch = fence.Epoch
		if c.Now != nil && !fence.Until.IsZero() && !c.Now().Before(fence.Until) {
			return &ceph.FencedError{Message: "its time is over"}
		}
		if c.Lose == verb {
			c.Lose = ""
			c.late = append(c.late, do)
			return fmt.Errorf("ceph %s did not end in time: %w", verb, context.DeadlineExceeded)
		}
		return do()
	}, args...)
}

// NewSidecar forgets the highest epoch, as a new sidecar process would.
func (c *Cluster) NewSidecar() { c.Act(func(c *Cluster) { c.epoch = 0 }) }

// SetConfig implements ceph.Tuner.
func (c *Cluster) SetConfig(ctx context.Context, connection ceph.Connection, fence ceph.Fence, who ceph.ConfigWho, option, value string) error {
	if err := fence.Tunable(ceph.Setting{Who: who, Option: option, Value: cephvalue.Of(value)}); err != nil {
		return err
	}
	return c.change(ctx, "SetConfig", connection, fence, func() error {
		help, known := c.Answers.ConfigHelp[option]
		if !known {
			return &ceph.Error{Verb: "config set", Errno: 22, Message: fmt.Sprintf("Error EINVAL: unrecognized config option '%s'", option)}
		}
		stored, err := c.store(help, value)
		if err != nil {
			return &ceph.Error{Verb: "config set", Errno: 22, Message: fmt.Sprintf("Error EINVAL: error parsing value: %v", err)}
		}
		c.removeCentral(who, option)
		c.Answers.ConfigDump = append(c.Answers.ConfigDump, ceph.ConfigEntry{
			Section: who.Section, Mask: who.Mask, Name: option, Value: stored, Level: "advanced", Runtime: help.Runtime,
		})
		if c.lockedByMClock(option) {
			c.reverting[option] = true
		}
		return nil
	}, who, option, value)
}

// RemoveConfig implements ceph.Tuner.
func (c *Cluster) RemoveConfig(ctx context.Context, connection ceph.Connection, fence ceph.Fence, who ceph.ConfigWho, option string) error {
	if err := fence.Tunable(ceph.Setting{Who: who, Option: option}); err != nil {
		return err
	}
	return c.change(ctx, "RemoveConfig", connection, fence, func() error {
		c.removeCentral(who, option)
		return nil
	}, who, option)
}

func (c *Cluster) removeCentral(who ceph.ConfigWho, option string) {
	c.Answers.ConfigDump = slices.DeleteFunc(slices.Clone(c.Answers.ConfigDump), func(e ceph.ConfigEntry) bool {
		return e.Section == who.Section && e.Mask == who.Mask && e.Name == option
	})
}

// SetBalancer implements ceph.Tuner.
func (c *Cluster) SetBalancer(ctx context.Context, connection ceph.Connection, fence ceph.Fence, on bool) error {
	return c.change(ctx, "SetBalancer", connection, fence, func() error {
		if !c.Answers.Status.ManagerActive {
			return fmt.Errorf("ceph balancer did not end in time: %w", context.DeadlineExceeded)
		}
		c.Answers.Balancer.Active = on
		return nil
	}, on)
}

// SetFlag implements ceph.Tuner.
func (c *Cluster) SetFlag(ctx context.Context, connection ceph.Connection, fence ceph.Fence, flag string, on bool) error {
	if err := ceph.TunableFlag(flag); err != nil {
		return err
	}
	return c.change(ctx, "SetFlag", connection, fence, func() error {
		flags := slices.DeleteFunc(slices.Clone(c.Answers.OSDMap.Flags), func(f string) bool { return f == flag })
		if on {
			flags = append(flags, flag)
		}
		c.Answers.OSDMap.Flags = flags
		return nil
	}, flag, on)
}

// PlacePGs implements ceph.Tuner.
func (c *Cluster) PlacePGs(ctx context.Context, connection ceph.Connection, fence ceph.Fence, pool string, pgs []ceph.PGPlacement) error {
	return c.change(ctx, "PlacePGs", connection, fence, func() error { return c.place(pool, pgs) }, pool, pgs)
}

// UnsetPoolOption implements ceph.Tuner.
func (c *Cluster) UnsetPoolOption(ctx context.Context, connection ceph.Connection, fence ceph.Fence, pool, option string) error {
	if err := fence.Tunable(ceph.Setting{Pool: pool, Option: option}); err != nil {
		return err
	}
	return c.change(ctx, "UnsetPoolOption", connection, fence, func() error {
		value, possible := ceph.UnsetBy(option)
		if !possible {
			return &ceph.InvalidError{Message: option + " of a pool cannot be unset"}
		}
		return c.setPool(pool, option, value)
	}, pool, option)
}

// SetPoolOption implements ceph.Tuner.
func (c *Cluster) SetPoolOption(ctx context.Context, connection ceph.Connection, fence ceph.Fence, pool, option, value string) error {
	if err := fence.Tunable(ceph.Setting{Pool: pool, Option: option, Value: cephvalue.Of(value)}); err != nil {
		return err
	}
	return c.change(ctx, "SetPoolOption", connection, fence, func() error { return c.setPool(pool, option, value) }, pool, option, value)
}

func (c *Cluster) setPool(name, option, value string) error {
	index := slices.IndexFunc(c.Answers.OSDMap.Pools, func(p ceph.Pool) bool { return p.Name == name })
	if index < 0 {
		return &ceph.Error{Verb: "osd pool set", Errno: 2, Message: fmt.Sprintf("Error ENOENT: unrecognized pool '%s'", name)}
	}
	pool := &c.Answers.OSDMap.Pools[index]
	if option == "pg_num" {
		return c.setPGNum(pool, value)
	}
	stored, err := storePool(pool, option, value)
	if err != nil {
		return &ceph.Error{Verb: "osd pool set", Errno: 22, Message: "Error EINVAL: " + err.Error()}
	}
	if option == "pg_autoscale_mode" {
		pool.AutoscaleMode = stored
		return nil
	}
	if pool.Options == nil {
		pool.Options = map[string]string{}
	}
	if number, err := strconv.ParseFloat(stored, 64); err == nil && number == 0 || stored == "unset" || stored == "" {
		delete(pool.Options, option)
		return nil
	}
	pool.Options[option] = stored
	return nil
}

func (c *Cluster) setPGNum(pool *ceph.Pool, value string) error {
	number, err := strconv.Atoi(value)
	if err != nil {
		return &ceph.Error{Verb: "osd pool set", Errno: 22, Message: "Error EINVAL: error parsing integer value"}
	}
	if number < 1 || number > c.MaxPGs {
		return &ceph.Error{Verb: "osd pool set", Errno: 34, Message: fmt.Sprintf("Error ERANGE: pg_num %d would exceed the mon_max_pg_per_osd value", number)}
	}
	pool.PGNumTarget, pool.PGPlacementTarget = number, number
	return nil
}

// Tick lets some time pass. OSDs, the autoscaler and Rook act, and ceph-mgr moves pg_num of each pool
// towards its target. pgp_num follows pg_num one tick later. Data moves during both ticks.
func (c *Cluster) Tick() {
	c.Change(func(a *Answers) {
		if c.MClock {
			c.revert()
		}
		for pool, options := range c.Rook {
			for option, value := range options {
				_ = c.setPool(pool, option, value) // Rook continues after an error, too.
			}
		}
		for i := range a.OSDMap.Pools {
			pool := &a.OSDMap.Pools[i]
			if wanted, ok := c.Autoscaler[pool.Name]; ok && pool.AutoscaleMode == "on" && a.Status.ManagerActive {
				pool.PGNumTarget, pool.PGPlacementTarget = wanted, wanted
			}
			c.step(pool)
		}
		a.OSDMap.Epoch++
		c.countPGs()
	})
}

// step moves pg_num of one pool towards its target, by at most PGStep.
func (c *Cluster) step(pool *ceph.Pool) {
	if !c.Answers.Status.ManagerActive {
		return
	}
	before := pool.PGPlacementNum
	pool.PGPlacementNum = pool.PGNum
	pool.PGNum += min(c.PGStep, max(-c.PGStep, pool.PGNumTarget-pool.PGNum))
	pool.PGNumPending = pool.PGNum
	c.moving[pool.Name] = before != pool.PGPlacementNum || pool.PGNum != pool.PGPlacementNum
}

// revert imitates OSDs whose mClock scheduler locks options. If an option was set while it was locked,
// whether with a mask or without one, the OSDs remove that entry of the option in section osd that has no mask.
// They do so even if the lock has ended meanwhile. They keep values with a mask, and options that were set only
// before the lock.
func (c *Cluster) revert() {
	for option := range c.reverting {
		c.removeCentral(ceph.ConfigWho{Section: "osd"}, option)
	}
	clear(c.reverting)
}

// lockedByMClock reports whether the mClock scheduler locks an option now.
func (c *Cluster) lockedByMClock(option string) bool {
	profile := orDefault(c.central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_profile"))("balanced")
	override := orDefault(c.central(ceph.ConfigWho{Section: "osd"}, "osd_mclock_override_recovery_settings"))("false")
	scheduler := strings.HasPrefix(option, "osd_mclock_scheduler_") && profile != "custom"
	recovery := (option == "osd_max_backfills" || strings.HasPrefix(option, "osd_recovery_max_active")) && override != "true"
	return scheduler || recovery
}

func orDefault(value string, set bool) func(string) string {
	return func(otherwise string) string {
		if set {
			return value
		}
		return otherwise
	}
}

// countPGs derives the PG counts of the status from the pools.
func (c *Cluster) countPGs() {
	status := &c.Answers.Status
	status.PGs, status.MisplacedObjects = 0, 0
	status.PGsByState = map[string]int{}
	for _, pool := range c.Answers.OSDMap.Pools {
		status.PGs += pool.PGNum
		if !c.moving[pool.Name] {
			status.PGsByState["active+clean"] += pool.PGNum
			continue
		}
		status.PGsByState["active+remapped+backfilling"]++
		status.PGsByState["active+clean"] += pool.PGNum - 1
		status.MisplacedObjects += 100
	}
}

// store returns the form in which Ceph keeps a value, or an error if Ceph refuses the value. It imitates
// Option::parse_value of Ceph.
func (c *Cluster) store(help ceph.OptionHelp, value string) (string, error) {
	stored, err := c.parse(help, value)
	if err != nil {
		return "", err
	}
	number, isNumber := cephvalue.Number(help.Type, stored)
	if least, ok := cephvalue.Number(help.Type, help.Min); ok && isNumber && number < least {
		return "", fmt.Errorf("value '%s' is below minimum %s", stored, help.Min)
	}
	if most, ok := cephvalue.Number(help.Type, help.Max); ok && isNumber && number > most {
		return "", fmt.Errorf("value '%s' exceeds maximum %s", stored, help.Max)
	}
	return stored, nil
}

// parse accepts some values that cephvalue.Canonical refuses, because Ceph accepts them: for example, 2 for
// a bool.
func (c *Cluster) parse(help ceph.OptionHelp, value string) (string, error) {
	switch help.Type {
	case cephvalue.Bool:
		if number, err := strconv.Atoi(value); err == nil {
			return strconv.FormatBool(number != 0), nil
		}
	case cephvalue.Float:
		number, err := strconv.ParseFloat(value, 64)
		if math.IsInf(number, 0) || math.IsNaN(number) {
			return strings.ToLower(value), err
		}
	case cephvalue.Size:
		if c.since(20) && binaryBytes.MatchString(value) {
			value = strings.TrimSuffix(value, "B")
		}
	case cephvalue.Milliseconds:
		if !c.since(20) {
			value = digits.FindString(value)
		}
	case cephvalue.String:
		if len(help.Enum) > 0 && !slices.Contains(help.Enum, value) {
			return "", fmt.Errorf("'%s' is not one of the permitted values: %s", value, strings.Join(help.Enum, ", "))
		}
	}
	return cephvalue.Canonical(help.Type, value)
}

// since reports whether the cluster runs this major release or a later one.
func (c *Cluster) since(release int) bool {
	major, _, _ := strings.Cut(c.Version, ".")
	number, err := strconv.Atoi(major)
	return err == nil && number >= release
}

// binaryBytes matches byte sizes such as 4MiB, which Ceph 18 refuses.
var binaryBytes = regexp.MustCompile(`^\d+[KMGTPE]iB$`)

// digits matches the leading digits of a value in milliseconds. Ceph 18 ignores the rest of the value.
var digits = regexp.MustCompile(`^\d+`)
