package loadfacts

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// synonyms maps a name of an option of fio to the name under which fio itself lists it (options.c).
func synonyms() map[string]string {
	return map[string]string{
		"readwrite": "rw", "blocksize": "bs", "blocksize_range": "bsrange", "blockalign": "ba",
		"blocksize_unaligned": "bs_unaligned", "io_limit": "io_size", "fill_fs": "fill_device", "fileoffset": "offset",
		"iodepth_batch_submit": "iodepth_batch", "iodepth_batch_complete": "iodepth_batch_complete_min",
		"allrandrepeat": "randrepeat", "nr_files": "nrfiles", "timeout": "runtime", "iomem": "mem", "mem_align": "iomem_align",
		"ratemin": "rate_min", "ratecycle": "rate_cycle", "wait_for_previous": "stonewall", "disable_bw": "disable_bw_measurement",
		"ss": "steadystate", "ss_dur": "steadystate_duration", "ss_ramp": "steadystate_ramp_time", "start_delay": "startdelay",
	}
}

// defaults has the value that an absent option of fio has (options.c).
func defaults() map[string]string {
	values := map[string]string{
		"rw": "read", "ioengine": "psync", "bs": "4096", "rwmixread": "50", "sync": "none", "verify": "none", "fallocate": "native",
		"random_distribution": "random", "percentage_random": "100", "random_generator": "tausworthe", "rw_sequencer": "sequential",
		"io_submit_mode": "inline", "rate_process": "linear", "file_service_type": "roundrobin", "mem": "malloc", "zonemode": "none",
		"continue_on_error": "none", "kb_base": "1024", "thinktime_blocks_type": "complete", "lockfile": "none", "exit_what": "group",
		"verify_policy": "completed", "rate_cycle": "1000", "buffer_compress_chunk": "512", "dedupe_mode": "repeat",
		"dedupe_working_set_percentage": "5", "latency_percentile": "100",
	}
	for name := range strings.FieldsSeq(`iodepth numjobs loops nrfiles iodepth_batch iodepth_batch_complete_min thinktime_blocks
		invalidate randrepeat scramble_buffers create_serialize create_fsync allow_file_create fadvise_hint do_verify stats
		verify_state_save unique_filename num_range`) {
		values[name] = "1"
	}
	for name := range strings.FieldsSeq(`direct fsync fdatasync end_fsync fsync_on_close end_syncfs write_barrier time_based runtime
		ramp_time startdelay thread norandommap softrandommap rate rate_iops rate_min rate_iops_min thinktime thinktime_spin
		thinktime_iotime offset offset_increment offset_align number_ios overwrite atomic file_append fill_device bs_unaligned
		bs_is_seq_rand zero_buffers refill_buffers buffer_compress_percentage dedupe_percentage nice gtod_reduce disable_lat
		disable_clat disable_slat disable_bw_measurement exitall exitall_on_error stonewall new_group unlink unlink_each_loop
		create_on_open create_only pre_read serialize_overlap hipri sqthread_poll fixedbufs registerfiles nonvectored uncached
		userspace_reap nowait busy_poll touch_objects iomem_align lockmem verify_only verify_fatal verify_async flow flow_id
		flow_sleep latency_run allow_mounted_write rate_ignore_thinktime replay_no_stall experimental_verify dedupe_global cuda_io`) {
		values[name] = "0"
	}
	return values
}

// Ignored maps the options of fio that cannot change what a run measures to the reason.
func Ignored() map[string]string {
	reasons := map[string]string{
		"name": "a name", "description": "a name", "comm": "the name of the process", "randseed": "only the start of random numbers",
		"group_reporting": "how jobs are reported; numjobs is compared",
	}
	for name := range strings.FieldsSeq(`per_job_logs write_bw_log write_lat_log write_iops_log write_hist_log write_iolog
		log_avg_msec log_hist_msec log_hist_coarseness log_window_value log_max_value log_offset log_prio log_issue_time
		log_unix_epoch log_alternate_epoch log_alternate_epoch_clock_id log_entries log_compression log_store_compressed`) {
		reasons[name] = "where and how logs are written"
	}
	for name := range strings.FieldsSeq(`clat_percentiles lat_percentiles slat_percentiles percentile_list significant_figures
		block_error_percentiles unified_rw_reporting bwavgtime iopsavgtime disk_util`) {
		reasons[name] = "which figures are reported; figures of different kinds are refused"
	}
	return reasons
}

// Locations are the options of fio that name the data. Runs of one side may each have data with a name of their
// own.
func Locations() []string {
	return []string{"filename", "directory", "filename_format", "opendir", "rbdname", "pool", "clustername", "clientname", "namespace"}
}

// Canonical returns the one form of a value of an option, such as 4096 for 4k.
func Canonical(option, value string) string {
	return canonicalValue(cmp.Or(synonyms()[option], option), strings.TrimSpace(value))
}

