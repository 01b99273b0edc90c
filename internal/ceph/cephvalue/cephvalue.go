// Package cephvalue knows the forms of values of Ceph's options. It says which texts are values of a type,
// which mean the same value, and in which text Ceph stores that value.
//
// The package accepts only forms that `ceph config set` of Ceph 18.2.7 accepted on a cluster. Ceph 20.2.4
// also accepts 4MiB for a size, and refuses milliseconds with text after the number.
package cephvalue

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The types of options, by Ceph's names.
const (
	String       = "str"
	Int          = "int"
	Uint         = "uint"
	Float        = "float"
	Bool         = "bool"
	Size         = "size"
	Seconds      = "secs"
	Milliseconds = "millisecs"
)

// Known reports whether cephtune can compare values of a type, and so restore them. It cannot compare
// addresses and UUIDs, because Ceph accepts many forms of each.
func Known(valueType string) bool { return slices.Contains(Types(), valueType) }

// Types returns the known types.
func Types() []string {
	return []string{String, Int, Uint, Float, Bool, Size, Seconds, Milliseconds}
}

// Canonical returns the text in which Ceph stores a value of a type. If the text is not a value of the type,
// or the type is not Known, the error says so. For example, Ceph stores the size 4M as 4194304, the float
// 0.95 as 0.950000, and 1h in seconds as 3600. K means 1000 for an int and 1024 for a size.
func Canonical(valueType, text string) (string, error) {
	switch valueType {
	case Int, Uint:
		return whole(text, 1000, valueType == Uint)
	case Size:
		return whole(text, 1024, true)
	case Float:
		return float(text)
	case Bool:
		return boolean(text)
	case Seconds:
		return timespan(text)
	case Milliseconds:
		return milliseconds(text)
	case String:
		return text, nil
	}
	return "", fmt.Errorf("cephtune cannot compare values of type %q, and so cannot restore them", valueType)
}

// Number returns a value of a numeric type as a number, so that it can be compared with bounds. A time is a
// number of seconds or milliseconds, as its type says. An int or a uint may also be written like a size, such
// as 4Ki.
func Number(valueType, text string) (float64, bool) {
	if valueType == String || valueType == Bool || !Known(valueType) {
		return 0, false
	}
	canonical, err := Canonical(valueType, text)
	if err != nil && (valueType == Int || valueType == Uint) {
		canonical, err = Canonical(Size, text)
	}
	if err != nil {
		return 0, false
	}
	parsed, err := strconv.ParseFloat(canonical, 64)
	return parsed, err == nil
}

func float(text string) (string, error) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) || math.IsInf(number, 0) { // Ceph accepts NaN and infinity; cephtune does not.
		return "", fmt.Errorf("%q is not a number", text)
	}
	// Ceph keeps only six decimals: 0.0000001 becomes 0.
	return strconv.FormatFloat(number, 'f', 6, 64), nil
}

func boolean(text string) (string, error) {
	switch strings.ToLower(text) {
	case "true", "1":
		return "true", nil
	case "false", "0":
		return "false", nil
	}
	return "", fmt.Errorf("%q is not true or false: Ceph rejects yes, no, on and off", text)
}

var withUnit = regexp.MustCompile(`^(-?\d+)(?:([KMGTPE])([iB]?)|B)?$`)

// whole parses a whole number with an optional unit, such as K. The argument base is the value of one K; one
// M is base times base.
func whole(text string, base int64, positive bool) (string, error) {
	wrong := fmt.Errorf("%q is not a whole number", text)
	parts := withUnit.FindStringSubmatch(text)
	if parts == nil || base != 1024 && strings.ContainsAny(text, "iB") {
		return "", wrong
	}
	number, err := strconv.ParseInt(parts[1], 10, 64)
	if err != nil {
		return "", wrong
	}
	if parts[2] != "" {
		for range strings.Index("KMGTPE", parts[2]) + 1 {
			if number > math.MaxInt64/base || number < math.MinInt64/base {
				return "", fmt.Errorf("%q is too large", text)
			}
			number *= base
		}
	}
	if positive && number < 0 {
		return "", fmt.Errorf("%q is below 0", text)
	}
	return strconv.FormatInt(number, 10), nil
}

var (
	span     = regexp.MustCompile(`^(?:\s*\d+\s*[a-z]*)+\s*$`)
	spanPart = regexp.MustCompile(`(\d+)\s*([a-z]*)`)
)

// timespan returns the number of seconds in a text such as 90, 1h30m or "2 hours". A number without a unit is
// in seconds.
func timespan(text string) (string, error) {
	wrong := fmt.Errorf("%q is not a number of seconds, such as 90, 5m or 1h30m", text)
	if !span.MatchString(text) {
		return "", wrong
	}
	var total int64
	for _, part := range spanPart.FindAllStringSubmatch(text, -1) {
		number, err := strconv.ParseInt(part[1], 10, 64)
		seconds, known := unitSeconds(part[2])
		if err != nil || !known {
			return "", wrong
		}
		if number > (math.MaxInt64-total)/seconds {
			return "", fmt.Errorf("%q is too large", text)
		}
		total += number * seconds
	}
	return strconv.FormatInt(total, 10), nil
}

func unitSeconds(unit string) (int64, bool) {
	const day = 24 * 60 * 60
	switch unit {
	case "", "s", "sec", "second", "seconds":
		return 1, true
	case "m", "min", "minute", "minutes":
		return 60, true
	case "h", "hr", "hour", "hours":
		return 60 * 60, true
	case "d", "day", "days":
		return day, true
	case "w", "wk", "week", "weeks":
		return 7 * day, true
	case "mo", "month", "months":
		return 30 * day, true
	case "y", "yr", "year", "years":
		return 365 * day, true
	}
	return 0, false
}

// milliseconds accepts only whole numbers without a unit. Ceph 18 reads the digits at the beginning of a text
// and ignores the rest: it takes 5s for 5 milliseconds.
func milliseconds(text string) (string, error) {
	number, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return "", errors.New("write milliseconds as a whole number without a unit: Ceph 18 reads 5s as 5")
	}
	return strconv.FormatUint(number, 10), nil
}
