package fio

import (
	"bytes"
	"math"

	"github.com/cephtune/cephtune/internal/engine/parse"
)

// A size is a rounded number of bytes, and the largest error of that number.
type size struct{ bytes, slack float64 }

// maxSize is the largest size, in bytes, that parseSize accepts. It fits into 63 bits.
const maxSize = 1 << 62

// parseSize reads a number of bytes as fio's num2str prints it, such as "4096B",
// "64.0KiB" or "1258MB".
func parseSize(text []byte) (size, bool) {
	digits := bytes.TrimRight(text, "KMGTPEkiB")
	unit, ok := unitBytes(text[len(digits):])
	number, okNumber := parse.Float(digits)
	if !ok || !okNumber || number*unit > maxSize {
		return size{}, false
	}
	// The last digit may be off by one, since num2str rounds more than once.
	last := unit
	if point := bytes.IndexByte(digits, '.'); point >= 0 {
		last *= math.Pow10(-(len(digits) - 1 - point))
	}
	if unit == 1 {
		last = 0
	}
	return size{bytes: number * unit, slack: last}, true
}

// unitBytes returns the number of bytes in a binary or decimal unit, such as "B", "KiB" or "kB".
func unitBytes(unit []byte) (float64, bool) {
	prefix, ok := bytes.CutSuffix(unit, []byte("B"))
	if !ok {
		return 0, false
	}
	if len(prefix) == 0 {
		return 1, true
	}
	base := 1000.0
	if binary, ok := bytes.CutSuffix(prefix, []byte("i")); ok {
		prefix, base = binary, 1024
	}
	if len(prefix) != 1 {
		return 0, false
	}
	power := bytes.IndexByte([]byte("KMGTPE"), prefix[0]&^0x20) // "kB" has a lower-case k, and "KiB" an upper-case K.
	if power < 0 {
		return 0, false
	}
	return math.Pow(base, float64(power+1)), true
}

// unitsPerSecond returns how many "nsec", "usec" or "msec" a second has.
func unitsPerSecond(unit []byte) (float64, bool) {
	switch string(unit) {
	case "nsec":
		return 1e9, true
	case "usec":
		return 1e6, true
	case "msec":
		return 1e3, true
	}
	return 0, false
}

// parseScaled reads a number with a decimal suffix, such as "14537k" or "1539.6k".
func parseScaled(text []byte) (float64, bool) {
	digits := bytes.TrimRight(text, "kMGTPE")
	number, ok := parse.Float(digits)
	if !ok || len(text)-len(digits) > 1 {
		return 0, false
	}
	if len(digits) < len(text) {
		power := bytes.IndexByte([]byte("kMGTPE"), text[len(digits)])
		number *= math.Pow10(3 * (power + 1))
	}
	return number, number <= math.MaxFloat64
}
