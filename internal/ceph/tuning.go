package ceph

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sync/errgroup"

	"github.com/cephtune/cephtune/internal/cephvalue"
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

var _ Tuner = (*CLI)(nil)

// ConfigHelp implements Client.
func (c *CLI) ConfigHelp(ctx context.Context, at Connection, option string) (*OptionHelp, error) {
	if err := named("an option", option, optionName); err != nil {
		return nil, err
	}
	help, err := ask(ctx, c, at, configHelpVerb.question, parseConfigHelp, option)
	if errors.Is(err, fs.ErrNotExist) {
		return &OptionHelp{Name: option}, nil
	}
	return help, err
}

// RunningConfig implements Client.
func (c *CLI) RunningConfig(ctx context.Context, at Connection, osds []int, options []string) ([]Running, error) {
	if len(osds) > maxAsked || len(options) > maxOptions {
		return nil, &InvalidError{fmt.Sprintf("at most %d options of %d OSDs can be asked for at once", maxOptions, maxAsked)}
	}
	for _, option := range options {
		if err := named("an option", option, optionName); err != nil {
			return nil, err
		}
	}
	for _, osd := range osds {
		if err := validOSD(osd); err != nil {
			return nil, err
		}
	}
	answers := make([]Running, len(osds))
	slots := make(chan struct{}, askedAtOnce)
	var all sync.WaitGroup
	for i, osd := range osds {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			answers[i] = c.running(ctx, at, osd, options)
		})
	}
	all.Wait()
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("ceph %s of %d OSDs did not end in time: %w", runningConfigVerb.command, len(osds), err)
	}
	return answers, nil
}

// running asks for the whole running configuration of one OSD, defaults included, and selects the options.
// `config show` would leave out options at their default. With the name of an option, `config show` would
// not print the source of the value.
func (c *CLI) running(ctx context.Context, at Connection, osd int, options []string) Running {
	all, err := ask(ctx, c, at, runningConfigVerb.question, parseConfigShow, osdName(osd))
	if err != nil {
		return Running{OSD: osd, Error: err.Error()}
	}
	return Running{OSD: osd, Options: slices.DeleteFunc(all, func(o RunningOption) bool { return !slices.Contains(options, o.Name) })}
}

// Balancer implements Client.
func (c *CLI) Balancer(ctx context.Context, at Connection) (*Balancer, error) {
	return ask(ctx, c, at, balancerVerb.question, parseBalancer)
}

