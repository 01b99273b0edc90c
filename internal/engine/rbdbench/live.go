package rbdbench

import (
	"bytes"
	"math"

	"github.com/cephtune/cephtune/internal/engine/parse"
	"github.com/cephtune/cephtune/internal/result"
)

// liveRows reads rows during a run. Their rates are means over five rows. The second column counts
// operations from the start, so the difference between two rows is exact.
type liveRows struct {
	bytes              float64 // per operation, from the head; 0 if the head was not seen
	second, operations int64
	begun              bool
}

func newLive() parse.Live { return &liveRows{} }

// Line implements [parse.Live].
func (l *liveRows) Line(line []byte) (parse.Rate, bool) {
	if size, ok := ioSizeOf(line); ok {
		l.bytes = size
		return parse.Rate{}, false
	}
	rate, ok := liveRate(line)
	if !ok {
		return rate, false
	}
	text, line := parse.Field(line)
	second, ok := parse.Int(text)
	text, _ = parse.Field(line)
	operations, counts := parse.Int(text)
	if !ok || !counts {
		return rate, true // rbd bench subtracts operations in flight, so the first value may be negative.
	}
	if l.begun && second > l.second && operations >= l.operations {
		n := float64(operations - l.operations)
		rate.Counted = &parse.Counted{Seconds: float64(second - l.second), Done: result.Done{Operations: n, Bytes: n * l.bytes}}
	}
	l.begun, l.second, l.operations = true, second, operations
	return rate, true
}

// ioSizeOf reads the bytes per operation from the head:
// "bench  type write io_size 4096 io_threads 16 bytes 1073741824 pattern random".
func ioSizeOf(line []byte) (float64, bool) {
	if !bytes.HasPrefix(line, []byte("bench ")) {
		return 0, false
	}
	_, behind, found := bytes.Cut(line, []byte(" io_size "))
	text, _ := parse.Field(behind)
	size, ok := parse.Int(text)
	return float64(size), found && ok
}

// liveRate reads the rates of a row such as "    1      3808   3839.36    15 MiB/s". Older versions print
// the last column as "16650199.05".
func liveRate(line []byte) (parse.Rate, bool) {
	second, line := parse.Field(line)
	operations, line := parse.Field(line)
	perSecond, line := parse.Field(line)
	bandwidth, line := parse.Field(line)
	unit, rest := parse.Field(line)
	if behind, _ := parse.Field(rest); behind != nil || !isDigits(second) || !isDigits(bytes.TrimPrefix(operations, []byte("-"))) {
		return parse.Rate{}, false
	}
	var rate parse.Rate
	var ok [3]bool
	rate.OperationsPerSecond, ok[0] = parse.Float(perSecond)
	rate.BytesPerSecond, ok[1] = parse.Float(bandwidth)
	factor, known := liveUnit(unit)
	if ok[2] = known; ok != [3]bool{true, true, true} {
		return parse.Rate{}, false
	}
	rate.BytesPerSecond *= factor
	return rate, true
}

// liveUnit returns the number of bytes in a unit such as "MiB/s" or "B/s". Without a unit, it returns 1.
func liveUnit(unit []byte) (float64, bool) {
	if unit == nil {
		return 1, true
	}
	prefix, ok := bytes.CutSuffix(unit, []byte("B/s"))
	if !ok {
		return 0, false
	}
	power := bytes.Index([]byte("KiMiGiTi"), prefix)
	switch {
	case len(prefix) == 0:
		return 1, true
	case len(prefix) != 2 || power < 0 || power%2 != 0:
		return 0, false
	}
	return math.Pow(1024, float64(power/2+1)), true
}
