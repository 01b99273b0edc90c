// Package tuning changes settings of a Ceph cluster and restores them.
//
// Functions and methods without side effects decide:
//
//   - Validate: whether a change is allowed
//   - HoldStill: which of Ceph's background activities to stop
//   - Settling: whether the cluster is quiescent again after a change
//   - Judge: whether the daemons run with a change
//   - Journal: how each setting is restored
//
// The Engine reads and changes Ceph. It writes each change to the journal first, so that the next process can
// restore everything after a crash. Options of a session's scratch pool need no journal, because the pool is
// removed after the session. Steps lists the points at which tests simulate a crash.
package tuning

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// Kind is the kind of a setting.
type Kind string

// The kinds of settings. A sweep varies options of pools and of the central configuration. It does not vary
// autoscalers, the balancer and scrubs, but may turn them off; HoldStill returns these changes. NoUp keeps an
// OSD down during an outage.
const (
	KindPoolOption Kind = "PoolOption"
	KindConfig     Kind = "Config"
	KindAutoscaler Kind = "Autoscaler"
	KindBalancer   Kind = "Balancer"
	KindScrubFlag  Kind = "ScrubFlag"
	KindNoUp       Kind = "NoUp"
)

const (
	optionPGNum      = "pg_num"
	optionAutoscaler = "pg_autoscale_mode"
	sectionOSD       = "osd"
	autoscalerOff    = "off"
	autoscalerOn     = "on"
	yes              = "true"
	no               = "false"
)

// Setting identifies one setting of Ceph.
type Setting struct {
	Kind Kind `json:"kind"`
	// Pool is the pool of a pool option or of an autoscaler.
	Pool string `json:"pool,omitempty"`
	// Mask limits an option of section osd to some OSDs.
	Mask string `json:"mask,omitempty"`
	// Option is the name of an option or flag.
	Option string `json:"option,omitempty"`
	// OSD is the ID of the OSD that has the flag noup.
	OSD int `json:"osd,omitempty"`
}

// NoUp returns the flag that keeps an OSD from coming up.
func NoUp(osd int) Setting { return Setting{Kind: KindNoUp, Option: ceph.FlagNoUp, OSD: osd} }

// String names the setting in the terms of Ceph's command line.
func (s Setting) String() string {
	switch s.Kind {
	case KindPoolOption:
		return s.Option + " of pool " + s.Pool
	case KindAutoscaler:
		return optionAutoscaler + " of pool " + s.Pool
	case KindBalancer:
		return "the balancer"
	case KindScrubFlag:
		return "flag " + s.Option
	case KindNoUp:
		return fmt.Sprintf("flag %s of osd.%d", s.Option, s.OSD)
	default:
		return s.who().String() + " " + s.Option
	}
}

func (s Setting) who() ceph.ConfigWho { return ceph.ConfigWho{Section: sectionOSD, Mask: s.Mask} }

// isPGNum reports whether the setting is a pool's number of PGs. The value of such a setting is the target
// number.
func (s Setting) isPGNum() bool { return s.Kind == KindPoolOption && s.Option == optionPGNum }

// Change is a setting and the value to set.
type Change struct {
	Setting Setting         `json:"setting"`
	To      cephvalue.Value `json:"to"`
	// Type is the type of the values, by which they are compared. Known.Type returns it.
	Type string `json:"type"`
}

// String returns the change as "setting = value".
func (c Change) String() string { return fmt.Sprintf("%s = %s", c.Setting, c.To) }

// Facts are settings as read from Ceph. A field that was not read is nil.
type Facts struct {
	OSDMap   *ceph.OSDMap
	Config   []ceph.ConfigEntry
	Balancer *ceph.Balancer
}

// ErrPoolGone says that no pool has the name of a setting's pool or, if the pool's ID is known too, that no
// pool has both. errOSDGone matches ErrPoolGone too, because a journal treats a missing OSD like a missing
// pool.
var ErrPoolGone = errors.New("there is no such pool")

var errOSDGone error = osdGone{}

type osdGone struct{}

// Error implements error.
func (osdGone) Error() string { return "there is no such OSD" }

// Is makes errors.Is match ErrPoolGone.
func (osdGone) Is(target error) bool { return target == ErrPoolGone }

var errNotAsked = errors.New("its value was not read from Ceph")

// Value returns a setting's value. For a number of PGs, it returns the pool's target: the number that was
// requested last.
func (f Facts) Value(setting Setting) (cephvalue.Value, error) {
	switch setting.Kind {
	case KindConfig:
		return f.central(setting), nil
	case KindBalancer:
		if f.Balancer == nil {
			return cephvalue.Value{}, fmt.Errorf("%s: %w", setting, errNotAsked)
		}
		return cephvalue.Of(strconv.FormatBool(f.Balancer.Active)), nil
	default: // The other kinds are in the OSD map.
	}
	if f.OSDMap == nil {
		return cephvalue.Value{}, fmt.Errorf("%s: %w", setting, errNotAsked)
	}
	if setting.Kind == KindScrubFlag {
		if slices.Contains(f.OSDMap.Flags, setting.Option) {
			return cephvalue.Of(yes), nil
		}
		return cephvalue.Unset(), nil
	}
	if setting.Kind == KindNoUp {
		return f.osdFlag(setting)
	}
	pool, found := f.Pool(setting.Pool)
	if !found {
		return cephvalue.Value{}, fmt.Errorf("%s: %w", setting, ErrPoolGone)
	}
	return poolValue(pool, setting), nil
}

