package tuning

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
	"github.com/cephtune/cephtune/internal/settings"
)

// ProblemReason is the reason why a setting cannot be varied.
type ProblemReason string

// The reasons.
const (
	ProblemNever       ProblemReason = "NeverVaried"
	ProblemNotAllowed  ProblemReason = "NotAllowed"
	ProblemUnknown     ProblemReason = "UnknownOption"
	ProblemNoPool      ProblemReason = "NoPool"
	ProblemValue       ProblemReason = "InvalidValue"
	ProblemOutOfBounds ProblemReason = "OutOfBounds"
	ProblemStoredData  ProblemReason = "AltersStoredData"
	ProblemRestart     ProblemReason = "NeedsRestart"
	ProblemMClock      ProblemReason = "LockedByMClock"
	ProblemOwned       ProblemReason = "OwnedByRook"
	ProblemShadowed    ProblemReason = "Shadowed"
)

// Problem is a reason not to begin a sweep, or not to apply its next configuration.
type Problem struct {
	Reason  ProblemReason
	Setting Setting
	// Message says what is wrong and what to do.
	Message string
}

// Permissions are the administrator's permissions for a cluster.
type Permissions struct {
	Cluster settings.Cluster
	// Restarts reports whether the sweep may restart OSDs, and the manager has the right to do so.
	Restarts bool
}

// request is a setting with all values that a sweep would give it.
type request struct {
	setting Setting
	values  []cephvalue.Value
}

// Validate checks configurations against the limits of Ceph and of the administrator. A configuration is a
// list of changes that are applied together. Validate returns the problems by setting, in a fixed order, and
// problems with mClock last. For a setting that cannot be varied at all, it returns only the first problem
// and those with mClock.
func Validate(configurations [][]Change, known Known, allowed Permissions) []Problem {
	var problems []Problem
	for _, w := range requests(configurations) {
		problems = append(problems, w.validate(known, allowed)...)
	}
	return slices.Concat(problems, locked(configurations, known), lockedBefore(configurations, known))
}

// requests returns the settings in the order in which they first appear, each with all its values.
func requests(configurations [][]Change) []request {
	var all []request
	for _, change := range slices.Concat(configurations...) {
		index := slices.IndexFunc(all, func(w request) bool { return w.setting == change.Setting })
		if index < 0 {
			all, index = append(all, request{setting: change.Setting}), len(all)
		}
		if !slices.Contains(all[index].values, change.To) {
			all[index].values = append(all[index].values, change.To)
		}
	}
	return all
}

// Forbidden checks intended changes against the operator config, the options and bounds of Ceph, and the lists
// of options that are never varied or alter stored data. For each setting, it returns the problems of the
// first rule that the setting breaks.
// Unlike Validate, Forbidden omits checks that would fail because the sweep has changed settings itself. A
// setting's original value is never forbidden.
func Forbidden(changes []Change, known Known, allowed Permissions) []Problem {
	changes = slices.DeleteFunc(slices.Clone(changes), func(c Change) bool {
		return same(c.Setting, c.Type, c.To, known.original(c.Setting))
	})
	var problems []Problem
	for _, w := range requests([][]Change{changes}) {
		for _, rule := range []rule{mayBeVaried, leavesStoredData, isAllowed, isKnown, takesValues, keepsCephsBounds, keepsTheBounds} {
			if found := rule(w, known, allowed); len(found) > 0 {
				problems = append(problems, found...)
				break
			}
		}
	}
	return problems
}

// validate checks one setting by two lists of rules. If a rule of the first list finds a problem, the setting
// cannot be varied at all, so validate returns only that problem.
func (w request) validate(known Known, allowed Permissions) []Problem {
	for _, rule := range []rule{mayBeVaried, leavesStoredData, isKnown, isAllowed} {
		if problems := rule(w, known, allowed); len(problems) > 0 {
			return problems
		}
	}
	var problems []Problem
	for _, rule := range []rule{
		hasPool, keepsThePoolsBounds, takesValues, keepsCephsBounds, keepsTheBounds,
		changesAtRuntime, isNotRooks, isNotShadowed,
	} {
		problems = append(problems, rule(w, known, allowed)...)
	}
	return problems
}