// canonical gives each option and value of fio one form: default names, bytes and microseconds, "1" and "0". It
// leaves out options that cannot matter. Options of a job replace global ones.
func canonical(global, job map[string]string) map[string]option {
	names, ignored := synonyms(), Ignored()
	options := map[string]option{}
	for _, reported := range []map[string]string{global, job} {
		for _, given := range slices.Sorted(maps.Keys(reported)) {
			name, shown := cmp.Or(names[given], given), reported[given]
			if _, skip := ignored[name]; skip {
				continue
			}
			name, value := inverse(name, canonicalValue(name, strings.TrimSpace(shown)))
			if name != cmp.Or(names[given], given) {
				shown = value
			}
			options[name] = option{value, shown}
		}
	}
	used := directionsUsed(cmp.Or(options["rw"].value, "read"))
	for _, name := range []string{"bs", "bsrange", "bssplit", "rate", "rate_iops", "rate_min", "rate_iops_min", "percentage_random", "random_distribution"} {
		if o, ok := options[name]; ok {
			o.value = forDirections(o.value, used, defaults()[name])
			if strings.Contains(o.shown, ",") {
				o.shown = o.value
			}
			options[name] = o
		}
	}
	if !used[0] || !used[1] {
		delete(options, "rwmixread")
	}
	return options
}

// inverse replaces an option that says the opposite of another.
func inverse(name, value string) (as, inverted string) {
	switch name {
	case "buffered":
		if value == "0" {
			return "direct", "1"
		}
		return "direct", "0"
	case "rwmixwrite":
		if percent, err := strconv.Atoi(value); err == nil {
			return "rwmixread", strconv.Itoa(100 - percent)
		}
	}
	return name, value
}

func canonicalValue(name, shown string) string {
	switch strings.ToLower(shown) {
	case "", "true":
		shown = "1"
	case "false":
		shown = "0"
	}
	switch name {
	case "rw":
		pattern, rest, _ := strings.Cut(shown, ":")
		if pattern == "readwrite" {
			pattern = "rw"
		}
		return strings.TrimSuffix(pattern+":"+canonicalSizes(rest), ":")
	case "ioengine", "sync", "verify":
		words := map[string]string{
			"ioengine=aio": "libaio", "ioengine=linuxaio": "libaio", "sync=0": "none", "sync=1": "sync", "verify=0": "none",
		}
		return cmp.Or(words[name+"="+shown], shown)
	case "runtime", "ramp_time", "startdelay", "thinktime_iotime":
		return microseconds(shown, 1e6)
	case "thinktime", "thinktime_spin", "max_latency", "latency_target", "latency_window":
		return microseconds(shown, 1)
	}
	if slices.Contains(Locations(), name) {
		return shown
	}
	return canonicalSizes(shown)
}

// canonicalSizes writes each number with a unit as bytes, also in lists such as 4k/60:64k/40. fio's k, kb and ki
// are all 1024.
func canonicalSizes(shown string) string {
	whole := regexp.MustCompile(`^[0-9.,:/\-kKmMgGtTpPiIbB]+$`)
	if !whole.MatchString(shown) || strings.Trim(shown, ",:/-") == "" {
		return shown
	}
	each := regexp.MustCompile(`([0-9]+(?:\.[0-9]+)?)([kKmMgGtTpP]?)(?:[iI]?[bB]?)`)
	return each.ReplaceAllStringFunc(shown, func(text string) string {
		parts := each.FindStringSubmatch(text)
		value, err := strconv.ParseFloat(parts[1], 64)
		if err != nil {
			return text
		}
		if parts[2] != "" {
			for range strings.Index("kmgtp", strings.ToLower(parts[2])) + 1 {
				value *= 1024
			}
		}
		return strconv.FormatFloat(value, 'f', -1, 64)
	})
}

// microseconds writes a time, such as 60, 1m or 500ms, as microseconds. unit is the unit of a bare number.
func microseconds(shown string, unit float64) string {
	i := strings.LastIndexAny(shown, "0123456789.") + 1
	value, err := strconv.ParseFloat(shown[:i], 64)
	scale, known := map[string]float64{
		"": unit, "us": 1, "usec": 1, "ms": 1e3, "msec": 1e3, "s": 1e6, "sec": 1e6, "m": 60e6, "h": 3600e6, "d": 86400e6,
	}[strings.ToLower(shown[i:])]
	if err != nil || !known {
		return shown
	}
	return strconv.FormatFloat(value*scale, 'f', -1, 64)
}

// directionsUsed reports whether a pattern reads, writes and trims.
func directionsUsed(pattern string) [3]bool {
	pattern, _, _ = strings.Cut(pattern, ":")
	mixed := pattern == "rw" || pattern == "randrw"
	return [3]bool{
		mixed || strings.Contains(pattern, "read"), mixed || strings.Contains(pattern, "write"), strings.Contains(pattern, "trim"),
	}
}

// forDirections keeps the parts of a value such as 4096,8192 that the directions of the load use. The last part
// holds for the directions behind it.
func forDirections(value string, used [3]bool, absent string) string {
	parts := strings.Split(value, ",")
	var kept []string
	for i, use := range used {
		part := parts[min(i, len(parts)-1)]
		if use {
			kept = append(kept, cmp.Or(part, absent))
		}
	}
	if compact := slices.Compact(slices.Clone(kept)); len(compact) == 1 {
		return compact[0]
	}
	return strings.Join(kept, ",")
}
