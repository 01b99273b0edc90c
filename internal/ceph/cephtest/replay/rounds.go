package replay

import (
	"slices"
	"time"

	"github.com/cephtune/cephtune/internal/ceph"
)

// At is one entry of the central configuration.
type At struct {
	Who    ceph.ConfigWho
	Option string
}

// Touched lists the entries that rounds change or try to change, so that a test can restore them.
func Touched() []At {
	var all []At
	for _, round := range slices.Concat(Rounds(), MClock()) {
		for _, call := range round.Calls {
			if call.Verb != "SetConfig" && call.Verb != "RemoveConfig" {
				continue
			}
			who, _ := call.Args[0].(ceph.ConfigWho)
			option, _ := call.Args[1].(string)
			if entry := (At{who, option}); !slices.Contains(all, entry) {
				all = append(all, entry)
			}
		}
	}
	return all
}

// Who returns the section and the mask of an entry. If the mask stands for the class or the host of OSD 0, Who
// replaces it by the mask with the name of that class or host.
func (w World) Who(entry At) ceph.ConfigWho { return w.who(entry.Who) }

func osds() ceph.ConfigWho { return ceph.ConfigWho{Section: "osd"} }

func set(option, value string) Call { return Call{"SetConfig", []any{osds(), option, value}} }

func unset(option string) Call { return Call{"RemoveConfig", []any{osds(), option}} }

func setAt(mask, option, value string) Call {
	return Call{"SetConfig", []any{ceph.ConfigWho{Section: "osd", Mask: mask}, option, value}}
}

func unsetAt(mask, option string) Call {
	return Call{"RemoveConfig", []any{ceph.ConfigWho{Section: "osd", Mask: mask}, option}}
}

func setPool(option, value string) Call { return Call{"SetPoolOption", []any{Pool, option, value}} }

func unsetPool(option string) Call { return Call{"UnsetPoolOption", []any{Pool, option}} }

// Rounds returns the rounds without options that mClock locks. They cover all verbs that change something,
// with options of every type in cephvalue.Types.
func Rounds() []Round {
	return slices.Concat(configRounds(), poolRounds(), otherRounds())
}

func configRounds() []Round { return append(setRounds(), unsetRounds()...) }

func setRounds() []Round {
	return []Round{
		{Name: "options of every type", Calls: []Call{
			set("osd_scrub_auto_repair", "TRUE"),
			set("osd_deep_scrub_randomize_ratio", "1e-1"),
			set("osd_op_num_shards", "007"),
			set("osd_client_message_cap", "1K"),
			set("bluestore_throttle_bytes", "32Mi"),
			set("mgr_tick_period", "1h30m"),
			set("osd_scrub_reservation_timeout", "60000ms"),
			set("osd_op_queue", "wpq"),
			set("osd_pool_default_erasure_code_profile", "plugin=isa"),
		}},
		{Name: "other forms", Calls: []Call{
			set("osd_scrub_auto_repair", "2"),
			set("osd_deep_scrub_randomize_ratio", ".000000449"),
			set("osd_op_num_shards", "-0"),
			set("osd_client_message_cap", "0300"),
			set("bluestore_throttle_bytes", "4096B"),
			set("mgr_tick_period", "3w"),
			set("osd_scrub_reservation_timeout", "2000.9"),
			set("osd_op_queue", "mclock_scheduler"),
			set("osd_pool_default_erasure_code_profile", "K"),
			setAt("class:nothing", "osd_client_message_cap", "2"),
			setAt(ofClass, "osd_client_message_cap", "300"),
		}},
		{Name: "what is refused changes nothing", Calls: []Call{
			set("osd_scrub_auto_repair", "yes"),
			set("osd_deep_scrub_randomize_ratio", "1.5x"),
			set("osd_op_num_shards", "1.5"),
			set("osd_client_message_cap", "-1"),
			set("bluestore_throttle_bytes", "4MiB"),
			set("mgr_tick_period", "1.5"),
			set("osd_scrub_reservation_timeout", "5s"), // Ceph 18 reads 5 ms, which is below the minimum.
			set("osd_op_queue", "nope"),
			set("osd_pool_default_erasure_code_profile", ""),
			setAt("class:nothing", "osd_memory_target", "1K"),
			set("osd_no_such_option", "1"),
			set("osd_heartbeat_interval", "7"),
			setAt("host:", "osd_client_message_cap", "1"),
			{"SetConfig", []any{ceph.ConfigWho{Section: "osd.0"}, "osd_client_message_cap", "1"}},
			{"RemoveConfig", []any{ceph.ConfigWho{Section: "global"}, "osd_client_message_cap"}},
			setAt(ofHost, "osd_client_message_cap", "400"),
		}},
	}
}