func (f Facts) osdFlag(setting Setting) (cephvalue.Value, error) {
	index := slices.IndexFunc(f.OSDMap.OSDs, func(o ceph.OSDState) bool { return o.ID == setting.OSD })
	switch {
	case index < 0:
		return cephvalue.Value{}, fmt.Errorf("%s: %w", setting, errOSDGone)
	case slices.Contains(f.OSDMap.OSDs[index].Flags, setting.Option):
		return cephvalue.Of(yes), nil
	}
	return cephvalue.Unset(), nil
}

// Pool returns a pool by its name.
func (f Facts) Pool(name string) (ceph.Pool, bool) {
	if f.OSDMap == nil {
		return ceph.Pool{}, false
	}
	pool := ceph.PoolNamed(f.OSDMap.Pools, name)
	return ptr.Deref(pool, ceph.Pool{}), pool != nil
}

// poolID returns the ID of a setting's pool; 0 for a setting without a pool, and for a missing pool.
func (f Facts) poolID(setting Setting) int64 {
	if setting.Pool == "" {
		return 0
	}
	pool, _ := f.Pool(setting.Pool)
	return pool.ID
}

// Now returns an entry's setting, with the current name of its pool, and the setting's value. It finds the
// pool by ID, because a renamed pool keeps its ID, and another pool may take the old name. Entries of older
// cephtune versions have no pool ID, so Now finds their pools by name.
func (f Facts) Now(entry Entry) (Setting, cephvalue.Value, error) {
	setting := entry.Setting
	if entry.PoolID != 0 && f.OSDMap != nil {
		index := slices.IndexFunc(f.OSDMap.Pools, func(p ceph.Pool) bool { return p.ID == entry.PoolID })
		if index < 0 {
			return setting, cephvalue.Value{}, fmt.Errorf("%s: %w", setting, ErrPoolGone)
		}
		setting.Pool = f.OSDMap.Pools[index].Name
	}
	value, err := f.Value(setting)
	return setting, value, err
}

func poolValue(pool ceph.Pool, setting Setting) cephvalue.Value {
	switch {
	case setting.Kind == KindAutoscaler:
		return cephvalue.Of(pool.AutoscaleMode)
	case setting.isPGNum():
		return cephvalue.Of(strconv.Itoa(pool.PGNumTarget))
	}
	value, set := pool.Options[setting.Option]
	return cephvalue.Value{Set: set, Text: value}
}

func (f Facts) central(setting Setting) cephvalue.Value {
	for _, entry := range f.Config {
		if entry.Section == sectionOSD && entry.Mask == setting.Mask && entry.Name == setting.Option {
			return cephvalue.Of(entry.Value)
		}
	}
	return cephvalue.Unset()
}

// Before returns the facts with the original values of those settings that a sweep may have changed and has not
// restored, according to its journal. It does not change f. Without a journal, it returns f.
func (f Facts) Before(j *Journal) Facts {
	if j == nil {
		return f
	}
	for _, entry := range j.Entries {
		switch {
		case entry.State != Open:
		case entry.Setting.Kind == KindConfig:
			f.Config = f.configBefore(entry)
		case entry.Setting.Kind == KindPoolOption && f.OSDMap != nil:
			f.OSDMap = f.poolBefore(entry)
		}
	}
	return f
}

func (f Facts) configBefore(entry Entry) []ceph.ConfigEntry {
	setting := entry.Setting
	config := slices.DeleteFunc(slices.Clone(f.Config), func(e ceph.ConfigEntry) bool {
		return e.Section == sectionOSD && e.Mask == setting.Mask && e.Name == setting.Option
	})
	if entry.Original.Set {
		config = append(config, ceph.ConfigEntry{Section: sectionOSD, Mask: setting.Mask, Name: setting.Option, Value: entry.Original.Text})
	}
	return config
}

func (f Facts) poolBefore(entry Entry) *ceph.OSDMap {
	before, setting := *f.OSDMap, entry.Setting
	before.Pools = slices.Clone(before.Pools)
	for i := range before.Pools {
		pool := &before.Pools[i]
		switch {
		case pool.Name != setting.Pool || entry.PoolID != 0 && pool.ID != entry.PoolID:
		case setting.isPGNum():
			if target, err := strconv.Atoi(entry.Original.Text); err == nil {
				pool.PGNumTarget = target
			}
		default:
			pool.Options = maps.Clone(pool.Options)
			delete(pool.Options, setting.Option)
			if entry.Original.Set && pool.Options != nil {
				pool.Options[setting.Option] = entry.Original.Text
			} else if entry.Original.Set {
				pool.Options = map[string]string{setting.Option: entry.Original.Text}
			}
		}
	}
	return &before
}

// Shadows returns the entries of the central configuration that may override a setting for some OSDs: entries
// for single OSDs, and entries with another mask. Rook documents a section "osd.*" for spec.cephConfig. Ceph takes
// it for an OSD named "*", so no OSD ever reads it: it overrides nothing, and is not owned by Rook either.
func (f Facts) Shadows(setting Setting) []ceph.ConfigEntry {
	if setting.Kind != KindConfig {
		return nil
	}
	var shadows []ceph.ConfigEntry
	for _, entry := range f.Config {
		id, single := strings.CutPrefix(entry.Section, "osd.")
		single = single && id != "*" && id != ""
		masked := entry.Section == sectionOSD && entry.Mask != "" && entry.Mask != setting.Mask
		if entry.Name == setting.Option && (single || masked) {
			shadows = append(shadows, entry)
		}
	}
	return shadows
}
