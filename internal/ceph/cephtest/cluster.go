package cephtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
)

// FSID is the fsid of every Cluster.
const FSID = "11111111-2222-3333-4444-555555555555"

// ErrKilled is the error that hooks of a Cluster return to simulate a killed process.
var ErrKilled = errors.New("killed")

// Cluster is a Ceph cluster in memory. Changes take time, daemons change settings by themselves, and answers
// can be lost. The Answers of the Fake hold its state. The state changes by itself only in Tick, except that
// each call of Status advances a recovery.
type Cluster struct {
	Fake
	Behaviour

	// boot holds the running values of options that only a restart changes. local holds the values set in
	// one OSD. The keys of both have the form "osd.0 option".
	boot, local map[string]string
	// reverting holds the options that OSDs remove from the central configuration in the next tick, if MClock
	// is set.
	reverting map[string]bool
	// moving says for each pool whether its data was still moving at the most recent tick.
	moving map[string]bool
	// late holds changes whose answers were lost. Land carries the changes out.
	late []func() error
	// epoch is the highest epoch in the Fences that the present sidecar has received.
	epoch int64
	// recovering is the number of further calls of Status that report recovery.
	recovering int
}

// Behaviour configures what a Cluster does by itself. Change it only within Act.
type Behaviour struct {
	// PGStep is the largest number of PGs by which ceph-mgr changes a pool in one tick.
	PGStep int
	// MaxPGs is the largest pg_num that the cluster accepts. The cluster refuses larger values, and values
	// below 1, with ERANGE.
	MaxPGs int
	// Autoscaler holds, by pool, the number of PGs that the autoscaler sets while it is on.
	Autoscaler map[string]int
	// MClock makes OSDs remove an option from the central configuration if it is set while the mClock
	// scheduler locks it.
	MClock bool
	// Rook holds the values that Rook sets in each tick, by pool and option.
	Rook map[string]map[string]string
	// Version is the Ceph version, such as "20.2.4". Empty means Ceph 18.
	Version string
	// Inactive holds the states of PGs that are not active, by PG ID.
	Inactive map[string]string
	// StayDown holds the OSDs that do not come up again by themselves.
	StayDown map[int]bool
	// Now returns the current time. If it is nil, deadlines are not checked, and OSDs that go down use
	// time.Now.
	Now func() time.Time
	// RecoveryLooks is the number of calls of Status that report recovery after an OSD came up.
	RecoveryLooks int
	// Before and After are called for each verb that Cluster itself implements, with the name of its method;
	// After only if the verb succeeded. No lock is held during these calls. If Before returns an error, the
	// verb is not carried out. If After returns an error, the caller gets it, although the verb was carried
	// out. Neither is called if a verb checks its arguments beforehand and refuses them.
	Before, After func(verb string) error
	// Lose names a verb whose next call gets no answer. Only Land carries out that call.
	Lose string
}

var (
	_ ceph.Client = (*Cluster)(nil)
	_ ceph.Tuner  = (*Cluster)(nil)
)

