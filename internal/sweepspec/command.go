package sweepspec

import (
	"slices"
	"strings"
)

// Command returns the command that sweeps some settings, in the arguments of the subcommand sweep.
func Command(namespace, settings string) string {
	return "kubectl cephtune sweep " + settings + " -n " + namespace
}

// IsOSDOption reports whether an option is of the OSDs' configuration and not of a pool, judged by the option's prefix.
func IsOSDOption(name string) bool {
	return slices.ContainsFunc([]string{"osd_", "bluestore_", "bluefs_", "bdev_", "ms_", "rocksdb_", "kstore_", "objecter_", "throttler_"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// PoolOptions returns the options of "ceph osd pool set" that a sweep may vary.
func PoolOptions() []string {
	return []string{
		"pg_num", "size", "min_size", "fast_read", "read_ratio", "recovery_priority", "recovery_op_priority",
		"scrub_priority", "scrub_min_interval", "scrub_max_interval", "deep_scrub_interval",
		"compression_mode", "compression_algorithm", "compression_required_ratio", "compression_min_blob_size", "compression_max_blob_size",
		"csum_type", "csum_min_block", "csum_max_block", "allow_ec_overwrites", "allow_ec_optimizations",
	}
}
