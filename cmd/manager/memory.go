package main

import "strconv"

// envMemoryLimit is the environment variable with the memory limit of the manager's container, in bytes.
const envMemoryLimit = "MEMORY_LIMIT"

// memoryShare is the percentage of the container's limit that becomes Go's memory limit. The rest is a
// reserve, because Go may exceed its limit for a while.
const memoryShare = 90

// chartLimit is the memory limit in the chart, in bytes.
const chartLimit = 256 << 20

// clientsMemory returns the memory for what the clients of all benchmarks report, in bytes: half of the container's
// limit. Without a limit, it is that of a container with the chart's limit.
func clientsMemory(getenv func(string) string) int64 {
	bytes, err := strconv.ParseInt(getenv(envMemoryLimit), 10, 64)
	if err != nil || bytes < 0 {
		bytes = chartLimit
	}
	return bytes / 2
}

// memoryLimit returns Go's memory limit in bytes, or 0 to keep Go's default. That default ignores the
// container's limit, but respects GOMEMLIMIT.
func memoryLimit(getenv func(string) string) int64 {
	bytes, err := strconv.ParseInt(getenv(envMemoryLimit), 10, 64)
	if err != nil || bytes < 0 || getenv("GOMEMLIMIT") != "" {
		return 0
	}
	return bytes / 100 * memoryShare
}