type rule func(w request, known Known, allowed Permissions) []Problem

func (w request) problem(reason ProblemReason, format string, args ...any) []Problem {
	return []Problem{{Reason: reason, Setting: w.setting, Message: fmt.Sprintf(format, args...)}}
}

func (w request) risk() (settings.Risk, string) {
	if w.setting.Kind == KindPoolOption {
		return settings.PoolRisk(w.setting.Option)
	}
	return settings.ConfigRisk(w.setting.Option)
}

// mayBeVaried rejects settings that no administrator can allow.
func mayBeVaried(w request, _ Known, _ Permissions) []Problem {
	if w.setting.Kind != KindPoolOption && w.setting.Kind != KindConfig {
		return w.problem(ProblemNever, "sweeps control %s themselves, so it cannot be varied", w.setting)
	}
	if risk, reason := w.risk(); risk == settings.RiskNever {
		return w.problem(ProblemNever, "%s is never varied, because %s", w.setting.Option, reason)
	}
	return nil
}

// leavesStoredData rejects options that no administrator can allow on an existing pool, because they change
// how data is stored. On a scratch pool, sweeps set such options when they create the pool, so this check
// does not see them.
func leavesStoredData(w request, _ Known, _ Permissions) []Problem {
	if w.setting.Kind != KindPoolOption || !settings.AltersStoredData(w.setting.Option) {
		return nil
	}
	return w.problem(ProblemStoredData, "%s alters how data is stored, which a restore does not undo: vary it on target.scratchPool", w.setting)
}

// isAllowed checks that the administrator's list has the option. The list cannot have options of scratch
// pools. So a sweep that names a scratch pool as its existing pool is rejected; it would change the pool of
// another run.
func isAllowed(w request, _ Known, allowed Permissions) []Problem {
	if _, listed := allowed.Cluster.AllowsOption(w.setting.Option, w.setting.Pool, w.setting.Mask); listed {
		return nil
	}
	return w.problem(ProblemNotAllowed, "the administrator does not allow varying %s: add it to the options of cluster %s/%s in the operator config and to the tuner's caps (Helm's "+
		"value options does both)",
		w.setting, allowed.Cluster.Namespace, allowed.Cluster.Name)
}

// isKnown rejects options that this version of Ceph does not know, and options that cephtune cannot restore.
// It also rejects options of other daemons than OSDs, options that the central configuration cannot set, and
// options that count only when an OSD is created.
func isKnown(w request, knowledge Known, allowed Permissions) []Problem {
	if w.setting.Kind == KindPoolOption {
		if _, known := PoolOptionType(w.setting.Option); !known {
			return w.problem(ProblemUnknown, "%s is not an option of pools that cephtune can restore", w.setting.Option)
		}
		return nil
	}
	help := knowledge.Help[w.setting.Option]
	var names []string
	for _, o := range allowed.Cluster.Options {
		names = append(names, o.Name)
	}
	switch {
	case !help.Known && Similar(w.setting.Option, names) != "":
		return w.problem(ProblemUnknown, "this Ceph has no option %s: did you mean %s?", w.setting.Option, Similar(w.setting.Option, names))
	case !help.Known:
		return w.problem(ProblemUnknown, "this Ceph has no option %s: `ceph config ls` lists its options", w.setting.Option)
	case len(help.Services) > 0 && !slices.Contains(help.Services, "osd") && !slices.Contains(help.Services, "common"):
		return w.problem(ProblemUnknown, "%s is an option of %s, but sweeps vary only options of OSDs", w.setting.Option, strings.Join(help.Services, " and "))
	case slices.Contains(help.Flags, "no_mon_update"):
		return w.problem(ProblemUnknown, "Ceph does not take %s from its central configuration", w.setting.Option)
	case !cephvalue.Known(help.Type):
		return w.problem(ProblemUnknown, "%s has type %q, whose values cephtune cannot compare and so cannot restore: remove it from the sweep", w.setting.Option, help.Type)
	case slices.Contains(help.Flags, "create"):
		return w.problem(ProblemNever, "%s is never varied, because it only counts when an OSD is created", w.setting.Option)
	}
	return nil
}

