package runner

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cephtune/cephtune/internal/task"
)

// mostPolicies bounds how many policies of cpufreq are read. There is one for each CPU of some hosts.
const mostPolicies = 1024

// readPower reads how the CPUs of the host save energy, in /sys/devices/system/cpu. It returns nil if the kernel does not
// say, as in most virtual machines.
func readPower(cpus fs.FS) *task.HostPower {
	var p task.HostPower
	policies, _ := fs.Glob(cpus, "cpufreq/policy*") // The pattern is valid.
	for _, policy := range policies[:min(len(policies), mostPolicies)] {
		governor := word(cpus, policy, "scaling_governor")
		if driver := word(cpus, policy, "scaling_driver"); governor != "" && driver != "" {
			governor += "/" + driver
		}
		if governor != "" && !slices.Contains(p.Governors, governor) {
			p.Governors = append(p.Governors, governor)
		}
	}
	// All CPUs of a host have the same states.
	states, _ := fs.Glob(cpus, "cpu0/cpuidle/state*")
	for _, state := range states {
		microseconds, err := strconv.ParseUint(word(cpus, state, "latency"), 10, 32)
		if seconds := float64(microseconds) / 1e6; err == nil && word(cpus, state, "disable") == "0" && seconds > p.IdleExitSeconds {
			p.IdleState, p.IdleExitSeconds = word(cpus, state, "name"), seconds
		}
	}
	if len(p.Governors) == 0 && len(states) == 0 {
		return nil
	}
	return &p
}

// word reads a file with one word; "" if that fails.
func word(files fs.FS, folder, name string) string {
	data, err := fs.ReadFile(files, path.Join(folder, name))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}
