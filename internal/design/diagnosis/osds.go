package diagnosis

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/api/v1alpha1"
	"github.com/cephtune/cephtune/internal/ceph"
)

// This file has the checks of OSDs' settings and devices.

const (
	memoryTarget = "osd_memory_target"
	gibi         = 1 << 30
)

// memoryTargets has the thresholds of Ceph's hardware recommendations: the default is 4 GiB, 2 to 4 GiB "may degrade
// performance", and below 2 GiB Ceph calls extremely slow performance likely. Ceph derives its own default from the
// memory limit of the pod (osd_memory_target_cgroup_limit_ratio, 0.8), so a target above it may get an OSD killed.
func memoryTargets(f Facts) *v1alpha1.Finding {
	var low, high []string
	least := int64(4 * gibi)
	for _, r := range f.Running {
		o, _ := r.Option(memoryTarget)
		target, err := strconv.ParseInt(o.Value, 10, 64)
		if err != nil || target <= 0 {
			continue
		}
		if target < 4*gibi {
			low = append(low, fmt.Sprintf("osd.%d: %.1f GiB", r.OSD, float64(target)/gibi))
			least = min(least, target)
		}
		if room, err := strconv.ParseInt(o.Default, 10, 64); err == nil && room > 0 && target > room {
			high = append(high, fmt.Sprintf("osd.%d: %.1f GiB, by its pod's memory %.1f GiB", r.OSD, float64(target)/gibi, float64(room)/gibi))
		}
	}
	switch {
	case len(high) > 0:
		return found(likely, "Raise the memory limit of the OSDs in the CephCluster, or remove osd_memory_target from the configuration.", high,
			"OSDs may use more memory than their pods allow: Kubernetes kills and restarts them.")
	case least < 2*gibi:
		return found(likely, "Give OSDs at least 4 GiB, by the resources of the CephCluster, or by osd_memory_target.", low,
			"OSDs have less than 2 GiB of memory, with which Ceph's documentation expects them to be extremely slow.")
	case len(low) > 0:
		return found(possible, "Give OSDs at least 4 GiB, by the resources of the CephCluster, or by osd_memory_target.", low,
			"OSDs have less memory for their caches than Ceph's default of 4 GiB.")
	}
	return nil
}

// deviceClass compares an OSD's class with what the kernel says of its device. BlueStore and mClock take their defaults
// by the kernel's answer, and CRUSH rules by the class.
func deviceClass(f Facts) *v1alpha1.Finding {
	var wrong, slow []string
	for _, d := range f.Devices {
		switch class := f.classOf(d.ID); {
		case d.Rotational && (class == "ssd" || class == "nvme"):
			slow = append(slow, fmt.Sprintf("osd.%d: class %s, but %s rotates", d.ID, class, d.Names))
		case !d.Rotational && class == "hdd":
			wrong = append(wrong, fmt.Sprintf("osd.%d: class hdd, but %s does not rotate", d.ID, d.Names))
		}
	}
	const remedy = "If the class is wrong: `ceph osd crush rm-device-class osd.N`, then set-device-class, which moves data. If the kernel is wrong, as in many virtual machines, set the class, " +
		"and the options that end in _hdd, to those of an SSD."
	switch {
	case len(slow) > 0:
		return found(likely, remedy, slow, "Pools for fast disks use OSDs whose disks rotate, or the kernel takes them for such: Ceph then treats them as hard disks.")
	case len(wrong) > 0:
		return found(possible, remedy, wrong, "Pools for hard disks have faster disks, too: the slowest disk of a placement group decides.")
	}
	return nil
}

// loopDevices finds OSDs on files. Source: Rook refuses loop devices unless ROOK_CEPH_ALLOW_LOOP_DEVICES is set, for
// tests only.
func loopDevices(f Facts) *v1alpha1.Finding {
	evidence := f.devices(func(d ceph.OSDDevice) bool {
		return slices.ContainsFunc(strings.Split(d.Names, ","), func(name string) bool { return strings.HasPrefix(name, "loop") })
	})
	if len(evidence) == 0 {
		return nil
	}
	return found(likely, "Give OSDs disks or partitions. Rook allows loop devices only for tests.", evidence,
		"OSDs store their data in files, through loop devices: each write passes another file system.")
}

