package settings

import (
	"regexp"
	"strings"
)

// Option is a Ceph option that sweeps may vary within bounds. The tuner's caps in Ceph have to allow the
// change too.
type Option struct {
	// Name is the name of the option, such as osd_mclock_profile or pg_num.
	Name string `json:"name"`
	// Pool is the pool of a pool option. It is empty for an OSD option in Ceph's central configuration.
	// Options of scratch pools need no entry.
	Pool string `json:"pool,omitempty"`
	// Mask limits an OSD option to some OSDs, as in class:ssd or host:node-1. Without a mask, the option
	// applies to all OSDs.
	Mask string `json:"mask,omitempty"`
	// Min and Max are inclusive bounds of numbers, in Ceph's notation: 64, 0.5 or 4Gi.
	Min string `json:"min,omitempty"`
	Max string `json:"max,omitempty"`
	// Values are the only allowed values. An empty list allows all values within the bounds.
	Values []string `json:"values,omitempty"`
	// SwitchUnderLoad allows sweeps to switch an OSD option every 10 seconds to 30 minutes while a load
	// runs. Such sweeps compare the option's values within minutes.
	SwitchUnderLoad bool `json:"switchUnderLoad,omitempty"`
}

// Risk is the class of an option, by the harm that a change of it can do.
type Risk string

// The risks.
const (
	// RiskLow marks options that are allowed by default.
	RiskLow Risk = "Low"
	// RiskMedium marks options that the administrator has to list in Cluster.Options.
	RiskMedium Risk = "Medium"
	// RiskRestart marks options that OSDs read only when they start. The administrator has to list them.
	RiskRestart Risk = "Restart"
	// RiskNever marks options that even an administrator cannot allow.
	RiskNever Risk = "Never"
)

// DefaultOptions returns the allowed options of a cluster whose entry has a tuner identity, but lacks the
// field `options`.
func DefaultOptions() []Option {
	return []Option{
		{Name: "osd_mclock_profile"},
		{Name: "osd_client_message_cap", Min: "16", Max: "16384"},
	}
}

// riskRule assigns a risk to the options of the central configuration whose names match.
type riskRule struct {
	names  *regexp.Regexp
	risk   Risk
	reason string
}

// riskRules returns the rules in order. The first rule that matches a name counts.
func riskRules() []riskRule {
	never := func(names, reason string) riskRule { return riskRule{regexp.MustCompile(names), RiskNever, reason} }
	return []riskRule{
		never(`^(auth_|cephx_|key)`, "it decides who may use the cluster"),
		never(`^(debug_|log_)`, "its logs slow OSDs down and fill disks"),
		never(`^(mon_|ms_)`, "a wrong value cuts OSDs or clients off"),
		never(`full_ratio`, "it keeps OSDs from running full, and a full OSD does not recover by itself"),
		never(`heartbeat`, "it decides when Ceph considers OSDs dead"),
		never(`min_alloc_size`, "it takes effect only when an OSD is created"),
		never(`^tmp_|_path$|_dir$`, "it says where an OSD finds its files"),
		never(`_(debug|inject)_|^ceph_assert`, "it makes OSDs fail, or continue after a failure, for tests of Ceph itself"),
		never(`^bluestore_bdev_label_|^bluefs_wal_envelope_mode$`, "it alters the format of an OSD's disk, which an older Ceph may be unable to read"),
		never(`^bluestore_(compression|csum)_`, "it would alter how every pool stores data: vary the option of a scratch pool instead"),
		{regexp.MustCompile(`^osd_op_(num_shards|num_threads_per_shard|queue)|^bluestore_write_v2`), RiskRestart, "OSDs read it only when they start"},
		// Ceph reports these as changeable at run time, but OSDs read them only when they
		// start.
		{regexp.MustCompile(`^osd_mclock_(iops_capacity_(low_)?threshold_|skip_benchmark$|force_run_benchmark_on_init$)`), RiskRestart, "OSDs use it only when they start, to judge their measured capacity"},
		{regexp.MustCompile(`^(osd_mclock_profile|osd_client_message_cap)$`), RiskLow, ""},
	}
}

// ConfigRisk returns the risk of an option of the central configuration, and the reason; "" for RiskMedium
// and RiskLow.
func ConfigRisk(name string) (Risk, string) {
	for _, rule := range riskRules() {
		if rule.names.MatchString(name) {
			return rule.risk, rule.reason
		}
	}
	return RiskMedium, ""
}