func hasPool(w request, known Known, _ Permissions) []Problem {
	if w.setting.Kind != KindPoolOption {
		return nil
	}
	pool, found := known.Facts.Pool(w.setting.Pool)
	switch {
	case !found:
		return w.problem(ProblemNoPool, "there is no pool %s: `ceph osd pool ls` lists the pools", w.setting.Pool)
	case w.setting.isPGNum() && slices.Contains(pool.Flags, "nopgchange"):
		return w.problem(ProblemNotAllowed, "pool %s has flag nopgchange, which fixes its number of PGs: to allow changes, run `ceph osd pool set %s nopgchange false`", pool.Name, pool.Name)
	}
	return nil
}

// keepsThePoolsBounds checks pg_num against the pool's pg_num_min and pg_num_max. These bounds are for the
// autoscaler, but Ceph applies them to every client.
func keepsThePoolsBounds(w request, known Known, _ Permissions) []Problem {
	pool, found := known.Facts.Pool(w.setting.Pool)
	if !w.setting.isPGNum() || !found {
		return nil
	}
	return w.outside(known, pool.Options["pg_num_min"], pool.Options["pg_num_max"], "pg_num_min and pg_num_max of the pool allow")
}

// Type returns the type of a setting's values, or "" if it is unknown.
func (k Known) Type(setting Setting) string {
	switch setting.Kind {
	case KindPoolOption:
		valueType, _ := PoolOptionType(setting.Option)
		return valueType
	case KindConfig:
		return k.Help[setting.Option].Type
	case KindAutoscaler:
		return cephvalue.String
	default:
		return cephvalue.Bool
	}
}

// Typed returns changes with their types.
func (k Known) Typed(changes []Change) []Change {
	typed := slices.Clone(changes)
	for i := range typed {
		typed[i].Type = k.Type(typed[i].Setting)
	}
	return typed
}

func takesValues(w request, known Known, _ Permissions) []Problem {
	var problems []Problem
	for _, value := range w.values {
		if err := w.takes(value, known); err != nil {
			problems = append(problems, w.problem(ProblemValue, "%s cannot be %s: %v", w.setting, value, err)...)
		}
	}
	return problems
}

func (w request) takes(value cephvalue.Value, known Known) error {
	if !value.Set {
		if _, possible := ceph.UnsetBy(w.setting.Option); w.setting.Kind == KindPoolOption && !possible {
			return fmt.Errorf("a pool always has a %s, so write a value", w.setting.Option)
		}
		return nil
	}
	if err := ceph.ValidValue(value.Text); err != nil {
		return err
	}
	text, err := cephvalue.Canonical(known.Type(w.setting), value.Text)
	if err != nil {
		return err
	}
	if w.setting.isPGNum() && strings.HasPrefix(text, "-") || w.setting.isPGNum() && text == "0" {
		return errors.New("a pool has at least one PG")
	}
	if enum := known.Help[w.setting.Option].Enum; w.setting.Kind == KindConfig && len(enum) > 0 && !slices.Contains(enum, value.Text) {
		return fmt.Errorf("it must be one of %s", strings.Join(enum, ", "))
	}
	return nil
}

func keepsCephsBounds(w request, known Known, _ Permissions) []Problem {
	if w.setting.Kind != KindConfig {
		return nil
	}
	help := known.Help[w.setting.Option]
	return w.outside(known, help.Min, help.Max, "Ceph takes")
}

// keepsTheBounds checks values against the bounds and the allowed values in the administrator's list.
func keepsTheBounds(w request, known Known, allowed Permissions) []Problem {
	option, listed := allowed.Cluster.AllowsOption(w.setting.Option, w.setting.Pool, w.setting.Mask)
	if !listed {
		return nil
	}
	var problems []Problem
	w, problems = w.withEffective(option, known)
	problems = append(problems, w.outside(known, option.Min, option.Max, "the administrator allows")...)
	for _, value := range w.values {
		equal := func(text string) bool { return same(w.setting, known.Type(w.setting), value, cephvalue.Of(text)) }
		if value.Set && len(option.Values) > 0 && !slices.ContainsFunc(option.Values, equal) {
			problems = append(problems, w.problem(ProblemOutOfBounds, "%s must not be %s: the administrator allows %s", w.setting, value, strings.Join(option.Values, ", "))...)
		}
	}
	return problems
}