// noFastDB finds hard disks that also have the database. Source: Ceph's BlueStore configuration reference recommends a
// DB on a faster device for them.
func noFastDB(f Facts) *v1alpha1.Finding {
	evidence := f.devices(func(d ceph.OSDDevice) bool { return d.Rotational && !d.DedicatedDB })
	if len(evidence) == 0 {
		return nil
	}
	return found(possible, "Put the databases on SSDs (metadataDevice in the CephCluster). OSDs have to be made again for that.", evidence,
		"Hard disks also have the databases of their OSDs, so each small write moves the heads more than once.")
}

// devices returns the OSDs with such a device, as evidence.
func (f Facts) devices(are func(ceph.OSDDevice) bool) []string {
	byHost := map[string][]int{}
	for _, d := range f.Devices {
		if are(d) {
			byHost[d.Host] = append(byHost[d.Host], d.ID)
		}
	}
	var evidence []string
	for _, host := range slices.Sorted(maps.Keys(byHost)) {
		evidence = append(evidence, fmt.Sprintf("%s on %s", names(byHost[host]), host))
	}
	return evidence
}

// encrypted finds msgr2 in the mode secure. Source: the option's values; the default is crc first.
func encrypted(f Facts) *v1alpha1.Finding {
	evidence := f.modes(func(value string) bool { return strings.HasPrefix(value, "secure") }, "ms_cluster_mode", "ms_service_mode")
	if len(evidence) == 0 {
		return nil
	}
	return found(possible, "If nobody else has access to the network, turn it off: network.connections.encryption in the CephCluster.", evidence,
		"Connections are encrypted, which takes CPU of OSDs and clients.")
}

// messagesCompressed finds msgr2's compression. Source: the option's values; the default is none.
func messagesCompressed(f Facts) *v1alpha1.Finding {
	evidence := f.modes(func(value string) bool { return value != "" && value != "none" }, "ms_osd_compress_mode")
	if len(evidence) == 0 {
		return nil
	}
	return found(possible, "Unless the network is the limit, turn it off: network.connections.compression in the CephCluster.", evidence,
		"Messages between OSDs are compressed, which takes CPU.")
}

// modes returns the options of running OSDs whose value matches, as evidence.
func (f Facts) modes(matches func(string) bool, options ...string) []string {
	var evidence []string
	for _, option := range options {
		values := f.running(option)
		for _, value := range slices.Sorted(maps.Keys(values)) {
			if matches(value) {
				evidence = append(evidence, fmt.Sprintf("%s %s (%s)", option, value, names(values[value])))
			}
		}
	}
	return evidence
}

// quietDebug is the level up to which Ceph's defaults log: 1/5 and below.
const quietDebug = 5

// debugLogs finds logs that Ceph does not write by default.
func debugLogs(f Facts) *v1alpha1.Finding {
	var evidence []string
	for _, e := range f.Config {
		level, _, _ := strings.Cut(e.Value, "/")
		n, err := strconv.Atoi(level)
		osds := e.Section == "global" || e.Section == "osd" || strings.HasPrefix(e.Section, "osd.")
		if osds && strings.HasPrefix(e.Name, "debug_") && err == nil && n > quietDebug {
			evidence = append(evidence, fmt.Sprintf("%s %s %s", e.Section, e.Name, e.Value))
		}
	}
	if len(evidence) == 0 {
		return nil
	}
	return found(likely, "`ceph config rm SECTION OPTION` for each.", evidence, "OSDs write logs for debugging, for each operation.")
}

// mclockProfile finds profiles that give clients less than the default, balanced, or may do so. Source: Ceph's mClock
// configuration reference.
func mclockProfile(f Facts) *v1alpha1.Finding {
	evidence := f.modes(func(profile string) bool { return profile == "high_recovery_ops" || profile == "custom" }, "osd_mclock_profile")
	if len(evidence) == 0 || !f.usesMClock() {
		return nil
	}
	sure := possible
	if len(f.running("osd_mclock_profile")["high_recovery_ops"]) > 0 {
		sure = likely
	}
	return found(sure, f.sweep("osd_mclock_profile=balanced,high_client_ops", "what another profile brings"), evidence,
		"The profile of mClock may hold clients back, in favour of recovery and scrubs.")
}