// PGsOn implements Client.
func (c *CLI) PGsOn(ctx context.Context, at Connection, osds ...int) ([]PG, error) {
	if err := ValidOSDs(osds); err != nil {
		return nil, err
	}
	var all []PG
	for _, osd := range osds {
		pgs, err := ask(ctx, c, at, pgsOnVerb.question, parsePGsOn, osdName(osd))
		if err != nil {
			return nil, err
		}
		all = append(all, pgs...)
	}
	slices.SortFunc(all, func(a, b PG) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(all, func(a, b PG) bool { return a.ID == b.ID }), nil
}

// OKToStop implements Client. If stopping is not safe, Ceph's command fails with EBUSY. OKToStop then
// returns Ceph's message as Reason, and no error.
func (c *CLI) OKToStop(ctx context.Context, at Connection, osds ...int) (*Stop, error) {
	if err := ValidOSDs(osds); err != nil {
		return nil, err
	}
	args := make([]string, 0, len(osds)+1)
	for _, osd := range osds {
		args = append(args, strconv.Itoa(osd))
	}
	out, err := c.ceph(ctx, at, okToStopVerb.command, append(args, "--format=json")...)
	if refused, answered := errors.AsType[*Error](err); answered && refused.Errno == int(syscall.EBUSY) {
		return &Stop{OSDs: osds, Reason: refused.Message}, nil
	}
	if err != nil {
		return nil, err
	}
	stop, err := parseStop(out)
	if err != nil {
		return nil, unreadable(okToStopVerb.command, err)
	}
	return stop, nil
}

// change executes a ceph command that changes something, unless the fence forbids the change.
func (c *CLI) change(ctx context.Context, at Connection, fence Fence, verb string, args ...string) error {
	ctx, leave, err := c.fences.enter(ctx, fence)
	if err != nil {
		return err
	}
	defer leave()
	_, err = c.ceph(ctx, at, verb, args...)
	return err
}

// permitted refuses a setting that Fence.Tunable refuses, or that the administrator does not allow.
// Restoring an original from the journal does not need the administrator's permission.
func (c *CLI) permitted(ctx context.Context, at Connection, fence Fence, setting Setting) error {
	if err := fence.Tunable(setting); err != nil || fence.Restores || c.permit == nil {
		return err
	}
	return c.permit(ctx, at, setting)
}

// SetPoolOption implements Tuner.
func (c *CLI) SetPoolOption(ctx context.Context, at Connection, fence Fence, pool, option, value string) error {
	if err := c.permitted(ctx, at, fence, Setting{Pool: pool, Option: option, Value: cephvalue.Of(value)}); err != nil {
		return err
	}
	return c.change(ctx, at, fence, setPoolOptionVerb.command, pool, option, value)
}

// UnsetPoolOption implements Tuner.
func (c *CLI) UnsetPoolOption(ctx context.Context, at Connection, fence Fence, pool, option string) error {
	if err := c.permitted(ctx, at, fence, Setting{Pool: pool, Option: option}); err != nil {
		return err
	}
	value, possible := UnsetBy(option)
	if !possible {
		return &InvalidError{fmt.Sprintf("%s of a pool cannot be unset", option)}
	}
	return c.change(ctx, at, fence, unsetPoolOptionVerb.command, pool, option, value)
}

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

// SetConfig implements Tuner.
func (c *CLI) SetConfig(ctx context.Context, at Connection, fence Fence, who ConfigWho, option, value string) error {
	if err := c.permitted(ctx, at, fence, Setting{Who: who, Option: option, Value: cephvalue.Of(value)}); err != nil {
		return err
	}
	return c.change(ctx, at, fence, setConfigVerb.command, who.String(), option, value)
}

// RemoveConfig implements Tuner.
func (c *CLI) RemoveConfig(ctx context.Context, at Connection, fence Fence, who ConfigWho, option string) error {
	if err := c.permitted(ctx, at, fence, Setting{Who: who, Option: option}); err != nil {
		return err
	}
	return c.change(ctx, at, fence, removeConfigVerb.command, who.String(), option)
}

// SetBalancer implements Tuner.
func (c *CLI) SetBalancer(ctx context.Context, at Connection, fence Fence, on bool) error {
	if on {
		return c.change(ctx, at, fence, "balancer on")
	}
	return c.change(ctx, at, fence, "balancer off")
}

// SetFlag implements Tuner.
func (c *CLI) SetFlag(ctx context.Context, at Connection, fence Fence, flag string, on bool) error {
	if err := TunableFlag(flag); err != nil {
		return err
	}
	if on {
		return c.change(ctx, at, fence, "osd set", flag)
	}
	return c.change(ctx, at, fence, "osd unset", flag)
}

// PlacePGs implements Tuner.
func (c *CLI) PlacePGs(ctx context.Context, at Connection, fence Fence, pool string, pgs []PGPlacement) error {
	if err := mayPlace(pool, pgs); err != nil {
		return err
	}
	ctx, leave, err := c.fences.enter(ctx, fence)
	if err != nil {
		return err
	}
	defer leave()
	// The caller names the pool, and PlacePGs looks up its ID. Ceph never reuses an ID, so the change cannot
	// reach another pool.
	osdMap, err := c.OSDMap(ctx, at)
	if err != nil {
		return err
	}
	into, err := osdMap.Place(pool, pgs)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(placedAtOnce)
	for _, pg := range pgs {
		group.Go(func() error {
			_, err := c.ceph(ctx, at, placePGsVerb.command, append([]string{pg.ID(into.ID)}, numbers(pg.OSDs)...)...)
			return err
		})
	}
	return group.Wait()
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
	found := slices.IndexFunc(m.Pools, func(p Pool) bool { return p.Name == pool })
	if found < 0 {
		return nil, &InvalidError{fmt.Sprintf("there is no pool %s", pool)}
	}
	for _, pg := range pgs {
		if err := m.Pools[found].takes(pg); err != nil {
			return nil, err
		}
	}
	return &m.Pools[found], nil
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

func numbers(osds []int) []string {
	var texts []string
	for _, osd := range osds {
		texts = append(texts, strconv.Itoa(osd))
	}
	return texts
}

// Recovered implements Client.
func (c *CLI) Recovered(ctx context.Context, at Connection) (*Recovered, error) {
	return ask(ctx, c, at, recoveredVerb.question, parseRecovered)
}

// SetNoUp implements Tuner.
func (c *CLI) SetNoUp(ctx context.Context, at Connection, fence Fence, osd int, on bool) error {
	if err := validOSD(osd); err != nil {
		return err
	}
	verb := "osd unset-group"
	if on {
		verb = "osd set-group"
	}
	return c.change(ctx, at, fence, verb, FlagNoUp, osdName(osd))
}

// MarkOSDsDown implements Tuner.
func (c *CLI) MarkOSDsDown(ctx context.Context, at Connection, fence Fence, osds []int) error {
	if err := ValidOSDs(osds); err != nil {
		return err
	}
	names := make([]string, 0, len(osds))
	for _, osd := range osds {
		names = append(names, osdName(osd))
	}
	return c.change(ctx, at, fence, markOSDsDownVerb.command, names...)
}

func osdName(osd int) string { return "osd." + strconv.Itoa(osd) }

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