// withEffective replaces "unset" by the value that then takes effect, because bounds apply to that value. If
// the option was unset originally, withEffective only drops "unset", because bounds do not apply to an
// original value. Without bounds and allowed values, it only drops "unset" too. Otherwise, an unknown
// effective value is a problem.
func (w request) withEffective(bounds settings.Option, knowledge Known) (request, []Problem) {
	values := slices.DeleteFunc(slices.Clone(w.values), func(v cephvalue.Value) bool { return !v.Set })
	bounded := bounds.Min != "" || bounds.Max != "" || len(bounds.Values) > 0
	if len(values) == len(w.values) || !bounded || knowledge.original(w.setting) == cephvalue.Unset() {
		return request{setting: w.setting, values: values}, nil
	}
	effective, known := knowledge.whenUnset(w.setting)
	if !known {
		return request{setting: w.setting, values: values}, w.problem(ProblemOutOfBounds,
			"%s has bounds, and its value when unset is unknown: write a value", w.setting)
	}
	return request{setting: w.setting, values: append(values, cephvalue.Of(effective))}, nil
}

// original returns a setting's value before the sweep: the original in the journal, or else the current
// value.
func (k Known) original(setting Setting) cephvalue.Value {
	if k.Journal != nil {
		if entry, journalled := k.Journal.Entry(setting); journalled {
			return entry.Original
		}
	}
	now, err := k.Facts.Value(setting)
	if err != nil {
		return cephvalue.Of("") // The original is unknown, so no value may match it.
	}
	return now
}

// whenUnset returns the value that OSDs use for an unset option: the value of a broader section, or Ceph's
// default. It returns false if the value is unknown, as it is for pool options.
func (k Known) whenUnset(setting Setting) (string, bool) {
	if setting.Kind != KindConfig {
		return "", false
	}
	if setting.Mask != "" {
		if broader := k.Facts.central(Setting{Kind: KindConfig, Option: setting.Option}); broader.Set {
			return broader.Text, true
		}
	}
	for _, entry := range k.Facts.Config {
		if entry.Section == "global" && entry.Mask == "" && entry.Name == setting.Option {
			return entry.Value, true
		}
	}
	help := k.Help[setting.Option]
	text := cmp.Or(help.DaemonDefault, help.Default)
	return text, text != ""
}

// Alike reports whether OSDs act alike with two values of a setting: if Ceph stores them alike, or if one is unset
// and the other is the value that OSDs then use. That value is unknown for pool options, and for options that
// mClock replaces.
func (k Known) Alike(setting Setting, a, b cephvalue.Value) bool {
	used := func(v cephvalue.Value) cephvalue.Value {
		if text, known := k.whenUnset(setting); !v.Set && known && !LockedByMClock(setting.Option) {
			return cephvalue.Of(text)
		}
		return v
	}
	return same(setting, k.Type(setting), used(a), used(b))
}

// outside rejects values outside two bounds. The argument least is the lower bound, and the argument most is
// the upper bound; "" means no bound. If a bound or a value is not a number, outside rejects the value,
// because the bounds were meant to limit the values. In messages, the limit follows the text in `who`, for
// example "Ceph takes".
func (w request) outside(known Known, least, most, who string) []Problem {
	valueType := known.Type(w.setting)
	var problems []Problem
	for _, value := range w.values {
		got, isNumber := cephvalue.Number(valueType, value.Text)
		if !value.Set || least == "" && most == "" {
			continue
		}
		if !isNumber {
			problems = append(problems, w.problem(ProblemOutOfBounds, "%s must not be %s: %s only numbers between bounds; for an option whose values are words, use values instead of bounds",
				w.setting, value, who)...)
			continue
		}
		lower, hasLower := cephvalue.Number(valueType, least)
		upper, hasUpper := cephvalue.Number(valueType, most)
		switch {
		case least != "" && (!hasLower || got < lower):
			problems = append(problems, w.problem(ProblemOutOfBounds, "%s must not be %s: %s no less than %s", w.setting, value, who, least)...)
		case most != "" && (!hasUpper || got > upper):
			problems = append(problems, w.problem(ProblemOutOfBounds, "%s must not be %s: %s no more than %s", w.setting, value, who, most)...)
		}
	}
	return problems
}