// NewCluster returns a quiescent cluster of three OSDs on three hosts. Each pool has 32 PGs, and its
// autoscaler is on. The balancer is active, and the options are those of Options.
func NewCluster(pools ...string) *Cluster {
	c := &Cluster{
		Behaviour: Behaviour{PGStep: 8, MaxPGs: 256},
		boot:      map[string]string{}, local: map[string]string{}, moving: map[string]bool{}, reverting: map[string]bool{},
	}
	c.Answers = Answers{
		OSDMap:     ceph.OSDMap{FSID: FSID},
		Balancer:   ceph.Balancer{Active: true, Mode: "upmap"},
		ConfigHelp: Options(),
		Status:     ceph.Status{FSID: FSID, Health: ceph.Health{Status: "HEALTH_OK"}, OSDs: 3, UpOSDs: 3, InOSDs: 3, ManagerActive: true},
	}
	for id := range 3 {
		c.Answers.OSDs = append(c.Answers.OSDs, ceph.OSD{ID: id, DeviceClass: "ssd", Status: "up"})
		c.Answers.OSDMap.OSDs = append(c.Answers.OSDMap.OSDs, ceph.OSDState{ID: id, Up: true})
		c.Answers.OSDTree = append(c.Answers.OSDTree, ceph.OSDLocation{
			ID: id, DeviceClass: "ssd", Up: true, In: true, Buckets: map[string]string{"host": fmt.Sprintf("node-%d", id), "root": "default"},
		})
	}
	for i, name := range pools {
		c.Answers.OSDMap.Pools = append(c.Answers.OSDMap.Pools, ceph.Pool{
			ID: int64(i + 1), Name: name, Type: "replicated", Size: 3, MinSize: 2, AutoscaleMode: "on",
			PGNum: 32, PGNumTarget: 32, PGNumPending: 32, PGPlacementNum: 32, PGPlacementTarget: 32,
		})
	}
	c.countPGs()
	return c
}

// Options returns options as Ceph 18 describes them. It has at least one option of each type except uuid,
// addr and addrvec.
func Options() map[string]ceph.OptionHelp {
	all := map[string]ceph.OptionHelp{}
	for _, o := range []ceph.OptionHelp{
		{Name: "osd_mclock_profile", Type: "str", Default: "balanced", Enum: []string{"balanced", "high_recovery_ops", "high_client_ops", "custom"}, Runtime: true},
		{Name: "osd_mclock_override_recovery_settings", Type: "bool", Default: "false", Runtime: true},
		{Name: "osd_mclock_scheduler_client_wgt", Type: "uint", Default: "1", Runtime: true},
		{Name: "osd_client_message_cap", Type: "uint", Default: "256", Runtime: true},
		{Name: "osd_max_backfills", Type: "uint", Default: "1", Runtime: true},
		{Name: "osd_memory_target", Type: "size", Default: "4294967296", Min: "939524096", Runtime: true},
		{Name: "bluestore_throttle_bytes", Type: "size", Default: "67108864", Runtime: true},
		{Name: "osd_recovery_sleep", Type: "float", Default: "0", Runtime: true},
		{Name: "osd_recovery_priority", Type: "uint", Default: "5", Runtime: true},
		{Name: "osd_scrub_auto_repair", Type: "bool", Default: "false", Runtime: true},
		{Name: "osd_scrub_load_threshold", Type: "float", Default: "0.5", Runtime: true},
		{Name: "osd_scrub_reservation_timeout", Type: "millisecs", Default: "300000", Min: "2000", Runtime: true},
		{Name: "mgr_tick_period", Type: "secs", Default: "2", Runtime: true},
		{Name: "osd_deep_scrub_randomize_ratio", Type: "float", Default: "0.15", Runtime: true},
		{Name: "osd_heartbeat_interval", Type: "int", Default: "6", Min: "1", Max: "60", Runtime: true},
		{Name: "osd_op_num_shards", Type: "int", Default: "0", Flags: []string{"startup"}},
		{Name: "osd_pool_default_erasure_code_profile", Type: "str", Default: "plugin=isa technique=reed_sol_van k=2 m=2", Services: []string{"mon"}, Runtime: true},
		{Name: "osd_op_queue", Type: "str", Default: "mclock_scheduler", Enum: []string{"wpq", "mclock_scheduler", "debug_random"}},
	} {
		o.Known = true
		all[o.Name] = o
	}
	return all
}

// Act changes the state or the behaviour of the cluster. It is safe while other goroutines use the cluster.
func (c *Cluster) Act(act func(*Cluster)) { c.Change(func(*Answers) { act(c) }) }

// Pool returns a copy of a pool.
func (c *Cluster) Pool(name string) (found ceph.Pool) {
	c.Change(func(a *Answers) {
		for _, p := range a.OSDMap.Pools {
			if p.Name == name {
				found = p
				found.Options = maps.Clone(p.Options)
			}
		}
	})
	return found
}