func unsetRounds() []Round {
	return []Round{
		{Name: "Unset", Calls: []Call{
			unset("osd_scrub_auto_repair"),
			unset("osd_deep_scrub_randomize_ratio"),
			unset("osd_op_num_shards"),
			unset("osd_client_message_cap"),
			unset("bluestore_throttle_bytes"),
			unset("mgr_tick_period"),
			unset("osd_scrub_reservation_timeout"),
			unset("osd_op_queue"),
			unset("osd_pool_default_erasure_code_profile"),
			unset("osd_no_such_option"),
			unset("osd_heartbeat_interval"),
			unsetAt(ofHost, "osd_client_message_cap"),
		}},
		{Name: "Unset at masks", Calls: []Call{
			unsetAt("class:nothing", "osd_client_message_cap"),
			unsetAt("class:nothing", "osd_memory_target"),
			unsetAt(ofClass, "osd_client_message_cap"),
		}},
	}
}

func poolRounds() []Round {
	return []Round{
		{Name: "pool options", Calls: []Call{
			setPool("compression_mode", "aggressive"),
			setPool("compression_algorithm", "zlib"),
			setPool("compression_required_ratio", "0.70"),
			setPool("compression_max_blob_size", "64K"),
			setPool("compression_min_blob_size", "8192"),
			setPool("csum_type", "crc32c_16"),
			setPool("csum_max_block", "65536"),
			setPool("recovery_priority", "5"),
			setPool("recovery_op_priority", "7"),
			setPool("scrub_priority", "6"),
			setPool("scrub_min_interval", "3600"),
			setPool("deep_scrub_interval", "604800.5"),
			setPool("pg_autoscale_mode", "warn"),
			setPool("pg_num_min", "4"),
		}},
		{Name: "pool options that are refused", Calls: []Call{
			setPool("compression_mode", "sometimes"),
			setPool("compression_algorithm", "nope"),
			setPool("compression_required_ratio", "x"),
			setPool("compression_required_ratio", "1.5"),
			setPool("compression_max_blob_size", "1.5K"),
			setPool("csum_type", "md5"),
			setPool("recovery_priority", "11"),
			setPool("scrub_min_interval", "1h"),
			setPool("pg_autoscale_mode", "maybe"),
			setPool("no_such_option", "1"),
			setPool("read_lease_interval", "8"),
			setPool("fast_read", "1"), // refused, because the pool is replicated
			setPool("pg_num", "x"),
			setPool("pg_num", "0"),
			setPool("pg_num", "100000"),
			setPool("size", "2"),
			setPool("compression_mode", ""),
			{"SetPoolOption", []any{"cephtune-scratch-nowhere", "recovery_priority", "1"}},
			{"UnsetPoolOption", []any{"cephtune-scratch-nowhere", "recovery_priority"}},
			{"SetPoolOption", []any{".mgr", "recovery_priority", "1"}},
			unsetPool("pg_num"),
		}},
		{Name: "pool options are unset", Calls: []Call{
			unsetPool("compression_mode"),
			unsetPool("compression_algorithm"),
			unsetPool("compression_required_ratio"),
			unsetPool("compression_max_blob_size"),
			unsetPool("compression_min_blob_size"),
			unsetPool("csum_type"),
			unsetPool("csum_max_block"),
			unsetPool("recovery_priority"),
			unsetPool("recovery_op_priority"),
			unsetPool("scrub_priority"),
			unsetPool("scrub_min_interval"),
			unsetPool("deep_scrub_interval"),
			unsetPool("pg_num_min"),
			setPool("pg_autoscale_mode", "off"),
			setPool("pg_num", "32"),
		}},
	}
}

