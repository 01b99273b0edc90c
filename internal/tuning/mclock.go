package tuning

import (
	"regexp"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

const (
	optionProfile  = "osd_mclock_profile"
	optionOverride = "osd_mclock_override_recovery_settings"
	profileCustom  = "custom"
	mClock         = "mclock_scheduler"
)

// HelpFor returns the options whose help has to be read from Ceph before settings are judged: those settings
// that are options of the central configuration, and the options that unlock others in mClock. If no setting
// is an option of the central configuration, it returns nil.
func HelpFor(settings []Setting) []string {
	var options []string
	for _, s := range settings {
		if s.Kind == KindConfig && !slices.Contains(options, s.Option) {
			options = append(options, s.Option)
		}
	}
	if len(options) == 0 {
		return nil
	}
	for _, unlocks := range []string{optionProfile, optionOverride} {
		if !slices.Contains(options, unlocks) {
			options = append(options, unlocks)
		}
	}
	return options
}

// mClock locks these options: shares unless the profile is custom, recovery options unless optionOverride is
// true, and sleeps always. If a share or a recovery option is set while it is locked, within a second an OSD
// removes the value from section osd and from its own section osd.N. The OSD does so even if the option is
// unlocked immediately afterwards. A value that was set before mClock locked the option stays.
var (
	mClockShares   = regexp.MustCompile(`^osd_mclock_scheduler_\w+_(res|wgt|lim)$`)
	mClockRecovery = regexp.MustCompile(`^osd_(max_backfills|recovery_max_active(_hdd|_ssd)?)$`)
	mClockSleeps   = regexp.MustCompile(`^osd_(recovery|delete|snap_trim|scrub)_sleep(_\w+)?$`)
)

// LockedByMClock reports whether mClock locks an option, always or for some values of other options.
func LockedByMClock(option string) bool {
	return mClockShares.MatchString(option) || mClockRecovery.MatchString(option) || mClockSleeps.MatchString(option)
}

// unlock describes how an option can be unlocked, or why it cannot.
func unlock(option string) string {
	switch {
	case mClockShares.MatchString(option):
		return "it is inert unless " + optionProfile + " is custom"
	case mClockRecovery.MatchString(option):
		return "it is inert unless " + optionOverride + " is true"
	default:
		return "sleeps are 0 while osd_op_queue is " + mClock
	}
}

// lockedBy says why an option would be inert with these values of optionProfile and optionOverride; "" if the
// option would take effect.
func lockedBy(option string, profile, override string) string {
	locked := mClockShares.MatchString(option) && profile != profileCustom ||
		mClockRecovery.MatchString(option) && !strings.EqualFold(override, yes) ||
		mClockSleeps.MatchString(option)
	if !locked {
		return ""
	}
	return unlock(option)
}

// unlocks reports whether a value of a setting unlocks some options.
func unlocks(setting Setting, value cephvalue.Value) bool {
	if setting.Kind != KindConfig || !value.Set {
		return false
	}
	return setting.Option == optionProfile && value.Text == profileCustom ||
		setting.Option == optionOverride && strings.EqualFold(value.Text, yes)
}

// needs reports whether the setting in the argument `option` is inert until the setting in `unlocking`
// unlocks it.
func needs(option, unlocking Setting) bool {
	if option.Kind != KindConfig {
		return false
	}
	return unlocking.Option == optionProfile && mClockShares.MatchString(option.Option) ||
		unlocking.Option == optionOverride && mClockRecovery.MatchString(option.Option)
}

// unlockFirst moves the elements that unlock options to the front, and otherwise keeps the order.
func unlockFirst[T any](all []T, unlocks func(T) bool) []T {
	var first, rest []T
	for _, one := range all {
		if unlocks(one) {
			first = append(first, one)
		} else {
			rest = append(rest, one)
		}
	}
	return append(first, rest...)
}

// lockedNow returns a setting's current value, and the reason why that value could not be restored: OSDs
// would remove it, because mClock locks the option. The reason is "" for a value that could be restored. OSDs
// do not remove sleeps or values with a mask; for these, and for settings outside the central configuration,
// lockedNow returns an unset Value.
func (k Known) lockedNow(setting Setting) (cephvalue.Value, string) {
	now := k.Facts.central(setting)
	if setting.Kind != KindConfig || setting.Mask != "" || !now.Set || mClockSleeps.MatchString(setting.Option) {
		return cephvalue.Value{}, ""
	}
	return now, lockedBy(setting.Option, effective(optionProfile, nil, k), effective(optionOverride, nil, k))
}