// SwitchesUnderLoad reports whether a sweep may switch an option of the central configuration while a load
// runs.
func (c Cluster) SwitchesUnderLoad(name, mask string) bool {
	option, listed := c.AllowsOption(name, "", mask)
	risk, _ := ConfigRisk(name)
	return listed && option.SwitchUnderLoad && risk != RiskRestart && risk != RiskNever
}

// needsMax says why an entry without Values must have a maximum, and what to write; "" if it needs no
// maximum.
func (o Option) needsMax() string {
	if o.Pool == "" && o.Name == "osd_memory_target" {
		return "an OSD that uses more memory than the limit of its pod is killed: write a max that leaves room below that limit, such as 4Gi for a limit of 6Gi"
	}
	return ""
}

// PoolRisk returns the risk of an option of an existing pool, and the reason; "" for RiskMedium. Sweeps may
// vary some RiskNever options, such as size, of a scratch pool.
func PoolRisk(name string) (Risk, string) {
	switch name {
	case "size", "min_size":
		return RiskNever, "it decides how many copies of the data exist"
	case "crush_rule":
		return RiskNever, "it moves all data of the pool, and Rook removes unused rules"
	case "pgp_num", "pgp_num_actual", "pg_num_actual":
		return RiskNever, "it follows pg_num by itself unless it is set: vary pg_num"
	case "pg_autoscale_mode", "pg_num_min", "pg_num_max", "target_size_ratio", "target_size_bytes", "pg_autoscale_bias", "bulk":
		return RiskNever, "sweeps turn the autoscaler off: vary pg_num"
	case "nodelete", "nopgchange", "nosizechange", "allow_ec_overwrites", "hashpspool", "eio":
		return RiskNever, "it protects the pool, or decides where its data is stored"
	}
	return RiskMedium, ""
}

// poolSwitches says of the options of scratch pools whether sweeps can switch them under a running load, and
// why. An option can be switched if OSDs read it anew for each client operation, and if no value affects a
// later window. A value affects a later window through stored data, data placement, or work that OSDs
// postpone. Keep the reasons short: status.plan.designReason has at most 88 characters.
func poolSwitches() map[string]poolSwitch {
	never := func(reason string) poolSwitch { return poolSwitch{reason: reason} }
	const (
		stored   = "later windows read what it stored"
		recovers = "windows with recovery do not count"
		scrubs   = "a scrub outlasts a window"
	)
	return map[string]poolSwitch{
		"fast_read":                  {can: true, reason: "the primary OSD reads it for each read, and stored data stays the same"},
		"pg_num":                     never("it moves data for minutes"),
		"size":                       never("it changes the number of copies"),
		"min_size":                   never("changing it makes PGs peer again"),
		"read_ratio":                 never("OSDs do not read it"),
		"recovery_priority":          never(recovers),
		"recovery_op_priority":       never(recovers),
		"scrub_priority":             never(scrubs),
		"scrub_min_interval":         never(scrubs),
		"scrub_max_interval":         never(scrubs),
		"deep_scrub_interval":        never(scrubs),
		"compression_mode":           never(stored),
		"compression_algorithm":      never(stored),
		"compression_required_ratio": never(stored),
		"compression_min_blob_size":  never(stored),
		"compression_max_blob_size":  never(stored),
		"csum_type":                  never(stored),
		"csum_min_block":             never(stored),
		"csum_max_block":             never(stored),
		"allow_ec_optimizations":     never(stored),
	}
}

type poolSwitch struct {
	can    bool
	reason string
}

// SwitchesInPool reports whether an option of a scratch pool can be switched under a running load, and why.
// Options that poolSwitches does not list cannot be switched.
func SwitchesInPool(name string) (can bool, reason string) {
	if s, known := poolSwitches()[name]; known {
		return s.can, s.reason
	}
	return false, "whether it acts at once is unknown"
}

// AltersStoredData reports whether a pool option changes how data is stored. Restoring such an option does
// not convert the data that was stored in the meantime.
func AltersStoredData(name string) bool {
	return strings.HasPrefix(name, "compression_") || strings.HasPrefix(name, "csum_") ||
		strings.HasPrefix(name, "dedup_") || name == "fingerprint_algorithm" ||
		name == "allow_ec_optimizations" // Ceph cannot turn it off again.
}

// AllowsOption returns the entry with exactly this name, pool and mask, or false if the cluster has no such
// entry.
func (c Cluster) AllowsOption(name, pool, mask string) (Option, bool) {
	for _, option := range c.Options {
		if option.Name == name && option.Pool == pool && option.Mask == mask {
			return option, true
		}
	}
	return Option{}, false
}
