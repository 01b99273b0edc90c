package main

import "strconv"

// envMemoryLimit has the memory limit of the manager's container, in bytes.
const envMemoryLimit = "MEMORY_LIMIT"

// memoryShare is the percentage of it that the garbage collector keeps Go's memory below. The
// rest is for what that cannot free in time.
const memoryShare = 90

// memoryLimit is what Go's memory is to stay below; 0 leaves that to Go, which knows no
// container but reads GOMEMLIMIT, if that is set.
func memoryLimit(getenv func(string) string) int64 {
	bytes, err := strconv.ParseInt(getenv(envMemoryLimit), 10, 64)
	if err != nil || bytes < 0 || getenv("GOMEMLIMIT") != "" {
		return 0
	}
	return bytes / 100 * memoryShare
}
