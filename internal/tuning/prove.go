package tuning

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cephtune/cephtune/internal/ceph"
	"github.com/cephtune/cephtune/internal/ceph/cephvalue"
)

// InertReason is the reason why a change is inert.
type InertReason string

// The reasons.
const (
	// InertMClock: OSDs removed the value, because mClock locks the option.
	InertMClock InertReason = "RevertedByMClock"
	// InertAutoscaler: the autoscaler of the pool set another number of PGs.
	InertAutoscaler InertReason = "RevertedByAutoscaler"
	// InertRook: Rook set the value from a custom resource again.
	InertRook InertReason = "RevertedByRook"
	// InertReverted: an unknown client set another value.
	InertReverted InertReason = "Reverted"
	// InertShadowed: an entry for a single OSD or with a mask takes precedence.
	InertShadowed InertReason = "Shadowed"
	// InertOverridden: an OSD's value comes from its configuration file, its environment, its command line, or
	// "ceph tell", or the OSD itself set it.
	InertOverridden InertReason = "Overridden"
	// InertRestart: OSDs read the option only when they start.
	InertRestart InertReason = "NeedsRestart"
	// InertUnproven: the value is unknown, or an OSD has another value for no known reason.
	InertUnproven InertReason = "Unproven"
)

// Inert describes an inert change.
type Inert struct {
	Reason  InertReason
	Setting Setting
	Want    cephvalue.Value
	// Got is the actual value in Ceph or in the OSDs. It is unset if the option is unset or the value is
	// unknown.
	Got  cephvalue.Value
	OSDs []int
	// Message says what happened, and what to do if that is known.
	Message string
}

// Owned has the options that Rook's custom resources set. Rook sets them again at each reconcile.
type Owned struct {
	// PoolParameters has the options that CephBlockPools set, by pool and option.
	PoolParameters map[string]map[string]string
	// CephConfig has the options that the CephCluster sets, by section and option.
	CephConfig map[string]map[string]string
}

// value returns the value that Rook gives a setting, and the field of the custom resource with that value.
func (o Owned) value(setting Setting) (value, where string, owned bool) {
	switch setting.Kind {
	case KindPoolOption:
		value, owned = o.PoolParameters[setting.Pool][setting.Option]
		where = fmt.Sprintf("spec.parameters.%s of the CephBlockPool of pool %s", setting.Option, setting.Pool)
	case KindAutoscaler:
		value, owned = o.PoolParameters[setting.Pool][optionAutoscaler]
		where = fmt.Sprintf("spec.parameters.%s of the CephBlockPool of pool %s", optionAutoscaler, setting.Pool)
	case KindConfig:
		value, owned = o.CephConfig[setting.who().String()][setting.Option]
		where = fmt.Sprintf("spec.cephConfig[%q].%s of the CephCluster", setting.who(), setting.Option)
	default: // Rook does not set the other kinds.
	}
	return value, where, owned
}

// Known has the facts by which changes are judged.
type Known struct {
	Facts Facts
	// Help has Ceph's help for options, by name.
	Help map[string]ceph.OptionHelp
	// OSDs has all OSDs, with their device classes.
	OSDs  []ceph.OSD
	Owned Owned
	// OpQueue is the value of osd_op_queue in a running OSD; "" if no OSD is up, or the value is unknown.
	OpQueue string
	// Journal has the original values; nil if the sweep has not changed any setting yet, or if the judgement
	// does not need the original values.
	Journal *Journal
}

// lostValues returns the changes whose setting has another value in Ceph, or whose value in Ceph is unknown.
func lostValues(want []Change, known Known) []Inert {
	var lost []Inert
	for _, change := range want {
		now, err := known.Facts.Value(change.Setting)
		switch {
		case err != nil:
			lost = append(lost, Inert{
				Reason: InertUnproven, Setting: change.Setting, Want: change.To,
				Message: fmt.Sprintf("the value of %s is unknown: %v", change.Setting, err),
			})
		case !same(change.Setting, change.Type, now, change.To):
			lost = append(lost, notKept(change, now, known))
		}
	}
	return lost
}

