package main

import "strconv"

// envMemoryLimit is the variable with the memory limit of the manager's container, in bytes.
const envMemoryLimit = "MEMORY_LIMIT"

// memoryShare is the percentage of that limit that becomes Go's memory limit. The rest is for
// memory that the garbage collector cannot free in time.
const memoryShare = 90

// memoryLimit returns Go's memory limit. 0 keeps Go's default, which ignores container limits
// but respects GOMEMLIMIT.
func memoryLimit(getenv func(string) string) int64 {
	bytes, err := strconv.ParseInt(getenv(envMemoryLimit), 10, 64)
	if err != nil || bytes < 0 || getenv("GOMEMLIMIT") != "" {
		return 0
	}
	return bytes / 100 * memoryShare
}
