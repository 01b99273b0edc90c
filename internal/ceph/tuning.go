package ceph

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

const (
	// maxAsked is how many OSDs one call of RunningConfig may name. askedAtOnce is how many of them
	// RunningConfig asks at a time, because each question may need a separate process.
	maxAsked    = 256
	askedAtOnce = 4
	// placedAtOnce is how many placement groups PlacePGs places at a time, each with a separate process.
	// Monitors gather changes for a second, so several placements take as long as a single one.
	placedAtOnce = 4
	// maxOptions is how many options one call of RunningConfig may name.
	maxOptions = 64
)

// UnsetBy returns the value with which `osd pool set` removes an option, or false if a pool always has the
// option. The value is "unset" for options that take words, and "0" for all other options. csum_type takes
// words, although Ceph stores it as a number.
func UnsetBy(option string) (string, bool) {
	switch option {
	case "pg_num", "pgp_num", "pg_autoscale_mode", "size", "min_size", "crush_rule":
		return "", false
	case "compression_mode", "compression_algorithm", "csum_type", "fingerprint_algorithm":
		return "unset", true
	default:
		return "0", true
	}
}

func mayPlace(pool string, pgs []PGPlacement) error {
	if err := scratchPool(pool); err != nil {
		return err
	}
	if len(pgs) > MaxPlaced {
		return &InvalidError{fmt.Sprintf("at most %d placement groups can be placed at once", MaxPlaced)}
	}
	return nil
}

// Place returns the named pool. If PlacePGs may not place the placement groups, Place returns an error that
// says why.
func (m *OSDMap) Place(pool string, pgs []PGPlacement) (*Pool, error) {
	if err := mayPlace(pool, pgs); err != nil {
		return nil, err
	}
	found := PoolNamed(m.Pools, pool)
	if found == nil {
		return nil, &InvalidError{fmt.Sprintf("there is no pool %s", pool)}
	}
	for _, pg := range pgs {
		if err := found.takes(pg); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// takes returns an error if the pool does not have the placement group, if the ID of an OSD is negative, or if
// the placement does not name exactly as many OSDs, all different, as the pool has copies or chunks. Ceph
// would refuse such a placement, or would accept and then drop it.
func (p Pool) takes(pg PGPlacement) error {
	distinct := slices.Compact(slices.Sorted(slices.Values(pg.OSDs)))
	switch {
	case pg.Number < 0 || pg.Number >= p.PGNum:
		return &InvalidError{fmt.Sprintf("pool %s has %d placement groups, but none of number %d", p.Name, p.PGNum, pg.Number)}
	case len(pg.OSDs) != p.Size || len(distinct) != p.Size || distinct[0] < 0:
		return &InvalidError{fmt.Sprintf("placement group %s cannot be moved to OSDs %v: pool %s needs %d different OSDs", pg.ID(p.ID), pg.OSDs, p.Name, p.Size)}
	}
	return nil
}

// Tunable returns an error for an invalid setting. Unless Restores is set, it also returns an error for an
// option that is never changed, because a change would endanger data or access.
func (f Fence) Tunable(s Setting) error {
	err := tunableWho(s.Who)
	endangers := neverOption.MatchString(s.Option)
	if s.Pool != "" {
		err = tunablePool(s.Pool)
		endangers = neverPoolOption(s.Option)
	}
	err = errors.Join(err, named("an option", s.Option, poolOptionName))
	if s.Value.Set {
		err = errors.Join(err, plainValue(s.Value.Text))
	}
	if err == nil && endangers && !f.Restores {
		err = &InvalidError{fmt.Sprintf("%s is never changed", s.Option)}
	}
	return err
}

// TunableFlag returns an error for a flag that SetFlag never changes.
func TunableFlag(flag string) error {
	if flag != FlagNoScrub && flag != FlagNoDeepScrub {
		return &InvalidError{fmt.Sprintf("the flag %q must not be changed, only %s and %s", flag, FlagNoScrub, FlagNoDeepScrub)}
	}
	return nil
}

// tunablePool refuses invalid names, and Ceph's own pools, whose names begin with a dot.
func tunablePool(pool string) error {
	if err := named("a pool", pool, poolName); err != nil {
		return err
	}
	if strings.HasPrefix(pool, ".") {
		return &InvalidError{fmt.Sprintf("pool %q belongs to Ceph itself: cephtune does not change it", pool)}
	}
	return nil
}

// neverPoolOption reports whether an option of a pool is never changed. Changing these options could move,
// resize or endanger a pool's data. The administrator cannot permit such a change, but restoring is allowed.
func neverPoolOption(option string) bool {
	return slices.Contains([]string{
		"size", "min_size", "crush_rule", "pgp_num", "pgp_num_actual", "pg_num_actual",
		"nodelete", "nopgchange", "nosizechange", "allow_ec_overwrites", "allow_ec_optimizations", "hashpspool", "eio",
	}, option)
}

// tunableWho refuses sections other than osd, and malformed masks.
func tunableWho(who ConfigWho) error {
	if who.Section != "osd" {
		return &InvalidError{fmt.Sprintf("section %q: only options of OSDs can be changed", who.Section)}
	}
	if who.Mask != "" {
		return named("a mask such as class:ssd or host:node-1", who.Mask, maskForm)
	}
	return nil
}

// ValidValue returns an error for a value that SetConfig and SetPoolOption refuse.
func ValidValue(value string) error { return plainValue(value) }

// plainValue refuses values that are longer than maxValue, or that Ceph might not read as one word.
func plainValue(value string) error {
	if len(value) > maxValue || !valueForm.MatchString(value) {
		return &InvalidError{fmt.Sprintf("%.80q is not a valid value of an option", value)}
	}
	return nil
}

func validOSD(osd int) error {
	if osd < 0 {
		return &InvalidError{fmt.Sprintf("there is no OSD %d", osd)}
	}
	return nil
}

// maxStopped is how many OSDs one call of PGsOn, OKToStop or MarkOSDsDown may name.
const maxStopped = 16

// ValidOSDs refuses an empty list, a list longer than maxStopped, and negative IDs.
func ValidOSDs(osds []int) error {
	if len(osds) == 0 || len(osds) > maxStopped {
		return &InvalidError{fmt.Sprintf("%d OSDs are named, want 1 to %d", len(osds), maxStopped)}
	}
	for _, osd := range osds {
		if err := validOSD(osd); err != nil {
			return err
		}
	}
	return nil
}
