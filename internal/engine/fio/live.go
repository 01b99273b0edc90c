package fio

import (
	"bytes"

	"github.com/cephtune/cephtune/internal/engine/parse"
)

// liveRate reads fio's status line, such as "Jobs: 1 (f=1): [m(1)][50.0%][r=136MiB/s,w=58MiB/s]
// [r=34.8k,w=14.8k IOPS][eta 00m:01s]". It adds up all directions. The line covers all jobs and has no
// latencies.
func liveRate(line []byte) (parse.Rate, bool) {
	if !bytes.HasPrefix(line, []byte("Jobs: ")) {
		return parse.Rate{}, false
	}
	var rate parse.Rate
	var bandwidth, operations bool
	for line != nil {
		var part []byte
		if part, line = nextBracket(line); len(part) < 2 || part[1] != '=' {
			continue
		}
		if perSecond, ok := bytes.CutSuffix(part, []byte(" IOPS")); ok {
			rate.OperationsPerSecond, operations = sumOf(perSecond, parseScaled)
			continue
		}
		rate.BytesPerSecond, bandwidth = sumOf(part, bytesPerSecond)
	}
	return rate, bandwidth && operations
}

// inRamp reports whether a status line says that a job is in its ramp, as in "Jobs: 2 (f=1): [m(1),/(1)][-.-%]".
func inRamp(line []byte) bool {
	states, _ := nextBracket(line)
	return bytes.HasPrefix(line, []byte("Jobs: ")) && bytes.Contains(states, []byte("/("))
}

// nextBracket returns the text inside the next pair of brackets, and the text behind that pair. Both are nil
// if no pair follows.
func nextBracket(line []byte) (inside, behind []byte) {
	_, line, _ = bytes.Cut(line, []byte("["))
	inside, behind, found := bytes.Cut(line, []byte("]"))
	if !found {
		return nil, nil
	}
	return inside, behind
}

// sumOf adds up the values of all directions, such as those in "r=136MiB/s,w=58MiB/s". It returns false if it
// cannot read a value.
func sumOf(text []byte, read func([]byte) (float64, bool)) (float64, bool) {
	sum := 0.0
	for part := range bytes.SplitSeq(text, []byte(",")) {
		_, value, found := bytes.Cut(part, []byte("="))
		number, ok := read(value)
		if !found || !ok {
			return 0, false
		}
		sum += number
	}
	return sum, true
}

func bytesPerSecond(text []byte) (float64, bool) {
	text, perSecond := bytes.CutSuffix(text, []byte("/s"))
	size, ok := parseSize(text)
	return size.bytes, ok && perSecond
}