// Central returns a value of the central configuration, and whether it is set.
func (c *Cluster) Central(who ceph.ConfigWho, option string) (value string, set bool) {
	c.Change(func(*Answers) { value, set = c.central(who, option) })
	return value, set
}

func (c *Cluster) central(who ceph.ConfigWho, option string) (string, bool) {
	for _, entry := range c.Answers.ConfigDump {
		if entry.Section == who.Section && entry.Mask == who.Mask && entry.Name == option {
			return entry.Value, true
		}
	}
	return "", false
}

// SetLocally sets an option in an OSD itself, as `ceph tell` does.
func (c *Cluster) SetLocally(osd int, option, value string) {
	c.Change(func(*Answers) { c.local[key(osd, option)] = value })
}

// Restart restarts an OSD. The OSD then uses the new values of options that only a restart changes, and
// loses the values that SetLocally has set.
func (c *Cluster) Restart(osd int) {
	c.Change(func(a *Answers) {
		a.OSDMap.Epoch++
		for i := range a.OSDMap.OSDs {
			if a.OSDMap.OSDs[i].ID == osd {
				a.OSDMap.OSDs[i].UpFrom = a.OSDMap.Epoch
			}
		}
		for name, help := range c.Answers.ConfigHelp {
			delete(c.local, key(osd, name))
			if !help.Runtime {
				value, _, _ := c.wanted(osd, help)
				c.boot[key(osd, name)] = value
			}
		}
	})
}

// Land carries out the changes whose answers were lost.
func (c *Cluster) Land() {
	c.Change(func(*Answers) {
		for _, change := range c.late {
			_ = change() // The caller never gets the answer.
		}
		c.late = nil
	})
}

// RunningConfig implements ceph.Client.
func (c *Cluster) RunningConfig(ctx context.Context, connection ceph.Connection, osds []int, options []string) (all []ceph.Running, err error) {
	err = c.verb(ctx, "RunningConfig", connection, func() error {
		for _, osd := range osds {
			all = append(all, c.running(osd, options))
		}
		return nil
	}, osds, options)
	return all, err
}

func (c *Cluster) running(osd int, options []string) ceph.Running {
	answer := ceph.Running{OSD: osd}
	known := slices.ContainsFunc(c.Answers.OSDs, func(o ceph.OSD) bool { return o.ID == osd && o.Status == "up" })
	if !known || !c.Answers.Status.ManagerActive {
		answer.Error = fmt.Sprintf("Error ENOENT: no config state for daemon osd.%d", osd)
		return answer
	}
	for _, name := range options {
		help, known := c.Answers.ConfigHelp[name]
		if name == "crush_location" {
			answer.Options = append(answer.Options, ceph.RunningOption{Name: name, Value: fmt.Sprintf("root=default host=node-%d", osd), Source: "cmdline"})
			continue
		}
		if !known {
			return ceph.Running{OSD: osd, Error: "Error ENOENT:"}
		}
		value, set, source := c.wanted(osd, help)
		option := ceph.RunningOption{Name: name, Value: value, Source: source}
		if !help.Runtime {
			booted, ok := c.boot[key(osd, name)]
			if !ok {
				booted = help.Default
			}
			option.Ignored = set && booted != value
			option.Value = booted
			if option.Ignored {
				option.Source = "default"
			}
		}
		if here, ok := c.local[key(osd, name)]; ok {
			option.Value, option.Source = here, "override"
		}
		answer.Options = append(answer.Options, option)
	}
	return answer
}