// notKept describes a change whose setting has another value in Ceph. It names the client that set the other
// value, if that is known.
func notKept(change Change, now cephvalue.Value, known Known) Inert {
	inert := Inert{Setting: change.Setting, Want: change.To, Got: now, Reason: InertReverted}
	owned, where, owns := known.Owned.value(change.Setting)
	pool, _ := known.Facts.Pool(change.Setting.Pool)
	switch {
	case owns && same(change.Setting, change.Type, now, cephvalue.Of(owned)):
		inert.Reason = InertRook
		inert.Message = fmt.Sprintf("Rook set %s back to %s: remove %s while the sweep runs", change.Setting, now, where)
	case change.Setting.isPGNum() && pool.AutoscaleMode == autoscalerOn:
		inert.Reason = InertAutoscaler
		inert.Message = fmt.Sprintf("the autoscaler changed %s to %s, because it was turned on again for the pool", change.Setting, now)
	case change.Setting.Kind == KindConfig && !now.Set && LockedByMClock(change.Setting.Option):
		inert.Reason = InertMClock
		inert.Message = fmt.Sprintf("OSDs removed %s, because their scheduler mClock locks it: %s", change.Setting, unlock(change.Setting.Option))
	default:
		inert.Message = fmt.Sprintf("%s is %s, not %s: something else has changed it", change.Setting, now, change.To)
	}
	return inert
}

const (
	// everyOSD is the maximum number of running OSDs at which each OSD is asked for its values.
	everyOSD = 32
	// someOSDs is the number of OSDs that are asked if the number of running OSDs exceeds everyOSD. Asking
	// one OSD takes half a second. If one OSD in ten had another value, one sample in thirty would miss all
	// such OSDs. The sample changes from run to run.
	someOSDs = 32
)

// osdsToAsk chooses the OSDs that are asked for their running values. In a small cluster, it chooses all OSDs
// that are up. In a large cluster, up to half of the sample are OSDs whose ID has an entry in `shadows`. The
// rest are at almost equal distances in the list of OSDs that are up. If `turn` rises by one, their positions
// shift by one OSD.
func osdsToAsk(osds []ceph.OSD, shadows []ceph.ConfigEntry, turn int) []int {
	var up []int
	for _, osd := range osds {
		if osd.Status == "up" {
			up = append(up, osd.ID)
		}
	}
	slices.Sort(up)
	if len(up) <= everyOSD {
		return up
	}
	chosen := map[int]bool{}
	for _, entry := range shadows {
		var id int
		if _, err := fmt.Sscanf(entry.Section, "osd.%d", &id); err == nil && slices.Contains(up, id) && len(chosen) < someOSDs/2 {
			chosen[id] = true
		}
	}
	for i := range up {
		if len(chosen) == someOSDs {
			break
		}
		// The first someOSDs iterations choose different OSDs, so the sample is full after them. In them, the
		// term i/someOSDs is 0.
		index := (turn + i*len(up)/someOSDs + i/someOSDs) % len(up)
		chosen[up[index]] = true
	}
	some := make([]int, 0, len(chosen))
	for _, id := range up {
		if chosen[id] {
			some = append(some, id)
		}
	}
	return some
}

// optionLocation is the option with an OSD's CRUSH location, which names the OSD's host.
const optionLocation = "crush_location"

// Proof is the result of Prove.
type Proof struct {
	Inert []Inert
}

// Proven reports whether no change is inert.
func (p Proof) Proven() bool { return len(p.Inert) == 0 }

// Prove reads the values of changes back from Ceph. For options of the central configuration, it also asks
// running OSDs; in a large cluster it asks a sample, which depends on the argument `turn`. Prove changes
// nothing and can be repeated. Repeat it after InertUnproven, because ceph-mgr may know a new value only some
// seconds after the change.
func Prove(ctx context.Context, client ceph.Client, connection ceph.Connection, want []Change, known Known, turn int) (Proof, error) {
	facts, err := ReadFacts(ctx, client, connection, SettingsOf(want))
	if err != nil {
		return Proof{}, err
	}
	known.Facts = facts
	var options []string
	var shadows []ceph.ConfigEntry
	for _, change := range want {
		if change.Setting.Kind == KindConfig {
			options = append(options, change.Setting.Option)
			shadows = append(shadows, facts.Shadows(change.Setting)...)
		}
	}
	if len(options) == 0 {
		return Proof{Inert: lostValues(want, known)}, nil
	}
	running, err := client.RunningConfig(ctx, connection, osdsToAsk(known.OSDs, shadows, turn), append(options, optionLocation))
	if err != nil {
		return Proof{}, err
	}
	return Proof{Inert: Judge(want, known, running)}, nil
}

// Judge returns the inert changes: those whose value Ceph no longer has, and those that a running OSD does
// not use. A change also counts as inert if the value in Ceph or in an OSD is unknown.
func Judge(want []Change, known Known, running []ceph.Running) []Inert {
	inert := lostValues(want, known)
	for _, change := range want {
		lost := slices.ContainsFunc(inert, func(i Inert) bool { return i.Setting == change.Setting })
		if change.Setting.Kind == KindConfig && !lost {
			inert = append(inert, without(change, known, running)...)
		}
	}
	return inert
}