func changesAtRuntime(w request, known Known, allowed Permissions) []Problem {
	if w.setting.Kind != KindConfig || allowed.Restarts {
		return nil
	}
	if !takenAtStart(w.setting, known) {
		return nil
	}
	return w.problem(ProblemRestart, "OSDs read %s only when they start, and this sweep may not restart them: set guardrails.osdRestarts to Allow, which also needs the power restartOSDs",
		w.setting.Option)
}

func isNotRooks(w request, known Known, _ Permissions) []Problem {
	value, where, owned := known.Owned.value(w.setting)
	mode, modeAt, ownsMode := known.Owned.value(Setting{Kind: KindAutoscaler, Pool: w.setting.Pool})
	switch {
	case owned:
	case ownsMode && w.setting.isPGNum() && mode != autoscalerOff:
		return w.problem(ProblemOwned, "Rook keeps turning the autoscaler of pool %s %s: remove %s or set it to off while the sweep runs", w.setting.Pool, mode, modeAt)
	default:
		return nil
	}
	return w.problem(ProblemOwned, "Rook keeps setting %s to %s: remove %s while the sweep runs", w.setting, value, where)
}

func isNotShadowed(w request, known Known, _ Permissions) []Problem {
	var names []string
	for _, entry := range known.Facts.Shadows(w.setting) {
		names = append(names, fmt.Sprintf("%s (%s)", ceph.ConfigWho{Section: entry.Section, Mask: entry.Mask}, entry.Value))
	}
	if len(names) == 0 {
		return nil
	}
	return w.problem(ProblemShadowed, "%s would be inert where a narrower section sets it, at %s: remove that entry with `ceph config rm WHO %s`, or vary the option there",
		w.setting, strings.Join(names, ", "), w.setting.Option)
}

// locked rejects changes that set an option which mClock locks under the values of the same configuration.
func locked(configurations [][]Change, known Known) []Problem {
	if known.OpQueue != "" && known.OpQueue != mClock {
		return nil
	}
	var problems []Problem
	for _, configuration := range configurations {
		for _, change := range configuration {
			if change.Setting.Kind != KindConfig || !change.To.Set {
				continue
			}
			reason := lockedBy(change.Setting.Option, effective(optionProfile, configuration, known), effective(optionOverride, configuration, known))
			reported := slices.ContainsFunc(problems, func(p Problem) bool { return p.Setting == change.Setting })
			if reason == "" || reported {
				continue
			}
			advice := "set that in the same configuration, if the administrator allows it"
			if mClockSleeps.MatchString(change.Setting.Option) {
				advice = "remove the parameter, because no other setting changes that"
			}
			problems = append(problems, Problem{
				Reason: ProblemMClock, Setting: change.Setting,
				Message: fmt.Sprintf("OSDs would revert %s: %s; %s", change.Setting, reason, advice),
			})
		}
	}
	return problems
}

// lockedBefore rejects a setting whose current value was set before mClock locked the option. If a restore
// set that value again, OSDs would remove it.
func lockedBefore(configurations [][]Change, known Known) []Problem {
	if known.OpQueue != "" && known.OpQueue != mClock {
		return nil
	}
	var problems []Problem
	for _, w := range requests(configurations) {
		if now, reason := known.lockedNow(w.setting); reason != "" {
			problems = append(problems, w.problem(ProblemMClock,
				"%s is %s, which cannot be restored (%s): remove it with `ceph config rm %s %s`, or make it take effect",
				w.setting, now, reason, w.setting.who(), w.setting.Option)...)
		}
	}
	return problems
}

// effective returns the value that OSDs use for an option in a configuration; "" if it is unknown. If the
// configuration does not change the option, the current value counts. If that is unset, or the configuration
// unsets the option, the value of a broader section or Ceph's default counts. effective ignores values with a
// mask and values of single OSDs.
func effective(option string, configuration []Change, known Known) string {
	setting := Setting{Kind: KindConfig, Option: option}
	value := known.Facts.central(setting)
	for _, change := range configuration {
		if change.Setting == setting {
			value = change.To
		}
	}
	if value.Set {
		return value.Text
	}
	text, _ := known.whenUnset(setting)
	return text
}
