package rbdbench

import (
	"bytes"
	"math"

	"github.com/cephtune/cephtune/internal/engine/parse"
)

// liveRate reads a row as it is printed: "    1      3808   3839.36    15 MiB/s", and
// from older versions "16650199.05". The rates are means over five rows.
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

// liveUnit is how many bytes one of a unit has, such as "MiB/s" or "B/s".
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