// without returns the OSDs that are not known to run with a change, grouped by reason and running value.
func without(change Change, known Known, running []ceph.Running) []Inert {
	var found []Inert
	for _, osd := range running {
		one, ok := judgeOSD(change, known, osd)
		if !ok {
			continue
		}
		index := slices.IndexFunc(found, func(i Inert) bool { return i.Reason == one.Reason && i.Got == one.Got })
		if index < 0 {
			found, index = append(found, one), len(found)
		}
		found[index].OSDs = append(found[index].OSDs, osd.OSD)
	}
	for i := range found {
		found[i].Message = fmt.Sprintf("%s: %s", osdNames(found[i].OSDs), found[i].Message)
	}
	return found
}

// judgeOSD returns true if a change applies to an OSD that is not known to run with it. The Inert says why.
func judgeOSD(change Change, knowledge Known, osd ceph.Running) (Inert, bool) {
	if !concerns(change.Setting, knowledge.OSDs, osd) {
		return Inert{}, false
	}
	inert := Inert{Setting: change.Setting, Want: change.To, Reason: InertUnproven}
	option, known := osd.Option(change.Setting.Option)
	if osd.Error != "" || !known {
		reason := osd.Error
		if reason == "" {
			reason = "the OSD does not know the option"
		}
		inert.Message = "the running value is unknown: " + reason
		return inert, true
	}
	inert.Got = cephvalue.Of(option.Value)
	if runs(change, knowledge, option) {
		return Inert{}, false
	}
	help := knowledge.Help[change.Setting.Option]
	switch {
	case option.Ignored || help.Known && !help.Runtime:
		inert.Reason = InertRestart
		inert.Message = fmt.Sprintf("the running value is %s, because OSDs take %s only when they start", option.Value, change)
	case option.Source == "file" || option.Source == "env" || option.Source == "cmdline" || option.Source == "override":
		inert.Reason = InertOverridden
		inert.Message = fmt.Sprintf("the running value %s is set in the OSD itself (%s) and takes precedence over the central configuration: %s",
			option.Value, option.Source, unoverride(option.Source))
	case shadowedBy(knowledge.Facts.Shadows(change.Setting), option) != "":
		inert.Reason = InertShadowed
		inert.Message = fmt.Sprintf("the running value %s is set at %s and takes precedence: remove that entry with `ceph config rm`, or leave the option out of the sweep",
			option.Value, shadowedBy(knowledge.Facts.Shadows(change.Setting), option))
	default:
		inert.Message = fmt.Sprintf("the running value is %s, but Ceph's configuration has %s", option.Value, change)
	}
	return inert, true
}

// runs reports whether an OSD runs with the value of a change. If the change unsets the option, the OSD has
// to run with the value of a broader section or with the default.
func runs(change Change, known Known, option ceph.RunningOption) bool {
	if change.To.Set {
		return same(change.Setting, change.Type, cephvalue.Of(option.Value), change.To)
	}
	if option.Source == "default" {
		return !option.Ignored
	}
	for _, entry := range known.Facts.Config {
		broader := entry.Section == "global" || entry.Section == sectionOSD && entry.Mask == "" && change.Setting.Mask != ""
		if broader && entry.Name == option.Name && same(change.Setting, change.Type, cephvalue.Of(entry.Value), cephvalue.Of(option.Value)) {
			return true
		}
	}
	return false
}

// concerns reports whether a setting applies to an OSD. For a mask with a device class, it also returns true if
// `osds` lacks the OSD; for a mask with a host, if the OSD's CRUSH location was not reported.
func concerns(setting Setting, osds []ceph.OSD, osd ceph.Running) bool {
	if class, masked := strings.CutPrefix(setting.Mask, "class:"); masked {
		index := slices.IndexFunc(osds, func(o ceph.OSD) bool { return o.ID == osd.OSD })
		return index < 0 || osds[index].DeviceClass == class
	}
	if host, masked := strings.CutPrefix(setting.Mask, "host:"); masked {
		location, known := osd.Option(optionLocation)
		return !known || slices.Contains(strings.Fields(location.Value), "host="+host)
	}
	return true
}

func shadowedBy(shadows []ceph.ConfigEntry, option ceph.RunningOption) string {
	for _, entry := range shadows {
		if entry.Value == option.Value {
			return ceph.ConfigWho{Section: entry.Section, Mask: entry.Mask}.String()
		}
	}
	return ""
}

func unoverride(source string) string {
	if source == "override" {
		return "`ceph tell` or the OSD itself set it, and it stays until the OSD restarts"
	}
	return "remove it from rook-config-override or the OSD's command line and restart the OSD"
}

// osdNames lists OSDs, and shortens a long list.
func osdNames(ids []int) string {
	const most = 8
	if len(ids) > most {
		return fmt.Sprintf("%s, %d more", ceph.OSDNames(ids[:most]), len(ids)-most)
	}
	return ceph.OSDNames(ids)
}