func otherRounds() []Round {
	place := func(pool string, pgs ...ceph.PGPlacement) Call { return Call{"PlacePGs", []any{pool, pgs}} }
	pg := func(number int, osds ...int) ceph.PGPlacement { return ceph.PGPlacement{Number: number, OSDs: osds} }
	return []Round{
		{Name: "on", Calls: []Call{
			{"SetFlag", []any{ceph.FlagNoScrub, true}},
			{"SetFlag", []any{ceph.FlagNoDeepScrub, true}},
			{"SetFlag", []any{"noout", true}},
			{"SetBalancer", []any{false}},
			{"SetKey", []any{Key, "{\n\"a\": 1}\n"}},
			{"SetNoUp", []any{0, true}},
			{"SetNoUp", []any{99, true}},
			{"MarkOSDsDown", []any{[]int{0}}},
			{"MarkOSDsDown", []any{[]int{}}},
			{"MarkOSDsDown", []any{[]int{99}}},
			place("cephtune-scratch-nowhere", pg(0, 2, 1, 0)),
			place(".mgr", pg(0, 2, 1, 0)),
			place(Pool, pg(99, 2, 1, 0)),
			place(Pool, pg(0, 1, 0)),
			place(Pool, pg(0, 1, 1, 0)),
		}},
		{Name: "on again", Calls: []Call{
			{"SetFlag", []any{ceph.FlagNoScrub, true}},
			{"SetBalancer", []any{false}},
			{"SetKey", []any{Key, "b"}},
			{"SetNoUp", []any{0, true}},
			{"MarkOSDsDown", []any{[]int{0}}},
		}},
		{Name: "off", Calls: []Call{
			{"SetNoUp", []any{0, false}},
			{"SetFlag", []any{ceph.FlagNoScrub, false}},
			{"SetFlag", []any{ceph.FlagNoDeepScrub, false}},
			{"SetBalancer", []any{true}},
			{"RemoveKey", []any{Key}},
			{"RemoveImage", []any{Pool, Image}},
			{"RemoveObjects", []any{Pool, "", []string{Object}}},
		}},
		{Name: "off again, and up at once", Calls: []Call{
			{"SetNoUp", []any{0, false}},
			{"MarkOSDsDown", []any{[]int{0}}},
			{"SetFlag", []any{ceph.FlagNoScrub, false}},
			{"SetBalancer", []any{true}},
			{"RemoveKey", []any{Key}},
			{"RemoveImage", []any{Pool, Image}},
			{"RemoveImage", []any{Pool, "others"}},
			{"RemoveObjects", []any{Pool, "", []string{Object}}},
			{"RemoveObjects", []any{Pool, "", []string{"others"}}},
			{"DropOSDCaches", nil},
		}},
		// Ceph drops an upmap that equals the placement by CRUSH. With this many upmaps, some differ and
		// stay.
		{Name: "placement groups are placed", Calls: []Call{
			place(Pool, pg(0, 2, 1, 0), pg(1, 2, 1, 0), pg(2, 2, 1, 0), pg(3, 2, 1, 0), pg(4, 2, 1, 0), pg(15, 2, 1, 0)),
		}},
	}
}

const (
	profile  = "osd_mclock_profile"
	override = "osd_mclock_override_recovery_settings"
	weight   = "osd_mclock_scheduler_client_wgt"
	limit    = "osd_max_backfills"
	// watched is how long OSDs must leave a value unchanged.
	watched = 4 * time.Second
)

// MClock returns rounds that change options that mClock locks, and the options that set the lock.
func MClock() []Round {
	return []Round{
		{Name: "custom, and then the weight", Calls: []Call{set(profile, "custom"), set(weight, "5")}, Hold: watched},
		{Name: "the profile alone", Calls: []Call{set(profile, "balanced")}, Hold: watched},
		{Name: "the profile alone, another time", Calls: []Call{set(profile, "high_client_ops")}, Hold: watched},
		{Name: "the profile is removed", Calls: []Call{unset(profile)}, Hold: watched},
		{Name: "the weight while it is locked", Calls: []Call{set(weight, "7")}, Hold: watched},
		{Name: "unlocked right after", Calls: []Call{set(weight, "8"), set(profile, "custom")}, Hold: watched},
		{Name: "the override, and then the limit", Calls: []Call{set(override, "true"), set(limit, "3"), unset(profile)}, Hold: watched},
		{Name: "the override alone", Calls: []Call{set(override, "false")}, Hold: watched},
		{Name: "the limit while it is locked", Calls: []Call{set(limit, "4"), setAt(ofClass, weight, "9"), setAt(ofHost, limit, "6")}, Hold: watched},
		{Name: "all is removed", Calls: []Call{
			unset(profile), unset(override), unset(weight), unset(limit), unsetAt(ofClass, weight), unsetAt(ofHost, limit),
		}},
	}
}