// wanted returns the value that the central configuration gives an OSD, or the default if no entry matches. The
// narrowest entry counts.
func (c *Cluster) wanted(osd int, help ceph.OptionHelp) (value string, set bool, source string) {
	value, source = help.Default, "default"
	for _, who := range []ceph.ConfigWho{
		{Section: "global"},
		{Section: "osd"},
		{Section: "osd", Mask: "class:" + c.class(osd)},
		{Section: "osd", Mask: fmt.Sprintf("host:node-%d", osd)},
		{Section: "osd." + strconv.Itoa(osd)},
	} {
		if central, ok := c.central(who, help.Name); ok {
			value, set, source = central, true, "mon"
		}
	}
	return value, set, source
}

func (c *Cluster) class(osd int) string {
	for _, o := range c.Answers.OSDs {
		if o.ID == osd {
			return o.DeviceClass
		}
	}
	return ""
}

func key(osd int, option string) string { return fmt.Sprintf("osd.%d %s", osd, option) }

// verb calls the hook Before, carries out a verb, and calls the hook After if the verb succeeded.
func (c *Cluster) verb(ctx context.Context, name string, connection ceph.Connection, do func() error, args ...any) error {
	if before := c.hook(func(b Behaviour) func(string) error { return b.Before }); before != nil {
		if err := before(name); err != nil {
			return err
		}
	}
	var failed error
	err := c.answer(ctx, name, connection, func() { failed = do() }, args...)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	if after := c.hook(func(b Behaviour) func(string) error { return b.After }); after != nil {
		return after(name)
	}
	return nil
}

func (c *Cluster) hook(choose func(Behaviour) func(string) error) (hook func(string) error) {
	c.Change(func(*Answers) { hook = choose(c.Behaviour) })
	return hook
}

// The methods below replace those of the Fake, because the methods of the Fake do not call the hooks.

// OSDMap implements ceph.Client.
func (c *Cluster) OSDMap(ctx context.Context, connection ceph.Connection) (m *ceph.OSDMap, err error) {
	err = c.verb(ctx, "OSDMap", connection, func() error {
		seen := c.Answers.OSDMap
		seen.Flags = slices.Clone(seen.Flags)
		seen.OSDs = slices.Clone(seen.OSDs)
		seen.Pools = slices.Clone(seen.Pools)
		for i := range seen.Pools {
			seen.Pools[i].Options = maps.Clone(seen.Pools[i].Options)
		}
		m = &seen
		return nil
	})
	return m, err
}

// ConfigDump implements ceph.Client.
func (c *Cluster) ConfigDump(ctx context.Context, connection ceph.Connection) (entries []ceph.ConfigEntry, err error) {
	err = c.verb(ctx, "ConfigDump", connection, func() error {
		entries = slices.Clone(c.Answers.ConfigDump)
		return nil
	})
	return entries, err
}

// Balancer implements ceph.Client.
func (c *Cluster) Balancer(ctx context.Context, connection ceph.Connection) (b *ceph.Balancer, err error) {
	err = c.verb(ctx, "Balancer", connection, func() error {
		if !c.Answers.Status.ManagerActive {
			return fmt.Errorf("ceph balancer status did not end in time: %w", context.DeadlineExceeded)
		}
		seen := c.Answers.Balancer
		b = &seen
		return nil
	})
	return b, err
}

// GetKey implements ceph.Client.
func (c *Cluster) GetKey(ctx context.Context, connection ceph.Connection, key string) (value string, found bool, err error) {
	err = c.verb(ctx, "GetKey", connection, func() error {
		value, found = c.Keys[key]
		return nil
	}, key)
	return value, found, err
}

// SetKey implements ceph.Client.
func (c *Cluster) SetKey(ctx context.Context, connection ceph.Connection, key, value string) error {
	return c.verb(ctx, "SetKey", connection, func() error {
		if c.Keys == nil {
			c.Keys = map[string]string{}
		}
		c.Keys[key] = value
		return nil
	}, key, value)
}

// RemoveKey implements ceph.Client.
func (c *Cluster) RemoveKey(ctx context.Context, connection ceph.Connection, key string) error {
	return c.verb(ctx, "RemoveKey", connection, func() error {
		delete(c.Keys, key)
		return nil
	}, key)
}
