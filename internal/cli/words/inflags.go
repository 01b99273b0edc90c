package words

import (
	"regexp"
	"strings"
)

// flagsOf returns, by the name of a field, the flag of "run" and "sweep" that sets the field.
func flagsOf() map[string]string {
	return map[string]string{
		"metadata.name": "--name", "clusterRef": "--ceph-cluster", "repetitions": "--repetitions",
		"existingPool.name": "--pool", "storageClassName": "--storage-class", "volumeMode": "--volume-mode",
		"replicated.size": "--replicas", "deviceClass": "--device-class", "failureDomain": "--failure-domain",
		"mode": "--mode", "pattern": "--mode", "ioType": "--mode", "ioPattern": "--mode",
		"blockSize": "--block-size", "ioSize": "--block-size", "concurrency": "--depth", "ioDepth": "--depth", "ioThreads": "--depth",
		"numJobs": "--jobs", "readPercent": "--read-percent", "rateIOPS": "--rate-iops", "closedLoop": "--closed-loop",
		"duration": "--duration", "ramp": "--ramp", "clients.count": "--clients", "dataset.size": "--dataset",
		"minimumEffect": "--minimum-effect", "budget.duration": "--budget", "strategy.design": "--design",
	}
}

// dotted matches the path of a field, such as spec.template.phases[0].fio.ioDepth, or one name of a field.
var dotted = regexp.MustCompile(`\b[a-z][A-Za-z]*(?:\[[0-9]+\])?(?:\.[a-z][A-Za-z]*(?:\[[0-9]+\])?)*\b`)

// FlagOf returns the flag that sets a field, by the end of the field's path.
func FlagOf(path string) (flag string, known bool) {
	parts := strings.Split(regexp.MustCompile(`\[[0-9]+\]`).ReplaceAllString(path, ""), ".")
	for _, n := range []int{2, 1} {
		if len(parts) >= n {
			if flag, known = flagsOf()[strings.Join(parts[len(parts)-n:], ".")]; known {
				return flag, true
			}
		}
	}
	return "", false
}

// InFlags names flags in a message to a person who typed flags, where the message has paths of fields, or names of
// fields with a capital letter in them. Other names, such as mode, are also words of plain English.
func InFlags(message string) string {
	return dotted.ReplaceAllStringFunc(message, func(path string) string {
		if !strings.Contains(path, ".") && strings.ToLower(path) == path {
			return path
		}
		if flag, known := FlagOf(path); known {
			return flag
		}
		return path
	})
}
